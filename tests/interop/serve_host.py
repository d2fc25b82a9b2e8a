"""The HTTP host of durable agents in Python, the package
agent-framework-azurefunctions, beside `perdure serve`: the same requests at
both, and replies that a caller cannot tell apart.

What was written for the host as a caller of it is in serve_caller.py: tests that
an old source archive has. Nothing newer is published: the wheels of
agent-framework-azurefunctions and agent-framework-durabletask have no HTTP
client, and neither have their archives, which are without tests and samples
now; agent-framework, agent-framework-hosting and agent-framework-ag-ui speak
other protocols, and the client of azure-functions-durable calls the
orchestration service, not agents. So what callers of today rely on is taken
from the host as it is installed: which routes it has, by which methods, the
names of headers and fields, and what its own handler replies. That handler runs
here; only the entity, which nothing but Azure can run, is played. If a release
changes any of that, this fails.

Usage: TEST PERDURE
"""
import asyncio
import json
import logging
import types

from agent_framework import AgentResponse, Content, Message
from agent_framework_azurefunctions import AgentFunctionApp
from agent_framework_azurefunctions._routes import DEFAULT_ROUTE_PREFIX
from agent_framework_durabletask import _constants as names
from agent_framework_durabletask._durable_agent_state import (
    DurableAgentState, DurableAgentStateRequest, DurableAgentStateResponse)
from agent_framework_durabletask._models import RunRequest
import azure.functions as func

from command import run  # noqa: F401  finds the modules of integration
from harness import Tests
from serving import Server

logging.disable(logging.CRITICAL)
tests = Tests("interop-serve-host")


# --- the host ----------------------------------------------------------------


class Agent:
    id = name = "Poet"
    description = "Says what it hears"

    async def run(self, messages=None, **_):
        raise AssertionError("only the entity runs it")

    def create_session(self, **_):
        return None

    get_session = create_session


class Client:
    """The entities, each of which has answered as soon as it was asked."""

    def __init__(self):
        self.states = {}

    async def signal_entity(self, entity, operation, request):
        assert operation == "run"
        request = RunRequest.from_dict(request)
        state = self.states.setdefault(str(entity), DurableAgentState())
        state.data.conversation_history += [
            DurableAgentStateRequest.from_run_request(request),
            DurableAgentStateResponse.from_run_response(
                request.correlation_id, AgentResponse(messages=[
                    Message("assistant", [Content.from_text(
                        "You said: " + request.message)])]))]

    async def read_entity_state(self, entity):
        state = self.states.get(str(entity))
        return types.SimpleNamespace(
            entity_exists=state is not None,
            entity_state=state and json.loads(json.dumps(state.to_dict())))


class Host:
    """The application, of which a request finds the function by its route."""

    def __init__(self):
        self.app = AgentFunctionApp(
            agents=[Agent()], poll_interval_seconds=0.001, max_poll_retries=3)
        self.client = Client()
        self.routes = {}  # method and path: the function
        for function in self.app.get_functions():
            trigger = function.get_trigger()
            if trigger.type == "httpTrigger":
                for method in trigger.methods:
                    at = f"/{DEFAULT_ROUTE_PREFIX}/{trigger.route}"
                    self.routes[str(getattr(method, "value", method)), at] = (
                        function.get_user_function())

    def request(self, method, path, body=None, query=None, **headers):
        function = self.routes[method, path]
        request = func.HttpRequest(
            method, "http://host" + path, headers=headers, params=query or {},
            body=(body or "").encode())
        # Around it is what connects to Azure.
        function = getattr(function, "client_function", function)
        if path.endswith("/health"):
            reply = function(request)
        else:
            reply = asyncio.run(function(request, self.client))
        return (reply.status_code,
                {"content-type": reply.mimetype,
                 **{k.lower(): v for k, v in reply.headers.items()}},
                reply.get_body().decode())


# --- both --------------------------------------------------------------------

RUN = f"/{DEFAULT_ROUTE_PREFIX}/agents/{Agent.name}/run"
JSON = {"Content-Type": names.MIMETYPE_APPLICATION_JSON}
TEXT = {"Content-Type": names.MIMETYPE_TEXT_PLAIN}
SESSION, OLD = names.SESSION_ID_FIELD, names.LEGACY_THREAD_ID_FIELD
WAIT, WAIT_HEADER = (names.WAIT_FOR_RESPONSE_FIELD,
                     names.WAIT_FOR_RESPONSE_HEADER)

# Body, query and headers; a body that is not text is sent as JSON.
CASES = {
    "text": ("Hello", {}, {}),
    "text, as text": ("Hello", {}, TEXT),
    "blanks around": ("  Hello\n", {}, TEXT),
    "text, in a session": ("Hello", {SESSION: "a"}, {}),
    "text, by the old name": ("Hello", {OLD: "a"}, {}),
    "text, JSON wanted": ("Hello", {SESSION: "b"}, {
        "Accept": names.MIMETYPE_APPLICATION_JSON}),
    "JSON": ({"message": "Hello"}, {}, JSON),
    "JSON, in a session": ({"message": "Hello", SESSION: "c"}, {}, JSON),
    "JSON, a second turn": ({"message": "Again", SESSION: "c"}, {}, JSON),
    "JSON, by the old name": ({"message": "Hello", OLD: "d"}, {}, JSON),
    "both names, the same": (
        {"message": "Hello", OLD: "d", SESSION: "d"}, {SESSION: "d"}, JSON),
    "a blank name is none": (
        {"message": "Hello", SESSION: " ", OLD: "e"}, {}, JSON),
    "JSON of another kind": (
        {"message": "Hello", SESSION: "f"}, {},
        {"Content-Type": "application/vnd.x+json; charset=utf-8"}),
    "a role": ({"message": "Hello", SESSION: "g", "role": "user"}, {}, JSON),
    "not waited for, by header": ({"message": "Hello", SESSION: "h"}, {}, {
        **JSON, WAIT_HEADER: "false"}),
    "not waited for, by query": ({"message": "Hello", SESSION: "h"}, {
        WAIT: "false"}, JSON),
    "not waited for, by the body": ({"message": "Hello", SESSION: "h",
                                     WAIT: False}, {}, JSON),
    "not waited for, as text": ("Hello", {SESSION: "h"}, {
        WAIT_HEADER: "false"}),
    "the header before the body": ({"message": "Hello", SESSION: "i",
                                    WAIT: False}, {}, {
        **JSON, WAIT_HEADER: "true"}),
    "a word that is no truth": ({"message": "Hello", SESSION: "j"}, {}, {
        **JSON, WAIT_HEADER: "perhaps"}),
    "no message": ({SESSION: "k"}, {}, JSON),
    "an empty message": ({"message": "", SESSION: "k"}, {}, JSON),
    "no text": ("", {SESSION: "k"}, TEXT),
    "a list": ([1], {}, JSON),
    "no JSON": ("{", {}, JSON),
    "two sessions": ({"message": "Hello", SESSION: "l"}, {OLD: "m"}, JSON),
}
# Two random names differ; that the names are there does not.
RANDOM = {"correlation_id"}


def told(reply, has_session):
    """What a caller sees."""
    status, head, text = reply
    kind = head["content-type"].split(";")[0]
    names_session = head.get(names.SESSION_ID_HEADER)
    value = text
    if kind == names.MIMETYPE_APPLICATION_JSON:
        value = json.loads(text)
        # Ours has the older name, too, for callers of older releases.
        if OLD in value:
            assert value.pop(OLD) == value[SESSION], text
        value = {k: "..." if k in RANDOM or (k == SESSION and not has_session)
                 else v for k, v in value.items()}
        if "error" in value:
            value["error"] = "..."  # for people
        names_session = None  # the host has no header then
    elif status >= 400:
        value = "..."
    if names_session is not None and not has_session:
        names_session = "..."
    return status, kind, names_session, value


@tests.test("host: it has the routes that we have")
def _():
    host = Host()
    assert set(host.routes) == {
        ("POST", RUN), ("GET", f"/{DEFAULT_ROUTE_PREFIX}/health")}, host.routes
    with Server() as s:
        api = json.loads(s.request("GET", "/openapi.json")[2])["paths"]
        for method, path in host.routes:
            path = path.replace(Agent.name, "{agent}")
            assert method.lower() in api[path], path
        ours = json.loads(s.request("GET", "/api/health")[2])
    theirs = json.loads(host.request("GET", "/api/health")[2])
    assert set(theirs) <= set(ours) and theirs["status"] == ours["status"]
    assert set(theirs["agents"][0]) <= set(ours["agents"][0]), ours


@tests.test("host: a caller cannot tell our replies from its")
def _():
    host, wrong = Host(), []
    with Server() as s:
        for name, (body, query, headers) in CASES.items():
            body = body if isinstance(body, str) else json.dumps(body)
            has_session = "_id" in body + str(query)
            theirs = told(host.request("POST", RUN, body, query, **headers),
                          has_session)
            path = RUN + "".join("?" * (i == 0) + f"{k}={v}" for i, (k, v) in
                                 enumerate(query.items()))
            ours = told(s.request("POST", path, body, **headers), has_session)
            if theirs != ours:
                wrong.append(f"{name}:\n  theirs {theirs}\n  ours   {ours}")
    assert not wrong, "\n".join(wrong)


@tests.test("host: it reads what we store, and finds the answer in it")
def _():
    with Server() as s:
        reply = json.loads(s.request(
            "POST", RUN, {"message": "Hello", SESSION: "k"})[2])
        text = s.request("GET", f"/{DEFAULT_ROUTE_PREFIX}/agents/Poet/"
                         "sessions/k")[2]
    state = DurableAgentState.from_json(text)
    answer = state.try_get_agent_response(reply["correlation_id"])
    assert answer.text == reply["response"] == "You said: Hello", answer
    assert state.message_count == reply[
        names.ApiResponseFields.MESSAGE_COUNT], reply


tests.finish()
