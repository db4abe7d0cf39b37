"""The laboratory of Agora: `python -m playmolt_agora.service`. It does what runners ask and keeps nothing.

`--fd N` serves a listening socket inherited from the parent process.
"""

import asyncio
import os
from collections.abc import Mapping

from playmolt_core.ops import health
from playmolt_core.ops.process import listening
from playmolt_core.ops.service import Start, run_service
from playmolt_core.ops.telemetry import log

from playmolt_agora.service.server import ENVIRONMENT, Laboratory, serve
from playmolt_agora.service.settings import LaboratorySettings

_log = log("laboratory")


async def build(start: Start[LaboratorySettings]) -> None:
    """Serve until the service has to stop, or no call has come for its idle time."""
    settings = start.settings
    laboratory = Laboratory(settings.laboratory_key, settings.laboratory_at_once)
    sock = listening(settings.host, settings.laboratory_port, start.fd)
    ending = asyncio.Event()
    serving = asyncio.create_task(serve(laboratory, sock, ending))
    checks = await health.serve(settings.health_port, _ready, host=settings.host)
    _log.info("ready", port=sock.getsockname()[1])
    while not await _stopped(start.stopping, settings.laboratory_idle_seconds, laboratory):
        pass
    ending.set()
    await serving
    await checks.close()


async def _ready() -> Mapping[str, bool | str]:
    return {"laboratory": True}


async def _stopped(stopping: asyncio.Event, idle: int, laboratory: Laboratory) -> bool:
    """Wait until it stops or may have been idle for long enough; whether it ends."""
    try:
        async with asyncio.timeout(idle - laboratory.idle_seconds if idle else None):
            await stopping.wait()
    except TimeoutError:
        return laboratory.idle_seconds >= idle
    return True


if __name__ == "__main__":
    os.environ |= ENVIRONMENT  # NumPy reads it when a quick job first needs it
    run_service("agora-lab", build, LaboratorySettings, listens=True)
