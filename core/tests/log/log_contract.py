"""The contract of event logs (`log.port`). MemoryLog and PostgresLog run the same tests."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from playmolt_core.log.chain import chain_record, recomputed
from playmolt_core.log.port import (
    ARCHIVED,
    WHOLE,
    Appended,
    Archived,
    Decided,
    EventLog,
    ListedGame,
    LogEntry,
    NewKey,
    NewRecord,
    Outcome,
    Part,
    RecordTooLarge,
    StoredRecord,
    StoredSnapshot,
    StreamAppend,
    Unit,
)
from playmolt_core.log.sealing import UNOPENED, Codec, SessionCodec, ToolCodec
from playmolt_core.log.stored_rows import entry_of
from playmolt_core.vault.key_file import KeyFile, drawn, write_keys
from playmolt_core.vault.stream_key import StreamKey
from playmolt_core.vault.vault import KeyRows, Vault
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.limits import RECORD_BYTES
from playmolt_schemas.records import ZERO_HASH, Metadata, Record
from playmolt_schemas.stored.values import Fault, TournamentGame

NOON = datetime(2026, 1, 2, 12, 0, 0, 120, tzinfo=UTC)
WAITING = GameSummary(phase="waiting", round=0, seated=1, needed=5)
OVER = GameSummary(phase="ended", round=9, seated=5, needed=5, over=True)


class Stored(NamedTuple):
    """All stored values of a record."""

    record: Record
    closes: bool


def statuses(results: Sequence[Appended | None]) -> list[str]:
    """Whether each unit of an append was stored."""
    return ["conflict" if firsts is None else "appended" for firsts in results]


async def all_stored(log: EventLog, after: int, limit: int, shard: int = 0) -> list[Stored]:
    return [Stored(entry.record, entry.closes) for entry in await log.forward(after, limit, shard)]


def as_entry(found: LogEntry | StoredRecord) -> LogEntry:
    return entry_of(found) if isinstance(found, StoredRecord) else found


class Game:
    """A writer of a stream: chains records to the last one that it knows."""

    def __init__(self, stream: str) -> None:
        self.stream = stream
        self.version = 0
        self.hash = ZERO_HASH

    def records(self, count: int = 1, *, at: datetime = NOON, kind: str = "moved", **parts: Any) -> list[NewRecord]:
        made = []
        for _ in range(count):
            record = chain_record(
                stream=self.stream,
                version=self.version + 1,
                prev_hash=self.hash,
                at=at,
                event_type=kind,
                schema_version=parts.get("schema_version", 1),
                data=parts.get("data", canonical_json({"stream": self.stream, "version": self.version + 1})),
                metadata=Metadata(
                    command_id=f"{self.version:032x}",
                    actor=parts.get("actor", "agent-1"),
                    request=parts.get("request", msgspec.UNSET),
                ),
                public=parts.get("public"),
                closes=parts.get("closes", False),
                command=parts.get("command", ""),
            )
            self.version, self.hash = record.version, record.hash
            made.append(record)
        return made

    def adds(
        self, count: int = 1, *, summary: GameSummary | None = WAITING, due: datetime | None = None, **parts: Any
    ) -> StreamAppend:
        """Append `count` records (0: only check the end)."""
        expected, prev_hash = self.version, self.hash
        return StreamAppend(
            stream=self.stream,
            expected=expected,
            prev_hash=prev_hash,
            records=self.records(count, **parts),
            summary=summary,
            due=due,
        )

    def ends(self, **parts: Any) -> StreamAppend:
        """Append the record that ends the game, with results."""
        return self.adds(1, kind="game_end", closes=True, summary=OVER, **parts)

    def twin(self) -> "Game":
        """Another writer with the same knowledge."""
        other = Game(self.stream)
        other.version, other.hash = self.version, self.hash
        return other


def opened(game: Game, summary: GameSummary) -> StreamAppend:
    """The first event of a game, whose configuration agrees with the summary."""
    config: dict[str, object] = {"language": summary.language, "pace": summary.pace}
    if summary.invite:
        config["invite_sha256"] = summary.invite
    if summary.tournament:
        config["tournament"] = msgspec.to_builtins(summary.tournament)
    data = canonical_json({"config": config, "needed": summary.needed})
    return game.adds(1, kind="game_created", data=data, summary=summary)


def unit(*streams: StreamAppend, outcomes: Sequence[Outcome] = ()) -> Unit:
    return Unit(streams=streams, outcomes=outcomes)


def outcome(stream: str, command: int, body: bytes = b'{"status":"accepted"}') -> Outcome:
    return Outcome(stream=stream, command_id=f"{command:032x}", fingerprint="f" * 64, body=body)


async def stored(log: EventLog, stream: str) -> list[tuple[int, str]]:
    found = await log.load(stream)
    return [(record.version, record.hash) for record in found.records] if found else []


async def read_all(log: EventLog) -> list[tuple[int, str, int]]:
    position, seen = 0, []
    while chunk := await log.forward(position, 7):
        seen += [(entry.record.position, entry.record.stream, entry.record.version) for entry in chunk]
        position = chunk[-1].record.position
    return seen


class LogContract:
    """Subclasses provide `log`; `another`, which makes a further client of the same log; and `archive`, which removes a
    game from it."""

    @pytest.fixture
    def log(self) -> EventLog:
        raise NotImplementedError

    @pytest.fixture
    def another(self) -> Callable[[], EventLog]:
        raise NotImplementedError

    @pytest.fixture
    def archive(self) -> Callable[[Game], Awaitable[None]]:
        raise NotImplementedError

    async def test_an_empty_log(self, log: EventLog) -> None:
        assert await log.position() == await log.archived_to() == 0
        assert await log.forward(0, 10) == await log.outgoing(0, 10) == []
        assert await log.load("ox-1") is None
        assert await log.versions(["ox-1"]) == {}
        assert await log.outcome("ox-1", "0" * 32) is None
        assert await log.due("ox", NOON, 10) == []
        assert await log.games("ox", phase=None, before=None, limit=10) == []

    async def test_what_is_stored_is_read_field_for_field(self, log: EventLog) -> None:
        game = Game("ox-1")
        data = canonical_json({"text": 'héllo "판사" \x01\u2028\\', "big": "123456789012345678901", "none": None})
        part = game.adds(1, data=data, schema_version=3, closes=True, kind="game_end")
        assert statuses(await log.append([unit(part)])) == ["appended"]
        new = part.records[0]
        [entry] = await log.forward(0, 10)
        record = entry.record
        assert (record.stream, record.version, record.position) == ("ox-1", 1, 1)
        assert (record.type, record.schema_version) == ("game_end", 3)
        assert bytes(record.data) == data
        assert bytes(record.metadata) == new.metadata
        assert record.at == rfc3339(NOON) == "2026-01-02T12:00:00.000120Z"
        assert (record.salt, record.prev_hash, record.hash) == (new.salt, ZERO_HASH, new.hash)
        assert entry.closes
        [outgoing] = await log.outgoing(0, 10)
        assert outgoing.closes
        assert recomputed(record) == record.hash

    async def test_a_stream_is_read_from_a_version_on(self, log: EventLog) -> None:
        game = Game("ox-1")
        later = NOON + timedelta(seconds=1)
        await log.append([unit(game.adds(3)), unit(game.adds(2, at=later))])
        found = await log.load("ox-1", 3)
        assert found is not None
        assert [record.version for record in found.records] == [4, 5]
        assert (found.head.version, found.head.hash, found.head.at) == (5, game.hash, later)
        assert found.records[1].prev_hash == found.records[0].hash
        beyond = await log.load("ox-1", 9)
        assert beyond is not None
        assert (beyond.records, beyond.head) == ([], found.head)

    async def test_a_game_is_not_over_before_what_was_counted_in_it_was_told(
        self, log: EventLog, another: Callable[[], EventLog]
    ) -> None:
        game, refused = Game("ox-1"), Fault(agent_id="agent-1", kind="bot", what="refused")
        assert not await log.note_fault(game.stream, refused)
        await log.append([unit(game.adds(1))])
        assert [await each.note_fault(game.stream, refused) for each in (log, another(), log)] == [True] * 3
        both = [unit(game.twin().ends()), unit(Game("ox-2").adds(1))]
        assert statuses(await another().append(both)) == ["conflict", "appended"]
        assert await another().counted_faults(game.stream) == [msgspec.structs.replace(refused, count=3)]
        late = msgspec.structs.replace(refused, what="callback_timeout")
        assert await log.note_fault(game.stream, late)
        assert statuses(await another().append([unit(game.twin().ends())])) == ["conflict"]
        assert {fault.what: fault.count for fault in await another().counted_faults(game.stream)} == {
            "refused": 3, "callback_timeout": 1,
        }  # fmt: skip
        assert statuses(await another().append([unit(game.adds(1))])) == ["appended"]
        assert statuses(await another().append([unit(game.ends())])) == ["appended"]
        assert not await log.note_fault(game.stream, refused)
        assert await log.counted_faults(game.stream) == []

    async def test_versions_are_given_for_streams_that_exist(self, log: EventLog) -> None:
        await log.append([unit(Game("ox-1").adds(2)), unit(Game("trial-1").adds(1))])
        assert await log.versions(["ox-1", "trial-1", "ox-2"]) == {"ox-1": 2, "trial-1": 1}

    async def test_a_stale_version_is_a_conflict_and_stores_nothing(self, log: EventLog) -> None:
        game = Game("ox-1")
        stale = game.twin()
        await log.append([unit(game.adds(1))])
        assert statuses(await log.append([unit(stale.adds(1), outcomes=[outcome("ox-1", 1)])])) == ["conflict"]
        assert await stored(log, "ox-1") == [(1, game.hash)]
        assert await log.outcome("ox-1", f"{1:032x}") is None
        assert await log.position() == 1

    async def test_a_version_ahead_of_the_log_is_a_conflict(self, log: EventLog) -> None:
        game = Game("ox-1")
        game.records(2)
        assert statuses(await log.append([unit(game.adds(1))])) == ["conflict"]
        assert await log.load("ox-1") is None

    async def test_the_right_version_on_another_hash_is_a_conflict(self, log: EventLog) -> None:
        game, forged = Game("ox-1"), Game("ox-1")
        await log.append([unit(game.adds(1))])
        forged.records(1)
        assert statuses(await log.append([unit(forged.adds(1))])) == ["conflict"]
        assert statuses(await log.append([unit(forged.adds(0))])) == ["conflict"]
        assert await stored(log, "ox-1") == [(1, game.hash)]

    @pytest.mark.parametrize("broken", ["hole", "repeat", "hash"])
    async def test_a_chain_broken_inside_a_unit_is_a_conflict(self, log: EventLog, broken: str) -> None:
        one, two, three = Game("ox-1").records(3)
        records = {
            "hole": [one, three],
            "repeat": [one, one],
            "hash": [one, msgspec.structs.replace(two, prev_hash="ab" * 32)],
        }[broken]
        part = StreamAppend(stream="ox-1", expected=0, prev_hash=ZERO_HASH, records=records)
        assert statuses(await log.append([unit(part)])) == ["conflict"]
        assert await log.load("ox-1") is None
        assert await log.position() == 0

    async def test_records_that_do_not_follow_what_is_expected_are_a_conflict(self, log: EventLog) -> None:
        game = Game("ox-1")
        await log.append([unit(game.adds(1))])
        part = game.adds(1)
        for wrong in (msgspec.structs.replace(part, expected=0), msgspec.structs.replace(part, prev_hash="cd" * 32)):
            assert statuses(await log.append([unit(wrong)])) == ["conflict"]
        assert statuses(await log.append([unit(part)])) == ["appended"]

    async def test_without_records_only_the_version_is_checked(self, log: EventLog) -> None:
        game = Game("ox-1")
        await log.append([unit(game.adds(2, due=NOON))])
        check = game.adds(0, summary=None)
        assert statuses(await log.append([unit(check, outcomes=[outcome("ox-1", 1)])])) == ["appended"]
        assert await log.outcome("ox-1", f"{1:032x}") == outcome("ox-1", 1)
        assert [line.summary for line in await log.games("ox", phase=None, before=None, limit=9)] == [WAITING]
        assert await log.due("ox", NOON, 9) == ["ox-1"]
        await log.append([unit(game.adds(1))])
        assert statuses(await log.append([unit(check, outcomes=[outcome("ox-1", 2)])])) == ["conflict"]

    async def test_an_unknown_stream_stands_at_zero(self, log: EventLog) -> None:
        nothing = Game("ox-1").adds(0)
        assert statuses(await log.append([unit(nothing)])) == ["appended"]
        assert await log.load("ox-1") is None
        assert await log.versions(["ox-1"]) == {}
        ahead = msgspec.structs.replace(nothing, expected=1)
        assert statuses(await log.append([unit(ahead)])) == ["conflict"]

    async def test_a_unit_on_two_streams_is_stored_whole_or_not_at_all(self, log: EventLog) -> None:
        lobby, game = Game("lobby-ox"), Game("ox-1")
        stale = lobby.twin()
        assert statuses(await log.append([unit(lobby.adds(1, summary=None), game.adds(2))])) == ["appended"]
        other = Game("ox-2")
        assert statuses(await log.append([unit(other.adds(1), stale.adds(1, summary=None))])) == ["conflict"]
        assert await log.load("ox-2") is None
        assert await stored(log, "lobby-ox") == [(1, lobby.hash)]
        assert await log.position() == 3

    async def test_units_of_a_batch_may_build_on_each_other(self, log: EventLog) -> None:
        game = Game("ox-1")
        batch = [unit(game.adds(1)) for _ in range(4)]
        assert statuses(await log.append(batch)) == ["appended"] * 4
        assert [version for version, _ in await stored(log, "ox-1")] == [1, 2, 3, 4]

    async def test_a_conflict_takes_with_it_what_was_decided_on_top_and_nothing_else(self, log: EventLog) -> None:
        lobby, stale = Game("lobby-ox"), Game("lobby-ox")
        await log.append([unit(lobby.adds(1, summary=None))])
        one, two, apart = Game("ox-1"), Game("ox-2"), Game("ox-3")
        batch = [
            unit(stale.adds(1), one.adds(1)),
            unit(one.adds(1), two.adds(1)),
            unit(two.adds(1)),
            unit(lobby.adds(1, summary=None)),
            unit(apart.adds(1)),
        ]
        assert statuses(await log.append(batch)) == ["conflict", "conflict", "conflict", "conflict", "appended"]
        assert await log.versions(["lobby-ox", "ox-1", "ox-2", "ox-3"]) == {"lobby-ox": 1, "ox-3": 1}
        assert await log.position() == 2

    async def test_a_game_made_by_a_unit_in_conflict_does_not_exist(self, log: EventLog) -> None:
        game = Game("ox-1")
        await log.append([unit(game.adds(1))])
        fresh = Game("ox-2")
        stale = Game("ox-1")
        assert statuses(await log.append([unit(fresh.adds(1), stale.adds(1))])) == ["conflict"]
        assert statuses(await log.append([unit(Game("ox-2").adds(1))])) == ["appended"]

    async def test_an_answer_that_follows_from_its_records_is_found_in_them(self, log: EventLog) -> None:
        game, name = Game("ox-1"), f"{9:032x}"
        await log.append([unit(game.adds(1))])
        part = game.adds(2, command=name, request="ab" * 16)
        assert statuses(await log.append([unit(part)])) == ["appended"]
        await log.append([unit(game.adds(1))])
        assert await log.outcome("ox-1", name) == Decided(
            version=3, receipt=part.records[0].hash, fingerprint="ab" * 16
        )
        assert await log.outcome("ox-2", name) is None
        found = await log.facts("ox-1", 2, commands=True)
        assert found is not None
        assert set(found.command_ids) == {name}

    async def test_a_stream_whose_row_stays_as_it_is_goes_on(
        self, log: EventLog, another: Callable[[], EventLog]
    ) -> None:
        game, later = Game("ox-1"), NOON + timedelta(seconds=9)
        await log.append([unit(game.adds(1, due=NOON))])
        stale = game.twin()
        part = msgspec.structs.replace(game.adds(2, summary=None, at=later), moves=False)
        assert statuses(await log.append([unit(part)])) == ["appended"]
        assert statuses(await another().append([unit(stale.twin().adds(1))])) == ["conflict"]
        assert statuses(await another().append([unit(stale.twin().adds(0))])) == ["conflict"]
        [line] = await log.games("ox", phase=None, before=None, limit=9)
        assert (line.summary, line.version, line.updated_at) == (WAITING, 3, later)
        assert await log.games("ox", phase=None, before=None, limit=9, idle_since=NOON) == []
        assert await log.due("ox", NOON, 9) == ["ox-1"]
        assert await log.versions(["ox-1"]) == {"ox-1": 3}
        found = await another().load("ox-1")
        assert found is not None
        assert (found.head.version, found.head.hash, found.head.at) == (3, game.hash, later)
        assert statuses(await another().append([unit(game.adds(1, summary=OVER))])) == ["appended"]
        assert [line.summary for line in await log.games("ox", phase=None, before=None, limit=9)] == [OVER]

    async def test_a_command_id_is_stored_once(self, log: EventLog) -> None:
        game = Game("ox-1")
        first = unit(game.adds(1), outcomes=[outcome("ox-1", 1, b"first")])
        assert statuses(await log.append([first])) == ["appended"]
        again = game.twin()
        assert statuses(await log.append([unit(again.adds(1), outcomes=[outcome("ox-1", 1, b"second")])])) == [
            "conflict"
        ]
        found = await log.outcome("ox-1", f"{1:032x}")
        assert found is not None
        assert found.body == b"first"
        assert await log.versions(["ox-1"]) == {"ox-1": 1}

    async def test_a_command_id_is_stored_once_in_a_batch(self, log: EventLog) -> None:
        game = Game("ox-1")
        batch = [unit(game.adds(1), outcomes=[outcome("ox-1", 1)]) for _ in range(2)]
        assert statuses(await log.append(batch)) == ["appended", "conflict"]
        both = unit(Game("ox-2").adds(1), outcomes=[outcome("ox-2", 1), outcome("ox-2", 1)])
        assert statuses(await log.append([both])) == ["conflict"]
        assert await log.versions(["ox-1", "ox-2"]) == {"ox-1": 1}

    async def test_the_same_command_id_on_another_stream_is_another_command(self, log: EventLog) -> None:
        batch = [unit(Game(name).adds(1), outcomes=[outcome(name, 1)]) for name in ("ox-1", "ox-2")]
        assert statuses(await log.append(batch)) == ["appended", "appended"]

    async def test_a_stream_is_read_with_its_command_ids(self, log: EventLog) -> None:
        game = Game("ox-1")
        await log.append([unit(game.adds(1), outcomes=[outcome("ox-1", 7), outcome("ox-1", 3)])])
        await log.append([unit(Game("ox-2").adds(1), outcomes=[outcome("ox-2", 1)])])
        found = await log.facts("ox-1", 1, commands=True)
        assert found is not None
        assert sorted(found.command_ids) == [f"{3:032x}", f"{7:032x}"]
        bare = await log.facts("ox-1")
        assert bare is not None
        assert list(bare.command_ids) == []

    async def test_a_snapshot_is_given_as_long_as_its_record_is_what_it_was_made_from(self, log: EventLog) -> None:
        lobby, other = Game("lobby-ox"), Game("lobby-trial")
        await log.append([unit(lobby.adds(2, summary=None), other.adds(2, summary=None))])
        assert await log.snapshot("lobby-ox") is None
        made = StoredSnapshot(version=2, hash=lobby.hash, state=b'{"seats":{}}')
        await log.keep_snapshot("lobby-ox", made)
        await log.keep_snapshot("lobby-trial", StoredSnapshot(version=2, hash=lobby.hash, state=b"{}"))
        assert (await log.snapshot("lobby-ox"), await log.snapshot("lobby-trial")) == (made, None)
        await log.append([unit(lobby.adds(1, summary=None))])
        assert await log.snapshot("lobby-ox") == made
        newer = StoredSnapshot(version=3, hash=lobby.hash, state=b'{"seats":{"a":"ox-1"}}')
        await log.keep_snapshot("lobby-ox", newer)
        await log.keep_snapshot("lobby-ox", made)  # a late snapshot of another engine
        assert await log.snapshot("lobby-ox") == newer

    async def test_facts_are_what_the_records_hold(self, log: EventLog) -> None:
        game = Game("ox-1")
        await log.append([unit(game.adds(3))])
        assert await log.facts("ox-2") is None
        whole, facts = await log.load("ox-1", 1), await log.facts("ox-1", 1)
        assert whole is not None
        assert facts is not None
        assert facts.head == whole.head
        tagged = msgspec.json.decode(facts.events, type=list[tuple[str, msgspec.Raw]])
        assert [(tag, bytes(data)) for tag, data in tagged] == [
            (f"{record.type}:{record.schema_version}", bytes(record.data)) for record in whole.records
        ]
        times = msgspec.json.decode(facts.times, type=list[datetime], strict=False)
        assert [rfc3339(at) for at in times] == [record.at for record in whole.records]

    async def test_an_outcome_belongs_to_a_stream_of_its_unit(self, log: EventLog) -> None:
        with pytest.raises(ValueError, match="outcome of ox-2"):
            await log.append([unit(Game("ox-1").adds(1), outcomes=[outcome("ox-2", 1)])])
        assert await log.position() == 0

    async def test_a_stream_name_fits_into_a_subject(self, log: EventLog) -> None:
        for name in ("ox.1", "ox", "OX-1", "ox-*", "ox-1 ", "", "-1"):
            with pytest.raises(ValueError, match="not a stream name"):
                await log.append([unit(Game(name).adds(1))])

    async def test_positions_follow_units_then_streams_then_records(self, log: EventLog) -> None:
        lobby, one, two = Game("lobby-ox"), Game("ox-1"), Game("ox-2")
        await log.append([unit(two.adds(2)), unit(lobby.adds(1, summary=None), one.adds(2)), unit(two.adds(1))])
        assert await read_all(log) == [
            (1, "ox-2", 1), (2, "ox-2", 2), (3, "lobby-ox", 1), (4, "ox-1", 1), (5, "ox-1", 2), (6, "ox-2", 3),
        ]  # fmt: skip
        assert await log.position() == 6

    async def test_reading_forward_gives_at_most_what_was_asked_for(self, log: EventLog) -> None:
        await log.append([unit(Game("ox-1").adds(5))])
        assert [entry.record.position for entry in await log.forward(1, 2)] == [2, 3]
        assert await log.forward(5, 2) == []

    async def test_parts_have_each_stream_once_and_whole(self, log: EventLog) -> None:
        games = [Game(f"ox-{number}") for number in range(12)]
        for _ in range(3):
            await log.append([unit(game.adds(1)) for game in games])
        everything, found = await log.forward(0, 99), list[LogEntry]()
        for number in range(3):
            seen: list[LogEntry] = []
            while chunk := await log.forward_part(seen[-1].record.position if seen else 0, 5, 0, Part(number, 3)):
                seen += map(as_entry, chunk)
            assert len(seen) == 3 * len({entry.record.stream for entry in seen})
            found += seen
        assert sorted(found, key=lambda entry: entry.record.position) == everything
        assert list(map(as_entry, await log.forward_part(0, 99, 0, WHOLE))) == everything
        assert await log.forward_positions(3, 5) == [4, 5, 6, 7, 8]

    async def test_the_last_record_of_each_stream_tells_how_it_ends(
        self, log: EventLog, archive: Callable[[Game], Awaitable[None]]
    ) -> None:
        games = [Game(f"ox-{number}") for number in range(5)]
        for game in games:
            await log.append([unit(game.adds(2, schema_version=1))])
        await log.append([unit(games[1].ends()), unit(games[2].adds(1, kind="said", schema_version=3))])
        await log.append([unit(games[3].ends())])
        await archive(games[3])
        told = [(last.stream, last.type, last.schema_version, last.closes) for last in await log.last_records("", 9)]
        assert told == [
            ("ox-0", "moved", 1, False),
            ("ox-1", "game_end", 1, True),
            ("ox-2", "said", 3, False),
            ("ox-4", "moved", 1, False),
        ]
        assert [last.stream for last in await log.last_records("ox-0", 2)] == ["ox-1", "ox-2"]
        assert await log.last_records("ox-4", 2) == []

    async def test_what_goes_out_is_what_is_read_forward_byte_for_byte(self, log: EventLog) -> None:
        game, lobby = Game("ox-1"), Game("lobby-ox")
        data = canonical_json({"text": 'héllo "판사" \x01\u2028\\', "big": "123456789012345678901", "metadata": None})
        for microsecond in (0, 1, 999_999, 120_000):
            at = NOON.replace(microsecond=microsecond)
            await log.append([
                unit(game.adds(2, at=at, data=data, schema_version=3), lobby.adds(1)),
                unit(game.adds(1, kind="game_end", closes=True)),
            ])  # fmt: skip
        records = [entry.record for entry in await log.forward(0, 99)]
        outgoing = await log.outgoing(0, 99)
        assert [(out.position, out.stream, out.type, out.record) for out in outgoing] == [
            (record.position, record.stream, record.type, msgspec.json.encode(record)) for record in records
        ]
        assert [out.closes for out in outgoing[:4]] == [False, False, False, True]
        assert await log.outgoing(3, 2) == outgoing[3:5]
        assert await log.outgoing(len(outgoing), 2) == []

    async def test_a_page_of_events_has_at_most_as_many_as_asked_for(self, log: EventLog) -> None:
        await log.append([unit(Game("ox-1").adds(5))])
        page = await log.facts("ox-1", 1, most=2)
        assert page is not None
        assert [data["version"] for _, data in msgspec.json.decode(page.events)] == [2, 3]
        assert page.head.version == 5

    async def test_an_append_names_the_position_of_each_streams_first_record(self, log: EventLog) -> None:
        one, two = Game("ox-1"), Game("ox-2")
        [first, second] = await log.append([unit(one.adds(2)), unit(two.adds(3), one.twin().adds(0))])
        assert (first, second) == ((1,), (3, 6)) or log.shards > 1
        records = {entry.record.position: entry.record.stream for entry in await log.forward(0, 10)}
        if log.shards == 1:
            assert records == {1: "ox-1", 2: "ox-1", 3: "ox-2", 4: "ox-2", 5: "ox-2"}

    async def test_nothing_lies_beyond_the_end_however_far(self, log: EventLog) -> None:
        await log.append([unit(Game("ox-1").adds(2))])
        for after in (2, 2**31, 2**63, 2**200):
            assert await log.forward(after, 10) == await log.outgoing(after, 10) == []
            found = await log.load("ox-1", after)
            assert found is not None
            assert found.records == []

    async def test_a_record_too_large_refuses_the_whole_batch(self, log: EventLog) -> None:
        game, small = Game("ox-1"), Game("ox-2")
        room = RECORD_BYTES - len(game.twin().records(1, data=b'""')[0].metadata)
        fits = unit(game.adds(1, data=b'"' + b"x" * (room - 2) + b'"'))
        assert statuses(await log.append([fits])) == ["appended"]
        for too_large in (
            game.twin().adds(1, data=b'"' + b"x" * RECORD_BYTES + b'"'),
            game.twin().adds(1, public=b"x" * (RECORD_BYTES + 1)),
        ):
            with pytest.raises(RecordTooLarge, match="store less"):
                await log.append([unit(small.twin().adds(1)), unit(too_large)])
        assert await log.versions(["ox-1", "ox-2"]) == {"ox-1": 1}

    async def test_due_streams_are_given_earliest_first(self, log: EventLog) -> None:
        late, early, other, never = Game("ox-1"), Game("ox-2"), Game("trial-1"), Game("ox-3")
        await log.append([
            unit(late.adds(1, due=NOON)),
            unit(early.adds(1, due=NOON - timedelta(microseconds=1))),
            unit(other.adds(1, due=NOON)),
            unit(never.adds(1)),
        ])  # fmt: skip
        assert await log.due("ox", NOON, 10) == ["ox-2", "ox-1"]
        assert await log.due("ox", NOON, 1) == ["ox-2"]
        assert await log.due("ox", NOON - timedelta(microseconds=1), 10) == ["ox-2"]
        await log.append([unit(early.adds(1, due=NOON + timedelta(hours=1)), late.adds(1, due=None))])
        assert await log.due("ox", NOON, 10) == []

    async def test_games_are_listed_newest_first_page_by_page(self, log: EventLog) -> None:
        times = {name: NOON + timedelta(seconds=second) for name, second in {"a": 0, "b": 1, "c": 1, "d": 2}.items()}
        for name, at in times.items():
            await log.append([unit(Game(f"ox-{name}").adds(1, at=at))])
        await log.append([unit(Game("trial-1").adds(1), Game("lobby-ox").adds(1, summary=None))])
        listed, before = [], None
        while page := await log.games("ox", phase=None, before=before, limit=3):
            listed += [line.stream for line in page]
            before = (page[-1].created_at, page[-1].stream)
        assert listed == ["ox-d", "ox-c", "ox-b", "ox-a"]
        assert await log.games("lobby", phase=None, before=None, limit=3) == []

    async def test_a_listed_game_shows_its_newest_summary(self, log: EventLog) -> None:
        game = Game("ox-1")
        later = NOON + timedelta(seconds=5)
        running = GameSummary(phase="first_choice", round=2, seated=5, needed=5)
        await log.append([unit(game.adds(2))])
        await log.append([unit(game.adds(1, summary=running, at=later)), unit(Game("ox-2").adds(1))])
        [line] = await log.games("ox", phase="first_choice", before=None, limit=9)
        assert (line.stream, line.summary, line.version) == ("ox-1", running, 3)
        assert (line.created_at, line.updated_at) == (NOON, later)
        assert await log.games("ox", phase="ended", before=None, limit=9) == []

    async def test_a_private_game_is_found_by_its_invite_and_listed_once_it_is_over(self, log: EventLog) -> None:
        game, invite = Game("ox-1"), "f" * 64
        waiting = GameSummary("waiting", 0, 1, 5, language="en", invite=invite)
        over = GameSummary("ended", 9, 5, 5, over=True, language="en", invite=invite)
        await log.append([unit(opened(game, waiting)), unit(Game("ox-2").adds(1))])
        for ask in ({}, {"phase": "waiting"}, {"running": True}):
            listed = await log.games("ox", **{"phase": None, "before": None, "limit": 9, **ask})
            assert [line.stream for line in listed] == ["ox-2"]
            listed = await log.games("ox", **{"phase": None, "before": None, "limit": 9, "hidden": True, **ask})
            assert [line.stream for line in listed] == ["ox-2", "ox-1"]
        [found] = await log.games("ox", phase=None, before=None, limit=9, invite=invite)
        assert (found.stream, found.summary) == ("ox-1", waiting)
        assert await log.games("ox", phase=None, before=None, limit=9, invite="e" * 64) == []
        assert await log.games("trial", phase=None, before=None, limit=9, invite=invite) == []
        await log.append([unit(game.adds(1, kind="game_end", closes=True, summary=over))])
        [_, ended] = await log.games("ox", phase=None, before=None, limit=9)
        assert (ended.stream, ended.summary) == ("ox-1", over)
        assert [entry.invite for entry in await log.outgoing(0, 9)] == [invite, "", ""], "closed, it is anybody's"
        assert [entry.private for entry in await log.results(0, 9)] == [True]

    async def test_idle_games_are_running_ones_that_nothing_happened_in(self, log: EventLog) -> None:
        over = GameSummary(phase="ended", round=9, seated=5, needed=5, over=True)
        recent = NOON + timedelta(minutes=5)
        await log.append([
            unit(Game("ox-1").adds(1)),
            unit(Game("ox-2").adds(1, summary=over)),
            unit(Game("ox-3").adds(1, at=recent)),
        ])  # fmt: skip
        idle = await log.games("ox", phase=None, before=None, limit=9, idle_since=NOON)
        assert [line.stream for line in idle] == ["ox-1"]
        both = await log.games("ox", phase="waiting", before=None, limit=9, idle_since=recent)
        assert [line.stream for line in both] == ["ox-3", "ox-1"]
        assert await log.games("ox", phase="ended", before=None, limit=9, idle_since=recent) == []

    async def test_games_are_found_by_who_opened_them(self, log: EventLog) -> None:
        mine, other = Game("ox-1"), Game("ox-2")
        await log.append([unit(mine.adds(1, actor="ann")), unit(other.adds(1, actor="bob"))])
        await log.append([unit(mine.adds(1, actor="bob")), unit(Game("trial-1").adds(1, actor="ann"))])
        opened = await log.games("ox", phase=None, before=None, limit=9, opened_by="ann")
        assert [line.stream for line in opened] == ["ox-1"]
        assert await log.games("ox", phase=None, before=None, limit=9, opened_by="eve") == []

    async def test_an_agents_games_are_those_it_did_not_leave(self, log: EventLog) -> None:
        seat = {"data": canonical_json({"agent_id": "ann", "name": "Ann"})}
        stays, left, again, other = Game("ox-1"), Game("ox-2"), Game("ox-3"), Game("ox-4")
        await log.append([unit(game.adds(1, kind="agent_joined", **seat)) for game in (stays, left, again)])
        await log.append([unit(game.adds(1, kind="agent_left", **seat)) for game in (left, again)])
        await log.append([unit(again.adds(1, kind="agent_joined", **seat)), unit(other.adds(1)), unit(stays.ends())])
        found = await log.games("ox", phase=None, before=None, limit=9, agent="ann")
        assert [line.stream for line in found] == ["ox-3", "ox-1"]
        waiting = await log.games("ox", phase="waiting", before=None, limit=9, agent="ann")
        assert [line.stream for line in waiting] == ["ox-3"]
        assert await log.games("ox", phase=None, before=None, limit=9, agent="eve") == []
        assert await log.games("trial", phase=None, before=None, limit=9, agent="ann") == []

    async def test_the_games_of_a_tournament_are_listed_with_its_round(self, log: EventLog) -> None:
        seat = {"data": canonical_json({"agent_id": "ann", "name": "Ann"})}
        first, second = (GameSummary("playing", 1, 5, 5, tournament=TournamentGame("cup", round_)) for round_ in (1, 2))
        early, late, other = Game("ox-1"), Game("ox-2"), Game("ox-3")
        await log.append([
            unit(opened(early, first)), unit(opened(late, second)), unit(opened(other, WAITING)),
            unit(opened(Game("trial-1"), first)),
        ])  # fmt: skip
        await log.append([unit(early.adds(1, kind="agent_joined", summary=first, **seat))])
        await log.append([unit(other.adds(1, kind="agent_joined", **seat))])

        async def listed(**ask: Any) -> list[ListedGame]:
            return [*await log.games("ox", **{"phase": None, "before": None, "limit": 9, "tournament": "cup", **ask})]

        assert [(line.stream, line.summary) for line in await listed()] == [("ox-2", second), ("ox-1", first)]
        assert [line.stream for line in await listed(agent="ann")] == ["ox-1"]
        assert [line.stream for line in await listed(limit=1)] == ["ox-2"]
        assert await listed(phase="waiting") == []
        assert await listed(tournament="other") == []
        await log.append([unit(late.ends())])
        assert [line.stream for line in await listed(running=True)] == ["ox-1"]

    async def test_running_games_are_those_that_are_not_over(self, log: EventLog) -> None:
        over = GameSummary(phase="aborted", round=0, seated=1, needed=5, over=True)
        await log.append(
            [unit(Game("ox-1").adds(1)), unit(Game("ox-2").adds(1, summary=over)), unit(Game("ox-3").adds(1))]
        )
        running = await log.games("ox", phase=None, before=None, limit=9, running=True)
        assert [line.stream for line in running] == ["ox-3", "ox-1"]
        assert await log.games("ox", phase="aborted", before=None, limit=9, running=True) == []

    async def test_of_an_archived_game_nothing_is_left_but_its_result(
        self, log: EventLog, archive: Callable[[Game], Awaitable[None]]
    ) -> None:
        game, other = Game("ox-1"), Game("ox-2")
        await log.append([unit(game.adds(2), outcomes=[outcome("ox-1", 1)]), unit(other.adds(1)), unit(game.ends())])
        await archive(game)
        assert await log.versions(["ox-1", "ox-2"]) == {"ox-1": ARCHIVED, "ox-2": 1}
        for read in (log.load("ox-1"), log.facts("ox-1"), log.facts("ox-1", 2, commands=True)):
            with pytest.raises(Archived, match="ox-1 was archived"):
                await read
        assert await log.outcome("ox-1", f"{1:032x}") is None
        assert await read_all(log) == [(3, "ox-2", 1), (4, "ox-1", 3)]
        assert [entry.position for entry in await log.outgoing(0, 9)] == [3, 4]
        assert [entry.record.hash for entry in await log.results(0, 9)] == [game.hash]
        assert (await log.position(), await log.archived_to()) == (4, 2)
        listings: list[dict[str, Any]] = [
            {"phase": None}, {"phase": None, "running": True}, {"phase": None, "idle_since": NOON},
            {"phase": None, "opened_by": "agent-1"}, {"phase": "waiting"},
        ]  # fmt: skip
        for asked in listings:
            assert [line.stream for line in await log.games("ox", before=None, limit=9, **asked)] == ["ox-2"]
        assert await log.games("ox", phase="ended", before=None, limit=9) == []

    async def test_nothing_follows_an_archived_game_nor_takes_its_name(
        self, log: EventLog, archive: Callable[[Game], Awaitable[None]]
    ) -> None:
        game = Game("ox-1")
        await log.append([unit(game.adds(2)), unit(game.ends())])
        await archive(game)
        for part in (game.twin().adds(1), game.twin().adds(0), Game("ox-1").adds(1), Game("ox-1").adds(0)):
            other = Game("ox-2")
            assert statuses(await log.append([unit(part), unit(other.adds(1), part)])) == ["conflict", "conflict"]
        assert await log.position() == 3

    async def test_of_many_that_make_the_same_stream_one_does(
        self, log: EventLog, another: Callable[[], EventLog]
    ) -> None:
        rivals = [another() for _ in range(10)]
        tries = [rival.append([unit(Game("ox-1").adds(2))]) for rival in rivals]
        assert (
            sorted(statuses([result for [result] in await asyncio.gather(*tries)])) == ["appended"] + ["conflict"] * 9
        )
        assert await log.position() == 2

    async def test_of_many_with_the_same_command_one_is_stored(
        self, log: EventLog, another: Callable[[], EventLog]
    ) -> None:
        game = Game("ox-1")
        await log.append([unit(game.adds(1))])
        tries = [
            another().append([unit(game.twin().adds(0), outcomes=[outcome("ox-1", 1, str(number).encode())])])
            for number in range(10)
        ]
        assert (
            sorted(statuses([result for [result] in await asyncio.gather(*tries)])) == ["appended"] + ["conflict"] * 9
        )

    async def test_batches_that_meet_in_opposite_order_do_not_block_each_other(
        self, log: EventLog, another: Callable[[], EventLog]
    ) -> None:
        async def write(client: EventLog, names: Sequence[str]) -> int:
            """Create, extend and only check streams in one batch; return the number of stored records."""
            stored = 0
            for turn in range(15):
                games = [await _current(client, name) for name in (*names, f"ox-{turn}-new")]
                sizes = [(turn + place) % 3 for place in range(len(games))]
                if turn % 2:
                    units = [unit(game.adds(size)) for game, size in zip(games, sizes, strict=True)]
                    results = await client.append(units)
                    stored += sum(size for size, firsts in zip(sizes, results, strict=True) if firsts is not None)
                else:
                    [firsts] = await client.append([unit(*(game.adds(1) for game in games))])
                    stored += len(games) if firsts is not None else 0
            return stored

        names = [f"ox-{number}" for number in range(4)]
        stored = await asyncio.gather(write(another(), names), write(another(), names[::-1]))
        assert max(stored) > 0
        assert await log.position() == sum(stored)

    async def test_a_reader_never_misses_a_position_while_twenty_write(
        self, log: EventLog, another: Callable[[], EventLog]
    ) -> None:
        finished = asyncio.Event()

        async def write(number: int) -> int:
            client, game, appended = another(), Game(f"ox-{number}"), 0
            for turn in range(12):
                stale = game.twin()
                batch = [unit(game.adds(1 + turn % 3))]
                if turn % 3 == 1:  # a conflict uses no position
                    batch.append(unit(stale.adds(1), Game(f"trial-{number}-{turn}").adds(1)))
                assert statuses(await client.append(batch)) == ["appended", "conflict"][: len(batch)]
                appended += 1 + turn % 3
            return appended

        async def read() -> int:
            last = 0
            while True:
                done = finished.is_set()
                chunk = await another_reader.forward(last, 50)
                for entry in chunk:
                    assert entry.record.position == last + 1
                    last = entry.record.position
                if done and not chunk:
                    return last
                await asyncio.sleep(0)

        another_reader = another()
        reader = asyncio.create_task(read())
        appended = await asyncio.gather(*(write(number) for number in range(20)))
        finished.set()
        assert await reader == sum(appended) == await log.position()


class SealedLogContract:
    """How a log seals and opens. Subclasses provide `rows` of keys, and `client`, which makes clients of one log."""

    @pytest.fixture
    def client(self) -> Callable[[Codec], EventLog]:
        raise NotImplementedError

    @pytest.fixture
    def rows(self) -> KeyRows:
        raise NotImplementedError

    @pytest.fixture
    def vault(self, rows: KeyRows, tmp_path: Path) -> Vault:
        write_keys(tmp_path / "seal-keys", [drawn(datetime.now(UTC))])
        return Vault(rows, KeyFile(tmp_path / "seal-keys"))

    @pytest.fixture
    def engine(self, client: Callable[[Codec], EventLog], vault: Vault) -> EventLog:
        return client(SessionCodec(vault))

    @pytest.fixture
    def tool(self, client: Callable[[Codec], EventLog], vault: Vault) -> EventLog:
        return client(ToolCodec(vault))

    async def test_an_engine_reads_a_stream_open_and_others_read_it_as_it_is_stored(
        self, engine: EventLog, client: Callable[[Codec], EventLog]
    ) -> None:
        key, records = await _sealed(engine, "legal-1", 3)
        loaded, facts = await engine.load("legal-1", 1), await engine.facts("legal-1", 1)
        assert loaded is not None
        assert facts is not None
        assert [bytes(record.data) for record in loaded.records] == [_secret(2), _secret(3)]
        assert [record.hash for record in loaded.records] == [record.hash for record in records[1:]]
        assert facts.events == f'[["moved:1",{_secret(2).decode()}],["moved:1",{_secret(3).decode()}]]'
        assert _secret_of(loaded.key) == _secret_of(facts.key) == key.secret
        kept = await engine.outcome("legal-1", f"{1:032x}")
        assert isinstance(kept, Outcome)
        assert kept.body == b'{"status":"accepted"}'
        plain = client(UNOPENED)
        for log in (engine, plain):
            assert [bytes(entry.record.data) for entry in await log.forward(0, 10)] == [each.data for each in records]
        stored = await plain.load("legal-1")
        assert stored is not None
        assert stored.key is None
        assert [bytes(record.data) for record in stored.records] == [each.data for each in records]

    async def test_a_tool_opens_what_it_has_a_key_for(
        self, engine: EventLog, tool: EventLog, client: Callable[[Codec], EventLog], rows: KeyRows, tmp_path: Path
    ) -> None:
        key, records = await _sealed(engine, "legal-1", 2)
        game = Game("ox-1")
        await engine.append([unit(game.adds(1))])
        entries = await tool.forward(0, 10)
        assert [_secret_of(entry.key) for entry in entries] == [key.secret, key.secret, None]
        assert [bytes(entry.record.data) for entry in entries[:2]] == [_secret(1), _secret(2)]
        part = [as_entry(one) for number in range(2) for one in await tool.forward_part(0, 10, 0, Part(number, 2))]
        assert sorted(bytes(one.record.data) for one in part) == sorted(bytes(one.record.data) for one in entries)
        write_keys(tmp_path / "other", [drawn(datetime.now(UTC))])
        blind = client(ToolCodec(Vault(rows, KeyFile(tmp_path / "other"))))
        assert [bytes(entry.record.data) for entry in await blind.forward(0, 2)] == [each.data for each in records]
        stored = await blind.load("legal-1")
        assert stored is not None
        assert stored.key is None

    async def test_a_stream_gets_its_key_with_its_first_record_and_once(self, engine: EventLog) -> None:
        await _sealed(engine, "legal-1", 1)
        key = engine.new_key("legal-2")
        assert key is not None
        game, other = Game("legal-2"), Game("ox-1")
        stale = msgspec.structs.replace(other.adds(1), expected=7)
        both = msgspec.structs.replace(game.twin().adds(1), key=NewKey(key, "agent-1"))
        assert statuses(await engine.append([unit(both, stale)])) == ["conflict"]
        assert statuses(await engine.append([unit(both)])) == ["appended"], "the key of a unit in conflict is not kept"
        again = msgspec.structs.replace(Game("legal-1").adds(1), key=NewKey(key, "agent-1"))
        assert statuses(await engine.append([unit(again)])) == ["conflict"]


def _secret_of(key: StreamKey | None) -> bytes | None:
    return key.secret if key else None


def _secret(version: int) -> bytes:
    return canonical_json({"secret": version})


async def _sealed(log: EventLog, stream: str, count: int) -> tuple[StreamKey, Sequence[NewRecord]]:
    """Store a new sealed stream, with the outcome of a command."""
    key, game = log.new_key(stream), Game(stream)
    assert key is not None
    records = [
        record for version in range(1, count + 1)
        for record in game.records(1, data=key.seal_record(version, "moved", 1, _secret(version)))
    ]  # fmt: skip
    answer = outcome(stream, 1)
    answer = msgspec.structs.replace(answer, body=key.seal_text(f"outcome|{answer.command_id}", answer.body))
    append = StreamAppend(
        stream=stream, expected=0, prev_hash=ZERO_HASH, records=records, key=NewKey(key, "agent-1")
    )  # fmt: skip
    assert statuses(await log.append([unit(append, outcomes=[answer])])) == ["appended"]
    return key, records


async def _current(log: EventLog, stream: str) -> Game:
    game = Game(stream)
    found = await log.load(stream)
    if found:
        game.version, game.hash = found.head.version, found.head.hash
    return game
