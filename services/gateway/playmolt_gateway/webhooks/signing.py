"""The secrets of webhooks, and the requests that they sign after the Standard Webhooks specification."""

import base64
import hmac
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from playmolt_core.db.webhooks import ClaimedNotice
from playmolt_schemas.identifiers import rfc3339

from playmolt_gateway.ports import Accounts

_PURPOSE: Final = "webhooks"
_PREFIX: Final = "whsec_"


class WebhookBody(msgspec.Struct, frozen=True):
    """The body of a notice; `timestamp` is the time of the event."""

    type: str
    timestamp: str
    data: Mapping[str, Any]


class WebhookSecrets:
    """Secrets of webhooks, derived from a secret of the installation and the webhook's id: none is stored.

    Loads its secret from the accounts on first use and raises what they raise.
    """

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self._secret = b""

    async def of(self, webhook: uuid.UUID) -> str:
        if not self._secret:
            self._secret = await self._accounts.secret(_PURPOSE)
        made = hmac.digest(self._secret, webhook.bytes, "sha256")
        return _PREFIX + base64.b64encode(made).decode()


def body_of(notice: ClaimedNotice) -> bytes:
    """The body of a notice, the same for each call."""
    data: dict[str, Any] = msgspec.json.decode(notice.data)
    page = f"/tournaments/{data['tournament_id']}" if "tournament_id" in data else None
    if "game_id" in data and page is None:
        page = f"/watch/{data['game_id']}"
    link = {"link": notice.origin + page} if page else {}
    return msgspec.json.encode(WebhookBody(notice.type, rfc3339(notice.at), {**data, **link}))


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
