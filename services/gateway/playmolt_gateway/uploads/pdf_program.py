"""Extracts the text of a PDF from stdin, under the limits that the system has and without secrets.

Prints one JSON line: the text and the number of pages, or the fault.
"""

import io
import json
import logging
import os
import sys
from typing import Any, Final

from playmolt_core.ops.process_limits import MemoryLimit, set_limits
from playmolt_schemas.games.legal import UPLOAD_CHARS
from pypdf import PageObject, PdfReader
from pypdf.generic import DictionaryObject, NameObject, StreamObject

CPU_SECONDS: Final = 8
MEMORY_BYTES: Final = 256 * 1024 * 1024


def read(content: bytes) -> dict[str, Any]:
    reader = PdfReader(io.BytesIO(content), strict=False)
    if reader.is_encrypted:
        return {"fault": "encrypted"}
    pages = len(reader.pages)
    texts: list[str] = []
    length = 0
    for page in reader.pages:
        _two_bytes_a_code(page)
        texts.append(page.extract_text().strip())
        length += len(texts[-1])
        if length > UPLOAD_CHARS:
            return {"fault": "long"}
    text = "\n\n".join(text for text in texts if text)
    return {"text": text, "pages": pages} if text else {"fault": "scanned"}


def _two_bytes_a_code(page: PageObject) -> None:
    """Replace embedded CMaps of composite fonts by Identity-H: the library would read one-byte codes.

    The font's /ToUnicode maps codes to text in any case. Our own reports need this.
    """
    fonts = page.get("/Resources", DictionaryObject()).get_object().get("/Font", DictionaryObject()).get_object()
    for reference in fonts.values():
        font = reference.get_object()
        if font.get("/Subtype") == "/Type0" and isinstance(
            font.get("/Encoding", NameObject()).get_object(), StreamObject
        ):
            font[NameObject("/Encoding")] = NameObject("/Identity-H")


def main() -> None:
    set_limits({"RLIMIT_CPU": (CPU_SECONDS, CPU_SECONDS + 1), "RLIMIT_FSIZE": (0, 0), "RLIMIT_CORE": (0, 0)})
    memory = MemoryLimit(MEMORY_BYTES, lambda: os._exit(1))
    logging.disable()
    try:
        answer = read(sys.stdin.buffer.read())
    except Exception:  # a hostile file may raise anything
        answer = {"fault": "broken"}
    memory.check()
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
