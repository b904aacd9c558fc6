#!/usr/bin/env python3
"""Boilerplate removal side by side: `turnstone export text` and trafilatura on the same pages.

    compare.py TURNSTONE [PAGES]

Makes pages (pages.py) of which it is known what is content, serves them on loopback, crawls them with TURNSTONE, exports
their text, and gives the same HTML to trafilatura in this interpreter's environment (pip install trafilatura
lxml_html_clean). Prints the tables of docs/results/text.md. The pages are ours, so neither was made for them; the layouts
were written before either was tried on them, and the step of ours that is named in the page was found on them: see there.
"""

import collections
import http.server
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

import trafilatura

from pages import CODES, KINDS, LAYOUTS, Page


def words(text):
    """A bag of words; each character of a script without spaces is one."""
    bag = collections.Counter()
    for word in re.findall(r"\w+", text.lower()):
        if re.search("[\u3040-\u30ff\u4e00-\u9fff]", word):
            bag.update(word)
        else:
            bag[word] += 1
    return bag


def score(page, text):
    """Precision, recall and F1 of the words of a text."""
    wanted, found = words(" ".join(page.content)), words(text)
    common = sum((wanted & found).values())
    precision = common / max(1, sum(found.values()))
    recall = common / sum(wanted.values())
    return precision, recall, 2 * precision * recall / (precision + recall) if common else 0.0


def serve(pages):
    links = "".join(f"<a href=/{number}.html>{number}</a> " for number in range(len(pages)))

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            name = self.path.strip("/").removesuffix(".html")
            known = name.isdigit() and int(name) < len(pages)
            text = pages[int(name)].html if known else links
            self.send_response(200 if known or self.path == "/" else 404)
            self.send_header("Content-Type", "text/html")
            body = text.encode()
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def ours(turnstone, pages):
    """What the command exports, by page number, and the seconds of CPU of the export."""
    origin = serve(pages)
    with tempfile.TemporaryDirectory() as folder:
        run = lambda *command: subprocess.run(command, cwd=folder, capture_output=True)  # noqa: E731
        run(turnstone, "crawl", origin, "-o", "c", "--allow-private", "--delay", "0s", "--until", "all")
        before = resource_seconds()
        run(turnstone, "export", "text", "c", "-o", "t.jsonl").check_returncode()
        seconds = resource_seconds() - before
        rows = [json.loads(line) for line in open(pathlib.Path(folder) / "t.jsonl")]
    found = {}
    for row in rows:
        name = row["url"].rsplit("/", 1)[1].removesuffix(".html")
        if name.isdigit():
            found[int(name)] = row
    return found, seconds


def resource_seconds():
    import resource
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def table(title, names, pages, group, systems):
    print(f"| {title} | pages | " + " | ".join(systems) + " |\n|---|---:|" + "---|" * len(systems))
    for name in names:
        chosen = [number for number, page in enumerate(pages) if group(page, name)]
        cells = []
        for texts in systems.values():
            scores = [score(pages[number], texts.get(number, "")) for number in chosen]
            cells.append(" / ".join(f"{sum(part) / len(part):.3f}" for part in zip(*scores)))
        print(f"| {name} | {len(chosen)} | " + " | ".join(cells) + " |")
    print()


def main(turnstone, count):
    turnstone = str(pathlib.Path(turnstone).resolve())
    pages = [Page(seed) for seed in range(count)]
    rows, seconds = ours(turnstone, pages)
    before = time.process_time()
    theirs = {number: trafilatura.extract(page.html, include_comments=False) or "" for number, page in enumerate(pages)}
    their_seconds = time.process_time() - before
    systems = {
        "turnstone": {number: row["text"] or "" for number, row in rows.items()},
        f"trafilatura {trafilatura.__version__}": theirs,
        "everything visible": {
            number: re.sub(r"<[^>]+>", " ", re.sub(r"(?s)<(script|style|head).*?</\1>", " ", page.html))
            for number, page in enumerate(pages)},
    }
    print("Precision / recall / F1 of words, mean over pages.\n")
    table("all", ["all"], pages, lambda page, name: True, systems)
    table("kind", KINDS, pages, lambda page, name: page.kind == name, systems)
    table("layout", LAYOUTS, pages, lambda page, name: page.layout == name, systems)
    right = sum(rows[number]["language"] == CODES[page.language] for number, page in enumerate(pages) if number in rows)
    none = sum(row["language"] is None for row in rows.values())
    dates = sum((row["published"] or "").startswith(pages[number].date) for number, row in rows.items())
    print(f"Language right: {right} of {count}; not told: {none}. Date right: {dates}. Rows: {len(rows)}.")
    print(f"CPU: turnstone {1e3 * seconds / count:.2f} ms a page with reading the WARC file and all columns; "
          f"trafilatura {1e3 * their_seconds / count:.2f} ms a page, text alone.")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 600)
