"""Looks at figures while a matrix runs, beside the engine's loop.

PCS so far is computed in a thread, in milliseconds. The intervals of an adaptive look read all turns, so they have a
process of their own: `python -m playmolt_agora.workers.look_process`.
"""

import asyncio
import gc
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

import msgspec
from playmolt_schemas.stored.agora.plan import PcsSoFar, Plan
from playmolt_schemas.stored.agora.turn import TurnRecord

from playmolt_agora.experiment import adaptive, interim_pcs
from playmolt_agora.experiment.effects import LookDue
from playmolt_agora.experiment.interim_pcs import six_decimals
from playmolt_agora.experiment.state import Run
from playmolt_agora.plan import stage1_import

SECONDS: Final = 120.0
Interval = tuple[str, str] | None


class LookFailed(RuntimeError):
    """The process of a look failed or took too long; the message is its output."""


class Intervals(msgspec.Struct, frozen=True):
    """What an adaptive look needs."""

    look: LookDue
    records: list[TurnRecord]


async def intervals_of(asked: Intervals) -> dict[str, Interval]:
    """Cell → interval of the measure, for the cells that may grow. Raises LookFailed."""
    request = await asyncio.to_thread(msgspec.json.encode, asked)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "playmolt_agora.workers.look_process",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        async with asyncio.timeout(SECONDS):
            out, said = await process.communicate(request)
    except TimeoutError:
        raise LookFailed(f"took more than {SECONDS:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise LookFailed(said.decode(errors="replace")[-2000:])
    return msgspec.json.decode(out, type=dict[str, Interval])


async def figures_of(plan: Plan, runs: Sequence[Run]) -> dict[str, PcsSoFar]:
    """Cell → PCS so far."""
    return await asyncio.to_thread(_figures, plan, runs)


def _figures(plan: Plan, runs: Sequence[Run]) -> dict[str, PcsSoFar]:
    _load_libraries()
    return interim_pcs.figures(plan, runs)


@cache
def _load_libraries() -> None:
    """Import them in this thread, and keep what they hold out of later garbage collections, which stop the loop."""
    from playmolt_agora.measures import pcs  # noqa: F401, PLC0415 -- numpy: only who looks waits for it

    gc.freeze()


def _computed(asked: Intervals) -> Mapping[str, Interval]:
    from playmolt_agora.measures.inference.sampling import intervals  # noqa: PLC0415 -- in the process alone

    look = asked.look
    known = intervals(asked.records, look.adaptive.measure, look.seed, stage1_import.rows(look.plan))
    return {cell.name: _texts(known.get((cell.model or "", cell.language))) for cell in adaptive.cells(look.plan)}


def _texts(interval: tuple[float, float] | None) -> Interval:
    return None if interval is None else (six_decimals(interval[0]), six_decimals(interval[1]))


if __name__ == "__main__":
    sys.stdout.buffer.write(
        msgspec.json.encode(_computed(msgspec.json.decode(sys.stdin.buffer.read(), type=Intervals)))
    )
