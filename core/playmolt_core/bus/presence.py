"""What a service tells of itself, and how often: in an announcement, and in its answer to a ping."""

from typing import Final

import msgspec

ANNOUNCE_SECONDS: Final = (12.0, 15.0)
"""At random between these, so that services that started together do not stay together."""
RETURN_SECONDS: Final = 1.0
"""Within this long after a lost connection: a server that ends sends all its clients away at once."""


class Presence(msgspec.Struct):
    name: str
    id: str
    version: str = ""
    type: str = "io.nats.micro.v1.ping_response"
    metadata: dict[str, str] = {}
    leaving: bool = False
