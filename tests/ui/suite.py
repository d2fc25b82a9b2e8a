"""What the checks of the page share: each gets the browser, and says at its end
that the page complained of nothing and asked nobody else.

    @check("page: says what must hold", covers=["P-53"])
    def _(b):
        with seeded() as s:
            ...

The names are those that tests/broken/ui_variants.py asks for.
"""
import os
import sys
import time

import stage
import webdriver
from stage import TOP

sys.path.insert(0, str(TOP / "tests/integration"))
from harness import Tests, record  # noqa: E402,F401

stage.PERDURE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1
                                else os.environ["PERDURE_BIN"])
tests = Tests("ui")
checks = {}  # by name, to be called with the browser

# What a browser says of replies that are no success: a test that provokes them
# names them.
REFUSED = "Failed to load resource: the server responded with a status of "


def check(name, covers=(), **allowed):
    """refused: statuses that the page is given on purpose; offline: it loses
    its server; warns: it is given what makes it wonder."""
    def add(function):
        def with_browser():
            b = webdriver.start()
            stage.leave = lambda: leave(b, allowed)
            began = time.monotonic()
            function(b)
            print(f"{time.monotonic() - began:7.2f} s  {name}")
        checks[name] = with_browser
        tests.test(name, covers)(with_browser)
        return with_browser
    return add


def leave(b, allowed):
    complained(b, **allowed)
    b.do("/url", {"url": "about:blank"})


def origin(url):
    return "/".join(url.split("/")[:3])


def complained(b, refused=(), offline=False, warns=False):
    """No word on the console, no failed request, none to anybody else."""
    for page, url, got in b.requests():
        if url.startswith(("data:", "about:", "blob:")):
            continue
        assert origin(url) == origin(page) and url.startswith(
            "http://127.0.0.1:"), f"asked somebody else: {url}"
        if isinstance(got, int):
            assert got < 400 or got in refused, f"was refused: {got} {url}"
        else:
            assert got is None or offline, f"a failed request: {got} {url}"
    lines = [line for line in b.console()
             if not any(f"{REFUSED}{status} " in line for status in refused)
             and not (offline and "net::ERR_" in line)
             and not (warns and "Uncaught" not in line)]
    assert not lines, f"said on the console: {lines}"


def is_shown(b, name):
    """Until the page with this heading is there, and nothing loads."""
    b.wait("return [...document.querySelectorAll('main h1')].some("
           "h => h.textContent === arguments[0]) && "
           "!document.querySelector('.loading')", name)


def is_live(b):
    b.wait("document.querySelector('.live')?.innerText === 'live'",
           why="the badge to say live")


# Requests of the page are counted, the reply to one is held back, or lost;
# deaf: others that read are not sent at all. Streams do not count.
HOLD = """
const ask = window.fetch;
window.flying = 0;
window.held = window.lost = null;
window.deaf = false;
window.release = null;
window.fetch = async (url, opts) => {
  if (opts?.headers?.Accept === 'text/event-stream') return ask(url, opts);
  if (deaf && opts?.method === 'GET') throw new TypeError('deaf');
  flying++;
  try {
    const reply = await ask(url, opts);
    await reply.clone().text();
    if (lost && url.includes(lost)) { lost = null; throw new TypeError('lost'); }
    if (held && url.includes(held)) {
      held = null;
      await new Promise((go) => { window.release = go; });
    }
    return reply;
  } finally { setTimeout(() => { flying--; }); }
};
return 1;"""


def hold(b, part):
    """The next reply from an address with this in it waits for release()."""
    b.js("window.held = arguments[0]; return 1", part)


def release(b):
    b.js("release(); window.release = null; return 1")
