"""Workers beside the decider: house bots of a table, what a closing message means, and the seats of a tournament."""

import asyncio
import json
from asyncio import Future
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from playmolt_core.db.accounts import Agent
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.effects.leased_effect import LeasedEffect
from playmolt_core.game.decider import Accepted, Command, EndGame
from playmolt_core.game.engine_module import engines
from playmolt_core.game.seats.rules import SeatedGame
from playmolt_schemas.codes import Code, problem_bytes
from playmolt_schemas.envelopes import Answer
from playmolt_schemas.identifiers import GAME_TYPES
from playmolt_schemas.registry import games
from playmolt_schemas.stored.tournament import Outcome
from playmolt_schemas.stored.values import Fault
from playmolt_tournament import commands, effects
from playmolt_tournament.effects import TableToSeat
from playmolt_tournament.state import State
from playmolt_tournament.workers.results import LastMessage, outcome_of
from playmolt_tournament.workers.tables import TableWorker, command_of, house_numbers
from tournament_driver import START, Driver

if TYPE_CHECKING:
    from playmolt_core.bus.port import EngineCalls
    from playmolt_core.effects.leased_effect import CommittedStreams
    from playmolt_core.game.fold import Snapshot

TABLES = ((1, 2, 0, 0), (3, 4, 5, 0), (6, 7, 8, 9))


def place(round_: int = 1, table: int = 1, attempt: int = 1) -> TableToSeat:
    return TableToSeat(round_, table, attempt, (), ())


def test_tables_of_a_round_share_no_house_bot() -> None:
    numbers = [house_numbers(TABLES, place(table=table), arena=False) for table in (1, 2, 3)]
    assert numbers == [[1, 2], [3], []]
    assert [house_numbers(TABLES, place(round_=2, table=table), arena=False) for table in (1, 2, 3)] == numbers


def test_a_game_that_is_played_again_and_rounds_of_an_arena_have_other_house_bots() -> None:
    for arena in (False, True):
        first, again = (set(house_numbers(TABLES, place(attempt=attempt), arena=arena)) for attempt in (1, 2))
        assert not first & again
    rounds = [set(house_numbers(TABLES, place(round_=number), arena=True)) for number in (1, 2, 3)]
    assert len(set.union(*rounds)) == 6


def test_a_tables_game_follows_from_its_place() -> None:
    names = {command_of(cup, place(*where)) for cup in "ab" for where in ((1, 1), (1, 2), (2, 1), (1, 1, 2))}
    assert len(names) == 8
    assert command_of("a", place()) == command_of("a", place())
    assert all(len(name) == 32 for name in names)


class Engines:
    """A game's engine that refuses every table."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.asked: list[dict[str, Any]] = []

    def submit(self, game: str, op: str, target: str, body: bytes, **given: object) -> "Future[Answer]":
        del game, op, target, given
        self.asked.append(json.loads(body))
        answered: Future[Answer] = asyncio.get_running_loop().create_future()
        answered.set_result(Answer(1, self.code.status, problem_bytes(self.code, "No.")))
        return answered


class Agents:
    async def entrants(self, agent_ids: Sequence[str]) -> Mapping[str, Agent]:
        return {agent: Agent(agent, agent) for agent in agent_ids}

    async def banned(self, subjects: Sequence[str]) -> Collection[str]:
        del subjects
        return ()

    async def house_bots(self, tournament: str, numbers: Sequence[int]) -> Sequence[Agent]:
        return [Agent(f"{tournament}-{number}", "house", kind="house") for number in numbers]

    async def note_table(self, game_id: str, agent_ids: Sequence[str]) -> None:
        raise AssertionError(f"{game_id} does not exist")


@pytest.mark.parametrize(
    ("code", "command"),
    [
        (Code.TOURNAMENT_OVER, commands.DropTable(round=1, table=1, attempt=1)),
        (Code.INVALID_REQUEST, EndGame(reason="No.")),
        (Code.ALREADY_SEATED, None),
    ],
)
async def test_what_becomes_of_a_table_whose_game_is_refused(code: Code, command: Command | None) -> None:
    arena = Driver().created(format="arena", duration_minutes=5).joined(1, 2).started().pair()
    (effect,) = arena.due(effects.SEAT)
    engines, sent = Engines(code), list[Command]()

    async def submit(_: str, given: Command, __: str) -> Accepted:
        sent.append(given)
        return Accepted()

    leased = LeasedEffect(
        "tournament-1", effect, cast("Snapshot[State]", SimpleNamespace(state=arena.state)), 1, submit,
        cast("CommittedStreams[State]", None),
    )  # fmt: skip
    with suppress(LogUnavailable):  # it is retried
        await TableWorker(cast("EngineCalls", engines), Agents())(cast("LeasedEffect[TableToSeat, State]", leased))
    assert sent == ([command] if command else [])
    assert [datetime.fromisoformat(body["begins_before"]) for body in engines.asked] == [START + timedelta(minutes=5)]


@pytest.mark.parametrize(
    ("message", "outcome"),
    [
        (LastMessage("game_end"), "ended"),
        (LastMessage("game_end", faults=[Fault(agent_id="a", kind="platform", what="outage")]), "ended"),
        (LastMessage("game_aborted", "abandoned"), "abandoned"),
        (LastMessage("game_aborted", "abandoned", [Fault(agent_id="a", kind="bot", what="deadline")]), "abandoned"),
        (LastMessage("game_aborted", "abandoned", [Fault(agent_id="a", kind="platform", what="outage")]), "void"),
        (LastMessage("game_aborted", "stuck", [Fault(agent_id="a", kind="operator", what="ended")]), "void"),
        (LastMessage("game_aborted", "abandoned", [Fault(agent_id="a", kind="operator", what="ended")]), "void"),
    ],
)
def test_a_game_without_results_counts_only_if_its_agents_abandoned_it(message: LastMessage, outcome: Outcome) -> None:
    assert outcome_of(message) == outcome


@pytest.mark.parametrize("game", GAME_TYPES)
def test_the_seats_and_roles_of_a_manifest_are_those_of_the_rules(game: str) -> None:
    manifest = games()[game]
    rules = engines()[manifest.service].deciders[game].load()()
    assert isinstance(rules, SeatedGame)
    assert (manifest.seats, manifest.roles) == (rules.needed, rules.roles)
