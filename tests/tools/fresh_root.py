"""Where no bare machine can be made, a command runs in place, and says so. That
one can be made is seen each time that .ci/run runs."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

top = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(top / "tests/support"))
import record  # noqa: E402

tests = record.Tests("fresh-root")
TOOL = top / "tools/fresh-root"


def run(*command, user=0):
    """On a machine with hardly a program, where `id` says who runs it."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("sh", "dirname", "sed", "pwd"):
            os.symlink(shutil.which(name), pathlib.Path(folder, name))
        stub = pathlib.Path(folder, "id")
        stub.write_text(f"#!/bin/sh\necho {user}\n")
        stub.chmod(0o755)
        return subprocess.run(
            [TOOL, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env={"PATH": folder, "PERDURE_SETUP": "skip",
                            "HOME": folder})


def expect_in_place(why, **kwargs):
    done = run("sh", "-c", 'pwd; echo "$PERDURE_IN_FRESH_ROOT $1"; exit 7',
               "sh", "two words", **kwargs)
    assert done.stdout == f"{top}\nno two words\n", done.stdout
    assert done.stderr == (f"fresh-root: {why}, so this runs in place: no "
                           "missing package can be found\n"), done.stderr
    assert done.returncode == 7, done.returncode


@tests.test("user without rights: the command runs in place, as it is")
def _():
    expect_in_place("this needs the rights of root", user=1000)


@tests.test("machine without debootstrap: the command runs in place, as it is")
def _():
    expect_in_place("there is no debootstrap")


@tests.test("no command: shows how it is used")
def _():
    done = run()
    assert done.returncode == 2, done
    assert "tools/fresh-root COMMAND..." in done.stdout, done.stdout


@tests.test("tool: names no host")
def _():
    assert not re.search(r"://|\.(org|com|net)\b", TOOL.read_text())


tests.finish()
