"""Which page next? Backtests, crawl tables and policies of your own.

- :func:`backtest` tries policies on a recorded web, and gives the figures of ``turnstone backtest --json``.
- :func:`open` opens a crawl directory: ``pages``, ``links``, ``events``, ``captures``, ``decisions`` and ``texts`` are
  tables that pandas, polars, pyarrow and DuckDB take without a copy.
- :func:`crawl` crawls the live web, with a policy of yours if you like.
- :func:`generate` and :func:`rank` are the commands of that name.
- :class:`Policy` is what a policy of your own looks like; :func:`order` shows in which order it asks.

Errors are :class:`Error` and :class:`UsageError`, with the text that the command prints. Long work lets other
threads run and stops at Ctrl-C.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, Union

from ._native import (
    Batch,
    Crawl,
    Discovered,
    Error,
    Failed,
    Fetched,
    Guessed,
    Held,
    Hinted,
    Moved,
    Round,
    Table,
    Unseen,
    UsageError,
    __version__,
)
from . import _native

__all__ = [
    "Batch",
    "Crawl",
    "Discovered",
    "Error",
    "Failed",
    "Fetched",
    "Guessed",
    "Held",
    "Hinted",
    "LimitWarning",
    "Moved",
    "Policy",
    "Question",
    "Round",
    "Table",
    "Unseen",
    "UsageError",
    "__version__",
    "backtest",
    "crawl",
    "generate",
    "open",
    "order",
    "rank",
]

Question = Literal[
    "coverage", "importance", "liveness", "discovery", "changes", "keep", "trap"
]
"""What a backtest asks."""

Path = Union[str, "os.PathLike[str]"]
Progress = Callable[[str, float], object]


class Policy(Protocol):
    """What a policy must have. A class need not derive from this.

    The same events must always give the same ranks: no clock, no files, and random numbers only from a
    generator that starts alike each time and is part of what is saved.
    """

    def observe(self, batch: Batch) -> None:
        """Takes in what happened, and ranks the pages that it touches."""

    def save(self) -> bytes:
        """The whole state. Ranks are not part of it: the scheduler keeps them."""

    def restore(self, state: bytes) -> None:
        """Becomes the saved policy: from here on both decide alike."""


class LimitWarning(UserWarning):
    """The work was done, but something was not reached: the text says what."""


Contender = Union[str, Callable[[], Any]]
"""A spec such as ``"rankmass:push=exact"``, or a class (or function) that makes a policy."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")


def open(path: Path) -> Crawl:
    """Opens a crawl directory to look at it. A crawl may run in it meanwhile."""
    return Crawl(os.fspath(path))


def backtest(
    question: Question,
    web: Path | None = None,
    policies: Contender | Sequence[Contender] | None = None,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Tries policies on a recorded web: the document that ``turnstone backtest QUESTION WEB --json`` prints.

    ``policies`` are specs, or classes of your own (for coverage, discovery, changes, keep and trap). Without
    them the command's default is taken. ``options`` are those of the command, ``_`` for ``-``:
    ``trusted="top:10"`` is ``--trusted top:10``, ``grow=True`` is ``--grow``. ``web`` may be left out for
    ``trap``, which makes its own.

    ``progress(what, share)`` is called now and then.

    >>> backtest("coverage", "web", ["rankmass", "l-neighbor"], trusted="top:10")  # doctest: +SKIP
    """
    names, guests = _contenders(policies)
    arguments = ["backtest", question]
    if web is not None:
        arguments.append(os.fspath(web))
    if names:
        arguments += ["--policies", ",".join(names)]
    return _command(arguments, options, guests, progress)


def crawl(
    seeds: str | Sequence[str],
    output: Path,
    policy: Contender | None = None,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Crawls the live web: ``turnstone crawl SEEDS -o OUTPUT``; goes on where it stopped when the directory exists.

    ``policy`` is a spec or a class of your own. It decides through the same seam as those of Turnstone: politeness, budgets
    and the journal are the crawl's. Its state is saved with ``save`` and restored with ``restore``, so that a crawl that was
    killed goes on as if nothing had happened; give the same class again. The command ``turnstone crawl`` cannot go on with
    such a crawl, for the class is not in it. A policy of your own proves nothing: say when to end, as ``until="pages=1000"``.

    Ctrl-C ends the crawl cleanly: requests under way come home, and everything is on disk.
    """
    names, guests = _contenders(policy)
    if len(names) > 1:
        raise UsageError("policy: a crawl has one")
    seeds = [seeds] if isinstance(seeds, str) else list(seeds)
    arguments = ["crawl", *seeds, "--output", os.fspath(output)]
    if names:
        arguments += ["--policy", names[0]]
    return _command(arguments, options, guests, progress)


def generate(
    kind: Literal["graph", "history"],
    output: Path,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Makes a synthetic web: ``turnstone generate KIND -o OUTPUT``, with the options of that command."""
    arguments = ["generate", kind, "--output", os.fspath(output)]
    return _command(arguments, options, [], progress)


def rank(
    web: Path,
    method: Literal["pagerank", "indegree", "opic"] = "pagerank",
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Table:
    """Scores every page of a recorded web: a table of ``page`` and ``score``, at full precision."""
    with tempfile.TemporaryDirectory() as folder:
        scores = os.path.join(folder, "scores.tsv")
        arguments = ["rank", os.fspath(web), "--method", method, "--output", scores]
        _command(arguments, options, [], progress)
        return Table.scores(scores)


def order(
    web: Path,
    policy: Contender,
    *,
    seeds: Iterable[int] = (0,),
    pages: int | None = None,
    restart_every: int | None = None,
    progress: Progress | None = None,
) -> list[int]:
    """The pages of a recorded web in the order in which a coverage policy asks for them, from some seeds.

    It is how a policy is held against another, page by page, and how its ``save`` and ``restore`` are tried:
    with ``restart_every=n`` the policy is saved, thrown away, made anew and restored every n pages, and must
    decide as if nothing had happened.
    """
    names, guests = _contenders(policy)
    make = guests[0][1] if guests else None
    return _native.order(
        os.fspath(web),
        names[0],
        make=make,
        seeds=list(seeds),
        pages=pages,
        restart_every=restart_every,
        progress=progress,
    )


def _contenders(
    policies: Contender | Sequence[Contender] | None,
) -> tuple[list[str], list[tuple[str, Callable[[], Any]]]]:
    """Names for the command, and what makes those that it does not know."""
    if policies is None:
        return [], []
    if isinstance(policies, str) or callable(policies) or not isinstance(policies, Iterable):
        policies = [policies]
    names: list[str] = []
    guests: list[tuple[str, Callable[[], Any]]] = []
    for policy in policies:
        if isinstance(policy, str):
            names.append(policy)
            continue
        if not callable(policy):
            kind = type(policy).__name__
            raise UsageError(
                f"policies: a {kind} is no policy; give a spec, or a class whose objects have "
                "observe(batch): every run starts with a new one"
            )
        name = getattr(policy, "name", None) or getattr(policy, "__name__", "")
        if not isinstance(name, str) or not _NAME.match(name):
            raise UsageError(
                f"policies: '{name}' cannot name a policy; set `name` to letters, digits, '_', '-' and '.'"
            )
        if any(name == other for other, _ in guests):
            raise UsageError(f"policies: two are called '{name}'; set `name` of one")
        names.append(name)
        guests.append((name, policy))
    return names, guests


def _options(options: Mapping[str, Any]) -> list[str]:
    arguments: list[str] = []
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            arguments.append(flag)
        elif isinstance(value, (list, tuple)):
            for one in value:
                arguments.append(f"{flag}={_text(one)}")
        else:
            arguments.append(f"{flag}={_text(value)}")
    return arguments


def _text(value: Any) -> str:
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _command(
    arguments: list[str],
    options: Mapping[str, Any],
    guests: list[tuple[str, Callable[[], Any]]],
    progress: Progress | None,
) -> dict[str, Any]:
    text = _json_of(arguments + _options(options), guests, progress)
    return json.loads(text)


def _json_of(
    arguments: list[str],
    guests: list[tuple[str, Callable[[], Any]]],
    progress: Progress | None,
) -> str:
    """What a command prints with ``--json``."""
    _, text, notes = _native.call([*arguments, "--json"], guests, progress)
    for note in notes:
        warnings.warn(note, LimitWarning, stacklevel=4)
    return text
