"""Pages with a mistake under the checks of tests/ui. Each mistake has to be
found by the check that is there for it, in the words that are said here. A copy
of the page without one passes those checks that take their time. One browser
sees all of them. Usage: ui_variants.py PERDURE [MISTAKE]
"""
import os
import pathlib
import re
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "ui"))
import suite  # noqa: E402
import access  # noqa: E402,F401
import deeds  # noqa: E402,F401
import hostile  # noqa: E402,F401
import lists  # noqa: E402,F401
import live  # noqa: E402,F401
import pages  # noqa: E402,F401
import stage  # noqa: E402
import trouble  # noqa: E402,F401
import walk  # noqa: E402,F401
import webdriver  # noqa: E402

tests = suite.record.Tests("broken-ui-variants")
END = r"\Z"  # a mistake that is added behind a file

# The mistake; the file, what is replaced there by what; the check that has to
# find it, by the beginning of its name; what it says.
MISTAKES = {
    # What is there, and who is asked.
    "complains": ("app.js", END, "console.error('odd');",
                  "pages: each", "said on the console"),
    "asks-others": ("app.js", END, "fetch('http://127.0.0.2:9/x').catch(() => "
                    "0);", "pages: each", "127.0.0.2"),
    "misses-a-file": ("app.js", END, "fetch('/ui/none.js');",
                      "pages: each", "was refused: 404"),
    "is-blank": ("app.css", END, "main { display: none; }",
                 "pages: each", "('Waiting for a person', 'body')"),
    "is-fat": ("app.css", END, "/*" + "x" * 120_000 + "*/",
               "files:", "too much"),
    "shows-old-figures": ("page_overview.js", r"event: again", "event() {}",
                          "live: lists and figures",
                          ".figure:nth-of-type(3) .big"),
    "ignores-filters": ("page_sessions.js", r"\.\.\.wanted, changedFrom",
                        "changedFrom", "sessions: filters",
                        "('1 shown', 'body')"),
    # What is said while it is said.
    "doubles-words": ("talk.js", r"last\.pieces\.push\((.*?)\);",
                      r"last.pieces.push(\1, \1);",
                      "live: what is said", "lost or doubled"),
    "loses-words": ("talk.js", r"take\(n, event, data\) \{",
                    "take(n, event, data) { if (n % 5 === 4) return false;",
                    "live: who comes", "lost or doubled"),
    "keeps-discarded": ("talk.js", r"this\.discard\(data\.counts\);", "",
                        "live: a server that dies", "struck out"),
    "strikes-nothing-out": ("app.css", END, ".void { text-decoration: none; }",
                            "live: a server that dies", "none"),
    "begins-anew": ("live.js", r"if \(event\.id\) last = event\.id;", "",
                    "live: a server that dies", "lost or doubled"),
    "lists-not-again": ("page_sessions.js", r"event\.event === 'list'", "false",
                        "live: lists come back", "('8 shown', 'body')"),
    # What somebody would hide, and what would like to run.
    "marks-nothing": ("tab_raw.js", r"\(f\) => f\.unknown\)", "() => false)",
                      "raw: unknown", "3 unknown parts"),
    "miscounts": ("tab_raw.js", r"many\(marks\.size,", "many(marks.size + 1,",
                  "raw: unknown", "3 unknown parts"),
    "makes-html-of-texts": (
        "dom.js", r"export function said\(value\) \{", "export function said("
        "value) { const t = document.createElement('template'); "
        "t.innerHTML = String(value); return [t.content];",
        "hostile texts: are text as what", "('script', ["),
    "makes-html-of-names": (
        "dom.js", r"return h\('bdi', null, said\(text\)\);",
        "const e = h('bdi'); e.innerHTML = text; return e;",
        "hostile texts: are text as ids", '<base href="http'),
    "loads-pictures": ("talk.js", r"const PICTURES = .*;",
                       "const PICTURES = /./;",
                       "hostile texts: are text while", "main img"),
    "hides-marks": ("dom.js", r"const ODD = .*;", "const ODD = /\\\\uffff/g;",
                    "hostile texts: are text as what", "bidi"),
    "links-to-scripts": (
        "talk.js", r"const text = \(value\) => ", "const text = (value) => "
        "/javascript:/.test(value) ? h('a', { class: 'said', dir: 'auto', "
        "href: 'javascript:1' }, said(value)) : ",
        "hostile texts: are text as what", "javascript:1"),
    # Without a mouse, and without good eyes.
    "knows-no-question-mark": ("app.js", r"event\.key === '\?'",
                               "event.key === '!'", "keys: are told",
                               "next, previous row"),
    "goes-backwards": ("app.js", r"event\.key === 'j' \? 1 : -1",
                       "event.key === 'k' ? 1 : -1", "keys: are told",
                       "first != second"),
    "leaves-buttons-out": (
        "app.js", END, "setInterval(() => document.querySelectorAll('nav a')."
        "forEach((e) => { e.tabIndex = -1; }), 10);", "keys: Tab",
        "overview"),
    "hides-the-focus": ("app.css", END, ":focus-visible { outline: none; }",
                        "keys: Tab", "overview"),
    "needs-a-mouse": ("talk.js", r"h\('button', \{ type: 'button', onclick: "
                      r"act\(true\)", "h('span', { onclick: act(true)",
                      "keys: send", "Tab does not come to Approve"),
    "is-pale": ("app.css", END, ".dim { color: #bbb; }", "axe: finds nothing "
                "serious on any page in light", "color-contrast"),
    "is-dim": ("app.css", END, ":root[data-theme] .dim { color: #555; }",
               "axe: finds nothing serious on any page in dark",
               "color-contrast"),
    "names-nothing": ("app.js", r"title: 'Keys \(\?\)', 'aria-label': 'Keys', ",
                      "", "axe: finds nothing serious on any page in light",
                      "button-name"),
    "forgets-the-theme": ("app.js", r"setting\('theme', name\);", "",
                          "theme:", "b.js(colour) == light"),
    # Where things are.
    "is-wide": ("app.css", END, ".head { min-width: 480px; }",
                "layout: nothing is cut, covered or too small at 360",
                "wider than the screen"),
    "lies-on-itself": ("app.css", END, ".facts { margin-bottom: -2.5rem; }",
                       "layout: nothing is cut, covered or too small at 768",
                       "conversation"),
    "cuts-texts": ("app.css", END, "h1 { width: 3rem; height: 1.5rem; overflow:"
                   " hidden; }", "layout: nothing is cut, covered or too small "
                   "at 768", "cut below"),
    "is-too-small": ("app.css", END, ".tools button.quiet { min-height: 0; "
                     "height: 12px; padding: 0; }", "layout: nothing is cut, "
                     "covered or too small at 1920", "too small"),
    # What people do.
    "overwrites": ("tab_bag.js", r"\{ 'If-Match': tag \}", "{}",
                   "bag:", "Somebody changed it"),
    "approves-always": ("shapes.js", r"approved\":\$\{approved\}",
                        'approved":true',
                        "approvals:", 'split("hotel")'),
    "sends-twice": ("tab_talk.js", r"(await start\(.*), mine\.key\);",
                    r"\1, mine.key); \1, mine.key + 'x');",
                    "send:", ".turn').length === 3"),
    "cancels-nothing": ("page_runs.js", r"'cancel'", "'resume'",
                        "runs:", "!!release"),
    "does-not-ask": ("dom.js", r"export function confirm\(title, text, action\)"
                     r" \{", "export function confirm(title, text, action) { "
                     "return Promise.resolve(true);", "delete:",
                     "gone then"),
    "respells": ("api.js", r"await reply\.blob\(\)",
                 "new Blob([JSON.stringify(await reply.json())])",
                 "download:", "got == text"),
    "shows-too-much": ("tab_entries.js", r"\(after \? after \+ 1",
                       "(after ? after",
                       "entries:", "'Nothing came since entry 6'"),
    "doubles-messages": ("page_chat.js", r"update\(cells, \.\.\.now\.values\(\)",
                         "update(cells, ...now.values(), [...now.values()]"
                         ".map((el) => el.cloneNode(true))",
                         "chats: lanes", "length === 12"),
    # What goes wrong.
    "trips-over-addresses": ("app.js", r"catch \{ return p; \}",
                             "catch (why) { throw why; }",
                             "trouble: an address", "not blank"),
    "spells-ids-badly": ("api.js", r"return encodeURIComponent\(part.*;",
                         "return part;", "trouble: an id",
                         "h.textContent === arguments[0]"),
    "misses-the-end": ("page_session.js", r"function gone\(\) \{",
                       "function gone() { return;",
                       "trouble: a session that is deleted",
                       "This session was deleted."),
    "asks-for-no-key": ("api.js", r" onLogin\(\);", ";",
                        "trouble: a key that ends", "'#key'"),
    "says-nothing": ("app.js", r"export function trouble\(why, again\) \{",
                     "export function trouble() { return h('p');",
                     "trouble: a reply that", "not blank"),
    "says-it-is-live": ("live.js", r"'stale' : isOpen", "'live' : isOpen",
                        "trouble: a server that hangs", "stale"),
    "forgets-a-label": ("app.js", r"h\('label', \{ for: 'key' \}, 'Key'\)",
                        "''",
                        "axe: finds nothing serious in what", "['label'"),
    "grows-with-letters": ("app.css", END, ".head { min-width: 30rem; }",
                           "layout: holds", "AssertionError: overview"),
    "leads-astray": ("page_agents.js", r"link\('session', \[id\]\)",
                     "link('sessions')", "agents: one", "'Hallstatt'"),
    "finds-damage": ("page_store.js", r"told\.ok \?", "!told.ok ?",
                     "store:", "'all of it is as it was written'"),
    "stops-at-damage": ("tab_entries.js", r"if \(why\.status !== 500\) ", "",
                        "damage:", "That did not work"),
    "turns-titles-around": ("app.js", r"\.map\(plain\), def", ", def",
                            "hostile texts: are text in the address",
                            "assert not re.search("),
    "makes-html-of-authors": (
        "page_chat.js", r"h\('div', \{ class: 'who' \}, name\(m\.author",
        "Object.assign(h('div'), { innerHTML: m.author }), h('div', { class: "
        "'who' }, name(m.author", "hostile texts: are text in a chat",
        "<img src="),
    "says-not-where": ("app.js", r"setAttribute\('aria-current', 'page'\)",
                       "setAttribute('aria-current', 'true')",
                       "pages: one leads", "properties of null"),
    "hides-that-it-is-empty": ("page_overview.js", r"o\.sessions\.total === 0",
                               "false", "pages: an empty",
                               "'Nothing is stored yet'"),
    "hides-a-wrong-key": ("app.js", r"'This key is not known here, or it has "
                          r"expired\.'", "''", "login:",
                          "'This key is not known here'"),
    "takes-dots-for-folders": ("api.js", r"part !== '\.' && ", "",
                               "trouble: dots", "'It is not there', 'body'"),
    "knows-no-silence": ("api.js", r"throw offline\(\);", "throw why;",
                         "trouble: without the server",
                         "'The server does not answer.'"),
    "stays-blank": ("index.html", r"<main class=\"boot\">.*</main>", "",
                    "trouble: a page of which", "'a part of the page was lost'"),
    "swallows-what-is-refused": ("dom.js", r"export const fail = .*;",
                                 "export const fail = () => {};",
                                 "trouble: what is refused",
                                 "'A run is at work on it.'"),
    "swallows-runs": ("page_runs.js", r"failed\.set\(s\.id, why\);", "",
                      "trouble: runs", "'its steps could not be read'"),
    "says-it-again": ("page_chat.js", r"if \(unsure && hasCome", "if (false && "
                      "hasCome", "trouble: what was said in a chat",
                      "textarea').value === ''"),
    "mixes-up-its-list": ("long.js", r"fresh: \(\) => turn\(fresh\)", "fresh",
                          "long lists: what is read late", 'b.js("odd")'),
    "skips-entries": ("long.js", r"win\.items\[0\]\.seq - 1", "win.items[0]."
                      "seq - 3", "long lists: every entry", 'b.js("odd")'),
    "shows-the-wrong-page": ("tab_entries.js", r"if \(mine !== loads\) return;",
                             "", "long lists: of two pages", "230, 229"),
    "keeps-what-is-gone": ("tab_talk.js", r"if \(isCut\)", "if (false)",
                           "long lists: what was removed",
                           "'.turn').length === 4"),
    "drops-an-answer": ("tab_talk.js", r"for \(const r of over\)",
                        "redraw(); for (const r of ended())",
                        "live: an answer that is over", "lost or doubled"),
    "counts-all-as-news": ("page_sessions.js", r"const isPart = .*;",
                           "const isPart = false;", "live: only what",
                           "'1 changed. Show'"),
    "opens-thoughts": ("talk.js", r"h\('details', \{ class: kind \}",
                       "h('details', { class: kind, open: true }",
                       "conversation:", "details.thought"),
    "parks-nobody": ("page_chat.js", r"channel\?\.parked \?", "false ?",
                     "chats: who", "'parked'"),
    "offers-too-much": ("app.js", r"export const may = .*;",
                        "export const may = () => true;",
                        "trouble: who may only", "'Delete'"),
}


def check_of(beginning):
    name, = [n for n in suite.checks if n.startswith(beginning)]
    return suite.checks[name]


def run(beginning, web):
    """What a check says of this page; nothing if it passes."""
    home = os.getcwd()
    stage.UI_DIR = web
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            check_of(beginning)()
        except AssertionError:
            return traceback.format_exc()
        finally:
            os.chdir(home)
    return None


def spoil(web, file, what, instead):
    path = web / file
    text = path.read_text(encoding="utf-8")
    changed, count = re.subn(what, lambda m: m.expand(instead) if "\\1" in
                             instead else instead.replace("\\\\", "\\"), text,
                             count=1)
    assert count == 1, f"{file} has no {what}: what does the page do now?"
    path.write_text(changed, encoding="utf-8")


# What comes, comes soon; what does not is not waited for. An answer that is
# said slowly takes its time, and so does a server that has to start. On a busy
# machine all of it does: then a second try waits for longer.
SOON = 1
SLOW = {"live: what is said": 6, "live: who comes": 6,
        "live: a server that dies": 6, "live: an answer that is over": 6}


def tries(beginning, web):
    """What is said of the page, with patience and then with more of it."""
    for factor in (1, 4):
        webdriver.PATIENCE = SLOW.get(beginning, SOON) * factor
        yield run(beginning, web)


# What needs no time of its own is caught by words that slowness does not say.
TIMED = ("live:", "pages: each", "keys: send", "trouble: a server")


@tests.test("ui harness: does not see what a page gets wrong")
def _():
    webdriver.start()  # or it says why there is none
    caught = []
    wanted = {name: mistake for name, mistake in MISTAKES.items()
              if len(sys.argv) < 3 or sys.argv[2] in name}
    for name, (file, what, instead, beginning, says) in wanted.items():
        assert says, name
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            web = stage.copy_web(folder + "/web")
            spoil(web, file, what, instead)
            for said in tries(beginning, web):
                if said and says in said:
                    break
        if said and says in said:
            caught.append(name)
            print(f"caught {name}, {time.monotonic() - began:.1f} s: "
                  + next((line for line in said.splitlines()
                          if line.startswith("AssertionError")), "")[:120])
        else:
            print(f"not caught: {name}\n{said}")
    # A page without a mistake is as fast, also where an answer takes its time.
    with tempfile.TemporaryDirectory() as folder:
        web = stage.copy_web(folder + "/web")
        for beginning in sorted({m[3] for m in wanted.values()
                                 if m[3].startswith(TIMED)}):
            for said in tries(beginning, web):
                if said is None:
                    break
            assert said is None, f"a page without a mistake: {said}"
    print(f"caught {len(caught)} of {len(wanted)}")
    assert not caught


try:
    tests.finish()
finally:
    webdriver.end()
