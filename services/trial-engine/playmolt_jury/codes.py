"""Refusals of the jury."""

from collections.abc import Iterable

from playmolt_core.game.decider import Refused
from playmolt_schemas import codes
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.stored.jury import PhaseName


def refused(code: Code, detail: str, errors: Iterable[FieldFault] = ()) -> Refused:
    return Refused(code, detail, tuple(errors))


def invalid(errors: Iterable[FieldFault]) -> Refused:
    """Names the first five faults in one line."""
    faults = tuple(errors)
    named = "; ".join(f"{error.field} {error.message}".strip() for error in faults[:5])
    return Refused(Code.INVALID_REQUEST, f"Fix the request body and retry: {named}.", faults)


def wrong_phase(phase: PhaseName, rule: str) -> Refused:
    return refused(Code.SESSION_PHASE, f"{rule}; the session is in the phase {phase}.")


def unknown_session() -> Refused:
    return Refused(Code.NOT_FOUND, codes.NO_SESSION)


def no_witness() -> Refused:
    return Refused(Code.NOT_FOUND, "This witness does not exist. List the witnesses with GET …/witnesses.")


def no_juror() -> Refused:
    return Refused(Code.NOT_FOUND, "This juror does not exist. GET the session to see its jurors.")


def no_item() -> Refused:
    return Refused(Code.NOT_FOUND, "This item of evidence does not exist. List the evidence with GET …/evidence.")


def pack_unavailable(digest: str) -> Refused:
    """This engine does not have the case of the session. Another case never takes its place."""
    return Refused(
        Code.UNAVAILABLE, f"The case of this session is unavailable (pack {digest}). Ask the operator to restore it."
    )


def locked() -> Refused:
    return refused(Code.LOCKED, "This item of evidence is locked. Talk to the witnesses: one of them can unlock it.")
