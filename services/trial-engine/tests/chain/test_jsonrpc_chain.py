"""Juries vote on every kind of node, once, whatever fails between."""

import asyncio
import re
from collections.abc import Callable

import pytest
from chain_nodes import JURORS, Node, case
from playmolt_jury.chain import connect, keys, read_chain
from playmolt_jury.chain.jsonrpc import JsonRpcChain
from playmolt_jury.chain.keys import Keys
from playmolt_jury.chain.port import Case, ChainFault, ChainUnavailable, MissingCase, Verdict
from playmolt_jury.chain.wallet import Wallet

Sessions = Callable[[], str]
Chains = Callable[..., JsonRpcChain]
Anvils = Callable[..., Node]
GUILTY = {"ophiuchus", "radical", "philosopher"}
HASH = re.compile(r"0x[0-9a-f]{64}")
ADDRESS = re.compile(r"0x[0-9a-f]{40}")


@pytest.fixture
def chain(chain_node: Node, chains: Chains) -> JsonRpcChain:
    return chains(chain_node)


async def vote_all(chain: JsonRpcChain, asked: Case) -> Verdict:
    await chain.deploy(asked)
    await asyncio.gather(*(chain.vote(asked, juror, juror in GUILTY) for juror in JURORS))
    return await chain.verdict(asked)


def mined_to(node: Node, address: str) -> list[str]:
    """The hashes of all transactions a contract got; none of the test has failed."""
    receipts = node.transactions()[node.earlier :]
    assert {receipt["status"] for receipt in receipts} == {"0x1"}
    return [receipt["transactionHash"] for receipt in receipts if receipt["to"] == address]


async def test_five_jurors_vote_and_the_verdict_is_read_back(
    chain: JsonRpcChain, chain_node: Node, sessions: Sessions
) -> None:
    asked = case(sessions(), log_hash="0x" + "cd" * 32)
    deployed = await chain.deploy(asked)
    votes = [await chain.vote(asked, juror, juror in GUILTY) for juror in JURORS]
    verdict = await chain.verdict(asked)

    assert (verdict.guilty, verdict.guilty_votes, verdict.not_guilty_votes) == (True, 3, 2)
    assert verdict.log_hash == "0x" + "cd" * 32
    assert (verdict.contract, verdict.chain_id) == (deployed.address, deployed.chain_id)
    assert list(verdict.votes) == votes
    assert [(vote.juror_id, vote.guilty) for vote in votes] == [(juror, juror in GUILTY) for juror in JURORS]
    assert all(HASH.fullmatch(vote.tx_hash) and ADDRESS.fullmatch(vote.address) for vote in votes)
    assert len({vote.address for vote in votes}) == 5
    receipt = chain_node.ask("eth_getTransactionReceipt", deployed.tx_hash)
    assert (receipt["contractAddress"], receipt["status"]) == (deployed.address, "0x1")
    assert mined_to(chain_node, deployed.address) == [vote.tx_hash for vote in votes]


async def test_anybody_reads_the_same_verdict_without_a_key(
    chain: JsonRpcChain, chain_node: Node, sessions: Sessions
) -> None:
    verdict = await vote_all(chain, case(sessions()))

    read = await read_chain(chain_node.url, verdict.contract)

    assert (read.guilty, read.guilty_votes, read.log_hash) == (True, 3, verdict.log_hash)
    assert [(vote.address, vote.guilty, vote.tx_hash) for vote in read.votes] == [
        (vote.address, vote.guilty, vote.tx_hash) for vote in verdict.votes
    ]


async def test_a_case_is_open_while_votes_are_missing(chain: JsonRpcChain, sessions: Sessions) -> None:
    asked = case(sessions())
    await chain.deploy(asked)
    for juror in JURORS[:3]:
        await chain.vote(asked, juror, True)

    verdict = await chain.verdict(asked)

    assert (verdict.guilty, verdict.guilty_votes) == (None, 3)
    assert [(vote.guilty, bool(vote.tx_hash)) for vote in verdict.votes] == [(True, True)] * 3 + [(None, False)] * 2


async def test_what_is_asked_again_by_another_process_has_the_same_answer_and_no_second_effect(
    chain: JsonRpcChain, chain_node: Node, chains: Chains, sessions: Sessions
) -> None:
    asked = case(sessions())
    deployed = await chain.deploy(asked)
    voted = await chain.vote(asked, "radical", True)
    again = chains(chain_node)

    assert await again.deploy(asked) == deployed
    assert await again.vote(asked, "radical", True) == voted
    assert await again.vote(asked, "radical", False) == voted
    assert mined_to(chain_node, deployed.address) == [voted.tx_hash]


async def test_processes_that_do_the_same_at_once_have_one_contract_and_five_votes(
    chain_node: Node, chains: Chains, sessions: Sessions
) -> None:
    asked = case(sessions())

    verdicts = await asyncio.gather(*(vote_all(chains(chain_node), asked) for _ in range(3)))

    assert verdicts[0] == verdicts[1] == verdicts[2]
    assert len(mined_to(chain_node, verdicts[0].contract)) == 5


async def test_sessions_vote_apart_with_keys_of_their_own(chain: JsonRpcChain, sessions: Sessions) -> None:
    verdicts = await asyncio.gather(*(vote_all(chain, case(sessions())) for _ in range(3)))

    assert len({verdict.contract for verdict in verdicts}) == 3
    assert len({vote.address for verdict in verdicts for vote in verdict.votes}) == 15


async def test_a_session_cannot_be_opened_for_another_log(chain: JsonRpcChain, sessions: Sessions) -> None:
    session = sessions()
    await chain.deploy(case(session))

    with pytest.raises(ChainFault, match="another log"):
        await chain.deploy(case(session, log_hash="00" * 32))


async def test_a_verdict_of_no_contract_is_a_fault(chain: JsonRpcChain, chain_node: Node, sessions: Sessions) -> None:
    with pytest.raises(ChainFault):
        await chain.verdict(case(sessions()))
    with pytest.raises(ChainFault):
        await read_chain(chain_node.url, "0x" + "12" * 20)


async def test_killed_between_votes_the_chain_goes_on_and_each_votes_once(
    node: Node, chains: Chains, sessions: Sessions
) -> None:
    asked = case(sessions())
    chain = chains(node)
    deployed = await chain.deploy(asked)
    votes = [await chain.vote(asked, juror, juror in GUILTY) for juror in JURORS[:2]]

    node.kill()
    with pytest.raises(ChainUnavailable, match="cannot be reached"):
        await chain.vote(asked, JURORS[2], False)
    node.start()

    votes = votes + [await chain.vote(asked, juror, juror in GUILTY) for juror in JURORS[2:]]
    assert [await chain.vote(asked, juror, False) for juror in JURORS] == votes
    assert (await chain.verdict(asked)).guilty is True
    assert mined_to(node, deployed.address) == [vote.tx_hash for vote in votes]


async def test_a_node_that_takes_its_time_is_waited_for(anvils: Anvils, chains: Chains, sessions: Sessions) -> None:
    node = anvils("--block-time", "1")  # a public one takes a few seconds
    chain = chains(node)

    verdict = await vote_all(chain, case(sessions()))

    assert verdict.guilty is True
    assert len(mined_to(node, verdict.contract)) == 5


async def test_who_waits_too_long_for_a_block_finds_the_vote_the_next_time(
    anvils: Anvils, chains: Chains, sessions: Sessions
) -> None:
    node = anvils()
    asked = case(sessions())
    chain, patient = chains(node, mined_seconds=0.3), chains(node)
    deployed = await patient.deploy(asked)
    node.ask("evm_setAutomine", False)

    for guilty in (True, False):  # the second is dropped for the first, which waits
        with pytest.raises(ChainUnavailable, match="not in a block"):
            await chain.vote(asked, "radical", guilty)
    assert (await chain.verdict(asked)).guilty_votes == 0
    node.ask("evm_mine")

    assert (await patient.vote(asked, "radical", True)).guilty is True
    assert len(mined_to(node, deployed.address)) == 1


async def test_a_vote_that_a_chain_took_as_it_restarted_is_cast_again_once_its_case_is_there(
    anvils: Anvils, chains: Chains, sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen: its nonce was spent where no case stood yet, and the juror could never vote."""
    node = anvils()
    chain, asked = chains(node), case(sessions())
    await chain.deploy(asked)
    price = Wallet.price

    async def begins_anew(wallet: Wallet) -> int:
        monkeypatch.undo()
        node.kill()
        node.start()
        return await price(wallet)

    monkeypatch.setattr(Wallet, "price", begins_anew)
    with pytest.raises(MissingCase):
        await chain.vote(asked, JURORS[0], True)
    verdict = await vote_all(chain, asked)
    assert int(node.ask("eth_getTransactionCount", verdict.votes[0].address, "latest"), 16) == 2
    assert (verdict.guilty, verdict.guilty_votes, verdict.not_guilty_votes) == (True, 3, 2)
    again = await chains(node).vote(asked, JURORS[0], True)
    assert again.tx_hash == verdict.votes[0].tx_hash
    assert {receipt["status"] for receipt in node.transactions()} == {"0x1"}


async def test_when_gas_becomes_much_dearer_the_deployer_pays_the_difference(
    anvils: Anvils, chains: Chains, sessions: Sessions
) -> None:
    node = anvils()
    asked = case(sessions())
    chain = chains(node)
    await chain.deploy(asked)
    node.ask("anvil_setNextBlockBaseFeePerGas", hex(500 * 10**9))
    node.ask("evm_mine")

    assert (await chain.vote(asked, "radical", True)).guilty is True


async def test_a_case_that_missed_its_deadline_is_not_guilty_and_gets_no_late_vote(
    anvils: Anvils, chains: Chains, sessions: Sessions
) -> None:
    node = anvils()
    asked = case(sessions())
    chain = chains(node, open_seconds=2_000)
    deployed = await chain.deploy(asked)
    for juror in JURORS[:4]:
        await chain.vote(asked, juror, True)

    node.ask("evm_increaseTime", hex(1_500))
    with pytest.raises(ChainUnavailable, match="too late"):
        await chain.vote(asked, JURORS[4], True)
    assert (await chain.verdict(asked)).guilty is None

    node.ask("evm_increaseTime", hex(1_500))
    late = await chain.vote(asked, JURORS[4], True)
    verdict = await chain.verdict(asked)

    assert (late.guilty, late.tx_hash) == (None, "")
    assert (verdict.guilty, verdict.guilty_votes) == (False, 4)
    assert len(mined_to(node, deployed.address)) == 4


async def test_a_deployer_without_money_is_told_where_to_send_some(
    chain_node: Node, chains: Chains, sessions: Sessions
) -> None:
    poor = "0x" + "77" * 32
    chain = chains(chain_node, deployer_key=poor)

    with pytest.raises(ChainUnavailable) as away:
        await chain.deploy(case(sessions()))

    assert keys.address_of(bytes.fromhex(poor[2:])) in str(away.value)


async def test_a_chain_that_is_not_there_is_away_and_then_back(
    anvils: Anvils, chains: Chains, sessions: Sessions
) -> None:
    node = anvils()
    node.kill()
    chain, asked = chains(node), case(sessions())
    for call in (chain.deploy(asked), chain.vote(asked, "radical", True), chain.verdict(asked)):
        with pytest.raises(ChainUnavailable):
            await call
    with pytest.raises(ChainUnavailable):
        await read_chain(node.url, "0x" + "12" * 20)

    node.start()
    assert (await vote_all(chain, asked)).guilty is True


async def test_connect_gives_the_same_chain(shared_node: Node, chains: Chains, sessions: Sessions) -> None:
    asked = case(sessions())
    connected = await connect(shared_node.url, shared_node.key)
    deployed = await connected.deploy(asked)
    await connected.close()

    assert await chains(shared_node).deploy(asked) == deployed


def test_the_keys_of_a_session_follow_from_secret_and_session_alone() -> None:
    def all_keys(made: Keys, asked: Case) -> list[bytes]:
        return [made.session(asked), *(made.juror(asked, juror) for juror in JURORS)]

    mine = all_keys(Keys("0x" + "01" * 32, "secret"), case("jury-1"))
    assert len(set(mine)) == 6
    assert all_keys(Keys("0x" + "02" * 32, "secret"), case("jury-1")) == mine
    assert not set(mine) & set(all_keys(Keys("0x" + "01" * 32, "other"), case("jury-1")))
    assert not set(mine) & set(all_keys(Keys("0x" + "01" * 32), case("jury-1")))
    assert not set(mine) & set(all_keys(Keys("0x" + "01" * 32, "secret"), case("jury-2")))


def test_only_a_juror_of_the_case_has_a_key() -> None:
    with pytest.raises(ValueError, match="blake"):
        Keys("0x" + "01" * 32).juror(case("jury-1"), "blake")


@pytest.mark.parametrize("jurors", [JURORS[:4], (*JURORS, "blake"), (*JURORS[:4], JURORS[0])])
def test_a_case_has_an_odd_number_of_different_jurors(jurors: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="3, 5, 7, 9 different jurors"):
        Case(session="jury-1", log_hash="ab" * 32, jurors=jurors)


@pytest.mark.parametrize("log_hash", ["", "ab" * 31, "zz" * 32])
def test_a_case_has_a_hash_of_its_log(log_hash: str) -> None:
    with pytest.raises(ValueError, match=r"log_hash|hexadecimal"):
        Case(session="jury-1", log_hash=log_hash, jurors=JURORS)
