"""XML to and from Saxon-HE, an XPath 3.1 processor. Usage: TEST PERDURE

saxon-differences.txt holds what Saxon does with documents that it cannot give
back: `TEST PERDURE --write` writes that file anew.
"""
import difflib
import json
import math
import pathlib
import sys
import tempfile

import saxonche

import documents
import inside
import rules
from command import convert, record

tests = record.Tests("interop-xml")
VERSION = inside.wanted()["saxonche"]
TABLE = pathlib.Path(__file__).resolve().parent / "saxon-differences.txt"
TABLE_TOP = """\
# What Saxon-HE {version} does with documents of tests/data that it cannot give
# back as they are. Written and compared by xml_saxon.py.
#
# xml-to-json reads our XML. It has no duplicate names and knows numbers as
# doubles only.
# json-to-xml reads the JSON text, here without escapes; with them it keeps all
# but bare tokens.
#
# document: what is special about it
#     function: error code, or the place of a change and what became of what
"""
LINE = 40  # characters of a text in the table
NAMESPACE = "http://www.w3.org/2005/xpath-functions"
# Options of json-to-xml. Duplicates are kept by default; `retain` asks for it.
OPTIONS = {
    "escape": "map{'escape': true()}",
    "no escape": "map{'escape': false()}",
    "escape, retain": "map{'escape': true(), 'duplicates': 'retain'}",
    "no escape, retain": "map{'escape': false(), 'duplicates': 'retain'}",
}
CATCH = """
declare namespace err = "http://www.w3.org/2005/xqt-errors";
declare variable $in external;
try { "+" || %s }
catch * { "-" || local-name-from-QName($err:code) }
"""
TO_XML = """serialize(json-to-xml($in, %s), map{
    'method': 'xml', 'indent': false(), 'omit-xml-declaration': true()})"""


class Refused(Exception):
    """Saxon's error code."""


class Saxon:
    """Functions of XPath, each as a query that catches its errors."""

    def __init__(self):
        self.processor = saxonche.PySaxonProcessor(license=False)
        self.queries = {}

    def call(self, expression, text):
        """The result, a string, of an expression in which `text` is $in."""
        if expression not in self.queries:
            query = self.processor.new_xquery_processor()
            query.set_query_content(CATCH % expression)
            self.queries[expression] = query
        query = self.queries[expression]
        query.set_parameter("in", self.processor.make_string_value(text))
        found = query.run_query_to_value().item_at(0).string_value
        if found[0] == "-":
            raise Refused(found[1:])
        return found[1:]

    def xml_to_json(self, xml):
        """Through a file, so that it is Saxon who decodes the bytes."""
        with tempfile.NamedTemporaryFile(suffix=".xml") as file:
            file.write(xml)
            file.flush()
            return self.call("xml-to-json(doc($in))",
                             pathlib.Path(file.name).as_uri())

    def json_to_xml(self, text, options):
        return self.call(TO_XML % OPTIONS[options], text).encode("utf-8")


SAXON = Saxon()
CORPUS = documents.corpus()
FILES = [d for d in CORPUS if not d.is_line]  # lines are many and much alike
TREES = {document.name: rules.read(document.text) for document in CORPUS}


def none_of(problems):
    assert not problems, "\n".join(str(problem) for problem in problems)


def is_odd_power(text):
    """Is it a power of two of more than a few digits? Saxon writes many of them
    with a digit too few: see the top of the table."""
    number = abs(float(text))
    return math.frexp(number)[0] == 0.5 and not 2.0 ** -24 < number < 2.0 ** 64


def peculiarities(tree):
    """Why xml-to-json cannot give the same value."""
    texts = rules.numbers(tree)
    if rules.has_duplicate_names(tree):
        yield "duplicate names"
    if any(text in rules.BARE for text in texts):
        yield "bare tokens"
    finite = [text for text in texts if text not in rules.BARE]
    if not all(map(rules.is_double, finite)):
        yield "numbers that no double holds"
    if any(map(is_odd_power, finite)):
        yield "powers of two"


def is_plain(document):
    return not list(peculiarities(TREES[document.name]))


def to_xml(document, *options):
    result = convert(document.data, "json", "xml", *document.options, *options)
    assert result.status == 0, (document, result)
    return result.out


def from_xml(xml, *options):
    """What we make of XML, as a tree."""
    result = convert(xml, "xml", "json", *options)
    assert result.status == 0, (xml[:500], result)
    return rules.read(result.out.decode("utf-8"))


# --- xml-to-json reads what we write -----------------------------------------

def xml_to_json_differences(*options):
    for document in filter(is_plain, CORPUS):
        try:
            got = rules.read(SAXON.xml_to_json(to_xml(document, *options)))
        except Refused as code:
            yield f"{document}: {code}"
            continue
        found = rules.difference(TREES[document.name], got, rules.same_double)
        if found:
            yield f"{document}: {found}"


@tests.test("Saxon: is the version that the table was made with")
def _():
    assert f"SaxonC-HE {VERSION} " in SAXON.processor.version
    assert f"Saxon-HE {VERSION} " in TABLE.read_text(encoding="utf-8")


@tests.test("corpus: has documents that Saxon holds, and others")
def _():
    plain = sum(map(is_plain, CORPUS))
    assert plain > 300 and len(CORPUS) - plain > 30, (plain, len(CORPUS))


@tests.test("xml-to-json: gives the value that the JSON text has")
def _():
    none_of(list(xml_to_json_differences()))


@tests.test("xml-to-json: gives the same for pretty XML")
def _():
    none_of(list(xml_to_json_differences("--pretty")))


@tests.test("xml-to-json: gives the value of generated documents")
def _():
    for seed in range(20):
        value = [v for v in documents.values(seed, 200)
                 if not list(peculiarities(rules.read(json.dumps(v))))]
        assert len(value) > 80, len(value)
        text = json.dumps(value, ensure_ascii=seed % 2 == 0)
        document = documents.Document(f"seed {seed}", text.encode())
        got = rules.read(SAXON.xml_to_json(to_xml(document)))
        found = rules.difference(rules.read(text), got, rules.same_double)
        assert found is None, f"{document}: {found}"


@tests.test("xml-to-json: escapes that we keep are what they stand for")
def _():
    text = (r'{"\u0000\u00e9\/":'
            r'"\u0000\ud800\/\u007f\ufffe\uD83D\uDE00\r\u0085"}')
    document = documents.Document("escapes", text.encode())
    got = json.loads(SAXON.xml_to_json(to_xml(document)))
    assert got == json.loads(text), ascii(got)


# --- we read what json-to-xml writes ---------------------------------------

def json_to_xml_differences(options):
    """With escapes everything comes back; without, XML's characters only."""
    for document in CORPUS:
        tree = TREES[document.name]
        if "retain" in options and not rules.has_duplicate_names(tree):
            continue  # the option changes nothing
        try:
            xml = SAXON.json_to_xml(document.text, options)
        except Refused as code:
            if "bare tokens" not in peculiarities(tree):
                yield f"{document}: {code}"
            continue
        want = rules.in_xml(tree) if options.startswith("no") else tree
        result = convert(xml, "xml", "json", *document.options)
        if result.status != 0:
            yield f"{document}: {xml!r:.300}: {result!r}"
            continue
        found = rules.difference(want, rules.read(result.out.decode("utf-8")),
                                 rules.same_decimal)
        if found:
            yield f"{document}: {found}"


for _options in OPTIONS:
    @tests.test(f"json-to-xml: is read as the same value ({_options})")
    def _(options=_options):
        none_of(list(json_to_xml_differences(options)))


@tests.test("json-to-xml: generated documents are read as the same value")
def _():
    for seed in range(20):
        value = documents.values(seed, 100)
        text = json.dumps(value, ensure_ascii=seed % 2 == 0)
        for options in OPTIONS:
            want = rules.read(text)
            want = rules.in_xml(want) if options.startswith("no") else want
            got = from_xml(SAXON.json_to_xml(text, options))
            found = rules.difference(want, got, rules.same_decimal)
            assert found is None, f"seed {seed}, {options}: {found}"


# Other ways to write the same XML. `$xml` is what json-to-xml gave.
FORMS = {
    "indented, with a declaration": """serialize($xml, map{'indent': true(),
        'method': 'xml', 'omit-xml-declaration': false()})""",
    "character references": """serialize($xml, map{'indent': false(),
        'method': 'xml', 'encoding': 'us-ascii'})""",
    "CDATA sections": f"""serialize($xml, map{{'indent': false(),
        'method': 'xml', 'omit-xml-declaration': true(),
        'cdata-section-elements': QName('{NAMESPACE}', 'string')}})""",
    "a prefix": f"""let $prefix := function($self, $node) {{
            if ($node instance of element())
            then element {{QName('{NAMESPACE}', 'j:' || local-name($node))}}
                {{$node/@*, $node/node() ! $self($self, .)}}
            else $node }}
        return serialize($prefix($prefix, $xml/*), map{{'indent': false(),
            'method': 'xml', 'omit-xml-declaration': true()}})""",
}
MARKS = {"indented, with a declaration": b"<?xml",
         "character references": b"&#", "CDATA sections": b"<![CDATA[",
         "a prefix": b"<j:"}

for _form in FORMS:
    @tests.test(f"json-to-xml: may be written another way ({_form})")
    def _(form=_form):
        marked = 0
        for document in filter(is_plain, FILES):
            xml = SAXON.call(f"""(let $xml := json-to-xml($in,
                map{{'escape': true()}}) return {FORMS[form]})""",
                             document.text).encode("utf-8")
            marked += MARKS[form] in xml
            found = rules.difference(TREES[document.name],
                                     from_xml(xml, *document.options),
                                     rules.same_decimal)
            assert found is None, f"{document}: {found}"
        assert marked > 10, marked


# --- what Saxon cannot do ----------------------------------------------------

def shown(place, want, got):
    """A line: what became of a scalar, around the first character that
    differs."""
    def part(text):
        if isinstance(text, rules.Number):
            return text[:LINE] + ("..." if len(text) > LINE else "")
        return json.dumps(text[start:start + LINE])

    same = zip(want, got)
    start = next((i for i, (a, b) in enumerate(same) if a != b), 0)
    place = json.dumps(place.strip() or "root")[1:-1]
    return f"{place}: {part(want)} became {part(got)}"


def outcome(document, function):
    """Lines: the error code, or what changed."""
    try:
        got = function(document)
    except Refused as code:
        return [str(code)]
    found = rules.changes(TREES[document.name], got, rules.same_decimal)
    return [shown(*change) for change in found] or ["the same value"]


def through_xml_to_json(document):
    return rules.read(SAXON.xml_to_json(to_xml(document)))


def through_json_to_xml(document):
    return from_xml(SAXON.json_to_xml(document.text, "no escape"),
                    *document.options)


def entries():
    """A name, and lines below it, for each document that differs."""
    for document in CORPUS:
        tree, lines = TREES[document.name], []
        reasons = list(peculiarities(tree))
        if reasons:
            lines += ["xml-to-json: " + line for line in
                      outcome(document, through_xml_to_json)]
        if rules.in_xml(tree) != tree:
            reasons.append("characters that XML does not have")
        if "bare tokens" in reasons or rules.in_xml(tree) != tree:
            lines += ["json-to-xml: " + line for line in
                      outcome(document, through_json_to_xml)]
        if reasons:
            yield f"{document}: {', '.join(reasons)}", lines


def changed_powers():
    """Powers of two that do not survive: their neighbours are not equally far
    away, and Saxon stops a digit too early."""
    powers = {n: math.ldexp(1.0, n) for n in range(-1074, 1024)}
    text = json.dumps(list(powers.values()))
    document = documents.Document("powers", text.encode())
    got = json.loads(SAXON.xml_to_json(to_xml(document)))
    changed = [n for (n, want), found in zip(powers.items(), got)
               if want != found]
    small = [f"2^{n}" for n in changed if abs(n) <= 128]
    return (f"powers of two from 2^-1074 to 2^1023: {len(changed)} change",
            [f"xml-to-json: among them {', '.join(small)}"])


def table():
    text = TABLE_TOP.format(version=VERSION)
    for name, lines in (changed_powers(), *entries()):
        text += f"\n{name}\n" + "".join(f"    {line}\n" for line in lines)
    return text


@tests.test("table: says what Saxon does with the other documents")
def _():
    want, got = TABLE.read_text(encoding="utf-8"), table()
    assert want == got, "\n".join(difflib.unified_diff(
        want.split("\n"), got.split("\n"), TABLE.name, "found now",
        lineterm=""))


if sys.argv[2:] == ["--write"]:
    TABLE.write_text(table(), encoding="utf-8")
else:
    tests.finish()
