"""Files of plans' folders in the blob store: kept under their hash, read when a plan that names them is examined."""

import re
from collections.abc import Mapping
from typing import Final

from playmolt_core.db.blobs import PgBlobs
from playmolt_core.game.api import ApiReply, ApiRequest
from playmolt_core.game.decider import Refused
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.text import unstorable

from playmolt_agora_runner.experiment.state import invalid
from playmolt_agora_runner.folder.source import FILE_BYTES, FILES_MOST, sha256

_HASH: Final = re.compile(r"[0-9a-f]{64}")


class PlanFiles:
    """Keeps files and reads them again."""

    def __init__(self, blobs: PgBlobs) -> None:
        self._blobs = blobs

    async def put(self, _: object, request: ApiRequest) -> ApiReply | Refused:
        """Keep a text under its hash. Raises LogUnavailable."""
        text, named = request.body, request.params["sha256"]
        if not isinstance(text, str) or unstorable(text):
            return invalid("body", "must be a string without NUL or lone surrogates")
        if len(text.encode()) > FILE_BYTES:
            return invalid("body", f"has more than {FILE_BYTES} bytes")
        if sha256(text) != named.lower():
            return invalid("sha256", f"is not the SHA-256 of the body, which is {sha256(text)}")
        await self._blobs.put([text])
        return ApiReply(b"", 204)

    async def missing(self, files: Mapping[str, object]) -> Refused | None:
        """The refusal of references to files that were not uploaded. Raises LogUnavailable."""
        faults = [
            FieldFault(f"files.{path}", "is not a SHA-256 in hex")
            for path, named in files.items()
            if not isinstance(named, str) or not _HASH.fullmatch(named)
        ]
        if len(files) > FILES_MOST:
            faults.append(FieldFault("files", f"has {len(files)} files; the limit is {FILES_MOST}"))
        if faults:
            return Refused(Code.INVALID_REQUEST, "Fix the files and retry.", tuple(faults))
        found = await self._blobs.texts({str(named) for named in files.values()}) if files else {}
        absent = [path for path, named in files.items() if named not in found]
        if not absent:
            return None
        return Refused(
            Code.INVALID_REQUEST,
            "Some files are not uploaded yet. Upload them and retry.",
            tuple(FieldFault(f"files.{path}", "upload the text first: PUT /api/agora/files/HASH") for path in absent),
        )

    async def texts(self, files: Mapping[str, str]) -> dict[str, str]:
        """Path → text. Raises LogUnavailable, and LookupError for a text that was deleted."""
        found = await self._blobs.texts(set(files.values())) if files else {}
        if absent := files.keys() - {path for path, named in files.items() if named in found}:
            raise LookupError(f"missing from the blob store: {', '.join(sorted(absent))}")
        return {path: found[named] for path, named in files.items()}
