"""The stream of erasures: which sessions were erased, when, and who requested it; without personal data."""

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar, Final, Literal

import msgspec
from playmolt_schemas.codes import Code
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.records import Record
from playmolt_schemas.stored.event import Event, stored_types
from typing_extensions import override

from playmolt_core.game.decider import Refused, Viewer
from playmolt_core.game.game import Changes, Fold, Game

STREAM: Final = "erasure-sessions"
ErasedBy = Literal["owner", "operator", "retention"]
SessionKind = Literal["legal", "jury"]


class SessionErased(Event, frozen=True, kw_only=True):
    """A session was erased. `version` and `hash` are those of its last record."""

    type: ClassVar[str] = "session_erased"
    rests: ClassVar[bool] = True
    stream: str
    kind: SessionKind
    version: int
    hash: str
    by: ErasedBy


_read = msgspec.json.Decoder(SessionErased).decode


def erasure_in(record: Record) -> SessionErased | None:
    """The erasure in a record, if it is one. Raises MsgspecError for an invalid record."""
    is_erasure = record.stream == STREAM and record.type == SessionErased.type
    return _read(record.data) if is_erasure else None


class Erasures(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """`last` is the most recently erased session; the records have all of them."""

    version: int = 0
    last: str = ""


def _erased(_: Erasures, event: SessionErased, __: datetime) -> Changes:
    return {"last": event.stream}


class ErasureRules(Game[Erasures]):
    """The fold of the stream. It has no commands: the database erases and records in one step (`log.erase`)."""

    game = "erasure"
    rules_version = 1
    content_version = ""
    needed = 0
    events = stored_types(SessionErased)
    folds: Mapping[type[Event], Fold] = {SessionErased: _erased}
    opening = frozenset()
    foreign = unknown = Refused(Code.NOT_FOUND, "Erase a session with DELETE at its own path.")

    def __init__(self) -> None:
        super().__init__({})

    @override
    def initial(self, game_id: str) -> Erasures:
        return Erasures()

    @override
    def view(self, state: Erasures, viewer: Viewer) -> msgspec.Struct:
        return self.summary(state)

    @override
    def operator_view(self, state: Erasures) -> Mapping[str, object]:
        return {"erased": state.version}

    @override
    def summary(self, state: Erasures) -> GameSummary:
        return GameSummary("erasures", 0, 0, 0)

    @override
    def hashes_state(self, version: int, *, closes: bool) -> bool:
        return True
