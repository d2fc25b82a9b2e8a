"""Long lists: whatever comes meanwhile, each item is there once and in order.

Replies are held back here until something else has happened, so that what
depends on their order happens each time.
"""
import stage
import suite
from harness import run
from stage import quoted
from suite import check

MANY = "@dafx-concierge@many"
ENTRIES = 400

# Each state that the list has: turns have one or two entries, none is missing.
WATCH = """
window.seen = new Set();
window.odd = [];
const look = () => {
  const now = [...document.querySelectorAll('.turns > .turn')].map(
    (e) => Number(e.dataset.seq));
  for (let i = 1; i < now.length; i++) if (now[i] - now[i - 1] < 1 ||
    now[i] - now[i - 1] > 2) odd.push(`${now[i - 1]}, ${now[i]}`);
  for (const n of now) seen.add(n);
};
look();
new MutationObserver(look).observe(document.querySelector('.turns'),
  {childList: true});
return true;"""

# Scroll there, again and again: what is read moves the end away.
TO_START = """
const e = document.querySelector('.talk');
e.scrollTop = 0;
return e.querySelector('.edge').innerText === 'The beginning' && flying === 0;"""
TO_END = """
const e = document.querySelector('.talk');
e.scrollTop = e.scrollHeight;
return ![...e.querySelectorAll('.edge')].at(-1).innerText && flying === 0 &&
  Number([...e.querySelectorAll('.turn')].at(-1).dataset.seq) === arguments[0];
"""


def put_many(s, entries):
    """Their numbers are 1, 2, 3; entry 2n + 2 says "Answer n"."""
    s.put(MANY, stage.document([stage.turn(
        f"c{i}", f"Question {i}", f"Answer {i}", i)
        for i in range(entries // 2)]))


def opened(b, s):
    put_many(s, ENTRIES)
    b.go(f"{s.ui}#/session/{quoted(MANY)}")
    suite.is_shown(b, MANY)
    suite.is_live(b)
    b.wait("document.querySelector('.turn')")
    b.js(suite.HOLD)
    b.js(WATCH)


def in_order(b, last):
    """All that was ever shown, and that the end is this one."""
    assert b.js("odd") == []
    assert b.js("[...document.querySelectorAll('.turn')].at(-1).dataset.seq"
                ) == str(last)


@check("long lists: every entry is there once, in order, while others come")
def _(b):
    with stage.Server() as s:
        opened(b, s)
        assert b.js("document.querySelectorAll('.turn').length") < 100
        s.say(MANY, "First")
        b.wait(TO_START)
        s.say(MANY, "Second")
        in_order(b, 239)  # the page holds no more than that
        b.js("seen.clear()")
        b.wait(TO_END, ENTRIES + 3)
        s.say(MANY, "Third")
        b.wait(TO_END, ENTRIES + 5)
        in_order(b, ENTRIES + 5)
        missing = [n for n in range(241, ENTRIES + 7, 2)
                   if not b.js("seen.has(arguments[0])", n)]
        assert not missing, missing
        b.wait(TO_START)
        b.click(".foot button", "Latest")
        b.see("Third", ".turn")
        in_order(b, ENTRIES + 5)
        assert b.js("(e => e.scrollHeight - e.scrollTop - e.clientHeight < 5)"
                    "(document.querySelector('.talk'))")


@check("long lists: what is read late does not take the place of other things")
def _(b):
    with stage.Server() as s:
        opened(b, s)
        # Later ones are on their way when somebody wants the latest.
        b.wait(TO_START)
        suite.hold(b, "from=241")
        b.wait("document.querySelector('.talk').scrollTop = 1e9; "
               "return !!release")
        b.js("document.querySelector('.latest').click(); return 1")
        b.wait("flying === 1", why="what can be read, read")
        suite.release(b)
        b.wait("flying === 0 && [...document.querySelectorAll('.turn')].at(-1)"
               ".dataset.seq === '399'")
        in_order(b, ENTRIES - 1)
        # Something new is on its way when earlier ones push the end out.
        suite.hold(b, "from=401&limit")
        s.say(MANY, "New")
        b.wait("!!release")
        for _ in range(40):  # one that is busy does not hear it
            b.js("document.querySelector('.edge button')?.click(); return 1")
            b.wait("flying === 1", why="what can be read, read")
        suite.release(b)
        b.wait("flying === 0")
        b.wait(TO_END, ENTRIES + 1)
        in_order(b, ENTRIES + 1)


@check("long lists: what was removed leaves the conversation")
def _(b):
    with stage.Server() as s:
        put_many(s, 40)
        b.go(f"{s.ui}#/session/{quoted(MANY)}")
        b.see("The beginning")
        b.see("Answer 19")
        suite.is_live(b)
        done = run([stage.PERDURE, "session", "trim", "--store", "x.db",
                    "--keep-turns", "3", MANY])
        assert done.status == 0, done
        s.say(MANY, "New")
        b.see("You said: New", ".turn")
        left = [e["seq"] for e in s.get(MANY, "/entries")["items"]]
        assert left == list(range(35, 43)), left
        b.wait("document.querySelectorAll('.turn').length === 4")
        assert "Answer 10" not in b.text(".turns")


def numbers(b):
    """Of the entries of this page."""
    return b.js("return [...document.querySelectorAll('.entries tbody tr:not("
                ".more) td:first-child')].map(e => Number(e.innerText))")


@check("long lists: of two pages of entries the one that was asked for stays")
def _(b):
    with stage.Server() as s:
        put_many(s, 230)
        b.go(f"{s.ui}#/session/{quoted(MANY)}?tab=entries")
        b.see("Next page")
        suite.is_live(b)
        b.js(suite.HOLD)
        suite.hold(b, "entries?backwards")  # the first page, once more
        s.say(MANY, "New")
        b.wait("!!release")
        b.click(".pager button", "Next page")
        b.see("First page")
        b.wait("flying === 1")
        suite.release(b)
        b.wait("flying === 0")
        assert numbers(b) == list(range(130, 30, -1)), numbers(b)
        b.click(".pager button", "Next page")
        b.wait("[...document.querySelectorAll('.pager button')].at(-1)"
               ".innerText === 'First page'")
        assert numbers(b) == list(range(30, 0, -1)), numbers(b)


@check("damage: is told row by row, and hides nothing else", refused=[500])
def _(b):
    s = stage.Server()
    put_many(s, 230)
    s.stop()
    stage.damage('"Answer 74"', '"Answer 14"')
    with stage.Server() as s:
        bad = [n for n in range(1, 231) if s.request(
            "GET", f"/sessions/{quoted(MANY)}/entries?from={n}&limit=1")[0]
            == 500]
        assert {150, 30} <= set(bad) and len(bad) < 100, bad
        b.go(f"{s.ui}#/session/{quoted(MANY)}?tab=entries")
        # Each page has all of its rows, and leads to the next one.
        shown, damaged = [], []
        while len(shown) < 230:
            if shown:
                b.click(".pager button", "Next page")
            b.wait("document.querySelector('.entries tbody td')?.innerText === "
                   "arguments[0]", str(230 - len(shown)))
            shown += numbers(b)
            damaged += b.js("return [...document.querySelectorAll('.damaged')]"
                            ".map(e => Number(e.cells[0].innerText))")
        assert shown == list(range(230, 0, -1)), shown
        assert sorted(damaged) == bad, (damaged, bad)
        b.see("not as it was written", "tr.damaged")
        b.go(f"{s.ui}#/session/{quoted(MANY)}?tab=entries&since=140")
        b.wait("document.querySelector('.entries tbody td')?.innerText === "
               "'141'")
        assert numbers(b) == list(range(141, 231)), numbers(b)
        for _ in range(2):  # by itself, and when somebody asks
            b.see("damaged", ".notice .badge.is-error")
            b.see("not as it was written", ".notice .finds")
            b.click(".notice button", "Check the digests")
        b.hash("#/store")
        b.click("section button", "Check everything")
        b.see("damaged", "section .badge.is-error")
        b.see("not as it was written", "section .finds")
