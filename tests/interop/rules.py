"""What may be exchanged, as the formats have it, written a second time.

None of this was taken from the library, and none of it may be: these are the
rules that the tests hold against it.

    tree     None, bool, str, list; Number for a number with its text; Members
             for an object with the order and the duplicates of its names
"""
import decimal as fractional
import json
import math
import re

NUMBER = re.compile(r"(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
INTEGER = re.compile(r"-?\d+")
BARE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
# Escapes that we write; other controls are \u00xx, all else stands as it is.
ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n",
           "\r": "\\r", "\t": "\\t"}


class Number(str):
    """The text of a number."""


class Members(list):
    """Pairs of name and value."""


def read(text):
    """JSON as a tree."""
    return json.loads(text, parse_int=Number, parse_float=Number,
                      parse_constant=Number, object_pairs_hook=Members)


def every(tree):
    """All values of a tree, and all names."""
    yield tree
    if isinstance(tree, Members):
        for name, child in tree:
            yield name
            yield from every(child)
    elif isinstance(tree, list):
        for child in tree:
            yield from every(child)


def numbers(tree):
    return [node for node in every(tree) if isinstance(node, Number)]


def strings(tree):
    return [node for node in every(tree)
            if isinstance(node, str) and not isinstance(node, Number)]


# --- numbers ---------------------------------------------------------------

def decimal(text):
    """The value of a number: sign, digits without zeros around them, power of
    ten. Exact, whatever the exponent; a negative zero is not zero."""
    sign, whole, fraction, exponent = NUMBER.fullmatch(text).groups()
    digits = (whole + (fraction or "")).lstrip("0")
    power = int(exponent or 0) - len(fraction or "")
    kept = digits.rstrip("0")
    return (sign, kept, power + len(digits) - len(kept)) if kept else \
        (sign, "", 0)


def as_integer(text):
    """The int64 or uint64 of exactly this value, or None."""
    sign, digits, power = decimal(text)
    if (sign and not digits) or power < 0 or len(digits) + power > 20:
        return None
    number = int(sign + (digits or "0")) * 10 ** power
    return number if -(1 << 63) <= number < 1 << 64 else None


def as_double(text):
    """The double whose shortest text has exactly this value, or None."""
    number = float(text)
    if math.isfinite(number) and decimal(repr(number)) == decimal(text):
        return number
    return None


def is_double(text):
    """Does a double hold it, exactly or as its shortest text? A bare token is
    no number of JSON."""
    if text in BARE or math.isinf(float(text)):
        return False
    exact = format(fractional.Decimal(float(text)), "f")
    return as_double(text) is not None or decimal(exact) == decimal(text)


def natives(text):
    """The numbers of MessagePack that may stand for this one; none if it has to
    be refused."""
    if text in BARE:
        return [BARE[text]]
    whole, double = as_integer(text), as_double(text)
    if decimal(text) == ("-", "", 0):
        return [-0.0]
    if INTEGER.fullmatch(text):
        double = None  # an integer has to stay one
    elif double is not None:
        whole = None  # readers of JSON have a double there
    return [number for number in (whole, double) if number is not None]


def refusal(text):
    """Why a number has to be refused, or None."""
    if natives(text):
        return None
    beyond = INTEGER.fullmatch(text) or math.isinf(float(text))
    return "number_range" if beyond else "inexact_number"


def is_spelled_as_ours(text):
    if text in BARE:
        return True
    whole = as_integer(text)
    if whole is not None and str(whole) == text:
        return True
    double = as_double(text)
    return double is not None and repr(double) == text


# --- strings ---------------------------------------------------------------

def is_lone(character):
    return "\ud800" <= character <= "\udfff"


def has_lone_surrogate(text):
    return any(map(is_lone, text))


def escaped(text):
    """The string as we write it."""
    return '"' + "".join(
        ESCAPES.get(c) or (c if c >= " " else f"\\u{ord(c):04x}")
        for c in text) + '"'


def is_xml(character):
    """Char of XML 1.0."""
    return (character in "\t\n\r" or " " <= character <= "\ud7ff" or
            "\ue000" <= character <= "\ufffd" or character >= "\U00010000")


def in_xml(tree):
    """The tree as json-to-xml without escapes has to give it: U+FFFD stands for
    what XML has no place for."""
    if isinstance(tree, Members):
        return Members((in_xml(name), in_xml(child)) for name, child in tree)
    if isinstance(tree, list):
        return [in_xml(child) for child in tree]
    if isinstance(tree, str) and not isinstance(tree, Number):
        return "".join(c if is_xml(c) else "\ufffd" for c in tree)
    return tree


# --- documents -------------------------------------------------------------

def depth(tree):
    """Levels of arrays and objects."""
    found = _children(tree)
    return 1 + max(map(depth, found[2]), default=0) if found else 0


def has_duplicate_names(tree):
    return any(len(node) != len({name for name, _ in node})
               for node in every(tree) if isinstance(node, Members))


def refusals(tree):
    """Reasons for which exchange with another program has to refuse it."""
    found = {refusal(text) for text in numbers(tree)} - {None}
    if any(map(has_lone_surrogate, strings(tree))):
        found.add("lone_surrogate")
    if has_duplicate_names(tree):
        found.add("duplicate_name")
    return found


def given_up(text):
    """How many numbers and strings, names too, change their spelling."""
    return {
        "numbers": sum(not is_spelled_as_ours(n) for n in numbers(read(text))),
        "strings": sum(token != escaped(json.loads(token))
                       for token in STRING.findall(text))}


# --- comparing -------------------------------------------------------------

def _children(node):
    """Kind of a container, names or indexes, values; None for a scalar."""
    if isinstance(node, Members):
        return "object", [n for n, _ in node], [child for _, child in node]
    if isinstance(node, dict):
        return "object", list(node), list(node.values())
    if isinstance(node, list):
        return "array", list(range(len(node))), node
    return None


def changes(want, got, same, place=""):
    """Where two values differ, order of names and duplicates too: place, one,
    other. Each is a tree or has dict for its objects; `same` compares
    scalars."""
    wanted, given = _children(want), _children(got)
    if wanted is None or given is None:
        if wanted is not given or not same(want, got):
            yield place, want, got
        return
    if wanted[0] != given[0] or len(wanted[1]) != len(given[1]):
        yield place, want, got
        return
    for name, other in zip(wanted[1], given[1]):
        if name != other:
            yield place + " (name)", name, other
    for name, one, other in zip(*wanted[1:], given[2]):
        yield from changes(one, other, same, f"{place}/{name}")


def difference(want, got, same):
    """The first of the changes as a text, or None."""
    for place, one, other in changes(want, got, same):
        return f"{place}: {one!r:.200} became {other!r:.200}"
    return None


def same_value(want, got):
    """Types and the sign of zero count; NaN is like NaN."""
    if type(want) is not type(got):
        return False
    return repr(want) == repr(got) if isinstance(got, float) else want == got


def same_native(want, got):
    """Is `got` what another program may see for a scalar of a tree?"""
    if isinstance(want, Number):
        return any(same_value(number, got) for number in natives(want))
    return same_value(want, got)


def same_decimal(want, got):
    """Scalars of two trees: not a digit of a number may be lost."""
    if isinstance(want, Number) and isinstance(got, Number):
        bare = want in BARE or got in BARE
        return want == got if bare else decimal(want) == decimal(got)
    return same_value(want, got)


def same_double(want, got):
    """Scalars of two trees: numbers as the doubles that they are."""
    if isinstance(want, Number) and isinstance(got, Number):
        return same_value(float(want), float(got))
    return same_value(want, got)


def every_scalar(value):
    """All scalars of a value that has dict for its objects; no names."""
    found = _children(value)
    if found is None:
        yield value
    else:
        for child in found[2]:
            yield from every_scalar(child)
