"""Servers with a mistake under the harnesses that talk to one. Each mistake has
to be found by the test that is there for it, and the same test has to pass where
the proxy that makes the mistakes makes none. Usage: serve_variants.py PERDURE
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent / "integration"
sys.path.insert(0, str(TESTS))
from harness import Tests, record  # noqa: E402

if sys.argv[1] == "--only":  # one test of a harness
    name, script = sys.argv[2:4]
    finish = record.Tests.finish

    def one(self):
        self.tests = [test for test in self.tests if test[0] == name]
        assert len(self.tests) == 1, name
        finish(self)
    record.Tests.finish = one
    del sys.argv[1:4]
    sys.argv[0] = script
    import runpy
    runpy.run_path(script, run_name="__main__")

PERDURE = os.path.abspath(sys.argv[1])
tests = Tests("broken-serve-variants")

CAUGHT_BY = {
    "trusts-late-writers": (
        "serve_native.py", "a late writer is told so, and changes nothing"),
    "forgets-keys-of-runs": (
        "serve_native.py", "a key is answered once, and replayed"),
    "forgets-where-a-reader-was": (
        "serve_native.py",
        "who comes back 20 times gets each event once, in order"),
    "loses-events": (
        "serve_native.py",
        "who comes back 20 times gets each event once, in order"),
    "doubles-events": (
        "serve_native.py",
        "who comes back 20 times gets each event once, in order"),
    "crosses-tenants": (
        "serve_keys.py", "what is somebody else's is not there, on every "
        "route"),
    "asks-for-no-scope": (
        "serve_keys.py", "each route needs a key, and a scope of it"),
    "takes-two-lengths": (
        "serve_abuse.py",
        "heads that others would read differently are refused"),
    "answers-what-follows": (
        "serve_abuse.py",
        "heads that others would read differently are refused"),
    "crosses-answers": (
        "serve_crowd.py",
        "two hundred runs at once are answered, each with its own answer"),
}


def run(mistake, script, name):
    """Does the test pass? And what it says."""
    command = os.path.abspath(f"perdure-{mistake}-{len(name)}")
    with open(command, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nexec '{sys.executable}' "
                   f"'{HERE / 'serve_proxy.py'}' {mistake} '{PERDURE}' "
                   '"$@"\n')
    os.chmod(command, 0o755)
    env = {k: v for k, v in os.environ.items()
           if k != "PERDURE_TEST_RECORD"}
    done = subprocess.run(
        [sys.executable, __file__, "--only", name, str(TESTS / script),
         command], env=env, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=200)
    return done.returncode == 0, done.stdout.decode()


def run_all(cases):
    """Most of their time they wait."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda case: run(*case), cases))


@tests.test("serve harness: the proxy alone is no mistake")
def _():
    cases = [("none", *where) for where in sorted(set(CAUGHT_BY.values()))]
    for passes, said in run_all(cases):
        assert passes, said


@tests.test("serve harness: does not see what a server gets wrong")
def _():
    caught = []
    cases = [(mistake, *where) for mistake, where in CAUGHT_BY.items()]
    for (mistake, _, name), (passes, said) in zip(cases, run_all(cases)):
        if not passes and f"FAILED {name}" in said and "AssertionError" in said:
            caught.append(mistake)
        else:
            print(f"not caught: {mistake}\n{said}")
    print(f"caught {len(caught)} of {len(CAUGHT_BY)}")
    assert not caught


tests.finish()
