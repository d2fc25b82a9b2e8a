"""How fast is the dashboard with much to show? In Chromium, from a store in use.

Usage: ui_page.py PERDURE [--quick] [--data FOLDER] [CASE]

open/flat    until the end of a conversation of 10,000 entries is shown, against
             one of 100
list/...     a store of 100,000 sessions: until its list is shown; ten pages of
             it, each scrolled through: the longest task, memory at the end
talk/...     a conversation of 10,000 entries, scrolled through to its beginning:
             all of it, the longest task, memory at the end, turns in the page

A task is what the page does at one go: while it lasts, nothing moves. Those of
less than 50 ms are not told by the browser and count as 0. Memory is that of
JavaScript after what is not used was thrown away.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests/ui"), str(TOP / "tests/integration")]
import stage  # noqa: E402
import webdriver  # noqa: E402

# From a page that is there until the words are, laid out.
OPEN = """
  const [hash, words] = arguments;
  document.documentElement.style.scrollBehavior = 'auto';
  const began = performance.now();
  const look = new MutationObserver(() => {
    const last = [...document.querySelectorAll('.turn, .sessions tbody tr')]
      .at(-1);
    if (!last || !last.textContent.includes(words)) return;
    last.getBoundingClientRect();
    look.disconnect();
    done(performance.now() - began);
  });
  look.observe(document.body, {subtree: true, childList: true});
  location.hash = hash;"""
TASKS = """
  window.longest = 0;
  new PerformanceObserver((list) => { for (const e of list.getEntries())
    window.longest = Math.max(window.longest, e.duration); })
    .observe({type: 'longtask'});
  return true;"""
# A screen at a time, as fast as frames come, until there is no more above.
UP = """
  const box = document.querySelector('.talk'), began = performance.now();
  let screens = 0, idle = 0;
  (function step() {
    const top = box.querySelector('.edge').textContent;
    if (box.scrollTop === 0) {
      if (top.includes('The beginning')) {
        done([performance.now() - began, screens]); return; }
      if (++idle > 3000) { done(null); return; }
    } else { idle = 0; screens++; box.scrollBy(0, -box.clientHeight); }
    requestAnimationFrame(step);
  })();"""
DOWN = """
  (function step() {
    const was = scrollY;
    scrollBy(0, innerHeight / 2);
    if (scrollY === was) { done(true); return; }
    requestAnimationFrame(step);
  })();"""


def heap(b):
    b.cdp("HeapProfiler.collectGarbage")
    metrics = b.cdp("Performance.getMetrics")["metrics"]
    return {m["name"]: m["value"] for m in metrics}["JSHeapUsedSize"] / 1e6


def line(case, value, unit, **more):
    print(json.dumps({
        "bench": "ui", "case": case, "value": value, "unit": unit,
        "baseline": None, "baseline_value": None, "ratio": None,
        "wanted": None, **more}), flush=True)


def conversation(server, session, entries):
    """Of so many entries; gives what its last turn says."""
    said = "It leaves at noon from platform seven, and has a quiet car. " * 6
    turns = [stage.turn(f"c{i}", f"Question {i}: when does it leave?",
                        f"{said} Answer {i}.", i)
             for i in range(entries // 2)]
    server.put(session, stage.document(turns))
    return f"Answer {entries // 2 - 1}."


def many_sessions(server, count):
    for start in range(0, count, 10000):
        lines = (json.dumps({
            "id": f"@dafx-concierge@trip-{i:06}", "document": stage.document(
                [stage.turn("c", "Where to?", "To Vienna.")])})
            for i in range(start, min(start + 10000, count)))
        server.request("POST", "/import", "\n".join(lines))


def open_flat(b, server, count, times):
    few, much = "@dafx-concierge@few", "@dafx-concierge@much"
    sides = [(few, conversation(server, few, 100)),
             (much, conversation(server, much, count))]
    took = {few: [], much: []}
    b.go(server.ui)
    for i in range(times + 2):
        for session, words in sides[::1 if i % 2 else -1]:
            b.hash("#/agents")
            b.see("Plans journeys")
            ms = b.later(OPEN, f"#/session/{stage.quoted(session)}", words)
            if i >= 2 or times == 1:  # the first ones warm up
                took[session].append(ms)
    few_ms, much_ms = (statistics.median(took[s]) for s in (few, much))
    ratios = [a / c for a, c in zip(took[few], took[much])]
    line("open/flat", much_ms, "ms", baseline="100 entries",
         baseline_value=few_ms, ratio=few_ms / much_ms,
         wanted=0.8 if times > 1 else None,
         settings={"entries": count, "times": len(ratios),
                   "ratio_min": min(ratios), "ratio_max": max(ratios)})
    return much


def talk(b, server, session, count):
    b.go(f"{server.ui}#/session/{stage.quoted(session)}")
    b.see("Answer")
    b.js(TASKS)
    got = b.later(UP)
    assert got, "the beginning of the conversation never came"
    ms, screens = got
    b.see("Question 0:")
    turns = b.js("document.querySelectorAll('.turn').length")
    more = {"settings": {"entries": count, "screens": screens}}
    line("talk/scroll", ms / 1000, "s", **more)
    line("talk/task", b.js("window.longest"), "ms", **more)
    line("talk/heap", heap(b), "MB", **more)
    line("talk/turns", turns, "in the page", **more)


def sessions(b, server, count, times):
    many_sessions(server, count)
    total = json.loads(server.request("GET", "/overview")[2])["sessions"]
    assert total["total"] >= count, total
    more = {"settings": {"sessions": total["total"]}}
    b.go(f"{server.ui}#/agents")
    b.see("Plans journeys")
    b.js(TASKS)
    took = []
    for _ in range(times):
        took.append(b.later(OPEN, "#/sessions", "trip-"))
        b.hash("#/agents")
        b.see("Plans journeys")
    line("list/show", statistics.median(took), "ms", **more)
    took = []
    for _ in range(times):
        took.append(b.later(OPEN.replace(".turn, .sessions tbody tr",
                                         ".figures .big"),
                            "#/", "B"))
        b.hash("#/agents")
        b.see("Plans journeys")
    line("list/overview", statistics.median(took), "ms", **more)
    b.hash("#/sessions")
    b.see("100 shown")
    for _ in range(10):
        b.later(DOWN)
        first = b.js("document.querySelector('tbody tr').dataset.id")
        b.click(".pager .button:last-child", "Next page")
        b.wait("document.querySelector('tbody tr')?.dataset.id !== arguments[0]"
               " && !!document.querySelector('.pager .button')", first)
    line("list/task", b.js("window.longest"), "ms", **more)
    line("list/heap", heap(b), "MB", **more)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("perdure")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data")
    parser.add_argument("case", nargs="?", default="")
    args = parser.parse_args()
    stage.PERDURE = os.path.abspath(args.perdure)
    webdriver.PATIENCE = 120
    few = args.quick
    try:
        b = webdriver.start()
    except webdriver.record.Skip as why:
        print(f"bench-ui-page: {why}", file=sys.stderr)
        line("none", None, "", settings={"why": str(why)})
        return
    b.do("/timeouts", {"script": 900_000})
    b.link.sock.settimeout(1000)
    b.cdp("Performance.enable")
    b.size(1280)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with stage.Server() as server:
            if args.case[:4] in ("", "open", "talk"):
                count = 1000 if few else 10000
                session = open_flat(b, server, count, 1 if few else 21)
                talk(b, server, session, count)
            if args.case[:4] in ("", "list"):
                sessions(b, server, 1000 if few else 100000, 1 if few else 11)
            b.do("/url", {"url": "about:blank"})
        os.chdir(TOP)


try:
    main()
finally:
    webdriver.end()
