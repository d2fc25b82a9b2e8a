"""What do the stores of agent libraries lose, and what do they say of it?

    probes.py [--only NAME] STORE-PROBE FOLDER

The same probes on six stores of other libraries (peers.py) as they come, and on
ours (STORE-PROBE, store_probe.c). Everything happens in folders of FOLDER, which
are removed, and nothing on a network. Prints a line of JSON a store, then the
tables of docs/benchmarks.md. Nothing passes or fails: figures are as they came.

Two writers   Two processes make 500 turns each on one session. A turn reads the
              session, then appends a request and its response. One that is
              refused is tried again, up to 1,000 times. Then all is read.
One bit       A session of 50 turns in a store that was closed; one bit of its
              files flips, chosen by a seed over all bytes. A fresh process
              reads. 200 times.
Kills         A writer is killed some milliseconds after it acknowledged a turn,
              30 times, on one session. A fresh process reads. One that cannot
              be read any more is put aside.
Odd values    A turn whose response has one. A fresh process reads.

A fresh process is a fork of one that has imported the library and nothing else.
"""
import argparse
import asyncio
import importlib
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import peers

SESSION = "session-0"
TRIES = 1000
TURNS = 500
DAMAGED_TURNS = 50
FLIPS = 200
KILLS = 30
ENDLESS = 1000000
LIMIT = 900  # seconds that a process may take
WORDS = "the session keeps what both of them said, in order, and " * 40
REST = {"request": WORDS[:580], "response": WORDS[:1580]}
ROLES = {"request": "user", "response": "assistant"}
ODD = {"U+0000": {"text": "a\0b"}, "lone surrogate": {"text": "a\ud800b"},
       "2^70": {"extra": {"n": 2 ** 70}}, "NaN": {"extra": {"n": math.nan}},
       "unknown content": {"unknown": True}}


def text_of(tag, turn, kind):
    return f"{tag} {turn} {kind} {REST[kind]}"


class Child:
    """A process whose lines are read, and which can be killed."""

    def __init__(self, pid, lines, wait):
        self.pid, self.lines, self.wait = pid, lines, wait

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)

    def end(self):
        """The rest of its lines."""
        rest = self.lines.read().decode("utf-8", "surrogatepass").splitlines()
        self.lines.close()
        self.wait()
        return rest


class TheirSide:
    """A library of peers.py; each call is a fork that goes away."""

    def __init__(self, name):
        self.kind = peers.PEERS[name]
        for module in self.kind.MODULES:
            importlib.import_module(module)

    def start(self, work, folder, *args):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            signal.alarm(LIMIT)
            self.run(write, work, folder, *args)
        os.close(write)
        return Child(pid, os.fdopen(read, "rb"),
                     lambda: os.waitpid(pid, 0))

    def run(self, write, work, folder, *args):
        """In the child: does not return."""
        def say(line):
            os.write(write, (line + "\n").encode("utf-8", "surrogatepass"))
        sys.stderr = open(os.devnull, "w")
        os.dup2(sys.stderr.fileno(), 2)
        try:
            peer = self.kind(folder, own=True)
            asyncio.run(getattr(self, work)(peer, say, *args))
            peer.close()
        except Exception as error:
            say(f"error {type(error).__name__}: {error}"[:200].split("\n")[0])
        finally:
            os._exit(0)

    async def write(self, peer, say, tag, turns):
        for turn in range(turns):
            for _ in range(TRIES):
                try:
                    await peer.reload(SESSION)
                    await peer.append(SESSION, [
                        peer.make(role, text_of(tag, turn, kind))
                        for kind, role in ROLES.items()])
                    say(f"ok {turn}")
                    break
                except Exception as error:
                    say(f"refused {turn} {type(error).__name__}")

    async def read(self, peer, say):
        say(json.dumps([peer.text(message)
                        for message in await peer.load(SESSION)]))

    async def put(self, peer, say, odd):
        await peer.reload(SESSION)
        await peer.append(SESSION, [
            peer.make("user", "odd"),
            peer.make("assistant", odd.get("text", "odd"), odd.get("extra"),
                      odd.get("unknown", False))])
        say("ok 0")

    async def get(self, peer, say, odd):
        found = await peer.load(SESSION)
        if len(found) != 2:
            say(json.dumps({"messages": len(found)}))
        elif "text" in odd:
            say(json.dumps({"text": peer.text(found[1])}))
        else:
            say(json.dumps({"extra": peer.extra(found[1])}, default=repr))


class OurSide:
    """The same by the program that was given."""

    def __init__(self, program):
        self.program = program

    def spawn(self, *words):
        child = subprocess.Popen([self.program, *words],
                                 stdout=subprocess.PIPE)
        # Whoever lets go of a Popen leaves the waiting to another one.
        return Child(child.pid, child.stdout, child.wait)

    def start(self, work, folder, *args):
        os.makedirs(folder, exist_ok=True)
        file = os.path.join(folder, "store.db")
        if work == "write":
            return self.spawn("write", file, args[0], str(args[1]),
                              REST["request"], REST["response"])
        if work == "put":
            return self.spawn("put", file, json.dumps(self.body(args[0])))
        return Read(self.spawn("read", file), args[0] if args else None)

    def body(self, odd):
        contents = [{"text": odd.get("text", "odd")}]
        if "extra" in odd:
            contents.append({"$type": "functionCall", "name": "f",
                             "arguments": odd["extra"]})
        if odd.get("unknown"):
            contents.append(peers.HOLOGRAM)
        return {"$type": "response", "messages": [{"contents": contents}]}


class Read:
    """What our reader prints, as the other side has it."""

    def __init__(self, child, odd):
        self.child, self.odd = child, odd

    def end(self):
        lines = self.child.end()
        if not lines or lines[0].startswith("error"):
            return lines
        entries = [entry["messages"][0]["contents"]
                   for entry in json.loads(lines[0])]
        if self.odd is None:
            return [json.dumps([each[0]["text"] for each in entries])]
        if len(entries) != 2:
            return [json.dumps({"messages": len(entries)})]
        last = entries[1][-1]
        return [json.dumps({"text": last["text"]} if "text" in self.odd else
                           {"extra": last.get("arguments", last)})]


def read_all(side, folder):
    """Texts of the session; or None, and why it cannot be read."""
    lines = side.start("read", folder).end()
    if not lines:
        return None, "the reader died"
    if lines[0].startswith("error"):
        return None, lines[0][6:]
    return json.loads(lines[0]), ""


# --- the probes -----------------------------------------------------------


def judge(texts, acknowledged):
    """What became of turns: those found, and those that were acknowledged."""
    places = {}
    for place, text in enumerate(texts):
        tag, turn, kind = text.split(" ")[:3]
        places.setdefault((tag, int(turn)), {}).setdefault(
            kind, []).append(place)
    count = {"gone": sum(turn not in places for turn in acknowledged),
             "half": 0, "doubled": 0, "interleaved": 0}
    for kinds in places.values():
        if len(kinds) < 2:
            count["half"] += 1
        elif any(len(found) > 1 for found in kinds.values()):
            count["doubled"] += 1
        elif kinds["response"][0] != kinds["request"][0] + 1:
            count["interleaved"] += 1
    return count


def words_of(lines, word):
    return [line.split(" ") for line in lines if line.startswith(word + " ")]


def two_writers(side, folder):
    side.start("write", folder, "first", 1).end()
    writers = {tag: side.start("write", folder, tag, TURNS)
               for tag in ("a", "b")}
    acknowledged, refused, reasons = [("first", 0)], 0, set()
    for tag, writer in writers.items():
        lines = writer.end()
        acknowledged += [(tag, int(turn)) for _, turn in words_of(lines, "ok")]
        refusals = words_of(lines, "refused")
        refused += len(refusals)
        reasons |= {why for _, _, why, *_ in refusals}
    texts, error = read_all(side, folder)
    result = {"acknowledged": len(acknowledged) - 1, "refused": refused,
              "reasons": sorted(reasons)}
    if texts is None:
        return {**result, "unreadable": error}
    return {**result, **judge(texts, acknowledged)}


def flip(folder, number):
    """Flip a bit somewhere in the files of a folder; which file it was."""
    chooser = random.Random(number)
    files = sorted(os.path.join(root, name)
                   for root, _, names in os.walk(folder) for name in names)
    at = chooser.randrange(sum(map(os.path.getsize, files)))
    for path in files:
        if at < os.path.getsize(path):
            break
        at -= os.path.getsize(path)
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0] ^ 1 << chooser.randrange(8)
        file.seek(at)
        file.write(bytes([byte]))


def one_bit(side, folder):
    whole, damaged = folder + "-whole", folder + "-damaged"
    side.start("write", whole, "a", DAMAGED_TURNS).end()
    wanted = [text_of("a", turn, kind) for turn in range(DAMAGED_TURNS)
              for kind in REST]
    texts, error = read_all(side, whole)
    if texts != wanted:
        raise SystemExit(f"probes: the session is wrong already: {error}")
    count = {"found": 0, "wrong": 0, "right": 0}
    for number in range(FLIPS):
        shutil.copytree(whole, damaged)
        flip(damaged, number)
        try:
            texts, _ = read_all(side, damaged)
        except ValueError:  # not even JSON, and nobody said so
            texts = []
        count["found" if texts is None else
              "right" if texts == wanted else "wrong"] += 1
        shutil.rmtree(damaged)
    return count


def kills(side, folder):
    chooser = random.Random(30)
    acknowledged, at, aside = [], folder, 0
    total = {"kills": 0, "acknowledged": 0, "gone": 0, "half": 0,
             "doubled": 0, "unreadable": 0}
    for number in range(KILLS):
        tag = f"k{number}"
        child = side.start("write", at, tag, ENDLESS)
        first = child.lines.readline().decode()
        time.sleep(chooser.uniform(0.002, 0.08))
        child.kill()
        turns = words_of([first.strip()] + child.end(), "ok")
        acknowledged += [(tag, int(turn)) for _, turn in turns]
        total["kills"] += 1
        texts, _ = read_all(side, at)
        if texts is None:  # go on with a new one
            total["unreadable"] += 1
            total["acknowledged"] += len(acknowledged)
            acknowledged, aside = [], aside + 1
            at = f"{folder}-{aside}"
    texts, _ = read_all(side, at)
    if texts is not None:
        for key, value in judge(texts, acknowledged).items():
            if key in total:
                total[key] += value
    total["acknowledged"] += len(acknowledged)
    return total


def outcome(side, folder, odd):
    written = side.start("put", folder, odd).end()
    read = side.start("get", folder, odd).end()
    if not written or not written[0].startswith("ok"):
        why = (written or ["error died"])[0].split(" ")[1].strip(":")
        after = json.loads(read[0]) if read and read[0][:1] == "{" else None
        left = (", and the session cannot be read" if after is None else
                ", half a turn stays" if after.get("messages") == 1 else "")
        return f"refused ({why}){left}"
    if not read or read[0].startswith("error"):
        why = (read or ["error died"])[0].split(" ")[1].strip(":")
        return f"stored, cannot be read ({why})"
    found = json.loads(read[0])
    if "messages" in found:
        return f"stored, {found['messages']} messages come back"
    value = found.get("text", found.get("extra"))
    wanted = (odd.get("text") or odd.get("extra") or peers.HOLOGRAM)
    # NaN is not equal to itself; its text is.
    if json.dumps(value, sort_keys=True) == json.dumps(wanted, sort_keys=True):
        return "kept"
    return "changed to " + json.dumps(value)[:60]


def probe(side, folder):
    return {"two": two_writers(side, os.path.join(folder, "two")),
            "bit": one_bit(side, os.path.join(folder, "bit")),
            "kill": kills(side, os.path.join(folder, "kill")),
            "odd": {name: outcome(side, os.path.join(folder, f"odd{number}"),
                                  odd)
                    for number, (name, odd) in enumerate(ODD.items())}}


# --- tables ---------------------------------------------------------------


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def table(rows, title, keys, heads):
    print()
    row(title, *heads)
    row(*["---"] * (len(heads) + 1))
    for name, found in rows.items():
        row(name, *(found.get(key, "-") for key in keys))


def tables(results):
    def part(name):
        return {who: found[name] for who, found in results.items()}
    table(part("two"), "Two writers", (
        "acknowledged", "gone", "half", "doubled", "interleaved", "refused"),
        ("acknowledged", "gone", "half", "doubled", "interleaved", "refused"))
    table(part("bit"), "One bit", ("found", "wrong", "right"),
          ("found", "silently wrong", "not touched"))
    table(part("kill"), "30 kills", (
        "acknowledged", "gone", "half", "doubled", "unreadable"),
        ("acknowledged", "lost", "half turns", "doubled", "unreadable"))
    table(part("odd"), "Odd values", ODD, ODD)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", help="this store alone")
    parser.add_argument("program")
    parser.add_argument("folder")
    args = parser.parse_args()
    names = ["ours", *peers.PEERS]
    if args.only is None:
        results = {}
        for name in names:  # each in a process of its own
            done = subprocess.run(
                [sys.executable, __file__, "--only", name, args.program,
                 args.folder], stdout=subprocess.PIPE, text=True, check=True)
            print(done.stdout, end="", flush=True)
            results[name] = json.loads(done.stdout)["probes"]
        tables(results)
        return
    side = OurSide(args.program) if args.only == "ours" else TheirSide(
        args.only)
    place = os.path.join(args.folder, "probes-" + args.only)
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    print(json.dumps({"store": args.only, "probes": probe(side, place)}))
    shutil.rmtree(place)


if __name__ == "__main__":
    main()
