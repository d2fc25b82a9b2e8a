"""The Python side of bench-session-python: a server on stdin and stdout.

    session_python.py DOCUMENT FOLDER

DOCUMENT is the golden session as JSON, FOLDER a place for files. Checks first
that the package writes just this session with each of its codecs, in the sizes
and digests that were published, and restores it as its own types. Then says its
versions. Each line that comes in is one piece of work, one line goes out:

    NAME CODEC       does it once and says how many nanoseconds it took, how
                     many of them on the core, and how often that was taken away
    check KIND FILE  is it the golden document? KIND as in GOLDEN; says "same"
                     or what it is

What a piece of work made is freed within its time. The collector runs, as it
does in every program that does not forbid it.
"""
import hashlib
import importlib.metadata
import json
import pathlib
import resource
import sys
import time

import agent_framework._sessions as sessions
import msgpack
import orjson
import pydantic_core
from agent_framework import (AgentSession, Content, InMemoryHistoryProvider,
                             Message, register_state_type)
from pydantic import BaseModel

WANTED = {"agent-framework-core": "1.23.0", "msgspec": "0.22.0",
          "msgpack": "1.2.4", "orjson": "3.13.0", "pydantic_core": "2.50.4"}

# Of the session's document and of the file that the package's store writes.
GOLDEN = {
    "json": (
        1646296,
        "62ac3b0eb8a7dfce81b555bc955d8468fee471b742a4dc825838bd9d9bed224a"),
    "msgpack": (
        1516894,
        "01e59564711f9b1ff07e31a2040174752f33e390ffb455264dc09e52331ab030"),
    "store-json": (
        1646312,
        "ceb209d1e16c8191a1e65f1cd4edcee463e61137d6aab2fad228fa218afb14fa"),
    "store-msgpack": (
        1516906,
        "a192230b6fa2e8cbbef98bc38f27cc3b9790326b0609279409e6bec14b29af80"),
}
MESSAGES = 2000


class ClassState:
    """An object that turns itself into a mapping."""

    def __init__(self, item_id, label, scores, attributes):
        self.item_id = item_id
        self.label = label
        self.scores = scores
        self.attributes = attributes

    def to_dict(self):
        return {"item_id": self.item_id, "label": self.label,
                "scores": self.scores, "attributes": self.attributes}

    @classmethod
    def from_dict(cls, data):
        return cls(data["item_id"], data["label"], data["scores"],
                   data["attributes"])


class ProfileState(BaseModel):
    """The same, done by pydantic."""

    user_id: str
    preferences: dict[str, str]
    counters: list[int]


register_state_type(ClassState, type_id="benchmark_class_state")
register_state_type(ProfileState, type_id="benchmark_profile_state")


# --- codecs ------------------------------------------------------------------

def dumps(tree):
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":")).encode()


class TreeCodec:
    """The session as a tree by to_dict(), and the tree by a library."""

    def __init__(self, kind, write, read):
        self.golden, self.write, self.read = kind, write, read

    def encode(self, session):
        return self.write(session.to_dict())

    def decode(self, data):
        return AgentSession.from_dict(self.read(data))


class StoreCodec:
    """As FileSessionStore does it between its file calls."""

    def __init__(self, kind, encoder, decoder):
        self.golden, self.encoder, self.decoder = kind, encoder, decoder

    def encode(self, session):
        return self.encoder.encode(sessions._SessionSnapshot(
            type="session", session_id=session.session_id,
            service_session_id=dict(session.service_session_id),
            state=sessions._SessionStatePayload(session.state)))

    def decode(self, data):
        snapshot = self.decoder.decode(data)
        session = AgentSession(session_id=snapshot.session_id,
                               service_session_id=snapshot.service_session_id)
        session.state = sessions._deserialize_state(snapshot.state)
        return session


CODECS = {
    "json": TreeCodec("json", dumps, json.loads),
    "orjson": TreeCodec("json", orjson.dumps, orjson.loads),
    "pydantic": TreeCodec("json", pydantic_core.to_json,
                          pydantic_core.from_json),
    "msgspec-json": StoreCodec("store-json",
                               sessions._SESSION_SNAPSHOT_ENCODER,
                               sessions._SESSION_SNAPSHOT_DECODER),
    "msgspec-msgpack": StoreCodec("store-msgpack",
                                  sessions._SESSION_SNAPSHOT_MSGPACK_ENCODER,
                                  sessions._SESSION_SNAPSHOT_MSGPACK_DECODER),
    "msgpack": TreeCodec("msgpack", msgpack.packb, msgpack.unpackb),
}


# --- before anything is timed ------------------------------------------------

def described(data):
    return len(data), hashlib.sha256(data).hexdigest()


def check(kind, data):
    if described(data) == GOLDEN[kind]:
        return "same"
    return "{} bytes, SHA-256 {}".format(*described(data))


def check_objects(name, session):
    state = session.state
    messages = state["in_memory"]["messages"]
    first, one, profile = messages[0], state["classes"][0], state["profiles"][0]
    right = (
        len(messages) == MESSAGES and
        all(type(message) is Message for message in messages) and
        first.text.startswith("Message 0: ") and first.role == "user" and
        type(one) is ClassState and one.label == "class-state-0" and
        type(profile) is ProfileState and profile.user_id == "user-0" and
        session.service_session_id["response_id"] == "benchmark-response")
    if not right:
        raise SystemExit(f"session_python: {name} restored something else")


def check_all(session):
    for name, codec in CODECS.items():
        data = codec.encode(session)
        verdict = check(codec.golden, data)
        if verdict != "same":
            raise SystemExit(f"session_python: {name} wrote {verdict}")
        check_objects(name, codec.decode(data))


def versions():
    found = {name: importlib.metadata.version(name) for name in WANTED}
    if found != WANTED:
        raise SystemExit(f"session_python: found {found}, wanted {WANTED}; see "
                         "tests/interop/requirements.txt")
    python = ".".join(str(part) for part in sys.version_info[:3])
    return ", ".join([f"python {python}", *(f"{name} {version}" for
                                            name, version in found.items())])


# --- pieces of work ----------------------------------------------------------

class Work:
    def __init__(self, document, folder):
        self.document = document
        self.path = pathlib.Path(folder) / "python-session"
        self.tree = json.loads(document)
        self.session = AgentSession.from_dict(json.loads(document))
        self.data = {name: codec.encode(self.session)
                     for name, codec in CODECS.items()}
        self.provider = InMemoryHistoryProvider()
        self.turn = [
            Message(role, [Content.from_text(text)], author_name="participant")
            for role, text in (("user", "What is left to do?" * 10),
                               ("assistant", "Nothing is left to do." * 10))]

    def encode(self, codec):
        CODECS[codec].encode(self.session)

    def decode(self, codec):
        CODECS[codec].decode(self.data[codec])

    def roundtrip(self, codec):
        CODECS[codec].decode(CODECS[codec].encode(self.session))

    def disk(self, codec):
        self.path.write_bytes(CODECS[codec].encode(self.session))
        CODECS[codec].decode(self.path.read_bytes())

    def append(self, codec):
        """Two messages more, and the snapshot that is stored for them."""
        state = self.session.state["in_memory"]
        before = state["messages"]
        saving = self.provider.save_messages(None, self.turn, state=state)
        try:
            saving.send(None)
        except StopIteration:
            pass
        CODECS[codec].encode(self.session)
        if len(state["messages"]) != len(before) + 2:
            raise SystemExit("session_python: the messages were not added")
        state["messages"] = before

    def dumps(self, _):
        dumps(self.tree)

    def loads(self, _):
        json.loads(self.document)

    def both(self, _):
        dumps(json.loads(self.document))

    def both_disk(self, _):
        self.path.write_bytes(dumps(self.tree))
        json.loads(self.path.read_bytes())


def preemptions():
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def timed(call, codec):
    before, used = preemptions(), time.process_time_ns()
    begin = time.perf_counter_ns()
    call(codec)
    taken = time.perf_counter_ns() - begin
    used = time.process_time_ns() - used
    return f"{taken} {used} {preemptions() - before}"


def main():
    found = versions()
    document = pathlib.Path(sys.argv[1]).read_bytes()
    if check("json", document) != "same":
        raise SystemExit(f"session_python: {sys.argv[1]} is not the golden "
                         "session; tests/bench/golden.py makes it")
    work = Work(document, sys.argv[2])
    check_all(work.session)
    print(found, flush=True)
    for line in sys.stdin:
        name, word, *rest = line.split()
        if name == "check":
            print(check(word, pathlib.Path(" ".join(rest)).read_bytes()),
                  flush=True)
        else:
            print(timed(getattr(work, name), word), flush=True)
    work.path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
