"""The dashboard: its files, who is let in, and what it shows at first.

Usage: serve_ui.py PERDURE
"""
import json
import os
import pathlib
import re

from harness import Tests, run
from serving import PERDURE, Server

tests = Tests("serve-ui")

WEB = pathlib.Path(__file__).resolve().parents[2] / "web"
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src "
          "'self' data:; connect-src 'self'; font-src 'self'; form-action "
          "'self'; base-uri 'none'; frame-ancestors 'none'")
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
    assert run([PERDURE, "key", "create", "--keys", "keys", "--scope=read"]
               ).status == 0
    with Server("--keys", "keys") as s:
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


tests.finish()
