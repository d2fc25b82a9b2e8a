"""perdure agent check and agent run on definition files.

Usage: agent_file.py PERDURE
"""
import http.server
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

from harness import Tests, run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PERDURE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1
                          else os.environ["PERDURE_BIN"])
KEY = "sk-planted-81c2d7"
tests = Tests("agent-file")


def write(name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text if isinstance(text, str) else json.dumps(text))


def agent(*args, status=0, **more):
    result = run([PERDURE, "agent", *args], **more)
    assert result.status == status, result
    return result


def page_blocks():
    path = os.path.join(ROOT, "docs", "formats", "agent-file.md")
    with open(path, encoding="utf-8") as file:
        return re.findall(r"```yaml\n(.*?)```", file.read(), re.S)


SUM = {"replies": [
    {"user": "sum", "calls": [{"name": "sum",
                               "arguments": {"terms": [2, 40]}}]},
    {"after": "sum", "text": "It is {result}."}, {"text": "Hm."}]}


@tests.test("the example of the page runs, with its tool, on a session")
def _():
    os.mkdir("agents")
    write("agents/clerk.yaml", page_blocks()[0])
    write("agents/replies.json", SUM)
    result = agent("check", "agents/clerk.yaml")
    last = result.out.decode().splitlines()[-1]
    assert last == ("agents/clerk.yaml: good: agent clerk, provider script, "
                    "tools sum"), last
    at = ["--store", "a.db", "--session", "s", "--agent",
          "desk=agents/clerk.yaml"]
    result = agent("run", *at, "What is the sum?")
    assert result.out == b"It is 42.\n", result
    assert result.err == b'perdure: calls sum({"terms":[2,40]})\n', result
    got = json.loads(agent("run", *at, "-o", "json", "Thanks").out)
    assert (got["agent"], got["text"]) == ("desk", "Hm."), got


@tests.test("the two schemas of the page are the same")
def _():
    forms = []
    for block in page_blocks()[1:]:
        tool = "".join("  " + line for line in block.splitlines(True))
        write("a.yaml", "kind: Prompt\nmodel: {provider: script, connection: "
              "{file: r.json}}\ntools:\n- kind: command\n  name: t\n  command: "
              "[cat]\n" + tool)
        # What breaks the schema does not reach the program.
        write("r.json", {"replies": [
            {"after": "t", "text": "{result}"},
            {"user": "bad", "calls": [{"name": "t", "arguments": {}}]},
            {"calls": [{"name": "t", "arguments": {"city": "Oslo"}}]}]})
        forms.append([agent("run", "--agent", "a=a.yaml", say).out
                      for say in ("bad", "good")])
    assert forms[0] == forms[1] and len(forms) == 2, forms
    assert forms[0][1] == b'{"city":"Oslo"}\n', forms
    assert b"Argument parsing failed" in forms[0][0], forms


@tests.test("check: names what is not used, here and elsewhere, by line",
            covers=["P-69", "P-70"])
def _():
    write("a.yaml", """\
kind: Prompt
name: yes
displayName: A
metadata: {team: x}
additionalInstructions: x
inputSchema: {}
template: {}
size: 5
model:
  id: m
  provider: OpenAI
  options: {topK: 5}
""")
    result = agent("check", "a.yaml")
    got = [line.split(": ")[:2] + [line.split("'")[1]]
           for line in result.out.decode().splitlines()[:-1]]
    places = [[2, 7, "warning", "yes"], [3, 1, "warning", "displayName"],
              [4, 1, "info", "metadata"],
              [5, 1, "warning", "additionalInstructions"],
              [6, 1, "warning", "inputSchema"], [7, 1, "warning", "template"],
              [8, 1, "warning", "size"], [11, 13, "info", "OpenAI"],
              [12, 13, "warning", "topK"]]
    assert sorted(got) == sorted(
        ["a.yaml:%d:%d" % (line, column), severity, name]
        for line, column, severity, name in places), got
    result = json.loads(agent("check", "-o", "json", "a.yaml").out)
    assert result["good"] and result["name"] == "yes", result
    assert len(result["notices"]) == len(places), result
    kept = result["definition"]
    assert kept["metadata"] == {"team": "x"} and kept["size"] == 5, kept
    # A run tells of warnings only, and not of them if it is to be quiet.
    write("b.yaml", "kind: Prompt\nsize: 1\nmetadata: {}\nmodel: {provider: "
          "script, connection: {file: r.json}}\n")
    write("r.json", {"replies": [{"text": "ok"}]})
    result = agent("run", "--agent", "b=b.yaml", "hi")
    assert result.err == (b"perdure: b.yaml:2:1: 'size': not used, and the "
                          b"Python loader refuses it\n"), result
    assert agent("run", "-q", "--agent", "b=b.yaml", "hi").err == b""


@tests.test("check: says where a file cannot be used", covers=["P-66"])
def _():
    rows = [("", "1:1: there is nothing in the file"),
            ("- a\n", "1:1: a definition is a map: it begins with 'kind: "
             "Prompt'"),
            ("name: a\n", "1:1: 'kind' is missing: write kind: Prompt"),
            ("name: ä\nkind: Workflow\n", "2:7: a definition is of kind "
             "Prompt, not 'Workflow'"),
            ("kind: Prompt\n---\nkind: Prompt\n", "2:1: a second document "
             "begins; a file has one"),
            ("kind: Prompt\ntools:\n- {kind: http, name: look}\nmodel: "
             "{provider: script, connection: {file: r.json}}\n",
             "3:10: a tool is of kind function or command, not 'http'")]
    write("r.json", {"replies": [{"text": "ok"}]})
    for text, why in rows:
        write("a.yaml", text)
        for args in (["check", "a.yaml"], ["run", "--agent", "a=a.yaml", "x"]):
            result = agent(*args, status=6)
            assert result.err.decode() == "perdure: a.yaml:%s\n" % why, result
        line, column = map(int, why.split(":")[:2])
        got = json.loads(agent("check", "-o", "jsonl", "a.yaml", status=6).out)
        assert not got["good"], got
        assert (got["error"]["line"], got["error"]["column"]) == (
            line, column), got
    write("a.yaml", "#" * (1 << 20) + "\nkind: Prompt\n")
    result = agent("check", "a.yaml", status=6)
    assert result.err == (b"perdure: a.yaml: a definition has at most 1048576 "
                          b"bytes\n"), result


@tests.test("check: takes several files, and gives the highest status")
def _():
    write("r.json", {"replies": [{"text": "ok"}]})
    write("a.yaml", "kind: Prompt\nname: a\nmodel: {provider: script, "
          "connection: {file: r.json}}\n")
    write("b.yaml", "kind: none\n")
    result = agent("check", "-o", "raw", "a.yaml", "-", status=0,
                   stdin=b"kind: Prompt\nmodel: {id: m, provider: OpenAI}\n")
    assert result.out == b"a\n\n", result
    result = agent("check", "-q", "a.yaml", "b.yaml", "no.yaml", status=6)
    assert result.out.count(b"\n") == 2, result  # the notices of a.yaml
    assert b"no.yaml: No such file" in result.err, result
    assert agent("check", "no.yaml", status=3)
    got = json.loads(agent("check", "-o", "json", "a.yaml", "b.yaml",
                           status=6).out)
    assert [row["good"] for row in got] == [True, False], got
    result = agent("check", "-", stdin=b"kind: Prompt\nmodel: {id: m, "
                   b"provider: OpenAI, apiType: Chat}\n")
    assert result.out == (b"standard input: good: agent without a name, "
                          b"model m, provider OpenAI\n"), result


@tests.test("run: a wrong --agent or --key-env is an error of usage")
def _():
    for args in (["--agent", "a="], ["--agent", "=a"], ["--agent", "a"], [],
                 ["--agent", "a=script:"],
                 ["--agent", "a=a.yaml", "--key-env", "HOME"]):
        agent("run", *args, "hi", status=2)
    agent("run", "--agent", "a=no.yaml", "hi", status=3)


class Handler(http.server.BaseHTTPRequestHandler):
    seen = []

    def do_POST(self):  # noqa: N802
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append((self.headers["Authorization"], json.loads(body)))
        text = json.dumps({"choices": [{"index": 0, "finish_reason": "stop",
                                        "message": {"role": "assistant",
                                                    "content": "ok"}}]})
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *args):
        pass


@tests.test("a key reaches the server, and nothing else", covers=["P-68"])
def _():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = "http://127.0.0.1:%d/v1" % server.server_address[1]
    write("key.txt", KEY + "\n")
    write("a.yaml", "kind: Prompt\nsize: =Env.THE_KEY\ninstructions: Be "
          "brief.\nmodel:\n  id: m\n  provider: OpenAI\n  connection:\n    "
          "endpoint: =Env.THE_URL\n    apiKey: =Env.THE_KEY\n  options: "
          "{temperature: 0.50, topP: 1}\n")
    with open("a.yaml", encoding="utf-8") as file:
        text = file.read()
    write("b.yaml", text.replace("apiKey: =Env.THE_KEY", "keyFile: key.txt"))
    env = {"THE_KEY": KEY, "THE_URL": url}
    said = b""
    for name in ("a.yaml", "b.yaml"):
        at = ["--agent", "x=" + name, "--store", "a.db", "--session", "s"]
        result = agent("run", *at, "hi", env=env)
        assert result.out == b"ok\n", result
        for form in ("table", "json", "raw"):
            more = agent("check", "-o", form, name, env=env)
            said += more.out + more.err
        said += result.out + result.err
    assert [row[0] for row in Handler.seen] == ["Bearer " + KEY] * 2
    for _, body in Handler.seen:
        assert (body["temperature"], body["top_p"], body["model"]) == (
            0.5, 1, "m"), body
        assert "=Env" not in json.dumps(body) and KEY not in json.dumps(body)
    for name in os.listdir("."):
        if name != "key.txt":
            with open(name, "rb") as file:
                said += file.read()
    assert KEY.encode() not in said
    # What is not set is named; what breaks a rule is not shown.
    result = agent("check", "a.yaml", status=6)
    assert b"8:15: the variable 'THE_URL' is not set" in result.err, result
    result = agent("check", "a.yaml", status=6,
                   env={"THE_KEY": KEY + " x", "THE_URL": url})
    assert b"the key must be printable ASCII" in result.err, result
    assert KEY.encode() not in result.err + result.out, result
    server.shutdown()


# --- approvals ---------------------------------------------------------------

DESK = """kind: Prompt
model: {provider: script, connection: {file: desk.json}}
tools:
- {kind: command, name: pay, approvalMode: always, command: [tee, -a, paid]}
- {kind: command, name: rate, command: [echo, "7"]}
- {kind: function, name: theirs}
"""
WAITS = 'perdure: %s waits for --approve or --reject: pay({"to":"%s"})\n'


def start_desk():
    write("desk.yaml", DESK)
    write("desk.json", {"replies": [
        {"user": "both", "calls": [
            {"id": "a", "name": "pay", "arguments": {"to": "Ann"}},
            {"id": "b", "name": "pay", "arguments": {"to": "Bo"}},
            {"id": "c", "name": "rate", "arguments": {}}]},
        {"user": "theirs", "calls": [{"name": "theirs"}]},
        {"after": "pay", "text": "Done: {result}."}, {"text": "Hm."}]})
    for name in os.listdir("."):
        if name.startswith("d.db") or name == "paid":
            os.remove(name)
    return ["run", "-q", "--agent", "desk=desk.yaml", "--store", "d.db",
            "--session", "s"]


def paid():
    return open("paid", encoding="utf-8").read() if os.path.exists(
        "paid") else ""


@tests.test("run: stops for approval, and another process goes on")
def _():
    at = start_desk()
    result = agent(*at, "pay both")
    assert result.out == b"" and paid() == "", result
    assert result.err.decode() == (
        WAITS % ("ficc_a", "Ann")
        + WAITS % ("ficc_b", "Bo")), result
    result = agent(*at, "--approve", "ficc_a")
    assert result.out == b'Done: {"to":"Ann"}.\n', result
    assert paid() == '{"to":"Ann"}', paid()
    # Once: it does not wait any more, and the other one does.
    result = agent(*at, "--approve", "ficc_a", status=3)
    assert result.err.decode() == (
        WAITS % ("ficc_b", "Bo") +
        "perdure: d.db: no call 'ficc_a' waits for approval\n"), result
    # Whoever says something else is reminded.
    result = agent(*at, "hello")
    assert result.err.decode() == WAITS % ("ficc_b", "Bo"), result
    result = agent(*at, "--reject", "all", "--reason", "not today")
    assert result.out == (b"Done: Tool call invocation rejected. not "
                          b"today.\n"), result
    assert paid() == '{"to":"Ann"}', paid()
    agent(*at, "--reject", "all", status=3)


@tests.test("run: --approve and --reject together, an id before all")
def _():
    at = start_desk()
    agent(*at, "pay both")
    for word in ("all", "ficc_a"):
        result = agent(*at, "--approve", word, "--reject", word, status=2)
        assert b"--reject: says the opposite of --approve" in result.err
    assert paid() == ""
    agent(*at, "--approve", "all", "--reject", "ficc_a")
    assert paid() == '{"to":"Bo"}', paid()
    agent(*at, "pay both")
    agent(*at, "--approve", "ficc_a", "--reject", "all")
    assert paid() == '{"to":"Bo"}{"to":"Ann"}', paid()


@tests.test("run: without a session nothing can wait")
def _():
    start_desk()
    result = agent("run", "-q", "--agent", "desk=desk.yaml", "pay both")
    assert result.out == b"" and paid() == "", result
    assert result.err.decode() == "".join(
        "perdure: needs approval, and without --session it cannot wait: "
        'pay({"to":"%s"})\n' % name for name in ("Ann", "Bo")), result


@tests.test("run: says why a program failed, and to the model that it did")
def _():
    at = start_desk()
    write("desk.yaml", DESK.replace(
        '[echo, "7"]', "[sh, -c, 'echo no rate >&2; exit 3']"))
    write("desk.json", {"replies": [
        {"after": "rate", "text": "{result}"}, {"calls": [{"name": "rate"}]}]})
    result = agent(*at, "go")
    assert result.out == b"Error: Function failed.\n", result
    assert result.err == (b"perdure: rate failed: 'sh' exited with status 3: "
                          b"no rate\n"), result


@tests.test("run: -o json has what waits")
def _():
    at = start_desk()
    got = json.loads(agent(*at, "-o", "json", "pay both").out)
    assert got["approvals"] == [
        {"id": "ficc_a", "tool": "pay", "arguments": '{"to":"Ann"}'},
        {"id": "ficc_b", "tool": "pay", "arguments": '{"to":"Bo"}'}], got
    got = json.loads(agent(*at, "-o", "json", "--approve", "all").out)
    assert "approvals" not in got and paid() == '{"to":"Ann"}{"to":"Bo"}', got


@tests.test("run: an answer needs a session, and a run a text or an answer")
def _():
    at = start_desk()
    for args, why in ((["--approve", "all"], b"--session: is missing"),
                      ([], b"TEXT: is missing"), ([""], b"TEXT: is empty"),
                      (["-"], b"TEXT: is empty")):
        result = agent("run", "--agent", "desk=desk.yaml", *args, status=2)
        assert why in result.err, result
    assert b"no call waits" in agent(*at, "--approve", "all", status=3).err


@tests.test("run: hands a call of a function that it does not have back")
def _():
    at = start_desk()
    at.remove("-q")
    result = agent(*at, "theirs")
    assert result.err == (
        b"perdure: desk.yaml:6:26: 'theirs': this program has no such "
        b"function: a call of it ends the run, for the caller to answer\n"
        b"perdure: calls theirs({})\n"), result


@tests.test("run: a signal ends it, and the program that is a tool")
def _():
    at = start_desk()
    write("desk.yaml", DESK.replace(
        '[echo, "7"]', "[sh, -c, 'echo $$ > pid; sleep 600']"))
    write("desk.json", {"replies": [{"calls": [{"name": "rate"}]}]})
    for number in (signal.SIGINT, signal.SIGTERM):
        if os.path.exists("pid"):
            os.remove("pid")
        child = subprocess.Popen([PERDURE, "agent", *at, "go"],
                                 stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        while not os.path.exists("pid") or not open("pid").read().strip():
            assert child.poll() is None, child.communicate()
            time.sleep(0.01)
        child.send_signal(number)
        out, err = child.communicate(timeout=60)
        assert child.returncode == 128 + number, (child.returncode, out, err)
        try:
            os.kill(int(open("pid").read()), 0)
            raise AssertionError("the tool is still there")
        except ProcessLookupError:
            pass
    result = run([PERDURE, "session", "list", "--store", "d.db", "-o", "raw"])
    assert result.out == b"", result


tests.finish()
