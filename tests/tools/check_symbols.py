"""check-symbols compares library, headers and list in every direction."""
import subprocess

from tree import record, run, tree

tests = record.Tests("check-symbols")
SOURCE = ("int pdr_one(void) { return 1; }\n"
          "int pdr_two(void) { return 2; }\n")
HEADER = ("/* perdure/a.h */\n\n"
          "/** Both of them.\n *\n * @since 0.1 */\n"
          "PDR_API int pdr_one(void);\n"
          "PDR_API PDR_MUST_CHECK int\npdr_two(void);\n\n"
          "/** Inline. */\nstatic inline int pdr_three(void);\n")
SYMBOLS = "pdr_one 0.1\npdr_two 0.1\n"


def found(source=SOURCE, header=HEADER, symbols=SYMBOLS):
    with tree({"a.c": source, "include/perdure/a.h": header,
               "docs/symbols.txt": symbols}) as root:
        library = root / "a.so"
        subprocess.run(["cc", "-w", "-shared", "-fPIC", "-nostdlib", "-o",
                        library, root / "a.c"], check=True)
        status, lines = run("check-symbols", library, root)
    assert status == (1 if lines else 0), (status, lines)
    return lines


@tests.test("three that agree: are accepted")
def _():
    assert found() == []


@tests.test("function that is only declared: is found")
def _():
    lines = found(source="int pdr_one(void) { return 1; }\n")
    assert lines == ["pdr_two: the library does not export it"], lines


@tests.test("function that is exported without a header: is found")
def _():
    lines = found(source=SOURCE + "int pdr_more(void) { return 3; }\n")
    assert lines == ["pdr_more: no header declares it with PDR_API"], lines


@tests.test("exported name without the prefix: is found")
def _():
    lines = found(source=SOURCE + "int more(void) { return 3; }\n")
    assert "more: a public name begins with pdr_" in lines, lines


@tests.test("internal name that is exported: is found")
def _():
    lines = found(source=SOURCE + "int pdr__more(void) { return 3; }\n")
    assert "pdr__more: a public name begins with pdr_" in lines, lines


@tests.test("function without a version: is found")
def _():
    lines = found(header=HEADER.replace("@since 0.1", ""))
    assert lines == [f"pdr_{n}: its comment in the header has no @since"
                     for n in ("one", "two")], lines


@tests.test("comment of another function: does not count")
def _():
    header = HEADER.replace("PDR_API PDR_MUST", "\nPDR_API PDR_MUST")
    lines = found(header=header)
    assert lines == ["pdr_two: its comment in the header has no @since"], lines


@tests.test("function that the list lacks: is found with the line to add")
def _():
    lines = found(symbols="pdr_one 0.1\n")
    assert lines == ["docs/symbols.txt: lacks 'pdr_two 0.1'"], lines


@tests.test("function that only the list has: is found")
def _():
    lines = found(symbols=SYMBOLS + "pdr_zero 0.1\n")
    assert "pdr_zero: the library does not export it" in lines, lines


@tests.test("versions that differ: are found")
def _():
    lines = found(symbols="pdr_one 0.1\npdr_two 0.2\n")
    assert len(lines) == 1 and "@since 0.1" in lines[0], lines


@tests.test("list out of order: is found")
def _():
    lines = found(symbols="pdr_two 0.1\npdr_one 0.1\n")
    assert len(lines) == 1 and "not sorted" in lines[0], lines


tests.finish()
