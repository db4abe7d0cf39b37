"""Coding the thoughts of an experiment: by a judge, which is a model, and by people on a sheet (`measures.md`, 4)."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from playmolt_schemas.agora.plan import Alias, Amount, Count, Name, Spent

SHEET_ROWS: Final = 200
"""Turns that are drawn for coders and judges, and the rows of a sheet."""
SHEET_BYTES: Final = 256 * 1024
"""The body that a sheet comes in."""
NOTE_CHARS: Final = 200

Which = Literal["sample", "all"]
JudgingStatus = Literal["running", "done", "budget", "stopped", "model", "away"]
"""Whether a judge is at work, and what else it came to: `model` refused its key or address, `away` gave no answer."""
Key = Annotated[str, Meta(pattern=r"^[0-9a-f]{16}$", description="The first 16 hex digits of sha256(run|agent|turn).")]
CoderNote = Annotated[str, Meta(max_length=NOTE_CHARS)]


class JudgeBudget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a judge may spend; what is left out has no limit."""

    money: Amount | None = None
    calls: Count | None = None


class JudgeRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST …/{id}/judge`: the thoughts of the drawn sample or of all valid turns, within a budget.

    The budget is that of this judge over all its calls in the experiment; raised, it goes on. `batch` has a model that
    takes batches (`batch` in the catalogue) asked in them.
    """

    model: Alias
    turns: Which = "sample"
    budget: JudgeBudget = JudgeBudget()
    batch: bool = False


class JudgeStopRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST …/{id}/judge/stop`."""

    model: Alias


class SheetRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a coder says of one thought; null is not coded."""

    key: Key
    survival: bool | None = None
    social: bool | None = None
    note: CoderNote = ""


class SheetRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of `POST …/{id}/sheets`; the same coder again replaces."""

    coder: Name
    rows: Annotated[tuple[SheetRow, ...], Meta(max_length=SHEET_ROWS)]


class JudgeRow(msgspec.Struct, frozen=True, kw_only=True):
    """A judge of an experiment: `coded` turns have labels, `failed` ones a reply that gave none."""

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
    """A person who coded a sheet, with the number of its rows."""

    coder: str
    rows: int


class Codings(msgspec.Struct, frozen=True, kw_only=True):
    """Who has coded thoughts of an experiment, in the order they began."""

    judges: tuple[JudgeRow, ...] = ()
    coders: tuple[CoderRow, ...] = ()
