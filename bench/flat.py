#!/usr/bin/env python3
"""What a page costs as a crawl grows: CPU time, memory and journal, over real HTTP.

    bench/flat.py [PAGES] [STEP] [crawl options...]      (default 1000000 100000)

Generates a web, serves it on loopback in a process of its own, and crawls PAGES pages of it without
politeness. Each time about STEP pages have come it prints a line: CPU microseconds for each page
since the last line, resident memory, bytes of journal for each page. Flat lines are what one wants.
"""
import json, os, subprocess, sys, tempfile, time

PAGES = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
STEP = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
MORE = sys.argv[3:] or ["--no-warc"]
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TURNSTONE = os.path.join(ROOT, "target/release/turnstone")
TICK = os.sysconf("SC_CLK_TCK")


def process(pid):
    """CPU seconds and resident bytes."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    with open(f"/proc/{pid}/statm") as statm:
        resident = int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return (int(fields[11]) + int(fields[12])) / TICK, resident


def main():
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "turnstone"], cwd=ROOT, check=True)
    work = tempfile.mkdtemp(prefix="turnstone-flat-")
    web, folder = os.path.join(work, "web"), os.path.join(work, "crawl")
    subprocess.run([TURNSTONE, "generate", "graph", "--pages", str(PAGES * 5 // 4), "--output", web],
                   check=True, stdout=subprocess.DEVNULL)
    server = subprocess.Popen([TURNSTONE, "serve-web", web, "--json"], stdout=subprocess.PIPE, text=True)
    try:
        seed = json.loads(server.stdout.readline())["sites"][0]["url"]
        crawl = subprocess.Popen(
            [TURNSTONE, "crawl", seed, "-o", folder, "--json", "--allow-private", "--delay", "0s",
             "--open", "64", "--everywhere", "--until", f"pages={PAGES}", *MORE],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        started, last, spent = time.monotonic(), 0, 0.0
        print(f"{'pages':>10} {'known':>10} {'CPU us/page':>12} {'MiB':>8} {'journal B/page':>15} {'seconds':>8}")
        while crawl.poll() is None:
            time.sleep(5)
            try:
                cpu, resident = process(crawl.pid)
                status = subprocess.run([TURNSTONE, "status", folder, "--json"], capture_output=True)
                status = json.loads(status.stdout)
                journal = os.path.getsize(os.path.join(folder, "store/journal"))
            except (OSError, ValueError, IndexError):
                continue
            pages = status["pages"]
            if pages - last >= STEP:
                each = (cpu - spent) / (pages - last) * 1e6
                print(f"{pages:>10,} {status['known']:>10,} {each:>12.0f} {resident >> 20:>8,} "
                      f"{journal / pages:>15.0f} {time.monotonic() - started:>8.0f}", flush=True)
                last, spent = pages, cpu
        summary = json.loads(crawl.stdout.read())
        print(f"{summary['pages']:,} pages, {summary['requests']:,} requests, stopped by {summary['stopped_by']}")
    finally:
        server.terminate()
        server.wait()
        subprocess.run(["rm", "-rf", work])


main()
