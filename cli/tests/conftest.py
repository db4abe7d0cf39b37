"""A log in memory with O/X games, chained as an engine chains them, and a folder for servers."""

import functools
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playmolt_core.game.decider import Accepted, Act, Command, Create, EndGame, Join
from playmolt_core.game.fold import state_hash
from playmolt_core.log.chain import chain_record
from playmolt_core.log.memory import MemoryLog
from playmolt_core.log.port import EventLog, NewRecord, StreamAppend, Unit
from playmolt_ox.rules import Ox
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.records import ZERO_HASH, Metadata

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
Store = Callable[..., Awaitable[None]]


class Writer:
    """Decides commands of one game and appends the resulting events."""

    def __init__(self, log: EventLog, stream: str) -> None:
        self._log, self._stream = log, stream
        self._rules = Ox()
        self._state: Any = self._rules.initial(stream)
        self._version, self._hash, self._at = 0, ZERO_HASH, BEGAN
        self._command_id = ""

    async def send(self, command: Command) -> None:
        self._at += timedelta(seconds=1)
        decision = self._rules.decide(self._state, command, self._at)
        assert isinstance(decision, Accepted), decision
        expected, before = self._version, self._hash
        self._command_id = f"{expected:032x}"
        records = [self._sealed(event) for event in decision.events]
        card = self._rules.summary(self._state)
        append = StreamAppend(stream=self._stream, expected=expected, prev_hash=before, records=records, summary=card)
        assert await self._log.append([Unit(streams=[append])]) != [None]

    def _sealed(self, event: Any) -> NewRecord:
        self._version += 1
        self._state = self._rules.evolve(self._state, event, self._at)
        carries = self._rules.hashes_state(self._version, closes=event.closes)
        record = chain_record(
            self._stream,
            self._version,
            self._hash,
            self._at,
            event.type,
            event.schema_version,
            canonical_json(event),
            Metadata(command_id=self._command_id, state_hash=state_hash(self._state) if carries else ""),
            event.closes,
        )
        self._hash = record.hash
        return record


async def _play(log: EventLog, stream: str, *, ended: bool) -> None:
    writer = Writer(log, stream)
    await writer.send(Create(seed="7", config={}))
    for number in range(5):
        await writer.send(Join(agent_id=f"agent-{number}", name=f"Agent {number}"))
    for number in range(2):
        action = {"type": "first_choice", "choice": "O", "comment": "because"}
        await writer.send(Act(agent_id=f"agent-{number}", action=action))
    if ended:
        await writer.send(EndGame(reason="enough"))


@pytest.fixture(scope="session")
def play() -> Store:
    """Stores a game with two choices in a log; with `ended`, the operator has ended it."""
    return _play


@pytest.fixture
def log() -> MemoryLog:
    return MemoryLog()


@pytest.fixture
def store(log: MemoryLog) -> Store:
    """Stores a game in `log`, as `play` does."""
    return functools.partial(_play, log)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that Postgres can use, which does not run as root and cannot enter pytest's folders.

    With one of those, a Postgres of root would use a folder that all tests on the machine share.
    """
    with tempfile.TemporaryDirectory(prefix="playmolt-test-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
