"""The transcript of a finished session: who said what, with what effect, and the votes. Secret notes are omitted."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec
from playmolt_schemas.games.jury import VerdictView
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.jury import (
    ContractDeployed,
    EvidencePresented,
    EvidenceRead,
    EvidenceUnlocked,
    JurorSaid,
    Language,
    NoteSent,
    OverseerSaid,
    PhaseChanged,
    RoundStarted,
    Speech,
    ToolCalled,
    WitnessTalked,
)

from playmolt_jury import dialogue, replies
from playmolt_jury.content.material import Material
from playmolt_jury.events import StanceChanged
from playmolt_jury.persuasion import stance
from playmolt_jury.state import State


class TranscriptTexts:
    """Texts by key, `{name}` where a value is put."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts

    def __call__(self, key: str, **values: object) -> str:
        found = self._texts[key]
        for name, value in values.items():
            found = found.replace(f"{{{name}}}", str(value))
        return found


@cache
def transcript_texts(language: Language) -> TranscriptTexts:
    source = files("playmolt_jury").joinpath("data", f"transcript.{language}.json").read_text("utf-8")
    return TranscriptTexts(msgspec.json.decode(source, type=dict[str, str]))


class TranscriptEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened or, if `who` is set, something that was said."""

    text: str
    who: str = ""


class TranscriptPart(msgspec.Struct, frozen=True, kw_only=True):
    """A titled section."""

    title: str
    entries: tuple[TranscriptEntry, ...]


class TranscriptVote(msgspec.Struct, frozen=True, kw_only=True):
    """A juror's vote; `tx_hash` and `address` are "" if it is not on the chain."""

    name: str
    vote: str
    stance: int
    tx_hash: str
    address: str


class Transcript(msgspec.Struct, frozen=True, kw_only=True):
    """The whole text; `deployed` is the transaction that deployed the contract."""

    session: str
    language: Language
    title: str
    parts: tuple[TranscriptPart, ...]
    verdict: VerdictView | None
    result: str
    votes: tuple[TranscriptVote, ...]
    deployed: str
    ending: TranscriptEntry | None


def transcript(state: State, material: Material, events: Sequence[Event], verdict: VerdictView | None) -> Transcript:
    """Deterministic for a session. `verdict` is the one to show."""
    say = transcript_texts(state.language)
    writer = _EntryWriter(state, material, say)
    result = say("unvoted") if verdict is None else verdict_text(verdict, say)
    ending = next((each for each in material.endings if each.id == state.ending), None)
    return Transcript(
        session=state.game_id,
        language=state.language,
        title=material.dossier.title,
        parts=(_case(material, say), *writer.parts(in_reading_order(events))),
        verdict=verdict,
        result=result,
        votes=tuple(_votes(state, verdict, say)),
        deployed=next((event.tx_hash for event in events if isinstance(event, ContractDeployed)), ""),
        ending=TranscriptEntry(who=ending.title, text=ending.text) if ending else None,
    )


def verdict_text(verdict: VerdictView, say: TranscriptTexts) -> str:
    name = say(f"verdict.{verdict.verdict}")
    return say("verdict", verdict=name, guilty=verdict.guilty, not_guilty=verdict.not_guilty)


def in_reading_order(events: Iterable[Event]) -> Iterator[Event]:
    """Moves the stance changes of a message behind the juror's answer; in the log they come before it."""
    waiting: list[StanceChanged] = []
    for event in events:
        if isinstance(event, StanceChanged) and event.cause in ("chat", "evidence", "weakness"):
            waiting.append(event)
            continue
        yield event
        if isinstance(event, JurorSaid):
            yield from waiting
            waiting = []
    yield from waiting


def _case(material: Material, say: TranscriptTexts) -> TranscriptPart:
    spoken = (TranscriptEntry(who=line.speaker, text=line.text) for line in material.prologue)
    return TranscriptPart(title=say("case"), entries=(TranscriptEntry(text=material.dossier.text), *spoken))


def _votes(state: State, verdict: VerdictView | None, say: TranscriptTexts) -> Iterator[TranscriptVote]:
    for vote in verdict.votes if verdict else ():
        cast = vote.guilty is not None
        yield TranscriptVote(
            name=state.juror(vote.juror_id).name,
            vote=say("verdict.guilty" if vote.guilty else "verdict.not_guilty") if cast else say("missed"),
            stance=vote.stance,
            tx_hash=vote.tx_hash or "",
            address=vote.address or "",
        )


class _EntryWriter:
    """Renders events as entries in one language."""

    def __init__(self, state: State, material: Material, say: TranscriptTexts) -> None:
        self.say = say
        self.material = material
        self.jurors = {juror.id: juror.name for juror in state.jurors}
        self.titles = {item.id: item.title for item in material.evidence}
        self.witnesses = {witness.id: witness.name for witness in material.witnesses}

    def parts(self, events: Iterable[Event]) -> Iterator[TranscriptPart]:
        """One part per phase and deliberation round, without empty ones."""
        title, entries = self.say("begins"), list[TranscriptEntry]()
        for event in events:
            heading = self._heading(event)
            if heading:
                if entries:
                    yield TranscriptPart(title=title, entries=tuple(entries))
                title, entries = heading, []
            else:
                entries += self._entries(event)
        if entries:
            yield TranscriptPart(title=title, entries=tuple(entries))

    def _heading(self, event: Event) -> str:
        if isinstance(event, PhaseChanged):
            return self.say(f"phase.{event.to}")
        return self.say("round", round=event.round) if isinstance(event, RoundStarted) else ""

    def _entries(self, event: Event) -> Iterable[TranscriptEntry]:
        write = _WRITERS.get(type(event))
        return write(self, event) if write else ()

    def _shown(self, evidence_id: str, key: str = "shows") -> TranscriptEntry:
        return TranscriptEntry(text=self.say(key, id=evidence_id, title=self.titles.get(evidence_id, "")))

    def talked(self, event: WitnessTalked) -> Iterator[TranscriptEntry]:
        name = self.witnesses.get(event.witness_id, event.witness_id)
        asked, answer = dialogue.words_of(self.material, event)
        if asked:
            yield TranscriptEntry(who=f"{self.say('you')} → {name}", text=asked)
        elif event.evidence_id:
            yield self._shown(event.evidence_id)
        if answer:
            yield TranscriptEntry(who=name, text=answer)
        if event.cracked:
            yield TranscriptEntry(text=self.say("breaks", name=name))

    def unlocked(self, event: EvidenceUnlocked) -> Iterable[TranscriptEntry]:
        return (self._shown(event.evidence_id, "opens"),)

    def read(self, event: EvidenceRead) -> Iterable[TranscriptEntry]:
        return (self._shown(event.evidence_id, "read"),)

    def overseer(self, event: OverseerSaid) -> Iterable[TranscriptEntry]:
        return (TranscriptEntry(who=f"{self.say('you')} → {self.jurors[event.juror_id]}", text=event.text),)

    def presented(self, event: EvidencePresented) -> Iterable[TranscriptEntry]:
        shown = self._shown(event.evidence_id)
        return (TranscriptEntry(who=f"{self.say('you')} → {self.jurors[event.juror_id]}", text=shown.text),)

    def said(self, event: JurorSaid | Speech) -> Iterable[TranscriptEntry]:
        return (TranscriptEntry(who=self.jurors[event.juror_id], text=event.text),)

    def noted(self, event: NoteSent) -> Iterable[TranscriptEntry]:
        return (TranscriptEntry(text=self.say("note", name=self.jurors[event.juror_id])),)

    def looked(self, event: ToolCalled) -> Iterable[TranscriptEntry]:
        if event.tool != replies.LOOKUP:
            return ()
        what = ", ".join(map(str, event.input.get("evidence_ids", ())))
        return (TranscriptEntry(text=self.say("looks", name=self.jurors[event.juror_id], what=what)),)

    def moved(self, event: StanceChanged) -> Iterable[TranscriptEntry]:
        if event.cause == "speech" and event.before == event.after:
            return ()
        why = self.say(f"why.{event.cause}", by=self.jurors.get(event.by, event.by))
        bands = {
            "band_before": self.say(f"band.{stance.band(event.before)}"),
            "band": self.say(f"band.{stance.band(event.after)}"),
        }
        key = "stays" if event.before == event.after else "moves"
        name = self.jurors[event.juror_id]
        return (
            TranscriptEntry(text=self.say(key, name=name, before=event.before, after=event.after, why=why, **bands)),
        )


_WRITERS: Final[Mapping[type[Event], Callable[[_EntryWriter, Any], Iterable[TranscriptEntry]]]] = {
    WitnessTalked: _EntryWriter.talked,
    EvidenceUnlocked: _EntryWriter.unlocked,
    EvidenceRead: _EntryWriter.read,
    OverseerSaid: _EntryWriter.overseer,
    EvidencePresented: _EntryWriter.presented,
    JurorSaid: _EntryWriter.said,
    Speech: _EntryWriter.said,
    NoteSent: _EntryWriter.noted,
    ToolCalled: _EntryWriter.looked,
    StanceChanged: _EntryWriter.moved,
}
