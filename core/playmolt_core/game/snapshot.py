"""A stream as of one version."""

from datetime import datetime
from typing import Any

import msgspec
from playmolt_schemas.game_messages import GameSummary


class Snapshot(msgspec.Struct, frozen=True, gc=False):
    """The state with the version, hash and time of its last record."""

    state: Any
    version: int
    hash: str
    at: datetime
    summary: GameSummary
