"""The other side of bench-engine-durabletask: a server on stdin and stdout.

    durable.py TEXTS

TEXTS has a line for each message of a conversation; the last two are what a run
asks and what its model answers at once. Says its version and its settings first,
a line each. Then each line that comes in is one piece of work, and one line goes
out:

    grow N    a new session, and N turns on it         done
    turn      the next turn of the last session

Of a turn: nanoseconds it took, and messages that the model was sent.

Agents are hosted as the package's own documents show, on the backend in memory of
`durabletask`, which stores nothing; in one process, so that nothing crosses a
border but gRPC. The client of the package polls: once a second by default, here
as often as is best for it. The model gives its answers ids and times, without
which the package is slower.
"""
import datetime
import logging
import socket
import sys
import time

import agent_framework as af
from agent_framework.observability import ChatTelemetryLayer
from agent_framework_durabletask import (DurableAIAgentClient,
                                         DurableAIAgentWorker)
from durabletask.client import TaskHubGrpcClient
from durabletask.testing import create_test_backend
from durabletask.worker import TaskHubGrpcWorker

import peers

SETTINGS = "DurableAIAgentWorker, in-memory backend, polled every 1 or 20 ms"
LONG = 100  # turns of a session whose state takes longer to poll than to wait


class Instant(af.FunctionInvocationLayer, af.ChatMiddlewareLayer,
              ChatTelemetryLayer, af.BaseChatClient):
    """A model that answers at once."""

    ids = sent = 0
    text = ""

    def _inner_get_response(self, *, messages, stream, options, **kwargs):
        Instant.sent, Instant.ids = len(messages), self.ids + 1
        about = {"message_id": f"answer-{self.ids}"}
        if stream:
            return self._build_response_stream(self.pieces(about))
        return self.answer(about)

    @staticmethod
    def now():
        return datetime.datetime.now(datetime.timezone.utc).isoformat()

    async def pieces(self, about):
        yield af.ChatResponseUpdate(
            role="assistant", created_at=self.now(), **about,
            contents=[af.Content.from_text(self.text)])

    async def answer(self, about):
        return af.ChatResponse(created_at=self.now(), messages=[
            af.Message("assistant", [self.text], **about)])


def free_port():
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


class Host:
    def __init__(self, texts):
        self.question, Instant.text = texts[-2:]
        port = free_port()
        address = f"localhost:{port}"
        self.backend = create_test_backend(port=port)
        self.worker = TaskHubGrpcWorker(host_address=address)
        DurableAIAgentWorker(self.worker).add_agent(af.Agent(
            client=Instant(), name="clerk",
            instructions="You are a helpful clerk."))
        self.worker.start()
        client = TaskHubGrpcClient(host_address=address)
        self.often, self.seldom = (
            DurableAIAgentClient(client, max_poll_retries=10**6,
                                 poll_interval_seconds=seconds).get_agent(
                                     "clerk") for seconds in (0.001, 0.02))

    def grow(self, turns):
        self.turns = 0
        self.session = self.often.create_session()
        for _ in range(turns):
            self.turn()
        return "done"

    def turn(self):
        agent = self.often if self.turns < LONG else self.seldom
        begin = time.perf_counter_ns()
        answer = agent.run(self.question, session=self.session)
        taken = time.perf_counter_ns() - begin
        self.turns += 1
        if answer.text != Instant.text:
            raise SystemExit(f"durable: the answer is {answer.text[:80]!r}")
        return f"{taken} {Instant.sent}"

    def close(self):
        self.worker.stop()
        self.backend.stop()


def main():
    logging.disable(logging.WARNING)
    with open(sys.argv[1], encoding="utf-8") as file:
        host = Host(file.read().split("\n")[:-1])
    print(peers.version_of("agent-framework-durabletask"), flush=True)
    print(SETTINGS, flush=True)
    for line in sys.stdin:
        work, *words = line.split()
        print(getattr(host, work)(*map(int, words)), flush=True)
    host.close()


if __name__ == "__main__":
    main()
