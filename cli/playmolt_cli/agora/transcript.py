"""A run's transcript, straight from the log."""

import asyncio
from pathlib import Path

from playmolt_agora.report.printing.transcript import Format, transcript
from playmolt_core.db.blobs import PgBlobs
from playmolt_core.db.pool import open_pool
from playmolt_core.log.postgres import log_of

from playmolt_cli.local.database import database
from playmolt_cli.terminal.failures import Failure


def transcribed(run: str, agent: str | None, kind: Format, data: Path | None, *, prompts: bool) -> str:
    """The transcript of a run, of one agent where it is named. Raises Failure for a run or an agent there is not."""
    return asyncio.run(_transcribed(run, agent, kind, data, prompts=prompts))


async def _transcribed(run: str, agent: str | None, kind: Format, data: Path | None, *, prompts: bool) -> str:
    from playmolt_agora.report import assembly  # noqa: PLC0415 -- numeric libraries that no other command needs

    with database(data) as url:
        pool = await open_pool(url)
        try:
            stored = await (await log_of(pool)).load(run)
            if stored is None or stored.records[0].type != "run_opened":
                raise Failure(f"there is no run {run} in this log: `playmolt agora status EXPERIMENT` lists its runs")
            turns = assembly.turns_of({run: stored.records})
            kept = [turn for turn in turns if agent in (None, turn.agent)]
            if agent is not None and not kept:
                there = ", ".join(sorted({turn.agent for turn in turns}))
                raise Failure(f"{run} has no agent {agent} that took a turn; there are {there}")
            shown = await PgBlobs(pool).texts(sorted({turn.prompt_hash for turn in kept})) if prompts else {}
        finally:
            await pool.close()
    return transcript(kept, kind, title=assembly.run_note(stored.records).label, prompts=shown)
