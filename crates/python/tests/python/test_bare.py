"""What the package does with nothing else installed. Run by tests/it, in a folder of its own."""

import inspect
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest
import warnings

import turnstone
from turnstone import _native

sys.path.insert(0, os.environ["EXAMPLES"])
from breadth_first import BreadthFirst  # noqa: E402
import compare_policies  # noqa: E402
from rankmass import trusting  # noqa: E402

COMMAND = pathlib.Path(sys.executable).with_name("turnstone")
WEB = "web"


def command(*arguments):
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True)


def setUpModule():
    turnstone.generate("graph", WEB, pages=2000)
    turnstone.generate("history", "sites", sites=2, pages=40)


class Backtests(unittest.TestCase):
    def check(self, question, web, options, policies=None):
        """Python and the command must print the same, but for the seconds it took."""
        given = turnstone._options(options)
        names, _ = turnstone._contenders(policies)
        names = ["--policies", ",".join(names)] if names else []
        web = [web] if web else []
        arguments = ["backtest", question, *web, *names, *given]
        told = command(*arguments, "--json")
        self.assertIn(told.returncode, (0, 3), told.stderr)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", turnstone.LimitWarning)
            here = turnstone._json_of(arguments, [], None)
            value = turnstone.backtest(question, *web, policies=policies, **options)
        timeless = lambda text: re.sub(r'("(?:\w+_)?seconds": )[-+.e\d]+', r"\g<1>0", text)  # noqa: E731
        self.assertEqual(timeless(told.stdout), timeless(here))
        self.assertEqual(json.loads(timeless(told.stdout)), json.loads(timeless(json.dumps(value))))
        self.assertTrue(value["results"])

    def test_coverage(self):
        self.check("coverage", WEB, {"trusted": "top:10"}, ["rankmass", "l-neighbor"])

    def test_importance(self):
        self.check("importance", WEB, {"visits": 2, "seed": 3}, "opic:select=greedy")

    def test_liveness(self):
        self.check("liveness", "sites", {"seed": 2}, ["tree", "random"])

    def test_discovery(self):
        self.check("discovery", "sites", {"budget": "1,10"}, ["od-1", "bandit"])

    def test_changes(self):
        self.check("changes", "sites", {"budget": "5%", "grow": True}, ["cohorts", "rns"])

    def test_keep(self):
        self.check("keep", "sites", {"days": 30}, ["keep", "uniform"])

    def test_trap(self):
        options = {"sections": 3, "lists": 4, "articles": 3}
        self.check("trap", None, options, ["breadth-first", "opic"])


class Policies(unittest.TestCase):
    def test_the_twin_of_breadth_first_decides_like_it(self):
        theirs = turnstone.order(WEB, "breadth-first", seeds=[5, 900])
        ours = turnstone.order(WEB, BreadthFirst, seeds=[5, 900])
        self.assertGreater(len(ours), 1000)
        self.assertEqual(ours, theirs)

    def test_the_twin_of_rankmass_decides_like_it(self):
        for seeds in ([5, 900], [0], list(range(0, 2000, 40))):
            theirs = turnstone.order(WEB, "rankmass", seeds=seeds)
            self.assertGreater(len(theirs), 500)
            self.assertEqual(turnstone.order(WEB, trusting(seeds), seeds=seeds), theirs, seeds)
        again = turnstone.order(WEB, trusting(seeds), seeds=seeds, restart_every=50)
        self.assertEqual(again, theirs)

    def test_it_goes_on_as_saved_wherever_it_is_killed(self):
        whole = turnstone.order(WEB, BreadthFirst, pages=300)
        for every in (1, 7, 100):
            again = turnstone.order(WEB, BreadthFirst, pages=300, restart_every=every)
            self.assertEqual(again, whole, every)

    def test_a_policy_that_forgets_is_found_out(self):
        class Forgetful(BreadthFirst):
            def restore(self, state):
                pass

        whole = turnstone.order(WEB, Forgetful, pages=300)
        self.assertNotEqual(turnstone.order(WEB, Forgetful, pages=300, restart_every=7), whole)

    def test_guests_run_in_every_backtest_that_takes_them(self):
        class Oldest(BreadthFirst):
            """For rounds: the pages that were fetched longest ago."""

            def __init__(self):
                super().__init__()
                self.rounds = 0

            def observe(self, batch):
                for event in batch:
                    if isinstance(event, turnstone.Round):
                        self.rounds += 1
                        pages = list(range(batch.known))[: event.budget]
                        batch.set_all(pages, [1 + self.rounds] * len(pages))
                    elif isinstance(event, (turnstone.Fetched, turnstone.Failed, turnstone.Moved)):
                        batch.take(event.page)

        small = {"sections": 3, "lists": 4, "articles": 3}
        for question, web, policy, options in [
            ("coverage", WEB, BreadthFirst, {}),
            ("trap", None, BreadthFirst, small),
            ("changes", "sites", Oldest, {"budget": "5%"}),
            ("discovery", "sites", Oldest, {"budget": "5"}),
            ("keep", "sites", Oldest, {"days": 30}),
        ]:
            found = turnstone.backtest(question, web, policy, **options)
            names = {row["policy"] for row in found["results"]}
            self.assertIn(policy.__name__, names, question)
        pair = turnstone.backtest("coverage", WEB, [BreadthFirst, "breadth-first"])["results"][-2:]
        same = [{k: v for k, v in row.items() if k not in ("policy", "seconds")} for row in pair]
        self.assertEqual(*same)

    def refused(self, error, text, work):
        with self.assertRaisesRegex(error, text):
            work()

    def test_what_a_policy_does_wrong_is_an_exception(self):
        class Raises(BreadthFirst):
            def observe(self, batch):
                raise KeyError("of its own")

        class Mute:
            pass

        class Strange(BreadthFirst):
            def observe(self, batch):
                batch.set(10**6, 1)

        class Unborn(BreadthFirst):
            def __init__(self):
                raise RuntimeError("not today")

        class Unsaved(BreadthFirst):
            def save(self):
                return "text"

        class Negative(BreadthFirst):
            def observe(self, batch):
                batch.set(0, -1)

        run = lambda policy: lambda: turnstone.backtest("coverage", WEB, policy)  # noqa: E731
        self.refused(KeyError, "of its own", run(Raises))
        self.refused(TypeError, "policy 'Mute'.*no method observe", run(Mute))
        self.refused(IndexError, "no page 1000000", run(Strange))
        self.refused(RuntimeError, "not today", run(Unborn))
        self.refused(OverflowError, "", run(Negative))
        self.refused(turnstone.Error, "policy 'Unsaved': save.. that gives bytes", lambda: turnstone.order(
            WEB, Unsaved, restart_every=3))
        self.refused(turnstone.UsageError, "give a spec, or a class", run(BreadthFirst()))
        self.refused(turnstone.UsageError, "two are called 'BreadthFirst'", run([BreadthFirst] * 2))
        self.refused(turnstone.UsageError, "is a guest.* not for liveness", lambda: turnstone.backtest(
            "liveness", "sites", BreadthFirst))


class Words(unittest.TestCase):
    def test_errors_are_those_of_the_command(self):
        for error, arguments in [
            (turnstone.Error, ["coverage", "nowhere"]),
            (turnstone.UsageError, ["coverage", WEB, "--policies", "rankmas"]),
            (turnstone.UsageError, ["coverage", WEB, "--epsilon", "7"]),
        ]:
            told = command("backtest", *arguments)
            with self.assertRaises(error) as raised:
                turnstone._json_of(["backtest", *arguments], [], None)
            self.assertEqual(told.stderr, f"turnstone: {raised.exception}\n")
            self.assertEqual(told.returncode, 2 if error is turnstone.UsageError else 1)
        with self.assertRaisesRegex(turnstone.UsageError, "unexpected argument '--nonsense' found"):
            turnstone.backtest("coverage", WEB, nonsense=1)
        with self.assertRaisesRegex(turnstone.Error, "nowhere: not a crawl directory"):
            turnstone.open("nowhere")

    def test_a_limit_is_a_warning(self):
        with self.assertWarnsRegex(turnstone.LimitWarning, "the goal is out of reach"):
            turnstone.backtest("coverage", WEB, "rankmass:dangling=leak", epsilon=0.000001)

    def test_the_stubs_name_what_there_is(self):
        stubs = pathlib.Path(_native.__file__).with_name("_native.pyi").read_text()
        there = {name for name in dir(_native) if not name.startswith("__")}
        told = set(re.findall(r"^(?:class|def) (\w+)", stubs, re.M))
        self.assertEqual(told, there)
        for name in sorted(there):
            thing = getattr(_native, name)
            if inspect.isclass(thing) and not issubclass(thing, Exception):
                members = {m for m in vars(thing) if not m.startswith("_")}
                body = re.search(rf"^class {name}\b.*?(?=^\S|\Z)", stubs, re.M | re.S)[0]
                self.assertEqual(set(re.findall(r"def ([a-z]\w*)", body)), members, name)
                self.assertTrue(thing.__doc__, name)
        self.assertTrue(pathlib.Path(turnstone.__file__).with_name("py.typed").exists())
        for name in turnstone.__all__:
            self.assertTrue(hasattr(turnstone, name), name)

    def test_the_wheel_carries_the_command(self):
        told = command("--version")
        self.assertEqual(told.stdout, f"turnstone {turnstone.__version__}\n")
        self.assertEqual(command("nonsense").returncode, 2)

    def test_progress_is_told(self):
        seen = []
        turnstone.order(WEB, Slow, pages=600, progress=lambda what, share: seen.append(share))
        self.assertTrue(seen and all(0 <= share <= 1 for share in seen), seen)

    def test_ranks_are_those_of_the_command(self):
        self.assertEqual(command("rank", WEB, "-o", "scores.tsv").returncode, 0)
        table = turnstone.rank(WEB)
        self.assertEqual(table.columns, ["page", "score"])
        self.assertEqual(repr(table), "<scores of 2000 pages>")

    def test_the_example_on_histories_runs(self):
        compare_policies.compare("sites")


class Live(unittest.TestCase):
    """A class of Python decides in a live crawl as the same policy in Rust does, over a restart."""

    def setUp(self):
        serving = [COMMAND, "serve-web", WEB, "--hosts", "1", "--json"]
        self.server = subprocess.Popen(serving, stdout=subprocess.PIPE, text=True)
        self.seed = json.loads(self.server.stdout.readline())["sites"][0]["url"]

    def tearDown(self):
        self.server.terminate()
        self.server.communicate()

    def crawl(self, output, policy, until, **more):
        options = {"allow_private": True, "everywhere": True, "connections": 1, "delay": "0s", "clock_scale": 1000, **more}
        return turnstone.crawl(self.seed, output, policy, until=until, **options)

    def order(self, output):
        self.assertEqual(command("export", "decisions", output, "-o", f"{output}.jsonl").returncode, 0)
        rows = [json.loads(line) for line in pathlib.Path(f"{output}.jsonl").read_text().splitlines()]
        return [row["url"] for row in rows if row["outcome"] == "new"]

    def test_a_class_decides_live_and_over_a_restart(self):
        for pages in (80, 200):
            for output, policy in (("by-class", BreadthFirst), ("by-name", "breadth-first")):
                summary = self.crawl(output, policy, f"pages={pages}")
                self.assertEqual(summary["stopped_by"], "pages")
        ours = self.order("by-class")
        self.assertEqual(len(ours), 200)
        self.assertEqual(ours, self.order("by-name"))
        # The command says that it does not know the policy, and everything else it still tells.
        self.assertEqual(command("status", "by-class").returncode, 0)
        told = command("crawl", "-o", "by-class", "--until", "pages=300")
        self.assertEqual(told.returncode, 2)
        self.assertIn("BreadthFirst", told.stderr)

    def test_an_exception_in_a_policy_ends_the_crawl_and_loses_nothing(self):
        class Falls(BreadthFirst):
            def observe(self, batch):
                super().observe(batch)
                if len(self.queued) > 60:
                    raise RuntimeError("no further")

        with self.assertRaisesRegex(RuntimeError, "no further"):
            self.crawl("fallen", Falls, "pages=200")
        Falls.observe = BreadthFirst.observe
        self.assertEqual(self.crawl("fallen", Falls, "pages=200")["stopped_by"], "pages")
        self.assertEqual(len(self.order("fallen")), 200)

    def test_ctrl_c_ends_a_crawl_cleanly(self):
        script = f"""
import turnstone
try:
    turnstone.crawl({self.seed!r}, "ended", "breadth-first", until="pages=500", allow_private=True, delay="100ms",
                    progress=lambda what, share: print(what, flush=True))
except KeyboardInterrupt:
    print("stopped", flush=True)
"""
        child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        for line in child.stdout:
            if line == "crawling\n":
                break
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=60)
        self.assertTrue(out.endswith("stopped\n"), out)
        told = json.loads(command("status", "ended", "--json").stdout)
        self.assertEqual(told["stopped_by"], "signal")


class Slow(BreadthFirst):
    """Takes its time, so that somebody can look."""

    def observe(self, batch):
        super().observe(batch)
        sum(range(20_000))


class Signals(unittest.TestCase):
    def test_ctrl_c_ends_long_work_at_once(self):
        script = f"""
import sys, time
sys.path.insert(0, {os.environ["EXAMPLES"]!r})
import turnstone
from breadth_first import BreadthFirst
class Endless(BreadthFirst):
    told = False
    def observe(self, batch):
        if not Endless.told:
            Endless.told = True
            print("going", flush=True)
        batch.set(0, 1)  # again and again
        time.sleep(0.02)  # it lasts, however slow the machine is that stops it
    def save(self): return b""
try:
    turnstone.backtest("trap", policies=Endless, fetches=100_000_000)
except KeyboardInterrupt:
    print("stopped", flush=True)
# The interpreter is as it was.
print(len(turnstone.order("web", "breadth-first")))
"""
        child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "going\n")
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=60)
        self.assertRegex(out, r"\Astopped\n\d+\n\Z")


if __name__ == "__main__":
    unittest.main()
