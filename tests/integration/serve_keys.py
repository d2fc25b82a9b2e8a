"""Who may do what at perdure serve: keys, their scopes, their tenants.

What is asked of each route comes from /openapi.json, so that a new route is
asked, too. Usage: serve_keys.py PERDURE
"""
import concurrent.futures
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import stat
import time

from harness import Tests, headers_of, run
from serving import PERDURE, Server

tests = Tests("serve-keys")

SCOPES = ("read", "run", "write", "admin")
FILE = "keys.jsonl"


def make(*scopes, tenant="ours", note=None):
    """A new key of the file."""
    options = [f"--scope={scope}" for scope in scopes or ("admin",)]
    if note is not None:
        options.append(f"--note={note}")
    done = run([PERDURE, "key", "create", "--keys", FILE, "--tenant", tenant,
                *options])
    assert done.status == 0 and len(done.out.splitlines()) == 1, done
    return done.out.decode().strip()


def bearer(key):
    return {} if key is None else {"Authorization": "Bearer " + key}


def keyed(*options, **more):
    return Server("--keys", FILE, *options, **more)


def ask(server, method, path, key=None, body=None, **headers):
    """As Server.request(), but of a stream only what comes at once."""
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    if isinstance(body, dict):
        body = json.dumps(body)
        headers["Content-Type"] = "application/json"
    link.request(method, path, body, {**bearer(key), **headers})
    reply = link.getresponse()
    head = headers_of(reply)
    text = "" if "event-stream" in head.get("content-type", "") else (
        reply.read().decode())
    link.close()
    return reply.status, head, text


# What each route has of sessions, and where it takes their names: "path", or a
# name of its query or its body. A route that is not here fails the test.
#
# HIDDEN: of one that exists; a foreign and an unknown one are the same 404.
# MAKES: it is made for whoever asks, also where somebody else has one so named.
# LISTS: it tells of those of the tenant. NOTHING: no reply has to do with them.
HIDDEN, MAKES, LISTS, NOTHING = "hidden", "makes", "lists", "nothing"
MATRIX = {
    **{name: (NOTHING,) for name in (
        "healthz", "readyz", "metrics", "openapi", "root", "ui-redirect", "ui",
        "ui-login", "ui-logout", "ui-file", "agents-health", "agents",
        "agent")},
    **{name: (LISTS,) for name in (
        "sessions", "chats", "notices", "overview", "export")},
    **{name: (HIDDEN, "path") for name in (
        "agent-session", "agent-response", "agent-stream",
        "agent-session-delete", "stream", "state", "entries", "findings",
        "journal", "bag", "slot", "slot-put", "slot-delete", "runs", "run",
        "run-cancel", "run-resume", "events", "session", "session-patch",
        "session-delete", "chat", "chat-messages", "chat-say", "chat-turns",
        "chat-saved")},
    "verify": (HIDDEN, "query session"),
    **{name: (MAKES, "path") for name in (
        "state-put", "run-start", "chat-restore")},
    "agent-run": (MAKES, "query session_id", "query thread_id",
                  "query sessionId", "body session_id", "body thread_id",
                  "body sessionId"),
    "create": (MAKES,),  # each time another one
    "session-create": (MAKES, "body id"),
    "chat-create": (MAKES, "body id"),
    "import": (MAKES, "body id"),
}


class Route:
    def __init__(self, path, verb, operation):
        self.path, self.verb = path, verb.upper()
        self.name = operation["operationId"]
        self.scope = (operation["security"][0]["key"][0]
                      if operation["security"] else None)
        self.body = (operation.get("requestBody", {}).get("content", {})
                     .get("application/json", {}).get("example"))
        self.body = self.body and json.loads(json.dumps(self.body).replace(
            "{agent}", "Harbour"))
        self.names = re.findall(r"{(\w+)}", path)
        assert self.name in MATRIX, f"say in MATRIX what {self.name} has"
        self.kind, *self.places = MATRIX[self.name]
        # What says by its path which session is meant.
        assert ("path" in self.places) == bool(
            {"key", "id"} & set(self.names)), self.name
        self.is_of_chats = "/chats" in path

    def id_of(self, session):
        if self.is_of_chats:
            return "chat-" + session
        return "@dafx-harbour@" + session

    def at(self, session):
        """Its path for this session. A variable that this does not know fails
        the test: say what it means."""
        values = {"agent": "Harbour", "id": self.id_of(session),
                  "key": "slot" if "id" in self.names else session,
                  "correlation": "c1", "run": "c1",
                  "hash": "none", "name": "app.js"}
        return re.sub(r"{(\w+)}", lambda m: values[m.group(1)], self.path)

    def ask(self, server, key, session, place="body id", **headers):
        """Ask for this session, which is named in one place."""
        path, body = self.at(session), self.body
        kind, _, name = place.partition(" ")
        value = self.id_of(session) if name in ("id", "session") else session
        if kind == "query":
            path += f"?{name}={value}"
        if body is None and self.verb in ("POST", "PUT", "PATCH"):
            body = "Hello"
        elif isinstance(body, dict):
            body = {k: v for k, v in body.items() if k not in (
                "id", "session_id")}
            if kind == "body" and (name in self.body or self.name ==
                                   "agent-run"):
                body[name] = value
        return ask(server, self.verb, path, key, body, **headers)


def routes(server):
    """All of them; what deletes comes last."""
    api = json.loads(server.request("GET", "/openapi.json")[2])
    found = [Route(path, verb, operation)
             for path, verbs in api["paths"].items()
             for verb, operation in verbs.items()]
    assert {route.name for route in found} == set(MATRIX)
    return sorted(found, key=lambda route: route.verb == "DELETE")


def say(server, key, session):
    status, _, text = ask(
        server, "POST", f"/api/agents/Harbour/run?session_id={session}", key,
        "Hello", **{"Idempotency-Key": "c1"})
    assert status == 200, (status, text)


def document(server, key, session):
    status, _, text = ask(
        server, "GET", f"/api/agents/Harbour/sessions/{session}", key)
    assert status == 200, (status, text)
    return text


def hang_up(server, event):
    """SIGHUP, until the server has told this once more."""
    def count():
        with open("log", encoding="utf-8") as file:
            return file.read().count(" " + event)
    before, end = count(), time.monotonic() + 20
    server.process.send_signal(signal.SIGHUP)
    while count() == before:
        assert time.monotonic() < end and server.process.poll() is None
        time.sleep(0.02)


# What routes without a scope say to everybody, if not 200: the file that is asked
# for is not there, nor is the key of the example one.
OPEN = {"root": 308, "ui-redirect": 308, "ui-file": 404, "ui-login": 401,
        "ui-logout": 204}

# --- who may do what ----------------------------------------------------------


@tests.test("each route needs a key, and a scope of it")
def _():
    keys = {scope: make(scope) for scope in SCOPES}
    wrong = keys["admin"][:-1] + ("A" if keys["admin"][-1] != "A" else "E")
    strangers = [
        {}, bearer(wrong), bearer(keys["admin"].replace("pd_", "pd_0")),
        bearer("pd_x_y"), bearer(""), bearer(keys["admin"] + "="),
        {"Authorization": "Basic " + keys["admin"]},
        {"Authorization": keys["admin"]}]
    with keyed() as s:
        for route in routes(s):
            for headers in strangers:
                status, head, _ = route.ask(s, None, "k", **headers)
                if route.scope is None:
                    assert status == OPEN.get(route.name, 200), (
                        route.name, headers, status)
                    continue
                assert status == 401, (route.name, headers, status)
                assert head["www-authenticate"].startswith("Bearer"), head
                assert head["connection"] == "close"
            for scope, key in keys.items():
                status, head, text = route.ask(s, key, "k-" + scope)
                if route.scope is None:
                    assert status == OPEN.get(route.name, 200), route.name
                    continue
                may = scope in (route.scope, "admin")
                assert (status not in (401, 403)) == may, (
                    route.name, scope, status, text)
                if not may:
                    assert status == 403, (route.name, scope, text)
                    assert (f'scope="{route.scope}"'
                            in head["www-authenticate"]), head


def known(reply):
    """What a reply says, but for the id that was asked for and its number."""
    status, head, text = reply
    head = {k: v for k, v in head.items()
            if k not in ("date", "content-length")}
    for name in ("mine", "none"):
        head = {k: v.replace(name, "*") for k, v in head.items()}
        text = text.replace(name, "*")
    return status, head, re.sub(r'"requestId":"\d+"', "", text)


def furnish(server, key, session):
    """A session with a run and a slot, and a chat, both of this name."""
    say(server, key, session)
    for method, path, body in (
            ("PUT", f"/sessions/@dafx-harbour@{session}/bag/slot", {"a": 1}),
            ("POST", "/chats", {"id": "chat-" + session,
                                "agents": ["Harbour"]}),
            ("POST", f"/chats/chat-{session}/messages", {"text": session})):
        status, _, text = ask(server, method, "/api/v1" + path, key, body)
        assert 200 <= status < 300, (path, status, text)


def everything(server, key, session):
    """All that is stored by this name."""
    texts = []
    for path in (f"/sessions/@dafx-harbour@{session}",
                 f"/sessions/@dafx-harbour@{session}/bag/slot",
                 f"/chats/chat-{session}/saved"):
        status, head, text = ask(server, "GET", "/api/v1" + path, key)
        assert status == 200, (path, status, text)
        texts.append((head["etag"], text))
    return document(server, key, session), texts


@tests.test("what is somebody else's is not there, on every route")
def _():
    ours, asked = make(), 0
    with keyed() as s:
        furnish(s, ours, "mine")
        before = everything(s, ours, "mine")
        for route in routes(s):
            for i, place in enumerate(route.places):
                asked += 1
                who = (route.name, place)
                # A stranger for each, who has nothing.
                theirs = make(tenant=f"theirs of {route.name} {i}")
                hang_up(s, "keys_reloaded")
                foreign = route.ask(s, theirs, "mine", place)
                unknown = route.ask(s, theirs, "none", place)
                if route.kind == MAKES:
                    assert foreign[0] == unknown[0] < 300, (who, foreign)
                    assert '"failed"' not in foreign[2], (who, foreign)
                else:
                    assert foreign[0] == 404, (who, foreign)
                    assert known(foreign) == known(unknown), (
                        who, foreign, unknown)
                assert everything(s, ours, "mine") == before, who
                # Who may look at it finds it.
                own = f"own-{route.name}-{i}"
                furnish(s, ours, own)
                status, _, text = route.ask(s, ours, own, place)
                assert status not in (401, 403, 404), (who, status, text)
    assert asked >= 35, asked


@tests.test("whoever waits for what is somebody else's gets what is not there")
def _():
    ours, theirs = make(), make(tenant="theirs")
    with keyed() as s:
        furnish(s, ours, "mine")

        def wait(path):
            link = http.client.HTTPConnection("127.0.0.1", s.port, timeout=30)
            link.request("GET", path, headers=bearer(theirs))
            reply = link.getresponse()
            got = reply.status, dict(reply.getheaders()), reply.read().decode()
            link.close()
            return got
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for path in ("/api/agents/Harbour/sessions/*/stream?wait=1",
                         "/api/agent/stream/@dafx-harbour@*?wait=1",
                         "/api/agents/Harbour/sessions/*/responses/c1?wait=1"):
                foreign, unknown = pool.map(
                    wait, [path.replace("*", name) for name in
                           ("mine", "none")])
                assert known((foreign[0], {}, foreign[2])) == known(
                    (unknown[0], {}, unknown[2])), (foreign, unknown)
                assert "Hello" not in foreign[2], foreign


@tests.test("lists, exports and notices have what is of the tenant only")
def _():
    ours, theirs = make(), make(tenant="theirs")
    with keyed() as s:
        furnish(s, ours, "mine")
        for session in ("mine-2", "same"):
            say(s, ours, session)
        say(s, theirs, "same")
        with socket.create_connection(("127.0.0.1", s.port)) as link:
            link.settimeout(20)
            link.sendall("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n"
                         f"Authorization: Bearer {theirs}\r\n\r\n".encode())
            got = b""
            while b"event: list" not in got:
                got += link.recv(65536)
            say(s, ours, "mine-3")
            say(s, theirs, "theirs")
            while b"@dafx-harbour@theirs" not in got:
                got += link.recv(65536)
            assert b"mine" not in got, got
        for route in routes(s):
            if route.kind not in (LISTS, NOTHING):
                continue
            _, _, text = ask(s, route.verb, route.at("mine"), theirs)
            assert "mine" not in text, (route.name, text)
            _, _, text = ask(s, route.verb, route.at("mine"), ours)
            if route.kind == NOTHING:
                assert "mine" not in text, (route.name, text)
            elif route.name in ("sessions", "chats", "export"):
                assert "mine" in text, (route.name, text)
        for key, count in ((theirs, 2), (ours, 5)):
            value = json.loads(ask(s, "GET", "/api/v1/overview", key)[2])
            assert value["sessions"]["total"] == count, value
            value = json.loads(ask(s, "POST", "/api/v1/verify", key)[2])
            assert value["sessions"] == count, value
        page = json.loads(ask(
            s, "GET", "/api/v1/sessions?limit=1", ours)[2])
        _, _, text = ask(s, "GET", "/api/v1/sessions?cursor=" + page["next"],
                         theirs)
        assert "mine" not in text, text
        # A name that somebody else has is free.
        for session, status in (("mine", 201), ("same", 409)):
            assert ask(s, "POST", "/api/v1/sessions", theirs, {
                "id": "@dafx-harbour@" + session})[0] == status
        before = document(s, ours, "mine"), document(s, ours, "same")
        for session in ("mine", "same"):
            assert ask(s, "DELETE", f"/api/agents/Harbour/sessions/{session}",
                       theirs)[0] == 204
        assert before == (document(s, ours, "mine"), document(s, ours, "same"))


@tests.test("the runs of all tenants are carried out")
def _():
    keys = [make("run", "read", tenant=f"tenant {i}") for i in range(5)]
    with keyed() as s:
        for key in keys:
            say(s, key, "k")
    for i in range(5):
        done = run([PERDURE, "session", "list", "--store", "x.db", "--tenant",
                    f"tenant {i}", "-o", "raw"])
        assert done.out == b"@dafx-harbour@k\n", done


# --- the way it is asked --------------------------------------------------------


@tests.test("who is refused has to connect again")
def _():
    key = make()
    with keyed() as s:
        one = "GET /api/health HTTP/1.1\r\nHost: localhost\r\n%s\r\n"
        right = one % f"Authorization: bearer  {key}\r\n"
        for bad in (one % "", one % "Authorization: Bearer pd_a_b\r\n",
                    one % (f"Authorization: Bearer {key}\r\n" * 2)):
            got = s.raw((bad + right).encode())
            assert got.startswith(b"HTTP/1.1 401"), got
            assert got.count(b"HTTP/1.1") == 1, got
        # A body is not waited for.
        got = s.raw(b"POST /api/agents/Harbour/run HTTP/1.1\r\n"
                    b"Host: localhost\r\nContent-Length: 1000000\r\n\r\n")
        assert got.startswith(b"HTTP/1.1 401"), got
        got = s.raw((right + right.replace(
            "Host", "Connection: close\r\nHost")).encode())
        assert got.count(b"HTTP/1.1 200") == 2, got


@tests.test("pages of others get nothing; no reply is kept or framed")
def _():
    key = make()
    with keyed() as s:
        say(s, key, "k")
        for verb, path, status in (
                ("GET", "/healthz", 200), ("GET", "/metrics", 200),
                ("GET", "/api/agents/Harbour/sessions/k", 200),
                ("GET", "/api/agents/Harbour/sessions/none", 404),
                ("GET", "/api/agents/Harbour/sessions/k/stream", 200),
                ("OPTIONS", "/api/agents/Harbour/run", 405),
                ("OPTIONS", "/nowhere", 404), ("HEAD", "/api/health", 200)):
            got, head, _ = ask(s, verb, path, key, Origin="http://evil.test",
                               **{"Access-Control-Request-Method": "POST"})
            assert got == status, (verb, path, got)
            assert not [name for name in head if "access-control" in name]
            assert head["x-content-type-options"] == "nosniff"
            assert head["referrer-policy"] == "no-referrer"
            assert head["cache-control"] == "no-store", (path, head)
            assert head["content-security-policy"] == (
                "default-src 'none'; frame-ancestors 'none'")


@tests.test("other addresses are served with keys, by any name or by those "
            "that are given", covers=["P-49"])
def _():
    key = make()

    def status(server, host, key=key):
        return ask(server, "GET", "/api/health", key, Host=host)[0]
    with keyed(listen="0.0.0.0:0") as s:
        assert status(s, "perdure.example") == status(s, "10.0.0.1:80") == 200
        assert status(s, "localhost", None) == 401
    with keyed("--host", "perdure.example", listen="0.0.0.0:0") as s:
        assert status(s, "perdure.example") == 200
        assert status(s, "evil.example") == 421
    with keyed() as s:
        assert status(s, "evil.example") == 421
    done = run([PERDURE, "serve", "--store", "y.db", "--listen", "0.0.0.0:0"])
    assert done.status == 2 and b"--keys" in done.err, done


@tests.test("a unix socket is for its user, or for whom the mode says")
def _():
    for options, mode in (((), 0o600), (("--socket-mode", "660"), 0o660),
                          (("--socket-mode", "666"), 0o666)):
        old = os.umask(0)
        try:
            with Server("--listen", "unix:s", *options):
                assert stat.S_IMODE(os.stat("s").st_mode) == mode, options
        finally:
            os.umask(old)
    done = run([PERDURE, "serve", "--listen", "unix:s", "--socket-mode",
                "777"])
    assert done.status == 2 and b"--socket-mode" in done.err, done


@tests.test("a unix socket needs a key, too")
def _():
    key = make()
    with keyed("--listen", "unix:s"):
        for head, status in (("", 401),
                             (f"Authorization: Bearer {key}\r\n", 200)):
            with socket.socket(socket.AF_UNIX) as link:
                link.connect("s")
                link.sendall("GET /api/health HTTP/1.0\r\n"
                             f"{head}\r\n".encode())
                assert link.recv(12) == f"HTTP/1.1 {status}".encode()


# --- the file -------------------------------------------------------------------


@tests.test("SIGHUP reads the keys again; a broken file changes nothing")
def _():
    first = make()
    with keyed() as s:
        def status(key):
            return ask(s, "GET", "/api/health", key)[0]
        second = make()
        assert (status(first), status(second)) == (200, 401)
        hang_up(s, "keys_reloaded")
        assert (status(first), status(second)) == (200, 200)
        with open(FILE, encoding="utf-8") as file:
            good = file.read()
        for text, mode in (("{}\n", 0o600), (good, 0o644), (None, None)):
            os.remove(FILE)
            if text is not None:
                with open(FILE, "w", encoding="utf-8") as file:
                    file.write(text)
                os.chmod(FILE, mode)
            hang_up(s, "keys_not_reloaded")
            assert (status(first), status(second)) == (200, 200)
        with open(FILE, "w", encoding="utf-8") as file:
            file.write(good)
        os.chmod(FILE, 0o600)
        done = run([PERDURE, "key", "revoke", "--keys", FILE,
                    first.split("_")[1]])
        assert done.status == 0, done
        assert status(first) == 200
        hang_up(s, "keys_reloaded")
        assert (status(first), status(second)) == (401, 200)


@tests.test("a stream ends when its key is revoked, others go on")
def _():
    gone, stays = make("read", "run"), make("read", "run")
    with keyed("--ping", "50") as s:
        say(s, stays, "k")
        links = []
        for key in (gone, stays):
            link = socket.create_connection(("127.0.0.1", s.port))
            link.settimeout(20)
            link.sendall("GET /api/agents/Harbour/sessions/k/stream HTTP/1.1"
                         f"\r\nHost: localhost\r\nAuthorization: Bearer {key}"
                         "\r\n\r\n".encode())
            assert link.recv(12) == b"HTTP/1.1 200"
            links.append(link)
        run([PERDURE, "key", "revoke", "--keys", FILE, gone.split("_")[1]])
        hang_up(s, "keys_reloaded")
        end = time.monotonic() + 20
        with contextlib.suppress(ConnectionError):
            while links[0].recv(65536):
                assert time.monotonic() < end
        say(s, stays, "k2")
        ask(s, "POST", "/api/agents/Harbour/run?session_id=k", stays, "more")
        got = b""
        while b"You said: more" not in got:
            chunk = links[1].recv(65536)
            assert chunk, got
            got += chunk
        for link in links:
            link.close()


@tests.test("a file that is unsafe, broken or missing is refused at once")
def _():
    make()
    with open(FILE, encoding="utf-8") as file:
        good = file.read()
    key = json.loads(good)
    cases = [(good, 0o640, 4, "chmod 600"), (good, 0o602, 4, "chmod 600"),
             ("x\n", 0o600, 6, "line 1"), ("\n[]\n", 0o600, 6, "line 2"),
             (good + good, 0o600, 6, "line 2")]
    for change in ({"scopes": []}, {"scopes": ["all"]}, {"scopes": "read"},
                   {"sha256": "00"}, {"sha256": "Z" * 64}, {"id": "A_b"},
                   {"id": ""}, {"tenant": ""}, {"tenant": "a\0b"},
                   {"created": "now"}, {"expires": "2027-01-01"}):
        cases.append((json.dumps({**key, **change}) + "\n", 0o600, 6,
                      "line 1"))
    for name in ("id", "sha256", "scopes", "tenant", "created"):
        less = {k: v for k, v in key.items() if k != name}
        cases.append((json.dumps(less), 0o600, 6, f"no '{name}'"))
    for text, mode, status, word in cases:
        with open(FILE, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(FILE, mode)
        for command in (["serve", "--store", "y.db", "--listen",
                         "127.0.0.1:0"], ["key", "list"]):
            done = run([PERDURE, *command, "--keys", FILE])
            assert done.status == status, (text, mode, done)
            assert word in done.err.decode(), (text, mode, done)
            assert key["sha256"] not in done.err.decode()
    for path, status in (("none", 3), (".", 6)):
        done = run([PERDURE, "serve", "--store", "y.db", "--keys", path])
        assert done.status == status, done
    assert not os.path.exists("y.db")


@tests.test("a file has no secret, and is changed as a whole")
def _():
    note = 'for "Ann", \u00fc'
    shown = [make("read", "run"), make("write", tenant="b", note=note)]
    assert oct(os.stat(FILE).st_mode)[-3:] == "600"
    with open(FILE, encoding="utf-8") as file:
        text = file.read()
    for key in shown:
        assert re.fullmatch(r"pd_[0-9a-z]{12}_[A-Za-z0-9_-]{43}", key), key
        assert key.split("_", 2)[2] not in text
    done = run([PERDURE, "key", "list", "--keys", FILE, "-o", "json"])
    listed = json.loads(done.out)
    assert [k["id"] for k in listed] == [k.split("_")[1] for k in shown]
    assert listed[0]["scopes"] == ["read", "run"] and "note" not in listed[0]
    assert listed[1]["tenant"] == "b" and listed[1]["note"] == note
    assert b"sha256" not in done.out
    os.symlink(FILE, "link")
    done = run([PERDURE, "key", "revoke", "--keys", "link", listed[0]["id"]])
    assert done.status == 0 and os.path.islink("link"), done
    with open(FILE, encoding="utf-8") as file:
        assert file.read() == text.splitlines(True)[1]
    done = run([PERDURE, "key", "revoke", "--keys", FILE, listed[0]["id"]])
    assert done.status == 3, done
    assert sorted(os.listdir()) == [FILE, "link"]


@tests.test("many who add keys at once lose none")
def _():
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        shown = list(pool.map(lambda i: make("read"), range(40)))
    done = run([PERDURE, "key", "list", "--keys", FILE, "-o", "raw"])
    assert sorted(done.out.decode().split()) == sorted(
        key.split("_")[1] for key in shown)
    assert os.listdir() == [FILE]


@tests.test("nothing of a key, a prompt or a session is in figures, logs and "
            "errors", covers=["P-50"])
def _():
    tenant = "planted-tenant"
    key, poor = make(tenant=tenant), make("write", tenant=tenant)
    wrong = "pd_planted0_planted-secret"
    told = []
    with keyed() as s:
        session = "planted-session"
        assert ask(s, "POST", "/api/agents/Harbour/run?session_id=" + session,
                   key, "planted-prompt")[0] == 200
        for route in routes(s):
            for one in (None, wrong, poor):
                status, head, text = route.ask(s, one, "planted-none")
                if status in (401, 403):
                    told.append(text + str(head))
            route.ask(s, key, session)
        assert len(told) > 40
        told.append(ask(s, "GET", "/metrics", key)[2])
        assert 'code="200"' in told[-1]
    with open("log", encoding="utf-8") as file:
        told.append(file.read())
    for text in told:
        assert "planted" not in text, text
        for one in (key, poor):
            for part in one.split("_", 2)[1:]:
                assert part not in text, text


tests.finish()
