"""The jury's chain behind any JSON-RPC node: the embedded one, Anvil, a testnet."""

import time
from collections.abc import Sequence

from msgspec.structs import replace

from playmolt_jury.chain import contract, keys, reading
from playmolt_jury.chain.contract import GUILTY, OPEN, ContractSnapshot
from playmolt_jury.chain.events import CaseEvent, CaseEvents, mined_in
from playmolt_jury.chain.keys import Keys
from playmolt_jury.chain.port import (
    OPEN_SECONDS,
    Case,
    ChainFault,
    ChainUnavailable,
    DeployedContract,
    MinedVote,
    MissingCase,
    Reverted,
    Verdict,
)
from playmolt_jury.chain.rpc import PAUSES, Rpc
from playmolt_jury.chain.wallet import SLOW_SECONDS, Wallet

MARGIN_SECONDS = 600
"""No vote is sent this close to the deadline: it would revert if mined later."""
MINED_SECONDS = 90.0
_SETTLED = frozenset({"AlreadyVoted", "Closed"})
"""Contract errors that mean another process or the deadline was faster."""
_VOTE_GAS = 200_000
_VOTE_ROOM = 2
"""How much the gas price may rise between deployment and a vote before the deployer pays again."""


class JsonRpcChain:
    """`Chain` over a node. `deployer_key` pays, see `keys.deployer_key`; `secret` as for `Keys`.

    `open_seconds` is how long a new case accepts votes, `mined_seconds` how long a call waits for a block before it
    raises ChainUnavailable. A payment still pending after `slow_seconds` is sent again at a higher price; `pauses` come
    before the further tries of a request. A verdict needs `confirmations` blocks, counted from the block of the last
    vote.
    Create it inside the event loop that uses it.
    """

    def __init__(
        self,
        url: str,
        deployer_key: str,
        secret: str = "",
        *,
        open_seconds: int = OPEN_SECONDS,
        mined_seconds: float = MINED_SECONDS,
        slow_seconds: float = SLOW_SECONDS,
        pauses: Sequence[float] = PAUSES,
        confirmations: int = 0,
    ) -> None:
        self._rpc = Rpc(url, pauses=pauses)
        self._keys = Keys(deployer_key, secret)
        self._wallet = Wallet(self._rpc, self._keys, mined_seconds, slow_seconds)
        self._open_seconds = open_seconds
        self._confirmations = confirmations

    async def close(self) -> None:
        await self._rpc.close()

    async def deploy(self, case: Case) -> DeployedContract:
        """ChainFault when the case was opened for another log."""
        address = self._address(case)

        async def standing() -> ContractSnapshot | None:
            return await reading.find_case(self._rpc, address, "latest")

        now, sent = await standing(), ""
        if now is None:
            sent = await self._open(case)
            now = await self._wallet.until(standing, f"the jury of {case.session}")
        if now.log_hash != _log_hash(case) or list(now.jurors) != self._jurors(case):
            raise ChainFault(f"the jury of {case.session} at {address} belongs to another log or other jurors")
        opened = await self._mined(address, sent) or await CaseEvents(self._rpc, address, now).opening()
        return DeployedContract(address=address, tx_hash=opened.tx_hash, chain_id=await self._wallet.chain_id())

    async def vote(self, case: Case, juror_id: str, guilty: bool) -> MinedVote:
        """`guilty` is None when the case closed at its deadline without this vote."""
        await self._on_its_chain(case)
        key = self._keys.juror(case, juror_id)
        address, place = self._address(case), case.jurors.index(juror_id)

        async def settled() -> ContractSnapshot | None:
            now = await reading.read_case(self._rpc, address, "latest")
            if now.ballots[place] == OPEN:
                now, _ = await reading.mined_and_pending(self._rpc, address)
            return now if now.outcome != OPEN or now.ballots[place] != OPEN else None

        now, coming = await reading.mined_and_pending(self._rpc, address)
        sent = ""
        if now.outcome == OPEN and now.ballots[place] == OPEN:
            if coming.ballots[place] == OPEN:
                sent = await self._cast(key, address, place, guilty, coming)
            now = await self._wallet.until(settled, f"the vote of {juror_id} in {case.session}")
        cast, event = now.ballots[place] != OPEN, None
        if cast:
            event = await self._mined(address, sent) or await CaseEvents(self._rpc, address, now).vote(place)
        return MinedVote(
            juror_id=juror_id,
            address=keys.address_of(key),
            guilty=now.ballots[place] == GUILTY if cast else None,
            tx_hash=event.tx_hash if event else "",
        )

    async def verdict(self, case: Case) -> Verdict:
        await self._on_its_chain(case)
        # Asked before the case: blocks that come while it is read count for nothing.
        height = await self._rpc.number("eth_blockNumber")
        found, last = await reading.read_verdict(self._rpc, self._address(case))
        if found.guilty is not None and (blocks := height - last + 1) < self._confirmations:
            raise ChainUnavailable(
                f"the last vote of the case at {found.contract} has {max(blocks, 0)} of {self._confirmations}"
                " confirmations"
            )
        votes = zip(case.jurors, found.votes, strict=True)
        return replace(found, votes=tuple(replace(vote, juror_id=juror) for juror, vote in votes))

    async def _mined(self, address: str, tx_hash: str) -> CaseEvent | None:
        return await mined_in(self._rpc, address, tx_hash) if tx_hash else None

    async def _on_its_chain(self, case: Case) -> None:
        now = await self._wallet.present_chain_id()
        if case.chain_id not in (0, now):
            raise MissingCase(f"the node is of chain {now}, the case was opened on chain {case.chain_id}")

    def _address(self, case: Case) -> str:
        return keys.contract_of(keys.address_of(self._keys.session(case)), 0)

    def _jurors(self, case: Case) -> list[str]:
        return [keys.address_of(self._keys.juror(case, juror)) for juror in case.jurors]

    async def _open(self, case: Case) -> str:
        """Returns the hash of the transaction."""
        data = contract.creation(self._jurors(case), _log_hash(case), await self._deadline())
        price = await self._wallet.price()
        gas = await self._wallet.creation_gas(data, len(case.jurors))
        shares = _VOTE_GAS * _VOTE_ROOM * price * len(case.jurors)
        key = self._keys.session(case)
        await self._wallet.fill(keys.address_of(key), 0, gas * price + shares, price)
        return await self._wallet.send(key, 0, "", data, gas, price, shares)

    async def _deadline(self) -> int:
        block = await self._rpc.call("eth_getBlockByNumber", "latest", False)
        return max(int(time.time()), int(block["timestamp"], 16)) + self._open_seconds

    async def _cast(self, key: bytes, address: str, place: int, guilty: bool, coming: ContractSnapshot) -> str:
        """Returns the hash of the transaction; "" if the vote is there already, or cannot be cast any more."""
        if coming.time > coming.deadline - MARGIN_SECONDS:
            raise ChainUnavailable(
                f"the case at {address} closes in {coming.deadline - coming.time} s: too late to vote safely"
            )
        data, juror = contract.vote_call(guilty), keys.address_of(key)
        # A chain that was reset during an earlier try may have taken that vote before the contract existed. If at one
        # block the nonce is spent and the ballot open, the transaction that spent it was not a vote.
        block = await self._rpc.number("eth_blockNumber")
        nonce = await self._wallet.sent(juror, block)
        if nonce and (await reading.read_case(self._rpc, address, hex(block))).ballots[place] != OPEN:
            return ""
        try:
            # The estimate runs the vote as the next block would: one that the contract refuses is never sent.
            gas = await self._wallet.call_gas(juror, address, data)
        except Reverted as refused:
            if refused.error in _SETTLED:
                return ""
            raise
        price = await self._wallet.price()
        await self._wallet.fill(juror, nonce, gas * price, price)
        return await self._wallet.send(key, nonce, address, data, gas, price)


def _log_hash(case: Case) -> bytes:
    return bytes.fromhex(case.log_hash.removeprefix("0x"))
