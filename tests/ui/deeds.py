"""What a person does in the page: the store has it then, and says so."""
import json
import os
import pathlib
import time

import stage
import suite
import webdriver
from pages import open_page
from stage import quoted, seeded
from suite import check


def talk(b, s, session):
    b.go(f"{s.ui}#/session/{quoted(session)}")
    suite.is_shown(b, session)
    suite.is_live(b)


@check("send: a message goes out once, and its answer comes")
def _(b):
    with seeded() as s:
        talk(b, s, stage.TRIP)
        b.type("#say", "Thank you")
        b.press("Enter")
        b.see("You said: Thank you")
        b.wait("document.querySelector('#say').value === ''")
        b.type("#say", "Two")
        b.press("Enter", held=["Shift"])
        b.press(*"lines")
        b.click(".say button", "Send")
        b.see("You said: Two\nlines")
        b.wait("document.querySelectorAll('.turn').length === 3")
        assert not b.js("document.querySelector('.is-sent')")
        asked = [e["body"]["messages"][0]["contents"][0]["text"]
                 for e in s.get(stage.TRIP, "/entries")["items"]
                 if e["kind"] == "request"]
        assert asked[1:] == ["Thank you", "Two\nlines"], asked
        # A failure is told, and stays.
        b.type("#say", "broken")
        b.press("Enter")
        b.see("the model is overloaded", ".turn .failure")
        b.see("failed", ".turn footer")


@check("conversation: thoughts are folded, and an end is told")
def _(b):
    with seeded() as s:
        open_page(b, s, "conversation")
        assert b.js("return [...document.querySelectorAll('details.thought')]"
                    ".map(e => [e.open, e.querySelector('.said').textContent])"
                    ) == [[False, stage.AGENTS["Concierge"][3][3]["reasoning"]]]
        b.click("details.thought summary")
        b.see("They want to sleep on the way.", "details.thought")
        b.see("expires in 14 days", ".facts")
        b.hash("#/sessions")
        b.see("in 14 days", f"tr[data-id='{stage.TRIP}'] .cell-expires")
        b.see("never", f"tr[data-id='{stage.NOTES}'] .cell-expires")


@check("chats: who has heard how much, and who is not here")
def _(b):
    with stage.Server() as s:
        s.good("POST", "/chats", {"id": "h", "agents": ["Scout", "Critic"]})
        s.good("POST", "/chats/h/turns", {"text": "Well?"})
        for text in ("One", "Two"):
            s.good("POST", "/chats/h/messages", {"text": text})
        b.go(f"{s.ui}#/chat/h")
        b.see("has heard 3 of 5", ".lane-head")
        assert 'missing' not in b.text(".facts")
    for agent, words in (("Scout", "not here"), ("Helpdesk", "parked")):
        # They share a channel: it waits when none of them is there.
        with stage.Server("--agent", f"{agent}={agent}.yaml", agents=False) as s:
            b.go(f"{s.ui}#/chat/h")
            suite.is_live(b)
            b.see(words, ".lane-head")
            shown = b.text(".lane-head")
            assert ("parked" in shown) == (agent != "Scout"), shown
            assert "Critic" not in b.text("[aria-label='Who answers']")


@check("agents: one can be tried, in a session of its own")
def _(b):
    with seeded() as s:
        open_page(b, s, "agents")
        b.type("[aria-label='Say something to Scout']", "What is open?")
        b.press("Enter")
        b.see("Hallstatt")
        where = b.js("decodeURIComponent(location.hash)")
        assert where.startswith("#/session/@dafx-scout@try-"), where
        assert s.get(where[len("#/session/"):])["entries"] == 2


@check("approvals: are given and refused in the page")
def _(b):
    with seeded() as s:
        open_page(b, s, "overview")
        b.click("main a", stage.ROOM)
        suite.is_shown(b, stage.ROOM)
        b.see("waits for a person", ".card")
        b.see("Zur Linde", ".card")
        b.click(".card button", "Approve")
        b.see("The room is booked.")
        b.see("approved", ".card .badge")
        b.wait("!document.querySelector('.card button')")
        assert json.loads(pathlib.Path("booked").read_text()) == {
            "hotel": "Zur Linde", "nights": 2, "price": "214.00"}
        assert s.get(stage.ROOM)["state"] == "idle"
        s.say(stage.ROOM, "One more room")
        b.click(".card button", "Decline")
        s.until(stage.ROOM, "idle")
        assert len(pathlib.Path("booked").read_text().split("hotel")) == 2
        b.see("declined", ".card .badge")
        b.hash("#/")
        b.see("None. A session is here when its agent asks")


@check("runs: show their steps, and end when somebody says so")
def _(b):
    with seeded(busy=True) as s:
        open_page(b, s, "runs")
        assert b.text(".steps .badge").split("\n") == [
            "Asked", "Prepared", "The model", "wait_for_desk"]
        b.see("calls wait_for_desk", ".steps")
        b.click(".run button", "Resume")
        b.see("The run goes on where it is due.", "#toasts")
        # What takes its time says so, and is not sent twice, drawn anew or not.
        b.js(suite.HOLD)
        b.js("window.redrawn = () => document.dispatchEvent(new Event("
             "'visibilitychange')); return redrawn()")
        suite.hold(b, "/cancel")
        b.click(".run button", "Cancel")
        b.wait("!!release")
        asked = b.js("redrawn(); document.querySelector('.run [aria-busy]')"
                     ".click(); return document.querySelector('.run "
                     "[aria-busy]').textContent")
        assert asked == "Cancel", asked
        b.wait("flying === 1")
        suite.release(b)
        b.see("No run is at work")
        pathlib.Path("go").touch()
        s.until(stage.DESK, "idle")
        run, = s.get(stage.DESK, "/runs")["items"]
        assert run["outcome"] is not None, run
        # The same from the conversation.
        os.remove("go")
        s.say(stage.DESK, "Ask the desk again", wait=False)
        talk(b, s, stage.DESK)
        b.see("at work", ".msg.is-live")
        b.see("wait_for_desk", ".msg.is-live")
        b.click(".say button", "Stop the run")
        b.wait("!document.querySelector('.msg.is-live')")
        pathlib.Path("go").touch()
        s.until(stage.DESK, "idle")


@check("bag: a value is changed, unless somebody else did first",
       refused=[412])
def _(b):
    with seeded() as s:
        open_page(b, s, "bag")
        b.click("[data-key=limits] summary")
        b.see("900.5", "[data-key=limits]")
        b.click("[data-key=limits] button", "Edit")
        b.wait("document.querySelector('textarea.edit')?.value.includes("
               "'nights')")
        b.type("textarea.edit", '{"nights": ')
        b.click("[data-key=limits] button", "Store")
        b.see("This is not JSON", "[role=alert]")
        assert s.get(stage.NOTES, "/bag/limits")["nights"] == 4
        # Another one comes first.
        s.good("PUT", f"/sessions/{quoted(stage.NOTES)}/bag/limits",
               {"nights": 7})
        b.type("textarea.edit", '{"nights": 5}')
        b.click("[data-key=limits] button", "Store")
        b.see("Somebody changed it in the meantime", "[role=alert]")
        assert s.get(stage.NOTES, "/bag/limits") == {"nights": 7}
        assert b.js("document.querySelector('textarea.edit').value") == (
            '{"nights": 5}')
        b.click("[data-key=limits] button", "Cancel")
        b.js("const d = document.querySelector('[data-key=limits]'); "
             "d.querySelector('summary').click(); return 1")
        b.go(f"{s.ui}#/session/{quoted(stage.NOTES)}?tab=bag")
        b.see("limits")
        b.click("[data-key=limits] summary")
        b.see("7", "[data-key=limits] .tree")
        b.click("[data-key=limits] button", "Edit")
        b.type("textarea.edit", '{"nights": 1.50}')
        b.click("[data-key=limits] button", "Store")
        b.see("1.50", "[data-key=limits] .tree")
        assert s.request("GET", f"/sessions/{quoted(stage.NOTES)}/bag/limits"
                         )[2] == '{"nights": 1.50}'
        # What is removed is what was seen.
        b.click("[data-key=limits] button", "Remove")
        b.see("gone from the bag then", "dialog")
        s.good("PUT", f"/sessions/{quoted(stage.NOTES)}/bag/limits",
               {"nights": 9})
        b.see("9", "[data-key=limits] .tree")
        b.click("dialog button", "Remove it")
        b.see("Somebody changed it in the meantime", "#toasts")
        assert s.get(stage.NOTES, "/bag/limits") == {"nights": 9}
        b.click("[data-key=limits] button", "Remove")
        b.see("gone from the bag then", "dialog")
        s.good("PUT", f"/sessions/{quoted(stage.NOTES)}/bag/draft",
               '"by bus"')
        b.click("dialog button", "Remove it")
        b.wait("!document.querySelector('[data-key=limits]')")
        assert s.request(
            "GET", f"/sessions/{quoted(stage.NOTES)}/bag/limits")[0] == 404


def saved(b, name, click):
    """The bytes that a click on Download puts down."""
    folder = pathlib.Path("saved").absolute()
    folder.mkdir(exist_ok=True)
    b.cdp("Page.setDownloadBehavior", behavior="allow",
          downloadPath=str(folder))
    click()
    end = time.monotonic() + webdriver.PATIENCE
    while not (folder / name).exists():
        assert time.monotonic() < end, (name, os.listdir(folder))
        time.sleep(0.02)
    return (folder / name).read_text()


@check("download: gives the document byte for byte")
def _(b):
    text = (stage.TOUR / "conversation.json").read_text()
    with seeded() as s:
        open_page(b, s, "raw")
        got = saved(b, "_dafx-gardener_bed-3.json",
                    lambda: b.click(".head button", "Download"))
        assert got == text
        open_page(b, s, "sessions")
        want = s.request("GET", f"/sessions/{quoted(stage.TRIP)}/state")[2]
        assert saved(b, "_dafx-concierge_vienna-december.json", lambda: b.click(
            f"[aria-label='Download {stage.TRIP}']")) == want
        open_page(b, s, "chat")
        chat = json.loads(saved(b, "weekly-plan.json",
                                lambda: b.click(".head button", "Save as")))
        assert "Hallstatt" in json.dumps(chat)
        open_page(b, s, "store")
        lines = saved(b, "sessions.jsonl",
                      lambda: b.click("section button", "Download"))
        assert len(lines.splitlines()) == 6, lines


@check("delete: asks first, and the session is gone then",
       refused=[404, 412])
def _(b):
    with seeded() as s:
        open_page(b, s, "sessions")
        row = f"tr[data-id='{stage.FAILED}']"
        b.click(f"{row} [title=Delete]")
        b.see("gone then, for everybody", "dialog")
        b.click("dialog button", "Keep it")
        b.wait("!document.querySelector('dialog')")
        assert s.get(stage.FAILED)["entries"] == 2
        b.click(f"{row} [title=Delete]")
        b.click("dialog button", "Delete it")
        b.wait("!document.querySelector(arguments[0])", row)
        b.see("The session is deleted.", "#toasts")
        assert s.request("GET", f"/sessions/{quoted(stage.FAILED)}")[0] == 404
        # What is deleted is what was seen.
        for page, say in (
                ("conversation", lambda: s.say(stage.TRIP, "Wait")),
                ("chat", lambda: s.good("POST", f"/chats/{stage.BOARD}/messages",
                                        {"text": "Wait"}))):
            open_page(b, s, page)
            b.click(".head button", "Delete")
            b.see("gone then, for everybody", "dialog")
            say()
            b.see("Wait", ".said")
            b.click("dialog button", "Delete it")
            b.see("Somebody changed it in the meantime", "#toasts")
        b.click(".head button", "Delete")
        b.click("dialog button", "Delete it")
        suite.is_shown(b, "Chats")
        b.see("No chats yet")


@check("raw: unknown members are marked and counted", covers=["P-54"])
def _(b):
    doc = stage.document([stage.turn("c1", "Hello", "Good day")])
    with stage.Server() as s:
        s.put("@dafx-concierge@known", doc)
        b.go(f"{s.ui}#/session/{quoted('@dafx-concierge@known')}?tab=raw")
        b.see("nothing in it is unknown")
        assert not b.js("document.querySelector('.tree .mark')")
        doc["shipping"] = {"to": "Graz"}
        history = doc["data"]["conversationHistory"]
        history[1]["confidence"] = 0.93
        history[1]["messages"][0]["contents"][0]["tone"] = "warm"
        s.put("@dafx-concierge@odd", doc)
        b.go(f"{s.ui}#/session/{quoted('@dafx-concierge@odd')}?tab=raw")
        b.see("3 unknown parts", ".notice .badge")
        # Those that are folded say that there is something inside.
        for _ in range(8):
            b.js("for (const d of document.querySelectorAll('.tree details'))"
                 " d.open = true; return 1")
        b.wait("document.querySelectorAll('.tree .marked').length === 3")
        marked = b.js("return [...document.querySelectorAll('.tree .marked')]."
                      "map(e => [e.querySelector('.key').title, "
                      "e.querySelector('.mark').textContent, "
                      "getComputedStyle(e).backgroundColor])")
        assert sorted(m[0] for m in marked) == [
            "/data/conversationHistory/1/confidence",
            "/data/conversationHistory/1/messages/0/contents/0/tone",
            "/shipping"], marked
        assert all(m[1] == "unknown" for m in marked), marked
        plain = b.js("getComputedStyle(document.querySelector("
                     "'.tree .leaf:not(.marked)')).backgroundColor")
        assert all(m[2] != plain for m in marked), marked
        # The document itself, as it is stored.
        b.click(".seg button", "Text")
        text = s.request("GET", f"/sessions/{quoted('@dafx-concierge@odd')}"
                         "/state")[2]
        b.wait("document.querySelector('.tab-raw pre.said')?.textContent "
               "=== arguments[0]", text)


@check("entries: what came since one is just that", covers=["P-55"])
def _(b):
    turns = [stage.turn(f"c{i}", f"Question {i}", f"Answer {i}", i)
             for i in range(3)]
    with stage.Server() as s:
        session = "@dafx-concierge@since"
        s.put(session, stage.document(turns))
        b.go(f"{s.ui}#/session/{quoted(session)}?tab=entries")
        b.see("Answer 2")
        suite.is_live(b)
        b.click("[aria-label='What came since entry 6']")
        b.see("Nothing came since entry 6")
        s.say(session, "Appended")
        b.see("2 entries came since entry 6.")
        rows = b.js("return [...document.querySelectorAll('tbody tr:not("
                    "[hidden])')].map(r => [...r.cells].slice(0, 3).map("
                    "c => c.innerText))")
        assert [r[0] for r in rows] == ["7", "8"], rows
        assert [r[2] for r in rows] == ["Appended", "You said: Appended"], rows
        b.click("tbody tr:nth-child(3) .link")
        b.see("SHA-256", "tbody")
        digest = s.get(session, "/entries")["items"][-1]["digest"]
        b.see(digest)
        b.click(".notice button", "Check the digests")
        b.see("every digest holds")


@check("chats: lanes show every message once, in order", covers=["P-59"])
def _(b):
    with seeded() as s:
        open_page(b, s, "chat")
        for _ in range(2):
            b.type(".chat-say textarea", "And if it rains?")
            b.type("[aria-label='Your name']", "Mira")
            b.click(".chat-say button", "Send")
            count = s.get(stage.BOARD)["entries"]
            b.wait("!document.querySelector('.is-sent, .at-work') && "
                   "!!document.querySelector('.badge.is-idle')")
        s.until(stage.BOARD, "idle")
        log = s.good("GET", f"/chats/{stage.BOARD}/messages?limit=200")["items"]
        assert len(log) == 12, len(log)
        b.wait("document.querySelectorAll('.cell').length === 12")
        cells = b.js("return [...document.querySelectorAll('.cell')].map((e) "
                     "=> [Number(e.dataset.seq), e.querySelector('.said')"
                     ".textContent, e.querySelector('bdi').textContent, "
                     "Math.round(e.getBoundingClientRect().left)])")
        assert [c[:3] for c in cells] == [
            [m["seq"], m["text"], m["author"]] for m in log], cells
        # A lane for each of them.
        lanes = {}
        for _, _, author, left in cells:
            lanes.setdefault(author, set()).add(left)
        assert [len(v) for v in lanes.values()] == [1] * 4, lanes
        assert len({v.pop() for v in lanes.values()}) == 4, lanes
        b.see("has heard all", ".lane-head")
        # One agent alone.
        b.js("const e = document.querySelector(\"[aria-label='Who answers']\");"
             "e.value = 'Scout'; e.dispatchEvent(new Event('change')); return 1")
        b.type(".chat-say textarea", "Scout alone")
        b.press("Enter")
        b.wait("document.querySelectorAll('.cell:not(.is-sent)').length === 14")
        assert b.js("[...document.querySelectorAll('.cell bdi')].at(-1)"
                    ".textContent") == "Scout"


@check("store: says whether all is as it was written")
def _(b):
    with seeded() as s:
        open_page(b, s, "store")
        b.click("section button", "Check everything")
        b.see("all of it is as it was written")
        b.click("section > details > summary")
        b.see("perdure_", "table")
