"""A disk that is full, on a platform of its own: its Postgres goes down and is started again."""

import asyncio
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from playmolt_cli.local.embedded import Postgres

from tests.integration.faults.conftest import Platform
from tests.integration.faults.game import SEATS, SECONDS, Game


def take_nothing(server: Postgres) -> None:
    """Have every write of the server into any file fail, as on a file system that is full."""
    assert server.process
    parent = server.process.pid
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text("ascii").split()
    owner = Path(f"/proc/{parent}").stat()
    # The owner needs no right to do so, and root may lack the one that it needs.
    as_owner: dict[str, Any] = {"user": owner.st_uid, "group": owner.st_gid} if os.geteuid() == 0 else {}
    program = shutil.which("prlimit")
    assert program
    for pid in (str(parent), *children):
        # A child that has ended by now writes nothing either.
        subprocess.run([program, f"--pid={pid}", "--fsize=0:"], check=False, **as_owner)


async def test_a_disk_that_takes_nothing_stops_the_server_and_loses_no_action(platform: Platform) -> None:
    """Postgres cannot write its WAL: it goes down and does not come up again until there is room."""
    async with Game(platform.stack) as game:
        assert (await game.choose(0)).status == 200
        take_nothing(platform.postgres)
        body = {"type": "first_choice", "choice": "O", "comment": "So."}
        refused = await game.call(1, f"{game.agents[1]}:first_choice_submitted", body)
        assert (refused.status, refused.code) == (503, "unavailable")
        assert platform.postgres.process
        await asyncio.to_thread(platform.postgres.process.wait, SECONDS)
        await asyncio.to_thread(platform.postgres.start)
        answers = await asyncio.gather(*(game.choose(seat) for seat in range(SEATS)))
        assert {act.code for act in answers} == {""}
        records = await game.checked(platform.postgres.url)
        assert [record.type for record in records].count("first_choice_submitted") == SEATS
