"""What `make install` puts down is enough to build a program against.

    install.py BUILD CC
"""
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import record  # noqa: E402

build, cc = sys.argv[1], sys.argv[2]
PROGRAM = """
#include <perdure.h>
#include <perdure/sys/alloc.h>
#include <stdio.h>

int main(void)
{
    puts(pdr_version());
    return 0;
}
"""
tests = record.Tests("install")
folder = tempfile.TemporaryDirectory()
root = pathlib.Path(folder.name)


def call(*command, **more):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **more)
    assert done.returncode == 0, done.stdout
    return done.stdout.strip()


def pkg_config(*options):
    """Ask the installed file, which believes that it lies below /."""
    where = next(root.rglob("perdure.pc")).parent
    text = call("pkg-config", *options, "perdure", env={
        "PATH": "/usr/bin:/bin", "PKG_CONFIG_PATH": str(where),
        "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1",
        "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1"})
    prefix = call("pkg-config", "--variable=prefix", str(where / "perdure.pc"))
    return [word.replace(prefix, f"{root}{prefix}", 1)
            if word.startswith(("-I" + prefix, "-L" + prefix)) else word
            for word in text.split()]


def compile_and_run(*options):
    (root / "program.c").write_text(PROGRAM)
    call(cc, "-Wall", "-Werror", root / "program.c", "-o", root / "program",
         *options)
    library = next(root.rglob("libperdure.so")).parent
    return call(root / "program", env={"LD_LIBRARY_PATH": str(library)})


@tests.test("program: is built and runs with the shared library")
def _():
    call("meson", "install", "-C", build, "--no-rebuild", "--destdir", root)
    version = pkg_config("--modversion")[0]
    assert compile_and_run(*pkg_config("--cflags", "--libs")) == version


@tests.test("program: is built and runs with the static library")
def _():
    flags = pkg_config("--static", "--cflags", "--libs")
    flags = ["-l:libperdure.a" if word == "-lperdure" else word
             for word in flags]  # as the README says
    assert compile_and_run(*flags) == pkg_config("--modversion")[0]
    linked = call("ldd", root / "program")
    assert "libperdure" not in linked, linked


def kind(*args):
    """Run the program kind.c; what it printed, as a list of lines."""
    library = next(root.rglob("libperdure.so")).parent
    return subprocess.run(
        [root / "kind", *args], text=True, stdout=subprocess.PIPE,
        env={"LD_LIBRARY_PATH": str(library)}, cwd=root).stdout.splitlines()


@tests.test("channel: a kind of a program's own knows the five cases",
            covers=["C-80", "C-86", "C-102"])
def _():
    """Each call is a process of its own."""
    source = pathlib.Path(__file__).with_name("kind.c")
    call(cc, "-Wall", "-Wextra", "-Werror", source, "-o", root / "kind",
         *pkg_config("--cflags", "--libs"))
    said = ["Hi", "yes", "2 heard"]
    assert kind("save", "both", "a", "T") == said
    assert kind("open", "both", "T", "U", "a", "T") == [
        "equivalent", *said, "3 heard"]
    assert kind("save", "one", "a") == said[:2]
    assert kind("open", "one", "a", "T") == ["enhanced", *said]
    said.append("3 heard")
    assert kind("open", "both", "a") == [  # a process without that kind
        "reduced", "parked x-example.tape", *said, "yes"]
    assert kind("open", "both", "T", "a", "T") == [
        "equivalent", *said, "yes", "5 heard"]
    before = (root / "both").read_bytes()
    assert kind("open", "both") == ["no_agents"]
    assert kind("used", "both", "a", "T") == ["chat_in_use"]
    assert (root / "both").read_bytes() == before


@tests.test("manual: every page of the tree is installed, for this version")
def _():
    source = pathlib.Path(__file__).resolve().parents[2] / "docs/man"
    wanted = {path.stem for path in source.glob("*.1.md")}
    found = [path for path in root.rglob("man1/*") if path.is_file()]
    assert wanted and wanted == {path.name for path in found}, found
    version = pkg_config("--modversion")[0]
    for path in found:
        head = path.read_text(encoding="ascii").splitlines()[0]
        assert head.startswith('.TH "PERDURE'), head
        assert f'"perdure {version}"' in head, head


@tests.test("library: holds no path of the machine that built it")
def _():
    source = str(pathlib.Path(__file__).resolve().parents[2]).encode()
    library = next(root.rglob("libperdure.so")).read_bytes()
    # What debuggers read may have paths; strip it as packages do.
    stripped = root / "stripped.so"
    (root / "copy.so").write_bytes(library)
    call("strip", "--strip-debug", "-o", stripped, root / "copy.so")
    assert source not in stripped.read_bytes()


tests.finish()
