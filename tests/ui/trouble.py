"""What goes wrong: each time the page says so and what to do, and is never
blank."""
import json
import pathlib
import signal
import socket
import threading

import keys
import stage
import suite
from pages import PAGES, open_page
from stage import quoted, seeded
from suite import check
from webdriver import ELEMENT

# Words, and a way on: something to read and something to press.
SAYS = """
  const main = document.querySelector('main');
  if (!main || main.querySelector('.loading')) return null;
  const text = main.innerText.trim();
  const ways = [...main.querySelectorAll('a, button, input, summary, pre')].filter(
    (e) => e.getClientRects().length);
  return text.length > 15 && ways.length && !!main.querySelector('h1') && text;
"""


def says(b, *words):
    """Something stands there; gives it."""
    text = b.wait(SAYS, why="a page that is not blank")
    for word in words:
        b.see(word)
    assert not any(w in text for w in (
        "undefined", "NaN", "[object", "Invalid Date")), text
    return text


TRIP = f"session/{quoted(stage.TRIP)}"
# What stands in the address, and what is to be read then.
ADDRESSES = {
    "": "Overview", "#": "Overview", "#/": "Overview", "#//": "",
    "#/nowhere": "There is no such page", "#/Sessions": "There is no such page",
    "#/%": "There is no such page", "#sessions": "", "#/sessions/": "",
    "#/sessions/x/y": "", "#/session": "", "#/session/": "", "#/session//": "",
    "#/session/none": "It is not there", "#/session/%": "It is not there",
    "#/session/%ff": "It is not there", "#/session/%00": "", "#/session/..": "",
    "#/session/../../x": "", "#/session/%2e%2e%2foverview": "It is not there",
    "#/session/a/b/c": "It is not there", "#/session/" + "x" * 3000: "",
    f"#/{TRIP}?tab=odd": "", f"#/{TRIP}?tab=entries&from=odd": "",
    f"#/{TRIP}?tab=entries&since=odd": "", f"#/{TRIP}?tab=entries&since=-1": "",
    f"#/{TRIP}?tab=entries&since=99999999": "", f"#/{TRIP}?tab": "",
    f"#/{TRIP}?%": "", f"#/session/{stage.BOARD}": "",
    "#/sessions?cursor=odd": "", "#/sessions?state=odd": "",
    "#/sessions?changedFrom=yesterday": "", "#/sessions?property=odd": "",
    "#/sessions?agent=%00": "", "#/sessions?limit=0&x=1": "",
    "#/chats?cursor=odd": "", "#/chat": "", "#/chat/none": "It is not there",
    f"#/chat/{quoted(stage.TRIP)}": "", "#/agents/none": "Concierge",
    "#/store/x": "Store", "#/runs?x=y": "", "#view": "",
}


@check("trouble: an address made by hand leads to words, and a way on",
       refused=[400, 404, 413, 414, 422])
def _(b):
    with seeded() as s:
        for at, words in list(ADDRESSES.items())[::6]:
            b.go(s.ui + at)
            says(b, words)
        # One after the other, without loading the page anew.
        for at, words in ADDRESSES.items():
            b.js("history.replaceState(null, '', arguments[0] || '#'); "
                 "dispatchEvent(new HashChangeEvent('hashchange')); return 1",
                 at)
            says(b, words)
            suite.complained(b, refused=[400, 404, 413, 414, 422])


@check("trouble: an id may have any character", refused=[404])
def _(b):
    ids = ["a/b", "/", "//x", "x/", "%", "%2F", "%%%", "a b", " x", "#", "?",
           "a?b#c", "&=+", "'\"", "\\", "<b>", "ü", "e\u0301", "日本", "🚢",
           "a:b@c", "@dafx-x@y/z", "...", "..x", "a/../b", "a/./b", "~", ";",
           "[x]", "{x}", "x" * 200, "null", "__proto__", "constructor", "0",
           "javascript:x", "שלום"]
    with stage.Server() as s:
        for name in ids:
            s.put(name, {"stateBag": {name: {"n": 1}}})
        b.go(f"{s.ui}#/sessions")
        b.see(f"{len(ids)} shown")
        hrefs = dict(b.js("return [...document.querySelectorAll('tbody tr')]."
                          "map(r => [r.dataset.id, r.querySelector('a')"
                          ".getAttribute('href')])"))
        assert set(hrefs) == set(ids), set(ids) ^ set(hrefs)
        for name, href in hrefs.items():
            b.hash(href + "?tab=bag")
            suite.is_shown(b, name)
            b.wait("document.querySelector('.slot b')?.textContent === "
                   "arguments[0]", name)
            suite.is_live(b)
            b.click(".slot summary")
            b.see('"n"', ".slot .tree")
        b.hash("#/session/" + quoted("a/b"))
        suite.is_shown(b, "a/b")
        b.click(".head button", "Delete")
        b.click("dialog button", "Delete it")
        b.see(f"{len(ids) - 1} shown")


@check("trouble: dots alone, which a browser takes for folders, are ids, too",
       refused=[404])
def _(b):
    with stage.Server() as s:
        for name in (".", ".."):
            b.go(f"{s.ui}#/session/{name}")
            says(b, "It is not there")
            status, _, text = s.request("PUT", f"/sessions//state?id={name}", {
                "stateBag": {"dots": len(name)}})
            assert status == 201, text
            b.go(f"{s.ui}#/session/{name}?tab=bag")
            suite.is_shown(b, name)
            b.click(".slot summary")
            b.see(str(len(name)), ".slot .tree")
        b.hash("#/sessions")
        b.see("2 shown")


@check("trouble: a session that is deleted while it is shown says so",
       refused=[404])
def _(b):
    with seeded() as s:
        open_page(b, s, "conversation")
        s.good("DELETE", f"/sessions/{quoted(stage.TRIP)}")
        b.see("This session was deleted.", "[role=alert]")
        b.see("deleted", ".facts .badge")
        b.see("189 euros")  # what was read stays
        assert not b.js("document.querySelector('#say')")
        b.click("[role=alert] a")
        suite.is_shown(b, "Sessions")
        open_page(b, s, "chat", load=False)
        s.good("DELETE", f"/sessions/{stage.BOARD}")
        b.see("This chat was deleted.", "[role=alert]")
        b.see("Hallstatt")
        assert not b.js("document.querySelector('.chat-say :is(button, "
                        "textarea)')")


@check("trouble: a key that ends while the page is open is asked for again",
       refused=[401], offline=True)
def _(b):
    first, second = keys.make("admin"), keys.make("admin")
    with stage.Server("--keys", keys.FILE, "--ping", "200") as s:
        b.go(f"{s.ui}#/store")
        b.type("#key", first)
        b.press("Enter")
        suite.is_shown(b, "Store")
        b.hash("#/sessions")
        suite.is_shown(b, "Sessions")
        suite.is_live(b)
        keys.revoke(first)
        s.process.send_signal(signal.SIGHUP)
        # Its stream ends, and nobody has to press anything.
        b.see("This server asks for a key.")
        b.type("#key", first)
        b.press("Enter")
        b.see("This key is not known here, or it has expired.")
        b.type("#key", second)
        b.press("Enter")
        suite.is_shown(b, "Sessions")
        suite.is_live(b)
        # The cookie ends.
        b.hash("#/store")
        suite.is_shown(b, "Store")
        b.cdp("Network.clearBrowserCookies")
        b.hash("#/runs")
        b.see("This server asks for a key.")
        b.type("#key", second)
        b.press("Enter")
        suite.is_shown(b, "Runs")


@check("trouble: who may only read is offered nothing else", refused=[401])
def _(b):
    admin, reader = keys.make("admin"), keys.make("read")
    with stage.Server("--keys", keys.FILE) as s:
        request = s.request
        s.request = lambda verb, path, body=None, **more: request(
            verb, path, body, Authorization=f"Bearer {admin}", **more)
        stage.seed(s)
        b.go(s.ui)
        b.type("#key", reader)
        b.press("Enter")
        suite.is_shown(b, "Overview")
        for name in PAGES:
            b.hash("#/" + PAGES[name][0])
            suite.is_shown(b, PAGES[name][1])
            if PAGES[name][3]:
                suite.is_live(b)
            b.js("for (const d of document.querySelectorAll('main details')) "
                 "d.open = true; return 1")
            found = b.js("return [...document.querySelectorAll('main button')]"
                         ".map(e => e.textContent.trim() || e.title)")
            assert not {"Delete", "Send", "Try it", "Begin", "Edit", "Remove",
                        "Approve", "Restore a file"} & set(found), (name, found)


class Proxy:
    """Stands before a server; `spoil(path)` gives another reply, or None."""

    def __init__(self, port):
        self.to, self.spoil = port, lambda path: None
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.origin = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.ui = self.origin + "/ui/"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                link, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.carry, args=(link,),
                             daemon=True).start()

    def carry(self, link):
        """One request, then the connection ends."""
        try:
            self.one(link)
        except OSError:
            pass
        link.close()

    def one(self, link):
        data = b""
        while b"\r\n\r\n" not in data:
            data += link.recv(65536) or b"\r\n\r\n"
        head, _, body = data.partition(b"\r\n\r\n")
        if not head:
            return
        lines = [line for line in head.split(b"\r\n")
                 if not line.lower().startswith(b"connection:")]
        size = next((int(line.split(b":")[1]) for line in lines
                     if line.lower().startswith(b"content-length:")), 0)
        while len(body) < size:
            body += link.recv(65536)
        spoilt = self.spoil(lines[0].split()[1].decode())
        if spoilt is not None:
            link.sendall(spoilt)
            return
        with socket.create_connection(("127.0.0.1", self.to)) as there:
            there.sendall(b"\r\n".join([*lines, b"Connection: close", b"",
                                        body]))
            while chunk := there.recv(65536):
                link.sendall(chunk)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


def reply(status, kind, text):
    return (f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: "
            f"{len(text.encode())}\r\nConnection: close\r\n\r\n{text}").encode()


FEW = ("overview", "sessions", "conversation", "chat", "agents")
WORDS = "<html><body><h1>Gateway of the hotel</h1>Please pay.</body></html>"
SPOILT = {
    "a page instead": reply(200, "text/html", WORDS),
    "a page that says 502": reply(502, "text/html", WORDS),
    "JSON that ends too early": reply(200, "application/json", '{"items":[{"'),
    "null": reply(200, "application/json", "null"),
    "a list": reply(200, "application/json", "[]"),
    "something else": reply(200, "application/json", '{"a":1}'),
    "items that are none": reply(200, "application/json", '{"items":5}'),
    "nothing": reply(200, "application/json", ""),
    "a hang-up": b"",
}


@check("trouble: a reply that is none of ours is told, and can be tried again",
       refused=[502], offline=True, warns=True)
def _(b):
    with seeded() as s, Proxy(s.port) as p:
        b.go(p.ui)
        suite.is_shown(b, "Overview")
        for name, spoilt in SPOILT.items():
            p.spoil = lambda path: spoilt if path.startswith("/api/") else None
            for page in PAGES if b"<html>" in spoilt else FEW:
                at = PAGES[page][0]
                b.hash("#/" + at + ("&" if "?" in at else "?") + "x")
                text = says(b)
                assert len(text) > 25, (name, page, text)
        # When the server is itself again, so is the page.
        b.hash("#/agents?y")
        says(b)
        p.spoil = lambda path: None
        if b.js("!!document.querySelector('.empty button')"):
            b.click(".empty button", "Try again")
        else:
            b.hash("#/agents")
        b.see("Plans journeys")


@check("trouble: without the server the page says so, and comes back",
       offline=True)
def _(b):
    s = stage.Server()
    stage.seed(s)
    open_page(b, s, "overview")
    s.stop(signal.SIGKILL)
    b.see("reconnecting", ".live")
    for name in ("Agents", "Sessions", "Store"):
        b.click(f"nav [aria-label={name}]")
        suite.is_shown(b, name)  # what was there before says the same
        says(b, "The server does not answer.")
    with stage.Server(port=s.port) as s:
        b.click(".empty button", "Try again")
        b.see("Check everything")
        open_page(b, s, "conversation", load=False)


@check("trouble: a page of which a script was lost says so", offline=True)
def _(b):
    with seeded() as s, Proxy(s.port) as p:
        p.spoil = lambda path: b"" if path.endswith("/tree.js") else None
        b.go(p.ui)
        b.see("a part of the page was lost")
        p.spoil = lambda path: None
        b.go(p.ui)
        suite.is_shown(b, "Overview")


@check("trouble: a server that hangs makes the page stale, not silent",
       offline=True)
def _(b):
    with seeded() as s:
        open_page(b, s, "sessions")
        s.process.send_signal(signal.SIGSTOP)
        # A minute later.
        b.js("const now = Date.now; Date.now = () => now() + 60000; return 1")
        try:
            b.see("stale", ".live")
            b.see(stage.TRIP)
        finally:
            s.process.send_signal(signal.SIGCONT)
        suite.is_live(b)


@check("trouble: what is refused is told where it was asked",
       refused=[400, 409, 422, 404])
def _(b):
    with seeded(busy=True) as s:
        b.go(f"{s.ui}#/session/{quoted(stage.DESK)}")
        suite.is_shown(b, stage.DESK)
        b.click(".head button", "Delete")
        b.click("dialog button", "Delete it")
        b.see("A run is at work on it.", "#toasts")
        b.hash("#/chats")
        b.click("main summary", "Begin a chat")
        b.click(".make button", "Begin")
        b.see("Choose at least one agent.", "#toasts")
        b.type("#chat-id", stage.BOARD)
        b.click(".choice input[value=Scout]")
        b.click(".make button", "Begin")
        b.see(stage.BOARD, "#toasts")
        open_page(b, s, "chat", load=False)
        box = b.find("input[type=file]")
        b.js("arguments[0].hidden = false; return 1", box)
        for name, document in (
                ("odd.json", '{"no": "chat"}'),
                ("good.json", s.request(
                    "GET", f"/chats/{stage.BOARD}/saved")[2])):
            pathlib.Path(name).write_text(document)
            b.do(f"/element/{box[ELEMENT]}/value",
                 {"text": str(pathlib.Path(name).absolute())})
            if name == "odd.json":
                b.see("not a saved chat", "#toasts .bad")
                assert not b.js("document.querySelector('dialog')")
        b.see("What a restore would do", "dialog")
        b.see("4 messages", "dialog")
        b.click("dialog button", "Restore")
        b.see("The chat is restored.", "#toasts")


@check("trouble: what was said in a chat and not answered is not said twice",
       refused=[412], offline=True)
def _(b):
    with stage.Server() as s:
        s.good("POST", "/chats", {"id": "h", "agents": ["Scout"]})
        b.go(f"{s.ui}#/chat/h")
        suite.is_shown(b, "h")
        suite.is_live(b)
        b.js(suite.HOLD)
        for path, count in (("/messages", 1), ("/turns", 3)):
            b.js("const e = document.querySelector(\"[aria-label='Who answers']"
                 "\"); e.value = arguments[0]; return 1",
                 "" if path == "/messages" else "*")
            # It arrives, but its reply is lost.
            b.js("window.lost = arguments[0]; return 1", "/chats/h" + path)
            b.type(".chat-say textarea", "Hello" + path)
            b.press("Enter")
            b.see("The server does not answer.", "#toasts")
            s.until("h", "idle")
            b.wait("document.querySelectorAll('.cell').length === arguments[0]",
                   count)
            # It was seen, so it does not stand in the box any more.
            b.wait("document.querySelector('.chat-say textarea').value === ''")
            b.type(".chat-say textarea", "Hello" + path)
        b.press("Enter")  # on purpose
        b.wait("document.querySelectorAll('.cell').length === 5")
        # Sent again before the page has seen what came of it.
        s.until("h", "idle")
        b.js("window.lost = '/chats/h/turns'; window.deaf = true; return 1")
        b.type(".chat-say textarea", "Once")
        b.press("Enter")
        b.wait("document.querySelector('.chat-say textarea').value === 'Once'")
        b.js("window.deaf = false; return 1")
        b.press("Enter")
        b.wait("document.querySelector('.chat-say textarea').value === ''")
        s.until("h", "idle")
        said = [m["text"] for m in s.good("GET", "/chats/h/messages")["items"]]
        assert said.count("Once") == 1, said


@check("trouble: runs that cannot be read are not told to be none",
       refused=[502], offline=True)
def _(b):
    with seeded(busy=True) as s, Proxy(s.port) as p:
        bad = SPOILT["a page that says 502"]
        p.spoil = lambda path: bad if "/journal" in path else None
        b.go(p.ui + "#/runs")
        suite.is_shown(b, "Runs")
        suite.is_live(b)
        b.see("its steps could not be read", ".run")
        b.see(stage.DESK, ".run")
        p.spoil = lambda path: bad if "/sessions?" in path else None
        s.say(stage.PARCEL, "And now?")  # so that the page looks again
        b.see("The server replied with status 502")
        b.js("document.dispatchEvent(new Event('visibilitychange')); return 1")
        b.see("The server replied with status 502")  # drawn, it stays
        p.spoil = lambda path: None
        s.say(stage.PARCEL, "Thank you")
        b.see("wait_for_desk", ".steps")
        assert "could not be read" not in b.text("main")
