"""Chromium, driven through chromedriver, with what Python brings along.

Where there is no browser, start() raises record.Skip with the reason; on a
machine that is there for tests alone (PERDURE_IN_FRESH_ROOT, CI) that is a
failure. Waiting is for a state, never for a time; PATIENCE only ends what would
never come.
"""
import base64
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/support"))
import record  # noqa: E402

PATIENCE = 20
NOT_HERE = TOP / "build/ui/why-not"  # tools/setup-ui writes it
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
FLAGS = ("--headless=new --disable-gpu --disable-quic --no-first-run "
         "--no-default-browser-check --disable-background-networking "
         "--disable-component-update --disable-sync --disable-extensions "
         "--disable-default-apps --disable-domain-reliability "
         "--disable-client-side-phishing-detection --hide-scrollbars "
         "--disable-features=Translate,OptimizationHints,MediaRouter "
         "--force-color-profile=srgb --lang=en-GB --mute-audio").split()
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c",
        "Shift": "\ue008", "Control": "\ue009", "PageDown": "\ue00f",
        "PageUp": "\ue00e", "End": "\ue010", "Home": "\ue011"}


def must_be_here():
    return bool(os.environ.get("PERDURE_IN_FRESH_ROOT")
                or os.environ.get("CI"))


def not_here(why):
    """Skip, or fail where a browser has to be."""
    if NOT_HERE.exists():
        why += ": " + NOT_HERE.read_text(encoding="utf-8").strip()
    if must_be_here():
        raise AssertionError(why)
    raise record.Skip(why)


class Failed(AssertionError):
    """The driver refused a command."""


class Browser:
    def __init__(self):
        chromium, driver = shutil.which("chromium"), shutil.which(
            "chromedriver")
        if not chromium or not driver:
            not_here("there is no chromium with chromedriver")
        self.folder = tempfile.mkdtemp(prefix="perdure-ui-")
        # What Chromium keeps goes there, and leaves with it.
        env = {"PATH": os.environ["PATH"], "HOME": self.folder,
               "TMPDIR": self.folder, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        self.process = subprocess.Popen(
            [driver, "--port=0", "--log-level=SEVERE"], env=env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        for line in self.process.stdout:
            if b"started successfully on port" in line:
                port = int(line.decode().rstrip(".\n").rsplit(" ", 1)[1])
                break
        else:
            raise AssertionError("chromedriver did not start")
        self.link = http.client.HTTPConnection("127.0.0.1", port, timeout=90)
        flags = [*FLAGS, f"--user-data-dir={self.folder}/profile"]
        if os.geteuid() == 0:
            flags += ["--no-sandbox", "--disable-dev-shm-usage"]
        made = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "timeouts": {"script": 60000, "pageLoad": 60000, "implicit": 0},
            "goog:chromeOptions": {
                "binary": chromium, "args": flags,
                "perfLoggingPrefs": {"enableNetwork": True,
                                     "enablePage": False}},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}})
        self.base = "/session/" + made["sessionId"]
        self.version = made["capabilities"]["browserVersion"]
        self.size(1024)

    def ask(self, verb, path, body=None):
        self.link.request(verb, path,
                          None if body is None else json.dumps(body),
                          {"Content-Type": "application/json"})
        reply = self.link.getresponse()
        value = json.loads(reply.read())["value"]
        if reply.status != 200:
            raise Failed(value["error"] + ": "
                         + value["message"].split("\n")[0][:600])
        return value

    def do(self, path, body=None):
        return self.ask("POST", self.base + path, body or {})

    def end(self):
        with contextlib.suppress(Exception):
            self.ask("DELETE", self.base)
        self.process.terminate()
        self.process.wait(20)
        self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def cdp(self, method, **params):
        return self.do("/goog/cdp/execute", {"cmd": method, "params": params})

    # --- where it is --------------------------------------------------------

    def go(self, url):
        """Load a page from its beginning, also if it is the one shown."""
        self.do("/url", {"url": "about:blank"})
        self.do("/url", {"url": url})

    def hash(self, text):
        """Go to another place of the page that is there."""
        self.js("location.hash = arguments[0]", text)

    def fresh(self):
        """As it was at first: no page, cookie, emulation, old message."""
        self.do("/url", {"url": "about:blank"})
        self.cdp("Network.clearBrowserCookies")
        self.cdp("Network.setBlockedURLs", urls=[])
        self.cdp("Emulation.setEmulatedMedia", media="", features=[])
        self.size(1024)
        self.console()
        self.requests()

    def size(self, width, height=900):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width,
                 height=height, deviceScaleFactor=1, mobile=False)

    def theme(self, name):
        """What the system of the user likes: light or dark."""
        self.cdp("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": name},
            {"name": "prefers-reduced-motion", "value": "reduce"}])

    # --- what is there ------------------------------------------------------

    def js(self, code, *args):
        """Run this in the page; a single expression needs no `return`."""
        if "return" not in code:
            code = "return (" + code.rstrip().rstrip(";") + ")"
        return self.do("/execute/sync", {"script": code, "args": list(args)})

    def later(self, code, *args):
        """The same for what takes its time: done(value) ends it."""
        return self.do("/execute/async", {
            "script": "const done = arguments[arguments.length - 1];" + code,
            "args": list(args)})

    def text(self, css="body"):
        """What a person reads there."""
        return self.js("[...document.querySelectorAll(arguments[0])]"
                       ".map(e => e.innerText).join('\\n')", css)

    def wait(self, code, *args, why=None):
        """Until this holds in the page; gives its value."""
        end = time.monotonic() + PATIENCE
        while not (value := self.js(code, *args)):
            if time.monotonic() > end:
                raise AssertionError(
                    f"waited in vain for {why or code} {args}; at "
                    f"{self.js('location.href')}:\n{self.text()[:1500]}\n"
                    f"console: {[x[:300] for x in self.console()[-6:]]}")
            time.sleep(0.02)
        return value

    def see(self, text, css="body"):
        """Until these words stand there."""
        return self.wait("[...document.querySelectorAll(arguments[1])].some("
                         "e => e.innerText.includes(arguments[0]))", text, css)

    def console(self):
        """Errors and warnings since the last call."""
        return [entry["message"] for entry in
                self.do("/se/log", {"type": "browser"})
                if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self):
        """(who asked, url, status or what failed) since the last call; what the
        page itself gave up has not failed."""
        urls, got = {}, {}
        for entry in self.do("/se/log", {"type": "performance"}):
            event = json.loads(entry["message"])["message"]
            params = event["params"]
            key = params.get("requestId")
            if event["method"] == "Network.requestWillBeSent":
                urls[key] = params["documentURL"], params["request"]["url"]
                got.setdefault(key, None)
            elif event["method"] == "Network.responseReceived":
                got[key] = params["response"]["status"]
            elif event["method"] == "Network.loadingFailed" and not (
                    params.get("canceled")):
                got[key] = params["errorText"]
        return [(*urls[key], got.get(key)) for key in urls]

    # --- what a person does -------------------------------------------------

    def find(self, css):
        self.wait("document.querySelector(arguments[0])", css)
        return self.do("/element", {"using": "css selector", "value": css})

    def click(self, css, text=None):
        """On what stands there, and nothing in front of it."""
        if text is not None:
            self.wait("[...document.querySelectorAll(arguments[0])].some(e => "
                      "e.textContent.trim() === arguments[1])", css, text)
            element = self.js(
                "return [...document.querySelectorAll(arguments[0])].find(e => "
                "e.textContent.trim() === arguments[1])", css, text)
        else:
            element = self.find(css)
        self.do(f"/element/{element[ELEMENT]}/click")

    def press(self, *keys, held=()):
        """Keys by name or character, each down and up."""
        steps = [{"type": "keyDown", "value": KEYS[k]} for k in held]
        for key in keys:
            value = KEYS.get(key, key)
            steps += [{"type": "keyDown", "value": value},
                      {"type": "keyUp", "value": value}]
        steps += [{"type": "keyUp", "value": KEYS[k]} for k in held]
        self.do("/actions", {"actions": [
            {"type": "key", "id": "keys", "actions": steps}]})

    def type(self, css, text):
        """Into a box, in the place of what was there."""
        self.find(css)
        self.js("const e = document.querySelector(arguments[0]); e.focus(); "
                "e.select(); return 1", css)
        self.press(*text)

    def picture(self):
        return base64.b64decode(
            self.ask("GET", self.base + "/screenshot"))


_browser = None


def start():
    """The one browser of this process, as it was at first."""
    global _browser
    if _browser is None:
        _browser = Browser()
    _browser.fresh()
    return _browser


def end():
    global _browser
    if _browser is not None:
        _browser.end()
    _browser = None
