"""The tables that count turns by group: shares, rituals, interaction, parse codes, dissociation, network, occupancy.

Every ratio is a ratio of sums, null where its denominator is 0 (`measures.md`, sections 1, 2, 4, 5, 8, 10 and 11).
"""

from collections.abc import Sequence
from typing import Final, Literal, get_args

import polars as pl
from playmolt_schemas.instrument.definitions import FIRST_TURNS, IDLE_ABOVE, INTERACTIONS_PER_AGENT
from playmolt_schemas.stored.agora.turn import ACTIONS, ParseCode

from playmolt_agora.measures.data.frame import EXCLUDED, INSTRUMENTAL, MET, POSSIBLE, RITUAL, RUNS, names_of
from playmolt_agora.measures.data.results import Result, Row, ratio, results

Level = Literal["agent", "cell"]
_AGENT: Final = ("seat", "phase", "set", "run", "model", "language", "persona", "agent")
_CELL: Final = ("phase", "set", "model", "language")
_WITH_R: Final = frozenset(("speak", "trade", "support", "whisper"))
_WITH_DYAD: Final = frozenset(("speak", "support", "whisper"))
_NULL: Final = pl.lit(None, pl.Float64)


def share(above: pl.Expr, below: pl.Expr) -> pl.Expr:
    """A quotient, null where the denominator is 0."""
    return pl.when(below != 0).then(above / below)


def shares(turns: pl.DataFrame, level: Level) -> list[Result]:
    """Rows of the table `shares`: of every agent, or of every phase, set, model and language, by action."""
    groups = turns.group_by(_AGENT if level == "agent" else _CELL, maintain_order=True)
    tables = [results("shares", _shares(groups, action, level), n="t_valid") for action in ACTIONS]
    return [each for of_group in zip(*tables, strict=True) for each in of_group]


def _shares(groups: "pl.dataframe.group_by.GroupBy", action: str, level: Level) -> pl.DataFrame:
    valid, near, success = pl.col("valid"), pl.col("others") > 0, pl.col("success")
    act, can = valid & (pl.col("action") == action), pl.col(f"can_{action}")
    planned = pl.col("turns_planned") * (pl.col("residents_start") - 1)
    found = groups.agg(
        RUNS,
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
        q_heard=share(pl.col("spoke_heard"), pl.col("heard")) if action == "speak" else _NULL,
        r_dyad=share(pl.col("met"), dyads) if action in _WITH_DYAD else _NULL,
    )


def rituals(turns: pl.DataFrame) -> list[Result]:
    """The table `ri`: by agent, by model of a run, by persona of a run."""
    return [
        *_rituals(turns, "agent", *_AGENT),
        *_rituals(turns, "run_model", "phase", "set", "run", "model"),
        *_rituals(turns.filter(pl.col("persona").is_not_null()), "run_persona", "phase", "set", "run", "persona"),
    ]


def _rituals(turns: pl.DataFrame, level: str, *keys: str) -> list[Result]:
    success, ritual = pl.col("success"), pl.col("ritual")
    language = () if "language" in keys else (pl.col("language").first(),)
    sums = turns.group_by(keys, maintain_order=True).agg(
        *language,
        RUNS,
        t_valid=pl.col("valid").sum(),
        a_success=(INSTRUMENTAL & success).sum(),
        ritual=RITUAL.sum(),
        ritual_infeasible=(INSTRUMENTAL & ~success).sum(),
        feasible_a=POSSIBLE.sum(),
    )
    whole = sums.with_columns(
        level=pl.lit(level),
        ri_seed=share(ritual, pl.col("a_success")),
        degenerate_by_design=pl.col("phase") == "phase2",
        ri_star=share(ritual, pl.col("t_valid")),
        ri_opp=share(ritual, pl.col("feasible_a")),
    )
    return results("ri", whole, n="t_valid")


def interaction(turns: pl.DataFrame) -> list[Result]:
    """The table `pint`, a row per run."""
    early = pl.col("valid") & (pl.col("turn") <= FIRST_TURNS)
    found = turns.group_by("run").agg(
        RUNS,
        valid=pl.col("valid").sum(),
        interactions=MET.sum(),
        early_idle=share((early & (pl.col("action") == "idle")).sum(), early.sum()),
    )
    rows = results("pint", found.sort("run"), n="valid")
    for each in rows:
        met, valid = each.row["interactions"], each.row["valid"]
        each.row.update(p_int=ratio(met, valid), t_rule=turn_rule(met, valid))
    return rows


def parse(turns: pl.DataFrame) -> list[Result]:
    """The table `parse`, a row per run and model."""
    found = turns.group_by("run", "model").agg(
        RUNS,
        turns=pl.len(),
        failed=pl.col("failed").sum(),
        fail_share=pl.col("failed").mean(),
        excluded=EXCLUDED,
        **{code: (pl.col("parse_code") == code).sum() for code in get_args(ParseCode)},
    )
    return results("parse", found.sort("run", "model"), n="turns")


def dissociation(turns: pl.DataFrame) -> list[Result]:
    """Classes of thought and act by phase, model and language: the table `dissoc`."""
    found = turns.group_by("phase", "model", "language", maintain_order=True).agg(
        RUNS, _n=pl.len(), **{f"dissoc_{name.lower()}": (pl.col("dissoc") == name).sum() for name in "ABCU"}
    )
    agreeing = pl.col("dissoc_c")
    return results("dissoc", found.with_columns(coherence=share(agreeing, pl.col("dissoc_a") + agreeing)), n="_n")


def network(turns: pl.DataFrame) -> list[Result]:
    """The table `network`: attempts and successes by run, kind, agent and target."""
    kind = pl.col("action").cast(pl.String)
    found = turns.filter(pl.col("valid") & kind.is_in(["support", "whisper"]))
    keys = ("run", "kind", "agent", "target")
    edges = found.group_by("run", kind.alias("kind"), "agent", pl.col("target").fill_null("")).agg(
        RUNS, attempts=pl.len(), succeeded=pl.col("success").sum()
    )
    return results("network", edges.sort(keys), n="attempts")


def occupancy(turns: pl.DataFrame) -> list[Result]:
    """The table `occupancy`: agents in each place before acting, by run and turn."""
    places = names_of(turns, "place")
    found = turns.group_by("run", "turn").agg(
        RUNS,
        _n=pl.len(),
        place=pl.lit(places),
        agents=pl.concat_list((pl.col("place") == place).sum() for place in places),
    )
    return results("occupancy", found.sort("run", "turn").explode("place", "agents"), n="_n", unit="agent")


def turn_rule(met: int, valid: int) -> int:
    """The length of Phase 2, 100 to 200 in tens, at which an agent may expect 50 interactions."""
    if met == 0:
        return 200
    tens = -(-INTERACTIONS_PER_AGENT * valid // (10 * met))
    return min(200, max(100, 10 * tens))


def pilots(found: Sequence[Row]) -> Row:
    """What pilots, given as rows of the table `pint`, say together before a plan is registered: the length of Phase 2,
    whether to consider seed events.

    They are advised if more than 80 % of the first five turns are idle in at least half of the runs (L18).
    """
    valid, met = (sum(int(row[name]) for row in found) for name in ("valid", "interactions"))
    idle = sum(row["early_idle"] is not None and row["early_idle"] > IDLE_ABOVE for row in found)
    return {
        "runs": len(found),
        "valid": valid,
        "interactions": met,
        "p_int": ratio(met, valid),
        "t_rule": turn_rule(met, valid),
        "idle_runs": idle,
        "seed_events": 0 < len(found) <= 2 * idle,
    }
