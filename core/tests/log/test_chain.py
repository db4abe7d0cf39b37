"""Sealing, verifying, exporting and counting, on a game small enough to see through."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, cast

import msgspec
import pytest
from playmolt_core.game.decider import Command, Decider
from playmolt_core.game.fold import state_hash
from playmolt_core.log.chain import chain_record, recomputed
from playmolt_core.log.copies.export import json_lines, parquet
from playmolt_core.log.memory import MemoryLog
from playmolt_core.log.port import LogEntry, NewRecord, Part, StoredStream, StreamAppend, Unit
from playmolt_core.log.stats import stats
from playmolt_core.log.verify import Break, Verification, verified_by, verify, verify_streams
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.identifiers import rfc3339, rfc3339_texts
from playmolt_schemas.records import ZERO_HASH, Metadata
from playmolt_schemas.stored.event import Event

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


class Added(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "added"
    amount: int


class Paused(Added, frozen=True, kw_only=True):
    type: ClassVar[str] = "paused"
    rests: ClassVar[bool] = True


class Sum(msgspec.Struct, frozen=True):
    total: int = 0


class Adder:
    """The part of a decider that a fold needs."""

    game = "sum"
    events: Mapping[tuple[str, int], type[Event]] = {("added", 1): Added, ("paused", 1): Paused}

    def initial(self, game_id: str) -> Sum:
        return Sum()

    def evolve(self, state: Sum, event: Added, at: datetime) -> Sum:
        return Sum(state.total + event.amount)

    def recovered(self, state: Sum, events: Sequence[Event], at: datetime) -> Sequence[Command]:
        return ()


RULES = {"sum": cast("Decider", Adder())}


def rules() -> dict[str, Decider]:
    return RULES


def game(
    stream: str, amounts: list[int], *, hashed: bool = True, over: bool = True, lie: int = 0, pause: int = 0
) -> Unit:
    """A stream that adds amounts; `lie` falsifies the state hash of that version, after `pause` it rests."""
    records: list[NewRecord] = []
    total, prev_hash = 0, ZERO_HASH
    for version, amount in enumerate(amounts, 1):
        total += amount
        state = Sum(total if version != lie else total + 1)
        record = chain_record(
            stream=stream,
            version=version,
            prev_hash=prev_hash,
            at=NOON,
            event_type="paused" if version == pause else "added",
            schema_version=1,
            data=canonical_json({"amount": amount}),
            metadata=Metadata(command_id=f"{version:032x}", state_hash=state_hash(state) if hashed else ""),
            closes=over and version == len(amounts),
        )
        prev_hash = record.hash
        records.append(record)
    return Unit(streams=[StreamAppend(stream=stream, expected=0, prev_hash=ZERO_HASH, records=records)])


async def written(*units: Unit) -> MemoryLog:
    log = MemoryLog()
    assert None not in await log.append(units)
    return log


class Forged(MemoryLog):
    """A log whose stored records somebody has edited behind its back."""

    def __init__(self, source: MemoryLog, edits: dict[int, LogEntry | None]) -> None:
        super().__init__()
        self._source, self._edits = source, edits

    async def forward(self, after: int, limit: int, shard: int = 0) -> list[LogEntry]:
        entries = await self._source.forward(after, limit, shard)
        kept = (self._edits.get(entry.record.position, entry) for entry in entries)
        return [entry for entry in kept if entry is not None]

    async def position(self, shard: int = 0) -> int:
        return await self._source.position(shard)

    async def versions(self, streams: Iterable[str]) -> dict[str, int]:
        return await self._source.versions(streams)

    async def load(self, stream: str, after: int = 0) -> StoredStream | None:
        stored = await self._source.load(stream, after)
        if stored is None:
            return None
        gone = {entry for entry, edit in self._edits.items() if edit is None}
        return msgspec.structs.replace(stored, records=[each for each in stored.records if each.position not in gone])


class Cut(Forged):
    """A log whose tail was cut off, and whose head was set back so that no position is missing."""

    async def position(self, shard: int = 0) -> int:
        return await self._source.position(shard) - len(self._edits)


async def forged(log: MemoryLog, position: int, **changes: Any) -> Forged:
    [entry] = await log.forward(position - 1, 1)
    record = msgspec.structs.replace(entry.record, **changes)
    return Forged(log, {position: msgspec.structs.replace(entry, record=record)})


def counts(result: Verification) -> tuple[int, int, int, int, int]:
    return (result.streams, result.events, result.exact, result.unverified, result.diverged)


def test_a_record_is_sealed_with_the_hash_of_its_own_fields() -> None:
    one, two = game("sum-1", [1, 2]).streams[0].records
    assert one.prev_hash == ZERO_HASH
    assert two.prev_hash == one.hash
    assert len(bytes.fromhex(one.salt)) == 16
    assert one.salt != two.salt


def test_the_same_event_sealed_twice_has_two_hashes() -> None:
    """Else a receipt would let anybody guess the hidden event before it."""
    hashes = {game("sum-1", [1]).streams[0].records[0].hash for _ in range(20)}
    assert len(hashes) == 20


def test_sealing_is_cheap() -> None:
    metadata, data = Metadata(command_id="0" * 32), canonical_json({"amount": 1})
    best = float("inf")
    for _ in range(20):
        start = time.process_time()
        for _ in range(100):
            chain_record("sum-1", 1, ZERO_HASH, NOON, "added", 1, data, metadata, False)
        best = min(best, (time.process_time() - start) / 100)
    assert best < 100e-6


async def test_a_whole_log_is_exact() -> None:
    log = await written(game("sum-1", [1, 2, 3]), game("sum-2", [4, 5], over=False))
    told: list[int] = []
    result = await verify(log, RULES, chunk=2, progress=told.append)
    assert counts(result) == (2, 5, 2, 0, 0)
    assert result.breaks == []
    assert told == [2, 4, 5]


async def test_an_empty_log_is_whole() -> None:
    assert counts(await verify(MemoryLog(), RULES)) == (0, 0, 0, 0, 0)


async def test_a_stream_without_state_hashes_or_rules_is_unverified() -> None:
    log = await written(game("sum-1", [1], hashed=False), game("other-1", [1]))
    assert counts(await verify(log, RULES)) == (2, 2, 0, 2, 0)


async def test_a_state_that_differs_is_named_at_its_first_version() -> None:
    log = await written(game("sum-1", [1, 2, 3], lie=2), game("sum-2", [1]))
    result = await verify(log, RULES)
    assert counts(result) == (2, 4, 1, 0, 1)
    assert result.breaks == [Break("sum-1", 2, "the state differs from the one that was played")]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"data": msgspec.Raw(b'{"amount":9}')}, "the hash does not match"),
        ({"at": "2026-01-02T12:00:00.000001Z"}, "the hash does not match"),
        ({"salt": "00" * 16}, "the hash does not match"),
        ({"type": "took"}, "the hash does not match"),
        ({"metadata": msgspec.Raw(b'{"command_id":"x"}')}, "the hash does not match"),
        ({"prev_hash": "00" * 32}, "prev_hash"),
        ({"version": 4}, "version 4 follows 1"),
    ],
)
async def test_an_edited_record_breaks_its_stream(changes: dict[str, Any], problem: str) -> None:
    log = await written(game("sum-1", [1, 2, 3]), game("sum-2", [1]))
    result = await verify(await forged(log, 2, **changes), RULES)
    assert (result.exact, result.diverged) == (1, 1)
    [fault] = result.breaks
    assert fault.stream == "sum-1"
    assert problem in fault.problem


async def test_a_record_edited_together_with_its_hash_breaks_the_next() -> None:
    log = await written(game("sum-1", [1, 2, 3]))
    [entry] = await log.forward(1, 1)
    record = msgspec.structs.replace(
        entry.record, data=msgspec.Raw(b'{"amount":9}'), metadata=msgspec.Raw(b'{"command_id":"x"}')
    )
    edited = msgspec.structs.replace(record, hash=recomputed(record))
    result = await verify(Forged(log, {2: msgspec.structs.replace(entry, record=edited)}), RULES)
    assert [(fault.version, fault.problem) for fault in result.breaks] == [
        (3, "prev_hash is not the hash of the previous record")
    ]


async def test_a_missing_record_is_a_gap_in_the_positions() -> None:
    log = await written(game("sum-1", [1, 2, 3]), game("sum-2", [1]))
    middle = await verify(Forged(log, {2: None}), RULES)
    assert Break("", 0, "position 3 follows 1") in middle.breaks
    assert Break("sum-1", 3, "version 3 follows 1") in middle.breaks
    end = await verify(Forged(log, {4: None}), RULES)
    assert end.breaks == [Break("", 0, "the log ends at position 3, but its counter is at 4")]


async def test_a_tail_that_was_cut_off_is_a_break_of_its_stream() -> None:
    log = await written(game("sum-1", [1, 2, 3]), game("sum-2", [1]), game("sum-3", [1, 2]))
    result = await verify(Cut(log, {6: None}), RULES)
    assert (result.exact + result.unverified, result.diverged) == (2, 1)
    assert result.breaks == [Break("sum-3", 1, "its records end here, but its stream is at version 2")]


def test_many_times_are_written_as_one_is() -> None:
    korea = timezone(timedelta(hours=9))
    times = [NOON, NOON.replace(microsecond=1), NOON.replace(microsecond=120_000), datetime(999, 1, 1, tzinfo=UTC)]
    assert rfc3339_texts(times) == [rfc3339(at) for at in times]
    assert rfc3339_texts(times)[0] == "2026-01-02T12:00:00.000000Z" == rfc3339(NOON.astimezone(korea))
    assert rfc3339_texts([]) == []


def _part_of(log: MemoryLog, part: Part, progress: Callable[[int], None]) -> Verification:
    return asyncio.run(verify_streams(log, RULES, register=None, erased={}, part=part, chunk=5, progress=progress))


async def test_several_processes_find_what_one_finds() -> None:
    """Streams that end, that go on, whose state differs, whose record was edited, whose tail was cut off."""
    units = [game(f"sum-{number}", [1, 2, 3], over=number % 3 > 0, lie=2 * (number == 4)) for number in range(12)]
    log = await written(*units)
    edited = await forged(log, 8, salt="00" * 16)
    cut = Cut(edited, {36: None})
    alone = await verify(cut, RULES, chunk=5)
    helped = await verify(cut, RULES, streams=verified_by(2, partial(_part_of, cut), lambda _: None))
    assert alone.diverged == 3
    assert msgspec.structs.replace(helped, breaks=[]) == msgspec.structs.replace(alone, breaks=[])
    assert sorted(helped.breaks, key=str) == sorted(alone.breaks, key=str)


async def test_what_is_appended_meanwhile_is_not_a_break() -> None:
    log = await written(game("sum-1", [1, 2]))

    class Late(MemoryLog):
        """Reads as far as the log went before a record came."""

        position, versions, load = log.position, log.versions, log.load

        async def forward(self, after: int, limit: int, shard: int = 0) -> list[LogEntry]:
            return [entry for entry in await log.forward(after, limit, shard) if entry.record.position < 2]

    assert [fault.stream for fault in (await verify(Late(), RULES)).breaks] == [""], "the log's own end is compared"


async def test_an_event_that_the_rules_do_not_read_is_a_break() -> None:
    log = await written(game("sum-1", [1]))
    strange = {"sum": cast("Decider", Adder())}
    strange["sum"].events = {}
    result = await verify(log, strange)
    assert result.diverged == 1
    assert "no reader for stored event 'added' version 1" in result.breaks[0].problem


async def test_the_export_has_finished_streams_only_unless_asked() -> None:
    log = await written(game("sum-1", [1, 2]), game("sum-2", [3], over=False), game("sum-3", [4]))
    lines = b"".join([piece async for piece in json_lines(log)]).splitlines()
    assert [msgspec.json.decode(line)["stream"] for line in lines] == ["sum-1", "sum-1", "sum-3"]
    everything = b"".join([piece async for piece in json_lines(log, running=True)]).splitlines()
    assert [msgspec.json.decode(line)["position"] for line in everything] == [1, 2, 3, 4]


async def test_the_export_has_what_rests_until_it_is_opened_again() -> None:
    log = await written(
        game("sum-1", [1, 2], over=False, pause=2), game("sum-2", [3, 4, 5], over=False, pause=2), game("sum-3", [6])
    )
    lines = b"".join([piece async for piece in json_lines(log, RULES)]).splitlines()
    assert [msgspec.json.decode(line)["stream"] for line in lines] == ["sum-1", "sum-1", "sum-3"]


async def test_a_line_has_the_fields_of_a_record_in_their_order_and_checks() -> None:
    log = await written(game("sum-1", [7]))
    [line] = b"".join([piece async for piece in json_lines(log)]).splitlines()
    fields = msgspec.json.decode(line)
    assert list(fields) == [
        "stream", "version", "position", "type", "schema_version", "data", "metadata", "at", "salt", "prev_hash",
        "hash",
    ]  # fmt: skip
    assert b'"data":{"amount":7}' in line


async def test_parquet_holds_the_same_records(tmp_path: Path) -> None:
    read_table = import_module("pyarrow.parquet").read_table
    log = await written(game("sum-1", [1, 2]), game("sum-2", [3], over=False))
    await parquet(log, tmp_path / "log.parquet")
    rows = read_table(tmp_path / "log.parquet").to_pylist()
    stored = [entry.record for entry in await log.forward(0, 2)]
    assert [row["hash"] for row in rows] == [record.hash for record in stored]
    assert [row["data"] for row in rows] == ['{"amount":1}', '{"amount":2}']
    assert [row["at"] for row in rows] == [datetime.fromisoformat(record.at) for record in stored]
    apart = {"data": "", "metadata": "", "at": ""}
    assert rows[0] | apart == msgspec.structs.asdict(stored[0]) | apart


async def test_statistics_count_streams_events_and_bytes() -> None:
    log = await written(game("sum-1", [1, 2]), game("sum-2", [3]), game("other-1", [1], hashed=False))
    found = await stats(log)
    size = sum(len(entry.record.data) + len(entry.record.metadata) for entry in await log.forward(0, 9))
    assert (found.streams, found.events, found.bytes) == (3, 4, size)
    assert found.streams_by_game == {"sum": 2, "other": 1}
    assert found.by_game["sum"]["added"].events == 3
