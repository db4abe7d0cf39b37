"""Agora experiments: worlds, prompts, plans, measures; and what a finished one holds, as tables and figures.

`open(bundle or analysis or address)` gives a Study, `measure(turns)` its tables. Numeric libraries are loaded when they
are first needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from playmolt_agora.studies.measuring import measure
    from playmolt_agora.studies.opening import BundleBroken, open  # noqa: A004 -- as `gzip.open`
    from playmolt_agora.studies.study import Column, Figure, Study, Table

_PLACES: Final = {
    "measuring": ("measure",),
    "opening": ("BundleBroken", "open"),
    "study": ("Column", "Figure", "Study", "Table"),
}

__all__ = ["BundleBroken", "Column", "Figure", "Study", "Table", "measure", "open"]


def __getattr__(name: str) -> object:
    for place, names in _PLACES.items():
        if name in names:
            return getattr(import_module(f"playmolt_agora.studies.{place}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
