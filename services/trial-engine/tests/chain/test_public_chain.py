"""What a public test network does to a vote: a foreign chain id, gas that becomes ten times dearer, blocks that go."""

from collections.abc import Callable

import pytest
from chain_nodes import JURORS, Node, case
from playmolt_jury.chain.contract import topic
from playmolt_jury.chain.jsonrpc import JsonRpcChain
from playmolt_jury.chain.port import Case, ChainUnavailable
from playmolt_jury.chain.reading import read_chain
from playmolt_jury.workers.chain_worker import _found

SEPOLIA = 11155111
GWEI = 10**9
GUILTY = ("ophiuchus", "radical", "opportunist")


async def test_no_vote_is_lost_and_none_counts_twice(
    anvils: Callable[..., Node], chains: Callable[..., JsonRpcChain], sessions: Callable[[], str]
) -> None:
    node = anvils("--chain-id", str(SEPOLIA))
    chain, asked = chains(node), case(sessions())
    deployed = await chain.deploy(asked)
    assert deployed.chain_id == SEPOLIA
    cast = []
    for place, juror in enumerate(JURORS):
        node.ask("anvil_setNextBlockBaseFeePerGas", hex(GWEI * 10 ** min(place, 3)))
        await chain.vote(asked, juror, juror in GUILTY)
        cast.append((juror, juror in GUILTY))
    node.ask("anvil_reorg", 3, [])
    assert len(await _standing(node, deployed.address)) < len(JURORS), "votes went with their blocks"

    found = await _found(chain, "effect", asked, cast)

    votes = {vote.juror_id: (vote.guilty, vote.tx_hash) for vote in found.votes}
    assert [(juror, guilty) for juror, (guilty, _) in votes.items()] == cast
    assert (found.guilty, found.guilty_votes, found.not_guilty_votes) == (True, 3, 2)
    assert await _standing(node, deployed.address) == {tx_hash for _, tx_hash in votes.values()}
    assert {receipt["status"] for receipt in node.transactions()} == {"0x1"}, "no transaction ever reverts"
    assert (await read_chain(node.url, deployed.address)).guilty is True


async def test_a_verdict_counts_after_its_confirmations_and_is_what_stands_then(
    anvils: Callable[..., Node], chains: Callable[..., JsonRpcChain], sessions: Callable[[], str]
) -> None:
    node = anvils("--chain-id", str(SEPOLIA))
    chain, asked = chains(node, confirmations=4), case(sessions())
    deployed = await chain.deploy(asked)
    cast = [(juror, juror in GUILTY) for juror in JURORS]
    for juror, guilty in cast:
        await chain.vote(asked, juror, guilty)
    with pytest.raises(ChainUnavailable, match="1 of 4 confirmations"):
        await _found(chain, "effect", asked, cast)
    node.ask("anvil_mine", hex(2))
    with pytest.raises(ChainUnavailable, match="3 of 4 confirmations"):
        await _found(chain, "effect", asked, cast)

    node.ask("anvil_reorg", 3, [])
    node.ask("anvil_setNextBlockBaseFeePerGas", hex(10 * GWEI))
    assert len(await _standing(node, deployed.address)) < len(JURORS), "the last vote went with its block"
    with pytest.raises(ChainUnavailable, match="1 of 4 confirmations"):
        await _found(chain, "effect", asked, cast)
    node.ask("anvil_mine", hex(3))
    found = await _found(chain, "effect", asked, cast)

    assert [(vote.juror_id, vote.guilty) for vote in found.votes] == cast
    assert await _standing(node, deployed.address) == {vote.tx_hash for vote in found.votes}
    assert {receipt["status"] for receipt in node.transactions()} == {"0x1"}


@pytest.mark.parametrize("confirmations", [0, 1])
async def test_a_vote_in_a_block_is_confirmed_once(
    shared_node: Node, chains: Callable[..., JsonRpcChain], sessions: Callable[[], str], confirmations: int
) -> None:
    chain, asked = chains(shared_node, confirmations=confirmations), case(sessions())
    await chain.deploy(asked)
    for juror in JURORS:
        await chain.vote(asked, juror, juror in GUILTY)
    assert (await chain.verdict(asked)).guilty is True


@pytest.mark.parametrize("jurors", [3, 7, 9])
async def test_other_numbers_of_jurors_have_a_contract_of_their_own(
    shared_node: Node, chains: Callable[..., JsonRpcChain], sessions: Callable[[], str], jurors: int
) -> None:
    names = tuple(f"juror-{number}" for number in range(jurors))
    asked, chain = Case(session=sessions(), log_hash="ab" * 32, jurors=names), chains(shared_node)
    deployed = await chain.deploy(asked)
    majority = jurors // 2 + 1
    for place, name in enumerate(names):
        await chain.vote(asked, name, place < majority)
    read = await read_chain(shared_node.url, deployed.address)
    assert (read.guilty, read.guilty_votes, read.not_guilty_votes) == (True, majority, jurors - majority)


async def _standing(node: Node, address: str) -> set[str]:
    """The transactions of the votes that stand on the chain."""
    asked = {"address": address, "fromBlock": "0x0", "toBlock": "latest", "topics": [topic("Voted(address,bool)")]}
    return {str(log["transactionHash"]) for log in node.ask("eth_getLogs", asked)}
