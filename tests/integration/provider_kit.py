"""The kit for authors of providers: honest ones pass, each leak is found.
Usage: provider_kit.py PROVIDER-KIT"""
import os
import sys

from harness import Tests, run

KIT = os.path.abspath(sys.argv[1])
tests = Tests("provider kit")


def check(name):
    os.mkdir(name)
    return run([KIT, name, name])


@tests.test("provider kit: takes honest providers, wherever they keep state")
def _():
    for name in ("honest", "history-in-session", "history-in-store",
                 "history-in-files"):
        result = check(name)
        assert result.status == 0 and not result.out and not result.err, \
            (name, result)
    # What a conversation is about is not in the session.
    assert os.listdir("history-in-files/stored") != []


@tests.test("provider kit: finds each leak")
def _():
    for name, reason, text in (
            ("last-session", "leak_session", "beside another session"),
            ("by-address", "leak_address", "where another session was"),
            ("in-agent", "leak_process", "in another process"),
            ("one-key", "leak_key", "two instances have one key"),
            ("one-hidden-key", "leak_key", "beside another instance"),
            ("secret-in-bag", "leak_secret", 'hunter2-of-the-"backend"'),
            ("handle-in-bag", "leak_secret", "address of the provider"),
            ("handle-followed", "leak_process", "in another process"),
            ("unnamed-key", "leak_process", "in another process")):
        result = check(name)
        error = result.err.decode()
        assert result.status == 6 and error.startswith(reason + ": ") \
            and text in error, (name, result)


@tests.test("provider kit: says what it wants")
def _():
    assert run([KIT]).status == 2
    result = run([KIT, "honest", "no/such/folder"])
    assert result.status == 9 and b"no/such" in result.err, result
    os.mkdir("honest-twice")
    assert run([KIT, "honest", "honest-twice"]).status == 0
    result = run([KIT, "honest", "honest-twice"])
    assert (result.status == 9 and b"file_failed: 'honest-twice' must be an "
            b"empty folder" in result.err), result


@tests.test("provider kit: the second process has the same environment")
def _():
    with open("again", "w") as file:
        file.write('#!/bin/sh\ntest "$MARK" = 1 && exec %s "$@"\n' % KIT)
    os.chmod("again", 0o755)
    os.mkdir("marked")
    for mark, status in (("1", 0), ("2", 6)):
        os.mkdir("marked/" + mark)
        result = run(["./again", "honest", "marked/" + mark],
                     env={"MARK": mark}, executable=KIT)
        assert result.status == status, result


tests.finish()
