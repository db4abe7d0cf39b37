"""The engine on the in-memory log: what is answered, when, and what happens when the log says no."""

import asyncio
import re
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import pytest
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.engine.engine import Engine
from playmolt_core.engine.feed import Feed, StoredRecords
from playmolt_core.engine.pending_call import PendingCall
from playmolt_core.engine.settings import EngineSettings
from playmolt_core.log.memory import MemoryLog
from playmolt_core.log.port import Appended, Unit
from playmolt_core.service.process import until_stopped
from playmolt_schemas.envelopes import Answer, Call, Op
from playmolt_schemas.shards import shard_of
from playmolt_schemas.stored.values import Fault

from core.tests.counting import Counting
from core.tests.waiting import loop_turns, wait_until


class ScriptedLog(MemoryLog):
    """The twin, with commits that can be held, lost before or after storing, or met by a bug."""

    def __init__(self, shards: int = 1) -> None:
        super().__init__(shards)
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked = asyncio.Event()
        self.faults: list[str] = []
        self.batches: list[int] = []
        self.commands: list[int] = []
        self.units: list[Sequence[Unit]] = []
        self.counted: list[str] = []

    async def counted_faults(self, stream: str) -> Sequence[Fault]:
        self.counted.append(stream)
        return await super().counted_faults(stream)

    async def append(self, units: Sequence[Unit]) -> Sequence[Appended | None]:
        self.asked.set()
        await self.gate.wait()
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "before":
            raise LogUnavailable("lost before the commit")
        if fault == "bug":
            raise RuntimeError("no log raises this")
        self.batches.append(len(units))
        self.units.append(units)
        self.commands.append(sum(len(unit.outcomes) for unit in units))
        statuses = await super().append(units)
        if fault == "after":
            raise LogUnavailable("lost after the commit")
        return statuses


class Player:
    """Calls an engine and waits for answers."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._ids = 0

    def send(self, op: Op, target: str = "", body: Any = None, **options: Any) -> "asyncio.Future[tuple[int, Any]]":
        self._ids += 1
        future: asyncio.Future[tuple[int, Any]] = asyncio.get_running_loop().create_future()

        def respond(answer: Answer) -> None:
            assert not future.done(), "answered twice"
            future.set_result((answer.status, msgspec.json.decode(answer.body)))

        options.setdefault("command_id", uuid.uuid4().hex)
        raw = msgspec.json.encode({} if body is None else body)
        self.engine.receive(Call(self._ids, op, target, raw, **options), respond)
        return future

    async def call(self, op: Op, target: str = "", body: Any = None, **options: Any) -> tuple[int, Any]:
        async with asyncio.timeout(30):
            return await self.send(op, target, body, **options)

    async def game(self) -> str:
        for agent in ("a", "b"):
            _, joined = await self.call("join", agent=agent, name=agent.upper())
        assert joined["phase"] == "playing"
        return str(joined["game_id"])


def engine_on(log: MemoryLog, **settings: Any) -> Engine:
    engine = Engine(Counting(), log, EngineSettings(**settings), lambda _: None)
    engine.start()
    return engine


@pytest.fixture
def log() -> ScriptedLog:
    return ScriptedLog()


@pytest.fixture
async def engine(log: ScriptedLog) -> AsyncIterator[Engine]:
    engine = engine_on(log)
    yield engine
    await engine.stop()


@pytest.fixture
def player(engine: Engine) -> Player:
    return Player(engine)


async def test_two_joins_fill_a_game_and_the_third_agent_opens_another(player: Player) -> None:
    first = await player.call("join", agent="a", name="A")
    second = await player.call("join", agent="b", name="B")
    third = await player.call("join", agent="c", name="C")
    assert (first[1]["seated"], second[1]["seated"], third[1]["seated"]) == (1, 2, 1)
    assert first[1]["game_id"] == second[1]["game_id"] != third[1]["game_id"]


async def test_an_agent_that_sits_already_gets_its_game_back(player: Player) -> None:
    game = await player.game()
    assert (await player.call("join", agent="a", name="A"))[1]["game_id"] == game


async def test_an_agent_whose_game_is_over_is_free(player: Player) -> None:
    game = await player.game()
    await player.call("act", game, {"add": 10}, agent="a")
    assert (await player.call("join", agent="a", name="A"))[1]["game_id"] != game


async def test_a_whole_number_may_be_written_as_a_float(player: Player) -> None:
    game = await player.game()
    assert (await player.call("act", game, {"add": 3.0}, agent="a"))[0] == 200
    assert (await player.call("act", game, {"add": 3.5}, agent="a"))[0] == 400


async def test_a_hundred_joins_at_once_sit_two_by_two(player: Player, log: ScriptedLog) -> None:
    log.gate.clear()
    waiting = [player.send("join", agent=f"agent{n}", name="N") for n in range(100)]
    await asyncio.sleep(0)
    log.gate.set()
    games = [(await future)[1]["game_id"] for future in waiting]
    assert sorted(games.count(game) for game in set(games)) == [2] * 50


async def test_an_emptied_game_takes_the_next_agent(player: Player) -> None:
    _, joined = await player.call("join", agent="a", name="A")
    assert await player.call("leave", joined["game_id"], agent="a") == (200, {"status": "left"})
    assert (await player.call("leave", joined["game_id"], agent="a"))[0] == 403
    _, again = await player.call("join", agent="b", name="B")
    assert (again["game_id"], again["seated"]) == (joined["game_id"], 1)


async def test_a_waiting_game_that_the_operator_ended_is_passed_over(player: Player) -> None:
    _, joined = await player.call("join", agent="a", name="A")
    ended = await player.call("end", joined["game_id"], {"reason": "closed"}, operator=True)
    assert (ended[0], ended[1]["phase"]) == (200, "aborted")
    assert (await player.call("join", agent="b", name="B"))[1]["game_id"] != joined["game_id"]


async def test_no_answer_before_the_commit(player: Player, log: ScriptedLog) -> None:
    game = await player.game()
    log.gate.clear()
    log.asked.clear()
    action = player.send("act", game, {"add": 1}, agent="a")
    await log.asked.wait()
    await loop_turns()
    assert not action.done()
    assert (await player.call("state", game))[1]["total"] == 0, "a reader must not see what is not committed"
    log.gate.set()
    status, body = await action
    assert (status, body["status"], len(body["hash"])) == (200, "accepted", 64)
    assert (await player.call("state", game))[1]["total"] == 1


async def test_a_refusal_that_rests_on_an_uncommitted_event_waits_for_it(player: Player, log: ScriptedLog) -> None:
    game = await player.game()
    log.gate.clear()
    log.asked.clear()
    last = player.send("act", game, {"add": 10}, agent="a")
    await log.asked.wait()
    late = player.send("act", game, {"add": 1}, agent="b")
    await loop_turns()
    assert not late.done()
    log.gate.set()
    assert (await last)[0] == 200
    assert (await late)[0] == 409


async def test_why_an_append_failed_is_logged(
    player: Player, log: ScriptedLog, capsys: pytest.CaptureFixture[str]
) -> None:
    game = await player.game()
    log.faults = ["before"]
    assert (await player.call("act", game, {"add": 1}, agent="a"))[0] == 200
    written = capsys.readouterr()
    line = next(line for line in (written.out + written.err).splitlines() if "append_failed" in line)
    assert "lost before the commit" in line


async def test_what_waits_commits_together(player: Player, log: ScriptedLog) -> None:
    games = []
    for pair in range(20):
        for seat in "ab":
            _, joined = await player.call("join", agent=f"{pair}{seat}", name="N")
        games.append(joined["game_id"])
    log.gate.clear()
    log.batches.clear()
    waiting = [player.send("act", game, {"add": 1}, agent=f"{pair}a") for pair, game in enumerate(games)]
    await loop_turns()
    log.gate.set()
    assert {status for status, _ in [await future for future in waiting]} == {200}
    assert len(log.batches) <= 2


@pytest.mark.parametrize("fault", ["", "before", "after"])
@pytest.mark.parametrize("limit", [1, 2, 7])
async def test_a_commit_holds_so_many_commands_at_most_also_of_one_game(
    log: ScriptedLog, limit: int, fault: str
) -> None:
    engine = engine_on(log, batch_commands=limit)
    player = Player(engine)
    game, other = await player.game(), (await player.call("join", agent="c", name="C"))[1]["game_id"]
    log.gate.clear()
    log.asked.clear()
    log.commands.clear()
    log.faults = [fault, "", fault]
    waiting = [player.send("act", game, {"add": 1}, agent="ab"[turn % 2]) for turn in range(9)]
    await log.asked.wait()
    waiting += [player.send("join", agent=f"d{number}", name="D") for number in range(9)]
    waiting += [player.send("leave", other, agent="c"), player.send("act", game, {"add": 1}, agent="a")]
    await loop_turns()
    log.gate.set()
    async with asyncio.timeout(30):
        answers = [await future for future in waiting]
    assert [status for status, _ in answers[:18]] == [200] * 18
    assert max(log.commands) <= limit
    assert (await player.call("state", game))[1]["total"] == 10
    versions = [body["version"] for _, body in answers[:9]]
    assert sorted(set(versions)) == sorted(versions), "each has records of its own"
    await engine.stop()


@pytest.mark.parametrize("limit", [1, 3, 512])
@pytest.mark.parametrize("fault", ["", "before", "after"])
async def test_a_batch_lies_in_the_shards_of_its_oldest_command(limit: int, fault: str) -> None:
    log = ScriptedLog(shards=3)
    committed: list[frozenset[int]] = []

    def note(commits: Sequence[StoredRecords]) -> None:
        committed.append(frozenset(shard_of(commit.stream, 3) for commit in commits))

    engine = Engine(Counting(), log, EngineSettings(batch_commands=limit), note)
    engine.start()
    player = Player(engine)
    games: list[str] = []
    while len(games) < 12 or len({shard_of(game, 3) for game in games}) < 3:
        for seat in "ab":
            _, joined = await player.call("join", agent=f"{len(games)}{seat}", name="N")
        games.append(joined["game_id"])
    committed.clear()
    log.units.clear()
    log.gate.clear()
    log.faults = [fault, "", fault]
    acts = [(game, f"{pair}{seat}") for seat in "aba" for pair, game in enumerate(games)]
    waiting = [player.send("act", game, {"add": 1}, agent=agent) for game, agent in acts]
    waiting += [player.send("join", agent=f"d{number}", name="D") for number in range(6)]
    waiting += [player.send("act", game, {"add": 1}, agent=agent) for game, agent in acts[: len(games)]]
    await loop_turns()
    log.gate.set()
    async with asyncio.timeout(30):
        assert {status for status, _ in [await future for future in waiting]} <= {200, 201}
    touched = [{frozenset(shard_of(part.stream, 3) for part in unit.streams) for unit in units} for units in log.units]
    assert {len(each) for each in touched} == {1}
    assert {shard for each in touched for shards in each for shard in shards} == {0, 1, 2}
    told = [shards for shards in committed if shards]
    assert set(told) <= {shards for each in touched for shards in each}
    assert told
    assert {(await player.call("state", game))[1]["total"] for game in games} == {4}
    await engine.stop()


@pytest.mark.parametrize("fault", ["before", "after"])
async def test_a_commit_that_is_lost_is_neither_lost_nor_doubled(player: Player, log: ScriptedLog, fault: str) -> None:
    game = await player.game()
    log.faults = [fault]
    status, body = await player.call("act", game, {"add": 3}, agent="a")
    assert (status, body["version"]) == (200, 4)
    assert (await player.call("state", game))[1]["total"] == 3


async def test_two_replicas_racing_lose_nothing(log: ScriptedLog) -> None:
    engines = [engine_on(log), engine_on(log)]
    players = [Player(engine) for engine in engines]
    game = await players[0].game()
    waiting = []
    for number in range(40):
        player = players[number % 2]
        waiting.append(player.send("act", game, {"add": 0}, agent="ab"[number % 2]))
    assert {status for status, _ in [await future for future in waiting]} == {200}
    for player in players:
        assert (await player.call("state", game))[1]["version"] == 43
    for engine in engines:
        await engine.stop()


def clock_with_offset(offset: timedelta) -> Callable[[], datetime]:
    return lambda: datetime.now(UTC) + offset


async def test_replicas_whose_clocks_are_apart_write_one_history(log: ScriptedLog) -> None:
    """Time never runs backwards in a game, whichever replica decides, and no action is lost."""
    engines = []
    for minutes in (-10, 10, 0):
        now = clock_with_offset(timedelta(minutes=minutes))
        engine = Engine(Counting(), log, EngineSettings(), lambda _: None, now=now)
        engine.start()
        engines.append(engine)
    players = [Player(engine) for engine in engines]
    game = await players[0].game()
    for number in range(12):
        player = players[number % 3]
        assert (await player.call("act", game, {"add": 0}, agent="ab"[number % 2]))[0] == 200
    stored = await log.load(game)
    assert stored is not None
    times = [record.at for record in stored.records]
    assert times == sorted(times)
    assert len(set(times)) > 2, "three clocks were asked"
    assert [record.version for record in stored.records] == [*range(1, len(times) + 1)]
    for engine in engines:
        await engine.stop()


async def test_a_stale_replica_neither_shows_nor_refuses_by_an_old_state(log: ScriptedLog) -> None:
    first, second = engine_on(log), engine_on(log)
    one, two = Player(first), Player(second)
    game = await one.game()
    assert (await two.call("state", game))[1]["total"] == 0
    await one.call("act", game, {"add": 10}, agent="a")
    assert (await two.call("state", game))[1]["phase"] == "end"
    assert (await two.call("act", game, {"add": 1}, agent="a"))[1]["code"] == "game_over"
    await first.stop()
    await second.stop()


async def test_joins_through_two_replicas_seat_exactly_two(log: ScriptedLog) -> None:
    engines = [engine_on(log), engine_on(log)]
    players = [Player(engine) for engine in engines]
    waiting = [players[n % 2].send("join", agent=f"agent{n}", name="N") for n in range(60)]
    games = [(await future)[1]["game_id"] for future in waiting]
    assert sorted(games.count(game) for game in set(games)) == [2] * 30
    for engine in engines:
        await engine.stop()


async def test_a_repeated_command_gets_the_same_answer_and_has_no_second_effect(player: Player) -> None:
    game = await player.game()
    key = {"agent": "a", "command_id": "f" * 32, "fingerprint": "x"}
    first = await player.call("act", game, {"add": 2}, **key)
    assert await player.call("act", game, {"add": 2}, **key) == first
    assert (await player.call("state", game))[1]["total"] == 2
    assert (await player.call("act", game, {"add": 2}, **(key | {"fingerprint": "y"})))[1][
        "code"
    ] == "idempotency_mismatch"


async def test_the_same_command_twice_at_once_has_one_effect(player: Player) -> None:
    game = await player.game()
    key = {"agent": "a", "command_id": "e" * 32, "fingerprint": "x"}
    answers = await asyncio.gather(*(player.send("act", game, {"add": 2}, **key) for _ in range(5)))
    assert len({msgspec.json.encode(answer) for answer in answers}) == 1
    assert (await player.call("state", game))[1]["total"] == 2


async def test_a_repeat_is_known_after_a_restart(player: Player, log: ScriptedLog) -> None:
    game = await player.game()
    key = {"agent": "a", "command_id": "d" * 32, "fingerprint": "x"}
    first = await player.call("act", game, {"add": 2}, **key)
    reborn = engine_on(log)
    assert await Player(reborn).call("act", game, {"add": 2}, **key) == first
    await reborn.stop()


async def test_a_pass_with_a_key_is_remembered_and_changes_nothing(player: Player) -> None:
    game = await player.game()
    key = {"agent": "a", "command_id": "c" * 32, "fingerprint": "x"}
    first = await player.call("act", game, "pass", **key)
    assert first == (200, {"status": "pass", "version": 3, "phase": "playing", "hash": None})
    await player.call("act", game, {"add": 1}, agent="b")
    assert await player.call("act", game, "pass", **key) == first


async def test_a_refusal_is_not_remembered(player: Player) -> None:
    _, joined = await player.call("join", agent="a", name="A")
    key = {"agent": "a", "command_id": "b" * 32, "fingerprint": "x"}
    assert (await player.call("act", joined["game_id"], {"add": 1}, **key))[1]["code"] == "not_started"
    await player.call("join", agent="b", name="B")
    assert (await player.call("act", joined["game_id"], {"add": 1}, **key))[0] == 200


async def test_an_unknown_game_is_not_found(player: Player) -> None:
    unknown = "count-00000000-0000-7000-8000-000000000000"
    for op in ("act", "leave", "end", "state", "events", "feed", "log"):
        body = {"reason": "x"} if op == "end" else {}
        assert (await player.call(op, unknown, body, agent="a"))[0] == 404  # type: ignore[arg-type]


async def test_a_bug_in_the_rules_fails_one_call_and_nothing_else(player: Player) -> None:
    game = await player.game()
    assert (await player.call("act", game, "bug", agent="a"))[0] == 503
    assert (await player.call("act", game, {"add": 1}, agent="a"))[0] == 200


async def test_a_bug_is_reported_with_its_place_and_without_what_the_move_held(
    player: Player, capfd: pytest.CaptureFixture[str]
) -> None:
    game = await player.game()
    await player.call("act", game, "bug", agent="a")
    written = "".join(capfd.readouterr())
    assert "decision_failed" in written
    assert "counting.py" in written
    assert "a bug beside {'a'" not in written, "an error's text may hold a hidden choice"


async def test_a_call_nobody_waits_for_is_not_decided(player: Player) -> None:
    game = await player.game()
    assert (await player.call("act", game, {"add": 1}, agent="a", patience_ms=-1_000))[0] == 503
    assert (await player.call("state", game))[1]["total"] == 0


def test_patience_ends_by_the_clock_of_who_was_called() -> None:
    call, now = Call(0, "act", "ox-1", patience_ms=1000), time.monotonic()
    assert PendingCall(call, lambda _: None, received_at=now).seconds_left() <= 1
    assert PendingCall(call, lambda _: None, received_at=now - 1.001).seconds_left() < 0


async def test_a_full_queue_answers_at_once(log: ScriptedLog) -> None:
    engine = engine_on(log, queue_commands=3)
    player = Player(engine)
    game = await player.game()
    log.gate.clear()
    waiting = [player.send("act", game, {"add": 0}, agent="a") for _ in range(5)]
    assert [future.result()[0] for future in waiting[3:]] == [503, 503]
    log.gate.set()
    assert [(await future)[0] for future in waiting[:3]] == [200] * 3
    await engine.stop()


async def test_memory_is_bounded_and_evicted_games_come_back(log: ScriptedLog) -> None:
    engine = engine_on(log, hot_games=5)
    player = Player(engine)
    games = []
    for pair in range(20):
        for seat in "ab":
            _, joined = await player.call("join", agent=f"{pair}{seat}", name="N")
        games.append(joined["game_id"])
    assert len(engine.streams) <= 6
    for pair, game in enumerate(games):
        assert (await player.call("act", game, {"add": 1}, agent=f"{pair}a"))[0] == 200
    await engine.stop()


async def test_each_viewer_gets_the_feed_it_may_see(player: Player) -> None:
    game = await player.game()
    await player.call("act", game, {"add": 7}, agent="a")
    _, own = await player.call("feed", game, {"after": 3}, agent="a")
    _, other = await player.call("feed", game, {"after": 3}, agent="b")
    _, public = await player.call("feed", game, {"after": 0})
    _, events = await player.call("events", game, {"after": 0})
    assert own["messages"][0]["secret"] == 7
    assert "secret" not in other["messages"][0]
    assert public["messages"][3] == other["messages"][0]
    assert events["events"] == public["messages"]
    assert [message["version"] for message in public["messages"]] == [1, 2, 3, 4]
    assert public["messages"][0]["type"] == "progress"
    assert not public["closed"]


async def test_a_caller_of_the_public_subject_cannot_be_anybody(engine: Engine, player: Player) -> None:
    game = await player.game()
    await player.call("act", game, {"add": 7}, agent="a")
    answers: list[Answer] = []
    engine.receive_public(Call(1, "feed", game, b"{}", agent="a", operator=True), answers.append)
    engine.receive_public(Call(2, "log", game, b"{}", operator=True), answers.append)
    engine.receive_public(Call(3, "act", game, b'{"add":1}', agent="a"), answers.append)
    await wait_until(lambda: answers)
    await loop_turns()
    assert [answer.id for answer in answers] == [1]
    assert b"secret" not in answers[0].body


async def test_any_moment_can_be_read_again(player: Player) -> None:
    game = await player.game()
    await player.call("act", game, {"add": 4}, agent="a")
    await player.call("act", game, {"add": 4}, agent="b")
    assert (await player.call("state", game, {"at": 4}))[1] | {"me": ""} == (
        await player.call("state", game, {"at": 4})
    )[1]
    assert [(await player.call("state", game, {"at": at}))[1]["total"] for at in (3, 4, 5)] == [0, 4, 8]
    assert [(await player.call("state", game, {"at": at}))[0] for at in (0, 6)] == [404, 404]
    assert (await player.call("state", game, {"at": 4, "seat": "a"}))[0] == 409
    await player.call("act", game, {"add": 4}, agent="b")
    assert (await player.call("state", game, {"at": 4, "seat": "a"}))[1]["me"] == "a"


async def test_the_log_of_a_running_game_is_the_operators(player: Player) -> None:
    game = await player.game()
    status, refused = await player.call("log", game, agent="a")
    assert (status, refused["code"]) == (403, "not_finished")
    assert (await player.call("log", game, operator=True))[0] == 200
    await player.call("act", game, {"add": 10}, agent="a")
    _, page = await player.call("log", game, {"limit": 2})
    assert (len(page["records"]), page["next_after"], page["more"]) == (2, 2, True)


async def test_a_turn_is_offered_where_the_agent_sits(player: Player) -> None:
    assert await player.call("turn", agent="a") == (200, {"turn": None, "games": []})
    game = await player.game()
    _, answer = await player.call("turn", agent="a")
    assert (answer["turn"]["game_id"], answer["turn"]["actions"][0]["type"]) == (game, "add")
    await player.call("act", game, {"add": 10}, agent="a")
    assert (await player.call("turn", agent="a"))[1] == {"turn": None, "games": []}


async def test_a_deadline_passes_once_though_two_engines_poll(log: ScriptedLog) -> None:
    engines = [engine_on(log, phase_deadline_seconds=60), engine_on(log, phase_deadline_seconds=60)]
    player = Player(engines[0])
    game = await player.game()

    async def poll_both(seconds: int) -> str:
        now = datetime.now(UTC) + timedelta(seconds=seconds)
        await asyncio.gather(*(engine.effects.poll(now) for engine in engines))
        await wait_until(lambda: not any(engine.effects.under_way for engine in engines))
        return str((await player.call("state", game))[1]["phase"])

    assert [await poll_both(seconds) for seconds in (30, 61, 62)] == ["playing", "aborted", "aborted"]
    _, events = await player.call("events", game)
    assert [event["type"] for event in events["events"]].count("game_aborted") == 1
    for engine in engines:
        await engine.stop()


async def test_games_are_listed_newest_first(player: Player) -> None:
    for number in range(3):
        for seat in "ab":
            await player.call("join", agent=f"{number}{seat}", name="N")
    _, page = await player.call("games", "", {"limit": 2})
    assert [line["phase"] for line in page["games"]] == ["playing", "playing"]
    last = page["games"][-1]
    _, rest = await player.call("games", "", {"before": [last["created_at"], last["game_id"]]})
    assert len(rest["games"]) == 1
    assert {line["game_id"] for line in rest["games"]}.isdisjoint(line["game_id"] for line in page["games"])


async def test_draining_answers_what_was_taken(log: ScriptedLog) -> None:
    engine = engine_on(log)
    player = Player(engine)
    game = await player.game()
    log.gate.clear()
    waiting = player.send("act", game, {"add": 1}, agent="a")
    stopping = asyncio.create_task(engine.stop())
    await loop_turns()
    log.gate.set()
    assert (await waiting)[0] == 200
    await stopping


async def test_a_part_that_ends_ends_the_process(log: ScriptedLog) -> None:
    log.faults = ["bug"]
    engine = engine_on(log)
    waiting = Player(engine).send("join", agent="a", name="A")

    with pytest.raises(SystemExit) as ended:
        async with asyncio.timeout(30):
            await until_stopped(asyncio.Event(), engine.tasks)

    assert ended.value.code == 1
    assert not waiting.done(), "a call is not answered before its commit"
    for task in engine.tasks:
        task.cancel()


async def _over(player: Player) -> str:
    game = await player.game()
    await player.call("act", game, {"add": 10}, agent="a")
    return game


@pytest.mark.parametrize("remembered", [True, False])
@pytest.mark.parametrize(
    ("op", "body", "options"),
    [
        ("state", {}, {}),
        ("state", {"at": 1}, {}),
        ("events", {}, {}),
        ("feed", {}, {"agent": "a"}),
        ("log", {}, {"operator": True}),
        ("operator", {}, {"operator": True}),
        ("act", {"add": 1}, {"agent": "a"}),
        ("leave", {}, {"agent": "a"}),
        ("end", {"reason": "old"}, {"operator": True}),
    ],
)
async def test_an_archived_game_is_refused_and_never_folded(
    player: Player, log: ScriptedLog, op: Op, body: Any, options: dict[str, Any], remembered: bool
) -> None:
    game = await _over(player)
    log.archive(game)
    if not remembered:
        player.engine.streams.drop(game)
    status, problem = await player.call(op, game, body, **options)
    assert status == 404
    assert "archived" in problem["detail"]


@pytest.mark.parametrize("remembered", [True, False])
async def test_an_agent_whose_last_game_was_archived_is_free(
    player: Player, log: ScriptedLog, remembered: bool
) -> None:
    game = await _over(player)
    log.archive(game)
    if not remembered:
        player.engine.streams.drop(game)
    assert await player.call("turn", agent="a") == (200, {"turn": None, "games": []})
    status, joined = await player.call("join", agent="a", name="A")
    assert (status, joined["seated"]) == (200, 1)
    assert joined["game_id"] != game


async def test_an_open_game_that_was_archived_is_passed_over(player: Player, log: ScriptedLog) -> None:
    _, joined = await player.call("join", agent="a", name="A")
    await player.call("end", joined["game_id"], {"reason": "closed"}, operator=True)
    log.archive(joined["game_id"])
    player.engine.streams.drop(joined["game_id"])
    for agent in ("b", "a"):
        status, again = await player.call("join", agent=agent, name="X")
        assert status == 200
        assert again["game_id"] != joined["game_id"]


async def test_an_action_passes_the_files_of_the_architecture_page_once_and_in_order() -> None:
    async with asyncio.timeout(20):
        feed = Feed(lambda *_: None, lambda *_: None, 1)

        def committed(commits: Sequence[StoredRecords]) -> None:
            feed.committed(commits)
            sys.setprofile(None)  # what follows belongs to the next commit

        engine = Engine(Counting(), ScriptedLog(), EngineSettings(), committed)
        engine.start()
        player = Player(engine)
        game = await player.game()
        passed: list[str] = []

        def note(frame: FrameType, event: str, _: object) -> None:
            _, inside, path = frame.f_code.co_filename.rpartition("/core/playmolt_core/engine/")
            if event == "call" and inside and Path(path).name not in _VALUES and path not in passed[-1:]:
                passed.append(path)

        sys.setprofile(note)
        try:
            status, _ = await player.call("act", game, {"add": 1}, agent="a")
        finally:
            sys.setprofile(None)
        await engine.stop()
    page = (Path(__file__).parents[3] / "docs" / "architecture.md").read_text("utf-8")
    _, _, life = page.partition("## Life of an action")
    listed = re.findall(r"^ +core/playmolt_core/engine/(\S+)", life.partition("## ")[0], re.MULTILINE)
    assert (status, passed) == (200, listed)


_VALUES = {"pending_call.py", "plans.py", "cached_stream.py", "stream_cache.py", "messages.py", "lobbies.py"}


@pytest.mark.parametrize("counted", [False, True])
async def test_the_end_of_a_game_loads_its_faults_only_if_there_are_some(
    player: Player, log: ScriptedLog, counted: bool
) -> None:
    game = await player.game()
    if counted:
        assert await log.note_fault(game, Fault(agent_id="a", kind="bot", what="refused"))
    status, ended = await player.call("act", game, {"add": 10}, agent="a")
    assert (status, ended["phase"]) == (200, "end")
    assert log.counted == [game] * counted
