"""The other side of bench-chat-group: a server on stdin and stdout.

    group.py FOLDER TEXTS

TEXTS has a line for each message of a conversation; the last one is what each
model answers at once. FOLDER is a place for checkpoints. Says its version and its
settings first, a line each. Then each line that comes in is one piece of work, and
one line goes out:

    chat N     a new group chat that has N messages when the turns begin that are
               measured: N - 8 that are its input, and two answers of each agent;
               after these it costs what one that grew by turns does. Then four
               turns, and one whose model fails
    restore    a new group chat, from the last checkpoint of the one before: until
               a model is called. Then that one fails, too

Of a chat: nanoseconds a turn, bytes of checkpoints that a turn wrote, and messages
and bytes of text that the last model was sent. Of a restore: nanoseconds, and the
same of the model.

Four agents speak one after the other, chosen by a function, as the package's own
documents show, with FileCheckpointStorage. A turn lasts from one call of a model to
the next. The model gives its answers ids and times, without which the package is
slower. That it fails stands for a process that ends while a model thinks: there is
a checkpoint from before, which can go on. Its id is known; to look for the latest
one, the package would read all of them.
"""
import asyncio
import datetime
import logging
import os
import shutil
import sys
import time

import agent_framework as af
from agent_framework.observability import ChatTelemetryLayer
from agent_framework_orchestrations import GroupChatBuilder

import peers

NAMES = ("baker", "clerk", "guide", "judge")
SETTINGS = ("GroupChatBuilder with a selection function, 4 agents, "
            "FileCheckpointStorage: a file each superstep, no sync")


class Ended(Exception):
    """What the model says that fails."""


class Instant(af.FunctionInvocationLayer, af.ChatMiddlewareLayer,
              ChatTelemetryLayer, af.BaseChatClient):
    """A model that answers at once, and fails when it has done so often enough.
    Notes when it was called, and how many bytes of checkpoints there were."""

    text, folder = "", ""
    left, calls, sent = 0, [], ()

    def _inner_get_response(self, *, messages, stream, options, **kwargs):
        now = time.perf_counter_ns()
        Instant.calls.append((now, peers.folder_bytes(Instant.folder)))
        Instant.sent = messages
        Instant.left -= 1
        if Instant.left < 0:
            raise Ended
        return self.answer()

    async def answer(self):
        now = datetime.datetime.now(datetime.timezone.utc).isoformat()
        name = f"answer-{len(Instant.calls)}-{time.perf_counter_ns()}"
        return af.ChatResponse(created_at=now, messages=[
            af.Message("assistant", [self.text], message_id=name)])


def one_after_the_other(state):
    return NAMES[state.current_round % len(NAMES)]


class Group:
    def __init__(self, folder, texts):
        self.folder, self.texts = folder, texts[:-1]
        Instant.text, Instant.folder = texts[-1], folder

    def build(self):
        """The group, and where its checkpoints are."""
        storage = af.FileCheckpointStorage(self.folder)
        return GroupChatBuilder(
            name="desk", selection_func=one_after_the_other, max_rounds=99,
            checkpoint_storage=storage,
            participants=[af.Agent(client=Instant(), name=name,
                                   instructions="You are a helpful clerk.")
                          for name in NAMES]).build()

    async def run(self, turns, **what):
        """Let `turns` agents speak, until a model fails."""
        Instant.left, Instant.calls = turns, []
        workflow = self.build()
        begin = time.perf_counter_ns()
        try:
            await workflow.run(**what)
        except Ended:
            return begin
        raise SystemExit("group: the chat came to an end")

    def sent(self):
        texts = [message.text for message in Instant.sent]
        return f"{len(texts)} {sum(len(text.encode()) for text in texts)}"

    async def chat(self, messages):
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        turns = len(NAMES)
        warm = 2 * turns
        await self.run(warm + turns, message=[
            af.Message("user", [text]) for text in self.texts[:messages - warm]])
        (begin, before), (end, after) = Instant.calls[warm], Instant.calls[-1]
        # one before anything runs, and one for each superstep: two a turn
        found = len(os.listdir(self.folder))
        if found != 2 + 2 * (warm + turns):
            raise SystemExit(f"group: {found} checkpoints")
        return f"{(end - begin) // turns} {(after - before) // turns} " + \
            self.sent()

    async def restore(self):
        last = max((entry.stat().st_mtime_ns, entry.name)
                   for entry in os.scandir(self.folder))[1]
        begin = await self.run(0, checkpoint_id=last.removesuffix(".json"))
        return f"{Instant.calls[0][0] - begin} " + self.sent()


def main():
    logging.disable(logging.ERROR)
    folder, texts = sys.argv[1:]
    with open(texts, encoding="utf-8") as file:
        group = Group(folder, file.read().split("\n")[:-1])
    print(peers.version_of("agent-framework-orchestrations"), flush=True)
    print(SETTINGS, flush=True)
    loop = asyncio.new_event_loop()
    for line in sys.stdin:
        work, *words = line.split()
        print(loop.run_until_complete(getattr(group, work)(*map(int, words))),
              flush=True)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
