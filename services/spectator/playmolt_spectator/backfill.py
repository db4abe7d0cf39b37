"""Messages that were not received live: read from NATS while it has them, otherwise from the game's engine."""

import asyncio
from collections.abc import Iterable, Sequence

import msgspec
from playmolt_core.bus.port import BusUnavailable
from playmolt_schemas.codes import Code, code_in
from playmolt_schemas.identifiers import type_of

from playmolt_spectator.frames import Message
from playmolt_spectator.metrics import Metrics
from playmolt_spectator.port import Source

PAGE_MESSAGES = 256
_ENGINE_CALLS = 32
_NATS_UP_TO = 1024
"""NATS finds a version by reading the game from the start; beyond this version the engine is cheaper."""


class UnknownGame(LookupError):
    """The game does not exist."""


class ArchivedGame(UnknownGame):
    """The game was archived."""


class Page(msgspec.Struct, frozen=True):
    """Consecutive messages after a version. `head` and `closed` come from the engine, or are 0 and False."""

    messages: Sequence[Message]
    head: int = 0
    closed: bool = False


class _Feed(msgspec.Struct):
    messages: list[msgspec.Raw]
    version: int
    closed: bool


class _Versioned(msgspec.Struct):
    version: int


_read_feed = msgspec.json.Decoder(_Feed).decode
_read_version = msgspec.json.Decoder(_Versioned).decode


def message(raw: bytes) -> Message:
    """A message with its version; raises msgspec.DecodeError when it has none."""
    return Message(_read_version(raw).version, raw)


def _in_a_row(after: int, raws: Iterable[bytes]) -> list[Message]:
    row: list[Message] = []
    for raw in raws:
        found = message(raw)
        if found.version == after + len(row) + 1:
            row.append(found)
        elif found.version > after:
            break
    return row


def game_type(game_id: str) -> str:
    """The game type of an id; raises UnknownGame for an invalid id."""
    kind = type_of(game_id)
    if kind is None:
        raise UnknownGame(game_id)
    return kind


class Backfill:
    """Fetches pages. Concurrent requests for the same page share one answer."""

    def __init__(self, source: Source, metrics: Metrics, deadline: float) -> None:
        self._source = source
        self._metrics = metrics
        self._deadline = deadline
        self._calls = asyncio.Semaphore(_ENGINE_CALLS)
        self._under_way: dict[tuple[str, int, str], asyncio.Task[Page]] = {}

    async def page(self, game_id: str, after: int, invite: str = "") -> Page:
        """The messages after a version, from NATS or the engine. Raises BusUnavailable and UnknownGame."""
        asked = (game_id, after, invite)
        task = self._under_way.get(asked)
        if task is None:
            task = self._under_way[asked] = asyncio.create_task(self._fetch(*asked))
            task.add_done_callback(lambda _: self._under_way.pop(asked))
        return await asyncio.shield(task)

    async def _fetch(self, game_id: str, after: int, invite: str) -> Page:
        if after < _NATS_UP_TO:
            raws = await self._source.history(game_type(game_id), game_id, after, PAGE_MESSAGES)
            if row := _in_a_row(after, raws):
                self._metrics.counts['backfills_total{source="nats"}'] += 1
                return Page(row)
        return await self.engine(game_id, after, invite)

    async def engine(self, game_id: str, after: int, invite: str = "") -> Page:
        """The messages after a version from the engine, with head and end. Raises BusUnavailable and UnknownGame."""
        body = msgspec.json.encode({"after": after, "limit": PAGE_MESSAGES})
        async with self._calls:
            answer = await self._source.submit(
                game_type(game_id), "feed", game_id, body, invite=invite, deadline=self._deadline
            )
        if answer.status == 404:
            archived = code_in(answer.body) == Code.ARCHIVED.wire
            raise ArchivedGame(game_id) if archived else UnknownGame(game_id)
        if answer.status != 200:
            raise BusUnavailable(f"the engine answered {answer.status} to a feed of {game_id}")
        self._metrics.counts['backfills_total{source="engine"}'] += 1
        feed = _read_feed(answer.body)
        return Page(_in_a_row(after, map(bytes, feed.messages)), feed.version, feed.closed)
