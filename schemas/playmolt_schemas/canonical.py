"""RFC 8785 JSON, and what is hashed with it.

`canonical_json` agrees with RFC 8785 for what our stored messages are made of: text, booleans, null, integers within
±2**53, and ASCII keys. Floats and larger integers have no place in them (api.md: large integers are strings); the test
beside this package compares it with a reference implementation and proves that no event type holds a float.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

canonical_json = msgspec.json.Encoder(order="sorted").encode
"""Encode a message to its one canonical form."""


def digest(value: Any) -> str:
    """Hex SHA-256 of the canonical form."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


Files = Mapping[str, bytes]
"""Path → content of a set of files; the separator is `/`."""


def files_digest(files: Files) -> str:
    """Hex SHA-256 that identifies these paths with exactly these contents."""
    return digest({path: hashlib.sha256(content).hexdigest() for path, content in files.items()})
