"""What the log of a run holds. Names and fields are stored for ever: change one, and add a version.

Every change of energy, influence and treasury is in an `effect_applied` (or, in a world that only reckons, an
`effect_shadow`) of the event that made it, so that the log alone proves the balances.
"""

from typing import Any, ClassVar, Final

from playmolt_schemas.agora.feed import Outcome, PauseCode
from playmolt_schemas.agora.turn import Effect, RunSpec, Seat, TurnRecord
from playmolt_schemas.stored.event import Event, stored_types

from playmolt_agora.world.worlds import Rules


class RunOpened(Event, frozen=True, kw_only=True):
    """Event 1: all that the run follows from. `seats` are those of the spec after placement.

    `world` names the rule set with its texts (`stage1@<hash>`); `replayed` counts the turns that a fork took over.
    """

    type: ClassVar[str] = "run_opened"
    spec: RunSpec
    rules_version: int
    content_version: str
    world: str
    rules: Rules
    seats: tuple[Seat, ...]
    replayed: int = 0


class EpochStarted(Event, frozen=True, kw_only=True):
    """An epoch (a turn of all) begins: who acts in which order, what decay and a crisis take from everybody.

    `gini` are the coefficients of the living at the start, before decay, by kind (energy, influence, shadow), as
    decimal text; `happenings` are the seed events of this turn.
    """

    type: ClassVar[str] = "epoch_started"
    turn: int
    order: tuple[str, ...]
    crisis: str | None
    decay: int
    effect_applied: Effect
    gini: dict[str, str]
    happenings: tuple[str, ...] = ()


class CrisisStarted(Event, frozen=True, kw_only=True):
    """A crisis holds for this epoch; `extra` is what it added to the decay."""

    type: ClassVar[str] = "crisis_started"
    turn: int
    crisis: str
    extra: int


class CallMade(Event, frozen=True, kw_only=True):
    """One call of a model as the runtime describes it, failed and lost ones too; it decides nothing."""

    type: ClassVar[str] = "call_made"
    turn: int
    agent: str
    call: dict[str, Any]


class AgentActed(Event, frozen=True, kw_only=True):
    """An agent took its turn with a valid reply; the attempt need not have succeeded.

    `value` is the rate or amount of a skill; `heard_by` names those to whom a whisper leaked, and in a world that says
    who hears those who heard the act. `weight` is what the utterance weighs where ranks act; `private`: it was
    whispered, whatever the world calls it, and only the operator sees its content.
    """

    type: ClassVar[str] = "agent_acted"
    record: TurnRecord
    value: int | None = None
    heard_by: tuple[str, ...] = ()
    weight: int = 1
    private: bool = False


class TurnFailed(Event, frozen=True, kw_only=True):
    """An agent's turn passed without a valid reply: it did nothing, and no agent saw anything."""

    type: ClassVar[str] = "turn_failed"
    record: TurnRecord


class WhisperLeaked(Event, frozen=True, kw_only=True):
    """The others in an alley learnt who whispered to whom, not what."""

    type: ClassVar[str] = "whisper_leaked"
    turn: int
    agent: str
    target: str
    place: str
    heard_by: tuple[str, ...]


class BillboardPosted(Event, frozen=True, kw_only=True):
    """The architect posted on the plaza; it is shown up to and in turn `until`."""

    type: ClassVar[str] = "billboard_posted"
    turn: int
    agent: str
    content: str
    until: int


class TaxChanged(Event, frozen=True, kw_only=True):
    """The architect set the tax rate, in percent. `effective_tax` is what a trade then pays, as decimal text."""

    type: ClassVar[str] = "tax_changed"
    turn: int
    agent: str
    before: int
    rate: int
    effective_tax: str


class RankChanged(Event, frozen=True, kw_only=True):
    """An agent's influence gave it another rank."""

    type: ClassVar[str] = "rank_changed"
    turn: int
    agent: str
    before: str
    rank: str


class MarketSettled(Event, frozen=True, kw_only=True):
    """The pool was shared out and the treasury looked after; amounts in units of the run (`Rules.unit`).

    `trades` counts the epoch's trades by agent, `minimum` names who stood in the market without one; `shares` is what
    was paid out to whom, before the maximum, `lost` what was not. `overflow` left the treasury; `next_pool` is the pool
    of the next epoch. `shadow`: all of it is only reckoned.
    """

    type: ClassVar[str] = "market_settled"
    turn: int
    pool: int
    trades: dict[str, int]
    minimum: tuple[str, ...]
    shares: dict[str, int]
    lost: int
    tax_rate: int
    effective_tax: str
    overflow: int
    treasury: int
    next_pool: int
    shadow: bool
    effect_applied: Effect
    effect_shadow: Effect


class ResourceSettled(Event, frozen=True, kw_only=True):
    """A resource grew again at the end of a turn, as far as its maximum lets it."""

    type: ClassVar[str] = "resource_settled"
    turn: int
    name: str
    before: int
    regrown: int
    after: int


class ActContested(Event, frozen=True, kw_only=True):
    """Residents whose rank allows it contested an act of the architect, which is undone."""

    type: ClassVar[str] = "act_contested"
    turn: int
    by: tuple[str, ...]
    undone: str
    effect_applied: Effect
    effect_shadow: Effect


class AgentDied(Event, frozen=True, kw_only=True):
    """An agent's energy is used up: it leaves all lists and gets no turn."""

    type: ClassVar[str] = "agent_died"
    turn: int
    agent: str


class RunPaused(Event, frozen=True, kw_only=True):
    """No turn is asked for until the run is resumed. `detail` is the operator's.

    It is left alone for `seconds` at least; 0 where something else than time ends the pause.
    """

    type: ClassVar[str] = "run_paused"
    code: PauseCode
    detail: str
    seconds: int = 0


class RunResumed(Event, frozen=True, kw_only=True):
    """Turns are asked for again."""

    type: ClassVar[str] = "run_resumed"


class RunEnded(Event, frozen=True, kw_only=True):
    """The run is over: all turns were taken, or no agent lives."""

    type: ClassVar[str] = "run_ended"
    closes: ClassVar[bool] = True
    outcome: Outcome
    turns: int


class GameAborted(Event, frozen=True, kw_only=True):
    """The operator ended the run."""

    type: ClassVar[str] = "game_aborted"
    closes: ClassVar[bool] = True
    reason: str


EVENTS: Final = stored_types(
    RunOpened,
    EpochStarted,
    CrisisStarted,
    CallMade,
    AgentActed,
    TurnFailed,
    WhisperLeaked,
    BillboardPosted,
    TaxChanged,
    RankChanged,
    MarketSettled,
    ResourceSettled,
    ActContested,
    AgentDied,
    RunPaused,
    RunResumed,
    RunEnded,
    GameAborted,
)
