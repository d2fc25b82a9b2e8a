"""The runner counts what happened, also where programs misbehave."""
import json
import pathlib
import subprocess
import sys
import tempfile

top = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(top / "tests/support"))
import record  # noqa: E402

tests = record.Tests("run-tests")
RECORD = '"$PERDURE_TEST_RECORD"'


def run(*programs, options=()):
    """Run shell scripts as test programs; give status and output."""
    with tempfile.TemporaryDirectory() as folder:
        info = pathlib.Path(folder, "meson-info")
        info.mkdir()
        rows = []
        for i, program in enumerate(programs):
            row = {"name": f"p{i}", "suite": ["perdure:unit"], "env": {},
                   "timeout": 30, "workdir": None, "is_parallel": True}
            row.update(program)
            row["cmd"] = row.get("cmd", ["sh", "-c", row.pop("script", "")])
            rows.append(row)
        (info / "intro-tests.json").write_text(json.dumps(rows))
        done = subprocess.run(
            [top / "tools/run-tests", *options, folder], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def line(verdict, name="a", rest=""):
    return f"printf '{verdict}\\t{name}\\t{rest}\\n' >> {RECORD};"


def expect(last, *programs, says="", options=()):
    status, output = run(*programs, options=options)
    assert output.splitlines()[-1] == last, output
    assert (status == 0) == last.endswith(" 0 failed"), (status, output)
    assert says in output, output


@tests.test("count: is of test cases, not of programs")
def _():
    expect("5 passed, 0 failed",
           {"script": line("pass") + line("pass", "b")},
           {"script": line("pass") * 3})


@tests.test("failing test: is counted and shown with its output")
def _():
    expect("1 passed, 1 failed",
           {"script": line("pass") + line("fail", "b") + "echo hello; exit 1"},
           says="| hello")
    status, output = run(
        {"script": line("fail", "b") + "echo ok c; echo hello; exit 1"},
        {"script": line("pass")}, {"script": "exit 3"})
    assert "failed: p0: b\nfailed: p2: wrote no record\n1 passed, 2 failed" \
        in output, output
    assert "ok c" not in output, output


@tests.test("harness: what it counts is shown, also if it passes")
def _():
    script = line("pass") + "echo '[ RUN ]'; echo 7 kills"
    expect("1 passed, 0 failed",
           {"script": script, "suite": ["perdure:unit", "perdure:harness"]},
           says="     | 7 kills\n1 passed")
    status, output = run({"script": script})
    assert status == 0 and "kills" not in output, output


@tests.test("crash: is one failure, and what passed before still counts")
def _():
    expect("1 passed, 1 failed",
           {"script": line("pass") + "kill -SEGV $$"}, says="SIGSEGV")


@tests.test("missing record: is one failure")
def _():
    expect("0 passed, 1 failed", {"script": "exit 0"},
           says="wrote no record")
    expect("0 passed, 1 failed", {"script": f": > {RECORD}"},
           says="ran no test")


@tests.test("crash without a record: is one failure, not two")
def _():
    expect("0 passed, 1 failed", {"script": "kill -ABRT $$"})


@tests.test("hanging program: is killed with its children")
def _():
    expect("0 passed, 1 failed", {"script": "sleep 300 & wait", "timeout": 1},
           says="killed after 1 s")


@tests.test("time limit: is multiplied for slow builds")
def _():
    expect("0 passed, 1 failed", {"script": "sleep 300", "timeout": 1},
           says="killed after 2 s", options=["--slow", "2"])


@tests.test("status that no test explains: is one failure")
def _():
    expect("1 passed, 1 failed", {"script": line("pass") + "exit 23"},
           says="status 23")


@tests.test("program that is not there: is one failure")
def _():
    expect("0 passed, 1 failed", {"cmd": ["/nonexistent/program"]},
           says="cannot be started")


@tests.test("bad line: is one failure")
def _():
    expect("1 passed, 1 failed",
           {"script": line("pass") + f"echo passed >> {RECORD}"},
           says="bad line")


@tests.test("four claims: are refused")
def _():
    expect("0 passed, 1 failed",
           {"script": line("pass", "a", "S-1,S-2,S-3,S-4")},
           says="claims more than 3")
    expect("1 passed, 0 failed",
           {"script": line("pass", "a", "S-1,S-2,S-3")})


@tests.test("skipped test: is named with its reason, which it must have")
def _():
    expect("1 passed, 0 failed",
           {"script": line("pass") + line("skip", "b", "no such kernel")},
           says="skipped: b: no such kernel")
    expect("0 passed, 1 failed", {"script": line("skip", "b")},
           says="without a reason")


@tests.test("broken program: has to fail in the expected way")
def _():
    broken = {"suite": ["perdure:broken"]}
    named = {"PERDURE_MUST_FAIL": "b", "PERDURE_MUST_SAY": "leak"}
    fails = line("fail", "b")
    expect("1 passed, 0 failed",
           {**broken, "script": line("pass") + fails + "exit 1"})
    expect("1 passed, 0 failed",
           {**broken, "env": named, "script": fails + "echo leak; exit 1"})
    expect("0 passed, 1 failed", {**broken, "script": line("pass")},
           says="nobody found")
    expect("0 passed, 1 failed", {**broken, "script": fails + "kill -9 $$"},
           says="SIGKILL")
    expect("0 passed, 1 failed", {**broken, "script": fails + "exit 99"})
    expect("0 passed, 1 failed",
           {**broken, "env": named, "script": fails + "exit 1"},
           says="without saying")
    expect("0 passed, 1 failed",
           {**broken, "env": named,
            "script": fails + line("fail", "c") + "echo leak; exit 1"},
           says="only 'b' must fail")


@tests.test("broken program: may say why it cannot run here")
def _():
    expect("0 passed, 0 failed",
           {"suite": ["perdure:broken"], "script": line("skip", "b", "no box")},
           says="skipped: b: no box")
    expect("0 passed, 1 failed",
           {"suite": ["perdure:broken"],
            "script": line("skip", "b", "no box") + line("pass", "c")},
           says="nobody found")


@tests.test("programs with a browser: are left out if somebody says so")
def _():
    ui = {"suite": ["perdure:ui", "perdure:harness"], "script": line("pass")}
    expect("2 passed, 0 failed", {"script": line("pass")}, ui)
    expect("1 passed, 0 failed", {"script": line("pass")}, ui,
           says="1 programs with a browser", options=["--no-ui"])


@tests.test("interop: runs only when asked for")
def _():
    interop = {"suite": ["perdure:interop"], "script": line("pass")}
    expect("1 passed, 0 failed", {"script": line("pass")}, interop,
           says="not run here")
    asked = ["--suite", "interop"]
    expect("1 passed, 0 failed", {"script": ""}, interop, options=asked)
    status, output = run({"script": ""}, options=asked)
    assert status == 1 and "there is no such test" in output, output


@tests.test("programs with a planted mistake: can be left out, and are counted")
def _():
    expect("1 passed, 0 failed", {"script": line("pass")},
           {"script": line("pass"), "suite": ["perdure:broken"]},
           options=["--no-broken"], says="`make test` runs them: 1 programs")


@tests.test("slowest programs: are listed with their times")
def _():
    script = line("pass") + "sleep "
    status, output = run(*[{"script": script + "0.%d" % (i % 3)}
                           for i in range(21)])
    shown = output.splitlines()[-22:-1]
    assert shown[0].startswith("the slowest 20 of 21 programs"), output
    assert [float(row.split()[0]) for row in shown[1:]] == sorted(
        [float(row.split()[0]) for row in shown[1:]], reverse=True), output


@tests.test("harnesses: begin before programs that are short")
def _():
    script = line("pass")
    alone = {"script": script, "is_parallel": False}
    status, output = run(
        alone, {**alone, "suite": ["perdure:integration", "perdure:harness"]},
        {**alone, "suite": ["perdure:conformance"]})
    order = [row.split()[1] for row in output.splitlines()
             if row.startswith("ok ")]
    assert order == ["p1", "p2", "p0"], output


@tests.test("threads: programs that start none are left out, and counted")
def _():
    with tempfile.TemporaryDirectory() as folder:
        program = str(pathlib.Path(folder, "starts"))
        source = ("#include <pthread.h>\n#include <stdio.h>\n"
                  "#include <stdlib.h>\n"
                  "static void *go(void *arg) { return arg; }\n"
                  "int main(void) { pthread_t one;\n"
                  "FILE *out = fopen(getenv(\"PERDURE_TEST_RECORD\"), \"w\");\n"
                  "fputs(\"pass\\ta\\t\\n\", out); fclose(out);\n"
                  "pthread_create(&one, NULL, go, NULL);\n"
                  "return pthread_join(one, NULL); }\n")
        subprocess.run(["cc", "-x", "c", "-pthread", "-o", program, "-"],
                       input=source, text=True, check=True)
        expect("1 passed, 0 failed", {"cmd": [program]},
               {"script": line("fail")}, options=["--threads"],
               says="left out, since they start no thread: 1")


tests.finish()
