"""Records lie in the database without what follows from the rest of them, in tables that go when all is archived."""

from collections.abc import AsyncIterator
from datetime import datetime
from itertools import count
from pathlib import Path

import asyncpg
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.log import archive as archiving
from playmolt_core.log.chain import chain_record
from playmolt_core.log.port import NewRecord, StreamAppend
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.log.verify import verify
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.game_messages import LobbyMessage
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.records import ZERO_HASH, Metadata

from core.tests.log.log_contract import NOON, Game, unit

AGENT = "agent-7f0c2c1e-58f4-4f0e-9a51-0d6f3a1b2c3d"
OTHER = "agent-00000000-0000-0000-0000-000000000000"
COMMAND = "0123456789abcdef0123456789abcdef"
WINDOW = 65_536
WAITING = LobbyMessage(
    type="game_waiting", game_id="", gameType="ox", phase="waiting", seated=1, needed=5, at="", language="en"
)  # fmt: skip
numbers = count(1)
texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=20)
members = st.dictionaries(
    st.sampled_from(["agent_id", "choice", "name", "round", "a b", "x'y"]), texts | st.integers(0, 9) | st.none()
)


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url)
    yield pool
    await pool.close()


def public_of(stream: str, version: int, at: datetime, shown: dict[str, object]) -> bytes:
    tail = {"game_id": stream, "version": version, "at": rfc3339(at)}
    return msgspec.json.encode({"type": "moved", **shown, **tail})


def record(
    stream: str,
    version: int,
    prev_hash: str,
    data: bytes,
    metadata: Metadata,
    public: bytes | None,
    lobby: bytes | None = None,
) -> NewRecord:
    return chain_record(stream, version, prev_hash, NOON, "moved", 1, data, metadata, public, lobby, closes=False)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=members, shown=members, of_data=st.booleans(), agent=st.sampled_from(["", AGENT, OTHER, "host"]),
    command=st.sampled_from([COMMAND, "another form"]), cause=st.sampled_from(["", COMMAND]), own=st.booleans(),
    trace=st.sampled_from(["", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"]),
    request=st.sampled_from([None, COMMAND]), hashed=st.sampled_from([None, "f" * 64, "none"]),
    lobby=st.sampled_from([None, b"another form", WAITING, msgspec.structs.replace(WAITING, gameType="trial")]),
)  # fmt: skip
async def test_a_record_is_read_as_it_was_hashed_and_told(
    pool: Pool, data: dict[str, object], shown: dict[str, object], of_data: bool, agent: str, command: str, cause: str,
    own: bool, trace: str, request: str | None, hashed: str | None, lobby: LobbyMessage | bytes | None,
) -> None:  # fmt: skip
    stream = f"ox-{next(numbers)}"
    if own:
        data = {**data, "agent_id": AGENT}
    if of_data:
        shown = {name: data[name] for name in sorted(data) if name in shown or own}
    metadata = Metadata(
        command_id=command, correlation=command, causation=cause or command, actor=agent, trace=trace,
        request=request or msgspec.UNSET, state_hash=hashed or msgspec.UNSET,
    )  # fmt: skip
    if isinstance(lobby, LobbyMessage):
        lobby = msgspec.json.encode(msgspec.structs.replace(lobby, game_id=stream, at=rfc3339(NOON)))
    publics = [public_of(stream, version, NOON, shown) for version in (1, 2)]
    first = record(stream, 1, ZERO_HASH, canonical_json(data), metadata, publics[0], lobby)
    second = record(stream, 2, first.hash, canonical_json(data), metadata, publics[1])
    log = PostgresLog(pool)
    assert await log.append(
        [unit(StreamAppend(stream=stream, expected=0, prev_hash=ZERO_HASH, records=[first, second]))]
    ) == ["appended"]
    found = await log.load(stream)
    assert found is not None
    assert [
        (one.version, bytes(one.data), bytes(one.metadata), one.at, one.salt, one.prev_hash, one.hash)
        for one in found.records
    ] == [
        (one.version, one.data, one.metadata, rfc3339(one.at), one.salt, one.prev_hash, one.hash)
        for one in (first, second)
    ]
    assert await log.public(stream, 0, 9) == publics
    end = await log.position()
    assert [one.lobby for one in await log.outgoing(end - 2, 2)] == [lobby, None]
    assert (await verify(log, {})).breaks == []


async def test_what_a_public_message_has_of_its_record_is_stored_once(pool: Pool) -> None:
    log, data = PostgresLog(pool), {"agent_id": AGENT, "choice": "O"}
    made = Game("ox-1").records(3, at=NOON, data=canonical_json(data))
    shown = [data, {"agent_id": AGENT}, {"agent_id": OTHER}]
    told = [
        msgspec.structs.replace(one, public=public_of("ox-1", one.version, NOON, members))
        for one, members in zip(made, shown, strict=True)
    ]
    await log.append([unit(StreamAppend(stream="ox-1", expected=0, prev_hash=ZERO_HASH, records=told))])
    kept = [row[0] for row in await pool.fetch("SELECT public FROM log.record ORDER BY position")]
    assert kept == ["=", "#1", f',"agent_id":"{OTHER}"']


async def test_a_lobby_message_has_of_its_game_only_what_changes(pool: Pool) -> None:
    log = PostgresLog(pool)
    told = msgspec.json.encode(msgspec.structs.replace(WAITING, game_id="ox-1", at=rfc3339(NOON)))
    made = Game("ox-1").records(1, at=NOON, lobby=told)
    await log.append([unit(StreamAppend(stream="ox-1", expected=0, prev_hash=ZERO_HASH, records=made))])
    assert await pool.value("SELECT lobby FROM log.record") == b",game_waiting,waiting,1,5,en"
    assert [one.lobby for one in await log.outgoing(0, 9)] == [told]


async def tables(pool: Pool) -> list[str]:
    rows = await pool.fetch("SELECT DISTINCT tableoid::regclass::text FROM log.record ORDER BY 1")
    return [name for (name,) in rows]


async def test_tables_open_by_themselves_and_are_read_as_one(pool: Pool) -> None:
    log = PostgresLog(pool)
    await log.append([unit(Game("ox-1").adds(3)), unit(Game("legal-1").adds(1)), unit(Game("lobby-ox").adds(1))])
    await pool.value("SELECT setval('log.stream_number', $1)", 2 * WINDOW)
    late = Game("ox-2")
    await log.append([unit(late.adds(2)), unit(Game("trial-1").adds(1))])
    assert await log.append([unit(late.adds(1))]) == ["appended"]
    assert await tables(pool) == [
        "log.record_0_game_0",
        "log.record_0_game_2",
        "log.record_0_session_0",
        "log.record_0_standing_0",
    ]
    assert [one.position for one in await log.outgoing(0, 20)] == list(range(1, 10))
    for statement in ("TRUNCATE log.record_0_game_2", "DELETE FROM log.record_0_game_2"):
        with pytest.raises(asyncpg.FeatureNotSupportedError, match="append-only"):
            await pool.fetch(statement)


async def test_a_table_is_dropped_once_all_of_it_was_archived(database_url: str, pool: Pool, tmp_path: Path) -> None:
    log, games = PostgresLog(pool), [Game("ox-1"), Game("trial-2")]
    running = Game("legal-1")
    await log.append([unit(game.adds(4)) for game in games] + [unit(running.adds(2))])
    await log.append([unit(game.ends(data=canonical_json({"results": []}))) for game in games])
    before = await verify(log, {}, register=log.register)
    owner = await asyncpg.connect(database_url)
    try:
        for number, game in enumerate(games):
            ended = [archiving.FinishedStream(game.stream, game.version, game.hash)]
            await archiving.archive(owner, log, ended, tmp_path)
            async with pool.transaction() as reader:
                await reader.fetch("SELECT FROM log.event LIMIT 1")
                if number == 1:
                    assert await archiving.drop_parts(owner) == [], "somebody reads it"
            assert await archiving.drop_parts(owner) == [[], ["record_0_game_0"]][number]
    finally:
        await owner.close()
    after = await verify(log, {}, register=log.register)
    assert after.breaks == before.breaks == []
    assert await tables(pool) == ["log.record_0_kept_0", "log.record_0_session_0"]
    assert await log.append([unit(running.adds(1)), unit(Game("ox-3").adds(1))]) == ["appended", "appended"]
    assert [one.record.stream for one in await log.results(0, 9)] == ["ox-1", "trial-2"]
