"""Sends transactions: estimates their cost, funds them, and never sends one twice."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeVar

from playmolt_jury.chain import keys
from playmolt_jury.chain.keys import Keys, Transaction
from playmolt_jury.chain.port import ChainUnavailable, Reverted
from playmolt_jury.chain.rpc import KNOWN_WORDS, POOR_WORDS, TAKEN_WORDS, Rpc, RpcRefusal

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 2.0
T = TypeVar("T")
_PAY_TRIES = 5
SLOW_SECONDS, _SLOW_BLOCKS = 30.0, 2
"""After either, a payment that is in no block is sent again, dearer."""


class _Payment(NamedTuple):
    """A payment that may not be mined yet, and when (and at which block) it was sent last."""

    transaction: Transaction
    at: float
    block: int


class Wallet:
    """Sends for a session's keys, and fills them from the deployer's account."""

    def __init__(self, rpc: Rpc, owner: Keys, mined_seconds: float, slow_seconds: float = SLOW_SECONDS) -> None:
        self._rpc = rpc
        self._deployer = owner.deployer
        self._mined_seconds = mined_seconds
        self._slow_seconds = slow_seconds
        self._paying = asyncio.Lock()
        self._payments: dict[str, _Payment] = {}
        self._chain_id = 0
        self._genesis = ""

    async def chain_id(self) -> int:
        return self._chain_id or await self.present_chain_id()

    async def present_chain_id(self) -> int:
        """As the node says now: behind the same URL may be another chain since."""
        self._chain_id = await self._rpc.number("eth_chainId")
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

    async def sent(self, address: str, block: int) -> int:
        """How many transactions of an account the chain has up to a block: the nonce of its next one."""
        return await self._rpc.number("eth_getTransactionCount", address, hex(block))

    async def send(self, key: bytes, nonce: int, to: str, data: bytes, gas: int, price: int, value: int = 0) -> str:
        """Sends a key's transaction of a nonce, unless there is one: then this one is dropped. `to` "" creates.

        Returns the hash that it has if it is the one that counts.
        """
        try:
            return await self._send(key, Transaction(nonce, price, gas, to, value, data))
        except RpcRefusal as refusal:
            if refusal.says(POOR_WORDS):
                raise ChainUnavailable(
                    f"the gas price exceeds the balance of {keys.address_of(key)}; the next try adds funds"
                ) from None
            if not refusal.says(TAKEN_WORDS):
                raise
            return ""

    async def fill(self, address: str, nonce: int, wei: int, price: int) -> None:
        """Ensures that an account has `wei` for its transaction. ChainUnavailable if the deployer cannot pay."""

        async def full() -> bool | None:
            if await self._balance(address, "latest") >= wei or await self._has_sent(address, nonce):
                self._payments.pop(address, None)
                return True
            await self._hasten(address)
            return None

        if await full():
            return
        if address not in self._payments:
            coming = await self._balance(address, "pending")
            if coming < wei:
                await self._pay(address, wei - coming, price)
            else:
                await self._adopt(address, wei, price)
        await self.until(full, f"the payment to {address}")

    async def until(self, found: Callable[[], Awaitable[T | None]], what: str) -> T:
        """Waits for a block after which `found` gives something; ChainUnavailable after `mined_seconds`."""
        pause = _FIRST_PAUSE
        try:
            async with asyncio.timeout(self._mined_seconds):
                while (value := await found()) is None:
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, _LONGEST_PAUSE)
                return value
        except TimeoutError:
            raise ChainUnavailable(
                f"{what} is not in a block of the chain at {self._rpc.where} after {self._mined_seconds:g} s"
            ) from None

    async def _pay(self, to: str, wei: int, price: int) -> None:
        sender = keys.address_of(self._deployer)
        gas = await self._paid(self._estimate({"from": sender, "to": to, "value": hex(wei)})) * 3 // 2
        if not self._genesis:
            await self._began_anew()
        # One at a time here; against other processes, the chain decides who has the nonce.
        async with self._paying:
            await self._paid(self._pay_next(sender, Transaction(0, price, gas, to, wei, b"")))

    async def _adopt(self, to: str, wei: int, price: int) -> None:
        """Take over a payment that is on its way from a process which may have ended since.

        Only where it waits alone: another one, replaced in its stead, would leave this account paid twice.
        """
        sender = keys.address_of(self._deployer)
        nonce = await self._rpc.number("eth_getTransactionCount", sender, "latest")
        if await self._rpc.number("eth_getTransactionCount", sender, "pending") != nonce + 1:
            return
        missing = max(1, wei - await self._balance(to, "latest"))
        gas = await self._paid(self._estimate({"from": sender, "to": to, "value": hex(missing)})) * 3 // 2
        block = await self._rpc.number("eth_blockNumber")
        payment = Transaction(nonce, price, gas, to, missing, b"")
        self._payments[to] = _Payment(payment, asyncio.get_running_loop().time(), block)

    async def _began_anew(self) -> bool:
        """Whether the chain is another one since this was asked first: what was sent before is on none."""
        block = await self._rpc.call("eth_getBlockByNumber", "0x0", False)
        before, self._genesis = self._genesis, str((block or {}).get("hash", ""))
        return before not in ("", self._genesis)

    async def _hasten(self, to: str) -> None:
        """Send a payment that blocks pass by again at its own nonce, at a price that replaces it: it is made once."""
        payment, now = self._payments.get(to), asyncio.get_running_loop().time()
        if payment is None:
            return
        block = await self._rpc.number("eth_blockNumber")
        if now - payment.at < self._slow_seconds and block < payment.block + _SLOW_BLOCKS:
            return
        if await self._began_anew():
            self._payments.clear()
            return
        sender, nonce = keys.address_of(self._deployer), payment.transaction.nonce
        next_nonce = await self._rpc.number("eth_getTransactionCount", sender, "latest")
        if next_nonce > nonce:  # mined, or lost its nonce to another: the remaining amount is paid again
            self._payments.pop(to, None)
            return
        if next_nonce < nonce:  # an earlier one is pending; its sender raises its price
            self._payments[to] = payment._replace(at=now, block=block)
            return
        price = max(await self.price(), -(-payment.transaction.gas_price * 9 // 8))
        dearer = payment.transaction._replace(gas_price=price)
        self._payments[to] = _Payment(dearer, now, block)
        try:
            await self._paid(self._send(self._deployer, dearer))
        except RpcRefusal as refusal:
            if not refusal.says(TAKEN_WORDS):
                raise

    async def _paid(self, work: Awaitable[T]) -> T:
        try:
            return await work
        except RpcRefusal as refusal:
            if not refusal.says(POOR_WORDS):
                raise
            deployer, chain_id = keys.address_of(self._deployer), await self.chain_id()
            raise ChainUnavailable(
                f"the deployer {deployer} cannot pay: send funds to it on chain {chain_id}"
            ) from None

    async def _pay_next(self, sender: str, transaction: Transaction) -> None:
        for attempt in range(_PAY_TRIES):
            nonce = await self._rpc.number("eth_getTransactionCount", sender, "pending")
            block = await self._rpc.number("eth_blockNumber")
            numbered = transaction._replace(nonce=nonce)
            # Remembered before it is sent: a node that took it may still answer that it is out of order.
            self._payments[numbered.to] = _Payment(numbered, asyncio.get_running_loop().time(), block)
            try:
                await self._send(self._deployer, numbered)
            except ChainUnavailable:
                self._payments[numbered.to] = _Payment(numbered, -self._slow_seconds, block - _SLOW_BLOCKS)
                raise
            except RpcRefusal as refusal:
                self._payments.pop(numbered.to, None)
                if not refusal.says(TAKEN_WORDS):
                    raise
                await asyncio.sleep(0.05 * (attempt + 1))
            else:
                return
        raise ChainUnavailable(f"other processes keep sending from the deployer {sender}")

    async def _send(self, key: bytes, transaction: Transaction) -> str:
        """Refusal for a transaction that the chain does not have; one that it has already is sent. Returns its hash."""
        raw = keys.signed(key, transaction, await self.chain_id())
        sent = keys.hash_of(raw)
        try:
            await self._rpc.call("eth_sendRawTransaction", "0x" + raw.hex())
        except Reverted:
            # Some nodes mine a transaction that reverts, and answer with its error and no hash.
            if not await self._rpc.call("eth_getTransactionReceipt", sent):
                raise
        except RpcRefusal as refusal:
            # After an answer that was lost, a repeat of what was mined meanwhile has its own nonce against it.
            mined = refusal.says(TAKEN_WORDS) and await self._rpc.call("eth_getTransactionByHash", sent)
            if not mined and not refusal.says(KNOWN_WORDS):
                raise
        return sent

    async def _estimate(self, call: dict[str, str]) -> int:
        return await self._rpc.number("eth_estimateGas", call)

    async def _has_sent(self, address: str, nonce: int) -> bool:
        """Whether a key's transaction is on the chain: another process was faster, and the money is spent."""
        return await self._rpc.number("eth_getTransactionCount", address, "latest") > nonce

    async def _balance(self, address: str, block: str) -> int:
        return await self._rpc.number("eth_getBalance", address, block)
