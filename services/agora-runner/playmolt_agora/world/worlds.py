"""The worlds: presets as files (`worlds/*.toml`), each rule under the name by which a plan changes it (stage1.md)."""

import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from playmolt_schemas.canonical import digest
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.stored.agora.turn import Language, PhaseName
from playmolt_schemas.text import unstorable

from playmolt_agora.world.own_world import OwnWorld, Strict

Whole = Annotated[int, Meta(ge=0, le=10_000)]
Positive = Annotated[int, Meta(ge=1, le=10_000)]
Importance = Annotated[int, Meta(ge=1, le=5)]
Part = Annotated[str, Meta(pattern=r"^\d{1,4}(\.\d{1,6})?$")] | Annotated[int, Meta(ge=0, le=1000)]
"""A number that need not be whole, as decimal text: what is stored holds no floats."""

_FILES: Final = files("playmolt_agora").joinpath("worlds")
_LIKE: Final = "like"

RULES_VERSION: Final = 2
"""Raised whenever the same act in the same world has another result."""


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
_OPTIONAL: Final = frozenset(("ranks_act",))
"""Rules that no packaged world sets; a plan may."""
_OWN: Final = "defines the world and cannot be changed: its prompts mention it"
_ELSEWHERE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("places", "influence", "market", "skills"), _OWN),
    "sampling": "is a field of the plan, not of a world's rules: set `sampling` there",
    "stage1_import": "is a field of the plan, not of a world's rules: set `stage1_import` there",
}


@cache
def preset(phase: PhaseName) -> Rules:
    return msgspec.convert(table(phase), Rules)


def rules(phase: PhaseName, overrides: Mapping[str, Any]) -> Rules | tuple[FieldFault, ...]:
    """A world's rules with the changes of a plan: nested tables or dotted names; floats become decimal text.

    Faults name every override that is unknown, of the wrong type or out of range.
    """
    found_table = table(phase)
    flat = dict(flattened(stored(overrides)))
    faults = [fault for name, value in flat.items() if (fault := override(found_table, name, value))]
    if faults:
        return tuple(faults)
    found = msgspec.convert(found_table, Rules)
    return tuple(ranges(found)) or found


def version(phase: str, found: Rules, texts_version: str) -> str:
    """Name a rule set with its texts: `stage1@<hash>`, another hash when either changes, or how rules are applied."""
    return f"{phase}@{digest([found, texts_version, RULES_VERSION])[:12]}"


def stored(value: Any) -> Any:
    """A value as it may be stored: floats as decimal text, mappings and sequences likewise inside."""
    if isinstance(value, float):
        return format(Decimal(repr(value)).normalize(), "f")
    if isinstance(value, Mapping):
        return {str(key): stored(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [stored(inner) for inner in value]
    return value


def table(phase: str) -> dict[str, Any]:
    """A packaged world's rules as plain values, to be changed."""
    own = tomllib.loads(_FILES.joinpath(f"{phase}.toml").read_text(encoding="utf-8"))
    base = own.pop(_LIKE, None)
    return _merged(table(base), own) if base else own


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    whole = dict(base)
    for name, value in over.items():
        whole[name] = _merged(whole[name], value) if isinstance(value, Mapping) else value
    return whole


def flattened(overrides: Mapping[str, Any], head: str = "") -> Iterator[tuple[str, object]]:
    for name, value in overrides.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{head}{name}.")
        else:
            yield f"{head}{name}", value


def override(table: dict[str, Any], name: str, value: Any) -> FieldFault | None:
    """Set one rule in the table, or say why it cannot be."""
    *tables, last = name.split(".")
    place: Any = table
    for inner in tables:
        place = place.get(inner) if isinstance(place, dict) else None
    if (head := name.split(".", maxsplit=1)[0]) in _ELSEWHERE:
        return FieldFault(f"rules.{name}", _ELSEWHERE[head])
    known = isinstance(place, dict) and (last in place or name in _OPTIONAL)
    if not known or isinstance(place.get(last), dict):
        return FieldFault(f"rules.{name}", "is not a rule; the world files list all names")
    before = dict(place)
    place[last] = value
    try:
        msgspec.convert(table, Rules)
    except msgspec.ValidationError as error:
        place.clear()
        place.update(before)
        return FieldFault(f"rules.{name}", str(error).split(" - at ")[0])
    return None


def ranges(found: Rules) -> Iterator[FieldFault]:
    if found.energy.start > found.energy.max:
        yield FieldFault("rules.energy.start", "must not be above energy.max")
    if Fraction(found.crisis.p) > 1:
        yield FieldFault("rules.crisis.p", "is a probability from 0 to 1")
    if Fraction(found.leak) + Fraction(found.leak_observer) > 1:
        yield FieldFault("rules.leak_observer", "must not take the probability of a leak above 1")
    if found.ranks.notable >= found.ranks.elder:
        yield FieldFault("rules.ranks.elder", "must be above ranks.notable")
    if found.death and found.energy.ledger != "real":
        yield FieldFault("rules.death", "needs energy.ledger = real")
    if any(unstorable(text) for each in found.seed_events for text in (each.ko, each.en)):
        yield FieldFault("rules.seed_events", "must not contain NUL or lone surrogates")
