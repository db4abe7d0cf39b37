"""Invites of private games and secrets of webhooks, derived from secrets of the installation; hashes of codes."""

import base64
import hashlib
import hmac
import uuid
from typing import Final

from playmolt_gateway.ports import Accounts

_BYTES: Final = 16
_PURPOSE: Final = "invites"
_WEBHOOKS: Final = "webhooks"
_WEBHOOK_PREFIX: Final = "whsec_"


def invite_hash(invite: str | None) -> str:
    """The hash that is stored, sent and compared instead of an invite; "" for None."""
    return hashlib.sha256(invite.encode("utf-8", "surrogatepass")).hexdigest() if invite else ""


def hash_of_code(code: str) -> str:
    """The hash that is stored and compared instead of an invite code, whatever its case, spaces and hyphens."""
    return invite_hash(code.replace(" ", "").replace("-", "").lower() or " ")


class InviteIssuer:
    """Loads its secret from the accounts on first use and raises what they raise."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self._secret = b""

    async def of(self, game_id: str) -> str:
        """A private game's invite: 26 characters of a-z2-7."""
        if not self._secret:
            self._secret = await self._accounts.secret(_PURPOSE)
        made = hmac.digest(self._secret, game_id.encode(), "sha256")[:_BYTES]
        return base64.b32encode(made).decode().rstrip("=").lower()


class WebhookSecrets:
    """Secrets of webhooks, derived from a secret of the installation and the webhook's id: none is stored.

    Loads its secret from the accounts on first use and raises what they raise.
    """

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self._secret = b""

    async def of(self, webhook: uuid.UUID) -> str:
        if not self._secret:
            self._secret = await self._accounts.secret(_WEBHOOKS)
        made = hmac.digest(self._secret, webhook.bytes, "sha256")
        return _WEBHOOK_PREFIX + base64.b64encode(made).decode()
