"""check-source finds every mistake that it is there for."""
from tree import accepts, record, refuses

tests = record.Tests("check-source")
GOOD = "int f(void)\n{\n    return 0;\n}\n"
FUNCTION = "int f(void)\n{\n" + "    g();\n" * 70 + "}\n"
WIDE = "int " + "a" * 80 + ";\n"
REASONS = '    X(NO_MEMORY, NOMEM, "no_memory")\n'
# Put together here, so that this file itself is in order.
HOME = "/" + "home" + "/"
OPEN_END = "TO" + "DO"


def finds(name, path, text, expected):
    @tests.test(name + ": is found")
    def _():
        refuses("check-source", {path: text}, expected)


def lets(name, files):
    @tests.test(name + ": is accepted")
    def _():
        accepts("check-source", files)


for banned in ("strcpy(a, b)", "strcat(a, b)", "sprintf(a, b)", "strtok(a, b)",
               "atoi(a)", "localtime(a)", "gets(a)", "alloca(4)"):
    finds(banned.split("(")[0], "src/base/a.c", f"int x;\nint y = {banned};\n",
          "src/base/a.c:2: " + banned.split("(")[0])
lets("snprintf, which only ends like a banned name",
     {"src/base/a.c": "int x = snprintf(a, 1, b);\n"})
lets("banned name in a comment or literal",
     {"src/base/a.c": '/* strcpy(a) */\nchar *s = "strcpy(";\n'})
finds("malloc in the library", "src/value/a.c", "void *x = malloc(1);\n",
      "pdr__alloc")
finds("free in the library", "src/value/a.c", "void f() { free(x); }\n",
      "pdr__alloc")
lets("a function pointer that is called free",
     {"src/value/a.c": "void f() { type->free(x, type->arg); }\n"})
lets("malloc where it belongs",
     {"src/base/alloc.c": "void *x = malloc(1);\n",
      "src/cli/a.c": "void *x = malloc(1);\n",
      "tests/unit/a.c": "void *x = malloc(1);\n",
      "src/value/a.c": "void *x = pdr__free(1);\n"})
finds("unfinished work", "src/base/a.c", f"/* {OPEN_END}: later */\n", OPEN_END)
lets("unfinished work with a number",
     {"src/base/a.c": f"/* {OPEN_END} #12: later */\n"})
finds("line of 81 columns", "src/base/a.c", "/* " + "a" * 75 + " */\n",
      "81 columns")
lets("line of 80 columns", {"src/base/a.c": "/* " + "a" * 74 + " */\n"})
lets("wide table or literal",
     {"src/base/a.c": f"/* clang-format off */\n{WIDE}/* clang-format on */\n",
      "src/base/b.c": f'char *a =\n    "{"a" * 90}";\n'})
finds("wide line behind a table", "src/base/a.c",
      f"/* clang-format off */\n/* clang-format on */\n{WIDE}", "a.c:3:")
finds("function of 71 lines", "src/base/a.c",
      FUNCTION.replace("{\n", "{\n    int x;\n"), "71 lines")
lets("function of 70 lines", {"src/base/a.c": FUNCTION})
lets("long function that says why",
     {"src/base/a.c": "/* Long on purpose: one flat switch. */\n"
                      + FUNCTION.replace("{\n", "{\n    int x;\n")})
finds("long function behind one that says why", "src/base/a.c",
      "/* Long on purpose: x. */\n" + FUNCTION
      + FUNCTION.replace("{\n", "{\n    int x;\n"), "71 lines")
finds("tab", "src/base/a.c", "\tint x;\n", "a tab")
finds("space at the end of a line", "docs/a.md", "word \n", "docs/a.md:1:")
finds("missing last newline", "docs/a.md", "word", "no newline")
finds("path of a machine", "docs/a.md", f"see {HOME}someone/x\n",
      "path of a machine")
finds("reason that no test mentions", "src/base/reasons.h", REASONS,
      '"no_memory"')
lets("reason with a test", {"src/base/reasons.h": REASONS,
                            "tests/unit/a.c": 'ASSERT_STR("no_memory", r);\n'})


@tests.test("two decisions with one number: are found")
def _():
    files = {"docs/decisions/0001-a.md": "", "docs/decisions/README.md": "",
             "docs/decisions/0002-b.md": ""}
    accepts("check-source", files)
    refuses("check-source", {**files, "docs/decisions/0001-c.md": ""},
            "same number as 0001-c.md")


@tests.test("decision without a number: is found")
def _():
    refuses("check-source", {"docs/decisions/json-a.md": ""}, "4 digits")


@tests.test("good tree: is accepted")
def _():
    accepts("check-source", {"src/base/a.c": GOOD, "Makefile": "a:\n\tb\n"})


tests.finish()
