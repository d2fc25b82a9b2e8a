"""People who see little or nothing, have small screens or large ones.

axe-core looks at each page; sizes are looked at by where things are, not by
their pixels.
"""
import stage
import suite
import webdriver
from pages import PAGES, open_page
from stage import TOP, seeded
from suite import check

_axe = None


def axe_source():
    global _axe
    if _axe is None:
        found = list(TOP.glob("build/ui/venv/lib/python*/site-packages/"
                              "axe_playwright_python/axe.min.js"))
        if not found:
            webdriver.not_here("there is no axe-core, see tools/setup-ui")
        _axe = found[0].read_text(encoding="utf-8")
    return _axe


def findings(b):
    """What axe calls serious or critical, with the elements."""
    if not b.js("!!window.axe"):
        b.js(axe_source() + ";return true")
    return b.later("""
      axe.run(document, {resultTypes: ['violations'], runOnly: ['wcag2a',
        'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}).then(
        (r) => done(r.violations.filter((v) => v.impact === 'serious' ||
          v.impact === 'critical').map((v) => [v.id, v.help, v.nodes.slice(0,
            4).map((n) => n.html.slice(0, 160) + ' ' + n.failureSummary.slice(
              0, 300))])), (e) => done([String(e)]))""")


def everything_open(b):
    """Parts that are folded are there, too; they may load something."""
    b.js("for (const d of document.querySelectorAll('main details')) d.open ="
         " true; return 1")


def look(b, s, theme):
    b.theme(theme)
    b.go(s.ui)
    for name in PAGES:
        open_page(b, s, name, load=False)
        everything_open(b)
        found = findings(b)
        assert not found, f"axe, {theme}, {name}: {found}"


@check("axe: finds nothing serious on any page in light", covers=["P-57"])
def _(b):
    with seeded(busy=True) as s:
        look(b, s, "light")
        assert b.js("getComputedStyle(document.body).backgroundColor") == (
            "rgb(246, 246, 243)")


@check("axe: finds nothing serious on any page in dark, and narrow",
       covers=["P-57"])
def _(b):
    with seeded(busy=True) as s:
        b.size(360, 740)
        look(b, s, "dark")
        b.press("?")
        b.see("next, previous row", "dialog")
        found = findings(b)
        assert not found, found


@check("axe: finds nothing serious in what says that something is wrong",
       refused=[401, 404])
def _(b):
    import keys
    key = keys.make("read")
    with stage.Server("--keys", keys.FILE) as s:
        for theme in ("light", "dark"):
            b.theme(theme)
            b.go(s.ui)
            b.see("This server asks for a key.")
            b.type("#key", "no")
            b.press("Enter")
            b.see("This key is not known here")
            found = findings(b)
            assert not found, found
            b.type("#key", key)
            b.press("Enter")
            suite.is_shown(b, "Overview")
            for at in ("session/none", "nowhere"):
                b.hash("#/" + at)
                b.wait("document.querySelector('main .empty')")
                found = findings(b)
                assert not found, (at, found)
            b.click("[aria-label='Log out']")


@check("theme: is chosen, kept, and that of the system at first")
def _(b):
    colour = "getComputedStyle(document.body).backgroundColor"
    with stage.Server() as s:
        b.theme("light")
        b.go(s.ui)
        light = b.js(colour)
        b.theme("dark")
        dark = b.js(colour)
        assert light != dark
        b.click("[aria-label='Theme: system']")
        assert b.js(colour) == light
        b.go(s.ui)
        assert b.js(colour) == light
        b.click("[aria-label='Theme: light']")
        b.theme("light")
        assert b.js(colour) == dark
        b.click("[aria-label='Theme: dark']")
        assert b.js(colour) == light


# Where things are: what is wrong, in words.
LAYOUT = r"""
  const wrong = [];
  const say = (e, what) => wrong.push(what + ': ' + e.outerHTML.slice(0, 140));
  const width = document.documentElement.clientWidth;
  const seen = (e) => e.checkVisibility({visibilityProperty: true,
    contentVisibilityAuto: true}) && e.getClientRects().length > 0;
  const inner = (e) => { for (let p = e.parentElement; p; p = p.parentElement) {
    const o = getComputedStyle(p).overflowX;
    if (o === 'auto' || o === 'scroll') return p; } return null; };
  if (document.documentElement.scrollWidth > innerWidth)
    wrong.push('the page is wider than the screen by ' +
      (document.documentElement.scrollWidth - innerWidth));
  const all = [...document.querySelectorAll('body *')].filter(seen);
  for (const e of all) {
    if (e.closest('.away, .skip, svg, option')) continue;
    const r = e.getBoundingClientRect();
    if (!inner(e) && r.width > 0 && (r.left < -1 || r.right > width + 1))
      say(e, `cut by the screen at ${Math.round(r.left)}..${Math.round(
        r.right)} of ${width}`);
    const s = getComputedStyle(e);
    // Text that is cut says so with dots.
    if ((s.overflowX === 'hidden' || s.overflowX === 'clip') &&
        e.scrollWidth > e.clientWidth + 1 && s.textOverflow !== 'ellipsis')
      say(e, 'cut without dots');
    if ((s.overflowY === 'hidden' || s.overflowY === 'clip') &&
        e.scrollHeight > e.clientHeight + 4 && e.clientHeight > 0)
      say(e, 'cut below');
    // Words that stand out of their box.
    if (s.overflowX === 'visible' && s.display !== 'inline' && !inner(e) &&
        e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 &&
        !e.closest('table'))
      say(e, `holds more than it has room for, ${e.scrollWidth} in ${
        e.clientWidth}`);
  }
  const targets = all.filter((e) => e.matches('a[href], button, input, select,'
    + ' textarea, summary') && !e.matches('.skip, [type=file]'));
  const box = (e) => { let r = e.getBoundingClientRect();
    const label = e.matches('[type=checkbox]') ? e.closest('label') : null;
    return label ? label.getBoundingClientRect() : r; };
  for (const e of targets) {
    const r = box(e);
    // Of what stands in a line of text, WCAG asks for nothing.
    const isText = e.matches('a') && getComputedStyle(e).display === 'inline'
      && e.closest('p, .facts, .hint, h2');
    if (!isText && (r.width < 24 || r.height < 24)) {
      // Or there is room around it: 24 px, with nothing else in it.
      const x = (r.left + r.right) / 2, y = (r.top + r.bottom) / 2;
      const near = targets.some((o) => { if (o === e || o.contains(e)) return false;
        const q = box(o); return q.left < x + 12 && q.right > x - 12 &&
          q.top < y + 12 && q.bottom > y - 12; });
      if (near || r.height < 15) say(e, `too small, ${Math.round(r.width)} x ${
        Math.round(r.height)}`);
    }
    if (e.disabled || r.bottom < 0 || r.top > innerHeight) continue;
    // Nothing lies above it, wherever it can be scrolled to.
    e.scrollIntoView({block: 'center', inline: 'center'});
    const c = e.getClientRects()[0];
    const hit = document.elementFromPoint((c.left + c.right) / 2,
      (c.top + c.bottom) / 2);
    if (hit && !e.contains(hit) && !hit.contains(e) &&
        !hit.closest('label')?.contains(e))
      say(e, 'below ' + hit.outerHTML.slice(0, 80));
  }
  // Neighbours that carry text do not lie on each other.
  const lone = all.filter((e) => !e.closest('svg, .away, .skip') &&
    [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()));
  const at = lone.map((e) => { const q = document.createRange();
    q.selectNodeContents(e);
    let left = 0, top = -1e6, right = 1e6, bottom = 1e6;
    for (let p = e; p !== document.body; p = p.parentElement) {
      if (getComputedStyle(p).overflowX === 'visible') continue;
      const c = p.getBoundingClientRect();
      left = Math.max(left, c.left); right = Math.min(right, c.right);
      top = Math.max(top, c.top); bottom = Math.min(bottom, c.bottom);
    }
    return [...q.getClientRects()].slice(0, 30).map((r) => ({
      left: Math.max(left, r.left), right: Math.min(right, r.right),
      top: Math.max(top, r.top), bottom: Math.min(bottom, r.bottom)})); });
  const meet = (p, q) => Math.min(p.right, q.right) - Math.max(p.left, q.left)
    > 3 && Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 5;
  const fixed = (e) => e.closest('.bar, .foot, .chat-say, #toasts, .lane-heads,'
    + ' dialog');
  for (let i = 0; i < lone.length; i++) for (let j = i + 1; j < lone.length
      && j < i + 40; j++) {
    const a = lone[i], c = lone[j];
    if (a.contains(c) || c.contains(a) || fixed(a) !== fixed(c)) continue;
    if (inner(a) === inner(c) && at[i].some((p) => at[j].some(
        (q) => meet(p, q)))) say(a, 'lies on ' + c.outerHTML.slice(0, 80));
  }
  return wrong;"""


def widths(b, s, names, sizes):
    for width, height in sizes:
        b.size(width, height)
        b.go(s.ui)
        for name in names:
            open_page(b, s, name, load=False)
            for is_open in (False, True):
                if is_open:
                    everything_open(b)
                wrong = b.js(LAYOUT)
                assert not wrong, (f"{width} px, {name}: "
                                   + "\n".join(map(str, wrong[:8])))


@check("layout: nothing is cut, covered or too small at 360 px")
def _(b):
    with seeded(rich=True, busy=True) as s:
        widths(b, s, PAGES, [(360, 740)])


@check("layout: nothing is cut, covered or too small at 768 and 1024 px")
def _(b):
    with seeded(rich=True, busy=True) as s:
        widths(b, s, PAGES, [(768, 1024), (1024, 800)])


@check("layout: nothing is cut, covered or too small at 1920 px")
def _(b):
    with seeded(rich=True, busy=True) as s:
        widths(b, s, PAGES, [(1920, 1080)])
        # And lines of text are not too long to be read.
        open_page(b, s, "conversation", load=False)
        assert b.js("return Math.max(...[...document.querySelectorAll('.said')"
                    "].map(e => e.clientWidth))") < 900


@check("layout: holds at twice the size of letters")
def _(b):
    with seeded() as s:
        b.size(640, 800)
        b.go(s.ui)
        b.js("document.documentElement.style.fontSize = '200%'; return 1")
        for name in PAGES:
            if name in ("runs", "raw"):
                continue
            open_page(b, s, name, load=False)
            assert b.js("document.documentElement.scrollWidth <= innerWidth"), (
                name)
