"""A table with Korean and English column labels, as Arrow, polars or pandas."""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from playmolt_agora.measures.data.tables import keys_of, label_of

if TYPE_CHECKING:
    import polars as pl

Labels = Mapping[str, tuple[str, str]]

_INSTALL: Final = "pandas is not installed: pip install 'playmolt-lab[pandas]'"


class Column(NamedTuple):
    """A column: its type as Arrow calls it, whether it is part of the key, what to call it in Korean and English."""

    name: str
    dtype: str
    key: bool
    ko: str
    en: str


class Table:
    """A table that is read when it is first asked for."""

    def __init__(
        self, name: str, read: Callable[[], object], own: Labels | None = None, keys: Iterable[str] = ()
    ) -> None:
        """`read` gives a pyarrow Table; `own` labels those columns that a researcher has named, `keys` are theirs."""
        self.name = name
        self._read = read
        self._own = own or {}
        self._keys = keys_of(name) or frozenset(keys)

    def __len__(self) -> int:
        return int(self._arrow.num_rows)

    def __repr__(self) -> str:
        return f"Table({self.name!r}, {len(self)} rows, {len(self.columns)} columns)"

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        found = []
        for field in self._arrow.schema:
            ko, en = self._own.get(field.name) or label_of(field.name)
            found.append(Column(field.name, str(field.type), field.name in self._keys, ko, en))
        return tuple(found)

    def to_arrow(self) -> Any:
        return self._arrow

    def to_polars(self) -> "pl.DataFrame":
        found: pl.DataFrame = import_module("polars").from_arrow(self._arrow)
        return found

    def to_pandas(self) -> Any:
        """With pandas' own types for what may be null: whole numbers stay whole. ImportError without pandas."""
        if find_spec("pandas") is None:
            raise ImportError(_INSTALL)
        pandas, arrow = import_module("pandas"), import_module("pyarrow")
        kinds = {
            arrow.int64(): pandas.Int64Dtype(),
            arrow.float64(): pandas.Float64Dtype(),
            arrow.bool_(): pandas.BooleanDtype(),
            arrow.string(): pandas.StringDtype(),
        }
        return self._arrow.to_pandas(types_mapper=kinds.get)

    @cached_property
    def _arrow(self) -> Any:
        return self._read()
