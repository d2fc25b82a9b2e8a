"""Sessions over HTTP: the routes of /api/v1, a real process, real sockets.

Usage: serve_native.py PERDURE
"""
import http.client
import json
import os
import pathlib
import threading
import time
import urllib.parse

import serving
from harness import Tests, run
from serving import PERDURE, Server, events, go

tests = Tests("serve-native")

serving.REPLIES["replies"].insert(0, {
    "user": "longly", "text": [f"{i} " for i in range(60)], "delay_ms": 20})

serving.AGENT += "description: Knows ships\nmetadata: {team: pier}\n"

API = "/api/v1"


def quoted(text):
    return urllib.parse.quote(text, safe="")


def at(session, rest=""):
    return f"{API}/sessions/{quoted(session)}{rest}"


K = "@dafx-harbour@k"


def ask(s, method, path, body=None, **headers):
    """Status, headers, and the JSON of the reply; each problem is one."""
    body = str(body) if isinstance(body, int) else body
    status, head, text = s.request(method, path, body, **headers)
    value = text
    if "json" in head.get("content-type", "") and \
            "ndjson" not in head["content-type"]:
        value = json.loads(text)
    if status >= 400:
        assert head["content-type"] == "application/problem+json", head
        assert value["status"] == status, value
        assert value["type"].startswith("/problems/"), value
        assert value["title"] and value["detail"] and value["requestId"]
    return status, head, value


def good(s, method, path, body=None, **headers):
    status, head, value = ask(s, method, path, body, **headers)
    assert 200 <= status < 300, (status, value)
    return head, value


def refused(s, status, slug, method, path, body=None, **headers):
    got, head, value = ask(s, method, path, body, **headers)
    assert got == status, (method, path, body, got, value)
    assert value["type"] == "/problems/" + slug, (path, body, value)
    return head, value


def say(s, text, session=K, **headers):
    return good(s, "POST", at(session, "/runs"), {"message": text},
                **headers)[1]


def exported(s):
    return good(s, "GET", API + "/export")[1]


# --- sessions ----------------------------------------------------------------


@tests.test("sessions are made, listed page by page, and found")
def _():
    with Server() as s:
        for i in range(5):
            head, made = good(s, "POST", API + "/sessions", {
                "id": f"s/{i} ü", "agent": "a" if i % 2 else "b",
                "properties": {"team": "garden", "n": i}})
            assert head["location"] == at(f"s/{i} ü"), head
            assert head["etag"] == made["etag"]
        assert good(s, "GET", at("s/3 ü"))[1] == {
            **made, "id": "s/3 ü", "agent": "a",
            "properties": {"team": "garden", "n": 3},
            **{name: good(s, "GET", at("s/3 ü"))[1][name]
               for name in ("epoch", "etag", "created", "changed")}}
        seen, cursor = [], ""
        while cursor is not None:
            page = good(s, "GET", f"{API}/sessions?limit=2{cursor}")[1]
            assert len(page["items"]) <= 2
            seen += [item["id"] for item in page["items"]]
            cursor = page["next"] and "&cursor=" + quoted(page["next"])
        assert seen == [f"s/{i} ü" for i in (4, 3, 2, 1, 0)], seen

        def found(query):
            return [i["id"][2] for i in good(
                s, "GET", f"{API}/sessions?{query}")[1]["items"]]
        assert found("agent=a") == ["3", "1"]
        assert found("idPrefix=s%2F3") == ["3"] and found("idPrefix=t") == []
        assert found("property=n%3D3") == ["3"]
        assert found("property=team%3Dgarden&agent=b") == ["0", "2", "4"]
        assert found("state=running") == [] and len(found("state=idle")) == 5
        assert found("changedTo=2001-01-01") == []
        assert len(found("changedFrom=2001-01-01T00:00:00Z")) == 5
        head, text = good(s, "GET", API + "/sessions?limit=2",
                          Accept="application/x-ndjson")
        assert [json.loads(line)["id"] for line in text.splitlines()] == [
            "s/4 ü", "s/3 ü"]
        assert head["x-next-cursor"]
        # Without an id there is a new one; with an agent it is one of it.
        made = good(s, "POST", API + "/sessions", {})[1]
        assert len(made["id"]) == 36 and made["kind"] == "client"
        made = good(s, "POST", API + "/sessions",
                    {"agent": "Harbour", "expires": "2040-01-01"})[1]
        assert made["id"].startswith("@dafx-harbour@")
        assert (made["kind"], made["expires"]) == (
            "durable", "2040-01-01T00:00:00Z")
        say(s, "Hi", made["id"])


@tests.test("properties are merged, and nothing else is changed")
def _():
    with Server() as s:
        good(s, "POST", API + "/sessions", {"id": "a", "properties": {
            "keep": 1.50, "go": True, "deep": {"x": 1, "y": [1]}}})
        head, _ = good(s, "PATCH", at("a"), {"properties": {
            "go": None, "deep": {"x": None, "z": {"w": None}}, "new": "n"}})
        _, now = good(s, "GET", at("a"))
        assert now["properties"] == {"keep": 1.5, "new": "n", "deep": {
            "y": [1], "z": {}}}, now
        assert now["revision"] == 2 and now["etag"] == head["etag"]
        refused(s, 400, "bad-request", "PATCH", at("a"), {"kind": "durable"})
        refused(s, 400, "bad-request", "PATCH", at("a"), {"properties": 5})
        refused(s, 404, "not-found", "PATCH", at("b"), {"properties": {}})
        assert good(s, "GET", at("a"))[1] == now


@tests.test("a document comes back as it was put, byte for byte")
def _():
    text = ('{ "schemaVersion":"1.1.0", "z":1.50e2,\n "data":'
            '{"conversationHistory":[],"odd":[null]} }')
    with Server() as s:
        for i, status in enumerate((201, 200)):
            got, head, _ = ask(s, "PUT", at(K, "/state"), text,
                               Content_Type="application/json")
            assert got == status
        assert s.request("GET", at(K, "/state"))[2] == text
        assert good(s, "GET", at(K, "/state"))[0]["etag"] == head["etag"]
        assert good(s, "GET", at(K))[1]["kind"] == "durable"
        # It goes on from there.
        say(s, "Hi")
        now = json.loads(s.request("GET", at(K, "/state"))[2])
        assert now["z"] == 150.0 and now["data"]["odd"] == [None]
        assert len(now["data"]["conversationHistory"]) == 2


@tests.test("a late writer is told so, and changes nothing", covers=["P-45"])
def _():
    with Server() as s:
        put = lambda bag, **headers: ask(
            s, "PUT", at("a", "/state"), {"stateBag": bag}, **headers)
        assert put({"n": 1}, If_None_Match="*")[0] == 201
        first = good(s, "GET", at("a", "/state"))[0]["etag"]
        assert put({"n": 2}, If_Match=first)[0] == 200
        head, now = good(s, "GET", at("a", "/state"))
        assert head["etag"] != first
        text = s.request("GET", at("a", "/state"))[2]
        for headers in ({"If-Match": first}, {"If-None-Match": "*"},
                        {"If-Match": "W/" + head["etag"]},
                        {"If-Match": '"v1"'}):
            for method, path, body in (
                    ("PUT", "/state", {"stateBag": {"n": 3}}),
                    ("PATCH", "", {"properties": {"n": 3}}),
                    ("PUT", "/bag/n", 3), ("DELETE", "/bag/n", None),
                    ("DELETE", "", None)):
                got, _ = refused(s, 412, "version-conflict", method,
                                 at("a", path), body, **headers)
                assert got["etag"] == head["etag"], got
        assert s.request("GET", at("a", "/state"))[2] == text
        assert put({"n": 4}, If_Match='"x", ' + head["etag"])[0] == 200
        refused(s, 412, "version-conflict", "PUT", at("b", "/state"),
                {"stateBag": {}}, If_Match="*")
        assert ask(s, "GET", at("b"))[0] == 404
        # A copy that the reader has is not sent again.
        etag = good(s, "GET", at("a", "/state"))[0]["etag"]
        for path in ("/state", "", "/bag/n"):
            for value in (etag, f'"x", W/{etag}', "*"):
                status, head, text = s.request(
                    "GET", at("a", path), **{"If-None-Match": value})
                assert (status, text, head["etag"]) == (304, "", etag), path
            assert s.request("GET", at("a", path),
                             **{"If-None-Match": first})[0] == 200
        # Made anew it is another one, whatever its revision.
        good(s, "DELETE", at("a"), If_Match=etag)
        assert put({"n": 1})[0] == 201
        refused(s, 412, "version-conflict", "PUT", at("a", "/state"),
                {"stateBag": {}}, If_Match=first)


@tests.test("of those who saw the same, one writes")
def _():
    with Server() as s:
        good(s, "PUT", at("a", "/state"), {"stateBag": {}})
        for _ in range(5):
            etag = good(s, "GET", at("a"))[0]["etag"]
            got = []

            def write(i):
                got.append(ask(s, "PUT", at("a", "/state"),
                               {"stateBag": {"i": i}}, If_Match=etag)[0])
            threads = [threading.Thread(target=write, args=(i,))
                       for i in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sorted(got) == [200] + 7 * [412], got
        # Without a precondition all of them do.
        got.clear()
        threads = [threading.Thread(target=lambda i=i: got.append(ask(
            s, "PUT", at("a", f"/bag/{i}"), i)[0])) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert got == 8 * [204], got
        assert len(good(s, "GET", at("a", "/bag"))[1]["items"]) == 9


@tests.test("a server may want preconditions with each change")
def _():
    with Server("--preconditions") as s:
        refused(s, 428, "precondition-required", "PUT", at("a", "/state"),
                {"stateBag": {}})
        assert ask(s, "GET", at("a"))[0] == 404
        head, _ = good(s, "PUT", at("a", "/state"), {"stateBag": {"n": 1}},
                       If_None_Match="*")
        for method, path, body in (("PATCH", "", {"properties": {}}),
                                   ("PUT", "/bag/n", 2),
                                   ("DELETE", "/bag/n", None),
                                   ("DELETE", "", None)):
            refused(s, 428, "precondition-required", method, at("a", path),
                    body)
        good(s, "DELETE", at("a"), If_Match=head["etag"])
        say(s, "Hi")


# --- parts -------------------------------------------------------------------


@tests.test("entries, bag and journal are read part by part")
def _():
    with Server() as s:
        for i in range(3):
            say(s, f"number {i}", Idempotency_Key=f"c{i}")
        items = good(s, "GET", at(K, "/entries"))[1]["items"]
        assert [i["seq"] for i in items] == [1, 2, 3, 4, 5, 6]
        assert [i["kind"] for i in items] == 3 * ["request", "response"]
        assert items[1]["shape"] == "state" and items[1]["correlationId"] == "c0"
        assert len(items[1]["digest"]) == 64 and items[1]["created"]
        assert items[0]["body"]["messages"][0]["contents"][0][
            "text"] == "number 0"

        def seqs(query):
            return [i["seq"] for i in good(s, "GET", at(
                K, "/entries?" + query))[1]["items"]]
        assert seqs("from=5") == [5, 6]
        assert seqs("backwards=true&limit=2") == [6, 5]
        assert seqs("correlationId=c1") == [3, 4]
        page = good(s, "GET", at(K, "/entries?backwards=1&limit=4"))[1]
        assert seqs("backwards=1&limit=4&cursor="
                    + quoted(page["next"])) == [2, 1]
        _, lines = good(s, "GET", at(K, "/entries"),
                        Accept="application/x-ndjson")
        assert [json.loads(line) for line in lines.splitlines()] == items

        good(s, "PUT", at("a", "/state"), {"stateBag": {"x": 1}})
        for key in ("p/q", "ü \"'", "."):
            good(s, "PUT", at("a", "/bag/" + quoted(key)), {"of": key})
            assert good(s, "GET", at("a", "/bag/" + quoted(key)))[1] == {
                "of": key}
        keys = good(s, "GET", at("a", "/bag"))[1]["items"]
        assert {i["key"]: i["bytes"] for i in keys}["x"] == 1
        assert len(keys) == 4
        good(s, "DELETE", at("a", "/bag/x"))
        refused(s, 404, "not-found", "GET", at("a", "/bag/x"))
        refused(s, 404, "not-found", "DELETE", at("a", "/bag/x"))
        refused(s, 400, "bad-request", "PUT", at("a", "/bag/x"), "{")

        thread = threading.Thread(target=lambda: say(s, "work"))
        thread.start()
        while not os.path.exists("calls"):
            time.sleep(0.01)
        rows = good(s, "GET", at(K, "/journal"))[1]["items"]
        kinds = [i["kind"] for i in rows]
        assert kinds[0] == "operation" and "started" in kinds, kinds
        rest = good(s, "GET", at(
            K, f"/journal?from={rows[1]['n']}"))[1]["items"]
        assert rest[:len(rows) - 1] == rows[1:], rest
        refused(s, 400, "bad-request", "GET", at(K, "/journal?from=x"))
        good(s, "POST", at(K, "/runs"), {"message": "later"},
             Prefer="respond-async", Idempotency_Key="later")
        still = good(s, "GET", at(K, "/runs?open=true"))[1]["items"]
        assert len(still) == 2 and still[1]["id"] == "later", still
        assert all(i["outcome"] is None for i in still), still
        go()
        thread.join()
        ask(s, "GET", at(K, "/runs/later?wait=30"))
        assert good(s, "GET", at(K, "/journal"))[1]["items"] == []
        assert good(s, "GET", at(K, "/runs?open=true"))[1]["items"] == []
        assert "later" in [i["id"] for i in good(
            s, "GET", at(K, "/runs"))[1]["items"]]


@tests.test("ids and keys that browsers take for folders stand in the query")
def _():
    with Server() as s:
        for name in (".", ".."):
            path = API + "/sessions//"
            good(s, "PUT", f"{path}state?id={name}", {"stateBag": {"x": 1}})
            assert good(s, "GET", f"{API}/sessions/?id={name}")[1][
                "id"] == name
            good(s, "PUT", f"{path}bag/?id={name}&key=..", {"of": name})
            assert good(s, "GET", at(name, "/bag/.."))[1] == {"of": name}
            good(s, "DELETE", f"{API}/sessions/?id={name}")
            refused(s, 404, "not-found", "GET", at(name))
        good(s, "PUT", at("a", "/state"), {"stateBag": {}})
        assert good(s, "GET", at("a") + "?id=b")[1]["id"] == "a"
        refused(s, 400, "bad-request", "GET", API + "/sessions/")


@tests.test("what nobody knows in a session is found")
def _():
    with Server() as s:
        good(s, "PUT", at("a", "/state"), {
            "session_id": "a", "weather": 1, "state": {"in_memory": {
                "messages": [{"role": "user", "contents": [
                    {"type": "text", "text": "", "colour": 1}]}]}}})
        found = good(s, "GET", at("a", "/findings"))[1]
        assert found["checked"] is True and found["count"] == 2, found
        assert [i["pointer"] for i in found["items"] if i["unknown"]] == [
            "/weather",
            "/state/in_memory/messages/0/contents/0/colour"], found


# --- runs --------------------------------------------------------------------


@tests.test("a run is waited for, or not, and found later")
def _():
    with Server("--wait", "1") as s:
        head, done = good(s, "POST", at(K, "/runs"), {"messages": [{
            "role": "user", "contents": [{"$type": "text", "text": "Hi"}]}]})
        assert (done["state"], done["text"]) == ("completed", "You said: Hi")
        assert done["session"] == K
        assert head["location"] == at(K, "/runs/" + done["id"])
        assert good(s, "GET", head["location"])[1] == done
        status, head, run_ = ask(s, "POST", at(K, "/runs"),
                                 {"message": "work"}, Prefer="respond-async")
        assert status == 202 and run_["state"] in ("queued", "running")
        assert head["preference-applied"] == "respond-async"
        while not os.path.exists("calls"):
            time.sleep(0.01)
        assert good(s, "GET", head["location"])[1]["state"] == "running"
        late = ask(s, "POST", at(K, "/runs"), {"message": "Ho"})
        assert (late[0], late[2]["state"]) == (202, "queued")
        for verb in ("resume",):
            assert ask(s, "POST", head["location"] + "/" + verb)[0] == 202
        threading.Timer(0.3, go).start()
        assert good(s, "GET", head["location"] + "?wait=30")[1][
            "text"] == "It is done."
        assert good(s, "GET", late[1]["location"] + "?wait=30")[1][
            "text"] == "You said: Ho"
        assert ask(s, "POST", head["location"] + "/resume")[0] == 200
        refused(s, 404, "not-found", "GET", at(K, "/runs/nobody"))
        refused(s, 400, "bad-request", "GET", head["location"] + "?wait=x")


@tests.test("a run that is cancelled ends, and says so")
def _():
    with Server() as s:
        got = []
        thread = threading.Thread(target=lambda: got.append(ask(
            s, "POST", at(K, "/runs"), {"message": "work"},
            **{"Idempotency-Key": "c"})))
        thread.start()
        while not os.path.exists("calls"):
            time.sleep(0.01)
        refused(s, 409, "session-busy", "DELETE", at(K))
        refused(s, 409, "session-busy", "PUT", at(K, "/state"),
                s.request("GET", at(K, "/state"))[2])
        assert ask(s, "POST", at(K, "/runs/c/cancel"))[0] == 202
        go()
        thread.join()
        assert got[0][0] == 409, got
        assert got[0][2]["type"] == "/problems/run-cancelled", got
        now = good(s, "GET", at(K, "/runs/c"))[1]
        assert now["state"] == "cancelled", now
        refused(s, 404, "not-found", "POST", at(K, "/runs/x/cancel"))
        good(s, "DELETE", at(K))


@tests.test("two runs of a session are two turns", covers=["P-46"])
def _():
    with Server() as s:
        go()
        threads = [threading.Thread(target=say, args=(s, text), kwargs={
            "Idempotency_Key": key}) for key, text in
            (("a", "work"), ("b", "slowly"), ("c", "work"), ("d", "Hi"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        history = json.loads(s.request("GET", at(K, "/state"))[2])[
            "data"]["conversationHistory"]
        order = [(e["$type"], e["correlationId"]) for e in history]
        assert len(order) == 8
        assert order == [(kind, order[i][1]) for i in range(0, 8, 2)
                         for kind in ("request", "response")], order
        assert sorted(c for _, c in order[::2]) == ["a", "b", "c", "d"]


@tests.test("a key is answered once, and replayed", covers=["P-47"])
def _():
    with Server() as s:
        key = {"Idempotency-Key": '"once"'}
        body = {"message": "Hi"}
        first = s.request("POST", at(K, "/runs"), body, **key)
        say(s, "between")
        again = s.request("POST", at(K, "/runs"), body, **key)
        assert (first[0], first[2]) == (again[0], again[2])
        assert "idempotency-replayed" not in first[1]
        assert again[1]["idempotency-replayed"] == "true"
        before = exported(s)
        refused(s, 422, "idempotency-mismatch", "POST", at(K, "/runs"),
                {"message": "Ho"}, **key)
        assert exported(s) == before
        thread = threading.Thread(target=say, args=(s, "work"), kwargs={
            "Idempotency_Key": "slow"})
        thread.start()
        while not os.path.exists("calls"):
            time.sleep(0.01)
        head, _ = refused(s, 409, "idempotency-in-progress", "POST",
                          at(K, "/runs"), {"message": "work"},
                          Idempotency_Key="slow")
        assert int(head["retry-after"]) > 0
        refused(s, 422, "idempotency-mismatch", "POST", at(K, "/runs"),
                {"message": "rest"}, Idempotency_Key="slow")
        go()
        thread.join()
        with open("calls", encoding="utf-8") as file:
            assert file.read() == "slow\n"


@tests.test("a full queue, and a busy session, are told", covers=["P-48"])
def _():
    with Server() as s:
        for i in range(32):
            status, _, value = ask(s, "POST", at(K, "/runs"),
                                   {"message": "Hi" if i else "work"},
                                   Prefer="respond-async")
            assert status == 202, value
            while not os.path.exists("calls"):
                time.sleep(0.01)
        head, _ = refused(s, 429, "quota", "POST", at(K, "/runs"),
                          {"message": "Hi"}, Prefer="respond-async")
        assert int(head["retry-after"]) > 0
        refused(s, 409, "session-busy", "POST", at(K, "/runs?busy=fail"),
                {"message": "Hi"})
        go()


# --- events ------------------------------------------------------------------


def reader(s, path, last=None):
    """A link and its reply, of which lines may be read."""
    link = http.client.HTTPConnection("127.0.0.1", s.port, timeout=30)
    link.request("GET", path, headers={
        "Last-Event-ID": str(last)} if last is not None else {})
    return link, link.getresponse()


def take(reply, count):
    """So many events; fewer at the end."""
    text, got = "", []
    while len(got) < count:
        line = reply.readline().decode()
        if line == "":
            break
        text += line
        if line == "\n":
            got = events(text)
    return got


@tests.test("who comes back 20 times gets each event once, in order",
            covers=["P-43"])
def _():
    with Server() as s:
        path = at(K, "/events?run=c")
        ask(s, "POST", at(K, "/runs"), {"message": "longly"},
            Prefer="respond-async", Idempotency_Key="c")
        got, last = [], 0
        for _ in range(20):
            link, reply = reader(s, path, last)
            assert reply.status == 200
            some = take(reply, 2)
            link.close()
            got += some
            last = some[-1][1]
        link, reply = reader(s, path, last)
        got += take(reply, 1000)
        link.close()
        whole = events(s.request("GET", path)[2])
        assert got == whole, (got, whole)
        data = [json.loads(e[2]) for e in whole]
        assert "".join(d["text"] for e, d in zip(whole, data)
                       if e[0] == "message") == "".join(
                           f"{i} " for i in range(60))
        assert all(d["run"] == "c" for d in data)
        assert [e[1] for e in whole] == sorted({e[1] for e in whole})
        assert whole[-1][0] == "done"
        # Who has the end is told that there is no more.
        status, _, text = s.request("GET", path,
                                    **{"Last-Event-ID": str(whole[-1][1])})
        assert (status, text) == (204, "")
        rest = s.request("GET", f"{path}&after={whole[-2][1]}")
        assert (rest[0], events(rest[2])) == (200, whole[-1:])
        assert rest[1]["cache-control"] == "no-store"
        lines = s.request("GET", path, Accept="application/x-ndjson")[2]
        assert [json.loads(line)["id"] for line in lines.splitlines()] == [
            e[1] for e in whole]


@tests.test("who is too late is set back to the oldest event",
            covers=["P-44"])
def _():
    with Server("--keep-events", "0") as s:
        for i in range(3):
            say(s, f"number {i}", Idempotency_Key=f"c{i}")
            time.sleep(0.01)
        # Of a run whose events are gone there is what it said, once.
        got = events(s.request("GET", at(K, "/events?run=c0"))[2])
        assert [(e[0], json.loads(e[2])) for e in got] == [
            ("message", {"run": "c0", "text": "You said: number 0"}),
            ("done", {"run": "c0"})], got
        assert s.request("GET", at(K, "/events?run=c0"),
                         **{"Last-Event-ID": str(got[-1][1])})[0] == 204
        link, reply = reader(s, at(K, "/events"), 1)
        got = take(reply, 3)
        link.close()
        oldest = json.loads(got[0][2])["oldest"]
        assert got[0][0] == "reset" and oldest > 2, got
        assert got[1][1] == oldest and got[1][0] == "message", got
        assert json.loads(got[1][2])["text"] == "You said: number 2"
        # With the number of the reset it goes on at the same place.
        link, reply = reader(s, at(K, "/events"), got[0][1])
        assert take(reply, 2) == got[1:]
        link.close()


@tests.test("who is ahead waits; a session is followed over its runs")
def _():
    with Server("--ping", "100") as s:
        say(s, "one")
        link, reply = reader(s, at(K, "/events?after=3"))
        assert reply.status == 200
        while reply.readline() != b": ping\n":
            pass
        say(s, "two")
        got = take(reply, 1)
        assert [e[:2] for e in got] == [("done", 4)], got
        link.close()
        link, reply = reader(s, at(K, "/events"))
        assert [json.loads(e[2]).get("text") for e in take(reply, 4)] == [
            "You said: one", None, "You said: two", None]
        link.close()
        refused(s, 404, "not-found", "GET", at("nobody", "/events"))
        refused(s, 404, "not-found", "GET", at(K, "/events?run=nobody"))
        refused(s, 400, "bad-request", "GET", at(K, "/events?after=x"))


@tests.test("changes of a tenant's sessions are told, those of others not")
def _():
    with Server("--tenant", "one", "--ping", "300") as s, \
            Server("--tenant", "two") as other:
        good(s, "POST", API + "/sessions", {"id": "before"})
        link, reply = reader(s, API + "/events")
        assert take(reply, 1) == [("list", None, "{}")]

        def told():
            while True:
                got = take(reply, 1)[0]
                if got[0] == "session":
                    return json.loads(got[2])
        for _ in range(50):
            good(other, "PUT", at("theirs", "/state"), {"stateBag": {}})
        good(s, "PUT", at("a", "/state"), {"stateBag": {"x": 1}})
        assert told() == {"id": "a", "revision": 1, "state": "idle"}
        good(s, "PATCH", at("before"), {"properties": {"x": 1}})
        assert told() == {"id": "before", "revision": 2, "state": "idle"}
        thread = threading.Thread(target=say, args=(s, "work"))
        thread.start()
        notice = told()
        while notice["state"] != "running":
            notice = told()
        assert notice["id"] == K
        go()
        while notice["state"] != "idle":
            notice = told()
        thread.join()
        good(s, "DELETE", at("a"))
        notice = told()
        while notice["id"] == K:
            notice = told()
        assert notice == {"id": "a", "revision": 0, "state": "deleted"}
        # Another process tells no ids: the sessions are to be listed.
        run([PERDURE, "session", "delete", "--yes", "--store", "x.db",
             "--tenant", "one", "before"])
        assert take(reply, 1)[0][0] in ("list", "session")
        link.close()
        text = s.request("GET", "/metrics")[2]
        assert "perdure_sse_subscribers" in text


# --- refusals ----------------------------------------------------------------


@tests.test("what is wrong has a status and a slug, and changes nothing",
            covers=["P-48"])
def _():
    with Server("--max-body", "2K") as s:
        good(s, "POST", API + "/sessions", {"id": "a"})
        say(s, "Hi")
        before = exported(s)
        bad, invalid = (400, "bad-request"), (422, "invalid-state")
        cases = [
            (bad, "POST", "/sessions", "{"),
            (bad, "POST", "/sessions", ""),
            (bad, "POST", "/sessions", []),
            (bad, "POST", "/sessions", {"name": "x"}),
            (bad, "POST", "/sessions", {"expires": "soon"}),
            (bad, "POST", "/sessions", {"id": ""}),
            (bad, "POST", "/sessions", {"id": "x" * 1025}),
            (bad, "POST", "/sessions", {"id": "@no id"}),
            (invalid, "POST", "/sessions", {"id": 5}),
            (invalid, "POST", "/sessions", {"properties": []}),
            ((409, "already-exists"), "POST", "/sessions", {"id": "a"}),
            (bad, "GET", "/sessions?limit=0", None),
            (bad, "GET", "/sessions?limit=201", None),
            (bad, "GET", "/sessions?limit=x", None),
            (bad, "GET", "/sessions?cursor=x", None),
            (bad, "GET", "/sessions?state=asleep", None),
            (bad, "GET", "/sessions?property=x", None),
            (bad, "GET", "/sessions?property=x%3D" + 1100 * "y", None),
            (bad, "GET", "/sessions?changedFrom=yesterday", None),
            (bad, "GET", "/sessions?changedFrom=2002-01-01&"
             "changedTo=2001-01-01", None),
            (bad, "GET", "/sessions/a/entries?from=x", None),
            ((404, "not-found"), "GET", "/sessions/nobody/entries", None),
            ((404, "not-found"), "GET", "/sessions/nobody/state", None),
            ((404, "not-found"), "DELETE", "/sessions/nobody", None),
            ((404, "not-found"), "GET", "/nothing", None),
            ((404, "not-found"), "GET", "/agents/nobody", None),
            ((404, "not-found"), "POST", "/verify?session=nobody", None),
            ((405, "method-not-allowed"), "PUT", "/sessions", None),
            (bad, "PUT", "/sessions/a/state", "{"),
            (bad, "PUT", "/sessions/a/state", '{"stateBag":{}}x'),
            (invalid, "PUT", "/sessions/a/state", "5"),
            (invalid, "PUT", "/sessions/a/state", {"what": 1}),
            (invalid, "PUT", "/sessions/a/state", {"stateBag": 5}),
            ((422, "schema-incompatible"), "PUT", "/sessions/a/state",
             {"schemaVersion": "9.0.0", "data": {}}),
            ((413, "too-large"), "PUT", "/sessions/a/state",
             {"stateBag": {"x": "x" * 3000}}),
            (bad, "PUT", "/sessions/%20%zz/state", {"stateBag": {}}),
            (invalid, "POST", "/sessions/a/runs", {"message": "Hi"}),
            ((404, "not-found"), "POST", "/sessions/%40dafx-x%40k/runs",
             {"message": "Hi"}),
            (bad, "POST", at(K, "/runs"), "{"),
            (bad, "POST", at(K, "/runs"), {"message": 5}),
            (bad, "POST", "/import", "{"),
        ]
        for (status, slug), method, path, body in cases:
            path = path if path.startswith(API) else API + path
            refused(s, status, slug, method, path, body)
        refused(s, 400, "bad-request", "POST", at(K, "/runs"),
                {"message": "Hi"}, Idempotency_Key="x" * 256)
        refused(s, 412, "version-conflict", "POST", at(K, "/runs"),
                {"message": "Hi"}, If_Match='"v0-0"')
        _, value = refused(s, 422, "invalid-state", "PUT", at("a", "/state"),
                           {"stateBag": 5})
        assert value["errors"][0]["pointer"] == "/stateBag", value
        assert exported(s) == before
        # The run of a model that fails is stored; who waits is told.
        refused(s, 502, "upstream", "POST", at(K, "/runs"),
                {"message": "break"}, Idempotency_Key="b")
        again, value = refused(s, 502, "upstream", "POST", at(K, "/runs"),
                               {"message": "break"}, Idempotency_Key="b")
        assert again["idempotency-replayed"] == "true"
        assert "no such model" in value["detail"]
        failed = good(s, "GET", at(K, "/runs/b"))[1]
        runs = {r["id"]: r for r in good(s, "GET", at(K, "/runs"))[1]["items"]}
        assert runs["b"]["outcome"] == failed["outcome"], runs
        assert runs["b"]["firstSeq"] == 3 and len(runs) == 2
        assert failed["state"] == "failed"
        assert failed["outcome"]["code"] == value["code"]


@tests.test("who has no key, or one that may not, gets a problem",
            covers=["P-48"])
def _():
    def key(scope):
        done = run([PERDURE, "key", "create", "--keys", "keys", "--scope",
                    scope])
        return {"Authorization": "Bearer " + done.out.decode().strip()}
    reads, writes = key("read"), key("write")
    with Server("--keys", "keys") as s:
        put = ("PUT", at("a", "/state"), {"stateBag": {}})
        refused(s, 401, "unauthorized", *put)
        refused(s, 401, "unauthorized", *put, Authorization="Bearer x")
        refused(s, 403, "forbidden", *put, **reads)
        refused(s, 404, "not-found", "GET", at("a"), **reads)
        good(s, *put, **writes)
        good(s, "GET", at("a"), **reads)
        refused(s, 403, "forbidden", "GET", at("a"), **writes)


# --- the store ---------------------------------------------------------------


@tests.test("agents say what they are")
def _():
    with Server() as s:
        items = good(s, "GET", API + "/agents")[1]["items"]
        assert [a["name"] for a in items] == ["Harbour", "Poet"]
        assert good(s, "GET", API + "/agents/harbour")[1] == items[0]
        assert items[0]["metadata"] == {"team": "pier"}, items
        assert items[0]["description"] == "Knows ships"


@tests.test("what is exported makes the same store", covers=["P-52"])
def _():
    documents = {
        "@dafx-harbour@x": '{"schemaVersion":"1.1.0","odd":{"a":1.50},"data":'
                           '{"conversationHistory":[],"odd":[null]}}',
        "c/1": '{ "stateBag":{"k":"\\u00e9\\/", "n":1E2}, "other": true}',
        "py": '{"type":"session","session_id":"py","state":{"x":1}}'}
    with Server() as s:
        for sid, text in documents.items():
            good(s, "PUT", at(sid, "/state"), text)
        good(s, "PATCH", at("py"), {"properties": {"team": "garden"}})
        say(s, "Hi", "@dafx-harbour@x")
        lines = exported(s)
        states = {sid: s.request("GET", at(sid, "/state"))[2]
                  for sid in documents}
        assert states["c/1"] == documents["c/1"]
        assert good(s, "POST", API + "/verify")[1]["ok"] is True
        report = good(s, "POST", API + "/verify?session=py")[1]
        assert (report["ok"], report["sessions"]) == (True, 1)
    os.rename("x.db", "old.db")
    with Server() as s:
        def told(body, query=""):
            return [json.loads(line) for line in good(
                s, "POST", API + "/import" + query, body)[1].splitlines()]
        assert [r["status"] for r in told(lines)] == 3 * ["created"]
        assert exported(s) == lines
        for sid, text in states.items():
            assert s.request("GET", at(sid, "/state"))[2] == text, sid
        assert good(s, "GET", at("py"))[1]["properties"] == {
            "team": "garden"}
        # Sent again, nothing changes; another document needs to be wanted.
        assert [r["status"] for r in told(lines)] == 3 * ["unchanged"]
        other = '{"type":"session","session_id":"py","state":{"x":2}}'
        got = told(f'[{other}, 5]\n{{"id":"new","document":{{"stateBag":'
                   '{}}}')
        assert [(r["id"], r["status"]) for r in got] == [
            ("py", "failed"), (None, "failed"), ("new", "created")], got
        assert got[0]["error"]["code"] == "session_exists"
        assert told(other, "?replace=true")[0]["status"] == "replaced"
        # What comes after a slip is not read, and what came before is there.
        got = told('{"id":"one","document":{"stateBag":{}}}\n{"id":')
        assert got[0]["status"] == "created" and "error" in got[1], got
        assert ask(s, "GET", at("one"))[0] == 200


@tests.test("a tenant sees its own sessions only")
def _():
    with Server("--tenant", "one") as one, Server("--tenant", "two") as two:
        say(one, "Hi", Idempotency_Key="c")
        good(one, "POST", API + "/sessions", {"id": "a"})
        before = exported(one)
        for method, rest, body in (
                ("GET", "", None), ("GET", "/state", None),
                ("GET", "/entries", None), ("GET", "/journal", None),
                ("GET", "/bag", None), ("GET", "/bag/x", None),
                ("PUT", "/bag/x", 1), ("DELETE", "/bag/x", None),
                ("PATCH", "", {"properties": {}}), ("DELETE", "", None),
                ("GET", "/runs/c", None), ("POST", "/runs/c/cancel", None),
                ("POST", "/runs/c/resume", None), ("GET", "/events", None)):
            refused(two, 404, "not-found", method, at(K, rest), body)
        refused(two, 404, "not-found", "POST",
                API + "/verify?session=" + quoted(K))
        assert good(two, "GET", API + "/sessions")[1]["items"] == []
        assert exported(two) == ""
        assert good(two, "POST", API + "/verify")[1]["sessions"] == 0
        # An id that another tenant has is free here.
        say(two, "Ho")
        good(two, "PUT", at("a", "/state"), {"stateBag": {"x": 1}})
        assert exported(one) == before


# --- what is written about it ------------------------------------------------


@tests.test("the examples of the description are what happens")
def _():
    page = pathlib.Path(__file__).parents[2] / "docs/formats/http.md"
    blocks = page.read_text(encoding="utf-8").split("```http\n")[1:]
    assert len(blocks) >= 8
    with Server() as s:
        for block in blocks:
            asked, _, told = block.split("```")[0].partition("\n\n< ")
            head, _, body = asked.partition("\n\n")
            first, *headers = head.split("\n")
            method, path = first.split(" ")
            status, got, text = s.request(
                method, path, body or None,
                **dict(line.split(": ") for line in headers))
            wanted, _, parts = told.partition("\n\n")
            code, *headers = wanted.strip().split("\n")
            assert str(status) == code.strip(), (block, status, text)
            for line in headers:
                name, _, value = line.partition(": ")
                assert value in got[name.lower()], (block, got)
            for part in parts.strip().split("..."):
                assert part.strip() in text, (block, text)


tests.finish()
