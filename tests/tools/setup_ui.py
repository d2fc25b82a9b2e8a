"""Where there is no browser, the tests of the dashboard say so and why; on a
machine that is there for tests alone they fail."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import tree

TOP = tree.TOP
tests = tree.record.Tests("setup-ui")


def setup(stub, **env):
    """tools/setup-ui, whose packages come from this script: status, both
    outputs, what it wrote down."""
    with tree.tree({"tools/setup": "#!/bin/sh\n" + stub,
                    "tools/setup-python": "#!/bin/sh\n"}) as root:
        for path in (root / "tools").iterdir():
            path.chmod(0o755)
        shutil.copy(TOP / "tools/setup-ui", root / "tools")
        done = subprocess.run(
            ["tools/setup-ui"], cwd=root, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={"PATH": os.environ["PATH"], **env})
        why = root / "build/ui/why-not"
        return done, why.read_text() if why.exists() else None


def look(**env):
    """The tests themselves, without a browser: status and record."""
    with tempfile.TemporaryDirectory() as folder:
        record = pathlib.Path(folder, "record")
        done = subprocess.run(
            [sys.executable, TOP / "tests/ui/ui.py", "/nonexistent", "files:"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={"PATH": folder, "PERDURE_TEST_RECORD": str(record), **env})
        return done.returncode, record.read_text()


@tests.test("setup-ui: says nothing if all is there")
def _():
    done, why = setup("exit 0\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done
    assert why is None


NO_MIRROR = ("echo 'setup: installing'; echo 'setup: no mirror answers' >&2; "
             "exit 1\n")


@tests.test("setup-ui: says why there is no browser, and goes on")
def _():
    done, why = setup(NO_MIRROR)
    assert done.returncode == 0, done
    assert "no mirror answers" in done.stderr, done
    assert "the dashboard is not tested here" in done.stderr, done
    assert why == "setup: no mirror answers\n", why


@tests.test("setup-ui: fails where tests are all that a machine is for")
def _():
    for name in ("PERDURE_IN_FRESH_ROOT", "CI"):
        done, _ = setup(NO_MIRROR, **{name: "yes"})
        assert done.returncode == 1 and "no mirror answers" in done.stderr, done


@tests.test("tests without a browser: are skipped with the reason")
def _():
    status, record = look()
    assert status == 0, record
    assert record.startswith("skip\tui/files: "), record
    assert "\tthere is no chromium with chromedriver" in record, record


@tests.test("tests without a browser: fail where there has to be one")
def _():
    for name in ("PERDURE_IN_FRESH_ROOT", "CI"):
        status, record = look(**{name: "yes"})
        assert status == 1 and record.startswith("fail\t"), record


tests.finish()
