"""Decides whether the requests and answers of clients are possible with the stored records."""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """An action and its answer. `hash` is None if it was refused or its result is unknown."""

    client: str
    key: str
    invoked: float
    returned: float
    status: int
    code: str = ""
    hash: str | None = None
    version: int = 0


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """A state that a client received."""

    client: str
    invoked: float
    returned: float
    version: int


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """A record of the game. `key` is the key of its action; "" if it did not result from an action."""

    version: int
    hash: str
    key: str
    public: bytes


class History(msgspec.Struct, frozen=True, kw_only=True):
    """One game: all its requests in any order, its records, and the feed of each watcher."""

    acts: Sequence[Act]
    reads: Sequence[Read]
    log: Sequence[Stored]
    feeds: Sequence[Sequence[bytes]] = ()


def faults(history: History) -> Iterator[str]:
    """Yield everything that a correct platform cannot have done."""
    yield from _log(history.log)
    yield from _answers(history)
    yield from _order(history)
    yield from _reads(history)
    for number, feed in enumerate(history.feeds):
        if list(feed) != [record.public for record in history.log]:
            yield f"feed {number} is not what is stored, once and in order"


def _log(log: Sequence[Stored]) -> Iterator[str]:
    if [record.version for record in log] != list(range(1, len(log) + 1)):
        yield "the versions have a hole or a repeat"
    for key, times in Counter(record.key for record in log if record.key).items():
        if times > 1:
            yield f"the action {key} is stored {times} times"


def _answers(history: History) -> Iterator[str]:
    stored = {record.hash: record for record in history.log}
    told: dict[str, Act] = {}
    stored_keys = {record.key for record in history.log}
    for key in sorted({act.key for act in history.acts} & stored_keys):
        if all(act.hash is None and 400 <= act.status < 500 for act in history.acts if act.key == key):
            yield f"the action {key} was refused, and is stored"
    for act in history.acts:
        if act.hash is None:
            continue
        before = told.setdefault(act.key, act)
        if (before.hash, before.version) != (act.hash, act.version):
            yield f"the action {act.key} was answered in two ways"
        record = stored.get(act.hash)
        if record is None:
            yield f"the action {act.key} was accepted and is lost"
        elif record.key != act.key:
            yield f"the action {act.key} was given the receipt of another"
        elif act.version < record.version:
            yield f"the answer to {act.key} is older than the action"


def _order(history: History) -> Iterator[str]:
    """If one action was answered before another was sent, its record precedes the other's."""
    places = {record.key: record.version for record in history.log if record.key}
    asked: dict[str, float] = {}
    answered: dict[str, float] = {}
    for act in history.acts:
        asked[act.key] = min(act.invoked, asked.get(act.key, act.invoked))
        if act.hash and act.key in places:
            answered[act.key] = min(act.returned, answered.get(act.key, act.returned))
    for key, returned in answered.items():
        for other in answered:
            if returned < asked[other] and places[key] > places[other]:
                yield f"{other} was asked after {key} was answered and stands before it"


def _reads(history: History) -> Iterator[str]:
    """A state never lacks records that were shown or accepted before its request."""
    seen = [(read.returned, read.version) for read in history.reads]
    seen += [(act.returned, act.version) for act in history.acts if act.hash]
    for read in history.reads:
        floor = max((version for returned, version in seen if returned < read.invoked), default=0)
        if read.version < floor:
            yield f"{read.client} was shown {read.version} after {floor} had been shown"
        if read.version > len(history.log):
            yield f"{read.client} was shown {read.version}, which is not stored"
