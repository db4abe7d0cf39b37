"""What a person uploads: evidence and statutes, read here so that an engine gets the text alone; cases, whose files are
laid down, since they are too long for the bus."""

import msgspec
from playmolt_schemas.canonical import Files, files_digest
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.games.legal import ReadUpload

from playmolt_gateway.http.bodies import parse
from playmolt_gateway.http.problems import Refusal, bad_request
from playmolt_gateway.request.checked_request import CheckedRequest, Reply
from playmolt_gateway.request.services import Services
from playmolt_gateway.routes import sessions
from playmolt_gateway.uploads.pdf import Busy
from playmolt_gateway.uploads.reading import read_upload

_NOT_YOURS = Refusal(Code.OPERATOR_ONLY, "Only the operator brings cases here; PLAYMOLT_JURY_CASES=keys lets any key.")
_NO_FILES = bad_request(
    'files: must map the path of each file to its text, as in {"pack.toml": "…"}.',
    FieldFault("files", "must map the path of each file to its text"),
)


async def add_evidence(services: Services, request: CheckedRequest) -> Reply:
    value = parse(bytes(request.body))
    if isinstance(value, Refusal):
        return value
    try:
        read = await read_upload(value, services.pdfs)
    except Busy:
        return Refusal(Code.UNAVAILABLE, "Other files are being read. Send this one again.")
    if not isinstance(read, ReadUpload):
        told = "; ".join(f"{fault.field} {fault.message}".strip() for fault in read[:5])
        return bad_request(f"Mend the body and send it again: {told}.", *read)
    return await sessions.pass_on(services, msgspec.structs.replace(request, body=read))


async def bring_case(services: Services, request: CheckedRequest) -> Reply:
    """Lay the files down under their digest, and have an engine check them and offer the case."""
    if not request.caller.operator and services.settings.jury_cases == "operator":
        return _NOT_YOURS
    value = parse(bytes(request.body))
    if isinstance(value, Refusal):
        return value
    files = _files(value)
    if isinstance(files, Refusal):
        return files
    digest = files_digest(files)
    await services.soon(services.packs.bring(digest, files))
    return await sessions.read_whole(services, msgspec.structs.replace(request, body={"digest": digest}))


def _files(value: object) -> Files | Refusal:
    files = value.get("files") if isinstance(value, dict) else None
    if not isinstance(files, dict) or not files or not all(isinstance(text, str) for text in files.values()):
        return _NO_FILES
    if isinstance(value, dict) and len(value) > 1:
        name = next(str(name) for name in value if name != "files")[:40]
        return bad_request("The body has one field, files.", FieldFault(name, "no such field; there are files"))
    # A lone surrogate is kept as what it is, so that the check names the file that is no UTF-8.
    return {
        path.encode("utf-8", "replace").decode(): text.encode("utf-8", "surrogatepass") for path, text in files.items()
    }
