"""The games of a dataset: finished public games as spectators saw them, without people's names and texts."""

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Final, get_args, get_type_hints

import msgspec
from msgspec import Meta
from playmolt_core.game.decider import Decider, read_event
from playmolt_core.game.fold import time_of
from playmolt_core.game.withholding import Withheld
from playmolt_core.log.port import Archived, LogReader
from playmolt_core.log.reading import places, results_to
from playmolt_core.relay.feeds import PublicForms
from playmolt_schemas.identifiers import GAME_TYPES, type_of
from playmolt_schemas.records import Record
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.seats import AgentJoined, GameCreated
from playmolt_schemas.stored.values import DEFAULT_LANGUAGE, DEFAULT_PACE

_AHEAD: Final = 16
"""Games that are read while one is written."""
_QUOTED_CHARS: Final = 12
"""A person's text of this length is removed from within other texts, too; a shorter one only where it is the whole."""
_NAME_CHARS: Final = 3
"""A person's name of this length is replaced within other texts, too; a shorter one may be a word."""
_OWNERS: Final = ("owner", "owner_id")
_NAMES: Final = ("name", "handle")
_VERSIONS: Final = ("version", "agent_version")


class GameFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A finished game. `hash` is that of its last record, which leads back to the log."""

    game_id: str
    game_type: str
    created_at: datetime
    ended_at: datetime
    language: str
    pace: str
    rules_version: int
    content_version: str
    hash: str


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """An event of a game: `data` is its public message, `agent_id` the agent that caused it."""

    version: int
    at: datetime
    type: str
    agent_id: str | None
    data: str


class _Head(msgspec.Struct):
    agent_id: str | None = None


_head_of = msgspec.json.Decoder(_Head).decode


class PersonNames:
    """Gives each agent of kind `person` a name of this dataset: `person-1` and so on, in the order of games."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def of(self, agent_id: str) -> str:
        return self._names.setdefault(agent_id, f"person-{len(self._names) + 1}")


async def finished_games(log: LogReader, since: datetime, until: datetime) -> tuple[list[str], int]:
    """The public games that ended from `since` to before `until`, in the order of their ends, and how many more were
    moved from the log to an archive."""
    found: list[tuple[datetime, str]] = []
    async for entries in results_to(log, await places(log)):
        for entry in entries:
            at = time_of(entry.record)
            if since <= at < until and not entry.private and type_of(entry.record.stream) in GAME_TYPES:
                found.append((at, entry.record.stream))
    streams = [stream for _, stream in sorted(found)]
    known = await log.versions(streams)
    present = [stream for stream in streams if known.get(stream, 0) > 0]
    return present, len(streams) - len(present)


async def games_in(
    log: LogReader, rules: Mapping[str, Decider], streams: Sequence[str], people: PersonNames, withheld: Withheld
) -> AsyncIterator[tuple[GameFacts, list[Move]]]:
    """The games with their moves, in the order of `streams`, without what is withheld."""
    forms = PublicForms(rules.__getitem__, withheld)
    reading: deque[asyncio.Task[Sequence[Record]]] = deque()
    waiting = iter(streams)
    try:
        for stream in waiting:
            reading.append(asyncio.create_task(_records(log, stream)))
            if len(reading) == _AHEAD:
                yield _game(await reading.popleft(), rules, forms, people)
        while reading:
            yield _game(await reading.popleft(), rules, forms, people)
    finally:
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)


async def _records(log: LogReader, stream: str) -> Sequence[Record]:
    stored = await log.load(stream)
    if stored is None:
        raise Archived(stream)
    return stored.records


def _game(
    records: Sequence[Record], rules: Mapping[str, Decider], forms: PublicForms, people: PersonNames
) -> tuple[GameFacts, list[Move]]:
    stream = records[0].stream
    decider = rules[type_of(stream) or ""]
    events = [read_event(decider, one.type, one.schema_version, one.data) for one in records]
    created = next(event for event in events if isinstance(event, GameCreated))
    facts = GameFacts(
        game_id=stream,
        game_type=decider.game,
        created_at=time_of(records[0]),
        ended_at=time_of(records[-1]),
        language=created.config.language or DEFAULT_LANGUAGE,
        pace=created.config.pace or DEFAULT_PACE,
        rules_version=created.rules_version,
        content_version=created.content_version,
        hash=records[-1].hash,
    )
    persons = _Persons([event for event in events if isinstance(event, AgentJoined) and event.kind == "person"], people)
    persons.hear(events)
    moves = [
        Move(version=record.version, at=time_of(record), type=record.type, agent_id=agent, data=data)
        for record in records
        if (shown := forms.of(record)) is not None
        for agent, data in [persons.shown(shown)]
    ]
    return facts, moves


class _Persons:
    """The people of a game: their ids are replaced, their names and texts left out, wherever they appear."""

    def __init__(self, joined: Sequence[AgentJoined], people: PersonNames) -> None:
        self._names = {one.agent_id: people.of(one.agent_id) for one in joined}
        called = {
            text: self._names[one.agent_id]
            for one in joined
            for text in (one.name, one.handle)
            if isinstance(text, str) and len(text) >= _NAME_CHARS
        }
        self._called = _words(called) if called else None
        self._replaced = {**called, **self._names}
        self._ids = _words(self._names) if self._names else None
        self._texts: set[str] = set()
        self._fields: set[str] = set()
        """The names of fields that hold texts of agents."""

    def hear(self, events: Sequence[Event]) -> None:
        """Remember the texts of these people."""
        for event in events if self._names else ():
            if getattr(event, "agent_id", None) in self._names and not isinstance(event, AgentJoined):
                self._fields |= _text_fields(type(event))
                self._texts |= {
                    text
                    for name in _text_fields(type(event))
                    if isinstance(text := getattr(event, name), str) and text.strip()
                }

    def shown(self, message: bytes) -> tuple[str | None, str]:
        """The agent of a public message, and the message as text. Owners are left out, for everybody."""
        if not self._names and b'"owner' not in message:
            return _head_of(message).agent_id, message.decode()
        cleared = msgspec.json.encode(self._cleared(msgspec.json.decode(message), own=False))
        return _head_of(cleared).agent_id, cleared.decode()

    def _cleared(self, value: object, *, own: bool, name: str = "") -> object:
        """A value without people. `own`: it belongs to a person; `name` is that of its field."""
        if isinstance(value, dict):
            ids = (value.get(key) for key in ("agent_id", "id"))
            own = own or any(one in self._names for one in ids if isinstance(one, str))
            return {
                self._renamed(key): self._named(key, value) or self._cleared(one, own=own, name=key)
                for key, one in value.items()
                if key not in _OWNERS
            }
        if isinstance(value, list):
            return [self._cleared(one, own=own, name=name) for one in value]
        return self._text(value, own=own, name=name) if isinstance(value, str) else value

    def _renamed(self, key: str) -> str:
        return self._names.get(key, key)

    def _named(self, key: str, inside: Mapping[str, object]) -> str | None:
        """The name of a person in an object that describes one."""
        described = (self._names.get(str(inside.get(name))) for name in ("agent_id", "id"))
        return next(filter(None, described), None) if key in _NAMES else None

    def _text(self, text: str, *, own: bool, name: str) -> str | None:
        if text in self._names:
            return self._names[text]
        if own and (name in self._fields or name in _VERSIONS):
            return None
        if text in self._texts and (name in self._fields or len(text) >= _QUOTED_CHARS):
            return None
        if any(len(said) >= _QUOTED_CHARS and said in text for said in self._texts):
            return None
        for pattern in (self._ids, self._called):
            if pattern is not None:
                text = pattern.sub(lambda found: self._replaced[found[0]], text)
        return text


def _words(texts: Mapping[str, str]) -> "re.Pattern[str]":
    longest = sorted(texts, key=len, reverse=True)
    return re.compile("|".join(rf"(?<!\w){re.escape(text)}(?!\w)" for text in longest))


@cache
def _text_fields(event: type[Event]) -> frozenset[str]:
    """The fields of an event with text that an agent wrote: any text that is neither an id nor one of a few words."""
    hints = get_type_hints(event, include_extras=True)
    return frozenset(name for name in event.__struct_fields__ if name != "agent_id" and str in set(_plain(hints[name])))


def _plain(annotation: object) -> Iterator[object]:
    """The types of a field, without marks, bounds and alternatives."""
    parts = get_args(annotation)
    if annotation is str or not parts:
        yield annotation
        return
    for part in parts:
        if not isinstance(part, Meta):
            yield from _plain(part)
