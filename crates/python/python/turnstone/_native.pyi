from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from typing import Any, Union, final

__version__: str

class Error(Exception):
    """Something could not be done. The text says what, where, and what to do."""

class UsageError(Error):
    """Something was asked that does not make sense. The text says what would be right."""

@final
class Table:
    """A table that any reader of Arrow takes, without a copy: ``pyarrow.table(t)``, ``polars.DataFrame(t)``,
    ``pandas.DataFrame.from_arrow(t)``, and DuckDB where it stands as a variable. Each reader reads it
    anew, batch by batch."""

    @property
    def name(self) -> str:
        """What it is called."""
    @property
    def columns(self) -> list[str]:
        """The names of its columns, in order."""
    @staticmethod
    def scores(path: Union[str, PathLike[str]]) -> Table:
        """The table that ``turnstone rank -o`` wrote: ``page`` and ``score``."""
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Crawl:
    """A crawl directory, to be read. Nothing here changes a crawl, and it may run meanwhile."""

    def __new__(cls, path: Union[str, PathLike[str]]) -> Crawl: ...
    @property
    def path(self) -> PathLike[str]:
        """Where it lies."""
    @property
    def pages(self) -> Table:
        """A row for each known page: what is known of it."""
    @property
    def links(self) -> Table:
        """A row for each link of a stored copy."""
    @property
    def events(self) -> Table:
        """A row for each event: what happened to pages."""
    @property
    def captures(self) -> Table:
        """A row for each answer that a fetch brought, in the columns of Common Crawl's index."""
    @property
    def decisions(self) -> Table:
        """A row for each hand-out: what was asked for, by which policy, with which chance, and what came."""
    @property
    def texts(self) -> Table:
        """A row for each stored page that has a text: main text, title, language, dates, near duplicates, and what its
        publisher says about use."""

@final
class Discovered:
    """A URL was seen for the first time. Pages have numbers, from 0, in the order of these events."""

    __match_args__ = ("page", "host", "seed")
    @property
    def page(self) -> int: ...
    @property
    def host(self) -> int: ...
    @property
    def seed(self) -> bool: ...

@final
class Fetched:
    """A page came. ``change`` says how it compares with the copy we had: new, changed or unchanged."""

    __match_args__ = ("page", "change", "links")
    @property
    def page(self) -> int: ...
    @property
    def change(self) -> str: ...
    @property
    def links(self) -> list[int]: ...

@final
class Failed:
    """A page did not come. ``fault`` is gone, refused, unknown (it may be asked for again) or lost."""

    __match_args__ = ("page", "fault")
    @property
    def page(self) -> int: ...
    @property
    def fault(self) -> str: ...

@final
class Moved:
    """A page turned out to stand for another."""

    __match_args__ = ("page", "to")
    @property
    def page(self) -> int: ...
    @property
    def to(self) -> int: ...

@final
class Unseen:
    """Not all links of the page that is told of next could be seen."""

    __match_args__ = ("page", "links")
    @property
    def page(self) -> int: ...
    @property
    def links(self) -> int: ...

@final
class Held:
    """A host asked not to be contacted before a time."""

    __match_args__ = ("host", "until")
    @property
    def host(self) -> int: ...
    @property
    def until(self) -> int: ...

@final
class Hinted:
    """Somebody said that a page changed since our copy was made."""

    __match_args__ = ("page", "by")
    @property
    def page(self) -> int: ...
    @property
    def by(self) -> int | None: ...

@final
class Guessed:
    """The address of a page was guessed: with this chance it is there, and brings so many new pages."""

    __match_args__ = ("page", "chance", "brings")
    @property
    def page(self) -> int: ...
    @property
    def chance(self) -> float: ...
    @property
    def brings(self) -> int: ...

@final
class Round:
    """A new round begins: rank pages for up to ``budget`` fetches."""

    __match_args__ = ("round", "budget")
    @property
    def round(self) -> int: ...
    @property
    def budget(self) -> int: ...

Event = Union[
    Discovered, Fetched, Failed, Moved, Unseen, Held, Hinted, Guessed, Round
]

@final
class Batch:
    """Events that happened, oldest first, and the ranks that a policy gives in answer.

    Iterate over it. Ranks are whole numbers from 0 to 2**64 - 1; the page with the highest is asked for
    next, of two alike that with the smaller number. A page of rank 0 is never asked for."""

    @property
    def events(self) -> list[Event]:
        """The events."""
    @property
    def now(self) -> int:
        """The time, in milliseconds since the crawl began."""
    @property
    def known(self) -> int:
        """How many pages are known."""
    def set(self, page: int, rank: int) -> None:
        """Gives a page a rank, whatever it had."""
    def set_all(self, pages: Sequence[int], ranks: Sequence[int]) -> None:
        """Gives pages ranks, one each."""
    def add(self, page: int, by: int) -> None:
        """Adds to the rank of a page."""
    def take(self, page: int) -> None:
        """Takes the rank of a page away: it is not asked for until it is ranked again."""
    def park(self, page: int) -> None:
        """Keeps the rank of a page, growing where it grows, but never asks for it."""
    def queue(self, page: int) -> None:
        """Asks for a page again, at the rank it has."""
    def defer(self, page: int, until: int) -> None:
        """Asks for a page again at the rank it has, but not before a time."""
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Event]: ...

def call(
    arguments: Sequence[str],
    guests: Sequence[tuple[str, Callable[[], Any]]] = ...,
    progress: Callable[[str, float], object] | None = None,
) -> tuple[int, str, list[str]]: ...
def main(arguments: Sequence[str]) -> int: ...
def order(
    web: str,
    policy: str,
    make: Callable[[], Any] | None = None,
    seeds: Sequence[int] = ...,
    pages: int | None = None,
    restart_every: int | None = None,
    progress: Callable[[str, float], object] | None = None,
) -> list[int]: ...
