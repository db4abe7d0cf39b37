"""The arena in its engine: refusals are counted, a seat comes back, who resigned sits elsewhere."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from playmolt_core.engine.engine import Engine
from playmolt_core.engine.settings import EngineSettings
from playmolt_core.game.decider import DeadlinePassed
from playmolt_core.log.memory import MemoryLog
from playmolt_ox.rules import Ox
from playmolt_schemas.envelopes import Answer, Call, Op

PICK = {"type": "first_choice", "choice": "O", "comment": "x"}
JUNK = {"type": "first_choice", "choice": "?", "comment": "x"}


class Arena:
    def __init__(self, **settings: Any) -> None:
        self.engine = Engine(Ox(), MemoryLog(), EngineSettings(**settings), lambda _: None)
        self.engine.start()
        self.game = ""

    async def call(
        self, op: Op, agent: str, body: Any = None, target: str | None = None, *, present: bool = False
    ) -> tuple[int, Any]:
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        call = Call(
            1, op, self.game if target is None else target, msgspec.json.encode(body or {}),
            agent=agent, name=agent, command_id=uuid.uuid4().hex, present=present,
        )  # fmt: skip
        self.engine.receive(call, answered.set_result)
        async with asyncio.timeout(30):
            answer = await answered
        return answer.status, msgspec.json.decode(answer.body)

    async def seated(self) -> None:
        for agent in "abcde":
            _, joined = await self.call("join", agent, target="")
        self.game = joined["game_id"]

    async def faults(self) -> list[tuple[str, str, int]]:
        await self.call("end", "", {"reason": "seen"})
        _, state = await self.call("state", "")
        return [(fault["agent_id"], fault["what"], fault["count"]) for fault in state["faults"]]


@pytest.fixture
async def arena() -> AsyncIterator[Arena]:
    arena = Arena()
    await arena.seated()
    yield arena
    await arena.engine.stop()


async def test_refusals_store_nothing_and_are_all_in_the_ledger(arena: Arena) -> None:
    _, before = await arena.call("state", "")
    for _ in range(3):
        assert (await arena.call("act", "a", JUNK))[0] == 400
    assert (await arena.call("state", ""))[1]["version"] == before["version"]
    _, accepted = await arena.call("act", "b", PICK)
    assert accepted["version"] == before["version"] + 1
    assert (await arena.call("act", "a", JUNK))[0] == 400
    assert (await arena.call("act", "b", PICK))[0] == 409
    ended = [(agent, "ended", 1) for agent in "abcde"]
    assert await arena.faults() == [("a", "refused", 4), *ended]


async def test_who_resigned_may_sit_elsewhere_at_once(arena: Arena) -> None:
    status, resigned = await arena.call("resign", "a")
    assert (status, resigned["status"], resigned["phase"]) == (200, "resigned", "first_choice")
    assert (await arena.call("act", "a", PICK))[1]["code"] == "already_resigned"
    _, joined = await arena.call("join", "a", target="")
    assert joined["game_id"] != arena.game
    assert (await arena.call("join", "b", target=""))[1]["game_id"] == arena.game


async def test_a_forfeit_names_what_went_wrong(arena: Arena) -> None:
    status, body = await arena.call("forfeit", "a", {"what": "timeout", "kind": "provider"})
    assert (status, body["status"], body["phase"]) == (200, "forfeited", "first_choice")
    status, body = await arena.call("forfeit", "a", {"what": "timeout"})
    assert (status, body["code"]) == (409, "nothing_to_forfeit")
    assert ("a", "timeout", 1) in await arena.faults()


async def test_slow_games_have_a_lobby_and_deadlines_of_their_own() -> None:
    arena = Arena(phase_deadline_seconds=7)
    games = {}
    for agent, pace in zip("abcdefghij", ["slow", "quick"] * 5, strict=True):
        _, joined = await arena.call("join", agent, {"pace": pace}, target="")
        games.setdefault(pace, set()).add(joined["game_id"])
    for pace, seconds in (("slow", 600), ("quick", 7)):
        [arena.game] = games[pace]
        _, state = await arena.call("state", "")
        assert (state["pace"], state["phase"]) == (pace, "first_choice")
        assert seconds - 5 < state["seconds_left"] <= seconds
    _, listed = await arena.call("games", "", {"limit": 5}, target="")
    assert {(row["game_id"], row["pace"]) for row in listed["games"]} == {
        (game, pace) for pace, [game] in games.items()
    }
    await arena.engine.stop()


async def away() -> Arena:
    """An arena whose seat "a" is away."""
    arena = Arena()
    await arena.seated()
    for action in (PICK, {"type": "switch", "use_switch": False}):
        for agent in "bcde":
            await arena.call("act", agent, action)
        snapshot = await arena.engine.committed.snapshot(arena.game)
        assert snapshot is not None
        [deadline] = arena.engine.decider.effects(snapshot.state)
        await arena.engine.submit(arena.game, DeadlinePassed(effect_id=deadline.id), uuid.uuid4().hex)
    return arena


@pytest.mark.parametrize(
    ("op", "target"), [("state", None), ("turn", ""), ("events", None), ("feed", None), ("log", None)]
)
async def test_a_request_of_the_agent_itself_brings_its_seat_back_before_the_answer(op: Op, target: str | None) -> None:
    arena = await away()
    for agent, present in (("a", False), ("b", True), ("", True)):
        await arena.call(op, agent, target=target, present=present)
        assert (await arena.call("state", ""))[1]["participants"][0]["away"] is True
    await arena.call(op, "a", target=target, present=True)
    _, state = await arena.call("state", "")
    assert state["participants"][0]["away"] is False
    await arena.call(op, "a", target=target, present=True)
    assert (await arena.call("state", ""))[1]["version"] == state["version"]
    await arena.engine.stop()


@pytest.mark.parametrize(("what", "answers"), [("callback_status", True), ("callback_timeout", False)])
async def test_a_callback_that_answers_without_an_action_brings_a_seat_back(what: str, *, answers: bool) -> None:
    arena = await away()
    assert await arena.call("fault", "a", {"what": what}) == (200, {})
    assert (await arena.call("state", ""))[1]["participants"][0]["away"] is not answers
    assert ("a", what, 1) in await arena.faults()
    await arena.engine.stop()


async def test_a_refused_action_brings_a_seat_back_before_it_is_reported() -> None:
    arena = await away()
    assert (await arena.call("act", "a", {"type": "?"}))[0] == 400
    _, state = await arena.call("state", "")
    assert state["participants"][0]["away"] is False
    await arena.engine.stop()
