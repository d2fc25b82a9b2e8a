"""As many streams as there are descriptors, and many runs at once.

Usage: serve_crowd.py PERDURE

The server and its clients are on one machine, so the clients are processes of
their own: each side has the descriptors that one process may have.
"""
import concurrent.futures
import contextlib
import json
import os
import re
import resource
import selectors
import signal
import socket
import subprocess
import sys
import time

from harness import Tests, is_sanitized
from serve_process import Server, scale

IS_CROWD = sys.argv[1:2] == ["--crowd"]
PERDURE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1
                          else os.environ["PERDURE_BIN"])
IS_SANITIZED = not IS_CROWD and is_sanitized(PERDURE)
tests = Tests("serve-crowd")

RUN = "/api/agents/Harbour/run?session_id="
STREAMS = 10000  # that are wanted
FEW = 3500  # what a usual limit of 4,096 descriptors has room for; with
            # fewer there is nothing to see
SESSIONS = 50
STREAM_KB = 12  # of resident memory that an idle one may take
SPARE = 300  # descriptors that the server does not give to connections


# Descriptors are taken for the pipes of a tool, too.
TOOL = """
tools:
- kind: command
  name: note
  command: [echo, noted]
"""


def serve(*options, replies=None, tool=False, files=None):
    with open("replies.json", "w", encoding="utf-8") as file:
        json.dump({"replies": replies or [{"text": "You said: {user}"}]}, file)
    with open("agent.yaml", "w", encoding="utf-8") as file:
        file.write("kind: Prompt\nname: Harbour\nmodel: {provider: script, "
                   "connection: {file: replies.json}}\n" + tool * TOOL)
    return Server(PERDURE, "--quiet", *options, files=files)


def have_sessions(s):
    for i in range(SESSIONS):
        assert s.request("POST", f"{RUN}k{i}", "first")[0] == 200


# --- a process of clients ----------------------------------------------------


def crowd(port, first, count):
    """Open streams, then do as standard input says: wait until each has got a
    text, or end. Tells when it is done."""
    links, got = [], {}
    selector = selectors.DefaultSelector()
    for i in range(first, first + count):
        link = socket.create_connection(("127.0.0.1", port), 30)
        link.sendall(f"GET /api/agents/Harbour/sessions/k{i % SESSIONS}/stream"
                     " HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        links.append(link)
        got[link] = b""
        selector.register(link, selectors.EVENT_READ)
    wanted = b"first"
    while wanted:
        missing = set(links)
        until = time.monotonic() + 60
        while missing and time.monotonic() < until:
            for key, _ in selector.select(1):
                chunk = key.fileobj.recv(65536)
                got[key.fileobj] = got[key.fileobj][-4096:] + chunk
                assert chunk, got[key.fileobj]
                if wanted in got[key.fileobj]:
                    missing.discard(key.fileobj)
        print(len(missing), flush=True)
        wanted = sys.stdin.readline().strip().encode()


class Crowd:
    def __init__(self, port, count):
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 100
        parts, first = [], 0
        while first < count:
            part = min(count - first, most, 5000)
            parts.append((first, part))
            first += part
        self.processes = [subprocess.Popen(
            [sys.executable, __file__, "--crowd", str(port), *map(str, part)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for part in parts]

    def missing(self):
        """How many streams have not got what was wanted."""
        return sum(int(p.stdout.readline()) for p in self.processes)

    def want(self, text):
        for process in self.processes:
            process.stdin.write(text + "\n")
            process.stdin.flush()

    def end(self):
        for process in self.processes:
            process.stdin.close()
            process.wait(60)
            process.stdout.close()


def figure(s, name):
    text = s.request("GET", "/metrics")[2]
    return float(re.search(rf"(?m)^{name} (\S+)$", text)[1])


def read_until(link, text):
    got = b""
    while text not in got:
        chunk = link.recv(65536)
        assert chunk, got
        got += chunk
    return got


# --- tests -------------------------------------------------------------------


@tests.test("idle streams cost little, all of them hear, and they go away")
def _():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    wanted = STREAMS // 10 if IS_SANITIZED else int(STREAMS * scale(0.1))
    count = min(wanted, STREAMS, hard - SPARE)
    assert count >= min(wanted, FEW), (
        f"'ulimit -Hn' is {hard}: at least {FEW + SPARE} are needed")
    with serve("--ping", "1000") as s:
        have_sessions(s)
        memory = s.resident_kb()
        clients = Crowd(s.port, count)
        try:
            assert clients.missing() == 0
            each = (s.resident_kb() - memory) / count
            assert figure(s, "perdure_sse_subscribers") == count
            # A request with 4 KB of headers beside them.
            started = time.monotonic()
            assert s.request("GET", "/healthz", X_A="a" * 4000)[0] == 200
            beside = time.monotonic() - started
            clients.want("second")
            started = time.monotonic()
            with concurrent.futures.ThreadPoolExecutor(SESSIONS) as pool:
                said = list(pool.map(lambda i: s.request(
                    "POST", f"{RUN}k{i}", "second"), range(SESSIONS)))
            assert all(status == 200 for status, _, _ in said), said
            assert clients.missing() == 0
            woken = time.monotonic() - started
        finally:
            clients.end()
        until = time.monotonic() + 20
        while figure(s, "perdure_sse_subscribers") > 0:
            assert time.monotonic() < until
            time.sleep(0.1)
        print(f"{count} streams with at most {hard} descriptors, "
              f"{each:.1f} kB each, a request beside them {beside * 1e3:.0f} "
              f"ms, all woken in {woken:.1f} s")
        assert IS_SANITIZED or each <= STREAM_KB, each
        assert s.descriptors()[0] < 10, s.descriptors()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@tests.test("who follows changes costs nothing until there is one")
def _():
    count = int(1000 * scale(0.1))

    def used(seconds):
        before = s.core_seconds()
        time.sleep(seconds)
        return s.core_seconds() - before

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with serve() as s, contextlib.ExitStack() as links:
        have_sessions(s)
        alone = used(5)
        streams = [links.enter_context(s.connect(30)) for _ in range(count)]
        for link in streams:
            link.sendall(b"GET /api/v1/events HTTP/1.1\r\n"
                         b"Host: localhost\r\n\r\n")
        for link in streams:
            read_until(link, b"event: list")
        more = used(5) - alone
        assert s.request("POST", f"{RUN}k7", "news")[0] == 200
        told = [read_until(link, b"@dafx-harbour@k7") for link in streams]
        assert all(b"event: session" in got for got in told)
        print(f"{count} that follow take {more / 5 * 100:.1f} % of a core")
        assert IS_SANITIZED or more < 0.05 + 0.00002 * count, more
        for link in streams[::2]:
            link.close()
        assert s.request("DELETE", "/api/agents/Harbour/sessions/k7")[0] in (
            202, 204)
        for link in streams[1::2]:
            read_until(link, b"deleted")
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@tests.test("clients beyond the descriptors wait, and runs go on")
def _():
    files = 200
    with serve("--head-time", "1", files=files, tool=True, replies=[
            {"after": "note", "text": "{result}"},
            {"calls": [{"name": "note", "arguments": {}}]}]) as s:
        links = [socket.create_connection(("127.0.0.1", s.port))
                 for _ in range(files + 50)]
        # The first of them is connected, the last one waits for its turn.
        for link in links[0], links[-1]:
            link.settimeout(30)
            link.sendall(b"POST /api/agents/Harbour/run HTTP/1.1\r\n"
                         b"Host: localhost\r\nContent-Length: 2\r\n\r\nHi")
            got = b""
            while b"noted" not in got:
                chunk = link.recv(65536)
                assert chunk, got
                got += chunk
        assert s.descriptors()[1] < files
        for link in links:
            link.close()


@tests.test("it stops in order while it has as many clients as it may")
def _():
    for i in range(max(2, int(4 * scale(0.2)))):
        with serve("--head-time", "1", files=100) as s:
            links = [socket.create_connection(("127.0.0.1", s.port))
                     for _ in range(100)]
            time.sleep(0.5 + 0.1 * i)  # some are ended in the meantime
            s.process.send_signal(signal.SIGTERM)
            for link in links:
                link.close()
            assert s.process.wait(30) == 0, s.said()


@tests.test("two hundred runs at once are answered, each with its own answer")
def _():
    count = int(200 * scale(0.2))
    with serve("--wait", "60", replies=[
            {"text": ["You ", "said: ", "{user}"], "delay_ms": 50}]) as s:
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            started = time.monotonic()
            said = list(pool.map(lambda i: s.request(
                "POST", f"{RUN}k{i}", f"this is {i}", timeout=90),
                range(count)))
        print(f"{count} runs in {time.monotonic() - started:.1f} s")
        assert [(status, text) for status, _, text in said] == [
            (200, f"You said: this is {i}") for i in range(count)]


@tests.test("a queue that is full says when to come again")
def _():
    with serve(replies=[{"text": "late", "delay_ms": 2000}]) as s:
        said = [s.request("POST", RUN + "k", f"this is {i}",
                          x_ms_wait_for_response="false") for i in range(40)]
        statuses = [status for status, _, _ in said]
        assert statuses[:32] == [202] * 32, statuses
        assert set(statuses[32:]) <= {202, 429} and statuses[-1] == 429
        assert int(said[-1][1]["retry-after"]) >= 1, said[-1]
        # Others are not concerned.
        assert s.request("POST", RUN + "other", "Hi",
                         x_ms_wait_for_response="false")[0] == 202
        assert s.request("DELETE", "/api/agents/Harbour/sessions/k")[0] in (
            202, 204)


if IS_CROWD:
    crowd(*map(int, sys.argv[2:]))
else:
    tests.finish()
