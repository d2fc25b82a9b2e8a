"""Prints the conversation in a state document: docs/formats/state.md, no more."""
import json
import sys


def show(content):
    kind = content.get("$type")
    if kind == "functionCall":
        return f"calls {content.get('name')}({json.dumps(content.get('arguments') or {})})"
    if kind == "functionResult":
        return f"gets {json.dumps(content.get('result'))}"
    if kind == "error":
        return f"fails: {content.get('message')}"
    return content.get("text") or "" if kind in ("text", "reasoning") else f"[{kind}]"


def conversation(state):
    version = ["1", "1"] if state is None else state["schemaVersion"].split(".")
    if not 2 <= len(version) <= 4 or int(version[0]) != 1:
        raise SystemExit(f"version {state['schemaVersion']} is not for this reader")
    for entry in (state and state["data"] or {}).get("conversationHistory") or []:
        kind = isinstance(entry, dict) and (entry.get("$type") or entry.get("json_type"))
        for message in entry.get("messages") or [] if kind in ("request", "response") else []:
            for content in (message or {}).get("contents") or []:
                yield f"{message.get('authorName') or message.get('role')}: {show(content or {})}"


if __name__ == "__main__":
    for line in conversation(json.load(sys.stdin)):
        print(line.encode(errors="backslashreplace").decode())
