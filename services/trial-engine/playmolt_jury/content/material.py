"""The content of a case in one language, as the rules use it (jury.md, Content).

Numbers are integers or decimal strings, so that they can be stored. Texts are plain; a blank line separates paragraphs.
"""

from typing import Final, Literal

import msgspec
from playmolt_schemas.games.jury import DELIBERATION_ROUNDS, NOTES, ROUNDS_WITH_JUROR
from playmolt_schemas.stored.jury import Impact, Language, TopicImpact, VerdictName

Found = Literal["everything", "something", "nothing"]
"""How much the overseer found: every item unlocked and read; nothing unlocked; or something in between."""

TOPICS: Final = (
    "technical_responsibility",
    "human_responsibility",
    "procedural_justice",
    "ai_autonomy",
    "emotional_appeal",
    "public_safety",
    "social_consequences",
    "moral_ambiguity",
)
"""Subjects of arguments. Positive affirms the topic, negative denies it, neutral mentions it:

the machine itself caused the death · a person caused, staged or drove it · doubt, proof and custody must decide ·
the machine has a mind and standing of its own · pity, grief, mercy · people need protection and a precedent ·
what the verdict means for those who give it · the case has no clear answer.
"""


class _MaterialStruct(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a content file; unknown keys are faults."""


class PrologueLine(_MaterialStruct, frozen=True, kw_only=True):
    speaker: str
    text: str


class Dossier(_MaterialStruct, frozen=True, kw_only=True):
    """The government's account of the case."""

    title: str
    text: str


class Topic(_MaterialStruct, frozen=True, kw_only=True):
    """A topic of the case; `text` explains it to the model."""

    id: str
    text: str


class Evidence(_MaterialStruct, frozen=True, kw_only=True):
    """An item E1 … E15; `stem` is its other name for tools ("system_log")."""

    id: str
    stem: str
    title: str
    text: str
    locked: bool = False
    topics: tuple[TopicImpact, ...] = ()


class ChoiceCondition(_MaterialStruct, frozen=True, kw_only=True):
    """The conditions for a choice to be available; all must hold."""

    pressure: int = 0
    """Minimum pressure on the witness."""
    read: tuple[str, ...] = ()
    """Evidence that the overseer has read."""
    visited: tuple[str, ...] = ()
    """Nodes of this witness that have been shown."""
    cracked: tuple[str, ...] = ()
    """Witnesses that have broken; may include this witness."""


class Choice(_MaterialStruct, frozen=True, kw_only=True):
    """A line the overseer can choose. `pressure` counts once; ids are unique within a node."""

    id: str
    text: str
    goto: str
    pressure: int = 0
    when: ChoiceCondition = ChoiceCondition()


class Reaction(_MaterialStruct, frozen=True, kw_only=True):
    """The reaction to shown evidence. `pressure` counts once per witness and item."""

    goto: str
    pressure: int = 0


class Node(_MaterialStruct, frozen=True, kw_only=True):
    """A text of a witness. A node that `ends` is an intended end of the talk; it may still offer choices."""

    text: str
    choices: tuple[Choice, ...] = ()
    evidence: dict[str, Reaction] = {}
    ends: bool = False


class Witness(_MaterialStruct, frozen=True, kw_only=True):
    """A dialogue tree. Once pressure reaches `threshold` the talk goes to `breaks`, whatever the step's goto says, and
    `unlocks` are opened. Evidence without a reaction in the present node, nor in `evidence` of the witness, shows the
    text of `fallback`, and the talk stays where it is. Pressure never falls below 0."""

    id: str
    name: str
    start: str
    breaks: str
    fallback: str
    threshold: int
    unlocks: tuple[str, ...]
    nodes: dict[str, Node]
    evidence: dict[str, Reaction] = {}
    """Reactions at any node; those of the node take precedence."""


class Weakness(_MaterialStruct, frozen=True, kw_only=True):
    """Keywords (substrings, case folded) that move the juror once."""

    trigger_keywords: tuple[str, ...]
    effect: Literal["stance_shift"] = "stance_shift"


class Juror(_MaterialStruct, frozen=True, kw_only=True):
    """A juror's file. `speaker_power` is a decimal string from "0" to "1"."""

    id: str
    name: str
    initial_stance: int
    speaker_power: str
    topic_weights: dict[str, int]
    weakness: Weakness
    personality: tuple[str, ...]
    role_prompt: str


class EndingEntry(_MaterialStruct, frozen=True, kw_only=True):
    """An ending; there is exactly one for each reachable pair of `verdict` and `when`."""

    id: str
    verdict: VerdictName
    when: Found
    title: str
    text: str


class Rules(_MaterialStruct, frozen=True, kw_only=True):
    """The numbers of rounds and notes of a case; the shipped case uses the defaults."""

    rounds: int = ROUNDS_WITH_JUROR
    """Dialogue rounds with each juror."""
    notes: int = NOTES
    deliberation: int = DELIBERATION_ROUNDS
    """Rounds of the jurors among themselves."""


class Material(_MaterialStruct, frozen=True, kw_only=True):
    """All content in one language. The order of the jurors breaks ties."""

    language: Language
    title: str
    prologue: tuple[PrologueLine, ...]
    dossier: Dossier
    topics: tuple[Topic, ...]
    evidence: tuple[Evidence, ...]
    witnesses: tuple[Witness, ...]
    jurors: tuple[Juror, ...]
    endings: tuple[EndingEntry, ...]
    rules: Rules = Rules()
    lexicon: bytes = b""
    """The pack's own list of words for topics; the shipped one reads where it is empty."""


__all__ = [
    "TOPICS",
    "Choice",
    "ChoiceCondition",
    "Dossier",
    "EndingEntry",
    "Evidence",
    "Found",
    "Impact",
    "Juror",
    "Language",
    "Material",
    "Node",
    "PrologueLine",
    "Reaction",
    "Rules",
    "Topic",
    "TopicImpact",
    "Weakness",
    "Witness",
]
