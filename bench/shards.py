#!/usr/bin/env python3
"""What shards cost and bring: one generated web, served on loopback, crawled in 1, 2, 4 and 16 shards.

    cargo build --release
    bench/shards.py [PAGES] [ROUNDS]

For each number of shards: pages stored until 98 % is proven, requests, wall time, CPU seconds of the crawler
(user and system), items and bytes sent between shards, bytes of journals. Crawls of one kind take turns with
the others, so that what else the machine does falls on all alike. Politeness is off: the crawl is as fast as
it can be. Nothing but the standard library is needed.
"""

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TURNSTONE = ROOT / "target/release/turnstone"
SHARDS = [1, 2, 4, 16]


def run(arguments, **options):
    return subprocess.run([TURNSTONE, *arguments], check=True, capture_output=True, text=True, **options)


def crawl(folder, shards, seed):
    directory = folder / "crawl"
    shutil.rmtree(directory, ignore_errors=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    cut = ["--shards", str(shards)] if shards > 1 else []
    done = run([
        "crawl", seed, "-o", directory, "--everywhere", "--allow-private", "--contact", "bench@example.org",
        "--hosts-file", folder / "hosts", "--delay", "0s", "--no-warc", "--json", *cut,
    ])
    wall = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = json.loads(done.stdout)
    told = {"shards": shards, "pages": said["pages"], "known": said["known"], "requests": said["requests"]}
    told |= {"proven": said["guaranteed"], "seconds": round(said["seconds"], 2), "wall": round(wall, 2)}
    told |= {"user": round(after.ru_utime - before.ru_utime, 2), "system": round(after.ru_stime - before.ru_stime, 2)}
    journals = [directory / "store/journal", *directory.glob("shards/*/store/journal")]
    told["journal_bytes"] = sum(path.stat().st_size for path in journals if path.exists())
    if shards > 1:
        audit = json.loads(run(["audit", directory, "--json"]).stdout)
        told |= {key: audit[key] for key in ["transfers", "transfer_items", "transfer_bytes"]}
    return told


def main():
    pages = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(["generate", "graph", "--pages", str(pages), "-o", folder / "web"])
        out = open(folder / "served", "w")
        served = subprocess.Popen(
            [TURNSTONE, "serve-web", folder / "web", "--by-name", "--hosts-file", folder / "hosts", "--page-bytes", "8000"],
            stdout=out,
        )
        try:
            while not (found := re.search(r"turnstone crawl (http\S+)", (folder / "served").read_text())):
                time.sleep(0.1)
            for _ in range(rounds):
                for shards in SHARDS:
                    told = crawl(folder, shards, found[1])
                    told["load"] = round(os.getloadavg()[0], 1)
                    print(json.dumps(told), flush=True)
        finally:
            served.send_signal(signal.SIGINT)
            served.wait()


if __name__ == "__main__":
    main()
