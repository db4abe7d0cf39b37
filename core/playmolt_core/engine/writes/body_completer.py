"""Loads external data that a command's body refers to, before the pure rules decide it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.engine.pending_call import BadBody, PendingCall, api_request
from playmolt_core.game.api import ApiRequest
from playmolt_core.game.decider import Refused
from playmolt_core.ops.telemetry import log

Complete = Callable[[ApiRequest], Awaitable[Any | Refused]]
"""Returns the body with the data that it refers to, or a refusal. Raises LogUnavailable."""
_log = log("completing")
_SECONDS: Final = 10.0


class BodyCompleter:
    """Completes the bodies of some routes; all other calls pass through immediately."""

    def __init__(self, completes: Mapping[str, Complete], take: Callable[[PendingCall], None], at_once: int) -> None:
        self._completes = completes
        self._take = take
        self._at_once = at_once
        self._under_way: set[asyncio.Task[None]] = set()

    def take(self, pending: PendingCall) -> None:
        complete, request = self._wanted(pending)
        if complete is None or request is None:
            self._take(pending)
        elif len(self._under_way) >= self._at_once:
            pending.refuse_busy()
        else:
            task = asyncio.create_task(self._completed(pending, complete, request))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    def _wanted(self, pending: PendingCall) -> tuple[Complete | None, ApiRequest | None]:
        if not self._completes or pending.call.op != "command":
            return None, None
        try:
            request = api_request(pending)
        except BadBody:
            return None, None
        return self._completes.get(request.route), request

    async def _completed(self, pending: PendingCall, complete: Complete, request: ApiRequest) -> None:
        try:
            async with asyncio.timeout(_SECONDS):
                found = await complete(request)
        except (LogUnavailable, TimeoutError):
            pending.refuse_busy()
            return
        except Exception:
            _log.exception("completing_failed", route=request.route)
            pending.refuse_busy()
            return
        if isinstance(found, Refused):
            pending.refuse(found)
            return
        pending.read = {**pending.carried(), "body": found}
        self._take(pending)
