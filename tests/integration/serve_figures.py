"""Figures of perdure serve: /metrics in both formats, and who may see them.

Usage: serve_figures.py PERDURE
"""
import http.client
import os
import pathlib
import re
import signal
import time

from harness import Tests, run
from serving import PERDURE, Server, go

tests = Tests("serve-figures")

ROOT = pathlib.Path(__file__).resolve().parents[2]
K = "/api/v1/sessions/%40dafx-harbour%40k"
OPEN = "application/openmetrics-text; version=1.0.0; charset=utf-8"
SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+)\})?'
                    r' ([0-9.e+-]+)')


def scrape(s, **headers):
    status, head, text = s.request("GET", "/metrics", **headers)
    assert status == 200, (status, text)
    return head["content-type"], text


def families_of(text, is_open):
    """Kind and samples by the name of a family; a sample is the rest of its
    name, its labels and its value. Refuses what a strict reader would."""
    families, name = {}, None
    lines = text.splitlines()
    if is_open:
        assert lines.pop() == "# EOF"
    for line in lines:
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            assert name not in families, line
            families[name] = [None, {}]
        elif line.startswith("# TYPE "):
            _, _, of, kind = line.split(" ")
            assert of == name and families[name][0] is None, line
            families[name][0] = kind
        else:
            match = SAMPLE.fullmatch(line)
            assert match and match[1].startswith(name), line
            key = match[1][len(name):], match[2] or ""
            assert key not in families[name][1], line
            families[name][1][key] = float(match[3])
            # Milliseconds, all of them: six digits are few after a day.
            assert key[0] != "_sum" or re.fullmatch(r"\d+\.\d{3}",
                                                    match[3]), line
    for name, (kind, samples) in families.items():
        ends = {end for end, _ in samples}
        if kind == "histogram":
            assert ends <= {"_bucket", "_sum", "_count"}, name
        elif kind == "counter" and is_open:
            assert not name.endswith("_total") and ends <= {"_total"}, name
        else:
            assert ends <= {""}, name
            assert (kind == "counter") == name.endswith("_total"), name
    return families


def value(s, name, labels=""):
    return families_of(scrape(s)[1], False)[name][1].get(("", labels), 0)


def await_value(s, wanted, name, labels=""):
    """A request is counted when its reply has gone, a moment after its client
    has it."""
    end = time.monotonic() + 30
    while value(s, name, labels) != wanted:
        assert time.monotonic() < end, scrape(s)
        time.sleep(0.02)


@tests.test("both formats are well-formed, and have what the page lists")
def _():
    page = (ROOT / "docs/formats/http.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `(perdure_\w+)` \| (\w+) \|", page, re.M))
    with Server() as s:
        s.say("Hi")
        kind, text = scrape(s)
        assert kind == "text/plain; version=0.0.4; charset=utf-8", kind
        old = families_of(text, False)
        assert {n: k for n, (k, _) in old.items()} == listed
        kind, text = scrape(s, Accept=OPEN + ", text/plain;q=0.5")
        assert kind == OPEN, kind
        new = families_of(text, True)
        assert {n + "_total" * (k == "counter"): k
                for n, (k, _) in new.items()} == listed
        for name, (_, samples) in new.items():
            if name == "perdure_http_request_duration_seconds":
                labels = [l for end, l in samples if end == "_bucket"]
                assert any(l.endswith('le="10.0"') for l in labels), labels
                assert any(l.endswith('le="+Inf"') for l in labels), labels


@tests.test("requests are counted by route, method and status")
def _():
    name = "perdure_http_requests_total"
    with Server() as s:
        asked = (("GET", "/healthz", 'route="healthz",method="GET",code="200"'),
                 ("HEAD", "/healthz",
                  'route="healthz",method="HEAD",code="200"'),
                 ("DELETE", "/healthz",
                  'route="none",method="DELETE",code="405"'),
                 ("GET", "/planted", 'route="none",method="GET",code="404"'),
                 ("PLANTED", "/healthz",
                  'route="none",method="other",code="405"'),
                 ("GET", "/api/v1/sessions/planted",
                  'route="session",method="GET",code="404"'))
        for times in (1, 2):
            for method, path, labels in asked:
                s.request(method, path)
                await_value(s, times, name, labels)
        # Who leaves before there is a reply got none.
        link = http.client.HTTPConnection("127.0.0.1", s.port)
        link.putrequest("POST", "/api/v1/sessions")
        link.putheader("Content-Length", "5")
        link.endheaders(b"{")
        link.close()
        await_value(s, 1, name,
                    'route="session-create",method="POST",code="0"')
        assert "planted" not in scrape(s)[1]


@tests.test("runs are counted by agent and by how they ended")
def _():
    name = "perdure_runs_total"
    with Server(agents=("Harbour", "Poet")) as s:
        def ended(agent):
            return [value(s, name, f'agent="{agent}",status="{status}"')
                    for status in ("completed", "failed", "cancelled")]
        assert ended("Harbour") == ended("Poet") == ended("") == [0, 0, 0]
        s.say("Hi")
        s.say("Hi", agent="Poet")
        s.say("Hi", "other", agent="Poet")
        assert s.request("POST", "/api/agents/Harbour/run", "break")[0] == 500
        assert s.request("POST", K + "/runs", {"message": "work"},
                         Prefer="respond-async", Idempotency_Key="a")[0] == 202
        await_value(s, 1, "perdure_runs_in_progress")
        assert s.request("POST", K + "/runs/a/cancel")[0] in (200, 202, 204)
        go()
        await_value(s, 1, name, 'agent="Harbour",status="cancelled"')
        await_value(s, 0, "perdure_runs_in_progress")
        assert ended("Harbour") == [1, 1, 1] and ended("Poet") == [2, 0, 0]
        assert ended("") == [0, 0, 0]


@tests.test("a run that was begun elsewhere is counted as recovered")
def _():
    with Server("--lease", "1") as s:
        assert s.request("POST", K + "/runs", {"message": "work"},
                         Prefer="respond-async", Idempotency_Key="a")[0] == 202
        while not os.path.exists("calls"):
            time.sleep(0.02)
        assert s.stop(signal.SIGKILL) == -signal.SIGKILL
        s.process.returncode = 0  # as it was meant
    go()
    with Server("--lease", "1") as s:
        assert s.request("GET", K + "/runs/a?wait=30")[0] == 200
        await_value(s, 1, "perdure_run_recoveries_total")
        assert value(s, "perdure_storage_bytes") > 4096


@tests.test("figures of all tenants need a key for all, or no keys at all")
def _():
    def make(scope):
        done = run([PERDURE, "key", "create", "--keys", "keys.jsonl",
                    "--scope", scope])
        assert done.status == 0, done
        return done.out.decode().strip()

    keys = {scope: make(scope) for scope in ("read", "run", "write", "admin")}
    with Server("--keys", "keys.jsonl") as s:
        for scope, key in keys.items():
            status, _, text = s.request("GET", "/metrics",
                                        Authorization="Bearer " + key)
            assert status == (200 if scope == "admin" else 403), (scope, text)
        assert s.request("GET", "/metrics")[0] == 401
        # A stream of a key that is revoked was broken off.
        admin = {"Authorization": "Bearer " + keys["admin"]}
        link = http.client.HTTPConnection("127.0.0.1", s.port, timeout=30)
        link.request("GET", "/api/v1/events",
                     headers={"Authorization": "Bearer " + keys["read"]})
        reply = link.getresponse()
        assert reply.readline() == b"retry: 2000\n"
        assert run([PERDURE, "key", "revoke", "--keys", "keys.jsonl",
                    keys["read"].split("_")[1]]).status == 0
        s.process.send_signal(signal.SIGHUP)
        # It is noticed when there is something to send.
        end = time.monotonic() + 30
        while "perdure_sse_dropped_total 1\n" not in scrape(s, **admin)[1]:
            assert time.monotonic() < end
            s.request("POST", "/api/v1/sessions", {}, **admin)
            time.sleep(0.1)
        link.close()


tests.finish()
