"""MessagePack of the Python edition that our commands changed or wrote, in the
file session store of agent-framework-core and in the package `msgpack`.
Usage: TEST PERDURE"""
import asyncio
import io
import json
import pathlib
import tempfile
import warnings

import msgpack
from agent_framework import AgentSession, Content, FileSessionStore, Message

from command import PERDURE, record, run

warnings.simplefilter("ignore")  # the store is marked as experimental
tests = record.Tests("interop-session-command")
# JSON that needs our extensions to keep its spelling, and what it means.
ODD = '{"n":[1.50,1e16,1e2,100,-0,9007199254740993.0],"t":"\\/\\u00e9"}'
MEANT = {"n": [1.5, 1e16, 100.0, 100, -0.0, 9007199254740993], "t": "/é"}
LOST = {"numbers": 5, "strings": 1}
UNHELD = ["1e400", "18446744073709551616", '"\\ud800"', '{"a":1,"a":2}']


def session(*args, status=0):
    """The report of a verb, or of its failure."""
    result = run([PERDURE, "session", *map(str, args), "-o", "json"])
    assert result.status == status, result
    return json.loads(result.out or result.err)


def sample():
    made = AgentSession(session_id="desk")
    made.state["in_memory"] = {"messages": [
        Message(role="user", contents=[Content.from_text("Is room 4 free?")])]}
    made.state["ratio"] = 0.5
    return made


def check(made):
    """What a session of the package must hold, types and signs too."""
    assert repr(made.state["odd"]) == repr(MEANT), made.state["odd"]
    assert made.state["ratio"] == 0.5
    assert made.state["in_memory"]["messages"][0].text == "Is room 4 free?"


def in_store(function):
    with tempfile.TemporaryDirectory() as name:
        store = FileSessionStore(name, serialization_format="msgpack")
        asyncio.run(store.set("desk", sample()))
        function(store, pathlib.Path(name))


def load(store):
    return asyncio.run(store.get("desk"))


@tests.test("bag: a file that it changed is read by the file session store")
def _():
    def change(store, folder):
        file = folder / "desk.msgpack"
        for where in (["--file", file], ["--folder", folder, "desk"]):
            report = session("bag", "set", *where, "odd", ODD)
            check(load(store))
            assert report["respelled"] == LOST, report
            before = file.read_bytes()
            for value in UNHELD:
                session("bag", "set", *where, "odd", value, status=6)
                assert file.read_bytes() == before, value
            session("bag", "rm", *where, "odd")
            assert load(store).to_dict() == sample().to_dict()
        before = load(store)
        before.state["theirs"] = 1
        asyncio.run(store.set("desk", before))
        assert file.read_bytes() == msgpack.packb(
            {**before.to_dict(), "version": "1.0"})
    in_store(change)


@tests.test("convert: what it writes is read by the file session store")
def _():
    def convert(store, folder):
        source, native = folder / "a.json", folder / "native.msgpack"
        text = json.dumps(sample().to_dict())
        source.write_text(text.replace('"ratio"', '"odd":%s,"ratio"' % ODD))
        session("convert", "--shape", "native", source, native)
        for shape in ("python", "python-1.21"):
            report = session("convert", "--yes", "--shape", shape, native,
                             folder / "desk.msgpack")
            check(load(store))
            assert report["respelled"] == LOST, report
    in_store(convert)


@tests.test("export: the package reads each session of a file that it wrote")
def _():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        text = json.dumps(sample().to_dict())
        (folder / "a.json").write_text(
            text.replace('"ratio"', '"odd":%s,"ratio"' % ODD))
        session("import", folder / "a.json", "--store", folder / "desk.db")
        for where in (["--file", folder / "a.json"],
                      ["--store", folder / "desk.db", "desk"],
                      ["--store", folder / "desk.db", "--all"]):
            report = session("export", "--yes", *where, folder / "x.msgpack")
            data = io.BytesIO((folder / "x.msgpack").read_bytes())
            found = list(msgpack.Unpacker(data))
            assert len(found) == 1
            check(AgentSession.from_dict(found[0]))
            assert report["respelled"] == LOST, report


tests.finish()
