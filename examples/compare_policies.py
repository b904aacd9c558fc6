"""Compare policies on the history of sites: which finds the pages that changed?

Run it with ``python examples/compare_policies.py [FOLDER]``. FOLDER holds histories (``turnstone export history``
writes them of a crawl); without it sites are made up.
"""

# %% Sites over time: some pages change weekly, some never.
import os
import sys
import tempfile

import turnstone


def history(folder: str, sites: int = 3) -> str:
    """Makes up sites, a file each."""
    turnstone.generate("history", folder, sites=sites, seed=7)
    return folder


# %% The same sites, the same budget, several policies.
def compare(web: str) -> None:
    policies = ["cohorts", "directory-neighbours:d=1", "round-robin", "rns"]
    found = turnstone.backtest("changes", web, policies, budget="2%")
    print(f"{found['question']}: of the pages fetched again, how many had changed?")
    best = max(row["mean_change_ratio"] for row in found["results"])
    for row in sorted(found["results"], key=lambda row: -row["mean_change_ratio"]):
        ratio = row["mean_change_ratio"]
        bar = "█" * round(30 * ratio / best) if best else ""
        print(f"{row['policy']:>26} {ratio:7.1%} {bar}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        compare(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as folder:
            compare(history(os.path.join(folder, "sites")))
