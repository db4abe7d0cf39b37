"""A short soak: every game at once while processes are killed. `make soak` is the long one."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import mkdtemp

import pytest
from playmolt_cli.local.folder import Folder

from tests.platforms import Stack
from tests.soak.course import REPLICAS, figures, soak
from tests.soak.findings import different, doubled, leaked, logs_of, lost, seeds

SECONDS = 15
SEED = 7


@pytest.mark.timeout(600)
def test_nothing_is_lost_while_processes_are_killed_and_what_would_be_is_found() -> None:
    folder = Path(mkdtemp(prefix="playmolt-soak-"))
    folder.chmod(0o711)
    own = {"DATABASE_URL": "", "NATS_URL": ""}
    with ThreadPoolExecutor(1) as hands, Stack(folder, REPLICAS, own) as stack:
        soaked = asyncio.run(soak(stack, hands, folder / "reports", SECONDS, SEED))
        run, players, witnesses = stack.run, soaked.players, soaked.witnesses
        found = figures(run, soaked, folder, SECONDS, SEED)
        assert found.wrong == []
        assert (found.lost, found.doubled, found.leaked, found.feeds_wrong) == (0, 0, 0, 0)
        assert found.actions
        assert found.faults
        assert {"gateway", "relay", "ox-engine", "postgres", "nats"} <= set(found.peak_memory_mb)

        game, receipts = next(iter(players.receipts.items()))
        logs = logs_of(run.gateway, run.operator_key, [game])
        assert len([*lost(logs, {game: [*receipts, "0" * 64]})]) == 1
        act = next(line for line in logs[game] if b"_submitted" in line or b'"speak"' in line)
        assert len([*doubled({game: [*logs[game], act]})]) == 1
        seed = seeds(logs)
        assert seed
        key = next(iter(players.keys))
        planted = folder / "logs" / "planted.log"
        planted.write_text(f"{seed[game]} {key}")
        early = [seed[game].encode(), key.encode(), b"end"]
        assert len([*leaked([key], seed, {game: early}, [planted])]) == 4
        told = witnesses.feeds[game]
        assert len([*different(run.gateway, {game: told[:-1]})]) == 1
        assert len([*different(run.gateway, {game: [told[1], told[0], *told[2:]]})]) == 1
    Folder(folder).remove()
