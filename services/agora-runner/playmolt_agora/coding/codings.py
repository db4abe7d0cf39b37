"""What was coded, from the events of an experiment: by judges in the order of their names, then by people."""

from collections.abc import Iterable, Sequence

from playmolt_core.game.decider import Event
from playmolt_schemas.agora.turn import TurnRecord

from playmolt_agora.coding.thoughts import key_of
from playmolt_agora.experiment.events import JudgeCoded, SheetCoded
from playmolt_agora.measures.agreement import CodedThought, Place


def codings(recorded: Sequence[Event], turns: Iterable[TurnRecord]) -> list[CodedThought]:
    """The newest sheet of each coder counts, and keys of turns that are there."""
    judged = [event for event in recorded if isinstance(event, JudgeCoded) and event.code is not None]
    sheets = {event.coder: event for event in recorded if isinstance(event, SheetCoded)}
    places: dict[str, Place] = {
        key_of(turn.run, turn.agent, turn.turn): (turn.run, turn.agent, turn.turn) for turn in turns
    }
    return [
        *(
            CodedThought(f"judge:{event.judge}", (event.run, event.agent, event.turn), event.survival, event.social)
            for event in sorted(judged, key=lambda event: event.judge)
        ),
        *(
            CodedThought(f"coder:{coder}", places[row.key], row.survival, row.social)
            for coder, sheet in sorted(sheets.items())
            for row in sheet.rows
            if row.key in places
        ),
    ]
