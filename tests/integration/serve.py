"""Durable agents over HTTP: perdure serve, a real process and real sockets.

Usage: serve.py PERDURE
"""
import concurrent.futures
import contextlib
import http.client
import http.server
import json
import os
import signal
import socket
import threading
import time

from harness import Tests, run
from serving import PERDURE, Server, events, go

tests = Tests("serve")

RUN = "/api/agents/Harbour/run"

# --- runs --------------------------------------------------------------------


@tests.test("a text is answered with a text, and the session is named",
            covers=["D-71"])
def _():
    with Server() as s:
        status, head, text = s.request("POST", RUN, "Hello")
        assert (status, text) == (200, "You said: Hello"), text
        assert head["content-type"].startswith("text/plain"), head
        key = head["x-ms-thread-id"]
        assert key == head["x-ms-session-id"] and len(key) >= 32
        assert head["x-ms-correlation-id"]
        # It is in the store as whole as any other.
    done = run([PERDURE, "session", "list", "--store", "x.db", "-o", "json"])
    assert f"@dafx-harbour@{key}" in done.out.decode(), done


@tests.test("JSON is answered in the shape of the profile", covers=["D-72"])
def _():
    with Server() as s:
        for count in (2, 4):
            _, head, text = s.request(
                "POST", RUN, {"message": "Hi", "session_id": "k"})
            reply = json.loads(text)
            assert reply.pop("correlation_id") == head["x-ms-correlation-id"]
            assert reply == {
                "response": "You said: Hi", "message": "Hi",
                "session_id": "k", "thread_id": "k", "status": "success",
                "message_count": count}, reply
    with Server("--profile", "dotnet-1") as s:
        _, head, text = s.request("POST", RUN, {"message": "Hi"},
                                  Accept="application/json")
        reply = json.loads(text)
        assert reply["status"] == 200
        assert reply["thread_id"] == head["x-ms-thread-id"]
        message = reply["response"]["Messages"][0]
        assert message["AuthorName"] == "Harbour"
        assert message["Role"] == "assistant"
        assert message["Contents"] == [
            {"$type": "text", "Text": "You said: Hi"}], message
        assert "CreatedAt" in reply["response"]
        assert "null" not in text


@tests.test("a list in Accept is read as .NET reads it", covers=["D-73"])
def _():
    with Server("--profile", "dotnet-1") as s:
        for accept, kind in (("text/html, application/json;q=0.1", "json"),
                             ("*/*", "plain"), ("Application/JSON", "json")):
            _, head, _ = s.request("POST", RUN, {"message": "Hi"},
                                   Accept=accept)
            assert kind in head["content-type"], (accept, head)


@tests.test("any type that ends in +json is JSON", covers=["D-74"])
def _():
    with Server() as s:
        _, _, text = s.request("POST", RUN, '{"message":"Hi"}',
                               Content_Type="application/vnd.api+json")
        assert json.loads(text)["response"] == "You said: Hi"


@tests.test("an empty message is refused, and nothing is stored",
            covers=["D-75"])
def _():
    cases = [("python-1", "Message is required"),
             ("dotnet-1", "Run request cannot be empty.")]
    for profile, sentence in cases:
        with Server("--profile", profile) as s:
            for body, headers in (
                    (" \n ", {}), ({"message": ""}, {}), ({}, {}),
                    ({"message": ""}, {"Accept": "application/json"})):
                status, head, text = s.request(
                    "POST", RUN + "?thread_id=k", body, **headers)
                assert status == 400, (profile, body, text)
                assert head["x-ms-thread-id"] == "k"
                if "json" in head["content-type"]:
                    text = json.loads(text)["error"]
                assert text == sentence, text
            status, _, _ = s.request("GET",
                                     "/api/agents/Harbour/sessions/k")
            assert status == 404


@tests.test("a session that is named twice is named alike", covers=["D-76"])
def _():
    with Server() as s:
        def post(query, body):
            return s.request("POST", RUN + query, {"message": "Hi", **body})
        for query, body in (
                ("?thread_id=a", {"thread_id": "b"}),
                ("?session_id=a", {"thread_id": "b"}),
                ("", {"thread_id": "a", "sessionId": "b"}),
                ("?session_id=a&thread_id=b", {})):
            status, _, text = post(query, body)
            assert status == 400 and "error" in json.loads(text), text
        for query, body in (("?thread_id=a", {"session_id": "a"}),
                            ("?thread_id=", {"thread_id": "a"}),
                            ("?sessionId=a", {"thread_id": None})):
            status, head, text = post(query, body)
            assert status == 200 and head["x-ms-thread-id"] == "a", text
        status, head, text = post("", {"thread_id": 5})
        assert head["x-ms-thread-id"] == "5"
        assert post("", {})[1]["x-ms-thread-id"] != post(
            "", {})[1]["x-ms-thread-id"]


@tests.test("who does not wait is told so; the header goes first",
            covers=["D-77"])
def _():
    with Server() as s:
        def status(query="", header=None, body=None):
            headers = {"x-ms-wait-for-response": header} if header else {}
            return s.request("POST", RUN + query,
                             {"message": "Hi", **(body or {})}, **headers)[0]
        assert status(header="FALSE") == 202
        assert status(header="maybe") == 200
        assert status("?wait_for_response=0") == 202
        assert status("?wait_for_response=0", "true") == 200
        assert status("?wait_for_response=1",
                      body={"wait_for_response": False}) == 200
        assert status(body={"wait_for_response": False}) == 202
        assert status(body={"waitForResponse": "no"}) == 202


@tests.test("what was accepted is told as either host does", covers=["D-78"])
def _():
    quick = {"x-ms-wait-for-response": "false"}
    with Server() as s:
        status, head, text = s.request(
            "POST", RUN, {"message": "Hi", "session_id": "k"}, **quick)
        reply = json.loads(text)
        assert reply.pop("correlation_id") == head["x-ms-correlation-id"]
        assert status == 202 and reply == {
            "response": "Agent request accepted", "message": "Hi",
            "session_id": "k", "thread_id": "k", "status": "accepted"}, reply
        status, _, text = s.request("POST", RUN, "Hi", **quick)
        assert (status, text) == (202, "Agent request accepted")
    with Server("--profile", "dotnet-1") as s:
        status, _, text = s.request("POST", RUN + "?thread_id=k", "Hi",
                                    Accept="application/json", **quick)
        assert status == 202
        assert json.loads(text) == {"status": 202, "thread_id": "k"}
        status, _, text = s.request("POST", RUN, "Hi", **quick)
        assert (status, text) == (202, "Request accepted.")


@tests.test("what is not a request is refused with what it is",
            covers=["D-79"])
def _():
    with Server() as s:
        kind = {"Content-Type": "application/json"}
        for body, sentence in (
                ('["x"]', "Invalid JSON payload. Expected an object."),
                ("{bad", "Invalid JSON"),
                ('{"message":5}', "Message must be a string")):
            status, _, text = s.request("POST", RUN, body, **kind)
            assert status == 400
            assert json.loads(text) == {"error": sentence}, text
        status, _, text = s.request("POST", "/api/agents/nobody/run",
                                    '{"message":"x"}', **kind)
        assert (status, text) == (404, '{"error":"Agent not found"}')
        status, head, _ = s.request("GET", RUN)
        assert status == 405 and head["allow"] == "POST"


@tests.test("a failure is never a success, nor an echo", covers=["D-80"])
def _():
    with Server() as s:
        status, _, text = s.request("POST", RUN, {"message": "break it"})
        reply = json.loads(text)
        assert status == 500 and reply["status"] == "error", reply
        assert reply["response"] is None and reply["error_code"]
        assert "no such model" in reply["error"], reply
        status, _, text = s.request("POST", RUN, "break it")
        assert status == 500 and "no such model" in text
        assert "break it" not in text
    with Server("--profile", "dotnet-1") as s:
        status, _, text = s.request("POST", RUN, {"message": "break it"},
                                    Accept="application/json")
        assert status == 500 and json.loads(text)["status"] == 500


@tests.test("a whole id names a key of its own agent only", covers=["D-81"])
def _():
    with Server() as s:
        for form in ("@dafx-harbour@k", "@dafx-Harbour@k"):
            _, head, _ = s.request("POST", f"{RUN}?thread_id={form}", "Hi")
            assert head["x-ms-thread-id"] == "k"
        status, _, _ = s.request(
            "POST", "/api/agents/Poet/run?thread_id=@dafx-harbour@k", "Hi")
        assert status == 400


@tests.test("a request that is repeated runs once", covers=["D-82"])
def _():
    with Server() as s:
        key = {"Idempotency-Key": '"once-1"'}
        first = s.request("POST", RUN + "?session_id=k",
                          {"message": "Hi"}, **key)
        s.say("something else")
        again = s.request("POST", RUN + "?session_id=k",
                          {"message": "Hi"}, **key)
        assert first[0] == again[0] == 200 and first[2] == again[2]
        assert first[1]["x-ms-correlation-id"] == "once-1"
        other = s.request("POST", RUN + "?session_id=k",
                          {"message": "Ho"}, **key)
        assert other[0] == 409, other
        document = json.loads(
            s.request("GET", "/api/agents/Harbour/sessions/k")[2])
        assert len(document["data"]["conversationHistory"]) == 4


@tests.test("a request that names no session is repeated by its key alone")
def _():
    with Server("--default-agent", "Harbour") as s:
        def post(path, key, body="Hi"):
            return s.request("POST", path, body, Idempotency_Key=key)
        first = post(RUN, '"once"')
        for key in ('"once"', "once"):
            again = post(RUN, key)
            assert (again[0], again[2]) == (200, first[2]), again
            for name in ("x-ms-session-id", "x-ms-correlation-id"):
                assert again[1][name] == first[1][name], again
        assert post(RUN, "once", "Ho")[0] == 409
        key = first[1]["x-ms-session-id"]
        assert len(json.loads(s.request(
            "GET", f"/api/agents/Harbour/sessions/{key}")[2])
                   ["data"]["conversationHistory"]) == 2
        # Another key, agent or tenant has another session; one that is named
        # counts.
        assert post(RUN, "twice")[1]["x-ms-session-id"] != key
        assert post("/api/agents/Poet/run", "once", "Ho")[0] == 200
        assert post(RUN + "?session_id=k", "once", "Ho")[1][
            "x-ms-session-id"] == "k"
        for bad in ('""', "k" * 257):
            assert post(RUN, bad)[0] == 400
        # A prompt whose answer is streamed is the same.
        whole = [post("/api/agent/create", "new") for _ in range(2)]
        assert whole[0][1]["x-conversation-id"] == whole[1][1][
            "x-conversation-id"]
        assert events(whole[0][2]) == events(whole[1][2])
        assert len(json.loads(s.request("GET", "/api/v1/sessions")[2])[
            "items"]) == 5


@tests.test("health lists every agent", covers=["D-83"])
def _():
    with Server() as s:
        status, _, text = s.request("GET", "/api/health")
        reply = json.loads(text)
        assert status == 200 and reply["status"] == "healthy"
        assert reply["agent_count"] == 2 and reply["version"]
        assert [set(a) for a in reply["agents"]] == 2 * [{
            "name", "type", "http_endpoint_enabled", "mcp_tool_enabled"}]
        assert {a["name"] for a in reply["agents"]} == {"Harbour", "Poet"}


@tests.test("a run that takes too long goes on, and is found later")
def _():
    with Server("--wait", "1") as s:
        status, head, text = s.request(
            "POST", RUN + "?session_id=k", {"message": "work"})
        reply = json.loads(text)
        assert status == 500 and reply["status"] == "timeout", reply
        path = ("/api/agents/Harbour/sessions/k/responses/"
                + head["x-ms-correlation-id"])
        assert json.loads(s.request("GET", path)[2])["status"] == "timeout"
        threading.Timer(0.3, go).start()
        status, _, text = s.request("GET", path + "?wait=20")
        assert status == 200 and json.loads(text)["response"] == "It is done."
        assert s.request("GET", path + "x")[0] == 404


@tests.test("a run that takes too long is told as .NET tells it, with a place")
def _():
    with Server("--profile", "dotnet-1", "--wait", "1") as s:
        for body, headers, said in (
                ("work", {"Accept": "application/json"},
                 {"status": 202, "thread_id": "k"}),
                ("work", {}, "Request accepted.")):
            status, head, text = s.request(
                "POST", RUN + "?thread_id=k", body, **headers)
            assert status == 202, text
            assert (json.loads(text) if headers else text) == said, text
            place = head["location"]
            assert place == ("/api/agents/Harbour/sessions/k/responses/"
                             + head["x-ms-correlation-id"]), head
            assert head["x-ms-thread-id"] == "k", head
            # Not yet.
            status, _, text = s.request("GET", place)
            assert status == 202 and json.loads(text)["status"] == 202, text
        go()
        status, _, text = s.request("GET", place + "?wait=20")
        reply = json.loads(text)
        assert (status, reply["status"]) == (200, 200), text
        assert reply["response"]["Messages"][-1]["Contents"][0]["Text"] == (
            "It is done."), text


class Model(http.server.BaseHTTPRequestHandler):
    """A server of Chat Completions that keeps what it was asked."""
    protocol_version = "HTTP/1.1"
    asked = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.asked.append(json.loads(body))
        text = json.dumps({"id": "r", "object": "chat.completion", "choices": [
            {"index": 0, "finish_reason": "stop", "message": {
                "role": "assistant", "content": '{"ok":true}'}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


@tests.test("a role, a format and tools of a request reach the model")
def _():
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}},
              "required": ["ok"], "additionalProperties": False}
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model) as model:
        threading.Thread(target=model.serve_forever).start()
        with open("clerk.yaml", "w", encoding="utf-8") as file:
            file.write("kind: Prompt\nname: Clerk\n"
                       "model:\n  id: tiny\n  provider: openai\n"
                       "  connection:\n    kind: anonymous\n    endpoint: "
                       f"http://127.0.0.1:{model.server_address[1]}/v1\n"
                       "tools:\n"
                       "- {kind: command, name: look, command: ['true']}\n"
                       "- {kind: command, name: ring, command: ['true']}\n")
        try:
            with Server("--agent=Clerk=clerk.yaml") as s:
                def ask(**more):
                    """What the model was asked, and what is kept of it."""
                    status, _, text = s.request(
                        "POST", "/api/agents/Clerk/run",
                        {"message": "Hi", **more})
                    assert status == 200, text
                    key = json.loads(text)["session_id"]
                    document = json.loads(s.request(
                        "GET", f"/api/agents/Clerk/sessions/{key}")[2])
                    return (Model.asked[-1],
                            document["data"]["conversationHistory"][0])

                def names(asked):
                    return [t["function"]["name"] for t in asked.get("tools",
                                                                     [])]
                asked, kept = ask()
                assert names(asked) == ["look", "ring"], asked
                assert "response_format" not in asked, asked
                assert asked["messages"][-1] == {
                    "role": "user", "content": "Hi"}, asked
                assert kept["responseType"] == "text", kept
                for role, said in ((" SYSTEM ", "system"), (None, "user"),
                                   (" ", "user"), ("reviewer", "reviewer")):
                    asked, kept = ask(role=role)
                    assert kept["messages"][0]["role"] == said, kept
                    assert asked["messages"][-1]["role"] in (
                        said, "user"), asked
                for name in ("enable_tool_calls", "enableToolCalls"):
                    assert names(ask(**{name: False})[0]) == [], name
                    assert names(ask(**{name: True})[0]) == ["look", "ring"]
                for name in ("enable_tool_names", "enableToolNames"):
                    assert names(ask(**{name: ["ring"]})[0]) == ["ring"], name
                for name in ("response_format", "responseFormat"):
                    asked, kept = ask(**{name: schema})
                    assert asked["response_format"]["json_schema"][
                        "schema"] == schema, asked
                    assert (kept["responseType"], kept["responseSchema"]) == (
                        "json", schema), kept
                    _, kept = ask(**{name: "json"})
                    assert kept["responseType"] == "json", kept
                    assert "responseSchema" not in kept, kept
                # What is none of these is refused, and nothing is stored.
                before, calls = s.request(
                    "GET", "/api/v1/sessions?agent=clerk")[2], len(Model.asked)
                for wrong in ({"role": 5}, {"enable_tool_calls": "perhaps"},
                              {"enable_tool_names": "ring"},
                              {"response_format": "xml"},
                              {"response_format": 5}):
                    status, _, text = s.request(
                        "POST", "/api/agents/Clerk/run",
                        {"message": "Hi", **wrong})
                    assert status == 400 and json.loads(text)["error"], (
                        wrong, status, text)
                assert len(Model.asked) == calls
                assert s.request("GET", "/api/v1/sessions?agent=clerk")[
                    2] == before
        finally:
            model.shutdown()


@tests.test("a correlation id has 256 characters at most, whatever they are")
def _():
    with Server() as s:
        for name, status in (("c" * 256, 200), ("c" * 257, 400),
                             ("\u00fc" * 256, 200), ("\u00fc" * 257, 400),
                             ("\U0001f40c" * 256, 200), ("", 200), ("\x01", 400)):
            got, head, text = s.request("POST", RUN, {
                "message": "Hi", "correlation_id": name})
            assert got == status, (name, got, text)
            if got == 200 and name:
                assert json.loads(text)["correlation_id"] == name
        # The native routes take an idempotency key, of 255.
        for count, status in ((255, 200), (256, 400)):
            got, _, text = s.request(
                "POST", "/api/v1/sessions/%40dafx-harbour%40n/runs",
                {"message": "Hi"}, Idempotency_Key="k" * count)
            assert got == status, text


@tests.test("each reply that knows the session names it")
def _():
    with Server("--default-agent", "Harbour") as s:
        s.say("Hi", "k", Idempotency_Key="c")
        at = "/api/agents/Harbour/sessions/"
        for path, key, status in (
                (at + "k", "k", 200), (at + "none", "none", 404),
                (at + "k/responses/c", "k", 200),
                (at + "k/responses/x", "k", 404),
                (at + "k/stream?correlationId=c", "k", 200),
                (at + "k/stream?cursor=99", "k", 410),
                (at + "none/stream", "none", 404),
                (at + "none/stream?wait=1", "none", 200),
                ("/api/agent/stream/k", "k", 200),
                ("/api/agent/stream/@dafx-harbour@k", "k", 200),
                ("/api/agent/stream/none", "none", 404)):
            got, head, text = s.request("GET", path)
            assert got == status, (path, got, text)
            assert head["x-ms-thread-id"] == head["x-ms-session-id"] == key, (
                path, head)
            if "=c" in path or path.endswith("/c"):
                assert head["x-ms-correlation-id"] == "c", head
        _, head, _ = s.request("POST", "/api/agent/create", "Hi")
        assert head["x-conversation-id"] == (
            "@dafx-harbour@" + head["x-ms-session-id"]), head
        assert head["x-ms-thread-id"] == head["x-ms-session-id"]
        assert head["x-ms-correlation-id"], head
        assert "," not in head["x-ms-session-id"], head
        status, head, _ = s.request("DELETE", at + "k")
        assert (status, head["x-ms-thread-id"]) == (204, "k"), head


@tests.test("sessions are read and deleted; nothing is left")
def _():
    with Server() as s:
        path = "/api/agents/Harbour/sessions/a%2Fb%20%C3%BC"
        s.say("Hi", "a%2Fb%20%C3%BC")
        status, _, text = s.request("GET", path)
        assert status == 200
        assert len(json.loads(text)["data"]["conversationHistory"]) == 2
        assert s.request("DELETE", path)[0] == 204
        assert s.request("GET", path)[0] == 404
        assert s.request("DELETE", path)[0] == 404


# --- streams -----------------------------------------------------------------

STREAM = "/api/agents/Harbour/sessions/k/stream"


@tests.test("line ends of any kind arrive as line ends",
            covers=["D-91", "R-7"])
def _():
    with Server("--ping", "200") as s:
        s.say("lines")
        text = s.request("GET", STREAM + "?correlationId="
                         + json.loads(s.request(
                             "GET", "/api/agents/Harbour/sessions/k")[2])
                         ["data"]["conversationHistory"][0]
                         ["correlationId"])[2]
        assert text.startswith("retry: 2000\n\n")
        got = events(text)
        assert [e[2] for e in got] == ["one\ntwo\nthree", "\nfour\n\nfive",
                                       "[DONE]"], got
        # A stream without an event sends a comment now and then.
        with socket.create_connection(("127.0.0.1", s.port)) as link:
            link.settimeout(10)
            link.sendall(f"GET {STREAM} HTTP/1.1\r\nHost: localhost\r\n\r\n"
                         .encode())
            got = b""
            while got.count(b": ping\n\n") < 2:
                got += link.recv(4096)
        lines = s.request("GET", "/api/agent/stream/@dafx-harbour@k",
                          Accept="application/x-ndjson")[2].splitlines()
        assert [json.loads(line)["event"] for line in lines if line] == [
            "message", "message", "done"]


@tests.test("plain text ends in a line end, and names the session",
            covers=["D-96"])
def _():
    with Server("--default-agent", "Harbour") as s:
        s.say("Hi")
        _, head, text = s.request("GET", "/api/agent/stream/k",
                                  Accept="text/plain")
        assert text == "You said: Hi\n"
        assert head["content-type"].startswith("text/plain")
        assert head["x-conversation-id"] == "@dafx-harbour@k"


@tests.test("the routes of the samples start a run and go on with it",
            covers=["R-8"])
def _():
    with Server("--default-agent", "Harbour") as s:
        status, head, text = s.request("POST", "/api/agent/create", "slowly")
        assert status == 200
        session = head["x-conversation-id"]
        assert session.startswith("@dafx-harbour@")
        got = events(text)
        assert [e[0] for e in got] == ["message"] * (len(got) - 1) + ["done"]
        assert "".join(e[2] for e in got[:-1]) == "One two three."
        for name in (session, session.rsplit("@", 1)[1]):
            rest = s.request(
                "GET", f"/api/agent/stream/{name}?cursor={got[0][1]}")
            assert events(rest[2]) == got[1:]
        # Only what the samples know of: calls of tools are left out.
        go()
        _, _, text = s.request("POST", "/api/agent/create", "work")
        assert {e[0] for e in events(text)} == {"message", "done"}
        # The second turn is not hidden by the end of the first.
        s.say("again", session.rsplit("@", 1)[1])
        got = events(s.request("GET", f"/api/agent/stream/{session}")[2])
        assert got[0][2] == "You said: again", got
        status, _, text = s.request("POST", "/api/agent/create", "  ")
        assert status == 400
        assert text == "Request body must contain a prompt."


@tests.test("who names no run follows one run to its end, the last or the next")
def _():
    with Server("--default-agent", "Harbour") as s:
        def follow(cursor=0, **headers):
            return s.request("GET", "/api/agent/stream/k" + (
                f"?cursor={cursor}" if cursor else ""), **headers)

        def send(text):
            assert s.request("POST", RUN + "?session_id=k", text, **{
                "x-ms-wait-for-response": "false"})[0] == 202
        s.say("first")
        first = events(follow()[2])
        end = first[-1][1]
        # There is no more: a browser would come back for ever.
        for more in ({}, {"Accept": "text/plain"}):
            assert follow(end, **more)[::2] == (204, "")
        # What comes next, or is at work; another one waits behind it.
        send("work")
        send("second")
        while not os.path.exists("calls"):
            time.sleep(0.01)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            next_, last = pool.submit(follow, end), pool.submit(follow)
            time.sleep(0.2)
            go()
            next_, last = events(next_.result()[2]), events(last.result()[2])
        assert "".join(e[2] for e in next_) == "It is done.[DONE]", next_
        assert "".join(e[2] for e in last) == "You said: second[DONE]", last
        # The same afterwards, and from the middle of a run only its rest.
        assert events(follow(end)[2]) == next_
        assert events(follow(first[0][1])[2]) == first[1:]
        assert events(follow(next_[-1][1])[2]) == last
        assert follow(last[-1][1])[0] == 204


@tests.test("a text has nothing of an attempt whose server was killed")
def _():
    with Server("--default-agent", "Harbour", "--lease", "1") as s:
        link = http.client.HTTPConnection("127.0.0.1", s.port, timeout=30)
        link.request("POST", RUN + "?session_id=k", "slowly",
                     {"x-ms-wait-for-response": "false",
                      "Idempotency-Key": "c"})
        assert link.getresponse().read()
        link.request("GET", STREAM + "?correlationId=c")
        reply = link.getresponse()
        while b"two" not in reply.readline():
            pass
        s.process.kill()
        s.process.wait()
        link.close()
    with Server("--default-agent", "Harbour", "--lease", "1") as s:
        whole = events(s.request("GET", STREAM + "?correlationId=c")[2])
        assert [e[2] for e in whole if e[0] == "message"] == [
            "One ", "two ", "One ", "two ", "three."], whole
        assert "attempt" in {e[0] for e in whole}, whole
        for path, form in ((STREAM + "?correlationId=c", "text/plain"),
                           ("/api/agent/stream/k", "text/plain"),
                           ("/api/agent/stream/k", "text/event-stream")):
            text = s.request("GET", path, Accept=form)[2]
            if form != "text/plain":
                text = "".join(e[2] for e in events(text)[:-1]) + "\n"
            assert text == "One two three.\n", (path, form, text)


@tests.test("who is early waits, if it says so", covers=["R-9"])
def _():
    with Server() as s:
        started = time.monotonic()
        for path in (STREAM, STREAM + "?correlationId=c"):
            assert s.request("GET", path)[0] == 404
            assert s.request("GET", path + ("&" if "?" in path else "?")
                             + "wait=0")[0] == 404
        assert time.monotonic() - started < 5
        # Whoever waits gets a stream: of an error, if nothing comes.
        s.say("Hi", "other")
        ways = [(STREAM + "?wait=1", {}),
                ("/api/agents/Harbour/sessions/other/stream?correlationId=c"
                 "&wait=1", {}),
                ("/api/agent/stream/@dafx-harbour@k?wait=1", {}),
                (STREAM + "?wait=1", {"Accept": "application/x-ndjson"}),
                (STREAM + "?wait=1", {"Accept": "text/plain"})]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            got = list(pool.map(lambda way: s.request("GET", way[0],
                                                      **way[1]), ways))
        assert [status for status, _, _ in got] == 5 * [200], got
        for _, head, text in got[:3]:
            assert head["content-type"] == "text/event-stream", head
            [(kind, number, said)] = events(text)
            assert (kind, number) == ("error", None) and said, text
        line = json.loads(got[3][2])
        assert (line["event"], line["data"]["code"]) == (
            "error", "no_session"), line
        text = got[4][2]
        assert text.startswith("\n[Error: ") and text.endswith("]\n"), text
        threading.Timer(0.5, lambda: s.request(
            "POST", RUN + "?session_id=k", "Hi",
            **{"Idempotency-Key": "c"})).start()
        got = events(s.request(
            "GET", STREAM + "?wait=30&correlationId=c")[2])
        assert [e[0] for e in got] == ["message", "done"]


@tests.test("a reader that comes back gets the rest, each event once")
def _():
    with Server() as s:
        go()
        s.request("POST", RUN + "?session_id=k", "slowly",
                  **{"Idempotency-Key": "c"})
        whole = events(s.request("GET", STREAM + "?correlationId=c")[2])
        for i, event in enumerate(whole):
            rest = s.request("GET", STREAM + "?correlationId=c",
                             **{"Last-Event-ID": str(event[1])})
            assert events(rest[2]) == whole[i + 1:]
            assert rest[0] == (200 if i + 1 < len(whole) else 204)
        for form in ("text/plain", "application/x-ndjson"):
            assert s.request(
                "GET", f"{STREAM}?correlationId=c&cursor={whole[-1][1]}",
                Accept=form)[::2] == (204, "")


@tests.test("a cursor that is unknown or too old is gone, another is wrong",
            covers=["R-3", "D-95"])
def _():
    with Server("--keep-events", "0") as s:
        s.say("Hi")
        go()
        s.say("work")
        s.say("Ho")
        # The events of the first run are not kept any more; its text is.
        path = STREAM + "?correlationId=" + json.loads(s.request(
            "GET", "/api/agents/Harbour/sessions/k")[2])["data"][
                "conversationHistory"][0]["correlationId"]
        got = events(s.request("GET", path)[2])
        assert [(kind, text) for kind, _, text in got] == [
            ("message", "You said: Hi"), ("done", "[DONE]")], got
        assert s.request("GET", path, **{
            "Last-Event-ID": str(got[-1][1])})[0] == 204
        for at in (STREAM + "?", "/api/agent/stream/@dafx-harbour@k?"):
            for query, last, status in (
                    ("cursor=1", {}, 410), ("cursor=999", {}, 410),
                    ("", {"Last-Event-ID": "1"}, 410),
                    ("", {"Last-Event-ID": "999"}, 410),
                    ("cursor=999&wait=1", {}, 410), ("cursor=x", {}, 400),
                    ("cursor=-1", {}, 400), ("", {"Last-Event-ID": "1-1"},
                                             400)):
                got = s.request("GET", at + query, **last)
                assert got[0] == status, (at, query, last, got)
                assert json.loads(got[2])["error"], got


# --- the way it is asked ------------------------------------------------------


@tests.test("requests with two ends are refused, and so is what follows")
def _():
    follow = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with Server() as s:
        for head in (b"Content-Length: 3\r\nContent-Length: 5\r\n",
                     b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
                     b"Transfer-Encoding: gzip\r\n",
                     b"Transfer-Encoding: chunked\r\n"
                     b"Transfer-Encoding: chunked\r\n",
                     b"Content-Length: +3\r\n", b"Content-Length: \r\n"):
            got = s.raw(b"POST " + RUN.encode() + b" HTTP/1.1\r\n"
                        b"Host: localhost\r\n" + head + b"\r\n"
                        b"0\r\n\r\n" + follow)
            assert got.startswith(b"HTTP/1.1 400"), (head, got)
            # The library sends the head of its own refusals twice.
            assert b"HTTP/1.1 200" not in got, (head, got)
        got = s.raw(follow + follow.replace(b"\r\n\r\n",
                                            b"\r\nConnection: close\r\n\r\n"))
        assert got.count(b"HTTP/1.1 200") == 2


@tests.test("a target that is malformed, and a strange host, are refused")
def _():
    with Server() as s:
        for target in ("/api/agents/a%zz/run", "/api/agents/a%00b/run",
                       "/api/agents/%ff%fe/run", RUN + "?session_id=%f",
                       "/api/agents/%C0%80/run"):
            assert s.request("POST", target, "x")[0] == 400, target
        for target in ("/", "/api", "/api/", "//", "/api/agents//run",
                       "/API/health", "/api/agents/../health",
                       "/api/agents/a/b/c/d/e/f/g/h/i"):
            assert s.request("POST", target, "x")[0] in (404, 405), target
        for host, status in (("localhost", 200), ("127.0.0.1:1", 200),
                             ("[::1]", 200), ("evil.example", 421),
                             ("localhost.evil.example", 421), ("", 421)):
            got = s.raw(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\n"
                        "Connection: close\r\n\r\n".encode())
            assert got.startswith(f"HTTP/1.1 {status}".encode()), (host, got)


@tests.test("a request that is too large, or too slow, ends")
def _():
    with Server("--max-body", "1K", "--head-time", "1") as s:
        assert s.request("POST", RUN, "x" * 1025)[0] == 413
        assert s.request("POST", RUN, "x" * 1000)[0] == 200
        assert s.request("GET", "/healthz", X_A="a" * 4000)[0] == 200
        assert s.request("GET", "/healthz", X_A="a" * 40000)[0] in (413, 431)
        started = time.monotonic()
        with socket.create_connection(("127.0.0.1", s.port)) as link:
            link.settimeout(30)
            with contextlib.suppress(OSError):
                while time.monotonic() - started < 20:
                    link.sendall(b"G")
                    time.sleep(0.1)
        assert time.monotonic() - started < 15
        assert s.request("GET", "/healthz")[0] == 200


@tests.test("a body that keeps coming has time, one that does not has none")
def _():
    with Server("--head-time", "1") as s:
        def send(pieces, wait):
            """What comes for a body of so many KiB, a piece at a time."""
            got = b""
            with socket.create_connection(("127.0.0.1", s.port)) as link:
                link.sendall(f"POST {RUN} HTTP/1.1\r\nHost: localhost\r\n"
                             "Connection: close\r\nContent-Length: 30720\r\n"
                             "\r\n".encode())
                link.settimeout(30)
                with contextlib.suppress(ConnectionError):
                    for piece in pieces:
                        link.sendall(piece)
                        time.sleep(wait)
                    while chunk := link.recv(65536):
                        got += chunk
            return got
        # Three times what the head may take, at 10 KiB in a second.
        got = send(30 * [1024 * b"x"], 0.1)
        assert got.startswith(b"HTTP/1.1 200"), got[:100]
        # Less than 1 KiB in a second, and none at all.
        for pieces in (1000 * [10 * b"x"], [20480 * b"x"]):
            started = time.monotonic()
            assert send(pieces, 0.1) == b""
            assert time.monotonic() - started < 60


TYPES = {"string": str, "integer": int, "boolean": bool, "array": list,
         "object": dict, "null": type(None)}


def misfits(value, schema, api, at=""):
    """What of a value a schema of the description does not say. A member that
    its shape does not have is one, too: the description is to be whole."""
    if "$ref" in schema:
        schema = api["components"]["schemas"][schema["$ref"].split("/")[-1]]
    if "anyOf" in schema:
        ways = [misfits(value, one, api, at) for one in schema["anyOf"]]
        return [] if [] in ways else ways[0]
    if "type" not in schema:
        return []
    types = schema["type"]
    types = [types] if isinstance(types, str) else types
    if not any(isinstance(value, TYPES[name]) and (
            not isinstance(value, bool) or name == "boolean")
               for name in types):
        return [f"{at}: {value!r} is not {types}"]
    found = []
    if isinstance(value, list):
        for i, item in enumerate(value):
            found += misfits(item, schema["items"], api, f"{at}/{i}")
    if isinstance(value, dict) and schema.get("properties"):
        found += [f"{at}/{name} is missing" for name in schema["required"]
                  if name not in value]
        for name, item in value.items():
            if name in schema["properties"]:
                found += misfits(item, schema["properties"][name], api,
                                 f"{at}/{name}")
            else:
                found.append(f"{at}/{name} is not told")
    return found


def send(s, verb, place, body, part):
    """Status, type and text of a reply; of a stream until this has come."""
    link = http.client.HTTPConnection("127.0.0.1", s.port, timeout=30)
    kind = "text/plain" if isinstance(body, str) else "application/json"
    link.request(verb, place, body if isinstance(body, str) or body is None
                 else json.dumps(body),
                 {"Accept": "application/json, */*",
                  **({"Content-Type": kind} if body else {})})
    reply = link.getresponse()
    kind = reply.getheader("content-type", "").split(";")[0]
    if kind == "text/event-stream":
        text = ""
        while part not in text:
            line = reply.readline().decode()
            assert line, text
            text += line
    else:
        text = reply.read().decode()
    link.close()
    return reply.status, kind, text


def operations(api):
    return [(path, verb, operation) for path, verbs in api["paths"].items()
            for verb, operation in verbs.items()]


@tests.test("examples of the description are what the server does",
            covers=["P-51"])
def _():
    def agent(text):
        return text.replace("dafx-{agent}", "dafx-harbour").replace(
            "{agent}", "Harbour")

    for profile in ("python-1", "dotnet-1"):
        with contextlib.suppress(FileNotFoundError):
            os.remove("x.db")
        with Server("--default-agent", "Harbour", "--profile", profile) as s:
            api = json.loads(s.request("GET", "/openapi.json")[2])
            assert api["openapi"].startswith("3.1")
            shapes = set()
            for path, verb, operation in operations(api):
                example, at = operation["x-example"], (verb, path)
                forms = operation.get("requestBody", {}).get("content", {})
                body = next(iter(forms.values()), {}).get("example")
                body = body and json.loads(agent(json.dumps(body)))
                for form in forms.values():
                    if "example" in form and "schema" in form:
                        assert not misfits(body, form["schema"], api), at
                part = example.get("contains", "")
                status, kind, text = send(
                    s, verb.upper(), agent(example["path"]), body, part)
                assert status == example["status"], (at, status, text)
                assert part in text, (at, text)
                assert set(operation["responses"]) >= {"4XX", "5XX"}
                told = operation["responses"][str(status)].get("content")
                if told is None:
                    assert (kind, text) == ("", ""), (at, text)
                    continue
                assert kind in told, (at, kind, told)
                schema = told[kind].get("schema", {})
                if kind == "application/json":
                    shapes.add(json.dumps(schema))
                    found = misfits(json.loads(text), schema, api)
                    assert not found, (at, found, text)
            assert len(shapes) >= 18, shapes


@tests.test("the description says what else a request may have")
def _():
    with Server() as s:
        api = json.loads(s.request("GET", "/openapi.json")[2])
        names = {operation["operationId"]: {
            (p["in"], p["name"]) for p in operation["parameters"]}
                 for _, _, operation in operations(api)}
        for name, parameters in (
                ("agent-run", {("query", "session_id"), ("query", "thread_id"),
                               ("header", "Idempotency-Key"),
                               ("header", "x-ms-wait-for-response")}),
                ("agent-response", {("query", "wait"), ("path", "key")}),
                ("agent-stream", {("query", "wait"), ("query", "cursor"),
                                  ("query", "correlationId"),
                                  ("header", "Last-Event-ID")}),
                ("run-start", {("header", "Idempotency-Key"),
                               ("header", "Prefer"), ("header", "If-Match")}),
                ("state-put", {("header", "If-Match"),
                               ("header", "If-None-Match")}),
                ("state", {("header", "If-None-Match")})):
            assert parameters <= names[name], (name, names[name])
        assert api["paths"]["/api/agent/create"]["post"]["parameters"][0][
            "description"].startswith("The same request again runs once.")
        # A shape that nothing names would be told for nothing.
        text = json.dumps(api)
        for name in api["components"]["schemas"]:
            assert (f'schemas/{name}"' in text) != (name == "DotnetAnswer")
        # What is refused fits, too.
        shapes = api["components"]["schemas"]
        for method, path, body, shape in (
                ("GET", "/api/v1/sessions/none", None, "Problem"),
                ("POST", "/api/v1/chats", {"agents": ["Nobody"]}, "Problem"),
                ("POST", RUN, {"message": 5}, "Failure"),
                ("POST", RUN, {"message": "break it"}, "Failure")):
            status, _, text = s.request(method, path, body)
            assert status >= 400, (path, text)
            assert not misfits(json.loads(text), shapes[shape], api), text


@tests.test("nothing of a conversation is in figures and logs",
            covers=["P-50"])
def _():
    with open("bad.json", "w", encoding="utf-8") as file:
        json.dump({"replies": [
            {"after": "break", "fail": "planted-after-4711 {result}"},
            {"user": "tool", "calls": [{"name": "break", "arguments": {
                "what": "planted-argument-4711"}}]},
            {"user": "fail", "fail": "planted-failure-4711 {user}"}]}, file)
    with open("bad.yaml", "w", encoding="utf-8") as file:
        file.write("kind: Prompt\nname: Bad\nmodel: {provider: script, "
                   "connection: {file: bad.json}}\ntools:\n"
                   "- kind: command\n  name: break\n  command: [sh, -c, "
                   "'echo planted-tool-4711; echo planted-words-4711 >&2; "
                   "exit 3']\n")
    with Server("--agent=Bad=bad.yaml") as s:
        s.say("planted-prompt-4711", "planted-session-4711")
        s.request("GET", "/api/agents/Harbour/sessions/planted-session-4711")
        # Failures have texts of models, tools and callers.
        for what in ("fail", "tool"):
            status, _, text = s.request(
                "POST", "/api/agents/Bad/run?session_id=planted-session-4711",
                f"planted-{what}-4711", Idempotency_Key=f"planted-{what}-4711")
            assert status == 500 and "planted" in text, (what, text)
            assert s.request(
                "POST", "/api/v1/sessions/%40dafx-bad%40planted/runs",
                {"message": f"planted-{what}-4711"})[0] == 502
        assert s.request("POST", "/api/v1/import", '{"planted": 4711')[
            0] == 400
        # A request is counted when its reply has gone: it may be a moment
        # later than its client has it.
        end = time.monotonic() + 20
        figures = ""
        while 'route="import",method="POST",code="400"' not in figures:
            assert time.monotonic() < end
            figures = s.request("GET", "/metrics")[2]
        assert "planted" not in figures
    with open("log", encoding="utf-8") as file:
        log = file.read()
    assert "route=agent-run status=200" in log and "planted" not in log, log
    assert "route=agent-run status=500" in log, log


@tests.test("loopback is for everybody here, other addresses are refused",
            covers=["P-49"])
def _():
    with Server():
        pass
    for address in ("0.0.0.0:0", "[::]:0"):
        done = run([PERDURE, "serve", "--store", "y.db", "--agent",
                    "Harbour=agent.yaml", "--listen", address])
        assert done.status == 2 and b"--listen" in done.err, done
        assert not os.path.exists("y.db")


@tests.test("it stops in order: what waits is answered, streams end")
def _():
    with Server() as s:
        s.say("Hi")
        got = []
        stream = threading.Thread(target=lambda: got.append(
            s.request("GET", STREAM)))
        run_ = threading.Thread(target=lambda: got.append(
            s.request("POST", RUN + "?session_id=k2", "work")))
        stream.start()
        run_.start()
        while not os.path.exists("calls"):
            time.sleep(0.01)
        s.process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        go()
        stream.join()
        run_.join()
        assert s.process.wait(30) == 0
        assert sorted(status for status, _, _ in got) == [200, 200], got
        assert "It is done." in [text for _, _, text in got]


@tests.test("many streams wait beside many short requests, none forgotten")
def _():
    count = 1000
    with Server("--ping", "1000") as s:
        s.say("Hi")
        links = []
        for _ in range(count):
            link = socket.create_connection(("127.0.0.1", s.port))
            link.sendall(f"GET {STREAM} HTTP/1.1\r\nHost: localhost\r\n\r\n"
                         .encode())
            links.append(link)
        for i in range(100):
            assert s.request("GET", "/healthz")[0] == 200
        s.say("second")
        for link in links:
            link.settimeout(30)
            got = b""
            while b"You said: second" not in got:
                chunk = link.recv(65536)
                assert chunk
                got += chunk
            link.close()
        # Those whose clients have left are noticed by their pings.
        end = time.monotonic() + 20
        while "perdure_sse_subscribers 0\n" not in s.request(
                "GET", "/metrics")[2]:
            assert time.monotonic() < end
            time.sleep(0.2)


tests.finish()
