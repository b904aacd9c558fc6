#!/usr/bin/env python3
"""Installs what `make dist` made, each from nothing, and runs it.

    test_dist.py OUT_FOLDER

The archive is unpacked into an empty folder, and its binary is run in a root that has nothing else. The Debian package is installed by dpkg into an empty root with a database
of its own, and its units are read by systemd-analyze. The wheel is installed by pip into a bare environment and asked by
the tests of the package. What this machine cannot do is said and counts as a failure, unless it is what only a
container engine could do: the container file is read line by line, not built.
"""

import hashlib
import http.server
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMANDS = ("crawl", "backtest-coverage", "keep")


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


def works(program, folder):
    """A program that makes a web, tries a policy on it, and crawls one on loopback."""
    assert re.match(r"turnstone \d", run(program, "--version"))
    run(program, "generate", "graph", "--pages", "500", "-o", "web", cwd=folder)
    found = json.loads(run(program, "backtest", "coverage", "web", "--policies", "rankmass", "--json", cwd=folder))
    assert found["results"][1]["downloads_to_guarantee"] > 0, found
    demo = json.loads(run(program, "demo", "--pages", "100", "-o", "demo", "--json", cwd=folder))
    assert demo["server"]["violations"] == 0, demo["server"]


def alone(program, folder):
    """A program in a root that holds it, an empty /tmp, two files of names and random bytes, and nothing else: no C library."""
    told = subprocess.run(["ldd", program], capture_output=True, text=True)
    assert "statically linked" in told.stdout + told.stderr or "not a dynamic" in told.stdout + told.stderr, told.stdout
    root = folder / "alone"
    for name in ("tmp", "etc", "dev"):
        (root / name).mkdir(parents=True)
    # Every system has these, a container too.
    for name in ("random", "urandom"):
        (root / "dev" / name).write_bytes(os.urandom(1 << 16))
    (root / "etc/hosts").write_text("127.0.0.1 localhost named.example\n")
    (root / "etc/resolv.conf").write_text("nameserver 127.0.0.1\n")
    (root / "turnstone").write_bytes(pathlib.Path(program).read_bytes())
    (root / "turnstone").chmod(0o755)
    enter = ["chroot"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "chroot"]
    # Nothing of this machine's environment: a file that it names is not in there.
    bare = {"PATH": os.environ["PATH"]}
    inside = lambda *words: run(*enter, root, "/turnstone", *words, env=bare)  # noqa: E731
    assert re.match(r"turnstone \d", inside("--version"))
    demo = json.loads(inside("demo", "--pages", "100", "-o", "/tmp/demo", "--json"))
    assert demo["server"]["violations"] == 0, demo["server"]
    # Names are looked up by the crawler itself, not by libraries of the system that a static binary cannot load.
    pages = http.server.HTTPServer(("127.0.0.1", 0), Front)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    names = ["named.example"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        try:
            server.bind(("127.0.0.1", 53))
            threading.Thread(target=answer_names, args=(server,), daemon=True).start()
            names.append("asked.example")
        except PermissionError:
            print("    names are looked up in /etc/hosts only: port 53 is not ours")
        for name in names:
            url = f"http://{name}:{pages.server_port}/"
            told = json.loads(inside("inspect", url, "--allow-private", "--json"))
            assert "A page of its own" in json.dumps(told), told
    pages.shutdown()


class Front(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"<title>A page of its own</title>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def answer_names(server):
    """A name server that knows one address: 127.0.0.1 for every name, and none of the sixth version."""
    while True:
        try:
            asked, whom = server.recvfrom(512)
        except OSError:
            return
        question = asked[12:asked.index(b"\0", 12) + 5]
        is_a = question[-4:-2] == b"\0\1"
        answer = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x7f\0\0\1" if is_a else b""
        counts = b"\0\1" + (b"\0\1" if is_a else b"\0\0") + b"\0\0\0\0"
        server.sendto(asked[:2] + b"\x81\x80" + counts + question + answer, whom)


def manual(pages):
    """Man pages that man can set."""
    for command in COMMANDS:
        page = next(path for path in pages if path.name.startswith(f"turnstone-{command}.1"))
        text = run("man", "--local-file", "--warnings", page, env={**os.environ, "MANPAGER": "cat", "MANWIDTH": "100"})
        assert f"turnstone-{command}" in text.replace("\b", "") and "OPTIONS" in text, page


def archive(path, folder):
    with tarfile.open(path) as packed:
        packed.extractall(folder, filter="data")
    (top,) = folder.iterdir()
    works(top / "turnstone", folder)
    alone(top / "turnstone", folder)
    manual(sorted((top / "man").iterdir()))
    crates = (top / "THIRD-PARTY-LICENSES").read_text()
    assert re.search(r"^clap \d.*MIT", crates, re.M) and "Permission is hereby granted" in crates
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        assert (top / name).read_bytes() == (ROOT / name).read_bytes()
    run("bash", "-n", top / "completions/turnstone")


def debian(path, folder):
    root = folder / "root"
    (root / "var/lib/dpkg").mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    (root / "var/lib/dpkg/info").mkdir()
    (root / "var/lib/dpkg/updates").mkdir()
    needs = run("dpkg-deb", "--field", path, "Depends").strip()
    assert needs == "", f"a static binary needs nothing, this one {needs}"
    run("dpkg", f"--root={root}", "--force-not-root", "--install", path)
    assert run("dpkg", f"--root={root}", "--verify", "turnstone") == ""
    works(root / "usr/bin/turnstone", folder)
    manual(sorted((root / "usr/share/man/man1").iterdir()))
    units = folder / "units"
    units.mkdir()
    for unit in (root / "lib/systemd/system").iterdir():
        text = unit.read_text().replace("/usr/bin/turnstone", str(root / "usr/bin/turnstone"))
        (units / unit.name).write_text(text)
    told = run("systemd-analyze", "verify", "--man=no", *sorted(units.iterdir()))
    assert told == "", told
    for unit in sorted(units.glob("*.service")):
        told = run("systemd-analyze", "security", "--offline=yes", "--threshold=20", unit).splitlines()[-1]
        print("   ", told.strip().lstrip("→ "))
    for option in ("DynamicUser=yes", "StateDirectory=turnstone", "ProtectSystem=strict"):
        assert option in (units / "turnstone-keep@.service").read_text()
    run("dpkg", f"--root={root}", "--force-not-root", "--force-depends", "--purge", "turnstone")
    assert not (root / "usr/bin/turnstone").exists()
    print("    depends on nothing")


def wheel(path, folder):
    run(sys.executable, "-m", "venv", folder / "venv")
    python = folder / "venv/bin/python"
    run(python, "-m", "pip", "install", "--quiet", "--no-index", path)
    works(folder / "venv/bin/turnstone", folder)
    tests = folder / "tests"
    tests.mkdir()
    run(python, ROOT / "crates/python/tests/python/test_bare.py", cwd=tests,
        env={**os.environ, "EXAMPLES": str(ROOT / "examples")})


def container():
    """Every line is an instruction; what is copied is there; nobody is root at the end."""
    text = (ROOT / "dist/Containerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    known = "FROM RUN WORKDIR COPY USER VOLUME STOPSIGNAL ENTRYPOINT CMD".split()
    for line in lines:
        word, rest = line.split(" ", 1)
        assert word in known, line
        if word == "FROM":
            assert re.match(r"\S+/\S+:[\w.-]+( AS \w+)?$", rest), f"{line}: a full name with a tag"
        if word == "COPY" and "--from" not in rest:
            *sources, _ = rest.split()
            for source in sources:
                assert (ROOT / source).exists(), line
        if word in ("ENTRYPOINT", "CMD"):
            json.loads(rest)
    users = [line for line in lines if line.startswith("USER")]
    assert users and users[-1] != "USER root"


def main(out):
    sums = dict(reversed(line.split("  ")) for line in (out / "SHA256SUMS").read_text().splitlines())
    made = {path.name: path for path in out.iterdir() if path.name != "SHA256SUMS"}
    assert set(sums) == set(made), f"checksums are of {set(sums)}, there are {set(made)}"
    for name, path in made.items():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == sums[name], name
    for ending, check in ((".tar.gz", archive), (".deb", debian), (".whl", wheel)):
        found = [path for name, path in made.items() if name.endswith(ending)]
        assert len(found) == 1, f"one file that ends in {ending}, there are {found}"
        print(f"{found[0].name}: installing and running", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            check(found[0].resolve(), pathlib.Path(folder))
    container()
    print("dist/Containerfile: read, not built")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
