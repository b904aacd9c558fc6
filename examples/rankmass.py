"""RankMass in Python, beside the one that Turnstone has: the same mass, to the last unit, so the same decisions.

Run it with ``python examples/rankmass.py``. It makes a web, lets both crawl it, shows that they ask for the same pages in the
same order, also when the one in Python is killed every hundred pages, and says what a policy in Python costs.

It is the policy of docs/write-a-policy.md with exact numbers: all importance there is makes ONE units; a page that is fetched
keeps 15 % of what it holds and gives the rest to its links in equal shares; what cannot be divided is lost, and known. Left out
is what a recorded web never needs: pages that are gone or moved, changed copies, shards.
"""

# %% Integers, so that nothing is lost: d·x, rounded up, in billionths.
import heapq
import json
import os
import sys
import tempfile
import time

import turnstone
from turnstone import Discovered, Fetched

ONE = 1 << 62
DAMPING, GOAL, SHARE, BILLION = 850_000_000, 980_000_000, 20_000_000, 1_000_000_000


def part(billionths: int, mass: int) -> int:
    return -(-mass * billionths // BILLION)


class RankMass:
    """The page that is known to hold the most importance comes next."""

    def __init__(self, seeds: list[int]) -> None:
        seeds = sorted(seeds)
        trust = [ONE // len(seeds)] * len(seeds)
        trust[0] += ONE - sum(trust)
        self.trust = dict(zip(seeds, trust))
        self.holds: dict[int, int] = {}  # what a page holds and did not give on
        self.given: dict[int, int] = {}  # all that a fetched page ever gave on, before damping
        self.links: dict[int, list[int]] = {}
        self.covered = 0
        self.heaps: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])  # to ask for; fetched

    # %% Where mass is: the best of both kinds, by rank and then by number.
    def best(self, fetched: bool) -> tuple[int, int] | None:
        heap = self.heaps[fetched]
        while heap:
            mass, page = -heap[0][0], heap[0][1]
            if self.holds.get(page) == mass and (page in self.links) == fetched:
                return mass, page
            heapq.heappop(heap)  # it holds something else by now
        return None

    def give(self, page: int, mass: int, batch: turnstone.Batch) -> None:
        if mass:
            holds = self.holds[page] = self.holds.get(page, 0) + mass
            heapq.heappush(self.heaps[page in self.links], (-holds, page))
            if page not in self.links:
                batch.set(page, holds)

    def expand(self, page: int, batch: turnstone.Batch) -> None:
        mass = self.holds.pop(page, 0)
        before = self.given.get(page, 0)
        after = self.given[page] = before + mass
        # What a page has given is a function of all it ever held, so that no rounding adds up.
        whole, rest = divmod(after, ONE)
        whole_before, rest_before = divmod(before, ONE)
        def through(share):  # noqa: E306
            grown = share(part(DAMPING, rest)) - share(part(DAMPING, rest_before))
            return grown + (whole - whole_before) * share(part(DAMPING, ONE))
        self.covered += mass - through(lambda pushed: pushed)
        links = self.links[page]
        if links:
            share = through(lambda pushed: pushed // len(links))
            for link in links:
                self.give(link, share, batch)
        else:  # a page without links: back to those we trust
            for page, trusted in self.trust.items():
                self.give(page, through(lambda pushed: pushed * trusted >> 62), batch)

    # %% Fetched pages are pushed first: that costs no request.
    def settle(self, batch: turnstone.Batch) -> None:
        while self.covered < part(GOAL, ONE):
            queued, fetched = self.best(False), self.best(True)
            if fetched is None:
                return
            if queued is None:
                worth = sum(page in self.links for page in self.holds) * fetched[0] > ONE // 1_000_000
            else:
                worth = fetched[0] >= part(SHARE, queued[0])
            if not worth:
                return
            self.expand(fetched[1], batch)

    def observe(self, batch: turnstone.Batch) -> None:
        for event in batch:
            match event:
                case Discovered(page, _, seed=True):
                    self.give(page, self.trust[page], batch)
                case Fetched(page, _, links):
                    batch.take(page)
                    self.links[page] = list(links)
                    self.expand(page, batch)
                    self.settle(batch)

    def save(self) -> bytes:
        state = [list(self.holds.items()), list(self.given.items()), list(self.links.items()), self.covered]
        return json.dumps(state).encode()

    def restore(self, state: bytes) -> None:
        holds, given, links, self.covered = json.loads(state)
        self.holds, self.given, self.links = dict(holds), dict(given), dict(links)
        self.heaps = ([], [])
        for page, mass in self.holds.items():
            self.heaps[page in self.links].append((-mass, page))
        for heap in self.heaps:
            heapq.heapify(heap)


def trusting(seeds: list[int]):
    """What makes the policy, under a name of its own."""
    def twin() -> RankMass:
        return RankMass(seeds)
    twin.name = "rankmass-twin"
    return twin


# %% Both on the same web.
def compare(web: str) -> None:
    seeds = [3, 14, 159]
    began = time.perf_counter()
    theirs = turnstone.order(web, "rankmass", seeds=seeds)
    rust = time.perf_counter() - began
    began = time.perf_counter()
    ours = turnstone.order(web, trusting(seeds), seeds=seeds)
    python = time.perf_counter() - began
    assert ours == theirs, "both must ask for the same pages"
    assert ours == turnstone.order(web, trusting(seeds), seeds=seeds, restart_every=100)
    pages = len(ours)
    print(f"{pages:,} pages, the same order; in Rust {rust / pages * 1e6:.1f} µs a page, "
          f"in Python {python / pages * 1e6:.1f} µs, the web read included")


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, "web")
        turnstone.generate("graph", made, pages=size)
        compare(made)
