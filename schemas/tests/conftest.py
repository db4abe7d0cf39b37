"""Plays every bot game, for tests that all games share."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from playmolt_cli.games import deciders
from playmolt_core.game.decider import (
    Accepted,
    Act,
    Command,
    Create,
    DeadlinePassed,
    Decider,
    EndGame,
    Join,
    Leave,
    Resign,
)
from playmolt_schemas.identifiers import GAME_TYPES
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.values import Identity

DECIDERS: Mapping[str, Decider] = {game: rules for game, rules in deciders().items() if game in GAME_TYPES}
VALID_ACTIONS: Mapping[str, list[dict[str, Any]]] = {
    "speak": [{"type": "speak", "text": "검사의 말이 맞습니다. 😀"}],
    "vote": [{"type": "vote", "verdict": verdict} for verdict in ("GUILTY", "NOT_GUILTY")],
    "first_choice": [{"type": "first_choice", "choice": choice, "comment": "다수를 피합니다"} for choice in "OX"],
    "switch": [{"type": "switch", "use_switch": use, "comment": "그대로"} for use in (False, True)],
}


def agents(decider: Decider) -> list[str]:
    return [f"agent-{n}" for n in range(decider.needed)]


def commands_of_a_game(decider: Decider, *, deadline: int = 0) -> list[Command]:
    """Commands that open and fill a game; one agent leaves again."""
    joins = [
        Join(agent_id=agent, name=f"이름 {agent}", identity=Identity(handle=agent, kind="bot", version="2", model=None))
        for agent in agents(decider)
    ]
    create = Create(seed="20260301", config={"phase_deadline_seconds": deadline})
    early = replace(joins[0], agent_id="early", name="Early")
    return [create, early, Leave(agent_id="early"), *joins]


class Play:
    """One game during play: its state, and every event with the time of its storage."""

    def __init__(self, decider: Decider, game_id: str) -> None:
        self.decider = decider
        self.state = decider.initial(game_id)
        self.log: list[tuple[Event, datetime, Any]] = []
        self.now = datetime(2026, 3, 1, tzinfo=UTC)

    def when(self, command: Command) -> bool:
        """Decide and fold a command; return whether it was accepted."""
        decision = self.decider.decide(self.state, command, self.now)
        if not isinstance(decision, Accepted):
            return False
        for event in decision.events:
            self.state = self.decider.evolve(self.state, event, self.now)
            self.log.append((event, self.now, self.state))
        return True

    def waiting_for(self, last: str = "") -> tuple[str, str] | None:
        """An agent that the game waits for (`last` only if it waits for no other) and the type of the action."""
        wanted = [
            (agent, offer.type)
            for agent in self.decider.participants(self.state)
            for offer in self.decider.allowed_actions(self.state, agent)
        ]
        return next((want for want in wanted if want[0] != last), wanted[0] if wanted else None)

    def answer(self, agent: str, kind: str) -> None:
        """Send one of the valid actions of a type."""
        actions = VALID_ACTIONS[kind]
        if not self.when(Act(agent_id=agent, action=actions[len(self.log) % len(actions)])):
            assert self.when(Act(agent_id=agent, action=actions[0]))

    def to_the_end(self) -> "Play":
        while wanted := self.waiting_for():
            self.answer(*wanted)
        return self


def played(game: str, *, deadline: int = 0) -> Play:
    """A game that its agents have just filled."""
    play = Play(DECIDERS[game], f"{game}-1")
    for command in commands_of_a_game(play.decider, deadline=deadline):
        assert play.when(command)
    return play


def resigned(game: str) -> Play:
    """Play a game to its end, in which a seat leaves, returns and resigns."""
    play = played(game, deadline=5)
    first, *others = agents(play.decider)
    play.when(DeadlinePassed(effect_id=play.decider.effects(play.state)[0].id, lost_ms=4_000))
    for _ in range(2):
        for agent in others:
            for offer in play.decider.allowed_actions(play.state, agent):
                play.answer(agent, offer.type)
        play.when(DeadlinePassed(effect_id=play.decider.effects(play.state)[0].id))
    play.answer(first, play.decider.allowed_actions(play.state, first)[0].type)
    play.when(Resign(agent_id=first))
    return play.to_the_end()


def every_event(game: str) -> list[Event]:
    """Events of all stored types of a game, from one played to its end, one forfeited and one aborted."""
    ended = played(game).to_the_end()
    forfeited = played(game, deadline=5)
    while effects := forfeited.decider.effects(forfeited.state):
        forfeited.when(DeadlinePassed(effect_id=effects[0].id))
    aborted = played(game)
    aborted.when(EndGame(reason="점검 때문에 끝냅니다."))
    return [event for play in (ended, forfeited, resigned(game), aborted) for event, _, _ in play.log]


def encoded(value: Any) -> bytes:
    return msgspec.json.encode(value)


@pytest.fixture(params=sorted(DECIDERS))
def game(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def decider(game: str) -> Decider:
    return DECIDERS[game]


@pytest.fixture
def events(game: str) -> list[Event]:
    return every_event(game)


@pytest.fixture
def plays() -> Any:
    return played
