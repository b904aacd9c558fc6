#!/usr/bin/env python3
"""What 200 open dashboards and a scraper cost a crawl at full speed.

    bench/dashboards.py [PAGES] [ROUNDS] [READERS]      (default 20000 5 200)

Generates a web of 20 kB pages, serves it on loopback in a process of its own, and crawls it without politeness and
with `--listen`: once with nobody looking, once with READERS streams of live updates open and /metrics asked for every
second, by turns. The clients run on the same cores. Prints pages a second of each round, and the share that is left.
"""
import asyncio, json, os, shutil, statistics, subprocess, sys, tempfile, time

PAGES = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
READERS = int(sys.argv[3]) if len(sys.argv) > 3 else 200
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TURNSTONE = os.environ.get("TURNSTONE", os.path.join(ROOT, "target/release/turnstone"))


async def read(address, path, seen):
    """One open dashboard: counts what it is sent."""
    reader, writer = await asyncio.open_connection(*address)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nhost: {address[0]}:{address[1]}\r\n\r\n".encode())
        while data := await reader.read(1 << 16):
            seen["bytes"] += len(data)
            seen["updates"] += data.count(b"data: ")
    except ConnectionError:
        pass
    finally:
        writer.close()


async def scrape(address, seen):
    while True:
        try:
            reader, writer = await asyncio.open_connection(*address)
            writer.write(f"GET /metrics HTTP/1.1\r\nhost: {address[0]}:{address[1]}\r\nconnection: close\r\n\r\n".encode())
            answer = await reader.read()
            seen["scrapes"] += answer.startswith(b"HTTP/1.1 200")
            writer.close()
        except ConnectionError:
            return
        await asyncio.sleep(1)


async def crawl(seed, folder, looked_at):
    command = [TURNSTONE, "crawl", seed, "-o", folder, "--json", "--no-warc", "--allow-private", "--delay", "0s", "--open", "64",
               "--everywhere", "--listen", "0", "--until", f"pages={PAGES}"]
    started = time.monotonic()
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    seen = {"bytes": 0, "updates": 0, "scrapes": 0}
    tasks = []
    while line := await process.stderr.readline():
        if b"dashboard: http://" in line:
            host, port = line.decode().split("http://")[1].split("/")[0].split(":")
            break
    if looked_at:
        address = (host, int(port))
        path = f"/c/{os.path.basename(folder)}/live"
        tasks = [asyncio.create_task(read(address, path, seen)) for _ in range(READERS)]
        tasks.append(asyncio.create_task(scrape(address, seen)))
    rest = asyncio.create_task(process.stderr.read())
    out = await process.stdout.read()
    await process.wait()
    wall = time.monotonic() - started
    await rest
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    shutil.rmtree(folder)
    return json.loads(out.splitlines()[-1])["pages"] / wall, seen


async def main():
    work = tempfile.mkdtemp(prefix="turnstone-dashboards-")
    web = os.path.join(work, "web")
    subprocess.run([TURNSTONE, "generate", "graph", "--pages", str(PAGES * 2), "--output", web], check=True,
                   stdout=subprocess.DEVNULL)
    server = subprocess.Popen([TURNSTONE, "serve-web", web, "--json"], stdout=subprocess.PIPE, text=True)
    try:
        seed = json.loads(server.stdout.readline())["sites"][0]["url"]
        alone, watched = [], []
        for number in range(ROUNDS + 1):
            one, _ = await crawl(seed, os.path.join(work, "crawl"), False)
            other, seen = await crawl(seed, os.path.join(work, "crawl"), True)
            if number == 0:
                continue  # files come into the cache
            alone.append(one)
            watched.append(other)
            print(f"{one:8.0f} pages/s alone {other:8.0f} watched   {seen['updates']} updates to {READERS} readers, "
                  f"{seen['bytes'] / 1e6:.1f} MB, {seen['scrapes']} scrapes", flush=True)
        share = statistics.median(watched) / statistics.median(alone)
        print(f"median {statistics.median(alone):.0f} alone, {statistics.median(watched):.0f} watched: {share:.2f}")
    finally:
        server.terminate()
        shutil.rmtree(work)


asyncio.run(main())
