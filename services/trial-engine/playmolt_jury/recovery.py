"""Recovers the command behind stored events, so that `log check` can decide it again by the present rules."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace
from playmolt_core.game.decider import Command, EndGame
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.jury import (
    AttemptMade,
    ChainChanged,
    ContractDeployed,
    EvidencePresented,
    EvidenceRead,
    GameAborted,
    JurorSaid,
    NoteSent,
    OverseerSaid,
    PhaseChanged,
    RoundStarted,
    Speech,
    ToolCalled,
    ToolsProbed,
    TurnFailed,
    TurnStarted,
    VerdictRead,
    VoteCalled,
    VoteCast,
    VoteDecided,
    VoteMissed,
    VoteRetried,
    WitnessTalked,
)

from playmolt_jury import commands, effects
from playmolt_jury.effects import ChainTask
from playmolt_jury.events import JuryOpened
from playmolt_jury.state import State


def recovered(state: State, events: Sequence[Event]) -> Iterator[Command]:
    """The commands of the owner, of a juror's turn, or of the chain worker."""
    first = events[0]
    if isinstance(first, JuryOpened) and first.panel and first.script:
        yield commands.OpenPanelJury(
            owner=first.owner, name=first.name, language=first.language, pack_digest=first.pack_digest,
            deliberation=first.rules.deliberation, place=first.panel, script=first.script,
        )  # fmt: skip
    elif isinstance(first, JuryOpened):
        body = {"language": first.language, "model": first.model, "case": first.case}
        yield commands.OpenJury(
            agent_id=first.owner, name=first.name, seed=first.seed, body=body, aliases=(first.model,),
            uploaded=(commands.NamedCase(id=first.case, digest=first.pack_digest, languages=(first.language,)),),
        )  # fmt: skip
    elif isinstance(first, AttemptMade):
        yield commands.Attempted(effect_id="", turn=first.turn, kind=first.kind, attempt=first.attempt)
    elif isinstance(first, ToolsProbed):
        yield commands.ToolsAnswered(calls_tools=first.calls_tools)
    elif isinstance(first, GameAborted):
        yield EndGame(reason=first.reason)
    else:
        yield from [commands.GoOn()] if state.script else _of_the_owner(state, events)
        yield from _of_a_juror(state, events)
        yield from _of_the_chain(state, events)


def pinned(decided: Event, stored: Event) -> Event:
    """Keeps the stored rules and content of event 1: no command decides them."""
    if isinstance(decided, JuryOpened) and isinstance(stored, JuryOpened):
        return replace(
            decided,
            rules_version=stored.rules_version,
            content_version=stored.content_version,
            case=stored.case,
            pack_digest=stored.pack_digest,
            rules=stored.rules,
        )
    return decided


def _of_the_owner(state: State, events: Sequence[Event]) -> Iterator[Command]:
    owner = state.owner
    match first := events[0]:
        case PhaseChanged():
            yield commands.ChangePhase(agent_id=owner, body={"to": first.to})
        case WitnessTalked():
            body = {"choice": first.choice} if first.evidence_id is None else {"evidence_id": first.evidence_id}
            yield commands.TalkTo(agent_id=owner, witness_id=first.witness_id, body=body)
        case EvidenceRead():
            yield commands.ReadEvidence(agent_id=owner, evidence_id=first.evidence_id)
        case TurnStarted(turn="chat"):
            body = {"text": first.text}
            yield commands.Chat(agent_id=owner, call=first.call, juror_id=first.juror_id, body=body)
        case TurnStarted(turn="present"):
            yield commands.Present(
                agent_id=owner, call=first.call, juror_id=first.juror_id, evidence_id=first.evidence_id
            )
        case TurnStarted(turn="note"):
            body = {"juror_id": first.juror_id, "text": first.text}
            yield commands.SendNote(agent_id=owner, call=first.call, body=body)
        case TurnStarted() | RoundStarted():
            started = next((each for each in events if isinstance(each, TurnStarted)), None)
            yield commands.NextRound(agent_id=owner, call=started.call if started else "")
        case VoteCalled():
            yield commands.CallVote(agent_id=owner, call=first.call)
        case VoteRetried():
            yield commands.Retry(agent_id=owner, call=first.call)


def _of_a_juror(state: State, events: Sequence[Event]) -> Iterator[Command]:
    """The command that ended a turn; the juror of the event identifies the turn."""
    speaker = next((each.juror_id for each in events if isinstance(each, _ENDS)), None)
    # Not by the pending effects: a panel takes the turns of its juries itself.
    turn = next((one for one in effects.next_turns(state) if one.juror_id == speaker), None)
    if turn is None:
        return
    uses = tuple(
        commands.ToolUse(tool=each.tool, input=each.input, result=each.result)
        for each in events
        if isinstance(each, ToolCalled)
    )
    lost = next((each for each in events if isinstance(each, TurnFailed)), None)
    if lost:
        yield commands.TurnLost(
            effect_id=turn.id, code=lost.code, detail=lost.detail, attempts=lost.attempts, tools=uses
        )
    else:
        yield commands.JurorTurn(effect_id=turn.id, tools=uses, **_said(events))


_ENDS = (EvidencePresented, JurorSaid, NoteSent, OverseerSaid, Speech, TurnFailed, VoteDecided)


def _said(events: Sequence[Event]) -> dict[str, Any]:
    said: dict[str, Any] = {}
    for event in events:
        match event:
            case OverseerSaid() | NoteSent():
                said["topics"] = event.topics
            case Speech():
                said |= {"topics": event.topics, "text": event.text}
            case JurorSaid():
                said["text"] = event.text
            case VoteDecided():
                said["diverged"] = event.diverged
    return said


def _of_the_chain(state: State, events: Sequence[Event]) -> Iterator[Command]:
    verdict = next((each for each in events if isinstance(each, VerdictRead)), None)
    first = events[0]
    for effect in effects.effects(state):
        if not isinstance(task := effect.payload, ChainTask):
            continue
        if verdict and task.work == "verdict":
            yield _verdict(effect.id, verdict)
        elif isinstance(first, ContractDeployed) and task.work == "deploy":
            yield commands.CaseOpened(
                effect_id=effect.id, address=first.contract, chain_id=first.chain_id, tx_hash=first.tx_hash,
                log_hash=first.log_hash,
            )  # fmt: skip
        elif isinstance(first, ChainChanged):
            yield commands.ChainLost(effect_id=effect.id, detail=first.detail, looks=first.attempts)
        elif isinstance(first, VoteCast | VoteMissed) and task.juror_id == first.juror_id:
            cast = first if isinstance(first, VoteCast) else None
            yield commands.VoteMined(
                effect_id=effect.id, juror_id=first.juror_id, guilty=cast.guilty if cast else None,
                tx_hash=cast.tx_hash if cast else "",
            )  # fmt: skip


def _verdict(effect_id: str, read: VerdictRead) -> commands.VerdictFound:
    """Only a verdict of the chain: without one it follows from the last vote."""
    votes = tuple(
        commands.VoteRead(
            juror_id=vote.juror_id, address=vote.address or "", guilty=vote.guilty, tx_hash=vote.tx_hash or ""
        )
        for vote in read.votes
    )
    return commands.VerdictFound(
        effect_id=effect_id, guilty=read.verdict == "guilty", guilty_votes=read.guilty,
        not_guilty_votes=read.not_guilty, votes=votes, contract=read.contract or "", chain_id=read.chain_id or 0,
        log_hash=read.log_hash or "",
    )  # fmt: skip
