"""Refusals of the jury that the platform's table does not have."""

from collections.abc import Iterable
from enum import Enum
from typing import cast

from playmolt_core.decider import Refused
from playmolt_schemas.codes import Code, FieldFault


class JuryCode(Enum):
    """A refusal. The value is `(code on the wire, HTTP status)`, as in `playmolt_schemas.codes.Code`."""

    LOCKED = ("locked", 403)
    NO_ROUNDS_LEFT = ("no_rounds_left", 409)
    NO_NOTES_LEFT = ("no_notes_left", 409)
    BUSY = ("busy", 409)

    @property
    def wire(self) -> str:
        """The stable code a client branches on."""
        return self.value[0]

    @property
    def status(self) -> int:
        """The HTTP status it travels with."""
        return self.value[1]


def refused(code: Code | JuryCode, detail: str, errors: Iterable[FieldFault] = ()) -> Refused:
    """Refuse with a code of either table: whoever answers reads `wire` and `status` alone."""
    return Refused(cast("Code", code), detail, tuple(errors))


def invalid(errors: Iterable[FieldFault]) -> Refused:
    """Refuse a body, saying its faults in one line."""
    listed = tuple(errors)
    told = "; ".join(f"{error.field} {error.message}".strip() for error in listed[:5])
    return Refused(Code.INVALID_REQUEST, f"Mend the body and send it again: {told}.", listed)


def unknown_session() -> Refused:
    """Refuse to know of a session."""
    return Refused(Code.NOT_FOUND, "You have no such session. POST /api/jury/sessions opens one.")


def no_witness() -> Refused:
    """Refuse to know of a witness."""
    return Refused(Code.NOT_FOUND, "There is no such witness. GET …/witnesses lists them.")


def no_juror() -> Refused:
    """Refuse to know of a juror."""
    return Refused(Code.NOT_FOUND, "There is no such juror. GET the session: it lists them.")


def no_item() -> Refused:
    """Refuse to know of an item of evidence."""
    return Refused(Code.NOT_FOUND, "There is no such item. GET …/evidence lists them.")


def locked() -> Refused:
    """Refuse what nobody has opened yet."""
    return refused(JuryCode.LOCKED, "This item is locked. Somebody among the witnesses can open it.")
