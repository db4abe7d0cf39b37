"""Datasets of finished public games, as `playmolt dataset build` wrote them into a folder each."""

import re
from html import escape
from pathlib import Path
from typing import Final
from urllib.parse import urljoin

import msgspec
from playmolt_schemas.skill import PageLanguage, page_texts

CROISSANT: Final = "croissant.json"
METADATA: Final = {
    CROISSANT: "application/ld+json",
    "manifest.json": "application/json",
    "CITATION.cff": "text/yaml; charset=utf-8",
}
"""The files of a dataset beside its Parquet, with their media types."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
_MOST: Final = 1000
"""Datasets that are listed."""


class _File(msgspec.Struct, frozen=True):
    path: str
    rows: int


class _Manifest(msgspec.Struct, frozen=True):
    files: tuple[_File, ...]
    games: tuple[msgspec.Raw, ...]


class _Description(msgspec.Struct, frozen=True):
    name: str
    description: str
    license: str = ""


_document_of = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_distribution_of = msgspec.json.Decoder(list[dict[str, object]]).decode


class Dataset(msgspec.Struct, frozen=True):
    """A dataset: the name of its folder, and what its own files say of it."""

    folder: str
    description: str
    license: str
    games: int
    files: tuple[_File, ...]


def datasets_in(folder: Path) -> list[Dataset]:
    """The datasets of a folder by name; a folder that is none is left out. Raises OSError."""
    names = sorted(one.name for one in folder.iterdir() if one.is_dir() and _NAME.fullmatch(one.name))
    return [found for name in names[:_MOST] if (found := _dataset(folder / name)) is not None]


def _dataset(folder: Path) -> Dataset | None:
    try:
        manifest = msgspec.json.decode((folder / "manifest.json").read_bytes(), type=_Manifest)
        described = msgspec.json.decode((folder / CROISSANT).read_bytes(), type=_Description)
    except (OSError, msgspec.MsgspecError):
        return None
    return Dataset(folder.name, described.description, described.license, len(manifest.games), manifest.files)


def file_in(folder: Path, dataset: str, path: str) -> Path | None:
    """A file that a dataset consists of; None for anything else, whatever lies there."""
    if not _NAME.fullmatch(dataset):
        return None
    found = _dataset(folder / dataset)
    if found is None or path not in (*METADATA, *(file.path for file in found.files)):
        return None
    file = folder / dataset / path
    return file if file.is_file() and not file.is_symlink() else None


def served_metadata(written: bytes, address: str) -> bytes:
    """A dataset's `croissant.json` with the whole addresses of its files below `address`.

    In the folder they are relative to it, and readers of a URL do not resolve them.
    """
    try:
        document = _document_of(written)
        files = _distribution_of(document["distribution"])
    except (KeyError, msgspec.MsgspecError):
        return written
    placed = [
        {**file, "contentUrl": urljoin(f"{address}/", url)} if isinstance(url := file.get("contentUrl"), str) else file
        for file in files
    ]
    document["distribution"] = msgspec.Raw(msgspec.json.encode(placed))
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def datasets_html(datasets: list[Dataset], language: PageLanguage) -> str:
    """The list of datasets."""
    texts = page_texts(language)
    listed = "".join(map(_item, datasets)) or f"<p>{escape(texts['datasets.none'])}</p>"
    return (
        f"<h1>{escape(texts['head.datasets'])}</h1>\n<p>{escape(texts['head.datasets.about'])}</p>\n"
        f"<p>{escape(texts['datasets.how'])}</p>\n{listed}"
    )


def _item(dataset: Dataset) -> str:
    paths = [*METADATA, *(file.path for file in dataset.files)]
    links = "".join(
        f'<li><a href="/datasets/{escape(dataset.folder)}/{escape(path)}">{escape(path)}</a></li>' for path in paths
    )
    # The descriptions are the dataset's own, in English whatever the page's language.
    return (
        f'<section class="card"><h2>{escape(dataset.folder)}</h2>'
        f'<p lang="en">{escape(dataset.description)}</p><p lang="en">{escape(dataset.license)}</p>'
        f"<ul>{links}</ul></section>"
    )
