"""Erasure of sessions of this engine's type, and the refusal of calls about erased sessions."""

from contextlib import suppress
from typing import Generic, Protocol

import msgspec
from playmolt_schemas.api import ErasedSession, SessionErased
from playmolt_schemas.codes import Code
from playmolt_schemas.envelopes import Call
from playmolt_schemas.identifiers import rfc3339

from playmolt_core.engine.committed_reads import CommittedReads
from playmolt_core.engine.pending_call import PendingCall
from playmolt_core.engine.reads.sources import NO_SESSION, Reply, refusal
from playmolt_core.game.api import GameApi
from playmolt_core.game.decider import Refused, S
from playmolt_core.game.erasures import ErasedBy
from playmolt_core.log.erasing import StoredSession
from playmolt_core.log.port import Archived
from playmolt_core.ops.telemetry import log, where
from playmolt_core.vault.vault import Erased

_log = log("erasing")
ERASED = Refused(Code.ERASED, "This session was erased. Its content can no longer be read.")


class Eraser(Protocol):
    """See `log.erasing.SessionEraser`."""

    async def session(self, stream: str) -> StoredSession | None: ...

    async def erase(self, stream: str, by: ErasedBy, linked: str | None = None) -> StoredSession | None: ...


class SessionErasure(Generic[S]):
    """Erases sessions. It reads the owner from the database, so that unreadable sessions can be erased too."""

    def __init__(self, eraser: Eraser, streams: CommittedReads[S], api: GameApi[S] | None) -> None:
        self._eraser = eraser
        self._streams = streams
        self._api = api

    async def erase(self, pending: PendingCall) -> Reply:
        """Erase a session for its owner or the operator; for anyone else it does not exist. Idempotent."""
        call = pending.call
        found = await self._eraser.session(call.target)
        if found is None or not _may(call, found):
            return refusal(NO_SESSION)
        if found.erased_at is None:
            by: ErasedBy = "owner" if call.agent == found.owner else "operator"
            linked = await self._linked(call.target)
            found = await self._eraser.erase(call.target, by, linked) or found
            with suppress(Erased):
                await self._streams.snapshot(call.target)  # drops it from this engine's memory
        return 200, msgspec.json.encode(
            SessionErased(
                id=found.stream,
                at=rfc3339(found.erased_at) if found.erased_at else "",
                records=found.version,
                linked=found.linked or msgspec.UNSET,
            )
        )

    async def _linked(self, stream: str) -> str | None:
        """The session that continues this one and keeps the data that it took over."""
        try:
            snapshot = await self._streams.snapshot(stream)
        except (Archived, Erased):
            return None
        except Exception as error:  # an unreadable session can be erased nevertheless
            _log.warning("stream_unreadable", stream=stream, error=type(error).__name__, traceback=where(error))
            return None
        return self._api.leads_to(snapshot.state) if self._api and snapshot else None

    async def refusal_for(self, call: Call) -> Refused | None:
        """The refusal of a call about an erased session; None if the caller may not know that it existed."""
        found = await self._eraser.session(call.target)
        return ERASED if found and _may(call, found) else None

    async def row(self, stream: str) -> ErasedSession | None:
        """An erased session in the list of its owner."""
        found = await self._eraser.session(stream)
        return ErasedSession(id=stream, erased_at=rfc3339(found.erased_at)) if found and found.erased_at else None

    async def page(self, stream: str) -> StoredSession | None:
        return await self._eraser.session(stream)


def _may(call: Call, session: StoredSession) -> bool:
    return call.operator or (bool(call.agent) and call.agent == session.owner)
