#!/usr/bin/env python3
"""Build the documents that the benchmarks read, and check that they are right.

    golden.py [OUT]        default: build/bench in this tree

Four files, each compared with the size and SHA-256 below. A document that
differs is not written, and the script fails: figures from another document
could not be compared with anything.

session.json, session-older.json
    The golden session: 2,000 messages, 500 objects of one class, 50 of another,
    as the Python edition writes it, compact and in raw UTF-8. The newer shape
    (core 1.22 and later) has "hosted":false in the 100 function calls, the
    older one (1.13 to 1.21) has not. Size and digest are those that the real
    packages gave.

tools.json
    A durable agent state of many tool calls. The four entries (two turns) of
    tests/data/python/durable/24-stock-agent-tool-loop.1.0.0b260922.json are
    repeated as a group, as often as the document stays within 1,600,000 bytes.
    What surrounds them (schemaVersion, data) stands once, and the text is that
    of json.dumps with its defaults, as in the original: a space behind each
    colon and comma, all but ASCII escaped. In group k, counted from 1, the ids
    are numbered and nothing else is changed:
        correlationId    c1 becomes c{2k-1}, c2 becomes c{2k}
        callId           call_b1, call_c1, call_d1 become call_b{k}, call_c{k},
                         call_d{k}, in calls and in their results
        orchestrationId  o-1 becomes o-{k}
    So group 1 is the original, and no two turns or calls share an id.

tools-short.json
    The same with as many groups as fit into 200,000 bytes, for baselines that
    take a hundred times as long.
"""

import hashlib
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TURNS = (ROOT / "tests/data/python/durable" /
         "24-stock-agent-tool-loop.1.0.0b260922.json")

MESSAGES = 2000
OBJECTS = 500
TEXT_BUDGET = 512
TOOLS_MAX_BYTES = 1_600_000
SHORT_MAX_BYTES = 200_000

GOLDEN = {
    "session.json": (
        1646296,
        "62ac3b0eb8a7dfce81b555bc955d8468fee471b742a4dc825838bd9d9bed224a"),
    "session-older.json": (
        1644796,
        "1c4fc8b165d563f1b6dc178b5b0ebd5b7910ed5655adc4a0df2daea71af2a00a"),
    "tools.json": (
        1599271,
        "63bb1bd7fc3eb117876ba89df7827e6ab89bd6fb9a1f7e2b1261563dc870d79b"),
    "tools-short.json": (
        198463,
        "5189876a797ff1c2e82626f0d54c3feef086969b961c27a9db40d5eae3de3e5f"),
}


def contents(i, newer):
    """The one to two items of message i."""
    text = (f"Message {i}: benchmark conversation text with Unicode café 東京. "
            "Payload=" + "x" * max(0, TEXT_BUDGET - 80))
    yield {"type": "text", "text": text, "additional_properties": {}}
    if i % 20 == 5:
        call = {"type": "function_call", "call_id": f"call_{i}",
                "name": "lookup",
                "arguments": {"query": f"item-{i}", "limit": 5}}
        if newer:
            call["hosted"] = False
        yield call | {"additional_properties": {}}
    if i % 20 == 6:
        found = json.dumps({"items": [f"result-{i}-{n}" for n in range(5)]})
        item = {"type": "text", "text": found, "additional_properties": {}}
        yield {"type": "function_result", "call_id": f"call_{i - 1}",
               "result": found, "items": [item], "additional_properties": {}}


def message(i, newer):
    return {
        "role": "assistant" if i % 2 else "user",
        "contents": list(contents(i, newer)),
        "author_name": f"participant-{i % 7}",
        "additional_properties": {
            "sequence": i,
            "trace": {"span": f"span-{i}", "sampled": i % 3 == 0}},
        "type": "message"}


def plain(i):
    return {"value": i, "text": f"plain-state-{i}",
            "tags": [f"tag-{n}" for n in range(5)]}


def class_object(i):
    return {
        "item_id": i, "label": f"class-state-{i}",
        "scores": [i / 10, i / 20, i / 30],
        "attributes": {"category": f"category-{i % 11}",
                       "partition": f"partition-{i % 17}"},
        "type": "benchmark_class_state"}


def profile(i):
    return {
        "user_id": f"user-{i}",
        "preferences": {"language": "en",
                        "theme": "dark" if i % 2 else "light",
                        "timezone": f"UTC+{i % 12}"},
        "counters": [i, 2 * i, 3 * i],
        "type": "benchmark_profile_state"}


def session(newer):
    state = {
        "in_memory": {"messages": [message(i, newer) for i in range(MESSAGES)]},
        "plain": {
            "flags": [True, False, None],
            "numbers": list(range(OBJECTS)),
            "nested": {f"key_{i}": plain(i) for i in range(OBJECTS)}},
        "classes": [class_object(i) for i in range(OBJECTS)],
        "profiles": [profile(i) for i in range(max(1, OBJECTS // 10))]}
    tree = {
        "type": "session", "session_id": "serialization-benchmark",
        "service_session_id": {"conversation_id": "benchmark-conversation",
                               "response_id": "benchmark-response"},
        "state": state}
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


def number_ids(node, k):
    """A copy of `node` with the ids of group k; see the top."""
    names = {"c1": f"c{2 * k - 1}", "c2": f"c{2 * k}", "o-1": f"o-{k}",
             "call_b1": f"call_b{k}", "call_c1": f"call_c{k}",
             "call_d1": f"call_d{k}"}
    ids = ("correlationId", "callId", "orchestrationId")
    if isinstance(node, list):
        return [number_ids(child, k) for child in node]
    if isinstance(node, dict):
        return {name: names[child] if name in ids else number_ids(child, k)
                for name, child in node.items()}
    return node


def tools(most):
    original = TURNS.read_text(encoding="utf-8")
    tree = json.loads(original)
    turns = tree["data"]["conversationHistory"]
    if json.dumps(tree) != original:
        raise SystemExit(f"{TURNS.name} is not in the form of json.dumps")
    head, tail = original.split(json.dumps(turns)[1:-1])
    groups, size, k = [], len(head) + len(tail), 1
    while True:
        group = json.dumps(number_ids(turns, k))[1:-1]
        size += len(group) + (len(", ") if groups else 0)
        if size > most:
            return head + ", ".join(groups) + tail
        groups.append(group)
        k += 1


def check(name, data):
    size, digest = GOLDEN[name]
    found = hashlib.sha256(data).hexdigest()
    if (len(data), found) != (size, digest):
        raise SystemExit(f"{name}: {len(data)} bytes, SHA-256 {found}; "
                         f"wanted {size} bytes, {digest}")


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                       ROOT / "build/bench")
    out.mkdir(parents=True, exist_ok=True)
    texts = {"session.json": session(True),
             "session-older.json": session(False),
             "tools.json": tools(TOOLS_MAX_BYTES),
             "tools-short.json": tools(SHORT_MAX_BYTES)}
    for name, text in texts.items():
        data = text.encode()
        check(name, data)
        (out / name).write_bytes(data)
        print(f"{name}: {len(data)} bytes, as it should be")


if __name__ == "__main__":
    main()
