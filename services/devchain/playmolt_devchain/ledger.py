"""The chain itself: py-evm's blocks, state and rules on a store, one transaction a block.

Only this module and `store` know py-evm, so that another EVM could take its place.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from eth.abc import BlockAPI, BlockHeaderAPI, ComputationAPI, ReceiptAPI, SignedTransactionAPI, StateAPI
from eth.chains.base import MiningChain
from eth.constants import BLANK_ROOT_HASH
from eth.exceptions import (
    CanonicalHeadNotFound,
    HeaderNotFound,
    PyEVMError,
    Revert,
    TransactionNotFound,
    UnrecognizedTransactionType,
)
from eth.vm.forks.shanghai import ShanghaiVM
from eth.vm.spoof import SpoofTransaction
from eth_typing import Address, BlockNumber, Hash32
from eth_utils.exceptions import ValidationError
from rlp.exceptions import RLPException  # type: ignore[import-untyped]  # it has no types

from playmolt_devchain.store import Store

CHAIN_ID = 20_557
BLOCK_GAS = 6_000_000
"""Also the limit of a call: a few seconds of one core."""
MAX_TRANSACTION = 128 * 1024
TIP = 10**9
_GENESIS_TIME = 1_767_225_600
_GENESIS_WEI = 10**30
_FILE = "chain.sqlite"


class Rejected(Exception):
    """A rejected transaction or call, with the usual message of nodes."""


class CallReverted(Exception):
    """A call reverted by its contract, with the returned bytes."""

    def __init__(self, output: bytes) -> None:
        super().__init__("execution reverted")
        self.output = output


class Mined(NamedTuple):
    """A transaction and its block, which has no other."""

    block: BlockAPI
    transaction: SignedTransactionAPI
    receipt: ReceiptAPI


class Call(NamedTuple):
    """A simulated call. An empty `to` creates a contract."""

    sender: Address
    to: Address
    data: bytes
    value: int
    gas: int


class _Chain(MiningChain):
    chain_id = CHAIN_ID
    vm_configuration = ((BlockNumber(0), ShanghaiVM),)

    def create_header_from_parent(self, parent_header: BlockHeaderAPI, **header_params: Any) -> BlockHeaderAPI:
        # Otherwise the limit drifts with use until a contract no longer fits into a block.
        return super().create_header_from_parent(
            parent_header, **{**header_params, "gas_limit": parent_header.gas_limit}
        )


class Ledger:
    """A chain stored in a folder. `rich` owns all funds of a new chain. Not thread-safe."""

    def __init__(self, folder: Path, rich: Address, clock: Callable[[], float] = time.time) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._clock = clock
        self._store = Store(folder / _FILE)
        self._chain = self._opened(rich)

    def close(self) -> None:
        """Release the folder."""
        self._store.close()

    def _opened(self, rich: Address) -> _Chain:
        try:
            return _Chain(self._store)
        except CanonicalHeadNotFound:
            with self._store.unit():
                _Chain.from_genesis(self._store, _genesis(), {rich: _account(_GENESIS_WEI)})
            return _Chain(self._store)

    @property
    def height(self) -> int:
        """The number of the newest block."""
        return self._head.block_number or 0

    @property
    def price(self) -> int:
        """Wei per gas in the next block."""
        return (self._coming().base_fee_per_gas or 0) + TIP

    def send(self, raw: bytes) -> Hash32:
        """Mine a signed transaction and store it durably; returns its hash. Raises Rejected."""
        transaction = self._decoded(raw)
        self._check(transaction)
        header = self._coming()
        self._chain.header = header
        try:
            with self._store.unit():
                self._chain.mine_all([transaction])
        except ValidationError as error:
            raise Rejected(str(error)) from None
        finally:
            # The chain object caches reads, possibly of rolled back data.
            self._chain = _Chain(self._store)
        return transaction.hash

    def call(self, call: Call, block: int | None) -> bytes:
        """The result of a call after a block, or in the pending one (None). Raises CallReverted and Rejected."""
        return bytes(_good(self._tried(call, block, call.gas)).output)

    def estimate(self, call: Call, block: int | None) -> int:
        """A sufficient gas limit for a call in the current state. Raises CallReverted and Rejected."""
        computation = _good(self._tried(call, block, BLOCK_GAS))
        used = self._intrinsic(call) + computation.get_gas_used()
        # A nested call gets 63/64 of the remaining gas, so the used gas may not suffice as a limit.
        enough = min(used + used // 32 + 5_000, BLOCK_GAS)
        return BLOCK_GAS if self._tried(call, block, enough).is_error else enough

    def state(self, block: int | None) -> StateAPI:
        """The accounts after a block, or in the pending one (None)."""
        return self._chain.get_vm(self._free(block)).state

    def header(self, number: int) -> BlockHeaderAPI:
        """A block's header. Raises Rejected if it does not exist."""
        try:
            return self._chain.get_canonical_block_header_by_number(BlockNumber(number))
        except (HeaderNotFound, ValidationError):
            raise Rejected(f"no block {number}: the newest is {self.height}") from None

    def block(self, number: int) -> BlockAPI:
        """A block. Raises Rejected if it does not exist."""
        return self._chain.get_block_by_header(self.header(number))

    def coming(self) -> BlockHeaderAPI:
        """The header of the pending block."""
        return self._coming()

    def mined(self, transaction_hash: Hash32) -> Mined | None:
        """A mined transaction, or None."""
        try:
            number, index = self._chain.get_canonical_transaction_index(transaction_hash)
        except TransactionNotFound:
            return None
        return Mined(
            self.block(number),
            self._chain.get_canonical_transaction_by_index(number, index),
            self._chain.get_transaction_receipt_by_index(number, index),
        )

    @property
    def _head(self) -> BlockHeaderAPI:
        return self._chain.get_canonical_head()

    def _coming(self) -> BlockHeaderAPI:
        head = self._head
        return self._chain.create_header_from_parent(head, timestamp=max(int(self._clock()), head.timestamp + 1))

    def _free(self, block: int | None) -> BlockHeaderAPI:
        header = self._coming() if block is None else self.header(block)
        return header.copy(base_fee_per_gas=0)

    def _decoded(self, raw: bytes) -> SignedTransactionAPI:
        if len(raw) > MAX_TRANSACTION:
            raise Rejected(f"oversized data: {len(raw)} bytes, at most {MAX_TRANSACTION}")
        try:
            transaction = self._chain.get_vm().get_transaction_builder().decode(raw)
            transaction.check_signature_validity()
        except (RLPException, ValidationError, UnrecognizedTransactionType, ValueError, TypeError) as error:
            raise Rejected(f"invalid signed transaction: {str(error)[:200]}") from None
        return transaction

    def _check(self, transaction: SignedTransactionAPI) -> None:
        if transaction.chain_id != CHAIN_ID:
            raise Rejected(f"invalid chain id for signer: have {transaction.chain_id} want {CHAIN_ID}")
        if self.mined(transaction.hash) is not None:
            raise Rejected("already known")
        accounts = self.state(None)
        if transaction.gas < transaction.intrinsic_gas:
            raise Rejected(f"intrinsic gas too low: have {transaction.gas}, want {transaction.intrinsic_gas}")
        nonce, balance = accounts.get_nonce(transaction.sender), accounts.get_balance(transaction.sender)
        if transaction.nonce != nonce:
            side = "low" if transaction.nonce < nonce else "high"
            raise Rejected(f"nonce too {side}: next nonce {nonce}, tx nonce {transaction.nonce}")
        if transaction.gas > BLOCK_GAS:
            raise Rejected(f"exceeds block gas limit: {transaction.gas} > {BLOCK_GAS}")
        cost = transaction.gas * transaction.max_fee_per_gas + transaction.value
        if balance < cost:
            raise Rejected(f"insufficient funds for gas * price + value: balance {balance}, tx cost {cost}")

    def _tried(self, call: Call, block: int | None, gas: int) -> ComputationAPI:
        state = self.state(block)
        if state.get_balance(call.sender) < call.value:
            raise Rejected(f"insufficient funds for transfer: balance {state.get_balance(call.sender)}")
        transaction = self._chain.create_unsigned_transaction(
            nonce=state.get_nonce(call.sender),
            gas_price=0,
            gas=min(gas, BLOCK_GAS),
            to=call.to,
            value=call.value,
            data=call.data,
        )
        try:
            return state.apply_transaction(SpoofTransaction(transaction, from_=call.sender))  # type: ignore[arg-type]  # replaces a signed one
        except (ValidationError, PyEVMError) as error:
            raise Rejected(str(error)) from None

    def _intrinsic(self, call: Call) -> int:
        return self._chain.create_unsigned_transaction(
            nonce=0, gas_price=0, gas=BLOCK_GAS, to=call.to, value=call.value, data=call.data
        ).intrinsic_gas


def _good(computation: ComputationAPI) -> ComputationAPI:
    if computation.is_success:
        return computation
    if isinstance(computation.error, Revert):
        raise CallReverted(bytes(computation.output))
    raise Rejected(f"execution failed: {type(computation.error).__name__}: {computation.error}"[:300])


def _genesis() -> dict[str, Any]:
    return {
        "coinbase": bytes(20),
        "difficulty": 0,
        "extra_data": b"playmolt",
        "gas_limit": BLOCK_GAS,
        "mix_hash": bytes(32),
        "nonce": bytes(8),
        "receipt_root": BLANK_ROOT_HASH,
        "timestamp": _GENESIS_TIME,
        "transaction_root": BLANK_ROOT_HASH,
    }


def _account(wei: int) -> Any:
    return {"balance": wei, "nonce": 0, "code": b"", "storage": {}}
