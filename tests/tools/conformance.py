"""make conformance counts what passed, and refuses claims that cannot be."""
import os
import subprocess

from tree import TOP, record, run, tree

tests = record.Tests("conformance")
STATEMENTS = {
    "s/sessions.txt": "S-1 First.\nS-2 (edition) Second.\nS-10 Third [NET].\n",
    "s/durable.txt": "D-1 (later: not in this line) Fourth.\n",
}
TOTALS = ["S: 3 statements, {} pass, {} none, 0 later, 1 edition",
          "D: 1 statements, 0 pass, 0 none, 1 later, 0 edition",
          "R: 0 statements, 0 pass, 0 none, 0 later, 0 edition",
          "C: 0 statements, 0 pass, 0 none, 0 later, 0 edition",
          "P: 0 statements, 0 pass, 0 none, 0 later, 0 edition"]


def result(records, statements=None):
    files = {**STATEMENTS, **(statements or {}), "r/x.rec": records}
    with tree(files) as root:
        return run("conformance", root / "r", root / "s")


@tests.test("statement: has the test that passed, a mark, or none")
def _():
    status, lines = result("pass\tp/a\tS-10\npass\tp/b\t\n")
    assert status == 0, lines
    assert lines[:4] == ["S-1 none", "S-2 edition", "S-10 pass p/a",
                         "D-1 later not in this line"], lines
    assert lines[4:] == [TOTALS[0].format(1, 1)] + TOTALS[1:], lines


@tests.test("short list: has the statements that pass, and the same totals")
def _():
    files = {**STATEMENTS, "r/x.rec": "pass\tp/a\tS-10\n"}
    with tree(files) as root:
        status, lines = run("conformance", "--short", root / "r", root / "s")
    assert status == 0, lines
    assert lines == ["S-10 pass p/a", TOTALS[0].format(1, 1)] + TOTALS[1:], lines


@tests.test("reader that goes away: gets no traceback")
def _():
    with tree({"r/x.rec": "pass\tp/a\t\n", **STATEMENTS}) as root:
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, "wb") as pipe:
            result = subprocess.run(
                [TOP / "tools/conformance", root / "r", root / "s"],
                stdout=pipe, stderr=subprocess.PIPE, check=False)
    assert (result.returncode, result.stderr) == (0, b""), result


@tests.test("failing test: claims nothing")
def _():
    status, lines = result("fail\tp/a\tS-1,S-10\n")
    assert status == 0 and "S-1 none" in lines and "S-10 none" in lines, lines


@tests.test("one test of several that passed: is enough")
def _():
    _, lines = result("fail\tp/a\tS-1\npass\tp/b\tS-1\npass\tp/c\tS-1\n")
    assert lines[0] == "S-1 pass p/b", lines


@tests.test("claim of what does not exist: is an error")
def _():
    for verdict in ("pass", "fail"):
        status, lines = result(f"{verdict}\tp/a\tS-3\n")
        assert status == 1, lines
        assert any("claims S-3, which does not exist" in s for s in lines)


@tests.test("claim of what is later or an edition's: is an error")
def _():
    for name in ("S-2", "D-1"):
        status, lines = result(f"pass\tp/a\t{name}\n")
        assert status == 1, lines
        assert any(f"claims {name}, which is marked" in s for s in lines)


@tests.test("line that is no statement, or one twice: is an error")
def _():
    for bad in ("S-4\n", "S-04 Zero.\n", "X-4 Family.\n", "S-1 Again.\n"):
        status, lines = result("pass\tp/a\t\n", {"s/more.txt": bad})
        assert status == 1, (bad, lines)


@tests.test("no record at all: is an error that says what to do")
def _():
    with tree({"r/broken/x.rec": "pass\tp/a\tS-1\n", **STATEMENTS}) as root:
        status, lines = run("conformance", root / "r", root / "s")
    assert status == 1 and "make test" in lines[0], lines


@tests.test("our own statements: are complete, from 1 without a gap")
def _():
    with tree({"r/x.rec": "pass\tp/a\t\n"}) as root:
        status, lines = run("conformance", root / "r",
                            TOP / "docs/conformance")
    assert status == 0, lines
    ids = [line.split()[0] for line in lines[:-5]]
    wanted = {"S": 148, "D": 113, "R": 10, "C": 114, "P": 71}
    assert ids == [f"{family}-{n}" for family, count in wanted.items()
                   for n in range(1, count + 1)]


tests.finish()
