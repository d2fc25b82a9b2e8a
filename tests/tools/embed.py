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
        found[name] = (data_of(body), size)
    return found


def data_of(body):
    """The bytes of `0x41, '\\xff'`."""
    return bytes(int(byte.strip().strip("'").replace("\\", "0"), 16)
                 for byte in body.split(","))


@tests.test("embed: gives the bytes of each file, and a final NUL")
def _():
    content = bytes(range(256))
    status, lines, text = embed({"a.json": "{}\n", "b": content},
                                "one=@a.json", "two_2=@b")
    assert status == 0 and not lines, lines
    assert '#include "some.h"' in text
    assert arrays(text) == {"one": (b"{}\n\0", 3),
                            "two_2": (content + b"\0", 256)}


@tests.test("embed: takes an empty file")
def _():
    status, _, text = embed({"empty": ""}, "none=@empty")
    assert status == 0 and arrays(text) == {"none": (b"\0", 0)}, text


@tests.test("embed: refuses what is no name in C, and what is not there")
def _():
    for files, pair in (({"a": "x"}, "1a=@a"), ({"a": "x"}, "a-b=@a"),
                        ({}, "a=@missing")):
        status, lines, text = embed(files, pair)
        assert status == 1 and lines and not text, (pair, lines)


@tests.test("embed: makes a table of files, in the order of their names")
def _():
    first = embed({"b.js": "two", "a.png": bytes(range(256)), "c": ""},
                  "--folder", "page", "@b.js", "@c", "@a.png")
    status, lines, text = first
    assert status == 0 and not lines, lines
    assert re.findall(r'\{"(.*)", file_(\d), (\d+)\}', text) == [
        ("a.png", "0", "256"), ("b.js", "1", "3"), ("c", "2", "0")]
    assert "const struct pdr__embedded page[]" in text
    assert "page_count = 3;" in text
    bodies = re.findall(r"char file_\d\[\] = \{(.*?)\};", text, re.S)
    assert list(map(data_of, bodies)) == [bytes(range(256)) + b"\0", b"two\0",
                                          b"\0"]


@tests.test("embed: the hash of a table changes with each name and byte")
def _():
    def mark(files):
        status, lines, text = embed(files, "--folder", "page",
                                    *["@" + name for name in files])
        assert status == 0, lines
        return re.search(r'page_hash\[\] = "([0-9a-f]{16})"', text).group(1)

    ways = [{"a": "x", "b": "y"}, {"a": "x", "b": "z"}, {"a": "xy", "b": ""},
            {"a": "x", "c": "y"}, {"a": "x"}, {"a": "x", "b": "y", "c": ""},
            {"a": "xb 1\ny"}]
    assert len(set(map(mark, ways))) == len(ways)
    assert mark({"b": "y", "a": "x"}) == mark(ways[0])


@tests.test("embed: refuses names that no path of the page has")
def _():
    for name in ("A.js", ".hidden", "a b"):
        status, lines, text = embed({name: "x"}, "--folder", "page", "@" + name)
        assert status == 1 and lines and not text, (name, lines)


tests.finish()
