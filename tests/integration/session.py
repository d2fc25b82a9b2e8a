"""perdure session as a user meets it. Usage: session.py PERDURE"""
import fcntl
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import termios
import threading
import time

from harness import (Tests, environment, is_sanitized, record, run,
                     run_on_terminal)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PERDURE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1
                          else os.environ["PERDURE_BIN"])
SAMPLE = os.path.join(ROOT, "examples", "tour", "sessions.json")
STATE = os.path.join(ROOT, "examples", "tour", "conversation.json")
DATA = os.path.join(ROOT, "tests", "data")
NET = os.path.join(DATA, "dotnet", "sessions")
PY = os.path.join(DATA, "python", "sessions")
VERBS = ["list", "show", "log", "tail", "bag", "convert", "export", "import",
         "delete", "trim", "verify"]
BAG_VERBS = ["keys", "get", "set", "rm"]
SANITIZED = is_sanitized(PERDURE)
# What the Python edition keeps in a folder under the key "a".
STORED = ('{"type":"session","session_id":"a","service_session_id":null,'
          '"state":%s,"version":"1.0"}')
tests = Tests("session")


def perdure(*args, **kwargs):
    return run([PERDURE, *args], **kwargs)


def session(*args, **kwargs):
    return perdure("session", *args, **kwargs)


def on_terminal(*args, columns=80, **kwargs):
    return run_on_terminal([PERDURE, "session", *args],
                           env={"PERDURE_PAGER": ""}, columns=columns,
                           **kwargs)


def write(name, value):
    if not isinstance(value, (str, bytes)):
        value = json.dumps(value, ensure_ascii=False)
    with open(name, "wb") as file:
        file.write(value.encode("utf-8", "surrogatepass")
                   if isinstance(value, str) else value)
    return name


def read(*parts):
    with open(os.path.join(*parts), "rb") as file:
        return file.read()


def expect(result, status, out="", err=""):
    """Whole output, compared as text."""
    want = (status, out.encode(), err.encode())
    got = (result.status, result.out, result.err)
    assert want == got, "\nexpected %r\ngot      %r" % (want, got)


def good(result):
    assert result.status == 0, result
    return result.out


def strict(text):
    def refuse(token):
        raise ValueError(token)
    return json.loads(text, parse_constant=refuse)


def problem(*args, status, **kwargs):
    """The error of a call as an object."""
    got = session(*args, "-o", "json", **kwargs)
    assert (got.status, got.out) == (status, b""), got
    return strict(got.err)


def sample():
    shutil.copy(SAMPLE, "sessions.json")
    return "sessions.json"


def folder(name="store-json"):
    shutil.copytree(os.path.join(PY, name), "desk")
    return "desk"


def files(path="desk"):
    """The sessions of a folder: name to bytes, without the lock."""
    return {name: read(path, name) for name in sorted(os.listdir(path))
            if name != ".perdure.lock"}


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def rows(*args):
    return [strict(line) for line in
            good(session("list", *args, "-o", "jsonl")).splitlines()]


def convert(name, *more):
    assert perdure("convert", "-q", *more, "sessions.json", name).status == 0
    return name


def msgpack(text, *more):
    """MessagePack of JSON Lines, as `perdure convert` writes it."""
    return good(perdure("convert", "-q", "--from", "jsonl", "--to", "msgpack",
                        *more, "-", "-", stdin=text.encode()))


NATIVE = ('{"perdure":{"version":"1.0.0","kind":"client","id":"n"},'
          '"conversationId":"c","stateBag":%s}')
DOTNET = '{"conversationId":"c","stateBag":%s}'
# What MessagePack cannot hold without extensions: reason, place in the value.
UNHELD = [("1E400", "number_range", ""),
          ("[0,18446744073709551616]", "number_range", "/1"),
          ("0.1000000000000000000001", "inexact_number", ""),
          ('{"t":"\\ud800"}', "lone_surrogate", "/t"),
          ('{"d":1,"\\u0064":2}', "duplicate_name", "/d")]


# --- verbs ---------------------------------------------------------------

def commands():
    return ([["session"], ["session", "bag"]]
            + [["session", verb] for verb in VERBS if verb != "bag"]
            + [["session", "bag", verb] for verb in BAG_VERBS])


@tests.test("session: help, tables and usage know the verbs")
def _():
    tables = {table["name"]: table for table in
              strict(perdure("help", "-o", "json").out)["commands"]}
    assert tables["session"]["verbs"] == VERBS
    assert tables["session bag"]["verbs"] == BAG_VERBS
    for words in commands():
        text = perdure(*words, "--help").out
        assert text == perdure("help", *words).out, words
        assert text.startswith(b"perdure %s - " % " ".join(words).encode())
        assert ("perdure-%s(1)" % "-".join(words)).encode() in text
        assert max(map(len, text.decode().splitlines())) <= 80, text
        assert " ".join(words) in tables
    bad = perdure("help", "session", "bag", "gte")
    expect(bad, 2, "", "perdure: session bag gte: no such command\n"
           "hint: did you mean 'perdure session bag get'?\n")
    bad = perdure("help", "session", "list", "x")
    expect(bad, 2, "", "perdure: session list: it has no verbs\n"
           "hint: 'perdure help --help' shows what it takes\n")


@tests.test("session: the synopsis of each page is the usage of the verb")
def _():
    for words in commands():
        page = read(ROOT, "docs", "man",
                    "perdure-%s.1.md" % "-".join(words)).decode()
        synopsis = page.split("## SYNOPSIS\n\n")[1].split("\n\n")[0]
        usage = strict(perdure(*words, "--help", "-o", "json").out)["usage"]
        assert usage == synopsis.replace("*", "").replace("\n", " "), words


@tests.test("session: every mistake gives 2, a line and a hint")
def _():
    sample()
    os.mkdir("desk")
    several = "there can be several sessions: write ID KEY [POINTER]"
    general = "'perdure session %s --help' shows what it takes"
    place = "name a place: --store URI, --file FILE or --folder DIR"
    missing = "--store, --file or --folder: one of them is missing"
    rows_ = [
        (["list"], missing, place),
        (["show", "nothing"], missing, place),
        (["show", "sessions.json"], missing, "write --file sessions.json"),
        (["show", "desk"], missing, "write --folder desk"),
        (["list", "--file", "sessions.json", "--folder", "desk"],
         "--file and --folder: only one of them can be given",
         general % "list"),
        (["list", "--file", "sessions.json", "--format", "json"],
         "--format: is for folders", "--from is the format of a file"),
        (["list", "--folder", "desk", "--from", "json"],
         "--from: is for files", "--format is the format of a folder"),
        (["list", "--folder", "desk", "--format", "xml"],
         "--format: 'xml' is not offered", "choose one of json, msgpack"),
        (["list", "x", "--folder", "desk"], "x: one argument too many",
         general % "list"),
        (["list", "sessions.json"], "sessions.json: one argument too many",
         "write --file sessions.json"),
        (["list", "desk"], "desk: one argument too many",
         "write --folder desk"),
        (["list", "nothing"], "nothing: one argument too many",
         general % "list"),
        (["show", "--folder", "desk"], "ID: an argument is missing",
         "a session of a folder is named by its key"),
        (["bag", "get", "--file", "sessions.json"],
         "ID: an argument is missing", several),
        (["bag", "get", "--file", "sessions.json", "Ines"],
         "KEY: an argument is missing", several),
        (["bag", "set", "--folder", "desk", "k", "1"],
         "KEY: an argument is missing", several + " VALUE"),
        (["bag", "set", "--file", "-", "k", "1"],
         "-: can be read, not changed",
         "name a file; --file - is for reading"),
        (["bag", "rm", "--file", "/dev/null", "k"],
         "/dev/null: can be read, not changed",
         "name a file; --file - is for reading"),
        (["bag", "set", "--expect", "12", "--file", "sessions.json", "Ines",
          "k", "1"], "--expect: a generation has 64 hex digits",
         "'perdure session bag get --generation' prints it"),
        (["convert", "sessions.json", "b.json"],
         "--shape: the shape is missing",
         "'perdure convert' changes the format alone"),
        (["convert", "--shape", "rust", "sessions.json", "b.json"],
         "--shape: 'rust' is not offered",
         "choose one of native, dotnet, python, python-1.21, state"),
        (["convert", "--shape", "native", "sessions.json", "./sessions.json"],
         "./sessions.json: is the very file that is read",
         "name a new file; the old one stays as it was"),
        (["export", "--folder", "desk", "out"],
         "out: its name tells no format",
         "choose one with --to: json, jsonl, msgpack, records or xml"),
        (["export", "--file", "sessions.json", "--yes", "sessions.json"],
         "sessions.json: is the very file that is read",
         "name a new file; the old one stays as it was"),
        (["import", "sessions.json"],
         "--store or --folder: one of them is missing",
         "write --store URI or --folder DIR; it is made if it is not there"),
    ]
    for args, line, hint in rows_:
        expect(session(*args), 2, "", "perdure: %s\nhint: %s\n" % (line, hint))
        assert problem(*args, status=2)["detail"] == line, args
    assert read("sessions.json") == read(SAMPLE)
    assert os.listdir("desk") == []


def calls(name, out):
    """One call of each verb that reads a file."""
    return [["list", "--file", name], ["show", "--file", name],
            ["bag", "keys", "--file", name],
            ["bag", "get", "--file", name, "k"],
            ["bag", "set", "--file", name, "k", "1"],
            ["bag", "rm", "--file", name, "k"],
            ["convert", "--shape", "native", name, out],
            ["export", "--file", name, out],
            ["import", name, "--folder", "new"]]


@tests.test("session: what is no session is refused with what it looks like")
def _():
    table = [
        (read(STATE), "a durable state document", "'perdure doc show'"),
        (read(NET, "response.json"), "an agent response", "messages alone"),
        (read(NET, "continuation-token-decoded.json"), "continuation token",
         "the program that made it"),
        (read(NET, "state-bag-null-values.json"), "state bag",
         "member stateBag or session_id"),
        (b"7", "a number", "member stateBag or session_id"),
    ]
    for source, looks, hint in table:
        write("a.json", source)
        for args in calls("a.json", "o.json"):
            got = problem(*args, status=6)
            assert looks in got["detail"], (args, got)
            assert hint in got["hint"], (args, got)
        assert os.listdir() == ["a.json"] and read("a.json") == source


@tests.test("session: what cannot be read is a failure like everywhere")
def _():
    write("cut.json", '{"session_id":"a","state":{"k"')
    os.mkdir("folder")
    for args in calls("none.json", "o.json"):
        got = session(*args)
        assert got.status == 3 and got.out == b"", (args, got)
        assert got.err.startswith(b"perdure: none.json: No such file"), got
    for args in calls("folder", "o.json"):
        if args[1] in ("set", "rm"):
            assert session(*args).status == 2, args
        else:
            assert session(*args).status == 9, args
    for args in calls("cut.json", "o.json"):
        got = problem(*args, status=6)
        assert got["reason"] == "unexpected_end", (args, got)
        assert got["line"] == 1 and got["pointer"].startswith("/state"), got
    for args in (["list"], ["show", "k"], ["bag", "keys", "k"],
                 ["bag", "set", "k", "k", "1"], ["export", "o.json"]):
        got = problem(*args, "--folder", "none", status=3)
        assert got["reason"] == "no_folder", (args, got)
        got = problem(*args, "--folder", "cut.json", status=3)
        assert got["reason"] == "no_folder", (args, got)
    assert sorted(os.listdir()) == ["cut.json", "folder"]


# --- list ----------------------------------------------------------------

TABLE = """\
PLACE  ID                KIND    SHAPE   SERVICE ID  MSGS  SLOTS  BYTES
/0     tomato-house      python  python                 2      3    731
/1     Ines              python  python  conv_81        -      1    145
/2     telegram:123:456  python  python                 -      0    114
3 sessions, 990 bytes
"""


@tests.test("list: a table, objects and documents")
def _():
    sample()
    expect(session("list", "--file", "sessions.json"), 0, TABLE)
    expect(session("list", "-q", "--file", "sessions.json"), 0,
           TABLE.rsplit("\n", 2)[0] + "\n")
    want = [
        {"entry": "session", "index": 0, "id": "tomato-house",
         "kind": "python", "shape": "python", "messages": 2, "slots": 3,
         "bytes": 731},
        {"entry": "session", "index": 1, "id": "Ines", "kind": "python",
         "shape": "python", "serviceId": "conv_81", "slots": 1, "bytes": 145},
        {"entry": "session", "index": 2, "id": "telegram:123:456",
         "kind": "python", "shape": "python", "slots": 0, "bytes": 114}]
    assert rows("--file", "sessions.json") == want
    whole = strict(good(session("list", "--file", "sessions.json", "-o",
                                "json")))
    assert whole == {"file": "sessions.json", "entries": want, "sessions": 3,
                     "bytes": 990}
    raw = good(session("list", "--file", "sessions.json", "-o", "raw"))
    for part in (b'"quota": 12.50}', b'"litres": 36.0', b'\n  }\n'):
        assert part in raw
    expect(session("list", "--file", "-", "--from", "json", stdin=b"[]"), 0,
           "0 sessions, 0 bytes\n")
    assert strict(good(session("list", "-o", "json", "--file", "-", "--from",
                               "json", stdin=b"[]"))) == {
        "file": "standard input", "entries": [], "sessions": 0, "bytes": 0}


@tests.test("list: every format and form gives the same sessions")
def _():
    sample()
    want = [(row["id"], row["slots"]) for row in
            rows("--file", "sessions.json")]
    convert("a.msgpack")
    convert("b.xml")
    convert("c.jsonl", "--spread")
    convert("d.msgpack", "--spread")
    convert("e.records", "--spread", "--to", "records")
    all_ = strict(read(SAMPLE))
    write("f.json", {one["session_id"] + "!": one for one in all_})
    write("g.json", [{"session": one} for one in all_])
    for name in "a.msgpack b.xml c.jsonl d.msgpack f.json g.json".split():
        got = rows("--file", name)
        assert [(row["id"], row["slots"]) for row in got] == want, name
        assert [row["index"] for row in got] == [0, 1, 2], name
    got = rows("--file", "e.records", "--from", "records")
    assert [(row["id"], row["slots"]) for row in got] == want
    assert [row["name"] for row in rows("--file", "f.json")] == [
        one["session_id"] + "!" for one in all_]
    piped = session("list", "--file", "-", stdin=read("a.msgpack"))
    assert piped.out.decode().count("python") == 6, piped


@tests.test("list: knows every session of the two editions")
def _():
    odd = re.compile("response|updates-|messages-|token|state-bag|verdicts")
    seen = {"session": 0, "null": 0}
    for place in (NET, PY):
        for name in sorted(os.listdir(place)):
            path = os.path.join(place, name)
            if odd.search(name) or not name.endswith(".json"):
                continue
            for row in rows("--bare-tokens", "--file", path):
                seen[row["entry"]] += 1
                assert row["bytes"] > 1, (name, row)
    assert seen["session"] >= 80, seen


@tests.test("list: nulls and what is no session are told in their lines")
def _():
    write("a.json", [None, {"session_id": "a"}, 7,
                     read_json(NET, "response.json")])
    got = session("list", "--file", "a.json").out.decode().splitlines()
    assert got[1].split() == ["/0", "4", "null"], got
    assert "no session: looks like a single text" in got[3], got
    assert "no session: looks like an agent response" in got[4], got
    assert [row["entry"] for row in rows("--file", "a.json")] == [
        "null", "session", "other", "other"]
    write("b.json", [None, 7, 8])
    assert problem("list", "--file", "b.json",
                   status=6)["reason"] == "session_not_object"
    expect(session("list", "--file", "-", "--from", "json", stdin=b"[null]"),
           0, "PLACE  BYTES  NOTE\n/0         4  null\n0 sessions, 0 bytes\n")


def read_json(*parts):
    return strict(read(*parts))


@tests.test("list: metadata around sessions is counted")
def _():
    write("a.json", {"session": {"session_id": "a"},
                     "additionalProperties": {"owner": "Ines", "n": 1}})
    write("b.json", [{"session": {"session_id": "a"}}, {"session_id": "b"},
                     {"session": {"session_id": "c"},
                      "additionalProperties": {}}])
    assert [row.get("properties") for row in rows("--file", "a.json")] == [2]
    assert [row.get("properties") for row in rows("--file", "b.json")] == [
        None, None, 0]
    assert b"PROPERTIES" in session("list", "--file", "a.json").out


@tests.test("list: what stands before a failure is shown")
def _():
    write("a.jsonl", '{"session_id":"a"}\n{"session_id":"b"}\n{"sess')
    got = session("list", "--file", "a.jsonl")
    assert got.status == 6 and got.out.decode().count("\n/") == 2, got
    assert got.err.startswith(b"perdure: a.jsonl:3:7: "), got


@tests.test("list: a folder with all that can be in it")
def _():
    folder()
    before = files()
    expect(session("list", "--folder", "desk"), 0, """\
KEY               ID           KIND    SERVICE ID                            MSGS  SLOTS  BYTES  NOTE
demo-7                         python                                           -      1    120
guest-ana         other-guest  python                                           -      0     98
Guest-Ana         guest-Ana    python  conv_5a                                  2      1    424
café                           python                                           -      0     92
con.txt                        python                                           -      0     94
telegram:123:456               python  {"context_id": "c", "task_id": null}     -      0    132
?                 long         python                                           -      0     91  no key: ~session-sha256-e42dd264fd5cf1bc947505b995dceb9ae0a2d2a4c99b4ce5ea02f36526819280.json
7 sessions, 1.1 kB
""")
    assert files() == before and ".perdure.lock" not in os.listdir("desk")
    write("desk/~session-Y2Fmw6k.json", before["~session-mnqwnq5j.json"])
    write("desk/Old.json", '{"session_id":"Old","state":{}}')
    write("desk/.x.json.%s.corrupt" % ("a" * 32), '{"a')
    write("desk/.y.json.%s.tmp" % ("b" * 32), "{")
    write("desk/torn.json", '{"session_id')
    before = files()
    got = session("list", "--folder", "desk")
    assert got.status == 9 and got.err == b"", got
    text = got.out.decode()
    for part in ("cannot be read: ", ": torn.json\n",
                 "old name: Old.json\n",
                 "superseded: ~session-Y2Fmw6k.json\n",
                 "quarantined: .x.json.", "leftover: .y.json.",
                 "8 sessions, 1.1 kB, 1 that cannot be read, 1 superseded, "
                 "1 quarantined, 1 left over\n"):
        assert part in text, (part, text)
    assert files() == before  # nothing was put aside
    got = session("list", "--folder", "desk", "-o", "jsonl")
    entries = [strict(line) for line in got.out.splitlines()]
    assert sorted(row["entry"] for row in entries) == (
        ["leftover", "quarantined"] + ["session"] * 9 + ["superseded"])
    old = [row for row in entries if row.get("hasOldName")]
    assert {row["file"] for row in old} == {"Old.json",
                                            "~session-Y2Fmw6k.json"}, old


@tests.test("list: tells the format of a folder by its files")
def _():
    folder("store-msgpack")
    got = rows("--folder", "desk")
    assert len(got) == 7 and all(row["file"].endswith(".msgpack")
                                 for row in got)
    assert rows("--folder", "desk", "--format", "json") == []
    shutil.copy(os.path.join(PY, "store-json", "demo-7.json"), "desk")
    assert [row["file"] for row in rows("--folder", "desk")] == [
        "demo-7.json"]
    assert len(rows("--folder", "desk", "--format", "msgpack")) == 7


@tests.test("list: fits a terminal, and shows no control characters")
def _():
    write("a.json", [{"session_id": "x" * 200, "service_session_id": "y" * 99},
                     {"session_id": "\033[2Jz\n"}])
    got = on_terminal("list", "--file", "a.json", columns=80).out.decode()
    plain = re.sub(r"\033\[[0-9;]*m", "", got)
    assert "\033" not in plain and "\\u001b[2Jz\\n" in plain
    assert all(len(line) <= 80 for line in plain.splitlines()), plain
    assert "…" in plain
    folder()
    write("desk/odd.json", "[]" * 99)
    for where in (["--file", "a.json"], ["--folder", "desk"]):
        got = on_terminal("list", "--color", "never", *where,
                          columns=60).out.decode().splitlines()
        assert all(len(line) <= 60 for line in got), got
        assert "BYTES" in got[0], got
    wide = session("list", "--file", "a.json").out.decode()
    assert "x" * 200 in wide and "\033" not in wide


def peak_kb(process):
    with open("/proc/%d/status" % process.pid) as file:
        text = file.read()
    most, files = (int(re.search(name + r":\s*(\d+) kB", text).group(1))
                   for name in ("VmHWM", "RssFile"))
    return most - files


@tests.test("list: 60 MB of sessions need the memory of one")
def _():
    if SANITIZED:
        raise record.Skip("a sanitizer needs memory of its own")
    one = json.dumps({"session_id": "s", "state": {"k": "x" * 20000}})
    count = 60000000 // len(one)
    for kind, begin, gap, end in (("json", "[", ",", "]"),
                                  ("jsonl", "", "\n", "\n")):
        process = subprocess.Popen(
            [PERDURE, "session", "list", "--file", "-", "--from", kind],
            env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        out = []
        reader = threading.Thread(
            target=lambda: out.append(process.stdout.read()))
        reader.start()
        process.stdin.write(begin.encode())
        for i in range(count):
            process.stdin.write((gap if i else "").encode() + one.encode())
        process.stdin.flush()
        peak = peak_kb(process)
        process.stdin.write(end.encode())
        process.stdin.close()
        assert process.wait(timeout=60) == 0
        reader.join()
        process.stdout.close()
        assert out[0].count(b"\n/") == count, kind
        assert peak < 4000, (kind, peak)


@tests.test("list: a reader that goes away ends it without a word")
def _():
    write("a.jsonl", '{"session_id":"a"}\n' * 100000)
    done = subprocess.run("%s session list --file a.jsonl | head -1; "
                          "echo ${PIPESTATUS[0]}" % PERDURE, shell=True,
                          executable="/bin/bash", env=environment(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.stderr == b"" and done.stdout.endswith(b"\n141\n"), done


# --- show ----------------------------------------------------------------

@tests.test("show: ids, history and the bag as a tree")
def _():
    sample()
    expect(session("show", "--file", "sessions.json", "tomato-house"), 0, """\
sessions.json, place /0
id        tomato-house
kind      python
shape     python
service   none
history   2 messages (1 user, 1 assistant)
bag       3 slots, 623 bytes; the session has 731 bytes
├─ in_memory    438 bytes  object, 1 member
│  └─ messages  408 bytes  array, 2 elements
├─ watering      59 bytes  object, 4 members
│  ├─ bed          1 byte  3
│  ├─ litres      4 bytes  36.0
│  ├─ valve       6 bytes  "open"
│  └─ quota       5 bytes  12.50
└─ todo          63 bytes  object, 2 members
   ├─ items      38 bytes  array, 1 element
   └─ next_id      1 byte  2
""")


@tests.test("show: finds a session by id, name and place, in files and folders")
def _():
    sample()
    folder()
    for args in (["/1"], ["Ines"]):
        got = strict(good(session("show", "--file", "sessions.json", *args,
                                  "-o", "json")))
        assert (got["id"], got["index"]) == ("Ines", 1)
    assert got["generation"] == sha256(read("sessions.json"))
    got = strict(good(session("show", "--folder", "desk", "Guest-Ana", "-o",
                              "json")))
    assert (got["key"], got["id"], got["roles"]) == (
        "Guest-Ana", "guest-Ana", {"user": 1, "assistant": 1})
    assert got["generation"] == sha256(
        read("desk", "~session-i52wk43ufvaw4yi.json"))
    got = strict(good(session(
        "show", "-o", "json", "bob", "--file",
        os.path.join(NET, "dictionary-typed.json"))))
    assert (got["index"], got["messages"]) == (1, 1)
    got = problem("show", "--file", "sessions.json", status=6)
    assert got["reason"] == "several_sessions" and "3 sessions" in got["detail"]
    got = problem("show", "--file", "sessions.json", "nobody", status=3)
    assert "session list --file sessions.json" in got["hint"], got
    got = problem("show", "--folder", "desk", "nobody", status=3)
    assert "session list --folder desk" in got["hint"], got


@tests.test("show: says what a kind, an id or a shape means")
def _():
    write("a.json", {"stateBag": {}})
    text = session("show", "--file", "a.json").out.decode()
    assert "kind      unstated: nothing says which" in text
    assert "id        none" in text
    write("a.json", {"conversationId": "_agent_local_chat_history",
                     "stateBag": {}})
    text = session("show", "--file", "a.json").out.decode()
    assert ("service   none: the document has '_agent_local_chat_history', "
            "which stands for") in text, text
    got = strict(session("show", "--file", "a.json", "-o", "json").out)
    assert got["unusedServiceId"] == "_agent_local_chat_history"
    assert "serviceId" not in got
    write("a.json", {"conversationId": " ", "stateBag": {}})
    assert b"which is no id" in session("show", "--file", "a.json").out
    write("a.json", {"conversationId": "c", "storeState": {"messages": []}})
    text = session("show", "--file", "a.json").out.decode()
    assert "shape     dotnet-thread: from before sessions had a bag" in text
    write("a.json", {"sessionId": "@dafx-shop@k@1", "stateBag": {}})
    text = session("show", "--file", "a.json", "@dafx-shop@k@1").out.decode()
    assert "id        @dafx-shop@k@1\nkind      durable" in text
    write("a.json", {"session_id": "a", "state": {"in_memory": {
        "messages": 7}}})
    assert b"history   none that can be read" in session(
        "show", "--file", "a.json").out
    write("a.json", {"session": {"session_id": "a"},
                     "additionalProperties": {"owner": "Ines"}})
    text = session("show", "--file", "a.json").out.decode()
    assert 'metadata  {"owner": "Ines"}' in text
    got = strict(session("show", "--file", "a.json", "-o", "json").out)
    assert got["properties"] == {"owner": "Ines"}


@tests.test("show: levels, long lists and long values are cut, or full")
def _():
    write("a.json", {"session_id": "a", "state": {
        "list": list(range(50)), "deep": {"a": {"b": {"c": "x" * 300}}},
        "": None}})
    text = session("show", "--file", "a.json").out.decode()
    assert "(40 more; --full shows them)" in text and "xxx" not in text
    assert "└─ \"\"" in text
    text = session("show", "--file", "a.json", "--depth", "4").out.decode()
    assert "…" in text and max(map(len, text.splitlines())) <= 80
    text = session("show", "-f", "--file", "a.json").out.decode()
    assert "x" * 300 in text and "more" not in text
    one = strict(session("show", "--depth", "1", "-o", "json", "--file",
                         "a.json").out)["bag"]
    assert [slot["key"] for slot in one] == ["list", "deep", ""]
    assert one[0]["count"] == 50 and "parts" not in one[0]
    full = strict(session("show", "-f", "-o", "json", "--file",
                          "a.json").out)["bag"]
    assert full[1]["parts"][0]["parts"][0]["parts"][0] == {
        "key": "c", "kind": "string", "bytes": 302}
    many = {"session_id": "m", "state": {"k%d" % i: i for i in range(300)}}
    write("m.json", many)
    text = session("show", "--file", "m.json").out.decode()
    assert "(200 more; --full shows them)" in text
    ascii_ = session("show", "--file", "a.json", env={"LC_ALL": "C"}).out
    assert b"|- list" in ascii_ and b"`- " in ascii_


@tests.test("show: raw is the document itself")
def _():
    path = os.path.join(NET, "session-two-turns-indented.json")
    got = good(session("show", "-o", "raw", "--file", path))
    assert got == read(path) + b"\n"
    sample()
    got = good(session("show", "-o", "raw", "--file", "sessions.json", "Ines"))
    assert got.rstrip(b"\n") in read("sessions.json")
    convert("a.msgpack")
    got = good(session("show", "-o", "raw", "--file", "a.msgpack", "/2"))
    assert got == (b'{"type":"session","session_id":"telegram:123:456",'
                   b'"service_session_id":null,"state":{}}\n')


@tests.test("show: a narrow terminal, colours and a pager")
def _():
    sample()
    got = on_terminal("show", "--file", "sessions.json", "/0", columns=50)
    plain = re.sub(r"\033\[[0-9;]*m", "", got.out.decode())
    assert max(map(len, plain.splitlines())) <= 50, plain
    assert b"\033[" in got.out and got.status == 0
    write("long.json", {"session_id": "a", "state": {
        "k" * 99: {"l" * 99: {"m" * 99: "x" * 99}}}})
    got = on_terminal("show", "--color", "never", "--file", "long.json",
                      columns=60).out.decode().splitlines()
    assert max(map(len, got)) <= 60 and "kkkk…" in "".join(got), got
    paged = run_on_terminal(
        [PERDURE, "session", "show", "--file", "sessions.json", "/0"],
        env={"PERDURE_PAGER": "sed s/^/P:/"})
    assert paged.out.startswith(b"P:"), paged
    direct = run_on_terminal(
        [PERDURE, "session", "show", "--no-pager", "--file", "sessions.json",
         "/0"], env={"PERDURE_PAGER": "sed s/^/P:/"})
    assert b"P:" not in direct.out


def torn_folder():
    """A folder with a damaged file, under the key "torn"."""
    folder()
    write("desk/torn.json", '{"session_id": "torn"')
    return sorted(os.listdir("desk"))


def hinted(result):
    """Run the command of a hint; gives its status."""
    command = re.search(r"'(perdure [^']*)'", result["hint"]).group(1)
    return run(["sh", "-c", command.replace("perdure", PERDURE, 1)]).status


@tests.test("folder: reading never moves a damaged file")
def _():
    before = torn_folder()
    one = write("one.json", {"session_id": "torn", "state": {}})
    for args in (["show", "torn"], ["bag", "keys", "torn"],
                 ["bag", "get", "torn", "k"], ["bag", "rm", "-n", "torn", "k"],
                 ["bag", "set", "-n", "torn", "k", "1"],
                 ["import", "-n", "--yes", one]):
        got = problem(*args, "--folder", "desk", status=9)
        assert got["reason"] == "damaged" and got["offset"] == 21, got
        assert "'torn.json' is damaged: " in got["detail"], got
        assert hinted(got) == 9, got  # a list that tells of it
        assert sorted(os.listdir("desk")) == before, args
    assert session("list", "--folder", "desk").status == 9
    session("export", "--folder", "desk", "all.json")
    assert sorted(os.listdir("desk")) == before
    assert read("desk/torn.json") == b'{"session_id": "torn"'


@tests.test("folder: a change sets a damaged file aside, and says so")
def _():
    one = write("one.json", {"session_id": "torn", "state": {}})
    for args in (["bag", "set", "torn", "k", "1"], ["bag", "rm", "torn", "k"],
                 ["import", one], ["import", "--yes", one]):
        torn_folder()
        got = problem(*args, "--folder", "desk", status=9)
        kept = [name for name in os.listdir("desk")
                if name.endswith(".corrupt")]
        assert got["reason"] == "quarantined" and got["offset"] == 21, got
        assert len(kept) == 1 and kept[0] in got["detail"], got
        assert read("desk", kept[0]) == b'{"session_id": "torn"'
        assert hinted(got) == 0, got
        assert problem("show", "--folder", "desk", "torn",
                       status=3)["reason"] == "no_session"
        assert rows("--folder", "desk")[0]["entry"] == "quarantined"
        good(session("import", one, "--folder", "desk"))
        shutil.rmtree("desk")


@tests.test("show: tells what reading a file of a folder found")
def _():
    os.mkdir("desk")
    write("desk/a.json", STORED % '{"n":NaN}')
    got = session("show", "--folder", "desk", "a")
    assert got.status == 0 and b"[bare-token]" in got.err, got
    got = json.loads(session("show", "--folder", "desk", "a", "-o",
                             "json").out)
    assert got["findings"][0]["rule"] == "bare-token", got


# --- bag: looking --------------------------------------------------------

@tests.test("bag keys: in order, with kinds and sizes")
def _():
    sample()
    expect(session("bag", "keys", "--file", "sessions.json", "/0"), 0, """\
KEY        KIND    PARTS  BYTES
in_memory  object      1    438
watering   object      4     59
todo       object      2     63
""")
    expect(session("bag", "keys", "-o", "raw", "--file", "sessions.json",
                   "/0"), 0, "in_memory\nwatering\ntodo\n")
    got = strict(session("bag", "keys", "-o", "json", "--file",
                         "sessions.json", "Ines").out)
    assert got == {"file": "sessions.json", "index": 1, "session": "Ines",
                   "generation": sha256(read("sessions.json")),
                   "slots": [{"key": "agent_mode", "kind": "object",
                              "bytes": 24, "count": 1}]}
    expect(session("bag", "keys", "--file", "sessions.json", "/2"), 0,
           "no slots\n")


@tests.test("bag get: values as they are stored, in every output")
def _():
    sample()
    get = ["bag", "get", "--file", "sessions.json", "tomato-house"]
    expect(session(*get, "watering"), 0, """\
{
  "bed": 3,
  "litres": 36.0,
  "valve": "open",
  "quota": 12.50
}
""")
    expect(session(*get, "watering", "-o", "raw"), 0,
           '{"bed": 3, "litres": 36.0, "valve": "open", "quota": 12.50}')
    expect(session(*get, "watering", "/quota"), 0, "12.50\n")
    expect(session(*get, "watering", "/valve"), 0, '"open"\n')
    expect(session(*get, "watering", "/valve", "--text"), 0, "open\n")
    expect(session(*get, "watering", "/valve", "--text", "-o", "raw"), 0,
           "open")
    generation = sha256(read("sessions.json"))
    expect(session(*get, "watering", "/bed", "--generation"), 0,
           generation + "\n3\n")
    got = session(*get, "watering", "/quota", "-o", "json").out
    assert got == (b'{"file":"sessions.json","index":0,"session":'
                   b'"tomato-house","generation":"%s","key":"watering",'
                   b'"pointer":"/quota","value":12.50}\n'
                   % generation.encode()), got
    bad = session(*get, "watering", "/bed", "--text")
    assert bad.status == 6 and b"without --text" in bad.err, bad
    assert problem(*get, "nope", status=3)["reason"] == "no_slot"
    got = problem(*get, "watering", "/nope", status=3)
    assert (got["reason"], got["pointer"]) == ("no_member",
                                               "/watering/nope")
    got = problem(*get, "watering", "/bed/0", status=3)
    assert got["reason"] == "no_member"
    assert problem(*get, "watering", "/a~2", status=6)["reason"] == (
        "bad_pointer")


@tests.test("bag: a wrong argument is not said of the file")
def _():
    write("a.json", '{"session_id":"a","state":{"d":{"n":1}}}')
    place = ["--file", "a.json"]
    good(session("import", "-q", "a.json", "--folder", "desk", "--format",
                 "msgpack"))
    folder_ = ["--folder", "desk", "a", "d"]
    rows_ = [
        (["get", *place, "a", "d", "n"], 6,
         "POINTER: a pointer is empty or begins with '/'", "write /n"),
        (["set", *place, "d", "/~n", "1"], 6,
         "POINTER: '~' in a pointer is followed by 0 or 1",
         "a '/' in a name is written ~1, a '~' is ~0"),
        (["set", *place, " ", "1"], 6,
         "KEY: a key needs a character that is no white space", None),
        (["set", *place, "k" * 1025, "1"], 6,
         "KEY: a key has at most 1024 bytes, this one has 1025", None),
        (["set", *folder_, "/n"], 6,
         "VALUE:1:1: expected a value, found '/'; JSON has no comments",
         "VALUE stands behind POINTER, and is missing; a text is written in "
         "quotes, or with --text"),
        (["set", "--folder", "desk", "a"], 2, "ID: an argument is missing",
         "there can be several sessions: write ID KEY [POINTER] VALUE"),
        (["get", "--folder", "desk", "a"], 2, "KEY: an argument is missing",
         "there can be several sessions: write ID KEY [POINTER]"),
        (["set", *folder_, '"\\ud800"'], 6,
         "desk: half a surrogate pair, which has no UTF-8 form, at /state/d",
         "the format of the folder has no place for it"),
    ]
    for args, status, text, hint in rows_:
        got = session("bag", *args)
        lines = got.err.decode().splitlines()
        assert got.status == status and got.out == b"", (args, got)
        assert lines[0] == "perdure: " + text, (args, lines)
        assert hint is None or lines[1] == "hint: " + hint, (args, lines)


@tests.test("bag get: keys of any kind, also those that nobody may set")
def _():
    write("a.json", '{"session_id":"a","state":{"":null,"x\\u0000y":1,'
          '"d":1,"d":2}}')
    expect(session("bag", "get", "--file", "a.json", ""), 0, "null\n")
    expect(session("bag", "get", "--file", "a.json", "d"), 0, "2\n")
    assert session("bag", "set", "--file", "a.json", "", "1").status == 6


def nobody():
    """The command, and how to run it, as a user to whom modes apply."""
    if os.geteuid() != 0:
        return PERDURE, {}
    os.mkdir("bin")
    os.chmod(".", 0o755)
    return ("./" + shutil.copy(PERDURE, "bin"),
            {"user": 65534, "group": 65534, "extra_groups": []})


# --- bag: changing -------------------------------------------------------

def changed_part(before, after):
    """What stands between what both have in front and at the end."""
    front = 0
    while (front < min(len(before), len(after))
           and before[front] == after[front]):
        front += 1
    back = 0
    while (back < min(len(before), len(after)) - front
           and before[-1 - back] == after[-1 - back]):
        back += 1
    return before[front:len(before) - back], after[front:len(after) - back]


def set_one(path, *args):
    return session("bag", "set", "--bare-tokens", "--file", path, *args)


@tests.test("bag set: every other byte of every document stays")
def _():
    seen = 0
    for place in (NET, PY):
        for name in sorted(os.listdir(place)):
            if not name.startswith(("session-", "list-", "dictionary")):
                continue
            if not name.endswith(".json"):
                continue
            before = read(place, name)
            write("a.json", before)
            for row in rows("--bare-tokens", "--file", "a.json"):
                at = "/%d" % row["index"]
                slots = json.loads(session(
                    "bag", "keys", "--bare-tokens", "-o", "json", "--file",
                    "a.json", at).out)["slots"]
                keys = [slot["key"] for slot in slots if slot["key"].strip()]
                if not keys:
                    continue
                raw = session("bag", "get", "--bare-tokens", "--file",
                              "a.json", "-o", "raw", at, keys[-1]).out
                good(set_one("a.json", at, keys[-1], "4711"))
                old, new = changed_part(before, read("a.json"))
                assert old in raw and new in b"4711", (name, old, new)
                assert (read("a.json").count(b"4711")
                        == before.count(b"4711") + 1), name
                good(set_one("a.json", at, keys[-1], raw.decode()))
                assert read("a.json") == before, name
                seen += 1
    assert seen >= 60, seen


@tests.test("bag set: one value by pointer, told as a difference")
def _():
    sample()
    before = read("sessions.json")
    got = session("bag", "set", "--file", "sessions.json", "tomato-house",
                  "watering", "/valve", '"closed"')
    after = read("sessions.json")
    assert after == before.replace(b'"open"', b'"closed"')
    expect(got, 0, '~ /watering/valve  "open" -> "closed"\n'
           "sessions.json, session 'tomato-house': written\n"
           "generation %s\n" % sha256(after))
    expect(session("bag", "set", "-q", "--text", "--file", "sessions.json",
                   "tomato-house", "watering", "/valve", "half"), 0,
           '~ /watering/valve  "closed" -> "half"\n')
    expect(session("bag", "set", "--file", "sessions.json", "tomato-house",
                   "watering", "/valve", '"half"'), 0,
           "sessions.json, session 'tomato-house': nothing to change\n")
    expect(session("bag", "set", "-q", "--file", "sessions.json",
                   "tomato-house", "todo", "/items/-", '{"id":2}'), 0,
           '+ /todo/items/1  {"id":2}\n')
    expect(session("bag", "set", "-q", "--file", "sessions.json", "/2",
                   "new", "-", stdin=b' [1, 2.50] '), 0,
           "+ /new  [1,2.50]\n")
    expect(session("bag", "rm", "-q", "--file", "sessions.json", "/2",
                   "new", "/0"), 0, "- /new/0  1\n")
    expect(session("bag", "rm", "-q", "--file", "sessions.json", "/2",
                   "new"), 0, "- /new  [2.50]\n")
    got = strict(session("bag", "set", "-o", "json", "--file",
                         "sessions.json", "Ines", "agent_mode",
                         "/current_mode", '"execute"').out)
    assert got == {"file": "sessions.json", "index": 1, "session": "Ines",
                   "generation": sha256(read("sessions.json")),
                   "key": "agent_mode", "pointer": "/current_mode",
                   "changed": True, "dryRun": False, "before": "plan",
                   "after": "execute"}
    diff = perdure("diff", SAMPLE, "sessions.json").out.decode()
    assert diff == """\
~ /0/state/watering/valve  "open" -> "half"
+ /0/state/todo/items/1  {"id":2}
~ /1/state/agent_mode/current_mode  "plan" -> "execute"
""", diff


@tests.test("bag: every message names the session, and the way to it")
def _():
    folder()
    write("a.json", [{"stateBag": {"-": {"l": []}}}, {"session_id": "b"}])
    write("one.json", {"stateBag": {}})
    rows_ = [(["--file", "a.json", "/0", "-", "/l/-", "1"],
              "+ /-/l/0  1\na.json, session /0: "),
             (["--file", "a.json", "/0", "-", "/-", "1"],
              "+ /-/-  1\na.json, session /0: "),
             (["--file", "one.json", "k", "1"], "+ /k  1\none.json: "),
             (["--folder", "desk", "demo-7", "k", "1"],
              "+ /k  1\ndesk, session 'demo-7': ")]
    for args, text in rows_:
        expect(session("bag", "set", "-n", *args), 0,
               text + "a dry run, nothing was written\n")
    got = strict(good(session("bag", "set", "-n", "-o", "json", "--file",
                              "a.json", "/0", "-", "/l/-", "1")))
    assert got["pointer"] == "/l/0", got
    no_slot = "perdure: %s: the bag has no slot 'k'\nhint: " \
              "'perdure session bag keys %s' lists the slots\n"
    for name, way in (("desk", ["--folder", "desk", "demo-7"]),
                      ("a.json", ["--file", "a.json", "b"]),
                      ("one.json", ["--file", "one.json"])):
        for verb in ("get", "rm"):
            expect(session("bag", verb, *way, "k"), 3, "",
                   no_slot % (name, " ".join(way)))
    expect(session("bag", "get", "--file", "a.json", "/0", "-", "/x"), 3, "",
           "perdure: a.json: the object has no such member, at /-/x\n"
           "hint: 'perdure session bag get --file a.json /0 -' shows all of "
           "the slot\n")
    for args in (["list"], ["show", "x"], ["bag", "get", "x", "k"],
                 ["export", "out.json"]):
        expect(session(*args, "--folder", "nope"), 3, "",
               "perdure: nope: there is no such folder\n"
               "hint: check the name of the folder\n")


@tests.test("bag set: a folder that may not be written is named as that")
def _():
    folder()
    before = files()
    command, who = nobody()
    if not who:
        os.chmod("desk", 0o500)
    got = run([command, "session", "bag", "set", "--folder", "desk", "demo-7",
               "k", "1"], **who)
    os.chmod("desk", 0o700)
    # A build for coverage adds lines of its own: this user may not write them.
    assert (got.status, got.out) == (9, b""), got
    assert got.err.startswith(
        b"perdure: desk: cannot open '.perdure.lock': Permission denied\n"
        b"hint: nothing was changed; a change needs a folder that you may "
        b"write\n"), got.err
    assert files() == before


@tests.test("bag set: a long value is cut where it is told, with its size")
def _():
    edge, long = "e" * 198, "x" * 3000000
    write("a.json", {"session_id": "a", "state": {"k": long, "n": 0}})
    put = ["bag", "set", "-q", "--file", "a.json"]
    got = good(session(*put, "-n", "k", "1")).decode()
    cut = '"%s… (3,000,002 bytes)' % ("x" * 180)
    assert got == "~ /k  %s -> 1\n" % cut, got[:300]
    got = good(session(*put, "-n", "-o", "raw", "k", "1")).decode()
    assert got == '~ /k  "%s" -> 1\n' % long
    got = good(session(*put, "n", '"%s"' % edge)).decode()
    assert got == '~ /n  0 -> "%s"\n' % edge, got
    got = good(session("bag", "rm", "-q", "-n", "--file", "a.json", "k"))
    assert got.decode() == "- /k  %s\n" % cut, got[:300]
    for columns in (40, 80, 120):
        got = on_terminal("bag", "set", "--color", "never", "-nq",
                          "--file", "a.json", "k", '"%s"' % ("y" * 999),
                          columns=columns).out.decode().splitlines()[0]
        assert len(got) <= columns and got.count("…") == 2, got
        assert got.endswith("… (1,001 bytes)") == (columns > 40), got


@tests.test("bag set: works in every form and format")
def _():
    sample()
    all_ = strict(read(SAMPLE))
    write("one.json", all_[1])
    write("map.json", {"a": all_[0], "b": all_[1]})
    write("wrapper.json", {"session": all_[1],
                           "additionalProperties": {"n": 1}})
    write("wrappers.json", [None, {"session": all_[1], "x": 1},
                            {"session": all_[0]}])
    convert("list.msgpack")
    convert("list.xml")
    convert("many.jsonl", "--spread")
    convert("many.msgpack", "--spread")
    convert("many.records", "--spread", "--to", "records")
    for name, id_ in (("one.json", None), ("map.json", "b"),
                      ("wrapper.json", None), ("wrappers.json", "Ines"),
                      ("list.msgpack", "Ines"), ("list.xml", "Ines"),
                      ("many.jsonl", "Ines"), ("many.msgpack", "Ines"),
                      ("many.records", "Ines")):
        more = ["--from", "records"] if name.endswith("records") else []
        before = [json.loads(text) for text in values(name, more)]
        place = [id_] if id_ else []
        good(session("bag", "set", "--file", name, *more, *place, "agent_mode",
                     "/current_mode", '"execute"'))
        after = [json.loads(text) for text in values(name, more)]
        text = json.dumps(before).replace('"plan"', '"execute"')
        assert json.dumps(after) == text, name
        got = session("bag", "get", "--file", name, *more, *place,
                      "agent_mode", "/current_mode", "--text")
        expect(got, 0, "execute\n")
        good(session("bag", "rm", "--file", name, *more, *place,
                     "agent_mode"))
        assert session("bag", "rm", "--file", name, *more, *place,
                       "agent_mode").status == 3, name


def values(name, more):
    """All documents of a file as lines of JSON."""
    got = perdure("convert", "-q", "--to", "jsonl", *more, name, "-")
    return good(got).splitlines()


@tests.test("bag set: MessagePack of another program stays without extensions")
def _():
    for shape, more in ((STORED, ""), (DOTNET, ""), (STORED, NATIVE % "{}")):
        def file(state):
            return (shape % state) + ("\n" + more if more else "")
        plain = msgpack(file('{"n":1}'))
        assert plain == msgpack(file('{"n":1}'), "--exchange")
        write("a.msgpack", plain)
        where = ["--file", "a.msgpack", "/0"]
        got = session("bag", "set", *where, "n", '[1.50,1e16,"\\/"]')
        assert got.status == 0 and got.err == (
            b"perdure: a.msgpack: 2 numbers and 1 string lost the spelling, "
            b"no value\n"), got
        assert read("a.msgpack") == msgpack(file('{"n":[1.5,1e+16,"/"]}'))
        for dry in (["-n"], []):
            got = strict(good(session("bag", "set", "-o", "json", *dry, *where,
                                      "n", "/0", "2.50")))
            assert got["respelled"] == {"numbers": 1, "strings": 0}, got
        assert read("a.msgpack") == msgpack(file('{"n":[2.5,1e+16,"/"]}'))
        expect(session("bag", "rm", "-q", *where, "n", "/0"), 0,
               "- /n/0  2.5\n")
        assert read("a.msgpack") == msgpack(file('{"n":[1e+16,"/"]}'))


@tests.test("bag set: MessagePack with extensions, or in our shape, keeps them")
def _():
    for before, after in (
            (STORED % '{"x":"\\/"}', STORED % '{"x":"\\/","k":1.50}'),
            (STORED % '{"n":1}' + "\n" + STORED % '{"x":1e400}',
             STORED % '{"n":1,"k":1.50}' + "\n" + STORED % '{"x":1e400}'),
            (NATIVE % "{}", NATIVE % '{"k":1.50}'),
            ("[%s,null]" % NATIVE % "{}", "[%s,null]" % NATIVE %
             '{"k":1.50}')):
        write("a.msgpack", msgpack(before))
        got = strict(good(session("bag", "set", "-o", "json", "--file",
                                  "a.msgpack", "/0", "k", "1.50")))
        assert "respelled" not in got, got
        assert read("a.msgpack") == msgpack(after)


@tests.test("bag set: what another program cannot hold is refused, and nothing "
            "is written")
def _():
    for file, place in ((STORED % '{"k":1}', "/state/k"),
                        (DOTNET % '{"k":1}', "/stateBag/k"),
                        ("[%s]" % STORED % '{"k":1}', "/0/state/k"),
                        (STORED % '{"k":1}' + "\n" + NATIVE % "{}",
                         "/state/k")):
        before = read(write("a.msgpack", msgpack(file)))
        for value, reason, pointer in UNHELD:
            for dry in (["-n"], []):
                got = problem("bag", "set", *dry, "--file", "a.msgpack", "/0",
                              "k", value, status=6)
                assert got["reason"] == reason, got
                assert got["pointer"] == place + pointer, got
                assert "'perdure convert'" in got["hint"], got
                assert read("a.msgpack") == before
    # It is refused too if it was there: nobody may lose it by our hand.
    before = read(write("a.msgpack", msgpack(STORED % '{"d":1,"d":2}')))
    got = problem("bag", "set", "--file", "a.msgpack", "k", "1", status=6)
    assert got["pointer"] == "/state/d" and read("a.msgpack") == before, got


@tests.test("bag set: a folder of MessagePack counts spellings, too")
def _():
    os.mkdir("desk")
    before = read(write("desk/a.msgpack", msgpack(STORED % "{}")))
    where = ["--folder", "desk", "a"]
    for dry in (["-n"], []):
        got = problem("bag", "set", *dry, *where, "k", "1E400", status=6)
        assert (got["reason"], got["pointer"]) == ("number_range", "/state/k")
        assert read("desk/a.msgpack") == before
    got = session("bag", "set", *where, "k", "1.50")
    assert got.status == 0 and got.err == (
        b"perdure: desk: 1 number lost the spelling, no value\n"), got
    got = strict(good(session("bag", "set", "-o", "json", *where, "k", "2")))
    assert got["respelled"] == {"numbers": 0, "strings": 0}, got
    assert read("desk/a.msgpack") == msgpack(STORED % '{"k":2}')


@tests.test("bag set: lines of a stream keep every byte but those of one")
def _():
    lines = ['{"session_id":"a","state":{"x":1}}',
             '  {"session_id" :"b","state":{"x": 1.50}}  ', '',
             '[{"session_id":"c","state":{}},null]']
    write("a.jsonl", "\n".join(lines) + "\n")
    good(session("bag", "set", "--file", "a.jsonl", "b", "x", "7"))
    lines[1] = lines[1].replace("1.50", "7")
    assert read("a.jsonl").decode() == "\n".join(lines) + "\n"
    good(session("bag", "set", "--file", "a.jsonl", "/2", "y", "[]"))
    lines[3] = lines[3].replace("{}}", '{"y":[]}}')
    assert read("a.jsonl").decode() == "\n".join(lines) + "\n"


@tests.test("bag set: a dry run and a mistake change nothing")
def _():
    sample()
    put = ["bag", "set", "--file", "sessions.json", "tomato-house"]
    rows_ = [
        (["watering", "/bed", "four"], 6, "unexpected_byte"),
        (["watering", "/bed", ""], 6, "empty_input"),
        (["watering", "/a/b", "1"], 3, "no_member"),
        (["nope", "/a", "1"], 3, "no_slot"),
        (["watering", "/bed/x", "1"], 3, "no_member"),
        (["  ", "1"], 6, "key_blank"),
        (["k" * 1025, "1"], 6, "key_too_long"),
        (["k", "[" * 127 + "]" * 127], 6, "too_deep"),
        (["k", "[" * 200 + "]" * 200], 6, "too_deep"),
    ]
    for args, status, reason in rows_:
        got = problem(*put, *args, status=status)
        assert got["reason"] == reason, (args[:1], got)
    expect(session(*put, "-n", "watering", "/bed", "4"), 0,
           "~ /watering/bed  3 -> 4\n"
           "sessions.json, session 'tomato-house': a dry run, nothing was "
           "written\n")
    got = problem("bag", "rm", "--file", "sessions.json", "tomato-house",
                  "nope", status=3)
    assert got["reason"] == "no_slot"
    assert read("sessions.json") == read(SAMPLE)
    assert os.listdir() == ["sessions.json"]
    write("t.json", {"type": "agent_thread_state", "service_thread_id": None,
                     "chat_message_store_state": None})
    got = problem("bag", "set", "--file", "t.json", "k", "1", status=6)
    assert got["reason"] == "bag_sealed" and "convert" in got["hint"], got


@tests.test("bag: a part that is not there is one to every verb")
def _():
    long = "k" * 60
    write("a.json", {"session_id": "a", "state": {
        "a/b": {"bed": 3, "list": [1]}, "\u0001": {},
        long: {long: {}}, "k" * 200: {}}})
    value = {"set": ["1"], "rm": [], "get": []}
    rows_ = [("a/b", "/bed/x", "a number has no members", "/a~1b/bed/x"),
             ("a/b", "/beds/x", "the object has no such member", "/a~1b/beds"),
             ("a/b", "/list/7", "the pointer names none of the 1 elements",
              "/a~1b/list/7"),
             ("\u0001", "/y/x", "the object has no such member",
              "/\\u0001/y"),
             (long, "/" + long + "/y/x", "the object has no such member",
              "/%s/%s/y" % (long, long)),
             ("k" * 200, "/y/x", "the object has no such member", ".../y")]
    for key, pointer, why, path in rows_:
        for verb in ("get", "set", "rm"):
            got = session("bag", verb, "--file", "a.json", key, pointer,
                          *value[verb])
            assert (got.status, got.out) == (3, b""), got
            line = "perdure: a.json: %s, at %s\n" % (why, path)
            assert got.err.decode().startswith(line), (line, got)


@tests.test("bag set: --expect refuses a file that is another one by now")
def _():
    sample()
    folder()
    for where in (["--file", "sessions.json", "Ines"],
                  ["--folder", "desk", "demo-7"]):
        generation = session("bag", "keys", *where, "-o", "json").out
        generation = strict(generation)["generation"]
        first = session("bag", "set", *where, "k", "1", "--expect",
                        generation, "-o", "json")
        second = strict(good(first))["generation"]
        assert second != generation
        before = read("sessions.json"), files()
        got = problem("bag", "set", *where, "k", "2", "--expect", generation,
                      status=5)
        assert (got["code"], got["reason"]) == ("CONFLICT",
                                                "generation_changed")
        assert second in got["detail"], got
        got = problem("bag", "rm", *where, "k", "--expect", generation,
                      status=5)
        assert (read("sessions.json"), files()) == before
        good(session("bag", "rm", *where, "k", "--expect", second))


def wait_for_value(process):
    """Until it reads its value: then it has the lock, and has read the file."""
    process.stdin.write(b" ")
    process.stdin.flush()
    for _ in range(6000):
        if not any(fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4))):
            return
        time.sleep(0.01)
    raise AssertionError("it does not read its value")


def start_set(*args):
    """A change that has read the file and waits for its value."""
    return subprocess.Popen([PERDURE, "session", "bag", "set", *args, "-"],
                            env=environment(), stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@tests.test("bag set: a program that takes no lock is not overwritten")
def _():
    write("a.json", {"session_id": "a", "state": {}})
    process = start_set("--file", "a.json", "k")
    wait_for_value(process)
    write("a.json", {"session_id": "a", "state": {"theirs": 1}})
    theirs = read("a.json")
    out, err = process.communicate(b"2", timeout=60)
    assert process.returncode == 5 and out == b"", (out, err)
    assert err == (b"perdure: a.json: another program changed the file "
                   b"meanwhile\nhint: nothing was written; look at it again, "
                   b"then repeat\n"), err
    assert read("a.json") == theirs and os.listdir() == ["a.json"]
    process = start_set("--file", "a.json", "k")
    wait_for_value(process)
    os.unlink("a.json")
    out, err = process.communicate(b"2", timeout=60)
    assert process.returncode == 5, (process.returncode, out, err)
    assert os.listdir() == [], (os.listdir(), out, err)


@tests.test("bag set: changes at the same time all stay")
def _():
    folder()
    write("a.json", {"session_id": "a", "state": {}})
    for where in (["--file", "a.json"], ["--folder", "desk", "demo-7"]):
        for turn in range(3):
            all_ = [subprocess.Popen(
                [PERDURE, "session", "bag", "set", "-q", *where,
                 "k%d-%d" % (turn, i), "%d" % i], env=environment(),
                stdout=subprocess.DEVNULL) for i in range(8)]
            assert [one.wait(timeout=120) for one in all_] == [0] * 8
        keys = session("bag", "keys", "-o", "raw", *where).out.decode().split()
        want = {"k%d-%d" % (turn, i) for turn in range(3) for i in range(8)}
        assert want <= set(keys), want - set(keys)
    assert sorted(os.listdir()) == ["a.json", "desk"]


@tests.test("bag set: a process that ends leaves the file as it was")
def _():
    before = read(write("a.json", {"session_id": "a", "state": {}}))
    for number in (signal.SIGTERM, signal.SIGKILL):
        process = start_set("--file", "a.json", "k")
        wait_for_value(process)
        process.send_signal(number)
        process.communicate(timeout=60)
        assert process.returncode != 0
        assert read("a.json") == before and os.listdir() == ["a.json"]

    # Above what a build for coverage writes of its own, below an argument.
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
    os.mkdir("desk")
    write("desk/a.json", STORED % "{}")
    for where in (["--file", "a.json"], ["--folder", "desk", "a"]):
        got = session("bag", "set", *where, "k", '"%s"' % ("x" * 120000),
                      preexec_fn=limit)
        assert got.status == 9 and b"File too large" in got.err, got
    assert read("a.json") == before
    assert list(files()) == ["a.json"]
    good(session("bag", "set", "--file", "a.json", "k", "1"))


@tests.test("bag set: other bytes of a folder's JSON file stay, too")
def _():
    folder()
    write("desk/a.json", STORED.replace(",", ",\n  ") % '{"n": 1.50}')
    for key, slot, name in (("demo-7", "notes", "demo-7.json"),
                            ("a", "n", "a.json")):
        before = read("desk", name)
        raw = session("bag", "get", "-o", "raw", "--folder", "desk", key,
                      slot).out
        good(session("bag", "set", "--folder", "desk", key, slot, "4711"))
        old, new = changed_part(before, read("desk", name))
        assert old in raw and new in b"4711", (old, new)
        good(session("bag", "set", "--folder", "desk", key, slot,
                     raw.decode()))
        assert read("desk", name) == before


@tests.test("bag set: a link stays a link, a mode a mode")
def _():
    os.mkdir("real")
    write("real/a.json", {"session_id": "a", "state": {}})
    os.chmod("real/a.json", 0o640)
    os.symlink("real/a.json", "link.json")
    good(session("bag", "set", "--file", "link.json", "k", "1"))
    assert os.path.islink("link.json")
    assert strict(read("real/a.json"))["state"] == {"k": 1}
    assert stat.S_IMODE(os.stat("real/a.json").st_mode) == 0o640
    assert os.listdir("real") == ["a.json"]


@tests.test("bag set: a file that may not be written stays")
def _():
    before = read(write("a.json", {"session_id": "a", "state": {"k": 1}}))
    os.chmod("a.json", 0o444)
    for args in (["set", "--file", "a.json", "k", "2"],
                 ["set", "-n", "--file", "a.json", "k", "2"],
                 ["rm", "--file", "a.json", "k"]):
        expect(session("bag", *args), 9, "", "perdure: a.json: the file may "
               "be read, but not written\nhint: it is as it was; 'chmod u+w' "
               "on it allows the change\n")
    expect(session("bag", "get", "--file", "a.json", "k"), 0, "1\n")
    assert read("a.json") == before and os.listdir() == ["a.json"]
    os.chmod("a.json", 0o644)
    command, who = nobody()
    if who:  # else it is ours, and may be written
        got = run([command, "session", "bag", "set", "--file", "a.json", "k",
                   "2"], **who)
        assert got.status == 9 and b"but not written" in got.err, got
    assert read("a.json") == before


@tests.test("bag set: a file of a folder gets its new name, and findings")
def _():
    folder("store-json-1.17")
    got = session("bag", "set", "--folder", "desk", "café", "k", "1")
    assert got.status == 0 and b"[old-name]" in got.err, got
    assert "~session-mnqwnq5j.json" in files()
    assert "~session-Y2Fmw6k.json" not in files()
    got = session("bag", "set", "-q", "--folder", "desk", "con.txt", "k", "1")
    assert got.err == b"", got


# --- convert -------------------------------------------------------------

@tests.test("convert: to every shape, with a report")
def _():
    path = os.path.join(NET, "session-conversation-id.json")
    for shape in ("native", "dotnet", "python", "python-1.21"):
        got = session("convert", "--shape", shape, "--id", "desk-7", path,
                      shape + ".json")
        assert got.status == 0 and got.out == b"", got
        row = rows("--file", shape + ".json")[0]
        assert row["serviceId"] == rows("--file", path)[0]["serviceId"]
        if shape != "dotnet":
            assert row["id"] == "desk-7", row
    assert read("dotnet.json") == read(path)
    report = strict(good(session("convert", "-o", "json", "-s", "python",
                                 path, "new.json")))
    assert (report["sessions"], report["shape"], report["format"]) == (
        1, "python", "json")
    assert {"index", "severity", "rule", "pointer", "text"} == set(
        report["findings"][0])
    assert report["bytes"] == len(read("new.json"))
    to_stdout = session("convert", "-o", "json", "-s", "python", path, "-")
    assert strict(to_stdout.err)["out"] == "standard output"
    assert strict(to_stdout.out)["service_session_id"] == row["serviceId"]


@tests.test("convert: a long report is counted for people, whole for programs")
def _():
    write("a.json", [{"stateBag": {}}] * 50)
    got = session("convert", "-s", "python", "a.json", "b.json")
    lines = got.err.decode().splitlines()
    assert got.status == 0 and len(lines) == 5, got
    assert lines[:4] == [
        "info: session /%d: the session had no id of its own: it got one "
        "[id-minted]" % i for i in range(3)] + [
        "info: 47 more like that [id-minted]"], lines
    report = strict(good(session("convert", "-y", "-o", "json", "-s", "python",
                                 "a.json", "b.json")))
    assert [one["index"] for one in report["findings"]] == list(range(50))
    quiet = session("convert", "-yqs", "python", "a.json", "b.json")
    assert (quiet.status, quiet.err) == (0, b"")


@tests.test("convert: keeps lists, objects, streams and metadata")
def _():
    for name in ("list-mixed-kinds.json", "dictionary-typed.json"):
        path = os.path.join(NET, name)
        good(session("convert", "-qs", "python", path, "a.json"))
        there = strict(read("a.json"))
        before = strict(read(path))
        assert type(there) is type(before) and len(there) == len(before)
        if isinstance(before, dict):
            assert list(there) == list(before)
        assert {row["shape"] for row in rows("--file", "a.json")} == {"python"}
        good(session("convert", "-qys", "dotnet", "a.json", "b.json"))
        assert strict(read("b.json")) == before
        os.unlink("a.json")
    write("w.json", [{"session": {"stateBag": {"a": 1}},
                      "additionalProperties": {"n": 1}}, None])
    good(session("convert", "-qs", "python", "w.json", "w2.json"))
    got = strict(read("w2.json"))
    assert got[1] is None and got[0]["additionalProperties"] == {"n": 1}
    assert got[0]["session"]["state"] == {"a": 1}
    write("s.jsonl", '{"stateBag":{}}\n{"stateBag":{"x":1}}\n')
    good(session("convert", "-qs", "native", "s.jsonl", "t.msgpack"))
    assert [row["shape"] for row in rows("--file", "t.msgpack")] == [
        "native"] * 2
    got = problem("convert", "-s", "native", "s.jsonl", "t.json", status=6)
    assert got["reason"] == "several_documents" and "--to jsonl" in got["hint"]
    good(session("convert", "-qs", "native", "--to", "xml", "w.json", "x"))
    assert read("x").startswith(b"<array")


@tests.test("convert: --strict, a file that is there and what cannot be said")
def _():
    path = os.path.join(PY, "session-service-object.json")
    got = session("convert", "-s", "dotnet", path, "a.json")
    assert got.status in (0, 6), got
    write("here.json", "old")
    source = os.path.join(NET, "session-two-turns.json")
    got = problem("convert", "-s", "python", source, "here.json", status=5)
    assert got["reason"] == "file_exists" and read("here.json") == b"old"
    good(session("convert", "-qys", "python", source, "here.json"))
    write("list.json", [{"stateBag": {}}, 7])
    got = problem("convert", "-s", "python", "list.json", "o.json", status=6)
    assert got["reason"] == "session_not_object" and "/1" in got["detail"], got
    assert not os.path.exists("o.json")
    found = None
    for name in sorted(os.listdir(PY)):
        if not name.startswith("session-") or not name.endswith(".json"):
            continue
        report = session("convert", "-o", "json", "-ys", "dotnet",
                         os.path.join(PY, name), "c.json")
        if report.status == 0 and strict(report.out)["warnings"]:
            found = os.path.join(PY, name)
    assert found, "no document loses anything"
    got = session("convert", "--strict", "-s", "dotnet", found, "d.json")
    assert got.status == 6 and b"nothing was written" in got.err, got
    assert b"warning: " in got.err and not os.path.exists("d.json")


@tests.test("convert: --strict is not misled by a property called perdure")
def _():
    def python(content):
        return {"type": "session", "session_id": "a",
                "service_session_id": None, "state": {"in_memory": {
                    "messages": [{"type": "message", "role": "assistant",
                                  "contents": [content]}]}}}

    def net(content):
        return {"stateBag": {"InMemoryChatHistoryProvider": {"messages": [
            {"role": "assistant", "contents": [content]}]}}}
    odd = {"type": "shell_tool_call", "call_id": "c"}
    for own in ("x", {}, {"content": 1}, {"shape": "dotnet", "content": odd}):
        for shape, document in (
                ("dotnet", python({**odd, "additional_properties":
                                   {"perdure": own}})),
                ("python", net({"$type": "foo", "additionalProperties":
                                {"perdure": own}}))):
            write("a.json", document)
            got = session("convert", "--strict", "-s", shape, "a.json",
                          "b.json")
            assert got.status == 6 and b"[content-kind]" in got.err, got
            assert not os.path.exists("b.json")
            good(session("convert", "-qs", shape, "a.json", "b.json"))
            # What came back from our own note is no loss.
            back = "python" if shape == "dotnet" else "dotnet"
            good(session("convert", "--strict", "-qs", back, "b.json",
                         "c.json"))
            assert strict(read("c.json")) == document
            os.unlink("b.json")
            os.unlink("c.json")


@tests.test("convert: MessagePack in an edition's shape is for its programs")
def _():
    write("a.json", NATIVE % '{"n":[1.50,1e16,"\\/"]}')
    write("a.msgpack", msgpack(NATIVE % '{"n":[1.50,1e16,"\\/"]}'))
    lost = (b"perdure: b.msgpack: 2 numbers and 1 string lost the spelling, no "
            b"value\n")
    for source in ("a.json", "a.msgpack"):
        for shape in ("python", "python-1.21", "dotnet"):
            got = session("convert", "-ys", shape, source, "b.msgpack")
            assert got.status == 0 and got.err.endswith(lost), got
            good(session("convert", "-qys", shape, source, "b.json"))
            assert read("b.msgpack") == msgpack(read("b.json").decode(),
                                                "--exchange"), shape
            got = strict(good(session("convert", "-ys", shape, "-o", "json",
                                      source, "b.msgpack")))
            assert got["respelled"] == {"numbers": 2, "strings": 1}, got
        for to in ("msgpack", "json"):
            got = strict(good(session("convert", "-ys", "native", "-o", "json",
                                      source, "b." + to)))
            assert "respelled" not in got, got
        assert read("b.msgpack") == msgpack(read("b.json").decode())
        got = strict(good(session("convert", "-ys", "python", "-o", "json",
                                  source, "b.json")))
        assert "respelled" not in got, got
    write("here.msgpack", "old")
    for value, reason, pointer in UNHELD:
        write("a.json", NATIVE % ('{"k":%s}' % value))
        got = problem("convert", "-ys", "python", "a.json", "here.msgpack",
                      status=6)
        assert got["reason"] == reason, got
        assert got["pointer"] == "/state/k" + pointer, got
        assert "--to json" in got["hint"] and "document" not in got, got
        assert read("here.msgpack") == b"old"
        write("a.jsonl", NATIVE % "{}" + "\n" + NATIVE % ('{"k":%s}' % value))
        got = problem("convert", "-ys", "python", "a.jsonl", "here.msgpack",
                      status=6)
        assert (got["reason"], got["document"]) == (reason, 2), got


@tests.test("convert: to a state document, from all formats")
def _():
    source = os.path.join(NET, "session-tool-loop.json")
    messages = strict(read(source))["stateBag"]["InMemoryChatHistoryProvider"][
        "messages"]
    for name in ("a.json", "a.jsonl", "a.msgpack", "a.xml"):
        good(perdure("convert", "-q", source, name))
        got = session("convert", "-s", "state", name, name + ".json")
        assert got.status == 0 and b": state, 1 session, " in got.err, got
        document = strict(read(name + ".json"))
        assert document["schemaVersion"] == "1.1.0"
        entries = document["data"]["conversationHistory"]
        assert [entry["$type"] for entry in entries] == [
            "request", "response"], entries
        assert [message["role"] for entry in entries
                for message in entry["messages"]] == [
            message["role"] for message in messages]
    good(session("convert", "-qs", "state", source, "b.msgpack"))
    good(perdure("doc", "check", "b.msgpack"))
    # Metadata is lost as slots are.
    write("w.json", {"session": {"stateBag": {
        "n": 1, **strict(read(source))["stateBag"]}},
        "additionalProperties": {"n": 1}})
    report = strict(good(session("convert", "-o", "json", "-s", "state",
                                 "w.json", "c.json")))
    assert [(one["rule"], one["pointer"]) for one in report["findings"]] == [
        ("not-carried", "/additionalProperties"),
        ("not-carried", "/stateBag/n")], report
    assert (report["warnings"], report["shape"]) == (2, "state"), report


@tests.test("convert: what cannot become a state document leaves no file")
def _():
    def net(*messages):
        return {"stateBag": {"InMemoryChatHistoryProvider": {
            "messages": list(messages)}}}
    hi = {"role": "user", "contents": []}
    state = {"schemaVersion": "1.1.0", "data": {"conversationHistory": []}}
    thread = {"storeState": {"messages": [hi]}}
    rows_ = [(net(), 6, "history_shape"), (net(hi, 7), 6, "wrong_kind"),
             (net({"role": "critic"}), 6, "no_such_kind"),
             (state, 6, "session_unknown_shape"), (thread, 6, "bag_sealed"),
             ({"sessionId": "@dafx-a@k", "stateBag": {}}, 6, "session_kind"),
             ([net(hi), None, net(hi)], 6, "several_sessions"),
             ({"a": net(hi), "b": net(hi)}, 6, "several_sessions"),
             ([None, net(hi)], 0, None),
             ([], 6, "no_document"), (7, 6, "session_not_object")]
    for document, status, reason in rows_:
        write("a.json", document)
        if status == 0:
            good(session("convert", "-qs", "state", "a.json", "o.json"))
            os.unlink("o.json")
            continue
        got = problem("convert", "-s", "state", "a.json", "o.json",
                      status=status)
        assert got["reason"] == reason, (document, got)
        assert not os.path.exists("o.json"), document
    write("a.json", {**net(hi), "x": 1})
    got = session("convert", "--strict", "-s", "state", "a.json", "o.json")
    assert got.status == 6 and b"warning: /x: " in got.err, got
    assert not os.path.exists("o.json")
    got = problem("convert", "--id", "i", "-s", "state", "a.json", "o.json",
                  status=2)
    assert "session import --id" in got["hint"], got


# --- export and import ---------------------------------------------------

@tests.test("export and import: there and back again is the same folder")
def _():
    for store in ("store-json", "store-msgpack"):
        folder(store)
        os.unlink([os.path.join("desk", name) for name in os.listdir("desk")
                   if "sha256" in name][0])
        for out in ("a.json", "a.jsonl", "a.msgpack", "a.xml"):
            good(session("export", "-qm", "--folder", "desk", out))
            kind = store.split("-")[1]
            good(session("import", "-q", out, "--folder", "copy", "--format",
                         kind))
            assert files("copy") == files("desk"), (store, out)
            shutil.rmtree("copy")
            os.unlink(out)
        shutil.rmtree("desk")


@tests.test("export and import: as a list, through pipes")
def _():
    sample()
    got = session("import", "sessions.json", "--folder", "desk")
    expect(got, 0, "", "perdure: desk: 3 sessions written\n")
    assert stat.S_IMODE(os.stat("desk").st_mode) == 0o700
    for kind in ("json", "jsonl", "msgpack", "records", "xml"):
        out = good(session("export", "-q", "--to", kind, "--folder", "desk",
                           "-"))
        good(session("import", "-q", "--from", kind, "-", "--folder", "copy",
                     stdin=out))
        want = files("desk")
        if kind in ("msgpack", "records"):  # for programs of Python
            want = {name: text.replace(b"12.50", b"12.5")
                    for name, text in want.items()}
        assert files("copy") == want, kind
        shutil.rmtree("copy")
    report = strict(good(session("export", "-o", "json", "--folder", "desk",
                                 "o.json")))
    assert report == {"folder": "desk", "out": "o.json", "format": "json",
                      "sessions": 3, "bytes": len(read("o.json")),
                      "leftOut": 0, "otherFiles": 0}
    assert [one["session_id"] for one in strict(read("o.json"))] == [
        "tomato-house", "Ines", "telegram:123:456"]
    assert b"12.50" in read("o.json")
    got = problem("export", "--folder", "desk", "o.json", status=5)
    assert got["reason"] == "file_exists"
    good(session("export", "-qy", "--pretty", "--folder", "desk", "o.json"))
    assert read("o.json").count(b"\n") > 20


@tests.test("export: MessagePack is for the programs of each session's shape")
def _():
    python, net = STORED % '{"n":1.50}', DOTNET % '{"n":1e2}'
    wrapped = '{"session":%s,"additionalProperties":{"n":1.50}}'
    odd = '{"n":[1.50,"\\/"]}'
    write("a.jsonl", "\n".join([python, net, NATIVE % odd, wrapped % net,
                                wrapped % NATIVE % odd]))
    want = b"".join([msgpack(python + "\n" + net, "--exchange"),
                     msgpack(NATIVE % odd), msgpack(wrapped % net,
                                                    "--exchange"),
                     msgpack(wrapped % NATIVE % odd)])
    got = session("export", "--file", "a.jsonl", "a.msgpack")
    expect(got, 0, "", "perdure: a.msgpack: msgpack, 5 sessions, %d bytes\n"
           "perdure: a.msgpack: 4 numbers lost the spelling, no value\n"
           % len(want))
    assert read("a.msgpack") == want
    got = strict(good(session("export", "-yo", "json", "--file", "a.jsonl",
                              "--to", "records", "a.records")))
    assert got["respelled"] == {"numbers": 4, "strings": 0}, got
    got = strict(good(session("export", "-yo", "json", "--file", "a.jsonl",
                              "b.jsonl")))
    assert "respelled" not in got, got
    os.mkdir("desk")
    write("desk/a.json", python)
    good(session("export", "-qym", "--folder", "desk", "a.msgpack"))
    assert read("a.msgpack") == msgpack('{"a":%s}' % python, "--exchange")


@tests.test("export: what MessagePack cannot hold for others is refused, or "
            "left out")
def _():
    os.mkdir("desk")
    for value, reason, pointer in UNHELD:
        bad = STORED % ('{"k":%s}' % value)
        write("a.json", "[%s,%s]" % (NATIVE % '{"k":%s}' % value, bad))
        write("desk/a.json", bad)
        for where, detail in ((["--file", "a.json"], "a.json: element /1: "),
                              (["--folder", "desk"], "desk/a.json: session 'a': ")):
            got = problem("export", *where, "x.msgpack", status=6)
            assert got["reason"] == reason, got
            assert got["pointer"] == "/state/k" + pointer, got
            assert got["detail"].startswith(detail), got
            assert "--to json" in got["hint"], got
            assert not os.path.exists("x.msgpack")
            got = session("export", "--skip", *where, "x.msgpack")
            assert got.status == 1 and b"was left out: " in got.err, got
            assert read("x.msgpack") == (
                msgpack(NATIVE % '{"k":%s}' % value) if where[0] == "--file"
                else b""), got
            os.unlink("x.msgpack")


@tests.test("export: a key that is no id is refused, or kept in an object")
def _():
    folder()
    got = problem("export", "--folder", "desk", "o.json", status=6)
    assert got["reason"] == "key_lost" and "--map" in got["hint"], got
    got = problem("export", "-m", "--folder", "desk", "o.json", status=6)
    assert got["reason"] == "key_unknown" and "--skip" in got["hint"], got
    assert os.listdir() == ["desk"]
    got = session("export", "-m", "--skip", "--folder", "desk", "o.json")
    assert got.status == 1 and b"warning: desk/~session-sha256-" in got.err
    assert got.err.endswith(b"6 sessions, 1.0 kB, 1 left out\n"), got
    assert list(strict(read("o.json")))[:3] == ["demo-7", "guest-ana",
                                                "Guest-Ana"]
    write("two.json", [{"session_id": "a"}, {"session_id": "a"}])
    got = problem("export", "-m", "--file", "two.json", "p.json", status=6)
    assert "two sessions are called 'a'" in got["detail"], got
    write("net.json", [{"stateBag": {}}])
    got = problem("export", "-m", "--file", "net.json", "p.json", status=6)
    assert "neither a name nor an id" in got["detail"], got
    write("map.json", {"x": {"session_id": "a"}})
    got = problem("export", "--file", "map.json", "p.json", status=6)
    assert got["reason"] == "key_lost"
    good(session("export", "-qm", "--to", "jsonl", "--file", "map.json",
                 "p.jsonl"))
    assert read("p.jsonl") == b'{"x":{"session_id":"a"}}\n'


@tests.test("export: what cannot be read ends it, or is told")
def _():
    sample()
    good(session("import", "-q", "sessions.json", "--folder", "desk"))
    write("desk/torn.json", '{"session_id')
    write("desk/.x.json.%s.corrupt" % ("a" * 32), '{"a')
    got = problem("export", "--folder", "desk", "o.json", status=6)
    assert got["detail"].startswith("desk/torn.json: "), got
    assert not os.path.exists("o.json")
    got = session("export", "--skip", "--folder", "desk", "o.json")
    assert got.status == 1, got
    assert b"warning: desk/torn.json was left out: " in got.err
    assert got.err.endswith(b", 1 left out; 1 other file of the folder is no "
                            b"session\n"), got
    write("odd.json", [{"session_id": "a"}, 7, None,
                       {"session": {"session_id": "b"}}])
    got = problem("export", "--file", "odd.json", "p.json", status=6)
    assert got["reason"] == "session_not_object"
    got = session("export", "-q", "--skip", "--file", "odd.json", "p.json")
    assert got.status == 1, got
    assert strict(read("p.json")) == [{"session_id": "a"}, None,
                                      {"session": {"session_id": "b"}}]


@tests.test("import: nothing is replaced or left out without a word")
def _():
    sample()
    good(session("import", "-q", "sessions.json", "--folder", "desk"))
    expect(session("import", "sessions.json", "--folder", "desk"), 0, "",
           "perdure: desk: 0 sessions written, 3 already there\n")
    good(session("bag", "set", "--folder", "desk", "Ines", "k", "1"))
    before = files()
    more = read("sessions.json").rstrip()[:-1]
    write("more.json", more + b',{"session_id":"new","state":{}},null]')
    got = problem("import", "more.json", "--folder", "desk", status=5)
    assert got["reason"] == "session_exists" and "'Ines'" in got["detail"]
    assert files() == before
    expect(session("import", "-yn", "more.json", "--folder", "desk"), 0, "",
           "perdure: desk: 2 sessions would be written, 1 of them replaced, "
           "2 already there, 1 null left out\n")
    assert files() == before
    report = strict(good(session("import", "-y", "-o", "json", "more.json",
                                 "--folder", "desk")))
    assert report == {"file": "more.json", "folder": "desk", "dryRun": False,
                      "new": 1, "replaced": 1, "same": 2, "nulls": 1,
                      "notes": 0}
    assert session("bag", "keys", "-o", "raw", "--folder", "desk",
                   "Ines").out == b"agent_mode\n"
    good(session("import", "-n", "more.json", "--folder", "none"))
    assert not os.path.exists("none")


@tests.test("import: what a folder cannot hold is refused before it is made")
def _():
    rows_ = [
        ([{"stateBag": {}}], "session_kind", "convert --shape python"),
        ([{"session_id": "a"}, {"session_id": "a"}], "key_twice", "another id"),
        ([{"session_id": ""}], "folder_key", ""),
        ([{"session": {"session_id": "a"}, "additionalProperties": {}}],
         "metadata_lost", "--drop-metadata"),
        ([{"session_id": "a"}, 7], "session_not_object", ""),
    ]
    for value, reason, hint in rows_:
        write("a.json", value)
        got = problem("import", "a.json", "--folder", "desk", status=6)
        assert got["reason"] == reason, (value, got)
        assert hint in got.get("hint", ""), (value, got)
        assert os.listdir() == ["a.json"], value
    write("a.json", [{"session": {"session_id": "a"},
                      "additionalProperties": {"n": 1}}])
    good(session("import", "--drop-metadata", "a.json", "--folder", "desk"))
    assert list(files()) == ["a.json"]


@tests.test("export and import: what is no session is named by its place")
def _():
    for name, text in (("a.json", '[{"session_id":"a"},\n 5]'),
                       ("a.jsonl", '{"session_id":"a"}\n5\n')):
        write(name, text)
        for args in (["import", name, "--folder", "desk"],
                     ["export", "--file", name, "out.json"]):
            got = problem(*args, status=6)
            assert got["detail"] == (
                name + ": element /1: a session is an object, this is a "
                "number"), got
            assert "line" not in got and not os.path.exists("out.json"), got


@tests.test("show: an id that a conversion kept, and two of one name")
def _():
    write("py.json", {"session_id": "ana"})
    good(session("convert", "-qs", "dotnet", "py.json", "net.json"))
    text = good(session("show", "--file", "net.json", "ana")).decode()
    assert ("id ana, kept by a conversion: .NET does not know it"
            in " ".join(text.split())), text
    rows_ = good(session("list", "-o", "jsonl", "--file", "net.json"))
    assert json.loads(rows_)["id"] == "ana", rows_
    write("id.json", '{"stateBag":{},"perdure":{"id":7}}')
    text = good(session("show", "--file", "id.json")).decode()
    assert "none: sessions of this shape carry no id\n" in text, text
    problem("show", "--file", "id.json", "7", status=3)
    write("py.json", {"session_id": "ana", "durable_session_id": "@a@k"})
    good(session("convert", "-qs", "dotnet", "py.json", "-y", "net.json"))
    for name in ("ana", "@dafx-a@k"):
        good(session("show", "--file", "net.json", name))
    one = {"session_id": "a"}
    for count, words in ((2, "at /0 and /1"),
                         (3, "the first two at /0 and /1")):
        write("two.json", [one] * count)
        got = problem("show", "--file", "two.json", "a", status=6)
        assert got["detail"] == ("two.json: %d sessions are called 'a', %s"
                                 % (count, words)), got


@tests.test("import: one session that cannot be in the folder, and none is")
def _():
    rows_ = [
        ("x" * 129, "{}", "folder_key", ""),
        ("\\ud800", "{}", "folder_key", ""),
        ("n", '{"n":NaN}', "bare_token", "/state/n"),
    ]
    msgpack = [
        ("h", '{"t":"\\ud800"}', "lone_surrogate", "/state/t"),
        ("b", '{"n":18446744073709551616}', "number_range", "/state/n"),
        ("d", '{"n":1,"n":2}', "duplicate_name", "/state/n"),
    ]
    for kind, more in (("json", []), ("msgpack", msgpack)):
        for name, state, reason, pointer in rows_ + more:
            write("a.json", '[{"session_id":"a"},{"session_id":"%s",'
                  '"state":%s}]' % (name, state))
            for how in ([], ["-n"]):
                got = problem("import", "--bare-tokens", "a.json", "--folder",
                              "desk", "--format", kind, *how, status=6)
                assert got["reason"] == reason, (kind, name, got)
                assert got.get("pointer", "") == pointer, (kind, name, got)
                assert pointer == "" or "session /1 " in got["detail"], got
                assert ("--format json" in got["hint"]) == (
                    reason not in ("folder_key", "bare_token")), got
                assert os.listdir() == ["a.json"], (kind, name)


@tests.test("import: a member of the wrong kind stops it before it begins")
def _():
    good_one = {"session_id": "a"}
    rows_ = [({"service_session_id": 5, "state": {}}, "/service_session_id"),
             ({"type": 1}, "/type")]
    os.mkdir("there")
    for more, path in rows_:
        write("a.json", [good_one, {"session_id": "b", **more}])
        for format_ in ("json", "msgpack"):
            for name in ("new", "there"):
                for dry in ([], ["-n"]):
                    got = problem("import", "a.json", "--folder", name,
                                  "--format", format_, *dry, status=6)
                    assert got["reason"] == "envelope", got
                    assert got["pointer"] == path, got
                    assert got["detail"].startswith(
                        "a.json: session /1 cannot be in the folder: "), got
                    assert "nothing was written" in got["hint"], got
    assert not os.path.exists("new") and files("there") == {}


@tests.test("import: repeated, all is there, however numbers are spelled")
def _():
    write("a.json", '[{"session_id":"a","state":{"n":[1.00,12.50,-0,1e2],'
          '"t":"\\/"}}]')
    for kind, lost in (("json", ""), ("msgpack", (
            "perdure: info: 4 numbers and 1 string lost the spelling, no "
            "value; --format json keeps it\n"))):
        args = ("a.json", "--folder", kind, "--format", kind)
        expect(session("import", "-n", *args), 0, "",
               "perdure: %s: 1 session would be written\n" % kind + lost)
        report = strict(good(session("import", "-n", "-o", "json", *args)))
        assert report.get("respelled") == (
            {"numbers": 4, "strings": 1} if lost else None), report
        expect(session("import", *args), 0, "",
               "perdure: %s: 1 session written\n" % kind + lost)
        expect(session("import", "a.json", "--folder", kind), 0, "",
               "perdure: %s: 0 sessions written, 1 already there\n" % kind)
    write("a.json", '[{"session_id":"a","state":{"n":[1.00,12.51,-0,1e2],'
          '"t":"\\/"}}]')
    problem("import", "a.json", "--folder", "msgpack", status=5)
    expect(session("bag", "get", "-o", "raw", "--folder", "msgpack", "a", "n"),
           0, "[1.0,12.5,-0.0,100.0]")


@tests.test("import: what a conversion kept aside is not lost without a word")
def _():
    write("net.json", {"stateBag": {"in_memory": 5, "n": 1}})
    good(session("convert", "-qs", "python", "--id", "a", "net.json",
                 "py.json"))
    warning = ("perdure: warning: 1 session has no member perdure in the "
               "folder; what a conversion kept there is only in the file\n")
    expect(session("import", "py.json", "--folder", "desk"), 0, "",
           "perdure: desk: 1 session written\n" + warning)
    expect(session("import", "py.json", "--folder", "desk"), 0, "",
           "perdure: desk: 0 sessions written, 1 already there\n" + warning)
    report = strict(good(session("import", "-n", "-o", "json", "py.json",
                                 "--folder", "desk")))
    assert report["same"] == report["notes"] == 1, report


@tests.test("import: sessions of .NET come in by way of a conversion")
def _():
    path = os.path.join(NET, "list-typed.json")
    good(session("convert", "-qs", "python", path, "py.json"))
    good(session("import", "-q", "py.json", "--folder", "desk"))
    ids = {row["id"] for row in rows("--folder", "desk")}
    assert ids == {one["session_id"] for one in strict(read("py.json"))}


tests.finish()
