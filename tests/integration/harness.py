"""Runs the command as a user does: in pipes, on a terminal, with signals.

Each test runs in an empty folder of its own.
"""
import fcntl
import functools
import os
import pathlib
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import record  # noqa: E402

# Who is started in the background ignores interrupts, who is started by nohup
# hang-ups, and what they start ignores them too. A signal with a handler is one
# that children do not ignore.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, lambda number, frame: sys.exit(128 + number))


def is_sanitized(program):
    """Was it built with AddressSanitizer or ThreadSanitizer, which have memory
    and time of their own?"""
    with open(program, "rb") as file:
        return re.search(rb"__[at]san_init", file.read()) is not None


class Tests(record.Tests):
    """Tests that begin in an empty folder, which goes away with them."""

    def test(self, name, covers=()):
        add = super().test(name, covers)

        def wrap(function):
            @functools.wraps(function)
            def inside():
                home = os.getcwd()
                with tempfile.TemporaryDirectory() as folder:
                    os.chdir(folder)
                    try:
                        function()
                    finally:
                        os.chdir(home)
            return add(inside)
        return wrap


# One of each kind of character that a reader does not see: soft hyphen, zero
# width space and joiner, word joiner, filler, variation selector, byte order
# mark, tag.
INVISIBLE = "\u00ad\u200b\u200d\u2060\u3164\ufe0f\ufeff\U000e0041"


def hidden(data):
    """What there is of them in an output."""
    return [hex(ord(c)) for c in data.decode() if c in INVISIBLE]


class Result:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def __repr__(self):
        return "status %s\n--- out\n%s\n--- err\n%s" % (
            self.status, self.out.decode(errors="replace"),
            self.err.decode(errors="replace"))


def headers_of(reply):
    """Those of a reply of http.client, by their names in small letters. None
    may come twice but cookies: a reader would take either."""
    head = {}
    for name, value in reply.getheaders():
        name = name.lower()
        assert name not in head or name == "set-cookie", reply.getheaders()
        head[name] = value
    return head


def environment(extra=None):
    """Nothing of the caller's taste in colours, then what a test asks for."""
    env = {"PATH": os.environ["PATH"], "TERM": "xterm", "LC_ALL": "C.UTF-8"}
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS",
                 "LLVM_PROFILE_FILE"):
        if name in os.environ:
            env[name] = os.environ[name]
    env.update(extra or {})
    return env


def run(command, stdin=b"", env=None, timeout=120, **kwargs):
    done = subprocess.run(command, input=stdin, env=environment(env),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=timeout, **kwargs)
    return Result(done.returncode, done.stdout, done.stderr)


def _open_terminal(columns):
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ,
                struct.pack("HHHH", 24, columns, 0, 0))
    settings = termios.tcgetattr(slave)
    settings[1] &= ~termios.OPOST  # LF stays LF
    termios.tcsetattr(slave, termios.TCSANOW, settings)
    return master, slave


def _drain(masters):
    """What arrives on each terminal until all are closed."""
    got = {fd: b"" for fd in masters}
    alive = list(masters)
    while alive:
        for fd in select.select(alive, [], [])[0]:
            try:
                chunk = os.read(fd, 65536)
            except OSError:  # the last writer went away
                chunk = b""
            got[fd] += chunk
            if not chunk:
                alive.remove(fd)
    return [got[fd] for fd in masters]


def run_on_terminal(command, env=None, columns=80, feed=None, typed=None,
                    piped=False, **kwargs):
    """Standard output and standard error on a terminal each; `piped`: only
    standard error. `feed` is called with the pipe to standard input; with
    `typed` that is a terminal, too, and somebody types this."""
    out, out_slave = os.pipe() if piped else _open_terminal(columns)
    err, err_slave = _open_terminal(columns)
    keys, keys_slave = _open_terminal(columns)
    if typed is not None:
        os.write(keys, typed)
    process = subprocess.Popen(command, env=environment(env), stdout=out_slave,
                               stderr=err_slave,
                               stdin=(subprocess.PIPE if typed is None
                                      else keys_slave), **kwargs)
    os.close(out_slave)
    os.close(err_slave)
    if feed is not None:
        feed(process.stdin)
    if typed is None:
        process.stdin.close()
    texts = _drain([out, err])
    for fd in (out, err, keys, keys_slave):
        os.close(fd)
    return Result(process.wait(), texts[0], texts[1])
