"""A platform with foreign messages in its streams: it rebuilds them, or reports within ten seconds that feeds stop."""

import asyncio
import time
from urllib.error import HTTPError
from urllib.request import urlopen

import asyncpg
import msgspec
import nats
from playmolt.bots import run_house_bots
from playmolt_cli.games import deciders
from playmolt_cli.local.embedded.nats import USERS
from playmolt_schemas import subjects

from tests.integration.conftest import StackFactory
from tests.platforms import Stack

TOLD_SECONDS = 60.0
"""Ten seconds, and time for a busy machine."""
ID = "ox-00000000-0000-7000-8000-000000000001"


def feeds(stack: Stack) -> tuple[int, bool]:
    """The status of the gateway's /readyz, and what it says of the feeds."""
    try:
        with urlopen(f"{stack.run.gateway}/readyz", timeout=60) as answer:  # noqa: S310 -- our own gateway
            return answer.status, msgspec.json.decode(answer.read())["parts"]["feeds"]
    except HTTPError as error:
        return error.code, msgspec.json.decode(error.read())["parts"]["feeds"]


def figures(stack: Stack, name: str) -> dict[str, float]:
    """Labels → value of a figure of the relay."""
    with urlopen(stack.run.health["relay-1"].replace("readyz", "metrics"), timeout=60) as answer:  # noqa: S310 -- our own relay
        lines = answer.read().decode().splitlines()
    found = [line.removeprefix(name).rpartition(" ") for line in lines if line.startswith(name)]
    return {labels: float(value) for labels, _, value in found}


async def publish(stack: Stack, user: str, password: str, subject: str) -> None:
    connection = await nats.connect(stack.run.nats_url, user=user, password=password)
    await connection.publish(subject, b'{"version":1}')
    await connection.flush()
    await connection.close()


async def until_it_says(stack: Stack, wanted: tuple[int, bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while (said := await asyncio.to_thread(feeds, stack)) != wanted and time.monotonic() < end:
        await asyncio.sleep(0.1)
    return said == wanted


async def test_a_stray_message_is_mended_and_a_log_that_was_set_back_is_told(stack: StackFactory) -> None:
    up = stack()
    await run_house_bots(up.run.gateway, "ox", deciders()["ox"].needed, seed="a")
    assert await until_it_says(up, (200, True), 60)

    passwords = up.folder.passwords(USERS)
    await publish(up, "spectator", passwords["spectator"], subjects.spectate("ox", ID))
    await publish(up, up.run.nats_user, up.run.nats_password, subjects.spectate("ox", ID))
    await run_house_bots(up.run.gateway, "ox", deciders()["ox"].needed, seed="b")
    async with asyncio.timeout(60):
        while (rebuilds := figures(up, "playmolt_feed_mends_total")) != {
            '{stream="EVENTS"}': 0,
            '{stream="SPECTATE"}': 1,
        }:
            assert rebuilds['{stream="SPECTATE"}'] <= 1
            await asyncio.sleep(0.1)
    assert await until_it_says(up, (200, True), 60)
    lags = figures(up, "playmolt_relay_lag_events")
    assert set(lags) == {'{copy="events"}', '{copy="spectate"}', '{copy="projections"}'}

    owner = await asyncpg.connect(up.run.database_url)
    await owner.execute("ALTER TABLE log.record DISABLE TRIGGER append_only")
    await owner.execute("DELETE FROM log.record WHERE position > (SELECT position FROM log.head) - 5")
    await owner.execute("UPDATE log.head SET position = position - 5")
    await owner.close()
    assert await until_it_says(up, (503, False), TOLD_SECONDS)
