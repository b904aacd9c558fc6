"""Analyse a crawl: what is in it, who links to whom, and how it was decided what to ask for.

Run it with ``python examples/analyse_crawl.py DIR``; ``turnstone demo`` makes a crawl in half a minute. It
needs DuckDB and polars (``pip install duckdb polars``); pandas and pyarrow take the same tables.
"""

# %% The tables of a crawl are read where they lie; no file is written in between.
import sys

import duckdb
import polars

import turnstone


def analyse(directory: str) -> None:
    crawl = turnstone.open(directory)

    # %% Pages by answer, in polars.
    pages = polars.DataFrame(crawl.pages)
    print(pages.group_by("class").len().sort("len", "class", descending=[True, False]))

    # %% Hosts by what they cost, in SQL: a table is found by the name of its variable.
    decisions = crawl.decisions
    links = crawl.links
    with duckdb.connect() as db:
        print(db.sql("""
            SELECT host, count(*) AS requests, avg(milliseconds) AS ms,
                   count(*) FILTER (outcome = 'new') AS new
            FROM decisions GROUP BY host ORDER BY requests DESC, host LIMIT 10"""))

        # %% The pages that other hosts link to most.
        print(db.sql("""
            SELECT target_url, count(DISTINCT source_host) AS hosts
            FROM links WHERE source_host <> target_host
            GROUP BY target_url ORDER BY hosts DESC, target_url LIMIT 10"""))

    # %% In which order they came, against how much is linked to them.
    order = polars.DataFrame(crawl.decisions).filter(polars.col("outcome") == "new")
    indegree = polars.DataFrame(crawl.links).group_by("target").len("linked")
    joined = order.join(indegree, left_on="page", right_on="target", how="left")
    half = len(joined) // 2
    first, last = joined["linked"][:half].mean(), joined["linked"][half:].mean()
    print(f"links to a page, on average: {first or 0:.1f} in the first half of the crawl, {last or 0:.1f} after")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: analyse_crawl.py DIR (turnstone demo makes one)")
    analyse(sys.argv[1])
