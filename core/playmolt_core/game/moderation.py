"""The streams of the operator's decisions, one a UTC month: what is hidden, renamed and banned, and who decided."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec
from playmolt_schemas.codes import Code
from playmolt_schemas.game_messages import GameSummary, StoredModerated
from playmolt_schemas.identifiers import MODERATION, SESSION_TYPES, TOURNAMENT_TYPES, type_of
from playmolt_schemas.records import Record
from playmolt_schemas.stored import moderation as stored
from playmolt_schemas.stored.event import Event
from typing_extensions import override

from playmolt_core.game.decider import Refused, Viewer, read_event
from playmolt_core.game.game import Changes, Fold, Game

GAME: Final = MODERATION


def notice(record: Record) -> bytes | None:
    """The public message of a decision; None for one that changes nothing that everybody may see, such as a ban, or
    a text of a session, whose existence is not public."""
    match read_event(_RULES, record.type, record.schema_version, record.data):
        case stored.SpeechDecided() as event if type_of(event.game_id) not in SESSION_TYPES:
            found = StoredModerated(
                game_id=event.game_id, versions=event.versions, version=record.version, at=record.at
            )
        case stored.NameDecided() as event if event.subject.startswith("agent-"):
            found = StoredModerated(agent_id=event.subject, version=record.version, at=record.at)
        case stored.NameDecided() as event if type_of(event.subject) in TOURNAMENT_TYPES:
            found = StoredModerated(game_id=event.subject, version=record.version, at=record.at)
        case _:
            return None
    return msgspec.json.encode(found)


class Moderation(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """`last` is the type of the newest decision; the records have all of them, and the tables what is in force."""

    version: int = 0
    last: str = ""


def _decided(_: Moderation, event: stored.Decided, __: datetime) -> Changes:
    return {"last": event.type}


class ModerationRules(Game[Moderation]):
    """The fold of a month. It has no commands: the database decides and records in one step (`log.moderate`)."""

    game = GAME
    rules_version = 1
    content_version = ""
    needed = 0
    events = stored.EVENTS
    folds: Mapping[type[Event], Fold] = dict.fromkeys(stored.EVENTS.values(), _decided)
    opening = frozenset()
    foreign = unknown = Refused(Code.NOT_FOUND, "Decide with POST /api/admin/reports/{id}.")

    def __init__(self) -> None:
        super().__init__({})

    @override
    def initial(self, game_id: str) -> Moderation:
        return Moderation()

    @override
    def view(self, state: Moderation, viewer: Viewer) -> msgspec.Struct:
        return self.summary(state)

    @override
    def operator_view(self, state: Moderation) -> Mapping[str, object]:
        return {"decisions": state.version}

    @override
    def summary(self, state: Moderation) -> GameSummary:
        return GameSummary("moderation", 0, 0, 0)

    @override
    def hashes_state(self, version: int, *, closes: bool) -> bool:
        return True


_RULES: Final = ModerationRules()
