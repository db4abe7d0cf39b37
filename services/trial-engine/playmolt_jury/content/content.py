"""The case that a jury hears: `content/structure.toml` and the words of each language beside it.

What both languages share (ids, locks, weights, where a talk leads) stands once; a language gives the words for those
ids and nothing else. `content/README.md` tells a writer how.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, TypeVar, get_args

import msgspec
from playmolt_schemas.canonical import digest
from playmolt_schemas.games.jury import VerdictName
from playmolt_schemas.text import trimmed

from playmolt_jury.content.material import (
    TOPICS,
    Choice,
    Dossier,
    Ending,
    Evidence,
    Found,
    Juror,
    Language,
    Line,
    Material,
    Node,
    Reaction,
    Topic,
    TopicImpact,
    Weakness,
    When,
    Witness,
)

LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)

_CONTENT: Final = files("playmolt_jury").joinpath("content")
_T = TypeVar("_T")


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class ContentError(ValueError):
    """Content files cannot be used; `faults` names every fault, one a line of the message."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(self.faults))


class EvidenceFrame(_Strict, frozen=True, kw_only=True):
    id: str
    stem: str
    locked: bool = False
    topics: tuple[TopicImpact, ...] = ()


class JurorFrame(_Strict, frozen=True, kw_only=True):
    id: str
    initial_stance: int
    speaker_power: str
    topic_weights: dict[str, int]


class ChoiceFrame(_Strict, frozen=True, kw_only=True):
    id: str
    goto: str
    pressure: int = 0
    when: When = When()


class NodeFrame(_Strict, frozen=True, kw_only=True):
    """`afterwards`: it belongs to the talk once the witness has broken."""

    choices: tuple[ChoiceFrame, ...] = ()
    evidence: dict[str, Reaction] = {}
    ends: bool = False
    afterwards: bool = False


class WitnessFrame(_Strict, frozen=True, kw_only=True):
    """The reactions of `afterwards` hold in every node marked so."""

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
        """What shown evidence brings about at this node alone, beside the witness's own `evidence`."""
        return {**self.afterwards, **node.evidence} if node.afterwards else node.evidence


class EndingFrame(_Strict, frozen=True, kw_only=True):
    id: str
    verdict: VerdictName
    when: Found


class Structure(_Strict, frozen=True, kw_only=True):
    """What all languages share; each frame in it is the entry without its words."""

    evidence: tuple[EvidenceFrame, ...]
    jurors: tuple[JurorFrame, ...]
    witnesses: tuple[WitnessFrame, ...]
    endings: tuple[EndingFrame, ...]


class TitledText(_Strict, frozen=True, kw_only=True):
    title: str
    text: str


class CaseText(_Strict, frozen=True, kw_only=True):
    """`case.toml`."""

    title: str
    dossier: TitledText
    prologue: tuple[Line, ...]
    topics: dict[str, str]
    endings: dict[str, TitledText]


class JurorText(_Strict, frozen=True, kw_only=True):
    name: str
    trigger_keywords: tuple[str, ...]
    personality: tuple[str, ...]
    role_prompt: str


class NodeText(_Strict, frozen=True, kw_only=True):
    """`choices` by id."""

    text: str
    choices: dict[str, str] = {}


class WitnessText(_Strict, frozen=True, kw_only=True):
    """`witness_ID.toml`."""

    name: str
    nodes: dict[str, NodeText]


class Texts(_Strict, frozen=True, kw_only=True):
    """Everything that one language says, by the ids of the structure."""

    case: CaseText
    evidence: dict[str, TitledText]
    jurors: dict[str, JurorText]
    witnesses: dict[str, WitnessText]


@cache
def load(language: Language) -> Material:
    """The case in a language; raises ContentError when a file cannot be read or lacks something."""
    shared = structure()
    return assemble(shared, texts(language, shared), language)


@cache
def version() -> str:
    """A digest of every file, so that a change of any is seen in event 1."""
    return digest(dict(_sources()))[:16]


@cache
def structure() -> Structure:
    """Raises ContentError when the file cannot be read."""
    return _read("structure.toml", Structure)


def texts(language: Language, shared: Structure) -> Texts:
    """What one language says. Raises ContentError when a file cannot be read."""
    return Texts(
        case=_read(f"{language}/case.toml", CaseText),
        evidence=_read(f"{language}/evidence.toml", dict[str, TitledText]),
        jurors=_read(f"{language}/jurors.toml", dict[str, JurorText]),
        witnesses={each.id: _read(f"{language}/witness_{each.id}.toml", WitnessText) for each in shared.witnesses},
    )


def assemble(shared: Structure, said: Texts, language: Language) -> Material:
    """Raises ContentError naming every id that lacks words and all words without an id."""
    faults = [f"{language}: {fault}" for fault in _misfits(shared, said)]
    if faults:
        raise ContentError(faults)
    return Material(
        language=language,
        title=said.case.title,
        prologue=said.case.prologue,
        dossier=Dossier(title=said.case.dossier.title, text=trimmed(said.case.dossier.text)),
        topics=tuple(Topic(id=each, text=said.case.topics[each]) for each in TOPICS),
        evidence=tuple(_evidence(each, said.evidence[each.id]) for each in shared.evidence),
        witnesses=tuple(_witness(each, said.witnesses[each.id]) for each in shared.witnesses),
        jurors=tuple(_juror(each, said.jurors[each.id]) for each in shared.jurors),
        endings=tuple(_ending(each, said.case.endings[each.id]) for each in shared.endings),
    )


def _sources() -> Iterator[tuple[str, str]]:
    for folder in (_CONTENT, *(_CONTENT.joinpath(language) for language in LANGUAGES)):
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
            if entry.name.endswith(".toml"):
                yield f"{folder.name}/{entry.name}", entry.read_text("utf-8")


def _read(name: str, shape: type[_T]) -> _T:
    try:
        raw: dict[str, Any] = tomllib.loads(_CONTENT.joinpath(name).read_text("utf-8"))
        return msgspec.convert(raw, type=shape)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ContentError([f"{name}: {error}"]) from None


def _misfits(shared: Structure, said: Texts) -> Iterator[str]:
    yield from _compared("topic", TOPICS, said.case.topics)
    yield from _compared("evidence", (each.id for each in shared.evidence), said.evidence)
    yield from _compared("juror", (each.id for each in shared.jurors), said.jurors)
    yield from _compared("ending", (each.id for each in shared.endings), said.case.endings)
    yield from _compared("witness", (each.id for each in shared.witnesses), said.witnesses)
    for witness in shared.witnesses:
        there = said.witnesses[witness.id].nodes if witness.id in said.witnesses else {}
        yield from _compared(f"witness {witness.id}, node", witness.nodes, there)
        for name in witness.nodes.keys() & there.keys():
            offered = (choice.id for choice in witness.nodes[name].choices)
            yield from _compared(f"witness {witness.id}, node {name}, choice", offered, there[name].choices)


def _compared(kind: str, wanted: Iterable[str], found: Mapping[str, Any]) -> Iterator[str]:
    ids = set(wanted)
    yield from (f"{kind} {each} has no words; write them" for each in sorted(ids - found.keys()))
    surplus = sorted(found.keys() - ids)
    yield from (f"{kind} {each} is not in structure.toml; add it or take its words out" for each in surplus)


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


def _ending(frame: EndingFrame, said: TitledText) -> Ending:
    return Ending(id=frame.id, verdict=frame.verdict, when=frame.when, title=said.title, text=trimmed(said.text))
