"""What a writer gives the jury in one language: the contract between content files and rules (jury.md, Content).

Numbers are integers or decimal strings, so that they may be stored. Texts are plain, paragraphs apart by a blank line.
"""

from typing import Final, Literal

import msgspec
from playmolt_schemas.games.jury import (
    DELIBERATION_ROUNDS,
    NOTES,
    ROUNDS_WITH_JUROR,
    Impact,
    Language,
    TopicImpact,
    VerdictName,
)

Found = Literal["everything", "something", "nothing"]
"""What the overseer found out: every item opened and read; no lock opened at all; anything between."""

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
"""What arguments are about. Positive says yes to the topic, negative no, neutral mentions it:

the machine's own working brought death · a person caused, staged or drove it · doubt, proof and custody must decide ·
the machine has a mind and standing of its own · pity, grief, mercy · people need protection and a precedent ·
what the verdict costs or brings those who give it · there is no clean answer.
"""


class _MaterialStruct(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a content file; unknown keys are faults."""


class PrologueLine(_MaterialStruct, frozen=True, kw_only=True):
    speaker: str
    text: str


class Dossier(_MaterialStruct, frozen=True, kw_only=True):
    """The case as the government tells it."""

    title: str
    text: str


class Topic(_MaterialStruct, frozen=True, kw_only=True):
    """One of TOPICS; `text` tells a model what it is about."""

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
    """What must hold for a choice to be offered; all parts must."""

    pressure: int = 0
    """At least this much on the witness."""
    read: tuple[str, ...] = ()
    """Evidence that the overseer has read."""
    visited: tuple[str, ...] = ()
    """Nodes of this witness that were shown."""
    cracked: tuple[str, ...] = ()
    """Witnesses that broke; a tree may ask for its own."""


class Choice(_MaterialStruct, frozen=True, kw_only=True):
    """What the overseer may say. `pressure` counts the first time only; ids are unique in their node."""

    id: str
    text: str
    goto: str
    pressure: int = 0
    when: ChoiceCondition = ChoiceCondition()


class Reaction(_MaterialStruct, frozen=True, kw_only=True):
    """What a piece of evidence brings about. `pressure` counts once a witness and item."""

    goto: str
    pressure: int = 0


class Node(_MaterialStruct, frozen=True, kw_only=True):
    """What a witness says. One that `ends` is a deliberate end; it may still offer choices to take the talk up."""

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
    """Reactions wherever the talk stands; a node's own goes first."""


class Weakness(_MaterialStruct, frozen=True, kw_only=True):
    """Keywords (substrings, case folded) that throw a juror once."""

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
    """One way it ends; there is exactly one for each verdict and each `when`."""

    id: str
    verdict: VerdictName
    when: Found
    title: str
    text: str


class Rules(_MaterialStruct, frozen=True, kw_only=True):
    """What a case says of its own course; the shipped one says nothing."""

    rounds: int = ROUNDS_WITH_JUROR
    """Dialogue rounds with each juror."""
    notes: int = NOTES
    deliberation: int = DELIBERATION_ROUNDS
    """Rounds of the jurors among themselves."""


class Material(_MaterialStruct, frozen=True, kw_only=True):
    """Everything in one language. Jurors stand in the order that breaks ties."""

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
