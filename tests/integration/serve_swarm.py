"""Several servers on one store, which are killed while clients talk to them.

Usage: serve_swarm.py PERDURE

Clients send runs over the routes of durable agents and over /api/v1, each until
a server has acknowledged it, read what runs say over both, and follow which
sessions change, at whichever server lives. Every two or three seconds one of
the servers is killed, or told to stop, and started again. Then it is counted:
what was acknowledged is there, nothing is there twice, every reader has read
the answers that are stored, and who followed knows the last revision of each
session.

It takes a minute at scale 1: in less no server is killed often enough.
"""
import http.client
import json
import os
import random
import signal
import sys
import threading
import time

from harness import Tests, is_sanitized
from serve_process import Server, scale

PERDURE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1
                          else os.environ["PERDURE_BIN"])
tests = Tests("serve-swarm")

SERVERS = 2
SESSIONS = 8
SECONDS = 60 * scale(0.1)
SETTLE = 60  # seconds in which all has to be answered at the end

REPLIES = {"replies": [
    {"after": "note", "text": ["{user}: ", "{result}", " Good", "bye."],
     "delay_ms": 10},
    {"user": "note", "calls": [{"name": "note", "arguments": {}}],
     "delay_ms": 20},
    {"text": ["You ", "said: ", "{user}"], "delay_ms": 30}]}

# The token of a call is SESSION/CORRELATION/CALL.
AGENT = """\
kind: Prompt
name: Harbour
model: {provider: script, connection: {file: replies.json}}
tools:
- kind: command
  name: note
  command: [sh, -c, 'echo "$PERDURE_TOKEN" >>notes; sleep 0.03; echo noted']
"""


class Swarm:
    """The servers, one of which may be away."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.slots = [self.start(i) for i in range(SERVERS)]
        self.kills = 0

    def start(self, i):
        return Server(PERDURE, "--lease", "1", "--grace", "1", "--ping",
                      "500", "--wait", "5", "--quiet", name=f"server{i}")

    def shake(self):
        """End one and start it again."""
        i = self.random.randrange(SERVERS)
        if self.kills == 0 or self.random.random() < 0.75:
            self.slots[i].end(signal.SIGKILL)
            self.kills += 1
        else:
            status = self.slots[i].end()
            # 6: runs were handed back when the time was over
            assert status in (0, 6), (status, self.slots[i].said())
        self.slots[i] = self.start(i)

    def end(self):
        for server in self.slots:
            server.end()


GONE = (OSError, http.client.HTTPException)


def api(key, rest=""):
    return f"/api/v1/sessions/%40dafx-harbour%40{key}{rest}"


class Talker(threading.Thread):
    """Sends runs to one session; each until it is acknowledged."""

    def __init__(self, swarm, number, ending):
        super().__init__()
        self.swarm, self.ending = swarm, ending
        self.key = f"k{number}"
        self.random = random.Random(number)
        self.acknowledged = {}  # correlation id: what was said
        self.answers = {}  # the same: text of a reply with status 200
        self.statuses, self.native = {}, {}
        self.failure = None

    def send(self, correlation, text):
        """Is it acknowledged? Each try goes another way."""
        if self.random.random() < 0.5:
            return self.send_native(correlation, text)
        server = self.random.choice(self.swarm.slots)
        wait = "true" if self.random.random() < 0.7 else "false"
        status, _, answer = server.request(
            "POST", f"/api/agents/Harbour/run?session_id={self.key}", text,
            Idempotency_Key=correlation, x_ms_wait_for_response=wait)
        self.statuses[status] = self.statuses.get(status, 0) + 1
        if status in (200, 202):
            self.acknowledged[correlation] = text
        if status == 200:
            self.answers[correlation] = answer
        known = (status in (200, 202, 429, 503)
                 or (status == 500 and "still processing" in answer))
        assert known, (status, answer)
        return status in (200, 202)

    def send_native(self, correlation, text):
        server = self.random.choice(self.swarm.slots)
        headers = {} if self.random.random() < 0.7 else {
            "Prefer": "respond-async"}
        status, _, answer = server.request(
            "POST", api(self.key, "/runs"), json.dumps({"message": text}),
            Idempotency_Key=correlation, Content_Type="application/json",
            **headers)
        self.native[status] = self.native.get(status, 0) + 1
        run = json.loads(answer)
        if status == 409:  # another try got through, and goes on
            assert run["type"] == "/problems/idempotency-in-progress", run
        else:
            assert status in (200, 202, 429, 503), (status, run)
        if status not in (429, 503):
            self.acknowledged[correlation] = text
        if status == 200:
            assert (run["id"], run["state"]) == (correlation, "completed"), run
            self.answers[correlation] = run["text"]
        return status not in (429, 503)

    def run(self):
        number = 0
        try:
            while not self.ending.is_set():
                number += 1
                kind = self.random.choice(["note", "tell"])
                correlation = f"{self.key}-{number}"
                while not self.ending.is_set():
                    try:
                        if self.send(correlation, f"{kind} {correlation}"):
                            break
                    except GONE:
                        pass
                    time.sleep(0.05)
        except AssertionError as failure:
            self.failure = failure


class Reader(threading.Thread):
    """Reads what is said in a session, and comes back with the last number."""

    def __init__(self, swarm, number, ending, is_native=False):
        super().__init__()
        self.swarm, self.ending = swarm, ending
        self.key = f"k{number}"
        self.path = (api(self.key, "/events") if is_native else
                     f"/api/agents/Harbour/sessions/{self.key}/stream?wait=2")
        self.random = random.Random(1000 + 100 * is_native + number)
        self.events = []  # number, kind, data
        self.ended = 0
        self.came_back = 0
        self.failure = None

    def take(self, line):
        event = json.loads(line)
        if "id" not in event:  # what went wrong with the stream, not with a run
            return False
        self.events.append((event["id"], event["event"], event["data"]))
        self.ended += event["event"] in ("done", "error")
        return True

    def read(self):
        server = self.random.choice(self.swarm.slots)
        headers = {"Accept": "application/x-ndjson"}
        if self.events:
            headers["Last-Event-ID"] = str(self.events[-1][0])
        link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
        try:
            link.request("GET", self.path, headers=headers)
            reply = link.getresponse()
            if reply.status != 200:
                text = reply.read()
                assert reply.status in (404, 503), (reply.status, text)
                return
            while not self.ending.is_set():
                line = reply.readline()
                # A line that is cut off is not an event.
                if not line.endswith(b"\n"):
                    break
                if line.strip() and not self.take(line):
                    break
        finally:
            link.close()

    def run(self):
        while not self.ending.is_set():
            try:
                self.read()
            except GONE:
                pass
            except (AssertionError, ValueError, KeyError) as failure:
                self.failure = failure
                return
            self.came_back += 1
            time.sleep(0.02)


class Follower(threading.Thread):
    """Knows at which revision each session is, by notices and by lists."""

    def __init__(self, swarm, number, ending):
        super().__init__()
        self.swarm, self.ending = swarm, ending
        self.random = random.Random(2000 + number)
        self.revisions = {}
        self.notices = self.lists = 0
        self.failure = None

    def know(self, name, revision):
        self.revisions[name] = max(revision, self.revisions.get(name, 0))

    def list(self, server):
        status, _, text = server.request("GET", "/api/v1/sessions?limit=200",
                                         timeout=5)
        assert status in (200, 503), (status, text)
        for item in json.loads(text)["items"] if status == 200 else ():
            self.know(item["id"], item["revision"])
        self.lists += 1
        return status == 200

    def follow(self):
        server = self.random.choice(self.swarm.slots)
        link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
        try:
            link.request("GET", "/api/v1/events",
                         headers={"Accept": "application/x-ndjson"})
            reply = link.getresponse()
            assert reply.status in (200, 503), reply.status
            is_first = True
            while reply.status == 200 and not self.ending.is_set():
                line = reply.readline()
                if not line.endswith(b"\n"):
                    return
                if not line.strip():
                    continue
                event = json.loads(line)
                assert event["event"] == "list" or not is_first, event
                is_first = False
                if event["event"] == "session":
                    self.notices += 1
                    self.know(event["data"]["id"], event["data"]["revision"])
                elif not self.list(server):
                    return
        finally:
            link.close()

    def run(self):
        while not self.ending.is_set():
            try:
                self.follow()
            except GONE:
                pass
            except (AssertionError, ValueError, KeyError) as failure:
                self.failure = failure
                return
            time.sleep(0.02)


# --- judging -----------------------------------------------------------------


def answers_read(events):
    """What a reader makes of events: the text of each run."""
    answers, pieces = [], []
    for number, kind, data in events:
        if kind == "message":
            pieces.append((number, data["text"]))
        elif kind == "attempt":
            pieces = [p for p in pieces if p[0] <= data["counts"]]
        elif kind in ("done", "error"):
            answers.append("".join(text for _, text in pieces))
            pieces = []
    return answers


def judge(acknowledged, answers, entries, events, notes):
    """What is wrong with a session. `entries`: kind, correlation id and text of
    each; `events` of its reader; `notes`: how often each call was made."""
    wrong = []
    told = {}
    for kind, correlation, text in entries:
        if (kind, correlation) in told:
            wrong.append(f"doubled: {kind} {correlation}")
        told[kind, correlation] = text
    for correlation, text in acknowledged.items():
        if told.get(("request", correlation)) != text:
            wrong.append(f"lost: request {correlation}")
        answer = told.get(("response", correlation))
        good = {f"You said: {text}", f"{text}: noted Goodbye."}
        doubtful = (answer or "").startswith(
            f"{text}: Error: The outcome of this call is unknown")
        if answer not in good and not doubtful:
            wrong.append(f"lost: response {correlation}: {answer}")
        if answers.get(correlation, answer) != answer:
            wrong.append(f"told {answers[correlation]}, stored {answer}")
        calls = notes.get(correlation, 0)
        if calls > 1 or (calls == 0 and answer == f"{text}: noted Goodbye."):
            wrong.append(f"called {calls} times: {correlation}")
    numbers = [number for number, _, _ in events]
    if any(a >= b for a, b in zip(numbers, numbers[1:])):
        wrong.append(f"numbers do not grow: {numbers}")
    if any(kind == "reset" for _, kind, _ in events):
        wrong.append("events are gone that are kept")
    stored = [text for kind, _, text in entries if kind == "response"]
    read = answers_read(events)
    if read != stored:
        wrong.append(f"read {read}, stored {stored}")
    return wrong


def entries_of(document):
    """Kind, correlation id and text; of a turn with a call the last text."""
    for entry in json.loads(document)["data"]["conversationHistory"]:
        text = "".join(content.get("text", "")
                       for message in entry["messages"]
                       for content in message["contents"])
        yield entry["$type"], entry["correlationId"], text


@tests.test("what is lost, doubled or torn is noticed")
def _():
    said = {"c": "note c"}
    answer = "note c: noted Goodbye."
    entries = [("request", "c", "note c"), ("response", "c", answer)]
    events = [(1, "message", {"text": "note "}), (3, "attempt", {"counts": 0}),
              (4, "message", {"text": answer}), (5, "done", {})]
    notes = {"c": 1}
    good = [said, {"c": answer}, entries, events, notes]
    assert judge(*good) == []
    for place, bad in ((1, {"c": "other"}), (2, entries[:1]),
                       (2, entries + entries[1:]), (2, entries[1:]),
                       (3, events[:1] + events[2:]), (3, events[:3]),
                       (3, [*events[:3], (4, "done", {})]),
                       (3, [*events, (6, "reset", {"oldest": 7})]),
                       (4, {"c": 2}), (4, {})):
        assert judge(*good[:place], bad, *good[place + 1:]), (place, bad)


# --- the swarm ---------------------------------------------------------------


def settle(swarm, talkers, readers, followers):
    """Wait for every answer, and for everybody to have it."""
    until = time.monotonic() + SETTLE
    for talker in talkers:
        for correlation in talker.acknowledged:
            status, _, text = swarm.slots[0].request(
                "GET", f"/api/agents/Harbour/sessions/{talker.key}/responses/"
                f"{correlation}?wait={SETTLE}", timeout=SETTLE + 5)
            assert status == 200, (correlation, status, text)
    documents = {}
    for talker in talkers:
        while True:  # what was not acknowledged may be there, too
            document = swarm.slots[0].request(
                "GET", f"/api/agents/Harbour/sessions/{talker.key}")[2]
            kinds = [kind for kind, _, _ in entries_of(document)]
            if kinds.count("request") == kinds.count("response"):
                break
            assert time.monotonic() < until, document
            time.sleep(0.1)
        documents[talker.key] = list(entries_of(document))
    for reader in readers:
        wanted = sum(kind == "response" for kind, _, _ in
                     documents[reader.key])
        while reader.ended < wanted and reader.failure is None:
            assert time.monotonic() < until, (reader.key, reader.ended, wanted)
            time.sleep(0.05)
    items = json.loads(swarm.slots[0].request(
        "GET", "/api/v1/sessions?limit=200")[2])["items"]
    now = {item["id"]: item["revision"] for item in items}
    for follower in followers:
        while follower.revisions != now and follower.failure is None:
            assert time.monotonic() < until, (follower.revisions, now)
            time.sleep(0.05)
    return documents


@tests.test("servers that are killed lose nothing and double nothing")
def _():
    with open("replies.json", "w", encoding="utf-8") as file:
        json.dump(REPLIES, file)
    with open("agent.yaml", "w", encoding="utf-8") as file:
        file.write(AGENT)
    seed = int(os.environ.get("PERDURE_SEED") or "1")
    swarm = Swarm(seed)
    enough, ending = threading.Event(), threading.Event()
    sessions = SESSIONS // 2 if is_sanitized(PERDURE) else SESSIONS
    talkers = [Talker(swarm, n, enough) for n in range(sessions)]
    readers = [Reader(swarm, n, ending, is_native)
               for is_native in (False, True) for n in range(sessions)]
    followers = [Follower(swarm, n, ending) for n in range(2)]
    everybody = talkers + readers + followers
    for thread in everybody:
        thread.start()
    try:
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            time.sleep(swarm.random.uniform(2, 3))
            swarm.shake()
        enough.set()
        for talker in talkers:
            talker.join()
        documents = settle(swarm, talkers, readers, followers)
    finally:
        enough.set()
        ending.set()
        for thread in everybody:
            thread.join()
        swarm.end()
    notes = {}
    if os.path.exists("notes"):
        with open("notes", encoding="utf-8") as file:
            for line in file:
                correlation = line.split("/")[1]
                notes[correlation] = notes.get(correlation, 0) + 1
    wrong = [str(t.failure) for t in everybody if t.failure]
    for talker, reader in zip(talkers * 2, readers):
        wrong += judge(talker.acknowledged, talker.answers,
                       documents[talker.key], reader.events, notes)
    runs = sum(len(t.acknowledged) for t in talkers)
    native = sum(t.native.get(200, 0) + t.native.get(202, 0) for t in talkers)
    attempts = sum(kind == "attempt" for r in readers
                   for _, kind, _ in r.events)
    print(f"{runs} runs, {native} of them over /api/v1, {swarm.kills} kills, "
          f"{attempts} attempts, {sum(r.came_back for r in readers)} readers "
          f"came back, {sum(f.notices for f in followers)} notices, "
          f"{sum(f.lists for f in followers)} lists, {len(wrong)} wrong, "
          f"seed {seed}")
    assert not wrong, "\n".join(wrong)
    assert runs > 20 and native > 5 and swarm.kills > 0


tests.finish()
