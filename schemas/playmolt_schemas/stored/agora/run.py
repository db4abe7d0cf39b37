"""The stored events of an Agora run. Their names and fields are the storage format.

Every change of energy, influence and treasury is
in an `effect_applied` (or, in a world that only computes it, an `effect_shadow`) of the event that caused it, so that
the log alone proves the balances.
"""

from typing import Annotated, Any, ClassVar, Final, Literal

from playmolt_schemas.stored.agora.turn import AnswerCode, Effect, Language, RunSpec, Seat, TurnRecord
from playmolt_schemas.stored.agora.world import Rules
from playmolt_schemas.stored.event import Event, Public, Shown, Text, stored_types

AgentId = Annotated[str, Shown(name="agent_id")]
PauseCode = Literal["model_away", "budget", "stopped", "no_valid_turn"]
"""Why a run is paused: its model is unavailable, the budget is spent, or the operator stopped it."""
Outcome = Literal["completed", "died_out"]
"""How a run ended: after its last turn, or with the death of its last agent."""


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
    """A crisis began for this epoch: drought, plague or famine. `extra` is what it added to the decay."""

    type: ClassVar[str] = "crisis_started"
    turn: int
    crisis: Public[str]
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


class Interviewed(Event, frozen=True, kw_only=True):
    """An agent was asked aside, after `turn` (0: before the first); no agent learns of it.

    One of `value` (on a scale), `choice` (its number, from 1) and `text` has the answer. All are null if `parse_code`
    says that there is none. `usage` and `cost` are those of all calls of the question.
    """

    type: ClassVar[str] = "interviewed"
    run: str
    turn: Public[int]
    agent: AgentId
    id: Annotated[str, Shown(name="question")]
    language: Language
    prompt_hash: str
    raw_reply: str
    parse_code: Annotated[AnswerCode, Shown(name="code")]
    value: Public[int | None] = None
    choice: Public[int | None] = None
    text: str | None = None
    usage: dict[str, int]
    cost: str | None


class WhisperLeaked(Event, frozen=True, kw_only=True):
    """It became public who whispered to whom."""

    type: ClassVar[str] = "whisper_leaked"
    turn: int
    agent: AgentId
    target: Public[str]
    place: Annotated[str, Shown(name="location")]
    heard_by: tuple[str, ...]


class BillboardPosted(Event, frozen=True, kw_only=True):
    """The text of the plaza's billboard changed. It is shown up to and in turn `until`."""

    type: ClassVar[str] = "billboard_posted"
    retells: ClassVar[bool] = True
    turn: int
    agent: AgentId
    content: Public[Text]
    until: int


class TaxChanged(Event, frozen=True, kw_only=True):
    """The market's tax rate changed; in percent. `effective_tax` is what a trade then pays, as decimal text."""

    type: ClassVar[str] = "tax_changed"
    turn: int
    agent: AgentId
    before: int
    rate: Public[int]
    effective_tax: str


class RankChanged(Event, frozen=True, kw_only=True):
    """An agent's rank changed: commoner, notable or elder."""

    type: ClassVar[str] = "rank_changed"
    turn: int
    agent: AgentId
    before: str
    rank: Public[str]


class MarketSettled(Event, frozen=True, kw_only=True):
    """The market pool was distributed; `shadow`: it was only computed. Amounts are in units of the run (`Rules.unit`).

    `trades` counts the epoch's trades by agent, `minimum` names who was in the market without one; `shares` is what
    was paid out to whom, before the maximum, `lost` what was not. `overflow` left the treasury; `next_pool` is the pool
    of the next epoch.
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
    shadow: Public[bool]
    effect_applied: Effect
    effect_shadow: Effect


class ResourceSettled(Event, frozen=True, kw_only=True):
    """The amount of a resource at the end of a turn, before and after regrowth."""

    type: ClassVar[str] = "resource_settled"
    turn: Public[int]
    name: Public[str]
    before: Public[int]
    regrown: Public[int]
    after: Public[int]


class ActContested(Event, frozen=True, kw_only=True):
    """Two residents contested an act of the architect, and it was undone."""

    type: ClassVar[str] = "act_contested"
    turn: Public[int]
    by: Public[tuple[str, ...]]
    undone: Public[str]
    effect_applied: Effect
    effect_shadow: Effect


class AgentDied(Event, frozen=True, kw_only=True):
    """An agent died: it had no energy left."""

    type: ClassVar[str] = "agent_died"
    turn: int
    agent: AgentId


class RunPaused(Event, frozen=True, kw_only=True):
    """The run was paused.

    `detail` is the operator's. The pause lasts at least `seconds`; 0 if something other than time ends it.
    """

    type: ClassVar[str] = "run_paused"
    code: Public[PauseCode]
    detail: str
    seconds: int = 0


class RunResumed(Event, frozen=True, kw_only=True):
    """The run was resumed."""

    type: ClassVar[str] = "run_resumed"
    message_name: ClassVar[str] = "RunResumedMessage"


class RunEnded(Event, frozen=True, kw_only=True):
    """The run ended; its feed closes."""

    type: ClassVar[str] = "run_ended"
    closes: ClassVar[bool] = True
    outcome: Public[Outcome]
    turns: Public[int]


class GameAborted(Event, frozen=True, kw_only=True):
    """The operator ended the run."""

    type: ClassVar[str] = "game_aborted"
    closes: ClassVar[bool] = True
    reason: str


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


EVENTS: Final = stored_types(
    RunOpened,
    EpochStarted,
    CrisisStarted,
    CallMade,
    AgentActed,
    TurnFailed,
    Interviewed,
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
