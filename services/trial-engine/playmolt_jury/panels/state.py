"""The state of a panel: the fold of its events. Its tuples and dicts are never mutated."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Final

import msgspec
from playmolt_core.game.game import Changes, Fold
from playmolt_schemas.games.jury_panels import PanelStatus, PanelStopView
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.panels import (
    JuryOutcome,
    JuryPlayed,
    JurySetAside,
    PanelAborted,
    PanelBudget,
    PanelFinished,
    PanelOpened,
    PanelPlan,
    PanelResumed,
    PanelSpent,
    PanelStopped,
)
from playmolt_schemas.text import decimal_text

JuryName = str
"""See `name_of`."""


def name_of(number: int, script: str) -> JuryName:
    """What a panel calls a jury of its own."""
    return f"{number}/{script}"


class PlayedJury(msgspec.Struct, frozen=True):
    """What the panel keeps in memory of a jury that is over; its moves are in the log."""

    session: str
    outcome: JuryOutcome


class PanelState(msgspec.Struct, frozen=True, kw_only=True):
    game_id: str
    version: int = 0
    owner: str = ""
    name: str = ""
    plan: PanelPlan | None = None
    budget: PanelBudget = PanelBudget()
    status: PanelStatus = "running"
    since: datetime | None = None
    """When it was opened or last resumed."""
    stopped: PanelStopView | None = None
    stops: int = 0
    played: dict[JuryName, PlayedJury] = {}
    aside: dict[JuryName, PanelSpent] = {}
    """What the unfinished juries had cost when the panel stopped."""
    settled: frozenset[JuryName] = frozenset()
    """The juries that were found not to go on since the panel stopped."""
    finished_spent: PanelSpent = PanelSpent()

    @property
    def over(self) -> bool:
        return self.status in ("finished", "aborted")

    @property
    def juries(self) -> int:
        """How many juries the plan has."""
        return self.plan.n * len(self.plan.scripts) if self.plan else 0

    @property
    def spent(self) -> PanelSpent:
        """What the models have cost, without the juries that are being played."""
        found = self.finished_spent
        for each in self.aside.values():
            found = added(found, each)
        return found


def added(one: PanelSpent, other: PanelSpent) -> PanelSpent:
    """The sum; its money is unknown as soon as one is."""
    money = None
    if one.money is not None and other.money is not None:
        money = decimal_text(Decimal(one.money) + Decimal(other.money))
    return PanelSpent(money=money, tokens=one.tokens + other.tokens, calls=one.calls + other.calls)


def _opened(_: PanelState, event: PanelOpened, at: datetime) -> Changes:
    return {"owner": event.owner, "name": event.name, "plan": event.plan, "budget": event.plan.budget, "since": at}


def _played(state: PanelState, event: JuryPlayed, _: datetime) -> Changes:
    name = name_of(event.number, event.script)
    return {
        "played": {**state.played, name: PlayedJury(event.session, event.outcome)},
        "aside": _without(state, name),
        "finished_spent": added(state.finished_spent, event.spent),
    }


def _set_aside(state: PanelState, event: JurySetAside, _: datetime) -> Changes:
    name = name_of(event.number, event.script)
    aside = {**state.aside, name: event.spent} if event.session else state.aside
    if state.status != "stopped":  # resumed in the meantime: the jury goes on
        return {"aside": aside}
    return {"aside": aside, "settled": state.settled | {name}}


def _without(state: PanelState, name: JuryName) -> dict[JuryName, PanelSpent]:
    if name not in state.aside:
        return state.aside
    return {other: spent for other, spent in state.aside.items() if other != name}


def _stopped(state: PanelState, event: PanelStopped, _: datetime) -> Changes:
    view = PanelStopView(by=event.by, detail=event.detail)
    return {"status": "stopped", "stopped": view, "stops": state.stops + 1}


def _resumed(_: PanelState, event: PanelResumed, at: datetime) -> Changes:
    return {"status": "running", "stopped": None, "budget": event.budget, "since": at, "settled": frozenset()}


def _finished(_: PanelState, __: PanelFinished, ___: datetime) -> Changes:
    return {"status": "finished", "stopped": None}


def _aborted(_: PanelState, __: PanelAborted, ___: datetime) -> Changes:
    return {"status": "aborted"}


FOLDS: Final[Mapping[type[Event], Fold]] = {
    PanelOpened: _opened,
    JuryPlayed: _played,
    JurySetAside: _set_aside,
    PanelStopped: _stopped,
    PanelResumed: _resumed,
    PanelFinished: _finished,
    PanelAborted: _aborted,
}
