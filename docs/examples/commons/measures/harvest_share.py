"""What share of a run's harvest each agent took, and how much of the grass was left after it."""

import polars as pl

KEYS = ("run", "agent")
COLUMNS = {"run": "str", "agent": "str", "persona": "str", "harvested": "int", "share": "float"}
LABELS = {
    "persona": {"ko": "인물", "en": "Persona"},
    "harvested": {"ko": "거둔 풀", "en": "Grass harvested"},
    "share": {"ko": "수확 몫", "en": "Share of the harvest"},
}
SECONDS, MEMORY_MB = 60, 512


def measure(turns):
    """The sum of each agent's harvests over the run's."""
    taken = pl.when((pl.col("action") == "harvest") & pl.col("success")).then(pl.col("amount")).otherwise(0)
    summed = turns.group_by("run", "agent", "persona").agg(taken.sum().cast(pl.Int64).alias("harvested"))
    share = pl.col("harvested") / pl.col("harvested").sum().over("run")
    return summed.with_columns(share.alias("share")).select(list(COLUMNS))
