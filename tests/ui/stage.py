"""A server with a store that is not empty, for those who look at its page.

Agents are scripts, so all of it comes out the same each time. The same store is
behind the pictures of the README and behind `make bench BENCH=ui`.
"""
import atexit
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse

TOP = pathlib.Path(__file__).resolve().parents[2]
WEB = TOP / "web"
TOUR = TOP / "examples/tour"
sys.path.insert(0, str(TOP / "tests/integration"))
from harness import environment  # noqa: E402

API = "/api/v1"
PERDURE = None  # the program; whoever uses this module says which
# A folder with another page: one that is worked on, or a broken one.
UI_DIR = os.environ.get("PERDURE_UI_DIR")
leave = None    # called before a server stops: whoever looks should go

TRAINS = {"from": "Oslo", "to": "Vienna", "connections": [
    {"train": "SJ 397 + NJ 40491", "leaves": "07:08", "arrives": "08:05 (+1)",
     "changes": 2, "sleeper": True, "price": "189.00"},
    {"train": "SJ 395 + EC 281", "leaves": "05:57", "arrives": "09:12 (+1)",
     "changes": 4, "sleeper": False, "price": "154.50"}]}
LONG = ("The night train leaves Hamburg at 20:33. You have a compartment of "
        "two, breakfast is at seven, and you are in Vienna at 08:05.")
TOKENS = {"inputTokenCount": 1264, "outputTokenCount": 96,
          "totalTokenCount": 1360}

# By agent: description, metadata, tools in YAML, and what its model says. The
# first reply that fits is given.
AGENTS = {
    "Concierge": (
        "Plans journeys by train and books what belongs to them.",
        "{team: travel, owner: Mira, regions: [nordics, alps]}", """
- kind: command
  name: find_trains
  description: Finds connections.
  command: [sh, -c, 'cat trains.json']
- kind: command
  name: wait_for_desk
  description: Asks the desk, which takes until somebody is there.
  repeatable: true
  timeout: 3600
  command: [sh, -c, 'until test -e go || ! test -e Concierge.yaml; do
    sleep 0.05; done; echo two seats']
- kind: command
  name: book_hotel
  description: Books a room.
  approvalMode: always
  command: [sh, -c, 'cat >>booked; echo booked']
""", [
            {"after": "find_trains", "usage": TOKENS, "text":
             "There is a night train. You leave Oslo at 07:08, change in "
             "Gothenburg and Hamburg, and are in Vienna at 08:05 the next "
             "morning, for 189 euros with a sleeper.\n\nThe other one is "
             "cheaper (154.50) but changes four times, and you would sit all "
             "night. Shall I look for a room near the station?"},
            {"after": "wait_for_desk", "text": "The desk says: {result}."},
            {"after": "book_hotel", "text": "The room is booked.",
             "usage": TOKENS},
            {"user": "night train", "reasoning":
             "They want to sleep on the way. First what runs on that day, "
             "then the price.", "calls": [{"name": "find_trains", "arguments":
             {"from": "Oslo", "to": "Vienna", "date": "2026-12-18"}}]},
            {"user": "room", "text": "I found one, five minutes from the "
             "station. Booking it costs money, so I need your word.",
             "usage": TOKENS, "calls": [{"name": "book_hotel", "arguments": {
                 "hotel": "Zur Linde", "nights": 2, "price": "214.00"}}]},
            {"user": "desk", "calls": [
                {"name": "wait_for_desk", "arguments": {}}]},
            {"user": "slowly", "delay_ms": 100, "text": [
                word + " " for word in LONG.split()]},
            {"user": "broken", "fail": "the model is overloaded"},
            {"text": "You said: {user}", "usage": TOKENS}]),
    "Helpdesk": (
        "Answers customers; looks up orders, returns and refunds.",
        "{team: support, language: [en, de]}", "", [
            {"user": "parcel", "usage": TOKENS, "text":
             "Order 4711 left Linz yesterday and is due tomorrow before noon."},
            {"user": "broken", "fail": "the model is overloaded"},
            {"text": "I looked it up: {user}", "usage": TOKENS}]),
    "Planner": ("Leads the weekly plan.", "{team: travel}", "", [
        {"text": "Three days, two of them in the hills. Scout, what is open in "
         "December? Critic, what would go wrong?"}]),
    "Scout": ("Knows what is open, and when.", "{team: travel}", "", [
        {"text": "The hut above Hallstatt is open until the 20th, and there is "
         "a bus at nine. The salt mine is shut for the winter."}]),
    "Critic": ("Finds what would go wrong.", "{team: travel}", "", [
        {"text": "One bus a day means one chance. Take the hut on the first "
         "day, so that a missed bus costs an evening and not the flight."}]),
}


def quoted(text):
    return urllib.parse.quote(text, safe="")


def write_agents(folder="."):
    """Definition files and scripts; gives the options that name them."""
    folder = pathlib.Path(folder)
    (folder / "trains.json").write_text(json.dumps(TRAINS))
    options = []
    for name, (what, metadata, tools, replies) in AGENTS.items():
        (folder / f"{name}.json").write_text(json.dumps({"replies": replies}))
        (folder / f"{name}.yaml").write_text(
            f"kind: Prompt\nname: {name}\ndescription: {what}\n"
            f"metadata: {metadata}\nmodel: {{provider: script, connection: "
            f"{{file: {name}.json}}}}\n" + (f"tools:{tools}" if tools else ""))
        options += ["--agent", f"{name}={folder / name}.yaml"]
    return options


class Server:
    """`perdure serve` on x.db of the current folder."""

    def __init__(self, *options, agents=True, port=0):
        specs = write_agents() if agents else []
        if UI_DIR:
            options += ("--ui-dir", str(UI_DIR))
        self.log = open("log", "ab")
        self.process = subprocess.Popen(
            [PERDURE, "serve", "--store", "x.db", "--listen",
             f"127.0.0.1:{port}", *specs, *options], env=environment(),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log)
        atexit.register(self.process.kill)
        line = self.process.stdout.readline().decode()
        assert line.startswith("http://127.0.0.1:"), (
            line, pathlib.Path("log").read_text())
        self.origin = line.strip()
        self.port = int(line.rsplit(":", 1)[1])
        self.ui = self.origin + "/ui/"

    def request(self, verb, path, body=None, **headers):
        """Status, ETag and text."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        headers = {name.replace("_", "-"): v for name, v in headers.items()}
        link.request(verb, API + path, body and body.encode(), headers)
        reply = link.getresponse()
        text = reply.read().decode()
        link.close()
        return reply.status, reply.getheader("ETag"), text

    def good(self, verb, path, body=None, **headers):
        """The JSON of a reply that has to be fine, or its lines."""
        status, _, text = self.request(verb, path, body, **headers)
        assert 200 <= status < 300, (verb, path, status, text)
        lines = [json.loads(line) for line in text.split("\n") if line]
        return lines[0] if len(lines) == 1 else lines

    def say(self, session, text, wait=True):
        """To the agent of a session; False: on its way, when this returns."""
        headers = {} if wait else {"Prefer": "respond-async"}
        return self.good("POST", f"/sessions/{quoted(session)}/runs",
                         {"message": text}, **headers)

    def put(self, session, document):
        return self.good("PUT", f"/sessions/{quoted(session)}/state", document)

    def get(self, session, rest=""):
        return self.good("GET", f"/sessions/{quoted(session)}{rest}")

    def until(self, session, state):
        end = time.monotonic() + 30
        while self.get(session)["state"] != state:
            assert time.monotonic() < end, (session, state)
            time.sleep(0.02)

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        status = self.process.wait(60)
        self.process.stdout.close()
        self.log.close()
        return status

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if leave and kind is None:
            leave()
        pathlib.Path("go").touch()  # whoever waits ends
        is_there = self.process.poll() is None
        # At once: it survives that, and an end in order takes its time.
        self.stop(signal.SIGKILL)
        text = pathlib.Path("log").read_text(errors="replace")
        assert kind is not None or is_there, text
        assert "Sanitizer" not in text and "ssert" not in text, text


def damage(*texts):
    """A bit of the file of each of these texts, while nobody has it open."""
    file = pathlib.Path("x.db")
    data = bytearray(file.read_bytes())
    for text in texts:
        assert data.count(text.encode()) == 1, text
        data[data.index(text.encode())] ^= 1
    file.write_bytes(bytes(data))


def turn(correlation, asked, answered, minute=0, **more):
    """Two entries of a state document."""
    at = f"2026-11-18T09:{minute % 60:02}:00+00:00"
    later = f"2026-11-18T09:{minute % 60:02}:04+00:00"

    def message(role, text, when, author):
        return {"authorName": author, "createdAt": when, "role": role,
                "contents": [{"$type": "text", "text": text}]}
    return [{"$type": "request", "orchestrationId": None,
             "responseType": "text", "correlationId": correlation,
             "createdAt": at,
             "messages": [message("user", asked, at, "Jonas")]},
            {"$type": "response", "correlationId": correlation,
             "createdAt": later, "usage": TOKENS,
             "messages": [message("assistant", answered, later,
                                  "Concierge")], **more}]


def document(turns, **more):
    return {"schemaVersion": "1.1.0", "data": {
        "conversationHistory": [entry for t in turns for entry in t]}, **more}


# Sessions that a seeded store has; what tests ask for by name.
TRIP = "@dafx-concierge@vienna-december"
ROOM = "@dafx-concierge@room-for-two"
PARCEL = "@dafx-helpdesk@order-4711"
FAILED = "@dafx-helpdesk@order-4712"
GARDEN = "@dafx-gardener@bed-3"
NOTES = "notes/mira"
BOARD = "weekly-plan"
DESK = "@dafx-concierge@desk"


def seed(server, rich=False, busy=False, pause=lambda: None):
    """Of each kind of session one; rich: more of them, as a store has that is
    in use; busy: one that waits for a tool until there is a file `go`; pause is
    called between them."""
    if rich:
        for i, (name, asked) in enumerate([
                ("porto-by-train", "Is Porto possible by train?"),
                ("lost-umbrella", "I left my umbrella in car 12."),
                ("refund-0192", "The heating was off. Is there a refund?"),
                ("class-trip-graz", "28 pupils to Graz, who fits us in?"),
                ("dog-on-board", "May a large dog come along?"),
                ("seat-61", "Is seat 61 by the window?"),
                ("bergen-fjords", "Bergen by way of the fjords, please."),
                ("bike-to-basel", "Two bicycles to Basel."),
                ("group-of-nine", "We are nine now, not eight.")]):
            agent = ("concierge", "helpdesk")[i % 2]
            server.put(f"@dafx-{agent}@{name}", document([
                turn(f"a{i}", asked, "Yes. I have put it in your plan.", i)]))
            pause()
    server.put(GARDEN, (TOUR / "conversation.json").read_text())
    pause()
    server.put(NOTES, {"stateBag": {
        "profile": {"name": "Mira", "seats": ["window", "quiet"],
                    "loyalty": 1204},
        "draft": "Leave on Thursday, so that Friday is free.",
        "limits": {"budget": 900.50, "nights": 4}}})
    server.good("PATCH", f"/sessions/{quoted(NOTES)}",
                {"properties": {"team": "travel", "pinned": True}})
    pause()
    server.say(PARCEL, "Where is my parcel 4711?")
    server.request("POST", f"/sessions/{quoted(FAILED)}/runs",
                   {"message": "broken"})
    pause()
    server.good("POST", "/chats", {"id": BOARD, "agents": [
        "Planner", "Scout", "Critic"]})
    server.good("POST", f"/chats/{BOARD}/turns", {
        "text": "Three days off in December, from Vienna. What do we do?",
        "author": "Mira"})
    pause()
    server.say(ROOM, "And a room for two nights, please")
    pause()
    server.say(TRIP, "I would like a night train from Oslo to Vienna on the "
               "18th, with a bed if there is one.")
    if rich:
        server.say(TRIP, "Yes please, a room for two nights.")
    if busy:
        server.say(DESK, "Ask the desk for two seats", wait=False)
        server.until(DESK, "running")


@contextlib.contextmanager
def seeded(*options, **more):
    with Server(*options) as server:
        seed(server, **more)
        yield server


def copy_web(folder):
    """The page, to be changed there."""
    shutil.copytree(WEB, folder)
    return pathlib.Path(folder)
