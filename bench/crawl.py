#!/usr/bin/env python3
"""Pages per CPU second of a live crawl, beside a bare hyper loop and wget, on the same web.

    bench/crawl.py [PAGES] [ROUNDS] [PYTHON]      (default 20000 3)

Generates a web of 20 kB pages and serves it on loopback in a process of its own. `turnstone crawl`
crawls it from a seed, without and with WARC files. Beside it the same job done by others: `wget
--recursive --warc-file`, and with PYTHON, an interpreter that has Scrapy, a spider that follows
links as robots.txt allows (scrapy_crawl.py; its start-up is taken off). And less than that job:
the pages are given as a list, and nothing is followed, decided or remembered, by the example
`bare_scan` (hyper and html5ever's tokenizer), by `wget --warc-file`, and by a spider that reads
links. CPU time is user and system time of the fetching process. Rounds are interleaved; medians
are compared.
"""
import json, os, re, resource, statistics, subprocess, sys, tempfile, time

PAGES = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
PYTHON = sys.argv[3] if len(sys.argv) > 3 else None
FEW_PAGES = min(PAGES, 2000)
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


def scrapy(*job):
    """Pages per CPU and wall second, without what it takes to start and stop."""
    spider = os.path.join(ROOT, "bench/scrapy_crawl.py")
    idle, idle_wall, _ = cpu([PYTHON, spider, "list", os.devnull])
    spent, wall, done = cpu([PYTHON, spider, *job])
    count = int(done.stdout.split()[-1])
    return count / (spent - idle), count / (wall - idle_wall)


def wget(work, *job):
    """Pages per CPU and wall second; what came is counted in the index of the WARC file."""
    folder = tempfile.mkdtemp(dir=work)
    spent, wall, _ = cpu(["wget", "--quiet", "--no-config", "--warc-file=w", "--warc-cdx", *job], cwd=folder)
    with open(os.path.join(folder, "w.cdx")) as index:
        count = sum(" 200 " in line and "/robots.txt " not in line for line in index)
    subprocess.run(["rm", "-rf", folder])
    return count / spent, count / wall


def main():
    build()
    work = tempfile.mkdtemp(prefix="turnstone-bench-")
    web = os.path.join(work, "web")
    subprocess.run([TURNSTONE, "generate", "graph", "--pages", str(PAGES * 2), "--output", web],
                   check=True, stdout=subprocess.DEVNULL)
    server = subprocess.Popen([TURNSTONE, "serve-web", web, "--json"], stdout=subprocess.PIPE, text=True)
    try:
        seed = json.loads(server.stdout.readline())["sites"][0]["url"]
        rates = {}
        few = os.path.join(work, "few")
        for number in range(ROUNDS + 1):
            folder = os.path.join(work, "warc")
            runs = {
                "turnstone": crawl(seed, os.path.join(work, "plain"), "--no-warc"),
                "turnstone, WARC": crawl(seed, folder),
            }
            if number == 0:
                with open(os.path.join(folder, "warc/index.cdxj")) as index:
                    urls = re.findall(r'"url": "([^"]*)"', index.read())
                listed = os.path.join(work, "urls")
                for path, some in ((listed, urls), (few, urls[:FEW_PAGES])):
                    with open(path, "w") as out:
                        out.write("\n".join(some) + "\n")
            quota = f"--quota={FEW_PAGES * 20000}"
            runs["wget, WARC"] = wget(work, "--recursive", "--level=inf", "--span-hosts", "--delete-after", quota, seed)
            if PYTHON:
                runs["Scrapy"] = scrapy("crawl", seed, str(FEW_PAGES))
            with open(listed) as given:
                spent, wall, _ = cpu([BARE, "64"], stdin=given)
            runs["list: bare hyper and scan"] = (len(urls) / spent, len(urls) / wall)
            runs["list: wget, WARC"] = wget(work, "--output-document=/dev/null", f"--input-file={few}")
            if PYTHON:
                runs["list: Scrapy"] = scrapy("list", few)
            for folder in ("plain", "warc"):
                subprocess.run(["rm", "-rf", os.path.join(work, folder)])
            if number == 0:
                continue  # warm
            for name, rate in runs.items():
                rates.setdefault(name, []).append(rate)
        middle = {name: statistics.median(rate for rate, _ in all) for name, all in rates.items()}
        print(f"{PAGES} pages of 20 kB, medians of {ROUNDS} rounds")
        for name, all in rates.items():
            spread = ", ".join(f"{rate:,.0f}" for rate, _ in all)
            second = statistics.median(wall for _, wall in all)
            print(f"{name:25} {middle[name]:>8,.0f} pages/CPU s ({spread}), {second:,.0f} pages/s")
        for name, rate in middle.items():
            ours = "turnstone, WARC" if name.endswith("WARC") else "turnstone"
            if name != ours:
                print(f"{ours} / {name}: {middle[ours] / rate:.2f}")
    finally:
        server.terminate()
        server.wait()
        subprocess.run(["rm", "-rf", work])


main()
