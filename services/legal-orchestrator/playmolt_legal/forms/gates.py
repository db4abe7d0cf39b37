"""Which gate opens when, and what it shows."""

from collections.abc import Iterable
from typing import Final

from playmolt_schemas.games.legal import FACTS_ADDED
from playmolt_schemas.stored.legal import EndForm, FactsForm, GateName, GateOpened, Hit, NumberedText

from playmolt_legal import phases, texts
from playmolt_legal.guardrails import guardrails
from playmolt_legal.state import State, TurnRecord

_ROUND_GATES: Final[dict[int, GateName]] = {1: "round1", 2: "round2"}


def facts_gate(state: State) -> GateOpened:
    """Asks for more facts; after three additions it only offers to proceed."""
    options = ("add_facts", "proceed_unclear") if state.added < FACTS_ADDED else ("proceed_unclear",)
    return GateOpened(gate="facts", round=0, options=options)


def reopened(state: State, gate: GateOpened) -> GateOpened:
    """The same gate after turns were done again, with the verifier's newest status."""
    verified = state.newest("verifier", gate.round)
    return round_gate(state, verified, again=gate.gate) if verified else gate


def round_gate(state: State, verified: TurnRecord, again: GateName | None = None) -> GateOpened:
    """The gate after a verifier's turn: a civil No-Go in round 2 skips to the end."""
    gate: GateName = again or ("end" if skips(state, verified) else _ROUND_GATES.get(verified.round, "end"))
    skipped = gate == "end" and skips(state, verified)
    words = texts.of(state.language)
    judge = state.newest("judge")
    banner: str | None = None
    missing: tuple[NumberedText, ...] = ()
    checklist: tuple[NumberedText, ...] = ()
    if verified.gate_status == "No-Go":
        banner = words.banners["no_go_skip" if skipped else "no_go"]
        missing = () if skipped else numbered("M", verified.output["MissingEvidence"])
    elif verified.gate_status == "Conditional":
        banner = words.banners["conditional"]
        checklist = numbered("C", conditions(state, verified))
    return GateOpened(
        gate=gate,
        round=verified.round,
        options=_resolutions(state) if gate == "end" else (),
        banner=banner,
        missing_evidence=missing,
        checklist=checklist,
        issues=tuple(judge.output["Issues"]) if judge else (),
        focus=tuple(verified.output["NextRoundFocus"]),
    )


def skips(state: State, verified: TurnRecord) -> bool:
    """Whether a verdict of the verifier ends the argument early."""
    return state.case_type == "civil" and verified.round == 2 and verified.gate_status == "No-Go"


def conditions(state: State, verified: TurnRecord) -> tuple[str, ...]:
    """The conditions of a Conditional: never empty, and never the promise of an outcome."""
    words = texts.of(state.language)
    unsupported = [
        *verified.output["UnsupportedClaims"],
        *(hit.text for hit in unresolved(state, verified.round)),
    ]
    listed = [*verified.output["MissingEvidence"], *(words.support.format(text=text) for text in unsupported)]
    met = [text for text in listed if not guardrails.promises(text)]
    met = met or [text for text in verified.output["NextRoundFocus"] if not guardrails.promises(text)]
    return tuple(dict.fromkeys(met or [words.confirm_disputed]))


def unresolved(state: State, round_: int) -> tuple[Hit, ...]:
    """The unresolved hits of a round."""
    return tuple(hit for turn in state.turns if turn.round == round_ for hit in turn.unresolved)


def numbered(letter: str, items: Iterable[str]) -> tuple[NumberedText, ...]:
    """The texts with their ids: `letter` and a number from 1 on."""
    return tuple(NumberedText(id=f"{letter}{number}", text=text) for number, text in enumerate(items, 1))


def _resolutions(state: State) -> tuple[str, ...]:
    return ("final_report", "new_session") if state.extended else ("final_report", "extend", "new_session")


def after_form(state: State) -> str | None:
    """Name the phase that the newest form leads to; None when it ends the session."""
    entry = state.gate_history[-1]
    match entry.form:
        case FactsForm(choice=choice):
            return phases.STIPULATE if choice == "add_facts" else phases.first(1)
        case EndForm(resolution="extend"):
            return phases.first(state.round + 1)
        case EndForm():
            return phases.FINAL if state.has_final_turn else None
        case _:
            return phases.first(2 if entry.gate == "round1" else phases.LAST_ROUND)
