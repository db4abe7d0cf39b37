"""The tables that count turns by group: shares, rituals, interaction, parse codes, dissociation, network, occupancy;
and the inequality that runs logged.

Every ratio is a ratio of sums, null where its denominator is 0 (`measures.md`, sections 1, 2, 4, 5, 8, 10 and 11).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec
import numpy as np
import polars as pl
from playmolt_schemas.instrument.definitions import (
    EXCLUDED_ABOVE,
    FIRST_TURNS,
    IDLE_ABOVE,
    INTERACTIONS_PER_AGENT,
)
from playmolt_schemas.stored.agora.turn import ACTIONS

from playmolt_agora.measures.data.frame import CODES, IDLE, SPEAK, SUPPORT, TRADE, WHISPER, Bools, Frame, Seat
from playmolt_agora.measures.data.results import Result, ratio
from playmolt_agora.measures.data.tables import BESIDE, TABLES
from playmolt_agora.measures.ritual import possible

Level = Literal["agent", "cell"]
_AGENT: Final = ("seat", "phase", "set", "run", "model", "language", "persona", "agent")
_CELL: Final = ("phase", "set", "model", "language")
_WITH_R: Final = frozenset(("speak", "trade", "support", "whisper"))
_WITH_DYAD: Final = frozenset(("speak", "support", "whisper"))
_NULL: Final = pl.lit(None, pl.Float64)
_RUNS: Final = pl.col("run").unique().sort().alias("_runs")
_KINDS: Final = {
    **dict.fromkeys(Seat.__struct_fields__, pl.String),
    "exploratory": pl.Boolean,
    **dict.fromkeys(("turns_planned", "residents_start"), pl.Int64),
}


def columns(turns: Frame) -> pl.DataFrame:
    """A row a turn, in the order of seats and turns, with what its seat is and what it counts as."""
    seats = pl.DataFrame({name: [getattr(seat, name) for seat in turns.seats] for name in _KINDS}, schema=_KINDS)
    kept = ("seat", "turn", "action", "valid", "failed", "success", "others", "place", "residents", "dissoc", "code")
    own = pl.DataFrame(
        {
            **{name: getattr(turns, name) for name in kept},
            **{f"can_{action}": turns.feasible[:, at] for at, action in enumerate(ACTIONS)},
            "instrumental": turns.instrumental,
            "possible": possible(turns),
            "ritual": turns.ritual,
            "met": interactions(turns),
        }
    )
    targets = pl.Series("target", turns.target.tolist(), dtype=pl.String)
    return pl.concat([own.with_columns(targets), seats[turns.seat]], how="horizontal")


def share(above: pl.Expr, below: pl.Expr) -> pl.Expr:
    """A quotient, null where the denominator is 0."""
    return pl.when(below != 0).then(above / below)


def _results(name: str, found: pl.DataFrame, n: str, unit: str = "turn") -> list[Result]:
    """The rows of a table of this name, computed from so many units as the column `n` says."""
    named = (TABLES | BESIDE)[name]
    return [
        Result({column: row.get(column) for column in named}, runs=tuple(row["_runs"]), n=row[n], unit=unit)
        for row in found.iter_rows(named=True)
    ]


def shares(turns: Frame, level: Level) -> list[Result]:
    """Rows of the table `shares`: of every agent, or of every phase, set, model and language, by action."""
    groups = columns(turns).group_by(_AGENT if level == "agent" else _CELL, maintain_order=True)
    tables = [_results("shares", _shares(groups, at, level), "t_valid") for at in range(len(ACTIONS))]
    return [each for of_group in zip(*tables, strict=True) for each in of_group]


def _shares(groups: "pl.dataframe.group_by.GroupBy", at: int, level: Level) -> pl.DataFrame:
    action, valid, near, success = ACTIONS[at], pl.col("valid"), pl.col("others") > 0, pl.col("success")
    act, can = valid & (pl.col("action") == at), pl.col(f"can_{ACTIONS[at]}")
    planned = pl.col("turns_planned") * (pl.col("residents_start") - 1)
    found = groups.agg(
        _RUNS,
        count=act.sum(),
        succeeded=(act & success).sum(),
        t_all=pl.len(),
        t_valid=valid.sum(),
        exposure=(pl.col("residents") - 1).sum(),
        literal=planned.filter(pl.col("seat").is_first_distinct()).sum(),
        feasible=(valid & can).sum(),
        on_feasible=(act & can).sum(),
        heard=(valid & near).sum(),
        spoke_heard=(act & near).sum(),
        dyad_exposure=pl.col("others").filter("valid").sum(),
        met=(act & success & near).sum(),
    )
    count, dyads = pl.col("count"), pl.col("dyad_exposure")
    return found.with_columns(
        level=pl.lit(level),
        action=pl.lit(action),
        p=share(count, pl.col("t_valid")),
        r_seed=share(count, pl.col("exposure")) if action in _WITH_R else _NULL,
        r_literal=share(count, pl.col("literal")) if action in _WITH_R else _NULL,
        q=share(pl.col("on_feasible"), pl.col("feasible")),
        q_heard=share(pl.col("spoke_heard"), pl.col("heard")) if at == SPEAK else _NULL,
        r_dyad=share(pl.col("met"), dyads) if action in _WITH_DYAD else _NULL,
    )


def rituals(turns: Frame) -> list[Result]:
    """The table `ri`: by agent, by model of a run, by persona of a run."""
    found = columns(turns)
    return [
        *_rituals(found, "agent", *_AGENT),
        *_rituals(found, "run_model", "phase", "set", "run", "model"),
        *_rituals(found.filter(pl.col("persona").is_not_null()), "run_persona", "phase", "set", "run", "persona"),
    ]


def _rituals(found: pl.DataFrame, level: str, *keys: str) -> list[Result]:
    act, success = pl.col("instrumental"), pl.col("success")
    language = () if "language" in keys else (pl.col("language").first(),)
    sums = found.group_by(keys, maintain_order=True).agg(
        *language,
        _RUNS,
        t_valid=pl.col("valid").sum(),
        a_success=(act & success).sum(),
        ritual=pl.col("ritual").sum(),
        ritual_infeasible=(act & ~success).sum(),
        feasible_a=pl.col("possible").sum(),
    )
    ritual = pl.col("ritual")
    whole = sums.with_columns(
        level=pl.lit(level),
        ri_seed=share(ritual, pl.col("a_success")),
        degenerate_by_design=pl.col("phase") == "phase2",
        ri_star=share(ritual, pl.col("t_valid")),
        ri_opp=share(ritual, pl.col("feasible_a")),
    )
    return _results("ri", whole, "t_valid")


def interaction(turns: Frame) -> list[Result]:
    """The table `pint`, a row per run."""
    early = pl.col("valid") & (pl.col("turn") <= FIRST_TURNS)
    found = columns(turns).group_by("run").agg(
        _RUNS,
        valid=pl.col("valid").sum(),
        interactions=pl.col("met").sum(),
        early_idle=share((early & (pl.col("action") == IDLE)).sum(), early.sum()),
    )  # fmt: skip
    whole = found.sort("run").with_columns(p_int=share(pl.col("interactions"), pl.col("valid")))
    rows = _results("pint", whole, "valid")
    for each in rows:
        each.row["t_rule"] = turn_rule(each.row["interactions"], each.row["valid"])
    return rows


def parse(turns: Frame) -> list[Result]:
    """The table `parse`, a row per run and model."""
    failed = pl.col("failed")
    found = columns(turns).group_by("run", "model").agg(
        _RUNS,
        turns=pl.len(),
        failed=failed.sum(),
        **{code: (pl.col("code") == at).sum() for at, code in enumerate(CODES)},
    )  # fmt: skip
    whole = found.sort("run", "model").with_columns(
        fail_share=share(failed, pl.col("turns")),
        excluded=failed * EXCLUDED_ABOVE.denominator > pl.col("turns") * EXCLUDED_ABOVE.numerator,
    )
    return _results("parse", whole, "turns")


def dissociation(turns: Frame) -> list[Result]:
    """Classes of thought and act by phase, model and language: the table `dissoc`."""
    found = columns(turns).group_by("phase", "model", "language", maintain_order=True).agg(
        _RUNS, _n=pl.len(), **{f"dissoc_{name}": (pl.col("dissoc") == at).sum() for at, name in enumerate("abcu")}
    )  # fmt: skip
    agreeing = pl.col("dissoc_c")
    whole = found.with_columns(coherence=share(agreeing, pl.col("dissoc_a") + agreeing))
    return _results("dissoc", whole, "_n")


def network(turns: Frame) -> list[Result]:
    """The table `network`: attempts and successes by run, kind, agent and target."""
    kinds = {number: ACTIONS[number] for number in (SUPPORT, WHISPER)}
    found = columns(turns).filter(pl.col("valid") & pl.col("action").is_in(list(kinds))).with_columns(
        pl.col("target").fill_null(""),
        kind=pl.col("action").replace_strict(kinds, return_dtype=pl.String),
    )  # fmt: skip
    keys = ("run", "kind", "agent", "target")
    edges = found.group_by(keys).agg(_RUNS, attempts=pl.len(), succeeded=pl.col("success").sum())
    return _results("network", edges.sort(keys), "attempts")


def occupancy(turns: Frame) -> list[Result]:
    """The table `occupancy`: agents in each place before acting, by run and turn."""
    at = pl.col("place")
    found = columns(turns).group_by("run", "turn").agg(
        _RUNS,
        place=pl.lit(list(turns.places)),
        agents=pl.concat_list((at == number).sum() for number in range(len(turns.places))),
        _n=pl.len(),
    )  # fmt: skip
    return _results("occupancy", found.sort("run", "turn").explode("place", "agents"), "_n", "agent")


def interactions(turns: Frame) -> Bools:
    """The turns that are interactions: a successful speak, support, whisper or trade with another here."""
    social = np.isin(turns.action, (SPEAK, TRADE, SUPPORT, WHISPER))
    return turns.valid & social & turns.success & (turns.others > 0)


def turn_rule(met: int, valid: int) -> int:
    """The length of Phase 2, 100 to 200 in tens, at which an agent may expect 50 interactions."""
    if met == 0:
        return 200
    tens = -(-INTERACTIONS_PER_AGENT * valid // (10 * met))
    return min(200, max(100, 10 * tens))


def seed_events_advised(early_idle: Sequence[float | None]) -> bool:
    """Whether more than 80 % of the first five turns are idle in at least half of the pilot runs (L18)."""
    return bool(early_idle) and 2 * _idle_runs(early_idle) >= len(early_idle)


def _idle_runs(early_idle: Sequence[float | None]) -> int:
    return sum(share is not None and share > IDLE_ABOVE for share in early_idle)


class Pilots(msgspec.Struct, frozen=True, kw_only=True):
    """What pilots say together before a plan is registered: the length of Phase 2, whether to consider seed events."""

    runs: int
    valid: int
    interactions: int
    p_int: float | None
    t_rule: int
    idle_runs: int
    seed_events: bool


def pilots(found: Sequence[Mapping[str, Any]]) -> Pilots:
    """Pool pilots, given as rows of the table `pint`."""
    valid, met = (sum(int(row[name]) for row in found) for name in ("valid", "interactions"))
    early = [row["early_idle"] for row in found]
    return Pilots(
        runs=len(found),
        valid=valid,
        interactions=met,
        p_int=ratio(met, valid),
        t_rule=turn_rule(met, valid),
        idle_runs=_idle_runs(early),
        seed_events=seed_events_advised(early),
    )


class LoggedGini(msgspec.Struct, frozen=True, kw_only=True):
    """The coefficient that a run logged at the start of an epoch, and how many agents lived then."""

    run: str
    epoch: int
    kind: str
    gini: float
    agents: int


def ginis(found: Iterable[LoggedGini]) -> list[Result]:
    """One row per run, epoch and kind."""
    return [
        Result(
            {"run": each.run, "epoch": each.epoch, "kind": each.kind, "gini": each.gini},
            runs=(each.run,),
            n=each.agents,
            unit="agent",
        )
        for each in sorted(found, key=lambda each: (each.run, each.kind, each.epoch))
    ]
