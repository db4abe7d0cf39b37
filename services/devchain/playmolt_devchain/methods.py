"""The JSON-RPC methods that wallets and the jury need."""

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from eth.abc import BlockAPI, LogAPI
from eth_typing import Address, Hash32

from playmolt_devchain import forms
from playmolt_devchain.ledger import BLOCK_GAS, CHAIN_ID, TIP, Call, CallReverted, Ledger, Rejected

CLIENT = "playmolt-evm/1"
MAX_RANGE = 2_000
"""Blocks that one eth_getLogs may search."""
_HEX = re.compile(r"0x([0-9a-fA-F]{2})*")
_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}")
_NEWEST = frozenset({"latest", "safe", "finalized"})


class RpcError(Exception):
    """An error object of JSON-RPC 2.0 (EIP-1474's codes)."""

    def __init__(self, code: int, message: str, data: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class Methods:
    """Answers calls. Not thread-safe, like the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._table: dict[str, Callable[..., object]] = {
            "web3_clientVersion": lambda: CLIENT,
            "net_version": lambda: str(CHAIN_ID),
            "eth_chainId": lambda: hex(CHAIN_ID),
            "eth_blockNumber": lambda: hex(ledger.height),
            "eth_gasPrice": lambda: hex(ledger.price),
            "eth_maxPriorityFeePerGas": lambda: hex(TIP),
            "eth_getBalance": self._balance,
            "eth_getTransactionCount": self._nonce,
            "eth_getCode": self._code,
            "eth_call": self._call,
            "eth_estimateGas": self._estimate,
            "eth_sendRawTransaction": self._send,
            "eth_getTransactionByHash": self._transaction,
            "eth_getTransactionReceipt": self._receipt,
            "eth_getBlockByNumber": self._block,
            "eth_getLogs": self._logs,
        }

    def answer(self, method: str, params: list[Any]) -> Any:
        """A call's result. Raises RpcError."""
        found = self._table.get(method)
        if found is None:
            raise RpcError(-32601, f"method {method} does not exist. Methods: {', '.join(self._table)}")
        try:
            inspect.signature(found).bind(*params)
        except TypeError:
            raise RpcError(-32602, f"{method} does not take {len(params)} params") from None
        try:
            return found(*params)
        except CallReverted as reverted:
            raise RpcError(3, "execution reverted", forms.data(reverted.output)) from None
        except Rejected as rejected:
            raise RpcError(-32000, str(rejected)) from None

    def _balance(self, address: object, block: object = "latest") -> str:
        return hex(self._ledger.state(self._number(block)).get_balance(_address(address)))

    def _nonce(self, address: object, block: object = "latest") -> str:
        return hex(self._ledger.state(self._number(block)).get_nonce(_address(address)))

    def _code(self, address: object, block: object = "latest") -> str:
        return forms.data(self._ledger.state(self._number(block)).get_code(_address(address)))

    def _call(self, call: object, block: object = "latest") -> str:
        return forms.data(self._ledger.call(_called(call), self._number(block)))

    def _estimate(self, call: object, block: object = "pending") -> str:
        return hex(self._ledger.estimate(_called(call), self._number(block)))

    def _send(self, raw: object) -> str:
        return forms.data(self._ledger.send(_data(raw)))

    def _transaction(self, transaction_hash: object) -> dict[str, object] | None:
        found = self._ledger.mined(_hash(transaction_hash))
        return forms.transaction(found.block, found.transaction) if found else None

    def _receipt(self, transaction_hash: object) -> dict[str, object] | None:
        found = self._ledger.mined(_hash(transaction_hash))
        return forms.receipt(found) if found else None

    def _block(self, block: object, full: object = False) -> dict[str, object] | None:
        number = self._number(block)
        if number is None:
            return {**forms.header(self._ledger.coming()), "hash": None, "transactions": []}
        return forms.block(self._ledger.block(number), full is True) if number <= self._ledger.height else None

    def _logs(self, wanted: object) -> list[dict[str, object]]:
        if not isinstance(wanted, dict) or wanted.keys() - {"fromBlock", "toBlock", "address", "topics"}:
            raise RpcError(-32602, "the filter must be an object with fromBlock, toBlock, address and topics")
        first, last = (self._bound(wanted.get(end, "latest")) for end in ("fromBlock", "toBlock"))
        if last - first >= MAX_RANGE:
            raise RpcError(-32005, f"the range has {last - first + 1} blocks: search at most {MAX_RANGE} at once")
        matches = _matcher(wanted)
        return [
            entry for number in range(first, last + 1) for entry in self._logs_of(self._ledger.block(number), matches)
        ]

    def _logs_of(self, block: BlockAPI, matches: Callable[[LogAPI], bool]) -> list[dict[str, object]]:
        found = [mined for sent in block.transactions if (mined := self._ledger.mined(Hash32(sent.hash)))]
        return [
            forms.log(mined, index, entry)
            for mined in found
            for index, entry in enumerate(mined.receipt.logs)
            if matches(entry)
        ]

    def _bound(self, block: object) -> int:
        number = self._number(block)
        return self._ledger.height if number is None else min(number, self._ledger.height)

    def _number(self, block: object) -> int | None:
        if block in _NEWEST or block is None:
            return self._ledger.height
        if block == "pending":
            return None
        return 0 if block == "earliest" else _quantity(block)


def _matcher(wanted: Mapping[str, object]) -> Callable[[LogAPI], bool]:
    addresses = {_address(text) for text in _several(wanted.get("address"))}
    topics = [{int.from_bytes(_hash(text), "big") for text in _several(one)} for one in _several(wanted.get("topics"))]

    def matches(entry: LogAPI) -> bool:
        if (addresses and entry.address not in addresses) or len(topics) > len(entry.topics):
            return False
        return all(not any_of or topic in any_of for any_of, topic in zip(topics, entry.topics, strict=False))

    return matches


def _several(value: object) -> list[object]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _called(call: object) -> Call:
    if not isinstance(call, dict):
        raise RpcError(-32602, "the call must be an object with from, to, data, value and gas")
    return Call(
        sender=_address(call.get("from") or "0x" + "00" * 20),
        to=_address(call["to"]) if call.get("to") else Address(b""),
        data=_data(call.get("input") or call.get("data") or "0x"),
        value=_quantity(call.get("value") or "0x0"),
        gas=_quantity(call.get("gas") or hex(BLOCK_GAS)),
    )


def _data(text: object) -> bytes:
    if not isinstance(text, str) or not _HEX.fullmatch(text):
        raise RpcError(-32602, f"{str(text)[:80]!r} is not bytes: use 0x and an even number of hex digits")
    return bytes.fromhex(text[2:])


def _quantity(text: object) -> int:
    if not isinstance(text, str) or not _QUANTITY.fullmatch(text):
        raise RpcError(-32602, f"{str(text)[:80]!r} is not a quantity: use 0x and 1 to 64 hex digits")
    return int(text, 16)


def _address(text: object) -> Address:
    raw = _data(text)
    if len(raw) != 20:
        raise RpcError(-32602, f"{str(text)[:80]!r} is not an address: use 0x and 40 hex digits")
    return Address(raw)


def _hash(text: object) -> Hash32:
    raw = _data(text)
    if len(raw) != 32:
        raise RpcError(-32602, f"{str(text)[:80]!r} is not a hash: use 0x and 64 hex digits")
    return Hash32(raw)
