"""Copies of the log as command arguments: files, or archives in an object store."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import click
from playmolt_core.log.copies.buckets import SCHEME, Access, Bucket, PlaceUnavailable

from playmolt_cli.terminal.options import read_settings

F = TypeVar("F", bound=Callable[..., Any])
_ENDING: Final = ".jsonl.gz"
_FOR_ONE_FILE: Final = timedelta(minutes=5)


def archive_bucket(url: str) -> Bucket:
    """The bucket of the archive's settings; raises PlaceUnavailable."""
    settings = read_settings()
    access = Access(
        settings.archive_endpoint, settings.archive_region, settings.archive_access_key, settings.archive_secret_key,
        _FOR_ONE_FILE,
    )  # fmt: skip
    return Bucket(url, access)


class CopyPath(click.Path):
    """A file, or `s3://BUCKET/NAME`, which is downloaded; `s3://BUCKET/PREFIX` concatenates all archives below it."""

    name = "copy"

    def __init__(self) -> None:
        super().__init__(path_type=Path, exists=True, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value).startswith(SCHEME) or ctx is None:
            return super().convert(value, param, ctx)
        folder = TemporaryDirectory(prefix="playmolt-copy-")
        try:
            copy = asyncio.run(_fetch(str(value), Path(folder.name)))
        except PlaceUnavailable as error:
            folder.cleanup()
            self.fail(str(error), param, ctx)
        ctx.with_resource(folder)
        return copy


def copy_option(command: F) -> F:
    return click.option(
        "--log",
        "copy",
        type=CopyPath(),
        metavar="FILE",
        help="Read the game from a file written by `playmolt log archive`, `log export` or `match`, or from s3://….",
    )(command)


def files_argument(command: F) -> F:
    return click.argument("files", nargs=-1, type=CopyPath())(command)


async def _fetch(url: str, folder: Path) -> Path:
    names, bucket = await _found(url)
    file = folder / Path(urlsplit(url).path).name
    with file.open("wb") as copy:  # concatenated gzip files are a valid gzip file
        for name in names:
            copy.write(await bucket.get(name))
    return file


async def _found(url: str) -> tuple[Sequence[str], Bucket]:
    above, _, name = url.rpartition("/")
    if name.endswith(_ENDING):
        return [name], archive_bucket(above)
    bucket = archive_bucket(url)
    names = sorted(name for name in await bucket.names() if name.endswith(_ENDING))
    if not names:
        raise PlaceUnavailable(f"No archive at {url}.")
    return names, bucket
