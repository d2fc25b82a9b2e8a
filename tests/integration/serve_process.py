"""A process that serves durable agents, for tests that are rough with it."""
import contextlib
import http.client
import os
import resource
import signal
import socket
import subprocess

from harness import environment, headers_of

# What a sanitizer, an assertion or the library below says before it ends.
LAST_WORDS = (b"Sanitizer", b"runtime error", b"ssertion", b"Fatal error")


def scale(least=0.0):
    """How much there is to do: 1 in `make test`, see tests/support/test.h."""
    return max(least, float(os.environ.get("PERDURE_SCALE") or "1"))


class Server:
    """`perdure serve` on the store x.db of the current folder."""

    def __init__(self, perdure, *options, name="server", files=None):
        def limit():
            if files is not None:
                resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        self.log = f"{name}.log"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [perdure, "serve", "--store", "x.db", "--listen",
                 "127.0.0.1:0", "--agent", "Harbour=agent.yaml", *options],
                env=environment(), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log, preexec_fn=limit)
        line = self.process.stdout.readline().decode()
        assert line.startswith("http://127.0.0.1:"), (line, self.said())
        self.port = int(line.rsplit(":", 1)[1])
        self.pid = self.process.pid

    def request(self, method, path, body=None, timeout=30, **headers):
        """Status, headers in small letters, and text of the reply."""
        link = http.client.HTTPConnection("127.0.0.1", self.port,
                                          timeout=timeout)
        headers = {name.replace("_", "-"): v for name, v in headers.items()}
        with contextlib.closing(link):
            link.request(method, path, body, headers)
            reply = link.getresponse()
            text = reply.read().decode()
        return reply.status, headers_of(reply), text

    def connect(self, timeout=10):
        link = socket.create_connection(("127.0.0.1", self.port), timeout)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return link

    def is_alive(self):
        return self.process.poll() is None

    def descriptors(self):
        """How many sockets, and how many of all kinds. A store opens files as
        it needs them, and keeps them."""
        sockets, count, folder = 0, 0, f"/proc/{self.pid}/fd"
        for name in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):
                count += 1
                sockets += os.readlink(f"{folder}/{name}").startswith("socket")
        return sockets, count

    def resident_kb(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1])
        raise AssertionError("the process has no memory")

    def core_seconds(self):
        """What all its threads have used so far."""
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def said(self):
        with open(self.log, "rb") as file:
            return file.read()

    def end(self, number=signal.SIGTERM):
        """Its status; it may have said no last words."""
        self.process.send_signal(number)
        status = self.process.wait(60)
        self.process.stdout.close()
        text = self.said()
        assert not any(word in text for word in LAST_WORDS), text[-8000:]
        return status

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.is_alive():
            status = self.end()
            assert kind is not None or status == 0, status
        else:
            self.process.stdout.close()
            assert kind is not None or self.process.returncode == 0, (
                self.process.returncode, self.said()[-8000:])
