"""Embedded files are what their sources are, and what cannot be is refused."""
import re

from tree import record, run, tree

tests = record.Tests("embed")


def embed(files, *pairs):
    with tree(files) as root:
        status, lines = run("embed", root / "out.c", "some.h", *[
            pair.replace("@", str(root) + "/") for pair in pairs])
        out = root / "out.c"
        return status, lines, out.read_text() if out.exists() else ""


def arrays(text):
    """Name to bytes and length of each array in C."""
    found = {}
    for name, body in re.findall(r"const char (\w+)\[\] = \{(.*?)\};", text,
                                 re.S):
        size = int(re.search(rf"{name}_len = (\d+);", text).group(1))
        found[name] = (bytes(int(byte, 16) for byte in body.split(",")), size)
    return found


@tests.test("embed: gives the bytes of each file, and a final NUL")
def _():
    content = "".join(map(chr, range(1, 127)))
    status, lines, text = embed({"a.json": "{}\n", "b": content},
                                "one=@a.json", "two_2=@b")
    assert status == 0 and not lines, lines
    assert '#include "some.h"' in text
    assert arrays(text) == {"one": (b"{}\n\0", 3),
                            "two_2": (content.encode() + b"\0", 126)}


@tests.test("embed: takes an empty file")
def _():
    status, _, text = embed({"empty": ""}, "none=@empty")
    assert status == 0 and arrays(text) == {"none": (b"\0", 0)}, text


@tests.test("embed: refuses what is no name or no ASCII")
def _():
    for files, pair in (({"a": "x"}, "1a=@a"), ({"a": "x"}, "a-b=@a"),
                        ({"a": "\u00e9"}, "a=@a"), ({}, "a=@missing")):
        status, lines, text = embed(files, pair)
        assert status == 1 and lines and not text, (pair, lines)


tests.finish()
