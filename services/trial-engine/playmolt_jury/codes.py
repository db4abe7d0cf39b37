"""Refusals as the jury words them."""

from collections.abc import Iterable

from playmolt_core.game.decider import Refused
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.games.jury import PhaseName


def refused(code: Code, detail: str, errors: Iterable[FieldFault] = ()) -> Refused:
    return Refused(code, detail, tuple(errors))


def invalid(errors: Iterable[FieldFault]) -> Refused:
    """Names the first five faults in one line."""
    faults = tuple(errors)
    named = "; ".join(f"{error.field} {error.message}".strip() for error in faults[:5])
    return Refused(Code.INVALID_REQUEST, f"Mend the body and send it again: {named}.", faults)


def wrong_phase(phase: PhaseName, rule: str) -> Refused:
    return refused(Code.SESSION_PHASE, f"{rule}; the session is in the phase {phase}.")


def unknown_session() -> Refused:
    return Refused(Code.NOT_FOUND, "You have no such session. POST /api/jury/sessions opens one.")


def no_witness() -> Refused:
    return Refused(Code.NOT_FOUND, "There is no such witness. GET …/witnesses lists them.")


def no_juror() -> Refused:
    return Refused(Code.NOT_FOUND, "There is no such juror. GET the session: it lists them.")


def no_item() -> Refused:
    return Refused(Code.NOT_FOUND, "There is no such item. GET …/evidence lists them.")


def pack_unavailable(digest: str) -> Refused:
    """The session plays a case that this engine has not: another one is never played in its place."""
    return Refused(
        Code.UNAVAILABLE, f"The case of this session is not here (pack {digest}). Its operator can bring it back."
    )


def locked() -> Refused:
    return refused(Code.LOCKED, "This item is locked. Somebody among the witnesses can open it.")
