"""MessagePack to and from the package `msgpack`. Usage: TEST PERDURE"""
import ctypes
import functools
import hashlib
import importlib.util
import io
import json
import math
import random
import struct

import msgpack

import documents
import rules
from command import ROOT, convert, record

tests = record.Tests("interop-msgpack")
CORPUS = documents.corpus()
TREES = {document.name: rules.read(document.text) for document in CORPUS}
# Shape: MessagePack of the golden session, bytes and SHA-256.
GOLDEN = {
    "session.json": (
        1516894,
        "01e59564711f9b1ff07e31a2040174752f33e390ffb455264dc09e52331ab030"),
    "session-older.json": (
        1516094,
        "5ad9d5c524bde3fa43f64dba910cd5fcd44dd05460bb9c75458b0666f8159b15"),
}
# The ways in which the package writes.
WAYS = [{"use_bin_type": binary, "use_single_float": single}
        for binary in (True, False) for single in (False, True)]


def name_of(way):
    return (("bin" if way["use_bin_type"] else "no bin") + " and " +
            ("single" if way["use_single_float"] else "double") + " floats")


def none_of(problems):
    assert not problems, "\n".join(str(problem) for problem in problems)


def unpack(data, **options):
    """With the defaults of the package: names are strings, text is UTF-8."""
    return msgpack.unpackb(data, raw=False, **options)


@functools.cache
def exchange(data, *options):
    return convert(data, "json", "msgpack", "--exchange", *options)


def is_refused(result, reasons):
    """Nothing came out, for a reason that there is, at a place that is told."""
    return (result.status == 6 and result.out == b"" and
            result.reason in reasons and result.pointer is not None)


# --- what we write ---------------------------------------------------------

@tests.test("package: is the compiled one")
def _():
    from msgpack import _cmsgpack
    assert msgpack.Packer is _cmsgpack.Packer
    assert msgpack.unpackb.__module__ == _cmsgpack.__name__


@tests.test("corpus: has documents that pass, and all that must not")
def _():
    found = [rules.refusals(tree) for tree in TREES.values()]
    assert len(found) > 300, len(found)
    assert sum(not reasons for reasons in found) > 250
    for reason in ("number_range", "inexact_number", "lone_surrogate",
                   "duplicate_name"):
        assert {reason} in found, reason


@tests.test("exchange: is read as the value that the JSON text has")
def _():
    problems = []
    for document in CORPUS:
        tree = TREES[document.name]
        if rules.refusals(tree):
            continue
        result = exchange(document.data, *document.options)
        if result.status != 0:
            problems.append(f"{document}: refused: {result!r}")
            continue
        found = rules.difference(tree, unpack(result.out), rules.same_native)
        if found:
            problems.append(f"{document}: {found}")
    none_of(problems)


@tests.test("exchange: refuses what has no native value, and says which")
def _():
    problems = []
    for document in CORPUS:
        reasons = rules.refusals(TREES[document.name])
        if reasons:
            result = exchange(document.data, *document.options)
            if not is_refused(result, reasons):
                problems.append(f"{document}: wanted {reasons}: {result!r}")
    none_of(problems)


@tests.test("exchange: counts the spelling that it gives up")
def _():
    problems = []
    for document in CORPUS:
        if rules.refusals(TREES[document.name]):
            continue
        want = rules.given_up(document.text)
        result = exchange(document.data, *document.options)
        got = result.report.get("respelled")
        if want != got:
            problems.append(f"{document}: {got}, wanted {want}")
    none_of(problems)
    assert any(rules.given_up(d.text)["numbers"] for d in CORPUS)
    assert any(rules.given_up(d.text)["strings"] for d in CORPUS)


@tests.test("exchange: takes or refuses each number by its decimal value")
def _():
    rng = random.Random(20)
    texts = [documents.number_text(rng) for _ in range(4000)]
    good = [text for text in texts if rules.natives(text)]
    bad = [text for text in texts if not rules.natives(text)]
    assert len(good) > 1000 and len(bad) > 300, (len(good), len(bad))
    result = exchange(("[" + ",".join(good) + "]").encode())
    assert result.status == 0, result
    none_of([found for found in
             [rules.difference([rules.Number(text) for text in good],
                               unpack(result.out), rules.same_native)]
             if found])
    none_of([f"{text}: {result!r}" for text in bad[:300]
             for result in [exchange(f"[0,{text}]".encode())]
             if not is_refused(result, {rules.refusal(text)}) or
             result.pointer != "/1"])


@tests.test("exchange: writes the smallest form, as the package does")
def _():
    values = documents.values(30, 300) + documents.large_values()
    for value in values:
        text = json.dumps(value, ensure_ascii=False).encode()
        result = exchange(text)
        assert result.status == 0, result
        assert result.out == msgpack.packb(value), value


@tests.test("exchange: gives a sequence that the package reads one by one")
def _():
    values = documents.values(40, 200)
    lines = "".join(json.dumps(value) + "\n" for value in values)
    result = convert(lines.encode(), "jsonl", "msgpack", "--exchange")
    assert result.status == 0, result
    got = list(msgpack.Unpacker(io.BytesIO(result.out), raw=False))
    found = rules.difference(values, got, rules.same_value)
    assert found is None, found


# --- what we read ----------------------------------------------------------

def single(value):
    """The value as it stands behind a float of 32 bits."""
    if isinstance(value, float):
        return ctypes.c_float(value).value
    if isinstance(value, list):
        return [single(child) for child in value]
    if isinstance(value, dict):
        return {name: single(child) for name, child in value.items()}
    return value


def is_finite(value):
    return all(math.isfinite(node) for node in rules.every_scalar(value)
               if isinstance(node, float))


def read_back(data, *options):
    """What we make of bytes of the package, through JSON text."""
    result = convert(data, "msgpack", "json", *options)
    assert result.status == 0, result
    return json.loads(result.out)


def packed(values, way):
    """Those that the package itself can write, with their bytes: no lone
    surrogates, no integers beyond 64 bits, no doubles beyond a single float."""
    for name, value in values:
        try:
            data = msgpack.packb(value, **way)
        except (OverflowError, UnicodeEncodeError):
            continue
        yield name, single(value) if way["use_single_float"] else value, data


def differences(packs):
    for name, want, data in packs:
        options = documents.DEEP if rules.depth(want) > 128 else ()
        if not is_finite(want):
            result = convert(data, "msgpack", "json", *options)
            if not is_refused(result, {"bare_token"}):
                yield f"{name}: {result!r}"
            options += ("--bare-tokens",)
        found = rules.difference(want, read_back(data, *options),
                                 rules.same_value)
        if found:
            yield f"{name}: {found}"


for _way in WAYS:
    @tests.test(f"package: its bytes of the corpus are read, {name_of(_way)}")
    def _(way=_way):
        packs = list(packed(((d.name, json.loads(d.data)) for d in CORPUS),
                            way))
        assert len(packs) > 600, len(packs)
        none_of(list(differences(packs)))

    @tests.test(f"package: its bytes of any value are read, {name_of(_way)}")
    def _(way=_way):
        packs = list(packed(enumerate(documents.values(50, 300)), way))
        assert len(packs) > 200, len(packs)
        none_of(list(differences(packs)))

    @tests.test(f"package: a stream of documents is read, {name_of(_way)}")
    def _(way=_way):
        packs = list(packed(enumerate(documents.values(60, 3000) +
                                      documents.large_values()), way))
        result = convert(b"".join(data for _, _, data in packs), "msgpack",
                         "jsonl", "--bare-tokens")
        assert result.status == 0, result
        got = [json.loads(line) for line in result.out.splitlines()]
        found = rules.difference([want for _, want, _ in packs], got,
                                 rules.same_value)
        assert found is None, found


@tests.test("package: our reader and its reader agree on files of the corpus")
def _():
    files = [p for p in sorted((documents.DATA / "python").rglob("*.msgpack"))
             if p.parent.name != "history"]
    assert len(files) > 5, files
    for path in files:
        data = path.read_bytes()
        found = rules.difference(unpack(data),
                                 read_back(data, "--bare-tokens"),
                                 rules.same_value)
        assert found is None, f"{path.name}: {found}"


@tests.test("records: are what the package reads behind each length")
def _():
    for path in (documents.DATA / "python").rglob("history/*.msgpack"):
        data, want = path.read_bytes(), []
        while data:
            size = struct.unpack(">I", data[:4])[0]
            want.append(unpack(data[4:4 + size]))
            data = data[4 + size:]
        result = convert(path.read_bytes(), "records", "jsonl")
        assert result.status == 0, result
        got = [json.loads(line) for line in result.out.splitlines()]
        found = rules.difference(want, got, rules.same_value)
        assert want and found is None, f"{path.name}: {found}"


def refusal_of(value, **way):
    result = convert(msgpack.packb(value, **way), "msgpack", "json")
    assert result.status == 6 and result.out == b"", result
    return result.reason


@tests.test("bytes: are refused as bin, and taken as text if written as str")
def _():
    for data in (b"", b"a", b"\xff\xfe", b"x" * 255, b"x" * 256, b"x" * 65536):
        assert refusal_of([data]) == "binary_data"
        assert refusal_of({"a": data}) == "binary_data"
    assert read_back(msgpack.packb([b"text"], use_bin_type=False)) == ["text"]
    assert refusal_of([b"\xff\xfe"], use_bin_type=False) == "bad_utf8"


@tests.test("timestamp: is refused in each of its three forms")
def _():
    for seconds, rest in ((0, 0), (1, 1), (1 << 32, 0), (1 << 34, 5), (-1, 0)):
        stamp = msgpack.Timestamp(seconds, rest)
        assert refusal_of({"at": stamp}) == "timestamp", stamp


@tests.test("extensions: others than our own are refused")
def _():
    for code in (0, 3, 5, 127):
        for size in (0, 1, 2, 4, 8, 16, 17, 255, 256, 65536):
            extension = msgpack.ExtType(code, b"x" * size)
            assert refusal_of([extension]) == "unknown_extension", code


@tests.test("names: that are no strings are refused")
def _():
    for name in (1, -1, 1.5, None, True, (1, 2), 1 << 63):
        assert refusal_of({name: 1}) == "name_no_string", name
    assert refusal_of({b"a": 1}) in ("name_no_string", "binary_data")
    assert read_back(msgpack.packb({b"a": 1}, use_bin_type=False)) == {"a": 1}


@tests.test("NaN: and infinities need the option for bare tokens")
def _():
    for number, token in ((math.nan, "NaN"), (math.inf, "Infinity"),
                          (-math.inf, "-Infinity")):
        for way in WAYS:
            data = msgpack.packb([number], **way)
            assert refusal_of([number], **way) == "bare_token"
            result = convert(data, "msgpack", "json", "--bare-tokens")
            assert (result.status, result.out) == (0, f"[{token}]".encode()), \
                result


@tests.test("single floats: become the double that they are")
def _():
    for number in (0.1, 1.5, -0.0, 3.4028234663852886e38, 1e-45, 16777217.0):
        data = msgpack.packb(number, use_single_float=True)
        want = struct.unpack(">f", data[1:])[0]
        got = read_back(data)
        assert data[0] == 0xCA and repr(got) == repr(want), (number, got)


# --- without loss ----------------------------------------------------------

EXTENSIONS = [  # JSON text, what the package sees
    ("1.10", msgpack.ExtType(1, b"1.10")),
    ("-0", msgpack.ExtType(1, b"-0")),
    ("1E400", msgpack.ExtType(1, b"1E400")),
    ("1e5", msgpack.ExtType(1, b"1e5")),
    ("18446744073709551616", msgpack.ExtType(1, b"18446744073709551616")),
    ("18446744073709551615", 18446744073709551615),
    ("-9223372036854775808", -9223372036854775808),
    ("1.5", 1.5), ("-0.0", -0.0), ("1e+16", 1e16), ("100000.0", 1e5),
    ('"\\/"', msgpack.ExtType(2, b"\\/")),
    ('"\\u00e9"', msgpack.ExtType(2, b"\\u00e9")),
    ('"a\\ud800"', msgpack.ExtType(2, b"a\\ud800")),
    ('"\\u001F"', msgpack.ExtType(2, b"\\u001F")),
    ('"\\u001f\\n\\"\\\\"', "\x1f\n\"\\"),
    ('"\\u0000"', "\0"), ('"é"', "é"),
]


@tests.test("native: a spelling of its own is an extension that others see")
def _():
    for text, want in EXTENSIONS:
        result = convert(text.encode(), "json", "msgpack")
        assert result.status == 0, result
        got = unpack(result.out)
        assert rules.same_value(want, got), (text, want, got)


@tests.test("native: names have their spelling in an extension too")
def _():
    text = b'{"a":1,"\\u0061":2,"\\ud800":1.0,"\\/":{"b":1,"b":2}}'
    result = convert(text, "json", "msgpack")
    assert result.status == 0, result
    got = unpack(result.out, strict_map_key=False, object_pairs_hook=list)
    assert got == [("a", 1), (msgpack.ExtType(2, b"\\u0061"), 2),
                   (msgpack.ExtType(2, b"\\ud800"), 1.0),
                   (msgpack.ExtType(2, b"\\/"), [("b", 1), ("b", 2)])], got


@tests.test("native: what the package passes on comes back as the same text")
def _():
    for document in CORPUS:
        if rules.has_duplicate_names(TREES[document.name]):
            continue
        result = convert(document.data, "json", "msgpack", *document.options)
        assert result.status == 0, (document, result)
        passed_on = msgpack.packb(unpack(result.out, strict_map_key=False))
        assert passed_on == result.out, document
        back = convert(passed_on, "msgpack", "json", *document.options)
        want = convert(document.data, "json", "json", *document.options)
        assert back.status == want.status == 0, (document, back, want)
        assert want.out == back.out, document


# --- the golden session ----------------------------------------------------

def golden():
    path = ROOT / "tests/bench/golden.py"
    spec = importlib.util.spec_from_file_location("golden", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {"session.json": module.session(True),
            "session-older.json": module.session(False)}


@tests.test("golden session: has the bytes of the package in both shapes")
def _():
    for name, text in golden().items():
        want = msgpack.packb(json.loads(text))
        assert GOLDEN[name] == (len(want), hashlib.sha256(want).hexdigest())
        for options in ((), ("--exchange",)):
            result = convert(text.encode(), "json", "msgpack", *options)
            assert result.status == 0, result
            assert result.out == want, (name, options, len(result.out))
        back = convert(want, "msgpack", "json")
        assert (back.status, back.out) == (0, text.encode()), name


tests.finish()
