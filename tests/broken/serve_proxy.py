"""A server with a mistake: `perdure serve` behind a proxy that changes what is
asked or told.

Usage: serve_proxy.py MISTAKE PERDURE serve ARGUMENT...

Started as the command, it serves as the command does. Other commands of it are
carried out as they are.
"""
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading

MISTAKE, COMMAND = sys.argv[1], sys.argv[2:]
LIMIT = 1 << 20


def without(name, head):
    return re.sub(rb"(?im)^" + name + rb":[^\r\n]*\r\n", b"", head)


first_key = []


def asked(head):
    """The head of a request, as the server gets it."""
    key = re.search(rb"(?im)^authorization:[^\r\n]*\r\n", head)
    if key and not first_key:
        first_key.append(key.group())
    if MISTAKE == "trusts-late-writers":
        return without(b"if-match", without(b"if-none-match", head))
    if MISTAKE == "takes-two-lengths":
        return re.sub(rb"(?im)(^content-length:[^\r\n]*\r\n)(?=\1)", b"", head)
    if MISTAKE == "forgets-keys-of-runs":
        return without(b"idempotency-key", head)
    if MISTAKE == "forgets-where-a-reader-was":
        return without(b"last-event-id", head)
    if MISTAKE == "crosses-tenants" and key and b"/bag/" in head.split(
            b"\r\n")[0] and head.startswith(b"GET"):
        return head.replace(key.group(), first_key[0])
    if MISTAKE == "asks-for-no-scope" and key and head.startswith(b"DELETE"):
        return head.replace(key.group(), first_key[0])
    return head


class Frames:
    """Server-sent events on their way; some are lost, some come twice."""

    def __init__(self):
        self.rest = b""

    def told(self, data):
        if MISTAKE not in ("loses-events", "doubles-events"):
            return data
        self.rest += data
        out = b""
        while b"\n\n" in self.rest:
            frame, _, self.rest = self.rest.partition(b"\n\n")
            number = re.search(rb"(?m)^id: (\d+)$", frame)
            times = 1
            if number and int(number.group(1)) % 7 == 0:
                times = 0 if MISTAKE == "loses-events" else 2
            out += (frame + b"\n\n") * times
        return out


def read_head(link):
    head = b""
    while b"\r\n\r\n" not in head and len(head) < LIMIT:
        data = link.recv(65536)
        if not data:
            return None, b""
        head += data
    head, _, rest = head.partition(b"\r\n\r\n")
    return head + b"\r\n", rest


def dechunked(data):
    """Whole chunks of it, and what is left."""
    out = b""
    while b"\r\n" in data:
        size, _, after = data.partition(b"\r\n")
        count = int(size, 16)
        if len(after) < count + 2:
            break
        out += after[:count]
        data = after[count + 2:]
    return out, data


def relay(client, port):
    with contextlib.closing(client), contextlib.suppress(OSError):
        head, body = read_head(client)
        if head is None:
            return
        length = re.search(rb"(?im)^content-length: *(\d+)", head)
        while length and len(body) < int(length.group(1)):
            data = client.recv(65536)
            if not data:
                break
            body += data
        server = socket.create_connection(("127.0.0.1", port))
        with contextlib.closing(server):
            server.sendall(without(b"connection", asked(head))
                           + b"Connection: close\r\n\r\n" + body)
            reply(client, server)


def reply(client, server):
    """Up to the end, which is the end of the connection."""
    head, rest = read_head(server)
    if head is None:
        return
    # The proxy has a port of its own, and its own way of saying where it ends.
    chunked = re.search(rb"(?im)^transfer-encoding: *chunked", head)
    head = without(b"transfer-encoding", without(b"connection", head))
    frames = Frames()
    client.sendall(head + b"Connection: close\r\n\r\n")
    while True:
        out = rest
        if chunked:
            out, rest = dechunked(rest)
        else:
            rest = b""
        if MISTAKE == "crosses-answers":
            out = out.replace(b"this is 1", b"this is 2")
        streams = b"event-stream" in head
        client.sendall(frames.told(out) if streams else out)
        data = server.recv(65536)
        if not data and MISTAKE == "answers-what-follows":
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n")
        if not data:
            return
        rest += data


def main():
    if COMMAND[1] != "serve":
        os.execv(COMMAND[0], COMMAND)
    process = subprocess.Popen(COMMAND, stdout=subprocess.PIPE)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda n, _: process.send_signal(n))
    line = process.stdout.readline().decode()
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)

    def accept():
        while True:
            client, _ = listener.accept()
            threading.Thread(target=relay, daemon=True, args=(
                client, int(line.rsplit(":", 1)[1]))).start()
    threading.Thread(target=accept, daemon=True).start()
    status = process.wait()
    sys.stdout.flush()
    os._exit(status)


main()
