"""What readers of Arrow make of the tables. Run by tests/it, with the readers that people have."""

import json
import os
import pathlib
import runpy
import subprocess
import sys
import unittest

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.parquet

import turnstone

TABLES = ["pages", "links", "events", "captures", "decisions", "texts"]
COMMAND = [sys.executable, "-m", "turnstone"]


def run(*arguments):
    return subprocess.run([*COMMAND, *arguments], check=True, capture_output=True, text=True).stdout


def setUpModule():
    """A crawl of a made-up web, without waiting."""
    turnstone.generate("graph", "web", pages=300)
    server = subprocess.Popen([*COMMAND, "serve-web", "web", "--hosts", "3", "--json"], stdout=subprocess.PIPE, text=True)
    try:
        seeds = [site["url"] for site in json.loads(server.stdout.readline())["sites"]]
        subprocess.run([*COMMAND, "crawl", *seeds, "-o", "crawl", "--allow-private", "--delay", "0s",
                        "--clock-scale", "1000", "--json"], stdout=subprocess.DEVNULL, check=False)
    finally:
        server.terminate()
        server.wait()


class Readers(unittest.TestCase):
    def test_all_readers_see_what_the_json_lines_say(self):
        crawl = turnstone.open("crawl")
        for name in TABLES:
            run("export", name.replace("texts", "text"), "crawl", "-o", f"{name}.jsonl")
            lines = [json.loads(line) for line in pathlib.Path(f"{name}.jsonl").read_text().splitlines()]
            self.assertGreater(len(lines), 50, name)
            stream = getattr(crawl, name)
            read = {
                "pyarrow": pyarrow.table(stream).to_pylist(),
                "polars": polars.DataFrame(stream).to_dicts(),
                "pandas": pyarrow.Table.from_pandas(pandas.DataFrame.from_arrow(stream)).to_pylist(),
            }
            duck = duckdb.connect().execute("SET TimeZone = 'UTC'").execute("FROM stream")
            columns = [column[0] for column in duck.description]
            read["duckdb"] = [dict(zip(columns, row)) for row in duck.fetchall()]
            for reader, rows in read.items():
                self.assertEqual([plain(row) for row in rows], [plain(row) for row in lines], (name, reader))

    def test_types_are_those_of_the_parquet_files(self):
        crawl = turnstone.open("crawl")
        for name in TABLES:
            run("export", name.replace("texts", "text"), "crawl", "-o", f"{name}.parquet")
            stored = pyarrow.parquet.read_schema(f"{name}.parquet")
            told = pyarrow.schema(getattr(crawl, name))
            self.assertEqual([(f.name, f.type) for f in told], [(f.name, f.type) for f in stored], name)
            self.assertEqual(getattr(crawl, name).columns, stored.names)

    def test_decisions_are_the_hand_outs(self):
        decisions = polars.DataFrame(turnstone.open("crawl").decisions)
        self.assertEqual(decisions["number"].to_list(), list(range(len(decisions))))
        self.assertTrue(decisions["position"].is_sorted())
        came = decisions.filter(polars.col("outcome") == "new")
        pages = polars.DataFrame(turnstone.open("crawl").pages).filter("stored")
        self.assertEqual(sorted(came["page"]), sorted(pages["page"]))
        self.assertEqual(set(came["chance"]), {1.0})
        self.assertEqual(set(came["question"]), {"crawl"})

    def test_scores_are_those_of_the_file(self):
        run("rank", "web", "-o", "scores.tsv")
        file = [tuple(line.split("\t")) for line in pathlib.Path("scores.tsv").read_text().splitlines()]
        table = polars.DataFrame(turnstone.rank("web"))
        self.assertEqual(table.rows(), [(int(page), float(score)) for page, score in file])

    def test_a_reader_that_goes_away_does_no_harm(self):
        for _ in range(20):
            turnstone.open("crawl").links.__arrow_c_stream__()
        reader = pyarrow.RecordBatchReader.from_stream(turnstone.open("crawl").links)
        del reader
        self.assertGreater(pyarrow.table(turnstone.open("crawl").links).num_rows, 0)

    def test_the_notebooks_run_from_top_to_bottom(self):
        os.environ["DIRECTORY"] = "crawl"
        books = sorted((pathlib.Path(os.environ["EXAMPLES"]) / "notebooks").glob("*.ipynb"))
        self.assertEqual(len(books), 3)
        for book in books:
            names = {}
            for cell in json.loads(book.read_text())["cells"]:
                if cell["cell_type"] == "code":
                    exec(compile("".join(cell["source"]), f"{book.name}: {cell['id']}", "exec"), names)
            if book.stem == "write_a_policy":
                self.assertEqual(set(names["needed"]) - {"optimal"}, {"MostLinked", "breadth-first", "rankmass"})
            if book.stem == "analyse_a_crawl":
                self.assertEqual(set(names["kinds"]["method"]), {"visible", "main"} & set(names["kinds"]["method"]))
                self.assertGreater(names["kinds"]["pages"].sum(), 50)
            if book.stem == "compare_policies":
                self.assertEqual(names["by_budget"].shape, (4, 4))

    def test_the_examples_run(self):
        examples = pathlib.Path(os.environ["EXAMPLES"])
        for name, arguments in [("analyse_crawl", ["crawl"]), ("breadth_first", ["2000"]), ("rankmass", ["1500"])]:
            sys.argv = [name, *arguments]
            runpy.run_path(str(examples / f"{name}.py"), run_name="__main__")


def plain(row):
    """Moments as the JSON lines have them; what is missing in one reader's way or another's is missing."""
    return {key: value(cell) for key, cell in row.items()}


def value(cell):
    if cell is None or cell != cell:
        return None
    if hasattr(cell, "isoformat"):
        return cell.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return cell


if __name__ == "__main__":
    unittest.main()
