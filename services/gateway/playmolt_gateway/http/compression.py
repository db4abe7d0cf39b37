"""Compressed answers, in an encoding that the client accepts.

JSON of the API is compressed for anonymous requests of pages only (docs/decisions/http-and-fast-path.md): a compressed
length shows which parts of an answer are alike. An attacker who can put a text into an answer that also holds a secret
of its reader, and who sees the lengths of many such answers, could guess that secret.
"""

import asyncio
import gzip
from typing import Final

import brotli
from playmolt_schemas.routes.route import JSON
from starlette.responses import Response

LEAST_BYTES: Final = 256
"""Shorter texts are not worth compressing."""
AT_ONCE_BYTES: Final = 32_000
"""Longer JSON is compressed in a thread: this much takes under a millisecond."""
LONG_AT_ONCE: Final = 2
"""Threads that compress long JSON."""


def encodings(accepted: str) -> frozenset[str]:
    """The encodings accepted by an Accept-Encoding header."""
    found = set()
    for part in accepted.lower().split(","):
        name, _, parameters = part.strip().partition(";")
        if parameters.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000"):
            found.add(name.strip())
    return frozenset(found)


def compressed(body: bytes, accepted: str) -> tuple[bytes, str]:
    """A generated text, compressed quickly, and the encoding's name or ""."""
    taken = encodings(accepted)
    if len(body) < LEAST_BYTES:
        return body, ""
    if "br" in taken:
        return brotli.compress(body, quality=4), "br"
    return (gzip.compress(body, 5, mtime=0), "gzip") if "gzip" in taken else (body, "")


def compress(response: Response, accepts: str) -> Response:
    """Compress the body of a response in place; one answer for every encoding would be wrong in a shared cache."""
    _vary(response)
    return _with(response, *compressed(bytes(response.body), accepts))


def _vary(response: Response) -> None:
    response.headers["vary"] = ", ".join(filter(None, (response.headers.get("vary"), "Accept-Encoding")))


def _with(response: Response, body: bytes, encoding: str) -> Response:
    if encoding:
        response.body = body
        response.headers["content-length"] = str(len(body))
        response.headers["content-encoding"] = encoding
    return response


class JsonCompressor:
    """Compresses JSON: short bodies at once, long ones in at most two threads.

    While both are busy a long body is sent uncompressed, so that no request waits for another.
    """

    def __init__(self) -> None:
        self._busy = 0

    async def compress(self, response: Response, accepts: str) -> Response:
        """Compress a JSON response in place; other responses stay as they are."""
        if response.headers.get("content-type") != JSON or "content-encoding" in response.headers:
            return response
        _vary(response)
        body = bytes(response.body)
        if len(body) <= AT_ONCE_BYTES:
            return _with(response, *compressed(body, accepts))
        if self._busy >= LONG_AT_ONCE:
            return response
        self._busy += 1
        try:
            return _with(response, *await asyncio.to_thread(compressed, body, accepts))
        finally:
            self._busy -= 1
