"""The views and messages of a session for its owner; no one else gets any.

Before the verdict they contain no stance, weight, weakness, role prompt or speaker power, unless `show_stances` is set.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import UNSET
from playmolt_schemas.games.jury import (
    DELIBERATION_ROUNDS,
    ChainChangedMessage,
    ChoiceView,
    ContractDeployedMessage,
    DossierView,
    EndedMessage,
    EndingView,
    EvidenceList,
    EvidenceListEntry,
    EvidencePresentedMessage,
    EvidenceReadMessage,
    EvidenceUnlockedMessage,
    EvidenceView,
    JurorSaidMessage,
    JurorView,
    JuryAbortedMessage,
    JuryCase,
    JuryMessage,
    JuryOpenedMessage,
    JuryProgressMessage,
    JurySession,
    JuryTurnFailedMessage,
    JuryTurnStartedMessage,
    NoteSentMessage,
    OverseerSaidMessage,
    PhaseChangedMessage,
    RoundEndedMessage,
    RoundStartedMessage,
    SpeechMessage,
    SpokenLine,
    StanceChangedMessage,
    TalkView,
    ToolCalledMessage,
    VerdictReadMessage,
    VoteCastMessage,
    VoteDecidedMessage,
    VoteMissedMessage,
    VoteRetriedMessage,
    WitnessList,
    WitnessListEntry,
    WitnessTalkedMessage,
)
from playmolt_schemas.stored.event import Event

from playmolt_jury import dialogue, replies
from playmolt_jury.content.material import Material, Witness
from playmolt_jury.content.pack import Pack
from playmolt_jury.dialogue import Talk
from playmolt_jury.events import (
    ChainChanged,
    ContractDeployed,
    Ended,
    EvidencePresented,
    EvidenceRead,
    EvidenceUnlocked,
    GameAborted,
    JurorSaid,
    JuryOpened,
    NoteSent,
    OverseerSaid,
    PhaseChanged,
    RoundEnded,
    RoundStarted,
    Speech,
    StanceChanged,
    ToolCalled,
    TurnFailed,
    TurnStarted,
    VerdictRead,
    VoteCast,
    VoteDecided,
    VoteMissed,
    VoteRetried,
    WitnessTalked,
)
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


def public(event: Event, material: Material, *, show_stances: bool) -> JuryMessage:
    """The owner's message for an event; JuryProgressMessage if the event has no message of its own."""
    if isinstance(event, StanceChanged):
        return _moved(event, show_stances=show_stances)
    if isinstance(event, WitnessTalked):
        return _talked(event, material)
    message_of = _PUBLIC.get(type(event))
    return message_of(event) if message_of else JuryProgressMessage()


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


def _moved(event: StanceChanged, *, show_stances: bool) -> JuryMessage:
    return StanceChangedMessage(
        juror_id=event.juror_id,
        cause=event.cause,
        by=event.by,
        band_before=stance.band(event.before),
        band=stance.band(event.after),
        before=event.before if show_stances else UNSET,
        after=event.after if show_stances else UNSET,
    )


def _opened(event: JuryOpened) -> JuryMessage:
    return JuryOpenedMessage(language=event.language, model=event.model)


def _phase(event: PhaseChanged) -> JuryMessage:
    return PhaseChangedMessage(from_=event.from_, to=event.to)


def _talked(event: WitnessTalked, material: Material) -> JuryMessage:
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


def _unlocked(event: EvidenceUnlocked) -> JuryMessage:
    return EvidenceUnlockedMessage(evidence_id=event.evidence_id, witness_id=event.witness_id)


def _read(event: EvidenceRead) -> JuryMessage:
    return EvidenceReadMessage(evidence_id=event.evidence_id)


def _started(event: TurnStarted) -> JuryMessage:
    return JuryTurnStartedMessage(turn=event.turn, juror_id=event.juror_id)


def _failed(event: TurnFailed) -> JuryMessage:
    return JuryTurnFailedMessage(turn=event.turn, juror_id=event.juror_id, code=event.code)


def _overseer(event: OverseerSaid) -> JuryMessage:
    return OverseerSaidMessage(juror_id=event.juror_id, text=event.text, topics=event.topics, repeats=event.repeats)


def _presented(event: EvidencePresented) -> JuryMessage:
    return EvidencePresentedMessage(juror_id=event.juror_id, evidence_id=event.evidence_id, repeats=event.repeats)


def _said(event: JurorSaid) -> JuryMessage:
    return JurorSaidMessage(juror_id=event.juror_id, text=event.text)


def _noted(event: NoteSent) -> JuryMessage:
    return NoteSentMessage(juror_id=event.juror_id, text=event.text, topics=event.topics, repeats=event.repeats)


def _round(event: RoundStarted) -> JuryMessage:
    return RoundStartedMessage(round=event.round, leader=event.leader, responders=event.responders)


def _speech(event: Speech) -> JuryMessage:
    return SpeechMessage(round=event.round, juror_id=event.juror_id, text=event.text, topics=event.topics)


def _round_over(event: RoundEnded) -> JuryMessage:
    return RoundEndedMessage(round=event.round)


def _tool(event: ToolCalled) -> JuryMessage:
    # The vote a juror intends would reveal on which side of 50 its stance is.
    input_ = event.input if event.tool == replies.LOOKUP else None
    return ToolCalledMessage(juror_id=event.juror_id, tool=event.tool, input=input_)


def _decided(event: VoteDecided) -> JuryMessage:
    return VoteDecidedMessage(juror_id=event.juror_id)


def _deployed(event: ContractDeployed) -> JuryMessage:
    return ContractDeployedMessage(
        contract=event.contract, chain_id=event.chain_id, tx_hash=event.tx_hash, log_hash=event.log_hash
    )


def _cast(event: VoteCast) -> JuryMessage:
    return VoteCastMessage(juror_id=event.juror_id, guilty=event.guilty, tx_hash=event.tx_hash)


def _missed(event: VoteMissed) -> JuryMessage:
    return VoteMissedMessage(juror_id=event.juror_id)


def _chain_changed(event: ChainChanged) -> JuryMessage:
    return ChainChangedMessage(contract=event.contract, chain_id=event.chain_id)


def _retried(_: VoteRetried) -> JuryMessage:
    return VoteRetriedMessage()


def _verdict(event: VerdictRead) -> JuryMessage:
    return VerdictReadMessage(
        verdict=event.verdict,
        guilty=event.guilty,
        not_guilty=event.not_guilty,
        votes=event.votes,
        contract=event.contract,
        chain_id=event.chain_id,
        log_hash=event.log_hash,
    )


def _ended(event: Ended) -> JuryMessage:
    return EndedMessage(ending=event.ending)


def _aborted(event: GameAborted) -> JuryMessage:
    return JuryAbortedMessage(reason=event.reason)


_PUBLIC: Final[Mapping[type[Event], Callable[[Any], JuryMessage]]] = {
    JuryOpened: _opened,
    PhaseChanged: _phase,
    EvidenceUnlocked: _unlocked,
    EvidenceRead: _read,
    TurnStarted: _started,
    TurnFailed: _failed,
    OverseerSaid: _overseer,
    EvidencePresented: _presented,
    JurorSaid: _said,
    NoteSent: _noted,
    RoundStarted: _round,
    Speech: _speech,
    RoundEnded: _round_over,
    ToolCalled: _tool,
    VoteDecided: _decided,
    ContractDeployed: _deployed,
    VoteCast: _cast,
    VoteMissed: _missed,
    ChainChanged: _chain_changed,
    VoteRetried: _retried,
    VerdictRead: _verdict,
    Ended: _ended,
    GameAborted: _aborted,
}
