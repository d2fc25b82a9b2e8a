"""Stores of other agent libraries, each behind the same few calls.

Each is used as its documentation shows: one store, one session, two messages a
turn. With `own`, what a finished turn survives is up to the library. Else a
turn ends with one sync, as ours does:

    WAL of SQLite    commits do not sync (synchronous=NORMAL), and the log is
                     synced once behind the turn; one more connection stays open
                     so that the library's own may come and go
    files            the file is synced once behind the turn

`SETTINGS` says it in a line for each; it goes into the lines of the benchmark.
"""
import asyncio
import importlib.metadata
import os
import re
import sqlite3
import warnings

warnings.filterwarnings("ignore")
os.environ.update(LANGSMITH_TRACING="false", LANGCHAIN_TRACING_V2="false",
                  OPENAI_AGENTS_DISABLE_TRACING="1", OTEL_SDK_DISABLED="true",
                  NO_PROXY="*")
REQUIREMENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                            "requirements.txt")
HOLOGRAM = {"type": "hologram", "beams": [1, 2, 3]}  # no library knows it


def version_of(package):
    """Its version; ends the program if it is not the one that is pinned."""
    found = importlib.metadata.version(package)
    with open(REQUIREMENTS, encoding="utf-8") as file:
        pinned = dict(re.findall(r"^(\S+)==(\S+)$", file.read(), re.M))
    if found != pinned[package]:
        raise SystemExit(f"peers: {package} is {found}, wanted is "
                         f"{pinned[package]}; see {REQUIREMENTS}")
    return f"{package} {found}"


def folder_bytes(folder):
    return sum(os.path.getsize(os.path.join(root, name))
               for root, _, names in os.walk(folder) for name in names)


class LogSync:
    """One sync of SQLite's log a turn, and none with each commit."""

    def __init__(self, path):
        self.keeper = sqlite3.connect(path, check_same_thread=False)
        self.keeper.execute("PRAGMA journal_mode=WAL")
        self.keeper.execute("CREATE TABLE IF NOT EXISTS keeper (n)")
        self.keeper.commit()
        self.keeper.execute("SELECT count(*) FROM keeper").fetchall()
        self.log = os.open(path + "-wal", os.O_RDONLY)

    def sync(self):
        os.fdatasync(self.log)

    def close(self):
        os.close(self.log)
        self.keeper.close()


def connect_without_sync(connect=sqlite3.connect):
    """From now on, no commit of this process syncs SQLite's log."""
    def connect_and_set(*args, **kwargs):
        connection = connect(*args, **kwargs)
        connection.execute("PRAGMA synchronous=NORMAL")
        return connection
    sqlite3.connect = connect_and_set


class Peer:
    PACKAGE = SETTINGS = OWN_SETTINGS = ""
    MODULES = ()  # all that it imports later
    THREADS = False  # many at once: threads, else tasks of one event loop

    def __init__(self, folder, own=False):
        version_of(self.PACKAGE)
        os.makedirs(folder, exist_ok=True)
        self.folder, self.own, self.many = folder, own, False
        self.log = None
        self.open()

    async def behind(self, sync):
        """What comes behind a turn."""
        if self.own or sync is None:
            return
        if self.many:
            await asyncio.to_thread(sync)
        else:
            sync()

    def close(self):
        if self.log is not None:
            self.log.close()

    def open(self):
        """Open or make the store."""

    def make(self, role, text, extra=None, unknown=False):
        """A message; `extra` are arguments of a tool call."""

    async def append(self, session, messages):
        """A turn of a writer that has the session already."""

    async def reload(self, session):
        """Read what the next turn of this session needs."""

    async def load(self, session, last=None):
        """The messages of a session, or the last few."""

    def text(self, message):
        """What a message says."""

    def extra(self, message):
        """Arguments of its tool call, or the content that nobody knows."""


class LangGraph(Peer):
    PACKAGE = "langgraph-checkpoint-sqlite"
    MODULES = ("langgraph.graph", "langgraph.checkpoint.sqlite",
               "langgraph.channels.delta", "langchain_core.messages")
    SETTINGS = "durability=exit, WAL, synchronous=NORMAL, fdatasync a turn"
    OWN_SETTINGS = "durability=async, WAL, synchronous=FULL"
    THREADS = True

    def open(self):
        from langchain_core.messages import AIMessage, HumanMessage
        from langgraph.checkpoint.sqlite import SqliteSaver
        from langgraph.graph import END, START, StateGraph
        version_of("langgraph")
        self.kinds = {"user": HumanMessage, "assistant": AIMessage}
        path = os.path.join(self.folder, "checkpoints.db")
        self.connection = sqlite3.connect(path, check_same_thread=False)
        if not self.own:
            self.log = LogSync(path)
            self.connection.execute("PRAGMA synchronous=NORMAL")
        self.replies = {}
        graph = StateGraph(self.state())
        graph.add_node("model", self.reply)
        graph.add_edge(START, "model")
        graph.add_edge("model", END)
        self.graph = graph.compile(checkpointer=SqliteSaver(self.connection))
        self.durability = "async" if self.own else "exit"

    def state(self):
        from langgraph.graph import MessagesState
        return MessagesState

    def reply(self, state, config):
        return {"messages": [self.replies[config["configurable"]["thread_id"]]]}

    def make(self, role, text, extra=None, unknown=False):
        content = ([{"type": "text", "text": text}, HOLOGRAM] if unknown
                   else text)
        calls = [{"name": "f", "id": "1", "args": extra}] if extra else []
        return self.kinds[role](content=content, **(
            {"tool_calls": calls} if calls else {}))

    async def append(self, session, messages):
        self.append_now(session, messages)

    def append_now(self, session, messages):
        self.replies[session] = messages[1]
        self.graph.invoke({"messages": [messages[0]]},
                          {"configurable": {"thread_id": session}},
                          durability=self.durability)
        if not self.own:
            self.log.sync()

    async def load(self, session, last=None):
        state = self.graph.get_state({"configurable": {"thread_id": session}})
        return state.values.get("messages", [])[-last if last else None:]

    def text(self, message):
        content = message.content
        return content if isinstance(content, str) else content[0]["text"]

    def extra(self, message):
        calls = getattr(message, "tool_calls", None)
        return calls[0]["args"] if calls else message.content[-1]

    def close(self):
        super().close()
        self.connection.close()


class LangGraphDelta(LangGraph):
    def state(self):
        from typing import Annotated

        from langgraph.channels.delta import DeltaChannel
        from langgraph.graph.message import _messages_delta_reducer
        from typing_extensions import TypedDict
        return TypedDict("State", {"messages": Annotated[
            list, DeltaChannel(_messages_delta_reducer)]})


class AgentFramework(Peer):
    PACKAGE = "agent-framework-core"
    MODULES = ("agent_framework",)
    SETTINGS = "the file is synced behind set()"
    OWN_SETTINGS = "no sync"
    SLOT = "in_memory"

    def open(self):
        from agent_framework import AgentSession, FileSessionStore
        self.kind = AgentSession
        self.store = FileSessionStore(self.folder)
        self.sessions = {}

    def make(self, role, text, extra=None, unknown=False):
        from agent_framework import Content, Message
        contents = [text]
        if extra:
            contents.append(Content.from_function_call("1", "f",
                                                       arguments=extra))
        if unknown:
            contents.append(Content.from_dict(dict(HOLOGRAM)))
        return Message(role, contents)

    async def append(self, session, messages):
        state = self.sessions.setdefault(
            session, self.kind(session_id=session)).state
        state.setdefault(self.SLOT, {"messages": []})["messages"] += messages
        await self.store.set(session, self.sessions[session])
        await self.behind(lambda: sync_file(
            os.path.join(self.folder, session + ".json")))

    async def reload(self, session):
        self.sessions[session] = (await self.store.get(session) or
                                  self.kind(session_id=session))

    async def load(self, session, last=None):
        found = await self.store.get(session)
        messages = found.state[self.SLOT]["messages"] if found else []
        return messages[-last if last else None:]

    def text(self, message):
        return message.text

    def extra(self, message):
        content = message.contents[-1]
        return (content.arguments if content.type == "function_call" else
                content.to_dict())


class AgentFrameworkHistory(AgentFramework):
    SETTINGS = "the file is synced behind save_messages()"

    def open(self):
        from agent_framework import FileHistoryProvider
        self.store = FileHistoryProvider(self.folder)

    async def append(self, session, messages):
        await self.store.save_messages(session, messages)
        await self.behind(lambda: sync_file(
            os.path.join(self.folder, session + ".jsonl")))

    async def reload(self, session):
        await self.store.get_messages(session)

    async def load(self, session, last=None):
        messages = await self.store.get_messages(session)
        return messages[-last if last else None:]


def sync_file(path):
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


class Adk(Peer):
    PACKAGE = "google-adk"
    MODULES = ("google.adk.sessions.sqlite_session_service",
               "google.adk.events.event", "google.genai.types")
    SETTINGS = ("WAL kept open by one more connection, synchronous=NORMAL, "
                "fdatasync a turn")
    OWN_SETTINGS = "rollback journal, synchronous=FULL, two commits a turn"

    def open(self):
        from google.adk.sessions.sqlite_session_service import \
            SqliteSessionService
        path = os.path.join(self.folder, "sessions.db")
        if not self.own:
            self.log = LogSync(path)
            connect_without_sync()
        self.store = SqliteSessionService(path)
        self.sessions = {}

    def make(self, role, text, extra=None, unknown=False):
        from google.adk.events.event import Event
        from google.genai import types
        parts = [types.Part(text=text)]
        if extra:
            parts.append(types.Part(function_call=types.FunctionCall(
                name="f", args=extra)))
        if unknown:
            parts.append(types.Part.model_validate({"hologram": HOLOGRAM}))
        return Event(author=role, invocation_id="1", content=types.Content(
            role="user" if role == "user" else "model", parts=parts))

    async def append(self, session, messages):
        if session not in self.sessions:
            await self.reload(session)
        for message in messages:
            await self.store.append_event(self.sessions[session], message)
        await self.behind(self.log and self.log.sync)

    async def get(self, session, config=None):
        return await self.store.get_session(app_name="bench", user_id="u",
                                            session_id=session, config=config)

    async def reload(self, session):
        from google.adk.errors.already_exists_error import AlreadyExistsError
        found = await self.get(session)
        if found is None:
            try:
                found = await self.store.create_session(
                    app_name="bench", user_id="u", session_id=session)
            except AlreadyExistsError:
                found = await self.get(session)
        self.sessions[session] = found

    async def load(self, session, last=None):
        from google.adk.sessions.base_session_service import GetSessionConfig
        found = await self.get(
            session, GetSessionConfig(num_recent_events=last) if last else None)
        return found.events if found else []

    def text(self, message):
        return message.content.parts[0].text

    def extra(self, message):
        part = message.content.parts[-1]
        return (part.function_call.args if part.function_call else
                part.model_dump(exclude_none=True).get("hologram"))


class OpenAI(Peer):
    PACKAGE = "openai-agents"
    MODULES = ("agents.memory.sqlite_session",)
    SETTINGS = OWN_SETTINGS = "WAL, synchronous=FULL: one sync a turn"

    def open(self):
        self.sessions = {}

    def session(self, session):
        if session not in self.sessions:
            from agents.memory.sqlite_session import SQLiteSession
            self.sessions[session] = SQLiteSession(
                session, os.path.join(self.folder, "sessions.db"))
        return self.sessions[session]

    def make(self, role, text, extra=None, unknown=False):
        content = ([{"type": "input_text", "text": text}, HOLOGRAM] if unknown
                   else text)
        item = {"role": role, "content": content}
        return {**item, "arguments": extra} if extra else item

    async def append(self, session, messages):
        await self.session(session).add_items(messages)

    async def reload(self, session):
        await self.session(session).get_items()

    async def load(self, session, last=None):
        return await self.session(session).get_items(limit=last)

    def text(self, message):
        content = message["content"]
        return content if isinstance(content, str) else content[0]["text"]

    def extra(self, message):
        return message.get("arguments") or message["content"][-1]

    def close(self):
        for session in self.sessions.values():
            session.close()


PEERS = {"langgraph": LangGraph, "langgraph-delta": LangGraphDelta,
         "agent-framework": AgentFramework,
         "agent-framework-history": AgentFrameworkHistory, "adk": Adk,
         "openai": OpenAI}
