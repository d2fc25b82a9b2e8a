"""The programs in examples/ that work on sessions, as a user runs them.
Usage: examples.py EXAMPLE-SAVE EXAMPLE-PROVIDER EXAMPLE-STORE EXAMPLE-ARCHIVE
EXAMPLE-AGENT EXAMPLE-MANY EXAMPLE-NOTEBOOK EXAMPLE-DURABLE EXAMPLE-GROUP
EXAMPLE-REGROUP"""
import json
import os
import sys

from harness import Tests, record, run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
(SAVE, PROVIDER, STORE, ARCHIVE, AGENT, MANY, NOTEBOOK, DURABLE, GROUP,
 REGROUP) = (os.path.abspath(path) for path in sys.argv[1:11])
tests = Tests("examples")


def data(*path):
    return os.path.join(ROOT, "tests", "data", *path)


def read(name):
    with open(name, "rb") as file:
        return file.read()


def write(name, text):
    with open(name, "wb") as file:
        file.write(text.encode())
    return name


def expect(result, status, out="", err=""):
    """Whole output, compared as text."""
    want = (status, out.encode(), err.encode())
    got = (result.status, result.out, result.err)
    assert want == got, "\nexpected %r\ngot      %r" % (want, got)


def saved(name, change):
    """What `save` prints for sessions that it saved as NAME.*."""
    return "".join("%s.%s: %d bytes\n  %s\n" % (
        name, form, os.path.getsize("%s.%s" % (name, form)), change)
        for form in ("json", "msgpack", "xml"))


# --- save --------------------------------------------------------------------

@tests.test("example save: changes one value in every format")
def _():
    for source, change in (
            (data("dotnet", "sessions", "session-context-provider.json"),
             "added /stateBag/prefs"),
            (data("python", "sessions", "session-context-provider.json"),
             "added /state/prefs")):
        result = run([SAVE, source, "prefs", '{"size":14}', "out"])
        expect(result, 0, saved("out", change))
        assert json.loads(read("out.json")) == json.loads(read(source))


@tests.test("example save: names the member that changed")
def _():
    write("in.json", '{"x":1.0,"stateBag":{"a":{"size":12,"z":[1e0]},"b":null}}')
    result = run([SAVE, "in.json", "a", '{"size":14,"z":[1e0]}', "out"])
    expect(result, 0, saved("out", "changed /stateBag/a/size"))
    assert read("in.json") == read("out.json")


@tests.test("example save: says what is wrong, and where")
def _():
    write("in.json", '{"conversationId":7,"stateBag":{}}')
    result = run([SAVE, "in.json", "a", "1", "out"])
    assert result.status == 6 and result.out == b"", result
    assert b"session_member at /conversationId" in result.err, result
    result = run([SAVE, "none.json", "a", "1", "out"])
    expect(result, 3, "", "save: cannot open none.json (no_file)\n")
    write("in.json", '{"stateBag":{}}')
    result = run([SAVE, "in.json", " ", "1", "out"])
    assert result.status == 6 and b"key_blank" in result.err, result
    assert run([SAVE]).status == 2


# --- notebook ----------------------------------------------------------------

@tests.test("example notebook: keeps notes apart, and only a key in the bag")
def _():
    os.mkdir("notes")
    expect(run([NOTEBOOK, "notes", "a.json", "buy seeds"]), 0, "buy seeds\n")
    expect(run([NOTEBOOK, "notes", "b.json", "call Ann"]), 0, "call Ann\n")
    expect(run([NOTEBOOK, "notes", "a.json", "water bed 3"]), 0,
           "buy seeds\nwater bed 3\n")
    for name, page in (("a.json", 1), ("b.json", 2)):
        session = json.loads(read(name))
        assert session["stateBag"] == {"example.notes": {"page": page}}
        assert b"seeds" not in read(name) and b"notes/" not in read(name)
    assert sorted(os.listdir("notes")) == ["page-1.txt", "page-2.txt"]


@tests.test("example notebook: works on a session that another program wrote")
def _():
    os.mkdir("notes")
    source = read(data("python", "sessions", "session-context-provider.json"))
    write("s.json", source.decode())
    expect(run([NOTEBOOK, "notes", "s.json", "x"]), 0, "x\n")
    before, after = json.loads(source), json.loads(read("s.json"))
    assert after["state"].pop("example.notes") == {"page": 1}
    assert before == after


@tests.test("example notebook: takes no page that a document makes up")
def _():
    os.mkdir("notes")
    text = '{"stateBag":{"example.notes":{"page":"../secret"}}}'
    write("s.json", text)
    result = run([NOTEBOOK, "notes", "s.json", "x"])
    assert result.status == 6 and b"state_decode" in result.err, result
    assert b"/example.notes" in result.err, result
    assert read("s.json") == text.encode() and os.listdir("notes") == []
    assert run([NOTEBOOK]).status == 2


# --- store -------------------------------------------------------------------

@tests.test("example store: goes on where the last run ended")
def _():
    turns = ['Is it "dry"?', "Yes.", "Water it.", "Done \u2713", "More?", "No.",
             "", ""]
    for i in range(0, 8, 2):
        expect(run([STORE, "demo.db", *turns[i:i + 2]]), 0,
               "".join(text + "\n" for text in turns[max(0, i - 4):i]))
    assert oct(os.stat("demo.db").st_mode & 0o777) == "0o600"
    assert os.path.getsize("demo.db-wal") == 0 \
        if os.path.exists("demo.db-wal") else True


@tests.test("example store: refuses a file of somebody else and leaves it")
def _():
    write("note.txt", "no store\n" * 100)
    result = run([STORE, "note.txt", "a", "b"])
    assert result.status != 0 and b"note.txt" in result.err, result
    assert read("note.txt") == b"no store\n" * 100
    assert run([STORE]).status == 2


# --- agent -------------------------------------------------------------------

@tests.test("example agent: calls its tool, and goes on in the next process")
def _():
    write("replies.json", json.dumps({"replies": [
        {"after": "add", "text": ["That is ", "{result}."]},
        {"user": "sum", "calls": [
            {"name": "add", "arguments": {"a": 40, "b": 2}}]},
        {"text": "You said: {user}"}]}))
    expect(run([AGENT, "desk.db", "replies.json", "The sum?"]), 0,
           "That is 42.\n")
    expect(run([AGENT, "desk.db", "replies.json", "Thanks"]), 0,
           "You said: Thanks\n")
    expect(run([AGENT, "desk.db", "missing.json", "x"]), 3, "",
           "missing.json: No such file or directory\n")
    write("bad.json", "{}")
    result = run([AGENT, "desk.db", "bad.json", "x"])
    assert result.status == 6 and b"there is no reply" in result.err, result
    assert run([AGENT]).status == 2


@tests.test("example durable: calls its tool, and goes on in the next process")
def _():
    for entries in (2, 4):
        result = run([DURABLE, "d.db"])
        answer, count = result.out.decode().splitlines()
        assert result.status == 0 and count == "%d entries" % entries, result
        entry = json.loads(answer)
        assert entry["$type"] == "response", entry
        assert [content.get("text") or content["$type"]
                for message in entry["messages"]
                for content in message["contents"]] == [
            "functionCall", "functionResult", "That is 42."], entry
    result = run([DURABLE, "no/such/folder/d.db"])
    assert result.status == 3 and result.err.startswith(b"durable: "), result
    assert run([DURABLE]).status == 2


@tests.test("example provider: lets the model read what was said before")
def _():
    expect(run([PROVIDER, "buy seeds", "call Ann", "What?"]), 0,
           'I see\nI see\nYou said ["buy seeds","call Ann"]\n')
    expect(run([PROVIDER]), 0)


@tests.test("example many: one agent says something in 1,000 sessions")
def _():
    expect(run([MANY, "many.db"]), 0, "1000 sessions, 2000 entries\n")
    expect(run([MANY, "many.db"]), 0, "1000 sessions, 4000 entries\n")
    assert run([MANY]).status == 2


# --- chats -------------------------------------------------------------------

@tests.test("example group: writer and reviewer agree, again in each process")
def _():
    for count, topic in ((5, "Autumn"), (10, "October")):
        expect(run([GROUP, "g.db", topic]), 0,
               "writer: %s: leaves are falling, red and yellow.\n"
               "reviewer: Shorter, please.\n"
               "writer: Red leaves.\n"
               "reviewer: Approved.\n"
               "%d messages\n" % (topic, count))
    result = run([GROUP, "no/such/folder/g.db", "x"])
    assert result.status == 3 and result.err.startswith(b"group: "), result
    assert run([GROUP]).status == 2


@tests.test("example regroup: goes on alone, and is joined by who was missing")
def _():
    expect(run([REGROUP, "chat.json"]), 0,
           "Ann: I heard: Hello\nBen: I heard: Hello\n")
    first = json.loads(read("chat.json"))
    for _ in range(2):
        expect(run([REGROUP, "chat.json"]), 0,
               "restored: reduced\n"
               "kept: a channel of kind chat-history\n"
               "missing: Ben\n"
               "Ann: I heard: And now?\nBen: I heard: And now?\n")
    last = json.loads(read("chat.json"))
    assert [[c["key2"] for c in chat["channels"]] for chat in (first, last)
            ].count([c["key2"] for c in first["channels"]]) == 2
    messages = last["history"]["messages"]
    assert len(messages) == 9
    assert messages[:3] == first["history"]["messages"]
    assert all(c["cursor"] >= 8 for c in last["channels"]), last["channels"]
    write("bad.json", "{}")
    result = run([REGROUP, "bad.json"])
    assert result.status == 6 and read("bad.json") == b"{}", result
    assert run([REGROUP]).status == 2


# --- archive -----------------------------------------------------------------

@tests.test("example archive: gives back the bytes that it took")
def _():
    for number, path in enumerate((
            ("dotnet", "sessions", "session-context-provider.json"),
            ("python", "sessions", "session-context-provider.json"))):
        text = read(data(*path))
        result = run([ARCHIVE, "a.db", "in", "s-%d" % number], stdin=text)
        assert result.status == 0 and b" entries, " in result.out, result
        result = run([ARCHIVE, "a.db", "out", "s-%d" % number])
        assert (0, text, b"") == (result.status, result.out, result.err)
    text = b'{ "session_id" : "own" , "state" : { "k" : 1.0 } }\n'
    expect(run([ARCHIVE, "a.db", "in"], stdin=text), 0,
           "own: 0 entries, 1 slots, 0 properties\n")
    assert text == run([ARCHIVE, "a.db", "out", "own"]).out


@tests.test("example archive: says what is wrong, and where")
def _():
    result = run([ARCHIVE, "a.db", "in"], stdin=b'{"stateBag":{}}')
    assert result.status == 6 and b"(no_session_id)" in result.err, result
    result = run([ARCHIVE, "a.db", "in", "x"], stdin=b'{"conversationId":5}')
    assert result.status == 6, result
    assert result.err.startswith(b"archive: /conversationId: "), result
    result = run([ARCHIVE, "a.db", "out", "x"])
    assert result.status == 3 and b"(no_session)" in result.err, result
    assert run([ARCHIVE, "a.db"]).status == 2


tests.finish()
