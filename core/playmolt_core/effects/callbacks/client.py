"""Callback requests to an agent's server: signed, to a checked address, bounded in time and size."""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any, Final

import httpx2
import msgspec
from playmolt_schemas.limits import CALLBACK_SECONDS

from playmolt_core.effects.callbacks.address import BadAddress, resolved
from playmolt_core.effects.callbacks.faults import CallbackFailure

ANSWER_BYTES: Final = 64 * 1024


class CallbackAnswer(msgspec.Struct, frozen=True):
    """The JSON object in a server's answer, and its bytes."""

    value: Mapping[str, Any]
    body: bytes = b""


def _made() -> httpx2.AsyncClient:
    # Proxies from the environment are ignored, because they would connect to an unchecked address.
    return httpx2.AsyncClient(
        follow_redirects=False,
        trust_env=False,
        timeout=None,  # the whole call is bounded instead
        limits=httpx2.Limits(max_keepalive_connections=0),
    )


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """The value of the header PlayMolt-Signature."""
    signed = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256)
    return f"v1={signed.hexdigest()}"


class CallbackClient:
    """Calls agents' servers. `private` allows http and loopback."""

    def __init__(self, *, private: bool, seconds: float = CALLBACK_SECONDS) -> None:
        self._private = private
        self._seconds = seconds
        self._client: httpx2.AsyncClient | None = None
        self._opening = asyncio.Lock()

    async def _opened(self) -> httpx2.AsyncClient:
        """Made with the first call, since few gateways call a server, and beside the loop: certificates take long."""
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(_made)
            return self._client

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def call(
        self, url: str, secret: str, body: bytes, key: str, seconds: float | None = None
    ) -> CallbackAnswer | CallbackFailure:
        """Post a body and read the answer. Failures of the server and the network are returned, not raised."""
        bound = min(self._seconds, self._seconds if seconds is None else max(seconds, 0.0))
        client = await self._opened()  # the first time, this takes longer than some calls may
        try:
            async with asyncio.timeout(bound):
                return await self._post(client, url, secret, body, key)
        except TimeoutError:
            return CallbackFailure("callback_timeout", f"no complete answer within {bound:.1f} s")
        except BadAddress as error:
            return CallbackFailure("callback_address", f"the URL {error}")
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            return CallbackFailure("callback_unreachable", f"{type(error).__name__}: {error}"[:300])

    async def _post(
        self, client: httpx2.AsyncClient, url: str, secret: str, body: bytes, key: str
    ) -> CallbackAnswer | CallbackFailure:
        target = await resolved(url, private=self._private)
        timestamp = str(int(time.time()))
        headers = {
            "Host": target.host,
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "PlayMolt-Callback",
            "PlayMolt-Timestamp": timestamp,
            "PlayMolt-Signature": signature(secret, timestamp, body),
            "Idempotency-Key": key,
        }
        extensions = {"sni_hostname": target.server_name} if target.server_name else {}
        async with client.stream("POST", target.url, content=body, headers=headers, extensions=extensions) as response:
            if response.is_redirect or 300 <= response.status_code < 400:
                return CallbackFailure(
                    "callback_redirect", f"answered {response.status_code}; redirects are not followed"
                )
            if response.status_code != 200:
                return CallbackFailure("callback_status", f"answered {response.status_code}, not 200")
            read = bytearray()
            async for part in response.aiter_raw():
                read += part
                if len(read) > ANSWER_BYTES:
                    return CallbackFailure("callback_too_large", f"answered more than {ANSWER_BYTES} bytes")
        return _object(bytes(read))


def _object(body: bytes) -> CallbackAnswer | CallbackFailure:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        return CallbackFailure("callback_body", f"the answer is not JSON: {str(error)[:200]}")
    if not isinstance(value, dict):
        return CallbackFailure("callback_body", "the answer is not a JSON object")
    return CallbackAnswer(value, body)
