"""Text that appears while it is said, also when the server dies in between."""
import itertools
import signal

import stage
import suite
from stage import LONG, quoted
from suite import check

SLOW = "@dafx-concierge@slow"
FULL = LONG + " "  # the script says each word with a space behind it

# What was said, without what is struck out: each state that the page had.
WATCH = """
window.mark = 'not loaded anew';
window.seen = [];
const look = () => {
  const copy = document.querySelector('.talk').cloneNode(true);
  for (const e of copy.querySelectorAll('del, details')) e.remove();
  const text = [...copy.querySelectorAll('.is-assistant > .said')].map(
    (e) => e.textContent).join('|');
  if (seen.at(-1) !== text) seen.push(text);
};
look();
new MutationObserver(look).observe(document.body,
  {subtree: true, childList: true, characterData: true});
return true;"""


def seen(b, more="", again=0):
    """All states, of which each has to be a beginning of the answer, and longer
    than the one before; save as often as the model began again."""
    states = b.js("window.seen")
    assert b.js("window.mark") == "not loaded anew"
    for text in states:
        assert (more + FULL).startswith(text), f"lost or doubled: {text!r}"
    shorter = [(x, y) for x, y in itertools.pairwise(states) if len(y) < len(x)]
    assert len(shorter) == again, f"lost or doubled: {shorter}"
    return states


def ends(b, more="", again=0):
    """Until the whole answer is there and stored, or something else is."""
    b.wait("seen.some((t) => !arguments[0].startsWith(t)) || "
           "seen.at(-1) === arguments[0] && "
           "!document.querySelector('.msg.is-live')", more + FULL,
           why="the whole answer, stored")
    return seen(b, more, again)


def talk(b, s, session=SLOW):
    b.go(f"{s.ui}#/session/{quoted(session)}")
    suite.is_shown(b, session)
    suite.is_live(b)
    b.wait("document.querySelector('.talk')")
    b.js(WATCH)


@check("live: what is said appears word by word, and once", covers=["P-58"])
def _(b):
    with stage.Server() as s:
        s.good("POST", "/sessions", {"id": SLOW})
        s.say(SLOW, "Hello")
        talk(b, s)
        first = "You said: Hello"
        assert b.js("seen.at(-1)") == first, b.js("seen")
        s.say(SLOW, "Speak slowly", wait=False)
        b.see("at work", ".msg.is-live")
        b.see("Speak slowly", ".turns")
        states = ends(b, first + "|")
        # The model takes a tenth of a second for each of 26 words.
        assert len(states) > 5, states
        said = [e["body"]["messages"][0]["contents"] for e in
                s.get(SLOW, "/entries")["items"] if e["kind"] == "response"]
        assert said[-1] == [{"$type": "text", "text": FULL}], said
        # Who opens the page now sees the same.
        b.go(f"{s.ui}#/session/{quoted(SLOW)}")
        b.wait("[...document.querySelectorAll('.is-assistant .said')].map(e =>"
               " e.textContent).join('|') === arguments[0]", f"{first}|{FULL}")


@check("live: who comes in the middle has what was said before")
def _(b):
    with stage.Server() as s:
        s.say(SLOW, "Speak slowly", wait=False)
        s.until(SLOW, "running")
        talk(b, s)
        assert ends(b)[-1] == FULL


@check("live: an answer that is over before it was read stays in sight")
def _(b):
    with stage.Server() as s:
        s.good("POST", "/sessions", {"id": SLOW})
        talk(b, s)
        b.js(suite.HOLD)
        suite.hold(b, "entries?from=")  # read before the answer is stored
        s.say(SLOW, "Speak slowly", wait=False)
        b.wait("!!release")
        s.until(SLOW, "idle")
        b.wait("seen.at(-1) === arguments[0] && "
               "!document.querySelector('.is-live .typing')", FULL)
        suite.hold(b, "entries?from=")
        suite.release(b)
        b.wait("!!release")
        b.later("setTimeout(done, 150)")  # behind what is drawn by then
        suite.release(b)
        ends(b)
        assert b.js("document.querySelectorAll('.turn footer').length") == 1


@check("live: a server that dies in mid-stream loses and doubles nothing",
       covers=["P-58"], offline=True)
def _(b):
    server = stage.Server("--lease", "1")
    s = server
    s.good("POST", "/sessions", {"id": SLOW})
    talk(b, s)
    s.say(SLOW, "Speak slowly", wait=False)
    b.wait("seen.at(-1).split(' ').length > 6", why="some words")
    s.stop(signal.SIGKILL)
    b.see("reconnecting", ".live")
    before = b.js("seen.at(-1)")
    with stage.Server("--lease", "1", port=s.port) as s:
        b.see("live", ".live")
        b.see("attempt 2", ".msg.is-live")
        # What the first attempt said did not count.
        b.wait("document.querySelector('.msg.is-live del')", why="struck out")
        struck = b.js("document.querySelector('.msg.is-live del').textContent")
        assert struck and FULL.startswith(struck), (
            f"lost or doubled: {struck!r}")
        assert len(struck) >= len(before) - len("at 20:33. You "), (
            struck, before)
        line = b.js("getComputedStyle(document.querySelector('.msg.is-live del'))"
                    ".textDecorationLine")
        assert line == "line-through", line
        states = ends(b, again=1)
        assert any(len(t) < len(before) for t in states[states.index(
            before):]), states
        # It can still be looked at, and is no part of the answer.
        b.see("Discarded", ".turn summary")
        assert b.js("document.querySelectorAll('.turn').length") == 1
        texts = [m["contents"] for e in s.get(SLOW, "/entries")["items"]
                 if e["kind"] == "response" for m in e["body"]["messages"]]
        assert texts == [[{"$type": "text", "text": FULL}]], texts


@check("live: lists come back with the server", offline=True)
def _(b):
    s = stage.Server()
    stage.seed(s)
    b.go(f"{s.ui}#/sessions")
    suite.is_shown(b, "Sessions")
    suite.is_live(b)
    b.js("window.mark = 1")
    s.stop(signal.SIGKILL)
    b.see("reconnecting", ".live")
    b.see("7 shown")  # what was there stays
    with stage.Server(port=s.port) as s:
        s.say("@dafx-helpdesk@new", "Hello")
        suite.is_live(b)
        b.see("8 shown")
        assert b.js("window.mark") == 1
