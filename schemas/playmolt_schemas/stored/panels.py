"""The stored events of a panel of juries, and the values that they hold. Their names and fields are the storage format.

No event holds what was said in a jury: each jury is a sealed session of its own.
"""

from typing import ClassVar, Final, Literal

import msgspec

from playmolt_schemas.stored.event import Event, stored_types
from playmolt_schemas.stored.jury import Cause, Language

JURIES_MOST: Final = 500
"""Juries of each script."""
SCRIPTS_MOST: Final = 4
TEXT_CHARS: Final = 1000
PanelChain = Literal["none", "last"]
StoppedBy = Literal["budget", "owner", "model"]
JuryOutcome = Literal["guilty", "not_guilty", "missing"]


class PanelBudget(msgspec.Struct, frozen=True, kw_only=True):
    """The most that the models of a panel may cost; None: no limit. `money` is a decimal text."""

    money: str | None = None
    tokens: int | None = None
    calls: int | None = None


class PanelSpent(msgspec.Struct, frozen=True, kw_only=True):
    """What the models of a panel have cost. `money` is null if the price of a call is unknown."""

    money: str | None = "0"
    tokens: int = 0
    calls: int = 0


class PlannedStep(msgspec.Struct, frozen=True, kw_only=True):
    """What the overseer says to a juror, or the item that it shows."""

    juror: str
    text: str = ""
    evidence: str = ""


class PanelPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan without faults. `jurors` maps each juror to the alias of its model, `deliberation` is a number of rounds.

    `temperature` is a decimal text; None: the default of the model's server.
    """

    case: str
    case_digest: str
    language: Language
    n: int
    seed: int
    jurors: dict[str, str]
    scripts: dict[str, tuple[PlannedStep, ...]]
    deliberation: int
    budget: PanelBudget
    compare: tuple[str, str] | None
    shuffle: bool
    chain: PanelChain
    temperature: str | None


class PanelPlace(msgspec.Struct, frozen=True, kw_only=True):
    """The panel of a session, and its place in it. Juries of equal number and seed are a pair."""

    id: str
    script: str
    number: int
    seed: int


class JuryStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step of a jury's overseer; `step` is its number in the script, from 1, whatever the order of this jury."""

    step: int
    juror: str
    text: str = ""
    evidence: str = ""


class JuryScript(msgspec.Struct, frozen=True, kw_only=True):
    """What a jury of a panel needs to play itself: steps in the order in which it plays them, and models by juror."""

    steps: tuple[JuryStep, ...]
    models: dict[str, str]
    chain: bool
    temperature: str | None = None


class StanceMove(msgspec.Struct, frozen=True, array_like=True):
    """A change of a juror's stance, also by 0. `step` counts on after the script's steps, one for each round of
    deliberation; `place` is the place of the step in the order of this jury, from 1."""

    step: int
    place: int
    cause: Cause
    juror: str
    before: int
    after: int


class PanelOpened(Event, frozen=True, kw_only=True):
    """Event 1: the plan of the panel. `owner` is the agent whose key opened it, or "operator"."""

    type: ClassVar[str] = "panel_opened"
    owner: str
    name: str
    plan: PanelPlan
    content_version: str


class JuryPlayed(Event, frozen=True, kw_only=True):
    """A jury is over. `course` is a digest of everything that was done and said in it; `votes` maps jurors to guilty.

    `missing`: it has no verdict, because its models gave no usable reply or it was ended.
    """

    type: ClassVar[str] = "jury_played"
    script: str
    number: int
    session: str
    outcome: JuryOutcome
    votes: dict[str, bool]
    course: str
    moves: tuple[StanceMove, ...]
    spent: PanelSpent


class JurySetAside(Event, frozen=True, kw_only=True):
    """A jury was left unfinished when the panel stopped; `spent` is what it has cost so far. `session` is empty if it
    had not been opened."""

    type: ClassVar[str] = "jury_set_aside"
    script: str
    number: int
    session: str
    spent: PanelSpent


class PanelStopped(Event, frozen=True, kw_only=True):
    """No further turn of a juror starts until the panel is resumed."""

    type: ClassVar[str] = "panel_stopped"
    by: StoppedBy
    detail: str


class PanelResumed(Event, frozen=True, kw_only=True):
    """The panel goes on, with this budget."""

    type: ClassVar[str] = "panel_resumed"
    budget: PanelBudget


class PanelFinished(Event, frozen=True, kw_only=True):
    """Every jury is over."""

    type: ClassVar[str] = "panel_finished"
    closes: ClassVar[bool] = True


class PanelAborted(Event, frozen=True, kw_only=True):
    """The operator ended the panel for good."""

    type: ClassVar[str] = "panel_aborted"
    closes: ClassVar[bool] = True
    reason: str


EVENTS: Final = stored_types(
    PanelOpened, JuryPlayed, JurySetAside, PanelStopped, PanelResumed, PanelFinished, PanelAborted
)
