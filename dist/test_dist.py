#!/usr/bin/env python3
"""Installs what `make dist` made, each from nothing, and runs it.

    test_dist.py OUT_FOLDER

The archive is unpacked into an empty folder. The Debian package is installed by dpkg into an empty root with a database
of its own, and its units are read by systemd-analyze. The wheel is installed by pip into a bare environment and asked by
the tests of the package. What this machine cannot do is said and counts as a failure, unless it is what only a
container engine could do: the container file is read line by line, not built.
"""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

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
    # The empty root has no C library; that of this machine serves.
    needs = run("dpkg-deb", "--field", path, "Depends").strip()
    run("dpkg", f"--root={root}", "--force-not-root", "--force-depends", "--install", path)
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
    print("    depends on", needs)


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
