"""Chats of several agents: perdure group, on stores and on files.

Usage: group.py PERDURE
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

from harness import Tests, environment, hidden, run, run_on_terminal, INVISIBLE

PERDURE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1
                          else os.environ["PERDURE_BIN"])
REAL = pathlib.Path(__file__).resolve().parents[1] / "data/dotnet/chat"
tests = Tests("group")

# The first reply that fits is given.
BAKER = {"replies": [
    {"user": "break", "fail": "no such model"},
    {"after": "count", "text": ["There are ", "{result} loaves."]},
    {"user": "loaves", "text": "Let me look.",
     "calls": [{"name": "count", "arguments": {"what": "loaves"}}]},
    {"text": ["You said: ", "{user}"]}]}
MILLER = {"replies": [{"text": ["More flour, ", "then."]}]}
SLOW = {"replies": [{"text": ["One ", "two."], "delay_ms": 60000}]}
AGENT = """\
kind: Prompt
name: baker
model: {provider: script, connection: {file: baker.json}}
tools:
- kind: command
  name: count
  command: [echo, '7']
"""
TWO = ["--agent", "baker=baker.yaml", "--agent", "miller=script:miller.json"]
SLOWLY = ["--agent", "slow=script:slow.json"]


def write(name, text):
    mode = "wb" if isinstance(text, bytes) else "w"
    with open(name, mode) as file:
        file.write(text if isinstance(text, (bytes, str))
                   else json.dumps(text))


def read(name):
    with open(name, "rb") as file:
        return file.read()


def perdure(*args, status=0, **more):
    result = run([PERDURE, *args], **more)
    assert result.status == status, result
    return result


def group(verb, *args, status=0, store="d.db", **more):
    return perdure("group", verb, "--store", store, *args, status=status,
                   **more)


def send(*args, agents=TWO, **more):
    return group("send", *args, *agents, **more)


def shown(name="c"):
    return json.loads(group("show", "-o", "json", name).out)


def begin(name="c"):
    """Agents, and an empty chat."""
    write("baker.json", BAKER)
    write("miller.json", MILLER)
    write("slow.json", SLOW)
    write("baker.yaml", AGENT)
    group("new", name)


def said(chat):
    """Author and text of each message."""
    return [(m.get("author"), m["text"]) for m in chat["messages"]]


def problem(result):
    return json.loads(result.err)


def start(*args):
    return subprocess.Popen([PERDURE, "group", *args], env=environment(),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def until_turn(child, number, name="c"):
    """Wait for the begin of a turn, for a minute at most."""
    for _ in range(3000):
        turns = shown(name)["turns"]
        if turns and turns[-1]["turn"] >= number:
            return
        assert child.poll() is None, child.communicate()
        time.sleep(0.02)
    raise AssertionError("the turn never began")


# --- a chat from its begin ----------------------------------------------------

@tests.test("new: makes a chat once, and says so in two ways")
def _():
    assert perdure("group", "new", "--store", "new.db", "c").out == (
        b"c: a new chat\n")
    result = perdure("group", "new", "--store", "new.db", "c", status=5)
    assert b"session 'c' already" in result.err, result
    assert b"hint: 'perdure group show --store new.db c' shows it" in (
        result.err), result
    got = json.loads(perdure("group", "new", "--store", "new.db", "-o", "json",
                             "--tenant", "t", "c").out)
    assert got == {"store": "new.db", "tenant": "t", "session": "c"}, got
    assert shown_empty("new.db")


def shown_empty(store):
    got = json.loads(perdure("group", "show", "--store", store, "-o", "json",
                             "c").out)
    return (got["count"], got["turns"], got["id"], got["complete"]) == (
        0, [], "c", False)


@tests.test("send: each agent speaks once, and all of it is in the store")
def _():
    begin()
    result = send("c", "How many loaves?", "--as", "Ann")
    assert result.out == (b"baker: There are 7 loaves.\n"
                          b"miller: More flour, then.\n"), result
    assert result.err == b'perdure: calls count({"what": "loaves"})\n', result
    chat = shown()
    assert said(chat) == [
        ("Ann", "How many loaves?"), ("baker", "Let me look."), ("baker", ""),
        ("baker", "There are 7 loaves."), ("miller", "More flour, then.")], chat
    assert [(t["agent"], t["end"]) for t in chat["turns"]] == [
        ("baker", "ended"), ("miller", "ended")], chat
    assert [m["turn"] for m in chat["messages"]] == [0, 1, 1, 1, 2], chat
    assert [m["visible"] for m in chat["messages"]] == [
        True, False, False, True, True], chat
    assert [c["cursor"] for c in chat["channels"]] == [5], chat
    text = group("show", "c").out.decode()
    assert text.startswith("c: 5 messages, 2 turns, revision "), text
    for line in ("    1         Ann     all  How many loaves?",
                 "    2      1  baker   all  Let me look.",
                 '                             → count({"what": "loaves"})',
                 "    3         baker   all    ← 7",
                 "    5      2  miller  all  More flour, then.",
                 "chat-history  k2:5-GlugHHd  5 of 5   baker, miller"):
        assert line + "\n" in text, (line, text)


@tests.test("send: whoever is next goes on, and one may be chosen")
def _():
    begin()
    assert send("c", "Hi", "--max-turns", "1").out == b"baker: You said: Hi\n"
    assert send("c", "--max-turns", "1").out == b"miller: More flour, then.\n"
    assert send("c", "x", "--to", "miller").out == (
        b"miller: More flour, then.\n")
    assert send("c", "-", "--max-turns", "1", stdin=b"y\n").out == (
        b"baker: You said: y\n")
    result = send("c", "z", "--no-answer")
    assert (result.out, result.err) == (b"", b"perdure: c: message 8 is added\n"
                                        ), result
    begin("first")
    assert send("first", "Hi", "--first", "miller", "-o", "raw").out == (
        b"More flour, then.\nYou said: Hi\n")


@tests.test("send: it is over when somebody says the word, until more is said")
def _():
    begin()
    result = send("c", "Hi", "--until", "fl[ou]+r")
    assert result.out.count(b"\n") == 2, result
    assert b"the conversation is over" in result.err, result
    assert shown()["complete"]
    assert b"; the conversation is over\n" in group("show", "c").out
    result = send("c", status=5)
    assert b"TEXT --agent NAME=FILE' says something" in result.err, result
    assert send("c", "More").out and not shown()["complete"]


@tests.test("send: programs get events, or one object")
def _():
    begin()
    lines = [json.loads(line) for line in
             send("c", "loaves", "-o", "jsonl").out.splitlines()]
    assert [(e["event"], e["agent"]) for e in lines] == [
        ("text", "baker"), ("call", "baker"), ("text", "baker"),
        ("text", "baker"), ("message", "baker"), ("text", "miller"),
        ("text", "miller"), ("message", "miller")], lines
    assert lines[1]["name"] == "count" and lines[4]["seq"] == 4, lines
    got = json.loads(send("c", "Hi", "-o", "json").out)
    assert (got["session"], got["count"], got["complete"]) == ("c", 8, False)
    assert said(got) == [("baker", "You said: Hi"),
                         ("miller", "More flour, then.")], got


@tests.test("send: on a terminal answers come in pieces, and nothing hidden")
def _():
    begin()
    write("miller.json", {"replies": [{"text": "a\x1b[31m" + INVISIBLE}]})
    words = ["send", "--store", "d.db", "--color=never", "c", "loaves", *TWO]
    result = run_on_terminal([PERDURE, "group", *words])
    assert result.status == 0, result
    assert result.out.startswith(
        b"baker: Let me look.\nbaker: There are 7 loaves.\n"
        b"miller: a\\u001b[31m"), result
    assert not hidden(result.out + result.err), result
    result = run_on_terminal([PERDURE, "group", "show", "--no-pager",
                              "--color=never", "--store", "d.db", "c"],
                             columns=50)
    assert b"\x1b" not in result.out and not hidden(result.out), result
    assert max(map(len, result.out.decode().splitlines())) <= 50, result


@tests.test("send: a failure is told with its turn, and what was said stays")
def _():
    begin()
    result = send("c", "break it", status=7)
    assert result.err == (b"perdure: c: turn 1 of baker: the model failed: no "
                          b"such model\n"), result
    chat = shown()
    assert chat["turns"] == [{"turn": 1, "agent": "baker", "end": "aborted",
                              "why": "the model failed: no such model"}], chat
    assert b"1  baker       aborted: the model failed: no such model\n" in (
        group("show", "c").out)
    assert problem(send("c", "-o", "json", status=7))["reason"] == (
        "model_failed")
    assert send("c", "Go on", "--max-turns", "1").out == (
        b"baker: You said: Go on\n")  # the same one is next


@tests.test("show: tells who has a message, and who has not yet")
def _():
    begin()
    send("c", "loaves", "--as", "Ann")
    send("c", "And then?", "--as", "Bo", "--no-answer")
    lines = group("show", "c").out.decode().splitlines()
    assert lines[2] == "    #   TURN  WHO     TO          WHAT", lines
    assert lines[3] == "    1         Ann     all         loaves", lines
    assert lines[9] == "    6         Bo      nobody yet  And then?", lines
    # One who takes part and has not spoken; a channel that is behind.
    group("export", "-q", "c", "c.json")
    whole = read("c.json").replace(
        b'],"history":', b',{"id":"s","name":"scribe","key2":"k2:s"}],"history":')
    write("c.json", whole.replace(
        b'],"turn":', b',{"key2":"k2:s","kind":"x","cursor":1}],"turn":'))
    text = perdure("group", "show", "--file", "c.json").out.decode()
    assert "  Ann     all " in text, text
    assert "  baker   miller " in text, text
    write("c.json", whole)
    text = perdure("group", "show", "--file", "c.json").out.decode()
    assert "  Ann     baker, miller  loaves" in text, text


@tests.test("send: bad input is refused with a way out")
def _():
    begin()
    before = shown()["revision"]
    for args, status, texts in (
            (["c", "x", *TWO, "--to", "miler"], 2,
             [b"--to: no --agent has this name", b"baker, miller"]),
            (["c", "x", *TWO, "--first", "x"], 2, [b"--first: "]),
            (["c", "x", "--agent", "baker"], 2, [b"is not NAME=FILE"]),
            (["c", "x", *TWO, *TWO], 2, [b"two agents have the same name"]),
            (["c", "x"], 3, [b"nobody takes part", b"hint: write --agent"]),
            (["c", "", *TWO], 2, [b"TEXT: is empty"]),
            (["c", "--as", "x", *TWO], 2, [b"--as: is for TEXT"]),
            (["c", "--no-answer", *TWO], 2, [b"TEXT: is missing"]),
            (["c", "x", "--to", "baker", "--until", "x", *TWO], 2,
             [b"--until: is for a run"]),
            (["c", "x", "--no-answer", "--max-turns", "2", *TWO], 2,
             [b"--max-turns: is for a run"]),
            (["c", "x", "--until", "(", *TWO], 6, [b"regular expression"]),
            (["c", "x", "--key-env", "NO_KEY", *TWO], 2, [b"is for agents"]),
            (["no", "x", *TWO], 3,
             [b"'perdure group new --store d.db no' makes one"])):
        result = group("send", *args, status=status)
        assert all(text in result.err for text in texts), (args, result)
    assert shown()["revision"] == before
    perdure("session", "import", "--store", "d.db", "--id", "s", "-",
            stdin=b'{"stateBag":{}}')
    for verb, more in (("send", ["x", *TWO]), ("show", []), ("export", []),
                       ("restore", TWO)):
        result = group(verb, "s", *more, status=6)
        assert b"not a chat" in result.err, (verb, result)
        assert b"'perdure session show --store d.db s' shows what it is" in (
            result.err), (verb, result)


# --- two processes ------------------------------------------------------------

@tests.test("send: one process at a time, and others hear who it is")
def _():
    begin()
    child = start("send", "--store", "d.db", "c", "Go", *SLOWLY)
    until_turn(child, 1)
    result = send("c", "Me too", status=5)
    assert b"another process is at work on the chat" in result.err, result
    assert b"has died, the chat is free at " in result.err, result
    assert problem(send("c", "x", "-o", "json", status=5))["reason"] == (
        "chat_busy")
    group("restore", "c", *TWO, status=5)
    assert b"1  slow  has not ended\n" in group("show", "c").out
    child.send_signal(signal.SIGINT)
    child.communicate()
    assert child.returncode == 128 + signal.SIGINT, child.returncode
    chat = shown()
    assert [t["end"] for t in chat["turns"]] == ["aborted"], chat
    assert said(chat) == [(None, "Go")], chat
    assert send("c", "Hello").out.endswith(b"miller: More flour, then.\n")


@tests.test("send: the turn of a process that was killed is given up")
def _():
    begin()
    send("c", "Hi")
    child = start("send", "--store", "d.db", "--lease", "1", "c", "Go", *SLOWLY)
    until_turn(child, 3)
    child.kill()
    child.communicate()
    for _ in range(3000):  # until its lease is over
        result = run([PERDURE, "group", "send", "--store", "d.db", "c", "--to",
                      "miller", *TWO])
        if result.status != 5:
            break
        time.sleep(0.02)
    assert result.out == b"miller: More flour, then.\n", result
    assert (b"perdure: c: turn 3 of slow was interrupted; what was said in it "
            b"stays\n") in result.err, result
    # Whoever gives up a turn has threads, and yet ends in order.
    child = start("send", "--store", "d.db", "--lease", "1", "c", *SLOWLY)
    until_turn(child, 5)
    child.kill()
    child.communicate()
    while run([PERDURE, "group", "restore", "--store", "d.db", "-n", "c",
               *SLOWLY]).status == 5:
        time.sleep(0.02)
    child = start("send", "--store", "d.db", "c", *SLOWLY)
    until_turn(child, 6)
    child.send_signal(signal.SIGTERM)
    child.communicate()
    assert child.returncode == 128 + signal.SIGTERM, child.returncode
    chat = shown()
    assert [t["end"] for t in chat["turns"]] == [
        "ended", "ended", "aborted", "ended", "aborted", "aborted"], chat
    assert "cancelled" in chat["turns"][-1]["why"], chat
    assert [m["seq"] for m in chat["messages"]] == list(range(1, 6)), chat


# --- saved chats --------------------------------------------------------------

def real_files():
    return sorted(path for path in REAL.glob("*.json"))


@tests.test("import: takes what Semantic Kernel wrote, and gives it back")
def _():
    others = {"18-camel-compact.json", "19-relaxed-encoder.json"}
    seen = 0
    for path in real_files()[:21]:
        name = path.name
        group("import", "--id", name, str(path))
        from_file = json.loads(perdure("group", "show", "-o", "json", "--file",
                                       str(path)).out)
        chat = shown(name)
        for member in ("messages", "participants", "count", "form"):
            assert chat[member] == from_file[member], (name, member)
        assert group("show", name).out
        result = group("export", "-q", "--form", "sk", "--strict", name)
        same = result.out == path.read_bytes()
        assert same or name in others, name
        # Through our own form as well.
        group("export", "-q", name, "own.json", "-y")
        group("import", "--id", name, "--replace", "own.json")
        assert said(shown(name)) == said(chat), name
        seen += same
    assert seen == 19, seen


@tests.test("import: refuses what is not a saved chat, and says what it is")
def _():
    begin()
    for number, text in (("22", b"it seems to be one message"),
                         ("23", b"a history without a chat around it"),
                         ("24", b"a list of contents"),
                         ("25", b"a list of fragments of a stream")):
        path = str(next(REAL.glob(number + "*")))
        for args in (["import", "--store", "d.db", "--id", "x", path],
                     ["import", "-n", path], ["show", "--file", path]):
            result = perdure("group", *args, status=6)
            assert text in result.err, (args, result)
    for text, reason in ((b"{", b"1:2: "), (b"", b""),
                         (b'{"format":"agentchat","version":2}', b"newer")):
        result = perdure("group", "import", "-n", "-", stdin=text, status=6)
        assert reason in result.err, (text, result)
    perdure("group", "import", "-n", "none.json", status=3)
    group("import", "--id", "c", str(real_files()[0]), status=5)
    group("import", str(real_files()[0]), status=2)
    group("show", "x", status=3)


@tests.test("export: forms, losses, keys")
def _():
    begin()
    send("c", "loaves")
    result = group("export", "c", "--form", "sk", "o.json")
    assert result.err.count(b" [not-carried]\n") == 3, result
    assert result.err.endswith(b", 3 warnings\n"), result
    result = group("export", "c", "--form", "sk", "o.json", status=5)
    result = group("export", "c", "--form", "plain", "--strict", "p.json",
                   status=6)
    assert b"hint: --form native holds all of it" in result.err, result
    assert not os.path.exists("p.json")
    got = json.loads(group("export", "c", "-f", "encoded", "e.json", "-o",
                           "json").out)
    assert (got["form"], got["messages"]) == ("encoded", 5), got
    assert got["warnings"] == len(got["findings"]) > 0, got
    for name, form in (("o.json", "sk"), ("e.json", "encoded")):
        shown_form = json.loads(perdure("group", "show", "--file", name, "-o",
                                        "json").out)
        assert (shown_form["form"], shown_form["count"]) == (form, 5)
    # Our own form is the same in both places.
    group("export", "-q", "c", "n.json", "--encoded")
    group("import", "--id", "d", "n.json")
    assert group("export", "-q", "c").out.split(b'"rev"')[0] == (
        group("export", "-q", "d").out.split(b'"rev"')[0])
    for args, text in ((["--encoded", "-f", "sk"], b"--encoded"),
                       (["--key-file", "k=x", "-f", "sk"], b"--key-file"),
                       (["--key-file", "k"], b"is not ID=FILE")):
        result = group("export", "c", *args, status=2)
        assert text in result.err, result


@tests.test("export: a MAC is checked with its key")
def _():
    begin()
    write("a.key", bytes(range(32)))
    write("b.key", bytes(range(1, 33)))
    write("short.key", b"x")
    group("export", "-q", "c", "o.json", "--key-file", "k1=a.key")
    perdure("group", "import", "-n", "--need-mac", "o.json", "--key-file",
            "k1=a.key")
    perdure("group", "show", "--file", "o.json", "--key-file", "k0=b.key",
            "--key-file", "k1=a.key")
    result = perdure("group", "import", "-n", "o.json", status=9)
    assert b"hint: --key-file ID=FILE names the key" in result.err, result
    for args in (["k1=b.key"], ["k2=a.key"]):
        result = perdure("group", "import", "-n", "o.json", "--key-file", *args,
                         status=9)
        assert b"MAC" in result.err, result
    perdure("group", "import", "-n", "o.json", "--key-file", "k1=short.key",
            status=6)
    write("o.json", read("o.json").replace(b'"complete":false',
                                           b'"complete":true'))
    perdure("group", "import", "-n", "o.json", "--key-file", "k1=a.key",
            status=9)
    group("export", "-q", "c", "plain.json")
    perdure("group", "import", "-n", "plain.json", "--need-mac", status=9)


# --- restoring ----------------------------------------------------------------

def found(result):
    got = json.loads(result.out)
    return got["case"], [(f["what"], f.get("name") or f.get("kind"))
                         for f in got["findings"]]


@tests.test("restore: says what each agent gets, and what waits")
def _():
    begin()
    send("c", "Hi")
    before = shown()
    dry = group("restore", "c", "-n", "-o", "json", "--agent",
                "baker=baker.yaml")
    assert found(dry) == ("equivalent", [("restored", "chat-history"),
                                         ("no-agent", "miller")]), dry
    assert shown() == before
    result = group("restore", "c", status=3)
    assert b"hint: write --agent" in result.err, result
    thread = str(next(REAL.glob("04*")))
    dry = perdure("group", "restore", "--file", thread, "-n", "-o", "json",
                  "--agent", "agent-baker=baker.yaml")
    case, findings = found(dry)
    assert case == "reduced", dry
    assert ("parked", "Microsoft.SemanticKernel.Agents.OpenAI."
            "OpenAIAssistantChannel") in findings, dry
    text = perdure("group", "restore", "--file", thread, "-n", "--agent",
                   "agent-baker=baker.yaml")
    assert b"parked    OpenAIAssistantChannel  its agent is missing" in (
        text.out), text
    assert text.err == b"perdure: nothing was changed\n", text
    dry = perdure("group", "restore", "--file", str(real_files()[0]), "-n",
                  "-o", "json", *TWO)
    assert found(dry)[0] == "enhanced", dry


@tests.test("restore: a file goes on as a chat of the store, and keeps all")
def _():
    begin()
    thread = str(next(REAL.glob("04*")))
    group("restore", "--file", thread, "--to", "shop", "--agent",
          "agent-baker=baker.yaml")
    assert send("shop", "Hello", agents=[
        "--agent", "agent-baker=baker.yaml"]).out == (
            b"agent-baker: You said: Hello\n")
    text = group("show", "shop").out
    assert b"OpenAIAssistantChannel  QVPVnCN6XICn  5 of 7   nobody: parked" in (
        text), text
    saved = json.loads(group("export", "-q", "--form", "sk", "shop").out)
    assert [c["ChannelState"] for c in saved["Channels"]
            if "Assistant" in c["ChannelType"]] == ["thread_demo01"], saved
    # One of the store goes on elsewhere, and stays.
    before = shown("shop")
    group("restore", "shop", "--to", "other", "--agent", "x=baker.yaml")
    assert shown("shop") == before
    assert said(shown("other")) == said(before)
    group("restore", "shop", "--to", "other", "--agent", "x=baker.yaml",
          status=5)
    result = group("restore", "--file", thread, *TWO, status=2)
    assert b"--to: an argument is missing" in result.err, result


@tests.test("restore: a bad channel is refused, or begins anew")
def _():
    begin()
    send("c", "Hi")
    group("export", "-q", "c", "o.json")
    write("o.json", read("o.json").replace(b'"state":{"from":1}',
                                           b'"state":{"from":"x"}'))
    result = group("restore", "--file", "o.json", "--to", "d", *TWO, status=6)
    assert b"hint: --rebuild lets the channel begin anew" in result.err, result
    group("show", "d", status=3)  # nothing was stored
    group("import", "--id", "d", "o.json")
    result = send("d", "Hi", status=6)
    assert b"'perdure group restore --store d.db d --agent NAME=FILE --rebuild'"\
        in result.err, result
    result = group("restore", "d", "--rebuild", *TWO)
    assert b"rebuilt" in result.out, result
    assert send("d", "Hi", "--to", "baker").out == b"baker: You said: Hi\n"


# --- beside sessions ----------------------------------------------------------

@tests.test("session: names the command that takes a chat")
def _():
    begin()
    send("c", "loaves")
    result = perdure("session", "export", "--store", "d.db", "c", status=6)
    assert b"'c' is a chat of several agents" in result.err, result
    assert b"'perdure group export --store d.db c' writes it" in result.err
    result = perdure("session", "export", "--store", "d.db", "--all", "a.json",
                     status=6)
    assert b"--skip leaves it out" in result.err, result
    perdure("session", "export", "--store", "d.db", "--all", "--skip",
            "a.json", status=1)
    path = str(next(REAL.glob("04*")))
    result = perdure("session", "import", "--store", "d.db", path, status=6)
    assert (b"'perdure group import --store d.db --id ID " + path.encode() +
            b"' takes it") in result.err, result
    result = perdure("session", "show", "--file", path, status=6)
    assert b"'perdure group show --file " + path.encode() in result.err, result
    log = perdure("session", "log", "--store", "d.db", "c").out
    assert b"assistant: There are 7 loaves." in log, log
    assert b"kind      chat" in perdure("session", "show", "--store", "d.db",
                                        "c").out


tests.finish()
