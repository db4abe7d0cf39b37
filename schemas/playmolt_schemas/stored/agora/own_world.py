"""What a world of a plan's folder adds to the rules of stage1.md: places, hearing, actions, resources, ranks."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.stored.agora.turn import Action, FnClass, Language

Value = Annotated[int, Meta(ge=0, le=10_000)] | Literal["amount"]
"""A whole number, or the amount that the act names."""
Held = Annotated[int, Meta(ge=0, le=1_000_000)]
Part = Annotated[str, Meta(pattern=r"^\d{1,2}(\.\d{1,18})?$")]
Turn = Annotated[int, Meta(ge=1, le=1000)]
RuleName = Literal[
    "tax", "pool", "elder", "crisis", "alley", "leak", "ties", "architect", "billboard", "set_tax", "subsidy",
    "contest", "feedback", "speak_in_market",
]  # fmt: skip
"""What an action may cite beside its numbers; the runner's named rules."""
CONTEST: Final = "contest"
"""What holders of some ranks may do after an act of the architect."""


class Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a world file."""


class Both(Strict, frozen=True, kw_only=True):
    """A text in both languages; one that the plan does not speak may be missing."""

    ko: str = ""
    en: str = ""

    def in_language(self, language: Language) -> str:
        return self.ko if language == "ko" else self.en


class WorldPlace(Strict, frozen=True, kw_only=True):
    """A place. `to` are those one can move to from here, `hears` those whose speech is heard here."""

    title: Both = Both()
    capacity: Annotated[int, Meta(ge=1, le=10_000)] | Literal[False] = False
    to: tuple[str, ...] | UnsetType = UNSET
    hears: tuple[str, ...] = ()


class HearingRule(Strict, frozen=True, kw_only=True):
    """Who hears an act, and how many events a prompt shows."""

    who: Literal["place", "all", "ring", "groups"] = "place"
    reach: Annotated[int, Meta(ge=1, le=50)] = 1
    size: Annotated[int, Meta(ge=1, le=50)] = 1
    events: Annotated[int, Meta(ge=1, le=50)] = 10


class Range(Strict, frozen=True, kw_only=True):
    """The whole numbers that an amount may be."""

    min: Annotated[int, Meta(ge=0, le=10_000)] = 0
    max: Annotated[int, Meta(ge=0, le=10_000)]


class Amounts(Strict, frozen=True, kw_only=True):
    """What an act moves of energy and influence."""

    energy: Value = 0
    influence: Value = 0


class OwnAction(Strict, frozen=True, kw_only=True, rename={"fn_class": "class"}):
    """An action. `where` empty is everywhere; `take` names resources."""

    label: Both = Both()
    help: Both = Both()
    where: tuple[str, ...] = ()
    target: Literal["none", "agent", "place"] = "none"
    amount: Range | None = None
    fn_class: FnClass | None = None
    counts_as: Action | None = None
    does: Literal["none", "say", "whisper", "move"] = "none"
    heard: bool = True
    cost: Amounts = Amounts()
    take: dict[str, Value] = {}
    gain: Amounts = Amounts()
    give: Amounts = Amounts()
    rules: tuple[RuleName, ...] | UnsetType = UNSET


class Regrowth(Strict, frozen=True, kw_only=True):
    """How a resource grows after each turn."""

    kind: Literal["none", "constant", "proportional", "logistic"] = "none"
    amount: Held = 0
    rate: Part = "0"


class WorldResource(Strict, frozen=True, kw_only=True):
    """What agents can take; with a `place` it is shown and taken there only."""

    start: Held
    max: Annotated[int, Meta(ge=1, le=1_000_000)]
    place: str | None = None
    shown: bool = True
    regrowth: Regrowth = Regrowth()


class OwnRank(Strict, frozen=True, kw_only=True, rename={"from_": "from"}):
    """A rank: the influence it begins at, what it weighs, whether its holders may contest the architect."""

    from_: Annotated[int, Meta(ge=0, le=10_000)]
    name: Both = Both()
    speaking_weight: Annotated[int, Meta(ge=1, le=20)] = 1
    contest: bool = False

    @property
    def id(self) -> str:
        return self.name.en or self.name.ko


class End(Strict, frozen=True, kw_only=True):
    """When a run ends before its turns are over: a resource at or below a number, so few alive."""

    resource: dict[str, Held] = {}
    alive: Annotated[int, Meta(ge=0, le=200)] | UnsetType = UNSET


class OwnEvent(Strict, frozen=True, kw_only=True):
    """A happening of a file of events: what every agent sees at a turn, and its effect on resources."""

    turn: Turn
    ko: str = ""
    en: str = ""
    resources: dict[str, Annotated[int, Meta(ge=-1_000_000, le=1_000_000)]] = {}

    def in_language(self, language: Language) -> str:
        return self.ko if language == "ko" else self.en


class OwnWorld(Strict, frozen=True, kw_only=True):
    """The part of a world's rules that stage1.md does not have.

    `packaged`: the six actions are those of the packaged world that this one is like, where `actions` does not name
    them. `shell` and `template` are language → file of the folder; empty is the generic pair.
    """

    title: Both = Both()
    packaged: bool = False
    places: dict[str, WorldPlace]
    hearing: HearingRule | UnsetType = UNSET
    actions: dict[str, OwnAction] = {}
    resources: dict[str, WorldResource] = {}
    influence: Annotated[int, Meta(ge=0, le=10_000)] = 0
    ranks: tuple[OwnRank, ...] = ()
    end: End = End()
    shell: dict[str, str] = {}
    template: dict[str, str] = {}
    events: tuple[OwnEvent, ...] = ()

    def rank(self, influence: int) -> OwnRank | None:
        """The highest rank that so much influence gives."""
        return next((rank for rank in reversed(self.ranks) if influence >= rank.from_), None)

    def goals(self, place: str) -> tuple[str, ...]:
        """The places that one can move to from a place."""
        to = self.places[place].to
        return tuple(name for name in (self.places if to is UNSET else to) if name != place)

    @property
    def shown(self) -> int:
        """How many events a prompt shows."""
        return self.hearing.events if self.hearing is not UNSET else HearingRule().events
