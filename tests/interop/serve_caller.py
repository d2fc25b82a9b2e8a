"""Callers that others wrote for the Python host of durable agents talk to
`perdure serve`, as they are: the integration tests that the package
agent-framework-azurefunctions has in its source archive (1.0.0b251112.post1;
later archives have none, nor has any wheel). They start the host by
`func start --port N` and speak HTTP to it. Here a program of this name starts
`perdure serve`.

Of its seven modules two speak to routes that every host has. The others need
routes of applications: of callbacks, and of orchestrations.

One test does not pass, and must not: that release counted turns in
`message_count`, the host of today counts entries (serve_host.py), and so do
we. The same test says so in newer versions of its repository.

Usage: TEST PERDURE
"""
import os
import pathlib
import sys
import tarfile
import xml.etree.ElementTree

from command import PERDURE, run
from harness import Tests

tests = Tests("interop-serve-caller")
MODULES = {"test_01_single_agent": ("01_single_agent", ("Joker",)),
           "test_02_multi_agent": ("02_multi_agent",
                                   ("WeatherAgent", "MathAgent"))}
OLDER = {"test_conversation_continuity": "assert 2 == 1"}  # see above
# What they want to be set before they begin.
WANTED = {"RUN_INTEGRATION_TESTS": "true", "AZURE_OPENAI_ENDPOINT": "none",
          "AZURE_OPENAI_CHAT_DEPLOYMENT_NAME": "none",
          "AzureWebJobsStorage": "none", "FUNCTIONS_WORKER_RUNTIME": "python",
          "DURABLE_TASK_SCHEDULER_CONNECTION_STRING": "none", "NO_PROXY": "*"}
FUNC = f"""\
#!/bin/sh
[ "$1 $2" = "start --port" ] || exit 2
echo "$3" >>started
exec '{PERDURE}' serve --quiet --store x.db --listen "127.0.0.1:$3" $(cat agents)
"""


def unpack():
    archive, = pathlib.Path(sys.prefix, "sources").glob(
        "agent_framework_azurefunctions-*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(".")
    folder, = pathlib.Path().glob("agent_framework_azurefunctions-*/tests")
    return folder


def samples():
    """The folders that the host would be started in."""
    for folder, agents in MODULES.values():
        at = pathlib.Path("samples/getting_started/azure_functions", folder)
        at.mkdir(parents=True)
        (at / "replies.json").write_text('{"replies":[{"text":"Ha!"}]}',
                                         encoding="utf-8")
        (at / "agents").write_text(" ".join(
            f"--agent={name}=script:replies.json" for name in agents),
            encoding="utf-8")


def verdicts(report):
    """The name of each test, and why it failed, if it did."""
    found = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        assert case.find("skipped") is None, case.get("name")
        wrong = [child.text for child in case
                 if child.tag in ("failure", "error")]
        found[case.get("name")] = "\n".join(wrong)
    return found


@tests.test("caller: the tests of the Python host take us for it")
def _():
    folder = unpack()
    samples()
    pathlib.Path("bin").mkdir()
    func = pathlib.Path("bin/func")
    func.write_text(FUNC, encoding="utf-8")
    func.chmod(0o755)
    pathlib.Path("none.ini").write_text("[pytest]\n", encoding="utf-8")
    here = os.getcwd()
    result = run([sys.executable, "-m", "pytest", "-q", "-c",
                  f"{here}/none.ini", "--rootdir", str(folder.resolve()),
                  "-p", "no:cacheprovider", f"--junitxml={here}/report.xml",
                  *[f"{folder}/integration_tests/{name}.py"
                    for name in MODULES]],
                 env={**WANTED, "GITHUB_WORKSPACE": here,
                      "PATH": f"{here}/bin:{os.environ['PATH']}"}, timeout=250)
    found = verdicts("report.xml")
    assert len(found) == 7, result
    for name, wrong in found.items():
        if name in OLDER:
            assert OLDER[name] in wrong, (name, wrong)
        else:
            assert wrong == "", (name, wrong)
    for folder, _ in MODULES.values():  # it was ours that they spoke to
        at = pathlib.Path("samples/getting_started/azure_functions", folder)
        assert (at / "started").exists() and (at / "x.db").exists()


tests.finish()
