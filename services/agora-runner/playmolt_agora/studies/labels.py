"""What people call the columns of tables, in Korean and English; and which columns make a row unique."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

Labels = Mapping[str, tuple[str, str]]

_KEYS: Final[Mapping[str, str]] = {
    "shares": "level phase set run model language persona agent action",
    "pcs": "model language",
    "ri": "level phase set run model language persona agent",
    "ri_ext": "set model",
    "drift": "run language persona condition window",
    "washout": "language model persona window",
    "tests": "test",
    "shared_model": "run model",
    "pint": "run",
    "parse": "run model",
    "gini": "run epoch kind",
    "dissoc": "phase model language",
    "contrasts": "contrast phase condition model",
    "delta_pcs": "model_a model_b language",
    "costs": "cell model",
    "kappa": "label coder_a coder_b",
    "runs": "run",
    "turns": "run turn order",
}


def of(column: str) -> tuple[str, str]:
    """The Korean and the English label of a column; its name, spelt out, where it has none of its own."""
    spelt = column.replace("_", " ")
    return _labels().get(column, (spelt, spelt))


def keys_of(table: str) -> frozenset[str]:
    return frozenset(_KEYS.get(table.removeprefix("unexcluded_"), "").split())


@cache
def _labels() -> Labels:
    text = files("playmolt_agora").joinpath("data", "labels.toml").read_text(encoding="utf-8")
    return {name: (ko, en) for name, (ko, en) in tomllib.loads(text)["columns"].items()}
