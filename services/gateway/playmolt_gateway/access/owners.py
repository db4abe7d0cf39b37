"""What the gateway adds about owners: their names in states, and the addresses of registrations."""

import asyncio
import hmac
import re
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from playmolt_core.ops.connections import UNKNOWN
from playmolt_schemas import api
from starlette.types import Scope

from playmolt_gateway.access.rates import RateLimiter
from playmolt_gateway.ports import UNAVAILABLE_ERRORS, Accounts, Owners

_PURPOSE: Final = "addresses"
_GROUP_BYTES: Final = 16
_SECONDS: Final = 3.0
_LOOKUP_SECONDS: Final = 1.0
_MOST: Final = 20_000
_UNNAMED: Final = re.compile(rb'"owner":\{"id":"(owner-[0-9a-f-]{36})","name":""\}')
"""An owner as engines write it. No text of a state can contain this: quotes are escaped there."""
_OWNED: Final = b'"owner":{"id":"owner-'
_encode = msgspec.json.encode


class OwnerNames:
    """The names of owners, as they were within the last seconds. `of` and `one` raise what the accounts raise."""

    def __init__(self, owners: Owners, *, seconds: float = _SECONDS) -> None:
        self._owners = owners
        self._seconds = seconds
        self._known: OrderedDict[str, tuple[str | None, float]] = OrderedDict()

    async def named(self, body: bytes) -> bytes:
        """A JSON document of an engine with the names of its owners, null for erased ones.

        While the accounts are unavailable, unknown names stay empty: a game goes on without them.
        """
        found = {one.decode() for one in _UNNAMED.findall(body)} if _OWNED in body else set()
        if not found:
            return body
        try:
            async with asyncio.timeout(_LOOKUP_SECONDS):
                names = await self.of(found)
        except UNAVAILABLE_ERRORS:
            return body

        def shown(match: re.Match[bytes]) -> bytes:
            return b'"owner":' + _encode(names.get(match[1].decode()))

        return _UNNAMED.sub(shown, body)

    async def of(self, owner_ids: Iterable[str]) -> Mapping[str, api.Owner]:
        """Owners by their ids; erased ones are omitted."""
        now, wanted = time.monotonic(), set(owner_ids)
        unknown = [one for one in wanted if one not in self._known or self._known[one][1] + self._seconds < now]
        if unknown:
            names = await self._owners.names(sorted(unknown))
            for one in unknown:
                self._known[one] = names.get(one), now
                self._known.move_to_end(one)
        shown = {one: api.Owner(one, name) for one in wanted if (name := self._known[one][0]) is not None}
        while len(self._known) > _MOST:
            self._known.popitem(last=False)
        return shown

    async def one(self, owner_id: str | None) -> api.Owner | None:
        """An owner; None for None and for an erased one."""
        return (await self.of([owner_id])).get(owner_id) if owner_id else None

    def forget(self, owner_id: str) -> None:
        """Forget the name of an owner that was erased."""
        self._known.pop(owner_id, None)


class AddressGroups:
    """Keyed hashes of the addresses from which agents are registered. Loads its secret on first use."""

    def __init__(self, accounts: Accounts, rates: RateLimiter) -> None:
        self._accounts = accounts
        self._rates = rates
        self._secret = b""

    async def of(self, scope: Scope) -> bytes | None:
        """The group of a request's address (IPv6: of its /64); None for an unknown address, and for this machine unless
        limits apply to it."""
        address = self._rates.bucket(scope)
        if address == UNKNOWN or self._rates.exempt(scope):
            return None
        if not self._secret:
            self._secret = await self._accounts.secret(_PURPOSE)
        return hmac.digest(self._secret, address.encode(), "sha256")[:_GROUP_BYTES]
