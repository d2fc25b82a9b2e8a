"""The manual says what its sources say, and refuses what it does not know."""
import re
import shutil
import subprocess

from tree import TOP, record, run, tree

tests = record.Tests("mkman")
PAGES = sorted((TOP / "docs/man").glob("*.1.md"))
HEAD = "# some-page(1)\n\n## NAME\n\nsome-page - does it\n\n"


def make(text):
    """Status and lines of a page that is made from a text."""
    with tree({"page.1.md": text}) as root:
        status, lines = run("mkman", "1.2", root / "page.1.md")
    return status, [line.replace(str(root) + "/", "") for line in lines]


def body(text):
    """The lines that a text becomes, without what every page has."""
    status, lines = make(HEAD + text)
    assert status == 0, lines
    at = lines.index("some\\-page \\- does it")
    return lines[at + 1:]


def refuses(text, expected):
    status, lines = make(HEAD + text)
    assert status == 1 and len(lines) == 1, lines
    assert expected in lines[0], lines


def shown(page):
    """A page as a reader sees it, without fonts, on one line."""
    made = subprocess.run([TOP / "tools/mkman", "1.2", page], check=True,
                          stdout=subprocess.PIPE).stdout
    done = subprocess.run(["groff", "-man", "-Tascii", "-ww", "-P-c"],
                          input=made, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b""), done.stderr
    text = re.sub(r".\x08", "", done.stdout.decode("ascii"))
    return text


@tests.test("pages: each has a title, a name, a synopsis and no Markdown")
def _():
    assert len(PAGES) >= 6, PAGES
    for page in PAGES:
        status, lines = run("mkman", "1.2", page)
        name = page.name[:-len(".1.md")]
        assert status == 0, lines
        title = name.upper().replace("-", "\\-")
        assert lines[0].startswith(f'.TH "{title}" "1" '), lines[0]
        for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES"):
            if section != "EXAMPLES" or "## EXAMPLES" in page.read_text():
                assert f'.SH "{section}"' in lines, (page, section)
        assert lines[lines.index('.SH "NAME"') + 2].startswith(
            name.replace("-", "\\-") + " \\- "), page
        for line in lines:
            assert not re.search(r"\*\*|^#|```|^- ", line), (page, line)


@tests.test("pages: groff shows every word of them and warns of nothing")
def _():
    if shutil.which("groff") is None:
        raise record.Skip("groff is not installed")
    for page in PAGES:
        text = shown(page)
        words = " ".join(text.split())
        for block in re.findall(r"```\w*\n(.*?)```", page.read_text(), re.S):
            for line in block.splitlines():
                assert line in text, (page, line)
        prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
        for line in prose.splitlines()[1:]:
            for word in re.sub(r"^(##|-) |\*", "", line).split():
                assert word.rstrip(":") in words, (page, word)
        lines = text.splitlines()
        assert "NAME" in lines and "SYNOPSIS" in lines, lines


@tests.test("text: keeps fonts, also over the end of a line")
def _():
    assert body("a **b-c** and *d\ne* f\n") == [
        ".PP", "a \\fBb\\-c\\fR and \\fId e\\fR f"]


@tests.test("text: no character of it is a command")
def _():
    assert body(".so \\x 'y' \"z\" ^ ~ é\n") == [
        ".PP", "\\&.so \\ex \\(aqy\\(aq \\(dqz\\(dq \\(ha \\(ti \\[u00E9]"]
    assert body("'so x\n") == [".PP", "\\(aqso x"]


@tests.test("lists: a tag with its text, or a bullet")
def _():
    assert body("- **-a**: first\n  line\n- other\n\nend\n") == [
        ".TP", "\\fB\\-a\\fR", "first line", ".IP \\(bu 2", "other",
        ".PP", "end"]


@tests.test("blocks: keep their lines, marks included")
def _():
    assert body("```console\n$ a **b**\n\n.c `d`\n```\n") == [
        ".PP", ".in +4n", ".nf", "$ a **b**", "", "\\&.c \\(gad\\(ga", ".fi",
        ".in"]


@tests.test("unknown: refused with file and line")
def _():
    refuses("### deeper\n", "page.1.md:7: a heading of a kind")
    refuses("text\n1. one\n", "page.1.md:8: a list of a kind")
    refuses("* one\n", "page.1.md:7: a list of a kind")
    refuses("| a | b |\n", "page.1.md:7: a quotation or a table")
    refuses("    code\n", "page.1.md:7: an indented line")
    refuses("see `code`\n", "page.1.md:7: a mark that is not known")
    refuses("see [a](b)\n", "page.1.md:7: a mark that is not known")
    refuses("see _that_ one\n", "page.1.md:7: an underscore as a mark")
    refuses("- a **b* c\n", "page.1.md:7: a star without its other half")
    refuses("```\ncode\n", "page.1.md:8: a block with ``` does not end")


@tests.test("title: must be there")
def _():
    for text in ("", "## NAME\n", "# Some Page\n"):
        status, lines = make(text)
        assert status == 1 and "the first line is no title" in lines[0], lines


tests.finish()
