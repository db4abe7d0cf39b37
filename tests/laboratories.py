"""The laboratory for tests: its functions in this process, or its server in the test's event loop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from playmolt_agora.own_measures import running
from playmolt_agora.planning import power
from playmolt_agora.service.server import Laboratory, serve
from playmolt_core.ops import process
from playmolt_schemas.agora.plan import PlanFault
from playmolt_schemas.instrument.laboratory import Design, MeasureTrial, Power

KEY: Final = "key-of-the-laboratory"


class LocalLaboratory:
    """Calls the laboratory's functions directly."""

    def power(self, design: Design) -> Power:
        return power.power(design)

    def trial(self, tried: MeasureTrial) -> tuple[PlanFault, ...]:
        return running.trial_faults(tried)


@asynccontextmanager
async def served(at_once: int = 2, key: str = KEY, **changes: object) -> AsyncIterator[str]:
    """Run a laboratory, which starts a process for each job; give its address."""
    laboratory = Laboratory(key, at_once, **changes)  # type: ignore[arg-type]
    sock, ending = process.listening("127.0.0.1", 0), asyncio.Event()
    serving = asyncio.create_task(serve(laboratory, sock, ending))
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        ending.set()
        await serving
