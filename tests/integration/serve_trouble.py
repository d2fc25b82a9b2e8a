"""What goes wrong below perdure serve: stores that are damaged or in doubt, a
server that stops; and whether each problem that it knows is met by a test.

Usage: serve_trouble.py PERDURE
"""
import json
import os
import pathlib
import re
import resource
import signal
import sqlite3
import time

from harness import Tests
from serving import Server, go

tests = Tests("serve-trouble")

ROOT = pathlib.Path(__file__).resolve().parents[2]
API = "/api/v1"
K = API + "/sessions/%40dafx-harbour%40k"


def refused(s, status, slug, method, path, body=None, **headers):
    got, head, text = s.request(method, path, body, **headers)
    assert got == status, (method, path, got, text)
    value = json.loads(text)
    assert value["type"] == "/problems/" + slug, (path, value)
    return head, value


def damage(table, where, column="body"):
    """Change a row as nobody does who keeps its digest."""
    with sqlite3.connect("x.db") as db:
        count = db.execute(
            f"UPDATE {table} SET {column}=replace({column},'garden','gorden')"
            f" WHERE {where}").rowcount
    db.close()
    assert count == 1, (table, where, count)


def put(s, name, bag):
    status, _, text = s.request("PUT", f"{API}/sessions/{name}/state",
                                {"stateBag": bag})
    assert status in (200, 201), text


@tests.test("a store that is damaged is told by verify, part by part")
def _():
    with Server() as s:
        put(s, "bad", {"team": "garden", "n": 1})
        assert json.loads(s.request("POST", API + "/verify")[2])["ok"] is True
    damage("parts", "part=3 AND body LIKE '%garden%'")
    with Server() as s:
        for path in (API + "/verify", API + "/verify?session=bad"):
            status, _, text = s.request("POST", path)
            report = json.loads(text)
            assert status == 200 and report["ok"] is False, report
            assert report["sessions"] == 1, report
            assert report["bad"] == len(report["findings"]) > 0, report
            slots, = [f for f in report["findings"] if f["table"] == "slots"]
            assert "'bad'" in slots["row"] and "'x.db'" in slots["what"], slots
        # What is damaged is not given away as if it were good.
        for path in ("/state", "/bag/team"):
            refused(s, 500, "internal", "GET", API + "/sessions/bad" + path)
        lines = s.request("GET", API + "/export")[2].splitlines()
        assert "error" in json.loads(lines[-1]), lines


@tests.test("a server that stops lets runs end, and takes no others")
def _():
    with Server() as s:
        status, _, text = s.request("POST", K + "/runs", {"message": "work"},
                                    Prefer="respond-async",
                                    Idempotency_Key="a")
        assert status == 202, text
        while not os.path.exists("calls"):
            time.sleep(0.02)
        s.process.send_signal(signal.SIGTERM)
        while (ready := s.request("GET", "/readyz"))[0] == 200:
            time.sleep(0.02)
        assert ready[0] == 503 and ready[1]["retry-after"] == "1", ready
        assert s.request("GET", "/healthz")[0] == 200
        run = json.loads(s.request("GET", K + "/runs/a")[2])
        assert run["state"] == "running", run  # it is still at work
        head, _ = refused(s, 503, "unavailable", "POST", K + "/runs",
                          {"message": "Hi"})
        assert head["retry-after"] == "1" and head["connection"] == "close"
        go()
        assert s.process.wait(30) == 0
    with Server() as s:
        run = json.loads(s.request("GET", K + "/runs/a?wait=30")[2])
        assert run["state"] == "completed", run
        runs = json.loads(s.request("GET", K + "/runs")[2])["items"]
        assert [r["id"] for r in runs] == ["a"], runs


def fill_up(s):
    """Files of the server do not grow any more."""
    resource.prlimit(s.process.pid, resource.RLIMIT_FSIZE, (4096, 4096))


# Who it is that commits: a request, a line of one, the engine for a run.
WRITERS = (
    ("PUT", API + "/sessions/b/state", {"stateBag": {"x": "x" * 100000}}),
    ("POST", API + "/import", {"id": "b", "document": {
        "stateBag": {"x": "x" * 100000}}}),
    ("POST", K + "/runs", {"message": "x" * 100000}),
)


@tests.test("a store in doubt ends the process with status 9, whoever wrote")
def _():
    for method, path, body in WRITERS:
        with open("log", "w", encoding="utf-8"):
            pass
        s = Server()
        put(s, "a", {"n": 1})
        fill_up(s)
        status, _, text = s.request(method, path, body)
        assert status == 500 or '"failed"' in text, (path, status, text)
        assert "commit_unknown" in text or "in_doubt" in text, text
        assert s.process.wait(30) == 9, path
        s.process.stdout.close()
        s.log.close()
        with open("log", encoding="utf-8") as file:
            assert "engine_ended reason=commit_unknown" in file.read()
        # Whoever starts it again finds out.
        with Server() as s:
            state = json.loads(s.request("GET", API + "/sessions/a/state")[2])
            assert state == {"stateBag": {"n": 1}}, state
            assert json.loads(s.request("POST", API + "/verify")[2])["ok"]


@tests.test("If-Match on a run is compared before it is sent")
def _():
    with Server() as s:
        refused(s, 412, "version-conflict", "POST", K + "/runs",
                {"message": "Hi"}, If_Match="*")  # there is none
        s.say("Hi", "k")
        old = s.request("GET", K)[1]["etag"]
        assert s.request("POST", K + "/runs", {"message": "Hi"},
                         If_Match=old)[0] == 200
        before = s.request("GET", K + "/state")[2]
        head, _ = refused(s, 412, "version-conflict", "POST", K + "/runs",
                          {"message": "Hi"}, If_Match=old)
        assert head["etag"] == s.request("GET", K)[1]["etag"] != old
        refused(s, 412, "version-conflict", "POST", K + "/runs",
                {"message": "Hi"}, If_None_Match="*")
        assert s.request("GET", K + "/state")[2] == before


@tests.test("who means another server is told so")
def _():
    with Server() as s:
        refused(s, 421, "misdirected", "GET", API + "/agents",
                Host="example.org")


# --- problems ----------------------------------------------------------------

# Slugs of routes that have no problems: {"error":...} is told there.
ELSEWHERE = {"gone"}


def slugs_of_source():
    """What reply.c and the handlers have between quotes, where a slug is."""
    folder = ROOT / "src/server/http"
    reply = (folder / "reply.c").read_text(encoding="utf-8")
    found = set(re.findall(r'{\d+, "[^"]*", "([a-z-]+)"}', reply))
    found |= set(re.findall(r'{PDR_R_\w+, \d+, "([a-z-]+)"}', reply))
    for path in folder.glob("*.c"):
        text = path.read_text(encoding="utf-8")
        found |= set(re.findall(
            r'pdr__reply_problem\(\w+, \d+,\s*"([a-z-]+)"', text))
    return found


def slugs_of_page():
    text = (ROOT / "docs/formats/http.md").read_text(encoding="utf-8")
    return set(re.findall(r"^\| `([a-z-]+)` \| \d+ \|", text, re.M))


def slugs_of_tests():
    """What they expect with its status, 404, "not-found", or by its type. What
    a comment says is not met."""
    comments = {".py": r'(?s:""".*?""")|(?m:(?:^|\s)#\s.*$)',
                ".c": r"(?s:/\*.*?\*/)"}
    found = set()
    for path in (*(ROOT / "tests/integration").glob("serve_*.py"),
                 *(ROOT / "tests/unit/server").glob("*.c")):
        text = re.sub(comments[path.suffix], "",
                      path.read_text(encoding="utf-8"))
        found |= set(re.findall(r'\b[45]\d\d, "([a-z-]+)"', text))
        found |= set(re.findall(r'/problems/([a-z-]+)', text))
    return found


@tests.test("each problem is on the page, and a test meets it")
def _():
    known = slugs_of_source() - ELSEWHERE
    assert len(known) >= 20, known
    assert known == slugs_of_page(), known ^ slugs_of_page()
    missing = known - slugs_of_tests()
    assert not missing, f"no test meets {sorted(missing)}"


tests.finish()
