"""The Python library's side of bench-doc-python: a server on stdin and stdout.

    state_python.py DOCUMENT

Says its versions first. Then each line that comes in is one piece of work, and
one line goes out when it is done: `walk` reads the document from its text into
the library's own types, `count` tells what these hold.
"""
import importlib.metadata
import json
import sys

from agent_framework_durabletask._durable_agent_state import DurableAgentState

WANTED = "1.0.0b260922"


def walk(text):
    return DurableAgentState.from_dict(json.loads(text))


def count(state):
    """Requests, responses, messages, contents."""
    entries = state.data.conversation_history
    kinds = [str(getattr(entry.json_type, "value", entry.json_type))
             for entry in entries]
    messages = [message for entry in entries for message in entry.messages]
    return (kinds.count("request"), kinds.count("response"), len(messages),
            sum(len(message.contents) for message in messages))


def main():
    version = importlib.metadata.version("agent-framework-durabletask")
    if version != WANTED:
        raise SystemExit(f"state_python: the library is {version}, wanted is "
                         f"{WANTED}; see tests/interop/requirements.txt")
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    print(version, flush=True)
    for line in sys.stdin:
        state = walk(text)
        if line.strip() == "count":
            print(*count(state), flush=True)
        else:
            print("done", flush=True)


if __name__ == "__main__":
    main()
