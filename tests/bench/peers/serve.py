"""The other side of bench-store-peers: a server on stdin and stdout.

    serve.py NAME FOLDER own|synced TEXTS

Says its version and its settings first, a line each. Then each line that comes
in is one piece of work, and one line goes out when it is done:

    grow SESSIONS TURNS   so many turns on each of the sessions    done
    turn                  the next turn of the first session       nanoseconds
    many SESSIONS TURNS   the same on all sessions at once         nanoseconds
    read                  its last 20 messages               ns, text bytes
    count                 all its messages                   number, text bytes
    close                 close the store                    bytes of the folder

TEXTS has two lines a turn, the entries that our side writes; the text in them
is what is stored here.
"""
import asyncio
import concurrent.futures
import json
import sys
import time

import peers

LAST = 20


class Server:
    def __init__(self, name, folder, mode, texts):
        self.loop = asyncio.new_event_loop()
        self.peer = peers.PEERS[name](folder, own=mode == "own")
        with open(texts, encoding="utf-8") as file:
            entries = [json.loads(line) for line in file]
        self.texts = [entry["messages"][0]["contents"][0]["text"]
                      for entry in entries]
        self.turns = {}  # of each session
        self.pool = None

    def messages(self, number):
        """Those of the next turn of a session, made before the clock runs."""
        turn = self.turns.get(number, 0)
        self.turns[number] = turn + 1
        at = 2 * (turn + 7 * number) % len(self.texts)
        return [self.peer.make("user", self.texts[at]),
                self.peer.make("assistant", self.texts[at + 1])]

    def wait(self, work):
        return self.loop.run_until_complete(work)

    def append(self, number):
        messages = self.messages(number)
        begin = time.perf_counter_ns()
        self.wait(self.peer.append(f"session-{number}", messages))
        return time.perf_counter_ns() - begin

    def grow(self, sessions, turns):
        for _ in range(turns):
            for number in range(sessions):
                self.append(number)
        return "done"

    def many(self, sessions, turns):
        """Each session goes on by itself, turn by turn."""
        work = [(f"session-{n}", [self.messages(n) for _ in range(turns)])
                for n in range(sessions)]
        self.peer.many = True
        if self.peer.THREADS and self.pool is None:
            self.pool = concurrent.futures.ThreadPoolExecutor(sessions)
        begin = time.perf_counter_ns()
        if self.peer.THREADS:
            list(self.pool.map(self.go_on, work))
        else:
            self.wait(self.go_on_together(work))
        return time.perf_counter_ns() - begin

    def go_on(self, work):
        for messages in work[1]:
            self.peer.append_now(work[0], messages)

    async def go_on_together(self, work):
        async def one(session, turns):
            for messages in turns:
                await self.peer.append(session, messages)
        await asyncio.gather(*(one(*each) for each in work))

    def load(self, last):
        begin = time.perf_counter_ns()
        found = self.wait(self.peer.load("session-0", last))
        taken = time.perf_counter_ns() - begin
        size = sum(len(self.peer.text(m).encode()) for m in found)
        return taken, len(found), size

    def answer(self, work, *numbers):
        if work == "turn":
            return self.append(0)
        if work == "read":
            taken, _, size = self.load(LAST)
            return f"{taken} {size}"
        if work == "count":
            _, count, size = self.load(None)
            return f"{count} {size}"
        if work == "close":
            self.peer.close()
            return peers.folder_bytes(self.peer.folder)
        return {"grow": self.grow, "many": self.many}[work](*numbers)


def main():
    name, folder, mode, texts = sys.argv[1:]
    server = Server(name, folder, mode, texts)
    kind = peers.PEERS[name]
    print(peers.version_of(kind.PACKAGE), flush=True)
    print(kind.OWN_SETTINGS if mode == "own" else kind.SETTINGS, flush=True)
    for line in sys.stdin:
        work, *numbers = line.split()
        print(server.answer(work, *map(int, numbers)), flush=True)


if __name__ == "__main__":
    main()
