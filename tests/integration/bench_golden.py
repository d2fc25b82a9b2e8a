#!/usr/bin/env python3
"""The benchmark documents are the golden ones, and a wrong one is refused.

Size and digest of the session are written here a second time, on purpose: a
change of the builder must not be able to change what it is measured by. The
command, given as the argument, must turn them into the MessagePack that other
libraries write, and back. One line a test goes to the file that
PERDURE_TEST_RECORD names.
"""

import hashlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests/bench/golden.py"
SESSION = {
    "session.json": (
        1646296,
        "62ac3b0eb8a7dfce81b555bc955d8468fee471b742a4dc825838bd9d9bed224a"),
    "session-older.json": (
        1644796,
        "1c4fc8b165d563f1b6dc178b5b0ebd5b7910ed5655adc4a0df2daea71af2a00a"),
}
MSGPACK = {
    "session.json": (
        1516894,
        "01e59564711f9b1ff07e31a2040174752f33e390ffb455264dc09e52331ab030"),
    "session-older.json": (
        1516094,
        "5ad9d5c524bde3fa43f64dba910cd5fcd44dd05460bb9c75458b0666f8159b15"),
}
PERDURE = sys.argv[1] if len(sys.argv) > 1 else None


def load():
    spec = importlib.util.spec_from_file_location("golden", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build(golden, folder):
    """Run the builder quietly; False if it refused its own result."""
    sys.argv = [str(SCRIPT), folder]
    out, sys.stdout = sys.stdout, open(os.devnull, "w", encoding="utf-8")
    try:
        golden.main()
    except SystemExit:
        return False
    finally:
        sys.stdout.close()
        sys.stdout = out
    return True


def session_has_the_published_size_and_digest(folder):
    if not build(load(), folder):
        return False
    files = {name: (pathlib.Path(folder) / name).read_bytes()
             for name in SESSION}
    return SESSION == {name: (len(data), hashlib.sha256(data).hexdigest())
                       for name, data in files.items()}


def tools_fill_the_size_with_ids_that_occur_once(folder):
    if not build(load(), folder):
        return False
    text = (pathlib.Path(folder) / "tools.json").read_text(encoding="utf-8")
    turns = json.loads(text)["data"]["conversationHistory"]
    asked = [e["correlationId"] for e in turns if e["$type"] == "request"]
    calls = [c["callId"] for e in turns for m in e["messages"]
             for c in m["contents"] if c["$type"] == "functionCall"]
    return (1_597_000 < len(text) <= 1_600_000 and
            len(set(asked)) == len(asked) == len(turns) // 2 and
            len(set(calls)) == len(calls) == len(turns) // 4 * 3)


def builder_refuses_a_document_that_differs(folder):
    golden = load()
    golden.MESSAGES -= 1
    return not build(golden, folder) and not os.listdir(folder)


def convert(source, target, *options):
    subprocess.run([PERDURE, "convert", "-q", *options, source, target],
                   check=True)
    return target.read_bytes()


def session_becomes_the_published_messagepack_and_comes_back(folder):
    if not build(load(), folder):
        return False
    folder = pathlib.Path(folder)
    for name, expected in MSGPACK.items():
        packed, back = folder / "packed.msgpack", folder / "back.json"
        data = convert(folder / name, packed, "--yes")
        if expected != (len(data), hashlib.sha256(data).hexdigest()):
            return False
        if convert(packed, back, "--yes").strip() != \
                (folder / name).read_bytes().strip():
            return False
    return True


def main():
    tests = (session_has_the_published_size_and_digest,
             tools_fill_the_size_with_ids_that_occur_once,
             builder_refuses_a_document_that_differs,
             session_becomes_the_published_messagepack_and_comes_back)
    failed = 0
    record = open(os.environ.get("PERDURE_TEST_RECORD", os.devnull), "w",
                  encoding="utf-8")
    for test in tests:
        with tempfile.TemporaryDirectory() as folder:
            verdict = "pass" if test(folder) else "fail"
        name = "golden: " + test.__name__.replace("_", " ")
        failed += verdict == "fail"
        record.write(f"{verdict}\tbench_golden/{name}\t\n")
        print(f"{verdict} {name}")
    record.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
