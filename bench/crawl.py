#!/usr/bin/env python3
"""Pages per CPU second of a live crawl, beside a bare hyper loop and wget, on the same web.

    bench/crawl.py [PAGES] [ROUNDS] [PYTHON]      (default 20000 3)

Generates a web of 20 kB pages, serves it on loopback in a process of its own, and lets each of
them fetch the same pages: `turnstone crawl --no-warc`, the same with WARC files, the example
`bare_scan` (hyper and html5ever's tokenizer, nothing else), and `wget --warc-file`. CPU time is
user and system time of the fetching process. Rounds are interleaved; medians are compared. With
PYTHON, an interpreter that has Scrapy, a spider that reads the links of the same pages runs too
(scrapy_crawl.py; its start-up is taken off).
"""
import json, os, re, resource, statistics, subprocess, sys, tempfile, time

PAGES = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
PYTHON = sys.argv[3] if len(sys.argv) > 3 else None
WGET_PAGES = min(PAGES, 2000)
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TURNSTONE = os.path.join(ROOT, "target/release/turnstone")
BARE = os.path.join(ROOT, "target/release/examples/bare_scan")


def build():
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "turnstone"], cwd=ROOT, check=True)
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "turnstone-fetch",
                    "--example", "bare_scan"], cwd=ROOT, check=True)


def cpu(command, **options):
    """CPU and wall seconds of a command, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    wall = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, wall, done


def crawl(seed, folder, *more):
    command = [TURNSTONE, "crawl", seed, "-o", folder, "--json", "--allow-private", "--delay", "0s",
               "--open", "64", "--everywhere", "--until", f"pages={PAGES}", *more]
    spent, wall, done = cpu(command)
    pages = json.loads(done.stdout)["pages"]
    return pages / spent, pages / wall


def scrapy(work, urls, count):
    """Pages per CPU and wall second, without what it takes to start and stop."""
    if PYTHON is None:
        return None
    spider = os.path.join(ROOT, "bench/scrapy_crawl.py")
    none = os.path.join(work, "none")
    open(none, "w").close()
    idle, idle_wall, _ = cpu([PYTHON, spider, none])
    spent, wall, _ = cpu([PYTHON, spider, urls])
    return count / (spent - idle), count / (wall - idle_wall)


def main():
    build()
    work = tempfile.mkdtemp(prefix="turnstone-bench-")
    web = os.path.join(work, "web")
    subprocess.run([TURNSTONE, "generate", "graph", "--pages", str(PAGES * 2), "--output", web],
                   check=True, stdout=subprocess.DEVNULL)
    server = subprocess.Popen([TURNSTONE, "serve-web", web, "--json"], stdout=subprocess.PIPE, text=True)
    try:
        seed = json.loads(server.stdout.readline())["sites"][0]["url"]
        rates = {"turnstone": [], "turnstone, WARC": [], "bare hyper and scan": [], "wget, WARC": [], "Scrapy": []}
        urls = None
        for number in range(ROUNDS + 1):
            plain = crawl(seed, os.path.join(work, f"plain{number}"), "--no-warc")
            folder = os.path.join(work, f"warc{number}")
            archived = crawl(seed, folder)
            if urls is None:
                with open(os.path.join(folder, "warc/index.cdxj")) as index:
                    urls = re.findall(r'"url": "([^"]*)"', index.read())
                listed = os.path.join(work, "urls")
                with open(listed, "w") as out:
                    out.write("\n".join(urls) + "\n")
                few = os.path.join(work, "few")
                with open(few, "w") as out:
                    out.write("\n".join(urls[:WGET_PAGES]) + "\n")
            with open(listed) as given:
                spent, wall, done = cpu([BARE, "64"], stdin=given)
            bare = (len(urls) / spent, len(urls) / wall)
            spent, wall, _ = cpu(["wget", "--quiet", "--no-config", "--output-document=/dev/null",
                                  f"--warc-file={work}/wget{number}", f"--input-file={few}"], cwd=work)
            wget = (min(WGET_PAGES, len(urls)) / spent, min(WGET_PAGES, len(urls)) / wall)
            spider = scrapy(work, few, min(WGET_PAGES, len(urls)))
            if number == 0:
                continue  # warm
            for name, rate in zip(rates, (plain, archived, bare, wget, spider)):
                rates[name].append(rate)
        if PYTHON is None:
            del rates["Scrapy"]
        middle = {name: statistics.median(rate for rate, _ in all) for name, all in rates.items()}
        print(f"{PAGES} pages of 20 kB, medians of {ROUNDS} rounds")
        for name, all in rates.items():
            spread = ", ".join(f"{rate:,.0f}" for rate, _ in all)
            second = statistics.median(wall for _, wall in all)
            print(f"{name:22} {middle[name]:>8,.0f} pages/CPU s ({spread}), {second:,.0f} pages/s")
        print(f"turnstone / bare hyper and scan: {middle['turnstone'] / middle['bare hyper and scan']:.2f}")
        print(f"turnstone with WARC / wget with WARC: {middle['turnstone, WARC'] / middle['wget, WARC']:.2f}")
        if PYTHON:
            print(f"turnstone / Scrapy: {middle['turnstone'] / middle['Scrapy']:.1f}")
    finally:
        server.terminate()
        server.wait()
        subprocess.run(["rm", "-rf", work])


main()
