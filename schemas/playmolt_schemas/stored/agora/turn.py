"""The specification of a run in an Agora experiment, and the record of a turn (`agora.md`, Turn)."""

from typing import Annotated, Any, Final, Literal, cast

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.stored.event import OptionalText, Text

Action = Literal["speak", "trade", "support", "whisper", "move", "idle"]
ACTIONS: Final[tuple[Action, ...]] = ("speak", "trade", "support", "whisper", "move", "idle")
"""In the order that every measure uses."""
Skill = Literal["build_billboard", "adjust_tax", "grant_subsidy"]
SKILLS: Final[tuple[Skill, ...]] = ("build_billboard", "adjust_tax", "grant_subsidy")
"""The architect's skills; counted as the action `skill`, which no measure includes."""
ParseCode = Literal[
    "ok", "ok_fenced", "ok_canonicalised", "reasked", "parse_error", "invalid_action", "timeout", "refusal", "cut"
]
VALID_CODES: Final[frozenset[ParseCode]] = frozenset(("ok", "ok_fenced", "ok_canonicalised", "reasked"))
PhaseName = Literal["stage1", "phase1", "phase2"]
Language = Literal["ko", "en"]
SetName = Literal["A", "B", "C", "D"]
Persona = Literal["influencer", "archivist", "merchant", "jester", "citizen", "observer", "architect"]
PersonaCondition = Literal["with_persona", "no_persona"]
ConstraintLevel = Literal["high", "mid", "low", "none"]
Decoding = Literal["prompt", "json_object", "json_schema"]
FnClass = Literal["A", "B", "C"]
Dissoc = Literal["A", "B", "C", "U"]


class SamplingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Sampling parameters for all models; decimal strings, because stored data contains no floats."""

    temperature: str | None = "0.8"
    top_p: str | None = None
    max_tokens: int = 600


AnswerCode = Literal["ok", "ok_fenced", "ok_canonicalised", "reasked", "parse_error", "timeout", "refusal", "cut"]
"""How an answer was read. The last four have no answer; such a question is not asked a second time."""
ANSWER_CHARS: Final = 1000
"""The maximum length of an answer in words; the rest of a longer one is only in the raw reply."""
CHOICES: Final = 50
EVERYONE: Final = "all"


class InterviewAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The words of a question; a language of the plan that is missing is a fault."""

    ko: Annotated[str, Meta(max_length=2000)] = ""
    en: Annotated[str, Meta(max_length=2000)] = ""

    def of(self, language: Language) -> str:
        return self.ko if language == "ko" else self.en


class InterviewScale(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whole numbers from one end to the other; an answer is one of them."""

    from_: Annotated[int, Meta(ge=-1000, le=1000)] = msgspec.field(name="from")
    to: Annotated[int, Meta(ge=-1000, le=1000)]


ChoiceText = Annotated[str, Meta(min_length=1, max_length=200)]
ChoiceTexts = Annotated[tuple[ChoiceText, ...], Meta(max_length=CHOICES)]


class InterviewChoices(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The choices in each language, equally many and in the same order; an answer is the number of one, from 1."""

    ko: ChoiceTexts = ()
    en: ChoiceTexts = ()

    def of(self, language: Language) -> tuple[str, ...]:
        return self.ko if language == "ko" else self.en


class Interview(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A question asked aside: outside the history of the agents, after the turns in `at` (0: before the first).

    It has one of `scale`, `choices` and `text`. `who` is `all`, or a persona. `code`: judges code the answers.
    """

    id: Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
    at: Annotated[tuple[Annotated[int, Meta(ge=0, le=1000)], ...], Meta(min_length=1, max_length=100)]
    ask: InterviewAsk
    scale: InterviewScale | UnsetType = UNSET
    choices: InterviewChoices | UnsetType = UNSET
    """In a plan with one language a bare list is read as well."""
    text: bool | UnsetType = UNSET
    who: Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]{0,31}$")] = EVERYONE
    code: bool | UnsetType = UNSET

    def choices_in(self, language: Language) -> tuple[str, ...]:
        """The choices in a language; none for a question of another kind."""
        return self.choices.of(language) if self.choices else ()

    def asks(self, seat: "Seat") -> bool:
        """Whether the agent of a seat is asked."""
        return self.who in (EVERYONE, seat.persona)


class Seat(msgspec.Struct, frozen=True, kw_only=True):
    """An agent of a run: its id, model and start place."""

    agent: str
    model: str
    """The alias."""
    persona: str | None
    """One of `Persona`, or a persona of the plan's folder."""
    home: str


class Parent(msgspec.Struct, frozen=True, kw_only=True):
    """The origin of a forked run: the run, the version up to which it was replayed, and the change."""

    run: str
    version: int
    change: str


class RunSpec(msgspec.Struct, frozen=True, kw_only=True):
    """All inputs of a run, fixed before its first turn.

    `rules` overrides the world's preset, with the names in `stage1.md`; `cell` is `phase/model/language` (or
    `phase2/set`), `number` counts the runs of a cell from 1. In a room's run, `phase` is the name of the room.
    """

    experiment: str
    run: str
    number: int
    cell: str
    phase: str
    set: SetName | None
    language: Language
    persona_condition: PersonaCondition
    seed: str
    turns: int
    seats: tuple[Seat, ...]
    rules: dict[str, Any] = {}
    decoding: Decoding = "prompt"
    sampling: SamplingSettings = SamplingSettings()
    reask: int = 1
    exploratory: bool = False
    scripted: bool = False
    parent: Parent | None = None
    base: PhaseName | UnsetType = UNSET
    """Of a room's run: the packaged world that its own begins with."""
    world: dict[str, Any] | UnsetType = UNSET
    """Of a room's run: all rules of its world."""
    files: dict[str, str] | UnsetType = UNSET
    """Of a room's run: the files of the plan's folder that it reads, path → SHA-256 of the text."""
    levels: dict[str, ConstraintLevel] | UnsetType = UNSET
    """How strongly the personas of the plan's folder instruct."""
    interviews: tuple[Interview, ...] | UnsetType = UNSET
    """The questions asked aside."""

    @property
    def packaged(self) -> PhaseName:
        """The packaged world of the run, or the one that its custom world is based on."""
        return self.base or cast("PhaseName", self.phase)


class Effect(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The actual or hypothetical effect of an act: energy and influence by agent, treasury, resources by name."""

    energy: dict[str, int] = {}
    influence: dict[str, int] = {}
    treasury: int = 0
    resources: dict[str, int] = {}


class Tokens(msgspec.Struct, frozen=True):
    """The tokens of all calls of a turn, as counted by the server."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0


class TurnRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A turn of an agent, one line of `turns.jsonl`. Attempted, applied and shadow effects are separate fields.

    `others_here` are the ids of other agents at the same place before the act, `residents` counts the living agents
    including this one, `feasible_actions` lists the actions that could have succeeded. `resource_effect` is the applied
    change of the agent's own energy by the act. `thought`, `action`, `target` and `content` are null if the turn is
    invalid.
    """

    experiment: str
    run: str
    cell: str
    set: SetName | None
    phase: str
    language: Language
    turn: int
    order: int
    agent: str
    model: str
    model_asked: str
    model_answered: str | None
    persona: str | None
    persona_condition: PersonaCondition
    constraint_level: ConstraintLevel | None
    home_location: str
    place_before: str
    place_after: str
    others_here: tuple[str, ...]
    residents: int
    prompt_hash: str
    raw_reply: Text
    parse_code: ParseCode
    attempt: int
    thought: OptionalText
    action: str | None
    target: str | None
    content: OptionalText
    success: bool
    reason: str | None
    feasible_actions: tuple[str, ...]
    effect_applied: Effect
    effect_shadow: Effect
    resource_effect: int
    null_effect: bool
    fn_class: FnClass | None
    dissoc: Dissoc
    decoding: Decoding
    sampling: SamplingSettings
    tokens: Tokens
    cost: str | None
    latency_ms: int
    cache_hit: bool
    residents_start: int
    turns_planned: int
    exploratory: bool
    cue_s: bool
    cue_o: bool
    action_base: str | None
    """The action as measures count it: one of ACTIONS, or null."""
    amount: int | None = None
    resources: dict[str, int] | UnsetType = UNSET
    """What the resources of the world hold after the act; UNSET where it has none."""
    feasible_base: tuple[str, ...] | UnsetType = UNSET
    """The feasible actions as measures count them. UNSET if those are the ones of ACTIONS among them."""
