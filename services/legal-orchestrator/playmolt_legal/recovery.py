"""Recovers the command behind stored events, so that `log check` can decide it again by the present rules."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace
from playmolt_core.game.decider import Command, EndGame
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.legal import (
    AnyForm,
    AttemptMade,
    DraftSetAside,
    EvidenceAdded,
    FactChanged,
    Facts,
    FactsPosted,
    FactsStipulated,
    GateAnswered,
    GuardrailHit,
    Narrative,
    RedoAsked,
    SessionAborted,
    SessionDone,
    SessionOpened,
    TurnFailed,
    TurnRecorded,
    TurnStarted,
)

from playmolt_legal import commands, effects
from playmolt_legal.state import State


def recovered(state: State, events: Sequence[Event]) -> Iterator[Command]:  # noqa: C901, PLR0912 -- a case an event
    match event := events[0]:
        case SessionOpened(previous_session=None):
            yield _opening(event)
        case SessionOpened():
            yield _continuation(event, tuple(each for each in events if isinstance(each, EvidenceAdded)))
        case FactsPosted():
            yield commands.PostFacts(agent_id=event.by, body=_facts(event))
        case TurnStarted():
            yield commands.Retry(agent_id=state.owner)
        case AttemptMade():
            yield commands.Attempted(effect_id="", phase=event.phase, kind=event.kind, attempt=event.attempt)
        case GuardrailHit() | DraftSetAside():
            drafts = (each.output for each in events if isinstance(each, DraftSetAside))
            yield from (_spoken(state, output) for output in drafts)
        case TurnRecorded():
            yield _spoken(state, event.output)
        case FactsStipulated():
            yield _spoken(state, _stipulation(event))
        case TurnFailed():
            yield commands.FailTurn(
                effect_id=effects.effect_id(state), code=event.code, detail=event.detail, attempts=event.attempts
            )
        case GateAnswered():
            done = (each.next_session or "" for each in events if isinstance(each, SessionDone))
            yield commands.PostForm(agent_id=event.by, body=_form(event.form), next_session=next(done, ""))
        case FactChanged():
            yield commands.ChangeFact(agent_id=event.by, fact_id=event.fact_id, body=_change(event))
        case EvidenceAdded():
            yield commands.AddEvidence(agent_id=event.by, body=_upload(event))
        case RedoAsked():
            yield commands.Redo(agent_id=event.by, body={"turns": _asked_again(state, event)})
        case SessionAborted():
            yield EndGame(reason=event.reason)


def pinned(decided: Event, stored: Event) -> Event:
    """Keeps what no command decides: the rules and content of event 1, and facts, since proposals are not stored."""
    if isinstance(decided, SessionOpened) and isinstance(stored, SessionOpened):
        return replace(decided, rules_version=stored.rules_version, content_version=stored.content_version)
    return stored if isinstance(decided, FactsStipulated) and isinstance(stored, FactsStipulated) else decided


def _opening(event: SessionOpened) -> commands.OpenSession:
    body = {
        "case_type": event.case_type,
        "jurisdiction": event.jurisdiction,
        "title": event.title,
        "language": event.language,
        "exclusions": list(event.exclusions),
        "model": event.model,
        "side": event.side,
    }
    return commands.OpenSession(
        agent_id=event.owner,
        name=event.name,
        seed=event.seed,
        body=body,
        aliases=(event.model,),
    )


def _continuation(event: SessionOpened, uploads: tuple[EvidenceAdded, ...]) -> commands.ContinueSession:
    return commands.ContinueSession(
        agent_id=event.owner,
        name=event.name,
        seed=event.seed,
        previous_session=event.previous_session or "",
        case_type=event.case_type,
        jurisdiction=event.jurisdiction,
        title=event.title,
        language=event.language,
        exclusions=event.exclusions,
        model=event.model,
        narrative=event.narrative or Narrative(),
        facts=event.facts or Facts(),
        side=event.side,
        uploads=uploads,
    )


def _facts(event: FactsPosted) -> dict[str, object]:
    narrative = event.narrative
    return {
        "overview": narrative.overview,
        "acts": narrative.acts,
        "opposing_claims": narrative.opposing_claims,
        "timeline": [{"when": item.when, "what": item.what, "agreed": item.agreed} for item in event.timeline],
        "evidence": [
            {"title": item.title, "description": item.description} for item in event.evidence if not item.uploaded
        ],
    }


def _form(form: AnyForm) -> dict[str, object]:
    """The form as a person may have sent it: without the fields that it leaves open."""
    fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(form))
    return {name: value for name, value in fields.items() if value is not None and value != ""}


def _stipulation(event: FactsStipulated) -> dict[str, object]:
    """The questions that a model asked. Its facts are stored as what came of them, which `pinned` keeps."""
    questions = [{"text": question.text} for question in event.questions]
    return {"ConfirmedFacts": [], "DisputedFacts": [], "MissingFactsQuestions": questions}


def _upload(event: EvidenceAdded) -> dict[str, object]:
    item = event.evidence
    names = (
        "title", "kind", "media_type", "bytes", "pages", "sha256", "encoding", "sure", "notes",
    )  # fmt: skip
    return {**{name: getattr(item, name) for name in names}, "text": event.text}


def _change(event: FactChanged) -> dict[str, object]:
    fields = {"action": event.action, "text": event.text, "reason": event.reason}
    return {name: value for name, value in fields.items() if value is not None}


def _asked_again(state: State, event: RedoAsked) -> list[int]:
    """Those that were stale; a verifier that is not is done again with its round."""
    return [number for number in event.turns if state.turns[number - 1].stale]


def _spoken(state: State, output: Any) -> commands.TurnSpoken:
    return commands.TurnSpoken(effect_id=effects.effect_id(state), output=output)
