"""A real server that speaks Chat Completions, the proxy of the package litellm
with answers that are written down: streaming and not, with calls, and what it
refuses. Usage: TEST PERDURE OPENAI-TOOL

The proxy has packages of its own, in a virtual environment beside this one.
"""
import json
import os
import pathlib
import socket
import subprocess
import sys
import time
import urllib.request

import inside
from command import PERDURE, run
from harness import Tests

TOOL = os.path.abspath(sys.argv[2])
VENV = pathlib.Path(sys.prefix).parent / "venv-litellm"
KEY = "sk-planted-7710c1"
WAIT = 120  # seconds until the proxy must answer
MODELS = {
    "plain": {"mock_response": "Hello from the proxy."},
    "caller": {"mock_tool_calls": [
        {"id": "call_1", "type": "function", "function": {
            "name": "weather", "arguments": '{"city": "Oslo"}'}}]},
    "busy": {"mock_response": "litellm.RateLimitError"},
    "broken": {"mock_response": "Exception: mock_streaming_error"},
}
tests = Tests("interop-agent-litellm")


class Proxy:
    """The proxy on a free port, until the tests are over."""

    def __enter__(self):
        found = inside.installed(VENV)
        for name, version in inside.wanted("requirements-litellm.txt").items():
            assert found.get(name) == version, \
                f"{VENV} must have {name} {version}: `make interop` installs it"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder = subprocess.check_output(["mktemp", "-d"], text=True
                                              ).strip()
        config = pathlib.Path(self.folder, "config.json")  # JSON is YAML
        config.write_text(json.dumps({
            "model_list": [{"model_name": name, "litellm_params": {
                "model": "openai/x", "api_key": "none", **params}}
                for name, params in MODELS.items()],
            "router_settings": {"num_retries": 0},
            "litellm_settings": {"telemetry": False, "num_retries": 0},
            "general_settings": {"master_key": KEY}}))
        self.log = open(pathlib.Path(self.folder, "log"), "w+b")
        self.process = subprocess.Popen(
            [VENV / "bin/python", VENV / "bin/litellm", "--config", config,
             "--host", "127.0.0.1", "--port", str(self.port)],
            stdout=self.log, stderr=subprocess.STDOUT, cwd=self.folder,
            env={"PATH": os.environ["PATH"], "HOME": self.folder,
                 "LITELLM_LOCAL_MODEL_COST_MAP": "True", "no_proxy": "*"})
        end = time.monotonic() + WAIT
        while not self.answers():
            if time.monotonic() > end or self.process.poll() is not None:
                self.log.seek(0)
                sys.exit(self.log.read().decode(errors="replace")
                         + "\nthe proxy does not start")
            time.sleep(0.1)
        return self

    def answers(self):
        try:
            with urllib.request.build_opener(
                    urllib.request.ProxyHandler({})).open(
                    f"http://127.0.0.1:{self.port}/health/liveliness",
                    timeout=5):
                return True
        except OSError:
            return False

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.log.close()
        subprocess.run(["rm", "-r", self.folder], check=True)


def send(model, options, key=KEY):
    """The contents that come, then the finish reason."""
    result = run([TOOL, URL, model, json.dumps(options), "hi"],
                 env={"MODEL_KEY": key, "no_proxy": "*"})
    assert key.encode() not in result.out + result.err, result
    result.lines = [json.loads(line) for line in result.out.splitlines()]
    return result


@tests.test("proxy: a conversation in a store goes on")
def _():
    for turn in (1, 2):
        result = run([PERDURE, "agent", "run", "--agent",
                      f"clerk=openai:{URL}#plain", "--key-env", "MODEL_KEY",
                      "--store", "desk.db", "--session", "noon", "-o", "json",
                      f"turn {turn}"],
                     env={"MODEL_KEY": KEY, "no_proxy": "*"})
        assert result.status == 0, result
        told = json.loads(result.out)
        assert told["text"] == "Hello from the proxy.", told
        assert told["revision"] == turn, told
        assert told["usage"]["totalTokenCount"] > 0, told
    with open("desk.db", "rb") as file:
        assert KEY.encode() not in file.read()


@tests.test("proxy: an answer is the same, streamed or whole")
def _():
    for options, pieces in (({}, 2), ({"stream": False}, 1)):
        result = send("plain", options)
        assert result.status == 0, result
        texts = [c["text"] for c in result.lines[:-1] if c["$type"] == "text"]
        assert len(texts) >= pieces, texts
        assert "".join(texts) == "Hello from the proxy.", texts
        usage, finish = result.lines[-2:]
        assert usage["details"]["outputTokenCount"] > 0, usage
        assert finish == "stop", finish


@tests.test("proxy: a call comes")
def _():
    result = send("caller", {"stream": False})  # it streams no calls
    assert result.status == 0, result
    call, = [c for c in result.lines[:-1] if c["$type"] == "functionCall"]
    assert (call["callId"], call["name"], call["arguments"]) == \
        ("call_1", "weather", {"city": "Oslo"}), call
    assert result.lines[-1] == "tool_calls", result


@tests.test("proxy: what it refuses has its class")
def _():
    for model, key, reason in (("nobody", KEY, "model_request"),
                               ("plain", "sk-wrong-key", "model_"),
                               ("busy", KEY, "model_rate_limit"),
                               ("broken", KEY, "model_server")):
        result = send(model, {}, key)
        assert result.status == 1, result
        assert result.err.decode().startswith(reason), result


with Proxy() as proxy:
    URL = f"http://127.0.0.1:{proxy.port}/v1"
    tests.finish()
