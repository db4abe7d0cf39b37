"""The views and messages of a session for its owner; no one else gets any.

Before the verdict they contain no stance, weight, weakness, role prompt or speaker power, unless `show_stances` is set.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import UNSET
from playmolt_schemas.feed_messages import FeedMessage
from playmolt_schemas.games.jury import (
    DELIBERATION_ROUNDS,
    FEED,
    ChoiceView,
    DossierView,
    EndingView,
    EvidenceList,
    EvidenceListEntry,
    EvidenceView,
    JurorView,
    JuryCase,
    JuryOpenedMessage,
    JuryProgressMessage,
    JurySession,
    SpokenLine,
    StanceChangedMessage,
    TalkView,
    ToolCalledMessage,
    VerdictReadMessage,
    WitnessList,
    WitnessListEntry,
    WitnessTalkedMessage,
)
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.jury import (
    ToolCalled,
    VerdictRead,
    WitnessTalked,
)

from playmolt_jury import dialogue, replies
from playmolt_jury.content.material import Material, Witness
from playmolt_jury.content.pack import Pack
from playmolt_jury.dialogue import Talk
from playmolt_jury.events import JuryOpened, StanceChanged
from playmolt_jury.persuasion import stance
from playmolt_jury.state import State


def session(state: State, pack: Pack, *, show_stances: bool) -> JurySession:
    material = pack.materials[state.language]
    return JurySession(
        id=state.game_id,
        language=state.language,
        model=state.model,
        version=state.version,
        phase=state.phase,
        prologue=tuple(SpokenLine(speaker=line.speaker, text=line.text) for line in material.prologue),
        notes_left=state.notes_left,
        round=state.round,
        rounds=UNSET if state.rules.deliberation == DELIBERATION_ROUNDS else state.rules.deliberation,
        failed=state.failed,
        case=JuryCase(id=pack.id, title=material.title, digest=pack.digest),
        jurors=tuple(_juror(state, juror, show_stances=show_stances) for juror in state.juror_ids),
        panel=state.panel or UNSET,
        calls_tools=UNSET if state.calls_tools is None else state.calls_tools,
    )


def dossier(material: Material) -> DossierView:
    return DossierView(title=material.dossier.title, text=material.dossier.text)


def evidence_list(state: State, material: Material) -> EvidenceList:
    """A locked item shows only its id."""
    titles = {item.id: item.title for item in material.evidence}
    still_locked = state.still_locked
    return EvidenceList(
        tuple(
            EvidenceListEntry(id=item.id, locked=True)
            if item.id in still_locked
            else EvidenceListEntry(id=item.id, locked=False, title=titles[item.id])
            for item in state.evidence
        )
    )


def evidence(material: Material, evidence_id: str) -> EvidenceView:
    """The item must be unlocked."""
    item = next(each for each in material.evidence if each.id == evidence_id)
    return EvidenceView(id=item.id, title=item.title, text=item.text)


def witnesses(state: State, material: Material) -> WitnessList:
    cracked = state.cracked
    return WitnessList(
        tuple(WitnessListEntry(id=each.id, name=each.name, cracked=each.id in cracked) for each in material.witnesses)
    )


def talk(state: State, witness: Witness, *, step: bool) -> TalkView:
    """The talk after a `step`, or unchanged."""
    here = state.talks.get(witness.id, Talk())
    node = dialogue.node_id(witness, here)
    shown = here.shown if step and here.shown in witness.nodes else node
    offered = dialogue.offered(witness, here, read=state.read, cracked=state.cracked)
    return TalkView(
        witness_id=witness.id,
        node=shown,
        text=witness.nodes[shown].text,
        choices=tuple(ChoiceView(id=choice.id, text=choice.text) for choice in offered),
        pressure=here.pressure,
        cracked=here.cracked,
        unlocked=here.unlocked if step else (),
        ended=witness.nodes[node].ends,
    )


def ending(state: State, material: Material) -> EndingView | None:
    reached = next((each for each in material.endings if each.id == state.ending), None)
    if reached is None:
        return None
    return EndingView(id=reached.id, verdict=reached.verdict, title=reached.title, text=reached.text)


def public(event: Event, material: Material, *, show_stances: bool) -> FeedMessage:
    """The owner's message for an event; JuryProgressMessage if the event has no message of its own."""
    if isinstance(event, StanceChanged):
        return _moved(event, show_stances=show_stances)
    if isinstance(event, WitnessTalked):
        return _talked(event, material)
    if written := _WRITTEN.get(type(event)):
        return written(event)
    copy = FEED.copies.get(type(event))
    return copy(event, None) if copy else JuryProgressMessage()


def _juror(state: State, juror_id: str, *, show_stances: bool) -> JurorView:
    file, current = state.juror(juror_id), state.juror_states[juror_id]
    return JurorView(
        id=juror_id,
        name=file.name,
        personality=file.personality,
        band=stance.band(current.stance),
        rounds_left=current.rounds_left,
        stance=current.stance if show_stances else UNSET,
    )


def _moved(event: StanceChanged, *, show_stances: bool) -> FeedMessage:
    return StanceChangedMessage(
        juror_id=event.juror_id,
        cause=event.cause,
        by=event.by,
        band_before=stance.band(event.before),
        band=stance.band(event.after),
        before=event.before if show_stances else UNSET,
        after=event.after if show_stances else UNSET,
    )


def _opened(event: JuryOpened) -> FeedMessage:
    return JuryOpenedMessage(language=event.language, model=event.model)


def _talked(event: WitnessTalked, material: Material) -> FeedMessage:
    said, text = dialogue.words_of(material, event)
    return WitnessTalkedMessage(
        witness_id=event.witness_id,
        choice=event.choice,
        evidence_id=event.evidence_id,
        shown=event.shown,
        pressure=event.pressure,
        cracked=event.cracked,
        said=said,
        text=text,
    )


def _tool(event: ToolCalled) -> FeedMessage:
    # The vote a juror intends would reveal on which side of 50 its stance is.
    input_ = event.input if event.tool == replies.LOOKUP else None
    return ToolCalledMessage(juror_id=event.juror_id, tool=event.tool, input=input_)


def _verdict(event: VerdictRead) -> FeedMessage:
    return VerdictReadMessage(
        verdict=event.verdict,
        guilty=event.guilty,
        not_guilty=event.not_guilty,
        votes=event.votes,
        contract=event.contract,
        chain_id=event.chain_id,
        log_hash=event.log_hash,
    )


_WRITTEN: Final[Mapping[type[Event], Callable[[Any], FeedMessage]]] = {
    JuryOpened: _opened,
    ToolCalled: _tool,
    VerdictRead: _verdict,
}
"""The messages with other content than their event's fields, besides those that need more than the event."""
