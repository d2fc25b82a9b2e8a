"""Documents that were repaired for Python, in the hands of the real library.

It loads them, makes model input of every message, and writes them again; what
the repair wrapped is still there afterwards. Usage: TEST REPAIR-TOOL
"""
import json
import logging
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import record  # noqa: E402
from agent_framework_durabletask._durable_agent_state import (  # noqa: E402
    DurableAgentState)

logging.disable(logging.CRITICAL)
tests = record.Tests("interop-repair")
TOOL = sys.argv[1]
DATA = ROOT / "tests/data"


def documents():
    texts = [path.read_text(encoding="utf-8") for folder in ("dotnet", "python")
             for path in sorted((DATA / folder / "durable").glob("[012]*.json"))]
    lines = (DATA / "dotnet/durable/90-verdicts.jsonl").read_text(
        encoding="utf-8").splitlines()
    return texts + [json.loads(line)["doc"] for line in lines]


def repaired(texts):
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    result = subprocess.run([TOOL], input=lines.encode(), check=True,
                            stdout=subprocess.PIPE)
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(answers) == len(texts)
    return answers


def with_contents(*contents):
    return json.dumps({"schemaVersion": "1.1.0", "data": {
        "conversationHistory": [{
            "$type": "request", "correlationId": "c",
            "createdAt": "2026-02-03T08:15:00Z",
            "messages": [{"role": "user", "contents": list(contents)}]}]}})


def turn(text):
    """Load, convert, write: the document after, as a tree."""
    state = DurableAgentState.from_json(text)
    for entry in state.data.conversation_history:
        for message in entry.messages:
            message.to_chat_message()
    return json.loads(json.dumps(state.to_dict()))


def contents(document):
    for entry in document["data"]["conversationHistory"]:
        for message in entry["messages"]:
            yield from message["contents"]


@tests.test("repaired documents: load and convert in the real library")
def _():
    count = 0
    for before, after in zip(texts := documents(), repaired(texts)):
        if after is None:
            continue
        try:
            turn(after)
        except Exception as problem:
            raise AssertionError(f"{problem!r}: {before[:1000]}") from problem
        count += 1
    assert count > 200, count


@tests.test("unknown contents: are poison without a repair, and kept with it")
def _():
    for item in ({"$type": "hologram", "frames": 12}, {"frames": 12}, {},
                 {"$type": "x", "content": {"a": 1}, "b": 2}, 7, "text"):
        text = with_contents(item)
        [after] = repaired([text])
        kept = next(contents(turn(after)))
        assert kept == next(contents(json.loads(after))), (item, kept)
        assert json.dumps(item) in json.dumps(kept), (item, kept)
        try:
            lost = list(contents(turn(text)))
        except Exception:
            continue
        assert json.dumps(item) not in json.dumps(lost), (item, lost)


@tests.test("results that no call waits for: are no contents any more")
def _():
    text = with_contents({"$type": "functionResult", "callId": "1",
                          "result": "r"}, {"$type": "text", "text": "t"})
    [after] = repaired([text])
    kinds = [content["$type"] for content in contents(turn(after))]
    assert kinds == ["text", "error"], kinds


tests.finish()
