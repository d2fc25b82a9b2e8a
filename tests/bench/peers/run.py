"""The other side of bench-agent-framework and bench-agent-openai: a server on
stdin and stdout.

    run.py NAME FOLDER TEXTS

TEXTS has a line for each message of a conversation; the last two are what a run
asks and what its model answers at once. FOLDER is a place for files. Says its
version and its settings first, a line each. Then each line that comes in is one
piece of work, and one line goes out:

    begin N    a session with the first N messages              done
    run        one run on it; then it is as it was before
    stream N   the same, and the answer comes in N pieces

Of a run: nanoseconds it took, nanoseconds on the core, then messages and bytes of
their text: sent to the model, in the session after the run, in the answer.

Each library is used as its documentation shows, with a model of our own that
costs next to nothing. The history is what its own runs would have left. Models
give ids to what they say: Agent Framework is faster with them.
"""
import asyncio
import os
import shutil
import sys
import time

import peers


def sums(texts):
    return len(texts), sum(len(text.encode()) for text in texts)


class AgentFramework:
    """Agent.run() with the history in the memory of the session."""

    PACKAGE = "agent-framework-core"
    SETTINGS = ("Agent, InMemoryHistoryProvider, client with the layers of its "
                "own clients, message ids")

    def __init__(self, folder, texts):
        import agent_framework as af
        from agent_framework.observability import ChatTelemetryLayer
        self.af, self.texts, self.ids = af, texts, 0

        class Client(af.FunctionInvocationLayer, af.ChatMiddlewareLayer,
                     ChatTelemetryLayer, af.BaseChatClient):
            def _inner_get_response(client, *, messages, stream, options,
                                    **kwargs):
                self.sent = messages
                if stream:
                    return client._build_response_stream(self.pieces())
                return self.answer()

        self.agent = af.Agent(client=Client(), name="clerk",
                              instructions="You are a helpful clerk.")

    def message(self, number, text):
        if number % 2 == 0:
            return self.af.Message("user", [text])
        return self.af.Message("assistant", [text], author_name="clerk",
                               message_id=f"message-{number}")

    def next_id(self):
        self.ids += 1
        return f"answer-{self.ids}"

    async def answer(self):
        return self.af.ChatResponse(messages=[self.af.Message(
            "assistant", [self.texts[-1]], message_id=self.next_id())])

    async def pieces(self):
        name = self.next_id()
        for number in range(self.count):
            yield self.af.ChatResponseUpdate(
                role="assistant", message_id=name,
                contents=[self.af.Content.from_text(f"piece {number} ")])

    async def begin(self, count):
        self.history = [self.message(number, text) for number, text in
                        enumerate(self.texts[:count])]
        self.session = self.agent.create_session()
        await self.restore()

    async def restore(self):
        self.session.state["in_memory"] = {"messages": list(self.history)}

    async def run(self):
        return await self.agent.run(self.texts[-2], session=self.session)

    async def stream(self, count):
        self.count = count
        stream = self.agent.run(self.texts[-2], session=self.session,
                                stream=True)
        heard = 0
        async for _ in stream:
            heard += 1
        if heard < count:
            raise SystemExit(f"run: {heard} pieces of {count}")
        return await stream.get_final_response()

    async def stored_texts(self):
        return [m.text for m in self.session.state["in_memory"]["messages"]]

    def sent_texts(self):
        return [message.text for message in self.sent]

    def answer_text(self, result):
        return result.text


class OpenAI:
    """Runner.run() with the history in a SQLite file."""

    PACKAGE = "openai-agents"
    SETTINGS = "Runner, SQLiteSession in a file: WAL, synchronous=FULL; no trace"

    def __init__(self, folder, texts):
        import agents
        from openai.types.responses import (ResponseOutputMessage,
                                            ResponseOutputText)
        self.agents, self.texts, self.ids, self.session = agents, texts, 0, None
        self.path = os.path.join(folder, "sessions.db")

        class Instant(agents.Model):
            async def get_response(model, system_instructions, input, *args,
                                   **kwargs):
                self.sent, self.ids = input, self.ids + 1
                text = ResponseOutputText(type="output_text", annotations=[],
                                          text=texts[-1])
                return agents.ModelResponse(
                    output=[ResponseOutputMessage(
                        id=f"answer-{self.ids}", type="message",
                        role="assistant", status="completed", content=[text])],
                    usage=agents.Usage(), response_id=None)

            def stream_response(model, *args, **kwargs):
                raise NotImplementedError

        self.agent = agents.Agent(name="clerk", model=Instant(),
                                  instructions="You are a helpful clerk.")

    def message(self, number, text):
        if number % 2 == 0:
            return {"content": text, "role": "user"}
        content = {"annotations": [], "text": text, "type": "output_text"}
        return {"id": f"message-{number}", "content": [content],
                "role": "assistant", "status": "completed", "type": "message"}

    async def begin(self, count):
        if self.session is not None:
            self.session.close()
        self.session = self.agents.SQLiteSession(f"session-{count}", self.path)
        await self.session.add_items([
            self.message(number, text) for number, text in
            enumerate(self.texts[:count])])

    async def restore(self):
        for _ in range(2):
            await self.session.pop_item()

    async def run(self):
        return await self.agents.Runner.run(self.agent, self.texts[-2],
                                            session=self.session)

    async def stored_texts(self):
        return list(map(self.text, await self.session.get_items()))

    def sent_texts(self):
        return list(map(self.text, self.sent))

    @staticmethod
    def text(item):
        content = item["content"]
        return content if isinstance(content, str) else content[0]["text"]

    def answer_text(self, result):
        return result.final_output


AGENTS = {"agent-framework": AgentFramework, "openai-agents": OpenAI}


async def timed(side, work, numbers):
    used, begin = time.process_time_ns(), time.perf_counter_ns()
    result = await getattr(side, work)(*numbers)
    taken = time.perf_counter_ns() - begin
    used = time.process_time_ns() - used
    found = (*sums(side.sent_texts()), *sums(await side.stored_texts()),
             *sums([side.answer_text(result)]))
    await side.restore()
    return " ".join(map(str, (taken, used, *found)))


def main():
    name, folder, texts = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    with open(texts, encoding="utf-8") as file:
        side = AGENTS[name](folder, file.read().split("\n")[:-1])
    print(peers.version_of(side.PACKAGE), flush=True)
    print(side.SETTINGS, flush=True)
    loop = asyncio.new_event_loop()
    for line in sys.stdin:
        work, *words = line.split()
        numbers = list(map(int, words))
        if work == "begin":
            loop.run_until_complete(side.begin(*numbers))
            print("done", flush=True)
        else:
            print(loop.run_until_complete(timed(side, work, numbers)),
                  flush=True)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
