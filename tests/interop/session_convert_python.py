"""Sessions that we convert for Python, in the real releases: 1.23 loads what is
written for it, 1.21 and 1.17 load what is written for releases before 1.22, and
all of them see the same conversation. Usage: TEST SESSION-CONVERT-TOOL

Older releases are started apart, with the packages of this environment behind
them. What a release cannot load even as its own edition wrote it, is listed
below, with the reason.
"""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import record  # noqa: E402

tests = record.Tests("interop-session-convert")
DATA = ROOT / "tests/data"
BUILD = pathlib.Path(sys.prefix).parent
LINES = {"text": True, "encoding": "utf-8",
         "stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
tool = subprocess.Popen([sys.argv[1]], **LINES)

# Runs inside a release: for each session, what it holds after loading and what
# it writes; or why it does not load.
READER = """
import importlib.metadata, json, sys, warnings
warnings.simplefilter("ignore")
from agent_framework import AgentSession, Message
print(importlib.metadata.version("agent-framework-core"), flush=True)
for line in sys.stdin:
    answer = {}
    try:
        session = AgentSession.from_dict(json.loads(line))
        answer["value"] = session.to_dict()
        slot = session.state.get("in_memory")
        messages = slot.get("messages") if isinstance(slot, dict) else None
        answer["messages"] = [isinstance(message, Message)
                              for message in messages or []]
        answer["texts"] = [[content.text for content in message.contents
                            if content.type == "text"]
                           for message in messages or []
                           if isinstance(message, Message)]
    except Exception as error:
        answer["error"] = f"{error} {error.__cause__}"
    print(json.dumps(answer), flush=True)
"""

# file: (releases, part of what they say). Each is what the edition itself wrote
# or read; the conversion keeps it as it is.
UNREADABLE = {
    # A message that lost its null role: the writer of 1.23 made it so.
    "roundtrip-hollow-messages.out.json": (
        ("1.23.0", "1.21.0", "1.17.0"), "'role'"),
    # Contents of computer use came with 1.20.
    "session-all-contents.json": (("1.17.0",), "'actions'"),
}


class Release:
    """A reader of one release of the core, in a process of its own."""

    def __init__(self, version):
        self.version = version
        env = dict(os.environ)
        if version != "1.23.0":
            folder = BUILD / f"venv-{version.rsplit('.', 1)[0]}"
            found = list(folder.glob("lib/python*/site-packages"))
            assert found, f"there is no {folder}: `make interop` installs it"
            env["PYTHONPATH"] = str(found[0])
        self.process = subprocess.Popen([sys.executable, "-c", READER],
                                        env=env, **LINES)
        has = self.process.stdout.readline().strip()
        assert has == version, f"wanted core {version}, found {has or 'none'}"

    def load(self, session):
        self.process.stdin.write(json.dumps(session) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


_releases = {}


def release(version):
    if version not in _releases:
        _releases[version] = Release(version)
    return _releases[version]


def convert(target, session):
    tool.stdin.write(json.dumps({"to": target, "value": session}) + "\n")
    tool.stdin.flush()
    return json.loads(tool.stdout.readline())


def sessions(edition):
    """Each session of tests/data, with the name of its file."""
    for path in sorted((DATA / edition / "sessions").glob("*.json")):
        value = json.loads(path.read_bytes())
        if path.name == "dictionary-typed.json":
            value = list(value.values())
        for session in value if isinstance(value, list) else [value]:
            if "session_id" in session or "stateBag" in session:
                yield path.name, session


def texts(messages):
    """What the messages of a document say."""
    return [[content["text"] for content in message["contents"]
             if content and content.get("type") == "text"]
            for message in messages if message]


def check(version, target, edition):
    """How many sessions were loaded."""
    reader, count = release(version), 0
    for name, session in sessions(edition):
        converted = convert(target, session)
        assert "value" in converted, (name, converted)
        made = converted["value"]
        answer = reader.load(made)
        versions, said = UNREADABLE.get(name, ((), ""))
        if version in versions and edition == "python":
            assert said in answer.get("error", ""), (name, answer)
            continue
        assert "error" not in answer, (version, name, answer, made)
        assert all(answer["messages"]), (version, name, answer)
        slot = made["state"].get("in_memory")
        messages = slot.get("messages") if isinstance(slot, dict) else []
        assert len(answer["messages"]) == len(
            [message for message in messages or [] if message]), name
        assert answer["value"]["session_id"] == made["session_id"], name
        assert list(answer["value"]["state"]) == list(made["state"]), name
        if edition == "dotnet":  # so the messages are ours
            assert answer["texts"] == texts(messages or []), (name, answer)
        count += 1
    return count


@tests.test("1.23: loads every .NET session that we convert")
def _():
    assert check("1.23.0", "python", "dotnet") >= 35


@tests.test("1.21: loads every session that we convert for it",
            covers=["S-144"])
def _():
    assert check("1.21.0", "python-1.21", "dotnet") >= 35
    assert check("1.21.0", "python-1.21", "python") >= 40


@tests.test("1.17: loads every session that we convert for it",
            covers=["S-144"])
def _():
    assert check("1.17.0", "python-1.21", "dotnet") >= 35
    assert check("1.17.0", "python-1.21", "python") >= 40


@tests.test("1.17 and 1.21: do not load function calls written for 1.23")
def _():
    """Else there would be no need for the older shape."""
    for version in ("1.21.0", "1.17.0"):
        refused = 0
        for _, session in sessions("dotnet"):
            made = convert("python", session)["value"]
            answer = release(version).load(made)
            refused += "hosted" in answer.get("error", "")
        assert refused >= 5, (version, refused)


@tests.test("1.23: what it writes of a .NET session comes back to .NET")
def _():
    """It drops the member perdure, and so what only .NET knows of the root; the
    history is all there."""
    for name, session in sessions("dotnet"):
        made = convert("python", session)["value"]
        saved = release("1.23.0").load(made)["value"]
        back = convert("dotnet", saved)["value"]
        key = "InMemoryChatHistoryProvider"
        assert back["stateBag"].get(key) == session["stateBag"].get(key), (
            name, made, saved, back)


@tests.test("computer contents: are told of before 1.20 refuses them")
def _():
    for name, session in sessions("python"):
        findings = convert("python-1.21", session)["findings"]
        told = any(line.startswith("warning computer-content ")
                   for line in findings)
        refused = "'actions'" in release("1.17.0").load(
            convert("python-1.21", session)["value"]).get("error", "")
        assert told == refused, (name, findings)


tests.finish()
for reader in _releases.values():
    reader.process.stdin.close()
    reader.process.wait()
tool.stdin.close()
tool.wait()
