"""What takes long, and what it may not hold up.

Usage: serve_busy.py PERDURE

Nothing here is timed. What is asked for later and answered earlier shows that
it did not wait for the rest.
"""
import contextlib
import json
import os
import re
import select
import socket

from harness import Tests, is_sanitized, run
from serving import PERDURE, Server

tests = Tests("serve-busy")

API = "/api/v1"
HOST = b"Host: localhost\r\nConnection: close\r\n"
VERIFY = b"POST /api/v1/verify HTTP/1.1\r\nContent-Length: 0\r\n" + HOST + b"\r\n"
EXPORT = b"GET /api/v1/export HTTP/1.1\r\n" + HOST + b"\r\n"
MAX_EXPORTS = 16
MAX_LONG = 64  # requests for long work that wait
IS_SANITIZED = is_sanitized(PERDURE)


def put_large(s, keys=400 if IS_SANITIZED else 8000):
    """A bag of 20 MB: to read or to check it takes longer than what is asked
    beside that."""
    bag = {f"k{i}": [{"n": n, "t": "text"} for n in range(100)]
           for i in range(keys)}
    assert s.request("PUT", API + "/sessions/large/state",
                     {"stateBag": bag})[0] == 201
    return bag


def send(links, s, data, room=None):
    """A connection that has asked, and has not looked for an answer."""
    link = links.enter_context(contextlib.closing(socket.socket()))
    if room is not None:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    link.settimeout(120)
    link.connect(("127.0.0.1", s.port))
    link.sendall(data)
    return link


def receive(link):
    got = b""
    while chunk := link.recv(1 << 20):
        got += chunk
    return got


def answered(links, wait=0):
    """Those of which something has come."""
    return select.select(links, [], [], wait)[0]


def has_body(link):
    head = link.recv(65536, socket.MSG_PEEK)
    return b"\r\n\r\n" in head and not head.endswith(b"\r\n\r\n")


@tests.test("the line of an export is not written where requests are heard")
def _():
    with Server() as s, contextlib.ExitStack() as links:
        bag = put_large(s)
        exports = [send(links, s, EXPORT) for _ in range(6)]
        healthy = 0
        while not any(has_body(link) for link in answered(exports)):
            assert s.request("GET", "/healthz")[0] == 200
            healthy += 1
        assert healthy > 3, healthy
        for link in exports:
            body = receive(link).split(b"\r\n\r\n", 1)[1]
            text = re.sub(rb"(?:^|\r\n)[0-9a-fA-F]+\r\n", b"", body)
            assert json.loads(text)["document"]["stateBag"] == bag


@tests.test("an export has the sessions of its tenant, page after page")
def _():
    with Server() as s:
        names = sorted(f"s{i}" for i in range(450))
        lines = "".join(json.dumps({"id": name, "document": {"stateBag": {}}})
                        + "\n" for name in names)
        assert s.request("POST", API + "/import", lines)[0] == 200
        status, _, text = s.request("GET", API + "/export")
        ids = [json.loads(line)["id"] for line in text.splitlines()]
        assert (status, ids) == (200, names), ids
        report = json.loads(s.request("POST", API + "/verify")[2])
        assert report["ok"] is True and report["sessions"] == 450, report


@tests.test("checks of the whole store do not take the threads of requests")
def _():
    with Server() as s, contextlib.ExitStack() as links:
        put_large(s, 200 if IS_SANITIZED else 8000)
        # As many as may wait, so that none of them is refused.
        checks = [send(links, s, VERIFY) for _ in range(MAX_LONG)]
        assert s.request("GET", "/healthz")[0] == 200
        # This one was never asked before: it needs a thread of the pool.
        assert s.request("GET", API + "/sessions/large")[0] == 200
        assert s.request("GET", "/metrics")[0] == 200
        done = answered(checks)
        assert len(done) < MAX_LONG / 2, len(done)
        for link in checks:
            got = receive(link)
            assert got.startswith(b"HTTP/1.1 200 "), got
            assert b'"ok":true' in got


@tests.test("long work beyond what may wait is refused, and says when to come")
def _():
    with Server() as s, contextlib.ExitStack() as links:
        put_large(s, 200 if IS_SANITIZED else 8000)
        checks = [send(links, s, VERIFY) for _ in range(3 * MAX_LONG)]
        replies = [receive(link) for link in checks]
        good = [r for r in replies if r.startswith(b"HTTP/1.1 200 ")]
        refused = [r for r in replies if r.startswith(b"HTTP/1.1 429 ")]
        assert len(good) + len(refused) == len(checks), set(
            r[:20] for r in replies)
        assert len(good) >= MAX_LONG and refused, (len(good), len(refused))
        for reply in refused:
            assert reply.count(b"\r\nRetry-After: 1\r\n") == 1, reply
            assert b'"/problems/quota"' in reply, reply
        assert s.request("POST", API + "/verify")[0] == 200


def imports(count, each):
    """Requests that import so many sessions of names of their own each."""
    for i in range(count):
        body = "".join(json.dumps({"id": f"i{i}-{k}",
                                   "document": {"stateBag": {}}}) + "\n"
                       for k in range(each)).encode()
        yield (b"POST /api/v1/import HTTP/1.1\r\nContent-Length: %d\r\n"
               % len(body) + HOST + b"\r\n" + body)


@tests.test("a server that stops begins no long work, and breaks off what runs")
def _():
    with Server() as s, contextlib.ExitStack() as links:
        jobs = []
        for data in imports(3 * MAX_LONG, 2000):
            jobs.append(send(links, s, data))
            if any(link.recv(12, socket.MSG_PEEK) == b"HTTP/1.1 429"
                   for link in answered(jobs)):
                break  # as many wait as may
        assert s.stop() == 0
        replies = [receive(link) for link in jobs]
    refused = [i for i, r in enumerate(replies)
               if r.startswith(b"HTTP/1.1 503 ") and b"/unavailable" in r]
    broken = [i for i, r in enumerate(replies)
              if r.startswith(b"HTTP/1.1 200 ") and b"engine_stopped" in r]
    assert len(refused) >= MAX_LONG / 2 and broken, [r[:12] for r in replies]
    done = run([PERDURE, "session", "list", "--store", "x.db", "-a", "-o", "jsonl"])
    stored = {json.loads(line)["id"] for line in done.out.splitlines()}
    for i in refused:
        assert f"i{i}-0" not in stored
    for i in broken:  # what its reply says, and nothing else
        told = set(re.findall(rb'"id":"([^"]*)","status":"created"',
                              replies[i]))
        assert {name.decode() for name in told} == {
            name for name in stored if name.startswith(f"i{i}-")}


@tests.test("exports that nobody reads are few, and hold up nothing")
def _():
    # More than sockets take of a reply that nobody reads.
    text = {"stateBag": {"x": "x" * (8 << 20)}}
    with Server() as s, contextlib.ExitStack() as links:
        assert s.request("PUT", API + "/sessions/text/state", text)[0] == 201
        exports = [send(links, s, EXPORT, room=4096)
                   for _ in range(MAX_EXPORTS)]
        for link in exports:
            assert link.recv(15) == b"HTTP/1.1 200 OK"
        status, head, text = s.request("GET", API + "/export")
        assert (status, head.get("retry-after")) == (429, "1"), status
        assert json.loads(text)["type"] == "/problems/quota", text
        assert s.request("GET", API + "/sessions/text")[0] == 200
        assert s.request("GET", "/healthz")[0] == 200
        exports[0].close()
        while send(links, s, EXPORT, room=4096).recv(15) != b"HTTP/1.1 200 OK":
            pass


@tests.test("clients beyond the connections that there may be wait")
def _():
    with Server("--max-connections", "4", "--ping", "100") as s, (
            contextlib.ExitStack()) as links:
        assert s.request("GET", "/healthz")[0] == 200
        streams = [send(links, s, b"GET /api/v1/events HTTP/1.1\r\n" + HOST
                        + b"\r\n") for _ in range(4)]
        for link in streams:
            assert link.recv(15) == b"HTTP/1.1 200 OK"
        late = send(links, s, b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
        assert not answered([late], 1)
        streams[0].close()
        assert receive(late).endswith(b"ok\n")


class Piped(Server):
    """One whose standard error is a pipe, which nobody reads by itself."""

    def __init__(self):
        self.end, inside = os.pipe()
        super().__init__(stderr=inside)
        os.close(inside)

    def ask(self, count):
        """So many requests, one behind the other; all are answered."""
        one = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        got, tail = 0, b""
        with socket.create_connection(("127.0.0.1", self.port), 60) as link:
            for _ in range(count // 100):
                link.sendall(100 * one)
                got += 100
                seen = 0
                while seen < 100:
                    chunk = tail + link.recv(1 << 20)
                    seen += chunk.count(b"ok\n")
                    tail = b"" if chunk.endswith(b"ok\n") else chunk[-2:]
        return got

    def told(self, count):
        """What the log has of so many requests: lines, and how many it has
        not."""
        text, dropped = b"", 0
        while True:
            text += os.read(self.end, 1 << 16)
            lines = text.count(b"request_ended ")
            dropped = sum(map(int, re.findall(rb"log_dropped lines=(\d+)\n",
                                              text)))
            if lines + dropped >= count and text.endswith(b"\n"):
                return lines, dropped, text


@tests.test("a log that nobody reads holds nothing up, and tells what it lacks")
def _():
    count = 12000  # twice what the pipe and the buffers take
    with Piped() as s:
        assert s.ask(count) == count
        lines, dropped, text = s.told(count)
        assert lines + dropped == count and dropped > 0, (lines, dropped)
        numbers = [int(n) for n in re.findall(rb"request=(\d+) ", text)]
        assert numbers == sorted(set(numbers)) and len(numbers) == lines
        # It goes on with what comes then.
        assert s.ask(100) == 100
        assert s.told(100)[:2] == (100, 0)
        # And ends when nobody reads its last words.
        assert s.ask(count) == count
        assert s.stop() == 0
        os.close(s.end)


@tests.test("a log whose reader has gone ends nothing")
def _():
    with Piped() as s:
        os.close(s.end)
        assert s.ask(200) == 200
        assert s.stop() == 0


tests.finish()
