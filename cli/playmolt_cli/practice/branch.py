"""Continues a stored game from one of its events, with another bot in one seat."""

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from playmolt.bots import MIXED
from playmolt_core.game.decider import Command, Decider
from playmolt_core.game.fold import time_of
from playmolt_schemas.records import Metadata, Record
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.seats import Submitted

from playmolt_cli.match.entrants import Deal, Entrant, Player, house
from playmolt_cli.match.playing import Watchdog, play
from playmolt_cli.match.table import GameTable, LocatedForfeit, TableSeat, TableTurn
from playmolt_cli.match.tournament import place_of
from playmolt_cli.practice.decisions import (
    DecisionPoint,
    StoredDecision,
    action_of,
    alike,
    decision_point,
    decisions,
    state_after,
)


class SeatScore(msgspec.Struct, frozen=True):
    """Result of a seat."""

    agent_id: str
    name: str
    rank: int | None
    points: int


class ChangedDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A changed decision of the seat; None if it forfeited or was not asked."""

    phase: str
    round: int
    stored: Mapping[str, Any] | None
    played: Mapping[str, Any] | None


class BranchRun(msgspec.Struct, frozen=True, kw_only=True):
    """One continuation. `kept`: stored decisions of the other seats; `house`: decisions by house bots."""

    results: Sequence[SeatScore]
    decisions: Sequence[ChangedDecision]
    kept: int
    house: int


class Branch:
    """A game up to an event, and the stored decisions after it."""

    def __init__(self, decider: Decider, records: Sequence[Record], version: int, agent_id: str) -> None:
        self._decider = decider
        self._agent_id = agent_id
        version = _end_of_step(records, version)
        self._at = time_of(records[version - 1])
        self.state = state_after(decider, records[:version])
        self._stored = [one for one in decisions(decider, records) if one.version > version]
        self.ended = seat_scores(state_after(decider, records))

    async def play(self, entrant: Entrant, deal: Deal, watchdog: Watchdog) -> BranchRun:
        """Play to the end; raises GameStuck."""
        names = self._decider.participants(self.state)
        submitted: list[tuple[DecisionPoint, Mapping[str, Any] | None]] = []
        before = self.state

        def commit(_: Command, steps: Sequence[tuple[Event, Any]], __: str | None) -> None:
            nonlocal before
            for event, state in steps:
                if isinstance(event, Submitted):
                    asked = decision_point(self._decider, before, event.agent_id)
                    submitted.append((asked, action_of(self._decider, event)))
                before = state

        seats = [TableSeat(agent, name) for agent, name in names.items()]
        table = GameTable(self._decider, self.state, seats, commit, self._at)
        others = _Others(self._decider, table, self._stored)
        entrants, players = dict[str, Entrant](), dict[str, Player]()
        for place, (agent, name) in enumerate(names.items()):
            mine = agent == self._agent_id
            entrants[agent] = entrant if mine else house(name, {}, MIXED, deal.seed, place=place)
            player = entrants[agent].sit(deal, place + 1)
            players[agent] = player if mine else others.player(agent, player)
        return self._course(await play(table, players, entrants, watchdog), submitted)

    def _course(self, state: Any, submitted: Sequence[tuple[DecisionPoint, Mapping[str, Any] | None]]) -> BranchRun:
        stored = [(one.question, one.action) for one in self._stored]
        others = [one for one in submitted if one[0].agent_id != self._agent_id]
        kept = sum(one in stored for one in others)
        mine, was = (
            {asked: action for asked, action in line if asked.agent_id == self._agent_id}
            for line in (submitted, stored)
        )
        changed = [
            ChangedDecision(phase=asked.phase, round=asked.round, stored=was.get(asked), played=mine.get(asked))
            for asked in dict.fromkeys((*was, *mine))
            if not alike(was.get(asked), mine.get(asked))
        ]
        return BranchRun(results=seat_scores(state), decisions=changed, kept=kept, house=len(others) - kept)


class _Others:
    """The other seats: repeat their stored decisions while the rules accept them, else a house bot decides."""

    def __init__(self, decider: Decider, table: GameTable, stored: Sequence[StoredDecision]) -> None:
        self._decider = decider
        self._table = table
        self._stored: Mapping[DecisionPoint, deque[StoredDecision]] = defaultdict(deque)
        for one in stored:
            self._stored[one.question].append(one)

    def player(self, agent_id: str, house_bot: Player) -> Player:
        def ask(turn: TableTurn) -> Any:
            left = self._stored[decision_point(self._decider, self._table.state, agent_id)]
            if turn.refused is not None or not left:
                return house_bot(turn)
            action = left.popleft().action
            return LocatedForfeit("deadline") if action is None else action

        return ask


def seat_scores(state: Any) -> Sequence[SeatScore]:
    """The results of a finished game, in order; empty if it was aborted."""
    return [SeatScore(row.agent_id, row.name, place_of(row).rank, row.points) for row in state.results or ()]


def _end_of_step(records: Sequence[Record], version: int) -> int:
    """The last event of the same command: no seat acts in between."""
    commands = [msgspec.json.decode(record.metadata, type=Metadata).command_id for record in records]
    while version < len(records) and commands[version] == commands[version - 1]:
        version += 1
    return version
