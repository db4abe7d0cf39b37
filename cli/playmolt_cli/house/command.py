"""`playmolt bots house`: the service that fills games with house bots."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Final

import click
from playmolt.errors import PlayMoltError
from playmolt_core.llm.catalogue import load
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.models import Models
from playmolt_core.ops import health, telemetry
from playmolt_core.settings import InvalidSettings, from_environment

from playmolt_cli.house.budget import InvalidBudget, account_of
from playmolt_cli.house.filler import LobbyFiller
from playmolt_cli.house.models import HouseModels, UnknownAlias
from playmolt_cli.model_seats.requests import cast
from playmolt_cli.settings import CliSettings
from playmolt_cli.terminal.failures import Failure

_KEEPING_SECONDS: Final = 5.0
"""Time limit for leaving waiting games on shutdown."""


@click.command()
@click.option("--url", help="Gateway. Default: PLAYMOLT_HOST and PLAYMOLT_PORT.")
def house(url: str | None) -> None:
    """Fill games with house bots until SIGTERM.

    Fills private games that request it, and public lobbies in which an agent has waited PLAYMOLT_FILL_SECONDS. Requires
    PLAYMOLT_HOUSE_KEY and uses only the public API. `up` starts this command.

    Example: playmolt bots house --url http://127.0.0.1:8080
    """
    try:
        settings = from_environment(kind=CliSettings)
    except InvalidSettings as error:
        raise Failure(str(error)) from error
    telemetry.configure("house", settings.log_level)
    if not settings.house_key:
        raise Failure("PLAYMOLT_HOUSE_KEY is not set. Set it to the same value as for the gateway.")
    try:
        models = _models(settings)
    except InvalidBudget as error:
        raise Failure(str(error)) from error
    except UnknownAlias as error:
        raise Failure(f"PLAYMOLT_HOUSE_MODELS: {error}") from error
    asyncio.run(_serve(url or f"http://{settings.host}:{settings.port}", settings, models))


def _models(settings: CliSettings) -> HouseModels:
    catalogue = load(settings.models, os.environ)
    aliases = [alias.strip() for alias in settings.house_models.split(",") if alias.strip()]
    models = Models(catalogue, MemoryLimits(), cast(), seed="house")
    return HouseModels(aliases, catalogue, models, Path(settings.data) / "house", account_of(settings.house_budget))


async def _serve(url: str, settings: CliSettings, models: HouseModels) -> None:
    stopping = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stopping.set)
    filling = LobbyFiller(url, settings.house_key, settings.fill_seconds or 0, models)

    async def ready() -> dict[str, bool | str]:
        return {"platform": filling.answered}

    server = await health.serve(settings.health_port, ready, lambda: "", settings.host)
    work = asyncio.create_task(filling.run())
    telemetry.log("house").info("serving", url=url, health_port=server.port)
    ended = asyncio.create_task(stopping.wait())
    try:
        await asyncio.wait([work, ended], return_when=asyncio.FIRST_COMPLETED)
        if work.done() and not stopping.is_set():
            work.result()  # raise, so that the process is restarted
    finally:
        for task in (work, ended):
            task.cancel()
        await asyncio.gather(work, ended, return_exceptions=True)
        try:
            async with asyncio.timeout(_KEEPING_SECONDS):
                await filling.close()
        except (TimeoutError, PlayMoltError):
            telemetry.log("house").warning("seats_not_given_back")
        await models.close()
        await server.close()
