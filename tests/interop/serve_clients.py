"""Clients that others wrote talk to `perdure serve`: a validator of OpenAPI, a
reader of server-sent events that reconnects by itself, and curl.
Usage: TEST PERDURE
"""
import copy
import json
import signal
import subprocess
import threading
import time

from command import run
from harness import Tests
from ld_eventsource import SSEClient
from ld_eventsource.actions import Event, Fault, Start
from ld_eventsource.config import (ConnectStrategy, ErrorStrategy,
                                   RetryDelayStrategy)
from openapi_spec_validator import OpenAPIV31SpecValidator
from serving import Server, events

tests = Tests("interop-serve-clients")
SESSION = "/api/v1/sessions/%40dafx-harbour%40k"
WAIT = 60  # seconds until what must come has come


# --- the description ---------------------------------------------------------


def complaints(description):
    return [error.message for error in
            OpenAPIV31SpecValidator(description).iter_errors()]


@tests.test("openapi: a validator accepts the description")
def _():
    with Server() as s:
        description = json.loads(s.request("GET", "/openapi.json")[2])
    assert description["openapi"].startswith("3.1."), description["openapi"]
    assert complaints(description) == []
    # It would have seen a mistake.
    state = "/api/v1/sessions/{id}/state"
    for spoil in (
            lambda d: d.pop("info"),
            lambda d: d["paths"][state]["get"].pop("parameters"),
            lambda d: d["paths"][state]["get"].update(operationId="state-put"),
            lambda d: d["paths"][state]["get"]["responses"]["200"].clear()):
        bad = copy.deepcopy(description)
        spoil(bad)
        assert complaints(bad), spoil


# --- server-sent events ------------------------------------------------------


class Reader(threading.Thread):
    """The client as its manual says it; all that it is told is the address."""

    def __init__(self, url, ends):
        super().__init__(daemon=True)
        self.client = SSEClient(
            ConnectStrategy.http(url),
            error_strategy=ErrorStrategy.always_continue(),
            retry_delay_strategy=RetryDelayStrategy.default(max_delay=2))
        self.ends = ends  # of runs, after which it is over
        self.events, self.starts, self.faults = [], 0, 0

    def ended(self):
        return sum(kind == "done" for kind, _, _ in self.events)

    def run(self):
        for action in self.client.all:
            self.starts += isinstance(action, Start)
            self.faults += isinstance(action, Fault)
            if isinstance(action, Event):
                self.events.append((action.event, int(action.last_event_id),
                                    action.data))
            if self.ended() == self.ends:
                break
        self.client.close()

    def until(self, what):
        end = time.monotonic() + WAIT
        while not what():
            assert time.monotonic() < end, (self.events, self.faults)
            time.sleep(0.02)


def send(s, name, text):
    status, _, reply = s.request(
        "POST", SESSION + "/runs", {"message": text}, Idempotency_Key=name,
        Prefer="respond-async")
    assert status == 202, (status, reply)


@tests.test("events: a client whose server is killed goes on by itself, and "
            "nothing is lost or doubled")
def _():
    s = Server("--lease", "1")
    reader = Reader(f"http://127.0.0.1:{s.port}{SESSION}/events", ends=3)
    send(s, "one", "lines")
    reader.start()
    reader.until(lambda: reader.ended() == 1)
    # The first time in the middle of a run, the second time between two.
    send(s, "two", "slowly")
    reader.until(lambda: len(reader.events) > 3)
    for _ in range(2):
        s.stop(signal.SIGKILL)
        s = Server("--lease", "1", listen=f"127.0.0.1:{s.port}")
        reader.until(lambda: reader.ended() == 2)
    with s:
        send(s, "three", "Hello")
        reader.join(WAIT)
        assert not reader.is_alive(), reader.events
        fresh = run(["curl", "-sN", "--max-time", "3", "--noproxy", "*",
                     f"http://127.0.0.1:{s.port}{SESSION}/events"])
        assert fresh.status == 28, fresh  # the stream of a session has no end
    assert reader.starts >= 2 and reader.faults >= 1, vars(reader)
    numbers = [number for _, number, _ in reader.events]
    assert numbers == sorted(set(numbers)), numbers
    assert reader.events == events(fresh.out.decode()), (
        reader.events, fresh.out)


# --- curl --------------------------------------------------------------------


def curl(*arguments):
    done = run(["curl", "-sS", "--max-time", "30", "--noproxy", "*",
                *arguments])
    assert done.status == 0, done
    return done.out.decode()


@tests.test("curl: a run, a session and a stream, as the guide has them")
def _():
    with Server() as s:
        at = f"http://127.0.0.1:{s.port}"
        assert curl(at + "/api/agents/Poet/run", "-d", "How is it?") == \
            "You said: How is it?"
        told = json.loads(curl(
            at + SESSION + "/runs", "-H", "Content-Type: application/json",
            "-H", 'Idempotency-Key: "one"', "-d", '{"message": "lines"}'))
        assert told["state"] == "completed", told
        assert "conversationHistory" in curl(at + SESSION + "/state")
        lines = events(curl("-N", at + SESSION + "/events?run=one"))
        assert [kind for kind, _, _ in lines][-1] == "done", lines
        said = "".join(json.loads(data)["text"] for kind, _, data in lines
                       if kind == "message")
        assert said == told["text"], (said, told)
        # -N: each piece is there when it was said.
        pipe = subprocess.Popen(
            ["curl", "-sSN", "--noproxy", "*", f"{at}{SESSION}/events?after="
             f"{lines[-1][1]}"], stdout=subprocess.PIPE)
        send(s, "two", "slowly")
        piece = b""
        while b'"One "' not in piece:
            piece = pipe.stdout.readline()
            assert piece, "the stream broke off"
        state = json.loads(s.request("GET", SESSION + "/runs/two")[2])["state"]
        assert state == "running", state
        pipe.kill()
        pipe.wait()
        pipe.stdout.close()


tests.finish()
