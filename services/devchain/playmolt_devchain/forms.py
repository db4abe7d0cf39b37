"""Blocks, transactions, receipts and logs as Ethereum's JSON-RPC writes them."""

from typing import Any

import rlp  # type: ignore[import-untyped]  # it has no types
from eth.abc import BlockAPI, BlockHeaderAPI, LogAPI, SignedTransactionAPI
from eth_utils.crypto import keccak

from playmolt_devchain.ledger import CHAIN_ID, Mined

_NO_UNCLES = "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347"


def data(raw: bytes) -> str:
    return "0x" + raw.hex()


def header(found: BlockHeaderAPI) -> dict[str, object]:
    """A header without its hash, which pending blocks do not have."""
    return {
        "number": hex(found.block_number or 0),
        "parentHash": data(found.parent_hash),
        "timestamp": hex(found.timestamp),
        "gasLimit": hex(found.gas_limit),
        "gasUsed": hex(found.gas_used),
        "baseFeePerGas": hex(found.base_fee_per_gas or 0),
        "stateRoot": data(found.state_root),
        "transactionsRoot": data(found.transaction_root),
        "receiptsRoot": data(found.receipt_root),
        "logsBloom": data(found.bloom.to_bytes(256, "big")),
        "miner": data(found.coinbase),
        "extraData": data(found.extra_data),
        "difficulty": hex(found.difficulty),
        "mixHash": data(found.mix_hash),
        "nonce": data(found.nonce),
        "sha3Uncles": _NO_UNCLES,
        "uncles": [],
        "withdrawals": [],
    }


def block(found: BlockAPI, full: bool) -> dict[str, Any]:
    """A mined block with its transactions, whole or as hashes."""
    sent = [transaction(found, each) if full else data(each.hash) for each in found.transactions]
    size = hex(len(rlp.encode(found)))
    return {**header(found.header), "hash": data(found.hash), "size": size, "transactions": sent}


def transaction(place: BlockAPI, sent: SignedTransactionAPI) -> dict[str, object]:
    kind = _kind(sent)
    fees = {"maxFeePerGas": hex(sent.max_fee_per_gas), "maxPriorityFeePerGas": hex(sent.max_priority_fee_per_gas)}
    return {
        **_place(place),
        "hash": data(sent.hash),
        "type": hex(kind),
        "chainId": hex(CHAIN_ID),
        "nonce": hex(sent.nonce),
        "from": data(sent.sender),
        "to": data(sent.to) if sent.to else None,
        "value": hex(sent.value),
        "gas": hex(sent.gas),
        "gasPrice": hex(_price(place, sent)),
        "input": data(sent.data),
        "r": hex(sent.r),
        "s": hex(sent.s),
        "v": hex(sent.y_parity + (0 if kind else 35 + 2 * CHAIN_ID)),
        **(fees if kind == 2 else {}),
    }


def receipt(found: Mined) -> dict[str, object]:
    place, sent, result = found
    created = None if sent.to else data(keccak(rlp.encode([sent.sender, sent.nonce]))[12:])
    return {
        **_place(place),
        "transactionHash": data(sent.hash),
        "type": hex(_kind(sent)),
        "from": data(sent.sender),
        "to": data(sent.to) if sent.to else None,
        "contractAddress": created,
        "status": hex(int.from_bytes(result.state_root, "big")),
        "gasUsed": hex(result.gas_used),
        "cumulativeGasUsed": hex(result.gas_used),
        "effectiveGasPrice": hex(_price(place, sent)),
        "logs": [log(found, index, entry) for index, entry in enumerate(result.logs)],
        "logsBloom": data(result.bloom.to_bytes(256, "big")),
    }


def log(found: Mined, index: int, entry: LogAPI) -> dict[str, object]:
    return {
        **_place(found.block),
        "transactionHash": data(found.transaction.hash),
        "logIndex": hex(index),
        "address": data(entry.address),
        "topics": [data(topic.to_bytes(32, "big")) for topic in entry.topics],
        "data": data(entry.data),
        "removed": False,
    }


def _kind(sent: SignedTransactionAPI) -> int:
    return getattr(sent, "type_id", None) or 0


def _place(found: BlockAPI) -> dict[str, str]:
    # One transaction a block: it is always the first.
    return {"blockHash": data(found.hash), "blockNumber": hex(found.number), "transactionIndex": "0x0"}


def _price(place: BlockAPI, sent: SignedTransactionAPI) -> int:
    return min(sent.max_fee_per_gas, (place.header.base_fee_per_gas or 0) + sent.max_priority_fee_per_gas)
