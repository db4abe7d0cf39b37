"""The files of a dataset: Parquet by game type and month, metadata as Croissant, how to cite it, and what is in it.

Every date in them follows from the range and the log, so that a second build of the same range is equal byte by byte.
"""

import hashlib
from collections.abc import Iterator, Sequence
from datetime import date
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol

import msgspec

from playmolt_cli.dataset.games import GameFacts, Move

PARQUET: Final = "application/x-parquet"
"""The media type by which mlcroissant reads Parquet; it takes the registered one, and then reads nothing."""
_ROWS: Final = 50_000
"""Rows of a row group."""
_COLUMNS: Final[dict[str, tuple[str, str, str]]] = {
    "game_id": ("string", "sc:Text", "The game."),
    "created_at": ("timestamp", "sc:DateTime", "When the game was created."),
    "ended_at": ("timestamp", "sc:DateTime", "When the game ended."),
    "language": ("string", "sc:Text", "The language of the game's content."),
    "pace": ("string", "sc:Text", "quick or slow."),
    "rules_version": ("int32", "sc:Integer", "The version of the rules."),
    "content_version": ("string", "sc:Text", "The version of the shipped content: questions or cases."),
    "version": ("int32", "sc:Integer", "The number of the event in its game, from 1."),
    "at": ("timestamp", "sc:DateTime", "When the event was decided."),
    "type": ("string", "sc:Text", "The type of the event."),
    "agent_id": ("string", "sc:Text", "The agent that caused it; person-N for a person; null if none did."),
    "data": ("string", "sc:Text", "The event as spectators saw it, as JSON: docs/api.md describes each type."),
}
"""Column → its type in Parquet and in Croissant, and what it holds."""
_REPEATED: Final = ["game_id", "language", "pace", "content_version", "type", "agent_id"]
_CROISSANT: Final = (
    "citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet", "format",
    "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex",
    "repeated", "replace", "samplingRate", "separator", "source", "subField", "transform",
)  # fmt: skip
"""The words of Croissant 1.1 that its standard context has."""
_CONTEXT: Final[dict[str, object]] = {
    "@language": "en", "@vocab": "https://schema.org/", "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/", "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/", "sc": "https://schema.org/",
    "data": {"@id": "cr:data", "@type": "@json"}, "examples": {"@id": "cr:examples", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    **{name: f"cr:{name}" for name in _CROISSANT},
}  # fmt: skip


class DatasetFile(msgspec.Struct, frozen=True):
    """A Parquet file of the dataset."""

    path: str
    sha256: str
    rows: int


class ListedGame(msgspec.Struct, frozen=True):
    """A game and the hash of its last record."""

    id: str
    hash: str


class DatasetManifest(msgspec.Struct, frozen=True):
    files: Sequence[DatasetFile]
    games: Sequence[ListedGame]


class _Writer(Protocol):
    def write_table(self, table: object) -> None: ...

    def close(self) -> None: ...


class ParquetFiles:
    """Writes the moves of games into `TYPE/YYYY-MM.parquet` below a folder. Raises ImportError without pyarrow."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._arrow = import_module("pyarrow")
        self._parquet = import_module("pyarrow.parquet")
        kinds = {
            "string": self._arrow.string(), "int32": self._arrow.int32(),
            "timestamp": self._arrow.timestamp("us", tz="UTC"),
        }  # fmt: skip
        self._schema = self._arrow.schema([(name, kinds[kind]) for name, (kind, _, _) in _COLUMNS.items()])
        self._writers: dict[str, _Writer] = {}
        self._rows: dict[str, dict[str, list[object]]] = {}
        self._counts: dict[str, int] = {}

    def __enter__(self) -> "ParquetFiles":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for path in list(self._rows):
            self._write(path)
        for writer in self._writers.values():
            writer.close()

    def add(self, game: GameFacts, moves: Sequence[Move]) -> None:
        path = f"{game.game_type}/{game.ended_at:%Y-%m}.parquet"
        rows = self._rows.setdefault(path, {name: [] for name in _COLUMNS})
        for name, column in rows.items():
            if hasattr(game, name):
                column.extend([getattr(game, name)] * len(moves))
            else:
                column.extend(getattr(move, name) for move in moves)
        if len(rows["version"]) >= _ROWS:
            self._write(path)

    def _write(self, path: str) -> None:
        rows = self._rows.pop(path)
        if path not in self._writers:
            (self._folder / path).parent.mkdir(parents=True, exist_ok=True)
            self._writers[path] = self._parquet.ParquetWriter(
                self._folder / path, self._schema, use_dictionary=_REPEATED, compression="snappy"
            )
        self._writers[path].write_table(self._arrow.table(rows, schema=self._schema))
        self._counts[path] = self._counts.get(path, 0) + len(rows["version"])

    def listed(self) -> list[DatasetFile]:
        """The closed files, by path."""
        return [
            DatasetFile(path, hashlib.sha256((self._folder / path).read_bytes()).hexdigest(), rows)
            for path, rows in sorted(self._counts.items())
        ]


def write_metadata(
    folder: Path, manifest: DatasetManifest, since: date, until: date, *, license_name: str, url: str
) -> None:
    """Write `manifest.json`, `croissant.json` and `CITATION.cff`. `license_name` is an SPDX name, or ""."""
    (folder / "manifest.json").write_bytes(_json(manifest))
    (folder / "croissant.json").write_bytes(_json(_croissant(manifest, since, until, license_name, url)))
    (folder / "CITATION.cff").write_text(_citation(since, until, license_name, url), "utf-8")


def _json(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def _title(since: date, until: date) -> str:
    return f"PlayMolt games from {since} to before {until}"


def _version(until: date) -> str:
    return f"{until.year}.{until.month}.{until.day}"


def _croissant(manifest: DatasetManifest, since: date, until: date, license_name: str, url: str) -> dict[str, object]:
    title = _title(since, until)
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": f"playmolt-{since}-{until}",
        "description": f"{title}: finished public games of AI agents, event by event as spectators saw them. Days are "
        "UTC. manifest.json names each game with the hash of its last record in the platform's log.",
        "license": f"https://spdx.org/licenses/{license_name}" if license_name else "No licence was given.",
        "url": url,
        "version": _version(until),
        "datePublished": str(until),
        "citeAs": f"PlayMolt: {title}. {url}",
        "creator": {"@type": "sc:Organization", "name": "PlayMolt", "url": url},
        "rai:personalSensitiveInformation": "Owners of agents are left out. A person who played is person-N, without "
        "name and texts.",
        "distribution": [
            {
                "@type": "cr:FileObject", "@id": file.path, "name": file.path, "contentUrl": file.path,
                "encodingFormat": PARQUET, "sha256": file.sha256,
            }
            for file in manifest.files
        ],
        "recordSet": [_records(file) for file in manifest.files],
    }  # fmt: skip


def _records(file: DatasetFile) -> dict[str, object]:
    name = file.path.removesuffix(".parquet")
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"Events of the {name.partition('/')[0]} games that ended in {name.partition('/')[2]}.",
        "field": [
            {
                "@type": "cr:Field", "@id": f"{name}/{column}", "name": f"{name}/{column}", "description": text,
                "dataType": kind,
                "source": {"fileObject": {"@id": file.path}, "extract": {"column": column}},
            }
            for column, (_, kind, text) in _COLUMNS.items()
        ],
    }  # fmt: skip


def _citation(since: date, until: date, license_name: str, url: str) -> str:
    return "".join(_citation_lines(since, until, license_name, url))


def _citation_lines(since: date, until: date, license_name: str, url: str) -> Iterator[str]:
    yield "cff-version: 1.2.0\n"
    yield "message: Cite this dataset as below.\n"
    yield f'title: "{_title(since, until)}"\n'
    yield "type: dataset\n"
    yield "authors:\n  - name: PlayMolt\n"
    yield f'version: "{_version(until)}"\n'
    yield f'date-released: "{until}"\n'
    if license_name:
        yield f"license: {license_name}\n"
    yield f'url: "{url}"\n'
