"""The state of an O/X game: the fold of its events. Its tuples and dicts are never mutated."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec
from msgspec.structs import replace
from playmolt_core.game.game import Changes, Fold
from playmolt_core.game.seats import state as seats
from playmolt_core.game.seats.state import SeatedState, entered
from playmolt_schemas.games.ox import FinishedRound, Phase, RevealRow, RoundChoice
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.ox import (
    Choice,
    FirstChoiceSubmitted,
    GameEnded,
    GameStarted,
    OxResult,
    QuestionOpened,
    Revealed,
    RoundCounted,
    ScoreboardRow,
    SwitchSubmitted,
)
from playmolt_schemas.stored.values import identity_of


class Seat(seats.Seat, frozen=True, gc=False):
    """A seat and what it has gathered; `monopolies` counts the rounds won alone."""

    points: int = 0
    monopolies: int = 0
    switch_used: bool = False


class Pick(msgspec.Struct, frozen=True, gc=False):
    """A first choice: secret until the reveal."""

    choice: Choice
    comment: str


class Move(msgspec.Struct, frozen=True, gc=False):
    """A switch decision: public at once."""

    switched: bool
    comment: str


class State(SeatedState[Seat], frozen=True, gc=False, kw_only=True):
    """An O/X game. `picks` and `moves` are those of the present round, in the order they came."""

    phase: Phase = "waiting"
    lots: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    question: str | None = None
    picks: dict[str, Pick] = msgspec.field(default_factory=dict)
    reveal: tuple[RevealRow, ...] = ()
    moves: dict[str, Move] = msgspec.field(default_factory=dict)
    history: tuple[FinishedRound, ...] = ()
    final_scoreboard: tuple[ScoreboardRow, ...] | None = None
    results: tuple[OxResult, ...] | None = None

    @property
    def submissions(self) -> Mapping[str, Pick | Move]:
        """What is in of the present phase, by agent; empty in a phase that takes nothing."""
        if self.phase == "first_choice":
            return self.picks
        return self.moves if self.phase == "switch" else {}

    def final_choice(self, agent_id: str) -> Choice | None:
        """An agent's choice after its switch decision of this round; None before."""
        move = self.moves.get(agent_id)
        if move is None:
            return None
        choice = self.picks[agent_id].choice
        return flipped(choice) if move.switched else choice


def flipped(choice: Choice) -> Choice:
    return "X" if choice == "O" else "O"


def _started(state: State, event: GameStarted, at: datetime) -> Changes:
    seats = tuple(Seat(player.id, player.name, **identity_of(player)) for player in event.participants)
    return {"seats": seats, "lots": event.lots, "questions": event.questions, **entered(state, "first_choice", 1, at)}


def _opened(state: State, event: QuestionOpened, at: datetime) -> Changes:
    afresh: Changes = {"picks": {}, "reveal": (), "moves": {}}
    return {"question": event.question, **afresh, **entered(state, "first_choice", event.round, at)}


def _picked(state: State, event: FirstChoiceSubmitted, _: datetime) -> Changes:
    return {"picks": {**state.picks, event.agent_id: Pick(event.choice, event.comment)}}


def _revealed(state: State, event: Revealed, at: datetime) -> Changes:
    lines = tuple(
        RevealRow(id=shown.agent_id, name=shown.name, choice=shown.choice, comment=shown.comment)
        for shown in event.choices
    )
    return {"reveal": lines, **entered(state, "switch", event.round, at)}


def _moved(state: State, event: SwitchSubmitted, _: datetime) -> Changes:
    moves = {**state.moves, event.agent_id: Move(event.switched, event.comment)}
    if not event.switched:
        return {"moves": moves}
    seats = tuple(replace(seat, switch_used=True) if seat.id == event.agent_id else seat for seat in state.seats)
    return {"moves": moves, "seats": seats}


def _counted(state: State, event: RoundCounted, _: datetime) -> Changes:
    finished = FinishedRound(
        round=event.round,
        question=state.question or "",
        distribution=event.final_distribution,
        minority=event.minority,
        points_awarded=event.points_awarded,
        winners=event.winners,
        choices=tuple(_round_choice(state, seat) for seat in state.seats),
    )
    alone = len(event.winners) == 1
    seats = tuple(
        replace(seat, points=seat.points + event.points_awarded, monopolies=seat.monopolies + alone)
        if seat.id in event.winners
        else seat
        for seat in state.seats
    )
    return {"history": (*state.history, finished), "seats": seats}


def _round_choice(state: State, seat: Seat) -> RoundChoice:
    pick, move = state.picks[seat.id], state.moves[seat.id]
    return RoundChoice(
        id=seat.id,
        first_choice=pick.choice,
        final_choice=flipped(pick.choice) if move.switched else pick.choice,
        switched=move.switched,
        comment=pick.comment,
        switch_comment=move.comment,
    )


def _ended(state: State, event: GameEnded, at: datetime) -> Changes:
    return {
        "final_scoreboard": event.final_scoreboard,
        "results": event.results,
        **entered(state, "end", state.round, at),
    }


FOLDS: Final[Mapping[type[Event], Fold]] = {
    **seats.folds(Seat),
    GameStarted: _started,
    QuestionOpened: _opened,
    FirstChoiceSubmitted: _picked,
    Revealed: _revealed,
    SwitchSubmitted: _moved,
    RoundCounted: _counted,
    GameEnded: _ended,
}
