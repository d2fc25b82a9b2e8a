"""Verdicts of tests that are scripts, in the format that tools/run-tests reads.

    import record
    tests = record.Tests("check-layers")

    @tests.test("noun: says what must hold", covers=["S-12"])
    def _():
        assert ...

    tests.finish()

`covers` claims numbered statements, three at most. A test may raise
record.Skip("reason"); whoever runs the tests gets to read the reason.
"""
import os
import sys
import traceback

MAX_CLAIMS = 3


class Skip(Exception):
    """Cannot be tested here; the text says why."""


class Tests:
    def __init__(self, program):
        self.program = program
        self.tests = []

    def test(self, name, covers=()):
        def add(function):
            self.tests.append((name, tuple(covers), function))
            return function
        return add

    def _run(self, name, covers, function):
        try:
            if len(covers) > MAX_CLAIMS:
                raise AssertionError(
                    f"a test claims at most {MAX_CLAIMS} statements")
            function()
        except Skip as reason:
            return "skip", str(reason)
        except Exception:  # whatever goes wrong is a failed test
            print(f"FAILED {name}")
            traceback.print_exc(file=sys.stdout)
            return "fail", ""
        print(f"ok     {name}")
        return "pass", ",".join(covers)

    def finish(self):
        """Run all, write the record, end the process."""
        path = os.environ.get("PERDURE_TEST_RECORD", os.devnull)
        failed = False
        with open(path, "w", encoding="utf-8") as file:
            for name, covers, function in self.tests:
                verdict, rest = self._run(name, covers, function)
                failed = failed or verdict == "fail"
                file.write(f"{verdict}\t{self.program}/{name}\t{rest}\n")
                file.flush()
        sys.exit(1 if failed else 0)
