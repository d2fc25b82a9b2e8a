"""Formats as a user meets them: convert, and check and diff across formats.
Usage: convert.py PERDURE PERDURE-TOY EXAMPLE-COPY"""
import json
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time

from harness import (Tests, environment, is_sanitized, record, run,
                     run_on_terminal)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PERDURE, TOY, COPY = (os.path.abspath(path) for path in sys.argv[1:4])
tests = Tests("convert")

SANITIZED = is_sanitized(PERDURE)


def perdure(*args, **kwargs):
    return run([PERDURE, *args], **kwargs)


def toy(*args, **kwargs):
    """The command with a format that it does not know."""
    return run([TOY, *args], **kwargs)


def write(name, text):
    with open(name, "wb") as file:
        file.write(text.encode() if isinstance(text, str) else text)
    return name


def read(name):
    with open(name, "rb") as file:
        return file.read()


def expect(result, status, out="", err=""):
    """Whole output, compared as text."""
    want = (status, out.encode(), err.encode())
    got = (result.status, result.out, result.err)
    assert want == got, "\nexpected %r\ngot      %r" % (want, got)


def forms(command=PERDURE):
    """Names of the formats that a command offers."""
    bad = run([command, "check", "--from", "?", "x"], env={
        "PERDURE_OUTPUT": "json"})
    return json.loads(bad.err)["hint"].replace("choose one of ", "").split(", ")


ODD = ('{"n":[1.10,-0,1E400,123456789012345678901234567890],"n":"\\u0000 \\/ '
       '\\ud800 \\u00e9 é","e":{},"f":[],"t":[true,false,null]}')


# --- there and back ------------------------------------------------------

@tests.test("convert: every format gives back the same text")
def _():
    write("a.json", ODD)
    for command in (PERDURE, TOY):
        names = forms(command)
        assert {"json", "jsonl", "msgpack", "records", "xml"} <= set(names)
        for name in names:
            done = run([command, "convert", "--to", name, "a.json",
                        "x." + name])
            assert done.status == 0, (name, done)
            back = run([command, "convert", "-q", "--from", name, "--to",
                        "json", "x." + name, "-"])
            expect(back, 0, ODD)
            os.remove("x." + name)


@tests.test("convert: every format to every other")
def _():
    names = forms(TOY)
    write("a.json", ODD)
    for name in names:
        assert toy("convert", "-q", "--to", name, "a.json",
                   "a_" + name).status == 0
    for one in names:
        for two in names:
            result = toy("convert", "-q", "--from", one, "--to", two,
                         "a_" + one, "-")
            assert (result.status, result.out) == (0, read("a_" + two)), (
                one, two, result)


@tests.test("convert: guesses by extension, then by the first bytes")
def _():
    write("a.json", '{"a":1}')
    expect(perdure("convert", "a.json", "a.msgpack"), 0, "", """\
perdure: a.json: JSON (json), by its extension
perdure: a.msgpack: msgpack, 1 document, 7 bytes in, 4 bytes out
""")
    assert read("a.msgpack") == b"\x81\xa1a\x01"
    os.rename("a.msgpack", "a.bin")
    expect(perdure("convert", "a.bin", "b.json"), 0, "", """\
perdure: a.bin: MessagePack (msgpack), by its first bytes
perdure: b.json: json, 1 document, 4 bytes in, 7 bytes out
""")
    expect(perdure("convert", "--from", "msgpack", "--to", "jsonl", "a.bin",
                   "-"), 0, '{"a":1}\n', """\
perdure: standard output: jsonl, 1 document, 4 bytes in, 8 bytes out
""")
    assert perdure("convert", "-q", "--to", "records", "a.json",
                   "a.mpk").status == 0
    expect(perdure("convert", "-y", "a.mpk", "b.json"), 0, "", """\
perdure: a.mpk: MessagePack (records), by its extension and its first bytes
perdure: b.json: json, 1 document, 8 bytes in, 7 bytes out
""")
    piped = perdure("convert", "-", "-", "--to", "jsonl", stdin=read("a.bin"))
    assert (piped.status, piped.out) == (0, b'{"a":1}\n'), piped
    assert piped.err.startswith(b"perdure: standard input: MessagePack "
                                b"(msgpack), by its first bytes\n"), piped


@tests.test("convert: refuses what stays open, and says what to do")
def _():
    names = forms()
    choose = "hint: choose one with --from: %s or %s\n" % (
        ", ".join(names[:-1]), names[-1])
    for text, reason in ((b"[", "ambiguous_format"), (b"", "unknown_format"),
                         (b"\xc1", "unknown_format"),
                         (b"hello", "unknown_format")):
        result = perdure("convert", "-", "x.json", stdin=text)
        assert result.status == 6 and result.err.decode().endswith(choose), (
            text, result)
        problem = json.loads(perdure("convert", "-o", "json", "-", "x.json",
                                     stdin=text).err)
        assert problem["reason"] == reason, problem
        found = json.loads(perdure("check", "-o", "jsonl", "-",
                                   stdin=text).out)
        assert (found["valid"], found["error"]["reason"]) == (None, reason)
        assert "format" not in found, found
        assert perdure("diff", "-", write("b.json", "1"),
                       stdin=text).status == 6
    expect(perdure("check", "-", stdin=b"hello"), 6, """\
standard input: error: its first bytes are of no format known here [unknown_format]
    %sstandard input: not checked: its format is not known
""" % choose)
    utf16 = perdure("check", "-", stdin="[1]".encode("utf-16"))
    assert b"    hint: if it is text that is not UTF-8, 'iconv -f UTF-16 " in (
        utf16.out), utf16


@tests.test("convert: peeks into a pipe that gives its bytes one by one")
def _():
    text = b'{"a":[1,2,3]}'
    process = subprocess.Popen([PERDURE, "convert", "-q", "-", "-", "--to",
                                "json"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, env=environment())
    for i in range(len(text)):
        process.stdin.write(text[i:i + 1])
        process.stdin.flush()
        time.sleep(0.002)
    out, _ = process.communicate()
    assert (process.returncode, out) == (0, text), out
    # More than is looked at, and a border inside of a string.
    for size in (4090, 4095, 4096, 4097, 70000):
        text = b'["%s"]' % (b"x" * size)
        expect(perdure("convert", "-q", "-", "-", "--to", "json", stdin=text),
               0, text.decode())


@tests.test("convert: does not wait for bytes that it need not look at")
def _():
    process = subprocess.Popen([PERDURE, "convert", "-q", "--from", "jsonl",
                                "--to", "jsonl", "-", "-"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=environment())
    line = b'"%s"\n' % (b"x" * 200000)
    process.stdin.write(line)
    process.stdin.flush()
    got = process.stdout.read(100000)  # while the input stays open
    process.stdin.close()
    assert line.startswith(got)
    assert got + process.stdout.read() == line and process.wait() == 0
    process.stdout.close()


# --- several documents ---------------------------------------------------

@tests.test("convert: keeps the documents of a sequence apart")
def _():
    lines = '{"a":1}\n[1.50]\n"x"\nnull\n'
    write("a.jsonl", lines)
    for name in ("msgpack", "records"):
        result = perdure("convert", "--to", name, "a.jsonl", "x." + name)
        assert b"4 documents, 24 bytes in, " in result.err, result
        expect(perdure("convert", "-q", "--from", name, "x." + name, "-",
                       "--to", "jsonl"), 0, lines)
    write("none.jsonl", "\n \n")
    expect(perdure("convert", "none.jsonl", "none.msgpack"), 0, "", """\
perdure: none.jsonl: JSON (jsonl), by its extension
perdure: none.msgpack: msgpack, 0 documents, 3 bytes in, 0 bytes out
""")
    assert read("none.msgpack") == b""


@tests.test("convert: puts one document where one fits, never several or none")
def _():
    write("two.jsonl", "1\n2\n")
    write("one.jsonl", "1\n")
    write("none.jsonl", "")
    expect(perdure("convert", "two.jsonl", "x.json"), 6, "", """\
perdure: two.jsonl: JSON (jsonl), by its extension
perdure: two.jsonl: document 2: there is another document, and json holds one
hint: --gather makes one array of them; or write jsonl, msgpack or records
""")
    expect(perdure("convert", "none.jsonl", "x.json"), 6, "", """\
perdure: none.jsonl: JSON (jsonl), by its extension
perdure: none.jsonl: document 1: there is no document, and json holds one
hint: --gather would make an empty array of it
""")
    assert not os.path.exists("x.json")
    assert perdure("convert", "one.jsonl", "x.json").status == 0
    assert read("x.json") == b"1"
    write("two.json", "1\n2\n")
    expect(perdure("convert", "-q", "two.json", "y.json"), 6, "",
           "perdure: two.json:2:1: there is more behind the document\n")
    expect(perdure("convert", "two.json", "y.json"), 6, "", """\
perdure: two.json: JSON (json), by its extension
perdure: two.json:2:1: there is more behind the document
hint: for several documents in one file say --from jsonl
""")


@tests.test("convert --gather: makes one array, --spread takes it apart")
def _():
    lines = '{"a":1}\n[1.50]\n"x"\n'
    write("a.jsonl", lines)
    expect(perdure("convert", "--gather", "a.jsonl", "a.json"), 0, "", """\
perdure: a.jsonl: JSON (jsonl), by its extension
perdure: a.json: json, 3 documents as 1, 19 bytes in, 20 bytes out
""")
    assert read("a.json") == b'[{"a":1},[1.50],"x"]'
    for name in ("json", "msgpack", "xml"):
        write("gathered", b"")
        assert perdure("convert", "-qy", "--gather", "--to", name, "a.jsonl",
                       "gathered").status == 0
        expect(perdure("convert", "-q", "--spread", "--from", name, "--to",
                       "jsonl", "gathered", "-"), 0, lines)
    expect(perdure("convert", "-q", "--gather", "--to", "json", "--from",
                   "jsonl", "-", "-", stdin=b""), 0, "[]")
    expect(perdure("convert", "-q", "--gather", "a.json", "-", "--to",
                   "json"), 0, '[[{"a":1},[1.50],"x"]]')
    expect(perdure("convert", "-q", "--spread", "-", "-", "--to", "jsonl",
                   stdin=b"[]"), 0, "")


@tests.test("convert --spread: refuses what is not one array")
def _():
    expect(perdure("convert", "--spread", "-", "x.jsonl", stdin=b'{"a":1}'), 6,
           "", """\
perdure: standard input: JSON (json), by its first bytes
perdure: standard input: --spread needs a document that is an array
hint: without --spread it stays one document
""")
    for text in (b'"x"', b"null"):
        result = perdure("convert", "-o", "json", "--spread", "-", "x.jsonl",
                         stdin=text)
        assert json.loads(result.err)["reason"] == "not_an_array", result
    result = perdure("convert", "--spread", "--from", "jsonl", "-", "x.jsonl",
                     stdin=b"[1]\n[2]\n")
    assert b"document 2: there is another document, and --spread" in result.err
    result = perdure("convert", "-o", "json", "--spread", "-", "x.json",
                     stdin=b"[1,2]")
    assert json.loads(result.err)["reason"] == "several_documents", result
    result = perdure("convert", "-o", "json", "--spread", "-", "x.json",
                     stdin=b"[]")
    assert json.loads(result.err)["reason"] == "no_document", result
    assert os.listdir(".") == []


# --- options -------------------------------------------------------------

@tests.test("convert: refuses options that do not go together")
def _():
    write("a.json", "1")
    names = forms()
    every = "%s or %s" % (", ".join(names[:-1]), names[-1])
    usual = "'perdure convert --help' shows what it takes"
    rows = [
        (["a.json", "-"], "standard output: it has no name that tells a format",
         "say --to " + every),
        (["a.json", "x.bin"], "x.bin: its name tells no format",
         "say --to " + every),
        (["a.json", "json"], "json: its name tells no format",
         "say --to " + every),
        (["--from", "yaml", "a.json", "x.json"], "--from: 'yaml' is not offered",
         "choose one of " + ", ".join(names)),
        (["--to=JSON", "a.json", "x"], "--to: 'JSON' is not offered",
         "choose one of " + ", ".join(names)),
        (["--gather", "--spread", "a.json", "x.json"],
         "--gather: does not go with --spread", usual),
        (["--pretty", "a.json", "x.jsonl"],
         "--pretty: a format for several documents has one layout", usual),
        (["--exchange", "a.json", "x.json"],
         "--exchange: JSON has no use for it", "it is for msgpack or records"),
        (["a.json"], "OUT: an argument is missing", usual),
        (["a.json", "b.json", "c.json"], "c.json: one argument too many", usual),
    ]
    for args, line, hint in rows:
        expect(perdure("convert", *args), 2, "",
               "perdure: %s\nhint: %s\n" % (line, hint))
    assert os.listdir(".") == ["a.json"]


@tests.test("convert --pretty: lays out, and loses no spelling")
def _():
    write("a.json", ODD)
    assert perdure("convert", "-q", "--pretty", "a.json", "p.json").status == 0
    assert read("p.json") + b"\n" == perdure("fmt", "a.json").out
    expect(perdure("convert", "-q", "p.json", "-", "--to", "json"), 0, ODD)
    assert perdure("convert", "-q", "--pretty", "a.json", "p.xml").status == 0
    assert b"\n  <array key=" in read("p.xml"), read("p.xml")
    expect(perdure("convert", "-q", "p.xml", "-", "--to", "json"), 0, ODD)


@tests.test("convert --exchange: counts the spellings that were given up")
def _():
    write("a.json", '{"a":[1.0,2,1e2,0.50],"b":"\\/","c\\u0041":"x"}')
    expect(perdure("convert", "--exchange", "a.json", "a.msgpack"), 0, "", """\
perdure: a.json: JSON (json), by its extension
perdure: a.msgpack: msgpack, 1 document, 45 bytes in, %d bytes out
perdure: a.msgpack: 2 numbers and 2 strings lost the spelling, no value
""" % os.path.getsize("a.msgpack"))
    report = json.loads(perdure("convert", "-y", "-o", "json", "--exchange",
                                "a.json", "a.msgpack").out)
    assert report["respelled"] == {"numbers": 2, "strings": 2}, report
    back = json.loads(perdure("convert", "-q", "a.msgpack", "-", "--to",
                              "json").out)
    assert back == {"a": [1, 2, 100, 0.5], "b": "/", "cA": "x"}
    assert perdure("convert", "-y", "a.json", "a.msgpack").err.count(b"\n") == 2


@tests.test("convert --exchange: what is spelled as a double stays one")
def _():
    write("a.json", "[1e16,1e2,100.00,100,1e19,9007199254740993.0]")
    expect(perdure("convert", "-q", "--exchange", "a.json", "a.msgpack"), 0)
    expect(perdure("convert", "-q", "a.msgpack", "-", "--to", "json"), 0,
           "[1e+16,100.0,100.0,100,1e+19,9007199254740993]")


@tests.test("convert --exchange: refuses what has no native value, with the "
            "place")
def _():
    kept = "hint: without --exchange it is kept as it is\n"
    rows = [('{"a":[1,123456789012345678901234567890]}', "number_range", "/a/1"),
            ('{"a":0.1000000000000000000001}', "inexact_number", "/a"),
            ('{"a":{"b":"\\ud800"}}', "lone_surrogate", "/a/b"),
            ('[{"a":1,"a":2}]', "duplicate_name", "/0")]
    for text, reason, path in rows:
        write("a.jsonl", "1\n" + text)
        args = ["convert", "--exchange", "a.jsonl", "x.msgpack"]
        result = perdure(*args)
        assert result.status == 6, result
        lines = result.err.decode()
        assert lines.endswith(kept), (reason, lines)
        assert "perdure: x.msgpack: document 2: " in lines, lines
        problem = json.loads(perdure(*args, "-o", "json").err)
        assert (problem["reason"], problem["document"]) == (reason, 2), problem
        assert problem["pointer"].startswith(path), problem
        assert not os.path.exists("x.msgpack")
        assert perdure("convert", "-q", "a.jsonl", "x.msgpack").status == 0
        os.remove("x.msgpack")


@tests.test("convert: reads bare tokens only when asked to, and writes them "
            "where they fit")
def _():
    write("a.json", "[NaN,-Infinity]")
    expect(perdure("convert", "a.json", "x.msgpack"), 6, "", """\
perdure: a.json: JSON (json), by its extension
perdure: a.json:1:2: NaN and infinities are read only when asked for, at /0
hint: Python writes these; --bare-tokens accepts them
""")
    assert perdure("convert", "-q", "--bare-tokens", "a.json",
                   "x.msgpack").status == 0
    assert perdure("convert", "-q", "x.msgpack", "y.json").status == 6
    expect(perdure("convert", "-q", "--bare-tokens", "x.msgpack", "-", "--to",
                   "json"), 0, "[NaN,-Infinity]")


@tests.test("convert: holds each limit, one below and one above")
def _():
    write("a.jsonl", '1\n[[["abc"]]]\n')
    rows = [("--max-depth", 3, "too_deep"), ("--max-bytes", 11, "too_large"),
            ("--max-nodes", 4, "too_many_nodes")]
    for option, enough, reason in rows:
        args = ["convert", "-y", "-o", "json", "a.jsonl", "x.msgpack", option]
        assert perdure(*args, str(enough)).status == 0
        result = perdure(*args, str(enough - 1))
        problem = json.loads(result.err)
        assert (result.status, problem["reason"], problem["document"]) == (
            6, reason, 2), problem


@tests.test("convert: reports in JSON where it does not disturb the documents")
def _():
    write("a.jsonl", '{"a":1}\n{"a":2}\n')
    want = {"in": {"file": "a.jsonl", "format": "jsonl", "formatBy":
                   "extension", "documents": 2, "bytes": 16},
            "out": {"file": "a.json", "format": "json", "formatBy":
                    "extension", "documents": 1, "bytes": 17}}
    for output in ("json", "jsonl"):
        result = perdure("convert", "-y", "--gather", "-o", output, "a.jsonl",
                         "a.json")
        assert (json.loads(result.out), result.err) == (want, b""), result
        assert result.out.count(b"\n") == 1
    result = perdure("convert", "-o", "json", "--from", "jsonl", "--to",
                     "jsonl", "-", "-", stdin=read("a.jsonl"))
    assert result.out == read("a.jsonl"), result
    assert json.loads(result.err) == {
        "in": {"file": "standard input", "format": "jsonl", "formatBy":
               "option", "documents": 2, "bytes": 16},
        "out": {"file": "standard output", "format": "jsonl", "formatBy":
                "option", "documents": 2, "bytes": 16}}, result
    expect(perdure("convert", "-qy", "a.jsonl", "b.jsonl"), 0)


# --- mistakes in the input -----------------------------------------------

@tests.test("convert: names file, line, document and path of a mistake")
def _():
    write("a.jsonl", '{"a":1}\n{"b":[1,2.5x]}\n')
    expect(perdure("convert", "a.jsonl", "x.msgpack"), 6, "", """\
perdure: a.jsonl: JSON (jsonl), by its extension
perdure: a.jsonl:2:12: document 2: expected ',' or ']', found 'x', at /b
""")
    problem = json.loads(perdure("convert", "-o", "json", "a.jsonl",
                                 "x.msgpack").err)
    assert (problem["document"], problem["offset"], problem["pointer"]) == (
        2, 19, "/b"), problem
    assert (problem["line"], problem["column"]) == (2, 12), problem
    write("a.msgpack", b"\x01\x81\xa1a\x92\x01\xc1")
    expect(perdure("convert", "-q", "a.msgpack", "x.jsonl"), 6, "",
           "perdure: a.msgpack: document 2, byte 6: %s, at /a/1\n" % re.search(
               "error: (.*) \\[reserved_byte\\]",
               perdure("check", "a.msgpack").out.decode()).group(1))
    assert sorted(os.listdir(".")) == ["a.jsonl", "a.msgpack"]
    assert perdure("convert", "none.json", "x.json").status == 3
    expect(perdure("convert", "-q", "", "x.json"), 3, "",
           "perdure: '': No such file or directory\n")
    assert perdure("convert", "--from", "json", ".", "x.json").status == 9


@tests.test("convert: finds the line of a mistake deep in a file")
def _():
    # Characters and line ends of several bytes lie across every place at which
    # a reader could cut.
    for end in ("\n", "\r\n", "\r"):
        for shift in range(5):
            line = '"%s"' % ("x" * shift + "äöü€𝄞" * 7) + end
            count = 300000 // len(line.encode())
            write("a.jsonl", "1" + end + line * count + '["ä", x]' + end)
            result = perdure("convert", "-q", "a.jsonl", "x.msgpack")
            expect(result, 6, "", "perdure: a.jsonl:%d:7: document %d: expected "
                   "a value, found 'x', at /1\n" % (count + 2, count + 2))
            # A pipe has passed by.
            piped = perdure("convert", "-q", "--from", "jsonl", "-", "x.msgpack",
                            stdin=read("a.jsonl"))
            assert b"standard input: document %d, byte " % (
                count + 2) in piped.err, piped
    piped = perdure("convert", "-q", "-", "x.xml", stdin=b"[1,\n?]")
    assert piped.err.startswith(b"perdure: standard input:2:1: "), piped


@tests.test("convert, check, diff: say the place of a mistake in XML once")
def _():
    write("a.xml", XML % '\n <number key="n">x</number>')
    want = "a.xml:2:19: no JSON number, at /n\n"
    for args in (("convert", "-q", "a.xml", "x.json"),
                 ("diff", "-q", "a.xml", "a.xml")):
        expect(perdure(*args), 6, "", "perdure: " + want)
    error = json.loads(perdure("check", "-o", "jsonl", "a.xml").out)["error"]
    assert (error["message"], error["line"], error["column"]) == (
        "no JSON number", 2, 19), error


@tests.test("hint: says so if a file looks like another format")
def _():
    write("a.json", '{"a":[1,2]}')
    for name in ("msgpack", "xml"):
        assert perdure("convert", "-q", "a.json", "a." + name).status == 0
    titles = {"json": "JSON", "msgpack": "MessagePack", "xml": "XML"}
    for is_, title in titles.items():
        hint = ("its first bytes look like %s; --from %s reads it so" %
                (title, is_))
        for named in sorted(set(titles) - {is_}):
            wrong = write("wrong." + named, read("a." + is_))
            result = perdure("convert", "-y", wrong, "x.json")
            assert result.status == 6, (is_, named, result)
            assert result.err.decode().endswith("\nhint: " + hint + "\n"), result
            shown = perdure("check", wrong)
            # Each character of a text is a number in MessagePack.
            assert shown.status == (0 if named == "msgpack" else 6), shown
            assert "    hint: " + hint in shown.out.decode(), shown
            found = json.loads(perdure("check", "-o", "jsonl", wrong).out)
            assert found.get("error", found)["hint"] == hint, found
            assert b"hint" not in perdure("check", "-q", wrong).out
            result = perdure("diff", "a.json", wrong)
            assert result.err.decode().endswith(
                "\nhint: it looks like %s: give it a name that says so, or "
                "convert it\n" % title), result
            assert perdure("convert", "-yq", "--from", is_, wrong,
                           "x.json").status == 0
            assert read("x.json") == read("a.json")
    result = perdure("convert", "--gather", "-y", "wrong.msgpack", "x.json")
    assert result.status == 0 and b"\nhint: its first bytes " in result.err
    result = perdure("convert", "--gather", "-y", "--from", "msgpack",
                     "wrong.msgpack", "x.json")
    assert result.status == 0 and b"hint" not in result.err, result
    assert perdure("convert", "-q", "--to", "records", "a.json",
                   "a.mpk").status == 0
    assert b"hint" not in perdure("check", "a.mpk").out
    assert b"--from records reads it so" in perdure(
        "check", "--from", "jsonl", "a.mpk").out
    expect(perdure("check", "--lines", "-", stdin=b"{}\n{}\n"), 0,
           "standard input: valid JSON, 2 documents, 6 bytes, 2 values, 1 level "
           "deep\n")


@tests.test("hint: fmt says how to make JSON of another format")
def _():
    write("a.json", '{"a":1}')
    for name, title in (("msgpack", "MessagePack"), ("xml", "XML")):
        assert perdure("convert", "-q", "a.json", "a." + name).status == 0
        result = perdure("fmt", "a." + name)
        assert (result.status, result.out) == (6, b""), result
        assert result.err.decode().endswith(
            "\nhint: it looks like %s, and fmt takes JSON: 'perdure convert "
            "--to json FILE -' makes it\n" % title), result


@tests.test("hint: says what to do about each thing that JSON cannot hold")
def _():
    rows = [(b"\x91\xc1", "reserved_byte", "of another format"),
            (b"\x91\xc4\x01a", "binary_data", "Base64"),
            (b"\x91\xd6\xff\0\0\0\0", "timestamp", "string or a number"),
            (b"\x91\xd4\x05a", "unknown_extension", "plain values"),
            (b"\x81\x01\x02", "name_no_string", "strings as names"),
            (b"\x91\xa1\xff", "bad_utf8", "strings are UTF-8; have"),
            (b"\x92\x01", "unexpected_end", "the end is missing")]
    for text, reason, part in rows:
        write("a.msgpack", text)
        problem = json.loads(perdure("convert", "-o", "json", "a.msgpack",
                                     "x.json").err)
        assert problem["reason"] == reason and part in problem["hint"], problem
        error = json.loads(perdure("check", "-o", "jsonl",
                                   "a.msgpack").out)["error"]
        assert (error["reason"], error["hint"]) == (reason, problem["hint"])
        assert "line" not in error and "offset" in error, error
    write("a.mpk", b"\0\0\0\x05\x81\xa1a\x01")
    error = json.loads(perdure("check", "-o", "jsonl", "--from", "records",
                               "a.mpk").out)["error"]
    assert error["reason"] in ("bad_record", "unexpected_end"), error
    write("a.mpk", b"\0\0\0\0\x81\xa1a\x01")
    error = json.loads(perdure("check", "-o", "jsonl", "--from", "records",
                               "a.mpk").out)["error"]
    assert error["reason"] == "bad_record" and "--from" in error["hint"], error


XML = '<map xmlns="http://www.w3.org/2005/xpath-functions">%s</map>'


@tests.test("hint: says what to do about XML of another kind")
def _():
    rows = [(XML % "</array>", "bad_xml", "by hand"),
            ("<!DOCTYPE map []>" + XML % "", "xml_forbidden", "never read"),
            (XML % "<b/>", "xml_element", "map, array, string"),
            (XML % '<null kay="a"/>', "xml_attribute", "escaped-key")]
    rows.append((XML % 'x<null key="a"/>', "xml_text", ""))  # it says it all
    for text, reason, part in rows:
        write("a.xml", text)
        error = json.loads(perdure("check", "-o", "jsonl", "a.xml").out)["error"]
        assert error["reason"] == reason, error
        assert part in error.get("hint", ""), error
        assert error["line"] == 1 and error["column"] >= 1, error


# --- check and diff ------------------------------------------------------

@tests.test("check: names the format, and a line only in a text")
def _():
    write("a.json", '{"a": [1, 2, {"b": null}]}\n')
    for name in ("msgpack", "xml", "jsonl"):
        assert perdure("convert", "-q", "a.json", "a." + name).status == 0
    sizes = {name: os.path.getsize("a." + name) for name in ("msgpack", "xml")}
    expect(perdure("check", "a.json", "a.msgpack", "a.xml", "a.jsonl"), 0, """\
a.json: valid JSON, 27 bytes, 6 values, 3 levels deep
a.msgpack: valid MessagePack, 1 document, %d bytes, 6 values, 3 levels deep
a.xml: valid XML, %d bytes, 6 values, 3 levels deep
a.jsonl: valid JSON, 1 document, 23 bytes, 6 values, 3 levels deep
4 files: 4 valid, 0 not valid
""" % (sizes["msgpack"], sizes["xml"]))
    found = json.loads(perdure("check", "-o", "json", "a.json", "a.msgpack",
                               "a.xml", "a.jsonl").out)["files"]
    assert [(file["format"], file.get("documents")) for file in found] == [
        ("json", None), ("msgpack", 1), ("xml", None), ("jsonl", 1)], found
    write("b.msgpack", b"\x01\x92\xa1a\xc1")
    shown = perdure("check", "b.msgpack")
    lines = shown.out.decode().splitlines()
    assert shown.status == 6 and len(lines) == 4, lines
    assert re.fullmatch(r"b.msgpack: error: .* \[reserved_byte\]", lines[0])
    assert lines[1] == "    document 2, byte 4, /1", lines
    assert lines[3] == (
        "b.msgpack: not valid MessagePack behind 1 valid document"), lines
    write("b.xml", (XML % "\n <nul/>").replace("map", "array"))
    lines = perdure("check", "b.xml").out.decode().splitlines()
    assert lines[0].startswith("b.xml:2:2: error: "), lines
    assert lines[1:3] == ["     2 |  <nul/></array>", "       |  ^"], lines


@tests.test("check: warns in every format, with the place that it knows")
def _():
    write("a.json", '[1, {"x": "\\ud800", "x": 1}]')
    for name in ("msgpack", "xml"):
        assert perdure("convert", "-q", "a.json", "a." + name).status == 0
        found = json.loads(perdure("check", "-o", "jsonl", "a." + name).out)
        assert [(w["reason"], w["pointer"]) for w in found["warnings"]] == [
            ("lone_surrogate", "/1/x"), ("duplicate_name", "/1/x")], found
        assert "line" not in found["warnings"][0], found
    lines = perdure("check", "a.msgpack").out.decode().splitlines()
    assert lines[:4] == [
        "a.msgpack: warning: half of a surrogate pair [lone_surrogate]",
        "    document 1, /1/x",
        "a.msgpack: warning: name occurs again in this object "
        "[duplicate_name]", "    document 1, /1/x"], lines
    lines = perdure("check", "a.xml").out.decode().splitlines()
    assert lines[1] == "    /1/x", lines


@tests.test("check: passes valid bytes of any format on with -o raw")
def _():
    write("a.jsonl", "1\n[2]\n")
    assert perdure("convert", "-q", "a.jsonl", "a.msgpack").status == 0
    result = perdure("check", "-o", "raw", "a.msgpack")
    assert (result.status, result.out) == (0, read("a.msgpack")), result
    write("a.msgpack", read("a.msgpack") + b"\xc1")
    result = perdure("check", "-o", "raw", "a.msgpack")
    assert (result.status, result.out) == (6, b""), result
    assert result.err.startswith(b"perdure: a.msgpack: document 3, byte 3: ")


@tests.test("check: is not confused by a sequence that looks like white space")
def _():
    text = b"\x20\x0a\x0d" * 200000 + b"\xc1"
    found = json.loads(perdure("check", "-o", "jsonl", "--from", "msgpack",
                               "-", stdin=text).out)
    assert found["error"]["offset"] == 600000, found
    assert found["error"]["document"] == 600001, found
    expect(perdure("check", "--from", "msgpack", "-", stdin=text[:-1]), 0,
           "standard input: valid MessagePack, 600,000 documents, 600.0 kB, "
           "600,000 values, 0 levels deep\n")


@tests.test("diff: compares values across formats")
def _():
    write("a.json", '{"v":1.0,"s":"a\\/b","list":[1,2]}')
    write("b.json", '{"v":1.00,"s":"a/b","list":[1,2,3]}')
    for name in ("msgpack", "xml", "jsonl"):
        assert perdure("convert", "-q", "b.json", "b." + name).status == 0
        expect(perdure("diff", "a.json", "b." + name), 0,
               "~ /v  1.0 -> 1.00\n+ /list/2  3\n")
        expect(perdure("diff", "-e", "b.json", "b." + name), 0)
        piped = perdure("diff", "a.json", "-", stdin=read("b." + name))
        assert piped.out == b"~ /v  1.0 -> 1.00\n+ /list/2  3\n", piped
        assert perdure("diff", "-e", "--from", name, "b." + name,
                       "b." + name).status == 0
    assert perdure("convert", "-q", "--to", "records", "b.json",
                   "b.mpk").status == 0
    expect(perdure("diff", "-e", "b.msgpack", "b.mpk"), 0)


@tests.test("diff: takes one document a file")
def _():
    write("a.json", "1")
    write("a.jsonl", "1\n2\n")
    hint = ("hint: diff takes one document a file; 'perdure convert --gather' "
            "makes one of several\n")
    expect(perdure("diff", "a.json", "a.jsonl"), 6, "",
           "perdure: a.jsonl:2:1: there is another document\n" + hint)
    write("a.msgpack", b"\xc2\xc3")
    expect(perdure("diff", "a.json", "a.msgpack"), 6, "",
           "perdure: a.msgpack: byte 1: there is another document\n" + hint)
    write("b.json", "1 2")
    expect(perdure("diff", "a.json", "b.json"), 6, "",
           "perdure: b.json:1:3: there is more behind the document\n" + hint)
    write("none.jsonl", "")
    expect(perdure("diff", "a.json", "none.jsonl"), 6, "",
           "perdure: none.jsonl: there is no document\n")


# --- a format that nobody knows ------------------------------------------

@tests.test("toy: is guessed, converted, checked and compared like the others")
def _():
    write("a.json", ODD)
    expect(toy("convert", "a.json", "a.toy"), 0, "", """\
perdure: a.json: JSON (json), by its extension
perdure: a.toy: toy, 1 document, %d bytes in, %d bytes out
""" % (len(ODD.encode()), os.path.getsize("a.toy")))
    os.rename("a.toy", "a")
    back = toy("convert", "a", "-", "--to", "json")
    assert (back.status, back.out) == (0, ODD.encode()), back
    assert back.err.startswith(b"perdure: a: Toy (toy), by its first bytes\n")
    os.rename("a", "a.toy")
    expect(toy("diff", "-e", "a.json", "a.toy"), 0)
    write("b.json", '{"a":[1,2]}')
    write("b.toy", b'\xc1\n{\n:"a"\n[\n=1\n=3\n]\n}\n')
    expect(toy("diff", "b.json", "b.toy"), 0, "~ /a/1  2 -> 3\n")
    expect(toy("diff", "b.json", "-", stdin=read("b.toy")), 0,
           "~ /a/1  2 -> 3\n")
    found = json.loads(toy("check", "-o", "jsonl", "a.toy").out)
    assert (found["format"], found["valid"], found["values"],
            found["warningCount"]) == ("toy", True, 13, 2), found
    assert toy("check", "a.toy").out.decode().splitlines()[-1].startswith(
        "a.toy: valid Toy, ")
    assert perdure("check", "a.toy").status == 6  # the real one does not know


@tests.test("toy: its sequences stream, gather and spread")
def _():
    write("a.jsonl", '{"a":1}\n[1.50]\n"x"\n')
    assert toy("convert", "-q", "a.jsonl", "a.toys").status == 0
    expect(toy("convert", "-q", "a.toys", "-", "--to", "jsonl"), 0,
           read("a.jsonl").decode())
    assert toy("convert", "-q", "--gather", "a.toys", "a.toy").status == 0
    expect(toy("convert", "-q", "--spread", "a.toy", "-", "--to", "jsonl"), 0,
           read("a.jsonl").decode())
    assert b"valid Toy, 3 documents, " in toy("check", "a.toys").out
    assert toy("check", "--lines", "a.toys").status == 0  # its formats.c says so
    many = toy("convert", "a.toys", "b.toy")
    assert many.status == 6 and b"or write jsonl, msgpack, records or toys" in (
        many.err), many
    one = toy("convert", "--from", "toy", "a.toys", "b.toy")
    assert one.status == 6, one


@tests.test("toy: a mistake shows its place")
def _():
    write("a.toys", b"\xc1\n=1\n\xc1\n[\n=1\n=oops\n]\n")
    result = toy("check", "a.toys")
    assert result.status == 6, result
    lines = result.out.decode().splitlines()
    assert lines[0].startswith("a.toys: error: "), lines
    assert lines[1].startswith("    document 2, byte "), lines
    assert lines[1].endswith(", /1"), lines
    failed = toy("convert", "a.toys", "x.jsonl")
    assert failed.status == 6 and b"a.toys: document 2, byte " in failed.err
    assert os.listdir(".") == ["a.toys"]


@tests.test("sources: the command names formats in one file only")
def _():
    folder = os.path.join(ROOT, "src", "cli")
    for name in sorted(os.listdir(folder)):
        if not name.endswith((".c", ".h")) or name in (
                "formats.c", "cmd_fmt.c", "cmd_doc_check.c", "cmd_schema.c",
                "hint.c",  # what is about JSON text, see the README
                "cmd_session_bag.c",  # VALUE is JSON text
                "session_store.c",  # rows of a store are JSON text
                "session.c"):  # a snapshot folder has two formats of its own
            continue
        text = read(os.path.join(folder, name)).decode()
        code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        code = code.replace('"json", "jsonl", "raw"', "")  # of --output
        for word in ('"json"', '"jsonl"', '"msgpack"', '"records"', '"xml"',
                     "pdr_json_codec", "pdr_json_read", "pdr_msgpack",
                     "pdr_xml"):
            assert word not in code, (name, word)


# --- the file that is written --------------------------------------------

def leftovers():
    return [name for name in os.listdir(".") if name.endswith(".tmp")]


@tests.test("OUT: is replaced only with --yes")
def _():
    write("a.json", "[1]")
    write("b.json", "old")
    expect(perdure("convert", "-q", "a.json", "b.json"), 5, "",
           "perdure: b.json: File exists\n")
    problem = json.loads(perdure("convert", "-o", "json", "a.json",
                                 "b.json").err)
    assert (problem["code"], problem["reason"], problem["hint"]) == (
        "EXISTS", "file_exists", "--yes replaces it"), problem
    assert read("b.json") == b"old"
    for option in ("--yes", "-y"):
        write("b.json", "old")
        assert perdure("convert", option, "a.json", "b.json").status == 0
        assert read("b.json") == b"[1]"
    assert leftovers() == []


@tests.test("OUT: may be IN")
def _():
    write("a.json", ODD)
    assert perdure("convert", "-qy", "--pretty", "a.json", "a.json").status == 0
    assert read("a.json").count(b"\n") > 10
    with open("a.json", "rb") as file:
        done = subprocess.run([PERDURE, "convert", "-qy", "-", "a.json"],
                              stdin=file, env=environment())
    assert done.returncode == 0 and read("a.json") == ODD.encode()


@tests.test("OUT: stays as it was if anything fails")
def _():
    write("good.json", "1")
    write("bad.jsonl", "1\n" * 100000 + "?")
    write("out.jsonl", "old")
    assert perdure("convert", "-y", "bad.jsonl", "out.jsonl").status == 6
    assert read("out.jsonl") == b"old" and leftovers() == []
    assert perdure("convert", "bad.jsonl", "new.jsonl").status == 6
    assert not os.path.exists("new.jsonl") and leftovers() == []


@tests.test("OUT: gets the mode of a new file, or of the one it replaces")
def _():
    write("a.json", "[1]")
    for mask, mode in ((0o022, 0o644), (0o077, 0o600), (0o002, 0o664)):
        done = perdure("convert", "-q", "a.json", "%o.json" % mask,
                       preexec_fn=lambda: os.umask(mask))
        assert done.status == 0
        found = stat.S_IMODE(os.stat("%o.json" % mask).st_mode)
        assert found == mode, oct(found)
    os.chmod(write("old.json", "1"), 0o640)
    assert perdure("convert", "-qy", "a.json", "old.json").status == 0
    assert stat.S_IMODE(os.stat("old.json").st_mode) == 0o640
    if os.geteuid() == 0:  # others can give a file to nobody
        os.chown("old.json", 1234, 4321)
        assert perdure("convert", "-qy", "a.json", "old.json").status == 0
        found = os.stat("old.json")
        assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (
            1234, 4321, 0o640), found


@tests.test("OUT: a link stays a link, what it points to is written")
def _():
    write("a.json", "[1]")
    os.mkdir("far")
    write("far/real.json", "old")
    os.symlink("far/real.json", "link.json")
    assert perdure("convert", "-q", "a.json", "link.json").status == 5
    assert perdure("convert", "-qy", "a.json", "link.json").status == 0
    assert os.readlink("link.json") == "far/real.json"
    assert read("far/real.json") == b"[1]"
    os.symlink("far/hop.json", "first.json")
    os.symlink("new.json", "far/hop.json")
    assert perdure("convert", "-q", "a.json", "first.json").status == 0
    assert read("far/new.json") == b"[1]"
    assert os.path.islink("first.json") and os.path.islink("far/hop.json")
    os.symlink(os.path.abspath("far/abs.json"), "abs.json")
    assert perdure("convert", "-q", "a.json", "abs.json").status == 0
    assert read("far/abs.json") == b"[1]"
    os.symlink("loop.json", "loop.json")
    loop = perdure("convert", "a.json", "loop.json")
    assert loop.status == 9 and b"symbolic links" in loop.err, loop
    assert sorted(os.listdir("far")) == ["abs.json", "hop.json", "new.json",
                                         "real.json"]


@tests.test("OUT: a folder, or one that is not there, is refused")
def _():
    write("a.json", "[1]")
    os.mkdir("folder.json")
    for name in ("folder.json", "folder.json/"):
        expect(perdure("convert", "-q", "--to", "json", "a.json", name), 9, "",
               "perdure: %s: Is a directory\n" % name)
    assert perdure("convert", "-q", "--to", "json", "a.json",
                   "new/").status == 9
    expect(perdure("convert", "-q", "a.json", "no/b.json"), 3, "",
           "perdure: no/b.json: No such file or directory\n")
    assert perdure("convert", "-q", "a.json", "a.json/b.json").status == 3
    long = "x" * 240 + ".json"
    assert perdure("convert", "-q", "a.json", long).status == 0
    assert read(long) == b"[1]"
    assert perdure("convert", "-q", "a.json", "x" * 300 + ".json").status == 9
    assert leftovers() == []


@tests.test("OUT: a folder that may not be written is refused")
def _():
    write("a.json", "[1]")
    os.mkdir("shut", 0o500)
    command, who = PERDURE, {}
    if os.geteuid() == 0:  # root may write everywhere, so be nobody
        command = "./" + shutil.copy(PERDURE, "perdure")
        os.chmod(".", 0o755)
        who = {"user": 65534, "group": 65534, "extra_groups": []}
    result = run([command, "convert", "a.json", "shut/b.json"], **who)
    assert result.status == 9 and b"name a file that you may write" in (
        result.err), result
    assert os.listdir("shut") == []


@tests.test("OUT: pipes and devices are written straight through")
def _():
    write("a.json", "[1]")
    os.mkfifo("pipe.json")
    got = []
    reader = threading.Thread(target=lambda: got.append(read("pipe.json")))
    reader.start()
    assert perdure("convert", "-q", "a.json", "pipe.json").status == 0
    reader.join()
    assert got == [b"[1]"]
    assert stat.S_ISFIFO(os.stat("pipe.json").st_mode)
    assert perdure("convert", "--to", "json", "a.json",
                   "/dev/null").status == 0
    expect(perdure("convert", "-q", "--to", "json", "a.json", "/dev/stdout"),
           0, "[1]")
    assert sorted(os.listdir(".")) == ["a.json", "pipe.json"]


@tests.test("OUT: a full disk is reported and leaves nothing")
def _():
    write("a.json", "[1]")
    for out, name in (("-", "standard output"), ("/dev/full", "/dev/full")):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PERDURE, "convert", "-q", "--to", "json",
                                   "a.json", out], stdout=full,
                                  stderr=subprocess.PIPE, env=environment())
        assert done.returncode == 9, done
        assert done.stderr == (b"perdure: %s: No space left on device\n"
                               % name.encode()), done.stderr
    write("big.jsonl", '"%s"\n' % ("x" * 100000) * 20)
    write("out.jsonl", "old")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (500000, 500000))
    expect(perdure("convert", "-y", "big.jsonl", "out.jsonl",
                   preexec_fn=limit), 9, "", """\
perdure: big.jsonl: JSON (jsonl), by its extension
perdure: out.jsonl: File too large
hint: OUT is as it was; make room, or name another place
""")
    problem = json.loads(perdure("convert", "-o", "json", "--gather",
                                 "big.jsonl", "new.json",
                                 preexec_fn=limit).err)
    assert problem["reason"] == "no_space" and "pointer" not in problem, problem
    assert read("out.jsonl") == b"old" and leftovers() == []
    assert not os.path.exists("new.json")


@tests.test("OUT: a file that came in the meantime is kept")
def _():
    process = start("convert", "--from", "jsonl", "-", "out.jsonl")
    write("out.jsonl", "somebody else's")
    _, err = process.communicate(b"2\n", timeout=20)
    assert process.returncode == 5, (process.returncode, err)
    assert read("out.jsonl") == b"somebody else's" and leftovers() == []


# --- signals -------------------------------------------------------------

def start(*args):
    """A conversion from a pipe that has begun to write its temporary file."""
    process = subprocess.Popen([PERDURE, *args], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment())
    process.stdin.write(b'"%s"\n' % (b"x" * 300000))
    process.stdin.flush()
    for _ in range(2000):
        if leftovers() and os.path.getsize(leftovers()[0]) > 0:
            return process
        time.sleep(0.01)
    process.kill()
    process.communicate()
    raise AssertionError("no temporary file")


@tests.test("signals: an interrupt removes the temporary file and keeps OUT")
def _():
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143),
                           (signal.SIGHUP, 129)):
        write("out.jsonl", "old")
        process = start("convert", "-y", "--from", "jsonl", "-", "out.jsonl")
        assert re.fullmatch(r"\.out\.jsonl\.\w{6}\.tmp", leftovers()[0])
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
        assert (process.returncode, out, err) == (status, b"", b""), number
        assert read("out.jsonl") == b"old"
        assert os.listdir(".") == ["out.jsonl"], os.listdir(".")


@tests.test("signals: SIGKILL leaves OUT as it was")
def _():
    write("out.jsonl", "old")
    process = start("convert", "-y", "--from", "jsonl", "-", "out.jsonl")
    process.kill()
    process.communicate(timeout=20)
    assert process.returncode == -signal.SIGKILL
    assert read("out.jsonl") == b"old"
    assert [os.path.exists("out.jsonl"), len(leftovers())] == [True, 1]
    write("in.jsonl", "1\n")  # and what is left is in nobody's way
    assert perdure("convert", "-qy", "in.jsonl", "out.jsonl").status == 0
    assert read("out.jsonl") == b"1\n"


@tests.test("signals: a reader that goes away leaves nothing behind")
def _():
    write("in.jsonl", '"%s"\n' % ("x" * 1000) * 3000)
    script = '"$0" convert -q --to json --gather in.jsonl - | head -c 1'
    expect(run(["sh", "-c", script, PERDURE]), 0, "[")
    # Standard error may be what went away.
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run([PERDURE, "convert", "in.jsonl", "out.jsonl"],
                          stderr=write_end, env=environment())
    os.close(write_end)
    assert done.returncode == -signal.SIGPIPE and leftovers() == [], done


# --- terminals, progress, size -------------------------------------------

@tests.test("terminal: gets no control characters, and a line end")
def _():
    write("a.json", '["\x7f \x9b31m","é"]')
    args = [PERDURE, "convert", "-q", "--to", "json", "a.json", "-"]
    expect(run_on_terminal(args), 0, '["\\u007f \\u009b31m","é"]\n')
    expect(run_on_terminal([*args, "-o", "raw"]), 0, '["\x7f \x9b31m","é"]')
    shown = run_on_terminal([PERDURE, "convert", "-q", "--to", "msgpack",
                             "a.json", "-"])
    assert b"\x9b" not in shown.out and b"\x7f" not in shown.out, shown
    assert shown.out.startswith(b"\\x92"), shown
    text = '["%s"]' % ("é" * 200000)  # cut anywhere between two writes
    write("a.json", text)
    expect(run_on_terminal(args), 0, text + "\n")
    write("a.json", "x" + text)
    write("a.jsonl", '"%s"\n' % ("xé" * 30) * 3000)
    args = [PERDURE, "convert", "-q", "--to", "jsonl", "a.jsonl", "-"]
    expect(run_on_terminal(args), 0, read("a.jsonl").decode())


@tests.test("progress: appears on a terminal and makes room for the summary")
def _():
    def feed(pipe):
        for piece in (b"1\n", b" " * 3000, b"2\n"):
            pipe.write(piece)
            pipe.flush()
            time.sleep(0.7)
    got = run_on_terminal([PERDURE, "convert", "--from", "jsonl", "-",
                           "out.jsonl"], feed=feed, env={"NO_COLOR": "1"})
    wipe = "\r" + " " * 79 + "\r"
    text = got.err.decode()
    assert text.startswith(wipe + "standard input: 3.0 kB, "), text
    assert text.endswith(wipe + "perdure: out.jsonl: jsonl, 2 documents"
                         ", 3.0 kB in, 4 bytes out\n"), text


def peak_kb(process):
    """The most memory that a process had so far, without the files of libraries
    that are mapped. What getrusage() tells of a child begins with what this
    program had when it made it."""
    with open("/proc/%d/status" % process.pid) as file:
        text = file.read()
    most, files = (int(re.search(name + r":\s*(\d+) kB", text).group(1))
                   for name in ("VmHWM", "RssFile"))
    return most - files


def write_many(pipe, line, count):
    for _ in range(count):
        pipe.write(line)
    pipe.flush()


def count_lines(into, pipe, line):
    for got in pipe:
        into.append(got == line)


@tests.test("size: 60 MB of documents go through in a fraction of the memory")
def _():
    if SANITIZED:
        raise record.Skip("a sanitizer needs memory of its own")
    line = b'{"text":"%s","n":[1.50,true,null]}\n' % (b"x" * 20000)
    count = 60000000 // len(line) + 1
    for name in ("msgpack", "records", "jsonl"):
        there = subprocess.Popen([PERDURE, "convert", "-q", "--from", "jsonl",
                                  "--to", name, "-", "-"], env=environment(),
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        back = subprocess.Popen([PERDURE, "convert", "-q", "--from", name,
                                 "--to", "jsonl", "-", "-"], env=environment(),
                                stdin=there.stdout, stdout=subprocess.PIPE)
        there.stdout.close()
        same = []
        reader = threading.Thread(target=count_lines,
                                  args=(same, back.stdout, line))
        reader.start()
        write_many(there.stdin, line, count)
        peaks = peak_kb(there), peak_kb(back)
        there.stdin.close()
        assert (there.wait(timeout=60), back.wait(timeout=60)) == (0, 0), name
        reader.join()
        back.stdout.close()
        assert same == [True] * count, name
        assert max(peaks) < 4000, (name, peaks)


@tests.test("memory: a document that does not fit ends with 70 and leaves "
            "nothing")
def _():
    if SANITIZED:
        raise record.Skip("a sanitizer reserves address space of its own")

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (32 << 20, 32 << 20))
    write("big.json", "[" + "1," * 20000000 + "1]")
    expect(perdure("convert", "-q", "big.json", "big.msgpack",
                   preexec_fn=limit), 70, "",
           "perdure: big.json: out of memory\n")
    assert os.listdir(".") == ["big.json"]


# --- the example ---------------------------------------------------------

@tests.test("example copy: writes what convert writes, event by event")
def _():
    write("one", ODD)
    write("many", ODD + "\n[]\n1\n" + ODD + "\n")
    for source, first, names in (
            ("one", "json", forms()),
            ("many", "jsonl", ("jsonl", "msgpack", "records"))):
        for name in names:
            want = perdure("convert", "-q", "--from", first, "--to", name,
                           source, "-").out
            there = run([COPY, first, name], stdin=read(source))
            assert (there.status, there.out, there.err) == (0, want, b""), there
            back = run([COPY, name, first], stdin=want)
            assert (back.status, back.out) == (0, read(source)), back


@tests.test("example copy: says what is wrong, and where")
def _():
    expect(run([COPY, "jsonl", "jsonl"], stdin=b'{"a":1}\n{"a":x}'), 6,
           "", "copy: expected a value, found 'x' "
           "(unexpected_byte at byte 13, /a)\n")
    expect(run([COPY, "toml", "json"]), 3, "",
           "copy: no format is called 'toml' (no_format)\n")
    expect(run([COPY]), 2, "", "usage: copy FROM TO < IN > OUT\n")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([COPY, "json", "xml"], input=b"[]", stdout=full,
                              stderr=subprocess.PIPE, env=environment())
    assert (done.returncode, done.stderr) == (
        9, b"copy: cannot write (cannot_write)\n"), done


tests.finish()
