"""What we say that other readers do with a document, against what they do.

Some thousand documents, made from the corpus by small changes with a fixed
seed, go through the client's reader and through a run of the real entity; only
the agent and the store are ours. What .NET lost was recorded when its code ran.
Usage: TEST COMPAT-TOOL
"""
import asyncio
import json
import logging
import pathlib
import random
import subprocess
import sys
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import record  # noqa: E402
import rules  # noqa: E402
from agent_framework import AgentResponse, Content, Message  # noqa: E402
from agent_framework_durabletask._durable_agent_state import (  # noqa: E402
    DurableAgentState)
from agent_framework_durabletask._entities import (  # noqa: E402
    AgentEntity, AgentEntityStateProviderMixin)
from durabletask.internal.entity_state_shim import StateShim  # noqa: E402
from durabletask.serialization import JsonDataConverter  # noqa: E402

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
tests = record.Tests("interop-compat")
TOOL = sys.argv[1]
SEED = 20261116
MADE = 4000
REQUEST = {"message": "hi", "correlationId": "run-1",
           "created_at": "2026-02-03T08:15:00+00:00"}


# --- the real thing --------------------------------------------------------

class Provider(AgentEntityStateProviderMixin):
    """Keeps the state as the worker does: as text, in the shim of the SDK."""

    def __init__(self, text):
        # The worker gets no state where the text is empty.
        self.shim = StateShim(text or None, JsonDataConverter(),
                              is_serialized=True)

    def _get_state_dict(self):
        return self.shim.get_state(dict, default={})

    def _set_state_dict(self, state):
        self.shim.set_state(state)

    def _get_session_id_from_entity(self):
        return "k"


class Agent:
    name = "Tester"

    def run(self, messages=None, stream=False, **_):
        if stream:
            raise TypeError("stream")
        return AgentResponse(messages=[
            Message("assistant", [Content.from_text("ok")])])


def really_loads(text):
    try:
        DurableAgentState.from_json(text)
        return True
    except Exception:
        return False


def really_runs(text):
    """The state after one turn, or None if the turn failed."""
    provider = Provider(text)
    try:
        response = asyncio.run(
            AgentEntity(Agent(), state_provider=provider).run(dict(REQUEST)))
    except Exception:
        return None
    if any(content.type == "error" for message in response.messages
           for content in message.contents):
        return None
    return provider.shim.encode_state()


# --- ours ------------------------------------------------------------------

def ask(documents, reader="python"):
    lines = "".join(json.dumps({"reader": reader, "doc": text}) + "\n"
                    for text in documents)
    result = subprocess.run([TOOL], input=lines.encode(), check=True,
                            stdout=subprocess.PIPE)
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(answers) == len(documents)
    return answers


# --- documents -------------------------------------------------------------

def corpus():
    found = []
    for folder in ("dotnet", "python"):
        for path in sorted((ROOT / "tests/data" / folder / "durable").glob(
                "[012]*.json")):
            text = path.read_text(encoding="utf-8")
            if len(text) < 20000:
                found.append(text)
    lines = (ROOT / "tests/data/dotnet/durable/90-verdicts.jsonl").read_text(
        encoding="utf-8").splitlines()
    return found, [json.loads(line) for line in lines]


DOCUMENTS, VERDICTS = corpus()
DATES = [
    "2026-02-03T08:15:00Z", "2026-02-03", "2026-02-03T08:15",
    "2026-02-03T08:15:00.1234567+01:00", "2026-02-03t08:15:00z",
    "2026-02-03 08:15:00.5", "2026-02-03T08:15:00+0530",
    "2026-02-03T08:15:00+05", "2026-02-03T08:15:00.100000+00:00",
    "2026-02-03T08:15:00.1000000+00:00", "2026-02-03T08:15:60Z",
    "2026-02-03T24:00:00Z", "2026-02-30T00:00:00Z", "yesterday",
    "Nov 4 2025", "1767225600", "1767225600000", "20260203081500",
    "202602030815", "2026-02-03T08:15:00+24:00", "2026-02-03T08:15:00-2400",
    "2026-02-03T08:15:00+23:59", "2026-02-03T08:15:00-00:00",
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.9999999Z", "10",
    "99999999999", "03/02/2026", "2026-02-03T08:15:00.Z",
    "2026-02-03T08:15:00.000000+00:00", "2026-02-03T08:15:00.123456",
    "-1767225600000", "1767225600000.25", "1767225600000ms", "1767225600.5",
    "2026-02-03 08:15 +24:00", "2026-02-03T08:15:00+23:60",
    "2026-02-03T08:15:00-24", "2026-02-03-24", "2026-02-03T08:15:00+14:01",
    "Tue, 03 Feb 2026 08:15:00 GMT", "/Date(1767225600000)/",
    "1767225600123456789", "2147483647", "2147483648",
]
URIS = ["data:,x", "data:text/plain;base64,SGk=", "data:x", "rel/path",
        "data:text/plain;base64;charset=utf-8,SGk=", "data:;x,y", "a:b",
        "https://e.org/a", "DATA:x", "data:;;,", ":"]
NUMBERS = ["0", "-0", "5", "1.10", "1.1", "1e400", "-1e400", "1e5", "-0.0",
           "12345678901234567890.10", "12345678901234567890",
           "9007199254740993.0", "1E+2", "100.0", "1e-400", "NaN", "Infinity",
           "-Infinity", "1e16", "1e+16", "0.0001", "1e-05", "0.00001"]
NAMES = ["extensionData", "json_type", "$type", "content", "usage", "uri",
         "__durabletask_autoobject__", "x", "createdAt", "type", "text",
         "messages", "contents", "conversationHistory", "data", "authorName",
         "schemaVersion", "callId", "$id", "mediaType", "responseType"]
TYPES = ["text", "reasoning", "data", "uri", "error", "functionCall",
         "functionResult", "hostedFile", "hostedVectorStore", "usage",
         "unknown", "hologram", "request", "response", "note", ""]


MARKED = rules.Members([("__durabletask_autoobject__", True)])


def some_value(rng):
    pool = rng.randrange(9)
    if pool == 0:
        return rules.Number(rng.choice(NUMBERS))
    if pool == 1:
        return rng.choice(DATES)
    if pool == 2:
        return rng.choice(URIS)
    if pool == 3:
        return rng.choice(TYPES)
    if pool == 4:
        return rng.choice([None, True, False, "", [], rules.Members(),
                           rules.Members(MARKED)])
    if pool == 5:
        return rules.Members(
            (rng.choice(NAMES), some_value(rng)) for _ in range(rng.randrange(4)))
    if pool == 6:
        return [some_value(rng) for _ in range(rng.randrange(3))]
    if pool == 7:
        return rng.choice([[["a", rules.Number("1")]], ["ab"], ["abc"],
                           [["a"]], [[["a"], None]],
                           [rules.Members([("a", None), ("b", None)])],
                           [rules.Members([("a", None), ("a", None)])]])
    if pool == 8 and rng.randrange(4) == 0:
        return rules.Members([("type", rng.choice(TYPES)), *MARKED])
    return rng.choice(["1.0.0", "2.0.0", "None", "\ud800", "é", "user"])


def containers(tree):
    return [node for node in rules.every(tree)
            if isinstance(node, list) and node]


def change(tree, rng):
    """Change one thing somewhere."""
    node = rng.choice(containers(tree) or [tree])
    if not isinstance(node, list) or not node:
        return
    at = rng.randrange(len(node))
    way = rng.randrange(6)
    if isinstance(node, rules.Members):
        name, value = node[at]
        if way == 0:
            del node[at]
        elif way in (1, 2):
            node[at] = (name, some_value(rng))
        elif way == 3:
            node.insert(at, (rng.choice(NAMES), some_value(rng)))
        elif way == 4:
            node.append((name, some_value(rng)))
        else:
            node.append((rng.choice(NAMES), some_value(rng)))
    elif way == 0:
        node[at] = some_value(rng)
    elif way == 1:
        del node[at]


def dump(tree):
    if isinstance(tree, rules.Members):
        return "{" + ",".join(json.dumps(name) + ":" + dump(value)
                              for name, value in tree) + "}"
    if isinstance(tree, list):
        return "[" + ",".join(map(dump, tree)) + "]"
    return str(tree) if isinstance(tree, rules.Number) else json.dumps(tree)


def made():
    rng = random.Random(SEED)
    sources = DOCUMENTS * 3 + [line["doc"] for line in VERDICTS]
    found = list(DOCUMENTS)
    while len(found) < MADE:
        try:
            tree = rules.read(rng.choice(sources))
        except ValueError:
            continue
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            change(tree, rng)
        found.append(dump(tree))
    return found


# --- comparing -------------------------------------------------------------

def pointers(tree, at=""):
    """Each value of a tree by its pointer; of duplicates the last."""
    yield at, tree
    if isinstance(tree, rules.Members):
        for name, value in dict(tree).items():
            yield from pointers(
                value, at + "/" + name.replace("~", "~0").replace("/", "~1"))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from pointers(value, f"{at}/{index}")


def is_told(pointer, told):
    """A finding at the place or around it?"""
    while True:
        if pointer in told:
            return True
        if not pointer:
            return False
        pointer = pointer.rpartition("/")[0]


# What moves elements or makes all of it new: places cannot be compared then.
MOVES = {"python-item-dropped", "python-list-emptied", "python-usage-dropped",
         "python-resets", "python-content-retyped", "python-pairs",
         "python-starts-anew"}
GONE = {"dotnet-root-member", "dotnet-null-dropped", "python-member-dropped", "python-deadline-dropped",
        "python-null-dropped", "python-marker"}
CHANGED = {"dotnet-date-respelled", "dotnet-fraction", "dotnet-deadline-offset",
           "dotnet-version-respelled", "dotnet-count-respelled",
           "python-number-respelled", "python-number-rounded",
           "python-number-infinite", "python-date-respelled",
           "python-date-fraction"}
# Findings that foretell no loss.
SILENT = {"dotnet-null-list", "dotnet-null-item", "dotnet-null-member",
          "dotnet-blank-member", "dotnet-data-uri", "dotnet-media-type",
          "dotnet-unknown-content", "python-version-ignored", "python-bare-token", "python-usage-client"}


def wrong_losses(before, after, findings):
    if MOVES & {finding["rule"] for finding in findings}:
        return
    old = dict(pointers(rules.read(before)))
    new = dict(pointers(rules.read(after)))
    told = {finding["pointer"] for finding in findings
            if finding["rule"] not in SILENT}
    for pointer, value in old.items():
        scalar = not isinstance(value, list)
        if (pointer not in new or (scalar and new[pointer] != value)) and \
                not is_told(pointer, told):
            yield f"{pointer}: not told that it gets lost or changes"
    for finding in findings:
        pointer = finding["pointer"]
        inside = is_told(pointer.rpartition("/")[0], {
            other["pointer"] for other in findings if other["rule"] in GONE |
            {"dotnet-duplicate", "python-duplicate", "python-text-made"}})
        if finding["rule"] in GONE and pointer in new:
            yield f"{pointer}: told {finding['rule']}, and is still there"
        if finding["rule"] in CHANGED and not inside and \
                new.get(pointer) == old.get(pointer):
            yield f"{pointer}: told {finding['rule']}, and is as it was"


def compare(documents):
    """What was wrong, and how often each verdict and rule occurred."""
    problems, seen = [], {}
    for text, ours in zip(documents, ask(documents)):
        after = really_runs(text)
        theirs = (really_loads(text), after is not None)
        said = (ours["loads"], ours["runs"])
        seen[theirs] = seen.get(theirs, 0) + 1
        for finding in ours["findings"]:
            seen[finding["rule"]] = seen.get(finding["rule"], 0) + 1
        if theirs != said:
            problems.append(f"loads, runs: {theirs}, we say {said}, "
                            f"{ours['findings']}: {text[:1500]}")
        elif all(theirs):
            problems += [f"{problem}: {text[:1500]}" for problem in
                         wrong_losses(text, after, ours["findings"])]
    return problems, seen


def none_of(problems):
    assert not problems, f"{len(problems)}\n" + "\n".join(problems[:8])


@tests.test("recorded verdicts: are still those of the real library")
def _():
    none_of([str(line) for line in VERDICTS
             if (really_loads(line["doc"]),
                 really_runs(line["doc"]) is not None) !=
             (line["python_load"], line["python_run"])])


@tests.test("made documents: load, run and lose what we say", covers=["D-106"])
def _():
    problems, seen = compare(made())
    none_of(problems)
    # All four verdicts, and most of the rules, must have been met.
    assert seen[True, True] > MADE / 4 and seen[False, False] > MADE / 20, seen
    assert seen[True, False] > MADE / 50, seen
    assert sum(isinstance(key, str) for key in seen) >= 25, seen


def stored():
    """What .NET was given, what it stored, and what a turn sets anew."""
    for line in VERDICTS:
        after = line.get("dotnet_store")
        if after is not None and after != "fails":
            # Null for data is a new session.
            yield line["doc"], line["doc"] if after == "same" else after, "/data"
    folder = ROOT / "tests/data/dotnet/durable"
    for path in sorted(folder.glob("*.in.json")):
        after = path.with_name(path.name.replace(".in.", ".out."))
        yield (path.read_text(encoding="utf-8"),
               after.read_text(encoding="utf-8"), "/data/expirationTimeUtc")


@tests.test("documents that .NET stored: lack what we say, and nothing else")
def _():
    pairs = list(stored())
    assert len(pairs) > 130, len(pairs)
    answers = ask([before for before, _, _ in pairs], "dotnet")
    none_of([f"{problem}: {before[:1500]}"
             for (before, after, new), ours in zip(pairs, answers)
             for problem in wrong_losses(before, after, ours["findings"])
             if not problem.startswith(new + ": not told")])


@tests.test("odd roots: load and run as we say")
def _():
    full = '{"schemaVersion":"1.1.0","data":{"conversationHistory":[]}}'
    none_of(compare([
        "", " ", "null", "true", "5", '""', '"x"', "[]", "{}", "[1]",
        '[["schemaVersion","1.1.0"],["data",{}]]', '["ab"]', '[[[],1]]',
        '[["schemaVersion","1.1.0"],["data",5]]', '[{"a":1,"b":2}]', "[[1,2]]",
        '[["a",1],["b"]]', full, full + "x", "\ufeff" + full, full[:-1],
        '{"schemaVersion":"1.1.0","data":{"x":1,}}', "NaN", "[NaN]",
        '{"schemaVersion":"1.1.0","data":{"x":NaN}}',
    ])[0])


def data(value):
    return ('{"schemaVersion":"1.1.0","data":{"conversationHistory":[],'
            f'"extensionData":{value}}}}}')


@tests.test("borders: integers of 4,300 digits, 900 levels and 1,100")
def _():
    none_of(compare([data("9" * 4300), data("9" * 4301), data("-" + "9" * 4300),
                     data("9" * 4301 + ".0"), data("[" * 900 + "]" * 900),
                     data("[" * 1100 + "]" * 1100),
                     data("[" * 1000 + "]" * 1000)])[0])


@tests.test("every date of the pool: as an entry's and as a message's")
def _():
    made_of = ['{"schemaVersion":"1.1.0","data":{"conversationHistory":['
               '{"$type":"request","correlationId":"c","createdAt":%s,'
               '"messages":[{"role":"user","contents":[],"createdAt":%s}]}]}}']
    none_of(compare([made_of[0] % (json.dumps(a), json.dumps(b))
                     for date in DATES for a, b in
                     ((date, DATES[0]), (DATES[0], date))])[0])


tests.finish()
