"""Our verdicts about schemas against those of the package `jsonschema`.

    TEST JSONSCHEMA-LINES

Asked of both: the cases of tests/data/jsonschema, those of its folder dialects
loaded leniently, and the two schema files for state documents with the
documents of tests/data, as they are and with members taken out or changed.
"""
import copy
import json
import os
import pathlib
import subprocess
import sys

import jsonschema
import referencing.exceptions

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import record  # noqa: E402

tests = record.Tests("interop-jsonschema")
LINES = os.path.abspath(sys.argv[1])
DATA = ROOT / "tests/data"
Theirs = jsonschema.Draft202012Validator

# Python reads numbers as doubles, so it cannot know better. If it does one day,
# these are to be removed.
ROUNDED = {
    ("const", "a large number", "with an exponent"),
    ("type", "an integer is a number without a fraction",
     "a fraction far behind"),
}
# The validator for each $schema of dialects/keywords.json.
DIALECTS = {
    "none": Theirs,
    "2020-12": Theirs,
    "2019-09": jsonschema.Draft201909Validator,
    "draft-07": jsonschema.Draft7Validator,
    "draft-04": jsonschema.Draft4Validator,
}
# What a member is changed into.
OTHERS = [None, True, 7, 1.5, "x", "", [], [None], {}, {"$type": "text"}]


def ask(lines):
    """What our program says about each line."""
    done = subprocess.run([LINES], input="\n".join(lines) + "\n", check=True,
                          stdout=subprocess.PIPE, encoding="utf-8",
                          errors="surrogatepass")
    answers = done.stdout.split("\n")[:-1]
    assert len(answers) == len(lines), (len(answers), len(lines))
    return answers


def line(name, text):
    """A line of JSON around the text of a value."""
    return '{"%s":%s}' % (name, text.replace("\n", " ").replace("\r", " "))


def no_differences(problems):
    assert not problems, "\n".join(map(str, problems[:20]))


# --- cases -----------------------------------------------------------------

def cases():
    for file in sorted((DATA / "jsonschema").glob("*.json")):
        for group in json.loads(file.read_text(encoding="utf-8")):
            yield file.stem, group


@tests.test("jsonschema: gives the same verdict for every case")
def _():
    problems, count = [], 0
    for stem, group in cases():
        Theirs.check_schema(group["schema"])
        theirs = Theirs(group["schema"])
        for test in group["tests"]:
            key = (stem, group["description"], test["description"])
            count += 1
            # Ours is the one in the file: jsonschema_cases.c sees to that.
            if theirs.is_valid(test["data"]) == test["valid"]:
                if key in ROUNDED:
                    problems.append(("no longer different", key))
            elif key not in ROUNDED:
                problems.append(key)
    no_differences(problems)
    assert count > 350, count


def changed(tree, path, value):
    """A copy with another value at a place."""
    if not path:
        return value
    result = copy.deepcopy(tree)
    inner = result
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return result


def removed(tree, path):
    result = copy.deepcopy(tree)
    inner = result
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    return result


def places(tree, path=()):
    yield path
    items = (tree.items() if isinstance(tree, dict) else
             enumerate(tree) if isinstance(tree, list) else ())
    for name, child in items:
        yield from places(child, path + (name,))


def mutants(tree, every, offset):
    """Each `every`-th of all documents in which one place is different."""
    number = offset
    for path in places(tree):
        for other in OTHERS + ["remove"]:
            number += 1
            if number % every:
                continue
            if other != "remove":
                yield path, changed(tree, path, other)
            elif path:
                yield path, removed(tree, path)


@tests.test("jsonschema: what its meta-schema refuses, we refuse")
def _():
    schemas, theirs = [], []
    for number, (_, group) in enumerate(cases()):
        for _, schema in mutants(group["schema"], 3, number):
            try:
                Theirs.check_schema(schema)
                theirs.append(True)
            except jsonschema.SchemaError:
                theirs.append(False)
            schemas.append(schema)
    answers = ask([line("schema", json.dumps(schema)) for schema in schemas])
    no_differences([(answer, schema) for answer, accepted, schema in
                    zip(answers, theirs, schemas)
                    if not accepted and not answer.startswith("refused ")])
    assert theirs.count(False) > 300, theirs.count(False)
    assert answers.count("loaded") > 100, answers.count("loaded")


# --- other dialects --------------------------------------------------------

# Where we differ from a draft: the rows of dialects/keywords.json, by the
# dialects in which they do. docs/formats/jsonschema.md says the same.
DIFFER = {
    # Not yet in these drafts. We read every schema as 2020-12.
    "draft-04": {
        "type: an integer with a point", "const", "contains", "propertyNames",
        "if", "then", "else"},
    "draft-07 draft-04": {
        "$anchor", "minContains", "maxContains", "dependentRequired",
        "dependentSchemas",
        # What stands beside $ref has no effect there.
        "$ref: beside a rule", "definitions: below the root, beside $defs"},
    "2019-09 draft-07 draft-04": {
        "prefixItems", "additionalItems: behind prefixItems"},
    # A keyword of OpenAPI.
    "none 2020-12 2019-09 draft-07 draft-04": {
        "nullable", "nullable: before the type", "nullable: beside $ref",
        "nullable: beside enum", "nullable: beside anyOf",
        "nullable: inside anyOf", "nullable: inside not",
        "nullable: of a member", "nullable: of elements"},
    # References start at the root of the document, not at $id.
    "none 2020-12 2019-09 draft-07": {"$id: with a reference inside"},
}
UNCHECKED = {
    "draft-04": {"exclusiveMinimum: a boolean", "exclusiveMaximum: a boolean"},
    "draft-07 draft-04": {"dependencies", "dependencies: with schemas"},
    "2019-09 draft-07 draft-04": {"items: a list"},
    "2019-09": {"$recursiveRef"},
    "none 2020-12": {"$dynamicRef"},
    "none 2020-12 2019-09": {"unevaluatedProperties", "unevaluatedItems"},
}


def listed():
    return {(name, dialect) for table in (DIFFER, UNCHECKED)
            for dialects, names in table.items()
            for dialect in dialects.split() for name in names}


def dialect_file(name):
    return json.loads((DATA / "jsonschema/dialects" / name).read_text(
        encoding="utf-8"))


def lenient_verdicts(schema, values):
    """Ours; None if the schema is refused."""
    answers = ask([line("lenient", json.dumps(schema))] +
                  [line("instance", json.dumps(value)) for value in values])
    if answers[0] != "loaded":
        return None
    return [answer.split("\t")[0] == "valid" for answer in answers[1:]]


def their_verdict(dialect, schema, value):
    try:
        return DIALECTS[dialect](schema).is_valid(value)
    except referencing.exceptions.Unresolvable:
        return None  # a reference that leads nowhere


@tests.test("dialects: the verdicts of each draft, but for what is listed")
def _():
    file, found, count = dialect_file("keywords.json"), set(), 0
    for row in file["rows"]:
        name = ": ".join(filter(None, (row["keyword"], row.get("form"))))
        values = row.get("valid", []) + row.get("invalid", [])
        for dialect in file["dialects"]:
            schema = row["schema"]
            if "uri" in dialect and "$schema" not in schema:
                schema = {"$schema": dialect["uri"], **schema}
            try:
                DIALECTS[dialect["name"]].check_schema(schema)
            except jsonschema.SchemaError:
                continue  # the draft has no verdict about it
            ours = lenient_verdicts(schema, values)
            if ours is None:
                continue  # jsonschema_dialects.c knows why
            count += len(values)
            if ours != [their_verdict(dialect["name"], schema, value)
                        for value in values]:
                found.add((name, dialect["name"]))
    no_differences(sorted(found ^ listed()))
    assert count > 900, count


@tests.test("dialects: the same verdicts for what programs write")
def _():
    problems = []
    for group in dialect_file("programs.json"):
        for test in group["tests"]:
            theirs = their_verdict(group["dialect"], group["schema"],
                                   test["data"])
            # Ours is the one in the file: jsonschema_dialects.c sees to that.
            if (theirs == test["valid"]) == ("differs" in test):
                problems.append((group["description"], test, theirs))
    no_differences(problems)


# --- state documents -------------------------------------------------------

def state_documents():
    """Text of each; payloads and handles are no state documents, but a check
    must say so too."""
    for folder in ("dotnet/durable", "python/durable"):
        for file in sorted((DATA / folder).glob("*.json")):
            yield f"{folder}/{file.name}", file.read_text(encoding="utf-8")
    for file in sorted((DATA / "schemas").glob("sample-*.json")):
        yield file.name, file.read_text(encoding="utf-8")
    verdicts = (DATA / "dotnet/durable/90-verdicts.jsonl").read_text(
        encoding="utf-8").splitlines()
    for number, row in enumerate(verdicts):
        text = json.loads(row)["doc"]
        try:
            json.loads(text, parse_constant=lambda token: 1 / 0)
        except (ValueError, ZeroDivisionError):
            continue  # no JSON: nothing that a schema could be asked
        yield f"verdict {number}", text


def pointer(steps):
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1")
                   for step in steps)


def their_findings(validator, tree):
    """Pointer and keyword. Members too many are one error of the object."""
    found = set()
    for error in validator.iter_errors(tree):
        found.add((pointer(error.absolute_path), error.validator))
    return found


def our_findings(answer):
    """The same, in the other's words: a member that may not be there, and a
    name, are reported at their object."""
    parts = answer.split("\t")[1:]
    found = set()
    for place, keyword in zip(parts[::2], parts[1::2]):
        if keyword == "additionalProperties":
            place = place.rpartition("/")[0]
        found.add((place, keyword))
    return found


def compare(schema_name, documents):
    """Counts of valid and invalid documents; fails if a verdict differs."""
    text = (ROOT / f"schemas/durable-agent-state.{schema_name}.json").read_text(
        encoding="utf-8")
    schema = json.loads(text)
    Theirs.check_schema(schema)
    theirs, problems, counts = Theirs(schema), [], [0, 0]
    answers = ask([line("schema", text)] +
                  [line("instance", source) for _, source, _ in documents])
    assert answers[0] == "loaded", answers[0]
    for (name, _, tree), answer in zip(documents, answers[1:]):
        expected = their_findings(theirs, tree)
        counts[not expected] += 1
        verdict = answer.split("\t")[0]
        if verdict != ("invalid" if expected else "valid"):
            problems.append((name, answer, expected))
        elif our_findings(answer) != expected:
            problems.append((name, our_findings(answer) ^ expected))
    no_differences(problems)
    return counts


def check_documents(schema_name, least):
    invalid, valid = compare(schema_name, [
        (name, text, json.loads(text)) for name, text in state_documents()])
    assert valid >= least[0] and invalid >= least[1], (valid, invalid)


@tests.test("tolerant schema: both validators say the same of every document")
def _():
    check_documents("tolerant", (150, 30))


@tests.test("strict schema: both validators say the same of every document")
def _():
    check_documents("strict", (20, 100))


def changed_documents():
    for number, (name, text) in enumerate(state_documents()):
        if name.startswith("verdict "):
            continue
        # No infinities: they could not be written as JSON again.
        tree = json.loads(text, parse_float=lambda number: min(
            float(number), sys.float_info.max))
        every = max(11, len(list(places(tree))))
        for path, mutant in mutants(tree, every, number):
            yield name + pointer(path), json.dumps(mutant), mutant


@tests.test("both schemas: both validators say the same of changed documents")
def _():
    documents = list(changed_documents())
    assert len(documents) > 500, len(documents)
    for name in ("tolerant", "strict"):
        invalid, valid = compare(name, documents)
        assert valid > 20 and invalid > 100, (name, valid, invalid)


tests.finish()
