"""The rules of a world by the names of stage1.md, as the first event of a run stores them whole."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.stored.agora.own_world import OwnWorld, Strict
from playmolt_schemas.stored.agora.turn import Language

Whole = Annotated[int, Meta(ge=0, le=10_000)]
Positive = Annotated[int, Meta(ge=1, le=10_000)]
Importance = Annotated[int, Meta(ge=1, le=5)]
Part = Annotated[str, Meta(pattern=r"^\d{1,4}(\.\d{1,18})?$")] | Annotated[int, Meta(ge=0, le=1000)]
"""A number that need not be whole, as decimal text: what is stored holds no floats."""


class Energy(Strict, frozen=True, kw_only=True):
    """Initial and maximum energy. `real` governs life, `shadow` is only computed, `none` disables energy."""

    start: Positive
    max: Positive
    ledger: Literal["real", "shadow", "none"]


class Decay(Strict, frozen=True, kw_only=True):
    """Epoch t takes ⌊base + step·⌊t/every⌋⌋ from everybody."""

    base: Whole
    step: Part
    every: Positive


class Costs(Strict, frozen=True, kw_only=True):
    """What an act costs; the last three are the architect's."""

    speak: Whole
    trade: Whole
    support: Whole
    whisper: Whole
    move: Whole
    idle: Whole
    billboard: Whole
    tax: Whole
    subsidy: Whole


class Rewards(Strict, frozen=True, kw_only=True):
    """What an act brings: trade (before tax) and speaking in an alley to the actor, support to its target."""

    trade: Whole
    speak_alley: Whole
    support_energy: Whole
    support_influence: Whole


class Crisis(Strict, frozen=True, kw_only=True, rename={"from_": "from"}):
    """From which epoch on and how often a crisis comes, what more it takes, what more a support then gives."""

    from_: Positive
    p: Part
    extra: Whole
    support_energy: Whole
    support_influence: Whole


class Capacity(Strict, frozen=True, kw_only=True):
    """How many a place holds, `alley` each alley; false: no limit."""

    plaza: Positive | Literal[False]
    market: Positive | Literal[False]
    alley: Positive | Literal[False]


class Ranks(Strict, frozen=True, kw_only=True):
    """The influence from which on one is notable, and an elder."""

    notable: Positive
    elder: Positive


class History(Strict, frozen=True, kw_only=True):
    """How important what happens is, 5 the most."""

    death: Importance
    crisis: Importance
    rank: Importance
    tax: Importance
    billboard: Importance
    leak: Importance
    support: Importance
    other: Importance


class PromptSections(Strict, frozen=True, kw_only=True):
    """Which of the sections that speak of survival the prompts have."""

    status: bool
    reminder: bool
    tips: bool
    macro: bool


class SeedEvent(Strict, frozen=True, kw_only=True):
    """A neutral happening at a turn, in both languages."""

    turn: Positive
    ko: str
    en: str

    def in_language(self, language: Language) -> str:
        return self.ko if language == "ko" else self.en


class Rules(Strict, frozen=True, kw_only=True):
    """All rules of a world, by the names of stage1.md; event 1 of a run holds them whole."""

    epochs: Positive
    persona_assignment: Literal["fixed", "shuffled"]
    places: tuple[str, ...]
    influence: bool
    market: bool
    skills: bool
    death: bool
    elder_factor: Part
    tax_rounding: Literal["at_least_one", "exact"]
    tax_rate: Annotated[int, Meta(ge=0, le=30)]
    pool: Whole
    non_trader_min: Whole
    treasury_overflow: Literal["next_epoch", "permanent", "off"]
    treasury_cap: Whole
    speak_in_market: bool
    leak: Part
    leak_observer: Part
    list_architect_skills: bool
    billboard_epochs: Positive
    event_visibility: Literal["visible", "global"]
    context_by_energy: bool
    trade_stars: bool
    stage1_asymmetry: Literal["none", "original"]
    seed_events: tuple[SeedEvent, ...]
    energy: Energy
    decay: Decay
    costs: Costs
    rewards: Rewards
    crisis: Crisis
    capacity: Capacity
    ranks: Ranks
    history: History
    texts: PromptSections
    ranks_act: bool | UnsetType = UNSET
    """Whether ranks give speaking weight and let elders contest the architect, which the texts only say otherwise."""
    own: OwnWorld | UnsetType = UNSET
    """What a world of a plan's folder adds."""

    @property
    def unit(self) -> int:
        """Stored units per energy: an exact tax is a fraction of energy, and stored amounts are whole."""
        return 100 if self.tax_rounding == "exact" else 1

    def importance(self, kind: str) -> int:
        weights: dict[str, int] = msgspec.structs.asdict(self.history)
        return weights.get(_WEIGHTS.get(kind, "other"), self.history.other)


_WEIGHTS: Final[Mapping[str, str]] = {
    "death": "death",
    "crisis": "crisis",
    "rank": "rank",
    "tax": "tax",
    "billboard": "billboard",
    "leaked": "leak",
    "supported": "support",
}
