"""Evidence and statutes that a person uploads: read here, so that an engine and the bus get the text alone."""

import msgspec
from playmolt_schemas.codes import Code
from playmolt_schemas.games.legal import ReadUpload

from playmolt_gateway.http.bodies import parse
from playmolt_gateway.http.checked_request import CheckedRequest, Reply, Services
from playmolt_gateway.http.problems import Refusal, bad_request
from playmolt_gateway.routes import sessions
from playmolt_gateway.uploads.pdf import Busy
from playmolt_gateway.uploads.reading import read_upload


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
