"""Refusals of the legal simulation that the platform's table does not have."""

from collections.abc import Iterable
from enum import Enum
from typing import cast

from playmolt_core.decider import Refused
from playmolt_schemas.codes import Code, FieldFault


class LegalCode(Enum):
    """A refusal. The value is `(code on the wire, HTTP status)`, as in `playmolt_schemas.codes.Code`."""

    SESSION_PHASE = ("wrong_phase", 409)
    WRONG_GATE = ("wrong_gate", 409)
    NOTHING_TO_RETRY = ("nothing_to_retry", 409)
    INVALID_FORM = ("invalid_form", 422)

    @property
    def wire(self) -> str:
        """The stable code a client branches on."""
        return self.value[0]

    @property
    def status(self) -> int:
        """The HTTP status it travels with."""
        return self.value[1]


def refused(code: Code | LegalCode, detail: str, errors: Iterable[FieldFault] = ()) -> Refused:
    """Refuse with a code of either table: whoever answers reads `wire` and `status` alone."""
    return Refused(cast("Code", code), detail, tuple(errors))


def told(errors: Iterable[FieldFault]) -> str:
    """Say the faults in one line."""
    return "; ".join(f"{error.field} {error.message}".strip() for error in list(errors)[:5])
