"""A small source tree to try a tool on."""
import contextlib
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(TOP / "tests/support"))
import record  # noqa: E402,F401


@contextlib.contextmanager
def tree(files):
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(
                text if isinstance(text, bytes) else text.encode())
        yield root


def run(tool, *args):
    """Status and lines of a tool."""
    done = subprocess.run([TOP / "tools" / tool, *args], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.splitlines()


def accepts(tool, files):
    with tree(files) as root:
        status, lines = run(tool, root)
    assert (status, lines) == (0, []), lines


def refuses(tool, files, expected):
    """The tool finds exactly one thing, at the place and for the reason."""
    with tree(files) as root:
        status, lines = run(tool, root)
    assert status == 1 and len(lines) == 1, lines
    assert expected in lines[0], lines
