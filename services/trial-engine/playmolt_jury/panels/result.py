"""What a jury of a panel leaves in the panel's log: verdict, moves, what it has cost, and a digest of its course."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec
from playmolt_core.llm.port import UNCHARGED, AttemptOutcome, ToolCall, Usage
from playmolt_schemas.canonical import digest
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.jury import (
    AttemptMade,
    EvidencePresented,
    JurorSaid,
    OverseerSaid,
    RoundStarted,
    Speech,
    VerdictRead,
    VoteDecided,
)
from playmolt_schemas.stored.panels import JuryPlayed, JuryScript, PanelPlace, PanelSpent, StanceMove

from playmolt_jury.events import StanceChanged
from playmolt_jury.panels.state import added
from playmolt_jury.persuasion import stance


class StoredCall(msgspec.Struct, frozen=True):
    """What a panel needs of the stored record of a model request."""

    outcome: AttemptOutcome
    reply: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    cost: str | None = None


def stored_call(event: AttemptMade) -> StoredCall:
    return msgspec.convert(event.attempt, StoredCall)


_ACTS: Final = (OverseerSaid, EvidencePresented, JurorSaid, Speech, StanceChanged)


def result_of(place: PanelPlace, session: str, script: JuryScript, events: Sequence[Event]) -> JuryPlayed:
    """The result of a jury that is over; without a verdict it is missing."""
    verdict = next((event for event in events if isinstance(event, VerdictRead)), None)
    decided = {event.juror_id: event.guilty for event in events if isinstance(event, VoteDecided)}
    return JuryPlayed(
        script=place.script,
        number=place.number,
        session=session,
        outcome=verdict.verdict if verdict else "missing",
        votes={juror: decided[juror] for juror in sorted(decided)},
        course=course(events),
        moves=tuple(moves(script, events)),
        spent=spent_on(events),
    )


def missing(place: PanelPlace, session: str) -> JuryPlayed:
    """The result of a jury that can no longer be read."""
    return JuryPlayed(
        script=place.script, number=place.number, session=session, outcome="missing", votes={}, course="", moves=(),
        spent=PanelSpent(),
    )  # fmt: skip


def course(events: Iterable[Event]) -> str:
    """Equal for juries in which the same was done and said, in whatever order jurors voted; ids and times aside."""
    acts: list[object] = [[event.type, event] for event in events if isinstance(event, _ACTS)]
    votes = sorted((event.juror_id, event.guilty) for event in events if isinstance(event, VoteDecided))
    return digest([*map(msgspec.to_builtins, acts), votes])[:32]


def moves(script: JuryScript, events: Iterable[Event]) -> Iterator[StanceMove]:
    """Every change of a stance, in order. Steps of rounds of deliberation follow those of the script."""
    place = step = 0
    for event in events:
        match event:
            case OverseerSaid() | EvidencePresented():
                place += 1
                step = script.steps[place - 1].step
            case RoundStarted():
                place = step = len(script.steps) + event.round
            case StanceChanged():
                yield StanceMove(step, place, event.cause, event.juror_id, event.before, event.after)


def spent_on(events: Iterable[Event]) -> PanelSpent:
    """What the model calls of a jury have cost, as far as they are in its log."""
    found = PanelSpent()
    for event in events:
        if isinstance(event, AttemptMade):
            found = added(found, _spent(event))
    return found


def _spent(event: AttemptMade) -> PanelSpent:
    call = stored_call(event)
    usage = call.usage or Usage(0, 0)
    cost = "0" if call.cost is None and call.outcome in UNCHARGED else call.cost
    return PanelSpent(money=cost, tokens=(usage.prompt_tokens or 0) + (usage.completion_tokens or 0), calls=1)


def sides(moved: Iterable[StanceMove], juror: str) -> tuple[int, int]:
    """How often a juror changed sides: to guilty, to innocent."""
    crossed = [
        stance.votes_guilty(move.after)
        for move in moved
        if move.juror == juror and stance.votes_guilty(move.before) != stance.votes_guilty(move.after)
    ]
    return sum(crossed), len(crossed) - sum(crossed)
