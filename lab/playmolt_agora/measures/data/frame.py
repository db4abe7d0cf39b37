"""Turn records as one polars frame: a row a turn, sorted by seat and turn, whatever order they came in.

A seat is one agent of one run under one model and persona. `phase` is `phase1_costs_real` in runs of that optional arm,
which is not Phase 1; `act` is the name of the act in any world. `action` is an enumeration of what counts as an action,
null where there is none of them; its order is that of counts.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from operator import itemgetter
from typing import Any, Final, Literal, cast, get_args

import msgspec
import numpy as np
import polars as pl
from playmolt_schemas.instrument.definitions import ARMS, EXCLUDED_ABOVE, PLACES, arm_of, place_of, rank_of, windows
from playmolt_schemas.stored.agora.turn import ACTIONS, VALID_CODES, Dissoc, ParseCode, TurnRecord

from playmolt_agora.measures.divergence import Integers

Treatment = Literal["dropped", "seventh", "idle"]
SEAT: Final = (
    "phase", "set", "run", "model", "language", "persona", "agent", "condition", "exploratory", "turns_planned",
    "residents_start",
)  # fmt: skip
"""What is the same in all turns of a seat."""
MET: Final = (
    pl.col("valid")
    & pl.col("action").is_in(["speak", "trade", "support", "whisper"])
    & pl.col("success")
    & (pl.col("others") > 0)
)
"""An interaction: a successful speak, trade, support or whisper with another agent here."""
IN_SETS: Final = pl.col("set").is_in(["A", "B"])
"""A turn of the sets with personas, whose runs H1, H2 and RI* are tested over."""
INSTRUMENTAL: Final = pl.col("fn_class").eq_missing(pl.lit("A"))
RITUAL: Final = pl.col("valid") & INSTRUMENTAL & pl.col("success") & pl.col("null_effect")
"""An instrumental act that succeeded and changed nothing."""
POSSIBLE: Final = pl.col("valid") & (pl.col("can_trade") | pl.col("can_support"))
"""A valid turn on which an act of class A was feasible."""
EXCLUDED: Final = pl.col("failed").sum() * EXCLUDED_ABOVE.denominator > pl.len() * EXCLUDED_ABOVE.numerator
"""Whether a model of a run, over whose turns this is computed, leaves the confirmatory set."""
RUNS: Final = pl.col("run").unique().sort().alias("runs of a row")
"""A column for `results.results`."""

_AT_ONCE: Final = 5000
_KNOWN: Final[dict[str, tuple[str, ...]]] = {"parse_code": get_args(ParseCode), "dissoc": get_args(Dissoc)}
_NAMES: Final = (
    "set", "run", "model", "language", "persona", "persona_condition", "agent", "action_base", "fn_class", "target",
    *_KNOWN,
)  # fmt: skip
_NUMBERS: Final = ("turn", "residents", "turns_planned", "residents_start")
_FLAGS: Final = ("exploratory", "success", "null_effect")
_REQUIRED: Final = ("run", "model", "language", "agent", *_NUMBERS, *_FLAGS)
_AS_GIVEN: Final = {
    **dict.fromkeys(_NAMES, pl.Categorical()),
    "content": pl.String(),
    **dict.fromkeys(_NUMBERS, pl.Int64()),
    **dict.fromkeys(_FLAGS, pl.Boolean()),
}
_VALUES: Final = itemgetter(*_AS_GIVEN)
_SCHEMA: Final = {
    **_AS_GIVEN,
    **dict.fromkeys(("phase", "act", "place"), pl.Categorical()),
    "others": pl.Int64(),
    **{f"can_{action}": pl.Boolean() for action in ACTIONS},
}


def frame(records: Iterable[Mapping[str, Any] | TurnRecord]) -> pl.DataFrame:
    """Read turn records; one that lacks a field, or has an unknown phase or code in it, raises ValueError."""
    rows = (_row(number, record) for number, record in enumerate(records, 1))
    found = pl.concat([pl.DataFrame(schema=_SCHEMA), *_batches(rows)])
    for name in _REQUIRED:
        if found[name].null_count():
            number = found[name].is_null().to_list().index(True) + 1
            raise ValueError(f"turn record {number} has no {name}, or one of another type than in turns.jsonl")
    accepted, action = pl.col("parse_code").is_in(VALID_CODES), pl.col("action_base")
    places = PLACES + tuple(sorted(set(found["place"]) - set(PLACES)))
    lengths = {length: windows(length) for length in found["turns_planned"].unique()}
    ranks = {phase: rank_of(phase)[0] for phase in found["phase"].unique()}
    count = pl.col("turns_planned").replace_strict(lengths, return_dtype=pl.Int64)
    return (
        found.rename({"persona_condition": "condition"})
        .with_columns(
            action=pl.when(accepted).then(action.cast(pl.Enum(ACTIONS), strict=False)),
            valid=accepted & action.is_in(ACTIONS).fill_null(value=False),
            failed=~accepted,
            place=pl.col("place").cast(pl.Enum(places)),
            windows=count,
            window=(pl.col("turn") - 1) * count // pl.col("turns_planned"),
        )
        .sort(pl.col("phase").replace_strict(ranks, return_dtype=pl.Int64), *SEAT, "turn", maintain_order=True)
        .with_columns(seat=pl.struct(SEAT).rle_id())
    )


def _batches(rows: Iterator[tuple[Any, ...]]) -> Iterator[pl.DataFrame]:
    while batch := list(islice(rows, _AT_ONCE)):
        yield pl.DataFrame(dict(zip(_SCHEMA, zip(*batch, strict=True), strict=True)), schema=_SCHEMA, strict=False)


def _row(number: int, record: Mapping[str, Any] | TurnRecord) -> tuple[Any, ...]:
    fields = record if isinstance(record, Mapping) else msgspec.structs.asdict(record)
    try:
        given = _VALUES(fields)
        phase, place = fields["phase"], place_of(str(fields["place_before"]))
        others, feasible = len(fields["others_here"]), fields.get("feasible_base") or fields["feasible_actions"]
    except KeyError as missing:
        raise ValueError(
            f"turn record {number} has no field {missing}; give records with the fields of a turn, as in turns.jsonl"
        ) from missing
    for name, known in _KNOWN.items():
        if fields[name] not in known:
            raise ValueError(f"turn record {number} has {name} {fields[name]!r}; give one of {', '.join(known)}")
    cell = str(fields.get("cell"))
    # A room of the plan gives its name to its cells.
    if phase not in ARMS and not cell.startswith(f"{phase}/"):
        raise ValueError(f"turn record {number} has phase {phase!r}; give one of {', '.join(ARMS)}, or a room's name")
    can = (action in feasible for action in ACTIONS)
    return (*given, arm_of(cell, phase), fields.get("action"), place, others, *can)


def treated(turns: pl.DataFrame, treatment: Treatment) -> pl.DataFrame:
    """The turns with failed ones dropped, counted as a seventh action, or counted as idle."""
    if treatment == "dropped":
        return turns
    counted = (*ACTIONS, "failed") if treatment == "seventh" else ACTIONS
    action = pl.when("failed").then(pl.lit(counted[-1])).otherwise(pl.col("action").cast(pl.String))
    return turns.with_columns(action=action.cast(pl.Enum(counted)), valid=pl.col("valid") | pl.col("failed"))


def names_of(turns: pl.DataFrame, column: str) -> list[str]:
    """All that `action` or `place` may be, in the order of counts."""
    return cast("pl.Enum", turns.schema[column]).categories.to_list()


def counts(turns: pl.DataFrame, group: pl.Series, size: int) -> Integers:
    """Count valid actions by a number below `size` that each turn has: (size, K)."""
    k, valid = len(names_of(turns, "action")), turns["valid"]
    at = group.filter(valid).cast(pl.Int64) * k + turns["action"].filter(valid).to_physical().cast(pl.Int64)
    return np.asarray(np.bincount(at.to_numpy(), minlength=size * k).reshape(size, k), dtype=np.int64)


def pooled(turns: pl.DataFrame) -> Integers:
    """Count valid actions over all turns: (K,)."""
    return np.asarray(counts(turns, pl.zeros(turns.height, pl.Int64, eager=True), 1)[0])
