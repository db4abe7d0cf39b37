"""Sending: what a transaction costs, who pays for it, and how none is sent twice."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from playmolt_jury.chain import keys
from playmolt_jury.chain.keys import Keys, Transaction
from playmolt_jury.chain.port import ChainAway
from playmolt_jury.chain.rpc import Refusal, Rpc

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 2.0
T = TypeVar("T")
_PAY_TRIES = 5
_TAKEN = ("already known", "already imported", "already exists", "nonce too low", "nonce has already", "underpriced")
"""What nodes say of a transaction whose nonce is taken, on the chain or by one that waits."""
_POOR = "insufficient funds"


class Wallet:
    """Sends for a session's keys, and fills them from the deployer's account."""

    def __init__(self, rpc: Rpc, owner: Keys, mined_seconds: float) -> None:
        self._rpc = rpc
        self._deployer = owner.deployer
        self._mined_seconds = mined_seconds
        self._paying = asyncio.Lock()
        self._chain_id = 0

    async def chain_id(self) -> int:
        self._chain_id = self._chain_id or await self._rpc.number("eth_chainId")
        return self._chain_id

    async def price(self) -> int:
        """Wei per gas, enough still when the next blocks are dearer."""
        return await self._rpc.number("eth_gasPrice") * 3 // 2 + 1

    async def creation_gas(self, data: bytes, shares: int) -> int:
        """A limit for a creation that passes on what it is sent in `shares`.

        It is estimated for the deployer and a wei each: the account that will send it holds nothing yet.
        """
        call = {"from": keys.address_of(self._deployer), "data": "0x" + data.hex(), "value": hex(shares)}
        return await self._paid(self._estimate(call)) * 3 // 2

    async def call_gas(self, sender: str, to: str, data: bytes) -> int:
        """A limit for a call. Reverted when the call would be refused.

        Other calls may come first, and one of them may leave more to do for this one.
        """
        return await self._estimate({"from": sender, "to": to, "data": "0x" + data.hex()}) * 3 // 2 + 50_000

    async def send_first(self, key: bytes, to: str, data: bytes, gas: int, price: int, value: int = 0) -> None:
        """Sends a key's first transaction, unless there is one: then this one is dropped. `to` "" creates."""
        try:
            await self._send(key, Transaction(0, price, gas, to, value, data))
        except Refusal as refusal:
            if _POOR in refusal.message:
                raise ChainAway(
                    f"gas became dearer than {keys.address_of(key)} can pay; the next try fills it"
                ) from None
            if not _is_taken(refusal):
                raise

    async def fill(self, address: str, wei: int, price: int) -> None:
        """Sees to it that an account holds `wei`. ChainAway when the deployer cannot pay."""

        async def full() -> bool | None:
            return await self._balance(address, "latest") >= wei or None

        if await full():
            return
        coming = await self._balance(address, "pending")
        if coming < wei:
            await self._pay(address, wei - coming, price)
        await self.until(full, f"the payment to {address}")

    async def until(self, found: Callable[[], Awaitable[T | None]], what: str) -> T:
        """Waits for a block after which `found` gives something; ChainAway after `mined_seconds`."""
        pause = _FIRST_PAUSE
        try:
            async with asyncio.timeout(self._mined_seconds):
                while (value := await found()) is None:
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, _LONGEST_PAUSE)
                return value
        except TimeoutError:
            raise ChainAway(
                f"{what} is not in a block of the chain at {self._rpc.where} after {self._mined_seconds:g} s"
            ) from None

    async def _pay(self, to: str, wei: int, price: int) -> None:
        sender = keys.address_of(self._deployer)
        gas = await self._paid(self._estimate({"from": sender, "to": to, "value": hex(wei)})) * 3 // 2
        # One at a time here; against other processes, the chain decides who has the nonce.
        async with self._paying:
            await self._paid(self._pay_next(sender, Transaction(0, price, gas, to, wei, b"")))

    async def _paid(self, work: Awaitable[T]) -> T:
        try:
            return await work
        except Refusal as refusal:
            if _POOR not in refusal.message:
                raise
            deployer, chain_id = keys.address_of(self._deployer), await self.chain_id()
            raise ChainAway(f"the deployer {deployer} cannot pay: send it money on chain {chain_id}") from None

    async def _pay_next(self, sender: str, transaction: Transaction) -> None:
        for attempt in range(_PAY_TRIES):
            nonce = await self._rpc.number("eth_getTransactionCount", sender, "pending")
            try:
                return await self._send(self._deployer, transaction._replace(nonce=nonce))
            except Refusal as refusal:
                if not _is_taken(refusal):
                    raise
                await asyncio.sleep(0.05 * (attempt + 1))
        raise ChainAway(f"others keep sending from the deployer {sender}")

    async def _send(self, key: bytes, transaction: Transaction) -> None:
        raw = keys.signed(key, transaction, await self.chain_id())
        await self._rpc.call("eth_sendRawTransaction", "0x" + raw.hex())

    async def _estimate(self, call: dict[str, str]) -> int:
        return await self._rpc.number("eth_estimateGas", call)

    async def _balance(self, address: str, block: str) -> int:
        return await self._rpc.number("eth_getBalance", address, block)


def _is_taken(refusal: Refusal) -> bool:
    return any(word in refusal.message for word in _TAKEN)
