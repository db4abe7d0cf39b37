"""Uploads: evidence and statutes, converted to text here; cases, stored here because they exceed the bus's limits."""

import msgspec
from playmolt_schemas.canonical import Files, files_digest
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.games.legal import ReadUpload
from playmolt_schemas.routes import jury, legal
from playmolt_schemas.routes.route import Query

from playmolt_gateway.http.bodies import parse
from playmolt_gateway.http.problems import HttpProblem, bad_request
from playmolt_gateway.request.checked_request import CheckedRequest
from playmolt_gateway.request.handlers import Reply, serves
from playmolt_gateway.request.services import Services
from playmolt_gateway.routes import sessions
from playmolt_gateway.uploads.reader_process import ReaderBusy
from playmolt_gateway.uploads.reading import read_upload

_NOT_YOURS = HttpProblem(
    Code.OPERATOR_ONLY, "Only the operator may add cases. Set PLAYMOLT_JURY_CASES=keys to allow any key."
)
_NO_FILES = bad_request(
    'files: must map the path of each file to its text, as in {"pack.toml": "…"}.',
    FieldFault("files", "must map the path of each file to its text"),
)


@serves(legal.ADD_EVIDENCE)
async def add_evidence(services: Services, request: CheckedRequest[legal.UploadQuery, msgspec.Raw]) -> Reply:
    value = parse(bytes(request.body))
    if isinstance(value, HttpProblem):
        return value
    try:
        read = await read_upload(value, services.file_reader)
    except ReaderBusy:
        return HttpProblem(Code.UNAVAILABLE, "Other files are being read. Retry.")
    if not isinstance(read, ReadUpload):
        listed = "; ".join(f"{fault.field} {fault.message}".strip() for fault in read[:5])
        return bad_request(f"Fix the request body and retry: {listed}.", *read)
    read_request = msgspec.structs.replace(request, body=read)
    if request.query.dry == "1":
        return await sessions.read_whole(services, read_request)
    return await sessions.pass_on(services, read_request)


@serves(jury.BRING_CASE)
async def bring_case(services: Services, request: CheckedRequest[Query, msgspec.Raw]) -> Reply:
    """Store the files under their digest, then let an engine check and offer the case."""
    if not request.caller.operator and services.settings.jury_cases == "operator":
        return _NOT_YOURS
    value = parse(bytes(request.body))
    if isinstance(value, HttpProblem):
        return value
    files = _files(value)
    if isinstance(files, HttpProblem):
        return files
    digest = files_digest(files)
    await services.within_deadline(services.packs.bring(digest, files))
    return await sessions.read_whole(services, msgspec.structs.replace(request, body={"digest": digest}))


def _files(value: object) -> Files | HttpProblem:
    files = value.get("files") if isinstance(value, dict) else None
    if not isinstance(files, dict) or not files or not all(isinstance(text, str) for text in files.values()):
        return _NO_FILES
    if isinstance(value, dict) and len(value) > 1:
        name = next(str(name) for name in value if name != "files")[:40]
        return bad_request("The only field is files.", FieldFault(name, "is an unknown field; use files"))
    # Lone surrogates are kept, so that the engine's check can name the file.
    return {
        path.encode("utf-8", "replace").decode(): text.encode("utf-8", "surrogatepass") for path, text in files.items()
    }
