"""Contents and messages to and from agent-framework-core: what we convert for
Python is taken by its own reader, means the same there, and what its writer
makes of it comes back to us. Usage: TEST CONTENT_TOOL"""
import json
import pathlib
import random
import subprocess
import sys
import warnings

from agent_framework import Content, Message

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import record  # noqa: E402

warnings.simplefilter("ignore")  # of labels in documents before 1.22
tests = record.Tests("interop-content")
DATA = ROOT / "tests/data"
SHAPES = ("state", "dotnet", "python")
tool = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE, text=True, encoding="utf-8")


def ask(what, source, target, value):
    job = {"what": what, "from": source, "to": target, "value": value}
    tool.stdin.write(json.dumps(job) + "\n")
    tool.stdin.flush()
    answer = json.loads(tool.stdout.readline())
    assert "value" in answer, (answer, job)
    return answer["value"]


def find_messages(value):
    if isinstance(value, dict):
        if isinstance(value.get("contents"), list) and "role" in value:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for child in value:
            yield from find_messages(child)


def corpus(shape):
    folders = {"state": ["dotnet/durable", "python/durable"],
               "dotnet": ["dotnet/sessions", "dotnet/chat"],
               "python": ["python/sessions"]}[shape]
    for folder in folders:
        for path in sorted((DATA / folder).rglob("*.json")):
            for message in find_messages(json.loads(path.read_bytes())):
                yield path.relative_to(DATA).as_posix(), message


def sound(message):
    """Without what the library drops when it reads: contents that are null."""
    return all(content is not None for content in message["contents"])


def meaning(value, top=True):
    """What is left of a content or message if its reader may leave out nulls,
    and say of a call of an older release that nobody else runs it."""
    if isinstance(value, list):
        return [meaning(item, top) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for name, item in value.items():
        if item is None and top:
            continue
        nested = name in ("contents", "items", "inputs", "outputs", "output",
                          "function_call", "screenshot")
        kept[name] = meaning(item, top and nested) if nested else item
    if top and kept.get("type") == "function_call":
        kept.setdefault("hosted", False)
    return kept


for _shape in ("state", "dotnet"):
    @tests.test(f"messages: from {_shape} are taken, and mean the same")
    def _(shape=_shape):
        count = 0
        for name, message in corpus(shape):
            ours = ask("message", shape, "python", message)
            theirs = Message.from_dict(json.loads(json.dumps(ours))).to_dict()
            if not sound(message):
                continue
            assert meaning(ours) == meaning(theirs), (name, ours, theirs)
            if ours != theirs:
                continue  # an older item of its own, which it brought up to date
            back = ask("message", "python", shape, theirs)
            assert back == message, (name, message, ours, theirs, back)
            count += 1
        assert count > 60, count


@tests.test("messages: of its own come back to it from every shape")
def _():
    count = 0
    for name, message in corpus("python"):
        if message.get("type", "message") != "message" or not sound(message):
            continue
        try:
            before = Message.from_dict(message).to_dict()
        except (TypeError, ValueError):
            continue
        for shape in ("state", "dotnet"):
            there = ask("message", "python", shape, before)
            back = ask("message", shape, "python", there)
            after = Message.from_dict(back).to_dict()
            assert before == after, (name, shape, before, there, after)
            count += 1
    assert count > 100, count


# One of each kind that a state document has, and what the library says of it.
KINDS = [
    ({"$type": "text", "text": "a"}, {"type": "text", "text": "a"}),
    ({"$type": "reasoning", "text": "a", "protectedData": "p"},
     {"type": "text_reasoning", "text": "a", "protected_data": "p"}),
    ({"$type": "data", "uri": "data:a/b;base64,AA=="},
     {"type": "data", "uri": "data:a/b;base64,AA==", "media_type": "a/b"}),
    ({"$type": "uri", "uri": "https://a.example/", "mediaType": "a/b"},
     {"type": "uri", "uri": "https://a.example/", "media_type": "a/b"}),
    ({"$type": "error", "message": "m", "errorCode": "c", "details": "d"},
     {"type": "error", "message": "m", "error_code": "c",
      "error_details": "d"}),
    ({"$type": "functionCall", "arguments": {}, "callId": "c", "name": "f",
      "argumentsText": "no"},
     {"type": "function_call", "call_id": "c", "name": "f", "arguments": "no",
      "hosted": False}),
    ({"$type": "functionResult", "callId": "c", "result": {"a": 1}},
     {"type": "function_result", "call_id": "c", "result": '{"a":1}'}),
    ({"$type": "hostedFile", "fileId": "f"},
     {"type": "hosted_file", "file_id": "f"}),
    ({"$type": "hostedVectorStore", "vectorStoreId": "v"},
     {"type": "hosted_vector_store", "vector_store_id": "v"}),
    ({"$type": "usage", "usage": {"inputTokenCount": 1}},
     {"type": "usage", "usage_details": {"input_token_count": 1}}),
    ({"$type": "unknown", "content": {"$type": "hologram"}},
     {"type": "unknown"}),
    ({"$type": "unknown", "content": {
        "$type": "mcpServerToolCall", "name": "n", "callId": "c"}},
     {"type": "mcp_server_tool_call", "call_id": "c", "tool_name": "n"}),
    ({"$type": "hologram", "x": 1}, {"type": "unknown"}),
]


@tests.test("contents: of all kinds are what the library makes of them")
def _():
    for content, want in KINDS:
        ours = ask("content", "state", "python", content)
        theirs = Content.from_dict(ours).to_dict()
        for name, value in want.items():
            assert theirs.get(name) == value, (content, name, theirs)
        back = ask("content", "python", "state", theirs)
        assert back == content, (content, theirs, back)


@tests.test("result: is what the library makes of the same text itself")
def _():
    for result in ("text", "", {"a": [1, None]}):
        ours = ask("content", "state", "python", {
            "$type": "functionResult", "callId": "c", "result": result})
        ours["additional_properties"].pop("perdure", None)
        made = Content.from_function_result("c", result=ours["result"])
        assert ours == made.to_dict(), (ours, made.to_dict())


ODD = [None, 5, "x", [], {}, True, "", {"a": 1}, [{"$type": "text"}], "data:,x",
       {"server_label": 5}, {"perdure": {"state": {"members": {"z": 1}}}}]


@tests.test("contents: with anything in them are taken by its reader")
def _():
    rng = random.Random(5)
    contents = [(shape, content) for shape in ("state", "dotnet")
                for _, message in corpus(shape)
                for content in message["contents"] if content]
    for _ in range(3000):
        shape, content = rng.choice(contents)
        content = dict(content)
        for _ in range(rng.randint(1, 3)):
            name = rng.choice([*content, "z", "additionalProperties"])
            content[name] = rng.choice(ODD)
        ours = ask("content", shape, "python", content)
        theirs = Content.from_dict(json.loads(json.dumps(ours))).to_dict()
        back = ask("content", "python", shape, theirs)
        assert back == content, (shape, content, ours, theirs, back)


tests.finish()
tool.stdin.close()
tool.wait()
