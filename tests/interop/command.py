"""Runs `perdure convert` as another program would: through pipes."""
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/integration"))
from harness import record, run  # noqa: E402,F401

PERDURE = os.path.abspath(sys.argv[1])


def convert(data, source, target, *options):
    """Bytes in one format to bytes in another. The result also has the `report`
    of the command and, if it refused, its `reason` and the `pointer` to the
    place."""
    result = run([PERDURE, "convert", "-o", "json", "--from", source, "--to",
                  target, *options, "-", "-"], stdin=data)
    result.report = json.loads(result.err)
    result.reason = result.report.get("reason")
    result.pointer = result.report.get("pointer")
    return result
