"""A lobby that is read from snapshots seats as one that is folded whole."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from playmolt_core.engine.engine import Engine
from playmolt_core.engine.settings import EngineSettings
from playmolt_core.game.decider import read_event
from playmolt_core.game.fold import time_of
from playmolt_core.game.lobby import SNAPSHOT_EVERY, Lobby, LobbyRules
from playmolt_core.log.memory import MemoryLog
from playmolt_core.log.port import StoredSnapshot
from playmolt_core.log.verify import verify
from playmolt_schemas.envelopes import Answer, Call, Op
from playmolt_schemas.identifiers import lobby_of, rfc3339

from core.tests.counting import Counting

LOBBY = lobby_of(Counting.game)


OFTEN: Final = LobbyRules(snapshot_every=4)


def engine_of(log: MemoryLog, rules: LobbyRules) -> Engine:
    return Engine(Counting(), log, EngineSettings(), lambda _: None, lobby_rules=rules)


def test_states_are_hashed_while_they_are_whole() -> None:
    hashed = [version for version in range(1, 5_000) if LobbyRules().hashes_state(version, closes=False)]
    assert hashed == [2**power for power in range(11)]
    assert hashed[-1] < SNAPSHOT_EVERY


@asynccontextmanager
async def engine_on(log: MemoryLog) -> AsyncIterator[Engine]:
    engine = engine_of(log, OFTEN)
    engine.start()
    yield engine
    await engine.stop()


async def call(
    engine: Engine, op: Op, target: str = "", body: Any = None, agent: str = "", key: str = "", asked: str = "f"
) -> tuple[int, Any]:
    answered: asyncio.Future[tuple[int, Any]] = asyncio.get_running_loop().create_future()

    def respond(answer: Answer) -> None:
        answered.set_result((answer.status, msgspec.json.decode(answer.body)))

    name = key or uuid.uuid4().hex
    sent = Call(
        1, op, target, msgspec.json.encode(body or {}), agent=agent, name=agent, command_id=name,
        fingerprint=asked * 64 if key else "",
    )  # fmt: skip
    async with asyncio.timeout(30):
        engine.receive(sent, respond)
        return await answered


async def play(engine: Engine, *agents: str) -> str:
    """A game of two that ends at once."""
    for agent in agents:
        _, joined = await call(engine, "join", agent=agent)
    game = str(joined["game_id"])
    assert (await call(engine, "act", game, {"add": 10}, agent=agents[0]))[0] == 200
    return game


async def kept(log: MemoryLog) -> StoredSnapshot:
    found = await log.snapshot(LOBBY)
    assert found is not None
    return found


async def folded(log: MemoryLog) -> Lobby:
    """The lobby, folded whole."""
    rules = LobbyRules()
    lobby, stored = rules.initial(LOBBY), await log.load(LOBBY)
    for record in stored.records if stored else ():
        event = read_event(rules, record.type, record.schema_version, record.data)
        lobby = rules.evolve(lobby, event, time_of(record))
    return lobby


async def test_a_snapshot_holds_the_seats_of_games_that_go_on() -> None:
    log = MemoryLog()
    async with engine_on(log) as engine:
        over = [await play(engine, f"a{number}", f"b{number}") for number in range(3)]
        _, waiting = await call(engine, "join", agent="c")
    async with engine_on(log) as engine:
        assert (await call(engine, "join", agent="c"))[1]["game_id"] == waiting["game_id"]
        state = msgspec.json.decode((await kept(log)).state)
        assert state == {"seats": {"c": waiting["game_id"]}, "tables": {}, "entries": {}, "open": [waiting["game_id"]]}
        _, again = await call(engine, "join", agent="a0")
        assert again["game_id"] == waiting["game_id"]
        assert again["game_id"] not in over


async def test_an_engine_that_runs_for_long_keeps_snapshots_too() -> None:
    log = MemoryLog()
    async with engine_on(log) as engine:
        for number in range(12):
            await play(engine, f"a{number}", f"b{number}")
        entry = engine.streams.get(LOBBY)
        assert (await kept(log)).version >= 36
        assert entry is None or (len(entry.seen) <= 8 and len(entry.head.state.seats) <= 8)


async def test_a_repeat_from_before_a_snapshot_gets_its_answer() -> None:
    """Also of a join that would be refused, or seated elsewhere, by what has happened since."""
    log, key = MemoryLog(), f"{7:032x}"
    async with engine_on(log) as engine:
        status, first = await call(engine, "join", agent="a", key=key)
        _, joined = await call(engine, "join", agent="b")
        await call(engine, "act", joined["game_id"], {"add": 10}, agent="b")
        for number in range(4):
            await play(engine, f"a{number}", f"b{number}")
    async with engine_on(log) as engine:
        await kept(log)
        assert await call(engine, "join", agent="a", key=key) == (status, first)
        refused = await call(engine, "join", agent="a", key=key, asked="e")
        assert (refused[0], refused[1]["code"]) == (422, "idempotency_mismatch")
        other = await call(engine, "join", agent="a")
        assert other[1]["game_id"] != first["game_id"]


async def test_the_same_join_through_two_engines_seats_once() -> None:
    log = MemoryLog()
    async with engine_on(log) as one, engine_on(log) as two:
        for number in range(8):
            await play(one, f"a{number}", f"b{number}")
        joins = [call(engine, "join", agent="c", key=f"{9:032x}") for engine in (one, two) * 3]
        assert len({str(answer) for answer in await asyncio.gather(*joins)}) == 1
        taken = [record for record in (await log.load(LOBBY)).records if b'"c"' in bytes(record.data)]  # type: ignore[union-attr]
        assert [record.type for record in taken] == ["seat_taken"]


async def test_a_snapshot_that_nobody_can_read_any_more_is_not_used() -> None:
    log = MemoryLog()
    async with engine_on(log) as engine:
        for number in range(4):
            await play(engine, f"a{number}", f"b{number}")
        _, waiting = await call(engine, "join", agent="c")
    stored = await log.load(LOBBY)
    assert stored is not None
    await log.keep_snapshot(LOBBY, StoredSnapshot(stored.head.version, stored.head.hash, b'{"of":"another release"}'))
    async with engine_on(log) as engine:
        assert (await call(engine, "join", agent="c"))[1]["game_id"] == waiting["game_id"]


class Step(NamedTuple):
    op: str
    agent: int
    engine: int
    key: int


steps = st.builds(
    Step,
    st.sampled_from(["join", "join", "join", "end", "leave", "repeat", "restart"]),
    st.integers(0, 4),
    st.integers(0, 1),
    st.integers(0, 30),
)


async def _played(moves: Sequence[Step], rules: LobbyRules) -> list[Any]:
    """What two engines answer: statuses, and games by the order in which they were met; then the log is verified."""
    log, told, games, over = MemoryLog(), list[Any](), list[str](), set[str]()
    sat, used = dict[int, str](), list[tuple[int, str]]()
    running = [engine_of(log, rules) for _ in range(2)]
    for engine in running:
        engine.start()
    for move in moves:
        engine, agent = running[move.engine], f"agent{move.agent}"
        if move.op == "restart":
            await engine.stop()
            running[move.engine] = engine_of(log, rules)
            running[move.engine].start()
            continue
        if move.op in ("join", "repeat"):
            key = f"{len(used) + 1:032x}"
            if move.op == "repeat" and used:
                number, key = used[move.key % len(used)]
                agent = f"agent{number}"
            else:
                used.append((move.agent, key))
            status, body = await call(engine, "join", agent=agent, key=key)
            if body["game_id"] not in games:
                games.append(body["game_id"])
            sat[move.agent] = body["game_id"] if move.op == "join" else sat.get(move.agent, "")
            told.append((status, games.index(body["game_id"]), body["seated"]))
        elif (game := sat.get(move.agent)) and game not in over:
            body = {"add": 10} if move.op == "end" else None
            status, answer = await call(engine, "act" if move.op == "end" else "leave", game, body, agent=agent)
            told.append(status)
            if answer.get("phase") == "end":
                over.add(game)
    for engine in running:
        await engine.stop()
    found = await verify(log, {Counting.game: Counting(), "lobby": rules})
    assert (found.diverged, found.breaks) == (0, [])
    if await log.snapshot(LOBBY):
        kept_seats = msgspec.json.decode((await kept(log)).state)["seats"]
        assert kept_seats.keys() <= {f"agent{number}" for number in range(5)}
    return told


@given(st.lists(steps, max_size=40))
def test_who_is_seated_where_does_not_depend_on_snapshots(moves: list[Step]) -> None:
    assert asyncio.run(_played(moves, OFTEN)) == asyncio.run(_played(moves, LobbyRules()))


TABLE: Final = "count-0190a5a0-7c1e-7f00-8a3b-5d2c6e9f1a04"
SECOND: Final = "count-0190a5a0-7c1e-7f00-8a3b-5d2c6e9f1a05"


def table(*agents: str) -> dict[str, Any]:
    seats = [{"id": agent, "name": agent.upper()} for agent in agents]
    return {"tournament": {"id": "tournament-1", "round": 1}, "seats": seats}


async def test_a_table_is_seated_at_once_and_once() -> None:
    log, key = MemoryLog(), f"{7:032x}"
    async with engine_on(log) as engine:
        first = await call(engine, "seat_table", TABLE, table("a", "b"), key=key)
        assert first[0] == 200
        assert first[1]["phase"] == "playing"
    async with engine_on(log) as engine:
        assert await call(engine, "seat_table", TABLE, table("a", "b"), key=key) == first
        stored = await log.load(LOBBY)
        assert stored is not None
        assert [record.type for record in stored.records] == ["table_seated"]


async def test_an_agent_of_a_table_has_its_turn_there_and_joins_public_games_as_before() -> None:
    async with engine_on(MemoryLog()) as engine:
        await call(engine, "seat_table", TABLE, table("a", "b"))
        _, joined = await call(engine, "join", agent="a")
        assert joined["game_id"] != TABLE
        assert (await call(engine, "join", agent="a"))[1]["game_id"] == joined["game_id"]
        _, found = await call(engine, "turn", agent="a")
        assert found["turn"]["game_id"] == TABLE
        assert {game["game_id"] for game in found["games"]} == {TABLE, joined["game_id"]}
        await call(engine, "join", agent="c")
        _, asked = await call(engine, "turn", body={"game_id": joined["game_id"]}, agent="a")
        assert asked["turn"]["game_id"] == joined["game_id"]
        assert (await call(engine, "join", TABLE, agent="c"))[0] == 404


async def test_an_agent_sits_at_one_table_at_a_time() -> None:
    async with engine_on(MemoryLog()) as engine:
        await call(engine, "seat_table", TABLE, table("a", "b"))
        status, refused = await call(engine, "seat_table", SECOND, table("b", "c"))
        assert (status, refused["code"], refused["game_id"]) == (409, "already_seated", TABLE)
        assert (await call(engine, "state", SECOND))[0] == 404
        await call(engine, "act", TABLE, {"add": 10}, agent="a")
        assert (await call(engine, "seat_table", SECOND, table("b", "c")))[0] == 200


@pytest.mark.parametrize("agents", [(), ("a",), ("a", "a"), ("a", "b", "c")])
async def test_a_table_of_other_seats_than_the_games_is_refused(agents: tuple[str, ...]) -> None:
    async with engine_on(MemoryLog()) as engine:
        status, refused = await call(engine, "seat_table", TABLE, table(*agents))
        assert (status, refused["code"]) == (400, "invalid_request")


async def test_a_game_that_would_begin_too_late_is_refused_and_one_that_began_in_time_is_found_again() -> None:
    log, key = MemoryLog(), f"{7:032x}"
    early, late = ({"begins_before": rfc3339(at)} for at in (datetime.max.replace(tzinfo=UTC), datetime.now(UTC)))
    async with engine_on(log) as engine:
        status, refused = await call(engine, "seat_table", TABLE, table("a", "b") | late)
        assert (status, refused["code"]) == (409, "tournament_over")
        assert await log.load(LOBBY) is None
        seated = await call(engine, "seat_table", TABLE, table("a", "b") | early, key=key)
        assert seated[0] == 200
        assert await call(engine, "seat_table", TABLE, table("a", "b") | late, key=key) == seated


async def test_the_terms_of_a_table_are_checked_without_a_game() -> None:
    log = MemoryLog()
    async with engine_on(log) as engine:
        assert await call(engine, "seat_table", TABLE, table() | {"check": True}) == (200, {})
        assert (await call(engine, "state", TABLE))[0] == 404
        assert await log.load(LOBBY) is None
        assert (await call(engine, "seat_table", TABLE, table("a", "b")))[0] == 200


async def test_only_a_table_is_seated_by_the_service_that_seats_them() -> None:
    """A call of another kind on its subject is ignored."""
    async with engine_on(MemoryLog()) as engine:
        answers = list[Answer]()
        engine.receive_table(Call(1, "join", "", agent="a", name="a", command_id=f"{1:032x}"), answers.append)
        assert (await call(engine, "turn", agent="a"))[1]["games"] == []
        assert not answers


async def test_whom_the_gateway_keeps_out_of_public_games_sits_in_none() -> None:
    closed = {"public": False}
    async with engine_on(MemoryLog()) as engine:
        status, refused = await call(engine, "join", body=closed, agent="a")
        assert (status, refused["code"]) == (403, "people_closed")
        await call(engine, "join", agent="b")
        assert (await call(engine, "join", body=closed, agent="a"))[0] == 403
        assert (await call(engine, "turn", agent="a"))[1]["games"] == []
        status, opened = await call(engine, "open", SECOND, agent="a")
        assert status == 200
        assert (await call(engine, "join", body=closed, agent="a"))[1]["game_id"] == opened["game_id"]
