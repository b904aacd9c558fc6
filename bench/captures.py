#!/usr/bin/env python3
"""How fast captures become Parquet, and how much memory that takes.

    captures.py TURNSTONE [CAPTURES]

Writes an index of so many captures (eleven million without) on ten thousand hosts, imports it, exports the captures in one file
and in sixteen, and prints rows per second of CPU and the most memory of each. Where DuckDB is installed it counts the rows.
"""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

HOSTS = 10_000


def index(path, captures):
    kinds = ["text/html", "text/html", "text/html", "application/pdf", "image/png"]
    with open(path, "w") as out:
        for number in range(captures):
            host, page = number % HOSTS, number // HOSTS
            url = f"https://www.site{host}.example{host % 7}.org/section{page % 31}/article-{page}.html?id={number}"
            surt = f"org,example{host % 7},site{host})/section{page % 31}/article-{page}.html?id={number}"
            second, minute = number % 60, number // 60 % 60
            stamp = f"202403{1 + number // 3600 % 28:02}12{minute:02}{second:02}"
            digest = f"{number * 2654435761 % 32 ** 7:07}".replace("0", "A").replace("1", "B").replace("8", "C").replace("9", "D")
            line = (f'{surt} {stamp} {{"url": "{url}", "mime": "{kinds[number % 5]}", "status": "200", '
                    f'"digest": "{digest:A<32.32}", "length": "12345", "offset": "{number}", "filename": "a.warc.gz"}}\n')
            out.write(line)


def measured(*command):
    """Seconds of CPU, seconds of the clock, the most memory in MB."""
    began = time.monotonic()
    child = os.spawnv(os.P_NOWAIT, command[0], list(map(str, command)))
    _, status, used = os.wait4(child, 0)
    assert status == 0, command
    return used.ru_utime + used.ru_stime, time.monotonic() - began, used.ru_maxrss / 1024


def main(turnstone, captures):
    turnstone = str(pathlib.Path(turnstone).resolve())
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as folder:
        folder = pathlib.Path(folder)
        index(folder / "index.cdxj", captures)
        steps = [
            ("import", ["import", folder / "index.cdxj", "-o", folder / "crawl"]),
            ("one file", ["export", "captures", folder / "crawl", "-o", folder / "captures.parquet"]),
            ("16 files", ["export", "captures", folder / "crawl", "-o", folder / "captures", "--parts", "16"]),
        ]
        print("| step | rows per CPU second | CPU s | clock s | peak MB |\n|---|---:|---:|---:|---:|")
        for name, arguments in steps:
            cpu, clock, memory = measured(turnstone, *arguments)
            print(f"| {name} | {captures / cpu:,.0f} | {cpu:.1f} | {clock:.1f} | {memory:,.0f} |", flush=True)
        size = (folder / "captures.parquet").stat().st_size
        print(f"\n{captures:,} captures, {size / 1e6:,.0f} MB as one file, {size / captures:.1f} B each.")
        try:
            import duckdb
        except ImportError:
            return
        for what in ("captures.parquet", "captures/*.parquet"):
            (found,) = duckdb.sql(f"SELECT count(*) FROM '{folder}/{what}'").fetchone()
            assert found == captures, (what, found)
        print(f"DuckDB {duckdb.__version__} counts the same rows in both.")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 11_000_000)
