"""A server in a process of its own, for the tests that talk to one."""
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys

from harness import environment, headers_of

PERDURE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1
                          else os.environ["PERDURE_BIN"])

# The first reply that fits is given.
REPLIES = {"replies": [
    {"after": "slow", "text": "It is {result}."},
    {"user": "work", "calls": [{"name": "slow", "arguments": {}}]},
    {"user": "lines", "text": ["one\ntwo\r\nthree", "\rfour\n\nfive"]},
    {"user": "slowly", "text": ["One ", "two ", "three."], "delay_ms": 300},
    {"user": "break", "fail": "no such model"},
    {"text": "You said: {user}"}]}

# `slow` takes until a file is there, so that nothing depends on time.
AGENT = """\
kind: Prompt
name: Harbour
model: {provider: script, connection: {file: replies.json}}
tools:
- kind: command
  name: slow
  command: [sh, -c, 'echo slow >>calls; until test -e go || ! test -e calls; do
    sleep 0.02; done; echo done']
"""


class Server:
    """A process that serves in the folder of the test."""

    def __init__(self, *options, agents=("Harbour", "Poet"),
                 listen="127.0.0.1:0", stderr=None):
        with open("replies.json", "w", encoding="utf-8") as file:
            json.dump(REPLIES, file)
        with open("agent.yaml", "w", encoding="utf-8") as file:
            file.write(AGENT)
        specs = [f"--agent={name}=agent.yaml" for name in agents]
        self.log = open("log", "wb")
        self.process = subprocess.Popen(
            [PERDURE, "serve", "--store", "x.db", "--listen", listen, *specs,
             *options], env=environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=stderr or self.log)
        line = self.process.stdout.readline().decode()
        assert line.startswith("http://" + listen[:-1]), line
        self.port = int(line.rsplit(":", 1)[1])

    def request(self, method, path, body=None, **headers):
        """Status, headers in small letters, and text of the reply."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {name.replace("_", "-"): v for name, v in headers.items()}
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        link.request(method, path, body, headers)
        reply = link.getresponse()
        text = reply.read().decode()
        link.close()
        return reply.status, headers_of(reply), text

    def say(self, text, key="k", agent="Harbour", **headers):
        status, head, reply = self.request(
            "POST", f"/api/agents/{agent}/run?session_id={key}", text,
            **headers)
        assert status == 200, (status, reply)
        return reply

    def raw(self, data, wait=5):
        """What comes for these bytes until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port)) as link:
            link.settimeout(wait)
            link.sendall(data)
            got = b""
            with contextlib.suppress(TimeoutError):
                while chunk := link.recv(65536):
                    got += chunk
            return got

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        status = self.process.wait(30)
        self.process.stdout.close()
        self.log.close()
        return status

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        status = 0 if self.process.poll() is not None else self.stop()
        with open("log", encoding="utf-8") as file:
            text = file.read()
        assert kind is not None or status == 0, (status, text)
        assert "Sanitizer" not in text and "ssert" not in text, text


def events(text):
    """What a reader of server-sent events makes of a stream."""
    got, kind, number, data = [], "message", None, None
    for line in re.split(r"\r\n|\n|\r", text):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if line == "":
            if data is not None:
                got.append((kind, number, "\n".join(data)))
            kind, data = "message", None
        elif name == "data":
            data = (data or []) + [value]
        elif name == "event":
            kind = value
        elif name == "id":
            number = int(value)
    return got


def go():
    open("go", "w").close()
