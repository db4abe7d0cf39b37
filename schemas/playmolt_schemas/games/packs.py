"""Cases of one's own as a set of files, and the digest that names them (jury.md, Bring your own)."""

import hashlib
from collections.abc import Mapping
from typing import Final

from playmolt_schemas.canonical import digest

FILES_MOST: Final = 64
FILE_BYTES: Final = 256 * 1024
PACK_BYTES: Final = 1024 * 1024
BODY_BYTES: Final = 1536 * 1024
"""Of a request that brings a pack: JSON is longer than the files in it."""
CASES_OF_A_KEY: Final = 20
Files = Mapping[str, bytes]
"""Contents by path, `/` between folders."""


def digest_of(files: Files) -> str:
    """Hex SHA-256 that names these very bytes under these paths."""
    return digest({path: hashlib.sha256(content).hexdigest() for path, content in files.items()})
