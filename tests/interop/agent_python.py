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


# --- approvals ----------------------------------------------------------------

RAN = []


@af.tool(approval_mode="always_require")
def refund(amount: float) -> str:
    """Pays money back."""
    RAN.append(amount)
    return f"paid {amount}"


class Cashier(Client):
    """A model that wants to pay, and then says what came of it."""

    async def _answer(self, last):
        if last.role == "tool":
            content = af.Content.from_text(last.contents[0].result)
        else:
            content = af.Content.from_function_call(
                call_id="pay-1", name="refund", arguments='{"amount": 12.5}')
        return af.ChatResponse(messages=[af.Message("assistant", [content])])


def pay_there(session, message):
    client = Cashier()
    agent = af.Agent(client=client, name="till", tools=[refund])
    return asyncio.run(agent.run(message, session=session))


def write_till():
    with open("till.json", "w", encoding="utf-8") as file:
        json.dump({"replies": [
            {"after": "refund", "text": "{result}"},
            {"calls": [{"name": "refund", "id": "pay-1",
                        "arguments": {"amount": 12.5}}]}]}, file)
    with open("till.yaml", "w", encoding="utf-8") as file:
        file.write("""kind: Prompt
model: {provider: script, connection: {file: till.json}}
tools:
- {kind: command, name: refund, approvalMode: always, command: [tee, -a, paid]}
""")


def till(*args):
    return perdure("agent", "run", "-q", "--agent", "till=till.yaml",
                   "--store", "till.db", "--session", *args).decode()


@tests.test("approval: asked for by the real agent, answered here")
def _():
    session = af.AgentSession(session_id="there")
    answer = pay_there(session, "Pay it back")
    assert len(answer.user_input_requests) == 1 and not RAN, answer
    with open("asked.json", "w", encoding="utf-8") as file:
        json.dump(session.to_dict(), file)
    write_till()
    perdure("session", "import", "asked.json", "--store", "till.db")
    said = till("there", "--approve", "all")
    assert json.loads(said) == {"amount": 12.5}, said
    paid = open("paid", encoding="utf-8").read()
    assert json.loads(paid) == {"amount": 12.5}, paid
    # Nothing waits any more, there either: no tool runs again.
    back = af.AgentSession.from_dict(json.loads(
        perdure("session", "export", "there", "--store", "till.db")))
    again = af.Message("user", [
        answer.user_input_requests[0].to_function_approval_response(True)])
    pay_there(back, again)
    assert not RAN, RAN


@tests.test("approval: asked for here, answered by the real agent")
def _():
    write_till()
    empty = af.AgentSession(session_id="here").to_dict()
    with open("empty.json", "w", encoding="utf-8") as file:
        json.dump(empty, file)
    perdure("session", "import", "empty.json", "--store", "till.db")
    assert till("here", "Pay it back") == ""
    session = af.AgentSession.from_dict(json.loads(
        perdure("session", "export", "here", "--store", "till.db")))
    waiting = session.state["tool_approval"]["pending_approval_requests"]
    request = waiting[0] if isinstance(waiting[0], af.Content) else \
        af.Content.from_dict(waiting[0])
    RAN.clear()
    answer = pay_there(session, af.Message(
        "user", [request.to_function_approval_response(True)]))
    assert RAN == [12.5], (RAN, answer.to_dict())
    assert answer.text == "paid 12.5", answer.to_dict()


tests.finish()
