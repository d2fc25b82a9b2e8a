"""Texts that would like to be more than text: as messages, names, ids, values.

Each is text to the last character, nothing of it runs, and nothing is loaded.
"""
import re
import json

import stage
import suite
from stage import quoted
from suite import check

# Would it run, it would call this.
BITE = "window.bitten=(window.bitten||0)+1"
FOREIGN = "http://127.0.0.2:9/x"

TEXTS = {
    "script": f"<script>{BITE}</script>",
    "picture": f'<img src=x onerror="{BITE}">',
    "remote": f'<img src="{FOREIGN}.png"> ![pic]({FOREIGN}.gif)',
    "vector": f'<svg onload="{BITE}"><a xlink:href="javascript:{BITE}">x</a>',
    "frame": f'<iframe srcdoc="<script>parent.{BITE}</script>"></iframe>',
    "link": f'[here](javascript:{BITE}) <a href="javascript:{BITE}">go</a>',
    "data": "<object data='data:text/html;base64,PHNjcmlwdD4='></object>",
    "style": f"<style>body{{display:none;background:url({FOREIGN})}}</style>",
    "end": "</div></article></main></body></textarea></script><h1>Gone</h1>",
    "attribute": f'"\' autofocus onfocus={BITE} x="',
    "entities": f"&lt;script&gt;{BITE}&lt;/script&gt; &#60;b&#62; &amp;",
    "template": "{{constructor.constructor('" + BITE + "')()}} ${" + BITE
                + "} #{1} <%= 1 %> {% x %}",
    "base": f'<base href="{FOREIGN}/"><meta http-equiv=refresh content="0">'
            f'<link rel=stylesheet href="{FOREIGN}.css">',
    "comment": "<!-- <b> --> <![CDATA[ x ]]> <?php x ?>",
    "prototype": "__proto__", "constructor": "constructor",
    "wide": "W" * 3000,
    "tall": "\n" * 40 + "end of it",
    "zalgo": "Z" + "\u0335\u0321\u034a\u0318" * 30,
    "emoji": "👩‍👩‍👧‍👦 🏳️‍🌈 é é",
    "right": "שלום (1) العربية",
}
# These are shown by their numbers, since they would hide what stands there.
ODD = {
    "bidi": "\u202egnp.exe\u202c and \u2067x\u2069",
    "ansi": "\x1b[31mred\x1b[0m\x1b]8;;http://x\x07link\x1b]8;;\x07",
    "invisible": "pass\u200bword\ufeff\u2060 a\u200db \u200d",
    "control": "a\x01b\x7fc\u0085d",
}
ALL = {**TEXTS, **ODD}
NAME = "<script>bite()</script>"  # of an agent, without a `=`


def shown(text):
    """What stands in the page for it."""
    out = ""
    for i, c in enumerate(text):
        code = ord(c)
        if code in (0x200c, 0x200d):  # it stays between what it joins
            joins = text[max(i - 1, 0):i] + text[i + 1:i + 2]
            odd = len(joins) < 2 or joins[0] < "\x80" or joins[1] < "\x80"
            out += f"U+{code:04X}" if odd else c
            continue
        odd = (code < 9 or code in (11, 12) or 14 <= code < 32
               or 0x7f <= code < 0xa0 or code == 0x61c
               or 0x200b <= code <= 0x200f or 0x2028 <= code <= 0x202e
               or 0x2060 <= code <= 0x206f or code == 0xfeff)
        out += f"U+{code:04X}" if odd else c
    return out


def inert(b):
    """Nothing ran, and there is nothing that could."""
    assert b.js("window.bitten === undefined")
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", b.js(
        "document.title + [...document.querySelectorAll('[title]')].map("
        "e => e.title)"))
    found = b.js("""
      return [...document.querySelectorAll('body *')].filter((e) =>
        /^(SCRIPT|IFRAME|OBJECT|EMBED|STYLE|LINK|BASE|META)$/i.test(e.tagName)
        || [...e.attributes].some((a) => /^on/i.test(a.name)
          || /^(href|src|action|xlink:href|srcdoc|data)$/i.test(a.name)
            && !/^(#|blob:|data:image.(png|jpeg|gif|webp);|https?:..127.0.0.1)/
              .test(a.value))
        || e.tagName === 'IMG' && !e.src.startsWith('data:image/')
      ).map((e) => e.outerHTML.slice(0, 200))""")
    assert not found, found
    assert b.js("document.querySelectorAll('main').length") == 1
    assert b.js("getComputedStyle(document.body).display") != "none"
    assert b.js("document.documentElement.scrollWidth - innerWidth") <= 0, (
        "wider than the screen")


def message(text, role="assistant", **more):
    return {"role": role, "contents": [{"$type": "text", "text": text}],
            **more}


def entry(kind, n, messages, **more):
    return {"$type": kind, "correlationId": f"c{n}",
            "createdAt": "2026-11-18T09:00:00+00:00", "messages": messages,
            **more}


@check("hostile texts: are text as what somebody said", covers=["P-56"])
def _(b):
    with stage.Server() as s:
        s.put("@dafx-concierge@h", {"schemaVersion": "1.1.0", "data": {
            "conversationHistory": [entry("response", n, [
                message(text), message(text, "user", authorName=text)])
                for n, text in enumerate(ALL.values())]}})
        b.go(f"{s.ui}#/session/{quoted('@dafx-concierge@h')}")
        suite.is_shown(b, "@dafx-concierge@h")
        suite.is_live(b)
        got = b.js("return [...document.querySelectorAll('.turn')].map((t) => "
                   "[...t.querySelectorAll('.said, .who bdi')].map("
                   "(e) => e.textContent))")
        assert len(got) == len(ALL), len(got)
        for (name, text), lines in zip(ALL.items(), got):
            assert lines.count(shown(text)) == 3, (name, lines)
        inert(b)
        # A text that runs from the right stays in its place.
        assert b.js("return [...document.querySelectorAll('.said')].every((e)"
                    " => getComputedStyle(e).unicodeBidi === 'plaintext' || "
                    "e.dir === 'auto')")


@check("hostile texts: are text while they are said, in calls and results",
       covers=["P-56"])
def _(b):
    text = "".join(TEXTS[n] for n in ("script", "picture", "end", "frame",
                                      "link")) + ODD["bidi"]
    with stage.Server() as s:
        b.go(f"{s.ui}#/session/{quoted('@dafx-concierge@h')}")
        b.see("It is not there")
        suite.complained(b, refused=[404])
        s.good("POST", "/sessions", {"id": "@dafx-concierge@h"})
        b.go(f"{s.ui}#/session/{quoted('@dafx-concierge@h')}")
        suite.is_live(b)
        s.say("@dafx-concierge@h", text)
        b.wait("[...document.querySelectorAll('.is-assistant .said')].some("
               "e => e.textContent === arguments[0])",
               shown("You said: " + text))
        inert(b)
        calls = [{"$type": "functionCall", "callId": f"k{i}", "name": t,
                  "arguments": {t: t, "list": [t]}}
                 for i, t in enumerate(ALL.values())]
        results = [{"$type": "functionResult", "callId": f"k{i}",
                    "result": t if i % 2 else {t: [t]}}
                   for i, t in enumerate(ALL.values())]
        others = [{"$type": t, t: t} for t in ALL.values()] + [
            {"$type": "error", "message": t, "errorCode": t}
            for t in ALL.values()] + [
            {"$type": "data", "uri": f"data:{t},x", "name": t,
             "mediaType": t} for t in ALL.values()] + [
            {"$type": "uri", "uri": FOREIGN + ".png",
             "mediaType": "image/png"},
            {"$type": "data", "uri": "data:image/svg+xml;base64,PHN2Zy8+",
             "mediaType": "image/svg+xml"},
            {"$type": "hostedFile", "fileId": TEXTS["script"]},
            {"$type": "reasoning", "text": TEXTS["script"]}]
        s.put("@dafx-concierge@tools", {"schemaVersion": "1.1.0", "data": {
            "conversationHistory": [entry("response", 1, [
                {"role": "assistant", "contents": calls},
                {"role": "tool", "contents": results},
                {"role": "assistant", "contents": others}])]}})
        b.go(f"{s.ui}#/session/{quoted('@dafx-concierge@tools')}")
        suite.is_live(b)
        b.js("for (const d of document.querySelectorAll('details')) "
             "d.open = true; return 1")
        assert b.js("document.querySelectorAll('.card').length") == len(ALL)
        names = b.js("return [...document.querySelectorAll('.card > summary "
                     "b')].map(e => e.textContent)")
        assert names == [shown(t) for t in ALL.values()], names
        b.see(FOREIGN + ".png", ".media")
        assert not b.js("document.querySelectorAll('main img').length")
        inert(b)


@check("hostile texts: are text as ids, properties, agents, keys of a bag",
       covers=["P-56"])
def _(b):
    ids = [t for t in ALL.values() if len(t) < 400 and "\n" not in t
           and all(ord(c) >= 32 and not 0x7f <= ord(c) < 0xa0 for c in t)]
    ids = ["h/" + t for t in ids] + ["../..", "a/../b", "%2e%2e", "100%", "?#&"]
    stage.write_agents()
    with stage.Server("--agent", f"{NAME}=Scout.yaml") as s:
        made = []
        for n, name in enumerate(ids):
            status, _, _ = s.request("PUT", f"/sessions/{quoted(name)}/state", {
                "agent": name[:60], "stateBag": {name: {name: [name]}},
                name: name})
            if status == 201:
                made.append(name)
                s.good("PATCH", f"/sessions/{quoted(name)}", {
                    "properties": {"team": name, name[:60]: n}})
        assert len(made) > 12, made
        for at in ("", "sessions", "runs", "chats"):
            b.go(f"{s.ui}#/{at}")
            b.wait("!document.querySelector('.loading')")
            suite.is_live(b)
            inert(b)
        b.hash("#/sessions")
        b.wait("document.querySelectorAll('tbody tr').length === arguments[0]",
               len(made))
        rows = b.js("return [...document.querySelectorAll('.cell-id a')].map("
                    "a => [a.textContent, a.getAttribute('href')])")
        assert {r[0] for r in rows} == {shown(n) for n in made}, rows
        for n, (text, href) in enumerate(rows):
            for tab in ("?tab=bag", *(("", "?tab=raw") if n < 4 else ())):
                b.hash(href + tab)
                suite.is_shown(b, text)
                if tab == "?tab=bag":
                    b.see(text, ".slot summary")
                    b.js("for (const d of document.querySelectorAll("
                         "'.slot')) d.open = true; return 1")
                    b.wait("document.querySelector('.slot .tree')")
                elif tab:
                    b.wait("document.querySelector('.tab-raw .tree')")
                inert(b)
        b.hash("#/agents")
        b.see(NAME, ".agent h2")
        inert(b)
        b.go(f"{s.ui}#/sessions?property={quoted('team=' + ids[0])}")
        b.see("1 shown")
        inert(b)


@check("hostile texts: are text in the address")
def _(b):
    with stage.Server() as s:
        for name in ("script", "picture", "attribute", "template", "bidi",
                     "base"):
            text = quoted(ALL[name])
            for at in (text, f"sessions?idPrefix={text}&agent={text}",
                       f"sessions?property=a%3D{text}",
                       f"agents/{text}"):
                b.hash("#/x") if "/ui/" in b.js("location.href") else b.go(s.ui)
                b.hash(f"#/{at}")
                b.wait("document.querySelector('main .empty, main .panel')")
                inert(b)


@check("hostile texts: are text in a chat")
def _(b):
    with stage.Server() as s:
        s.good("POST", "/chats", {"id": "h", "agents": ["Scout", "Critic"]})
        texts = [t for t in ALL.values() if len(t) < 400]
        for text in texts:
            s.good("POST", "/chats/h/messages", {
                "text": text, "author": text[:60].replace("\n", " ")})
        b.go(f"{s.ui}#/chat/h")
        suite.is_shown(b, "h")
        suite.is_live(b)
        got = b.js("return [...document.querySelectorAll('.cell .said')].map("
                   "e => e.textContent)")
        assert got == [shown(t) for t in texts], got
        inert(b)
