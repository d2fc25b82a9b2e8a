"""Durable runs with real processes: perdure agent run --durable, perdure run,
perdure session tail --stream.

Usage: durable.py PERDURE
"""
import json
import os
import signal
import subprocess
import sys
import time

from harness import Tests, environment, run, run_on_terminal

PERDURE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1
                          else os.environ["PERDURE_BIN"])
ID = "@dafx-clerk@k"
tests = Tests("durable")

# The first reply that fits is given.
REPLIES = {"replies": [
    {"after": "slow", "text": ["It is ", "{result}."],
     "usage": {"inputTokenCount": 3, "outputTokenCount": 4}},
    {"after": "quick", "calls": [{"name": "slow", "arguments": {"n": 2}}]},
    {"user": "work", "text": "Let me see.",
     "calls": [{"name": "quick", "arguments": {"n": 1}}]},
    {"after": "pay", "text": "Paid: {result}"},
    {"user": "pay", "calls": [{"name": "pay", "arguments": {"n": 3}}]},
    {"user": "slowly", "text": ["One ", "two ", "three."], "delay_ms": 1000},
    {"user": "break", "fail": "no such model"},
    {"text": "You said: {user}"}]}

# A tool notes each call down, with its token; `slow` takes until a file is
# there, so that nothing depends on time.
AGENT = """\
kind: Prompt
name: clerk
model: {provider: script, connection: {file: replies.json}}
tools:
- kind: command
  name: quick
  command: [sh, -c, 'echo quick $PERDURE_TOKEN >>calls; echo dug']
- kind: command
  name: slow
  repeatable: REPEATABLE
  command: [sh, -c, 'echo slow $PERDURE_TOKEN >>calls; until test -e go || ! test -e calls; do
    sleep 0.02; done; echo done']
- kind: command
  name: pay
  approvalMode: always
  command: [sh, -c, 'echo pay $PERDURE_TOKEN >>calls; echo 7']
"""


def write(name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text if isinstance(text, str) else json.dumps(text))


def read(name):
    with open(name, encoding="utf-8") as file:
        return file.read()


def hurry():
    """From now on the model does not take its time."""
    write("replies.json", json.loads(json.dumps(REPLIES).replace(
        '"delay_ms": 1000', '"delay_ms": 0')))


def begin(repeatable=True):
    write("replies.json", REPLIES)
    write("clerk.yaml", AGENT.replace("REPEATABLE",
                                      "true" if repeatable else "false"))


def perdure(*args, status=0, **more):
    result = run([PERDURE, *args], **more)
    assert result.status == status, result
    return result


def said(*text, agent="clerk", session=ID, store="d.db", more=()):
    """The words of an agent run; the lease is short."""
    return ["agent", "run", "--durable", "--lease", "1", "--agent",
            agent + "=clerk.yaml", "--store", store, "--session", session,
            *more, *text]


def start(*args):
    return subprocess.Popen([PERDURE, *args], env=environment(),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def until(condition, what, child=None):
    """Wait for it, for a minute at most."""
    for _ in range(3000):
        if condition():
            return
        assert child is None or child.poll() is None, child.communicate()
        time.sleep(0.02)
    raise AssertionError("never: " + what)


def await_message(child):
    """Until it says that it was interrupted."""
    line = b"?"
    while b"interrupted" not in line:
        assert line, child.communicate()
        line = child.stderr.readline()


def calls():
    """Names of the tools that were called."""
    if not os.path.exists("calls"):
        return []
    return [line.split()[0] for line in read("calls").splitlines()]


def rows(*args):
    """What a command prints with -o jsonl."""
    result = perdure(*args, "-o", "jsonl")
    return [json.loads(line) for line in result.out.splitlines()]


def runs(*args):
    return rows("run", "list", "--store", "d.db", *args)


def log(session=ID):
    return rows("session", "log", "--store", "d.db", session)


def resume(*args, status=0):
    return perdure("run", "resume", "--lease", "1", "--agent",
                   "clerk=clerk.yaml", "--store", "d.db", *args, status=status)


# --- a run from its begin to its end ------------------------------------------

@tests.test("run: answers, remembers, and is a state document")
def _():
    begin()
    # Any spelling of the name is the same session.
    result = perdure(*said("Hello", agent="Clerk", session="@CLERK@k"))
    assert (result.out, result.err) == (b"You said: Hello\n", b""), result
    result = perdure(*said("Again", more=["-o", "json"]))
    got = json.loads(result.out)
    assert sorted(got) == ["agent", "correlationId", "messages", "session",
                           "state", "store", "text"], got
    assert (got["session"], got["state"], got["text"], got["store"]) == (
        ID, "completed", "You said: Again", "d.db"), got
    assert [row["kind"] for row in log()] == ["request", "response"] * 2
    document = perdure("session", "export", "--store", "d.db", ID, "-").out
    assert perdure("doc", "check", "-", stdin=document)
    assert json.loads(document)["schemaVersion"] == "1.1.0"


@tests.test("run: tells of its tools, and they get a token")
def _():
    begin()
    write("go", "")
    result = perdure(*said("work", more=["--correlation", "c1"]))
    assert result.out == b"Let me see.\nIt is done.\n", result
    assert result.err == (b'perdure: calls quick({"n":1})\n'
                          b'perdure: calls slow({"n":2})\n'), result
    tokens = [line.split()[1] for line in read("calls").splitlines()]
    assert len(set(tokens)) == 2, tokens
    assert all(token.startswith(ID + "/c1/call_") for token in tokens), tokens
    got = json.loads(perdure(*said("work", more=[
        "--correlation", "c2", "-o", "json"])).out)
    assert got["text"] == "Let me see.\nIt is done.", got
    assert got["usage"]["outputTokenCount"] == 4, got
    assert [message["role"] for message in got["messages"]] == [
        "assistant", "tool", "assistant", "tool", "assistant"], got


@tests.test("run: sent again with its id is not run again")
def _():
    begin()
    write("go", "")
    words = said("work", more=["--correlation", "c1"])
    first = perdure(*words)
    again = perdure(*words)
    assert first.out == again.out, (first, again)
    assert calls() == ["quick", "slow"] and len(log()) == 2
    result = perdure(*said("other", more=["--correlation", "c1"]), status=5)
    assert b"was used for another operation" in result.err, result
    assert b"hint: leave --correlation out" in result.err, result
    assert len(log()) == 2


@tests.test("run: a failure is told, recorded and not sent to a model again")
def _():
    begin()
    result = perdure(*said("break", more=["--correlation", "c1"]), status=7)
    assert result.out == b"", result
    assert result.err == (b"perdure: run c1: the model failed: no such "
                          b"model\n"), result
    result = perdure(*said("break", more=["-o", "json"]), status=7)
    problem = json.loads(result.err)
    assert (problem["code"], problem["reason"]) == ("MODEL",
                                                    "model_failed"), problem
    result = perdure("run", "wait", "--store", "d.db", ID, "c1", status=7)
    assert b"no such model" in result.err and result.out == b"", result
    result = perdure("run", "show", "--store", "d.db", ID, "c1")
    assert b"state     failed\n" in result.out, result
    assert b"code      model_failed\n" in result.out, result
    assert perdure(*said("Hello")).out == b"You said: Hello\n"


@tests.test("run: what waits for approval is answered by the next one")
def _():
    begin()
    result = perdure(*said("pay", more=["--correlation", "c1"]))
    assert b'waits for --approve or --reject: pay({"n":3})' in result.err
    assert [(row["run"], row["state"]) for row in runs()] == [
        ("c1", "completed")], runs()
    table = perdure("run", "list", "--store", "d.db").out
    assert b"c1   waiting" in table, table
    result = perdure(*said(more=["--approve", "nobody"]), status=3)
    assert b"no call 'nobody' waits for approval" in result.err, result
    assert calls() == []
    result = perdure(*said(more=["--approve", "all"]))
    assert result.out == b"Paid: 7\n" and calls() == ["pay"], result
    assert runs() == []
    perdure(*said("pay"))
    result = perdure(*said("Well?", more=["--reject", "all", "--reason",
                                          "too much"]))
    assert b"too much" in result.out and calls() == ["pay"], result
    perdure(*said(more=["--approve", "all"]), status=3)
    result = perdure(*said(session="@clerk@none", more=["--approve", "all"]),
                     status=3)
    assert b"is not in the store" in result.err, result


# --- bad input -----------------------------------------------------------------

@tests.test("run: is refused before anything is stored", covers=["D-39"])
def _():
    begin()
    rows = [("@dafx-other@k", "is a session of agent 'other', not of 'clerk'",
             "@dafx-clerk@k"),
            ("noon", "is not the id of a durable session", "@dafx-clerk@noon"),
            ("@dafx-clerk@", "is not the id of a durable session",
             "@dafx-clerk@KEY"),
            ("@clerk", "is not the id of a durable session",
             "@dafx-clerk@KEY"),
            ("", "is not the id of a durable session", "@dafx-clerk@KEY")]
    for session, why, hint in rows:
        result = perdure(*said("hi", session=session), status=2)
        assert why in result.err.decode(), result
        assert ("hint: write --session %s\n" % hint) in result.err.decode()
        assert not os.path.exists("d.db"), session
    # What the hint says can be pasted.
    assert perdure(*said("hi", session="@dafx-clerk@noon"))
    # Case does not matter.
    assert perdure(*said("hi", agent="CLERK", session="@dafx-Clerk@noon"))
    for more in (["--trust-record"], ["--lease", "0"], ["--lease", "x"]):
        perdure(*said("hi", more=more), status=2)
    perdure("agent", "run", "--agent", "clerk=clerk.yaml", "--lease", "1", "hi",
            status=2)
    perdure("agent", "run", "--agent", "clerk=clerk.yaml", "--correlation",
            "c", "hi", status=2)
    perdure("agent", "run", "--durable", "--agent", "clerk=clerk.yaml", "hi",
            status=2)
    result = perdure("agent", "run", "--durable", "--agent",
                     "a@b=script:replies.json", "--session", "@dafx-a@k",
                     "--store", "d.db", "hi", status=6)
    assert b"perdure: --agent: the name of a durable agent" in result.err


def paste(result, before):
    """Carry out what a hint says behind these words; what it prints."""
    line = result.err.decode().splitlines()[-1]
    assert line.startswith("hint: ") and before in line, result
    return run(["sh", "-c", "PATH='%s':$PATH; %s" % (
        os.path.dirname(PERDURE), line.split(before)[1])])


@tests.test("run: a session of another kind becomes durable when it is told")
def _():
    begin()
    at = ["--store", "d.db"]
    for text in ("hi", "and"):
        perdure("agent", "run", "--agent", "clerk=clerk.yaml", *at, "--session",
                "it's noon", text)
    before = perdure("session", "export", *at, "it's noon", "-").out
    # Under a new id, as the one that it has is none of a durable session.
    result = perdure(*said("hi", session="it's noon"), status=2)
    done = paste(result, '--session "@dafx-clerk@it\'s noon"; to take that '
                         'conversation along, run first: ')
    assert b"written, 4 entries" in done.err, done
    result = perdure(*said("go on", session="@dafx-clerk@it's noon"))
    assert result.out == b"You said: go on\n", result
    assert [row["kind"] for row in log("@dafx-clerk@it's noon")] == [
        "request", "response"] * 3
    assert before == perdure("session", "export", *at, "it's noon", "-").out
    # In its place, as it has such an id already.
    perdure("session", "import", *at, "--id", ID, "-", stdin=before)
    result = perdure(*said("hi"), status=6)
    assert b"is of kind 'client'" in result.err, result
    done = paste(result, "nothing was changed; this makes it durable: ")
    assert b"replaced, 4 entries" in done.err, done
    assert perdure(*said("go on")).out == b"You said: go on\n"
    # What would be lost in its place is not.
    perdure("session", "import", *at, "--replace", "--id", ID, "-",
            stdin=before)
    perdure("session", "bag", "set", *at, ID, "notes", "1")
    before = perdure("session", "export", *at, ID, "-").out
    done = paste(perdure(*said("hi"), status=6), "makes it durable: ")
    assert done.status != 0 and b"/stateBag/notes: " in done.err, done
    assert before == perdure("session", "export", *at, ID, "-").out


@tests.test("run: what nobody answered before a conversion is no open run")
def _():
    begin()
    write("a.json", {"stateBag": {"InMemoryChatHistoryProvider": {"messages": [
        {"role": "assistant", "contents": []},
        {"role": "user", "contents": [{"$type": "text", "text": "Well?"}]}]}}})
    perdure("session", "convert", "--strict", "-s", "state", "a.json", "b.json")
    perdure("session", "import", "--store", "d.db", "--id", ID, "b.json")
    assert runs() == [] and resume().out == b"0 runs ended\n"
    assert [row["state"] for row in runs(ID)] == ["completed"] * 2
    assert perdure(*said("Hello")).out == b"You said: Hello\n"
    assert perdure("doc", "check", "b.json").out.endswith(b": sound\n")


@tests.test("verbs: say what is wrong, and what to do")
def _():
    begin()
    for words in (["run", "list"], ["run", "list", ID], ["run", "show", ID, "c"],
                  ["run", "wait", ID, "c"], ["run", "cancel", ID, "c"],
                  ["run", "resume", "--agent", "clerk=clerk.yaml"],
                  ["session", "tail", "--stream", ID]):
        result = perdure(*words, "--store", "none.db", status=3)
        assert b"there is no such store" in result.err, result
        assert not os.path.exists("none.db")
    perdure(*said("Hello", more=["--correlation", "c1"]))
    at = ["--store", "d.db"]
    for words in (["run", "show"], ["run", "wait"], ["run", "cancel"]):
        result = perdure(*words, *at, ID, "c2", status=3)
        assert b"has no run 'c2'" in result.err, result
        hint = result.err.decode().split("'")[5]
        assert hint == "perdure run list --store d.db " + ID, result
        result = perdure(*words, *at, "@dafx-clerk@none", "c1", status=3)
        assert b"is not in the store" in result.err, result
        for bad in ("noon", "@clerk", "@dafx-clerk@"):
            perdure(*words, *at, bad, "c1", status=2)
        perdure(*words, *at, ID, status=2)
    perdure("session", "tail", "--stream", "--run", "c2", *at, ID, status=3)
    result = perdure("session", "tail", "--stream", "--after", "99", *at, ID,
                     status=6)
    assert b"hint: leave --after out" in result.err, result
    for more in (["--run", "c1"], ["--after", "1"],
                 ["--stream", "--last", "3"]):
        perdure("session", "tail", *more, *at, ID, status=2)
    result = resume("@dafx-other@k", status=2)
    assert b"is a session of another agent" in result.err, result
    perdure("run", "resume", *at, status=2)
    result = resume()
    assert result.out == b"0 runs ended\n", result


# --- interrupted, killed, resumed ------------------------------------------------

def after(text, err=None):
    """The command that a line of a message has behind these words."""
    lines = [line for line in err.decode().splitlines() if text in line]
    assert len(lines) == 1, err
    return lines[0].split(text)[1].split()


@tests.test("interrupt: leaves the run alive, and its end can be seen",
            covers=["P-65"])
def _():
    begin()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        begin()
        session = "@dafx-clerk@%d" % number
        child = start(*said("slowly", session=session))
        assert child.stdout.read(4) == b"One "
        child.send_signal(number)
        out, err = child.communicate(timeout=60)
        assert child.returncode == 128 + number, (child.returncode, out, err)
        [row] = runs()
        assert (row["session"], row["state"]) == (session, "interrupted"), row
        hurry()
        # What it says can be pasted, in any order.
        tail = after("as it comes:", err)
        assert tail[:3] == ["perdure", "session", "tail"], tail
        looks_on = start(*tail[1:])
        waits = start(*after("for its answer:", err)[1:])
        result = perdure(*after("to go on:", err)[1:])
        assert result.out.decode() == (
            "%s %s completed: One two three.\n1 run ended: 1 completed\n"
            % (session, row["run"])), result
        out, err = looks_on.communicate(timeout=60)
        assert looks_on.returncode == 0, (out, err)
        assert out == (b"One \nattempt 2: the unfinished text above does not "
                       b"count\nOne two three.\ndone\n"), out
        out, err = waits.communicate(timeout=60)
        assert (waits.returncode, out) == (0, b"One two three.\n"), (out, err)
        assert runs() == [] and len(log(session)) == 2


@tests.test("interrupt: a tool that is at work ends first, and counts")
def _():
    begin(repeatable=False)
    child = start(*said("work"))
    until(lambda: "slow" in calls(), "the slow tool is called", child)
    child.send_signal(signal.SIGINT)
    await_message(child)
    write("go", "")
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130, (child.returncode, out, err)
    assert resume().out.endswith(b"1 run ended: 1 completed\n")
    assert calls() == ["quick", "slow"]
    [row] = [row for row in log() if row["kind"] == "response"]
    assert "It is done." in json.dumps(row), row


@tests.test("interrupt: the second one ends the process")
def _():
    begin()
    child = start(*said("work"))
    until(lambda: "slow" in calls(), "the slow tool is called", child)
    child.send_signal(signal.SIGINT)
    await_message(child)
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=60)
    assert child.returncode == 143, child.returncode
    write("go", "")
    assert resume().out.endswith(b"1 run ended: 1 completed\n")
    assert calls() == ["quick", "slow", "slow"]


@tests.test("kill -9 during a stream: one turn is stored, by the second attempt",
            covers=["P-17"])
def _():
    begin()
    child = start(*said("slowly", more=["--correlation", "c1"]))
    assert child.stdout.read(4) == b"One "
    child.kill()
    child.communicate(timeout=60)
    assert child.returncode == -9
    hurry()
    result = resume()
    assert result.out == (
        b"@dafx-clerk@k c1 completed: One two three.\n"
        b"1 run ended: 1 completed\n"), result
    assert b"perdure: a process is at work on a run, or died" in result.err
    entries = log()
    assert [row["kind"] for row in entries] == ["request", "response"], entries
    document = json.loads(perdure("session", "export", "--store", "d.db", ID,
                                  "-").out)
    turns = [message for entry in document["data"]["conversationHistory"]
             for message in entry["messages"]
             if message["role"] == "assistant"]
    assert len(turns) == 1 and turns[0]["contents"][0]["text"] == (
        "One two three."), turns
    events = rows("session", "tail", "--stream", "--run", "c1", "--store",
                  "d.db", ID)
    attempts = [event for event in events if event["event"] == "attempt"]
    assert [event["data"]["attempt"] for event in attempts] == [2], events
    counts = attempts[0]["data"]["counts"]
    text = "".join(event["data"]["text"] for event in events
                   if event["event"] == "message"
                   and (event["n"] <= counts or event["n"] > attempts[0]["n"]))
    assert text == "One two three." and events[-1]["event"] == "done", events
    assert [event["n"] for event in events] == sorted(
        set(event["n"] for event in events)), events
    # From any event on, the rest.
    for at in (1, len(events) - 1, len(events)):
        assert events[at:] == rows(
            "session", "tail", "--stream", "--run", "c1", "--after",
            str(events[at - 1]["n"]), "--store", "d.db", ID)


@tests.test("kill -9 in a tool loop: no tool that has ended is called again")
def _():
    for repeatable in (True, False):
        begin(repeatable)
        for name in ("calls", "go", "d.db", "d.db-wal", "d.db-shm"):
            if os.path.exists(name):
                os.remove(name)
        child = start(*said("work", more=["--correlation", "c1"]))
        until(lambda: "slow" in calls(), "the slow tool is called", child)
        steps = json.loads(perdure("run", "show", "-o", "json", "--store",
                                   "d.db", ID, "c1").out)["steps"]
        kinds = [step["kind"] for step in steps]
        assert kinds == ["operation", "context", "answer", "started", "result",
                         "answer", "started"], kinds
        table = perdure("run", "show", "--store", "d.db", ID, "c1").out.decode()
        assert "   5  result     quick = dug\n" in table, table
        assert "worker    " in table and "state     running\n" in table, table
        child.kill()
        child.communicate(timeout=60)
        write("go", "")  # the orphan ends, too
        result = resume(ID)
        assert b"1 completed" in result.out, result
        assert calls() == (["quick", "slow", "slow"] if repeatable
                           else ["quick", "slow"]), calls()
        tokens = [line.split()[1] for line in read("calls").splitlines()]
        assert len(set(tokens)) == 2, tokens
        answer = perdure("run", "wait", "--store", "d.db", ID, "c1").out
        assert (b"It is done." if repeatable
                else b"outcome of this call is unknown") in answer, answer


@tests.test("resume: takes what was named, and leaves the rest")
def _():
    begin()
    for session, more in (("@clerk@a", []), ("@clerk@b", []),
                          (ID, ["--tenant", "acme"])):
        child = start(*said("slowly", session=session, more=more))
        assert child.stdout.read(4) == b"One "
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
        assert child.returncode == 130, child
    hurry()
    # Another agent has nothing to do with them.
    result = perdure("run", "resume", "--agent", "other=clerk.yaml", "--store",
                     "d.db")
    assert result.out == b"0 runs ended\n", result
    result = resume("@Clerk@b")
    assert result.out.startswith(b"@dafx-clerk@b "), result
    assert [row["session"] for row in runs()] == ["@dafx-clerk@a"]
    got = json.loads(perdure("run", "resume", "-o", "json", "--agent",
                             "clerk=clerk.yaml", "--store", "d.db").out)
    assert [row["session"] for row in got["entries"]] == ["@dafx-clerk@a"], got
    assert (got["completed"], got["failed"], got["left"]) == (1, 0, 0), got
    [row] = runs("--tenant", "acme")
    assert row["state"] == "interrupted", row
    assert b"1 completed" in resume("--tenant", "acme").out
    assert runs("--tenant", "acme") == []


@tests.test("resume: leaves a run to the process that is at work on it")
def _():
    begin()
    child = start(*said("work", more=["--correlation", "c1"]))
    until(lambda: "slow" in calls(), "the slow tool is called", child)
    result = resume()
    assert result.out == b"0 runs ended; 1 at work elsewhere\n", result
    assert child.poll() is None
    write("go", "")
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0 and out.endswith(b"It is done.\n"), (out, err)
    assert calls() == ["quick", "slow"]


@tests.test("resume: says so if a run failed, and ends on a signal")
def _():
    begin()
    child = start(*said("slowly", more=["--correlation", "c1"]))
    assert child.stdout.read(4) == b"One "
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    write("replies.json", {"replies": [{"fail": "gone"}]})
    result = resume(status=1)
    assert result.out == (b"@dafx-clerk@k c1 failed: the model failed: gone\n"
                          b"1 run ended: 1 failed\n"), result
    begin()
    child = start(*said("work", more=["--correlation", "c2"]))
    until(lambda: "slow" in calls(), "the slow tool is called", child)
    child.kill()
    child.communicate(timeout=60)
    child = start("run", "resume", "--lease", "1", "--agent",
                  "clerk=clerk.yaml", "--store", "d.db")
    until(lambda: calls().count("slow") == 2, "it is called again", child)
    child.send_signal(signal.SIGINT)
    await_message(child)
    write("go", "")
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130, (child.returncode, out, err)
    assert out == b"0 runs ended; 1 not\n", (out, err)
    assert b"1 completed" in resume().out


# --- seen from outside -------------------------------------------------------

@tests.test("list, wait, cancel: runs of another process")
def _():
    begin()
    first = start(*said("work", more=["--correlation", "c1"]))
    until(lambda: "slow" in calls(), "the slow tool is called", first)
    second = start(*said("Hello", more=["--correlation", "c2"]))
    until(lambda: len(runs()) == 2, "the second one is queued", second)
    state = {row["run"]: row["state"] for row in runs(ID)}
    assert state == {"c1": "running", "c2": "queued"}, state
    owner = [row.get("owner") for row in runs() if row["run"] == "c1"][0]
    assert "/%d/" % first.pid in owner, owner
    assert perdure("run", "list", "-o", "raw", "--store", "d.db", ID,
                   "--limit", "1").out.count(b"\n") == 1
    whole = json.loads(perdure("run", "list", "-o", "json", "--store",
                               "d.db").out)
    assert whole["runs"] == 2 and len(whole["entries"]) == 2, whole
    result = perdure("run", "wait", "--timeout", "1", "--store", "d.db", ID,
                     "c1", status=8)
    assert b"has not ended after 1000 ms" in result.err, result
    assert b"perdure run show --store d.db" in result.err, result
    result = perdure("run", "cancel", "--store", "d.db", ID, "c2")
    assert result.out == b"run c2 is cancelled\n", result
    out, err = second.communicate(timeout=60)
    assert second.returncode == 130 and b"cancelled" in err, (out, err)
    result = perdure("run", "cancel", "--store", "d.db", ID, "c1")
    out, err = first.communicate(timeout=60)
    assert first.returncode == 130 and b"cancelled" in err, (out, err)
    assert b"c1" in result.out and b"cancelled" in result.out, result
    result = perdure("run", "cancel", "--store", "d.db", ID, "c1")
    assert result.out == b"run c1 is cancelled\n", result
    perdure("run", "wait", "--store", "d.db", ID, "c1", status=130)
    assert runs() == []
    perdure(*said("Hello", more=["--correlation", "c3"]))
    result = perdure("run", "cancel", "--store", "d.db", ID, "c3")
    assert result.out == b"run c3 had ended before: completed\n", result


@tests.test("list: fits a terminal of 80 columns")
def _():
    begin()
    perdure(*said("pay", session="@clerk@a-key-that-is-rather-long-for-a-table"))
    result = run_on_terminal([PERDURE, "run", "list", "--store", "d.db"])
    lines = result.out.decode().splitlines()
    assert len(lines) == 3 and max(map(len, lines)) <= 80 + 8, lines
    [row] = runs()
    assert row["run"] in lines[1], lines


@tests.test("list: knows the turns that an import brought")
def _():
    begin()
    perdure(*said("Hello"))
    document = perdure("session", "export", "--store", "d.db", ID, "-").out
    perdure("session", "import", "--store", "e.db", "--id", ID, "-",
            stdin=document)
    [row] = rows("run", "list", "--store", "e.db", ID)
    assert (row["state"], row["text"]) == ("completed",
                                           "You said: Hello"), row
    assert perdure("run", "wait", "--store", "e.db", ID, row["run"]).out == (
        b"You said: Hello\n")
    # The conversation goes on.
    assert perdure(*said("More", store="e.db")).out == b"You said: More\n"
    assert len(rows("run", "list", "--store", "e.db", ID)) == 2


@tests.test("tail --stream: tells all runs until it is interrupted")
def _():
    begin()
    write("go", "")
    perdure(*said("Hello", more=["--correlation", "c1"]))
    child = start("session", "tail", "--stream", "--store", "d.db", ID)
    perdure(*said("work", more=["--correlation", "c2"]))
    got = b""
    while b"run c2\n" not in got or not got.endswith(b"\ndone\n"):
        piece = child.stdout.read1(4096)
        assert piece, got
        got += piece
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    assert child.returncode == 0, child.returncode
    lines = got.decode().splitlines()
    assert [line for line in lines if not line.startswith("usage ")] == [
        "run c1", "You said: Hello", "done", "run c2", "Let me see.",
        'tool_call quick({"n":1})', "tool_result dug",
        'tool_call slow({"n":2})', "tool_result done", "It is done.",
        "done"], lines
    result = perdure(*said("break", more=["--correlation", "c3"]), status=7)
    result = perdure("session", "tail", "--stream", "--run", "c3", "--store",
                     "d.db", ID, status=1)
    assert result.out == (b"error model_failed: the model failed: no such "
                          b"model\n"), result


tests.finish()
