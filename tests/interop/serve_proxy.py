"""`perdure serve` behind a proxy with TLS, as docs/guide/server.md says: nginx
with the site that is written there, and the command that is. Only the folders,
the port and the files of the certificate are others. Usage: TEST PERDURE
"""
import contextlib
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile

from command import PERDURE, ROOT, run
from harness import Tests
from serving import Server, events, go

tests = Tests("interop-serve-proxy")
GUIDE = ROOT / "docs/guide/server.md"
NAME = "perdure.example"
NGINX = "/usr/sbin/nginx"


def told(pattern):
    """The one place of its section where this stands."""
    text = GUIDE.read_text(encoding="utf-8")
    section = text.split("\n## Behind a proxy, with TLS\n")[1].split("\n## ")[0]
    found, = re.findall(pattern, section, re.M)
    return found


def site(port, folder):
    """The site of the guide, on this port."""
    text = told(r"(?:^    server \{\n(?:    .*\n|\n)+)")
    for old, new in (("listen 443", f"listen 127.0.0.1:{port}"),
                     ("/etc/ssl/certs/perdure.pem", f"{os.getcwd()}/pem"),
                     ("/etc/ssl/private/perdure.key", f"{os.getcwd()}/key"),
                     ("/run/perdure", folder)):
        assert text.count(old) == 1, (old, text)
        text = text.replace(old, new)
    return text


def configuration(port, folder):
    here = os.getcwd()
    paths = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in
                    ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    user = "user www-data;\n" if os.geteuid() == 0 else ""  # Debian's
    return (f"{user}daemon off;\npid {here}/pid;\nerror_log {here}/nginx.log;\n"
            "worker_processes 1;\nevents {}\nhttp {\naccess_log off;\n"
            f"{paths}{site(port, folder)}}}\n")


def certificate():
    made = run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key",
                "-out", "pem", "-days", "2", "-subj", "/CN=" + NAME,
                "-addext", "subjectAltName=DNS:" + NAME])
    assert made.status == 0, made


@contextlib.contextmanager
def socket_folder():
    """As the guide has it made. Who is not root runs the proxy as himself."""
    folder = tempfile.mkdtemp(prefix="perdure-")
    if os.geteuid() == 0:
        shutil.chown(folder, group="www-data")
    os.chmod(folder, 0o2750)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def proxy(folder):
    """nginx; gives its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    pathlib.Path("nginx.conf").write_text(configuration(port, folder),
                                          encoding="utf-8")
    command = [NGINX, "-p", os.getcwd(), "-e", "nginx.log", "-c",
               f"{os.getcwd()}/nginx.conf"]
    good = run([*command, "-t"])
    assert good.status == 0 and b"[warn]" not in good.err, good
    process = subprocess.Popen(command)
    try:
        while process.poll() is None:
            with contextlib.suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port)).close()
                break
        yield port
    finally:
        process.terminate()
        status = process.wait(30)
    log = pathlib.Path("nginx.log").read_text(encoding="utf-8")
    assert status == 0 and "[error]" not in log, (status, log)


def curl(port, path, *args):
    return ["curl", "-sS", "--noproxy", "*", "--cacert", "pem", "--resolve",
            f"{NAME}:{port}:127.0.0.1", f"https://{NAME}:{port}{path}", *args]


@tests.test("proxy: nginx with TLS as the guide says, streams and all")
def _():
    certificate()
    line = told(r"^    perdure key create (.*)$")
    made = run([PERDURE, "key", "create", *line.replace("'", "").split()])
    assert made.status == 0, made
    key = "Authorization: Bearer " + made.out.decode().strip()
    options = told(r"^    perdure serve .* (--listen unix:\S+ .*)$")
    with socket_folder() as folder:
        options = options.replace("/run/perdure", folder).split()
        with Server("--keys", "keys.jsonl", *options) as s, \
                proxy(folder) as port:

            def ask(path, *args, key=key):
                result = run(curl(port, path, "-H", key, "-w",
                                  "\n%{http_code} %{http_version}", *args))
                assert result.status == 0, result
                text, _, end = result.out.decode().rpartition("\n")
                status, version = end.split()
                assert version == "2", result
                return int(status), text
            run_ = "/api/agents/Harbour/run"
            got = ask(run_, "-d", "Hello")
            assert got == (200, "You said: Hello"), got
            assert ask(run_, "-d", "Hello", key="X: y")[0] == 401
            # A page behind the proxy is the origin that it says it is.
            for origin, status in ((f"https://{NAME}:{port}", 204),
                                   ("https://other.example", 403)):
                got, _ = ask("/ui/login", "-H", f"Origin: {origin}", "--json",
                             '{"key":"%s"}' % key.rpartition(" ")[2],
                             "-D", f"head-{status}", key="X: y")
                assert got == status, (origin, got)
            head = pathlib.Path("head-204").read_text(encoding="utf-8")
            assert "; Secure" in head, head
            # More than the megabyte that nginx takes by itself.
            pathlib.Path("large").write_text("x" * 1500000, encoding="utf-8")
            status, text = ask(run_, "--data-binary", "@large")
            assert (status, len(text)) == (200, 1500010), (status, text[:200])
            # An event is there while the run is still at work.
            pipe = subprocess.Popen(
                curl(port, "/api/agents/Harbour/sessions/s/stream?wait=30&"
                     "correlationId=c", "-N", "-H", key),
                stdout=subprocess.PIPE)
            status, _ = ask(run_ + "?session_id=s", "-d", "work", "-H",
                            "Idempotency-Key: c", "-H",
                            "x-ms-wait-for-response: false")
            assert status == 202
            got = b""
            while b"event: tool_call" not in got:
                piece = pipe.stdout.readline()
                assert piece, got
                got += piece
            go()
            got = events((got + pipe.stdout.read()).decode())
            assert pipe.wait(30) == 0
            pipe.stdout.close()
            assert [kind for kind, _, _ in got][-1] == "done", got
            assert "".join(data for kind, _, data in got
                           if kind == "message") == "It is done.", got
            assert s.request("GET", "/healthz")[0] == 200


tests.finish()
