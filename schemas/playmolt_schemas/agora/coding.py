"""Coding of the thoughts in an experiment: by judges, which are models, and by people on sheets (`measures.md`, 4)."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from playmolt_schemas.stored.agora.experiment import JudgeBudget, JudgingStatus, SheetRow, Which
from playmolt_schemas.stored.agora.plan import Alias, Name, Spent

SHEET_ROWS: Final = 200
"""The number of turns sampled for coders and judges, which is the number of rows of a sheet."""
SHEET_BYTES: Final = 256 * 1024
"""The size of a request with a sheet."""


class JudgeRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`POST …/{id}/judge`: let a model code the thoughts of the sample or of all valid turns, within a budget.

    The budget covers all calls of this judge in the experiment; repeat the call with a higher budget to resume.
    `batch` uses the batch API of a model that has one (`batch` in the catalogue).
    """

    model: Alias
    turns: Which = "sample"
    budget: JudgeBudget = JudgeBudget()
    batch: bool = False


class JudgeStopRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`POST …/{id}/judge/stop`."""

    model: Alias


class SheetRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`POST …/{id}/sheets`. A new sheet replaces an earlier sheet of the same coder."""

    coder: Name
    rows: Annotated[tuple[SheetRow, ...], Meta(max_length=SHEET_ROWS)]


class JudgeRow(msgspec.Struct, frozen=True, kw_only=True):
    """A judge of an experiment: `coded` turns have labels, `failed` turns had a reply without labels."""

    judge: str
    model: str
    turns: Which
    status: JudgingStatus
    detail: str
    coded: int
    failed: int
    budget: JudgeBudget
    spent: Spent


class CoderRow(msgspec.Struct, frozen=True, kw_only=True):
    """A person who coded a sheet, and the number of rows."""

    coder: str
    rows: int


class Codings(msgspec.Struct, frozen=True, kw_only=True):
    """The judges and coders of an experiment, in the order in which they started."""

    judges: tuple[JudgeRow, ...] = ()
    coders: tuple[CoderRow, ...] = ()
