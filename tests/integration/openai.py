"""perdure agent run on model servers that misbehave. Usage: openai.py PERDURE

The server speaks just enough HTTP to be wrong in every way; the first part of
the path says in which. The key must reach it, and nothing else.
"""
import email.utils
import json
import os
import re
import socketserver
import sys
import threading
import time

from harness import Tests, run

PERDURE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1
                          else os.environ["PERDURE_BIN"])
KEY = "sk-planted-5f3a9c0de"
tests = Tests("openai")


# --- the server -------------------------------------------------------------

def delta(finish=None, **members):
    return {"id": "r1", "object": "chat.completion.chunk", "model": "tiny",
            "choices": [{"index": 0, "delta": members,
                         "finish_reason": finish}]}


def events(*chunks, done=True, end="\n\n"):
    text = "".join("data: " + json.dumps(c, ensure_ascii=False) + end
                   for c in chunks)
    return (text + ("data: [DONE]" + end if done else "")).encode()


GOOD = events(delta(role="assistant", content=""), delta(content="Hällo "),
              delta(content="there"), delta("stop"),
              {"choices": [], "usage": {"prompt_tokens": 3,
                                        "completion_tokens": 2,
                                        "total_tokens": 5}})
PART = events(delta(content="Hällo "), done=False)
CALL = events(delta(tool_calls=[{"index": 0, "id": "c1", "function": {
    "name": "weather", "arguments": '{"city": "Os'}}]), delta("tool_calls"))
# Two calls whose fragments come in turn, without ids and without an end.
PIECES = events(*(delta(tool_calls=[{"index": at, "function": function}])
                  for at, function in (
                      (0, {"name": "weather", "arguments": '{"city"'}),
                      (1, {"name": "time", "arguments": ""}),
                      (0, {"arguments": ': "Oslo"}'}),
                      (1, {"arguments": "{}"}))), delta("stop"))
WHOLE = json.dumps({"id": "r2", "object": "chat.completion", "choices": [
    {"index": 0, "message": {"role": "assistant", "content": "Hällo there"},
     "finish_reason": "stop"}]}).encode()


def error(message, **more):
    return json.dumps({"error": {"message": message, **more}}).encode()


def head(status=200, kind="text/event-stream", **more):
    lines = [f"HTTP/1.1 {status} X", "Connection: close",
             f"Content-Type: {kind}"]
    lines += [f"{name.replace('_', '-')}: {value}"
              for name, value in more.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def chunked(data, size):
    parts = [data[i:i + size] for i in range(0, len(data), size)]
    return [b"%x\r\n%s\r\n" % (len(p), p) for p in parts] + [b"0\r\n\r\n"]


def crlf(data):
    return data.replace(b"\n", b"\r\n")


STREAM = head() + GOOD
# What is sent, by the first part of the path: one answer for each request, the
# last one again and again. A list is sent piece by piece, a number is a pause.
ANSWERS = {
    "stream": [STREAM],
    "json": [head(kind="application/json; charset=utf-8",
                  Content_Length=len(WHOLE)) + WHOLE],
    "bytes": [[head(Transfer_Encoding="chunked")] + chunked(crlf(GOOD), 1)],
    "alive": [[head(), b": wait\n\n", 0.2, b":\n", GOOD]],
    "continue": [b"HTTP/1.1 100 Continue\r\nRetry-After: 1\r\n\r\n" + STREAM],
    "no-done": [head() + events(delta("stop", content="Hällo there"),
                                done=False, end="\n")],
    "hang": [[STREAM, 30]],
    "cut": [head(Content_Length=9999) + PART],
    "close": [head() + PART],
    "half-event": [head() + PART + b'data: {"choices":[{"ind'],
    "reset": [b"", STREAM],
    "early": [head(Content_Length=9999) + b": hi\n\n", STREAM],
    "slow": [head(429, Retry_After="1") + error("slow down"), STREAM],
    "slow-ms": [head(429, retry_after_ms="250") + error("slow down"), STREAM],
    "slow-long": [head(429, Retry_After="3600") + error("slow down"), STREAM],
    "slow-half": [head(429, Retry_After="0.5") + error("slow down"), STREAM],
    "slow-date": [lambda: head(503, Retry_After=email.utils.formatdate(
        time.time() + 2, usegmt=True)) + error("later"), STREAM],
    "slow-odd": [head(429, Retry_After="soon") + error("slow down"), STREAM],
    "quota": [head(429) + error("pay", code="insufficient_quota")],
    "no-retry": [head(500, x_should_retry="false") + error("never"), STREAM],
    "down": [head(500) + error("boom")],
    "bad-gateway": [head(502, kind="text/html", x_should_retry="false")
                    + b"<html>\n" + b"x" * 300],
    "mid-error": [head() + PART + events({"error": {
        "message": "the slot is gone", "code": 503}}, done=False)],
    "down-twice": [head(503) + b"<html>", head(408), STREAM],
    "big-error": [head(400, kind="text/plain") + b"no" * 20000],
    "no-type": [b"HTTP/1.1 200 X\r\nConnection: close\r\n\r\n{}"],
    "odd-type": [head(kind="application/jsonx") + b"{}"],
    "bad-json": [head(kind="application/json") + b'{"choices"'],
    "endless": [[head(), PART] + [b":" + b"x" * 999999 + b"\n"] * 70],
    "page": [head(kind="text/html") + b"<html>"],
    "empty": [head()],
    "no-choices": [head(kind="application/json") + b"{}"],
    "key": [head(401, kind="application/json")
            + error("the key " + KEY + " is wrong")],
    "key-event": [head() + PART + events({"error": {"message": "no " + KEY}})],
    "key-raw": [head(400, kind="text/plain") + b"x" * 150 + KEY.encode()],
    "key-type": [head(kind="x/" + KEY)],
    "redirect": [b"HTTP/1.1 302 X\r\nLocation: /stream/v1/chat/completions\r\n"
                 b"Content-Length: 0\r\n\r\n"],
    "long": [head(400) + error("the maximum context length is 8")],
    "utf8": [head() + PART + b'data: {"choices":[{"delta":{"content":"\xff"}}]}'
             b"\n\n"],
    "line": [[head(), PART, b"data: ", b"x" * (1 << 20), b"x" * 100, b"\n\n"]],
    "call": [head() + CALL, STREAM],
    "pieces": [head() + PIECES, STREAM],
    "usage": [head() + events(
        delta("stop", content="Hällo there"),
        {"choices": [], "usage": {"prompt_tokens": -5, "total_tokens": "many",
                                  "completion_tokens": 1e300}},
        {"choices": [], "usage": "none"})],
}


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    requests = {}  # of each part: (headers, body) of what came
    times = {}


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        line = self.rfile.readline().decode()
        if not line:
            return
        headers = {}
        for raw in iter(self.rfile.readline, b"\r\n"):
            name, _, value = raw.decode().partition(":")
            headers[name.lower()] = value.strip()
        body = self.rfile.read(int(headers.get("content-length", 0)))
        part = re.match(r"POST /([\w-]+)/v1/chat/completions ", line).group(1)
        seen = self.server.requests.setdefault(part, [])
        seen.append((headers, json.loads(body)))
        self.server.times.setdefault(part, []).append(time.monotonic())
        answers = ANSWERS[part]
        answer = answers[min(len(seen), len(answers)) - 1]
        if callable(answer):
            answer = answer()
        try:
            for piece in answer if isinstance(answer, list) else [answer]:
                if isinstance(piece, bytes):
                    self.wfile.write(piece)
                    self.wfile.flush()
                else:
                    time.sleep(piece)
        except OSError:
            pass  # the client has seen enough


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()


# --- the client --------------------------------------------------------------

def ask(part, *more, key=True):
    """Say "hi" to the server in this mood; no file and output has the key."""
    server.requests[part], server.times[part] = [], []
    url = f"http://127.0.0.1:{server.server_address[1]}/{part}/v1/"
    result = run([PERDURE, "agent", "run", "--agent", f"x=openai:{url}#tiny",
                  *(["--key-env", "MODEL_KEY"] if key else []), *more, "hi"],
                 env={"MODEL_KEY": KEY, "no_proxy": "*"}, timeout=60)
    assert KEY.encode() not in result.out + result.err, result
    for folder, _, names in os.walk("."):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                assert KEY.encode() not in file.read(), name
    for headers, body in server.requests[part]:
        assert headers.get("authorization") == ("Bearer " + KEY if key
                                                else None), headers
        assert KEY not in json.dumps(body)
    return result


def stored(session, store="desk.db"):
    """A session as it is in the store, to the byte."""
    result = run([PERDURE, "session", "export", session, "--store", store])
    assert result.status == 0, result
    return result.out


def expect_good(part, tries=1, **kwargs):
    """The answer is printed, and the conversation is in the store."""
    result = ask(part, "--store", "desk.db", "--session", part, **kwargs)
    assert result.status == 0 and result.err == b"", result
    assert result.out.decode() == "Hällo there\n", result
    assert len(server.requests[part]) == tries, server.requests[part]
    history, = json.loads(stored(part))["stateBag"].values()
    assert [(m["role"], [c["text"] for c in m["contents"]
                         if c["$type"] == "text"])
            for m in history["messages"]] == \
        [("user", ["hi"]), ("assistant", ["Hällo there"])], history


def expect_bad(part, message, tries=1):
    """It fails, and leaves the session as it was."""
    where = ("--store", "bad.db", "--session", "noon")
    if not os.path.exists("bad.db"):
        assert ask("stream", *where).status == 0
    before = stored("noon", "bad.db")
    result = ask(part, *where)
    assert result.status == 7, result
    assert message in result.err.decode(), result
    assert len(server.requests[part]) == tries, server.requests[part]
    assert stored("noon", "bad.db") == before
    return result


@tests.test("an answer is printed however it is sent")
def _():
    for part in ("stream", "json", "bytes", "alive", "continue", "no-done",
                 "usage"):
        expect_good(part)


@tests.test("a server that does not hang up keeps nobody waiting")
def _():
    begin = time.monotonic()
    expect_good("hang")
    assert time.monotonic() - begin < 20


@tests.test("the request is what servers want")
def _():
    expect_good("stream", key=False)
    headers, body = server.requests["stream"][0]
    assert headers["content-type"] == "application/json", headers
    assert "expect" not in headers and "text/event-stream" in headers["accept"]
    assert body == {"model": "tiny", "stream": True,
                    "messages": [{"role": "user", "content": "hi"}],
                    "stream_options": {"include_usage": True}}, body


@tests.test("a conversation goes on, and its usage is known")
def _():
    where = ("--store", "desk.db", "--session", "noon")
    assert ask("stream", *where).status == 0
    result = ask("stream", *where, "-o", "json")
    told = json.loads(result.out)
    assert told["text"] == "Hällo there", told
    assert told["usage"] == {"inputTokenCount": 3, "outputTokenCount": 2,
                             "totalTokenCount": 5}, told
    assert [m["content"] for m in
            server.requests["stream"][0][1]["messages"]] == \
        ["hi", "Hällo there", "hi"]


@tests.test("what may pass is asked again")
def _():
    for part in ("reset", "early", "slow-odd"):
        expect_good(part, tries=2)
    expect_good("down-twice", tries=3)
    expect_bad("down", "the model server failed (HTTP 500): boom", tries=3)


@tests.test("what a server says of another try is heeded", covers=["P-13"])
def _():
    for part, least in (("slow", 1), ("slow-ms", 0.25), ("slow-half", 0.5),
                        ("slow-date", 1)):
        expect_good(part, tries=2)
        first, second = server.times[part]
        assert second - first >= least, (part, server.times[part])
    expect_bad("no-retry", "never")  # x-should-retry: false
    expect_bad("slow-long", "asks to slow down (HTTP 429): slow down")


@tests.test("what will not pass is not asked again", covers=["P-14"])
def _():
    expect_bad("quota", "no quota left (HTTP 429): pay")
    expect_bad("big-error", "refused the request (HTTP 400): nonono")
    expect_bad("long", "too long for the model (HTTP 400)")
    expect_bad("redirect", "refused the request (HTTP 302)")


@tests.test("the key is not repeated after a server")
def _():
    for part in ("key", "key-event", "key-raw", "key-type"):
        result = ask(part)
        assert result.status == 7, result
        assert b"sk-" not in result.err, result
    assert "the key *** is wrong" in expect_bad(
        "key", "did not accept the key (HTTP 401)").err.decode()


@tests.test("half an answer is a failure, and nothing of it is stored",
            covers=["P-3"])
def _():
    for part in ("cut", "close", "half-event"):  # model_truncated
        result = expect_bad(part, "ends in the middle")
        assert result.out.decode() == "Hällo \n"  # the user has seen it


@tests.test("an error in a stream is the server's, with its words",
            covers=["P-15"])
def _():
    result = expect_bad("mid-error", "the model server failed (HTTP 503): "
                        "the slot is gone")
    assert result.out.decode() == "Hällo \n"


@tests.test("a page of a proxy is shown, with its status", covers=["P-16"])
def _():
    result = expect_bad("bad-gateway", "the model server failed (HTTP 502): "
                        "<html> " + "x" * 193)
    assert b"x" * 194 not in result.err, result


@tests.test("what cannot be understood is a failure")
def _():
    # model_protocol: once more while nothing was printed
    expect_bad("page", "the model server answers with 'text/html'", tries=2)
    expect_bad("no-type", "the model server answers with ''", tries=2)
    expect_bad("odd-type", "answers with 'application/jsonx'", tries=2)
    expect_bad("bad-json", "is not valid JSON: unexpected_end", tries=2)
    expect_bad("endless", "has more than 67108864 bytes")
    expect_bad("empty", "has no choices", tries=2)
    expect_bad("no-choices", "has no choices", tries=2)
    expect_bad("utf8", "is not valid JSON: bad_utf8")
    expect_bad("line", "a line of the stream")


@tests.test("a server that is not there is model_network")
def _():
    result = run([PERDURE, "agent", "run", "--agent",
                  "x=openai:http://127.0.0.1:1/v1#tiny", "hi"],
                 env={"no_proxy": "*"})
    assert result.status == 7, result
    assert "cannot be reached" in result.err.decode(), result


@tests.test("half a tool call is answered with an error that the model reads")
def _():
    result = ask("call", "--store", "desk.db", "--session", "noon")
    assert result.status == 0 and result.out.decode() == "Hällo there\n", result
    assert b"calls weather" in result.err, result
    _, call, reply = server.requests["call"][1][1]["messages"]
    assert call["tool_calls"][0]["function"]["arguments"] == '{"city": "Os'
    assert reply["role"] == "tool" and reply["tool_call_id"] == "c1", reply
    assert reply["content"].startswith("Error: "), reply
    # The text that was no JSON is stored too, and sent again.
    assert ask("stream", "--store", "desk.db", "--session",
               "noon").status == 0
    assert server.requests["stream"][0][1]["messages"][1:3] == [call, reply]


@tests.test("calls in pieces and without ids are stored with their results")
def _():
    result = ask("pieces", "--store", "desk.db", "--session", "noon")
    assert result.status == 0 and result.out.decode() == "Hällo there\n", result
    history, = json.loads(stored("noon"))["stateBag"].values()
    _, called, results, said = history["messages"]
    calls = [c for c in called["contents"] if c["$type"] == "functionCall"]
    assert [(c["name"], c["arguments"]) for c in calls] == \
        [("weather", {"city": "Oslo"}), ("time", {})], calls
    ids = [c["callId"] for c in calls]
    assert len(set(ids)) == 2 and all(i.startswith("call_") for i in ids), ids
    assert [c["callId"] for c in results["contents"]] == ids, results
    sent = server.requests["pieces"][1][1]["messages"]
    assert [c["id"] for c in sent[1]["tool_calls"]] == ids, sent
    assert [m["tool_call_id"] for m in sent[2:]] == ids, sent
    assert said["role"] == "assistant", said


@tests.test("a session that became durable says the same to the model")
def _():
    data = os.path.join(os.path.dirname(os.path.dirname(
        os.path.abspath(__file__))), "data")
    for edition in ("dotnet", "python"):
        at = ["--store", edition + ".db"]
        client = os.path.join(data, edition, "sessions",
                              "session-tool-loop.json")
        for words in (["import", *at, "--id", "noon", client],
                      ["convert", "--strict", "-s", "state", client, edition],
                      ["import", *at, "--id", "@dafx-x@noon", edition]):
            result = run([PERDURE, "session", *words])
            assert result.status == 0, result
        sent = []
        for more in (["--session", "noon"],
                     ["--durable", "--session", "@dafx-x@noon"]):
            assert ask("stream", *at, *more).status == 0
            sent.append(server.requests["stream"][0][1]["messages"])
            for call in sent[-1][1]["tool_calls"]:  # whatever their spaces
                call["function"]["arguments"] = json.loads(
                    call["function"]["arguments"])
        assert len(sent[0]) >= 5 and sent[0] == sent[1], sent


@tests.test("addresses and keys that cannot be used are refused")
def _():
    for spec, more, status in (
            ("x=openai:http://h", (), 2), ("x=openai:", (), 2),
            ("x=openai:ftp://h#m", (), 6), ("x=openai:http://a@h#m", (), 6),
            ("x=openai:http://h#m", ("--key-env", "NO_SUCH"), 2)):
        result = run([PERDURE, "agent", "run", "--agent", spec, *more, "hi"])
        assert result.status == status, (spec, result)


tests.finish()
