"""A session needs no agent, model or provider: a program that reads, uses and
writes sessions of every shape has none of that code in it, and the objects of
the session folder refer to none. Usage: TEST PROGRAM LIBRARY"""
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import record  # noqa: E402

PROGRAM, LIBRARY = sys.argv[1:3]
BEHAVIOUR = re.compile(
    r"\bpdr__?(provider|agent|client|chat|model|engine|host)_")

tests = record.Tests("session-state-only")


def symbols(path):
    return subprocess.run(["nm", path], check=True, capture_output=True,
                          text=True).stdout.splitlines()


@tests.test("session: is read, used and written in every format as state only")
def _():
    run = subprocess.run([PROGRAM], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


@tests.test("program of sessions: links no agent, model or provider")
def _():
    lines = symbols(PROGRAM)
    # If it had no symbols at all, their absence would prove nothing.
    assert any("pdr_session_to_value" in line for line in lines)
    found = [line for line in lines if BEHAVIOUR.search(line)]
    assert not found, found


@tests.test("session folder: refers to no agent, model or provider")
def _():
    member, seen, found = "", 0, []
    for line in symbols(LIBRARY):
        if line.endswith(":"):
            member = line
            seen += "src_session_" in line
        elif "src_session_" in member and BEHAVIOUR.search(line):
            found.append(member + line)
    assert seen > 0
    assert not found, found


tests.finish()
