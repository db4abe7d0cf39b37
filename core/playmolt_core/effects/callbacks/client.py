"""Requests to the servers of agents and owners: to a checked address, bounded in time and size."""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Container, Mapping
from typing import Any, Final

import httpx2
import msgspec
from playmolt_schemas.limits import CALLBACK_SECONDS

from playmolt_core.effects.callbacks.address import BadAddress, resolved
from playmolt_core.effects.callbacks.faults import CallbackFailure

ANSWER_BYTES: Final = 64 * 1024
_READ: Final = (200,)


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


class ServerResponse(msgspec.Struct, frozen=True):
    """The status of an answer, and its body if it was read."""

    status: int
    body: bytes = b""


class CheckedClient:
    """Posts to servers of others: to a checked address, without redirects. `private` allows http and loopback."""

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

    async def post(
        self, url: str, body: bytes, headers: Mapping[str, str], *, reads: Container[int], seconds: float | None = None
    ) -> ServerResponse | CallbackFailure:
        """Post a JSON body. The answer's body is read for the statuses in `reads` only. Failures of the server and the
        network are returned, not raised."""
        bound = min(self._seconds, self._seconds if seconds is None else max(seconds, 0.0))
        client = await self._opened()  # the first time, this takes longer than some calls may
        try:
            async with asyncio.timeout(bound):
                return await self._post(client, url, body, headers, reads)
        except TimeoutError:
            return CallbackFailure("callback_timeout", f"no complete answer within {bound:.1f} s")
        except BadAddress as error:
            return CallbackFailure("callback_address", f"the URL {error}")
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            return CallbackFailure("callback_unreachable", f"{type(error).__name__}: {error}"[:300])

    async def _post(
        self, client: httpx2.AsyncClient, url: str, body: bytes, headers: Mapping[str, str], reads: Container[int]
    ) -> ServerResponse | CallbackFailure:
        target = await resolved(url, private=self._private)
        sent = {
            "Host": target.host,
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            **headers,
        }
        extensions = {"sni_hostname": target.server_name} if target.server_name else {}
        async with client.stream("POST", target.url, content=body, headers=sent, extensions=extensions) as response:
            status = response.status_code
            if response.is_redirect or 300 <= status < 400:
                return CallbackFailure("callback_redirect", f"answered {status}; redirects are not followed")
            read = bytearray()
            if status in reads:
                async for part in response.aiter_raw():
                    read += part
                    if len(read) > ANSWER_BYTES:
                        return CallbackFailure("callback_too_large", f"answered more than {ANSWER_BYTES} bytes")
            return ServerResponse(status, bytes(read))


class CallbackClient:
    """Asks agents' servers for actions. `private` allows http and loopback."""

    def __init__(self, *, private: bool, seconds: float = CALLBACK_SECONDS) -> None:
        self._client = CheckedClient(private=private, seconds=seconds)

    async def close(self) -> None:
        await self._client.close()

    async def call(
        self, url: str, secret: str, body: bytes, key: str, seconds: float | None = None
    ) -> CallbackAnswer | CallbackFailure:
        """Post a body and read the answer. Failures of the server and the network are returned, not raised."""
        timestamp = str(int(time.time()))
        headers = {
            "User-Agent": "PlayMolt-Callback",
            "PlayMolt-Timestamp": timestamp,
            "PlayMolt-Signature": signature(secret, timestamp, body),
            "Idempotency-Key": key,
        }
        answer = await self._client.post(url, body, headers, reads=_READ, seconds=seconds)
        if isinstance(answer, CallbackFailure):
            return answer
        if answer.status != 200:
            return CallbackFailure("callback_status", f"answered {answer.status}, not 200")
        return _object(answer.body)


def _object(body: bytes) -> CallbackAnswer | CallbackFailure:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        return CallbackFailure("callback_body", f"the answer is not JSON: {str(error)[:200]}")
    if not isinstance(value, dict):
        return CallbackFailure("callback_body", "the answer is not a JSON object")
    return CallbackAnswer(value, body)
