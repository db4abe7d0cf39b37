"""The columns of every table, keys first (`measures.md`, section 11); tables as CSV and Arrow."""

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final, get_args

from playmolt_schemas.stored.agora.turn import ACTIONS, ParseCode

from playmolt_agora.measures.data.frame import CODES


def _columns(text: str) -> tuple[str, ...]:
    return tuple(text.split())


TABLES: Final[dict[str, tuple[str, ...]]] = {
    "shares": _columns(
        "level phase set run model language persona agent action count succeeded t_all t_valid p exposure r_seed "
        "r_literal feasible q q_heard dyad_exposure r_dyad"
    ),
    "pcs": (
        *_columns(
            "model language alpha pcs distance n_stage1 n_phase1 runs_stage1 runs_phase1 ci_lo ci_hi indicative "
            "loro_min loro_max p_perm p_min labelings floor_iid floor_null floor_stage1 floor_phase1 pcs_agent "
            "pcs_early pcs_within pcs_within_coverage pcs_place"
        ),
        *(f"contrib_{action}" for action in ACTIONS),
    ),
    "ri": _columns(
        "level phase set run model language persona agent t_valid a_success ritual ritual_infeasible feasible_a "
        "ri_seed degenerate_by_design ri_star ri_opp"
    ),
    "ri_ext": _columns("set model agents agents_kept beta beta_loro_min beta_loro_max beta_null beta_excess p_perm"),
    "drift": _columns("run language persona condition window n h h_norm id_raw id_null id_excess"),
    "washout": _columns("language model persona window n_on n_off pw pw_null pw_excess"),
    "tests": _columns("test statistic p p_holm labelings n p_error"),
    "shared_model": _columns("run model contrast"),
    "pint": _columns("run valid interactions p_int t_rule early_idle"),
    "parse": ("run", "model", "turns", "failed", "fail_share", "excluded", *CODES),
    "gini": _columns("run epoch kind gini"),
    "dissoc": _columns("phase model language dissoc_a dissoc_b dissoc_c dissoc_u coherence"),
    "contrasts": _columns("contrast phase condition model jsd"),
    "delta_pcs": _columns("model_a model_b language delta ci_lo ci_hi p p_holm"),
}

BESIDE: Final[dict[str, tuple[str, ...]]] = {
    "repeats": _columns("phase set language model exploratory runs identical distinct"),
    "headline": _columns("figure phase set model language treatment n value"),
    "pcs_left_out": _columns("model language arm run pcs"),
    "unadjusted": _columns("test statistic p labelings n"),
    "pcs_pure": _columns("model language n_costs_real n_phase1 pcs_pure"),
    "contrast_intervals": _columns("contrast phase condition model jsd ci_lo ci_hi indicative"),
    "contrast_shares": _columns(
        "contrast phase condition model action points ci_lo ci_hi effect effect_lo effect_hi indicative"
    ),
    "merchant": _columns("statistic p labelings n"),
    "entropy": _columns("persona model language window n h_norm"),
    "rolling": _columns("run language persona first_turn n h_norm"),
    "adherence": _columns("run language persona window utterances marked share"),
    "network": _columns("run kind agent target attempts succeeded"),
    "occupancy": _columns("run turn place agents"),
}

INTERVIEWS: Final[dict[str, tuple[str, ...]]] = {
    "interviews": _columns(
        "run turn agent id cell phase set model language persona exploratory kind parse_code value choice text "
        "prompt_tokens completion_tokens cost"
    ),
    "interview_levels": _columns("id answer phase set model language turn asked valid runs mean"),
    "interview_changes": _columns(
        "id answer phase set model language first_turn_asked last_turn_asked asked valid runs identical change ci_lo "
        "ci_hi indicative p p_min labelings"
    ),
    "interview_codes": _columns("run turn agent id judge survival social parse_code"),
    "baselines": _columns(
        "baseline condition item model people asked answers runs alpha jsd ci_lo ci_hi indicative mean_people "
        "mean_model calibration calibration_lo calibration_hi"
    ),
}
"""Tables of a study whose plan has questions asked aside, or answers of people; none of them enters a test of
`tests`."""

PROVENANCE: Final = _columns("definition alpha k n unit exclusions seed runs events")
"""What every row stores, in a table parallel to its own. `events` gives each run's first and last version, where the
log was asked for them."""


TEXTS: Final = frozenset(
    (
        "action", "agent", "arm", "cell", "condition", "contrast", "experiment", "figure", "kind", "language", "level",
        "measure", "model", "other", "persona", "phase", "place", "run", "set", "target", "test", "unit",
        "known", "coder_a", "coder_b", "label", "model_a", "model_b", "outcome", "treatment",
        "id", "parse_code", "text", "cost", "answer", "baseline", "item", "judge",
    )
)  # fmt: skip
FLAGS: Final = frozenset(
    ("degenerate_by_design", "excluded", "exploratory", "indicative", "scripted", "survival", "social")
)
COUNTS: Final = frozenset(
    (
        "a_success", "agents", "agents_kept", "count", "dissoc_a", "dissoc_b", "dissoc_c", "dissoc_u", "dyad_exposure",
        "calls", "cached_tokens", "completion_tokens", "failed_calls", "prompt_tokens", "reasoning_tokens",
        "refused_calls", "unknown_calls",
        "number", "epoch", "exposure", "failed", "feasible", "feasible_a", "interactions", "n", "n_off", "n_on",
        "n_phase1", "n_stage1", "ritual", "ritual_infeasible", "runs_phase1", "runs_stage1", "succeeded", "t_all",
        "runs", "identical", "distinct", "choice", "asked", "first_turn_asked", "last_turn_asked", "people", "answers",
        "t_rule", "t_valid", "turn", "turns", "valid", "window", *get_args(ParseCode),
    )
)  # fmt: skip
"""Names of the columns that are text, truth values and whole numbers; all others are measured. So are `labelings`, of
which a study of many runs has more than 64 bits can count."""


def csv_text(table: Mapping[str, Sequence[object]]) -> str:
    """A table as CSV: a head line, `\\n` ends, shortest decimals that read back the same, `true` and `false`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    columns = [map(_inert, values) if name == _WORDS else values for name, values in table.items()]
    writer.writerows([_field(value) for value in line] for line in zip(*columns, strict=True))
    return text.getvalue()


_WORDS: Final = "text"
"""The column with what agents wrote."""
_FORMULA: Final = re.compile(r"[\s\"']*[=+\-@＝＋－＠﹦﹢﹣﹫−]")


def _inert(value: object) -> object:
    """What no spreadsheet takes for a formula: an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def _field(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else value


def arrow_table(table: Mapping[str, Sequence[object]]) -> object:
    """A table with the types that its columns' names say."""
    arrow = import_module("pyarrow")
    kinds = {"text": arrow.string(), "flag": arrow.bool_(), "count": arrow.int64(), "measure": arrow.float64()}
    schema = arrow.schema([(name, kinds[kind_of(name, values)]) for name, values in table.items()])
    columns = [
        arrow.array(_plain(values, kind_of(name, values)), type=schema.field(name).type)
        for name, values in table.items()
    ]
    return arrow.Table.from_arrays(columns, schema=schema)


def kind_of(column: str, values: Sequence[object]) -> str:
    """What a column holds: text, flag, count or measure. By its name, so that a column of nulls has a type, too."""
    for names, kind in ((TEXTS, "text"), (FLAGS, "flag"), (COUNTS, "count")):
        if column in names:
            return kind
    known = next((value for value in values if value is not None), None)
    return "text" if isinstance(known, str) else "measure"


def _plain(values: Sequence[object], kind: str) -> list[Any]:
    """Turn NumPy's numbers into Python's: Arrow is strict about mixed columns."""
    make: Callable[[Any], Any] = {"text": str, "flag": bool, "count": int, "measure": float}[kind]
    return [None if value is None else make(value) for value in values]
