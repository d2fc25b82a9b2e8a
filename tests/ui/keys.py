"""Keys of a server, for the checks that log in."""
import json
import pathlib

import stage
from harness import run

FILE = "keys.jsonl"


def make(*scopes):
    done = run([stage.PERDURE, "key", "create", "--keys", FILE, "--tenant",
                "default", *[f"--scope={scope}" for scope in scopes]])
    assert done.status == 0, done
    return done.out.decode().strip()


def revoke(key):
    done = run([stage.PERDURE, "key", "revoke", "--keys", FILE,
                key.split("_")[1]])
    assert done.status == 0, done


def lines():
    return [json.loads(line) for line in
            pathlib.Path(FILE).read_text().splitlines()]
