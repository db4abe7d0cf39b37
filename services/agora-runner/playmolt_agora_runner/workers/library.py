"""Reports and bundles on demand: made by the laboratory, kept in memory, served in parts."""

import asyncio
from collections.abc import Mapping
from typing import Final

from playmolt_core.game.api import ApiReply, ApiRequest
from playmolt_core.game.decider import Refused
from playmolt_core.ops.telemetry import log
from playmolt_schemas.codes import Code
from playmolt_schemas.instrument.laboratory import BUNDLE, REPORT, SHARES
from playmolt_schemas.routes import agora as routes

from playmolt_agora_runner.experiment.state import State
from playmolt_agora_runner.workers.laboratory import Laboratory, LaboratoryFailed
from playmolt_agora_runner.workers.shared_report import shared_page

_log = log("library")
_SHOWN_SECONDS: Final = 4.0
"""How long a visitor's page waits for a report."""
_KEPT: Final = 2
"""Finished studies; that of many turns has a hundred megabytes."""
_FILES: Final = {
    routes.REPORT.name: (REPORT, "text/html; charset=utf-8"),
    routes.BUNDLE.name: (BUNDLE, "application/zip"),
}


class Library:
    """Serves `agora_report` and `agora_bundle`. A study whose experiment has new events is rebuilt."""

    def __init__(self, laboratory: Laboratory) -> None:
        self._laboratory = laboratory
        self._made: dict[tuple[str, int], asyncio.Task[Mapping[str, bytes] | None]] = {}
        self._one = asyncio.Lock()

    async def __call__(self, state: State, request: ApiRequest) -> ApiReply | Refused:
        """A file, or 202 while it is being made."""
        name, content_type = _FILES[request.route]
        made = await self._files(state, name)
        if made is None:
            return ApiReply({"status": "making", "detail": "The study is being made; ask again in a few seconds."}, 202)
        return made if isinstance(made, Refused) else ApiReply(made[0], content_type=content_type)

    async def shared(self, state: State, _: ApiRequest) -> ApiReply | Refused:
        """The shared page. A report that takes longer than this wait is shown on the next visit."""
        made = await self._files(state, REPORT, SHARES, seconds=_SHOWN_SECONDS)
        if isinstance(made, Refused) and made.code is not Code.NOT_FINISHED:
            return made
        report, shares = (file.decode() for file in made) if isinstance(made, list) else ("", "")
        return ApiReply(shared_page(state, report, shares, made=made is not None))

    async def _files(self, state: State, *names: str, seconds: float = 0.0) -> list[bytes] | Refused | None:
        """Wait this long; None while they are still being made."""
        if not any(run.status != "planned" for run in state.runs):
            return Refused(Code.NOT_FINISHED, "No run has been opened yet, so there is nothing to report.")
        key = (state.game_id, state.version)
        if key not in self._made:
            self._made[key] = asyncio.create_task(self._make(state.game_id))
            for old in [each for each, making in self._made.items() if making.done()][:-_KEPT]:
                del self._made[old]
        making = self._made[key]
        await asyncio.wait({making}, timeout=seconds)
        if not making.done():
            return None
        study = making.result()
        if study is None:
            self._made.pop(key, None)
            return Refused(Code.UNAVAILABLE, "The study could not be created; see the runner's log. Retry.")
        return [study[name] for name in names]

    async def _make(self, experiment: str) -> Mapping[str, bytes] | None:
        """Have a study made, one at a time: it uses a processor for a minute."""
        async with self._one:
            try:
                return await self._laboratory.study(experiment)
            except LaboratoryFailed as error:
                _log.error("study_failed", experiment=experiment, said=str(error))
                return None
