"""The file of a SQLite store is what docs/formats/store-sqlite.md says, read by
another program than ours. Usage: store_format.py TEST-STORE-SAMPLE"""
import hashlib
import hmac
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys

from harness import Tests

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
SAMPLE = os.path.abspath(sys.argv[1])
DATA = os.path.join(ROOT, "tests", "data", "store")
NEVER = 2 ** 63 - 1
STATES = {"idle": 0, "running": 1, "waiting": 2, "expired": 3, "unseen": 4}
tests = Tests("store format")


# --- digests as the page has them ---------------------------------------------

def number(n):
    return struct.pack(">q" if n < 0 else ">Q", n)


def text(t):
    if t is None:
        return number(0)
    raw = t.encode() if isinstance(t, str) else t
    return number(len(raw) + 1) + raw


def digest(key, kind, texts, numbers=()):
    raw = bytes([kind]) + b"".join(map(text, texts)) + \
        b"".join(map(number, numbers))
    return seal(key, raw)


def seal(key, raw):
    if key:
        return hmac.new(key, raw, hashlib.sha256).digest()
    return hashlib.sha256(raw).digest()


def open_store(path):
    db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    db.row_factory = sqlite3.Row
    return db


def check_head(key, s):
    texts = [s["tenant"], s["id"], s["agent"], s["kind"], s["schema_version"],
             s["lease_owner"], s["anchor"], s["chain"]]
    numbers = [STATES[s["state"]], s["revision"], s["commits"], s["no"],
               s["created"], s["changed"],
               NEVER if s["expiry"] is None else s["expiry"]]
    numbers += [s[n] for n in (
        "first_seq", "next_seq", "slots", "properties", "completions",
        "journal_first", "journal_next", "stream_first", "stream_next",
        "inbox", "inbox_next", "has_frame", "fence", "lease_until")]
    assert digest(key, 9, texts, numbers) == s["digest"], "head"


def check_log(key, db, s):
    ref = [s["tenant"], s["id"]]
    before = digest(key, 1, ref, [s["no"]])
    assert before == s["anchor"], "anchor"
    rows = 0
    for r in db.execute("SELECT * FROM log WHERE session=? ORDER BY key",
                        [s["no"]]):
        rows += 1
        if isinstance(r["key"], int):
            own = digest(key, 2, [r["correlation_id"], r["separator"],
                                  r["body"]],
                         [r["kind"], r["shape"], r["created"]])
            before = seal(key, b"\x03" + before + own + number(s["no"]) +
                          number(r["key"]))
            assert before == r["digest"], "entry %d" % r["key"]
            continue
        seqs = [r["first_seq"] or 0, r["last_seq"] or 0]
        wanted = digest(key, 7, ref + [r["key"], r["fingerprint"], r["body"]],
                        [r["created"], s["no"] if seqs[0] else 0] + seqs)
        assert wanted == r["digest"], "completion " + r["key"]
    assert before == s["chain"], "chain"
    return rows


def check_parts(key, db, s):
    ref = [s["tenant"], s["id"]]
    rows = 0
    for r in db.execute("SELECT * FROM parts WHERE session=?", [s["no"]]):
        rows += 1
        if r["part"] == 3:
            wanted = digest(key, 4, ref + [r["key"], r["body"]])
        elif r["part"] == 4:
            wanted = digest(key, 6, ref + [r["body"]])
        else:
            due = NEVER if r["due"] is None else r["due"]
            wanted = digest(key, 8, ref + [r["kind"], r["correlation_id"],
                                           r["body"]],
                            [r["part"], r["key"], due])
        assert wanted == r["digest"], "part %r %r" % (r["part"], r["key"])
    for r in db.execute("SELECT * FROM properties WHERE session=?",
                        [s["no"]]):
        rows += 1
        assert digest(key, 5, ref + [r["key"], r["value"], r["match"]]) == \
            r["digest"], "property " + r["key"]
        assert [r["tenant"], r["id"]] == ref
    return rows


def check_all(path, key=None):
    db = open_store(path)
    one = db.execute("SELECT * FROM store").fetchone()
    raw = b"store\0\0\0" + b"".join(map(number, (
        one["schema"], one["number"], one["keyed"], one["created"])))
    if one["schema"] > 2:
        raw += number(one["generation"]) + one["id"]
    assert one["digest"] == seal(key, raw)
    assert one["key_check"] == (seal(
        key, b"perdure: the key of this store") if key else None)
    rows = 0
    heads = ["sessions"] + ["unseen"] * (one["schema"] > 1)
    for s in [s for table in heads
              for s in db.execute("SELECT * FROM " + table)]:
        check_head(key, s)
        rows += 1 + check_log(key, db, s) + check_parts(key, db, s)
    count = sum(db.execute("SELECT count(*) FROM " + table).fetchone()[0]
                for table in heads + ["log", "parts", "properties"])
    assert rows == count, "%d of %d rows belong to a session" % (rows, count)
    return rows


def page_sum(page, number):
    """The two words at the end of a page, as the page has them."""
    a = b = number
    words = struct.unpack("<1022I", page[:4088])
    for x, y in zip(words[0::2], words[1::2]):
        a = (a + x + b) & 0xFFFFFFFF
        b = (b + y + a) & 0xFFFFFFFF
    return struct.pack("<2I", a, b)


def wrong_pages(path):
    """Numbers of the pages whose sum is wrong, and of all pages."""
    with open(path, "rb") as file:
        raw = file.read()
    assert raw[16:18] == b"\x10\0" and len(raw) % 4096 == 0
    assert raw[20] == 8, raw[20]
    pages = [raw[i:i + 4096] for i in range(0, len(raw), 4096)]
    return [n for n, page in enumerate(pages, 1)
            if page[4088:] != page_sum(page, n) and any(page)], len(pages)


def sample(name, *key, role="make"):
    subprocess.run([SAMPLE, "--role=" + role, name, *key], check=True)
    return name


def kept(name):
    """A copy: who reads a file of SQLite makes files beside it."""
    shutil.copy(os.path.join(DATA, name), name)
    return name


def key_file():
    shutil.copy(os.path.join(DATA, "key"), "key")
    os.chmod("key", 0o600)
    with open("key", "rb") as file:
        return file.read()


# --- tests ----------------------------------------------------------------------

@tests.test("store format: another program makes every digest again")
def _():
    assert check_all(sample("new.db")) == check_all(
        kept("version-1.db")) == check_all(kept("version-2.db")) > 15


@tests.test("store format: another program with the key does, too")
def _():
    key = key_file()
    check_all(sample("keyed.db", "key"), key)
    check_all(kept("version-1-keyed.db"), key)
    check_all(kept("version-2-keyed.db"), key)
    for wrong in (None, b"x" * 32):
        try:
            check_all("keyed.db", wrong)
        except AssertionError:
            continue
        raise AssertionError("a wrong key was not seen")


@tests.test("store format: another program makes the sum of every page again")
def _():
    wrong, count = wrong_pages(sample("new.db"))
    assert wrong == [] and count > 10, (wrong, count)
    for n in range(1, count + 1):
        shutil.copy("new.db", "bad.db")
        with open("bad.db", "r+b") as file:
            file.seek(n * 4096 - n * 7)
            byte = file.read(1)[0] ^ 1
            file.seek(n * 4096 - n * 7)
            file.write(bytes([byte]))
        assert wrong_pages("bad.db") == ([n], count), n
    with open(os.path.join(DATA, "version-1.db"), "rb") as file:
        assert file.read(21)[20] == 0


def sum_of_note(note):
    a = b = 0
    for x, y in struct.iter_unpack(">2I", note):
        a = (a + x + b) & 0xFFFFFFFF
        b = (b + y + a) & 0xFFFFFFFF
    return struct.pack(">2I", a, b)


@tests.test("store format: the side file has the end of the log")
def _():
    name = sample("left.db", role="leave")
    with open(name + "-wal", "rb") as file:
        log = file.read()
    with open(name + "-lock", "rb") as file:
        note = file.read()
    salt, last = log[16:24], 0
    for at in range(32, len(log) - 4119, 4120):
        if log[at + 8:at + 16] == salt and log[at + 4:at + 8] != bytes(4):
            last = at
    assert last > 0 and len(note) == 89 and note[:1] == b"0", note
    assert note[1:5] == struct.pack(">I", (last - 32) // 4120 + 1)
    assert note[5:25] == log[last + 4:last + 24]
    assert note[25:33] == sum_of_note(note[1:25])
    page, = struct.unpack(">I", log[last:last + 4])
    assert note[33:41] == b"c\0\0\0" + struct.pack(">I", page)
    assert note[41:49] == page_sum(log[last + 24:last + 4120], page)
    db = open_store(name)
    one = db.execute("SELECT id,generation FROM store").fetchone()
    mark, = db.execute("PRAGMA user_version").fetchone()
    assert note[49:65] == one["id"], note
    assert note[65:73] == number(one["generation"] - 1), note
    assert note[73:81] == struct.pack(">i4x", mark), note
    assert note[81:] == sum_of_note(note[1:81])


@tests.test("store format: a changed byte in any column is seen")
def _():
    sample("new.db")
    seen = 0
    for table in ("sessions", "log", "parts", "properties"):
        db = sqlite3.connect("new.db")
        names = [c[1] for c in db.execute("PRAGMA table_info(%s)" % table)]
        db.close()
        for name in names:
            if name == "n" or (table, name) == ("properties", "session"):
                continue  # the first is a mere place, the second counted
            shutil.copy("new.db", "bad.db")
            db = sqlite3.connect("bad.db")
            db.execute("UPDATE OR IGNORE %s SET %s = CASE typeof(%s) "
                       "WHEN 'integer' THEN %s + 1 WHEN 'null' THEN 'x' "
                       "ELSE substr(%s, 2) END WHERE rowid IN (SELECT rowid "
                       "FROM %s LIMIT 1)" % ((table,) + (name,) * 4 + (table,))
                       if table in ("sessions", "log") else
                       "UPDATE OR IGNORE %s SET %s = CASE typeof(%s) "
                       "WHEN 'integer' THEN %s + 100 WHEN 'null' THEN 'x' "
                       "ELSE substr(%s, 2) || 'y' END" %
                       ((table,) + (name,) * 4))
            db.commit()
            db.close()
            try:
                check_all("bad.db")
            except (AssertionError, KeyError, TypeError, struct.error):
                seen += 1
                continue
            raise AssertionError("%s.%s was not seen" % (table, name))
    assert seen > 40, seen


@tests.test("store format: the tables are those of the page")
def _():
    def plain(sql):
        return re.sub(r"\s+", "", sql)
    with open(os.path.join(ROOT, "docs/formats/store-sqlite.md"),
              encoding="utf-8") as file:
        blocks = re.findall(r"```sql\n(.*?)```", file.read(), re.S)
    told = [plain(sql) for block in blocks for sql in block.split(";")
            if sql.strip()]
    db = open_store(sample("new.db"))
    made = [plain(r[0]) for r in db.execute(
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")]
    assert told == made, set(told) ^ set(made)
    assert db.execute("PRAGMA application_id").fetchone()[0] == 0x50647253
    assert db.execute("PRAGMA page_size").fetchone()[0] == 4096
    assert db.execute("PRAGMA auto_vacuum").fetchone()[0] == 2
    with open("new.db", "rb") as file:
        assert file.read(21)[20] == 8, "reserved bytes"


@tests.test("store format: the views show a conversation to people")
def _():
    db = open_store(sample("new.db"))
    rows = [tuple(r) for r in db.execute(
        "SELECT seq, kind, created, correlation_id, body FROM conversation "
        "WHERE tenant = 'acme'")]
    assert [r[0] for r in rows] == [1, 2, 3], rows
    assert rows[1][1:4] == ("response", "2026-01-01T00:00:00.001Z", "c-1")
    assert rows[1][4] == '{"$type":"response","n":1.10}'
    for view, count in (("bag", 2), ("journal", 2), ("stream", 1),
                        ("inbox", 2), ("completions", 3)):
        got = db.execute("SELECT count(*) FROM " + view).fetchone()[0]
        assert got == count, (view, got)


tests.finish()
