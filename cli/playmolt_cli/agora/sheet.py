"""Coding sheets for human coders: sampled from the log, imported when filled."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final

from playmolt_core.db.pool import open_pool
from playmolt_schemas.agora.coding import CoderRow, SheetRequest
from playmolt_schemas.stored.agora.plan import NAME

from playmolt_cli.agora.experiments_client import experiments_client
from playmolt_cli.local.database import database
from playmolt_cli.terminal.failures import Failure

if TYPE_CHECKING:
    from playmolt_schemas.instrument.laboratory import Thought


CODER: Final = NAME
"""Pattern of coder names."""


class InvalidSheet(Exception):
    """A sheet with errors; the message has one line per error."""


def write(experiment: str, file: Path, data: Path | None) -> int:
    """Write the sheet of an experiment; returns its number of rows. Raises Failure."""
    from playmolt_agora.coding import sheet, thoughts  # noqa: PLC0415 -- imports numeric libraries

    found, seed = asyncio.run(_thoughts(experiment, data))
    drawn = thoughts.sample(found, seed)
    if not drawn:
        raise Failure(f"No valid turn of {experiment} has a thought yet, so there is nothing to code.")
    file.write_bytes(sheet.written(drawn).encode())
    return len(drawn)


def take(experiment: str, file: Path, coder: str, data: Path | None) -> CoderRow:
    """Import a filled sheet. Raises InvalidSheet with all errors, and Failure."""
    from playmolt_agora.coding import sheet  # noqa: PLC0415 -- as above

    body = file.read_bytes()
    found, _ = asyncio.run(_thoughts(experiment, data))
    rows, faults = sheet.read(body, {thought.key for thought in found})
    if faults:
        raise InvalidSheet("\n".join(f"{file}:{fault.line}: {fault.message}" for fault in faults))
    request = SheetRequest(coder=coder, rows=rows)
    with experiments_client(None, None, data) as client:
        codings = client.take_sheet(experiment, request)
    return next(each for each in codings.coders if each.coder == coder)


async def _thoughts(experiment: str, data: Path | None) -> "tuple[list[Thought], str]":
    """The codable thoughts of an experiment, and its seed."""
    from playmolt_agora.coding import thoughts  # noqa: PLC0415 -- as above
    from playmolt_agora.report import assembly  # noqa: PLC0415 -- as above
    from playmolt_agora.service import experiment_study  # noqa: PLC0415 -- as above

    with database(data) as url:
        pool = await open_pool(url)
        try:
            gathered = await experiment_study.gather(pool, experiment)
        except experiment_study.UnknownExperiment as error:
            raise Failure(f"{error}. `playmolt log tail --running` lists the streams.") from error
        finally:
            await pool.close()
    notes = [assembly.run_note(records) for records in gathered.runs.values()]
    forks = [note.run for note in notes if note.parent is not None]
    return thoughts.of_turns(assembly.turns_of(gathered.runs), forks), gathered.lock.seed
