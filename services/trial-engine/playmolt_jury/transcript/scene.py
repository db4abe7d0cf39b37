"""The data of a drawing of the jury: each juror's band and vote, and who speaks to whom."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.jury import EvidencePresented, JurorSaid, OverseerSaid, Speech, WitnessTalked

from playmolt_jury import dialogue
from playmolt_jury.content.material import Material
from playmolt_jury.events import StanceChanged
from playmolt_jury.persuasion import stance
from playmolt_jury.state import State
from playmolt_jury.transcript.transcript import in_reading_order

OVERSEER: Final = "overseer"
_LINES: Final = 3
_SAID: Final = OverseerSaid | JurorSaid | Speech | EvidencePresented | WitnessTalked


def scene(state: State, material: Material, events: Sequence[Event]) -> dict[str, object]:
    """`state` is that of the last of `events`."""
    verdict = state.verdict
    ending = next((each for each in material.endings if each.id == state.ending), None)
    return {
        "gameType": "jury",
        "language": state.language,
        "phase": state.phase,
        "round": state.round,
        "title": material.dossier.title,
        "jurors": [_juror(state, juror) for juror in state.juror_ids],
        "lines": _lines(state, material, events),
        "moved": _moved(events),
        "verdict": verdict and {
            "verdict": verdict.verdict, "guilty": verdict.guilty, "not_guilty": verdict.not_guilty,
        },
        "ending": ending.title if ending else None,
    }  # fmt: skip


def _juror(state: State, juror: str) -> dict[str, object]:
    ballot = state.ballots.get(juror)
    cast = ballot if ballot and (ballot.tx_hash or state.verdict) else None
    return {
        "id": juror,
        "name": state.juror(juror).name,
        "band": stance.band(state.juror_states[juror].stance),
        "vote": cast and ("guilty" if cast.guilty else "not_guilty"),
        "tx_hash": cast and (cast.tx_hash or None),
    }


def _lines(state: State, material: Material, events: Iterable[Event]) -> list[dict[str, object]]:
    """The latest lines in order: who spoke (`overseer`, a juror, a witness), to whom, and what."""
    said = [event for event in in_reading_order(events) if isinstance(event, _SAID)]
    return [line for event in said[-_LINES:] for line in _line(state, material, event)]


def _line(state: State, material: Material, event: Event) -> Iterator[dict[str, object]]:
    titles = {item.id: item.title for item in material.evidence}
    match event:
        case OverseerSaid():
            yield {"by": OVERSEER, "to": event.juror_id, "name": state.juror(event.juror_id).name, "text": event.text}
        case EvidencePresented():
            shown = f"{event.evidence_id}: {titles.get(event.evidence_id, '')}"
            yield {"by": OVERSEER, "to": event.juror_id, "name": state.juror(event.juror_id).name, "text": shown}
        case JurorSaid() | Speech():
            yield {"by": event.juror_id, "to": "", "name": state.juror(event.juror_id).name, "text": event.text}
        case WitnessTalked():
            name = next((each.name for each in material.witnesses if each.id == event.witness_id), event.witness_id)
            yield {"by": event.witness_id, "to": "", "name": name, "text": dialogue.words_of(material, event)[1]}


def _moved(events: Sequence[Event]) -> dict[str, object] | None:
    """The stance change in the last event, if any."""
    last = events[-1] if events else None
    if not isinstance(last, StanceChanged):
        return None
    return {
        "juror_id": last.juror_id,
        "before": stance.band(last.before),
        "band": stance.band(last.after),
        "cause": last.cause,
        "by": last.by,
    }
