"""JSON-RPC to a node over HTTP with bounded waits; the various errors of nodes become a few exceptions."""

import asyncio
import json
import re
from collections.abc import Sequence
from typing import Any

import httpx2
import msgspec
from playmolt_core.ops.json_values import finite

from playmolt_jury.chain.contract import error_name
from playmolt_jury.chain.port import ChainFault, ChainUnavailable, Reverted

REQUEST_SECONDS = 10.0
PAUSES = (0.1, 0.5)
"""Before each further try; every call made here may be repeated without harm."""
_MAX_BYTES = 4 * 1024 * 1024
_HEX = re.compile(r"0x[0-9a-fA-F]{8,}")
_BUSY_CODES = frozenset({-32002, -32005, -32016, -32029, -32097, -32603, 429, 503})
"""A limit of the node's was exceeded or it is out of order (EIP-1474, what providers made of it, HTTP's as a code)."""
_BUSY_WORDS = (
    "rate limit", "too many requests", "timeout", "timed out", "temporar", "try again", "internal error", "overloaded",
    "unavailable", "capacity", "compute units",
    # a node behind those that were asked before
    "header not found", "block not found", "unknown block", "missing trie node", "block range", "not yet available",
    # fees that rose since they were asked for
    "less than block base fee", "fee cap less", "gas price too low", "transaction underpriced", "feetoolow",
)  # fmt: skip


KNOWN_WORDS = (
    "already known", "alreadyknown", "already_exists", "already imported", "already exists", "already in the",
    "already in mempool", "already in mpool", "already in pool", "already in queue", "already present",
    "already received", "already submitted", "duplicate transaction", "dup_transaction",
    "known transaction", "same hash", "existing tx with same hash",
)  # fmt: skip
"""Error texts of nodes for a transaction that they already have."""
TAKEN_WORDS = (
    "nonce too low", "nonce_too_low", "nonce is too low", "nonce has already", "oldnonce", "could not replace",
    "replacement", "fee too low to replace",
)  # fmt: skip
"""Error texts of nodes for a nonce that another transaction has, mined or pending."""
POOR_WORDS = ("insufficient funds", "insufficient balance", "insufficientfunds", "doesn't have enough funds")


class RpcRefusal(ChainFault):
    """The node refused a call; `message` is its own text, in lower case."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"the node refused {method}: {message} (code {code})")
        self.message = message.lower()

    def says(self, words: tuple[str, ...]) -> bool:
        return any(word in self.message for word in words)


class _Response(msgspec.Struct):
    id: int | str | None = None
    result: Any = msgspec.UNSET
    error: dict[str, Any] | None = None


_response_of = msgspec.json.Decoder(_Response, float_hook=finite).decode


class Rpc:
    """One node. `where` names it in messages without what may be secret in its URL."""

    def __init__(self, url: str, seconds: float = REQUEST_SECONDS, pauses: Sequence[float] = PAUSES) -> None:
        self.where = httpx2.URL(url).host or url
        self._url = url
        self._pauses = pauses
        # What the environment says of proxies is not for a node on this machine. Plain HTTP needs no certificates,
        # and reading those costs more than all the rest of a first call.
        self._client = httpx2.AsyncClient(timeout=seconds, trust_env=False, verify=url.startswith("https:"))
        self._calls = 0

    async def close(self) -> None:
        await self._client.aclose()

    async def call(self, method: str, *params: object) -> Any:
        """A method's result. ChainUnavailable after three failed tries; Reverted or RpcRefusal when it refuses."""
        for pause in self._pauses:
            try:
                return await self._call(method, params)
            except ChainUnavailable:
                await asyncio.sleep(pause)
        return await self._call(method, params)

    async def found(self, method: str, *params: object) -> Any:
        """As `call`, for what is known to be there; None when a node says three times that it is not."""
        for pause in self._pauses:
            if result := await self.call(method, *params):
                return result
            await asyncio.sleep(pause)
        return await self.call(method, *params) or None

    async def number(self, method: str, *params: Any) -> int:
        """The result of a method that answers with a quantity."""
        result = await self.call(method, *params)
        try:
            return int(result, 16)
        except (TypeError, ValueError):
            raise ChainFault(
                f"{self.where} answers {method} with {str(result)[:80]!r}, which is not a quantity"
            ) from None

    async def _call(self, method: str, params: tuple[object, ...]) -> Any:
        self._calls += 1
        request = {"jsonrpc": "2.0", "id": self._calls, "method": method, "params": params}
        status, body = await self._post(request)
        if status == 429 or status >= 500:
            raise ChainUnavailable(f"the chain at {self.where} answers HTTP {status}")
        try:
            response = _response_of(body)
        except msgspec.MsgspecError:
            raise ChainUnavailable(f"the response of {self.where} (HTTP {status}) is not JSON-RPC") from None
        if response.error is not None:
            raise _refusal(self.where, method, response.error)
        if response.result is msgspec.UNSET:
            raise ChainUnavailable(f"the response of {self.where} (HTTP {status}) is not JSON-RPC")
        return response.result

    async def _post(self, request: dict[str, object]) -> tuple[int, bytes]:
        try:
            async with self._client.stream("POST", self._url, json=request) as response:
                body = b""
                async for part in response.aiter_bytes():
                    body += part
                    if len(body) > _MAX_BYTES:
                        raise ChainFault(f"{self.where} answers {request['method']} with more than {_MAX_BYTES} bytes")
                return response.status_code, body
        except (httpx2.HTTPError, OSError) as error:
            raise ChainUnavailable(f"the chain at {self.where} cannot be reached: {type(error).__name__}") from error


def _refusal(where: str, method: str, error: dict[str, Any]) -> Exception:
    message = str(error.get("message", ""))[:300]
    code = error.get("code") if isinstance(error.get("code"), int) else 0
    refusal = RpcRefusal(method, code or 0, message)
    # Some nodes give the code of an internal error to whatever they refuse: their words are asked first.
    if code == 3 or refusal.says(("revert",)):
        return Reverted(error_name(_output(error)), message)
    if refusal.says((*KNOWN_WORDS, *TAKEN_WORDS, *POOR_WORDS)):
        return refusal
    if code in _BUSY_CODES or refusal.says(_BUSY_WORDS):
        return ChainUnavailable(f"the chain at {where} is busy: {message}")
    return refusal


def _output(error: dict[str, object]) -> bytes:
    # Geth and Anvil put the bytes into `data`, others an object with a `data` of its own, others into the text.
    found = _HEX.search(json.dumps(error.get("data"))) or _HEX.search(str(error.get("message", "")))
    text = found[0][2:] if found else ""
    return bytes.fromhex(text[: len(text) // 2 * 2])
