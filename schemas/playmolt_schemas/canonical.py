"""RFC 8785 JSON and digests of it.

`canonical_json` conforms to RFC 8785 for the values that stored messages contain: text, booleans, null, integers within
±2**53, and ASCII keys. They contain neither floats nor larger integers (api.md: large integers are strings). A test
compares it with a reference implementation and checks that no event type has a float.
"""

import hashlib
from collections.abc import Mapping

import msgspec

canonical_json = msgspec.json.Encoder(order="sorted").encode
"""Encode a message in canonical form."""


def digest(value: object) -> str:
    """Hex SHA-256 of the canonical form."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


Files = Mapping[str, bytes]
"""Path → content of a set of files; the separator is `/`."""


def files_digest(files: Files) -> str:
    """Hex SHA-256 that identifies these paths with exactly these contents."""
    return digest({path: hashlib.sha256(content).hexdigest() for path, content in files.items()})
