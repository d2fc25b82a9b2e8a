"""perdure store, and perdure session on stores, as a user meets them. Usage:
store.py PERDURE"""
import json
import os
import re
import shutil
import struct
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time

from harness import (INVISIBLE, Tests, environment, hidden, is_sanitized,
                     record, run, run_on_terminal)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PERDURE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1
                          else os.environ["PERDURE_BIN"])
TOUR = os.path.join(ROOT, "examples", "tour")
SESSIONS = os.path.join(TOUR, "sessions.json")
TALK = os.path.join(TOUR, "conversation.json")
OLD = os.path.join(ROOT, "tests", "data", "store")
VERBS = ["init", "info", "verify", "vacuum", "copy", "backup", "migrate"]
STORE_VERBS = [["log", "a"], ["tail", "a"], ["delete", "a"],
               ["trim", "--keep-turns", "1", "a"], ["verify", "a"]]
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
SANITIZED = is_sanitized(PERDURE)
tests = Tests("store")


def perdure(*args, **kwargs):
    return run([PERDURE, *args], **kwargs)


def store(*args, **kwargs):
    return perdure("store", *args, **kwargs)


def session(verb, *args, **kwargs):
    return perdure("session", *verb.split(), *args, **kwargs)


def read(name):
    with open(name, "rb") as file:
        return file.read()


def write(name, value):
    with open(name, "wb") as file:
        file.write(value if isinstance(value, bytes)
                   else json.dumps(value).encode())
    return name


def good(result):
    assert (result.status, result.err) == (0, b""), result
    return result.out


def quiet(result):
    assert result.status == 0, result
    return result.out


def parsed(result):
    return json.loads(good(result))


def expect(result, status, out="", err=""):
    want = (status, out.encode(), err.encode())
    assert want == (result.status, result.out, result.err), (want, result)


def problem(*args, status):
    result = perdure(*args, "-o", "json")
    assert (result.status, result.out) == (status, b""), (args, result)
    got = json.loads(result.err)
    assert got["exit"] == status, got
    return got


def filled(name="desk.db"):
    """Three sessions, one of them with two entries. Each by a command of its
    own: what changed in the same millisecond is listed by id."""
    text = read(SESSIONS).decode()
    at = 0
    while text.find("{", at) >= 0:
        begin = text.index("{", at)
        at = json.JSONDecoder().raw_decode(text, begin)[1]
        expect(session("import", "-q", "--from", "json", "-", "--store", name,
                       stdin=text[begin:at].encode()), 0)
    return name


def talk(name="desk.db", sid="talk"):
    expect(session("import", "-q", TALK, "--store", name, "--id", sid), 0)
    return name


def message(text, role="user"):
    return {"type": "message", "role": role,
            "contents": [{"type": "text", "text": text}]}


def python_session(sid, texts=(), **state):
    if texts:
        state["in_memory"] = {"messages": [message(t) for t in texts]}
    return {"session_id": sid, "state": state}


def ids(*args):
    return quiet(session("list", *args, "-o", "raw")).decode().split("\n")[:-1]


# --- verbs and mistakes ------------------------------------------------------

@tests.test("store: help, tables and pages know the verbs")
def _():
    tables = {table["name"]: table for table in
              parsed(perdure("help", "-o", "json"))["commands"]}
    assert tables["store"]["verbs"] == VERBS
    for words in [["store"]] + [["store", verb] for verb in VERBS]:
        text = good(perdure(*words, "--help"))
        assert text == good(perdure("help", *words)), words
        assert max(map(len, text.decode().splitlines())) <= 80, text
        page = read(os.path.join(ROOT, "docs", "man", "perdure-%s.1.md"
                                 % "-".join(words))).decode()
        synopsis = page.split("## SYNOPSIS\n\n")[1].split("\n\n")[0]
        if len(words) > 1:
            assert tables[" ".join(words)]["usage"] == \
                synopsis.replace("*", ""), words


@tests.test("store: every mistake gives 2, a line and a hint")
def _():
    filled()
    general = "'perdure %s --help' shows what it takes"
    no_age = "write 90s, 15m, 12h, 30d or 2w"
    sess = ["--store", "desk.db"]
    table = [
        (["store", "info", "a", "--store", "b"],
         "STORE and --store: only one of them can be given",
         general % "store info"),
        (["store", "info"], "STORE: an argument is missing",
         "there is no data folder either: neither HOME nor XDG_DATA_HOME is "
         "set"),
        (["store", "init", "memory:"],
         "memory: such a store is gone when it is closed", "name a file"),
        (["session", "list", *sess, "--file", "x"],
         "--store and --file: only one of them can be given",
         general % "session list"),
        (["session", "list", *sess, "--folder", "x"],
         "--store and --folder: only one of them can be given",
         general % "session list"),
        (["session", "import", SESSIONS, *sess, "--folder", "x"],
         "--store and --folder: only one of them can be given",
         general % "session import"),
        (["session", "show", *sess, "--format", "json", "a"],
         "--format: is for folders", general % "session show"),
        (["session", "show", *sess, "--from", "json", "a"],
         "--from: is for files", general % "session show"),
        *[(["session", *verb, *sess, *option], "%s: is for files" % option[0],
           "what is in a store was checked when it came in")
          for verb in (["list"], ["show", "Ines"], ["export", "Ines"],
                       ["export", "--all", "a.json"], ["bag", "keys", "Ines"],
                       ["bag", "get", "Ines", "k"], ["bag", "rm", "Ines", "k"])
          for option in (["--max-depth", "9"], ["--max-bytes", "1M"],
                         ["--max-nodes", "9"], ["--bare-tokens"])],
        (["session", "list", "--file", SESSIONS, "--tenant", "t"],
         "--tenant: is for stores", general % "session list"),
        (["session", "list", "--file", SESSIONS, "--key", "t"],
         "--key: is for stores", general % "session list"),
        (["session", "list", "--file", SESSIONS, "--limit", "3"],
         "filters, --limit and --columns: are for stores",
         general % "session list"),
        (["session", "show", *sess], "ID: an argument is missing",
         "a session of a store is named by its id"),
        (["session", "bag", "get", *sess, "Ines"],
         "KEY: an argument is missing",
         "there can be several sessions: write ID KEY [POINTER]"),
        (["session", "bag", "set", *sess, "--expect", "0", "Ines", "k", "1"],
         "--expect: a revision is a number from 1 on",
         "'perdure session bag get --generation' prints it"),
        (["session", "list", *sess, "--columns", "id,size"],
         "--columns size: there is no such column",
         "choose of id, agent, kind, state, changed, created, expires, "
         "revision, commits, entries, slots, properties, inbox, lease, "
         "tenant"),
        (["session", "list", *sess, "--columns", ",".join(["id"] * 17)],
         "--columns: these are too many", "16 columns are shown at most"),
        (["session", "list", *sess, "--changed-after", "soon"],
         "--changed-after: this is no time",
         "write a date, 2026-05-06 or 2026-05-06T07:14:02Z, or how long ago: "
         "90s, 15m, 12h, 7d, 2w"),
        (["session", "list", *sess, "--property", "team"],
         "--property: '=' is missing behind its name",
         "write KEY=VALUE, as in team=garden"),
        (["session", "list", *sess, "--property", "=north"],
         "--property: its name is missing in front of '='",
         "write KEY=VALUE, as in team=garden"),
        (["session", "list", *sess, "--property", "team=" + "x" * 5000],
         "--property: no list finds a session by such a value",
         "write KEY=VALUE with a text, a number, true or false"),
        (["session", "log", *sess, "--last", "1", "--from", "2", "a"],
         "--last, --from and --turn: only one of them can be given",
         general % "session log"),
        (["session", "export", *sess], "ID: an argument is missing",
         "a session of a store is named by its id; --all takes all of them"),
        (["session", "export", *sess, "--all"], "OUT: an argument is missing",
         general % "session export"),
        (["session", "export", *sess, "--all", "a.json", "b.json"],
         "b.json: one argument too many", general % "session export"),
        (["session", "export", *sess, "--all", "-"],
         "-: its name tells no format",
         "choose one with --to: json, jsonl, msgpack, records or xml"),
        (["session", "export", *sess, "--map", "Ines"],
         "--map: is for more than one session",
         "--all takes all sessions of the store"),
        (["session", "export", "--file", SESSIONS, "--bare", "a.json"],
         "--bare: is for stores", general % "session export"),
        (["session", "import", SESSIONS, *sess, "--dry-run"],
         "--dry-run: is for folders", general % "session import"),
        (["session", "import", SESSIONS, *sess, "--drop-metadata"],
         "--drop-metadata: is for folders", "a store keeps what wrappers say"),
        (["session", "import", SESSIONS, *sess, "--format", "json"],
         "--format: is for folders", general % "session import"),
        (["session", "import", SESSIONS, "--folder", "x", "--id", "a"],
         "--id, --agent, --replace, --tenant and --key: are for stores",
         general % "session import"),
        (["session", "delete", *sess], "ID: an argument is missing",
         "--older-than AGE and --expired delete many"),
        (["session", "delete", *sess, "--expired", "a"],
         "ID: stands beside an option that deletes many",
         "name one session, or say which go by age"),
        (["session", "delete", *sess, "--expired", "--expect", "1"],
         "--expect: is for one session", general % "session delete"),
        (["session", "delete", *sess, "--older-than", "30"],
         "--older-than: this is no age", no_age),
        (["session", "delete", *sess, "--expired", "--all-tenants",
          "--tenant", "t"],
         "--tenant and --all-tenants: only one of them can be given",
         general % "session delete"),
        (["session", "trim", *sess, "a"],
         "--keep-turns or --older-than: one of them is missing",
         "say what stays: --keep-turns 100, or --older-than 30d for what "
         "goes"),
        (["session", "trim", *sess, "--keep-turns", "1", "--untimed", "a"],
         "--untimed: is for --older-than",
         "say the age, too: --older-than 30d --untimed"),
        (["session", "trim", *sess, "--older-than", "d", "a"],
         "--older-than: this is no age", no_age),
    ]
    table += [(["session", *words], "--store: the store is missing",
               "write --store URI; a bare path is SQLite")
              for words in STORE_VERBS]
    for args, line, hint in table:
        expect(perdure(*args), 2, "", "perdure: %s\nhint: %s\n" % (line, hint))
        assert problem(*args, status=2)["detail"] == line, args
    assert len(ids("--store", "desk.db")) == 3
    good(session("bag set", *sess, "--bare-tokens", "Ines", "k", "NaN"))
    assert good(session("bag get", *sess, "Ines", "k")) == b"NaN\n"


@tests.test("store: one whose folder is not there cannot be made, and says so")
def _():
    for words in [["store", "init"], ["session", "import", SESSIONS]]:
        got = problem(*words, "--store", "no/desk.db", status=3)
        assert got["detail"] == (
            "no/desk.db: there is no folder 'no'; make it first"), got
        assert "hint" not in got or got["hint"] is None, got
    os.mkdir("a")
    got = problem("store", "init", "a/b/c/desk.db", status=3)
    assert got["detail"] == \
        "a/b/c/desk.db: there is no folder 'a/b'; make it first", got


def without_rights(*args):
    """Root may do everything, so it gives that up."""
    rights = "-dac_override,-dac_read_search"
    drop = (["setpriv", "--bounding-set=" + rights, "--inh-caps=" + rights]
            if os.getuid() == 0 else [])
    return run([*drop, PERDURE, *args])


@tests.test("store: a right that is missing is told as such")
def _():
    for folder in ("open", "shut", "away"):
        os.mkdir(folder)
        good(store("init", "-q", folder + "/desk.db"))
    os.chmod("open/desk.db", 0)
    os.chmod("shut", 0o555)
    os.chmod("away", 0)
    hint = "\nhint: nothing was changed; ask whoever it belongs to\n"
    try:
        for words, line in [
                (["store", "info", "open/desk.db"],
                 "open/desk.db: you may not read it"),
                (["store", "init", "shut/new.db"],
                 "shut/new.db: you may not make a file in the folder 'shut'"),
                (["session", "import", SESSIONS, "--store", "shut/new.db"],
                 "shut/new.db: you may not make a file in the folder 'shut'"),
                (["session", "list", "--store", "away/desk.db"],
                 "away/desk.db: you may not look into the folder 'away'")]:
            expect(without_rights(*words), 4, "",
                   "perdure: " + line + hint)
        os.chmod("open/desk.db", 0o400)
        expect(without_rights("store", "vacuum", "open/desk.db"), 4, "",
               "perdure: open/desk.db: you may read it, but not write it"
               + hint)
    finally:
        for folder in ("open", "shut", "away"):
            os.chmod(folder, 0o755)


@tests.test("store: a URI without its scheme makes no file")
def _():
    for name in ("a.db?mode=rwc", "a.db?key=k", "a.db?sums=off"):
        for words in (["store", "init", name], ["store", "info", name],
                      ["session", "import", SESSIONS, "--store", name]):
            got = problem(*words, status=6)
            assert got["reason"] == "bare_path", got
            assert got["hint"].endswith('sqlite:"%s"' % name), got
    assert os.listdir() == []
    good(store("init", "-q", "a.db"))
    os.rename("a.db", "b?mode=x")
    good(store("info", "b?mode=x"))


@tests.test("store: a name that no store can have is not told to be made")
def _():
    filled()
    for name in ("none/a.db", "desk.db-wal", "a-unfinished"):
        if os.path.exists(name):
            os.remove(name)
        got = problem("store", "info", name, status=3)
        assert got["hint"] == "check the name", got


@tests.test("store: a group without a verb lists them")
def _():
    for words, verbs in [
            (["store"], "init, info, verify, vacuum, copy, backup and migrate"),
            (["session", "bag"], "keys, get, set and rm"),
            (["-q", "-o", "table", "session"], None)]:
        result = perdure(*words)
        assert result.status == 2 and result.err.startswith(
            b"perdure: VERB: an argument is missing\n"), result
        if verbs:
            assert result.err.endswith(b"\nhint: choose of %s\n"
                                       % verbs.encode()), result


@tests.test("store: what is not there or no store is a failure everywhere")
def _():
    filled()
    write("text", b"no database at all, but long enough to be looked at\n" * 99)
    calls = ([["store", verb] for verb in VERBS
              if verb not in ["init", "copy", "backup"]]
             + [["session", *words] for words in
                [["list"], ["show", "a"], ["bag", "keys", "a"],
                 ["bag", "set", "a", "k", "1"], ["export", "a"]]
                + STORE_VERBS])
    for words in calls:
        got = problem(*words, "--store", "none.db", status=3)
        assert got["detail"] == "none.db: there is no such store", got
        assert got["hint"] == \
            "check the name; 'perdure store init none.db' makes one", got
        got = problem(*words, "--store", "text", status=6)
        assert got["reason"] == "not_a_store", (words, got)
        if words[0] == "session" and words[1] != "list":
            got = problem(*words, "--store", "desk.db", status=3)
            assert got["detail"] == \
                "desk.db: session 'a' is not in the store", (words, got)
            assert got["hint"] == ("'perdure session list --store desk.db' "
                                   "shows what is there"), got
    got = problem("store", "init", "text", status=6)
    assert got["reason"] == "not_a_store", got
    got = problem("store", "info", "redis:x", status=6)
    assert got["reason"] == "bad_uri", got
    assert not os.path.exists("none.db")
    assert len(read("text")) == 99 * 52


# --- init, info --------------------------------------------------------------

@tests.test("init: makes a store for the user alone, and refuses one")
def _():
    expect(store("init", "desk.db"), 0, "desk.db: a new store, sqlite, "
           "schema 3\n")
    assert stat.S_IMODE(os.stat("desk.db").st_mode) == 0o600
    before = read("desk.db")
    expect(store("init", "desk.db"), 5, "",
           "perdure: desk.db: there is a store already\nhint: nothing was "
           "changed; 'perdure store info' shows what it is\n")
    assert read("desk.db") == before
    assert parsed(store("init", "--store", "sqlite:two.db", "-o", "json")) == {
        "store": "sqlite:two.db", "backend": "sqlite", "schema": 3,
        "keyed": False}
    expect(store("init", "-q", "50%?&=.db"), 0)
    assert os.path.exists("50%?&=.db")
    assert parsed(store("info", "50%?&=.db", "-o", "json"))["schema"] == 3


@tests.test("init: with a key, all need it")
def _():
    write("key", b"k" * 32)
    os.chmod("key", 0o600)
    expect(store("init", "--key", "key", "desk.db"), 0,
           "desk.db: a new store, sqlite, schema 3, its digests have a key\n")
    assert b"with a key: they show tampering" in \
        good(store("info", "desk.db", "--key", "key"))
    good(store("info", "sqlite:desk.db?key=key"))
    expect(session("import", "-q", SESSIONS, "--store", "desk.db", "--key",
                   "key"), 0)
    assert len(ids("--store", "desk.db", "--key", "key")) == 3
    got = problem("store", "info", "desk.db", status=4)
    assert (got["reason"], got["hint"]) == (
        "wrong_key", "--key FILE names the file with its key"), got
    good(store("init", "plain.db"))
    got = problem("store", "info", "plain.db", "--key", "key", status=4)
    assert got["reason"] == "wrong_key" and got["hint"].endswith(
        "a store without one is named without --key"), got
    for words in (["info", "desk.db"], ["init", "new.db"]):
        got = problem("store", *words, "--key", "nokey", status=3)
        assert got["detail"] == ("%s: there is no such file as 'nokey' for its "
                                 "key" % words[1]), got
        assert got["hint"] == "check the name that --key gives", got
    assert not os.path.exists("new.db")
    for words, name, hint in [
            (["plain.db", "desk.db"], "desk.db",
             "--to-key FILE names the file with its key"),
            (["desk.db", "plain.db"], "desk.db",
             "--key FILE names the file with its key"),
            (["--key", "key", "plain.db", "desk.db"], "plain.db",
             "--key names the file with its key; a store without one is named "
             "without --key")]:
        got = problem("store", "copy", *words, status=4)
        assert got["detail"].startswith(name + ": "), got
        assert got["hint"] == hint, got
    os.chmod("key", 0o644)
    assert problem("store", "info", "desk.db", "--key", "key",
                   status=4)["reason"] == "unsafe_file"


@tests.test("default: the store in the data folder, if none is named")
def _():
    home = os.path.join(os.getcwd(), "home")
    path = os.path.join(home, ".local/share/perdure/perdure.db")
    env = {"HOME": home}
    os.mkdir(home)
    got = session("list", env=env)
    expect(got, 2, "", "perdure: --store, --file or --folder: one of them is "
           "missing\nhint: name a place: --store URI, --file FILE or --folder "
           "DIR\n")
    expect(store("info", env=env), 3, "",
           "perdure: %s: there is no such store\nhint: check the name; "
           "'perdure store init' makes one\n" % path)
    expect(store("init", env=env), 0, path + ": a new store, sqlite, schema "
           "3\n")
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
    expect(session("import", SESSIONS, env=env), 0, "",
           "perdure: %s: 3 sessions written, 2 entries\n" % path)
    assert good(session("list", env=env)).endswith(
        b"3 sessions of %s\n" % path.encode())
    assert good(session("show", "Ines", env=env)).startswith(path.encode())
    assert good(session("verify", "Ines", env=env)).startswith(path.encode())
    assert good(store("verify", env=env)).startswith(path.encode())
    write("a.json", python_session("a"))
    result = session("show", "a.json", env=env)
    expect(result, 3, "", "perdure: %s: session 'a.json' is not in the store\n"
           "hint: write --file or --folder in front of a.json\n" % path)
    other = {"HOME": home, "XDG_DATA_HOME": os.path.join(home, "data")}
    good(store("init", env=other))
    assert os.path.exists("home/data/perdure/perdure.db")
    assert quiet(session("list", "-o", "raw", env=other)) == b""
    relative = {"HOME": home, "XDG_DATA_HOME": "data"}
    assert session("list", env=relative).out == session("list", env=env).out


@tests.test("info: sizes, log and free room")
def _():
    filled()
    expect(store("info", "desk.db"), 0, """\
desk.db
backend   sqlite, schema version 3
file      %s, 0 bytes of it free to be used again
log       empty: the file stands alone
digests   without a key: they show damage, not tampering
""" % ("%.1f kB" % (int(os.path.getsize("desk.db") / 100) / 10)))
    got = parsed(store("info", "desk.db", "-o", "json"))
    assert got == {"store": "desk.db", "backend": "sqlite", "schema": 3,
                   "keyed": False, "fileBytes": os.path.getsize("desk.db"),
                   "freeBytes": 0, "logBytes": 0, "standsAlone": True,
                   "unseen": 0}, got
    assert good(store("info", "memory:")).startswith(
        b"memory:\nbackend   memory\ndigests")


@tests.test("info: a store that somebody has open does not stand alone")
def _():
    filled()
    reader = subprocess.Popen(
        [PERDURE, "session", "import", "-q", "-", "--from", "jsonl",
         "--store", "desk.db"], stdin=subprocess.PIPE, env=environment())
    reader.stdin.write(json.dumps(python_session("new", ["x"])).encode()
                       + b"\n")
    reader.stdin.flush()
    for _ in range(200):
        if "new" in ids("--store", "desk.db"):
            break
        time.sleep(0.05)
    got = parsed(store("info", "desk.db", "-o", "json"))
    assert got["logBytes"] > 0 and not got["standsAlone"], got
    assert b"it does not stand alone" in good(store("info", "desk.db"))
    reader.stdin.close()
    assert reader.wait() == 0
    assert parsed(store("info", "desk.db", "-o", "json"))["standsAlone"]


# --- verify ------------------------------------------------------------------

def flip(name, text):
    data = bytearray(read(name))
    data[data.index(text)] ^= 1
    write(name, bytes(data))


@tests.test("verify: sound gives 0, damage rows and 1")
def _():
    talk(filled())
    expect(store("verify", "desk.db"), 0,
           "desk.db: sound; 4 sessions, 11 entries, 11 other rows\n")
    assert parsed(store("verify", "desk.db", "-o", "json")) == {
        "store": "desk.db", "findings": [], "sessions": 4, "entries": 11,
        "rows": 11, "bad": 0}
    expect(store("verify", "-q", "desk.db"), 0)
    expect(store("verify", "desk.db", "-o", "raw"), 0)
    expect(session("verify", "--store", "desk.db", "talk"), 0,
           "desk.db, session 'talk': sound; 9 entries, 5 other rows\n")
    flip("desk.db", b"Which beds are too dry?")
    result = store("verify", "desk.db")
    lines = result.out.decode().splitlines()
    assert result.status == 1 and result.err == b"", result
    assert re.match("TABLE +ROW +WHAT$", lines[0]), lines
    assert any(re.match(r"entries +session 'talk' of tenant 'default'", line)
               for line in lines), lines
    assert re.match("desk.db: damaged, %d findings; 4 sessions, "
                    % (len(lines) - 2), lines[-1]), lines
    result = store("verify", "desk.db", "-o", "json")
    got = json.loads(result.out)
    assert result.status == 1 and got["bad"] == len(got["findings"]) > 0, got
    assert set(got["findings"][0]) == {"table", "row", "what"}, got
    raw = store("verify", "desk.db", "-o", "raw")
    assert raw.status == 1, raw
    assert [line.split("\t") for line in raw.out.decode().splitlines()] == [
        [f["table"], f["row"], f["what"]] for f in got["findings"]], raw
    result = session("verify", "--store", "desk.db", "talk", "-o", "json")
    got = json.loads(result.out)
    assert (result.status, got["session"], got["tenant"]) == (
        1, "talk", "default"), result
    got = problem("session", "log", "--store", "desk.db", "talk", status=9)
    assert got["hint"] == \
        "'perdure store verify' names every row that is damaged", got


@tests.test("sums=off: rescues what a shell wrote that was open too long")
def _():
    filled()
    shell = sqlite3.connect("desk.db", isolation_level=None)
    shell.execute("BEGIN")
    shell.execute("SELECT count(*) FROM log").fetchall()
    talk("desk.db")
    assert os.path.getsize("desk.db-wal") > 0
    shell.execute("COMMIT")
    shell.close()  # as the last one it copies the log, without sums
    assert os.path.getsize("desk.db") > 0
    assert not os.path.exists("desk.db-wal")
    assert store("verify", "desk.db").status == 1
    problem("session", "list", "--store", "desk.db", status=9)
    problem("store", "copy", "sqlite:desk.db?mode=rw&sums=off", "new.db",
            status=6)
    assert good(store("copy", "sqlite:desk.db?mode=ro&sums=off", "new.db")) \
        .startswith(b"new.db: 4 sessions copied; 11 entries, ")
    expect(store("verify", "new.db"), 0,
           "new.db: sound; 4 sessions, 11 entries, 11 other rows\n")


@tests.test("verify: a store that cannot be opened is damaged as a whole")
def _():
    filled()
    data = bytearray(read("desk.db"))
    data[200] ^= 1
    write("desk.db", bytes(data))
    result = store("verify", "desk.db")
    assert result.status == 1 and result.err == b"", result
    assert b"\nfile   all  " in result.out, result
    assert problem("store", "info", "desk.db", status=9)["code"] == "CORRUPT"


# --- copy ----------------------------------------------------------------------

@tests.test("copy: brings every session into another store, and goes on")
def _():
    filled()
    expect(store("copy", "desk.db", "two.db", "-q"), 0)
    both = [[{**json.loads(line), "epoch": 0} for line in
             good(session("list", "--store", name, "-o", "jsonl")).splitlines()]
            for name in ("desk.db", "two.db")]
    assert both[0] == both[1] and len(both[0]) == 3, both
    for name in ids("--store", "desk.db"):
        assert (good(session("export", "-q", "--store", "two.db", name)) ==
                good(session("export", "-q", "--store", "desk.db", name)))
    count = len(ids("--store", "desk.db"))
    expect(store("copy", "desk.db", "two.db"), 0,
           "two.db: 0 sessions copied, %d there already; 0 entries, 0 bytes\n"
           % count)
    good(session("bag", "set", "--store", "desk.db", "Ines", "k", "1"))
    got = problem("store", "copy", "desk.db", "two.db", status=5)
    assert got["reason"] == "session_exists", got
    got = parsed(store("copy", "-y", "desk.db", "two.db", "-o", "json"))
    assert (got["sessions"], got["replaced"], got["same"]) == (
        1, 1, count - 1), got
    good(session("bag", "set", "--store", "two.db", "Ines", "k", "2"))
    got = problem("store", "copy", "-y", "desk.db", "two.db", status=5)
    assert got["reason"] == "ahead_of_origin", got
    assert "--skip-others" in got["hint"], got
    good(session("bag", "set", "--store", "desk.db", "tomato-house", "k", "1"))
    result = store("copy", "-y", "--skip-others", "desk.db", "two.db")
    assert result.status == 1, result
    assert result.out.startswith(
        b"two.db: 1 session copied, 1 of them replaced, "
        b"1 left out for what stands there, "), result
    assert result.err.startswith(
        b"warning: session 'Ines' of tenant 'default' was left out: "), result
    got = json.loads(store("copy", "-y", "--skip-others", "desk.db", "two.db",
                           "-o", "json").out)
    assert got["others"] == 1 and len(got["leftOut"]) == 1, got
    assert got["leftOut"][0]["session"] == "Ines", got
    assert got["leftOut"][0]["reason"] == "ahead_of_origin", got
    assert good(session("bag", "get", "--store", "two.db", "Ines",
                        "k")) == b"2\n"
    assert good(store("verify", "two.db")).startswith(b"two.db: sound")


@tests.test("copy: of one session, of one tenant, and with other keys")
def _():
    filled()
    write("key", b"k" * 40)
    os.chmod("key", 0o600)
    got = parsed(store("copy", "--id", "Ines", "--to-key", "key", "desk.db",
                       "two.db", "-o", "json"))
    assert got["sessions"] == 1, got
    assert ids("--store", "two.db", "--key", "key") == ["Ines"]
    assert problem("store", "copy", "--id", "nobody", "desk.db", "three.db",
                   status=3)["reason"] == "no_session"
    got = parsed(store("copy", "--tenant", "nobody", "desk.db", "three.db",
                       "-o", "json"))
    assert got["sessions"] == 0, got
    expect(store("copy", "-q", "--key", "key", "two.db", "three.db"), 0)
    assert ids("--store", "three.db") == ["Ines"]
    assert problem("store", "copy", "none.db", "three.db",
                   status=3)["reason"] == "no_store"
    assert problem("store", "copy", "desk.db", "none/three.db",
                   status=3)["reason"] == "no_parent"


@tests.test("copy: leaves out what is damaged, if told, and says so")
def _():
    talk(filled())
    flip("desk.db", b"Which beds are too dry?")
    assert problem("store", "copy", "desk.db", "two.db",
                   status=9)["code"] == "CORRUPT"
    result = store("copy", "--skip-damaged", "desk.db", "two.db")
    assert result.status == 1 and b" damaged and left out" in result.out, result
    assert b"warning: session '" in result.err, result
    assert len(ids("--store", "two.db")) < 4
    assert good(store("verify", "two.db")).startswith(b"two.db: sound")


@tests.test("copy: damage is told of the store that has it")
def _():
    filled()
    expect(store("copy", "-q", "desk.db", "two.db"), 0)
    flip("two.db", b"tomato-house")
    for more in ([], ["-y"], ["--skip-damaged"], ["--id", "tomato-house"]):
        got = problem("store", "copy", *more, "desk.db", "two.db", status=9)
        assert got["code"] == "CORRUPT", got
        assert got["detail"].startswith("two.db: "), got
    got = problem("store", "copy", "two.db", "desk.db", status=9)
    assert got["detail"].startswith("two.db: "), got


@tests.test("copy: a damaged index is passed by, if told")
def _():
    filled()
    with sqlite3.connect("file:desk.db?mode=ro", uri=True) as db:
        page = db.execute("SELECT rootpage FROM sqlite_schema WHERE "
                          "name='sessions_by_id'").fetchone()[0]
    with open("desk.db", "r+b") as file:
        file.seek((page - 1) * 4096 + 2000)
        file.write(b"wrong")
    got = problem("store", "copy", "--skip-damaged", "desk.db", "two.db",
                  status=9)
    assert "'sqlite:FROM?mode=ro&sums=off'" in got["hint"], got
    good(store("copy", "--skip-damaged", "sqlite:desk.db?mode=ro&sums=off",
               "three.db"))
    assert len(ids("--store", "three.db")) == 3
    assert good(store("verify", "three.db")).startswith(b"three.db: sound")


@tests.test("copy: a store is not copied into itself")
def _():
    filled()
    os.symlink("desk.db", "link.db")
    for to in ("desk.db", "./desk.db", "link.db", "sqlite:desk.db?mode=rw"):
        for more in ([], ["--yes"]):
            got = problem("store", "copy", *more, "desk.db", to, status=2)
            assert got["detail"] == "TO: is the store that is read", got
    assert len(ids("--store", "desk.db")) == 3


@tests.test("copy: from a store of the first version")
def _():
    shutil.copy(os.path.join(OLD, "version-1.db"), "old.db")
    os.chmod("old.db", 0o600)
    good(store("copy", "old.db", "new.db"))
    assert ids("--store", "new.db") == ids("--store", "old.db")
    info = parsed(store("info", "new.db", "-o", "json"))
    assert info["schema"] == 3, info


# --- backup ------------------------------------------------------------------

@tests.test("backup: makes a store of its own, and replaces only if told")
def _():
    filled()
    text = good(store("backup", "desk.db", "copy.db")).decode()
    assert re.fullmatch(r"copy\.db: a copy of desk\.db, [\d.]+ kB in [\d.]+ s\n",
                        text), text
    assert stat.S_IMODE(os.stat("copy.db").st_mode) == 0o600
    assert sorted(os.listdir(".")) == sorted(
        ["copy.db", "desk.db", "desk.db-lock", "desk.db-shm", "desk.db-wal"])
    before = ids("--store", "desk.db")
    assert ids("--store", "copy.db") == before
    talk("copy.db")
    assert ids("--store", "desk.db") == before
    result = store("backup", "desk.db", "copy.db")
    assert (result.status, result.out) == (5, b""), result
    assert result.err.decode().endswith("hint: --yes replaces it\n"), result
    got = problem("store", "backup", "desk.db", "copy.db", status=5)
    assert got["reason"] == "file_exists", got
    assert len(ids("--store", "copy.db")) == len(before) + 1
    got = parsed(store("backup", "desk.db", "copy.db", "--yes", "-o", "json"))
    assert got.pop("milliseconds") >= 0
    assert got == {"store": "desk.db", "backup": "copy.db", "steps": 1,
                   "bytes": os.path.getsize("copy.db")}, got
    assert ids("--store", "copy.db") == before
    assert good(store("verify", "copy.db")).startswith(b"copy.db: sound")
    expect(store("backup", "-q", "-y", "desk.db", "copy.db"), 0)


@tests.test("backup: has what lies in the log, of a store in use")
def _():
    filled()
    writer = subprocess.Popen(
        [sys.executable, "-c",
         "import sqlite3, sys\n"
         "db = sqlite3.connect('file:desk.db?mode=ro', uri=True)\n"
         "db.execute('BEGIN'); db.execute('SELECT * FROM log').fetchall()\n"
         "print('ready', flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())
    try:
        assert writer.stdout.readline() == b"ready\n"
        talk()  # stays in the log, which somebody reads
        assert os.path.getsize("desk.db-wal") > 0
        good(store("backup", "desk.db", "copy.db"))
        got = problem("store", "backup", "copy.db", "desk.db", "--yes",
                      status=5)
        assert got["reason"] == "store_locked", got
    finally:
        writer.communicate()
    assert "talk" in ids("--store", "copy.db")
    assert not os.path.exists("copy.db-unfinished")


@tests.test("backup: every mistake is told, and leaves all as it was")
def _():
    filled()
    write("text", b"of somebody")
    os.mkdir("folder")
    os.symlink("desk.db", "link")
    write("lone.db-wal", b"of another store")
    table = [
        (["desk.db", "folder"], 6, "bad_target"),
        (["desk.db", "desk.db", "--yes"], 6, "bad_target"),
        (["desk.db", "link", "--yes"], 6, "bad_target"),
        (["desk.db", "x.db-wal"], 6, "bad_target"),
        (["memory:", "x.db"], 2, "no_backup"),
        (["desk.db", "sqlite:x.db"], 2, "bad_value"),
        (["desk.db", "-"], 2, "bad_value"),
        (["desk.db"], 2, "missing_argument"),
        (["nothing.db", "x.db"], 3, "no_store"),
        (["desk.db", "nowhere/x.db"], 3, "no_folder"),
        (["desk.db", "lone.db"], 4, "unsafe_file"),
        (["desk.db", "text"], 5, "file_exists"),
    ]
    for args, status, reason in table:
        got = problem("store", "backup", *args, status=status)
        assert got["reason"] == reason and got["hint"], (args, got)
    assert read("text") == b"of somebody"
    assert not [name for name in os.listdir(".") if "x.db" in name]
    assert os.listdir("folder") == []
    flip("desk.db", b"Hello" if b"Hello" in read("desk.db") else b"session")
    got = problem("store", "backup", "desk.db", "x.db", status=9)
    assert got["reason"] == "store_damaged", got
    assert not os.path.exists("x.db")


@tests.test("backup: a store of version 1 and one with a key are copied as they are")
def _():
    shutil.copy(os.path.join(OLD, "version-1.db"), "old.db")
    shutil.copy(os.path.join(OLD, "version-2-keyed.db"), "keyed.db")
    shutil.copy(os.path.join(OLD, "key"), "key")
    for name in ["old.db", "keyed.db", "key"]:
        os.chmod(name, 0o600)
    good(store("backup", "old.db", "old-copy.db"))
    assert parsed(store("info", "old-copy.db", "-o", "json"))["schema"] == 1
    assert good(store("migrate", "old-copy.db")).endswith(b"version 1 to 3\n")
    assert problem("store", "backup", "keyed.db", "x.db",
                   status=4)["reason"] == "wrong_key"
    good(store("backup", "keyed.db", "copy.db", "--key", "key"))
    assert good(store("verify", "copy.db", "--key", "key")).startswith(
        b"copy.db: sound")


def interrupted_backup(number):
    """Backs up a large store, and sends the signal when it has begun."""
    for _ in range(10):  # it may be done before
        process = subprocess.Popen(
            [PERDURE, "store", "backup", "large.db", "copy.db"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        while process.poll() is None and not os.path.exists(
                "copy.db-unfinished"):
            time.sleep(0.0002)
        process.send_signal(number)
        process.communicate()
        if process.returncode != 0:
            return process.returncode
        os.remove("copy.db")
    raise AssertionError("it was always done before the signal came")


@tests.test("backup: an interrupt leaves nothing, a kill what the next one clears")
def _():
    write("many.json", [python_session("s%d" % i, ["x" * 4000000])
                        for i in range(15)])
    expect(session("import", "-q", "many.json", "--store", "large.db"), 0)
    for number in [signal.SIGINT, signal.SIGTERM]:
        assert interrupted_backup(number) == 128 + number
        assert not os.path.exists("copy.db")
        assert not os.path.exists("copy.db-unfinished")
    assert interrupted_backup(signal.SIGKILL) == -signal.SIGKILL
    assert not os.path.exists("copy.db")
    assert os.path.exists("copy.db-unfinished")
    good(store("backup", "large.db", "copy.db"))
    assert not os.path.exists("copy.db-unfinished")
    assert good(store("verify", "copy.db")).startswith(b"copy.db: sound")


# --- vacuum, migrate ---------------------------------------------------------

@tests.test("vacuum: gives back what deleted sessions had")
def _():
    write("many.json", [python_session("s%d" % i, ["x" * 500] * 40)
                        for i in range(40)])
    expect(session("import", "many.json", "--store", "desk.db"), 0, "",
           "perdure: desk.db: 40 sessions written, 1,600 entries\n")
    before = os.path.getsize("desk.db")
    expect(session("delete", "--store", "desk.db", "--older-than", "0s",
                   "--yes"), 0,
           "desk.db: 40 sessions deleted, with 1,600 entries\n")
    info = parsed(store("info", "desk.db", "-o", "json"))
    assert info["freeBytes"] > before / 2, info
    got = parsed(store("vacuum", "desk.db", "-o", "json"))
    after = os.path.getsize("desk.db")
    assert got["afterBytes"] == after < before / 2, (got, after, before)
    assert got["beforeBytes"] == before and got["steps"] > 0, got
    assert got["sweptSessions"] == 0 and got["unseen"] == 0, got
    text = good(store("vacuum", "desk.db")).decode()
    assert re.fullmatch(
        r"desk\.db: 0 bytes given back; the file has [\d.]+ kB, 0 bytes of it "
        r"free\n\d+ steps?, the longest held the writer lock for [\d.]+ ms\n",
        text), text
    expect(store("vacuum", "-q", "desk.db"), 0)
    assert problem("store", "vacuum", "memory:",
                   status=2)["reason"] == "no_vacuum"
    assert good(store("verify", "desk.db")).startswith(b"desk.db: sound")


@tests.test("vacuum: tells of an import that was killed, and leaves it its time")
def _():
    # More than one commit, and the end never comes.
    text = json.dumps(python_session("big", ["x" * 4000] * 3000))
    reader = subprocess.Popen(
        [PERDURE, "session", "import", "-q", "-", "--from", "json", "--store",
         "desk.db"], stdin=subprocess.PIPE, env=environment())
    reader.stdin.write(text[:-20000].encode())
    reader.stdin.flush()
    unseen = 0
    for _ in range(200):
        result = store("info", "desk.db", "-o", "json")
        unseen = json.loads(result.out)["unseen"] if result.status == 0 else 0
        if unseen:
            break
        time.sleep(0.05)
    reader.send_signal(signal.SIGKILL)
    reader.wait()
    reader.stdin.close()
    assert unseen == 1, unseen
    assert b"1 session being imported" in good(store("info", "desk.db"))
    assert ids("--store", "desk.db") == []
    got = parsed(store("vacuum", "desk.db", "-o", "json"))
    assert (got["sweptSessions"], got["unseen"]) == (0, 1), got
    assert good(store("vacuum", "desk.db")).startswith(
        b"1 session is being imported; if that was given up, a later vacuum "
        b"clears it\ndesk.db: ")
    assert good(store("verify", "desk.db")).startswith(b"desk.db: sound")


@tests.test("migrate: from the first version to this one, once")
def _():
    shutil.copy(os.path.join(OLD, "version-1.db"), "desk.db")
    os.chmod("desk.db", 0o600)
    before = read("desk.db")
    expect(store("migrate", "--dry-run", "desk.db"), 0,
           "desk.db: schema version 1 would be migrated, nothing was "
           "changed\n")
    assert parsed(store("migrate", "-n", "desk.db", "-o", "json")) == {
        "store": "desk.db", "dryRun": True, "needed": True, "from": 1}
    assert read("desk.db") == before
    assert (b"\nversion   is read, not written; 'perdure store migrate' "
            b"brings it to version 3\n") in good(store("info", "desk.db"))
    got = problem("session", "bag", "set", "--store", "desk.db", "plain-1",
                  "k", "1", status=6)
    assert got["reason"] == "store_version", got
    assert ids("--store", "desk.db") == ["plain-1"]
    expect(store("migrate", "desk.db"), 0,
           "desk.db: migrated from schema version 1 to 3\n")
    expect(store("migrate", "desk.db"), 0,
           "desk.db: schema version 3, nothing to do\n")
    assert parsed(store("migrate", "-o", "json", "desk.db")) == {
        "store": "desk.db", "dryRun": False, "changed": False, "from": 3,
        "to": 3}
    expect(store("migrate", "-n", "desk.db"), 0,
           "desk.db: schema version 3, nothing to do\n")
    expect(session("bag set", "--store", "desk.db", "plain-1", "k", "1"), 0,
           "+ /k  1\ndesk.db, session 'plain-1': written\nrevision 2\n")
    assert good(store("verify", "desk.db")).startswith(b"desk.db: sound")


# --- list --------------------------------------------------------------------

@tests.test("list: heads in a table, as objects, as ids")
def _():
    filled()
    out = good(session("list", "--store", "desk.db")).decode()
    assert re.fullmatch("""\
ID                KIND    STATE  CHANGED               ENTRIES
telegram:123:456  python  idle   %s        0
Ines              python  idle   %s        0
tomato-house      python  idle   %s        2
3 sessions of desk.db
""" % (TIME, TIME, TIME), out), out
    whole = parsed(session("list", "--store", "desk.db", "-o", "json"))
    assert set(whole) == {"store", "tenant", "entries", "sessions"}, whole
    assert (whole["store"], whole["tenant"], whole["sessions"]) == (
        "desk.db", "default", 3), whole
    last = whole["entries"][-1]
    assert re.fullmatch(r"[\d-]+T[\d:.]+Z", last.pop("created")), whole
    assert re.fullmatch(r"[\d-]+T[\d:.]+Z", last.pop("changed")), whole
    assert last == {
        "entry": "session", "id": "tomato-house", "kind": "python",
        "state": "idle", "revision": 1, "commits": 1, "epoch": 1,
        "entries": 2, "firstEntry": 1, "slots": 2, "completions": 0,
        "journal": 0, "stream": 0, "inbox": 0, "properties": 0}, last
    lines = good(session("list", "--store", "desk.db", "-o", "jsonl"))
    assert [json.loads(line)["id"] for line in lines.splitlines()] == [
        "telegram:123:456", "Ines", "tomato-house"]
    expect(session("list", "--store", "desk.db", "-o", "raw"), 0,
           "telegram:123:456\nInes\ntomato-house\n")
    expect(session("list", "-q", "--store", "desk.db", "-c", "slots,id"), 0,
           "SLOTS  ID\n    0  telegram:123:456\n    1  Ines\n"
           "    2  tomato-house\n")
    expect(session("list", "--store", "desk.db", "--tenant", "none"), 0,
           "0 sessions of tenant 'none' in desk.db\n")
    assert parsed(session("list", "--store", "desk.db", "--tenant", "none",
                          "-o", "json"))["entries"] == []


@tests.test("list: raw ids are ids, whatever stands in others")
def _():
    filled()
    for sid in ("x\nInes", "Ines\r", "a\tInes", "b\x85Ines", "c\u2028Ines",
                "d\x7f", "e\x1b[7m"):
        write("a.json", python_session(sid))
        quiet(session("import", "a.json", "--store", "desk.db"))
    write("a.json", python_session("\u00a0 \\n \u2027 é"))
    quiet(session("import", "a.json", "--store", "desk.db"))
    for more, tenant in ([], ""), (["--all-tenants"], "default\t"):
        result = session("list", "--store", "desk.db", "-q", "-o", "raw", *more)
        assert result.status == 1, result
        lines = result.out.decode().split("\n")
        assert sorted(lines) == sorted([""] + [
            tenant + sid for sid in ("Ines", "telegram:123:456", "tomato-house",
                                     "\u00a0 \\n \u2027 é")]), lines
        warnings = result.err.decode().splitlines()
        assert len(warnings) == 7 and "\x1b" not in result.err.decode()
        assert ("warning: session 'x\\nInes' was left out: its name does not "
                "fit into a line; -o jsonl shows it") in warnings, warnings
    first = session("list", "--store", "desk.db", "-o", "raw", "-l", "2")
    assert first.status == 1 and len(first.out.splitlines()) == 2, first
    got = good(session("list", "--store", "desk.db", "-o", "jsonl"))
    assert len(got.splitlines()) == 11


@tests.test("list: columns of all that a head has")
def _():
    shutil.copy(os.path.join(OLD, "version-1.db"), "desk.db")
    os.chmod("desk.db", 0o600)
    args = ["--store", "desk.db", "--tenant", "acme"]
    expect(session("list", *args, "-q", "--columns",
                   "id,agent,state,expires,lease,inbox,properties,commits"), 0,
           "ID                   AGENT    STATE    EXPIRES               "
           "LEASE     INBOX  PROPERTIES  COMMITS\n"
           "@dafx-weather@paris  weather  running  2026-01-02T00:00:00Z  "
           "worker 1      2           2        1\n")
    every = ("id,agent,kind,state,changed,created,expires,revision,commits,"
             "entries,slots,properties,inbox,lease")
    head = good(session("list", *args, "-q", "-c", every)).splitlines()[0]
    assert head.decode().lower().split() == every.split(","), head
    got = parsed(session("list", *args, "-o", "json"))["entries"][0]
    assert got["lease"] == {"owner": "worker 1", "fence": 3,
                            "until": "2026-01-01T00:00:30Z"}, got
    assert got["expires"] == "2026-01-02T00:00:00Z", got
    out = run_on_terminal([PERDURE, "session", "list", *args], columns=60).out
    lines = out.decode().splitlines()
    assert max(map(len, lines)) <= 100, lines


@tests.test("list: pages go on where they ended")
def _():
    write("many.json", [python_session("s%03d" % i) for i in range(455)])
    expect(session("import", "-q", "many.json", "--store", "desk.db"), 0)
    want = ["s%03d" % i for i in reversed(range(455))]
    assert ids("--store", "desk.db") == want
    assert ids("--store", "desk.db", "--limit", "203") == want[:203]
    assert sorted(ids("--store", "desk.db", "--all")) == sorted(want)
    got, cursor = [], []
    for limit in (1, 199, 200, 55):
        page = parsed(session("list", "--store", "desk.db", "-l", str(limit),
                              "-o", "json", *cursor))
        got += [entry["id"] for entry in page["entries"]]
        assert ("next" in page) == (len(got) < 455), page
        cursor = ["--after", page.get("next", "")]
    assert sorted(got) == sorted(want) and len(got) == 455
    text = good(session("list", "--store", "desk.db", "-l", "2")).decode()
    found = re.search("\n2 sessions and more of desk.db\n"
                      r"to go on: --after ([\w-]+)\n$", text)
    assert found, text
    last = good(session("list", "--store", "desk.db", "-l", "2", "-o",
                        "jsonl")).splitlines()[-1]
    assert json.loads(last) == {"entry": "more", "next": found[1]}, last
    got = problem("session", "list", "--store", "desk.db", "--state", "idle",
                  "--after", found[1], status=6)
    assert got["reason"] == "bad_cursor", got
    assert got["hint"].startswith("a cursor goes on with the list"), got


@tests.test("list: what a limit leaves out is told, wherever it is printed")
def _():
    write("many.json", [python_session("s%03d" % i) for i in range(120)])
    expect(session("import", "-q", "many.json", "--store", "desk.db"), 0)
    listed = lambda *args: session("list", "--store", "desk.db", *args)
    for quiet_too in [], ["-q"]:
        assert len(good(listed("-o", "raw", *quiet_too)).split()) == 120
    result = listed("-q")
    assert len(result.out.splitlines()) == 51, result
    found = re.fullmatch(r"perdure: 50 sessions and more; to go on: --after "
                         r"([\w-]+)\n", result.err.decode())
    assert found, result
    assert len(good(listed("-q", "--after", found[1], "-o", "raw")).split()) \
        == 70
    result = listed("-o", "raw", "-l", "1")
    assert result.out == b"s119\n" and result.err.startswith(
        b"perdure: 1 session and more; to go on: --after "), result
    for args in (["-q", "-l", "50"], ["-q", "-o", "raw", "-l", "50"],
                 ["-q", "-a"], ["-o", "jsonl"], ["-l", "50"]):
        good(listed(*args))
    expect(listed("--limit", "2", "--all"), 2, "", "perdure: --limit and --all: "
           "only one of them can be given\nhint: 'perdure session list --help' "
           "shows what it takes\n")


@tests.test("list: of all tenants, and whose an empty list is")
def _():
    filled()
    write("a.json", python_session("a"))
    for tenant in ("acme", "zoo"):
        quiet(session("import", "a.json", "--store", "desk.db", "--tenant",
                      tenant, "--agent", tenant[0]))
    listed = lambda *args: good(session("list", "--store", "desk.db", *args))
    rows = listed("--all-tenants").decode().splitlines()
    assert rows[0].split()[:2] == ["TENANT", "ID"], rows
    assert [row.split()[:2] for row in rows[1:-1]] == [
        ["acme", "a"], ["default", "Ines"], ["default", "telegram:123:456"],
        ["default", "tomato-house"], ["zoo", "a"]], rows
    assert rows[-1] == "5 sessions of all tenants in desk.db", rows
    assert listed("--all-tenants", "-o", "raw").splitlines()[0] == b"acme\ta"
    got = json.loads(listed("--all-tenants", "-o", "json"))
    assert "tenant" not in got and got["entries"][4]["tenant"] == "zoo", got
    first = json.loads(listed("--all-tenants", "-l", "2", "-o", "json"))
    rest = json.loads(listed("--all-tenants", "--after", first["next"], "-o",
                             "json"))
    assert first["entries"] + rest["entries"] == got["entries"]
    assert listed("--all-tenants", "--agent", "z", "-o", "raw") == b"zoo\ta\n"
    assert listed("--all-tenants", "--state", "running", "-o", "raw") == b""
    assert len(listed("--all-tenants", "--changed-after", "1h", "-o",
                      "raw").splitlines()) == 5
    assert listed("--all-tenants", "--changed-before", "1h", "-o", "raw") == b""
    assert listed("--all-tenants", "--changed-before", "1970-01-01T00:00:00Z",
                  "-o", "raw") == b""
    assert listed("--all-tenants", "--prefix", "t", "-o", "raw").splitlines(
        ) == [b"default\ttelegram:123:456", b"default\ttomato-house"]
    assert listed("--tenant", "zoo").endswith(
        b"\n1 session of tenant 'zoo' in desk.db\n")
    good(store("init", "-q", "empty.db"))
    expect(session("list", "--store", "empty.db"), 0,
           "0 sessions of tenant 'default' in empty.db\n")
    for more, line in [(["--tenant", "t"], "--tenant and --all-tenants: only "
                        "one of them can be given"),
                       (["--property", "a=b"], "--property: is for the "
                        "sessions of one tenant")]:
        assert problem("session", "list", "--store", "desk.db",
                       "--all-tenants", *more, status=2)["detail"] == line


@tests.test("list: filters by agent, state, time, property and beginning of the id")
def _():
    wrapped = [
        {"session": python_session("a"),
         "additionalProperties": {"team": "north", "n": 7, "on": True,
                                  "text": "7"}},
        {"session": python_session("b"),
         "additionalProperties": {"team": "south", "n": 7.0, "on": False}}]
    write("wrapped.json", wrapped)
    expect(session("import", "-q", "wrapped.json", "--store", "desk.db",
                   "--agent", "ops"), 0)
    filled()
    listed = lambda *args: sorted(ids("--store", "desk.db", *args))
    assert listed("--agent", "ops") == ["a", "b"]
    assert listed("--agent", "none") == []
    assert len(listed("--state", "idle")) == 5
    assert listed("--state", "running") == []
    assert listed("--property", "team=north") == ["a"]
    assert listed("--property", 'team="south"') == ["b"]
    assert listed("--property", "n=7") == ["a", "b"]
    assert listed("--property", "n=7.00") == ["a", "b"]
    assert listed("--property", 'n="7"') == []
    assert listed("--property", 'text="7"') == ["a"]
    assert listed("--property", "on=true") == ["a"]
    for text in ("null", "NaN", "-Infinity", "[1]", '{"a": 1}', "", "7 8", '"'):
        write("text.json", {"session": python_session("text"),
                            "additionalProperties": {"odd": text}})
        expect(session("import", "-q", "text.json", "--store", "odd.db",
                       "--replace"), 0)
        assert ids("--store", "odd.db", "--property", "odd=" + text) == [
            "text"], text
    write("null.json", {"session": python_session("null"),
                        "additionalProperties": {"odd": None}})
    expect(session("import", "-q", "null.json", "--store", "odd.db"), 0)
    assert ids("--store", "odd.db", "--property", "odd=null") == []
    assert listed("--property", "team=north", "--agent", "none") == []
    assert len(listed("--changed-after", "1h")) == 5
    assert listed("--changed-before", "1h") == []
    assert len(listed("--changed-before", "2100-01-01")) == 5
    assert listed("--changed-after", "2100-01-01T00:00:00Z") == []
    assert len(listed("--changed-after", "2020-01-01", "--changed-before",
                      "2100-01-01")) == 5
    assert listed("--changed-before", "1970-01-01") == []
    assert ids("--store", "desk.db", "--prefix", "t") == ["telegram:123:456",
                                                          "tomato-house"]
    assert ids("--store", "desk.db", "--prefix", "t", "-l", "1") == [
        "telegram:123:456"]
    assert listed("--prefix", "t%") == listed("--prefix", "T") == []
    assert listed("--prefix", "", "--agent", "ops") == ["a", "b"]
    assert listed("--prefix", "b", "--property", "n=7") == ["b"]
    got = problem("session", "list", "--store", "desk.db", "--changed-after",
                  "1h", "--changed-before", "2h", status=2)
    assert got["hint"] == "--changed-after takes the earlier time", got


@tests.test("list: a column that fills on a later page gets its title there")
def _():
    write("old.json", python_session("old"))
    quiet(session("import", "old.json", "--store", "desk.db", "--agent", "ops"))
    write("new.jsonl", b"".join(json.dumps(python_session("s%03d" % i)).encode()
                                + b"\n" for i in range(201)))
    quiet(session("import", "new.jsonl", "--store", "desk.db"))
    rows = good(session("list", "--store", "desk.db", "-a")).decode().split("\n")
    assert rows[0].split()[:2] == ["ID", "KIND"], rows[0]
    assert rows[201].split()[:2] == ["ID", "AGENT"], rows[201]
    assert rows[203].split()[:2] == ["old", "ops"], rows[203]
    rows = good(session("list", "--store", "desk.db", "-l", "1", "-c",
                        "id,lease,agent")).decode().split("\n")
    assert rows[0].split() == ["ID", "LEASE", "AGENT"], rows[0]


# --- show, log, tail ---------------------------------------------------------

@tests.test("show: the head and the bag")
def _():
    shutil.copy(os.path.join(OLD, "version-1.db"), "desk.db")
    os.chmod("desk.db", 0o600)
    args = ["--store", "desk.db", "--tenant", "acme", "@dafx-weather@paris"]
    expect(session("show", *args), 0, """\
desk.db
tenant    acme
id        @dafx-weather@paris
agent     weather
kind      durable, state document of version 1.1.0
state     running
revision  1, 1 commit
created   2026-01-01T00:00:01Z
changed   2026-01-01T00:00:01Z
expires   2026-01-02T00:00:00Z
lease     held by 'worker 1' until 2026-01-01T00:00:30Z, fence 3
work      2 steps in the journal, 1 delta in the stream, 2 operations wait
history   3 entries, number 1 to 3, 3 correlation ids
document  none: the frame of the session cannot be used: at byte 0 of it stands
          no version; verify the store and restore a backup
metadata  {"tags": [1, 2], "team": "north"}
bag       2 slots, 51 bytes
├─ memory         17 bytes  object, 1 member
│  └─ likes        7 bytes  array, 1 element
└─ odd \\u0000 🌧   4 bytes  null
""")
    got = parsed(session("show", *args, "-o", "json"))
    assert got["properties"] == {"tags": [1, 2], "team": "north"}, got
    assert (got["store"], got["tenant"], got["journal"], got["inbox"]) == (
        "desk.db", "acme", 2, 2), got
    assert [slot["key"] for slot in got["bag"]] == ["memory", "odd \0 🌧"]
    assert got["documentError"].startswith("the frame of the session"), got
    text = good(session("show", "--store", "desk.db", "plain-1")).decode()
    assert ("\nhistory   2 entries, number 1 to 2\nshape     native\n"
            "service   none\nbag       0 slots") in text, text
    talk("new.db")
    assert good(session("show", "--store", "new.db", "talk", "-o", "raw")) \
        == read(TALK) + b"\n"


@tests.test("log: entries from either end, by turn, in all forms")
def _():
    talk()
    args = ["--store", "desk.db", "talk"]
    lines = good(session("log", *args)).decode().splitlines()
    assert len(lines) == 10, lines
    assert re.match("SEQ +TIME +KIND +TURN +TEXT$", lines[0]), lines
    assert lines[4] == ("  4  2026-05-06T06:00:00Z  request   report-1   Which "
                        "beds are too dry?"), lines
    assert re.match(r"  2  .*  read_sensors\(\{.*…$", lines[2]), lines
    assert re.match('  3 {24}other +{"\\$type": "annotation"',
                    lines[3]), lines
    assert lines[7].endswith("error: the forecast did not answer within 30 s")
    seqs = lambda *more: [json.loads(line)["seq"] for line in good(
        session("log", *args, *more, "-o", "jsonl")).splitlines()]
    assert seqs() == list(range(1, 10))
    assert seqs("--last", "2") == [8, 9]
    assert seqs("-n", "100") == list(range(1, 10))
    assert seqs("--from", "7") == [7, 8, 9]
    assert seqs("--from", "10") == []
    assert seqs("--turn", "noon-1") == [6, 7]
    assert seqs("--limit", "3") == [1, 2, 3]
    whole = parsed(session("log", *args, "-o", "json", "--from", "4",
                           "--limit", "1"))
    entry = whole["entries"][0]
    assert (whole["session"], whole["revision"], whole["epoch"]) == (
        "talk", 1, 1), whole
    assert entry["body"] == json.loads(
        read(TALK))["data"]["conversationHistory"][3], entry
    assert (entry["kind"], entry["shape"], entry["correlationId"],
            entry["time"]) == ("request", "state", "report-1",
                               "2026-05-06T06:00:00Z"), entry
    raw = good(session("log", *args, "-o", "raw", "--last", "1"))
    assert raw.rstrip(b"\n") in read(TALK)
    expect(session("log", *args, "--from", "99"), 0,
           "session 'talk' has no such entries\n")
    expect(session("log", *args, "--turn", "none"), 3, "",
           "perdure: desk.db: session 'talk' has no entry of correlation id "
           "'none'\n")


@tests.test("log: messages of Python and .NET, and a long history")
def _():
    texts = ["text %d" % i for i in range(1234)]
    write("a.json", python_session("a", texts))
    write("b.json", {"stateBag": {"InMemoryChatHistoryProvider": {"messages": [
        {"role": "user", "contents": [{"$type": "text", "text": "Hello"}]},
        {"role": "assistant", "contents": [
            {"$type": "functionCall", "callId": "1", "name": "look",
             "arguments": {"at": 1}}]},
        {"role": "tool", "contents": [
            {"$type": "functionResult", "callId": "1", "result": "dry"}]}]}}})
    expect(session("import", "-q", "a.json", "--store", "desk.db"), 0)
    expect(session("import", "-q", "b.json", "--store", "desk.db", "--id",
                   "b"), 0)
    lines = good(session("log", "--store", "desk.db", "a")).decode()
    assert re.findall("message  user: (.*)\n", lines) == texts
    lines = good(session("log", "--store", "desk.db", "b")).decode()
    assert [line.split("message  ")[1] for line in lines.splitlines()[1:]] == [
        "user: Hello", 'assistant: look({"at": 1})', "tool: = dry"], lines
    write("c.json", python_session("c"))
    expect(session("import", "-q", "c.json", "--store", "desk.db"), 0)
    expect(session("log", "--store", "desk.db", "c"), 0,
           "session 'c' has no entries\n")


@tests.test("log: what was asked for approval, and what was answered")
def _():
    call = {"name": "pay", "arguments": {"to": "Ann"}}
    dotnet = [
        {"$type": "toolApprovalRequest", "requestId": "r",
         "toolCall": {"$type": "functionCall", "callId": "1", **call}},
        {"$type": "toolApprovalResponse", "requestId": "r", "approved": True,
         "toolCall": {"$type": "functionCall", "callId": "1", **call}},
        {"$type": "toolApprovalResponse", "requestId": "r", "approved": False,
         "toolCall": {"$type": "functionCall", "callId": "1", **call},
         "reason": "not today"}]
    python = [
        {"type": "function_approval_request", "id": "r",
         "function_call": {"type": "function_call", "call_id": "1", **call}},
        {"type": "function_approval_response", "id": "r", "approved": True,
         "function_call": {"type": "function_call", "call_id": "1", **call}},
        {"type": "function_approval_response", "id": "r", "approved": False}]
    write("d.json", {"stateBag": {"InMemoryChatHistoryProvider": {"messages": [
        {"role": "user", "contents": [one]} for one in dotnet]}}})
    document = python_session("p", ["x"])
    message = document["state"]["in_memory"]["messages"][0]
    document["state"]["in_memory"]["messages"] = [
        {**message, "contents": [one]} for one in python]
    write("p.json", document)
    write("s.json", {"schemaVersion": "1.1.0", "data": {
        "conversationHistory": [
            {"$type": "response", "correlationId": "c", "messages": [
                {"role": "assistant", "contents": [
                    {"$type": "unknown", "content": one}]}]}
            for one in dotnet]}})
    want = ['asks for approval: pay({"to": "Ann"})',
            'approved: pay({"to": "Ann"})',
            'refused: pay({"to": "Ann"}): not today']
    for name, more in (("d", ["--id", "d"]), ("p", []), ("s", ["--id", "s"])):
        expect(session("import", "-q", name + ".json", "--store", "desk.db",
                       *more), 0)
        lines = good(session("log", "--store", "desk.db", name)).decode()
        got = [re.sub(".*(message  user: |response  c +)", "", line)
               for line in lines.splitlines()[1:]]
        assert got == (want if name != "p" else want[:2] + ["refused:"]), got


class Tail:
    """A command that runs on, and the lines that it printed."""

    def __init__(self, *args):
        self.process = subprocess.Popen(
            [PERDURE, "session", "tail", *args], env=environment(),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines = []
        self.thread = threading.Thread(target=self.collect)
        self.thread.start()

    def collect(self):
        for line in self.process.stdout:
            self.lines.append(line.decode())

    def wait_for(self, text):
        for _ in range(400):
            if any(text in line for line in self.lines):
                return
            time.sleep(0.025)
        self.process.kill()
        raise AssertionError((text, self.lines, self.process.stderr.read()))

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        return self.ended()

    def ended(self):
        self.thread.join(30)
        err = self.process.stderr.read().decode()
        status = self.process.wait(30)
        self.process.stdout.close()
        self.process.stderr.close()
        return status, err


@tests.test("tail: the last entries, then what comes, until an interrupt")
def _():
    write("a.json", python_session("a", ["one", "two", "three"]))
    expect(session("import", "-q", "a.json", "--store", "desk.db"), 0)
    tail = Tail("--store", "desk.db", "-n", "2", "a")
    tail.wait_for("user: three")
    assert len(tail.lines) == 3 and "two" in tail.lines[1], tail.lines
    write("a.json", python_session("a", ["four", "five"]))
    expect(session("import", "-q", "a.json", "--store", "desk.db",
                   "--replace"), 0)
    tail.wait_for("user: five")
    assert tail.stop() == (0, "perdure: the session was replaced\n")
    assert [line.split(": ")[1] for line in tail.lines[1:]] == [
        "two\n", "three\n", "four\n", "five\n"], tail.lines
    tail = Tail("--store", "desk.db", "-o", "jsonl", "a")
    tail.wait_for("five")
    assert [json.loads(line)["seq"] for line in tail.lines] == [1, 2]
    expect(session("import", "-q", "a.json", "--store", "desk.db",
                   "--replace"), 0)
    tail.wait_for('"seq":2,"epoch":3')
    lines = [json.loads(line) for line in tail.lines]
    assert [line["epoch"] for line in lines] == [2, 2, 3, 3, 3], lines
    assert lines[2] == {"event": "replaced", "epoch": 3}, lines
    good(session("delete", "--store", "desk.db", "a"))
    status, err = tail.ended()
    assert status == 3, err
    assert json.loads(err)["detail"] == "desk.db: session 'a' was deleted", err


@tests.test("tail: ends when nobody reads what it prints")
def _():
    write("a.json", python_session("a", ["one", "two"]))
    expect(session("import", "-q", "a.json", "--store", "desk.db"), 0)
    for form in ("table", "json", "raw"):
        done = run(["sh", "-c", '"$@" | head -1; echo "$?"', "sh", PERDURE,
                    "session", "tail", "--store", "desk.db", "-o", form, "a"],
                   timeout=20)
        assert len(done.out.splitlines()) == 2 and done.err == b"", done
    process = subprocess.Popen([PERDURE, "session", "tail", "--store",
                                "desk.db", "a"], env=environment(),
                               stdout=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(20) == -signal.SIGPIPE


# --- bag ---------------------------------------------------------------------

@tests.test("bag: get, set, rm and keys on the rows of a store")
def _():
    filled()
    args = ["--store", "desk.db"]
    expect(session("bag keys", *args, "tomato-house"), 0,
           "KEY       KIND    PARTS  BYTES\nwatering  object      4     59\n"
           "todo      object      2     63\n")
    expect(session("bag get", *args, "tomato-house", "watering", "/litres"), 0,
           "36.0\n")
    expect(session("bag get", *args, "--generation", "--text", "tomato-house",
                   "watering", "/valve"), 0, "1\nopen\n")
    expect(session("bag set", *args, "tomato-house", "watering", "/valve",
                   "--text", "shut"), 0,
           '~ /watering/valve  "open" -> "shut"\n'
           "desk.db, session 'tomato-house': written\nrevision 2\n")
    expect(session("bag set", *args, "tomato-house", "watering", "/valve",
                   "--text", "shut"), 0,
           "desk.db, session 'tomato-house': nothing to change\n")
    expect(session("bag get", *args, "tomato-house", "watering", "-o", "raw"),
           0, '{"bed": 3, "litres": 36.0, "valve": "shut", "quota": 12.50}')
    got = parsed(session("bag set", *args, "-o", "json", "tomato-house",
                         "new key \"", "[1]"))
    assert got == {"store": "desk.db", "tenant": "default",
                   "session": "tomato-house", "revision": 3,
                   "key": "new key \"", "changed": True, "dryRun": False,
                   "after": [1]}, got
    expect(session("bag rm", *args, "tomato-house", "new key \"", "/0"), 0,
           "- /new key \\\"/0  1\ndesk.db, session 'tomato-house': written\n"
           "revision 4\n")
    expect(session("bag rm", *args, "-q", "tomato-house", "new key \""), 0,
           "- /new key \\\"  []\n")
    got = problem("session", "bag", "get", *args, "tomato-house", "none",
                  status=3)
    assert (got["reason"], got["hint"]) == (
        "no_slot", "'perdure session bag keys --store desk.db tomato-house' "
        "lists the slots"), got
    assert problem("session", "bag", "rm", *args, "tomato-house", "none",
                   status=3)["reason"] == "no_slot"
    assert problem("session", "bag", "set", *args, "tomato-house", " ", "1",
                   status=6)["reason"] == "key_blank"
    document = json.loads(quiet(session("export", *args, "-q",
                                        "tomato-house")))
    assert document["state"]["watering"]["valve"] == "shut", document
    assert good(store("verify", "desk.db")).startswith(b"desk.db: sound")


@tests.test("bag: the slot that the history is exported as is refused")
def _():
    for sid, document in [("p", python_session("p", ["x"])),
                          ("e", python_session("e")),
                          ("n", {"stateBag": {}}),
                          ("d", {**python_session("d"), "durable_session_id":
                                 "@dafx-a@k"})]:
        write("a.json", document)
        quiet(session("import", "a.json", "--store", "desk.db", "--id", sid))
    for sid, key, status in [
            ("p", "in_memory", 6), ("e", "in_memory", 6),
            ("n", "InMemoryChatHistoryProvider", 6), ("d", "in_memory", 6),
            ("d", "InMemoryChatHistoryProvider", 0),
            ("p", "InMemoryChatHistoryProvider", 0), ("n", "in_memory", 0)]:
        result = session("bag set", "--store", "desk.db", sid, key, "{}")
        assert result.status == status, (sid, key, result)
        if status:
            assert result.err.decode() == (
                "perdure: desk.db: '%s' is the slot that the history of this "
                "session is exported as\nhint: nothing was changed; 'perdure "
                "session log' shows the history\n" % key), result
        quiet(session("export", "-q", "--store", "desk.db", sid))


@tests.test("bag: what a slot may be called, the document says, not its kind")
def _():
    history = {"messages": [{"role": "user", "contents": [
        {"$type": "text", "text": "hi"}]}]}
    mark = {"version": "1.0.0"}
    slot = "InMemoryChatHistoryProvider"
    for sid, document in [
            ("native", {"perdure": {**mark, "kind": "python", "id": "native"},
                        "stateBag": {slot: history}}),
            ("bundle", {"perdure": {**mark, "id": "bundle",
                                    "document": state_document(["x"])},
                        "stateBag": {"k": 1}}),
            ("state", state_document(["x"]))]:
        write("a.json", document)
        quiet(session("import", "a.json", "--store", "desk.db", "--id", sid))
    for sid, key, status in [
            ("native", slot, 6), ("native", "in_memory", 0),
            ("bundle", slot, 0), ("bundle", "in_memory", 0),
            ("state", slot, 0), ("state", "in_memory", 0)]:
        result = session("bag set", "--store", "desk.db", sid, key, "1")
        assert result.status == status, (sid, key, result)
        text = quiet(session("export", "-q", "--store", "desk.db", sid))
        if status == 0:
            assert json.loads(text)["stateBag"][key] == 1, text
            write("again.json", text)
            quiet(session("import", "again.json", "--store", "two.db", "--id",
                          sid, "--replace"))
            assert quiet(session("export", "-q", "--store", "two.db",
                                 sid)) == text


@tests.test("bag: a document of the time before bags gets none")
def _():
    for sid, document in [
            ("net", {"storeState": {"messages": [
                {"role": "user", "contents": [{"$type": "text",
                                               "text": "hi"}]}]}}),
            ("py", {"service_thread_id": None, "chat_message_store_state": {
                "messages": [message("hi")]}})]:
        write("a.json", document)
        quiet(session("import", "a.json", "--store", "desk.db", "--id", sid))
        got = problem("session", "bag", "set", "--store", "desk.db", sid, "k",
                      "1", status=6)
        assert got["reason"] == "bag_sealed", got
        assert "'perdure session convert'" in got["hint"], got
        assert problem("session", "bag", "set", "--file", "a.json", "k", "1",
                       status=6)["reason"] == "bag_sealed"
        assert json.loads(quiet(session("export", "-q", "--store", "desk.db",
                                        sid))) == document


@tests.test("hints: what they repeat is escaped, and quoted for a shell")
def _():
    filled("my desk.db")
    got = session("show", "--store", "my desk.db", "--tenant", "$T", "a")
    assert got.err.decode().endswith(
        "\nhint: 'perdure session list --store \"my desk.db\" --tenant '$T'' "
        "shows what is there\n"), got
    got = session("show", "--store", "a\x1b[7m\nb", "a")
    assert got.err.decode().endswith(
        "\nhint: check the name; 'perdure store init $'a\\u001b[7m\\nb'' makes "
        "one\n") and b"\x1b" not in got.err, got
    got = session("bag get", "--store", "my desk.db", "Ines", "no\nslot")
    assert b"\nslot" not in got.err and got.err.decode().endswith(
        "\nhint: 'perdure session bag keys --store \"my desk.db\" Ines' lists "
        "the slots\n"), got
    got = session("list", "--store", "x" * 200)
    assert got.err.endswith(b"'perdure store init STORE' makes one\n"), got


@tests.test("hints: what they tell to do works")
def _():
    filled()
    write("a.json", python_session("a", k=1))
    quiet(session("import", "a.json", "--store", "desk.db", "--tenant", "t 2"))
    for words, hint in [
            (["get", "a", "none"], "keys --store desk.db --tenant \"t 2\" a"),
            (["get", "a", "k", "/x"],
             "get --store desk.db --tenant \"t 2\" a k"),
            (["rm", "a", "none"], "keys --store desk.db --tenant \"t 2\" a")]:
        got = problem("session", "bag", *words, "--store", "desk.db",
                      "--tenant", "t 2", status=3)
        assert got["hint"].startswith("'perdure session bag %s' " % hint), got
    write("list.json", [{"stateBag": {}}, {"stateBag": {}}])
    got = problem("session", "import", "list.json", "--store", "new.db",
                  status=6)
    assert (got["reason"], got["hint"]) == (
        "no_session_id", "give it an id in the file; --id ID is for a file "
        "with one session"), got
    lines = b"".join(json.dumps(python_session(sid, ["x" * 5000])).encode()
                     + b"\n" for sid in "abc")
    write("lines.json", lines)
    hint = "a file holds one document; --from jsonl reads several, as in JSON "\
        "Lines"
    got = problem("session", "import", "lines.json", "--store", "new.db",
                  status=6)
    assert (got["reason"], got["hint"]) == ("trailing_data", hint), got
    result = session("import", "-", "--store", "new.db", stdin=lines)
    assert result.err.decode().endswith("\nhint: %s\n" % hint), result
    write("lines.json", b'{"session_id":"a"}\n{"session_id":"b"}\n')
    for words in (["list", "--file", "lines.json"],
                  ["show", "--file", "lines.json"],
                  ["export", "--file", "lines.json", "out.json"],
                  ["import", "lines.json", "--folder", "desk"]):
        result = perdure("session", *words)
        assert result.err.decode().endswith("\nhint: %s\n" % hint), result
        quiet(perdure("session", *words, "--from", "jsonl",
                      *(["b"] if words[0] == "show" else [])))
    result = session("import", "-", "--store", "new.db",
                     stdin=b'{"session_id":"a"} x')
    assert result.status == 6 and b"hint" not in result.err, result


@tests.test("bag: a conflict is told and changes nothing")
def _():
    filled()
    args = ["--store", "desk.db", "--expect"]
    expect(session("bag set", *args, "1", "Ines", "k", "1"), 0,
           "+ /k  1\ndesk.db, session 'Ines': written\nrevision 2\n")
    expect(session("bag set", *args, "1", "Ines", "k", "2"), 5, "",
           "perdure: desk.db: the session has revision 2, --expect says 1\n"
           "hint: nothing was written; look at it again, then repeat\n")
    assert problem("session", "bag", "rm", *args, "9", "Ines", "k",
                   status=5)["reason"] == "revision_changed"
    expect(session("bag get", "--store", "desk.db", "--generation", "Ines",
                   "k"), 0, "2\n1\n")


@tests.test("bag: changes at the same time wait for each other")
def _():
    write("a.json", python_session("a", n=[]))
    expect(session("import", "-q", "a.json", "--store", "desk.db"), 0)
    processes = [subprocess.Popen(
        [PERDURE, "session", "bag", "set", "-q", "--store", "desk.db", "a",
         "n", "/-", str(i)], env=environment(), stdout=subprocess.DEVNULL)
        for i in range(6)]
    assert [process.wait() for process in processes] == [0] * 6
    got = json.loads(good(session("bag get", "--store", "desk.db", "a", "n")))
    assert sorted(got) == list(range(6)), got


# --- export and import -------------------------------------------------------

@tests.test("export: the bytes that came in, to a file or standard output")
def _():
    talk()
    args = ["--store", "desk.db", "talk"]
    expect(session("export", *args, "out.json"), 0, "",
           "perdure: out.json: json, 1 session, 8.4 kB\n")
    assert read("out.json") == read(TALK)
    result = session("export", *args)
    assert (result.status, result.out) == (0, read(TALK)), result
    assert quiet(session("export", *args, "-q", "-", "--to", "json")) == \
        read(TALK)
    assert session("export", *args, "out.json").status == 5
    got = parsed(session("export", *args, "-y", "out.json", "-o", "json"))
    assert got == {"store": "desk.db", "out": "out.json", "format": "json",
                   "sessions": 1, "bytes": len(read(TALK)), "leftOut": 0,
                   "otherFiles": 0}, got
    for name in ("out.msgpack", "out.xml", "out.jsonl"):
        expect(session("export", "-q", *args, name), 0)
        expect(perdure("diff", "-q", name, "out.json"), 0)
    pretty = quiet(session("export", "-q", *args, "--to", "json", "--pretty",
                           "-"))
    assert json.loads(pretty) == json.loads(read(TALK))
    assert session("export", *args, "none/out.json").status == 3


@tests.test("export: MessagePack is for other programs, our shape alone is not")
def _():
    native = (b'{"perdure":{"version":"1.0.0","kind":"client","id":"n"},'
              b'"conversationId":"c","stateBag":{"k":1.50}}')
    python = b'{"session_id":"p","state":{"k":1.50}}'
    write("p.json", python)
    write("n.json", native)
    write("s.json", json.dumps(state_document([])).replace(
        '"a": []', '"a": 1.50').encode())
    for name, more in (("p.json", []), ("n.json", []),
                       ("s.json", ["--id", "s"])):
        quiet(session("import", name, "--store", "desk.db", *more))
    for sid, more, lost in (("p", ["--exchange"], 1), ("n", [], 0),
                            ("s", [], 0)):
        got = parsed(session("export", "-yo", "json", "--store", "desk.db",
                             sid, "x.msgpack"))
        assert got["respelled"] == {"numbers": lost, "strings": 0}, got
        expect(perdure("convert", "-yq", *more, sid + ".json", "y.msgpack"), 0)
        assert read("x.msgpack") == read("y.msgpack"), sid
    write("q.json", b'{"session_id":"q","state":{"k":1e400}}')
    quiet(session("import", "q.json", "--store", "desk.db"))
    for args in (["q"], ["--all", "--map"]):
        got = problem("session", "export", "-y", "--store", "desk.db", *args,
                      "x.msgpack", status=6)
        assert (got["reason"], got["pointer"]) == ("number_range",
                                                   "/state/k"), got
        assert "--to json" in got["hint"], got
        assert ("session 'q': " in got["detail"]) == (len(args) > 1), got
        assert read("x.msgpack") == read("y.msgpack")
    result = session("export", "-y", "--store", "desk.db", "--all", "--map",
                     "--skip", "x.msgpack")
    assert result.status == 1 and b"session 'q' was left out" in result.err
    assert parsed(perdure("session", "list", "--file", "x.msgpack", "-o",
                          "json"))


@tests.test("export: metadata around a session, and without")
def _():
    inner = python_session("a", ["x"], k=1)
    text = json.dumps({"session": inner, "additionalProperties": {"t": 1.50}})
    write("a.json", text.encode())
    expect(session("import", "a.json", "--store", "desk.db"), 0, "",
           "perdure: desk.db: session 'a' written, 1 entry, 1 slot, 1 "
           "property\n")
    args = ["-q", "--store", "desk.db"]
    assert quiet(session("export", *args, "a")) == text.encode()
    assert quiet(session("export", *args, "--bare", "a")) == \
        json.dumps(inner).encode()


@tests.test("export: all sessions of a tenant, as a list or by id")
def _():
    filled()
    write("a.json", python_session("other"))
    expect(session("import", "-q", "a.json", "--store", "desk.db", "--tenant",
                   "t2"), 0)
    quiet(session("export", "--store", "desk.db", "--all", "all.json"))
    got = {s["session_id"]: s for s in json.loads(read("all.json"))}
    want = {s["session_id"]: s for s in json.loads(read(SESSIONS))}
    assert got == want
    mapped = json.loads(quiet(session("export", "-q", "--store", "desk.db",
                                      "--all", "--map", "--to", "json", "-")))
    assert mapped == want
    talk()
    result = session("export", "--store", "desk.db", "--all", "-y", "all.json")
    expect(result, 6, "", "perdure: desk.db: 'talk' is a state document, which "
           "has no id in a list\nhint: --map writes all of them by id; --skip "
           "leaves it out\n")
    result = session("export", "--store", "desk.db", "--all", "-y", "--skip",
                     "all.json")
    assert result.status == 1 and b"'talk' was left out" in result.err, result
    assert result.err.endswith(b", 1 left out\n"), result
    assert len(json.loads(read("all.json"))) == 3
    result = session("export", "--store", "desk.db", "--all", "-y", "--skip",
                     "all.json", "-o", "json")
    assert result.status == 1 and json.loads(result.out)["leftOut"] == 1, result
    expect(session("export", "-q", "--store", "desk.db", "--all", "--map",
                   "--skip", "map.json"), 0)
    quiet(session("import", TALK, "--store", "desk.db", "--id", "a\x1b[7m\nb"))
    result = session("export", "--store", "desk.db", "--all", "-y", "--skip",
                     "all.json")
    assert b"\x1b" not in result.err and b"\nb'" not in result.err, result
    write("b.json", python_session("inside"))
    expect(session("import", "-q", "b.json", "--store", "new.db", "--id",
                   "outside"), 0)
    got = problem("session", "export", "--store", "new.db", "--all", "b2.json",
                  status=6)
    assert (got["reason"], got["hint"]) == (
        "key_lost", "--map makes an object of sessions by name"), got


@tests.test("export: what is deleted meanwhile is none of all sessions")
def _():
    write("a.json", [python_session("a", ["x" * 300000]), python_session("b"),
                     python_session("c")])
    quiet(session("import", "a.json", "--store", "desk.db"))
    for more in ([], ["--skip"]):
        process = subprocess.Popen(
            [PERDURE, "session", "export", "--store", "desk.db", "--all",
             "--to", "json", "-", *more],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
            env=environment())
        first = process.stdout.read(1)  # of "a"; the rest fills the pipe
        good(session("delete", "-q", "--store", "desk.db", "b"))
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert [one["session_id"] for one in json.loads(first + out)] == [
            "a", "c"]
        assert b"left out" not in err, err
        write("b.json", python_session("b"))
        quiet(session("import", "b.json", "--store", "desk.db"))
    assert problem("session", "export", "--store", "desk.db", "none",
                   status=3)["reason"] == "no_session"


def state_document(texts, **members):
    entries = [{"$type": "request", "correlationId": "c%d" % i,
                "createdAt": "2026-05-06T07:14:02.1200000+00:00",
                "messages": [{"role": "user", "contents": [
                    {"$type": "text", "text": text}]}], "x-odd": [1.50, None]}
               for i, text in enumerate(texts)]
    return {"schemaVersion": "1.1.0", **members,
            "data": {"conversationHistory": entries, "extra": {"a": []}}}


def stored(name):
    """The bytes of each session, by id."""
    return {sid: quiet(session("export", "-q", "--store", name, sid))
            for sid in ids("--store", name)}


@tests.test("export: all of a store by id goes into another one and is the same",
            covers=["P-52"])
def _():
    compact = json.dumps(state_document(["hi", "é"], unknown={"n": 1.0}),
                         separators=(",", ":"), ensure_ascii=False).encode()
    spaced = json.dumps(state_document([], z="\u2028")).encode()
    odd = (b'{"data":{"conversationHistory":[]},"n":1.0E+2,"n":2,'
           b'"schemaVersion":"1.1.0","e":"\\u00e9\\/"}')
    for sid, text in [("@dafx-a@one", compact), ("two", spaced), ("odd", odd)]:
        write("in.json", text)
        quiet(session("import", "in.json", "--store", "desk.db", "--id", sid))
    write("wrapped.json", [{"session": python_session("a", ["x"]),
                            "additionalProperties": {"team": "north"}},
                           python_session("b", k=1.50)])
    quiet(session("import", "wrapped.json", "--store", "desk.db"))
    before = stored("desk.db")
    assert (before["@dafx-a@one"], before["two"], before["odd"]) == (
        compact, spaced, odd), before
    for name in ("all.jsonl", "all.json"):
        quiet(session("export", "--store", "desk.db", "--all", "--map", name))
        quiet(session("import", name, "--store", name + ".db"))
        assert stored(name + ".db") == before, name
        expect(session("export", "-q", "--store", name + ".db", "--all",
                       "--map", "again-" + name), 0)
        assert sorted(read("again-" + name).splitlines()) == \
            sorted(read(name).splitlines()), name
    assert [list(json.loads(line)) for line in
            sorted(read("all.jsonl").splitlines())] == [
        ["@dafx-a@one"], ["a"], ["b"], ["odd"], ["two"]]
    for name in ("all.msgpack", "all.xml"):
        result = session("export", "--store", "all.json.db", "--all", "--map",
                         "--skip", name)
        assert result.status == (b"left out" in result.err), result
        quiet(session("import", name, "--store", name + ".db"))
        assert set(stored(name + ".db")) >= set(before) - {"odd"}, name


@tests.test("export: lines of a document stay in json, not in jsonl")
def _():
    talk()
    for name, want in [("all.json", read(TALK).strip()),
                       ("all.jsonl", json.loads(read(TALK)))]:
        quiet(session("export", "--store", "desk.db", "--all", "--map", name))
        quiet(session("import", name, "--store", name + ".db"))
        got = stored(name + ".db")["talk"]
        assert (got if isinstance(want, bytes) else json.loads(got)) == want
    assert len(read("all.jsonl").splitlines()) == 1


@tests.test("export: a name that means something else is refused in an object")
def _():
    write("a.json", python_session("a"))
    for sid in ("stateBag", "session"):
        quiet(session("import", "a.json", "--store", sid + ".db", "--id", sid))
        got = problem("session", "export", "--store", sid + ".db", "--all",
                      "--map", "all.json", status=6)
        assert got["reason"] == "key_lost" and got["hint"].startswith(
            "with its ID in the place of --all it is written by itself"), got
    assert not os.path.exists("all.json")


@tests.test("export: names that mean something together are refused")
def _():
    # "data" and "schemaVersion" make a state document, and behind other names
    # "schemaVersion" alone is taken for a part of one.
    for number, names in enumerate([["data", "schemaVersion"],
                                    ["a", "b", "schemaVersion"]]):
        args = ["--store", "%d.db" % number]
        for sid in names:
            write("a.json", python_session(sid))
            quiet(session("import", "a.json", *args))
        got = problem("session", "export", *args, "--all", "--map", "all.json",
                      status=6)
        assert got["reason"] == "key_lost", got
        assert "'schemaVersion'" in got["detail"], got
        assert not os.path.exists("all.json")
        result = session("export", *args, "--all", "--map", "--skip",
                         "some%d.json" % number)
        assert result.status == 1 and b"1 left out" in result.err, result
        quiet(session("import", "some%d.json" % number, "--store",
                      "some%d.db" % number))
        assert sorted(ids("--store", "some%d.db" % number)) == names[:-1]
        # A line each: nothing stands beside it.
        quiet(session("export", *args, "--all", "--map",
                      "all%d.jsonl" % number))
        quiet(session("import", "all%d.jsonl" % number, "--store",
                      "all%d.db" % number))
        assert sorted(ids("--store", "all%d.db" % number)) == names


@tests.test("import: an object of sessions may be longer than a look at it")
def _():
    several = {"s%d" % i: state_document(["x" * (3 << 20)]) for i in range(4)}
    write("map.json", several)
    expect(session("import", "map.json", "--store", "desk.db"), 0, "",
           "perdure: desk.db: 4 sessions written, 4 entries\n")
    assert sorted(ids("--store", "desk.db")) == sorted(several)


def peak_of(*args):
    """The status of a command, and how many MiB it needed: at least what the
    process had that started it, so that is a small one."""
    watch = ("import resource, subprocess, sys\n"
             "done = subprocess.run(sys.argv[1:], capture_output=True)\n"
             "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
             "print(done.returncode, used.ru_maxrss)")
    out = good(run([sys.executable, "-c", watch, PERDURE, *args]))
    status, kb = map(int, out.split())
    return status, kb / 1024


@tests.test("import: a long document is refused without being read whole")
def _():
    history = {"messages": [message("x" * 900)] * 60000}
    write("late.json", {"state": {"in_memory": history}, "session_id": "a"})
    write("small.json", python_session("a"))
    args = ["--store", "desk.db"]
    assert problem("session", "import", "late.json", *args,
                   status=2)["reason"] == "member_order"
    if SANITIZED:
        raise record.Skip("a sanitizer needs memory of its own")
    usual = peak_of("session", "import", "small.json", *args)[1]
    status, peak = peak_of("session", "import", "late.json", *args)
    size = os.path.getsize("late.json") / (1 << 20)
    assert status == 2 and peak < usual + size, (peak, usual, size)


@tests.test("import: a session with a member like one is not taken apart")
def _():
    inner = json.dumps([message("x" * 900)] * 10000).encode()
    write("a.json", b'{"x":{"session_id":"q"},"y":{},"session_id":"a","state":'
          b'{"k":1,"in_memory":{"messages":' + inner + b'},"k":2}}')
    got = problem("session", "import", "a.json", "--store", "desk.db", status=2)
    assert got["reason"] == "member_late", got
    assert ids("--store", "desk.db") == []


@tests.test("list: state documents in a file of sessions are told")
def _():
    write("map.json", {"a": python_session("a"), "d": state_document([])})
    rows = good(session("list", "--file", "map.json")).decode().splitlines()
    assert rows[2].endswith("no session: looks like a durable state document")
    expect(session("show", "--file", "map.json", "d"), 3, "",
           "perdure: map.json: no session is called 'd'\nhint: 'perdure "
           "session list --file map.json' shows what is there\n")
    write("states.json", {"d": state_document([])})
    got = problem("session", "list", "--file", "states.json", status=6)
    assert got["reason"] == "session_unknown_shape", got
    assert "'perdure doc show' reads it" in got["hint"], got
    got = problem("session", "import", "map.json", "--folder", "f", status=6)
    assert got["reason"] == "session_unknown_shape", got
    assert not os.path.exists("f")


@tests.test("import: lists, maps, lines and other formats, one by one")
def _():
    several = [python_session("s%d" % i, ["x"] * i, k=i) for i in range(4)]
    write("list.json", several[:2] + [None] + several[2:])
    write("map.json", {"n-" + s["session_id"]: s for s in several})
    write("lines.jsonl", "\n".join(map(json.dumps, several)).encode())
    for name in ("list.msgpack", "list.xml"):
        expect(perdure("convert", "-q", "list.json", name), 0)
    expect(perdure("convert", "-q", "list.json", "list.bin", "--to", "records"),
           0)
    summary = "perdure: desk.db: 4 sessions written%s, 6 entries%s\n"
    args = ["--store", "desk.db"]
    nulls = ", 1 null left out"
    expect(session("import", "list.json", *args), 0, "", summary % ("", nulls))
    for name in (["list.msgpack"], ["list.xml"],
                 ["list.bin", "--from", "records"]):
        expect(session("import", *name, *args, "--replace"), 0, "",
               summary % (", 4 of them replaced", nulls))
    expect(session("import", "lines.jsonl", *args, "-y"), 0, "",
           summary % (", 4 of them replaced", ""))
    expect(session("import", "map.json", *args), 0, "", summary % ("", ""))
    assert sorted(ids(*args)) == ["n-s0", "n-s1", "n-s2", "n-s3", "s0", "s1",
                                  "s2", "s3"]
    for sid in ("s3", "n-s3"):
        assert json.loads(quiet(session("export", "-q", *args, sid))) == \
            several[3]
    result = session("import", "-", *args, "--tenant", "piped", "--from",
                     "json", stdin=json.dumps(several).encode())
    expect(result, 0, "", summary % ("", ""))
    result = session("import", "-", *args, "--tenant", "piped", "--replace",
                     stdin=json.dumps(several[1]).encode())
    expect(result, 0, "", "perdure: desk.db: session 's1' replaced, 1 entry, "
           "1 slot\n")
    got = parsed(session("import", "list.json", *args, "--tenant", "json",
                         "-o", "json"))
    assert [one["session"] for one in got["sessions"]] == [
        "s0", "s1", "s2", "s3"], got
    assert set(got["sessions"][0]) == {
        "session", "revision", "epoch", "entries", "slots", "properties",
        "bytes", "commits"}, got
    assert (got["replaced"], got["nulls"], got["tenant"]) == (0, 1, "json")


@tests.test("import: white space in front of a document comes back")
def _():
    text = json.dumps(python_session("a", ["x"])).encode()
    for number, blank in enumerate([b" " * 5000, b"\r\n\t " * 50000]):
        args = ["--store", "%d.db" % number]
        write("a.json", blank + text + b"\n")
        quiet(session("import", "a.json", *args))
        assert quiet(session("export", "-q", *args, "a")) == read("a.json")
        quiet(session("import", "-", *args, "--from", "json", "--replace",
                      stdin=read("a.json")))
        assert quiet(session("export", "-q", *args, "a")) == read("a.json")
        for several in ([b"[" + text + b"]"], [b'{"b":', text, b"}"]):
            write("b.json", blank + b"".join(several))
            quiet(session("import", "b.json", *args, "--replace"))
        assert sorted(ids(*args)) == ["a", "b"]
        write("c.json", blank)
        problem("session", "import", "c.json", *args, status=6)


@tests.test("import: a list that is too deep is told of it if it has a limit")
def _():
    write("a.json", b'[{"session_id":"a","state":{"k":' + b"[" * 200
          + b"]" * 200 + b"}}]")
    for more, hint in (([], "a store keeps documents of up to 128 levels"),
                       (["--max-depth", "500"],
                        "a store keeps documents of up to 128 levels"),
                       (["--max-depth", "50"],
                        "--max-depth sets the limit, 1024 is the highest")):
        got = problem("session", "import", "a.json", "--store", "desk.db",
                      *more, status=6)
        assert (got["reason"], got["hint"]) == ("too_deep", hint), got


@tests.test("import: the first of several is named, too")
def _():
    write("a.json", [{"stateBag": {}}])
    got = problem("session", "import", "a.json", "--store", "desk.db", status=6)
    assert got["detail"].startswith("a.json: element /0: "), got
    write("a.json", {"data": {"conversationHistory": []}})
    got = problem("session", "import", "a.json", "--store", "desk.db", status=6)
    assert got["detail"].endswith(
        "a durable state document that lacks its schemaVersion"), got


@tests.test("import: a document that is too deep is not told of --max-depth")
def _():
    write("a.json", b'{"session_id":"a","state":{"k":' + b"[" * 200
          + b"]" * 200 + b"}}")
    got = problem("session", "import", "a.json", "--store", "desk.db",
                  "--max-depth", "500", status=6)
    assert (got["reason"], got["hint"]) == (
        "too_deep", "a store keeps documents of up to 128 levels"), got


@tests.test("import: what stands around a session costs it no level")
def _():
    deep = b"[" * 126 + b"]" * 126
    bundle = (b'{"perdure":{"version":"1.0.0","kind":"durable","document":'
              b'{"schemaVersion":"1.1.0","data":{"x":' + deep + b'}}},'
              b'"sessionId":"@dafx-a@%s","stateBag":{"k":1}}')
    sessions = {
        b"w": b'{"session":{"session_id":"w","state":{"k":' + deep
              + b'}},"additionalProperties":{"p":1}}',
        b"@dafx-a@1": bundle % b"1",
        b"@dafx-a@2": b'{"session":' + bundle % b"2"
                      + b',"additionalProperties":{}}'}
    write("list.json", b"[" + b",".join(sessions.values()) + b"]")
    write("map.json", b"{" + b",".join(
        b'"%s":%s' % pair for pair in sessions.items()) + b"}")
    for name in ("list", "map"):
        args = ["--store", name + ".db"]
        quiet(session("import", "-q", name + ".json", *args))
        for sid, text in sessions.items():
            assert quiet(session("export", "-q", *args, sid.decode())) == text
    write("bad.json", b"[" + (bundle % b"1").replace(
        deep, b"[" + deep + b"]") + b"]")
    assert problem("session", "import", "bad.json", "--store", "desk.db",
                   status=6)["reason"] == "too_deep"


@tests.test("import: an id that no store can have is told with its place")
def _():
    text = b'{"sessionId":"@dafx-' + b"a" * 129 + b'@k","stateBag":{}}'
    write("a.json", text)
    args = ["import", "a.json", "--store", "desk.db"]
    for more in ([], ["--agent", "desk"]):
        got = problem("session", *args, *more, status=6)
        assert (got["reason"], got.get("pointer"), got["hint"]) == (
            "bad_ref", "/sessionId", "--id ID names it"), got
    got = problem("session", *args, "--tenant", "x" * 200, status=6)
    assert (got["reason"], got.get("pointer")) == ("bad_ref", "/sessionId"), got
    got = problem("session", *args, "--id", "@a", status=6)
    assert got["reason"] == "bad_ref" and not got.get("pointer"), got
    quiet(session(*args, "--id", "a"))
    assert quiet(session("export", "-q", "--store", "desk.db", "a")) == text


@tests.test("import: bare tokens come in if asked for, and out again")
def _():
    text = (b'{"session_id": "a", "state": {"in_memory": {"messages": ['
            b'{"role": "user", "n": NaN}]}, "k": -Infinity}}')
    for name, value in [("a.json", text), ("list.json", b"[" + text + b"]")]:
        write(name, value)
        got = problem("session", "import", name, "--store", name + ".db",
                      status=6)
        assert got["reason"] == "bare_token", got
        quiet(session("import", name, "--store", name + ".db",
                      "--bare-tokens"))
        assert quiet(session("export", "-q", "--store", name + ".db",
                             "a")) == text


@tests.test("import: what is there, has no id, or is no session is refused")
def _():
    filled()
    args = ["--store", "desk.db"]
    before = good(session("list", *args))
    got = problem("session", "import", SESSIONS, *args, status=5)
    assert (got["reason"], got["hint"]) == (
        "session_exists", "--replace takes its place"), got
    got = problem("session", "import", TALK, *args, status=6)
    assert (got["reason"], got["hint"]) == (
        "no_session_id", "--id ID names it"), got
    got = problem("session", "import", SESSIONS, *args, "--id", "a", status=6)
    assert (got["reason"], got["hint"]) == (
        "several_sessions",
        "without --id each has its own; nothing was imported"), got
    write("other.json", {"a": 1})
    assert problem("session", "import", "other.json", *args,
                   status=6)["reason"] == "session_unknown_shape"
    write("cut.json", b'{"session_id":"a",\n"state":{"k"')
    got = problem("session", "import", "cut.json", *args, status=6)
    assert (got["reason"], got["line"]) == ("unexpected_end", 2), got
    assert problem("session", "import", "none.json", *args,
                   status=3)["reason"] == "no_file"
    assert good(session("list", *args)) == before
    write("two.json", [python_session("new"), python_session("Ines")])
    got = problem("session", "import", "two.json", *args, status=5)
    assert got["hint"] == "--replace takes its place; 1 before it was " \
        "imported", got
    write("bad.json", [python_session("new2"), {"a": 1}])
    got = problem("session", "import", "bad.json", *args, status=6)
    assert got["detail"].startswith("bad.json: element /1: "), got
    assert "new" in ids(*args) and "new2" in ids(*args)


@tests.test("import: a mistake in the first of sessions by name is told")
def _():
    bad = {"session_id": "x", "state": 5}
    why = ("state is the state bag and must be an object, this is a number, "
           "at /state")
    for at, value in enumerate([{"a": bad}, {"b": python_session("b"),
                                             "a": bad}]):
        write("map.json", value)
        got = problem("session", "import", "map.json", "--store", "desk.db",
                      status=6)
        assert got["detail"] == "map.json: element /%d: %s" % (at, why), got
        assert got["reason"] == "bag_not_object", got
    for value in ({"a": {"b": 1}}, {"a": 1}):
        write("map.json", value)
        got = problem("session", "import", "map.json", "--store", "two.db",
                      status=6)
        assert got["reason"] == "session_unknown_shape", got
    assert not os.path.exists("two.db")


@tests.test("import: an id that stands twice in a file is refused")
def _():
    filled()
    several = [python_session("s%d" % i, k=i) for i in range(200)]
    write("list.json", several + [python_session("s7", k="other")])
    write("lines.jsonl", "\n".join(map(json.dumps, [
        python_session("a"), {"session": python_session("a")}])).encode())
    write("map.json", b'{"a":{"stateBag":{}},"b":{"stateBag":{}},'
          b'"a":{"schemaVersion":"1.1.0","data":{}}}')
    for number, (name, sid, at, hint) in enumerate([
            ("list.json", "s7", 200, "; 200 before it were imported"),
            ("lines.jsonl", "a", 1, "; 1 before it was imported"),
            ("map.json", "a", 2, "; 2 before it were imported")]):
        for more in ([], ["--replace"]):
            args = ["--store", "%d%d.db" % (number, len(more))]
            got = problem("session", "import", name, *args, *more, status=6)
            assert (got["reason"], got["detail"], got["hint"]) == (
                "key_twice", "%s: id '%s' stands twice in the file, the second "
                "time at /%d" % (name, sid, at),
                "give one of them another id" + hint), got
    got = json.loads(quiet(session("export", "-q", "--store", "01.db", "s7")))
    assert got == several[7], got


@tests.test("import: --id needs one session, and says what there is instead")
def _():
    filled()
    args = ["--store", "desk.db", "--id", "x"]
    for text in (b"[]", b"null", b"[null]", b" [ ] "):
        write("a.json", text)
        got = problem("session", "import", "a.json", *args, status=6)
        assert got["detail"] == "a.json: there is no session in it", got
    write("a.json", [message("hi"), message("ho")])
    got = problem("session", "import", "a.json", *args, status=6)
    assert got["detail"].endswith("it looks like a message"), got
    write("a.json", [python_session("a"), None])
    expect(session("import", "-q", "a.json", *args), 0)


@tests.test("import, copy: what is refused leaves no new store behind")
def _():
    filled()
    write("cut.json", b'{"session_id":"a","state":{"k"')
    write("other.json", {"a": 1})
    write("late.json", [{"role": "user"}, python_session("a")])
    write("map.json", {"a": {"session_id": 5}, "b": python_session("a")})
    write("empty.json", [])
    write("entry.json", {"session_id": "a",
                         "state": {"k": 1, "in_memory": {"messages": [{}, 5]}}})
    history = {"messages": [message("x" * 900)] * 10000}
    write("long.json", {"state": {"in_memory": history}, "session_id": "a"})
    write("cut_long.json", b'{"session_id":"a","state":{"k":"' + b"x" * (7 << 20))
    args = ["--store", "new.db"]
    for name, status, more in [("none.json", 3, []), ("cut.json", 6, []),
                               ("other.json", 6, []), ("late.json", 6, []),
                               ("map.json", 6, []), ("/dev/null", 6, []),
                               (TALK, 6, []), (SESSIONS, 6, ["--id", "x"]),
                               (SESSIONS, 6, ["--tenant", "t" * 200]),
                               (SESSIONS, 6, ["--agent", "a" * 200]),
                               ("entry.json", 6, []), ("long.json", 2, []),
                               ("cut_long.json", 6, [])]:
        problem("session", "import", name, *args, *more, status=status)
        assert not [n for n in os.listdir() if n.startswith("new")], name
    for text in (b"", b"[1]", b'{"session_id":', b'{"a":1}'):
        assert session("import", "-", "--from", "json", *args,
                       stdin=text).status == 6, text
        assert not os.path.exists("new.db"), text
    quiet(session("import", "empty.json", *args))
    assert not os.path.exists("new.db")
    got = problem("store", "copy", "--id", "nope", "desk.db", "new.db",
                  status=3)
    assert got["detail"] == "desk.db: session 'nope' is not in the store", got
    assert not os.path.exists("new.db")
    for more in (["--id", "@bad"], ["--id", ""], ["--tenant", "t" * 200],
                 ["--tenant", "t" * 200, "--id", "Ines"]):
        got = problem("store", "copy", *more, "desk.db", "new.db", status=6)
        assert got["reason"] == "bad_ref", got
        assert got["detail"].startswith("desk.db: "), got
        assert not os.path.exists("new.db"), more
    for words in (["store", "copy", "desk.db"], ["session", "import", SESSIONS,
                                                 "--store"]):
        got = problem(*words, "memory:", status=2)
        assert (got["reason"], got["hint"]) == ("no_file", "name a file"), got
    got = session("import", "-", *args, "--from", "json",
                  stdin=json.dumps({"n": python_session("a")}).encode())
    expect(got, 0, "", "perdure: new.db: session 'n' written\n")


@tests.test("import: under another id, for an agent, in the place of one")
def _():
    talk("desk.db", "@dafx-gardener@morning")
    args = ["--store", "desk.db"]
    assert ids(*args, "--agent", "gardener") == ["@dafx-gardener@morning"]
    write("a.json", python_session("a", ["x"], k=1))
    expect(session("import", "a.json", *args, "--id", "b", "--agent", "ops"),
           0, "", "perdure: desk.db: session 'b' written, 1 entry, 1 slot\n")
    assert ids(*args, "--agent", "ops") == ["b"]
    expect(perdure("convert", "-q", "a.json", "a.msgpack"), 0)
    expect(session("import", "a.msgpack", *args, "--id", "c"), 0, "",
           "perdure: desk.db: session 'c' written, 1 entry, 1 slot\n")
    expect(session("import", "a.json", *args, "--id", "b", "--replace"), 0, "",
           "perdure: desk.db: session 'b' replaced, 1 entry, 1 slot\n")
    got = parsed(session("show", *args, "b", "-o", "json"))
    assert (got["revision"], got["entries"]) == (2, 1), got


# --- delete, trim ------------------------------------------------------------

@tests.test("delete: one session, as it was looked at")
def _():
    filled()
    args = ["--store", "desk.db"]
    expect(session("delete", *args, "--dry-run", "tomato-house"), 0,
           "desk.db, session 'tomato-house': would be deleted, with 2 "
           "entries\n")
    expect(session("delete", *args, "--expect", "2", "tomato-house"), 5, "",
           "perdure: desk.db: the session has revision 1, --expect says 2\n"
           "hint: nothing was written; look at it again, then repeat\n")
    assert len(ids(*args)) == 3
    got = parsed(session("delete", *args, "--expect", "1", "tomato-house",
                         "-o", "json"))
    assert got == {"store": "desk.db", "tenant": "default",
                   "session": "tomato-house", "revision": 1, "entries": 2,
                   "dryRun": False}, got
    expect(session("delete", *args, "-q", "Ines"), 0)
    assert ids(*args) == ["telegram:123:456"]
    assert good(store("verify", "desk.db")).startswith(b"desk.db: sound")


@tests.test("delete: by age, and whose time is over")
def _():
    shutil.copy(os.path.join(OLD, "version-1.db"), "desk.db")
    os.chmod("desk.db", 0o600)
    good(store("migrate", "desk.db"))
    filled()
    args = ["--store", "desk.db"]
    expect(session("delete", *args, "--older-than", "1d", "-n"), 0,
           "plain-1\ndesk.db: 1 session would be deleted, with 2 entries\n")
    expect(session("delete", *args, "--older-than", "1d", "-n", "-q",
                   "--all-tenants"), 0,
           "acme\t@dafx-weather@paris\ndefault\tplain-1\n")
    expect(session("delete", *args, "--older-than", "1d", "--expired", "-n"), 0,
           "desk.db: 0 sessions would be deleted\n")
    expect(session("delete", *args, "--expired"), 0,
           "desk.db: 0 sessions deleted\n")
    assert parsed(session("delete", *args, "--expired", "--all-tenants", "-n",
                          "-o", "json")) == {
        "store": "desk.db", "sessions": 1, "entries": 3, "spared": 0,
        "dryRun": True, "named": [{"tenant": "acme",
                                   "session": "@dafx-weather@paris"}]}
    got = parsed(session("delete", *args, "--older-than", "1w", "-o", "json",
                         "-y"))
    assert got == {"store": "desk.db", "tenant": "default", "sessions": 1,
                   "entries": 2, "spared": 0, "dryRun": False}, got
    assert len(ids(*args)) == 3
    expect(session("delete", *args, "--expired", "--tenant", "acme", "-y"), 0,
           "desk.db: 1 session deleted, with 3 entries\n")
    assert good(store("verify", "desk.db")).startswith(
        b"desk.db: sound; 3 sessions, 2 entries")


@tests.test("delete: a dry run names what the run deletes, and nothing else")
def _():
    shutil.copy(os.path.join(OLD, "version-1.db"), "desk.db")
    os.chmod("desk.db", 0o600)
    good(store("migrate", "desk.db"))
    # Changed at midnight, with work in its inbox that came due a minute later.
    age = "%ds" % (time.time() - 1767225630)
    args = ["--store", "desk.db", "--older-than", age, "--all-tenants"]
    line = (": 1 session %s, with 2 entries; 1 spared, somebody works on it or "
            "has work for it\n")
    expect(session("delete", *args, "-n"), 0,
           "default\tplain-1\ndesk.db" + line % "would be deleted")
    assert parsed(session("delete", *args, "-n", "-o", "json")) == {
        "store": "desk.db", "sessions": 1, "entries": 2, "spared": 1,
        "dryRun": True, "named": [{"tenant": "default", "session": "plain-1"}]}
    expect(session("delete", *args, "-y"), 0, "desk.db" + line % "deleted")


def answered(typed, *args):
    return run_on_terminal([PERDURE, "session", "delete", *args,
                            "--color", "never"], typed=typed)


@tests.test("delete: many are asked about on a terminal, with their number")
def _():
    filled()
    args = ["--store", "desk.db", "--older-than", "0s"]
    question = "delete 3 sessions from desk.db? [y/N] "
    for typed, end in ((b"n\n", ""), (b"\n", ""), (b"yess\n", ""),
                       (b"x" * 300 + b"y\n", ""), (b"\x04", "\n")):
        expect(answered(typed, *args), 1, "",
               question + end + "perdure: desk.db: nothing was deleted\n")
        assert len(ids("--store", "desk.db")) == 3, typed
    got = answered(b"n\n", *args, "--all-tenants", "-q")
    expect(got, 1, "", "delete 3 sessions of all tenants from desk.db? [y/N] ")
    expect(answered(b"y\n", *args), 0,
           "desk.db: 3 sessions deleted, with 2 entries\n", question)
    assert ids("--store", "desk.db") == []
    # Nothing to delete, and nothing to ask.
    expect(answered(b"", *args), 0, "desk.db: 0 sessions deleted\n")
    filled()
    expect(answered(b"", *args, "--yes"), 0,
           "desk.db: 3 sessions deleted, with 2 entries\n")
    filled()
    good(session("delete", "--store", "desk.db", "-q", "Ines"))
    good(session("delete", "--store", "desk.db", "-q", "tomato-house"))
    expect(answered(b"YES\n", *args), 0,
           "desk.db: 1 session deleted, with 0 entries\n",
           "delete 1 session from desk.db? [y/N] ")


@tests.test("delete: many need --yes where nobody can be asked")
def _():
    filled("my desk.db")
    args = ["--older-than", "0s", "--store", "my desk.db", "--tenant",
            "default"]
    command = ("perdure session delete --store \"my desk.db\" --tenant default "
               "--older-than 0s")
    text = ("perdure: my desk.db: deleting 3 sessions needs --yes where nobody "
            "can be asked\nhint: '%s --yes' deletes them; -n in place of --yes "
            "lists them\n" % command)
    expect(session("delete", *args), 2, "", text)
    # A terminal that nobody types on, or that shows no question.
    assert run_on_terminal([PERDURE, "session", "delete", *args]).status == 2
    got = problem("session", "delete", *args, status=2)
    assert got["code"] == "USAGE" and got["reason"] == "not_confirmed", got
    assert len(ids("--store", "my desk.db")) == 3
    expect(session("delete", *args, "--expired"), 0,
           "my desk.db: 0 sessions deleted\n")
    expect(session("delete", *args, "-nyq"), 0,
           "telegram:123:456\nInes\ntomato-house\n")
    assert len(ids("--store", "my desk.db")) == 3
    for option in ("-n", "--yes"):
        shell = "%s %s" % (command.replace("perdure", PERDURE, 1), option)
        assert run(["sh", "-c", shell]).status == 0
    assert ids("--store", "my desk.db") == []


@tests.test("delete: what changes while the question waits is spared")
def _():
    filled()

    def change(number):
        good(session("bag set", "--store", "desk.db", "-q", "Ines", "k",
                     str(number)))
    change(1)
    command = [PERDURE, "session", "delete", "--store", "desk.db",
               "--older-than", "0s"]
    keys, slave = os.openpty()
    process = subprocess.Popen(command, stdin=slave, stderr=slave,
                               stdout=subprocess.PIPE, env=environment())
    os.close(slave)
    while b"[y/N]" not in os.read(keys, 1024):  # fails if it ends before
        pass
    time.sleep(0.01)  # a change of the same millisecond is no change
    change(2)
    os.write(keys, b"y\n")
    out = process.communicate()[0]
    os.close(keys)
    assert out == b"desk.db: 2 sessions deleted, with 2 entries\n", out
    assert ids("--store", "desk.db") == ["Ines"]


# --- what a file shows, a store shows ----------------------------------------

def python_document(service, state):
    return {"type": "session", "session_id": "own", "state": state,
            "service_session_id": service}


VIEWS = {
    "beside-messages": python_document("conv_81", {
        "in_memory": {"messages": [message("hej")], "cursor": 7,
                      "notes": {"k": [1, 2]}}, "w": {"x": 1}}),
    "messages-alone": python_document(None, {
        "w": 1, "in_memory": {"messages": [message("hej")]}}),
    "no-messages": python_document({"a": "b"}, {
        "w": 1, "in_memory": {"foo": 1}, "b": 2}),
    "empty-messages": python_document("_agent_local_chat_history", {
        "in_memory": {"messages": []}}),
    "null-slot": python_document("x", {"in_memory": None}),
    "no-slot": python_document(None, {}),
    "dotnet": {"conversationId": "conv_9", "stateBag": {
        "InMemoryChatHistoryProvider": {"messages": [], "more": True},
        "in_memory": {"q": 1}}},
    "thread": {"service_thread_id": "thr_1",
               "chat_message_store_state": {"messages": [], "z": 1}},
    "wrapper": {"session": python_document("conv_3", {"k": 1}),
                "additionalProperties": {"team": "garden"}},
}
HISTORY = ("in_memory", "InMemoryChatHistoryProvider")


def without_messages(bag):
    """A bag of JSON output, but for messages of the history, which in a store
    are entries, and for the bytes of what holds them."""
    left = []
    for slot in bag:
        parts = slot.get("parts", [])
        if slot["key"] in HISTORY:
            kept = [part for part in parts
                    if part["key"] != "messages" or part["count"] == 0]
            if parts and not kept:
                continue
            slot = dict(slot, bytes=0)
            if kept:
                slot.update(parts=kept, count=len(kept))
        left.append(slot)
    return left


@tests.test("show: a session in a store shows what its file shows")
def _():
    for name, document in VIEWS.items():
        write("a.json", document)
        quiet(session("import", "a.json", "--store", "desk.db", "--id", name))
        file = parsed(session("show", "--file", "a.json", "-o", "json"))
        stored = parsed(session("show", "--store", "desk.db", name, "-o",
                                "json"))
        for member in ("shape", "kind", "serviceId", "unusedServiceId",
                       "properties"):
            assert file.get(member) == stored.get(member), (name, member)
        assert file.get("id") == stored.get("ownId"), (name, stored)
        bag = without_messages(file["bag"])
        assert without_messages(stored["bag"]) == bag, (name, bag, stored)
        assert stored["slots"] == len(bag), stored
        keys = parsed(session("bag keys", "--store", "desk.db", name, "-o",
                              "json"))
        assert [slot["key"] for slot in keys["slots"]] == [
            slot["key"] for slot in bag], keys
        for slot in keys["slots"]:
            assert session("bag get", "--store", "desk.db", name,
                           slot["key"]).status == 0, slot
        for label in ("shape", "service"):
            lines = [re.search(r"^%s .*(\n  .*)*" % label, good(session(
                "show", *place, "--depth", "1")).decode(), re.M).group()
                     for place in (["--file", "a.json"],
                                   ["--store", "desk.db", name])]
            assert lines[0] == lines[1], lines


@tests.test("bag: what stands beside the messages is shown, and not changed")
def _():
    write("a.json", VIEWS["beside-messages"])
    quiet(session("import", "a.json", "--store", "desk.db"))
    place = ["--store", "desk.db", "own", "in_memory"]
    expect(session("bag get", *place, "/notes"), 0,
           '{\n  "k": [\n    1,\n    2\n  ]\n}\n')
    for args in (["bag set", *place, "/cursor", "8"], ["bag rm", *place],
                 ["bag rm", *place, "/cursor", "-n"]):
        got = session(*args)
        assert (got.status, got.out) == (6, b""), got
        assert b"perdure session log" in got.err, got
    expect(session("show", "--store", "desk.db", "own", "-o", "raw"), 0,
           read("a.json").decode() + "\n")


@tests.test("terminal: no verb shows what is invisible as it is")
def _():
    sid, desk = "s%ss" % INVISIBLE, "desk%s.db" % INVISIBLE
    write("a.json", {"session": {
        "type": "session", "session_id": sid,
        "service_session_id": "conv" + INVISIBLE, "state": {
            "in_memory": {"messages": [message("hej" + INVISIBLE)],
                          INVISIBLE: 1},
            "k" + INVISIBLE: {INVISIBLE: INVISIBLE}}},
        "additionalProperties": {"p" + INVISIBLE: INVISIBLE}})
    write("bare.json", json.loads(read("a.json"))["session"])
    at = ["--store", desk]
    folder = ["--folder", "dir" + INVISIBLE]
    quiet(session("import", "bare.json", *folder))
    open(os.path.join(folder[1], "%s.json" % sid), "w").close()
    for args in (["session", "import", "a.json", *at, "--agent", INVISIBLE],
                 ["session", "import", "a.json", *at],
                 ["session", "import", "a.json", *at, "--replace"],
                 ["session", "import", "bare.json", *folder],
                 *(["session", "list", *place]
                   for place in (at, folder, ["--file", "a.json"])),
                 *(["session", *verb, *place, sid]
                   for verb in (["show"], ["show", "--full"], ["bag", "keys"])
                   for place in (at, folder, ["--file", "a.json"])),
                 ["session", "show", *at, "none" + INVISIBLE],
                 ["session", "bag", "get", *at, sid, "k" + INVISIBLE],
                 ["session", "bag", "get", *at, sid, "none" + INVISIBLE],
                 ["session", "bag", "set", *at, sid, "k" + INVISIBLE,
                  '"%s"' % INVISIBLE],
                 ["session", "bag", "set", *folder, sid, "k", "1"],
                 ["session", "log", *at, sid],
                 ["session", "export", *at, sid, "-"],
                 ["session", "export", *at, "--all", INVISIBLE + ".json", "-y"],
                 ["session", "convert", "--shape", "dotnet", "--file",
                  "a.json", "-"],
                 ["session", "convert", "--shape", "dotnet", "--file",
                  "a.json", INVISIBLE + ".json", "-y"],
                 ["session", "trim", *at, "--keep-turns", "1", sid],
                 ["session", "verify", *at, sid],
                 ["session", "delete", *at, "-n", sid],
                 ["session", "delete", *at, "-n", "--older-than", "0s"],
                 ["session", "delete", *at, "--older-than", "0s"],
                 ["store", "info", desk], ["store", "verify", desk],
                 ["store", "vacuum", desk], ["store", "migrate", desk],
                 ["store", "init", desk], ["store", "info", INVISIBLE],
                 ["store", "backup", desk, "b%s.db" % INVISIBLE, "-y"],
                 ["store", "copy", desk, "c%s.db" % INVISIBLE, "-y"],
                 ["session", "delete", *at, sid]):
        for extra in ([], ["-o", "json"], ["-o", "jsonl"]):
            env = {"PERDURE_PAGER": "cat"}
            got = run_on_terminal([PERDURE, *args, *extra], env=env)
            assert not hidden(got.out + got.err), (args, extra, got)
            got = run_on_terminal([PERDURE, *args, *extra], piped=True)
            assert not hidden(got.err), (args, extra, got)
            assert args[1] in ("import", "trim", "vacuum", "verify", "delete",
                               "init") or got.status == 0 or \
                b"hint" in got.err, (args, got)


@tests.test("trim: whole turns go from the beginning")
def _():
    talk()
    args = ["--store", "desk.db", "talk"]
    before = good(session("log", *args, "-o", "raw"))
    expect(session("trim", *args, "--keep-turns", "2", "-n"), 0,
           "desk.db, session 'talk': 2 turns would be removed, 5 entries\n"
           "revision 1\n")
    expect(session("trim", *args, "--keep-turns", "99", "-n"), 0,
           "desk.db, session 'talk': nothing to remove\nrevision 1\n")
    assert session("trim", "--store", "desk.db", "--keep-turns", "1", "-n",
                   "none").status == 3
    assert good(session("log", *args, "-o", "raw")) == before
    expect(session("trim", *args, "--keep-turns", "2"), 0,
           "desk.db, session 'talk': 2 turns removed, 5 entries\nrevision 2\n")
    expect(session("trim", *args, "--keep-turns", "2"), 0,
           "desk.db, session 'talk': nothing to remove\nrevision 2\n")
    text = good(session("show", *args)).decode()
    assert "\nhistory   4 entries, number 6 to 9" in text, text
    got = parsed(session("trim", *args, "--older-than", "1d", "-o", "json"))
    assert got == {"store": "desk.db", "tenant": "default", "session": "talk",
                   "turns": 2, "entries": 4, "completions": 0, "revision": 3,
                   "dryRun": False}
    expect(session("log", *args), 0, "session 'talk' has no entries\n")
    assert good(store("verify", "desk.db")).startswith(b"desk.db: sound")


def entry(kind, at=None):
    return {"$type": kind, **({"createdAt": at} if at else {}), "messages": []}


# What is imported, and of its entries: the times that a log shows, and the
# number of the first one that no rule by age removes, with --untimed and
# without.
UNTIMED = [
    (python_session("s", ["one", "two"]), [None, None], 1),
    ({"schemaVersion": "1.1.0", "data": {"conversationHistory": [
        entry("request", "2025-06-01T10:00:00Z"),
        entry("response", "2025-06-01T10:00:05Z"),
        entry("request", "2025-06-02T10:00:00Z"), entry("response"),
        entry("request", "2025-06-03T10:00:00Z")]}},
     ["2025-06-01T10:00:00Z", "2025-06-01T10:00:05Z", "2025-06-02T10:00:00Z",
      None, "2025-06-03T10:00:00Z"], 3),
    ({"stateBag": {"InMemoryChatHistoryProvider": {"messages": [
        {"role": "user", "createdAt": "2025-06-01T10:00:00Z"},
        {"role": "user", "createdAt": "soon"}]}}},
     ["2025-06-01T10:00:00Z", None], 2),
]


@tests.test("trim: an entry without a time has none, and no age")
def _():
    for number, (document, times, first) in enumerate(UNTIMED):
        write("in.json", document)
        name = "%d.db" % number
        expect(session("import", "-q", "in.json", "--store", name, "--id",
                       "s"), 0)
        args = ["--store", name, "s"]
        assert quiet(session("export", *args, "-")) == read("in.json")
        log = parsed(session("log", *args, "-o", "json"))["entries"]
        assert [e.get("time") for e in log] == times, log
        for row, line in enumerate(good(session("log", *args)).decode()
                                   .split("\n")[1:-1]):
            assert re.findall(TIME, line.split("{")[0]) == [
                t for t in [times[row]] if t], line
        db = sqlite3.connect("file:%s?mode=ro" % name, uri=True)
        assert [at is None for at, in db.execute(
            "SELECT created FROM conversation ORDER BY seq")] == [
                at is None for at in times]
        db.close()
        at = times.index(None) + 1
        stays = ("the time of entry %d is not known, so it stays with all that "
                 "follows; --untimed counts it from the import\n" % at)
        for more in (["-n"], []):
            out = good(session("trim", *args, "--older-than", "0s",
                               *more)).decode()
            assert stays in out and ("nothing to remove" in out) == (
                first == 1), out
        got = parsed(session("trim", *args, "--older-than", "0s", "-o",
                             "json"))
        assert (got["turns"], got["untimedEntry"]) == (0, at), got
        left = parsed(session("log", *args, "-o", "json"))["entries"]
        assert [e["seq"] for e in left] == list(
            range(first, len(times) + 1)), left
        assert parsed(session("trim", *args, "--older-than", "1d", "--untimed",
                              "-o", "json"))["turns"] == 0
        for more in (["-n"], []):
            got = parsed(session("trim", *args, "--older-than", "0s",
                                 "--untimed", "-o", "json", *more))
            assert got["entries"] == len(left), got
            assert "untimedEntry" not in got, got
        assert good(store("verify", name)).startswith(name.encode() +
                                                      b": sound")


@tests.test("trim: in an older store the time is the one in the body")
def _():
    for sid, gone, left in (("state", 2, 3), ("dotnet", 2, 2), ("python", 0, 3),
                            ("grown", 0, 2), ("made", 1, 0)):
        shutil.copy(os.path.join(OLD, "version-2-imported.db"), "old.db")
        os.chmod("old.db", 0o600)
        good(store("migrate", "old.db"))
        args = ["--store", "old.db", "--older-than", "1d", sid, "-o", "json"]
        for more in (["-n"], []):
            got = parsed(session("trim", *args, *more))
            assert got["entries"] == gone, (sid, got)
            assert ("untimedEntry" in got) == (left > 0), (sid, got)
        got = parsed(session("trim", *args, "--untimed"))
        assert got["entries"] == left, (sid, got)
        for end in ("", "-wal", "-shm", "-lock"):
            if os.path.exists("old.db" + end):
                os.remove("old.db" + end)


# --- deleted is gone ---------------------------------------------------------

def planted(kind, number, turn=0):
    """A text that is nowhere else."""
    return "planted-%s-%04d-%d-%s" % (kind, number, turn, "x" * 300)


def remains(word):
    """Files here that hold it."""
    return sorted(name for name in os.listdir() if os.path.isfile(name)
                  and word.encode() in read(name))


def dirty_gaps(name):
    """Pages of trees with bytes between the pointers to rows and the rows."""
    raw, dirty = read(name), []
    for number in range(1, len(raw) // 4096 + 1):
        page = raw[(number - 1) * 4096:number * 4096]
        head = 100 if number == 1 else 0
        if page[head] not in (2, 5, 10, 13) or (number - 2) % 818 == 0:
            continue
        cells, start = struct.unpack(">HH", page[head + 3:head + 7])
        begin = head + (12 if page[head] < 10 else 8) + 2 * cells
        if any(page[begin:start]):
            dirty.append(number)
    return dirty


def fill_planted(name, count):
    """Sessions with three turns and a slot, the texts of which say where they
    stand."""
    for i in range(count):
        with open("in-%d.json" % i, "w") as file:
            json.dump({"type": "session", "session_id": "s%d" % i, "state": {
                "note": planted("slot", i),
                "in_memory": {"messages": [
                    message(planted("turn", i, turn), role)
                    for turn in range(3) for role in ("user", "assistant")]}}},
                file)
        quiet(session("import", "-q", "in-%d.json" % i, "--store", name))
        os.remove("in-%d.json" % i)


def check_planted(count, files):
    """Of every second session nothing is left, of the others the last turn."""
    for name in files:
        raw = read(name)
        for i in range(count):
            is_here = i % 2 == 1
            assert (planted("turn", i, 2).encode() in raw) == is_here, (name, i)
            for turn in (0, 1):
                assert planted("turn", i, turn).encode() not in raw, (name, i)
            assert planted("slot", i).encode() not in raw, (name, i)


def delete_planted(name, count):
    for i in range(count):
        if i % 2 == 0:
            good(session("delete", "--store", name, "s%d" % i))
        else:
            good(session("trim", "--store", name, "--keep-turns", "1",
                         "s%d" % i))
            good(session("bag set", "--store", name, "s%d" % i, "note", "1"))


@tests.test("deleted: no file of a store, and no backup, holds it")
def _():
    count = 200
    fill_planted("desk.db", count)
    assert remains(planted("turn", 4, 1)) == ["desk.db"]
    delete_planted("desk.db", count)
    good(store("backup", "desk.db", "copy.db"))
    check_planted(count, ["desk.db", "copy.db"])
    assert not dirty_gaps("desk.db") and not dirty_gaps("copy.db")
    assert not remains("planted-slot"), remains("planted-slot")
    for i in (0, 1):
        assert remains(planted("turn", i, 0)) == [], i


@tests.test("deleted: with secure_delete=off it stays for a while")
def _():
    name = "sqlite:desk.db?secure_delete=off"
    fill_planted(name, 4)
    good(session("delete", "--store", name, "s2"))
    assert remains(planted("turn", 2, 1)) == ["desk.db"]
    assert dirty_gaps("desk.db")
    got = problem("store", "info", "sqlite:desk.db?secure_delete=on", status=6)
    assert got["reason"] == "bad_uri", got


@tests.test("deleted: a killed process leaves it in the log until the next close")
def _():
    count = 12
    fill_planted("desk.db", count)
    delete_planted("desk.db", count)
    with open("more.jsonl", "w") as file:
        for i in range(3000):
            file.write(json.dumps(python_session("m%d" % i)) + "\n")
    child = subprocess.Popen([PERDURE, "session", "import", "-q", "more.jsonl",
                              "--store", "desk.db"], env=environment())
    while not (os.path.exists("desk.db-wal")
               and os.path.getsize("desk.db-wal") > 100000):
        assert child.poll() is None
    child.kill()
    child.wait()
    good(session("bag set", "--store", "desk.db", "s1", "note", "2"))
    os.remove("more.jsonl")
    check_planted(count, ["desk.db"])
    assert not remains("planted-slot"), remains("planted-slot")


@tests.test("crash: what a shell copied after it is taken over as a whole")
def _():
    with open("many.jsonl", "w") as file:
        for i in range(3000):
            file.write(json.dumps(python_session("m%d" % i, ["x" * 200])) + "\n")
    good(store("init", "-q", "desk.db"))
    child = subprocess.Popen([PERDURE, "session", "import", "-q", "many.jsonl",
                              "--store", "desk.db"], env=environment())
    while not (os.path.exists("desk.db-wal")
               and os.path.getsize("desk.db-wal") > 2000000):
        assert child.poll() is None
    child.kill()
    child.wait()
    db = sqlite3.connect("desk.db")
    count, = db.execute("SELECT count(*) FROM sessions").fetchone()
    db.close()
    assert count > 10 and not os.path.exists("desk.db-wal")
    got = problem("session", "list", "--store", "desk.db", status=9)
    assert "perdure store vacuum 'desk.db'" in got["detail"], got
    good(store("vacuum", "desk.db"))
    assert good(store("verify", "desk.db")).startswith(
        b"desk.db: sound; %d sessions" % count)


@tests.test("deleted: a migration leaves nothing of what went before")
def _():
    shutil.copy(os.path.join(OLD, "version-2.db"), "desk.db")
    os.chmod("desk.db", 0o600)
    good(store("migrate", "desk.db"))
    assert not dirty_gaps("desk.db")
    assert parsed(store("info", "desk.db", "-o", "json"))["freeBytes"] == 0


tests.finish()
