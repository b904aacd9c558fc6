"""Makes an old crawl to be imported: old.warc.gz with N pages, old.cdxj with M lines.

    python3 bench/import.py 100000 1000000
    /usr/bin/time -v turnstone import old.warc.gz -o from-warc
    /usr/bin/time -v turnstone import old.cdxj -o from-cdxj
"""

import base64
import gzip
import hashlib
import random
import sys

LINKS = 20
WORDS = 30


def digest(data):
    return base64.b32encode(hashlib.sha1(data).digest()).decode()


def url(i):
    return f"http://host{i % 1000}.example/d{i % 37}/page-{i}.html"


def warc(path, n):
    rnd = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rnd.choices(letters, k=rnd.randint(3, 9))) for _ in range(3000)]
    with open(path, "wb") as out:
        for i in range(n):
            paragraphs = "".join(
                f'<p>{" ".join(rnd.choices(words, k=WORDS))} '
                f'<a href="{url(rnd.randrange(n))}">{rnd.choice(words)}</a></p>\n'
                for _ in range(LINKS)
            )
            body = (
                f"<!DOCTYPE html><html><head><title>Page {i}</title></head>"
                f"<body>{paragraphs}</body></html>"
            ).encode()
            message = (
                "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
                f"Content-Length: {len(body)}\r\n\r\n"
            ).encode() + body
            when = f"2019-03-{1 + i * 27 // n:02d}T{i % 24:02d}:{i % 60:02d}:{i // 60 % 60:02d}Z"
            head = (
                "WARC/1.0\r\nWARC-Type: response\r\n"
                f"WARC-Record-ID: <urn:uuid:{i:08x}-0000-4000-8000-000000000000>\r\n"
                f"WARC-Date: {when}\r\nWARC-Target-URI: {url(i)}\r\n"
                f"WARC-Payload-Digest: sha1:{digest(body)}\r\n"
                "Content-Type: application/http; msgtype=response\r\n"
                f"Content-Length: {len(message)}\r\n\r\n"
            ).encode()
            out.write(gzip.compress(head + message + b"\r\n\r\n", 1))


def cdxj(path, m):
    with open(path, "w") as out:
        for i in range(m):
            host, page = f"host{i % 5000}", f"/d{i % 41}/page-{i}.html"
            when = f"2018{1 + i % 12:02d}{1 + i % 28:02d}{i % 24:02d}{i % 60:02d}{i // 7 % 60:02d}"
            status = 200 if i % 10 else 404
            out.write(
                f"example,{host}){page} {when} "
                f'{{"url": "http://{host}.example{page}", "mime": "text/html", '
                f'"status": "{status}", "digest": "sha1:{digest(str(i).encode())}", '
                f'"length": "{2000 + i % 3000}", "offset": "{i * 2000}", '
                f'"filename": "old-{i // 100000:05d}.warc.gz"}}\n'
            )


if __name__ == "__main__":
    warc("old.warc.gz", int(sys.argv[1]))
    cdxj("old.cdxj", int(sys.argv[2]))
