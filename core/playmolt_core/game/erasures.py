"""The stream of erasures: which sessions were erased, when, and on whose word. No name, no agent's id, no text."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Final, Literal

import msgspec
from playmolt_schemas.codes import Code
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.records import Record
from typing_extensions import override

from playmolt_core.game.decider import Event, Refused, Viewer, stored_types
from playmolt_core.game.game import Changes, Fold, Game

STREAM: Final = "erasure-sessions"
ErasedBy = Literal["owner", "operator", "retention"]
SessionKind = Literal["legal", "jury"]


class SessionErased(Event, frozen=True, kw_only=True):
    """A session can be read no more. `version` and `hash` are those of its last record."""

    type: ClassVar[str] = "session_erased"
    rests: ClassVar[bool] = True
    stream: str
    kind: SessionKind
    version: int
    hash: str
    by: ErasedBy


_read = msgspec.json.Decoder(SessionErased).decode


def erasure_in(record: Record) -> SessionErased | None:
    """The erasure that a record of a log tells of. Raises MsgspecError for one that is none of ours."""
    told = record.stream == STREAM and record.type == SessionErased.type
    return _read(record.data) if told else None


class Erasures(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """`last`: the session erased last. Which ones there are is what the records say."""

    version: int = 0
    last: str = ""


def _erased(_: Erasures, event: SessionErased, __: datetime) -> Changes:
    return {"last": event.stream}


class ErasureRules(Game[Erasures]):
    """The fold of the stream. It takes no commands: the database erases and records in one step (`log.erase`)."""

    game = "erasure"
    rules_version = 1
    content_version = ""
    needed = 0
    events = stored_types(SessionErased)
    folds: Mapping[type[Event], Fold] = {SessionErased: _erased}
    opening = frozenset()
    foreign = unknown = Refused(Code.NOT_FOUND, "A session is erased with DELETE at its own address.")

    def __init__(self) -> None:
        super().__init__({})

    @override
    def initial(self, game_id: str) -> Erasures:
        return Erasures()

    @override
    def view(self, state: Erasures, viewer: Viewer) -> msgspec.Struct:
        return self.summary(state)

    @override
    def operator_view(self, state: Erasures) -> Mapping[str, Any]:
        return {"erased": state.version}

    @override
    def summary(self, state: Erasures) -> GameSummary:
        return GameSummary("erasures", 0, 0, 0)
