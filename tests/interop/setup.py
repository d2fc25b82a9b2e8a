"""The setup of these tests: it downloads once, and a package that is not there
is a failure, no skip. Usage: TEST PERDURE"""
import os
import pathlib
import sys
import venv

import inside
from command import PERDURE, ROOT, record, run
from harness import Tests

tests = Tests("interop-setup")
HERE = ROOT / "tests/interop"
REQUIREMENTS = str(HERE / "requirements.txt")
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "",
           "PIP_CONFIG_FILE": os.devnull, "PIP_NO_CACHE_DIR": "1"}


def setup(*args):
    return run([str(ROOT / "tools/setup-python"), *args], env=OFFLINE)


@tests.test("setup: prints and downloads nothing if all is there")
def _():
    if not os.path.exists(os.path.join(sys.prefix, "stamp")):
        raise record.Skip("the virtual environment was filled by hand")
    result = setup(REQUIREMENTS, sys.prefix)
    assert (result.status, result.out, result.err) == (0, b"", b""), result


@tests.test("setup: fails if a package cannot be had, the next time too")
def _():
    with open("wanted.txt", "w", encoding="utf-8") as file:
        file.write("# one that does not exist\nmsgpack==0.0.99\n")
    for _ in range(2):
        result = setup("wanted.txt", "venv")
        assert result.status == 1, result
        assert b"msgpack 0.0.99\n" in result.out, result
        assert b"pip could not install what wanted.txt names" in result.err
        assert not os.path.exists("venv/stamp")


def start_inside(venv):
    """Start a test with another virtual environment; it must not run."""
    result = run([sys.executable, str(HERE / "inside.py"), venv,
                  str(HERE / "msgpack_python.py"), PERDURE],
                 env={"PERDURE_TEST_RECORD": os.path.abspath("record")})
    assert result.status == 1, result
    assert result.out == b"" and not os.path.exists("record"), result
    return result.err.decode()


@tests.test("tests: fail without a virtual environment")
def _():
    said = start_inside("nowhere")
    assert "there is no " in said and "make interop" in said, said


@tests.test("tests: fail if a package is missing or of another version")
def _():
    venv.create("bare", symlinks=True)
    version = inside.wanted()["msgpack"]
    assert f"msgpack {version}, and has none" in start_inside("bare")
    packages, = pathlib.Path("bare/lib").glob("python*/site-packages")
    (packages / "msgpack-0.1.dist-info").mkdir()
    (packages / "msgpack-0.1.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: msgpack\nVersion: 0.1\n")
    assert f"msgpack {version}, and has 0.1" in start_inside("bare")


tests.finish()
