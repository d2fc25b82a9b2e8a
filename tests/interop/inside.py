"""Starts a test in the virtual environment that has the third-party packages.

    inside.py VENV TEST ARGUMENT...

Meson knows the tests before there is such an environment, so it starts this
with any Python. A package that is missing, or another version than the one that
requirements.txt names (of venv-NAME: requirements-NAME.txt), ends it without a
record of a test, which the runner counts as a failure.
"""
import importlib.metadata
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


def wanted(name="requirements.txt"):
    """The version of each package."""
    lines = (HERE / name).read_text(encoding="utf-8").split("\n")
    return dict(line.split("==") for line in lines
                if line and not line.startswith("#"))


def installed(venv):
    folders = map(str, pathlib.Path(venv).glob("lib/python*/site-packages"))
    return {package.metadata["Name"]: package.version for package in
            importlib.metadata.distributions(path=list(folders))}


def main():
    venv = os.path.abspath(sys.argv[1])
    python = os.path.join(venv, "bin/python")
    if not os.path.exists(python):
        sys.exit(f"there is no {python}: `make interop` installs it")
    found = installed(venv)
    kind = os.path.basename(venv).partition("venv-")[2]
    named = f"requirements-{kind}.txt" if kind else "requirements.txt"
    for name, version in wanted(named).items():
        if found.get(name) != version:
            sys.exit(f"{venv} must have {name} {version}, and has "
                     f"{found.get(name, 'none')}: `make interop` installs it")
    os.execv(python, [python, "-E", *sys.argv[2:]])


if __name__ == "__main__":
    main()
