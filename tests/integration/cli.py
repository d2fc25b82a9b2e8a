"""The command as a user meets it. Usage: cli.py PERDURE EXAMPLE-EDIT"""
import json
import os
import pty
import re
import resource
import signal
import stat
import subprocess
import sys
import time

from harness import (INVISIBLE, Tests, environment, hidden, is_sanitized,
                     record, run, run_on_terminal)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PERDURE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1
                          else os.environ["PERDURE_BIN"])
EDIT = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
ESCAPE = b"\033"
tests = Tests("cli")
FORMATS = ("table", "json", "jsonl", "raw")
TALK, TODAY, SESSIONS, REPLIES, CLERK, GARDENER, BAKER, MILLER = (
    os.path.join(ROOT, "examples", "tour", name)
    for name in ("conversation.json", "session.json", "sessions.json",
                 "replies.json", "clerk.yaml", "gardener.yaml",
                 "baker.json", "miller.json"))

SANITIZED = is_sanitized(PERDURE)


def perdure(*args, **kwargs):
    return run([PERDURE, *args], **kwargs)


def write(name, text):
    with open(name, "wb") as file:
        file.write(text.encode() if isinstance(text, str) else text)
    return name


def read(*parts):
    with open(os.path.join(ROOT, *parts), "rb") as file:
        return file.read()


def expect(result, status, out="", err=""):
    """Whole output, compared as text."""
    want = (status, out.encode(), err.encode())
    got = (result.status, result.out, result.err)
    assert want == got, "\nexpected %r\ngot      %r" % (want, got)


def strict(text):
    """JSON as RFC 8259 has it: Python's reader alone takes NaN."""
    def refuse(token):
        raise ValueError(token)
    return json.loads(text, parse_constant=refuse)


# --- check ---------------------------------------------------------------

@tests.test("check: says that a document is valid and what it holds")
def _():
    write("a.json", '{"a": [1, 2, {"b": null}]}\n')
    expect(perdure("check", "a.json"), 0,
           "a.json: valid JSON, 27 bytes, 6 values, 3 levels deep\n")
    expect(perdure("check", "-", stdin=b"7\n"), 0,
           "standard input: valid JSON, 2 bytes, 1 value, 0 levels deep\n")
    expect(perdure("check", "-q", "a.json"), 0)


@tests.test("check: points at the byte that is wrong")
def _():
    write("a.json", '{\n  "list": [1, 2,],\n  "x": 1\n}\n')
    expect(perdure("check", "a.json"), 6, """\
a.json:2:17: error: expected a value, found ']'; no comma may stand before a closing bracket [unexpected_byte]
     2 |   "list": [1, 2,],
       |                 ^
    byte 18, /list/2
a.json: not valid JSON
""")


@tests.test("check: shows where a document was cut off")
def _():
    write("a.json", '{"a": {"b": "some te')
    expect(perdure("check", "a.json"), 6, """\
a.json:1:21: error: the document ends before it is complete [unexpected_end]
     1 | {"a": {"b": "some te
       |                     ^
    byte 20, /a/b
    hint: the end is missing: was the file cut off while it was written?
a.json: not valid JSON
""")


@tests.test("check: cuts a long line around the place")
def _():
    write("a.json", "[" + "1," * 5000 + "x" + ",1" * 5000 + "]")
    result = perdure("check", "a.json")
    lines = result.out.decode().split("\n")
    assert result.status == 6
    assert lines[1].startswith("     1 | …,1,1,") and lines[1].endswith("…")
    assert lines[1][lines[2].index("^")] == "x", lines
    assert max(len(line) for line in lines[1:3]) <= 80


@tests.test("check: escapes control characters of a document")
def _():
    write("a.json", b'["\033[31mred\x07", \xff\xfe]')
    expect(perdure("check", "a.json"), 6, """\
a.json:1:3: error: byte 0x1B must be escaped in a string [control_in_string]
     1 | ["\\u001b[31mred\\u0007", \\xff\\xfe]
       |   ^
    byte 2, /0
    hint: inside a string write it as an escape: \\n, \\t or \\u and four digits
a.json: not valid JSON
""")


@tests.test("check: warns of duplicate names and lone surrogates")
def _():
    write("a.json", '{\n "a": 1,\n "b": "\\ud800",\n "a": {"ä\\n": "x\\udc00"}\n}')
    expect(perdure("check", "a.json"), 0, """\
a.json:3:7: warning: half of a surrogate pair [lone_surrogate]
    byte 17, /b
a.json:4:2: warning: name occurs again in this object [duplicate_name]
    byte 28, /a
a.json:4:15: warning: half of a surrogate pair [lone_surrogate]
    byte 42, /a/ä\\n
a.json: valid JSON, 54 bytes, 5 values, 2 levels deep, 3 warnings
""")
    found = strict(perdure("check", "-o", "jsonl", "a.json").out)
    assert [(w["reason"], w["pointer"], w["offset"], w["line"], w["column"])
            for w in found["warnings"]] == [
                ("lone_surrogate", "/b", 17, 3, 7),
                ("duplicate_name", "/a", 28, 4, 2),
                ("lone_surrogate", "/a/ä\n", 42, 4, 15)]


@tests.test("check: counts all warnings and shows as many as asked for")
def _():
    write("a.json", "{" + ",".join(['"a":1'] * 101) + "}")
    shown = perdure("check", "a.json").out.decode().split("\n")
    assert len(shown) == 20 * 2 + 1 + 1, len(shown)
    assert shown[-2] == ("a.json: valid JSON, 607 bytes, 102 values, 1 level deep, "
                         "100 warnings (20 shown)")
    every = perdure("check", "--max-warnings=0", "a.json").out.decode()
    assert every.count("[duplicate_name]") == 100
    one = strict(perdure("check", "--max-warnings", "1", "-o", "json",
                         "a.json").out)["files"][0]
    assert (one["warningCount"], len(one["warnings"])) == (100, 1)


@tests.test("check: places each of many warnings in one long line")
def _():
    write("a.json", '{"ä":0' + ',"ä":1' * 200000 + "}")
    last = perdure("check", "--max-warnings=0", "a.json").out.split(b"\n")[-4]
    assert last == (b"a.json:1:%d: warning: name occurs again in this "
                    b"object [duplicate_name]" % (1 + 6 * 200000 + 1)), last


@tests.test("check: refuses what begins like another encoding")
def _():
    rows = [(b"\xef\xbb\xbf{}", "byte_order_mark"),
            ("{}".encode("utf-16"), "utf16_input"),
            ("{}".encode("utf-16-be"), "utf16_input"),
            (b'["\xe4"]', "bad_utf8"), (b"", "empty_input"),
            (b" \n", "empty_input")]
    for text, reason in rows:
        write("a.json", text)
        result = perdure("check", "-o", "jsonl", "a.json")
        assert result.status == 6, (text, result)
        error = strict(result.out)["error"]
        assert error["reason"] == reason and error["code"] == "INVALID", error
        assert error["hint"], error


def hint_for(text, *args):
    """The hint of the error in a document, "" if there is none."""
    write("hinted.json", text)
    result = perdure("check", *args, "-o", "jsonl", "hinted.json")
    assert result.status == 6, result
    return strict(result.out)["error"].get("hint", "")


@tests.test("hint: the command that converts gives back the very document")
def _():
    text = '{"name": "Grüße 日本 😀"}\n'
    mark = "\ufeff"
    rows = [(name, lead) for lead in ("", mark)
            for name in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")]
    for name, lead in rows:
        for args in ([], ["--lines"]):
            hint = hint_for((lead + text).encode(name), *args)
            command = re.fullmatch("'(iconv .*) FILE' does it", hint)
            assert command, (name, lead, hint)
            result = run(command.group(1).split() + ["hinted.json"])
            expect(result, 0, text)


@tests.test("hint: no command for an encoding that cannot be told")
def _():
    for text in (b"1\0", b"\0001", b"\0\0\0\0", b"[\0]", b"1\0\0001",
                 '"日"'.encode("utf-16-le"), b"{\0ab"):
        hint = hint_for(text)
        assert hint.startswith("its first bytes do not tell which"), (text, hint)


@tests.test("hint: tells a surrogate in three bytes from another encoding")
def _():
    write("a.json", b'["\xed\xa0\x80"]')
    expect(perdure("check", "a.json"), 6, """\
a.json:1:3: error: byte 0xED does not begin a UTF-8 sequence [bad_utf8]
     1 | ["\\xed\\xa0\\x80"]
       |   ^
    byte 2, /0
    hint: a surrogate written as three bytes is no UTF-8
a.json: not valid JSON
""")
    assert "surrogate" in hint_for(b'"\xed\xbf\xbf')
    for text in (b'"\xed"', b'"\xed\xa0"', b'"\xed\xa0 "', b'"\xe4\xa0"'):
        assert "LATIN1" in hint_for(text), text


@tests.test("hint: speaks of several documents only where a value may begin")
def _():
    for rest in ("{}", "[]", '"a"', "-1", "0", "9", "true", "false", "null"):
        assert "--lines" in hint_for("[1]\n" + rest), rest
    for rest in ("}", "]", "\0", ",", ":", "x", "'", "\u00e9", "//"):
        assert hint_for("[1]" + rest) == "", rest


@tests.test("hint: names the literals where one was begun")
def _():
    literals = "the literals are true, false and null"
    for text in ("[nul]", "[truu]", "[f]", '{"a":fals}', "[1,n,2]", "tru",
                 " fals", "t", "tru\n", "[nuLL]"):
        for args in ([], ["--lines"]):
            assert hint_for(text, *args) == literals, (text, args)
    for text in ("[x]", "[true x]", "[nullx]", "[truex]", "[1 2]", "{a:1}",
                 "[,]", "[unul]"):
        assert hint_for(text) == "", text
    for text in ('["some n', "[1", '{"a":"tru', "{", "[tru"):
        assert hint_for(text).startswith("the end is missing"), text


@tests.test("check: calls the end of a pointer no pointer")
def _():
    for name in ("name", 'q"', "\\", "\x1f", "ä", "日", "😀"):
        for shift in range(7):
            whole = "/" + name * 200 + "a" * shift + "/0"
            inside = json.dumps(whole[1:-2], ensure_ascii=False)
            write("a.json", "{%s:[?]}" % inside)
            for args in ([], ["--lines"]):
                result = perdure("check", "-o", "jsonl", *args, "a.json")
                error = strict(result.out)["error"]
                assert "pointer" not in error, error
                end = error["pointerEnd"]
                assert len(json.dumps(end, ensure_ascii=False)
                           .encode()) > 100, end
                assert whole.endswith(end), (whole, end)
            failed = strict(perdure("fmt", "-o", "json", "a.json").err)
            assert failed["pointerEnd"] == end, failed
    write("a.json", '{"%s":{"a":1,"a":2}}' % ("n" * 300))
    found = strict(perdure("check", "-o", "jsonl", "a.json").out)
    assert found["warnings"][0]["pointer"] == "/" + "n" * 300 + "/a", found


@tests.test("check: reads bare tokens only when asked to")
def _():
    write("a.json", "[NaN, -Infinity, 1]")
    expect(perdure("check", "a.json"), 6, """\
a.json:1:2: error: NaN and infinities are read only when asked for [bare_token]
     1 | [NaN, -Infinity, 1]
       |  ^
    byte 1, /0
    hint: Python writes these; --bare-tokens accepts them
a.json: not valid JSON
""")
    expect(perdure("check", "--bare-tokens", "a.json"), 0,
           "a.json: valid JSON, 19 bytes, 4 values, 1 level deep\n")


@tests.test("check: holds each limit, one below and one above")
def _():
    write("a.json", '[[["abc"]]]')
    rows = [("--max-depth", 3, "too_deep"), ("--max-bytes", 11, "too_large"),
            ("--max-nodes", 4, "too_many_nodes")]
    for option, enough, reason in rows:
        assert perdure("check", option, str(enough), "a.json").status == 0
        result = perdure("check", "-o", "json", option, str(enough - 1),
                         "a.json")
        error = strict(result.out)["files"][0]["error"]
        assert (result.status, error["code"], error["reason"]) == (
            6, "LIMIT", reason), result
        piped = perdure("check", "-o", "json", option, str(enough - 1), "-",
                        stdin=b'[[["abc"]]]')
        assert strict(piped.out)["files"][0]["error"]["reason"] == reason
    expect(perdure("check", "--max-bytes", "10", "a.json"), 6, """\
a.json: error: the input has more than 10 bytes [too_large]
    hint: --max-bytes sets the limit; of many documents in one file, as in JSON Lines, each may have as much
a.json: not checked: a limit was reached
""")


@tests.test("check: calls nothing invalid that it did not look at")
def _():
    write("a.json", "[1,2]")
    write("bad.json", "[")
    args = ("check", "--max-bytes", "3", "bad.json", "a.json", "none.json")
    lines = perdure(*args).out.decode().splitlines()
    assert "bad.json: not valid JSON" in lines, lines
    assert lines[-2:] == [
        "a.json: not checked: a limit was reached",
        "3 files: 0 valid, 1 not valid, 1 not checked, 1 not read"], lines
    found = strict(perdure(*args, "-o", "json").out)
    assert [file["valid"] for file in found["files"]] == [False, None, None]
    assert [found[name] for name in ("valid", "invalid", "unchecked",
                                     "unread")] == [0, 1, 1, 1], found
    expect(perdure("check", "-l", "--max-nodes", "2", "-",
                   stdin=b"[1]\n[1,2]"), 6, """\
standard input:2:4: error: more than 2 names and values [too_many_nodes]
     2 | [1,2]
       |    ^
    document 2, byte 7, /1
    hint: --max-nodes sets the limit
standard input: not checked: a limit was reached behind 1 valid document
""")


@tests.test("check: survives 100,000 levels")
def _():
    write("a.json", "[" * 100000 + "]" * 100000)
    result = perdure("check", "-o", "jsonl", "a.json")
    error = strict(result.out)["error"]
    assert (result.status, error["reason"], error["offset"]) == (
        6, "too_deep", 128), result
    assert perdure("check", "--max-depth=1024", "a.json").status == 6
    write("b.json", "[" * 1024 + "]" * 1024)
    expect(perdure("check", "--max-depth=1024", "b.json"), 0,
           "b.json: valid JSON, 2.0 kB, 1,024 values, 1,024 levels deep\n")


@tests.test("check: checks all files and gives the highest status")
def _():
    write("good.json", "[]")
    write("bad.json", "[")
    expect(perdure("check", "good.json", "bad.json", "none.json", "good.json"),
           6, """\
good.json: valid JSON, 2 bytes, 1 value, 1 level deep
bad.json:1:2: error: the document ends before it is complete [unexpected_end]
     1 | [
       |  ^
    byte 1, /0
    hint: the end is missing: was the file cut off while it was written?
bad.json: not valid JSON
good.json: valid JSON, 2 bytes, 1 value, 1 level deep
4 files: 2 valid, 1 not valid, 1 not read
""", """\
perdure: none.json: No such file or directory
hint: check the name; '-' reads standard input
""")
    assert perdure("check", "none.json", "good.json").status == 3
    assert perdure("check", "bad.json", "/").status == 9
    assert perdure("check", "/", "bad.json").status == 9


@tests.test("check: tells missing files from unreadable ones")
def _():
    expect(perdure("check", "-q", "none.json"), 3, "",
           "perdure: none.json: No such file or directory\n")
    write("file", "1")
    assert perdure("check", "file/none.json").status == 3
    os.mkdir("folder")
    expect(perdure("check", "folder"), 9, "", """\
perdure: folder: Is a directory
hint: name a file or a pipe that you may read
""")
    # The first page of a process can be opened, but not read.
    expect(perdure("check", "-q", "/proc/self/mem"), 9, "",
           "perdure: /proc/self/mem: Input/output error\n")
    if os.geteuid() != 0:
        os.chmod(write("secret.json", "1"), 0)
        assert perdure("check", "secret.json").status == 9


@tests.test("check: gives one JSON document for all files")
def _():
    write("good.json", '{"a":1}')
    write("bad.json", "\n[1 2]")
    result = perdure("check", "-o", "json", "good.json", "bad.json", "none")
    assert strict(result.out) == {
        "files": [
            {"file": "good.json", "format": "json", "valid": True, "bytes": 7,
             "values": 2, "depth": 1, "warningCount": 0, "warnings": []},
            {"file": "bad.json", "format": "json", "valid": False,
             "error": {"code": "INVALID", "reason": "unexpected_byte",
                       "message": "expected ',' or ']', found '2'",
                       "pointer": "", "offset": 4, "line": 2, "column": 4},
             "warningCount": 0, "warnings": []},
            {"file": "none", "valid": None,
             "error": {"code": "NOTFOUND", "reason": "no_file",
                       "message": "No such file or directory",
                       "hint": "check the name; '-' reads standard input"},
             "warningCount": 0, "warnings": []}],
        "valid": 1, "invalid": 1, "unchecked": 0, "unread": 1,
        "warningCount": 0, "exit": 6}, result
    assert strict(result.err) == {
        "title": "no such thing",
        "detail": "none: No such file or directory", "code": "NOTFOUND",
        "reason": "no_file", "exit": 3,
        "hint": "check the name; '-' reads standard input"}, result
    assert result.status == 6


@tests.test("check: passes valid bytes on with -o raw")
def _():
    text = b'  { "a" : 1.10 }\r\n\t'
    expect(perdure("check", "-o", "raw", "-", stdin=text), 0, text.decode())
    expect(perdure("check", "-o", "raw", "-", stdin=b"[1"), 6, "", """\
perdure: standard input:1:3: the document ends before it is complete
hint: the end is missing: was the file cut off while it was written?
""")


@tests.test("check: takes names of any bytes")
def _():
    name = os.fsdecode(b"a\xff\n.json")
    write(name, "[]")
    expect(perdure("check", name), 0,
           "a\\xff\\n.json: valid JSON, 2 bytes, 1 value, 1 level deep\n")
    found = strict(perdure("check", "-o", "jsonl", name).out)
    assert found["file"] == "a\ufffd\n.json"
    write("-q", "[]")
    expect(perdure("check", "--", "-q"), 0,
           "-q: valid JSON, 2 bytes, 1 value, 1 level deep\n")


# --- check --lines -------------------------------------------------------

@tests.test("check --lines: walks over many documents")
def _():
    write("a.jsonl", '{"a":1}\n[1,2]\n\n  7\n"x"')
    expect(perdure("check", "--lines", "a.jsonl"), 0,
           "a.jsonl: valid JSON, 4 documents, 22 bytes, 7 values, 1 level deep\n")
    expect(perdure("check", "-l", "-", stdin=b""), 0,
           "standard input: valid JSON, 0 documents, 0 bytes, 0 values, "
           "0 levels deep\n")
    assert perdure("check", "a.jsonl").out == perdure(
        "check", "--lines", "a.jsonl").out  # the extension says the same
    os.rename("a.jsonl", "a.json")
    expect(perdure("check", "a.json"), 6, """\
a.json:2:1: error: there is more behind the document [trailing_data]
     2 | [1,2]
       | ^
    byte 8
    hint: a file holds one document; several, as in JSON Lines, need 'perdure check --lines'
a.json: not valid JSON
""")


@tests.test("check --lines: places errors and warnings in the whole stream")
def _():
    text = '{"a":1}\n{"ä":1,"ä":2}\n\n["x",\n ?]\n'
    write("a.jsonl", text)
    expect(perdure("check", "--lines", "a.jsonl"), 6, """\
a.jsonl:2:8: warning: name occurs again in this object [duplicate_name]
    document 2, byte 16, /ä
a.jsonl:5:2: error: expected a value, found '?' [unexpected_byte]
     5 |  ?]
       |  ^
    document 3, byte 32, /1
a.jsonl: not valid JSON behind 2 valid documents, 1 warning
""")
    found = strict(perdure("check", "--lines", "-o", "jsonl", "-",
                           stdin=text.encode()).out)
    assert found["warnings"][0]["document"] == 2
    assert (found["error"]["line"], found["error"]["offset"]) == (5, 32)


@tests.test("check --lines: keeps its place over a stream of megabytes")
def _():
    line = b'{"n":1,"text":"%s"}\n' % (b"x" * 300)
    count = 20000
    good = line * count
    expect(perdure("check", "--lines", "-", stdin=good), 0,
           "standard input: valid JSON, 20,000 documents, 6.4 MB, 60,000 values, "
           "1 level deep\n")
    found = strict(perdure("check", "-lojsonl", "-",
                           stdin=good + b'{"n":}').out)
    error = found["error"]
    assert (error["line"], error["column"], error["offset"]) == (
        count + 1, 6, len(good) + 5), error


@tests.test("check --lines: counts each kind of line end once")
def _():
    for end in (b"\n", b"\r\n", b"\r"):
        for first in (b"1", b"12"):  # so that a read ends between CR and LF
            text = first + end * 200000 + b"?"
            found = strict(perdure("check", "-lojsonl", "-", stdin=text).out)
            error = found["error"]
            assert (error["line"], error["column"], error["offset"]) == (
                200001, 1, len(text) - 1), (end, error)


@tests.test("check --lines: needs memory for the largest document only")
def _():
    if SANITIZED:
        raise record.Skip("a sanitizer reserves address space of its own")

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (48 << 20, 48 << 20))
    line = b'{"text":"%s"}\n' % (b"x" * 50000)
    with open("big.jsonl", "wb") as file:
        for _ in range(2000):
            file.write(line)
        file.write(b"\n" * 60000000)  # white space is not kept either
        file.write(b"1\n")
    result = perdure("check", "--lines", "big.jsonl", preexec_fn=limit)
    assert (result.status, result.out) == (
        0, b"big.jsonl: valid JSON, 2,001 documents, 160.0 MB, 4,001 values, "
        b"1 level deep\n"), result


@tests.test("check --lines: passes a valid sequence on with -o raw")
def _():
    text = ' {"a": 1.10}\r\n' + '"%s"\n' % ("x" * 100000) * 3 + "7\n\n"
    expect(perdure("check", "--lines", "-o", "raw", "-", stdin=text.encode()),
           0, text)
    broken = perdure("check", "-lq", "-o", "raw", "-",
                     stdin=text.encode() + b"[")
    assert (broken.status, broken.out) == (6, b""), broken
    assert broken.err.startswith(b"perdure: standard input:"), broken


@tests.test("check --lines: does not go with another format")
def _():
    write("a.jsonl", "1\n2\n")
    assert perdure("check", "-l", "--from", "jsonl", "a.jsonl").status == 0
    expect(perdure("check", "-l", "--from", "json", "a.jsonl"), 2, "", """\
perdure: --lines: does not go with this --from
hint: 'perdure check --help' shows what it takes
""")


# --- fmt -----------------------------------------------------------------

ODD = ('{"n":[1.10,-0,1E400,123456789012345678901234567890],"n":"\\u0000 \\/ '
       '\\ud800 \\u00e9 é","e":{},"f":[],"t":[true,false,null]}')
ODD_PRETTY = """\
{
  "n": [
    1.10,
    -0,
    1E400,
    123456789012345678901234567890
  ],
  "n": "\\u0000 \\/ \\ud800 \\u00e9 é",
  "e": {},
  "f": [],
  "t": [
    true,
    false,
    null
  ]
}
"""


@tests.test("fmt: keeps every lexeme")
def _():
    write("a.json", ODD)
    expect(perdure("fmt", "a.json"), 0, ODD_PRETTY)
    expect(perdure("fmt", stdin=ODD.encode()), 0, ODD_PRETTY)
    expect(perdure("fmt", "-", stdin=ODD_PRETTY.encode()), 0, ODD_PRETTY)
    expect(perdure("fmt", "--compact", "-", stdin=ODD_PRETTY.encode()), 0,
           ODD + "\n")
    expect(perdure("fmt", "-c", "a.json"), 0, ODD + "\n")


@tests.test("fmt: indents as asked")
def _():
    four = re.sub("(?m)^ +", lambda m: m.group(0) * 2, ODD_PRETTY)
    expect(perdure("fmt", "--indent", "4", stdin=ODD.encode()), 0, four)
    expect(perdure("fmt", "-i4", stdin=ODD.encode()), 0, four)
    expect(perdure("fmt", "--indent=16", stdin=b"[1]"), 0,
           "[\n" + " " * 16 + "1\n]\n")
    assert perdure("fmt", "--indent=17", stdin=b"1").status == 2
    assert perdure("fmt", "--indent=0", stdin=b"1").status == 2
    expect(perdure("fmt", "-c", "-i4", stdin=b"1"), 2, "", """\
perdure: --indent: does not go with --compact
hint: 'perdure fmt --help' shows what it takes
""")


@tests.test("fmt: ends with exactly one line end")
def _():
    for text in (b"1", b"1\n", b" 1 \n\n"):
        for args in ([], ["-c"], ["-o", "json"], ["-o", "jsonl"]):
            expect(perdure("fmt", *args, stdin=text), 0, "1\n")


@tests.test("fmt: gives stored bytes with -o raw, one line with -o jsonl")
def _():
    text = '{ "a" :\t[ 1.0 ,2 ] }\r\n\r\n'
    expect(perdure("fmt", "-o", "raw", stdin=text.encode()), 0, text)
    expect(perdure("fmt", "-o", "jsonl", stdin=text.encode()), 0,
           '{"a":[1.0,2]}\n')
    expect(perdure("fmt", "-o", "raw", stdin=b"[1"), 6, "", """\
perdure: standard input:1:3: the document ends before it is complete
hint: the end is missing: was the file cut off while it was written?
""")


@tests.test("fmt: refuses what is not valid and prints nothing of it")
def _():
    write("a.json", "[1,\n 2 3]")
    expect(perdure("fmt", "a.json"), 6, "",
           "perdure: a.json:2:4: expected ',' or ']', found '3'\n")
    problem = perdure("fmt", "-o", "json", "a.json")
    assert (problem.status, problem.out) == (6, b"")
    assert strict(problem.err) == {
        "title": "the input breaks a rule",
        "detail": "a.json:2:4: expected ',' or ']', found '3'",
        "code": "INVALID", "reason": "unexpected_byte", "exit": 6,
        "pointer": "", "offset": 7, "line": 2, "column": 4}, problem
    assert perdure("fmt", "none.json").status == 3
    assert perdure("fmt", "/").status == 9
    expect(perdure("fmt", stdin=b"[NaN]"), 6, "", """\
perdure: standard input:1:2: NaN and infinities are read only when asked for, at /0
hint: Python writes these; --bare-tokens accepts them
""")
    expect(perdure("fmt", "-c", "--bare-tokens", stdin=b"[NaN, 1]"), 0,
           "[NaN,1]\n")
    for option in ("--max-depth=1", "--max-bytes=3", "--max-nodes=1"):
        assert perdure("fmt", option, stdin=b"[[]]").status == 6, option


@tests.test("fmt: escapes controls on a terminal and nowhere else")
def _():
    text = '["\x7f \x9b31m","\u202ex"]'
    expect(perdure("fmt", "-c", stdin=text.encode()), 0, text + "\n")
    write("a.json", text)
    plain = run_on_terminal([PERDURE, "fmt", "-c", "--color=never", "a.json"])
    expect(plain, 0, '["\\u007f \\u009b31m","\\u202ex"]\n')
    assert json.loads(plain.out) == json.loads(text)
    raw = run_on_terminal([PERDURE, "fmt", "-o", "raw", "a.json"])
    expect(raw, 0, text)


@tests.test("terminal: no command shows what is invisible as it is")
def _():
    name = "a%s.json" % INVISIBLE
    value = {INVISIBLE: ["👩%s🌾" % INVISIBLE, "x"]}
    write(name, json.dumps(value, ensure_ascii=False))
    write("b.json", "{}")
    write("bad%s.json" % INVISIBLE, '{"%s": [1,]}' % INVISIBLE)
    bad = "bad%s.json" % INVISIBLE
    for args in (["check", name], ["check", bad], ["fmt", name], ["fmt", bad],
                 ["diff", name, "b.json"], ["diff", "b.json", name],
                 ["convert", name, "-", "--to", "json"],
                 ["convert", name, "-", "--to", "xml"],
                 ["convert", name, "c%s.msgpack" % INVISIBLE, "-y"],
                 ["fmt", "none" + INVISIBLE], ["fmt", "--" + INVISIBLE],
                 [INVISIBLE], ["session", "list", "--file", name],
                 ["session", "show", "--file", "none" + INVISIBLE]):
        for extra in ([], ["-o", "json"], ["-o", "jsonl"]):
            got = run_on_terminal([PERDURE, *args, *extra])
            assert not hidden(got.out + got.err), (args, extra, got)
            # Standard error alone is looked at by itself.
            got = run_on_terminal([PERDURE, *args, *extra], piped=True)
            assert not hidden(got.err), (args, extra, got)
    shown = run_on_terminal([PERDURE, "fmt", "-c", "--color=never", name])
    assert json.loads(shown.out) == value, shown
    assert b"\\u200d" in shown.out and b"\\udb40\\udc41" in shown.out, shown
    # In a pipe, and in raw output, all is as it was.
    for args in (["fmt", name], ["diff", name, "b.json"],
                 ["diff", name, "b.json", "-o", "json"], ["check", name],
                 ["check", name, "-o", "json"]):
        got = perdure(*args)
        assert INVISIBLE.encode() in got.out, (args, got)
    raw = run_on_terminal([PERDURE, "fmt", "-o", "raw", name])
    assert INVISIBLE.encode() in raw.out, raw


@tests.test("fmt: colours a terminal, and a pipe only by option")
def _():
    write("a.json", '{"a": ["x", 1, null]}')
    colored = ('{\033[36m"a"\033[0m:[\033[32m"x"\033[0m,\033[33m1\033[0m,'
               '\033[1mnull\033[0m]}\n')
    expect(run_on_terminal([PERDURE, "fmt", "-c", "a.json"]), 0, colored)
    expect(perdure("fmt", "-c", "--color=always", "a.json"), 0, colored)
    expect(perdure("fmt", "-c", "a.json", env={"FORCE_COLOR": "1"}), 0,
           '{"a":["x",1,null]}\n')
    expect(perdure("fmt", "-ojsonl", "--color=always", "a.json"), 0,
           '{"a":["x",1,null]}\n')


# --- diff ----------------------------------------------------------------

def write_pair():
    write("a.json", '{"v":1.0,"gone":[1,2],"o":{"x":1,"y":2},"s":"a\\/b",'
          '"list":[{"id":1},{"id":2}]}')
    write("b.json", '{\n "v": 1.00, "o": {"y":2,"x":1}, "s":"a/b", '
          '"list":[{"id":0},{"id":1},{"id":2}], "n\\n": {"k": [true]}\n}')


@tests.test("diff: lists changes by pointer")
def _():
    write_pair()
    expect(perdure("diff", "a.json", "b.json"), 0, """\
~ /v  1.0 -> 1.00
- /gone  [1,2]
= order /o
+ /list/0  {"id":0}
+ /n\\n  {"k":[true]}
""")


@tests.test("diff: gives objects as JSON and as lines")
def _():
    write_pair()
    changes = [
        {"op": "changed", "pointer": "/v", "before": 1.0, "after": 1.0},
        {"op": "removed", "pointer": "/gone", "before": [1, 2]},
        {"op": "reordered", "pointer": "/o"},
        {"op": "added", "pointer": "/list/0", "after": {"id": 0}},
        {"op": "added", "pointer": "/n\n", "after": {"k": [True]}}]
    result = perdure("diff", "-o", "json", "a.json", "b.json")
    assert (result.status, result.err) == (0, b"")
    assert strict(result.out) == {
        "changes": changes, "equal": False, "added": 2, "removed": 1,
        "changed": 1, "reordered": 1}, result
    assert b'"before":1.0,"after":1.00' in result.out
    lines = perdure("diff", "-o", "jsonl", "a.json", "b.json").out.splitlines()
    assert [strict(line) for line in lines] == changes
    expect(perdure("diff", "-o", "json", "a.json", "a.json"), 0,
           '{"changes":[],"equal":true,"added":0,"removed":0,"changed":0,'
           '"reordered":0}\n')
    expect(perdure("diff", "-o", "jsonl", "a.json", "a.json"), 0)


@tests.test("diff: prints values as stored with -o raw")
def _():
    write("a.json", '{"a": [1,  2]}')
    write("b.json", '{"a": "\u009b"}')
    expect(perdure("diff", "-o", "raw", "a.json", "b.json"), 0,
           '~ /a  [1,  2] -> "\u009b"\n')
    expect(perdure("diff", "a.json", "b.json"), 0,
           '~ /a  [1,2] -> "\\u009b"\n')


@tests.test("diff: tells by its status when asked to")
def _():
    write_pair()
    assert perdure("diff", "--exit-code", "a.json", "b.json").status == 1
    expect(perdure("diff", "--exit-code", "a.json", "a.json"), 0)
    assert perdure("diff", "-e", "a.json", "b.json").status == 1
    write("spaced.json", '{ "a" : "/" }\n')
    write("dense.json", '{"a":"\\/"}')
    expect(perdure("diff", "-e", "spaced.json", "dense.json"), 0)
    assert perdure("diff", "-e", "none.json", "a.json").status == 3
    assert perdure("diff", "-e", "a.json", "/").status == 9


@tests.test("diff: compares whole documents and standard input")
def _():
    write("a.json", "[1]")
    expect(perdure("diff", "a.json", "-", stdin=b'"x"'), 0,
           '~ (root)  [1] -> "x"\n')
    expect(perdure("diff", "-", "a.json", stdin=b"[]"), 0, "+ /0  1\n")
    expect(perdure("diff", "-", "-"), 2, "", """\
perdure: -: standard input can be only one of the two
hint: 'perdure diff --help' shows what it takes
""")
    expect(perdure("diff", "a.json", "-", stdin=b"[1"), 6, "", """\
perdure: standard input:1:3: the document ends before it is complete
hint: the end is missing: was the file cut off while it was written?
""")
    expect(perdure("diff", "--bare-tokens", "a.json", "-", stdin=b"[NaN]"), 0,
           "~ /0  1 -> NaN\n")
    for option in ("--max-depth=1", "--max-bytes=3", "--max-nodes=1"):
        assert perdure("diff", option, "-", "a.json",
                       stdin=b"[[]]").status == 6, option


@tests.test("diff: cuts values on a terminal only")
def _():
    long = "x" * 300
    write("a.json", json.dumps({"a": long, "b": long, "c": long}))
    write("b.json", json.dumps({"a": "short", "b": "y" * 300, "d": long}))
    piped = perdure("diff", "a.json", "b.json").out.decode()
    assert '+ /d  "%s"\n' % long in piped
    shown = run_on_terminal([PERDURE, "diff", "--color=never", "a.json",
                             "b.json"], columns=60)
    lines = shown.out.decode().splitlines()
    assert [len(line) for line in lines] == [60, 60, 60, 60], lines
    assert lines[0].endswith('xxx… -> "short"')
    assert shown.err == b"4 differences: 1 added, 1 removed, 2 changed\n"
    same = run_on_terminal([PERDURE, "diff", "a.json", "a.json"])
    expect(same, 0, "", "no differences\n")
    expect(run_on_terminal([PERDURE, "diff", "-q", "a.json", "a.json"]), 0)


# --- version, help, usage ------------------------------------------------

@tests.test("version: names command, library and reading code")
def _():
    lines = perdure("version").out.decode().splitlines()
    assert re.fullmatch(r"perdure \d+\.\d+\.\d+", lines[0])
    number = lines[0].split()[1]
    assert lines[1] == "library " + number and len(lines) == 3
    kernel = re.fullmatch("kernel  (avx2|sse2|portable)", lines[2]).group(1)
    want = {"command": number, "library": number, "kernel": kernel}
    assert strict(perdure("version", "-o", "json").out) == want
    assert strict(perdure("version", "-o", "jsonl").out) == want
    expect(perdure("version", "-o", "raw"), 0, number + "\n")
    assert perdure("--version").out == perdure("version").out


@tests.test("help: explains every command in three ways")
def _():
    commands = [c["name"] for c in tables()]
    assert [name for name in commands if " " not in name] == [
        "check", "convert", "fmt", "diff", "doc", "session", "store", "agent",
        "group", "run", "serve", "key", "schema", "version", "help"]
    overview = perdure("help").out.decode()
    for name in commands:
        words = name.split()
        assert ("\n  %-10s" % name in overview) == (len(words) == 1)
        text = perdure("help", *words).out
        assert text.startswith(b"perdure %s - " % name.encode())
        assert perdure(*words, "--help").out == text
        assert perdure(*words, "-h").out == text
        assert perdure("--help", *words).out == text
        assert max(map(len, text.decode().splitlines())) <= 80
    assert perdure("--help").out.decode() == overview
    assert max(map(len, overview.splitlines())) <= 80


@tests.test("help: shows the rows of the table")
def _():
    expect(perdure("help", "version"), 0, """\
perdure version - which command, which library, which reading code

Usage: perdure version

Options of every command
  -o, --output FORMAT   table, json, jsonl or raw (default table)
      --color WHEN      auto, always or never (default auto)
  -q, --quiet           no progress, no hints, no summary
  -h, --help            show this help

The manual is perdure-version(1).
""")


@tests.test("usage: every mistake gives 2, a line and a hint")
def _():
    rows = [
        (["chekc"], "chekc: no such command", "did you mean 'perdure check'?"),
        (["sing"], "sing: no such command",
         "'perdure help' lists the commands"),
        (["help", "dif"], "dif: no such command",
         "did you mean 'perdure diff'?"),
        ([], "COMMAND: an argument is missing",
         "'perdure help' lists the commands"),
        (["--bogus"], "--bogus: no such option",
         "'perdure help' lists the commands"),
        (["check", "--max-dept=3", "a"], "--max-dept: no such option",
         "did you mean '--max-depth'?"),
        (["check", "-x", "a"], "-x: no such option",
         "'perdure check --help' shows what it takes"),
        (["check"], "FILE: an argument is missing",
         "'perdure check --help' shows what it takes"),
        (["diff", "a"], "B: an argument is missing",
         "'perdure diff --help' shows what it takes"),
        (["diff", "a", "b", "c"], "c: one argument too many",
         "'perdure diff --help' shows what it takes"),
        (["fmt", "-o"], "-o: a value is missing", "write -o FORMAT"),
        (["fmt", "-o", "yaml"], "-o: 'yaml' is not offered",
         "choose one of table, json, jsonl, raw"),
        (["fmt", "--color=maybe"], "--color: 'maybe' is not offered",
         "choose one of auto, always, never"),
        (["fmt", "--compact=1"], "--compact: takes no value",
         "'perdure fmt --help' shows what it takes"),
        (["check", "--max-depth=1025", "a"],
         "--max-depth: '1025' is no number from 1 to 1024",
         "'perdure check --help' shows what it takes"),
        (["check", "--max-bytes=1T", "a"],
         "--max-bytes: '1T' is no number from 1 to 4294967295",
         "write digits, and K, M or G for a unit, as in 64M"),
        (["check", "--max-nodes=0", "a"],
         "--max-nodes: '0' is no number from 1 to 268435455",
         "'perdure check --help' shows what it takes"),
        (["check", "--max-warnings=x", "a"],
         "--max-warnings: 'x' is no number from 0 to 4294967295",
         "'perdure check --help' shows what it takes"),
    ]
    for args, line, hint in rows:
        expect(perdure(*args), 2, "", "perdure: %s\nhint: %s\n" % (line, hint))
        problem = perdure(*args, env={"PERDURE_OUTPUT": "json"})
        assert (problem.status, problem.out) == (2, b"")
        found = strict(problem.err)
        assert (found["detail"], found["hint"], found["code"],
                found["exit"]) == (line, hint, "USAGE", 2), found


@tests.test("output: is chosen by option, then by variable")
def _():
    for args in (["version", "-ojson"], ["-o", "json", "version"],
                 ["version", "--output=json"], ["version", "--output", "json"]):
        assert strict(perdure(*args).out)["library"], args
    by_variable = perdure("version", env={"PERDURE_OUTPUT": "json"})
    assert strict(by_variable.out)["library"]
    assert perdure("version", "-o", "table",
                   env={"PERDURE_OUTPUT": "json"}).out.startswith(b"perdure ")
    expect(perdure("version", env={"PERDURE_OUTPUT": "yaml"}), 2, "", """\
perdure: PERDURE_OUTPUT: the variable names no output format
hint: choose one of table, json, jsonl, raw
""")
    late = perdure("chekc", "--bogus", "-o", "json")
    assert strict(late.err)["reason"] == "unknown_command"
    late = perdure("check", "--bogus", "-o", "json")
    assert strict(late.err)["reason"] == "unknown_option"


def every_case():
    """Calls that together reach every kind of output."""
    write_pair()
    write("dup.json", '{"a":1,"a":"\\udc00"}')
    write("bad.json", '{"a":\x01}')
    write("many.jsonl", "1\n{}\n")
    return [["check", "a.json"], ["check", "a.json", "dup.json", "bad.json"],
            ["check", "none.json"], ["check", "/"], ["check", "bad.json"],
            ["check", "--lines", "many.jsonl"],
            ["check", "--lines", "bad.json"], ["fmt", "a.json"],
            ["fmt", "--compact", "dup.json"], ["fmt", "bad.json"],
            ["fmt", "none.json"], ["diff", "a.json", "b.json"],
            ["convert", "-y", "a.json", "out.json"],
            ["convert", "a.json", "b.json"], ["convert", "a.json", "-"],
            ["convert", "bad.json", "new.json"],
            ["diff", "a.json", "a.json"], ["diff", "a.json", "bad.json"],
            ["diff", "a.json", "none.json"], ["version"], ["help"],
            ["doc", "check", TALK], ["doc", "check", "none.json"],
            ["doc", "check", TALK, "a.json"],
            ["doc", "check", "--for=dotnet", TALK, "a.json"],
            ["doc", "check", "bad.json"], ["doc", "show", "--no-pager", TALK],
            ["doc", "show", "a.json"], ["doc", "stats", TALK],
            ["doc", "diff", TALK, TODAY], ["doc", "diff", TALK, "bad.json"],
            ["doc", "migrate", "--to=1.0.0", TALK, "new.json"],
            ["doc", "migrate", "-fn", "--to=1.0.0", TALK],
            ["doc", "repair", "-y", TALK, "fixed.json"],
            ["doc", "bogus"], ["doc"], ["doc", "--help"], ["schema"],
            ["schema", "strict"], ["schema", "bogus"],
            ["help", "check"], ["check", "--help"], ["fmt", "--bogus"],
            ["bogus"], ["diff", "a.json"], ["help", "bogus"]]


@tests.test("output: -o json is one document, -o jsonl one object a line")
def _():
    for args in every_case():
        result = perdure(*args, "-o", "json")
        if result.out:
            strict(result.out)
        lines = perdure(*args, "-o", "jsonl")
        for line in lines.out.splitlines():
            assert isinstance(strict(line), dict), (args, line)
        for err in (result.err, lines.err):
            for line in err.splitlines():
                assert strict(line)["exit"] == result.status, (args, err)
        assert result.status == lines.status
        # A verdict is data, so that only failures leave it empty.
        assert bool(result.out) or bool(result.err), args


# --- colour --------------------------------------------------------------

def colored(args, env=None, terminal=False):
    """Which of the two streams hold an escape sequence."""
    if terminal:
        result = run_on_terminal([PERDURE, *args], env=env)
    else:
        result = perdure(*args, env=env)
    return ESCAPE in result.out, ESCAPE in result.err


@tests.test("color: NO_COLOR=1 removes every escape sequence, NO_COLOR= does "
            "not, --color always wins", covers=["P-61"])
def _():
    for args in every_case():
        plain = run_on_terminal([PERDURE, *args], env={"NO_COLOR": "1"})
        assert ESCAPE not in plain.out + plain.err, (args, plain)
        usual = run_on_terminal([PERDURE, *args])
        empty = run_on_terminal([PERDURE, *args], env={"NO_COLOR": ""})
        assert (usual.out, usual.err) == (empty.out, empty.err), args
        always = run_on_terminal([PERDURE, *args, "--color", "always"],
                                 env={"NO_COLOR": "1", "TERM": "dumb"})
        assert (ESCAPE in always.out, ESCAPE in always.err) == (
            ESCAPE in usual.out, ESCAPE in usual.err), args
        # Only colour may tell them apart: meaning is never by colour alone.
        for one in (usual, always):
            assert re.sub(rb"\033\[[0-9;]*m", b"", one.out) == plain.out, args
            assert re.sub(rb"\033\[[0-9;]*m", b"", one.err) == plain.err, args
    assert colored(["check", "a.json"], terminal=True) == (True, False)
    assert colored(["check", "none.json"], terminal=True) == (False, True)
    assert colored(["diff", "a.json", "b.json"], terminal=True) == (True, False)


@tests.test("color: is decided in the promised order")
def _():
    write("a.json", "[]")
    rows = [  # environment, option, terminal, coloured
        ({}, None, False, False), ({}, None, True, True),
        ({"NO_COLOR": "1"}, None, True, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, None, True, False),
        ({"NO_COLOR": "1"}, "always", False, True),
        ({"FORCE_COLOR": "1"}, None, False, True),
        ({"FORCE_COLOR": "0"}, None, False, False),
        ({"FORCE_COLOR": ""}, None, False, False),
        ({"FORCE_COLOR": "1"}, "never", True, False),
        ({"CLICOLOR_FORCE": "1"}, None, False, True),
        ({"CLICOLOR_FORCE": "0"}, None, False, False),
        ({"CLICOLOR_FORCE": "1", "CLICOLOR": "0"}, None, False, True),
        ({"CLICOLOR": "0"}, None, True, False),
        ({"CLICOLOR": "1"}, None, True, True),
        ({"TERM": "dumb"}, None, True, False),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, None, True, True),
        ({"TERM": "dumb"}, "always", False, True),
        ({}, "auto", True, True), ({}, "auto", False, False),
    ]
    for env, option, terminal, want in rows:
        extra = ["--color", option] if option else []
        got = colored(["check", "a.json", *extra], env, terminal)
        assert got == (want, False), (env, option, terminal, got)
        got = colored(["check", "none.json", *extra], env, terminal)
        assert got == (False, want), (env, option, terminal, got)


@tests.test("color: never reaches JSON or raw output")
def _():
    write_pair()
    for output in FORMATS[1:]:
        for args in (["check", "a.json"], ["diff", "a.json", "b.json"],
                     ["fmt", "a.json"], ["version"], ["help"]):
            got = colored([*args, "-o", output, "--color=always"],
                          terminal=True)
            assert got == (False, False), (args, output)


# --- progress, signals, large input --------------------------------------

def slow(*pieces, wait=0.7):
    def feed(pipe):
        for piece in pieces:
            pipe.write(piece)
            pipe.flush()
            time.sleep(wait)
    return feed


@tests.test("progress: appears on a terminal after half a second and goes away")
def _():
    feed = slow(b"[1,", b" " * 3000, b"2]")
    got = run_on_terminal([PERDURE, "check", "-"], feed=feed,
                          env={"NO_COLOR": "1"})
    wipe = "\r" + " " * 79 + "\r"
    assert got.out == (b"standard input: valid JSON, 3.0 kB, 3 values, "
                       b"1 level deep\n"), got
    text = got.err.decode()
    assert text.endswith(wipe) and text.startswith(wipe + "standard input: 3.0 kB, ")
    assert ESCAPE not in got.err
    quick = run_on_terminal([PERDURE, "check", "-"], feed=slow(b"1", wait=0))
    assert quick.err == b"", quick
    quiet = run_on_terminal([PERDURE, "check", "-q", "-"], feed=feed)
    assert (quiet.out, quiet.err) == (b"", b""), quiet


@tests.test("progress: is a line every ten seconds in a log")
def _():
    process = subprocess.Popen([PERDURE, "check", "--lines", "-"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=environment())
    slow(b"1\n", b"2\n", b"3\n", wait=5.2)(process.stdin)
    out, err = process.communicate()
    assert re.fullmatch(rb"perdure: standard input: 6 bytes, 0 bytes/s\n",
                        err), err
    assert out.startswith(b"standard input: valid JSON, 3 documents"), out


def mask(process, name):
    """A set of signals of a process, such as SigCgt, as bits."""
    with open("/proc/%d/status" % process.pid) as file:
        return int(re.search(name + r":\s*(\w+)", file.read()).group(1), 16)


def start_listening(args, sigint):
    """The command with an inherited SIGINT, once it has set up its signals:
    SIGPIPE is set last, and is not ignored any more then."""
    process = subprocess.Popen(
        [PERDURE, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=environment(), restore_signals=False,
        preexec_fn=lambda: (signal.signal(signal.SIGINT, sigint),
                            signal.signal(signal.SIGPIPE, signal.SIG_IGN)))
    for _ in range(2000):
        if not mask(process, "SigIgn") & 1 << (signal.SIGPIPE - 1):
            return process
        time.sleep(0.01)
    process.kill()
    process.communicate()
    raise AssertionError("signals are not set up")


@tests.test("SIGINT: ends with 130 and says nothing")
def _():
    for args in (["check", "-"], ["fmt"], ["check", "--lines", "-"]):
        process = start_listening(args, signal.SIG_DFL)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert (process.returncode, out, err) == (130, b"", b""), args


@tests.test("SIGINT: stays ignored if it was, as in the background of a shell")
def _():
    process = start_listening(["fmt"], signal.SIG_IGN)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(b"7", timeout=20)
    assert (process.returncode, out, err) == (0, b"7\n", b""), process


@tests.test("SIGPIPE: ends quietly when the reader goes away")
def _():
    with open("big.json", "w") as file:
        json.dump(["some text"] * 300000, file)
    for setup in ("", "trap '' PIPE; "):  # also if the parent ignores it
        script = setup + '"$0" fmt big.json | head -1'
        result = run(["sh", "-c", script, PERDURE])
        expect(result, 0, "[\n")


@tests.test("output: a full disk is reported, not ignored")
def _():
    write("a.json", "[]")
    for args in (["fmt", "a.json"], ["check", "a.json"], ["version"],
                 ["help"], ["diff", "a.json", "-"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PERDURE, *args], stdout=full, input=b"1\n",
                                  stderr=subprocess.PIPE, env=environment())
        assert done.returncode == 9, args
        assert done.stderr == (
            b"perdure: standard output: No space left on device\n"
            b"hint: what was printed is not complete\n"), done.stderr


@tests.test("large: 50 MB are checked, formatted and compared")
def _():
    row = {"id": 1, "text": "some words of a turn " * 8, "n": [1.5, True, None]}
    text = json.dumps([row] * (50000000 // (len(json.dumps(row)) + 2) + 1))
    write("big.json", text)
    assert os.path.getsize("big.json") >= 50000000
    good = perdure("check", "big.json")
    compact = perdure("fmt", "--compact", "big.json")
    same = perdure("diff", "--exit-code", "big.json", "-", stdin=compact.out)
    assert good.out.startswith(b"big.json: valid JSON, 50.0 MB, "), good
    assert compact.out == text.replace(", ", ",").replace(
        ": ", ":").encode() + b"\n"
    expect(same, 0)


@tests.test("memory: a document that does not fit ends with 70")
def _():
    if SANITIZED:
        raise record.Skip("a sanitizer reserves address space of its own")

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (32 << 20, 32 << 20))
    write("big.json", "[" + "1," * 20000000 + "1]")
    result = perdure("check", "-q", "big.json", preexec_fn=limit)
    expect(result, 70, "", "perdure: big.json: out of memory\n")


# --- documents about the command -----------------------------------------

def tables():
    return strict(perdure("help", "-o", "json").out)["commands"]


@tests.test("man: every command has a page that describes every option")
def _():
    shared = {"--output", "--color", "--quiet", "--help"}
    general = read("docs", "man", "perdure.1.md").decode()
    for name in shared:
        assert "**%s**" % name in general, name
    for command in tables():
        name = "perdure-" + command["name"].replace(" ", "-")
        page = read("docs", "man", name + ".1.md").decode()
        assert name + "(1)" in general, name
        assert page.startswith("# %s(1)" % name)
        assert command["summary"] in page, command
        for option in command["options"]:
            if option["name"] in shared:
                continue
            assert "**%s**" % option["name"] in page, option
            if "short" in option:
                assert "**%s**" % option["short"] in page, option
        for verb in command.get("verbs", []):
            assert "%s-%s(1)" % (name, verb) in page, verb
        for argument in command["arguments"]:
            assert "*%s*" % argument["name"] in page, argument
        described = set(re.findall(r"^- .*?\*\*(--[a-z-]+)\*\*", page, re.M))
        known = {option["name"] for option in command["options"]}
        assert described <= known, described - known


def page_examples(page):
    """The console blocks: a list of (command, expected output) each."""
    text = read("docs", page).decode()
    for block in re.findall(r"```console\n(.*?)```", text, re.S):
        parts = re.split(r"(?m)^\$ ", block)[1:]
        yield [tuple(part.split("\n", 1)) for part in parts]


@tests.test("man: every example does what the page says")
def _():
    pages = [os.path.join("man", page) for page in
             sorted(os.listdir(os.path.join(ROOT, "docs", "man")))
             if re.fullmatch(r"perdure(-\w+)*\.1\.md", page)]
    pages.append("operations.md")
    seen = 0
    env = {"PATH": os.path.dirname(PERDURE) + ":" + os.environ["PATH"]}
    for page in pages:
        for block in page_examples(page):
            # One shell for a block, so that `echo $?` and files work.
            mark = "mark() { kept=$?; echo @@; return $kept; }"
            lines = ["exec 2>&1", mark]
            for command, _ in block:
                lines += ["mark", command]
            for sample in (TALK, SESSIONS, REPLIES, CLERK,
                           GARDENER, BAKER, MILLER):
                if os.path.basename(sample) in str(block):
                    lines[:0] = ["cp %s ." % sample]
            os.mkdir("block-%d" % seen)
            result = run(["sh", "-c", "\n".join(lines)], env=env,
                         cwd="block-%d" % seen)
            got = result.out.decode().split("@@\n")[1:]
            want = [output for _, output in block]
            assert want == got, (page, want, got)
            seen += 1
    assert seen >= 6, seen


@tests.test("tour: reads well and ends with 0")
def _():
    result = run([os.path.join(ROOT, "tools", "tour"), PERDURE])
    lines = result.out.decode().splitlines()
    assert (result.status, result.err) == (0, b""), result
    assert 30 <= len(lines) <= 380, len(lines)
    assert max(map(len, lines)) <= 80, max(lines, key=len)
    text = result.out.decode()
    for part in ("[duplicate_name]", "[lone_surrogate]", "identical",
                 "session.msgpack: msgpack, 1 document, ",
                 '+ request tue-0700, added entry 2  "Did the watering help?"',
                 "[unexpected_end]",
                 "(exit status 6)", "── turn 1 ──", "← stored as bed3-0530.png",
                 "[image/png, 842 bytes]",
                 ".NET: does not load: 2 errors",
                 "error: the call of 'take_picture' has no result",
                 "3 changes; fixed.json has ", "fixed.json: sound",
                 "perdure: desk: 3 sessions written\n",
                 "3 sessions, 725 bytes\n", "': written\ngeneration ",
                 '\n~ /state/watering/valve  "open" -> "shut"\n',
                 "desk.db: a new store", "desk.db: sound; 4 sessions",
                 "\nIt is raining.\n", "waits for --approve",
                 "\nThe valve said {\"open\":true}.\n{\"open\":true}\n",
                 "@dafx-harbour@moewe c7 completed: They saw the lamp",
                 "flag @dafx-harbour@moewe/c7/", ".NET: ",
                 "\nbaker: Twelve loaves, if there is flour.\n",
                 "no-agent  miller", "Two sacks of rye are left.\n",
                 "\nid: 3\nevent: done\ndata: [DONE]\n",
                 '{"schemaVersion":"1.1.0","data":'):
        assert part in text, part
    # A tool that had ended was called once, the other one again.
    calls = re.findall(r"(?m)^(flag|lamp) (@dafx-harbour@moewe/c7/.*)$", text)
    assert [name for name, _ in calls] == ["flag", "lamp", "lamp"], calls
    assert len(set(calls)) == 2, calls
    # The program that was killed: what it noted is there, or one more.
    noted, there = re.findall(r"tomato-house rounds\n(\d+)\n(\d+)\n", text)[0]
    assert int(there) - int(noted) in (0, 1), (noted, there)
    assert int(noted) > 0
    # Advice is shown to its end, whatever the width.
    for rule in ("dotnet-type-unknown", "call-without-result",
                 "result-without-call", "tool-message-added",
                 "orphan-results-added"):
        assert "[%s]\n" % rule in text, rule
    missing = run([os.path.join(ROOT, "tools", "tour"), "no/such/command"])
    assert missing.status == 2, missing


@tests.test("tour: on a terminal the server stays until Ctrl-C")
def _():
    os.mkdir("tmp")
    pid, master = pty.fork()
    if pid == 0:  # with a terminal of its own, as of a window
        os.execve(os.path.join(ROOT, "tools", "tour"), ["tour", PERDURE],
                  environment({"TMPDIR": os.path.abspath("tmp")}))
    text = b""
    while b"Ctrl-C ends it." not in text:
        chunk = os.read(master, 65536)
        assert chunk, text
        text += chunk
    lines = [line.strip() for line in
             text.decode().replace("\r", "").splitlines()]
    at = next(i for i, line in enumerate(lines)
              if line.startswith("Three commands to try"))
    # As somebody types them in another window.
    url, *commands = [line for line in lines[at + 1:at + 6] if line]
    assert len(commands) == 3 and all("curl" in c for c in commands), lines
    for command, part in zip(commands, (
            b"It is raining.", b"event: done\ndata: [DONE]\n",
            b'{"schemaVersion":"1.1.0","data":')):
        done = run(["sh", "-c", f"{url}; {command}"], env={"NO_PROXY": "*"})
        assert done.status == 0 and part in done.out, (command, done)
    assert os.waitpid(pid, os.WNOHANG) == (0, 0)
    os.write(master, b"\x03")
    try:
        while os.read(master, 65536):
            pass
    except OSError:  # nobody has it open any more
        pass
    os.close(master)
    assert os.waitpid(pid, 0) == (pid, 0)
    # No server is left, and no folder.
    gone = run(["curl", "-s", "--noproxy", "*",
                url.removeprefix("url=") + "/healthz"])
    assert gone.status == 7, gone
    assert os.listdir("tmp") == [], os.listdir("tmp")


@tests.test("example edit: adds an entry and leaves every other byte alone")
def _():
    source = os.path.join(ROOT, "examples", "tour", "session.json")
    expect(run([EDIT, source, "new.json", "Water again?"]), 0)
    before = read("examples", "tour", "session.json")
    with open("new.json", "rb") as file:
        after = file.read()
    entry = (b'{"$type":"request","correlationId":"example-1","createdAt":'
             b'"2026-05-06T07:00:00+00:00","messages":[{"role":"user",'
             b'"contents":[{"$type":"text","text":"Water again?"}]}]}')
    last = b'"outputTokenCount": 12}\n      }'
    assert before.count(last) == 1
    assert after == before.replace(last, last + b",\n      " + entry)
    shown = perdure("diff", source, "new.json").out
    assert shown == b"+ /data/conversationHistory/4  " + entry + b"\n", shown
    assert run([EDIT, "none.json", "x", "y"]).status == 3
    assert run([EDIT]).status == 2
    write("bad.json", "{")
    assert run([EDIT, "bad.json", "x", "y"]).status == 6


@tests.test("sources: the tour and its documents can be used as they are")
def _():
    mode = os.stat(os.path.join(ROOT, "tools", "tour")).st_mode
    assert mode & stat.S_IXUSR
    for name in ("session.json", "yesterday.json", "conversation.json",
                 "sessions.json"):
        path = os.path.join(ROOT, "examples", "tour", name)
        assert perdure("check", "-q", path).status == 0


tests.finish()
