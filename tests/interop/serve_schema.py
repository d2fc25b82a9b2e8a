"""A tester that makes requests of a description, schemathesis, and the
description of `perdure serve`: a minute of requests, good ones and bad ones.
No failure of the server, and no reply that the description does not have.

Half of the time paths have any text, half of it names that are there, and a
run that ended, so that its streams end, too. Streams that do not end are left
out. So are checks that ask for more than is told: which data must be refused
or taken; and one that takes a session which a PUT has made again for one that
was not deleted. Usage: TEST PERDURE
"""
import json
import os
import re
import sys

from command import PERDURE, run
from harness import Tests
import serving
from serving import Server

tests = Tests("interop-serve-schema")
PROGRAM = os.path.join(os.path.dirname(sys.executable), "schemathesis")
SECONDS = 60  # of both together
CHECKS = ("not_a_server_error,status_code_conformance,"
          "content_type_conformance,response_headers_conformance,"
          "response_schema_conformance,unsupported_method,"
          "allow_header_conformance,ignored_auth,ensure_resource_availability")
# Numbers that are no numbers are made as lists of any length; a query with more
# than some 80 names does not fit into the memory of a connection, and has no
# reply (src/server/http/glue.c). Nobody waits here.
ENDLESS = ("notices",)
COMMON = """\
[parameters]
"query.wait" = 0
"query.limit" = 2
"query.from" = 1
"""
KNOWN = COMMON + """\
"query.run" = "one"
"query.correlationId" = "one"
agent = "Harbour"
id = "@dafx-harbour@k"
"path.key" = "k"
run = "one"
correlation = "one"
"""
# What a command does takes longer than anything else here.
serving.AGENT = serving.AGENT.split("tools:")[0]


def serve():
    made = run([PERDURE, "key", "create", "--keys", "keys.jsonl",
                "--scope=admin"])
    assert made.status == 0, made
    server = Server("--keys", "keys.jsonl", "--wait", "1", "--quiet",
                    agents=("Harbour",))
    return server, {"Authorization": "Bearer " + made.out.decode().strip()}


def torment(url, headers, *options, config=""):
    with open("schemathesis.toml", "w", encoding="utf-8") as file:
        file.write(config)
    seed = os.environ.get("PERDURE_SEED") or "1"
    left_out = [f"--exclude-operation-id={name}" for name in ENDLESS]
    return run([PROGRAM, "run", url, "--checks", CHECKS, "--seed", seed,
                "--continue-on-failure", "--no-color", "--warnings", "off",
                "--request-timeout", "30", *left_out, *options,
                *[f"--header={k}: {v}" for k, v in headers.items()]],
               env={"NO_PROXY": "*", "HOME": os.getcwd()}, timeout=600)


def judged(result):
    text = result.out.decode()
    made = re.search(r"([\d,]+) generated", text)
    assert made, text
    print(f"{made.group(1)} requests, status {result.status}")
    return int(made.group(1).replace(",", "")), text


# What is made has another name than the one that every path gets.
for title, config, phases in (
        ("any text", COMMON, "examples,coverage,fuzzing,stateful"),
        ("names that are there", KNOWN, "examples,coverage,fuzzing")):
    @tests.test(f"schemathesis: finds nothing with {title} in paths")
    def _(config=config, phases=phases):
        server, headers = serve()
        with server as s:
            status, _, text = s.request(
                "POST", "/api/v1/sessions/%40dafx-harbour%40k/runs",
                {"message": "Hi"}, Idempotency_Key="one", **headers)
            assert status == 200, text
            result = torment(
                f"http://127.0.0.1:{s.port}/openapi.json", headers,
                "--max-time", str(SECONDS // 2), "--phases", phases,
                config=config)
            made, text = judged(result)
            assert result.status == 0, text[-20000:]
            assert made >= 33, text  # as many as there are routes
            assert s.request("GET", "/healthz")[0] == 200


@tests.test("schemathesis: sees a status that is not described")
def _():
    server, headers = serve()
    with server as s:
        api = json.loads(s.request("GET", "/openapi.json")[2])
        sessions = api["paths"]["/api/v1/sessions"]
        api["paths"] = {"/api/v1/sessions": {"post": sessions["post"]}}
        del sessions["post"]["responses"]["201"]
        with open("openapi.json", "w", encoding="utf-8") as file:
            json.dump(api, file)
        result = torment("openapi.json", headers, "--phases", "examples",
                         "--url", f"http://127.0.0.1:{s.port}")
        assert result.status == 1, result
        assert "Undocumented status code" in result.out.decode(), result


tests.finish()
