"""Generated files are what their scripts write, and the proofs hold."""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
import record  # noqa: E402

tests = record.Tests("generated")


def check(script):
    run = subprocess.run([os.path.join(ROOT, "tools", script), "--check"],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


@tests.test("mkpow10: the table is what the script computes, and is exact")
def _():
    check("mkpow10")


@tests.test("mknumbers: the golden numbers are what CPython says")
def _():
    check("mknumbers")


tests.finish()
