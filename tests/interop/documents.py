"""The documents that are exchanged: the corpus, and values made from a seed."""
import math
import pathlib
import random
import struct

DEEP = ("--max-depth", "1024")  # options for more than the usual 128 levels
DATA = pathlib.Path(__file__).resolve().parents[1] / "data"


class Document:
    def __init__(self, name, data, options=(), is_line=False):
        self.name = name        # as people find it below tests/data
        self.data = data        # bytes, JSON
        self.text = data.decode("utf-8")
        self.options = options  # of the command, to read it
        self.is_line = is_line  # of a file that has more of them

    def __repr__(self):
        return self.name


def cases():
    """What the JSON reader has to take."""
    for folder in sorted((DATA / "json/valid").iterdir()):
        asked = folder / "options"
        bare = asked.exists() and "bare_tokens" in asked.read_text()
        yield Document("json/valid/" + folder.name,
                       (folder / "input").read_bytes(),
                       ("--bare-tokens",) if bare else ())


def editions():
    """What the .NET and the Python edition wrote. A file of lines gives a
    document a line."""
    for edition in ("dotnet", "python"):
        for path in sorted((DATA / edition).rglob("*.json*")):
            name = path.relative_to(DATA).as_posix()
            data = path.read_bytes()
            lines = data.split(b"\n") if path.suffix == ".jsonl" else [data]
            for number, line in enumerate(lines, 1):
                if line.strip():
                    many = len(lines) > 1
                    yield Document(f"{name}:{number}" if many else name, line,
                                   ("--bare-tokens", *DEEP), many)


def corpus():
    return [*cases(), *editions()]


# --- values from a seed --------------------------------------------------

def _integer(rng):
    """Around the places where the width changes, and anywhere."""
    bits = rng.choice((0, 5, 7, 8, 15, 16, 31, 32, 53, 63, 64))
    value = rng.choice(((1 << bits) + rng.randint(-2, 2),
                        rng.getrandbits(bits)))
    value = rng.choice((value, -value))
    return min(max(value, -(1 << 63)), (1 << 64) - 1)


def _double(rng):
    kind = rng.randrange(4)
    if kind == 0:
        return rng.choice((0.0, -0.0, 5e-324, 1.7976931348623157e308, 1e16,
                           1e-5, 1e23, 2.0 ** 53, 0.1))
    if kind == 1:
        return rng.randint(-1000, 1000) / rng.choice((1, 10, 100, 3))
    while True:
        value = struct.unpack(">d", rng.randbytes(8))[0]
        if math.isfinite(value):
            return value


def _character(rng):
    first, last = rng.choice(((0x20, 0x7E), (0x20, 0x7E), (0, 0x1F),
                              (0x7F, 0x9F), (0xA0, 0x7FF), (0x800, 0xD7FF),
                              (0xE000, 0xFFFF), (0x10000, 0x10FFFF)))
    return chr(rng.randint(first, last))


def text(rng):
    """Mostly short; else as long as a header byte can just say, or cannot."""
    size = rng.choice((0, 1, 2, 5, 8, 13, rng.choice((31, 32, 255, 256))))
    if rng.random() < 0.5:
        return "".join(rng.choice("abcdefgh /\\\"<>&'") for _ in range(size))
    return "".join(_character(rng) for _ in range(size))


def value(rng, depth=5):
    """A tree of None, bool, int, float, str, list, dict."""
    kind = rng.randrange(8 if depth else 6)
    if kind < 6:
        return (None, rng.random() < 0.5, _integer(rng), _double(rng),
                text(rng), rng.choice(([], {}, "")))[kind]
    size = rng.choice((1, 2, 3, 4, rng.choice((15, 16))))
    if kind == 6:
        return [value(rng, depth - 1) for _ in range(size)]
    return {text(rng): value(rng, depth - 1) for _ in range(size)}


def values(seed, count):
    rng = random.Random(seed)
    return [value(rng) for _ in range(count)]


def large_values():
    """Past the counts that two bytes can say, and just below."""
    return [list(range(65535)), [0] * 65536,
            {f"n{i}": i for i in range(65535)},
            {f"n{i}": None for i in range(65536)},
            "x" * 65535, "é" * 32768]


def number_text(rng):
    """A number in one of the many ways to write it, exact or not."""
    kind = rng.randrange(5)
    sign = rng.choice(("", "-"))
    if kind == 0:
        return repr(_double(rng))
    if kind == 1:
        return str(_integer(rng) + rng.choice((0, 0, 1 << 64)))
    if kind == 2:
        digits = str(rng.randrange(10 ** rng.randint(1, 21)))
        return sign + digits + "." + "0" * rng.randint(1, 3)
    digits = str(rng.randrange(10 ** rng.randint(1, 19)))
    if kind == 3:
        fraction = str(rng.randrange(10 ** rng.randint(1, 5)))
        return sign + digits + "." + fraction
    exponent = rng.choice("eE") + rng.choice(("", "+", "-"))
    return sign + digits + exponent + rng.choice(("", "0")) + \
        str(rng.randint(0, 22))
