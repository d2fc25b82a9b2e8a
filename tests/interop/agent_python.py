"""A session travels: an agent of the real Python package begins it, agents here
go on for two turns, and the real package goes on again. Each side has the whole
history, calls and their results included. Usage: TEST PERDURE"""
import asyncio
import http.server
import json
import threading
import warnings

import agent_framework as af

from command import PERDURE, run
from harness import Tests

warnings.simplefilter("ignore")
tests = Tests("interop-agent-python")


# --- there -------------------------------------------------------------------

class Client(af.FunctionInvocationLayer, af.BaseChatClient):
    """A model that is written down: asks for the weather, then says it."""

    def __init__(self):
        super().__init__()
        self.sent = []

    def _inner_get_response(self, *, messages, stream, options, **kwargs):
        assert not stream
        self.sent = list(messages)
        return self._answer(messages[-1])

    async def _answer(self, last):
        if last.role == "tool":
            content = af.Content.from_text(
                f"They say: {last.contents[0].result}")
        elif "weather" in last.text:
            content = af.Content.from_function_call(
                call_id="call-1", name="weather",
                arguments='{"city": "Oslo"}')
        else:
            content = af.Content.from_text(f"Yes: {last.text}")
        return af.ChatResponse(messages=[af.Message("assistant", [content])])


@af.tool(approval_mode="never_require")
def weather(city: str) -> str:
    """How the weather is."""
    return f"rain in {city}"


def run_there(session, text):
    """One turn of the real agent; what its model was sent."""
    client = Client()
    agent = af.Agent(client=client, name="clerk", tools=[weather])
    asyncio.run(agent.run(text, session=session))
    return [summary(m.to_dict()) for m in client.sent]


def summary(message):
    """Role and contents of a message, without what is not said."""
    members = {"text": "text", "function_call": "name",
               "function_result": "result"}
    return (message["role"], [str(c[members[c["type"]]])
                              for c in message["contents"]])


# --- here --------------------------------------------------------------------

class Model(http.server.BaseHTTPRequestHandler):
    requests = []

    def do_POST(self):
        size = int(self.headers["Content-Length"])
        self.requests.append(json.loads(self.rfile.read(size)))
        body = json.dumps({"choices": [{"index": 0, "message": {
            "role": "assistant", "content": "Here too."},
            "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def perdure(*args, **kwargs):
    result = run([PERDURE, *args], env={"no_proxy": "*"}, **kwargs)
    assert result.status == 0, result
    return result.out


def run_here(spec, text):
    return perdure("agent", "run", "--agent", f"clerk={spec}", "--store",
                   "desk.db", "--session", "trip", text).decode()


@tests.test("session: goes from the real agent to ours and back, whole")
def _():
    session = af.AgentSession(session_id="trip")
    run_there(session, "How is the weather?")
    with open("there.json", "w", encoding="utf-8") as file:
        json.dump(session.to_dict(), file)
    perdure("session", "import", "there.json", "--store", "desk.db")

    with open("replies.json", "w", encoding="utf-8") as file:
        json.dump({"replies": [
            {"user": "tomorrow", "calls": [{"name": "forecast", "id": "f1",
                                            "arguments": {"days": 1}}]},
            {"after": "forecast", "text": "I cannot say."}]}, file)
    assert run_here("script:replies.json", "And tomorrow?") == "I cannot say.\n"
    with http.server.HTTPServer(("127.0.0.1", 0), Model) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert run_here(f"openai:http://127.0.0.1:{server.server_port}#m",
                        "Thank you") == "Here too.\n"
        server.shutdown()
    sent = Model.requests[0]["messages"]
    assert [(m["role"], m["content"]) for m in sent if m["role"] != "tool"] == [
        ("user", "How is the weather?"), ("assistant", None),
        ("assistant", "They say: rain in Oslo"), ("user", "And tomorrow?"),
        ("assistant", None), ("assistant", "I cannot say."),
        ("user", "Thank you")], sent
    assert [(m["tool_call_id"], m["content"].split(" \"")[0]) for m in sent
            if m["role"] == "tool"] == \
        [("call-1", "rain in Oslo"), ("f1", "Error: Requested function")], sent

    back = json.loads(perdure("session", "export", "trip", "--store",
                              "desk.db"))
    session = af.AgentSession.from_dict(back)
    assert session.session_id == "trip"
    seen = run_there(session, "Still there?")
    assert seen[:4] == [
        ("user", ["How is the weather?"]), ("assistant", ["weather"]),
        ("tool", ["rain in Oslo"]), ("assistant", ["They say: rain in Oslo"])]
    assert seen[4:6] == [("user", ["And tomorrow?"]),
                         ("assistant", ["forecast"])], seen
    assert seen[6][0] == "tool" and seen[6][1][0].startswith("Error: "), seen
    assert seen[7:] == [
        ("assistant", ["I cannot say."]), ("user", ["Thank you"]),
        ("assistant", ["Here too."]), ("user", ["Still there?"])], seen
    # What the real package wrote is as it was; it added its own turn.
    there = json.load(open("there.json", encoding="utf-8"))
    after = session.to_dict()
    old, new = (d["state"]["in_memory"]["messages"] for d in (there, after))
    assert new[:len(old)] == old, new
    assert len(new) == len(old) + 8, new
    assert summary(new[-1]) == ("assistant", ["Yes: Still there?"]), new


tests.finish()
