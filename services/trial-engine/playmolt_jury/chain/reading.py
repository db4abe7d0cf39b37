"""Reads a case by the address of its contract, without a key."""

from typing import NamedTuple

from playmolt_jury.chain import contract
from playmolt_jury.chain.contract import GUILTY, NOT_GUILTY, OPEN, ContractSnapshot
from playmolt_jury.chain.events import CaseEvents
from playmolt_jury.chain.port import ChainFault, MinedVote, MissingCase, Verdict
from playmolt_jury.chain.rpc import Rpc

_EMPTY = "0x"
"""The result of a call to an address without a contract."""


class CaseVerdict(NamedTuple):
    """A verdict, and the block of the last event that it rests on, by the numbers of `eth_blockNumber`."""

    verdict: Verdict
    block: int


async def read_chain(url: str, address: str) -> Verdict:
    """Read a case from a node. The votes' `juror_id` is "": a contract knows addresses only.

    A vote's `tx_hash` is "" if the node no longer has the events of its block. ChainUnavailable when the node is
    unavailable, ChainFault when `address` is not a JuryVoting contract of this build.
    """
    rpc = Rpc(url)
    try:
        return (await read_verdict(rpc, address, forgetful=True)).verdict
    finally:
        await rpc.close()


async def read_verdict(rpc: Rpc, address: str, *, forgetful: bool = False) -> CaseVerdict:
    """As `read_chain`, over an existing connection. Events that are missing are ChainUnavailable, unless the node may
    be `forgetful`."""
    # Sequential, since nodes may limit concurrent calls.
    chain_id, code = await rpc.number("eth_chainId"), await rpc.call("eth_getCode", address, "latest")
    now, _ = await mined_and_pending(rpc, address)
    if code != contract.deployed_code(len(now.jurors)):
        raise ChainFault(f"the code at {address} on chain {chain_id} is not JuryVoting of this build")
    events = CaseEvents(rpc, address, now, forgetful=forgetful)
    found = [await events.vote(place) if _cast(now, place) else None for place in range(len(now.jurors))]
    votes = [
        MinedVote(
            juror_id="",
            address=now.jurors[place],
            guilty=now.ballots[place] == GUILTY if _cast(now, place) else None,
            tx_hash=event.tx_hash if event else "",
        )
        for place, event in enumerate(found)
    ]
    last = max((event.block for event in found if event), default=0) or (await events.opening()).block
    verdict = Verdict(
        contract=address.lower(),
        chain_id=chain_id,
        log_hash="0x" + now.log_hash.hex(),
        deadline=now.deadline,
        guilty=None if now.outcome == OPEN else now.outcome == GUILTY,
        guilty_votes=now.guilty,
        not_guilty_votes=now.not_guilty,
        votes=tuple(votes),
    )
    return CaseVerdict(verdict, last)


def _cast(case: ContractSnapshot, place: int) -> bool:
    return case.ballots[place] in {GUILTY, NOT_GUILTY}


async def read_case(rpc: Rpc, address: str, block: str) -> ContractSnapshot:
    """Call `reading()` at a block; MissingCase when the address has no such contract."""
    found = await find_case(rpc, address, block)
    if found is None:
        raise _nothing_at(address)
    return found


async def find_case(rpc: Rpc, address: str, block: str) -> ContractSnapshot | None:
    """As `read_case`; None when the address has no code.

    Found out by the call itself: a node may report the code a moment before its calls can run it.
    """
    output = await rpc.call("eth_call", {"to": address, "data": "0x" + contract.reading_call().hex()}, block)
    if output == _EMPTY:
        return None
    try:
        return contract.snapshot_of(bytes.fromhex(output[2:]))
    except ValueError:
        raise _nothing_at(address) from None


def _nothing_at(address: str) -> MissingCase:
    return MissingCase(f"no JuryVoting contract at {address}: this is not the chain of the session's vote")


async def mined_and_pending(rpc: Rpc, address: str) -> tuple[ContractSnapshot, ContractSnapshot]:
    """Read a case as mined, and as the next block would find it.

    A case whose deadline has passed since the last block counts as closed in both.
    """
    mined = await read_case(rpc, address, "latest")
    if mined.outcome != OPEN:
        return mined, mined
    coming = await read_case(rpc, address, "pending")
    # If the next block will be later than the deadline, nothing that still waits can count.
    return (coming, coming) if coming.time > coming.deadline else (mined, coming)
