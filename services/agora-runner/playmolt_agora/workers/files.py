"""Files of plans' folders in the blob store: kept under their hash, and read when a plan that names them is locked."""

import asyncio
import re
import sys
from typing import Any, Final

import msgspec
from playmolt_core.db.blobs import PgBlobs
from playmolt_core.game.api import ApiReply, ApiRequest
from playmolt_core.game.decider import Refused
from playmolt_core.ops import telemetry
from playmolt_schemas.agora.plan import PlanFault
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.text import unstorable

from playmolt_agora.experiment.api import LoadedPlan, with_files
from playmolt_agora.folder.source import FILE_BYTES, FILES_MOST, sha256

TRIAL_SECONDS: Final = 120.0
_TRIALS_KEPT: Final = 8
_log = telemetry.log("plan files")
_HASH: Final = re.compile(r"[0-9a-f]{64}")


class PlanFiles:
    """Keeps files and reads them again."""

    def __init__(self, blobs: PgBlobs, trial_seconds: float = TRIAL_SECONDS) -> None:
        self._blobs = blobs
        self._trial_seconds = trial_seconds
        self._one = asyncio.Lock()
        self._trials: dict[str, asyncio.Task[tuple[PlanFault, ...]]] = {}

    async def put(self, _: object, request: ApiRequest) -> ApiReply | Refused:
        """Keep a text under its hash. Raises LogUnavailable."""
        text, named = request.body, request.params["sha256"]
        if not isinstance(text, str) or unstorable(text):
            return _refused("body", "must be a string without NUL or lone surrogates")
        if len(text.encode()) > FILE_BYTES:
            return _refused("body", f"has more than {FILE_BYTES} bytes")
        if sha256(text) != named.lower():
            return _refused("sha256", f"is not the SHA-256 of the body, which is {sha256(text)}")
        await self._blobs.put([text])
        return ApiReply(b"", 204)

    async def complete(self, request: ApiRequest) -> Any | Refused:
        """The body of `POST \u2026/experiments` with the texts in place of their hashes. Raises LogUnavailable."""
        plan, files = with_files(request.body)
        if not files:
            return request.body
        faults = [
            FieldFault(f"files.{path}", "is not a SHA-256 in hex")
            for path, named in files.items()
            if not isinstance(named, str) or not _HASH.fullmatch(named)
        ]
        if len(files) > FILES_MOST:
            faults.append(FieldFault("files", f"has {len(files)} files; the limit is {FILES_MOST}"))
        if faults:
            return Refused(Code.INVALID_REQUEST, "Fix the files and retry.", tuple(faults))
        texts = await self._blobs.texts(set(files.values()))
        missing = [path for path, named in files.items() if named not in texts]
        if missing:
            return Refused(
                Code.INVALID_REQUEST,
                "Some files are not uploaded yet. Upload them and retry.",
                tuple(
                    FieldFault(f"files.{path}", "upload the text first: PUT /api/agora/files/HASH") for path in missing
                ),
            )
        loaded = {path: texts[named] for path, named in files.items()}
        return LoadedPlan(plan, loaded, await self._tried(plan, loaded))

    async def _tried(self, plan: Any, files: dict[str, str]) -> tuple[PlanFault, ...]:
        """Try the measures, one plan at a time. A caller who repeats the call meets the same trial."""
        if not any(path.startswith("measures/") for path in files):
            return ()
        named = sha256(msgspec.json.encode([plan, files], order="deterministic").decode())
        task = self._trials.get(named)
        if task is None:
            task = self._trials[named] = asyncio.create_task(self._trial(plan, files))
            while len(self._trials) > _TRIALS_KEPT:
                self._trials.pop(next(iter(self._trials))).cancel()
        return await asyncio.shield(task)

    async def _trial(self, plan: Any, files: dict[str, str]) -> tuple[PlanFault, ...]:
        """Try them in a separate process: it plays a few turns and runs every measure."""
        async with self._one:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "playmolt_agora.own_measures.rehearsal",
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            try:
                async with asyncio.timeout(self._trial_seconds):
                    out, said = await process.communicate(msgspec.json.encode([plan, files]))
            except TimeoutError:
                message = f"the trial of all measures took more than {self._trial_seconds:g} s"
                return (PlanFault("measures", message, "measure_timeout"),)
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
            if process.returncode:
                _log.error("trial_failed", said=said.decode(errors="replace")[-2000:])
                return (PlanFault("measures", "could not be tried; the runner's log says why", "measure_failed"),)
            return msgspec.json.decode(out, type=tuple[PlanFault, ...])


def _refused(field: str, message: str) -> Refused:
    return Refused(Code.INVALID_REQUEST, f"{field} {message}.", (FieldFault(field, message),))
