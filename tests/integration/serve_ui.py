"""The dashboard: its files, who is let in, and what it shows at first.

Usage: serve_ui.py PERDURE
"""
import datetime
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import re
import signal
import time

import serving
from harness import Tests, run
from serving import PERDURE, Server, go

tests = Tests("serve-ui")

WEB = pathlib.Path(__file__).resolve().parents[2] / "web"
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src "
          "'self' data:; media-src data:; connect-src 'self'; font-src "
          "'self'; form-action 'self'; base-uri 'none'; frame-ancestors "
          "'none'")
TYPES = {"html": "text/html; charset=utf-8", "svg": "image/svg+xml",
         "js": "text/javascript; charset=utf-8", "png": "image/png",
         "css": "text/css; charset=utf-8", "woff2": "font/woff2",
         "json": "application/json; charset=utf-8"}


def strict(head):
    """Is a file sent with all that browsers have to be told?"""
    assert head["content-security-policy"] == POLICY, head
    assert head["x-content-type-options"] == "nosniff", head
    assert head["referrer-policy"] == "no-referrer", head
    assert head["cross-origin-opener-policy"] == "same-origin", head
    assert not [name for name in head if name.startswith("access-control")]


def built_in():
    return re.findall(r"^  '(.*)',$", (WEB / "meson.build").read_text(), re.M)


def index(s):
    """The page, and the hash that it names."""
    status, head, text = s.request("GET", "/ui/")
    assert status == 200 and head["content-type"] == TYPES["html"], head
    strict(head)
    return head, text, head.get("etag", '"dev"')[1:-1]


FILE = "keys.jsonl"
HALF_A_DAY = 12 * 3600


def make(*scopes, tenant="ours"):
    """A new key of the file."""
    done = run([PERDURE, "key", "create", "--keys", FILE, "--tenant", tenant,
                *[f"--scope={scope}" for scope in scopes]])
    assert done.status == 0, done
    return done.out.decode().strip()


def keyed(*options):
    return Server("--keys", FILE, *options)


def id_of(key):
    return key.split("_")[1]


def login(s, key, **headers):
    """Status, what the cookie is, and its attributes."""
    status, head, text = s.request("POST", "/ui/login", {"key": key}, **headers)
    cookie = head.get("set-cookie")
    if cookie is None:
        return status, None, text
    pair, *rest = cookie.split("; ")
    assert pair.startswith("perdure_ui=") and text == "", (cookie, text)
    return status, pair[len("perdure_ui="):], rest


def by(cookie, header="1", **more):
    return {"Cookie": f"theme=dark; perdure_ui={cookie}; x=y",
            **({} if header is None else {"X-Perdure-UI": header}), **more}


def problem(reply, status, slug):
    assert reply[0] == status, reply
    assert reply[1]["content-type"] == "application/problem+json", reply
    value = json.loads(reply[2])
    assert value["type"] == "/problems/" + slug, value
    return value["detail"]


def sign(key, text):
    """What docs/formats/keys.md says that a cookie is."""
    digest = hashlib.sha256(key.split("_", 2)[2].encode()).digest()
    return text + "." + hmac.new(digest, b"perdure-ui-1 " + text.encode(),
                                 "sha256").hexdigest()


def hang_up(s, event="keys_reloaded"):
    """SIGHUP, until the server has told this once more."""
    def count():
        with open("log", encoding="utf-8") as file:
            return file.read().count(" " + event)
    before, end = count(), time.monotonic() + 20
    s.process.send_signal(signal.SIGHUP)
    while count() == before:
        assert time.monotonic() < end and s.process.poll() is None
        time.sleep(0.02)


def wait_for(is_so):
    end = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


# --- files -------------------------------------------------------------------


@tests.test("the page and its files are those of web/, each with its headers")
def _():
    with Server() as s:
        head, text, mark = index(s)
        source = (WEB / "index.html").read_text()
        assert re.fullmatch("[0-9a-f]{16}", mark), head
        assert source.count("@HASH@") >= 2 and "@HASH@" not in text
        assert text == source.replace("@HASH@", mark)
        assert head["cache-control"] == "no-cache"
        assert len(built_in()) >= 4
        for name in built_in():
            status, head, text = s.request("GET", f"/ui/{mark}/{name}")
            assert status == 200, (name, text)
            assert text == (WEB / name).read_text(), name
            assert head["content-type"] == TYPES[name.rpartition(".")[2]]
            assert head["cache-control"] == (
                "public, max-age=31536000, immutable"), head
            strict(head)
            status, head, _ = s.request("HEAD", f"/ui/{mark}/{name}")
            assert status == 200
            assert int(head["content-length"]) == (WEB / name).stat().st_size


@tests.test("who has the page is told so; other paths lead to it")
def _():
    with Server() as s:
        head, _, mark = index(s)
        for etag in (head["etag"], f'"x", W/{head["etag"]}', "*"):
            status, again, text = s.request("GET", "/ui/", If_None_Match=etag)
            assert (status, text) == (304, ""), (etag, status)
            assert again["etag"] == head["etag"]
        assert s.request("GET", "/ui/", If_None_Match='"x"')[0] == 200
        for path in ("/", "/ui", "/?a=b"):
            status, head, _ = s.request("GET", path)
            assert (status, head["location"]) == (308, "/ui/"), (path, head)
        for path in ("/ui/", "/ui", "/", f"/ui/{mark}/app.js"):
            assert s.request("POST", path, "x")[0] == 405, path


@tests.test("names that are not in the table are nowhere")
def _():
    with Server() as s:
        mark = index(s)[2]
        for path in ("/ui/dev/app.js", f"/ui/{mark}x/app.js",
                     f"/ui/{mark.upper()}./app.js", f"/ui/{mark}/",
                     f"/ui/{mark}", f"/ui/{mark}/App.js", f"/ui/{mark}/a/b",
                     f"/ui/{mark}/..%2fapp.js", f"/ui/{mark}/../app.js",
                     f"/ui/{mark}/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
                     f"/ui/{mark}/meson.build", f"/ui/{mark}/app.js%20",
                     "/ui//app.js", "//", "/ui/app.js", "/ui/@HASH@/app.js"):
            status, head, text = s.request("GET", path)
            assert status == 404, (path, status)
            assert head["content-type"] == "application/problem+json"
            assert head["cache-control"] == "no-store", (path, head)
            assert json.loads(text)["type"] == "/problems/not-found"
        assert s.request("GET", f"/ui/{mark}/app.js%00.html")[0] == 400


@tests.test("nobody needs a key for the page")
def _():
    make("read")
    with keyed() as s:
        mark = index(s)[2]
        assert s.request("GET", f"/ui/{mark}/app.js")[0] == 200
        assert s.request("GET", "/")[0] == 308
        assert s.request("GET", "/api/v1/agents")[0] == 401


@tests.test("a folder is read anew each time, and nothing out of it")
def _():
    ui = pathlib.Path("page")
    ui.mkdir()
    (ui / "index.html").write_text("<p>@HASH@ @HASH @HASH@@HASH@")
    every = bytes(range(256)) * 40
    (ui / "all_bytes-1.woff2").write_bytes(every)
    for name in ("Big.js", ".hidden.js", "no-type", "a b.js", "odd.exe"):
        (ui / name).write_text("no")
    (ui / "folder.js").mkdir()
    os.mkfifo(ui / "pipe.js")
    pathlib.Path("outside.js").write_text("outside")
    (ui / "link.js").symlink_to("../outside.js")
    (ui / "inner.js").symlink_to("index.html")
    (ui / "up").symlink_to("..")
    with Server("--ui-dir", "page") as s:
        head, text, _ = index(s)
        assert text == "<p>dev @HASH devdev", text
        assert head["cache-control"] == "no-store" and "etag" not in head
        (ui / "index.html").write_text("new")
        assert index(s)[1] == "new"
        (ui / "a.css").write_text("")
        status, head, text = s.request("GET", "/ui/dev/a.css")
        assert (status, text) == (200, "") and head["content-type"] == (
            TYPES["css"])
        assert head["cache-control"] == "no-store"
        strict(head)
        assert s.raw(b"GET /ui/dev/all_bytes-1.woff2 HTTP/1.1\r\nHost: "
                     b"localhost\r\nConnection: close\r\n\r\n").endswith(
                         b"\r\n\r\n" + every)
        for name in ("Big.js", ".hidden.js", "no-type", "a%20b.js", "odd.exe",
                     "folder.js", "pipe.js", "link.js", "inner.js", "none.js",
                     "up", "..", ".", "..%2foutside.js", "up%2foutside.js",
                     "%2e%2e", "app.js", "%2fetc%2fpasswd.js"):
            status, _, text = s.request("GET", "/ui/dev/" + name)
            assert status == 404 and "outside" not in text, (name, status)
        (ui / "index.html").unlink()
        status, _, text = s.request("GET", "/ui/")
        assert status == 404 and "--ui-dir" in text
    for wrong in ("nowhere", "outside.js"):
        done = run([PERDURE, "serve", "--store", "no.db", "--agent=a=agent.yaml",
                    "--listen", "127.0.0.1:0", "--ui-dir", wrong])
        assert done.status == 2 and wrong.encode() in done.err, done
        assert not os.path.exists("no.db")


# --- who is let in -----------------------------------------------------------


@tests.test("a key is taken for a cookie, which is that key for our page only")
def _():
    key = make("read", "run", tenant="ours")
    other = make("read", "write", tenant="theirs")
    with keyed() as s:
        before = time.time()
        status, cookie, rest = login(s, key)
        assert status == 204
        assert sorted(rest) == ["HttpOnly", f"Max-Age={HALF_A_DAY}", "Path=/",
                                "SameSite=Strict"], rest
        assert key not in cookie and key.split("_", 2)[2] not in cookie
        who, until, mac = cookie.split(".")
        assert who == id_of(key) and len(mac) == 64
        assert HALF_A_DAY - 1 <= int(until) - before <= HALF_A_DAY + 5
        assert cookie == sign(key, f"{who}.{until}")
        # Its scopes and its tenant.
        path = "/api/v1/sessions/@dafx-harbour@k"
        run_path = path + "/runs"
        assert s.request("POST", run_path, {"message": "Hi"},
                         **by(cookie))[0] == 200
        assert s.request("GET", path, **by(cookie))[0] == 200
        problem(s.request("DELETE", path, **by(cookie)), 403, "forbidden")
        problem(s.request("GET", path, **by(login(s, other)[1])), 404,
                "not-found")
        # Only with the header that other pages cannot send.
        for header in (None, "", "0", "11", "yes", "1,1"):
            for verb in ("GET", "DELETE"):
                reply = s.request(verb, path, **by(cookie, header))
                assert "a key is needed" in problem(reply, 401, "unauthorized")
        assert s.request("GET", path, Cookie="perdure_ui=" + cookie,
                         **{"x-perdure-ui": "1"})[0] == 200
        # A header with a key counts more, right or wrong.
        for more, status in ((key, 200), (other, 404), (key + "x", 401),
                             ("", 401)):
            got = s.request("GET", path,
                            **by(cookie, Authorization="Bearer " + more))
            assert got[0] == status, (more, got)
        assert s.request("GET", path, **by("nonsense", Authorization="Bearer "
                                           + key))[0] == 200
        assert s.request("GET", path, **by(cookie, Authorization="Basic " +
                                           cookie))[0] == 401
        # Behind a proxy that speaks TLS it never goes over a plain wire.
        assert "Secure" in login(s, key, X_Forwarded_Proto="https")[2]
        assert "Secure" not in login(s, key, X_Forwarded_Proto="http")[2]
        status, head, _ = s.request("POST", "/ui/logout", "")
        assert status == 204
        assert head["set-cookie"].startswith("perdure_ui=; ")
        assert "Max-Age=0" in head["set-cookie"]
    with open("log", encoding="utf-8") as file:
        log = file.read()
    assert cookie not in log and key not in log and mac not in log


@tests.test("all wrong keys get one reply, and what is no login is told so")
def _():
    key = make("read")
    wrong = [key[:-1] + ("A" if key[-1] != "A" else "E"), key + "=", "", "pd_",
             key.replace("pd_", "pd_0"), "pd_x_y", key.split("_", 2)[2],
             "Bearer " + key, key + "\0", "\u00e9" * 200]
    with keyed() as s:
        seen = set()
        for text in wrong:
            status, head, body = s.request("POST", "/ui/login", {"key": text})
            assert "set-cookie" not in head and head["connection"] == "close"
            assert head["www-authenticate"].startswith("Bearer")
            seen.add((status, re.sub(r'"requestId":"\d+"', "", body)))
        status, head, body = s.request("GET", "/api/v1/agents",
                                       Authorization="Bearer pd_x_y")
        seen.add((status, re.sub(r'"requestId":"\d+"', "", body)))
        assert len(seen) == 1 and seen.pop()[0] == 401
        for body in ("", "{", "[]", '"x"', "{}", '{"key":null}',
                     '{"key":"a","more":1}', "key=" + key):
            problem(s.request("POST", "/ui/login", body), 400, "bad-request")
        problem(s.request("POST", "/ui/login", '{"key":5}'), 422,
                "invalid-state")
        # Who has no key yet cannot fill the memory.
        problem(s.request("POST", "/ui/login", {"key": "x" * 4096}), 413,
                "too-large")
        problem(s.request("POST", "/ui/logout", "x" * 4097), 413, "too-large")
        assert s.request("GET", "/ui/login")[0] == 405
        assert login(s, key)[0] == 204


@tests.test("a cookie with any other byte is none, nor is one that is over")
def _():
    key = make("read")
    with keyed() as s:
        cookie = login(s, key)[1]
        who, until, mac = cookie.split(".")
        link = http.client.HTTPConnection("127.0.0.1", s.port, timeout=30)

        def status(text):
            link.request("GET", "/api/v1/agents", None, by(text))
            reply = link.getresponse()
            reply.read()
            return reply.status

        assert status(cookie) == 200
        for i, c in enumerate(cookie):
            for other in {"0", "1", "f", ".", "A"} - {c}:
                assert status(cookie[:i] + other + cookie[i + 1:]) == 401, i
            assert status(cookie[:i]) == 401, i
            assert status(cookie[:i] + c + cookie[i:]) == 401, i
        assert status(f"{who}.{until}.{mac.upper()}") == 401
        for odd in ("", ".", "..", "...", f"{who}.{until}", f"{who}..{mac}",
                    f".{until}.{mac}", cookie + ".", cookie + "0" * 300):
            assert status(odd) == 401, odd
        now = int(time.time())
        for at, right in ((now - 1, 401), (now + 60, 200), (0, 401),
                          (-now, 401), (2 ** 64 + now + 60, 401),
                          (f"+{now + 60}", 401), ("", 401),
                          (f"{now + 60} ", 401)):
            assert status(sign(key, f"{who}.{at}")) == right, at
        # Nobody's digest is no secret.
        zeros = f"nobody.{now + 60}"
        forged = hmac.new(bytes(32), b"perdure-ui-1 " + zeros.encode(),
                          "sha256").hexdigest()
        assert status(f"{zeros}.{forged}") == 401
        soon = sign(key, f"{who}.{int(time.time()) + 2}")
        assert status(soon) == 200
        time.sleep(2.1)
        assert status(soon) == 401
        link.close()


@tests.test("a cookie holds at each server with the file, until the key is "
            "revoked; streams end with it")
def _():
    key, other = make("read", "run"), make("read", "run")
    with keyed() as s:
        cookie, kept = login(s, key)[1], login(s, other)[1]
    with keyed() as s:
        assert s.request("GET", "/api/v1/agents", **by(cookie))[0] == 200
        brief = sign(key, f"{id_of(key)}.{int(time.time()) + 3}")
        links = []
        for one in (cookie, kept, brief):
            link = http.client.HTTPConnection("127.0.0.1", s.port, timeout=30)
            link.request("GET", "/api/v1/events", None, by(one))
            reply = link.getresponse()
            assert reply.status == 200, reply.read()
            links.append((link, reply))
        assert run([PERDURE, "key", "revoke", "--keys", FILE, id_of(key)]
                   ).status == 0
        assert s.request("GET", "/api/v1/agents", **by(cookie))[0] == 200
        hang_up(s)
        assert s.request("GET", "/api/v1/agents", **by(cookie))[0] == 401
        assert s.request("GET", "/api/v1/agents", **by(kept))[0] == 200
        # A stream looks when something comes.
        assert s.request("POST", "/api/v1/sessions/@dafx-harbour@z/runs",
                         {"message": "Hi"}, **by(kept))[0] == 200
        for (link, reply), goes_on in zip(links, (False, True, False)):
            try:
                if goes_on:
                    while b"dafx-harbour" not in (line := reply.readline()):
                        assert line
                else:
                    reply.read()
                    assert False, "it has no right end"
            except http.client.IncompleteRead:
                assert not goes_on
            link.close()


@tests.test("a stream ends when its cookie is over")
def _():
    key = make("read")
    with keyed("--ping", "100") as s:
        brief = sign(key, f"{id_of(key)}.{int(time.time()) + 2}")
        link = http.client.HTTPConnection("127.0.0.1", s.port, timeout=10)
        link.request("GET", "/api/v1/events", None, by(brief))
        reply = link.getresponse()
        assert reply.status == 200
        try:
            reply.read()
            assert False, "it has no right end"
        except http.client.IncompleteRead:
            pass
        assert time.time() < int(brief.split(".")[1]) + 5
        link.close()


@tests.test("without keys there is nothing to log in to")
def _():
    with Server() as s:
        assert login(s, "anything")[:2] == (204, None)
        assert s.request("POST", "/ui/logout", "")[0] == 204
        problem(s.request("POST", "/ui/login", "{}"), 400, "bad-request")


@tests.test("a page of another origin changes nothing")
def _():
    key = make("admin")
    for server in (lambda: Server(), keyed):
        with server() as s:
            here = f"127.0.0.1:{s.port}"
            cookie = login(s, key)[1]
            who = {} if cookie is None else by(cookie)
            api, agent = "/api/v1/sessions", "/api/agents/Harbour"
            assert s.request("POST", api, {"id": "a"}, **who)[0] == 201
            document = s.request("GET", api + "/a", **who)[2]
            changes = [("POST", api, {"id": "b"}), ("PATCH", api + "/a",
                       {"properties": {"x": 1}}), ("DELETE", api + "/a", None),
                       ("PUT", api + "/a/bag/k", "1"),
                       ("POST", agent + "/run?session_id=k", "Hi"),
                       ("POST", "/ui/login", {"key": key}),
                       ("POST", "/ui/logout", "")]
            foreign = [{"Origin": text} for text in (
                "http://evil.example", "null", f"http://{here}.evil.example",
                f"http://127.0.0.1:{s.port + 1}", "http://127.0.0.1",
                f"http://x@{here}", here, "", "http://", f"http://{here}/")]
            foreign += [{"Sec-Fetch-Site": "cross-site"},
                        {"Sec-Fetch-Site": "Cross-Site",
                         "Origin": "http://" + here}]
            for verb, path, body in changes:
                for headers in foreign:
                    status, head, text = s.request(verb, path, body, **who,
                                                   **headers)
                    assert status == 403, (verb, path, headers, status)
                    assert "another origin" in text and not [
                        name for name in head if name.startswith("access-")]
            assert s.request("GET", api + "/a", **who)[2] == document
            assert s.request("GET", api + "/b", **who)[0] == 404
            # What is read changes nothing, and no other page can read it.
            assert s.request("GET", api, **who, **foreign[0])[0] == 200
            # Our own page, and programs.
            for i, headers in enumerate((
                    {"Origin": "http://" + here}, {"Origin": "https://" + here},
                    {"Sec-Fetch-Site": "same-origin"},
                    {"Sec-Fetch-Site": "none"}, {},
                    {"Origin": "http://LOCALHOST:7", "Host": "localhost:7"},
                    {"Origin": "http://" + here,
                     "Sec-Fetch-Site": "same-origin"})):
                assert s.request("POST", api, {"id": f"n{i}"}, **who, **headers
                                 )[0] == 201, headers
            # A key is something that no browser adds by itself.
            if cookie is not None:
                assert s.request("POST", api, {"id": "k"}, **foreign[0],
                                 Authorization="Bearer " + key)[0] == 201


# --- how much there is ---------------------------------------------------------


def overview(s, **headers):
    status, head, text = s.request("GET", "/api/v1/overview", **headers)
    assert status == 200, text
    return json.loads(text)


@tests.test("the overview counts sessions, runs and tokens")
def _():
    serving.REPLIES["replies"].insert(0, {
        "user": "counted", "text": "Yes.", "usage": {
            "inputTokenCount": 11, "outputTokenCount": 4,
            "totalTokenCount": 15}})
    none = {"input": 0, "output": 0, "total": 0}
    with Server() as s:
        first = overview(s)
        assert list(first) == ["since", "sessions", "runs", "tokens",
                               "storage", "keys", "scopes", "tenant",
                               "version"]
        assert first["sessions"] == {"idle": 0, "running": 0, "waiting": 0,
                                     "expired": 0, "total": 0}
        assert first["runs"] == {"now": 0, "queued": 0, "completed": 0,
                                 "failed": 0, "cancelled": 0, "recovered": 0}
        assert first["tokens"] == none and first["storage"]["bytes"] > 0
        assert first["keys"] is False and first["tenant"] == "default"
        assert first["scopes"] == ["read", "run", "write", "admin"]
        assert re.fullmatch(r"\d+\.\d+\.\d+", first["version"])
        began = datetime.datetime.fromisoformat(
            first["since"].replace("Z", "+00:00")).timestamp()
        assert abs(began - time.time()) < 60
        for key in ("a", "b", "a"):
            s.say("counted", key)
        s.say("Hello", "c")
        status, _, text = s.request(
            "POST", "/api/v1/sessions/@dafx-harbour@d/runs",
            {"message": "break"})
        assert status == 502 and "model_failed" in text, text
        now = overview(s)
        assert now["sessions"]["idle"] == now["sessions"]["total"] == 4
        assert now["runs"]["completed"] == 4 and now["runs"]["failed"] == 1
        assert now["tokens"]["input"] >= 33 and now["tokens"]["output"] >= 12
        assert now["tokens"]["total"] >= 45 and now["since"] == first["since"]
        # A run at work.
        link = http.client.HTTPConnection("127.0.0.1", s.port, timeout=30)
        link.request("POST", "/api/agents/Harbour/run?session_id=e", "work")
        wait_for(lambda: overview(s)["sessions"]["running"] == 1)
        now = overview(s)
        assert now["runs"]["now"] == 1 and now["sessions"]["total"] == 5
        status, _, text = s.request("GET", "/api/v1/sessions?state=running")
        item = json.loads(text)["items"][0]
        assert {"id", "agent", "kind", "schemaVersion", "state", "revision",
                "etag", "created", "changed", "expires", "entries", "slots",
                "queued"} <= set(item), item
        go()
        assert link.getresponse().status == 200
        link.close()
        wait_for(lambda: overview(s)["runs"]["now"] == 0)
        assert overview(s)["sessions"]["running"] == 0
        assert s.request("DELETE", "/api/v1/sessions/@dafx-harbour@c")[0] == 204
        assert overview(s)["sessions"]["total"] == 4
    # What has been done is of this process, what is there is of the store.
    with Server() as s:
        now = overview(s)
        assert now["sessions"]["total"] == 4 and now["tokens"] == none
        assert now["runs"]["completed"] == 0


@tests.test("a tenant has an overview of its own, which says what it may do")
def _():
    ours, theirs = make("read", "run"), make("admin", tenant="theirs")
    with keyed() as s:
        cookie = login(s, ours)[1]
        mine = {"Authorization": "Bearer " + ours}
        their = {"Authorization": "Bearer " + theirs}
        for key in ("a", "b"):
            s.say("Hello", key, **mine)
        s.say("Hello", "a", **their)
        now = overview(s, **mine)
        assert now == overview(s, **by(cookie)) and now["keys"] is True
        assert (now["tenant"], now["scopes"]) == ("ours", ["read", "run"])
        assert now["sessions"]["total"] == now["runs"]["completed"] == 2
        other = overview(s, **their)
        assert (other["tenant"], other["scopes"]) == (
            "theirs", ["read", "run", "write", "admin"])
        assert other["sessions"]["total"] == other["runs"]["completed"] == 1
        # A run of theirs is nobody's business here.
        link = http.client.HTTPConnection("127.0.0.1", s.port, timeout=30)
        link.request("POST", "/api/agents/Harbour/run?session_id=w", "work",
                     their)
        wait_for(lambda: overview(s, **their)["runs"]["now"] == 1)
        assert overview(s, **mine)["runs"]["now"] == 0
        go()
        assert link.getresponse().status == 200
        link.close()
        problem(s.request("GET", "/api/v1/overview"), 401, "unauthorized")
        writer = make("write")
        hang_up(s)
        problem(s.request("GET", "/api/v1/overview",
                          Authorization="Bearer " + writer), 403, "forbidden")


@tests.test("a run that was left is counted where it goes on")
def _():
    with Server("--lease", "1") as s:
        status, _, _ = s.request(
            "POST", "/api/v1/sessions/@dafx-harbour@k/runs",
            {"message": "work"}, Prefer="respond-async")
        assert status == 202
        wait_for(lambda: overview(s)["runs"]["now"] == 1)
        s.stop(signal.SIGKILL)
    with Server("--lease", "1") as s:
        wait_for(lambda: overview(s)["runs"]["recovered"] == 1)
        go()
        wait_for(lambda: overview(s)["runs"]["completed"] == 1)
        now = overview(s)
        assert now["runs"]["now"] == 0 and now["tokens"]["total"] >= 0


tests.finish()
