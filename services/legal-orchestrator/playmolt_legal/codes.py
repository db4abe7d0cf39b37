"""Refusals as the legal simulation words them."""

from collections.abc import Iterable

from playmolt_core.game.decider import Refused
from playmolt_schemas.codes import Code, FieldFault


def refused(code: Code, detail: str, errors: Iterable[FieldFault] = ()) -> Refused:
    return Refused(code, detail, tuple(errors))


def told(errors: Iterable[FieldFault]) -> str:
    return "; ".join(f"{error.field} {error.message}".strip() for error in list(errors)[:5])
