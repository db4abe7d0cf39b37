"""The jobs that read the log: intervals of a look, thoughts to code, and studies."""

import shutil
import tarfile
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.settings import from_environment
from playmolt_schemas.instrument.laboratory import (
    BUNDLE,
    REPORT,
    SHARES,
    STUDY_FILES,
    IntervalsRequest,
    StudyRequest,
    Thought,
    ThoughtsRequest,
)

from playmolt_agora.coding import thoughts
from playmolt_agora.measures import pcs
from playmolt_agora.report import assembly, page
from playmolt_agora.service import experiment_study
from playmolt_agora.service.settings import LaboratorySettings

POOL_SIZE: Final = 1
"""A job reads one stream after another."""


async def intervals(pool: Pool, body: bytes, out: BinaryIO) -> None:
    """The interval of a measure in each cell, as an adaptive look needs it."""
    request = msgspec.json.decode(body, type=IntervalsRequest)
    turns = assembly.turns_of(await experiment_study.loaded(pool, request.runs))
    found = pcs.intervals(turns, request.measure, request.seed, request.stage1_import)
    out.write(msgspec.json.encode(found))


async def coded_thoughts(pool: Pool, body: bytes, out: BinaryIO) -> None:
    """The thoughts of runs, all or the sample that people and judges share."""
    request = msgspec.json.decode(body, type=ThoughtsRequest)
    runs = await experiment_study.loaded(pool, request.runs)
    found: list[Thought] = thoughts.of_turns(assembly.turns_of(runs))
    chosen = thoughts.sample(found, request.seed) if request.sample else found
    out.write(msgspec.json.encode([*chosen, *thoughts.of_answers(assembly.interviews_of(runs))]))


async def study(pool: Pool, body: bytes, out: BinaryIO) -> None:
    """Report, shares and sealed bundle of an experiment, as a tar."""
    request = msgspec.json.decode(body, type=StudyRequest)
    with tempfile.TemporaryDirectory(prefix="playmolt-agora-") as temporary:
        folder = Path(temporary)
        bundle = (folder / BUNDLE).with_suffix("")
        gathered = await experiment_study.gather(pool, request.experiment)
        made = await experiment_study.study_of(gathered, pool)
        await experiment_study.export(gathered, made, pool, bundle)
        shutil.make_archive(str(bundle), "zip", folder, bundle.name)
        served = msgspec.structs.replace(made, events_at="platform")
        (folder / REPORT).write_text(page.render(served), encoding="utf-8")
        with tarfile.open(fileobj=out, mode="w|") as archive:
            for name in STUDY_FILES:
                archive.add((bundle if name == SHARES else folder) / name, name)


JOBS: Final[Mapping[str, Callable[[Pool, bytes, BinaryIO], Awaitable[None]]]] = {
    "intervals": intervals,
    "thoughts": coded_thoughts,
    "study": study,
}


async def done(name: str, body: bytes, out: BinaryIO) -> None:
    settings = from_environment(kind=LaboratorySettings)
    pool = await open_pool(settings.database_url, role=settings.database_role, size=POOL_SIZE)
    try:
        await JOBS[name](pool, body, out)
    finally:
        await pool.close()
