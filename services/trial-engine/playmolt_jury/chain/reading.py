"""Reads a case by the address of its contract, without a key."""

from playmolt_jury.chain import contract
from playmolt_jury.chain.contract import GUILTY, NOT_GUILTY, OPEN, ContractSnapshot
from playmolt_jury.chain.port import ChainFault, ChainUnavailable, MinedVote, MissingCase, Verdict
from playmolt_jury.chain.rpc import Rpc

_VOTED = "Voted(address,bool)"
_OPENED = "Opened(bytes32,uint256)"
_EMPTY = "0x"
"""The result of a call to an address without a contract."""


async def read_chain(url: str, address: str) -> Verdict:
    """Read a case from a node. The votes' `juror_id` is "": a contract knows addresses only.

    ChainUnavailable when the node is unavailable, ChainFault when `address` is not a JuryVoting contract of this build.
    """
    rpc = Rpc(url)
    try:
        return await read_verdict(rpc, address)
    finally:
        await rpc.close()


async def read_verdict(rpc: Rpc, address: str) -> Verdict:
    """As `read_chain`, over an existing connection."""
    # Sequential, since nodes may limit concurrent calls.
    chain_id, code = await rpc.number("eth_chainId"), await rpc.call("eth_getCode", address, "latest")
    now, _ = await mined_and_pending(rpc, address)
    if code != contract.deployed_code(len(now.jurors)):
        raise ChainFault(f"the code at {address} on chain {chain_id} is not JuryVoting of this build")
    votes = [await _vote(rpc, address, now, place) for place in range(len(now.jurors))]
    return Verdict(
        contract=address.lower(),
        chain_id=chain_id,
        log_hash="0x" + now.log_hash.hex(),
        deadline=now.deadline,
        guilty=None if now.outcome == OPEN else now.outcome == GUILTY,
        guilty_votes=now.guilty,
        not_guilty_votes=now.not_guilty,
        votes=tuple(votes),
    )


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


async def opening_transaction(rpc: Rpc, address: str, case: ContractSnapshot) -> str:
    """The hash of the transaction that opened a case."""
    return await _transaction(rpc, address, case.opened_in, [contract.topic(_OPENED)])


async def vote_transaction(rpc: Rpc, address: str, case: ContractSnapshot, place: int) -> str:
    """The hash of the transaction of a vote that was cast."""
    juror = "0x" + case.jurors[place][2:].rjust(64, "0")
    return await _transaction(rpc, address, case.voted_in[place], [contract.topic(_VOTED), juror])


async def _vote(rpc: Rpc, address: str, case: ContractSnapshot, place: int) -> MinedVote:
    cast = case.ballots[place] in {GUILTY, NOT_GUILTY}
    return MinedVote(
        juror_id="",
        address=case.jurors[place],
        guilty=case.ballots[place] == GUILTY if cast else None,
        tx_hash=await vote_transaction(rpc, address, case, place) if cast else "",
    )


async def _transaction(rpc: Rpc, address: str, block: int, topics: list[str]) -> str:
    # The contract says which block to look in: public nodes refuse to search long ranges.
    logs = await rpc.found(
        "eth_getLogs", {"address": address, "fromBlock": hex(block), "toBlock": hex(block), "topics": topics}
    )
    if not logs:
        raise ChainUnavailable(f"the chain at {rpc.where} does not show the events of block {block} now")
    return str(logs[0]["transactionHash"])
