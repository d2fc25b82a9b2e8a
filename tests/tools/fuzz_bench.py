"""What runs fuzz targets and benchmarks sees when one of them goes wrong."""
import json

from tree import TOP, record, run, tree

tests = record.Tests("fuzz-bench")
STATS = "echo stat::number_of_executed_units: 1234\n"


def result(tool, programs, *args):
    """Run a tool on shell scripts that stand for the programs of a build."""
    with tree({name: "#!/bin/sh\n" + text
               for name, text in programs.items()}) as root:
        rows = []
        for name in programs:
            (root / name).chmod(0o755)
            rows.append({"name": name, "type": "executable",
                         "filename": [str(root / name)]})
        (root / "meson-info").mkdir()
        (root / "meson-info/intro-targets.json").write_text(json.dumps(rows))
        if tool == "bench":
            return run(tool, "--out", root / "out", *args, root)
        return run(tool, root, *args)


def case(ratio, wanted=None, **more):
    line = {"bench": "b", "case": "c", "value": 1.0, "unit": "ns",
            "baseline": "x", "baseline_value": ratio, "ratio": ratio, **more}
    if wanted is not None:
        line["wanted"] = wanted
    return "echo '" + json.dumps(line) + "'\n"


@tests.test("fuzz: adds up the executions of all targets")
def _():
    status, lines = result("fuzz", {"fuzz-a": STATS, "fuzz-b": STATS}, "2")
    assert status == 0 and lines[0] == "2 targets, 1 s each", lines
    assert lines[-1].startswith("2,468 executions in 2 s"), lines


@tests.test("fuzz: shares the seconds and gives each target its corpus")
def _():
    _, lines = result("fuzz", {"fuzz-number": 'echo "$@"\nexit 1\n'}, "7")
    call = next(line for line in lines if "-max_total_time" in line)
    assert "-max_total_time=7" in call, call
    assert str(TOP / "tests/fuzz/corpus/number") in call, call


@tests.test("fuzz: a finding fails the run and is named with what was said")
def _():
    finding = "echo 'broken property: x'\n" \
              'for a in "$@"; do case $a in -artifact_prefix=*)\n' \
              'touch "${a#*=}crash-1";; esac; done\nexit 77\n'
    status, lines = result("fuzz", {"fuzz-a": STATS, "fuzz-b": finding}, "2")
    text = "\n".join(lines)
    assert status == 1, text
    assert "FINDING b" in text and "broken property: x" in text, text
    assert "findings/b-crash-1" in text, text


@tests.test("fuzz: an unknown target is an error")
def _():
    status, lines = result("fuzz", {"fuzz-a": STATS}, "2", "z")
    assert status == 1 and "no such target: z" in lines[0], lines


@tests.test("bench: prints a row for each case")
def _():
    status, lines = result("bench", {"bench-b-x": case(2.0, 1.2) * 2})
    assert status == 0, lines
    assert sum(line.startswith("b c ") for line in lines) == 2, lines


@tests.test("bench: shows how far the ratios of blocks are spread")
def _():
    blocks = case(2.0, settings={"ratio_min": 0.5, "ratio_max": 31.25})
    status, lines = result("bench", {"bench-b-x": blocks})
    assert status == 0 and "spread" in lines[-2], lines
    assert "0.5 - 31.2" in lines[-1], lines


@tests.test("bench: less than what is wanted fails, but not with --quick")
def _():
    slow = {"bench-b-x": case(1.1, 1.2)}
    status, lines = result("bench", slow)
    assert status == 1 and "below what is wanted: b c" in lines[-1], lines
    status, lines = result("bench", slow, "--quick")
    assert status == 0, lines


@tests.test("bench: a program that fails or measures nothing fails the run")
def _():
    for text in ("exit 3\n", "exit 0\n", "echo '{}'\n", "echo no json\n"):
        status, lines = result("bench", {"bench-b-x": text})
        assert status == 1 and "bench-b-x" in lines[-1], (text, lines)


@tests.test("bench: one can be chosen by name")
def _():
    both = {"bench-b-x": case(1.0), "bench-other-x": "exit 3\n"}
    assert result("bench", both, "--bench", "b")[0] == 0
    status, lines = result("bench", both, "--bench", "no")
    assert status == 1 and "no benchmark called 'no'" in lines[-1], lines


tests.finish()
