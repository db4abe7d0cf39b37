"""Delivers the notices that this process has leased, after the Standard Webhooks specification.

Games and requests wait for none of them.
"""

import asyncio
from asyncio import Task
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

import msgspec
from playmolt_core.db.webhooks import CallResult, ClaimedNotice
from playmolt_core.effects.callbacks.client import CheckedClient
from playmolt_core.effects.callbacks.faults import CallbackFailure
from playmolt_core.ops.process import set_before_tick
from playmolt_core.ops.telemetry import log, where
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.limits import WEBHOOK_CALLS_IN_ALL

from playmolt_gateway.access.invites import WebhookSecrets
from playmolt_gateway.http.metrics import WEBHOOK_METRICS, WebhookMetrics
from playmolt_gateway.ports import UNAVAILABLE_ERRORS, Webhooks
from playmolt_gateway.request.checked_request import reason

_log = log("webhooks")
POLL_SECONDS: Final = 0.5
IDLE_SECONDS: Final = 1.0
"""How often to look whether there is a webhook."""
_NEXT_SECONDS: Final = 0.05
"""The pause before more are claimed."""
_CLAIMED_AT_ONCE: Final = 4
"""Calls that begin together: requests wait for the work of each."""
_LOOK_SECONDS: Final = 5.0
_ENDED_SECONDS: Final = 3.0


class WebhookBody(msgspec.Struct, frozen=True):
    """The body of a notice; `timestamp` is the time of the event."""

    type: str
    timestamp: str
    data: Mapping[str, object]


def body_of(notice: ClaimedNotice) -> bytes:
    """The body of a notice, the same for each call."""
    data: dict[str, object] = msgspec.json.decode(notice.data)
    page = "/me"
    if "tournament_id" in data:
        page = f"/tournaments/{data['tournament_id']}"
    elif "game_id" in data:
        page = f"/watch/{data['game_id']}"
    return msgspec.json.encode(WebhookBody(notice.type, rfc3339(notice.at), {**data, "link": notice.origin + page}))


def headers_of(notice: ClaimedNotice, body: bytes, secret: str, now: datetime | None = None) -> Mapping[str, str]:
    """The headers of a call at this time."""
    from standardwebhooks.webhooks import Webhook  # noqa: PLC0415 -- few gateways deliver notices

    at = now or datetime.now(UTC)
    return {
        "User-Agent": "PlayMolt-Webhook",
        "webhook-id": notice.id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(notice.id, at, body.decode()),
    }


class NoticeDeliverer:
    """Claims due notices and posts them, each in a task of its own.

    A killed process loses nothing: its notices are due again when their leases end, under the same ids.
    """

    def __init__(
        self,
        webhooks: Webhooks,
        client: CheckedClient,
        secrets: WebhookSecrets,
        put: asyncio.Event,
        *,
        metrics: WebhookMetrics = WEBHOOK_METRICS,
    ) -> None:
        self._webhooks = webhooks
        self._client = client
        self._secrets = secrets
        self._awake = put
        self._metrics = metrics
        self._calls: set[Task[None]] = set()
        self._looked_at = 0.0

    @asynccontextmanager
    async def under_way(self) -> AsyncIterator[None]:
        """Deliver while the body runs; then let calls end for a moment and leave the others to the next process."""
        polling = asyncio.create_task(self._poll_forever())
        try:
            yield
        finally:
            polling.cancel()
            with suppress(asyncio.CancelledError):
                await polling
            if self._calls:
                _, late = await asyncio.wait(self._calls, timeout=_ENDED_SECONDS)
                for task in late:
                    task.cancel()
                await asyncio.gather(*late, return_exceptions=True)

    async def _poll_forever(self) -> None:
        while True:
            pause = POLL_SECONDS
            try:
                if self._calls or await self._webhooks.any_on():
                    await self.poll()
                    await self._look()
                else:
                    self._metrics.rest()
                    pause = IDLE_SECONDS
            except UNAVAILABLE_ERRORS as error:
                _log.warning("webhooks_wait", detail=reason(error))
            if await set_before_tick(self._awake, pause):
                await asyncio.sleep(_NEXT_SECONDS)
            self._awake.clear()

    async def poll(self) -> None:
        """Claim due notices and begin to deliver them."""
        room = min(WEBHOOK_CALLS_IN_ALL - len(self._calls), _CLAIMED_AT_ONCE)
        claimed = await self._webhooks.claim(room) if room > 0 else ()
        if len(claimed) == _CLAIMED_AT_ONCE:
            self._awake.set()
        for notice in claimed:
            task = asyncio.create_task(self._deliver(notice))
            self._calls.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: "Task[None]") -> None:
        self._calls.discard(task)
        self._awake.set()

    async def _look(self) -> None:
        """Refresh the figures of a scrape."""
        clock = asyncio.get_running_loop().time()
        if clock - self._looked_at >= _LOOK_SECONDS:
            self._looked_at = clock
            self._metrics.figures = await self._webhooks.figures()

    async def _deliver(self, notice: ClaimedNotice) -> None:
        try:
            result = await self._call(notice)
            await self._webhooks.record(notice, result)
        except UNAVAILABLE_ERRORS as error:  # due again when the lease ends
            _log.warning("webhook_put_off", notice=notice.id, detail=reason(error))
        except Exception as error:  # a bug: other notices are delivered, and this one is retried when its lease ends
            _log.error("webhook_failed", notice=notice.id, error=type(error).__name__, traceback=where(error))

    async def _call(self, notice: ClaimedNotice) -> CallResult | None:
        """Post a notice; None if the call failed."""
        body = body_of(notice)
        headers = headers_of(notice, body, await self._secrets.of(notice.webhook))
        began = asyncio.get_running_loop().time()
        answer = await self._client.post(notice.url, body, headers, reads=())
        self._metrics.seconds.observe(asyncio.get_running_loop().time() - began)
        if isinstance(answer, CallbackFailure):
            self._metrics.count("failed")
            return None
        if HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
            self._metrics.count("delivered")
            return "delivered"
        gone = answer.status == HTTPStatus.GONE
        self._metrics.count("gone" if gone else "failed")
        return "gone" if gone else None
