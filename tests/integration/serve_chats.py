"""Chats of several agents over HTTP: a real process, real sockets.

Usage: serve_chats.py PERDURE
"""
import contextlib
import json
import os
import pathlib
import signal
import socket
import threading
import time
import urllib.parse

from harness import Tests, run
from serving import PERDURE, Server, go

tests = Tests("serve-chats")
API = "/api/v1"
REAL = pathlib.Path(__file__).resolve().parents[1] / "data/dotnet/chat"


def at(chat, rest=""):
    return f"{API}/chats/{urllib.parse.quote(chat, safe='')}{rest}"


def ask(s, method, path, body=None, **headers):
    """Status, headers, and the JSON of the reply; each error is a problem."""
    status, head, text = s.request(method, path, body, **headers)
    if status >= 400:
        assert head["content-type"] == "application/problem+json", (head, text)
    value = json.loads(text) if "json" in head.get("content-type", "") else text
    return status, head, value


def good(s, method, path, body=None, **headers):
    status, head, value = ask(s, method, path, body, **headers)
    assert 200 <= status < 300, (status, value)
    return value


def refused(s, status, slug, method, path, body=None, **headers):
    got, head, value = ask(s, method, path, body, **headers)
    assert (got, value.get("type")) == (status, "/problems/" + slug), (
        method, path, body, got, value)
    return value


def make(s, chat="c", agents=("Harbour", "Poet")):
    return good(s, "POST", API + "/chats", {"id": chat, "agents": agents})


def turn(s, chat="c", **body):
    return good(s, "POST", at(chat, "/turns"), body)


def said(messages):
    """Author and text of each message."""
    return [(m["author"], m["text"]) for m in messages]


def log(s, chat="c"):
    return good(s, "GET", at(chat, "/messages?limit=200"))["items"]


def everything(s, chat="c"):
    return s.request("GET", at(chat, "/saved"))[2]


def until(holds):
    """Wait for it, a minute at most."""
    for _ in range(3000):
        if value := holds():
            return value
        time.sleep(0.02)
    raise AssertionError("it never came to that")


def called(count=1):
    """So many calls of the tool that waits for the file "go" have begun."""
    def have():
        with contextlib.suppress(FileNotFoundError):
            with open("calls", encoding="utf-8") as file:
                return len(file.readlines()) >= count
    until(have)


def idle(s, chat="c"):
    return until(lambda: (c := good(s, "GET", at(chat)))["state"] == "idle"
                 and c)


class Asking:
    """Requests that wait for their replies beside each other."""

    def __init__(self, requests):
        self.got = [None] * len(requests)
        self.threads = [threading.Thread(target=self.ask, args=(i, *r))
                        for i, r in enumerate(requests)]
        for thread in self.threads:
            thread.start()

    def ask(self, i, *request):
        self.got[i] = ask(*request)

    def replies(self):
        for thread in self.threads:
            thread.join()
        return self.got


# --- chats and what is said --------------------------------------------------


@tests.test("chats are made of agents that are here, listed and shown")
def _():
    with Server() as s:
        status, head, chat = ask(s, "POST", API + "/chats", {
            "id": "a/b ü", "agents": ["Poet", "harbour"]})
        assert (status, head["location"]) == (201, at("a/b ü")), head
        assert [(p["id"], p["name"], p["here"])
                for p in chat["participants"]] == [
                    ("Poet", "Poet", True), ("Harbour", "Harbour", True)]
        assert (chat["kind"], chat["state"], chat["count"], chat["complete"],
                chat["lastTurn"], chat["channels"]) == (
                    "chat", "idle", 0, False, None, []), chat
        status, got, again = ask(s, "GET", at("a/b ü"))
        assert again == chat and got["etag"] == chat["etag"] == head["etag"]
        assert s.request("GET", at("a/b ü"), If_None_Match=got["etag"])[::2] \
            == (304, "")
        made = good(s, "POST", API + "/chats", {"agents": ["Poet"]})
        assert len(made["id"]) == 36
        problem = refused(s, 422, "invalid-state", "POST", API + "/chats",
                          {"agents": ["Poet", "Nobody"]})
        assert "'Nobody'" in problem["detail"], problem
        assert problem["errors"][0]["pointer"] == "/agents/1", problem
        refused(s, 409, "already-exists", "POST", API + "/chats",
                {"id": "a/b ü", "agents": ["Poet"]})
        # It is a session: properties and the end of it go that way.
        session = f"{API}/sessions/{made['id']}"
        good(s, "PATCH", session, {"properties": {"team": "pier"}})
        assert [c["id"] for c in good(
            s, "GET", API + "/chats?property=team%3Dpier")["items"]] == [
                made["id"]]
        problem = refused(s, 422, "invalid-state", "GET", session + "/state")
        assert "/saved" in problem["detail"], problem
        good(s, "DELETE", session)
        refused(s, 404, "not-found", "GET", at(made["id"]))


@tests.test("a list has chats only, however many other sessions there are")
def _():
    with Server() as s:
        for i in range(3):
            make(s, f"old{i}")
        lines = "".join(json.dumps({"id": f"x{i:04}", "document": {
            "stateBag": {}}}) + "\n" for i in range(1100))
        assert lines.count("\n") == s.request(
            "POST", API + "/import", lines)[2].count('"created"')
        make(s, "new")
        seen, pages, cursor = [], 0, ""
        while cursor is not None:
            page = good(s, "GET", f"{API}/chats?limit=2{cursor}")
            assert len(page["items"]) <= 2
            seen += [item["id"] for item in page["items"]]
            pages += 1
            cursor = page["next"] and "&cursor=" + urllib.parse.quote(
                page["next"])
        assert seen == ["new", "old2", "old1", "old0"], seen
        assert pages <= 4, pages


@tests.test("what is said is there at once, and agents answer in turn")
def _():
    with Server() as s:
        make(s)
        one = good(s, "POST", at("c", "/messages"),
                   {"text": "Hi", "author": "Ann"})
        assert one == {
            "seq": 1, "turn": 0, "channel": None, "visible": True,
            "role": "user", "author": "Ann", "text": "Hi",
            "contents": [{"$type": "TextContent", "Text": "Hi"}]}, one
        assert log(s) == [one]
        done = turn(s)
        assert said(done["messages"]) == [
            ("Harbour", "You said: Hi"), ("Poet", "You said: Hi")], done
        assert [(m["seq"], m["turn"], m["role"])
                for m in done["messages"]] == [
                    (2, 1, "assistant"), (3, 2, "assistant")]
        assert (done["count"], done["complete"]) == (3, False)
        chat = good(s, "GET", at("c"))
        assert chat["lastTurn"] == {
            "turn": 2, "agent": "Poet", "end": "ended", "why": None}, chat
        [channel] = chat["channels"]
        assert (channel["kind"], channel["cursor"], channel["parked"]) == (
            "chat-history", 3, False), channel
        assert channel["key"] == chat["participants"][0]["channel"] == (
            done["messages"][0]["channel"])
        # One agent, once; with a text; then it goes on after the last one.
        done = turn(s, text="And you?", author="Bo", to="Poet")
        assert said(done["messages"]) == [
            ("Bo", "And you?"), ("Poet", "You said: And you?")], done
        done = turn(s, maxTurns=3)
        assert [m["author"] for m in done["messages"]] == [
            "Harbour", "Poet", "Harbour"], done
        # Others may take part, and who does not stays in the list.
        done = turn(s, text="Only", agents=["poet"])
        assert [m["author"] for m in done["messages"]] == [None, "Poet"], done
        assert len(good(s, "GET", at("c"))["participants"]) == 2
        # A tool: its call and result are in the log, but not to be seen.
        go()
        done = turn(s, text="work", to="Harbour")
        assert [(m["role"], m["visible"]) for m in done["messages"]] == [
            ("user", True), ("assistant", False), ("tool", False),
            ("assistant", True)], done
        assert done["messages"][3]["text"] == "It is done."
        assert done["messages"][1]["contents"][0]["$type"] == (
            "FunctionCallContent"), done


@tests.test("a run begins with somebody, and is over when a pattern says so")
def _():
    with Server() as s:
        make(s)
        done = turn(s, text="tide", first="Poet", until="tide", maxTurns=9)
        assert [m["author"] for m in done["messages"]] == [None, "Poet"]
        assert done["complete"] is True
        assert good(s, "GET", at("c"))["complete"] is True
        before = everything(s)
        refused(s, 409, "chat-complete", "POST", at("c", "/turns"), {})
        assert everything(s) == before
        assert turn(s, text="On", maxTurns=1)["complete"] is False


@tests.test("messages are read page by page, in both directions")
def _():
    with Server() as s:
        make(s)
        for i in range(7):
            good(s, "POST", at("c", "/messages"), {"text": str(i)})

        def pages(query, more=""):
            cursor, got = "", []
            while cursor is not None:
                page = good(s, "GET", at(
                    "c", f"/messages?limit=3&{query}{cursor or more}"))
                got.append([m["seq"] for m in page["items"]])
                cursor = page["next"] and "&cursor=" + page["next"]
            return got
        assert pages("") == [[1, 2, 3], [4, 5, 6], [7]]
        assert pages("backwards=true") == [[7, 6, 5], [4, 3, 2], [1]]
        assert pages("", "&from=5") == [[5, 6, 7]]
        assert pages("backwards=1", "&from=2") == [[2, 1]]
        assert pages("", "&from=8") == [[]]
        head, lines = s.request("GET", at("c", "/messages?limit=2"),
                                Accept="application/x-ndjson")[1:]
        assert [json.loads(line)["text"] for line in lines.splitlines()] == [
            "0", "1"] and head["x-next-cursor"] == "3", (head, lines)
        assert s.request("GET", at("c", "/messages"),
                         If_None_Match=head["etag"])[0] == 304


@tests.test("what is wrong has a status and a slug, and changes nothing")
def _():
    with Server() as s:
        make(s)
        good(s, "POST", f"{API}/sessions", {"id": "plain"})
        before = everything(s), s.request("GET", f"{API}/sessions")[2]
        bad, invalid = (400, "bad-request"), (422, "invalid-state")
        missing = (404, "not-found")
        turns = "/chats/c/turns"
        cases = [
            (bad, "POST", "/chats", "{"),
            (bad, "POST", "/chats", {"agents": ["Poet"], "name": "x"}),
            (bad, "POST", "/chats", {"agents": ["Poet"], "id": ""}),
            (invalid, "POST", "/chats", {}),
            (invalid, "POST", "/chats", {"agents": []}),
            (invalid, "POST", "/chats", {"agents": "Poet"}),
            (invalid, "POST", "/chats", {"agents": [5]}),
            (bad, "GET", "/chats?limit=0", None),
            (bad, "GET", "/chats?cursor=x", None),
            (missing, "GET", "/chats/nobody", None),
            (missing, "GET", "/chats/nobody/messages", None),
            (missing, "GET", "/chats/nobody/saved", None),
            (missing, "POST", "/chats/nobody/messages", {"text": "Hi"}),
            (missing, "POST", "/chats/nobody/turns", {"text": "Hi"}),
            (invalid, "GET", "/chats/plain", None),
            (invalid, "GET", "/chats/plain/messages", None),
            (invalid, "POST", "/chats/plain/messages", {"text": "Hi"}),
            (invalid, "POST", "/chats/plain/turns", {"text": "Hi"}),
            (invalid, "GET", "/chats/plain/saved", None),
            (bad, "GET", "/chats/c/messages?from=x", None),
            (bad, "GET", "/chats/c/messages?cursor=x", None),
            (invalid, "POST", "/chats/c/messages", {}),
            (invalid, "POST", "/chats/c/messages", {"text": ""}),
            (invalid, "POST", "/chats/c/messages", {"text": 5}),
            (bad, "POST", "/chats/c/messages", {"text": "Hi",
                                                "role": "system"}),
            (bad, "POST", turns, ""),
            (bad, "POST", turns, {"texts": "Hi"}),
            (invalid, "POST", turns, {"text": ""}),
            (invalid, "POST", turns, {"author": "Ann"}),
            (invalid, "POST", turns, {"text": "Hi", "to": "Nobody"}),
            (invalid, "POST", turns, {"text": "Hi", "first": "Nobody"}),
            (invalid, "POST", turns, {"text": "Hi", "to": "Poet",
                                      "agents": ["Harbour"]}),
            (invalid, "POST", turns, {"text": "Hi", "agents": ["Nobody"]}),
            (invalid, "POST", turns, {"text": "Hi", "agents": []}),
            (invalid, "POST", turns, {"text": "Hi", "to": "Poet",
                                      "maxTurns": 2}),
            (invalid, "POST", turns, {"text": "Hi", "maxTurns": 0}),
            (invalid, "POST", turns, {"text": "Hi", "maxTurns": "2"}),
            (bad, "POST", turns, {"text": "Hi", "until": "("}),
            (bad, "GET", "/chats/c/saved?form=xml", None),
            (bad, "PUT", "/chats/c/saved", "{"),
            (invalid, "PUT", "/chats/c/saved", {"what": 1}),
            (invalid, "PUT", "/chats/c/saved", []),
            (invalid, "PUT", "/chats/plain/saved", {"history": [],
                                                    "channels": []}),
            (invalid, "PUT", "/chats/c/saved?agent=Nobody",
             {"history": [], "channels": []}),
            ((405, "method-not-allowed"), "DELETE", "/chats/c", None),
        ]
        for (status, slug), method, path, body in cases:
            for headers in ({}, {"Prefer": "respond-async"}):
                refused(s, status, slug, method, API + path, body, **headers)
        for method, rest, body in (("GET", "", None),
                                   ("POST", "/messages", {"text": "Hi"}),
                                   ("POST", "/turns", {"text": "Hi"})):
            refused(s, 412, "version-conflict", method, at("c", rest), body,
                    If_Match='"v0-0"')
        assert before == (everything(s),
                          s.request("GET", f"{API}/sessions")[2])
        # What was said before a model failed stays; the same agent is next.
        refused(s, 502, "upstream", "POST", at("c", "/turns"),
                {"text": "break"})
        chat = good(s, "GET", at("c"))
        assert (chat["count"], chat["lastTurn"]["end"]) == (1, "aborted")
        assert "no such model" in chat["lastTurn"]["why"]
        assert said(turn(s, text="Hi", maxTurns=1)["messages"])[1][0] == (
            "Harbour")


# --- turns that take long ----------------------------------------------------


@tests.test("of several turns at once one is taken, and no text is lost")
def _():
    with Server() as s:
        make(s)
        asking = Asking([(s, "POST", at("c", "/turns"), {
            "text": f"work {i}", "to": "Harbour"}) for i in range(8)])
        called()
        until(lambda: sum(got is not None for got in asking.got) == 7)
        assert good(s, "GET", at("c"))["state"] == "running"
        refused(s, 409, "session-busy", "POST", at("c", "/messages"),
                {"text": "Hi"})
        refused(s, 409, "session-busy", "POST", at("c", "/turns"),
                {"text": "Hi"}, Prefer="respond-async")
        refused(s, 409, "session-busy", "PUT", at("c", "/saved"),
                {"history": [], "channels": []})
        refused(s, 409, "session-busy", "DELETE", API + "/sessions/c")
        go()
        replies = asking.replies()
        statuses = [status for status, _, _ in replies]
        assert sorted(statuses) == [200] + 7 * [409], statuses
        won = replies[statuses.index(200)][2]["messages"]
        assert log(s) == won and len(won) == 4, won
        assert won[0]["text"] == f"work {statuses.index(200)}"


@tests.test("a turn goes on when nobody waits for it")
def _():
    with Server("--wait", "1") as s:
        for i, headers in enumerate(({"Prefer": "respond-async"}, {})):
            make(s, f"c{i}")
            status, head, value = ask(s, "POST", at(f"c{i}", "/turns"),
                                      {"text": "work", "to": "Harbour"},
                                      **headers)
            assert (status, value) == (
                202, {"id": f"c{i}", "state": "running"}), (status, value)
            assert head["location"] == at(f"c{i}")
            assert head.get("preference-applied") == headers.get("Prefer")
        # A client that leaves.
        make(s, "c2")
        body = b'{"text":"work","to":"Harbour"}'
        with socket.create_connection(("127.0.0.1", s.port)) as link:
            link.sendall(b"POST /api/v1/chats/c2/turns HTTP/1.1\r\n"
                         b"Host: localhost\r\nContent-Length: %d\r\n\r\n%s"
                         % (len(body), body))
            called(3)
        go()
        for i in range(3):
            chat = idle(s, f"c{i}")
            assert chat["lastTurn"]["end"] == "ended", chat
            assert log(s, f"c{i}")[-1]["text"] == "It is done."


@tests.test("who is killed in a turn loses nothing that was said")
def _():
    with Server("--lease", "1") as s:
        make(s)
        turn(s, text="Hi", maxTurns=1)
        ask(s, "POST", at("c", "/turns"), {"text": "work"},
            Prefer="respond-async")
        called()
        before = log(s)
        s.stop(signal.SIGKILL)
        s.process.returncode = 0  # as it should be
    go()
    with Server("--lease", "1") as s:
        assert log(s) == before
        assert said(before)[:3] == [(None, "Hi"), ("Harbour", "You said: Hi"),
                                    (None, "work")], before
        chat = good(s, "GET", at("c"))
        assert (chat["lastTurn"]["end"], chat["lastTurn"]["agent"]) == (
            "open", "Poet"), chat
        # When its lease has lapsed the turn is given up, and the same agent is
        # next: it hears that nobody knows what became of the call.
        done = until(lambda: (got := ask(
            s, "POST", at("c", "/turns"), {"text": "Well?", "to": "Poet"}))[0]
            != 409 and got)
        assert done[0] == 200, done
        now = log(s)
        assert now[:len(before)] == before
        assert said(now)[-2:] == [(None, "Well?"), ("Poet", "You said: Well?")]


@tests.test("a server that stops lets turns end, or ends them")
def _():
    with Server() as s:
        make(s)
        asking = Asking([(s, "POST", at("c", "/turns"),
                          {"text": "work", "to": "Harbour"})])
        called()
        s.process.send_signal(signal.SIGTERM)
        until(lambda: s.request("GET", "/readyz")[0] == 503)
        refused(s, 409, "session-busy", "POST", at("c", "/turns"), {})
        go()
        assert asking.replies()[0][0] == 200
        assert s.process.wait(30) == 0
    os.remove("go")
    os.remove("calls")
    with Server("--grace", "0") as s:
        assert log(s)[-1]["text"] == "It is done."
        asking = Asking([(s, "POST", at("c", "/turns"),
                          {"text": "work", "to": "Harbour"})])
        called()
        s.process.send_signal(signal.SIGTERM)
        [(status, _, problem)] = asking.replies()
        assert (status, problem["code"]) == (503, "engine_stopped"), problem
        assert s.process.wait(30) == 0
    with Server() as s:
        chat = good(s, "GET", at("c"))
        assert chat["state"] == "idle", chat
        assert chat["lastTurn"]["end"] == "aborted", chat
        assert [m["role"] for m in log(s)[4:6]] == ["user", "assistant"]


@tests.test("turns of many chats hold nobody up, and are not without number")
def _():
    with Server("--grace", "0") as s:
        for i in range(129):
            make(s, f"c{i}", ["Harbour"])
        work = {"text": "work"}
        asking = Asking([(s, "POST", at(f"c{i}", "/turns"), work)
                         for i in range(50)])
        called(32)
        until(lambda: sum(good(s, "GET", at(f"c{i}"))["state"] == "running"
                          for i in range(50)) == 32)
        for _ in range(100):
            assert s.request("GET", "/healthz")[0] == 200
        s.say("Hi")
        make(s, "other")
        go()
        replies = asking.replies()
        assert [status for status, _, _ in replies] == 50 * [200]
        assert all(value["messages"][-1]["text"] == "It is done."
                   for _, _, value in replies)
        os.remove("go")
        os.remove("calls")
        until(lambda: all(good(s, "GET", at(f"c{i}"))["state"] == "idle"
                          for i in range(50)))
        for i in range(127):
            status, _, value = ask(s, "POST", at(f"c{i}", "/turns"), work,
                                   Prefer="respond-async")
            assert status == 202, (i, value)
        # One more has room.
        asking = Asking([(s, "POST", at(f"c{i}", "/turns"), work)
                         for i in (127, 128)])
        until(lambda: any(asking.got))
        s.process.send_signal(signal.SIGTERM)
        (one, _, _), (other, head, full) = sorted(
            asking.replies(), key=lambda reply: reply[0], reverse=True)
        assert (one, other) == (503, 429), (one, other)
        assert full["type"] == "/problems/quota" and head["retry-after"]
        assert s.process.wait(60) == 0
    with Server() as s:
        assert log(s, "c127") == log(s, "c128") == []
        assert said(log(s, "c0"))[4:5] == [(None, "work")], log(s, "c0")


@tests.test("another process and a server take turns of one chat")
def _():
    with Server() as s:
        make(s)
        turn(s, text="Hi")

        def send(*args):
            return run([PERDURE, "group", "send", "--store", "x.db",
                        "--agent=Harbour=agent.yaml",
                        "--agent=Poet=agent.yaml", "c", *args])
        thread = threading.Thread(target=send, args=("work", "--to",
                                                     "Harbour"))
        thread.start()
        called()
        for headers in ({}, {"Prefer": "respond-async"}):
            refused(s, 409, "session-busy", "POST", at("c", "/turns"),
                    {"text": "Ho"}, **headers)
        go()
        thread.join()
        assert turn(s, text="Ho", maxTurns=1)["messages"][1]["text"] == (
            "You said: Ho")
        assert send("--no-answer", "Hey").status == 0
        assert [text for _, text in said(log(s)) if text] == [
            "Hi", "You said: Hi", "You said: Hi", "work", "It is done.", "Ho",
            "You said: Ho", "Hey"], said(log(s))


@tests.test("who was passed over in the middle of a turn is told so")
def _():
    with Server("--lease", "1") as s:
        make(s)
        asking = Asking([(s, "POST", at("c", "/turns"),
                          {"text": "work", "to": "Harbour"})])
        called()
        # It sleeps until its lease has lapsed, and somebody else has a turn.
        s.process.send_signal(signal.SIGSTOP)
        until(lambda: run([
            PERDURE, "group", "send", "--store", "x.db", "c", "Well?",
            "--agent=Poet=agent.yaml", "--to=Poet"]).status == 0)
        go()
        s.process.send_signal(signal.SIGCONT)
        [(status, _, problem)] = asking.replies()
        assert (status, problem["type"], problem["code"]) == (
            409, "/problems/conflict", "chat_changed"), problem
        # What the other one said is there, and nothing of ours came behind it.
        now = log(s)
        assert said(now)[-2:] == [(None, "Well?"), ("Poet", "You said: Well?")]
        assert not [m for m in now if m["text"] == "It is done."], now
        assert turn(s, text="Hi", maxTurns=1)["count"] == len(now) + 2


# --- saved chats -------------------------------------------------------------


@tests.test("a chat is saved in each form, and goes on from there")
def _():
    with Server() as s:
        make(s)
        turn(s, text="Hi", author="Ann")
        plain = said(log(s))
        for form in ("native", "sk", "plain", "encoded"):
            status, head, text = s.request("GET",
                                           at("c", "/saved?form=" + form))
            assert status == 200 and head["etag"], text
            with open("saved.json", "w", encoding="utf-8") as file:
                file.write(text)
            done = run([PERDURE, "group", "show", "--file", "saved.json", "-o",
                        "json"])
            assert json.loads(done.out)["form"] == form, done
            status, head, report = ask(s, "PUT", at(form, "/saved"), text,
                                       If_None_Match="*")
            assert (status, report["case"]) == (201, "equivalent"), report
            assert head["etag"] == good(s, "GET", at(form))["etag"]
            assert said(log(s, form)) == plain, form
            turn(s, form, text="And now?")
            assert len(log(s, form)) == 6
        assert s.request("GET", at("c", "/saved"))[2] == everything(s)
        refused(s, 422, "invalid-state", "GET",
                at("c", "/saved?form=plain&strict=true"))


@tests.test("a restore says what each agent gets, and what waits")
def _():
    text = next(REAL.glob("04*")).read_text(encoding="utf-8")
    with Server(agents=("Baker", "Poet")) as s:
        report = good(s, "PUT", at("shop", "/saved?dryRun=true"), text)
        assert report["dryRun"] is True and report["count"] == 5
        assert report["case"] == "reduced", report
        assert {(f["what"], f.get("kind") or f.get("name"))
                for f in report["findings"]} >= {
                    ("restored", "chat-history"), ("no-agent", "Counter"),
                    ("parked", "Microsoft.SemanticKernel.Agents.OpenAI."
                     "OpenAIAssistantChannel")}, report
        refused(s, 404, "not-found", "GET", at("shop"))
        # The command says the same.
        done = run([PERDURE, "group", "restore", "--file", str(next(
            REAL.glob("04*"))), "-n", "-o", "json", "--agent",
            "Baker=agent.yaml"])
        theirs = json.loads(done.out)
        assert (theirs["case"], theirs["findings"]) == (
            report["case"], report["findings"]), theirs
        with_poet = good(s, "PUT", at(
            "shop", "/saved?dryRun=1&agent=Baker&agent=Poet"), text)
        assert with_poet["case"] == "reduced", with_poet

        assert ask(s, "PUT", at("shop", "/saved"), text)[0] == 201
        chat = good(s, "GET", at("shop"))
        assert sorted((c["kind"] or "", c["cursor"], c["parked"])
                      for c in chat["channels"]) == [
            ("Microsoft.SemanticKernel.Agents.OpenAI.OpenAIAssistantChannel",
             5, True), ("chat-history", 5, False)], chat
        assert {p["name"]: p["here"] for p in chat["participants"]} == {
            "Baker": True, "Counter": False}, chat
        done = turn(s, "shop", text="Hello")
        assert said(done["messages"]) == [
            (None, "Hello"), ("Baker", "You said: Hello")], done
        saved = json.loads(s.request("GET", at("shop", "/saved?form=sk"))[2])
        assert [c["ChannelState"] for c in saved["Channels"]
                if "Assistant" in c["ChannelType"]] == ["thread_demo01"]
        # Nobody of it is here.
        problem = refused(s, 422, "invalid-state", "PUT", at("x", "/saved"),
                          text.replace("agent-baker", "y").replace(
                              '"Baker"', '"Y"'))
        assert problem["code"] == "no_agents", problem
    with Server() as s:  # a person may say something all the same
        good(s, "POST", at("shop", "/messages"), {"text": "Anybody?"})
        refused(s, 422, "invalid-state", "POST", at("shop", "/turns"), {})
        chat = good(s, "GET", at("shop"))
        assert (chat["count"], len(chat["participants"])) == (8, 2), chat


@tests.test("a restore replaces what its precondition names, or nothing")
def _():
    with Server() as s:
        make(s)
        turn(s, text="Hi")
        other, text = everything(s), '{"history":[],"channels":[]}'
        first = good(s, "GET", at("c"))["etag"]
        put = lambda body, query="", **headers: ask(
            s, "PUT", at("c", "/saved" + query), body, **headers)
        for query in ("", "?dryRun=true"):
            assert put(text, query, If_None_Match="*")[0] == 412
            assert put(text, query, If_Match='"v1-0"')[0] == 412
        assert put(text, "?dryRun=1", If_Match=first)[2]["case"] == "enhanced"
        assert everything(s) == other
        status, head, _ = put(text, If_Match=first)
        assert status == 200 and head["etag"] != first
        assert log(s) == []
        assert put(other, If_Match=first)[0] == 412
        # Of those who saw the same, one writes.
        asking = Asking([(s, "PUT", at("c", "/saved"), other)] * 4)
        assert {status for status, _, _ in asking.replies()} == {200}
        # A channel that cannot be used makes all of it fail, or begins anew.
        broken = everything(s).replace('"state":{"from":1}',
                                       '"state":{"from":"x"}')
        assert broken != everything(s)
        before = everything(s)
        status, _, problem = put(broken)
        assert (status, problem["code"]) == (422, "bad_channel_state")
        assert everything(s) == before
        report = put(broken, "?rebuild=true&dryRun=true")[2]
        assert "rebuilt" in [f["what"] for f in report["findings"]], report
        assert good(s, "POST", API + "/verify")["ok"] is True


tests.finish()
