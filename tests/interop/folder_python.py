"""The file session store and the file history provider of agent-framework-core
and our folders on the same files, in both directions. Usage: TEST FOLDER_TOOL"""
import asyncio
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

from agent_framework import AgentSession, Content, Message
from agent_framework import FileHistoryProvider, FileSessionStore

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import record  # noqa: E402

warnings.simplefilter("ignore")  # the store is marked as experimental
tests = record.Tests("interop-folder")
FORMATS = ("json", "msgpack")
KEYS = ["abc", "session.id", "x" * 128, "Abc", "two words", "telegram:123:456",
        "CON", "con.txt", "café", "..", "../x", ".hidden", "a.",
        "~session-abc", "é" * 128, "X" * 128]
tool = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE, text=True, encoding="utf-8")


def ask(do, folder, form, key="", **more):
    job = {"do": do, "folder": str(folder), "format": form, "key": key} | more
    # Spelled as the store does: we write what we were given.
    line = json.dumps(job, ensure_ascii=False, separators=(",", ":"))
    tool.stdin.write(line + "\n")
    tool.stdin.flush()
    return json.loads(tool.stdout.readline())


def told(answer):
    assert "error" not in answer, answer
    return answer


def wait(awaitable):
    return asyncio.run(awaitable)


def message(text, role="user"):
    return Message(role=role, contents=[Content.from_text(text)])


def sample(number):
    """A session with the state of a provider and an in-memory history."""
    session = AgentSession(session_id=f"guest-{number}",
                           service_session_id="conv-1" if number % 2 else None)
    session.state["in_memory"] = {"messages": [
        message("Is room 4 free at noon?"),
        message("Yes, it is. \u2028 café", "assistant")]}
    session.state["todo"] = {"items": [{"title": "towels", "done": False}],
                             "next_id": 2, "ratio": 0.5, "none": None}
    return session


def in_folders(function):
    for form in FORMATS:
        with tempfile.TemporaryDirectory() as folder:
            function(form, pathlib.Path(folder))


@tests.test("folder: reads what the file session store wrote")
def _():
    def check(form, folder):
        store = FileSessionStore(folder, serialization_format=form)
        for number, key in enumerate(KEYS):
            wait(store.set(key, sample(number)))
        for number, key in enumerate(KEYS):
            value = told(ask("get", folder, form, key))["value"]
            version = value.pop("version")
            assert version == "1.0" and value == sample(number).to_dict(), key
        files = told(ask("list", folder, form))["list"]
        known = {file["key"] for file in files}
        # Two names are hashes, and the ids inside are not the keys.
        assert known == set(KEYS) - {"é" * 128, "X" * 128} | {""}
        assert {file["kind"] for file in files} == {"session"}
    in_folders(check)


@tests.test("folder: writes what the file session store reads")
def _():
    def check(form, folder):
        store = FileSessionStore(folder, serialization_format=form)
        for number, key in enumerate(KEYS):
            told(ask("set", folder, form, key,
                     value=sample(number).to_dict()))
        for number, key in enumerate(KEYS):
            session = wait(store.get(key))
            assert session.to_dict() == sample(number).to_dict(), key
            assert isinstance(session.state["in_memory"]["messages"][0],
                              Message)
    in_folders(check)


@tests.test("folder: writes the bytes that the file session store writes")
def _():
    def check(form, folder):
        store = FileSessionStore(folder, serialization_format=form)
        told(ask("set", folder, form, "a", value=sample(1).to_dict()))
        ours = (folder / f"a.{form}").read_bytes()
        wait(store.set("b", wait(store.get("a"))))
        assert ours == (folder / f"b.{form}").read_bytes()
    in_folders(check)


@tests.test("folder: takes turns with the file session store")
def _():
    def check(form, folder):
        store = FileSessionStore(folder, serialization_format=form)
        wait(store.set("Abc", sample(1)))
        for turn in range(5):
            told(ask("set", folder, form, "Abc", name="ours", value=turn))
            session = wait(store.get("Abc"))
            assert session.state["ours"] == turn
            session.state["theirs"] = turn
            session.state["in_memory"]["messages"].append(
                message(f"turn {turn}"))
            wait(store.set("Abc", session))
            state = told(ask("get", folder, form, "Abc"))["value"]["state"]
            assert state["theirs"] == turn
            assert len(state["in_memory"]["messages"]) == 3 + turn
        assert len(list(folder.glob(f"*.{form}"))) == 1
        wait(store.delete("Abc"))
        assert ask("get", folder, form, "Abc")["error"] == "no_session"
        told(ask("set", folder, form, "Abc", value=sample(2).to_dict()))
        told(ask("remove", folder, form, "Abc"))
        assert wait(store.get("Abc")) is None
    in_folders(check)


@tests.test("folder: refuses a writer who is late, whoever came first")
def _():
    def check(form, folder):
        store = FileSessionStore(folder, serialization_format=form)
        wait(store.set("a", sample(1)))
        read = told(ask("get", folder, form, "a"))["generation"]
        wait(store.set("a", sample(2)))
        late = ask("set", folder, form, "a", value=sample(3).to_dict(),
                   generation=read)
        assert late["error"] == "generation_changed"
        assert wait(store.get("a")).to_dict() == sample(2).to_dict()
    in_folders(check)


def fails(awaitable):
    try:
        wait(awaitable)
    except Exception:  # some are raw errors of what lies below
        return True
    return False


@tests.test("folder: keeps members that crash the file session store",
            covers=["S-92", "S-93"])
def _():
    def check(form, folder):
        store = FileSessionStore(folder, serialization_format=form)
        document = sample(1).to_dict() | {"extra": {"kept": [1, 2.5]}}
        first = document["state"]["in_memory"]["messages"][0]
        first["priority"] = "high"
        first["contents"][0]["mood"] = "calm"
        first["contents"].append({"type": "smell", "smell": "coffee"})
        told(ask("set", folder, form, "a", value=document))
        assert fails(store.get("a"))
        told(ask("set", folder, form, "a", name="ours", value=1))
        value = told(ask("get", folder, form, "a"))["value"]
        assert value["state"].pop("ours") == 1
        assert value.pop("version") == "1.0" and value == document
    in_folders(check)


@tests.test("folder: keeps members that the file session store loses",
            covers=["S-93"])
def _():
    def check(form, folder):
        store = FileSessionStore(folder, serialization_format=form)
        document = sample(1).to_dict() | {"extra": {"kept": True}}
        told(ask("set", folder, form, "a", value=document))
        told(ask("set", folder, form, "a", name="ours", value=1))
        value = told(ask("get", folder, form, "a"))["value"]
        assert value["extra"] == {"kept": True}
        wait(store.set("a", wait(store.get("a"))))
        assert "extra" not in told(ask("get", folder, form, "a"))["value"]
    in_folders(check)


@tests.test("folder: reads a bare NaN for which the other side gives up a file")
def _():
    def check(form, folder):
        if form == "msgpack":
            return
        store = FileSessionStore(folder)
        text = json.dumps(sample(1).to_dict() | {"x": float("nan")})
        (folder / "a.json").write_text(text)
        answer = told(ask("get", folder, form, "a"))
        assert answer["told"] == ["bare-token"]
        assert (folder / "a.json").read_text() == text
        assert fails(store.get("a"))
        assert not (folder / "a.json").exists()
    in_folders(check)


@tests.test("folder: sets damaged files aside as the file session store does")
def _():
    def check(form, folder):
        store = FileSessionStore(folder, serialization_format=form)
        for key in ("a", "b"):
            (folder / f"{key}.{form}").write_bytes(
                b"{" if form == "json" else b"\x84")
        assert ask("get", folder, form, "a")["error"] == "damaged"
        assert (folder / f"a.{form}").exists()
        assert ask("remove", folder, form, "a")["error"] == "quarantined"
        assert wait(store.get("a")) is None
        assert fails(store.get("b"))
        assert ask("get", folder, form, "b")["error"] == "no_session"
        files = told(ask("list", folder, form))["list"]
        assert [(file["kind"], file["key"]) for file in files] == [
            ("corrupt", "a"), ("corrupt", "b")]
    in_folders(check)


def texts(messages):
    return [m["contents"][0]["text"] if isinstance(m, dict) else m.text
            for m in messages]


@tests.test("history: takes turns with the file history provider")
def _():
    def check(form, folder):
        provider = FileHistoryProvider(folder, serialization_format=form)
        for key in ("desk", "Night/Shift", ""):
            wait(provider.save_messages(key or None, [message("one"),
                                                      message("two")]))
            listed = told(ask("history", folder, form, key))["list"]
            assert texts(listed) == ["one", "two"]
            told(ask("append", folder, form, key,
                     value=[message("three").to_dict(),
                            message("four").to_dict()]))
            found = wait(provider.get_messages(key or None))
            assert texts(found) == ["one", "two", "three", "four"]
            wait(provider.save_messages(key or None, [*found, message("five")]))
            listed = told(ask("history", folder, form, key))["list"]
            assert texts(listed) == ["one", "two", "three", "four", "five"]
    in_folders(check)


@tests.test("history: writes the bytes that the file history provider writes")
def _():
    def check(form, folder):
        provider = FileHistoryProvider(folder, serialization_format=form)
        odd = message("café \u2028")
        odd.additional_properties = {"score": float("nan"), "n": 1.0}
        wait(provider.save_messages("a", [message("one"), odd]))
        listed = told(ask("history", folder, form, "a"))["list"]
        told(ask("append", folder, form, "b", value=listed))
        end = "jsonl" if form == "json" else form
        assert ((folder / f"a.{end}").read_bytes() ==
                (folder / f"b.{end}").read_bytes())
    in_folders(check)


@tests.test("history: mends what the file history provider cannot read",
            covers=["S-109", "S-146"])
def _():
    def check(form, folder):
        provider = FileHistoryProvider(folder, serialization_format=form)
        end = "jsonl" if form == "json" else form
        wait(provider.save_messages("a", [message("one"), message("two")]))
        path = folder / f"a.{end}"
        whole = path.read_bytes()
        path.write_bytes(whole[:-9])
        assert fails(provider.get_messages("a"))
        assert texts(told(ask("history", folder, form, "a"))["list"]) == ["one"]
        told(ask("append", folder, form, "a",
                 value=[message("three").to_dict()]))
        assert texts(wait(provider.get_messages("a"))) == ["one", "three"]
        if form == "json":
            path.write_bytes(whole[:-1])  # the line break only
            told(ask("append", folder, form, "a",
                     value=[message("three").to_dict()]))
            assert texts(wait(provider.get_messages("a"))) == [
                "one", "two", "three"]
    in_folders(check)


tests.finish()
