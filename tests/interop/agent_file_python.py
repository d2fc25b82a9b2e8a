"""What `perdure agent check` says of the Python loader, against that loader.

A file that gives no notice of a refusal loads there; one that does is refused.
Usage: TEST PERDURE
"""
import json
import logging
import sys
import types
import warnings

from agent_framework import BaseChatClient
from agent_framework_declarative import AgentFactory
from command import PERDURE, record, run

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
tests = record.Tests("interop-agent-file")


class Client(BaseChatClient):
    """Stands for the client of a server; nobody asks it."""

    def __init__(self, **settings):
        super().__init__()
        self.settings = settings

    def _inner_get_response(self, **_):
        raise AssertionError("no run here")


# The loader finds clients by the name of a module and a class.
sys.modules["fake_openai"] = types.SimpleNamespace(Client=Client)
MAPPING = {name: {"package": "fake_openai", "name": "Client",
                  "model_field": "model", "endpoint_field": "base_url",
                  "api_key_field": "api_key"}
           for name in ("OpenAI", "OpenAI.Chat", "OpenAI.Responses")}

HEAD = "kind: Prompt\nname: clerk\ndescription: x\ninstructions: Be brief.\n"
MODEL = ("model:\n  id: m\n  provider: OpenAI\n  apiType: Chat\n  connection: "
         "{kind: key, endpoint: http://localhost/v1}\n")
# What comes after head and model, and whole files.
CASES = [
    "", "displayName: x\n", "metadata: {a: 1}\n", "template: {}\n",
    "additionalInstructions: x\n", "inputSchema: {}\n", "size: 5\n",
    "outputSchema:\n  properties:\n    a: {type: string, required: true}\n",
    "outputSchema:\n  properties:\n  - {name: a, kind: integer, description: "
    "x, enum: [1], default: 1, example: 1}\n",
    "outputSchema:\n  properties:\n    a: {type: array, items: {type: "
    "string}}\n  strict: true\n",
    "outputSchema:\n  properties: {a: {type: integer, minimum: 0}}\n",
    "outputSchema:\n  properties: {a: {type: string}}\n"
    "  additionalProperties: false\n",
    "outputSchema:\n  properties: {a: {type: string}}\n  required: [a]\n",
    "tools:\n- {kind: command, name: t, command: [cat]}\n",
    "tools:\n- {kind: web_search, name: w}\n",
    "tools:\n- {kind: mcp, name: m, url: http://localhost/}\n",
]
WHOLE = [
    HEAD.replace("Prompt", "prompt") + MODEL, HEAD.replace("Prompt", "Agent") +
    MODEL, HEAD.replace("clerk", "yes") + MODEL,
    HEAD.replace("clerk", "5") + MODEL, HEAD.replace("clerk", "'5'") + MODEL,
    HEAD.replace("clerk", "2026-11-18") + MODEL,
    HEAD.replace("clerk", "1.2.3") + MODEL,
    HEAD.replace("clerk", "1_000") + MODEL,
    HEAD.replace("clerk", "0x1F") + MODEL, "\ufeff" + HEAD + MODEL,
    (HEAD + MODEL).replace("\n", "\r\n"), HEAD + MODEL + "  publisher: x\n",
    HEAD + MODEL + "  options: {temperature: 0.5, topK: 5, other: [1]}\n",
    HEAD + MODEL.replace("OpenAI", "openai"),
    HEAD + MODEL.replace("Chat", "Responses"),
    HEAD + MODEL.replace("kind: key", "kind: remote, name: x"),
    HEAD + MODEL.replace("kind: key", "kind: Anonymous"),
    HEAD + MODEL.replace("kind: key", "kind: key, size: 1"),
]


def loads_there(text):
    factory = AgentFactory(additional_mappings=MAPPING)
    try:
        return factory.create_agent_from_yaml(text).name is not None
    except Exception:  # pylint: disable=broad-except; of many kinds
        return False


@tests.test("check: what it says of the Python loader is what that does",
            covers=["P-69", "P-70"])
def _():
    seen = {True: 0, False: 0}
    wrong = []
    for text in [HEAD + MODEL + case for case in CASES] + WHOLE:
        result = run([PERDURE, "agent", "check", "-o", "json", "-"],
                     stdin=text.encode())
        assert result.status == 0, (text, result)
        notices = [n["text"] for n in json.loads(result.out)["notices"]]
        says = not any("refuses" in n for n in notices) and not any(
            n.startswith("'openai': Chat Completions") for n in notices)
        seen[says] += 1
        if says != loads_there(text):
            wrong.append((text, notices))
    assert not wrong, wrong
    assert min(seen.values()) >= 8, seen


tests.finish()
