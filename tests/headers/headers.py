"""Each public header compiles alone, and all of them together, in every language
that promises to take them.

    headers.py INCLUDE_FOLDER CC CXX
"""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import record  # noqa: E402

include = pathlib.Path(sys.argv[1])
cc, cxx = sys.argv[2], sys.argv[3]
languages = {
    "C99": [cc, "-xc", "-std=c99"],
    "C11": [cc, "-xc", "-std=c11"],
    "C++17": [cxx, "-xc++", "-std=c++17"],
}
flags = ["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion",
         "-Wshadow", "-Werror", f"-I{include}"]
tests = record.Tests("headers")


def compiles(command, *headers):
    # Twice, so that a missing include guard shows.
    source = "".join(f"#include <{h}>\n" for h in headers * 2)
    source += "int unused_;\n"
    done = subprocess.run(command + flags + ["-"], input=source, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout


def add(header, language, command):
    @tests.test(f"{header}: compiles alone as {language}")
    def _():
        compiles(command, header)


headers = sorted(str(p.relative_to(include)) for p in include.rglob("*.h"))
assert headers, f"no header below {include}"
for header in headers:
    for language, command in languages.items():
        add(header, language, command)
for language, command in languages.items():
    @tests.test(f"all headers: compile together as {language}")
    def _(command=command):
        compiles(command, *headers)
tests.finish()
