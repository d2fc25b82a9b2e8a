"""Requests as nobody should send them, and clients as nobody should write them.

Usage: serve_abuse.py PERDURE

A table of malformed heads, and mutations of good requests that a seed makes.
A strict reader in here says how many requests there were; the server may not
carry out more of them. It takes some 40 seconds at scale 1, most of it slow
clients and the ends of servers that have some.
"""
import concurrent.futures
import contextlib
import json
import os
import random
import re
import signal
import socket
import struct
import sys
import threading
import time

from harness import Tests, is_sanitized
from serve_process import LAST_WORDS, Server, scale

PERDURE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1
                          else os.environ["PERDURE_BIN"])
IS_SANITIZED = is_sanitized(PERDURE)
tests = Tests("serve-abuse")

RUN = "/api/agents/Harbour/run"
STREAM = "/api/agents/Harbour/sessions/k/stream"
HOST = b"Host: localhost\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"


def serve(*options):
    with open("replies.json", "w", encoding="utf-8") as file:
        json.dump({"replies": [
            {"user": "large", "text": ["x" * 100000] * 80},
            {"user": "soon", "text": "You said: {user}", "delay_ms": 1500},
            {"user": "later", "text": "You said: {user}", "delay_ms": 7500},
            {"text": "You said: {user}"}]}, file)
    with open("agent.yaml", "w", encoding="utf-8") as file:
        file.write("kind: Prompt\nname: Harbour\nmodel: {provider: script, "
                   "connection: {file: replies.json}}\n")
    return Server(PERDURE, "--head-time", "1", "--max-body", "64K", *options)


def receive(link, wait=2.0):
    """What comes until the server closes, or says nothing for so long."""
    got = b""
    link.settimeout(wait)
    with contextlib.suppress(OSError):
        while chunk := link.recv(65536):
            got += chunk
    return got


# --- a strict reader ---------------------------------------------------------

TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
LINE = re.compile(TOKEN + rb" /[\x21-\x7e\x80-\xff]* HTTP/1\.[0-9]")
HEADER = re.compile(rb"(" + TOKEN + rb"):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})(;[^\r\n]*)?\r?\n")


def chunks_end(data, at):
    """Where a body of chunks ends; None: nowhere. A line may end in LF alone:
    nobody takes that for the end of a body or for something else."""
    while size := SIZE.match(data, at):
        at = size.end() + int(size.group(1), 16)
        if at == size.end():
            trailer = re.compile(rb"(?:[^\r\n]+\r?\n)*\r?\n").match(data, at)
            return trailer.end() if trailer else None
        end = re.compile(rb"\r?\n").match(data, at)
        if end is None:
            return None
        at = end.end()
    return None


EMPTY = re.compile(rb"(?:\r?\n)*")  # lines, before a request
# The server takes a NUL before an LF for a CR, and cannot tell (glue.c).
END = re.compile(rb"[\r\0]\n")
HEAD = re.compile(rb"((?:[^\r\n]+[\r\0]\n)+)[\r\0]\n")


def request_end(data, at):
    """Where a request ends; None: it is malformed or not whole. One with chunks
    is the last of its connection, whatever follows it, and wherever it ends."""
    head = HEAD.match(data, EMPTY.match(data, at).end())
    if head is None:
        return None
    end = head.end() - 4
    line, *rest = END.split(head[1])[:-1]
    matches = [HEADER.fullmatch(header) for header in rest]
    if not LINE.fullmatch(line) or None in matches:
        return None
    headers = [(m[1].lower(), m[2].strip()) for m in matches]
    values = {name: [v for n, v in headers if n == name]
              for name in (b"host", b"content-length", b"transfer-encoding")}
    lengths, codings = values[b"content-length"], values[b"transfer-encoding"]
    if len(values[b"host"]) != 1 or len(lengths) + len(codings) > 1:
        return None
    if codings:
        return len(data) if codings[0].lower() == b"chunked" else None
    if lengths and not re.fullmatch(rb"[0-9]{1,9}", lengths[0]):
        return None
    after = end + 4 + int(lengths[0] if lengths else 0)
    return after if after <= len(data) else None


def requests_in(data):
    count, at = 0, 0
    while (at := request_end(data, at)) is not None:
        count += 1
    return count


# --- judging -----------------------------------------------------------------

REPLY = re.compile(rb"HTTP/1\.[01] ([0-9]{3}) [^\r\n]*\r\n"
                   rb"((?:[^\r\n:]+:[^\r\n]*\r\n)*)\r\n")
KNOWN = {100, 200, 201, 202, 204, 304, 308, 400, 401, 403, 404, 405, 409, 410,
         412, 413, 414, 421, 422, 429, 431, 501, 502, 503, 505}


def replies_in(got):
    """Status and body of each reply; None at the end: not a reply."""
    replies, at = [], 0
    while at < len(got):
        head = REPLY.match(got, at)
        if head is None:
            return [*replies, None]
        status, headers = int(head[1]), head[2].lower()
        length = re.search(rb"\ncontent-length: *([0-9]+)\r", b"\n" + headers)
        at = head.end()
        if b"transfer-encoding: chunked" in headers:
            end = chunks_end(got, at)
        elif length and status != 100:
            end = at + int(length[1])
        else:
            end = at
        # The library sends the head of a refusal of its own twice.
        if status >= 400 and got.startswith(b"HTTP/1.", at):
            end = at
        replies.append((status, got[at:end]))
        if end is None:
            return replies
        at = end
    return replies


ISSUED = set()  # tokens of all connections


def judge(sent, got, token=b""):
    """What is wrong with what came for these bytes."""
    replies = replies_in(got)
    if None in replies:
        return f"not a reply: {got[-300:]}"
    strange = {status for status, _ in replies} - KNOWN
    if strange:
        return f"status {strange}"
    good = sum(200 <= status < 300 for status, _ in replies)
    if good > requests_in(sent):
        return f"{good} carried out, of {requests_in(sent)}: {sent} {got}"
    others = set(re.findall(rb"t0k[0-9a-f]{8}", got)) & ISSUED - {token}
    if others:
        return f"a token of somebody else: {others}"
    return None


@tests.test("what a bad server would do is noticed")
def _():
    good = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    bad = b"GET /healthz HTTP/1.1\r\nHost : localhost\r\n\r\n"
    ISSUED.add(b"t0k11111111")
    assert judge(HEALTH, good) is None
    assert judge(HEALTH * 2, good * 2) is None
    for sent, got in ((HEALTH, good * 2), (bad, good), (HEALTH, b"ok\n"),
                      (HEALTH, good.replace(b"200", b"299")),
                      (HEALTH[:-2], good), (HEALTH, good + b"x"),
                      (HEALTH, good.replace(b": 2", b": 11")[:-2]
                       + b"t0k11111111")):
        assert judge(sent, got) is not None, (sent, got)


# --- heads -------------------------------------------------------------------


def post(head, body=b"", version=b"HTTP/1.1"):
    return (b"POST " + RUN.encode() + b" " + version + b"\r\n" + HOST + head
            + b"\r\n\r\n" + body)


CHUNKED = b"Transfer-Encoding: chunked"


def get(head):
    return b"GET /healthz HTTP/1.1\r\n" + HOST + head + b"\r\n\r\n"


# None of these may be carried out, nor what follows it.
MALFORMED = [
    post(b"Content-Length : 5", b"hello"),
    post(b"Content-Length\t: 5", b"hello"),
    post(b"Content-Length: 5\0007", b"hello"),
    post(b"Content-Length:\r\n 5", b"hello"),
    post(b"Content-Length: 5, 5", b"hello"),
    post(b"Content-Length: 5\r\nContent-Length: 5", b"hello"),
    post(b"Content-Length: 99999999999999999999999", b"hello"),
    post(b"Content-Length: 0x5", b"hello"),
    post(b"Content-Length: -5", b"hello"),
    post(b"Transfer-Encoding : chunked\r\nContent-Length: 4",
         b"5\r\nhello\r\n0\r\n\r\n"),
    post(b"Transfer-Encoding: \x0bchunked", b"5\r\nhello\r\n0\r\n\r\n"),
    post(b"Transfer-Encoding: chunked, chunked", b"5\r\nhello\r\n0\r\n\r\n"),
    post(b"Transfer-Encoding: x\r\n chunked", b"5\r\nhello\r\n0\r\n\r\n"),
    post(CHUNKED, b"-5\r\nhello\r\n0\r\n\r\n"),
    post(CHUNKED, b"+5\r\nhello\r\n0\r\n\r\n"),
    post(CHUNKED, b"0x5\r\nhello\r\n0\r\n\r\n"),
    post(CHUNKED, b"5zz\r\nhello\r\n0\r\n\r\n"),
    post(CHUNKED, b"\r\nhello\r\n0\r\n\r\n"),
    post(CHUNKED, b"5\r\nhelloXX\r\n0\r\n\r\n"),
    post(CHUNKED, b"10000000000000005\r\nhello\r\n0\r\n\r\n"),
    get(b"X: a\r\n b"), get(b"X\0Y: a"), get(b"X: a\0b"), get(b"X: a\rY: b"),
    get(b"X: a\nY: b"), get(b": a"), get(b"X Y: a"), get(b"X(Y): a"),
    get(b"junk"), get(HOST.rstrip()), get(b"X: a\x7f"), get(b"X\xff: a"),
    b"GET /healthz HTTP/1.1\n" + HOST + b"\r\n",
    b"GET /healthz HTTP/1.1\r\n X: a\r\n" + HOST + b"\r\n",
    b"GET /healthz\0x HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET  /healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET /healthz x HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET\t/healthz\tHTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET /healthz HTTP/2.0\r\n" + HOST + b"\r\n",
    b"GET /healthz HTTP/1.1x\r\n" + HOST + b"\r\n",
    b"GET /healthz\r\n\r\n", b"GET /healthz HTTP/1.1\r\n\r\n",
    b"GET http://localhost/healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n",
    b"CONNECT localhost:1 HTTP/1.1\r\n" + HOST + b"\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
]


@tests.test("heads that others would read differently are refused")
def _():
    def ask(s, head):
        with s.connect() as link:
            link.sendall(head + HEALTH)
            return head, receive(link, 3)

    with serve() as s, concurrent.futures.ThreadPoolExecutor(16) as pool:
        for head, got in pool.map(lambda head: ask(s, head), MALFORMED):
            statuses = [r[0] for r in replies_in(got) if r is not None]
            assert not any(200 <= n < 300 for n in statuses), (head, got)
            assert b"ok" not in got, (head, got)
        # What is unusual and means one thing only.
        for head in (b"\r\n" + HEALTH, get(b"X:a"), get(b"X:\t a \t"),
                     get(b"X:"), get(b"X: \xc3\xbc"),
                     HEALTH.replace(b"1.1", b"1.0"),
                     HEALTH.replace(b"healthz", b"healthz?a=%00".rstrip(b"%0")
                                    )):
            with s.connect() as link:
                link.sendall(head + HEALTH.replace(
                    b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
                got = receive(link)
            assert got.startswith(b"HTTP/1.1 200"), (head, got)


# --- mutations ---------------------------------------------------------------


def seeds(r, token):
    """A good request that has the token."""
    said = b"hello " + token
    path = f"{RUN}?session_id=".encode() + token + b" HTTP/1.1\r\n"
    cut = r.randrange(1, len(said))
    chunked = b"".join(b"%x\r\n%s\r\n" % (len(part), part)
                       for part in (said[:cut], said[cut:])) + b"0\r\n\r\n"
    return r.choice([
        b"POST " + path + HOST + b"Content-Length: %d\r\n\r\n" % len(said)
        + said,
        b"POST " + path + HOST + CHUNKED + b"\r\n\r\n" + chunked,
        b"GET /api/agents/Harbour/sessions/" + token + b" HTTP/1.1\r\n" + HOST
        + b"Accept: */*\r\n\r\n",
        b"GET /healthz?" + token + b" HTTP/1.1\r\n" + HOST + b"\r\n",
        b"DELETE /api/agents/Harbour/sessions/" + token + b" HTTP/1.1\r\n"
        + HOST + b"\r\n"])


JUNK = [b"\0", b"\r", b"\n", b"\r\n", b" ", b"\t", b":", b"\xff\xfe", b"%00",
        b"../", b"//", b"%2e%2e%2f", b"?", b"#", b"&", b"=", b";a=b", b"0",
        b"-1", b"99999999999999999999", b"ffffffffffffffff", b"\x80",
        b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: identity\r\n", b"Connection: close\r\n",
        b"Expect: 100-continue\r\n", b"Host: evil\r\n", b"HTTP/1.0", b"A" * 900,
        b"A" * 9000, b"X: y\r\n" * 200]


def mutate(r, data):
    for _ in range(r.choice([0, 1, 1, 1, 2, 3])):
        at = r.randrange(len(data) + 1)
        end = min(len(data), at + r.choice([0, 0, 1, 1, 2, 10]))
        what = r.randrange(5)
        if what == 0:  # cut off
            data = data[:max(at, 1)]
        elif what == 1:  # a piece twice
            data = data[:end] + data[at:]
        elif what == 2 and data:  # a bit
            at = min(at, len(data) - 1)
            data = (data[:at] + bytes([data[at] ^ (1 << r.randrange(8))])
                    + data[at + 1:])
        else:
            data = data[:at] + r.choice(JUNK) + data[end:]
    return data or b"\r"


def attack(s, r, failures):
    """One connection: some requests, most of them mutated."""
    token = b"t0k%08x" % r.randrange(1 << 32)
    ISSUED.add(token)
    data = b"".join(mutate(r, seeds(r, token))
                    for _ in range(r.choice([1, 1, 2, 5])))
    # Requests that follow a good one show whether it ended where it should.
    data += seeds(r, token) if r.random() < 0.5 else b""
    got = b""
    with s.connect() as link:
        with contextlib.suppress(OSError):
            for part in pieces(r, data):
                link.sendall(part)
            link.shutdown(socket.SHUT_WR)
            if r.random() < 0.1:  # reset
                link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                struct.pack("ii", 1, 0))
                return
            got = receive(link, 3)
    wrong = judge(data, got, token)
    if wrong is not None:
        failures.append(wrong)


def pieces(r, data):
    if r.random() < 0.7:
        return [data]
    cuts = sorted(r.randrange(len(data) + 1) for _ in range(r.randrange(1, 9)))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)])]


def attack_for(s, seed, seconds):
    """Several clients at once; how many connections there were."""
    failures, counts = [], []
    until = time.monotonic() + seconds

    def work(seed):
        r, count = random.Random(seed), 0
        while time.monotonic() < until and not failures:
            attack(s, r, failures)
            count += 1
        counts.append(count)
    threads = [threading.Thread(target=work, args=(seed + i,))
               for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(counts) == len(threads), "a client ended early"
    assert not failures, failures[0]
    return sum(counts)


def sockets_left(s, limit, seconds=15):
    """How many sockets the server has, when there are no more than these or
    the time is over."""
    until = time.monotonic() + seconds
    while s.descriptors()[0] > limit and time.monotonic() < until:
        time.sleep(0.1)
    return s.descriptors()[0]


@tests.test("mutated requests are answered or refused, and nothing leaks")
def _():
    seed = int(os.environ.get("PERDURE_SEED") or "1")
    with serve() as s:
        before = s.descriptors()[0]
        attack_for(s, seed, 0.5)  # so that what grows once has grown
        files = s.descriptors()[1]
        # What is kept for reuse stops growing; what leaks does not.
        for turn in range(1, 4):
            memory = s.resident_kb()
            count = attack_for(s, 1000 * turn * seed, 3 * scale(0.3))
            grown = s.resident_kb() - memory
            if IS_SANITIZED or grown < 16384:
                break
        after = sockets_left(s, before)
        more = s.descriptors()[1] - files
        print(f"{count} connections, {before} sockets before, {after} after, "
              f"{more} descriptors and {grown} kB more, seed {seed}")
        assert s.is_alive() and s.request("GET", "/healthz")[0] == 200
        assert after <= before and more < 32, (before, after, more)
        assert IS_SANITIZED or grown < 16384, grown
        assert s.end() == 0
        assert not never_over(s), never_over(s)


def never_over(s):
    """Requests that the server took and whose end it did not hear of."""
    ended = set(map(int, re.findall(rb"request_ended request=([0-9]+)",
                                    s.said())))
    return set(range(1, max(ended) + 1)) - ended


@tests.test("the end of a request is heard, also if its query does not fit")
def _():
    def ask(s, count):
        with s.connect() as link:
            # A server that refuses it may be gone before we have finished.
            with contextlib.suppress(OSError):
                link.sendall(HEALTH.replace(b"healthz",
                                            b"healthz?" + b"a=b&" * count))
                link.shutdown(socket.SHUT_WR)
            receive(link)

    with serve() as s, concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda count: ask(s, count), range(0, 1500, 9)))
        assert s.request("GET", "/healthz")[0] == 200
        assert s.end() == 0
        assert not never_over(s), never_over(s)


@tests.test("what follows a request with chunks is not carried out")
def _():
    with serve() as s, s.connect() as link:
        link.sendall(post(CHUNKED, b"5\r\nhello\r\n0\r\n\r\n") + HEALTH)
        got = receive(link)
        assert got.count(b"HTTP/1.1 200 ") == 1, got
        assert b"\r\nConnection: close\r\n" in got, got


@tests.test("a request that comes in any two pieces is the same request")
def _():
    body = b"5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nX-T: 1\r\n\r\n"
    data = post(CHUNKED + b"\r\nConnection: close", body)
    with serve() as s:
        for cut in range(1, len(data), 3 if IS_SANITIZED else 1):
            with s.connect() as link:
                link.sendall(data[:cut])
                time.sleep(0.001)
                link.sendall(data[cut:])
                got = receive(link, 10)
            assert b"\r\n\r\nYou said: hello world" in got, (cut, got)
        # Many chunks of one byte.
        many = b"1\r\nx\r\n" * 3000 + b"0\r\n\r\n"
        with s.connect() as link:
            link.sendall(post(CHUNKED + b"\r\nConnection: close", many))
            assert b"You said: " + b"x" * 3000 in receive(link, 10)


# --- clients -----------------------------------------------------------------


@tests.test("a client that asks first is told to go on, or why not")
def _():
    head = b"Content-Length: 5\r\nExpect: 100-continue\r\nConnection: close"
    with serve() as s:
        with s.connect() as link:
            link.sendall(post(head))
            assert link.recv(100).startswith(b"HTTP/1.1 100")
            link.sendall(b"hello")
            assert b"You said: hello" in receive(link)
        with s.connect() as link:
            link.sendall(post(head).replace(b"Harbour", b"Nobody")
                         .replace(b"/run", b"/walk"))
            assert receive(link).startswith(b"HTTP/1.1 404")


@tests.test("a refusal arrives, also at clients that still send")
def _():
    body = b"x" * 60000
    with serve() as s:
        for path in ("/nothing", "/healthz", "/api/agents/Nobody/run"):
            for _ in range(10):
                with s.connect() as link:
                    link.sendall(f"POST {path} HTTP/1.1\r\n".encode() + HOST
                                 + b"Content-Length: %d\r\n\r\n" % len(body))
                    time.sleep(0.005)
                    link.sendall(body)
                    link.sendall(HEALTH.replace(
                        b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
                    statuses = [n for n, _ in replies_in(receive(link))]
                assert statuses in ([404, 200], [405, 200]), (path, statuses)


@tests.test("slow and half-closed clients are ended, or served")
def _():
    with serve() as s:
        slow = []
        started = time.monotonic()
        for data in (b"GET /healthz HTTP/1.1\r\nX-A", post(
                b"Content-Length: 50", b"hel"), post(CHUNKED, b"5\r\nhe"),
                b"", b"\r"):
            link = s.connect(30)
            link.sendall(data)
            slow.append(link)
        dripping = s.connect(30)
        with contextlib.suppress(OSError):
            for byte in post(b"Content-Length: 500", b"h" * 500):
                dripping.sendall(bytes([byte]))
                time.sleep(0.02)
                if time.monotonic() - started > 10:
                    break
        slow.append(dripping)
        for link in slow:
            assert b" 200 " not in receive(link, 10)
            link.close()
        assert time.monotonic() - started < 10
        # A client that has nothing more to say may still read.
        with s.connect() as link:
            link.sendall(post(b"Content-Length: 5", b"hello"))
            link.shutdown(socket.SHUT_WR)
            assert b"You said: hello" in receive(link, 10)


@tests.test("who does not read a reply does not keep the connection for ever")
def _():
    with serve() as s:
        before = s.descriptors()[0]
        assert s.request("POST", RUN + "?session_id=k", "large")[0] == 200
        links = []
        for path in ("/api/agents/Harbour/sessions/k", STREAM):
            link = socket.socket()
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            link.connect(("127.0.0.1", s.port))
            link.sendall(f"GET {path} HTTP/1.1\r\n".encode() + HOST + b"\r\n")
            links.append(link)
        time.sleep(1)
        assert s.descriptors()[0] == before + 2
        # Who waits for a run that takes longer than that is not meant.
        assert s.request("POST", RUN, "later")[2] == "You said: later"
        assert sockets_left(s, before, 20) == before
        assert "perdure_sse_dropped_total 1\n" in s.request(
            "GET", "/metrics")[2]
        for link in links:
            link.close()


@tests.test("resets and connects by the thousand leave nothing")
def _():
    reset = struct.pack("ii", 1, 0)
    count = int(2000 * scale(0.2))
    with serve("--ping", "100") as s:
        s.request("POST", RUN + "?session_id=k", "hello")
        before = sockets_left(s, 1)  # the one that listens
        for i in range(count):
            with s.connect() as link:
                if i % 4 == 1:  # in the middle of a stream
                    link.sendall(f"GET {STREAM} HTTP/1.1\r\n".encode() + HOST
                                 + b"\r\n")
                    if i % 8 == 1:
                        link.recv(100)
                elif i % 4 == 2:  # while its run is under way
                    link.sendall(post(b"Content-Length: 5", b"hello"))
                elif i % 4 == 3:
                    link.sendall(HEALTH[:i % 30])
                if i % 2:
                    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        assert s.request("GET", "/healthz")[0] == 200
        assert sockets_left(s, before) <= before
        assert "perdure_sse_subscribers 0\n" in s.request("GET", "/metrics")[2]


@tests.test("who leaves a stream is noticed, whatever its form")
def _():
    def subscribers(s):
        return int(re.search(r"perdure_sse_subscribers (\d+)\n",
                             s.request("GET", "/metrics")[2])[1])

    def follow(s, form):
        link = s.connect(30)
        link.sendall(f"GET {STREAM}?cursor=0 HTTP/1.1\r\nAccept: {form}\r\n"
                     .encode() + HOST + b"\r\n")
        got = b""
        while b"hello" not in got:
            got += link.recv(4096)
        return link

    forms = ("text/event-stream", "application/x-ndjson", "text/plain")
    with serve("--ping", "100") as s:
        before = s.descriptors()[0]
        s.request("POST", RUN + "?session_id=k", "hello")
        for form in forms:
            stays, *leave = [follow(s, form) for _ in range(20)]
            assert subscribers(s) == 20, form
            for i, link in enumerate(leave):
                if i % 2:  # a reset
                    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                    struct.pack("ii", 1, 0))
                link.close()
            assert sockets_left(s, before + 1) == before + 1, form
            assert subscribers(s) == 1, form
            # Who has not left hears what comes.
            s.request("POST", RUN + "?session_id=k", "still here")
            got = b""
            while b"still here" not in got:
                got += stays.recv(4096)
            stays.close()
            assert sockets_left(s, before) == before, form
        # A text cannot tell a client that only reads from one that is gone.
        with follow(s, "text/plain") as link:
            link.shutdown(socket.SHUT_WR)
            receive(link, 30)
            assert sockets_left(s, before) == before


@tests.test("it stops in order, and keeps nothing, wherever connections are")
def _():
    stages = [
        b"", b"G", HEALTH[:-2], HEALTH, HEALTH * 3 + HEALTH[:20],
        b"GET /healthz?" + b"a=b&" * 2000,  # does not fit
        b"GET /healthz?" + b"a" * 5000 + b" HTTP/1.1\r\n",
        post(b"Content-Length: 500", b"h"),
        post(CHUNKED, b"5\r\nhel"),
        post(b"Content-Length: 4", b"soon"),  # its run is under way
        post(b"Content-Length: 5\r\nExpect: 100-continue"),
        *(f"GET {STREAM}?cursor=0 HTTP/1.1\r\nAccept: {form}\r\n".encode()
          + HOST + b"\r\n" for form in ("text/event-stream", "text/plain")),
        b"GET /api/v1/events HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET /api/v1/export HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET /api/agents/Harbour/sessions/k HTTP/1.1\r\n" + HOST + b"\r\n"]
    for grace in ("0", "20"):  # the run is handed back, or ends
        with serve("--grace", grace) as s, contextlib.ExitStack() as links:
            assert s.request("POST", RUN + "?session_id=k", "large")[0] == 200
            for stage in stages * 3:
                link = links.enter_context(
                    contextlib.closing(socket.socket()))
                link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                link.connect(("127.0.0.1", s.port))
                link.sendall(stage)
            s.process.send_signal(signal.SIGTERM)
            status = s.process.wait(60)
            s.process.returncode = 0  # 6: a run was handed back
            assert status == 0 or (grace == "0" and status == 6), s.said()
            assert not any(w in s.said() for w in LAST_WORDS), s.said()[-3000:]


@tests.test("it stops in order while clients keep talking")
def _():
    for _ in range(max(1, int(3 * scale(0.4)))):
        with serve("--grace", "1", "--ping", "50") as s:
            wrong, ended = [], threading.Event()

            def talk(s=s, wrong=wrong, ended=ended):
                """Requests one after the other on one connection."""
                while not ended.is_set():
                    with contextlib.suppress(OSError), s.connect() as link:
                        while not ended.is_set():
                            link.sendall(post(b"Content-Length: 5", b"hello"))
                            got = link.recv(65536)
                            if not got:
                                break
                            if not re.match(rb"HTTP/1.1 (200|503) ", got):
                                wrong.append(got)
            threads = [threading.Thread(target=talk) for _ in range(8)]
            for thread in threads:
                thread.start()
            time.sleep(0.3)
            s.process.send_signal(signal.SIGTERM)
            try:
                assert s.process.wait(30) == 0, s.said()[-3000:]
            finally:
                ended.set()
                for thread in threads:
                    thread.join()
            assert not wrong, wrong[0]


tests.finish()
