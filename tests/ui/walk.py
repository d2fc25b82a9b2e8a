"""Everything can be done without a mouse, and keys do what `?` says."""
import stage
import suite
from pages import PAGES, open_page
from stage import quoted, seeded
from suite import check


def at(b):
    return b.js("decodeURIComponent(location.hash)")


def focused(b):
    return b.js("document.activeElement.textContent")


@check("keys: are told by ?, and go where they say", covers=["P-57"])
def _(b):
    with seeded(busy=True) as s:
        b.go(s.ui)
        suite.is_shown(b, "Overview")
        b.press("?")
        b.see("next, previous row", "dialog")
        keys = b.text("dialog kbd").split()
        assert {"?", "g", "/", "j", "k", "Enter", "[", "]", "Esc"} <= set(keys)
        b.press("g", "s")  # not while the help is open
        b.press("Escape")
        b.wait("!document.querySelector('dialog')")
        suite.is_shown(b, "Overview")
        for letter, name in (("s", "Sessions"), ("r", "Runs"), ("c", "Chats"),
                             ("a", "Agents"), ("t", "Store"),
                             ("o", "Overview"), ("s", "Sessions")):
            b.press("g", letter)
            suite.is_shown(b, name)
        b.press("j")
        first = focused(b)
        b.press("j")
        second = focused(b)
        assert first != second
        ids = b.js("[...document.querySelectorAll('tbody tr')].map("
                   "t => t.dataset.id)")
        assert [first, second] == ids[:2]
        b.press("k", "k", "k")
        assert focused(b) == first
        # The row with the conversation.
        for _ in range(ids.index(stage.TRIP)):
            b.press("j")
        assert focused(b) == stage.TRIP
        b.press("Enter")
        suite.is_shown(b, stage.TRIP)
        b.wait("document.querySelector('.turn')")
        for tab in ("bag", "entries", "raw"):
            b.press("]")
            b.wait("location.hash.endsWith('tab=' + arguments[0])", tab)
            b.wait("document.querySelector(`.tab-${arguments[0]}`)?."
                   "querySelector('.tree, table, .empty')", tab)
        b.press("]")  # there is no other one
        b.press("[")
        b.wait("location.hash.endsWith('tab=entries')")
        b.see("Stored", "th")
        b.press("[")
        b.see("The bag is empty")
        b.press("[")
        b.wait("document.querySelector('.turn')")
        b.press("/")
        assert b.js("document.activeElement.id") == "say"
        b.press("g", "s", "?", "j")  # letters, while somebody writes
        assert b.js("document.activeElement.value") == "gs?j"
        b.press("Escape")
        assert b.js("document.activeElement.id") != "say"
        b.press("Escape")
        suite.is_shown(b, "Sessions")
        b.press("/")
        assert b.js("document.activeElement.id") == "f-idPrefix"


CAN_BE_USED = """
  const seen = (e) => e.checkVisibility({visibilityProperty: true})
    && e.getClientRects().length > 0 && !e.disabled;
  const all = [...document.querySelectorAll('a[href], button, input, select, '
    + 'textarea, summary, [tabindex="0"]')].filter(seen);
  window.wanted = new Set(all.filter((e) => !e.classList.contains('skip')));
  return all.length;"""


@check("keys: Tab comes to every action, in sight, and goes on",
       covers=["P-57"])
def _(b):
    with seeded(busy=True) as s:
        for name in PAGES:
            open_page(b, s, name)
            count = b.js(CAN_BE_USED)
            assert count > 8, (name, count)
            b.js("document.activeElement.blur(); window.unseen = []; return 1")
            b.js("""document.addEventListener('focusin', (e) => {
              window.wanted.delete(e.target);
              const s = getComputedStyle(e.target);
              const around = e.target.closest('.say');
              if (s.outlineStyle === 'none' && !(around
                && getComputedStyle(around).boxShadow !== 'none'))
                window.unseen.push(e.target.outerHTML.slice(0, 150));
            }); return 1""")
            # A date has a part for each of day, month, year and its button.
            more = 4 * b.js("document.querySelectorAll('[type=date]').length")
            b.press(*["Tab"] * (count + more + 2))
            left = b.js("[...window.wanted].filter(e => e.isConnected).map("
                        "e => e.outerHTML.slice(0, 150))")
            assert not left, (name, left)
            unseen = b.js("window.unseen")
            assert not unseen, (name, unseen)


def tab_to(b, text, css="button, a, summary, textarea"):
    """Press Tab until what is focused says this."""
    for _ in range(80):
        b.press("Tab")
        if b.js("document.activeElement.matches(arguments[0]) && (document."
                "activeElement.getAttribute('aria-label') ?? document."
                "activeElement.textContent).trim().startsWith(arguments[1])",
                css, text):
            return
    raise AssertionError(f"Tab does not come to {text}")


@check("keys: send, approve, edit and delete without a mouse",
       covers=["P-57"])
def _(b):
    with seeded() as s:
        b.go(f"{s.ui}#/session/{quoted(stage.ROOM)}")
        suite.is_shown(b, stage.ROOM)
        suite.is_live(b)
        tab_to(b, "Approve")
        b.press("Enter")
        b.see("The room is booked.")
        b.press("/", *"Thanks", "Enter")
        b.see("You said: Thanks")
        b.go(f"{s.ui}#/session/{quoted(stage.NOTES)}?tab=bag")
        b.see("draft")
        suite.is_live(b)
        tab_to(b, "draft")
        b.press("Enter")
        b.wait("document.querySelector('.slot .tree')")
        tab_to(b, "Edit")
        b.press("Enter")
        b.wait("document.activeElement.tagName === 'TEXTAREA'")
        b.press("a", held=["Control"])
        b.press(*'"on foot"')
        tab_to(b, "Store")
        b.press("Enter")
        b.see('"on foot"', ".slot")
        assert s.get(stage.NOTES, "/bag/draft") == "on foot"
        tab_to(b, "Delete")
        b.press("Enter")
        b.see("Delete this session?", "dialog")
        b.press("Escape")
        b.wait("!document.querySelector('dialog')")
        assert b.js("document.activeElement.textContent") == "Delete"
        b.press("Enter")
        b.wait("document.querySelector('dialog')")
        tab_to(b, "Delete it")
        b.press("Enter")
        suite.is_shown(b, "Sessions")
        assert s.request("GET", f"/sessions/{quoted(stage.NOTES)}")[0] == 404
