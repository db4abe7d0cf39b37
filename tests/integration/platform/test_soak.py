"""A short soak: every game at once while processes are killed. `make soak` is the long one."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import mkdtemp

import pytest
from playmolt_cli.local.folder import Folder
from playmolt_cli.local.stack import Stack

from tests.soak.course import REPLICAS, faults, soak
from tests.soak.findings import different, lost

SECONDS = 15
SEED = 7


@pytest.mark.timeout(420)
def test_nothing_is_lost_while_processes_are_killed_and_what_would_be_is_found() -> None:
    folder = Path(mkdtemp(prefix="playmolt-soak-"))
    folder.chmod(0o711)
    own = {"DATABASE_URL": "", "NATS_URL": ""}
    with ThreadPoolExecutor(1) as hands, Stack(folder, REPLICAS, own) as stack:
        players, witnesses = asyncio.run(soak(stack, hands, folder / "reports", SECONDS, SEED))
        run = stack.run
        assert [*faults(run, players, witnesses, folder)] == []

        game, receipts = next(iter(players.receipts.items()))
        assert len([*lost(run.gateway, run.operator_key, {game: [*receipts, "0" * 64]})]) == 1
        told = witnesses.feeds[game]
        assert len([*different(run.gateway, {game: told[:-1]})]) == 1
        assert len([*different(run.gateway, {game: [told[1], told[0], *told[2:]]})]) == 1
    Folder(folder).remove()
