"""What a drawing of a session shows: what each side says to each issue, the gates as they were decided, the finding."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from playmolt_schemas.games.legal import Role

from playmolt_legal import texts
from playmolt_legal.state import State

_ISSUES: Final = 3
_DECIDES: Final = ("choice", "goal", "evidence_level", "resolution")
"""The field of each gate's form that says how it went on."""


def scene(state: State) -> dict[str, object]:
    """As far as the session is: sides that have not spoken have said nothing."""
    titles = texts.of(state.language).titles[state.case_type]
    judge = state.newest("judge")
    issues: Sequence[str] = judge.output["Issues"][:_ISSUES] if judge else ()
    sides: dict[Role, Sequence[Mapping[str, object]]] = {
        "claimant": _said(state, "claimant", "Claims"),
        "opposing": _said(state, "opposing", "CounterArguments"),
    }
    return {
        "gameType": "legal",
        "language": state.language,
        "phase": state.phase,
        "title": state.title,
        "sides": {side: titles[side] for side in sides},
        "issues": [
            {"issue": issue, **{side: _about(said, issue, place) for side, said in sides.items()}}
            for place, issue in enumerate(issues)
        ],
        "gates": list(_gates(state)),
        "range": judge.output["DecisionRange"] if judge and judge.round > 1 else None,
        "likelihood": _likelihood(state),
        "reported": state.reported,
    }  # fmt: skip


def _said(state: State, role: Role, field: str) -> Sequence[Mapping[str, Any]]:
    turn = state.newest(role)
    return turn.output.get(field, ()) if turn else ()


def _about(said: Sequence[Mapping[str, Any]], issue: str, place: int) -> str | None:
    """What a side says to an issue; before the issues are settled, what it says in that place."""
    named = [one["text"] for one in said if one.get("issue") == issue]
    if named or any(one.get("issue") for one in said):
        return named[0] if named else None
    return said[place]["text"] if place < len(said) else None


def _gates(state: State) -> Iterator[dict[str, object]]:
    """The decision of each gate, oldest first: its choices, none of the words that were typed."""
    for entry in state.gate_history:
        form = msgspec.to_builtins(entry.form)
        field = next((name for name in _DECIDES if form.get(name)), "")
        yield {"gate": entry.gate, "field": field, "choice": form.get(field)}


def _likelihood(state: State) -> dict[str, object] | None:
    for turn in reversed(state.turns):
        if turn.role == "judge" and "Likelihood" in turn.output:
            side = "claimant" if state.side == "neutral" else state.side
            return {"side": side, "low": turn.output["Likelihood"]["low"], "high": turn.output["Likelihood"]["high"]}
    return None
