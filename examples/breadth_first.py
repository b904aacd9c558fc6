"""Write a policy: breadth-first in forty lines of Python, beside the one that Turnstone has.

Run it with ``python examples/breadth_first.py``. It makes a web, lets both policies crawl it, shows that they
ask for the same pages in the same order, also when the one in Python is killed every hundred pages, and
says what a policy in Python costs.
"""

# %% The policy. A page is worth more the earlier it was first seen; one that came is worth nothing.
import os
import sys
import tempfile
import time

import turnstone
from turnstone import Discovered, Failed, Fetched, Moved

BEST = 2**64 - 1
RETRY_MS = 60_000


class BreadthFirst:
    """Pages in the order in which they were first seen."""

    def __init__(self) -> None:
        self.queued: dict[int, None] = {}  # keeps the order, too

    def queue(self, page: int, batch: turnstone.Batch) -> None:
        if page not in self.queued:
            batch.set(page, BEST - len(self.queued))
            self.queued[page] = None

    def observe(self, batch: turnstone.Batch) -> None:
        for event in batch:
            match event:
                case Discovered(page, _, seed=True):
                    self.queue(page, batch)
                case Fetched(page, _, links):
                    batch.take(page)
                    for link in links:
                        self.queue(link, batch)
                case Moved(page, to):
                    batch.take(page)
                    self.queue(to, batch)
                case Failed(page, "gone" | "refused"):
                    batch.take(page)
                case Failed(page, "unknown"):
                    batch.defer(page, batch.now + RETRY_MS)
                case Failed(page, _):
                    batch.queue(page)

    # The state, so that a crawl that was killed goes on as if nothing had happened.
    def save(self) -> bytes:
        return " ".join(map(str, self.queued)).encode()

    def restore(self, state: bytes) -> None:
        self.queued = dict.fromkeys(map(int, state.split()))


# %% A web to try it on, and the order in which both policies ask.
def compare(web: str) -> None:
    seeds = [3, 14, 159]
    began = time.perf_counter()
    theirs = turnstone.order(web, "breadth-first", seeds=seeds)
    rust = time.perf_counter() - began
    began = time.perf_counter()
    ours = turnstone.order(web, BreadthFirst, seeds=seeds)
    python = time.perf_counter() - began
    assert ours == theirs, "both must ask for the same pages"
    assert ours == turnstone.order(web, BreadthFirst, seeds=seeds, restart_every=100)
    events = len(ours)
    print(f"{events:,} pages, the same order; in Rust {rust / events * 1e6:.1f} µs a page, "
          f"in Python {python / events * 1e6:.1f} µs, the web read included")

    # %% And what it is worth: until 98 % of the personalised PageRank is there.
    found = turnstone.backtest("coverage", web, [BreadthFirst, "breadth-first", "rankmass"])
    for row in found["results"]:
        print(f"{row['policy']:>14}  {row['downloads_to_actual']:>7,} downloads")


if __name__ == "__main__":
    pages = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, "web")
        turnstone.generate("graph", made, pages=pages)
        compare(made)
