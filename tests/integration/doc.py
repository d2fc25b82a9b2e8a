"""perdure doc and perdure schema as a user meets them.

Usage: doc.py PERDURE EXAMPLE-TURN
"""
import copy
import json
import os
import re
import signal
import subprocess
import sys
import time

from harness import INVISIBLE, Tests, environment, run, run_on_terminal

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PERDURE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1
                          else os.environ["PERDURE_BIN"])
TURN = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
SAMPLE = os.path.join(ROOT, "examples", "tour", "conversation.json")
DATA = os.path.join(ROOT, "tests", "data")
ESCAPE = b"\033"
VERBS = ["check", "show", "stats", "diff", "migrate", "repair"]
AT = "2026-05-07T08:00:00Z"
tests = Tests("doc")


def perdure(*args, **kwargs):
    return run([PERDURE, *args], **kwargs)


def doc(*args, **kwargs):
    return perdure("doc", *args, **kwargs)


def on_terminal(*args, env=None, columns=80, **kwargs):
    extra = {"PERDURE_PAGER": ""}
    extra.update(env or {})
    return run_on_terminal([PERDURE, "doc", *args], env=extra, columns=columns,
                           **kwargs)


def write(name, value):
    if not isinstance(value, (str, bytes)):
        value = json.dumps(value, ensure_ascii=False)
    with open(name, "wb") as file:
        file.write(value.encode("utf-8", "surrogatepass")
                   if isinstance(value, str) else value)
    return name


def read(name):
    with open(name, "rb") as file:
        return file.read()


def expect(result, status, out="", err=""):
    """Whole output, compared as text."""
    want = (status, out.encode(), err.encode())
    got = (result.status, result.out, result.err)
    assert want == got, "\nexpected %r\ngot      %r" % (want, got)


def strict(text):
    def refuse(token):
        raise ValueError(token)
    return json.loads(text, parse_constant=refuse)


def plain(data):
    """Without colours."""
    return re.sub(rb"\033\[[0-9;]*m", b"", data)


# --- documents -----------------------------------------------------------

def text(words):
    return {"$type": "text", "text": words}


def call(call_id, name="tool", arguments=None):
    return {"$type": "functionCall", "arguments": arguments or {},
            "callId": call_id, "name": name}


def result(call_id, value):
    return {"$type": "functionResult", "callId": call_id, "result": value}


def message(role, *contents, **more):
    return {"role": role, "contents": list(contents), **more}


def request(key, *messages, at="2026-02-03T08:15:00+00:00", **more):
    return {"$type": "request", "correlationId": key, "createdAt": at,
            "messages": list(messages), **more}


def response(key, *messages, at="2026-02-03T08:15:02+00:00", **more):
    return {"$type": "response", "correlationId": key, "createdAt": at,
            "messages": list(messages), **more}


def state(*entries, version="1.1.0", root=None, **data):
    return {"schemaVersion": version,
            "data": {"conversationHistory": list(entries), **data},
            **(root or {})}


def turn(key, question="How deep is it?", answer="Nine metres."):
    return (request(key, message("user", text(question))),
            response(key, message("assistant", text(answer))))


def small():
    return state(*turn("c1"))


# --- verbs ---------------------------------------------------------------

@tests.test("doc: help, tables and usage know the verbs")
def _():
    overview = doc("--help").out.decode()
    for verb in VERBS:
        assert "\n  %-10s" % verb in overview
        text_ = doc(verb, "--help").out
        assert text_.startswith(b"perdure doc %s - " % verb.encode())
        for args in (["help", "doc", verb], ["--help", "doc", verb],
                     ["doc", "--help", verb], ["doc", verb, "-h"]):
            assert perdure(*args).out == text_, args
        assert ("perdure-doc-%s(1)" % verb).encode() in text_
        assert max(map(len, text_.decode().splitlines())) <= 80
    assert perdure("help", "doc").out.decode() == overview
    assert max(map(len, overview.splitlines())) <= 80
    tables = strict(perdure("help", "-o", "json").out)["commands"]
    names = [table["name"] for table in tables]
    assert ["doc"] + ["doc " + verb for verb in VERBS] == [
        name for name in names if name.startswith("doc")]
    group = tables[names.index("doc")]
    assert group["verbs"] == VERBS
    assert group["usage"] == "perdure doc VERB [OPTIONS] [ARGUMENTS]"
    lines = perdure("help", "-o", "jsonl").out.splitlines()
    assert [strict(line)["name"] for line in lines] == names
    assert strict(doc("show", "--help", "-o", "json").out)["name"] == "doc show"


@tests.test("doc: the synopsis of each page is the usage of the verb")
def _():
    for verb in VERBS:
        page = read(os.path.join(ROOT, "docs", "man",
                                 "perdure-doc-%s.1.md" % verb)).decode()
        synopsis = page.split("## SYNOPSIS\n\n")[1].split("\n\n")[0]
        usage = strict(doc(verb, "--help", "-o", "json").out)["usage"]
        assert usage == synopsis.replace("*", "").replace("\n", " "), verb


@tests.test("doc: every mistake gives 2, a line and a hint")
def _():
    write("a.json", small())
    rows = [
        (["doc"], "VERB: an argument is missing",
         "choose of check, show, stats, diff, migrate and repair"),
        (["doc", "shwo"], "doc shwo: no such command",
         "did you mean 'perdure doc show'?"),
        (["doc", "xyz"], "doc xyz: no such command",
         "'perdure doc --help' shows what it takes"),
        (["help", "doc", "chekc"], "doc chekc: no such command",
         "did you mean 'perdure doc check'?"),
        (["help", "diff", "x"], "diff: it has no verbs",
         "'perdure help --help' shows what it takes"),
        (["doc", "--bogus", "show", "a.json"], "--bogus: no such option",
         "'perdure doc --help' shows what it takes"),
        (["doc", "show"], "FILE: an argument is missing",
         "'perdure doc show --help' shows what it takes"),
        (["doc", "show", "--lats=2", "a.json"], "--lats: no such option",
         "did you mean '--last'?"),
        (["doc", "show", "--last=0", "a.json"],
         "--last: '0' is no number from 1 to 4294967295",
         "'perdure doc show --help' shows what it takes"),
        (["doc", "show", "--last=1", "--turn=1", "a.json"],
         "--last, --turn and --id: only one of them can be given",
         "'perdure doc show --help' shows what it takes"),
        (["doc", "check", "--for=rust", "a.json"],
         "--for: 'rust' is not offered", "choose one of dotnet, python"),
        (["doc", "check", "--for=python", "--strict", "a.json"],
         "--strict: does not go with --for",
         "'perdure doc check --help' shows what it takes"),
        (["doc", "diff", "-", "-"],
         "-: standard input can be only one of the two",
         "'perdure doc diff --help' shows what it takes"),
        (["doc", "migrate", "a.json", "b.json"],
         "--to: the version is missing", "write --to 1.1.0 or --to 1.0.0"),
        (["doc", "migrate", "--to", "banana", "a.json", "b.json"],
         "--to: this is no version", "write --to 1.1.0 or --to 1.0.0"),
        (["doc", "migrate", "--to", "1.1.0", "a.json"],
         "OUT: an argument is missing", "name a new file, or say --dry-run"),
        (["doc", "repair", "a.json"],
         "OUT: an argument is missing", "name a new file, or say --dry-run"),
        (["doc", "repair", "--at", "noon", "a.json", "b.json"],
         "--at: this is no time", "write it as in 2026-02-03T08:15:00Z"),
        (["doc", "repair", "a.json", "./a.json"],
         "./a.json: is the very file that is read",
         "name a new file; the old one stays as it was"),
        (["schema", "strct"], "strct: no such schema",
         "did you mean 'perdure schema strict'?"),
        (["schema", "nothing"], "nothing: no such schema",
         "choose one of strict, tolerant"),
    ]
    for args, line, hint in rows:
        expect(perdure(*args), 2, "", "perdure: %s\nhint: %s\n" % (line, hint))
        problem = perdure(*args, env={"PERDURE_OUTPUT": "json"})
        assert (problem.status, problem.out) == (2, b""), args
        assert strict(problem.err)["detail"] == line, args
    assert os.listdir() == ["a.json"]


@tests.test("doc: options of every command may stand anywhere")
def _():
    write("a.json", small())
    want = doc("stats", "-o", "json", "a.json").out
    assert strict(want)["version"] == "1.1.0"
    for args in (["-o", "json", "doc", "stats", "a.json"],
                 ["doc", "-o", "json", "stats", "a.json"],
                 ["-o", "table", "doc", "-ojson", "stats", "a.json"]):
        assert perdure(*args).out == want, args
    by_variable = doc("stats", "a.json", env={"PERDURE_OUTPUT": "json"})
    assert by_variable.out == want
    bad = perdure("doc", "nothing", "-o", "json")
    assert strict(bad.err)["reason"] == "unknown_command"


# --- every verb: files that are none -------------------------------------

def calls(name):
    """One call of each verb that reads a document."""
    return [["check", name], ["show", name], ["stats", name],
            ["diff", name, name], ["migrate", "--to", "1.1.0", name, "o.json"],
            ["repair", name, "o.json"]]


@tests.test("doc: a document that is none is refused with a hint")
def _():
    rows = [
        ("{}", "schema_version_missing", "members schemaVersion and data"),
        ('{"stateBag":{}}', "schema_version_missing", "looks like a session"),
        ('{"session_id":"s"}', "schema_version_missing", "like a session"),
        ('{"messages":[]}', "schema_version_missing", "like a message"),
        ('{"conversationHistory":[]}', "schema_version_missing",
         "belongs into the member data"),
        ('{"data":{}}', "schema_version_missing", "without a version"),
        ("[]", "state_not_json", "is one object"),
        ("7", "state_not_json", "members schemaVersion and data"),
        ('{"schemaVersion":null,"data":{}}', "schema_version_invalid",
         "two to four numbers"),
        ('{"schemaVersion":"2.0.0","data":{}}', "schema_version_unsupported",
         "major version 1"),
        ('{"schemaVersion":"1.1.0"}', "data_missing",
         "data.conversationHistory"),
        ('{"schemaVersion":"1.1.0","data":[]}', "data_invalid",
         "data.conversationHistory"),
    ]
    for source, reason, hint in rows:
        write("a.json", source)
        for args in calls("a.json")[1:]:
            got = doc(*args, "-o", "json")
            problem = strict(got.err)
            assert got.out == b"" and got.status == problem["exit"], args
            assert got.status in (6, 7, 8), (args, got)
            assert problem["reason"] == reason, (source, problem)
            assert hint in problem["hint"], (source, problem)
        got = doc("check", "a.json")
        assert got.status == 6 and b"error: " in got.out, (source, got)
        assert hint in got.out.decode(), (source, got)
        assert os.listdir() == ["a.json"], source


@tests.test("doc: what cannot be read is a failure like everywhere")
def _():
    write("cut.json", '{"schemaVersion":"1.1.0","data":{"conv')
    os.mkdir("folder")
    for args in calls("none.json"):
        got = doc(*args)
        assert got.status == 3 and got.out == b"", (args, got)
        assert got.err.startswith(b"perdure: none.json: No such file"), got
    for args in calls("folder"):
        assert doc(*args).status == 9, args
    for args in calls("cut.json")[1:]:
        expect(doc(*args), 6, "", """\
perdure: cut.json:1:39: the document ends before it is complete, at /data
hint: the end is missing: was the file cut off while it was written?
""")
    expect(doc("check", "cut.json"), 6, """\
error: line 1, column 39: the document ends before it is complete [unexpected_end]
    /data
    hint: the end is missing: was the file cut off while it was written?
cut.json: not sound: 1 error
""")
    assert sorted(os.listdir()) == ["cut.json", "folder"]


@tests.test("doc: reads every format, standard input and a state that is null")
def _():
    write("a.json", small())
    for name in ("a.msgpack", "a.xml"):
        assert perdure("convert", "-q", "a.json", name).status == 0
        for args in (["show", "-o", "json"], ["stats", "-o", "json"]):
            one, other = (strict(doc(*args, file).out)
                          for file in ("a.json", name))
            for part in (one, other):
                for noise in ("file", "bytes", "largest", "entries"):
                    part.pop(noise, None)
            assert one == other, (args, name)
        expect(doc("diff", "--exit-code", "a.json", name), 0)
        assert doc("check", name).status == 0
        for reader in ("dotnet", "python"):
            got = strict(doc("check", "--for", reader, "-o", "json", name).out)
            assert (got["loads"], got["runs"]) == (True, True), (name, got)
    piped = doc("show", "-", stdin=read("a.json"))
    assert piped.out.startswith(b"standard input\nversion 1.1.0, 1 turn, "), piped
    expect(doc("show", "--from", "json", "-", stdin=b"null"), 0,
           "standard input\nversion 1.1.0, 0 turns, 0 entries\n")
    expect(doc("check", "--from", "json", "-", stdin=b"null"), 0,
           "standard input: sound\n")
    two = doc("show", "--from=jsonl", "-", stdin=b"{}\n{}\n")
    assert two.status == 6 and b"one document here" in two.err, two


@tests.test("doc: limits and bare tokens hold for every verb")
def _():
    odd = small()
    odd["data"]["odd"] = float("nan")
    write("a.json", json.dumps(odd))
    for args in calls("a.json"):
        assert doc(*args).status == 6, args
        got = doc(*args, "--bare-tokens")
        assert got.status == 0, (args, got)
        if os.path.exists("o.json"):
            assert b"NaN" in read("o.json")
            os.unlink("o.json")
        for limit in ("--max-depth=3", "--max-bytes=90", "--max-nodes=9"):
            refused = doc(*args, "--bare-tokens", limit)
            assert refused.status == 6, (args, limit, refused)
    assert os.listdir() == ["a.json"]


# --- check ---------------------------------------------------------------

@tests.test("check: says that a document is sound, and what is strange in it")
def _():
    write("a.json", small())
    expect(doc("check", "a.json"), 0, "a.json: sound\n")
    expect(doc("check", "-q", "a.json"), 0)
    write("b.json", state({"$type": "note"}, *turn("c1")))
    expect(doc("check", "b.json"), 0, """\
info: 'note' is no kind of entry that we know; it is kept and never sent to a model [entry-kind-unknown]
    /data/conversationHistory/0
b.json: sound: 1 info
""")


def orphan():
    return state(request("c1", message("user", text("Go"))),
                 response("c1", message("assistant", call("x1"))),
                 *turn("c2"))


@tests.test("check: gives 6 for an error, with rule, pointer and what to do")
def _():
    write("a.json", orphan())
    got = doc("check", "a.json")
    assert got.status == 6 and got.err == b"", got
    lines = got.out.decode().splitlines()
    assert lines[0].startswith("error: ") and lines[0].endswith(
        " [call-without-result]"), lines
    assert lines[1] == "    /data/conversationHistory/1/messages/0/contents/0"
    assert lines[-1] == "a.json: not sound: 1 error, 1 info"
    found = strict(doc("check", "-o", "json", "a.json").out)
    assert (found["file"], found["sound"], found["errors"]) == (
        "a.json", False, 1), found
    one = found["findings"][0]
    assert (one["rule"], one["severity"], one["pointer"]) == (
        "call-without-result", "error",
        "/data/conversationHistory/1/messages/0/contents/0"), one
    assert one["text"] in lines[0]


@tests.test("check: finds what breaks the tolerant or the strict schema")
def _():
    write("a.json", state(request("c1", message("user", {"$type": "text",
                                                         "text": 7}))))
    rules = {f["rule"] for f in strict(
        doc("check", "-o", "json", "a.json").out)["findings"]}
    assert any(rule.startswith("schema-") for rule in rules), rules
    write("b.json", state(*turn("c1"), expirationTimeUtc=None))
    assert doc("check", "b.json").status == 0
    got = doc("check", "--strict", "-o", "json", "b.json")
    assert got.status == 6, got
    assert [f["pointer"] for f in strict(got.out)["findings"]] == [
        "/data/expirationTimeUtc"]


@tests.test("check: several files give a list, a total and the highest status")
def _():
    write("a.json", small())
    write("b.json", orphan())
    got = doc("check", "a.json", "b.json", "none.json")
    assert got.status == 6, got
    lines = got.out.decode().splitlines()
    assert lines[0] == "a.json: sound"
    assert lines[1].startswith("b.json: error: ")
    assert lines[-1] == "2 documents: 1 good, 1 not"
    assert got.err.startswith(b"perdure: none.json: ")
    found = strict(doc("check", "-o", "json", "a.json", "b.json").out)
    assert [(f["file"], f["sound"]) for f in found] == [
        ("a.json", True), ("b.json", False)]
    lines = doc("check", "-o", "jsonl", "a.json", "b.json").out.splitlines()
    assert [strict(line) for line in lines] == found
    assert strict(doc("check", "-o", "json", "x", "y").out) == []
    assert doc("check", "a.json", "none.json").status == 3
    assert doc("check", "--for", "python", "a.json", "none.json").status == 3


@tests.test("check: shows as many findings as asked for and counts all")
def _():
    write("a.json", state(*({"$type": "note"} for _ in range(60))))
    shown = doc("check", "a.json").out.decode().splitlines()
    assert len(shown) == 101
    assert shown[-1] == "a.json: sound: 60 infos (50 shown)"
    assert len(doc("check", "--max-findings=0", "a.json").out.splitlines()) == 121
    assert len(doc("check", "--max-findings=1", "a.json").out.splitlines()) == 3
    every = strict(doc("check", "-o", "json", "a.json").out)
    assert (every["infos"], len(every["findings"])) == (60, 60)
    few = strict(doc("check", "-o", "json", "--max-findings=2", "a.json").out)
    assert (few["infos"], len(few["findings"])) == (60, 2)


@tests.test("check: -o raw passes a sound document on")
def _():
    bytes_ = b' {"schemaVersion" : "1.1.0",\n"data":{}}\n\n'
    write("a.json", bytes_)
    assert doc("check", "-o", "raw", "a.json").out == bytes_
    write("b.json", orphan())
    expect(doc("check", "-o", "raw", "b.json"), 6, "", """\
perdure: b.json: not sound: 1 error, 1 info
hint: without -o raw, what was found is shown
""")


@tests.test("check --for: gives loads, runs and findings as promised")
def _():
    write("a.json", small())
    for reader in ("dotnet", "python"):
        got = doc("check", "--for", reader, "-o", "json", "a.json")
        found = strict(got.out)
        assert list(found) == ["reader", "loads", "runs", "findings"], found
        assert (got.status, found["reader"], found["loads"], found["runs"]) == (
            0, reader, True, True), found
        line = doc("check", "--for=" + reader, "a.json").out.decode()
        title = {"dotnet": ".NET", "python": "Python"}[reader]
        assert "a.json: %s: loads and runs" % title in line, line
    write("b.json", state({"$type": "note"}))
    got = doc("check", "--for=dotnet", "b.json")
    assert got.status == 1, got
    assert b"b.json: .NET: does not load: 1 error\n" in got.out, got
    found = strict(doc("check", "--for=dotnet", "-o", "json", "b.json").out)
    assert (found["loads"], found["runs"]) == (False, False)
    for one in found["findings"]:
        assert list(one) == ["rule", "severity", "pointer", "text"], one
    write("c.json", '{"schemaVersion":"1.1.0","data":{}}')
    got = doc("check", "--for=dotnet", "c.json")
    assert got.status == 1, got
    assert b"c.json: .NET: loads, but every run fails" in got.out, got
    both = strict(doc("check", "--for=dotnet", "-o", "json", "a.json",
                      "b.json").out)
    assert [(f["file"], f["loads"]) for f in both] == [
        ("a.json", True), ("b.json", False)], both


@tests.test("check --for: speaks of the very text, also of what we refuse")
def _():
    write("hello.json", '{"schemaVersion":"2.0.0","data":{}}')
    assert doc("check", "hello.json").status == 6
    found = strict(doc("check", "--for=python", "-o", "json", "hello.json").out)
    assert found["loads"] is True, found
    for source in (b"", b"{", b"\xff\xfe", b"hello", b"[]", b"7", b"null",
                   b"\x00\x01\x02\x03"):
        for name in ("odd.json", "odd"):
            write(name, source)
            for reader in ("dotnet", "python"):
                got = doc("check", "--for", reader, "-o", "json", name)
                assert got.status in (0, 1) and got.err == b"", (source, got)
                found = strict(got.out)
                assert (got.status == 0) == (found["loads"] and found["runs"])


@tests.test("check --for: says of every known input what the runtimes do")
def _():
    path = os.path.join(DATA, "dotnet", "durable", "90-verdicts.jsonl")
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file][::16]
    assert len(rows) >= 10
    for row in rows:
        write("a.json", row["doc"])
        for reader in ("dotnet", "python"):
            got = strict(doc("check", "--for", reader, "-o", "json",
                             "a.json").out)
            assert got["loads"] == row[reader + "_load"], (row, got)
            assert got["runs"] == bool(row.get(reader + "_run")), (row, got)


@tests.test("check --for: does not read like an all-clear when there is damage")
def _():
    write("a.json", '{"data":{"conversationHistory":[]}}')
    got = doc("check", "--for=python", "a.json")
    lines = got.out.decode().splitlines()
    assert (got.status, lines[-2:]) == (0, [
        "a.json: Python: loads and runs, but with damage: 1 error",
        "    note: it is not sound: 1 error; 'perdure doc check' without --for"
        " shows it"]), got
    assert lines[0].endswith(" [python-resets]"), lines
    infinite = small()
    infinite["data"]["conversationHistory"][1]["messages"][0]["contents"] = [
        call("x", "t", {"n": "N"}), result("x", 1)]
    write("b.json", json.dumps(infinite).replace('"N"', "1e400"))
    got = doc("check", "--for=python", "b.json")
    assert got.status == 0, got
    assert b"[python-number-infinite]" in got.out, got
    assert b"\nb.json: Python: loads and runs, but with damage: 1 error" in \
        got.out, got
    write("c.json", small())
    write("d.json", state({"$type": "note"}))
    both = doc("check", "--for=python", "a.json", "b.json", "c.json", "d.json")
    assert both.out.endswith(
        b"\n4 documents: 3 load and run (2 with damage), 1 not\n"), both
    colored = on_terminal("check", "--for=python", "a.json").out
    assert b"\033[33mloads and runs, but with damage" in colored, colored


@tests.test("check --for: says that a document is not sound all the same")
def _():
    write("a.json", orphan())
    note = b"note: it is not sound: 1 error; 'perdure doc check' without --for"
    for reader in ("dotnet", "python"):
        got = doc("check", "--for", reader, "a.json")
        assert got.status == 0 and note in got.out, got
        assert note not in doc("check", "-q", "--for", reader, "a.json").out
        assert doc("check", "--for", reader, "-o", "raw",
                   "a.json").out == read("a.json")
    write("b.json", state(*turn("c1"), odd=float("nan")))
    got = doc("check", "--for=python", "b.json")
    assert got.status == 0 and b"note: it is not sound: 1 error" in got.out, got
    assert b"note:" not in doc("check", "--for=python", "--bare-tokens",
                               "b.json").out
    write("c.json", "null")
    assert b"note:" not in doc("check", "--for=dotnet", "c.json").out
    write("d.json", state(*orphan()["data"]["conversationHistory"], {
        "$type": "response", "correlationId": "c9", "messages": [
            message("assistant", call("x7"))]}))
    got = doc("check", "--for=python", "d.json")
    assert b"not sound: 2 errors; 'perdure doc check' without --for shows " \
        b"them" in got.out, got


# --- show ----------------------------------------------------------------

@tests.test("show: tells the sample conversation as it went")
def _():
    got = doc("show", SAMPLE)
    assert (got.status, got.err) == (0, b""), got
    shown = got.out.decode()
    lines = shown.splitlines()
    assert lines[0] == SAMPLE
    assert lines[1] == ("version 1.1.0, 4 turns, 9 entries, expires "
                        "2026-05-20 17:40:02 UTC")
    assert max(map(len, lines[1:])) <= 80
    for part in ("── turn 1 ── 2026-05-06 05:30:00 UTC ── morning-1 ──",
                 "  user Ines  05:30:00\n", "  assistant Gardener  05:30:02\n",
                 "    thinks: Two things to find out",
                 '    → take_picture {"bed": 3}\n    ← stored as bed3-0530.png',
                 "    [image/png, 842 bytes]\n",
                 "      1. open the vents only after nine,\n",
                 "    tokens: 612 in, 148 out, 760 total, 512 cached\n",
                 "── unknown entry: annotation ──",
                 "  orchestration daily-report:2026-05-06, wants json by a schema",
                 "[unknown content: sensorTrace]", "── turn 3 failed ──",
                 "    error: the forecast did not answer within 30 s [Timeout]",
                 '    → open_valve {"bed": 3, "litres": 36}\n'
                 "    ← (waits for approval)\n"):
        assert part in shown, part
    assert "\n  tool" not in shown  # its results stand beside their calls


@tests.test("show: every content has its line")
def _():
    def unknown(item):
        return {"$type": "unknown", "content": item}
    rows = [
        (text("plain words"), "plain words"),
        (text(""), "(no text)"),
        ({"$type": "text", "text": 7}, '[unknown content: text] {"$type": '
         '"text", "text": 7}'),
        ({"$type": "reasoning", "text": "hm"}, "thinks: hm"),
        ({"$type": "reasoning"}, "thinks: (hidden)"),
        ({"$type": "data", "uri": "data:image/png;base64,AQID"},
         "[image/png, 3 bytes]"),
        ({"$type": "uri", "uri": "https://a.example/b", "mediaType": "text/html"},
         "[text/html, https://a.example/b]"),
        ({"$type": "data"}, "[data]"),
        ({"$type": "error", "message": "no", "errorCode": "e1",
          "details": "why"}, "error: no [e1]\n           why"),
        ({"$type": "hostedFile", "fileId": "f1"}, "[hosted file f1]"),
        ({"$type": "hostedVectorStore", "vectorStoreId": "v1"},
         "[vector store v1]"),
        ({"$type": "usage", "usage": {"inputTokenCount": 1234,
                                      "additionalCounts": {"audio": -2}}},
         "tokens: 1,234 in, -2 audio"),
        (call("x", "dig", {"deep": [1, 2]}), '→ dig {"deep": [1, 2]}\n'
         "    ← (no result in this turn)"),
        (call("x"), "→ tool\n    ← (no result in this turn)"),
        (result("y", None), "← of y, which was not called in this turn:\n"
         "      (nothing)"),
        (unknown({"$type": "mcpServerToolCall", "name": "forecast",
                  "serverName": "weather", "arguments": {"h": 1},
                  "callId": "m"}), '→ weather.forecast {"h": 1}'),
        (unknown({"$type": "codeInterpreterToolCall", "callId": "k"}),
         "→ codeInterpreterToolCall"),
        (unknown({"$type": "toolApprovalRequest", "requestId": "a",
                  "toolCall": call("z", "open")}),
         "waits for approval: open"),
        (unknown({"$type": "toolApprovalResponse", "approved": False,
                  "reason": "not today", "toolCall": call("z", "open")}),
         "refused: open: not today"),
        (unknown({"type": "function_approval_response", "approved": True,
                  "id": "a", "function_call": {"type": "function_call",
                                               "call_id": "z", "name": "open",
                                               "arguments": "{}"}}),
         "approved: open"),
        (unknown({"vendor": 1}), '[unknown content] {"vendor": 1}'),
        ({"$type": "hologram", "frames": 12},
         '[unknown content: hologram] {"$type": "hologram", "frames": 12}'),
        (None, "[unknown content] null"),
        ("words", '[unknown content] "words"'),
    ]
    for content, want in rows:
        write("a.json", state(response("c1", message("assistant", content))))
        got = doc("show", "a.json")
        assert got.status == 0, (content, got)
        assert "\n    %s\n" % want in got.out.decode(), (content, want, got)


@tests.test("show: results stand beside their calls, in order")
def _():
    write("a.json", state(
        request("c1", message("user", text("go"))),
        response("c1",
                 message("assistant", call("x", "a"), call("x", "b"),
                         call("y", "c")),
                 message("tool", result("x", "first"), result("y", {"n": 1}),
                         result("x", "second"), result("w", "whose?")))))
    shown = doc("show", "a.json").out.decode()
    assert """\
    → a
    ← first
    → b
    ← second
    → c
    ← {"n": 1}
  tool
    ← of w, which was not called in this turn:
      whose?
""" in shown, shown


@tests.test("show: tells a result that stands before its call once")
def _():
    write("a.json", state(response(
        "c1", message("tool", result("w", "early")),
        message("assistant", call("w"), call(None)),
        message("tool", result("w", "late"), result(None, "of nothing")))))
    shown = doc("show", "a.json").out.decode()
    assert shown.count("early") == 1 and "← early\n" in shown, shown
    assert "← of w, which has a result already:\n      late\n" in shown, shown
    assert "← of ?, which was not called in this turn:\n" in shown, shown
    assert shown.count("late") == 1 and shown.count("of nothing") == 1, shown
    told = doc("show", "-o", "json", "a.json").out.decode()
    for words in ("early", "late", "of nothing"):
        assert told.count(words) == 1, (words, told)


@tests.test("show: marks turns that are not whole")
def _():
    write("a.json", state(
        request("c1", message("user", text("?"))),
        response("c2", message("assistant", text("!"))),
        request("c3"), response("c3", messages_=1),
        request(None), 7, {"no": "type"}))
    shown = doc("show", "a.json").out.decode()
    assert shown.count("(no response)") == 2, shown
    assert shown.count("(a response to no request)") == 1, shown
    assert "(a request without messages)" in shown
    assert "(a response without messages)" in shown
    assert shown.count("── unknown entry ──") == 2, shown
    assert "4 turns, 7 entries" in shown


@tests.test("show: chooses turns by number, from the end and by id")
def _():
    write("a.json", state(*turn("c1", "one?"), {"$type": "note"},
                          *turn("c2", "two?"), *turn("c3", "three?")))

    def asked(*args):
        got = doc("show", *args, "a.json")
        assert got.status == 0, got
        return re.findall(r"(\w+)\?", got.out.decode())
    assert asked() == ["one", "two", "three"]
    assert asked("--last=1") == ["three"]
    assert asked("-n2") == ["two", "three"]
    assert asked("-n99") == ["one", "two", "three"]
    assert asked("--turn=2") == ["two"]
    assert asked("--id", "c3") == ["three"]
    for args, why in ((["--turn=9"], "there is no turn 9, only 3"),
                      (["--id=c9"], "no entry has the correlation id 'c9'\n"
                       "hint: without --id every turn is shown, with its id")):
        expect(doc("show", *args, "a.json"), 3, "",
               "perdure: a.json: %s\n" % why)
    lines = doc("show", "-n1", "-o", "jsonl", "a.json").out.splitlines()
    assert [strict(line)["turn"] for line in lines] == [3]


@tests.test("show: cuts long results, --full shows them to the end")
def _():
    long = " ".join("word%d" % i for i in range(500))
    write("a.json", state(response(
        "c1", message("assistant", call("x", "t", {"long": long}),
                      text(long)), message("tool", result("x", long)))))
    shown = doc("show", "a.json").out.decode()
    assert shown.count(" more; --full shows it)") == 2, shown
    assert shown.count("word499") == 1  # what was said is never cut
    full = doc("show", "--full", "a.json").out.decode()
    assert "--full" not in full and full.count("word499") == 3


@tests.test("show: -o json has a stable form, -o raw the stored entries")
def _():
    got = strict(doc("show", "-o", "json", SAMPLE).out)
    assert list(got) == ["file", "version", "expires", "entryCount",
                         "turnCount", "turns"], list(got)
    assert (got["version"], got["entryCount"], got["turnCount"]) == (
        "1.1.0", 9, 4)
    first = got["turns"][0]
    assert (first["kind"], first["turn"], first["correlationId"],
            first["finished"], first["failed"]) == (
                "turn", 1, "morning-1", True, False)
    answer = first["entries"][1]
    assert answer["kind"] == "response" and answer["entry"] == 1
    assert answer["usage"]["cachedInputTokenCount"] == 512
    calls_ = answer["messages"][0]["contents"][1:]
    assert [(c["name"], c["hasResult"]) for c in calls_] == [
        ("read_sensors", True), ("take_picture", True)]
    assert calls_[1]["result"] == "stored as bed3-0530.png"
    assert answer["messages"][1] == {"role": "tool", "author": "Gardener",
                                     "contents": []}
    assert answer["messages"][2]["contents"][0] == {
        "kind": "data", "mediaType": "image/png", "bytes": 842}
    assert (got["turns"][1]["kind"], got["turns"][1]["type"],
            got["turns"][1]["entry"]) == ("unknown", "annotation", 2)
    assert got["turns"][3]["failed"] is True
    waiting = got["turns"][4]["entries"][1]["messages"][0]["contents"]
    assert waiting[1]["hasResult"] is False
    assert waiting[2]["kind"] == "toolApprovalRequest"
    assert waiting[2]["call"]["arguments"] == {"bed": 3, "litres": 36}
    lines = doc("show", "-o", "jsonl", SAMPLE).out.splitlines()
    assert [strict(line) for line in lines] == got["turns"]
    raw = doc("show", "--turn=1", "-o", "raw", SAMPLE).out
    assert b'"moisture": 0.310' in raw and raw.count(b'"$type": "re') == 3
    assert all(part in read(SAMPLE) for part in raw.split(b"\n")), raw


@tests.test("show: keeps spellings in JSON output")
def _():
    write("a.json", '{"schemaVersion":"1.1.0","data":{"conversationHistory":[{'
          '"$type":"response","messages":[{"role":"tool","contents":[{"$type":'
          '"functionResult","callId":"c\\ud800","result":[1.10,1e2,"\\/"]}]}]}'
          "]}}")
    out = doc("show", "-o", "json", "a.json").out
    assert b'"callId":"c\\ud800","result":[1.10,1e2,"\\/"]' in out, out


@tests.test("show: real documents of both runtimes can be read")
def _():
    seen = 0
    for folder in ("dotnet", "python"):
        path = os.path.join(DATA, folder, "durable")
        for name in sorted(os.listdir(path)):
            file = os.path.join(path, name)
            if not name.endswith(".json") or b'"data"' not in read(file)[:60]:
                continue
            if name.startswith("22-version-2") or "missing" in name:
                continue
            for verb in ("show", "stats"):
                got = doc(verb, file)
                assert got.status == 0 and got.out and not got.err, (file, got)
                strict(doc(verb, "-o", "json", file).out)
            shown = doc("show", file).out.decode().splitlines()
            assert max(map(len, shown[1:])) <= 80, file
            seen += 1
    assert seen >= 40, seen


# --- show on a terminal --------------------------------------------------

@tests.test("show: fills the terminal and no more, in colour")
def _():
    for columns in (60, 80, 120, 200):
        got = on_terminal("show", SAMPLE, columns=columns)
        assert got.status == 0 and got.err == b"", got
        lines = plain(got.out).decode().splitlines()[2:]
        widest = max(map(len, lines))
        assert widest == min(columns, 120), (columns, widest)
        assert ESCAPE in got.out
    plain_ = on_terminal("show", SAMPLE, env={"NO_COLOR": "1"})
    assert ESCAPE not in plain_.out
    assert plain(on_terminal("show", SAMPLE).out) == plain_.out
    tiny = on_terminal("show", SAMPLE, columns=5)
    assert tiny.status == 0


@tests.test("show: draws with ASCII where the locale has no more")
def _():
    write("a.json", state(request("c1", message("user", text("Grüße"))),
                          response("c1", message("assistant", call("x")))))
    shown = doc("show", "a.json", env={"LC_ALL": "C"}).out.decode()
    assert "-- turn 1 -- " in shown and "-> tool" in shown, shown
    assert "<- (no result in this turn)" in shown
    assert "─" not in shown and "→" not in shown
    assert "Grüße" in shown  # the conversation is what it is
    shown = doc("stats", "a.json", env={"LC_ALL": "C"}).out.decode()
    assert "####" in shown and "█" not in shown


@tests.test("pager: is used on a terminal only, and chosen in order")
def _():
    write("a.json", small())

    def paged(*args, **env):
        return plain(run_on_terminal([PERDURE, "doc", "show", *args, "a.json"],
                                     env=env).out).decode()
    usual = doc("show", "a.json").out.decode()
    mark = "sed s/^/%s:/"
    own = paged(PERDURE_PAGER=mark % "own", PAGER=mark % "general")
    assert own.startswith("own:a.json\n") and "own:version" in own, own
    general = paged(PAGER=mark % "general")
    assert general.startswith("general:a.json\n"), general
    for env in ({"PERDURE_PAGER": ""}, {"PERDURE_PAGER": "cat"},
                {"PAGER": "cat"}):
        assert paged(**env) == usual, env
    assert paged("--no-pager", PAGER=mark % "x") == usual
    piped = doc("show", "a.json", env={"PAGER": mark % "x"}).out.decode()
    assert piped == usual
    data = run_on_terminal([PERDURE, "doc", "show", "-o", "jsonl", "a.json"],
                           env={"PAGER": mark % "x"}).out
    assert strict(data)["turn"] == 1


@tests.test("pager: one that is not there is a failure, one that stops is none")
def _():
    write("a.json", state(*(entry for i in range(3000)
                            for entry in turn("c%d" % i, "word " * 50))))
    got = run_on_terminal([PERDURE, "doc", "show", "a.json"],
                          env={"PAGER": "no-such-pager-here 2>/dev/null",
                               "NO_COLOR": "1"})
    assert got.status == 9, got
    assert got.err == (
        b"perdure: no-such-pager-here 2>/dev/null: the pager cannot be "
        b"started\nhint: --no-pager prints it directly; PERDURE_PAGER names "
        b"another\n"), got
    got = run_on_terminal([PERDURE, "doc", "show", "a.json"],
                          env={"PAGER": "./a.json 2>/dev/null"})
    assert got.status == 9 and b"cannot be started" in got.err, got
    got = run_on_terminal([PERDURE, "doc", "show", "a.json"],
                          env={"PAGER": "head -1"})
    assert (got.status, got.err) == (0, b""), got
    assert plain(got.out) == b"a.json\n", got


@tests.test("pager: an interrupt is the pager's, and leaves no process")
def _():
    write("a.json", small())
    process = subprocess.Popen(
        ["script", "-qec", "%s doc show a.json; echo ended $?" % PERDURE,
         "/dev/null"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True,
        env=environment({"PAGER": "trap '' INT; cat; sleep 1; echo paged",
                         "SHELL": "/bin/sh"}))
    time.sleep(0.5)
    process.stdin.write(b"\x03")
    process.stdin.flush()
    out, _ = process.communicate(timeout=20)
    assert b"paged" in out, out


# --- stats ---------------------------------------------------------------

@tests.test("stats: counts what is in the sample")
def _():
    shown = doc("stats", SAMPLE).out.decode()
    for part in ("Turns      4, 1 failed\n",
                 "Entries    9: 4 request, 4 response, 1 annotation\n",
                 "Messages   10: 5 assistant, 4 user, 1 tool\n",
                 "Contents   17: 7 text, 3 functionCall, ",
                 "Tools      1 read_sensors, 1 take_picture, 1 open_valve\n",
                 "Tokens     2,157 in, 213 out, 2,370 total, 1,920 cached\n",
                 "Time       2026-05-06 05:30:00 to 2026-05-06 17:40:02 UTC, "
                 "12 h 10 min\n", "Expires    2026-05-20 17:40:02 UTC\n",
                 "Unknown    1 entry, 1 content; they are kept as they are\n",
                 "████████████████████████  data\n"
                 "            /data/conversationHistory/1/messages/2/contents/0"):
        assert part in shown, (part, shown)
    assert max(map(len, shown.splitlines())) <= 80
    got = strict(doc("stats", "-o", "json", SAMPLE).out)
    assert got["turns"] == {"count": 4, "failed": 1, "unfinished": 0}
    assert got["entries"]["byKind"] == {"request": 4, "response": 4,
                                        "annotation": 1}
    assert got["messages"] == {"count": 10, "byRole": {
        "assistant": 5, "user": 4, "tool": 1}}
    assert got["contents"]["count"] == 17
    assert got["tools"]["open_valve"] == 1
    assert got["tokens"] == {"inputTokenCount": 2157, "outputTokenCount": 213,
                             "totalTokenCount": 2370,
                             "cachedInputTokenCount": 1920}
    assert got["bytes"] == os.path.getsize(SAMPLE)
    assert got["time"] == {"first": "2026-05-06T05:30:00.12Z",
                           "last": "2026-05-06T17:40:02.3Z", "seconds": 43802}
    assert got["unknown"] == {"entries": 1, "contents": 1}
    assert len(got["largest"]) == 5
    found = perdure("fmt", SAMPLE)
    assert found.status == 0
    assert strict(doc("stats", "-o", "jsonl", SAMPLE).out) == got


@tests.test("stats: an empty document has an answer for everything")
def _():
    write("a.json", state())
    expect(doc("stats", "a.json"), 0, """\
a.json: version 1.1.0
Turns      0
Entries    0
Messages   0
Contents   0
Size       63 bytes
""")
    got = strict(doc("stats", "-o", "json", "a.json").out)
    assert got["largest"] == [] and "time" not in got and "expires" not in got


@tests.test("stats: sums saturate, names in any number stay apart")
def _():
    huge = 2 ** 63 - 1
    write("a.json", state(*(response("c%d" % i, message("r%d" % (i % 300)),
                                     usage={"inputTokenCount": huge})
                            for i in range(1000))))
    got = strict(doc("stats", "-o", "json", "a.json").out)
    assert got["tokens"] == {"inputTokenCount": huge}
    roles = got["messages"]["byRole"]
    assert len(roles) == 300 and roles["r0"] == 4 and roles["r299"] == 3
    shown = doc("stats", "a.json").out.decode()
    assert "4 r0, 4 r1, 4 r2, " in shown and ", 293 more\n" in shown, shown


# --- diff ----------------------------------------------------------------

def three():
    return state(*turn("c1"), *turn("c2"), *turn("c3"))


@tests.test("diff: aligns entries by correlation id")
def _():
    before, after = three(), three()
    history = after["data"]["conversationHistory"]
    del history[2:4]
    history[-1]["messages"][0]["contents"][0]["text"] = "Ten metres."
    history += turn("c4", "And now?")
    after["schemaVersion"] = "1.1.1"
    after["data"]["expirationTimeUtc"] = "2026-03-01T00:00:00Z"
    after["tenant"] = "blue"
    write("a.json", before)
    write("b.json", after)
    expect(doc("diff", "a.json", "b.json"), 0, """\
~ /schemaVersion  "1.1.0" -> "1.1.1"
+ /data/expirationTimeUtc  "2026-03-01T00:00:00Z"
+ /tenant  "blue"
- request c2, removed entry 2  "How deep is it?"
- response c2, removed entry 3  "Nine metres."
~ response c3, changed entry 3, was 5
    ~ /messages/0/contents/0/text  "Nine metres." -> "Ten metres."
+ request c4, added entry 4  "And now?"
+ response c4, added entry 5  "Nine metres."
""")
    assert doc("diff", "-e", "a.json", "b.json").status == 1
    got = strict(doc("diff", "-o", "json", "a.json", "b.json").out)
    assert (got["equal"], got["added"], got["removed"], got["changed"],
            got["moved"]) == (False, 2, 2, 1, 0), got
    assert got["frame"][0] == {"op": "changed", "pointer": "/schemaVersion",
                               "before": "1.1.0", "after": "1.1.1"}
    changed = got["entries"][2]
    assert changed == {"op": "changed", "kind": "response",
                       "correlationId": "c3", "entryBefore": 5,
                       "entryAfter": 3, "changes": [
                           {"op": "changed",
                            "pointer": "/messages/0/contents/0/text",
                            "before": "Nine metres.",
                            "after": "Ten metres."}]}, changed
    assert got["entries"][3]["value"] == history[4]
    lines = doc("diff", "-o", "jsonl", "a.json", "b.json").out.splitlines()
    assert [strict(line) for line in lines] == got["frame"] + got["entries"]


@tests.test("diff: tells what was moved, twice there or has no id")
def _():
    write("a.json", three())
    moved = three()
    history = moved["data"]["conversationHistory"]
    moved["data"]["conversationHistory"] = history[4:] + history[:4]
    write("b.json", moved)
    out = doc("diff", "a.json", "b.json").out.decode()
    assert out == ("= request c3, moved entry 0, was 4\n"
                   "= response c3, moved entry 1, was 5\n"), out
    write("a.json", state(*turn("c1"), *turn("c1", "again?")))
    write("b.json", state(*turn("c1"), *turn("c1", "once more?")))
    out = doc("diff", "a.json", "b.json").out.decode()
    assert out == """\
~ request c1, changed entry 2
    ~ /messages/0/contents/0/text  "again?" -> "once more?"
""", out
    write("a.json", state({"$type": "note", "n": 1}, {"$type": "note", "n": 2}))
    write("b.json", state({"$type": "note", "n": 2}, 7))
    out = doc("diff", "a.json", "b.json").out.decode()
    assert out == "- entry, removed entry 0\n+ entry, added entry 1\n", out


@tests.test("diff: equal documents differ in nothing, whatever they hold")
def _():
    for source in (SAMPLE, "a.json"):
        write("a.json", '{"schemaVersion":"1.1.0","data":null,"x":[]}')
        expect(doc("diff", "--exit-code", source, source), 0)
        got = strict(doc("diff", "-o", "json", source, source).out)
        assert got == {"frame": [], "entries": [], "equal": True, "added": 0,
                       "removed": 0, "changed": 0, "moved": 0}
    seen = on_terminal("diff", SAMPLE, SAMPLE)
    expect(seen, 0, "", "no differences\n")
    write("b.json", '{"schemaVersion":"1.1.0","data":{"conversationHistory":'
          'null},"x":[]}')
    assert doc("diff", "-e", "a.json", "b.json").status == 1
    write("c.json", state(version="1.1.0"))
    out = doc("diff", "b.json", "c.json").out.decode()
    assert "~ /data/conversationHistory  null -> []" in out, out
    assert doc("diff", SAMPLE, "-", stdin=read(SAMPLE)).out == b""


@tests.test("diff: cuts values on a terminal only, and says how many")
def _():
    write("a.json", state(*turn("c1", "x" * 300)))
    write("b.json", state(*turn("c1", "y" * 300)))
    got = on_terminal("diff", "--color=never", "a.json", "b.json")
    lines = got.out.decode().splitlines()
    assert max(map(len, lines)) <= 80, lines
    assert got.err == b"1 entry changed\n", got
    assert b"y" * 300 in doc("diff", "a.json", "b.json").out


# --- migrate -------------------------------------------------------------

@tests.test("migrate: brings a document to a version, in a new file")
def _():
    source = b'{"schemaVersion": "1.0.0", "data": {"x": 1.10}}\n'
    write("a.json", source)
    got = doc("migrate", "--to", "1.1.0", "a.json", "b.json")
    assert got.status == 0 and got.err == b"", got
    assert got.out.decode() == """\
step 1, from 1.0.0 to 1.1.0: requests may name the orchestration that made them
/schemaVersion
    the version is now 1.1.0 [version-set]
1 change; b.json has 48 bytes
""", got
    assert read("b.json") == source.replace(b"1.0.0", b"1.1.0")
    assert read("a.json") == source
    expect(doc("migrate", "--to", "1.1.0", "a.json", "b.json"), 5, "",
           "perdure: b.json: File exists\nhint: --yes replaces it\n")
    again = doc("migrate", "-yq", "--to", "1.1.0", "b.json", "a.json")
    assert again.status == 0, again
    assert read("a.json") == read("b.json")
    same = doc("migrate", "--to", "1.1.0", "-n", "b.json")
    expect(same, 0, "nothing to change; a dry run, nothing was written\n")
    same = strict(doc("migrate", "--to", "1.1.0", "-n", "-o", "json",
                      "b.json").out)
    assert same == {"in": "b.json", "dryRun": True, "steps": [],
                    "changes": []}, same


@tests.test("migrate: refuses what cannot be carried back unless forced")
def _():
    source = state(request("c1", message("user", text("?")),
                           orchestrationId="o1"))
    write("a.json", source)
    got = doc("migrate", "--to=1.0.0", "a.json", "b.json")
    assert got.status == 6 and got.out == b"", got
    assert b"/data/conversationHistory/0/orchestrationId" in got.err, got
    assert b"hint: --force leaves out" in got.err
    problem = strict(doc("migrate", "--to=1.0.0", "-n", "-o", "json",
                         "a.json").err)
    assert (problem["reason"], problem["pointer"]) == (
        "cannot_carry", "/data/conversationHistory/0/orchestrationId")
    assert os.listdir() == ["a.json"]
    dry = doc("migrate", "--to=1.0.0", "--force", "--dry-run", "-o", "json",
              "a.json", "b.json")
    report = strict(dry.out)
    assert (report["in"], report["dryRun"], "out" in report) == (
        "a.json", True, False), report
    rules = [change["rule"] for change in report["changes"]]
    assert rules == ["version-set", "orchestration-id-removed"], rules
    assert len(report["steps"]) == 1
    shown = doc("migrate", "--to=1.0.0", "-fn", "a.json").out
    assert b"\n2 changes; a dry run, nothing was written\n" in shown, shown
    assert os.listdir() == ["a.json"]
    forced = doc("migrate", "--to=1.0.0", "-f", "-o", "json", "a.json", "b.json")
    made = strict(forced.out)
    assert made["changes"] == report["changes"]
    assert (made["out"], made["bytes"], made["dryRun"]) == (
        "b.json", os.path.getsize("b.json"), False)
    want = copy.deepcopy(source)
    del want["data"]["conversationHistory"][0]["orchestrationId"]
    want["schemaVersion"] = "1.0.0"
    assert strict(read("b.json")) == want


@tests.test("migrate: to a version that nobody knows is refused")
def _():
    write("a.json", small())
    for version in ("1.2.0", "2.0.0", "0.9.0"):
        got = doc("migrate", "--to", version, "-o", "json", "a.json", "b.json")
        assert strict(got.err)["reason"] == "no_migration", got
        assert got.status != 0 and got.out == b""
    assert os.listdir() == ["a.json"]


@tests.test("migrate: writes to standard output, and in the format of OUT")
def _():
    write("a.json", state(version="1.0.0"))
    got = doc("migrate", "--to=1.1.0", "a.json", "-")
    assert strict(got.out)["schemaVersion"] == "1.1.0", got
    assert b"1 change; standard output has " in got.err, got
    got = doc("migrate", "--to=1.1.0", "-o", "json", "a.json", "-")
    assert strict(got.out)["schemaVersion"] == "1.1.0", got
    assert strict(got.err)["out"] == "standard output"
    # By another name it is still the document's alone.
    got = doc("migrate", "--to=1.1.0", "-o", "json", "a.json", "/dev/stdout")
    assert strict(got.out)["schemaVersion"] == "1.1.0", got
    assert strict(got.err)["out"] == "/dev/stdout"
    # A file that is called so is not meant by it.
    write("./-", "")
    got = doc("migrate", "-q", "--to=1.1.0", "-", "-", stdin=read("a.json"))
    assert strict(got.out)["schemaVersion"] == "1.1.0", got
    for name in ("b.msgpack", "b.xml"):
        assert doc("migrate", "-q", "--to=1.1.0", "a.json", name).status == 0
        shown = perdure("convert", "-q", "--to=json", name, "-").out
        assert strict(shown)["schemaVersion"] == "1.1.0"
    # No name tells: the format of what was read.
    assert doc("migrate", "-q", "--to=1.1.0", "b.xml", "plain").status == 0
    assert read("plain").startswith(b"<map "), read("plain")


# --- repair --------------------------------------------------------------

@tests.test("repair: gives orphan calls a result, and says every change")
def _():
    write("a.json", orphan())
    before = read("a.json")
    got = doc("repair", "--at", AT, "a.json", "b.json")
    assert got.status == 0 and got.err == b"", got
    assert got.out.decode().splitlines()[-1].startswith("1 change; b.json has ")
    assert read("a.json") == before
    assert doc("check", "b.json").status == 0
    dry = doc("repair", "--at", AT, "--dry-run", "a.json")
    assert dry.out.decode().splitlines()[:-1] == \
        got.out.decode().splitlines()[:-1]
    report = strict(doc("repair", "--at", AT, "-n", "-o", "json", "a.json").out)
    assert len(report["changes"]) == 1
    change = report["changes"][0]
    assert list(change) == ["rule", "pointer", "text"]
    assert change["text"] in got.out.decode()
    again = doc("repair", "b.json", "c.json")
    assert again.out.startswith(b"nothing to change; c.json has "), again
    assert read("c.json") == read("b.json")


@tests.test("repair: the time of what is added is the one that was given, or now")
def _():
    write("a.json", state(request("c1", message("user", text("?")))))
    assert doc("repair", "-q", "--at", AT, "a.json", "b.json").status == 0
    added = strict(read("b.json"))["data"]["conversationHistory"][1]
    assert added["createdAt"] == "2026-05-07T08:00:00+00:00", added
    assert doc("repair", "-q", "--at=2020-01-01T00:00:00Z", "a.json",
               "e.json").status == 0  # never before the request
    added = strict(read("e.json"))["data"]["conversationHistory"][1]
    assert added["createdAt"] == "2026-02-03T08:15:00+00:00", added
    assert b"earlier" not in doc("check", "e.json").out
    assert doc("repair", "-q", "a.json", "c.json").status == 0
    added = strict(read("c.json"))["data"]["conversationHistory"][1]
    year = int(added["createdAt"][:4])
    assert year == time.gmtime().tm_year, added


@tests.test("repair --for: makes a document that the reader takes")
def _():
    broken = state(*turn("c1"), expirationTimeUtc="2026-03-01T02:00:00+02:00")
    first = broken["data"]["conversationHistory"][0]
    first["$type"] = first.pop("$type")  # not in front any more
    write("a.json", broken)
    assert doc("check", "--for=dotnet", "a.json").status == 1
    got = doc("repair", "--for=dotnet", "--at", AT, "a.json", "b.json")
    assert got.status == 0, got
    assert doc("check", "--for=dotnet", "b.json").status == 0
    assert b'"expirationTimeUtc": "2026-03-01T00:00:00Z"' in read("b.json") or \
        b'"2026-03-01T00:00:00Z"' in read("b.json"), read("b.json")
    assert doc("repair", "-q", "--for=python", "a.json", "p.json").status == 0
    assert doc("check", "--for=python", "p.json").status == 0


@tests.test("repair --for: refuses with the path what would change the meaning")
def _():
    write("a.json", state({"$type": "note", "by": "ops"}, *turn("c1")))
    for reader in ("dotnet", "python"):
        for extra in ([], ["--dry-run"]):
            got = doc("repair", "--for", reader, *extra, "-o", "json",
                      "a.json", "b.json")
            problem = strict(got.err)
            assert got.status == 6 and got.out == b"", got
            assert problem["reason"] == "cannot_repair", problem
            assert problem["pointer"].startswith(
                "/data/conversationHistory/0"), problem
    assert os.listdir() == ["a.json"]


@tests.test("migrate, repair: nothing is written when something fails")
def _():
    write("a.json", orphan())
    write("b.json", "mine")
    os.symlink("a.json", "link.json")
    os.link("a.json", "hard.json")
    before = {name: read(name) for name in os.listdir()}
    for out in ("a.json", "link.json", "hard.json", "./a.json"):
        got = doc("repair", "-y", "a.json", out)
        assert got.status == 2 and b"is the very file" in got.err, (out, got)
    assert doc("repair", "a.json", "b.json").status == 5
    assert doc("repair", "a.json", "no/folder/b.json").status == 3
    assert doc("repair", "-y", "a.json", "/proc/b.json").status != 0
    with open("/dev/full", "wb") as full:
        done = subprocess.run([PERDURE, "doc", "repair", "a.json", "-"],
                              stdout=full, stderr=subprocess.PIPE,
                              env=environment())
    assert done.returncode == 9, done
    assert {name: read(name) for name in os.listdir()} == before
    # The report belongs to what was written: a failure has none.
    assert doc("repair", "a.json", "b.json").out == b""


@tests.test("repair: says how many errors are left, and where to see them")
def _():
    broken = state(request("c1", message("user", {"$type": "text", "text": 7})),
                   response("c1", message("assistant", call("x1", "t", {
                       "n": "N"}))))
    write("a.json", json.dumps(broken).replace('"N"', "1e400"))
    left = len([f for f in strict(doc("check", "-o", "json", "a.json").out)
                ["findings"] if f["rule"].startswith("schema-")])
    assert left > 0
    got = doc("repair", "--at", AT, "a.json", "b.json")
    shows = "it" if left == 1 else "them"
    error = "1 error %s" if left == 1 else "%d errors %%s" % left
    assert got.status == 0, got
    assert got.err.decode() == "warning: %s left; 'perdure doc check b.json' " \
        "shows %s\n" % (error % ("is" if left == 1 else "are"), shows), got
    assert doc("repair", "-yq", "a.json", "b.json").err == got.err
    dry = doc("repair", "--dry-run", "a.json")
    assert dry.err.decode() == "warning: %s left\n" % (error % "would be"), dry
    report = strict(doc("repair", "-n", "-o", "json", "a.json").out)
    assert list(report) == ["in", "dryRun", "errorsLeft", "changes"], report
    assert report["errorsLeft"] == left
    write("c.json", json.dumps(broken).replace('"N"', "1e400")
          .replace(": 7", ': "7"'))
    got = doc("repair", "--for=python", "c.json", "d.json")
    expect(got, 0, got.out.decode(), "warning: 1 error is left for Python; "
           "'perdure doc check --for python d.json' shows it\n")
    to_pipe = doc("repair", "-q", "--for=python", "c.json", "-")
    assert to_pipe.err.endswith(b"warning: 1 error is left for Python\n"), \
        to_pipe
    write("e.json", orphan())
    report = strict(doc("repair", "-n", "-o", "json", "--for=dotnet",
                        "e.json").out)
    assert (report["errorsLeft"], len(report["changes"])) == (0, 1), report


@tests.test("repair: what it set aside can be seen and is counted")
def _():
    write("a.json", state(
        request("c1", message("user", text("go"))),
        response("c1", message("assistant", call("x", "a")),
                 message("tool", result("x", "first"), result("x", "again"),
                         result("w", "whose?")))))
    assert doc("repair", "-q", "a.json", "b.json").status == 0
    shown = doc("show", "b.json").out.decode()
    assert """\
    → a
    ← first
  tool
    ← of x, set aside by a repair:
      again
    ← of w, set aside by a repair:
      whose?
""" in shown, shown
    messages = strict(doc("show", "-o", "json", "b.json").out)["turns"][0][
        "entries"][1]["messages"]
    assert messages[1] == {"role": "tool", "contents": [], "setAside": [
        result("x", "again"), result("w", "whose?")]}, messages
    assert "setAside" not in messages[0]
    stats = doc("stats", "b.json").out.decode()
    assert "\nSet aside  2 results that no call waits for\n" in stats, stats
    assert strict(doc("stats", "-o", "json", "b.json").out)["setAside"] == 2
    assert "Set aside" not in doc("stats", "a.json").out.decode()
    # Emptied by the repair, or with something else in the member.
    write("c.json", state(response("c1", message(
        "tool", orphanResults=[7, result("y", None)]), message(
            "tool", orphanResults=[]), message("tool", orphanResults="x"))))
    shown = doc("show", "c.json").out.decode()
    assert """\
  tool
    [unknown content] 7
    ← of y, set aside by a repair:
      (nothing)
  tool
    (no contents)
  tool
    (no contents)
""" in shown, shown
    assert strict(doc("stats", "-o", "json", "c.json").out)["setAside"] == 2


# --- schema --------------------------------------------------------------

@tests.test("schema: prints the files of the tree, byte for byte")
def _():
    for name in ("strict", "tolerant"):
        path = os.path.join(ROOT, "schemas",
                            "durable-agent-state.%s.json" % name)
        for args in ([], ["-o", "raw"], ["-o", "json"]):
            got = perdure("schema", name, *args)
            assert (got.status, got.err) == (0, b"") and \
                got.out == read(path), (name, args)
        line = perdure("schema", name, "-o", "jsonl").out
        assert line.count(b"\n") == 1 and strict(line) == strict(read(path))
    listed = perdure("schema").out.decode().splitlines()
    assert [line.split()[0] for line in listed] == ["strict", "tolerant"]
    found = strict(perdure("schema", "-o", "json").out)["schemas"]
    assert [(s["name"], s["bytes"]) for s in found] == [
        (name, len(perdure("schema", name).out))
        for name in ("strict", "tolerant")]
    lines = perdure("schema", "-o", "jsonl").out.splitlines()
    assert [strict(line) for line in lines] == found


# --- the example ---------------------------------------------------------

@tests.test("example turn: adds a turn and leaves every other byte alone")
def _():
    if TURN is None:
        return
    before = read(SAMPLE)
    expect(run([TURN, SAMPLE, "new.json", "2026-05-07T05:30:00Z"]), 0)
    after = read("new.json")
    assert after.count(b'"2026-05-21T05:30:00Z"') == 1
    was, is_ = (re.sub(rb'("expirationTimeUtc": )"[^"]*"', rb"\1", data)
                for data in (before, after))
    same = len(os.path.commonprefix([was, is_]))
    end = len(os.path.commonprefix([was[::-1], is_[::-1]]))
    assert same + end >= len(was), (same, end, len(was))
    got = doc("diff", SAMPLE, "new.json").out.decode()
    assert got == """\
~ /data/expirationTimeUtc  "2026-05-20T17:40:02.3Z" -> "2026-05-21T05:30:00Z"
+ request example-2, added entry 9  "How moist is bed 3?"
+ response example-2, added entry 10
""", got
    write("null.json", "null")
    expect(run([TURN, "null.json", "first.json", "2026-05-07T05:30:00Z"]), 0)
    expect(doc("check", "--strict", "first.json"), 0, "first.json: sound\n")
    for reader in ("dotnet", "python"):
        assert doc("check", "--for", reader, "first.json").status == 0
    shown = doc("show", "first.json").out.decode()
    assert '    → read_sensors {"bed": 3}\n    ← {"moisture": 0.310}\n' in \
        shown, shown
    assert run([TURN]).status == 2
    assert run([TURN, SAMPLE, "x", "soon"]).status == 6
    assert run([TURN, "none.json", "x", AT]).status == 3
    write("bad.json", "{}")
    bad = run([TURN, "bad.json", "x", AT])
    assert bad.status == 6 and b"schema_version_missing" in bad.err, bad
    assert run([TURN, SAMPLE, "no/folder/x", AT]).status == 9
    assert not os.path.exists("x")


# --- hostile documents ---------------------------------------------------

EVIL = ("\x1b]0;owned\x07 \x1b[31m \x9b2J \u202e abc \u2066 \x7f \x00 \r "
        "\u2028 " + INVISIBLE + " end")


def poisoned():
    """Every string that can be shown, with control characters."""
    return state(
        request(EVIL, message(EVIL, text(EVIL), authorName=EVIL),
                orchestrationId=EVIL, responseType=EVIL),
        response(EVIL,
                 message("assistant", call(EVIL, EVIL, {EVIL: EVIL}),
                         {"$type": "data", "uri": EVIL, "mediaType": EVIL},
                         {"$type": "error", "message": EVIL, "errorCode": EVIL,
                          "details": EVIL},
                         {"$type": "hostedFile", "fileId": EVIL},
                         {"$type": "reasoning", "text": EVIL},
                         {"$type": EVIL, EVIL: EVIL},
                         {"$type": "unknown", "content": {
                             "$type": "toolApprovalRequest", "toolCall":
                             call("q", EVIL), "requestId": EVIL}}),
                 message("tool", result(EVIL, EVIL), result(EVIL + "x", EVIL)),
                 usage={EVIL: 7, "inputTokenCount": 3}),
        {"$type": EVIL, "correlationId": EVIL, EVIL: EVIL},
        root={EVIL: EVIL})


@tests.test("hostile: no control character of a document reaches the terminal")
def _():
    write(EVIL.replace("\x00", "").replace("/", "") + ".json", poisoned())
    name = os.listdir()[0]
    write("clean.json", small())
    for args in (["show", name], ["show", "--full", name], ["stats", name],
                 ["check", name], ["check", "--for=dotnet", name],
                 ["check", "--for=python", name], ["diff", name, "clean.json"],
                 ["diff", "clean.json", name], ["repair", "-n", name],
                 ["repair", "-n", "--for=python", name],
                 ["migrate", "-n", "--to=1.0.0", name],
                 ["migrate", "-nf", "--to=1.0.0", name]):
        for extra in ([], ["-o", "json"], ["-o", "jsonl"]):
            got = on_terminal(*args, *extra, "--color=never")
            seen = (got.out + got.err).decode()
            bad = re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e"
                             "\u2066-\u2069\u2028%s]" % INVISIBLE, seen)
            assert not bad, (args, extra, bad, seen)
            assert got.status in (0, 1, 6), (args, got)
    for extra in ("json", "jsonl"):  # and nothing gets lost for programs
        lines = doc("show", "-o", extra, name).out.decode()
        assert json.dumps(EVIL)[1:20] in lines or "\\u001b]0;owned" in lines


def variants(value, path=()):
    """The document with each member and element replaced, one at a time."""
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in parts:
        yield path + (key,)
        if isinstance(part, (dict, list)):
            yield from variants(part, path + (key,))


@tests.test("hostile: another JSON kind at every place is taken or refused")
def _():
    base = strict(read(SAMPLE))
    places = list(variants(base))
    assert len(places) > 100
    wrong = [None, 7, "x", [], {}, [None], {"$type": 7}]
    for number, place in enumerate(places):
        odd = copy.deepcopy(base)
        holder = odd
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = wrong[number % len(wrong)]
        write("a.json", odd)
        for args in (["show", "-o", "jsonl"], ["stats", "-o", "json"]):
            got = doc(*args, "a.json")
            assert got.status in (0, 6, 7, 8), (place, args, got)
            for line in got.out.splitlines():
                strict(line)
            assert bool(got.err) == (got.status != 0), (place, got)
        if number % 4 == 0:
            for args in (["show"], ["stats"], ["check"], ["diff", SAMPLE],
                         ["check", "--for=dotnet"], ["check", "--for=python"],
                         ["repair", "-n"], ["migrate", "-n", "--to=1.0.0"]):
                got = doc(*args, "a.json")
                assert got.status in (0, 1, 6, 7, 8), (place, args, got)


@tests.test("hostile: cut at any byte, it is a clean refusal")
def _():
    whole = read(SAMPLE)
    for at in range(0, len(whole) - 2, 397):
        write("a.json", whole[:at])
        for args in calls("a.json"):
            got = doc(*args)
            assert got.status == 6, (at, args, got)
            assert got.out or got.err
        assert os.listdir() == ["a.json"]


@tests.test("hostile: ten thousand of everything is shown and compared")
def _():
    many = 10000
    entries = [request("same", message("user", text("?")))
               for _ in range(many)]
    entries += [response("same", message("assistant")) for _ in range(many)]
    entries += [response("r%d" % i) for i in range(many)]
    entries.append(response("calls", message(
        "assistant", *(call("c", "tool%d" % i) for i in range(many)),
        *(result("c", i) for i in range(many)))))
    write("a.json", state(*entries))
    for args in (["show", "a.json"], ["show", "-o", "json", "a.json"],
                 ["stats", "a.json"], ["diff", "a.json", "a.json"],
                 ["show", "--last=1", "a.json"]):
        assert doc(*args).status == 0, args
    write("b.json", state(*reversed(entries)))
    assert doc("diff", "-e", "a.json", "b.json").status == 1


@tests.test("hostile: a text of many megabytes is shown to its end")
def _():
    write("a.json", state(*turn("c1", "word " * 2000000, "x" * 5000000)))
    got = doc("show", "a.json")
    assert got.status == 0 and got.out.count(b"word") == 2000000
    assert max(map(len, got.out.splitlines()[1:])) <= 240  # bytes of dashes
    got = doc("stats", "a.json")
    assert b"10.0 MB" in got.out, got.out[-300:]


@tests.test("hostile: 128 levels are shown, more are refused")
def _():
    deep = "[" * 120 + "]" * 120
    head = ('{"schemaVersion":"1.1.0","data":{"conversationHistory":[{"$type":'
            '"response","messages":[{"role":"a","contents":[{"$type":"odd",'
            '"x":')
    write("a.json", head + deep + "}]}]}]}}")
    for args in (["show"], ["show", "-o", "json"], ["stats", "-o", "json"],
                 ["diff", SAMPLE], ["check"], ["check", "--for=dotnet"]):
        assert doc(*args, "a.json").status in (0, 1), args
    write("a.json", head + "[" + deep + "]}]}]}]}}")
    assert doc("show", "a.json").status == 6
    deeper = doc("show", "--max-depth=1024", "-o", "json", "a.json")
    assert deeper.status == 0, deeper


@tests.test("SIGINT: ends every verb with 130 and leaves nothing")
def _():
    for args in (["show", "-"], ["repair", "-", "out.json"]):
        process = subprocess.Popen(
            [PERDURE, "doc", *args], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        process.stdin.write(b"{")
        process.stdin.flush()
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert (process.returncode, out, err) == (130, b"", b""), args
    assert os.listdir() == []


tests.finish()
