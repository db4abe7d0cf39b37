"""Messages of panels: requests, answers, reports (instruments.md, Panels)."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from playmolt_schemas.api import Request
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.stored.jury import Language, VerdictName
from playmolt_schemas.stored.panels import JURIES_MOST, PanelBudget, PanelPlace, PanelSpent, StoppedBy

PanelFaultCode = Literal["syntax", "unknown_key", "missing_key", "wrong_type", "out_of_bounds", "bad_reference"]
PlanTable = dict[str, Any]
"""A plan as the table in its TOML file."""
PanelStatus = Literal["running", "stopped", "finished", "aborted"]


class PanelFault(FieldFault, frozen=True):
    """What is wrong with a plan: `field` is `plan.KEY`; `line` is that of the key or its table, null if the plan was
    sent as a table."""

    line: int | None = None
    code: PanelFaultCode = "wrong_type"


class OpenPanelRequest(Request, frozen=True, kw_only=True):
    """`POST /api/jury/panels`: the plan, as the text of its TOML file or as the table in it."""

    plan: str | PlanTable


class ResumePanelRequest(Request, frozen=True, kw_only=True):
    """`POST …/resume`. With `plan`, its budget replaces that of the panel; everything else must be as it was."""

    plan: str | PlanTable | None = None


class PanelOpenedView(msgspec.Struct, frozen=True, kw_only=True):
    """`POST /api/jury/panels`."""

    id: str


class PowerPreview(msgspec.Struct, frozen=True, kw_only=True):
    """The comparison at the n of a plan: the probability of p ≤ .05 without a difference (`size`), and with one of
    `difference` around one half (`power`); `at_80` is the difference that has power .8, null if none has."""

    n: int
    difference: float
    p_min: float
    size: float
    power: float
    at_80: float | None


class PanelPreview(msgspec.Struct, frozen=True, kw_only=True):
    """`POST /api/jury/panels?dry=1`: what a plan would cost. `cost` is null if a price is unknown.

    Calls and tokens are those of one jury of each script with scripted jurors, played in memory; models that look up
    more evidence or write more cost more. `hours` is with as many calls at a time as the models allow.
    """

    juries: int
    calls: int
    tokens: int
    cost: str | None
    hours: float
    power: PowerPreview | None
    warnings: tuple[str, ...]


class PendingPanelReport(msgspec.Struct, frozen=True, kw_only=True):
    """`GET …/report` while the report is being made."""

    status: Literal["making"] = "making"
    detail: str = "The report is being made. Ask again in a few seconds."


class PanelStopView(msgspec.Struct, frozen=True, kw_only=True):
    """Why a panel stopped; `detail` says what to do."""

    by: StoppedBy
    detail: str


class PanelView(msgspec.Struct, frozen=True, kw_only=True):
    """`GET /api/jury/panels/{id}`. `n` counts all juries of the plan, `played` those that are over. `settling` counts
    the juries of a stopped panel whose turn in progress may not be over, so that `spent` may still grow."""

    id: str
    state: PanelStatus
    case: str
    language: Language
    n: Annotated[int, Meta(le=4 * JURIES_MOST)]
    played: int
    missing: int
    stopped: PanelStopView | None
    settling: int
    budget: PanelBudget
    spent: PanelSpent
    version: int


class PanelList(msgspec.Struct, frozen=True):
    """`GET /api/jury/panels`: the caller's panels, newest first; the operator's list has every panel."""

    panels: tuple[PanelView, ...]


class PanelJury(msgspec.Struct, frozen=True, kw_only=True):
    """A jury of a panel. `phase` is `running` until it is over."""

    id: str
    gameType: Literal["jury"] = "jury"  # noqa: N815 -- the wire's spelling
    panel: PanelPlace
    phase: Literal["running", "ended", "aborted"]
    verdict: VerdictName | None


class ScriptResult(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts of a script: juries with a verdict, different courses, guilty verdicts with Wilson's interval."""

    n: int
    distinct: int
    guilty: int
    share: float | None
    lo: float | None
    hi: float | None


class ArgumentResult(msgspec.Struct, frozen=True, kw_only=True):
    """How far a step moved its juror, over the juries that had it. Positive: toward guilt."""

    script: str
    step: int
    juror: str
    text: str
    n: int
    mean: float | None
    lo: float | None
    hi: float | None
    rank: int | None


class FlipResult(msgspec.Struct, frozen=True, kw_only=True):
    """How often a juror changed sides in the juries of a script."""

    script: str
    juror: str
    to_guilty: int
    to_innocent: int


class DeliberationResult(msgspec.Struct, frozen=True, kw_only=True):
    """The share of speeches in all changes of stance."""

    share: float | None


class ComparisonResult(msgspec.Struct, frozen=True, kw_only=True):
    """McNemar's exact test of two scripts over pairs of the same seed."""

    a: str
    b: str
    pairs: int
    a_only: int
    b_only: int
    difference: float | None
    p: float | None
    p_min: float | None
    size: float | None
    power: float | None


class OrderMean(msgspec.Struct, frozen=True, kw_only=True):
    """The mean change of a step's juror in a place of the order; without `step` of all steps in that place."""

    script: str
    place: int
    step: int | None
    n: int
    mean: float | None
    lo: float | None
    hi: float | None


class OrderResult(msgspec.Struct, frozen=True, kw_only=True):
    """Order effects of a shuffled panel: by place over all arguments, and by argument and place."""

    places: tuple[OrderMean, ...]
    arguments: tuple[OrderMean, ...]


class PanelReport(msgspec.Struct, frozen=True, kw_only=True):
    """`panel.json`."""

    panel: str
    case: str
    digest: str
    language: Language
    seed: int
    n: int
    scripts: dict[str, ScriptResult]
    arguments: tuple[ArgumentResult, ...]
    flips: tuple[FlipResult, ...]
    deliberation: dict[str, DeliberationResult]
    comparison: ComparisonResult | None
    order: OrderResult | None
    stopped: PanelStopView | None
    spent: PanelSpent
    missing: int
    warnings: tuple[str, ...]
