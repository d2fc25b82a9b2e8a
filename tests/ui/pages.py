"""Every page is there, says what is so, asks nobody else, and is small."""
import json
import pathlib
import re

import stage
import suite
from stage import quoted, seeded
from suite import check

# Where it is, its heading, what stands there, whether it has a stream.
TRIP, NOTES, GARDEN = (f"session/{quoted(i)}" for i in (
    stage.TRIP, stage.NOTES, stage.GARDEN))
PAGES = {
    "overview": ("", "Overview", ["Sessions", "Waiting for a person", stage.ROOM,
                                  "Tokens", "1 failed"], True),
    "sessions": ("sessions", "Sessions", [stage.TRIP, stage.BOARD, "shown"],
                 True),
    "conversation": (TRIP, stage.TRIP, ["night train", "find_trains", "done",
                                        "189 euros", "1,360 tokens"], True),
    "bag": (f"{NOTES}?tab=bag", stage.NOTES, ["profile", "limits", "draft"],
            True),
    "entries": (f"{TRIP}?tab=entries", stage.TRIP, ["request", "response"],
                True),
    "raw": (f"{GARDEN}?tab=raw", stage.GARDEN, ["schemaVersion", "unknown"],
            True),
    "runs": ("runs", "Runs", [stage.DESK, "Asked", "wait_for_desk"], True),
    "chats": ("chats", "Chats", [stage.BOARD], True),
    "chat": (f"chat/{stage.BOARD}", stage.BOARD, ["Scout", "Hallstatt",
                                                  "has heard all"], True),
    "agents": ("agents", "Agents", ["Concierge", "Plans journeys", "Try it"],
               False),
    "store": ("store", "Store", ["Check everything", "Version"], False),
}


def open_page(b, s, name, load=True):
    """Show it, until all that belongs to it is there."""
    at, heading, words, has_stream = PAGES[name]
    if load:
        b.go(f"{s.ui}#/{at}")
    else:
        b.hash("#/" + at)
    suite.is_shown(b, heading)
    for word in words:
        b.see(word)
    if has_stream:
        suite.is_live(b)


@check("pages: each shows what is there and complains of nothing",
       covers=["P-53"])
def _(b):
    with seeded(busy=True) as s:
        for name in PAGES:
            open_page(b, s, name)
            suite.complained(b)
            title = b.js("document.title")
            assert title.endswith(" - perdure") and len(title) > 10, title


@check("pages: one leads to the next, and the way back is there")
def _(b):
    with seeded() as s:
        b.go(s.ui)
        suite.is_shown(b, "Overview")
        for name in ("Sessions", "Runs", "Chats", "Agents", "Store"):
            b.click(f"nav [aria-label={name}]")
            suite.is_shown(b, name)
            assert b.js("document.querySelector('nav [aria-current=page]')"
                        ".textContent") == name
        b.js("history.go(-4); return 1")
        suite.is_shown(b, "Sessions")
        b.click(f"tr[data-id='{stage.TRIP}'] a")
        suite.is_shown(b, stage.TRIP)
        for name, word in (("Bag", "The bag is empty"), ("Entries", "request"),
                           ("Raw", "schemaVersion")):
            b.click(".tabs a", name)
            b.see(word)
        b.js("history.back(); return 1")
        b.see("Stored", "th")


@check("files: the page is at most 200 kB", covers=["P-53"])
def _(b):
    web = pathlib.Path(stage.UI_DIR or stage.WEB)
    names = re.findall(r"^  '(.*)',$", (web / "meson.build").read_text(), re.M)
    sizes = {name: (web / name).stat().st_size for name in names}
    assert len(sizes) > 10
    print(f"the page has {sum(sizes.values())} bytes")
    assert sum(sizes.values()) <= 200_000, f"too much: {sizes}"
    # What a browser is given is that, and all of it.
    with stage.Server(agents=False) as s:
        b.go(s.ui)
        suite.is_shown(b, "Overview")
        for at in ("sessions", "session/x", "runs", "chats", "chat/x",
                   "agents", "store"):
            b.hash("#/" + at)
            b.wait("!document.querySelector('.loading')")
        suite.complained(b, refused=[404])  # two of these are not there
        loaded = json.loads(b.js(
            "JSON.stringify(performance.getEntriesByType('resource').filter("
            "e => e.name.includes('/ui/')).map(e => [e.name, "
            "e.decodedBodySize]))"))
        assert len(loaded) > 10, loaded
        for url, size in loaded:
            name = url.rsplit("/", 1)[1]
            assert name in sizes, url
            assert size == sizes[name], (url, size)


@check("pages: an empty store says what to do")
def _(b):
    with stage.Server() as s:
        for at, words in {
                "": "Nothing is stored yet", "sessions": "No sessions yet",
                "runs": "No run is at work", "chats": "No chats yet"}.items():
            b.go(f"{s.ui}#/{at}")
            b.see(words)
            assert b.js("document.querySelector('.empty').querySelectorAll("
                        "'a, pre').length") > 0, at
    with stage.Server(agents=False) as s:
        b.go(f"{s.ui}#/agents")
        b.see("This server has no agents")
        b.see("perdure serve --agent")


@check("login: a key lets in, a wrong one does not, and one can leave",
       refused=[401])
def _(b):
    import keys
    key = keys.make("admin")
    with stage.Server("--keys", keys.FILE) as s:
        b.go(f"{s.ui}#/sessions")
        b.see("This server asks for a key.")
        assert b.js("document.activeElement.id") == "key"
        b.type("#key", "pd_wrong")
        b.press("Enter")
        b.see("This key is not known here")
        b.type("#key", key)
        b.press("Enter")
        suite.is_shown(b, "Sessions")
        b.see("No sessions yet")
        assert "perdure_ui" not in b.js("document.cookie")
        b.go(f"{s.ui}#/store")
        suite.is_shown(b, "Store")
        b.click("[aria-label='Log out']")
        b.see("This server asks for a key.")
        b.go(f"{s.ui}#/store")
        b.see("This server asks for a key.")


@check("live: lists and figures follow what others do")
def _(b):
    with seeded() as s:
        open_page(b, s, "sessions")
        s.say("@dafx-helpdesk@new", "Hello")
        b.see("1 changed. Show")
        s.say(stage.TRIP, "Hello")
        b.wait("document.querySelector(\"tr[data-id='" + stage.TRIP
               + "'] .num\").textContent === '4'")
        b.click(".news button")
        b.wait("document.querySelector('tbody tr').dataset.id !== undefined "
               "&& !!document.querySelector(\"[data-id='@dafx-helpdesk@new']\")")
        b.hash("#/")
        suite.is_shown(b, "Overview")
        before = b.text(".figure:nth-of-type(3) .big")
        s.say("@dafx-helpdesk@new", "Hello")
        b.wait("document.querySelector('.figure:nth-of-type(3) .big')"
               ".textContent === arguments[0]", str(int(before) + 1))


@check("live: only what belongs to a list counts as news of it")
def _(b):
    with seeded() as s:
        b.go(f"{s.ui}#/sessions?agent=helpdesk")
        b.see("2 shown")
        suite.is_live(b)
        for name in ("concierge@a", "concierge@b", "helpdesk@new"):
            s.say(f"@dafx-{name}", "Hello")
        s.say(stage.PARCEL, "Hello")
        b.wait("document.querySelector(arguments[0]).textContent === '4'",
               f"tr[data-id='{stage.PARCEL}'] .num")
        b.wait("document.querySelector('.news').innerText === arguments[0]",
               "1 changed. Show")
        b.click(".news button")
        b.see("3 shown")
        b.wait("document.querySelector('.news').innerText === ''")


@check("sessions: filters are in the address, and pages have an end")
def _(b):
    with stage.Server() as s:
        lines = [json.dumps({"id": f"s/{i:03}", "document": {"stateBag": {}},
                             "agent": ("Helpdesk", "Concierge")[i % 2]})
                 for i in range(230)]
        s.good("POST", "/import", "\n".join(lines))
        s.good("PATCH", f"/sessions/{quoted('s/007')}",
               {"properties": {"team": "garden"}})
        b.go(f"{s.ui}#/sessions")
        suite.is_shown(b, "Sessions")
        b.see("100 shown")
        b.click(".pager a", "Next page")
        b.wait("location.hash.includes('cursor=')")
        b.see("First page")
        b.click(".pager a", "Next page")
        b.see("30 shown")
        assert "Next page" not in b.text(".pager")
        b.go(f"{s.ui}#/sessions?property=team%3Dgarden")
        b.see("1 shown")
        assert b.js("document.querySelector('#f-property').value") == (
            "team=garden")
        b.type("#f-idPrefix", "s/00")
        b.press("Enter")
        b.wait("location.hash.includes('idPrefix=s%2F00')")
        b.wait("document.querySelectorAll('tbody tr').length === 1")
        b.click(".filters a", "Clear")
        b.see("100 shown")
        b.go(f"{s.ui}#/sessions?state=waiting")
        b.see("Nothing fits")
        b.click(".filters a", "Clear")
        b.type("#f-agent", "Helpdesk")
        b.press("Enter")
        b.wait("location.hash.endsWith('?agent=Helpdesk')")
        b.see("100 shown")
        b.click(".pager a", "Next page")
        b.see("15 shown")
        today = b.js("new Date().toLocaleDateString('sv-SE')")
        for query, words in (
                (f"changedFrom={today}&changedTo={today}", "100 shown"),
                (f"changedTo={today}", "100 shown"),
                ("changedFrom=2999-01-01", "Nothing fits"),
                ("changedTo=2026-01-01", "Nothing fits")):
            b.hash("#/sessions?" + query)
            b.see(words)
