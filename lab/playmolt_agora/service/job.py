"""One job of the laboratory, in a process of its own: `python -m playmolt_agora.service.job NAME`, body in, answer out.

A job reads the log, never a state, and keeps nothing: after a crash it is repeated.
"""

import asyncio
import sys
import tarfile
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

import msgspec
from playmolt_core.db.blobs import PgBlobs
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.log.port import StreamReader
from playmolt_core.log.postgres import log_of
from playmolt_core.settings import from_environment
from playmolt_schemas.instrument.laboratory import (
    BUNDLE,
    STUDY_FILES,
    CellInterval,
    Design,
    IntervalsRequest,
    MeasureTrial,
    PcsArms,
    StudyRequest,
    Thought,
    ThoughtsRequest,
)
from playmolt_schemas.stored.agora.turn import TurnRecord

from playmolt_agora.bundle import seal
from playmolt_agora.coding import thoughts
from playmolt_agora.measures.inference import looks
from playmolt_agora.own_measures import trial
from playmolt_agora.planning import power
from playmolt_agora.report import assembly, experiment_study
from playmolt_agora.service.settings import LaboratorySettings

_BUNDLE_FOLDER: Final = "bundle"
POOL_SIZE: Final = 1
"""A job reads one stream after another."""
T = TypeVar("T")


def _computed(kind: Callable[[bytes], T], compute: Callable[[T], object]) -> Callable[[bytes], bytes]:
    return lambda body: msgspec.json.encode(compute(kind(body)))


COMPUTED: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "power": _computed(msgspec.json.Decoder(Design).decode, power.power),
    "trial": _computed(msgspec.json.Decoder(MeasureTrial).decode, trial.faults),
    "pcs": _computed(msgspec.json.Decoder(dict[str, PcsArms]).decode, looks.pcs_so_far),
}
"""The jobs that read no log."""


async def _turns(log: StreamReader, runs: tuple[str, ...]) -> tuple[TurnRecord, ...]:
    """All turns of these runs; one that is not in the log has none."""
    found = {run: stored.records for run in runs if (stored := await log.load(run)) is not None}
    return assembly.turns_of(found)


async def intervals(pool: Pool, body: bytes, out: BinaryIO) -> None:
    """The interval of a measure in each cell, as an adaptive look needs it."""
    request = msgspec.json.decode(body, type=IntervalsRequest)
    turns = await _turns(await log_of(pool), request.runs)
    found = looks.intervals(turns, request.measure, request.seed, request.stage1_import)
    rows = [
        CellInterval(model=model, language=language, low=looks.decimal(ends, 0), high=looks.decimal(ends, 1))
        for (model, language), ends in found.items()
    ]
    out.write(msgspec.json.encode(rows))


async def coded_thoughts(pool: Pool, body: bytes, out: BinaryIO) -> None:
    """The thoughts of runs, all or the sample that people and judges share."""
    request = msgspec.json.decode(body, type=ThoughtsRequest)
    found: list[Thought] = thoughts.of_turns(await _turns(await log_of(pool), request.runs))
    out.write(msgspec.json.encode(thoughts.sample(found, request.seed) if request.sample else found))


async def study(pool: Pool, body: bytes, out: BinaryIO) -> None:
    """Report, shares and sealed bundle of an experiment, as a tar."""
    request = msgspec.json.decode(body, type=StudyRequest)
    with tempfile.TemporaryDirectory(prefix="playmolt-agora-") as name:
        folder = Path(name)
        gathered, blobs = await experiment_study.gather(await log_of(pool), request.experiment), PgBlobs(pool)
        texts = await experiment_study.folder_texts(gathered, blobs)
        experiment_study.write(experiment_study.analysed(gathered, texts=texts), folder)
        bundle = folder / _BUNDLE_FOLDER
        await experiment_study.export(gathered, blobs, bundle)
        seal.packed(bundle, folder / BUNDLE)
        with tarfile.open(fileobj=out, mode="w|") as archive:
            for each in STUDY_FILES:
                archive.add(folder / each, each)


FROM_LOG: Final[Mapping[str, Callable[[Pool, bytes, BinaryIO], Awaitable[None]]]] = {
    "intervals": intervals,
    "thoughts": coded_thoughts,
    "study": study,
}


async def _from_log(name: str, body: bytes, out: BinaryIO) -> None:
    settings: Any = from_environment(kind=LaboratorySettings)
    pool = await open_pool(settings.database_url, role=settings.database_role, size=POOL_SIZE)
    try:
        await FROM_LOG[name](pool, body, out)
    finally:
        await pool.close()


def main(name: str) -> None:
    body, out = sys.stdin.buffer.read(), sys.stdout.buffer
    if name in COMPUTED:
        out.write(COMPUTED[name](body))
    else:
        asyncio.run(_from_log(name, body, out))
    out.flush()


if __name__ == "__main__":
    main(sys.argv[1])
