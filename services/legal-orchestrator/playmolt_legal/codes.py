"""Refusals of the legal simulation."""

from collections.abc import Iterable, Sequence
from typing import Final

from playmolt_core.game.decider import Refused
from playmolt_schemas import codes
from playmolt_schemas.codes import Code, FieldFault


def refused(code: Code, detail: str, errors: Iterable[FieldFault] = ()) -> Refused:
    return Refused(code, detail, tuple(errors))


NO_SESSION: Final = Refused(Code.NOT_FOUND, codes.NO_SESSION)


def invalid_request(errors: Sequence[FieldFault]) -> Refused:
    return refused(Code.INVALID_REQUEST, f"Fix the request body and retry: {listed(errors)}.", errors)


def listed(errors: Iterable[FieldFault]) -> str:
    return "; ".join(f"{error.field} {error.message}".strip() for error in list(errors)[:5])
