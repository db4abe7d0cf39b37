"""`playmolt log anchor`: signed heads of the log's streams, stored outside the database."""

from datetime import UTC, datetime
from pathlib import Path

import click
from playmolt_core.db.pool import Pool
from playmolt_core.log.copies import anchors
from playmolt_core.log.copies.anchor_places import AnchorPlace, PlaceTaken, anchor_place
from playmolt_core.log.copies.anchors import BadAnchor, BadKey, Comparison, PostgresHeads, Statement
from playmolt_core.log.postgres import PostgresLog
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.shards import write_places

from playmolt_cli.local.folder import Folder
from playmolt_cli.log.reading import with_database
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import data_option, read_settings

_FILE = click.Path(path_type=Path, dir_okay=False)


def _folder(data: Path | None) -> Folder:
    return Folder(data or read_settings().data)


def _place(asked: str, data: Path | None) -> AnchorPlace:
    settings = read_settings()
    return anchor_place(asked or settings.anchor_url or _folder(data).anchors, settings)


@click.command()
@data_option
@click.option(
    "--out",
    default="",
    metavar="PLACE",
    help="File to append to, or s3://BUCKET/PREFIX. Default: PLAYMOLT_ANCHOR_URL, else anchors.jsonl in --data.",
)
@click.option("--key", type=_FILE, metavar="FILE", help="Ed25519 key (PKCS #8, PEM); created if missing.")
@click.option(
    "--restored",
    is_flag=True,
    help="Declare that the log was restored to its current state: later heads in older anchors then count as lost, not "
    "as breaks.",
)
def anchor(data: Path | None, out: str, key: Path | None, restored: bool) -> None:
    """Sign the heads of all streams changed since the last anchor, and append them to a file or bucket.

    Anyone with full write access to the database can forge a self-consistent log; `log verify --anchors` detects this.
    Keep the anchors and the key where that person cannot write. In a bucket each anchor is a separate object, which is
    never overwritten. `up` runs this command every PLAYMOLT_ANCHOR_SECONDS.

    Example: playmolt log anchor --out /mnt/elsewhere/anchors.jsonl --key /mnt/elsewhere/anchor-key.pem
    """

    async def work(_: PostgresLog, pool: Pool) -> tuple[AnchorPlace, Statement]:
        place = _place(out, data)
        signs = anchors.signing_key(key or _folder(data).anchor_key)
        now = rfc3339(datetime.now(UTC))
        return place, await anchors.append(PostgresHeads(pool), place, signs, now, restored=restored)

    try:
        place, statement = with_database(data, work)
    except (BadAnchor, BadKey, PlaceTaken) as error:
        raise Failure(str(error)) from error
    click.echo(
        f"{len(statement.heads)} heads up to position {write_places(statement.places)} anchored in {place}", err=True
    )


async def compared_with_anchors(pool: Pool, data: Path | None, place: str) -> Comparison:
    """Differences between the log and the anchors at a place; "" is the default place."""
    folder = _folder(data)
    try:
        known = "" if place else anchors.public_key(folder.anchor_key)
        asked = _place(place, data)
        if not await asked.before():
            raise Failure(f"No anchors at {asked}. Create one with `playmolt log anchor`.")
        return await anchors.compared(PostgresHeads(pool), asked, known)
    except FileNotFoundError as error:
        raise Failure(f"No anchors at {asked}. Create one with `playmolt log anchor`.") from error
    except BadKey as error:
        raise Failure(str(error)) from error
