"""Finds the events of a case on its chain, by the numbers that the node itself gives to blocks.

The contract notes in which block a vote was cast, as `block.number`. On Arbitrum and chains like it that is the number
of a block of the chain below, and means nothing to the node.
"""

from typing import Any, Final, NamedTuple

from playmolt_jury.chain import contract
from playmolt_jury.chain.contract import ContractSnapshot
from playmolt_jury.chain.port import ChainUnavailable
from playmolt_jury.chain.rpc import Rpc, RpcRefusal

_VOTED: Final = "Voted(address,bool)"
_OPENED: Final = "Opened(bytes32,uint256)"
_WINDOW: Final = 10_000
"""Blocks that are searched at once; fewer where the node refuses so many."""
_SEARCHES: Final = 200


class CaseEvent(NamedTuple):
    """An event: the hash of its transaction, and its block by the node's own numbers."""

    tx_hash: str
    block: int


_NONE: Final = CaseEvent("", 0)


class CaseEvents:
    """The events of one case, as far as its contract says that they happened.

    What is missing on the node is ChainUnavailable, or an event without a hash where the node may be `forgetful`.
    """

    def __init__(self, rpc: Rpc, address: str, case: ContractSnapshot, *, forgetful: bool = False) -> None:
        self._rpc, self._address, self._case = rpc, address, case
        self._forgetful = forgetful
        self._all: list[dict[str, Any]] | None = None

    async def opening(self) -> CaseEvent:
        return await self._event(self._case.opened_in, [contract.topic(_OPENED)])

    async def vote(self, place: int) -> CaseEvent:
        juror = "0x" + self._case.jurors[place][2:].lower().rjust(64, "0")
        return await self._event(self._case.voted_in[place], [contract.topic(_VOTED), juror])

    async def _event(self, block: int, topics: list[str]) -> CaseEvent:
        if self._all is None and (found := await self._at(block, topics)):
            return _event_of(found[0])
        if self._all is None:
            self._all = await self._searched()
        for log in self._all:
            if [str(topic).lower() for topic in log["topics"]][: len(topics)] == topics:
                return _event_of(log)
        if self._forgetful:
            return _NONE
        raise ChainUnavailable(
            f"the chain at {self._rpc.where} does not show the events of {self._address} now, neither in block {block},"
            f" as the contract counts, nor in {_SEARCHES} searches of its own newest blocks; another node may"
        )

    async def _at(self, block: int, topics: list[str]) -> list[dict[str, Any]]:
        """The events in the block that the contract names, if the node counts as the contract does."""
        if block > await self._rpc.number("eth_blockNumber"):
            return []
        asked = {"address": self._address, "fromBlock": hex(block), "toBlock": hex(block), "topics": topics}
        try:
            return list(await self._rpc.found("eth_getLogs", asked) or ())
        except RpcRefusal:
            return []

    async def _searched(self) -> list[dict[str, Any]]:
        """All events of the case, the newest first, back to its opening."""
        first, last = await self._range()
        found: list[dict[str, Any]] = []
        window = _WINDOW
        for _ in range(_SEARCHES):
            if last < first:
                break
            start = max(first, last - window + 1)
            try:
                logs = await self._rpc.call(
                    "eth_getLogs", {"address": self._address, "fromBlock": hex(start), "toBlock": hex(last)}
                )
            except (ChainUnavailable, RpcRefusal):
                if window == 1:
                    break
                window = max(1, window // 10)
                continue
            found += reversed(logs)
            if any(str(log["topics"][0]).lower() == contract.topic(_OPENED) for log in logs):
                break
            last = start - 1
        return found

    async def _range(self) -> tuple[int, int]:
        """The node's blocks that the case's events can be in: all of them, unless its headers name the blocks below."""
        newest = await self._rpc.number("eth_blockNumber")
        if await self._below(newest) is None:
            return 0, newest
        first, last = self._case.opened_in, max(self._case.opened_in, *self._case.voted_in)
        return await self._first_from(first, newest), await self._first_from(last + 1, newest)

    async def _first_from(self, below: int, newest: int) -> int:
        """The first of the node's blocks that was made at that block of the chain below or later."""
        low, high = 0, newest
        while low < high:
            middle = (low + high) // 2
            if (await self._below(middle) or 0) < below:
                low = middle + 1
            else:
                high = middle
        return low

    async def _below(self, block: int) -> int | None:
        """The block of the chain below, as headers of Arbitrum name it."""
        header = await self._rpc.call("eth_getBlockByNumber", hex(block), False)
        number = header.get("l1BlockNumber") if isinstance(header, dict) else None
        return int(number, 16) if isinstance(number, str) else None


async def mined_in(rpc: Rpc, address: str, tx_hash: str) -> CaseEvent | None:
    """The event of a case that a transaction left, found by its hash; None if the node does not have it (yet)."""
    receipt = await rpc.call("eth_getTransactionReceipt", tx_hash)
    logs = receipt.get("logs", ()) if isinstance(receipt, dict) else ()
    return next((_event_of(log) for log in logs if str(log["address"]).lower() == address.lower()), None)


def _event_of(log: dict[str, Any]) -> CaseEvent:
    return CaseEvent(str(log["transactionHash"]).lower(), int(log["blockNumber"], 16))
