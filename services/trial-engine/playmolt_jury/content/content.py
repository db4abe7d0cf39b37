"""The files of a case: `structure.toml`, and the texts of each language.

`structure.toml` has what the languages share (ids, locks, weights, links between nodes); a language has only the texts
for those ids. `content/README.md` is the guide for writers.
"""

import msgspec
from playmolt_schemas.stored.jury import VerdictName
from playmolt_schemas.text import trimmed

from playmolt_jury.content.material import (
    TOPICS,
    Choice,
    ChoiceCondition,
    Dossier,
    EndingEntry,
    Evidence,
    Found,
    Juror,
    Language,
    Material,
    Node,
    PrologueLine,
    Reaction,
    Rules,
    Topic,
    TopicImpact,
    Weakness,
    Witness,
)


class _FileStruct(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a content file; unknown keys are faults."""


class EvidenceFrame(_FileStruct, frozen=True, kw_only=True):
    id: str
    stem: str
    locked: bool = False
    topics: tuple[TopicImpact, ...] = ()


class JurorFrame(_FileStruct, frozen=True, kw_only=True):
    id: str
    initial_stance: int
    speaker_power: str
    topic_weights: dict[str, int]


class ChoiceFrame(_FileStruct, frozen=True, kw_only=True):
    id: str
    goto: str
    pressure: int = 0
    when: ChoiceCondition = ChoiceCondition()


class NodeFrame(_FileStruct, frozen=True, kw_only=True):
    """`afterwards`: the node is used only after the witness has broken."""

    choices: tuple[ChoiceFrame, ...] = ()
    evidence: dict[str, Reaction] = {}
    ends: bool = False
    afterwards: bool = False


class WitnessFrame(_FileStruct, frozen=True, kw_only=True):
    """The reactions in `afterwards` apply to every node with `afterwards = true`."""

    id: str
    start: str
    breaks: str
    fallback: str
    threshold: int
    unlocks: tuple[str, ...]
    evidence: dict[str, Reaction] = {}
    afterwards: dict[str, Reaction] = {}
    nodes: dict[str, NodeFrame]

    def reactions(self, node: NodeFrame) -> dict[str, Reaction]:
        """The reactions of this node, in addition to the `evidence` of the witness."""
        return {**self.afterwards, **node.evidence} if node.afterwards else node.evidence


class EndingFrame(_FileStruct, frozen=True, kw_only=True):
    id: str
    verdict: VerdictName
    when: Found


class Structure(_FileStruct, frozen=True, kw_only=True):
    """What all languages share; a frame is an entry without its texts."""

    topics: tuple[str, ...] = TOPICS
    rules: Rules = Rules()
    evidence: tuple[EvidenceFrame, ...]
    jurors: tuple[JurorFrame, ...]
    witnesses: tuple[WitnessFrame, ...] = ()
    endings: tuple[EndingFrame, ...]


class TitledText(_FileStruct, frozen=True, kw_only=True):
    title: str
    text: str


class CaseText(_FileStruct, frozen=True, kw_only=True):
    """`case.toml`."""

    title: str
    dossier: TitledText
    prologue: tuple[PrologueLine, ...]
    topics: dict[str, str]
    endings: dict[str, TitledText]


class JurorText(_FileStruct, frozen=True, kw_only=True):
    name: str
    trigger_keywords: tuple[str, ...]
    personality: tuple[str, ...]
    role_prompt: str


class NodeText(_FileStruct, frozen=True, kw_only=True):
    """`choices` by id."""

    text: str
    choices: dict[str, str] = {}


class WitnessText(_FileStruct, frozen=True, kw_only=True):
    """`witness_ID.toml`."""

    name: str
    nodes: dict[str, NodeText]


class CaseTexts(_FileStruct, frozen=True, kw_only=True):
    """All texts of one language, by the ids of the structure."""

    case: CaseText
    evidence: dict[str, TitledText]
    jurors: dict[str, JurorText]
    witnesses: dict[str, WitnessText]


def assemble(shared: Structure, said: CaseTexts, language: Language, lexicon: bytes = b"") -> Material:
    """Every id of the structure must have its text; `lexicon` is the pack's own word list, if any."""
    return Material(
        language=language,
        title=said.case.title,
        prologue=said.case.prologue,
        dossier=Dossier(title=said.case.dossier.title, text=trimmed(said.case.dossier.text)),
        topics=tuple(Topic(id=each, text=said.case.topics[each]) for each in shared.topics),
        evidence=tuple(_evidence(each, said.evidence[each.id]) for each in shared.evidence),
        witnesses=tuple(_witness(each, said.witnesses[each.id]) for each in shared.witnesses),
        jurors=tuple(_juror(each, said.jurors[each.id]) for each in shared.jurors),
        endings=tuple(_ending(each, said.case.endings[each.id]) for each in shared.endings),
        rules=shared.rules,
        lexicon=lexicon,
    )


def _evidence(frame: EvidenceFrame, said: TitledText) -> Evidence:
    return Evidence(
        id=frame.id,
        stem=frame.stem,
        title=said.title,
        text=trimmed(said.text),
        locked=frame.locked,
        topics=frame.topics,
    )


def _juror(frame: JurorFrame, said: JurorText) -> Juror:
    return Juror(
        id=frame.id,
        name=said.name,
        initial_stance=frame.initial_stance,
        speaker_power=frame.speaker_power,
        topic_weights=frame.topic_weights,
        weakness=Weakness(trigger_keywords=said.trigger_keywords),
        personality=said.personality,
        role_prompt=trimmed(said.role_prompt),
    )


def _witness(frame: WitnessFrame, said: WitnessText) -> Witness:
    return Witness(
        id=frame.id,
        name=said.name,
        start=frame.start,
        breaks=frame.breaks,
        fallback=frame.fallback,
        threshold=frame.threshold,
        unlocks=frame.unlocks,
        evidence=frame.evidence,
        nodes={name: _node(frame, node, said.nodes[name]) for name, node in frame.nodes.items()},
    )


def _node(witness: WitnessFrame, frame: NodeFrame, said: NodeText) -> Node:
    return Node(
        text=trimmed(said.text),
        choices=tuple(
            Choice(id=each.id, text=said.choices[each.id], goto=each.goto, pressure=each.pressure, when=each.when)
            for each in frame.choices
        ),
        evidence=witness.reactions(frame),
        ends=frame.ends,
    )


def _ending(frame: EndingFrame, said: TitledText) -> EndingEntry:
    return EndingEntry(id=frame.id, verdict=frame.verdict, when=frame.when, title=said.title, text=trimmed(said.text))
