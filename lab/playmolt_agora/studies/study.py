"""A study read from a bundle or the folder of an analysis: its tables, turns and figures."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from playmolt_agora.measures.data import turns
from playmolt_agora.measures.data.tables import keys_of, label_of
from playmolt_agora.report import STUDY

if TYPE_CHECKING:
    import polars as pl

_DPI: Final = 300
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


class Figure:
    """A figure. It shows itself in a notebook."""

    def __init__(self, name: str, title: str, size: tuple[float, float], svg: str, data: Table) -> None:
        self.name = name
        self.title = title
        self.width_mm, self.height_mm = size
        self.svg = svg
        self.data = data

    def __repr__(self) -> str:
        return f"Figure({self.name!r}, {self.width_mm:g} × {self.height_mm:g} mm)"

    def _repr_svg_(self) -> str:
        return self.svg

    @property
    def pdf(self) -> bytes:
        from playmolt_agora.report import vega  # noqa: PLC0415 -- loads what draws

        return vega.pdf(self.svg)

    def png(self, dpi: int = _DPI) -> bytes:
        from playmolt_agora.report import vega  # noqa: PLC0415 -- as above

        return vega.png(self.svg, dpi)

    def save(self, path: str | Path) -> None:
        """Write the picture in the format of the path's ending. ValueError for another one than svg, pdf, png."""
        drawn = {".svg": self.svg.encode, ".pdf": lambda: self.pdf, ".png": self.png}.get(Path(path).suffix.lower())
        if drawn is None:
            raise ValueError(f"{path}: figures are written as .svg, .pdf or .png")
        Path(path).write_bytes(drawn())


T = TypeVar("T")

_FIGURES: Final = "figures"
_TURNS: Final = "turns.jsonl"
READ: Final = (STUDY, _TURNS, "*.parquet", f"{_FIGURES}/*.svg", f"{_FIGURES}/index.json")
"""The files that a study is read from."""


class NamedCollection(dict[str, T]):
    """Things by name; a name that is not there is a KeyError that lists those that are."""

    def __init__(self, what: str, found: Mapping[str, T]) -> None:
        super().__init__(found)
        self._what = what

    def __missing__(self, name: str) -> T:
        raise KeyError(f"no {self._what} {name!r}; there are {', '.join(sorted(self))}")


class Study:
    """An experiment: what was locked, its tables and its figures."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        described = json.loads((folder / STUDY).read_text(encoding="utf-8"))
        self.id: str = described["id"]
        self.name: str = described["name"]
        self.seed: str = described["seed"]
        self.definitions: str = described["definitions"]
        self.stimuli: str = described["stimuli"]
        self.plan: dict[str, Any] = described["plan"]
        self.models: list[dict[str, Any]] = described["models"]
        self.deviations: list[dict[str, Any]] = described["deviations"]
        own: dict[str, Any] = described.get("own_measures", {})
        self.tables: Mapping[str, Table] = NamedCollection(
            "table",
            {path.stem: _table(path, own.get(path.stem, {})) for path in sorted(folder.glob("*.parquet"))},
        )
        self.figures: Mapping[str, Figure] = NamedCollection("figure", dict(self._figures()))
        self.turns = Table("turns", lambda: turns.table(turns.read(folder / _TURNS)))

    def __repr__(self) -> str:
        return f"Study({self.id!r}, {self.name!r}, {len(self.tables)} tables, {len(self.figures)} figures)"

    @property
    def runs(self) -> Table:
        return self.tables["runs"]

    @property
    def tests(self) -> Table:
        return self.tables["tests"]

    def _figures(self) -> Iterator[tuple[str, Figure]]:
        index = self.folder / _FIGURES / "index.json"
        entries = json.loads(index.read_text(encoding="utf-8")) if index.is_file() else []
        for entry in entries:
            svg = (index.parent / f"{entry['name']}.svg").read_text(encoding="utf-8")
            data = Table(entry["name"], partial(_rows, entry["columns"], entry["rows"]))
            size = entry["width_mm"], entry["height_mm"]
            yield entry["name"], Figure(entry["name"], entry["title"], size, svg, data)


def _table(path: Path, own: Mapping[str, Any]) -> Table:
    """A table; that of a custom measure declares its keys and labels."""
    texts = {name: (label["ko"], label["en"]) for name, label in own.get("labels", {}).items()}
    return Table(path.stem, partial(_parquet, path), texts, own.get("keys", ()))


def _parquet(path: Path) -> object:
    with path.open("rb") as file:  # pyarrow takes no path that is not UTF-8
        return import_module("pyarrow.parquet").read_table(file)


def _rows(columns: list[str], lines: list[list[object]]) -> object:
    return import_module("pyarrow").table({name: [line[at] for line in lines] for at, name in enumerate(columns)})
