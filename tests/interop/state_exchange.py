"""State documents to and fro between us and the Python library.

The library writes what we read and reads what we write, for every kind of
content. What it loses or changes is asserted exactly, so that a release that
does otherwise is noticed. Usage: TEST STATE-TOOL
"""
import datetime
import json
import logging
import pathlib
import subprocess
import sys
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import reader_30_lines  # noqa: E402
import record  # noqa: E402
from agent_framework import AgentResponse, Content, Message  # noqa: E402
from agent_framework_durabletask._durable_agent_state import (  # noqa: E402
    DurableAgentState, DurableAgentStateRequest, DurableAgentStateResponse)
from agent_framework_durabletask._models import RunRequest  # noqa: E402

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
tests = record.Tests("interop-state")
TOOL = sys.argv[1]
STATE = ROOT / "tests/data/state"


# --- both sides --------------------------------------------------------------

def ours(*jobs):
    """The answers of the tool."""
    lines = "".join(json.dumps(job) + "\n" for job in jobs)
    done = subprocess.run([TOOL], input=lines.encode(), stdout=subprocess.PIPE,
                          check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def read(text):
    answer, = ours({"do": "read", "doc": text})
    assert "error" not in answer, answer
    return answer


def trip(text):
    """What the library makes of a document when it loads and stores it."""
    return DurableAgentState.from_json(text).to_json()


def exact(text):
    """JSON with numbers as their spelling, so that a change of it is seen."""
    return json.loads(text, parse_int=lambda t: f"number {t}",
                      parse_float=lambda t: f"number {t}",
                      parse_constant=lambda t: f"number {t}")


def differences(before, after, pointer=""):
    """Every part that is gone, came or changed, as one line each."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in before:
            if name in after:
                yield from differences(before[name], after[name],
                                       f"{pointer}/{name}")
            else:
                yield f"{pointer}/{name} lost"
        for name in after:
            if name not in before:
                yield f"{pointer}/{name} added {json.dumps(after[name])}"
    elif isinstance(before, list) and isinstance(after, list) \
            and len(before) == len(after):
        for i, (old, new) in enumerate(zip(before, after)):
            yield from differences(old, new, f"{pointer}/{i}")
    elif before != after:
        yield f"{pointer} {json.dumps(before)} -> {json.dumps(after)}"


def losses(text):
    return list(differences(exact(text), exact(trip(text))))


# --- the library writes, we read ------------------------------------------------

CALL = Content.from_function_call("call-1", "locks", arguments='{"canal": 3}')
# What the library is given; what we read of it.
WRITTEN = [
    (Content.from_text("hé \u0000 \U0001F642"),
     {"kind": "text", "text": "hé \u0000 \U0001F642"}),
    (Content.from_text_reasoning(text="hm"), "text_reasoning"),
    (Content.from_data(b"Hi", "text/plain"),
     {"kind": "data", "uri": "data:text/plain;base64,SGk=",
      "mediaType": "text/plain"}),
    (Content.from_uri("https://example.org/a", media_type="image/png"),
     {"kind": "uri", "uri": "https://example.org/a", "mediaType": "image/png"}),
    (Content.from_error(message="m", error_code="c", error_details="d"),
     {"kind": "error", "message": "m", "errorCode": "c", "details": "d"}),
    (Content.from_error(message="m"), {"kind": "error", "message": "m"}),
    (CALL, {"kind": "functionCall", "callId": "call-1", "name": "locks",
            "arguments": {"canal": 3}}),
    (Content.from_function_call("call-2", "f", arguments="not json"),
     {"kind": "functionCall", "callId": "call-2", "name": "f",
      "arguments": {}}),
    (Content.from_function_call("call-3", "f", arguments="[1, 2]"),
     {"kind": "functionCall", "callId": "call-3", "name": "f"}),
    (Content.from_function_result("call-1", result={"x": 1}),
     {"kind": "functionResult", "callId": "call-1", "result": '{"x": 1}'}),
    (Content.from_function_result("call-1", result="plain"),
     {"kind": "functionResult", "callId": "call-1", "result": "plain"}),
    (Content.from_hosted_file("file-1"),
     {"kind": "hostedFile", "fileId": "file-1"}),
    (Content.from_hosted_vector_store("store-1"),
     {"kind": "hostedVectorStore", "vectorStoreId": "store-1"}),
    (Content.from_usage({"input_token_count": 1, "output_token_count": 2,
                         "total_token_count": 3,
                         "cache_read_input_token_count": 4}),
     {"kind": "usage", "usage": {
         "inputTokenCount": 1, "outputTokenCount": 2, "totalTokenCount": 3,
         "extensionData": {"cache_read_input_token_count": 4}}}),
    (Content.from_function_approval_request("a-1", CALL),
     "function_approval_request"),
    (Content.from_function_approval_response(True, "a-1", CALL),
     "function_approval_response"),
    (Content.from_mcp_server_tool_call("m-1", "search", server_name="s"),
     "mcp_server_tool_call"),
    (Content.from_mcp_server_tool_result("m-1", output="found"),
     "mcp_server_tool_result"),
    (Content.from_code_interpreter_tool_call(call_id="i-1"),
     "code_interpreter_tool_call"),
    (Content.from_code_interpreter_tool_result(call_id="i-1"),
     "code_interpreter_tool_result"),
    (Content.from_image_generation_tool_call(image_id="g-1"),
     "image_generation_tool_call"),
    (Content.from_image_generation_tool_result(image_id="g-1"),
     "image_generation_tool_result"),
    (Content.from_search_tool_call("q-1", tool_name="web_search"),
     "search_tool_call"),
    (Content.from_search_tool_result("q-1", tool_name="web_search"),
     "search_tool_result"),
    (Content.from_shell_tool_call(call_id="s-1", commands=["ls"]),
     "shell_tool_call"),
    (Content.from_shell_tool_result(call_id="s-1"), "shell_tool_result"),
    (Content.from_shell_command_output(stdout="a"), "shell_command_output"),
    (Content.from_oauth_consent_request("https://example.org/c"),
     "oauth_consent_request"),
    (Content.from_computer_tool_call(id="u-1", call_id="u-1",
                                     actions=[{"type": "click"}]),
     "computer_tool_call"),
    (Content.from_computer_tool_result(call_id="u-1"), "computer_tool_result"),
]


def library_document(contents):
    """A turn as the library writes it."""
    state = DurableAgentState()
    state.data.conversation_history += [
        DurableAgentStateRequest.from_run_request(RunRequest(
            message="hello", correlation_id="turn-1",
            created_at=datetime.datetime(2026, 3, 1, 10, 0, 0, 500000,
                                         datetime.timezone.utc))),
        DurableAgentStateResponse.from_run_response("turn-1", AgentResponse(
            messages=[Message(role="assistant", contents=contents,
                              author_name="Keeper")],
            created_at="2026-03-01T10:00:02+00:00",
            usage_details={"input_token_count": 5,
                           "cache_read_input_token_count": 4}))]
    return state.to_json()


@tests.test("library: has no kind of content that is not exchanged here")
def _():
    made = {content.type for content, _ in WRITTEN}
    there = {name.removeprefix("from_") for name in dir(Content)
             if name.startswith("from_") and name != "from_dict"}
    assert there == made, there ^ made


@tests.test("we: read every kind of content that the library writes")
def _():
    text = library_document([content for content, _ in WRITTEN])
    request, response = read(text)["entries"]
    assert (request["kind"], request["createdAt"]) == \
        ("request", "2026-03-01T10:00:00.5+00:00"), request
    assert request["messages"] == [
        {"role": "user", "author": None,
         "createdAt": "2026-03-01T10:00:00.5+00:00",
         "contents": [{"kind": "text", "text": "hello"}]}], request
    assert response["kind"] == "response", response
    assert response["usage"]["extensionData"] == \
        {"cache_read_input_token_count": 4}, response
    message, = response["messages"]
    assert (message["role"], message["author"]) == ("assistant", "Keeper")
    assert len(message["contents"]) == len(WRITTEN)
    for got, (given, wanted) in zip(message["contents"], WRITTEN):
        if isinstance(wanted, str):  # wrapped: the library's own item
            assert got["kind"] == "unknown", (wanted, got)
            assert got["content"]["type"] == wanted == given.type, (wanted, got)
        else:
            assert got == wanted, (wanted, got)


@tests.test("we: leave every byte of the library's document when we append")
def _():
    text = library_document([content for content, _ in WRITTEN])
    entry = {"$type": "request", "correlationId": "turn-2",
             "createdAt": "2026-03-01T11:00:00+00:00", "messages": []}
    answer, = ours({"do": "append", "doc": text, "entry": entry})
    assert text.endswith("]}}"), text[-10:]
    assert answer["doc"].startswith(text[:-3]), answer
    assert answer["doc"].endswith("]}}"), answer
    assert json.loads(answer["doc"])["data"]["conversationHistory"][2] == entry
    assert DurableAgentState.from_json(answer["doc"]).message_count == 3


# --- we write, the library reads ------------------------------------------------

# What the library's own types say of each content that we make.
READ_BACK = [
    ("text", {"text": "some text"}),
    ("text_reasoning", {"text": "some text"}),
    ("data", {"uri": "data:text/plain;base64,SGk=",
              "media_type": "text/plain"}),
    ("uri", {"uri": "https://example.org/a", "media_type": "text/plain"}),
    ("error", {"message": "some text", "error_code": "some text",
               "error_details": "some text"}),
    ("function_call", {"call_id": "some text", "name": "some text",
                       "arguments": '{"pier": 7}'}),
    ("function_result", {"call_id": "some text", "result": '{"open": true}'}),
    ("hosted_file", {"file_id": "some text"}),
    ("hosted_vector_store", {"vector_store_id": "some text"}),
    ("usage", {"usage_details": {"input_token_count": 1,
                                 "output_token_count": 2,
                                 "total_token_count": 3}}),
    ("shell_tool_call", {"call_id": "k"}),
]


@tests.test("library: reads every kind of content that we make")
def _():
    made, = ours({"do": "make"})
    state = DurableAgentState.from_json(made["doc"])
    request, response = state.data.conversation_history
    assert state.schema_version == "1.1.0"
    assert request.orchestration_id == "o-1" and request.response_type == "text"
    message, = response.messages
    contents = message.to_chat_message().contents
    assert len(contents) == len(READ_BACK), contents
    for content, (kind, members) in zip(contents, READ_BACK):
        assert content.type == kind, (kind, content.type)
        for name, value in members.items():
            assert getattr(content, name) == value, (kind, name, content)
    answer = state.try_get_agent_response("made-1")
    assert answer is not None and answer.usage_details["total_token_count"] == 3


@tests.test("library: loses of what we make only what it has no member for")
def _():
    made, = ours({"do": "make"})
    entry = "/data/conversationHistory/1"
    contents = f"{entry}/messages/0/contents"
    assert losses(made["doc"]) == [
        f"{contents}/2/name lost",
        f"{contents}/7/mediaType lost",
        f"{contents}/7/name lost",
    ], losses(made["doc"])


# --- what is lost -----------------------------------------------------------------

def document(entry="", data="", root=""):
    return ('{"schemaVersion":"1.1.0"%s,"data":{"conversationHistory":[%s]%s}}'
            % (root, entry, data))


RESPONSE = ('{"$type":"response","correlationId":"c","createdAt":'
            '"2026-01-01T00:00:00+00:00","messages":[%s]%s}')
REQUEST = RESPONSE.replace("response", "request", 1)


def message(contents, more=""):
    return '{"role":"assistant","contents":[%s]%s}' % (contents, more)


def content(text):
    return document(RESPONSE % (message(text), ""))


ENTRY = "/data/conversationHistory/0"
CONTENT = f"{ENTRY}/messages/0/contents/0"
LOST = [
    ("unknown members, save the named ones", document(
        RESPONSE % (message('{"$type":"text","text":"t","x":1}',
                            ',"x":1,"extensionData":{"m":1}'),
                    ',"usage":{"inputTokenCount":1,"outputTokenCount":1,'
                    '"totalTokenCount":1,"x":1,"extensionData":{"u":1}},"x":1,'
                    '"extensionData":{"e":1}'),
        ',"x":1,"extensionData":{"kept":1}', ',"x":1'),
     ["/x lost", f"{ENTRY}/messages/0/x lost",
      f"{ENTRY}/messages/0/extensionData lost", f"{CONTENT}/x lost",
      f"{ENTRY}/usage/x lost", f"{ENTRY}/x lost",
      f"{ENTRY}/extensionData lost", "/data/x lost"]),
    ("the deadline", document(
        "", ',"expirationTimeUtc":"2026-01-01T00:00:00Z"'),
     ["/data/expirationTimeUtc lost"]),
    ("the mark of a failed response", document(
        RESPONSE % ("", ',"isError":true')), [f"{ENTRY}/isError lost"]),
    ("nulls of a request, and usage that is empty", document(
        REQUEST % ("", ',"orchestrationId":null,"responseType":null') + "," +
        RESPONSE % ("", ',"usage":{}')),
     [f"{ENTRY}/orchestrationId lost", f"{ENTRY}/responseType lost",
      "/data/conversationHistory/1/usage lost"]),
    ("an unknown content, all of it", content('{"$type":"hologram","n":1}'),
     [f'{CONTENT}/$type "hologram" -> "unknown"', f"{CONTENT}/n lost",
      f"{CONTENT}/content added {{}}"]),
    ("digits of dates, and their spelling", document(
        RESPONSE.replace("00:00:00+00:00", "00:00:00.1234567Z") % ("", "")),
     [f'{ENTRY}/createdAt "2026-01-01T00:00:00.1234567Z" -> '
      '"2026-01-01T00:00:00.123456+00:00"']),
    ("the spelling of numbers", content(
        '{"$type":"functionResult","callId":"c","result":[1.10,-0,'
        '12345678901234567890.10,1e400,9007199254740993.0]}'),
     [f'{CONTENT}/result/0 "number 1.10" -> "number 1.1"',
      f'{CONTENT}/result/1 "number -0" -> "number 0"',
      f'{CONTENT}/result/2 "number 12345678901234567890.10" -> '
      '"number 1.2345678901234567e+19"',
      f'{CONTENT}/result/3 "number 1e400" -> "number Infinity"',
      f'{CONTENT}/result/4 "number 9007199254740993.0" -> '
      '"number 9007199254740992.0"']),
    ("nothing, but nulls come in", content(
        '{"$type":"error"},{"$type":"data","uri":"data:,x"},'
        '{"$type":"functionResult","callId":"c"},{"$type":"reasoning"}'),
     [f"{CONTENT}/message added null", f"{CONTENT}/errorCode added null",
      f"{CONTENT}/details added null",
      f"{CONTENT[:-1]}1/mediaType added null",
      f"{CONTENT[:-1]}2/result added null",
      f"{CONTENT[:-1]}3/text added null"]),
]


@tests.test("library: loses just what the page on readers says")
def _():
    for what, text, wanted in LOST:
        found = losses(text)
        assert sorted(found) == sorted(wanted), (what, found)
        assert "error" not in ours({"do": "read", "doc": text})[0], what


@tests.test("library: drops null entries, messages and contents")
def _():
    text = document("null," + RESPONSE % ("null," + message("null"), ""))
    after, = json.loads(trip(text))["data"]["conversationHistory"]
    assert after["messages"] == [{"role": "assistant", "contents": []}], after
    assert len(read(text)["entries"]) == 2


@tests.test("library: takes a session without a version for a new one")
def _():
    text = '{"data":{"conversationHistory":[%s]}}' % (RESPONSE % ("", ""))
    assert json.loads(trip(text)) == {
        "schemaVersion": "1.1.0", "data": {"conversationHistory": []}}
    assert ours({"do": "read", "doc": text}) == \
        [{"error": "schema_version_missing"}]


@tests.test("library: works on a document of another major version")
def _():
    text = document().replace("1.1.0", "2.0.0")
    assert json.loads(trip(text))["schemaVersion"] == "2.0.0"
    assert ours({"do": "read", "doc": text}) == \
        [{"error": "schema_version_unsupported"}]


@tests.test("library: fails on null lists and unknown entries, which we keep")
def _():
    for text in (document().replace("[]", "null"),
                 document(RESPONSE.replace("[%s]", "null%s") % ("", "")),
                 document('{"$type":"annotation"}')):
        try:
            trip(text)
        except Exception:  # whatever it raises
            pass
        else:
            raise AssertionError(f"the library takes {text}")
        read(text)


# --- a reader made from the page ----------------------------------------------------

CONVERSATIONS = {
    "sample-a": ["user: Is pier 7 open?",
                 'HarbourAgent: calls pier_status({"pier": 7})',
                 'HarbourAgent: gets {"open": true}',
                 "HarbourAgent: Yes, it is open."],
    "sample-b": ["user: hi", "assistant: fails: quota exceeded"],
    "sample-c": ["user: [hologram]", "user: look"],
    "data-null": [],
    "history-null": [],
    "hostile-type-last": ["user: late"],
    "layout-crlf": ["user: Which lock is free?", "LockKeeper: Lock 3."],
    "version-1.2.0-successor": ["user: tide?", "assistant: rising"],
}


@tests.test("reader of 30 lines: prints conversations")
def _():
    script = ROOT / "tests/interop/reader_30_lines.py"
    assert len(script.read_text(encoding="utf-8").splitlines()) <= 30
    for name, wanted in CONVERSATIONS.items():
        text = (STATE / f"{name}.json").read_bytes()
        done = subprocess.run([sys.executable, str(script)], input=text,
                              stdout=subprocess.PIPE, check=True)
        assert done.stdout.decode().splitlines() == wanted, (name, done.stdout)
    # Half a surrogate pair can be shown; a session without a state is empty.
    half = (ROOT / "tests/data/python/durable/14-non-ascii.json").read_bytes()
    for text, wanted in ((half, True), (b"null", False)):
        done = subprocess.run([sys.executable, str(script)], input=text,
                              stdout=subprocess.PIPE, check=True)
        assert bool(done.stdout.decode()) == wanted, done.stdout


@tests.test("reader of 30 lines: reads what we and the library write")
def _():
    made, = ours({"do": "make"})
    lines = list(reader_30_lines.conversation(json.loads(made["doc"])))
    assert len(lines) == 11 and lines[0] == "Harbour: some text", lines
    assert lines[5] == 'Harbour: calls some text({"pier": 7})', lines
    text = library_document([content for content, _ in WRITTEN])
    lines = list(reader_30_lines.conversation(json.loads(text)))
    assert len(lines) == 1 + len(WRITTEN) and lines[0] == "user: hello", lines


@tests.test("reader of 30 lines: refuses another major version")
def _():
    for name in ("version-2.0.0-successor", "version-0.9.0"):
        state = json.loads((STATE / f"{name}.json").read_bytes())
        try:
            list(reader_30_lines.conversation(state))
        except SystemExit as end:
            assert "is not for this reader" in str(end)
        else:
            raise AssertionError(name)


tests.finish()
