"""The jury votes, recovers and reads its verdict on nodes that behave as the table of `docs/jury-chain.md` says."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import httpx2
import pytest
from chain_nodes import JURORS, Node, case
from playmolt_jury.chain import contract, keys
from playmolt_jury.chain.events import mined_in
from playmolt_jury.chain.jsonrpc import JsonRpcChain
from playmolt_jury.chain.port import ChainUnavailable
from playmolt_jury.chain.reading import read_chain
from playmolt_jury.chain.rpc import Rpc
from playmolt_jury.chain.wallet import Wallet

from core.tests.listening import listening

SHIFT = 1_000_000
Call = dict[str, Any]
Sessions = Callable[[], str]


class OtherNode:
    """A node of another kind: the embedded one, with what is asked and answered changed."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.url = ""
        self.asked: list[str] = []
        self._client = httpx2.AsyncClient(timeout=60, trust_env=False, verify=False)

    async def answer(self, call: Call) -> Call | None:
        """None: no answer at all."""
        return await self.real(call)

    async def real(self, call: Call) -> Call:
        answer: Call = (await self._client.post(self.node.url, json=call)).json()
        return answer

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(httpx2.HTTPError):
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
            call = json.loads(await reader.readexactly(length))
            self.asked.append(call["method"])
            answer = await self.answer(call)
            if answer is None:
                await reader.read()  # held until the caller gives up
            body = json.dumps(answer).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body)
            await writer.drain()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["OtherNode"]:
        async with listening(self._handle) as port:
            self.url = f"http://127.0.0.1:{port}"
            yield self
        await self._client.aclose()


class Layered(OtherNode):
    """Its contracts see the blocks of the chain below, as Arbitrum's do; its own have other numbers."""

    headers_name_it = False
    most_blocks = 10**9

    async def answer(self, call: Call) -> Call | None:
        method, params = call["method"], call["params"]
        if method == "eth_getLogs":
            first, last = (int(params[0][name], 16) for name in ("fromBlock", "toBlock"))
            if last - first >= self.most_blocks:
                return refused(-32000, "query returned more than 10000 results")
            below = {"fromBlock": hex(max(0, first - SHIFT)), "toBlock": hex(max(0, last - SHIFT))}
            call = {**call, "params": [{**params[0], **below}]} if last >= SHIFT else {**call, "params": [
                {**params[0], "fromBlock": "0x0", "toBlock": "0x0"}]}  # fmt: skip
        elif method == "eth_getBlockByNumber" and params[0].startswith("0x"):
            call = {**call, "params": [hex(max(0, int(params[0], 16) - SHIFT)), *params[1:]]}
        else:
            places = [_down(each) if method in AT_BLOCKS and place else each for place, each in enumerate(params)]
            call = {**call, "params": places}
        answer = await self.real(call)
        found: Any = answer.get("result")
        if method == "eth_blockNumber":
            answer["result"] = hex(int(found, 16) + SHIFT)
        elif method == "eth_getBlockByNumber" and found and self.headers_name_it:
            found["l1BlockNumber"] = found["number"] if params[0] == "latest" or int(params[0], 16) >= SHIFT else "0x0"
        for each in found if isinstance(found, list) else [found]:
            if isinstance(each, dict) and isinstance(each.get("blockNumber"), str):
                each["blockNumber"] = hex(int(each["blockNumber"], 16) + SHIFT)
                for log in each.get("logs", ()):
                    log["blockNumber"] = hex(int(log["blockNumber"], 16) + SHIFT)
        return answer


AT_BLOCKS = {"eth_call", "eth_getTransactionCount", "eth_getBalance", "eth_getCode"}


def _down(place: Any) -> Any:
    return hex(max(0, int(place, 16) - SHIFT)) if isinstance(place, str) and place.startswith("0x") else place


class LayeredWithHeaders(Layered):
    headers_name_it = True
    most_blocks = 500


class LayeredSparing(Layered):
    most_blocks = 100


class Anvil(OtherNode):
    """Its receipts are null now and then."""

    async def answer(self, call: Call) -> Call | None:
        if call["method"] == "eth_getTransactionReceipt" and self.asked.count(call["method"]) % 2:
            return {"jsonrpc": "2.0", "id": call["id"], "result": None}
        return await self.real(call)


class Hardhat(OtherNode):
    """A transaction that reverts is mined, and answered with error 3 and no hash."""

    async def answer(self, call: Call) -> Call | None:
        answer = await self.real(call)
        if call["method"] == "eth_sendRawTransaction" and "result" in answer:
            asking = {**call, "method": "eth_getTransactionReceipt", "params": [answer["result"]]}
            receipt = (await self.real(asking))["result"]
            if receipt and receipt["status"] == "0x0":
                return refused(3, "Error: VM Exception while processing transaction: reverted")
        return answer


class Ganache(OtherNode):
    """A transaction beyond a gap in nonces has no answer."""

    async def answer(self, call: Call) -> Call | None:
        answer = await self.real(call)
        if call["method"] == "eth_sendRawTransaction" and "error" in answer and "nonce" in str(answer["error"]):
            return None
        return answer


class Forgetful(OtherNode):
    """It keeps the newest blocks alone: no transaction by hash, no events of old blocks."""

    forgets = False

    async def answer(self, call: Call) -> Call | None:
        gone: Call = {"eth_getTransactionByHash": None, "eth_getTransactionReceipt": None, "eth_getLogs": []}
        if self.forgets and call["method"] in gone:
            return {"jsonrpc": "2.0", "id": call["id"], "result": gone[call["method"]]}
        return await self.real(call)


def refused(code: int, message: str) -> Call:
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": message}}


KINDS = (OtherNode, Layered, LayeredWithHeaders, LayeredSparing, Anvil, Hardhat, Ganache)
GUILTY = set(JURORS[:3])


@asynccontextmanager
async def chain_at(node: OtherNode, **options: Any) -> AsyncIterator[JsonRpcChain]:
    made = JsonRpcChain(node.url, node.node.key, pauses=(0, 0), **options)
    try:
        yield made
    finally:
        await made.close()


async def eventually(work: Callable[[], Awaitable[Any]]) -> Any:
    """As the worker does: a chain that is unavailable is asked again."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await work()
            except ChainUnavailable:
                await asyncio.sleep(0.02)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_jury_votes_recovers_and_reads_its_verdict(
    shared_node: Node, sessions: Sessions, kind: type[OtherNode]
) -> None:
    asked = case(sessions())
    async with kind(shared_node).serving() as node:
        async with chain_at(node) as chain:
            opened = await eventually(partial(chain.deploy, asked))
            for juror in JURORS[:3]:
                await eventually(partial(chain.vote, asked, juror, juror in GUILTY))
        async with chain_at(node) as chain:  # another process goes on
            assert (await eventually(partial(chain.deploy, asked))) == opened
            votes = [await eventually(partial(chain.vote, asked, juror, juror in GUILTY)) for juror in JURORS]
            read = await eventually(partial(chain.verdict, asked))
        assert (read.guilty, read.guilty_votes, read.votes) == (True, 3, tuple(votes))
        anybody = await read_chain(node.url, opened.address)
        assert [vote.tx_hash for vote in anybody.votes] == [vote.tx_hash for vote in votes]
    mined = {each["transactionHash"] for each in shared_node.transactions() if each["to"] == opened.address}
    assert mined == {vote.tx_hash for vote in votes}, "each voted once"


@pytest.mark.parametrize("kind", [OtherNode, Layered, LayeredWithHeaders])
async def test_confirmations_are_counted_in_the_nodes_own_blocks(
    node: Node, sessions: Sessions, kind: type[OtherNode]
) -> None:
    asked = case(sessions())
    async with kind(node).serving() as other, chain_at(other, confirmations=4) as chain:
        await chain.deploy(asked)
        for juror in JURORS:
            await chain.vote(asked, juror, juror in GUILTY)
        with pytest.raises(ChainUnavailable, match="1 of 4 confirmations"):
            await chain.verdict(asked)
        for _ in range(3):
            await chain.deploy(case(sessions()))  # more blocks
        assert (await chain.verdict(asked)).guilty is True


async def test_a_node_that_forgot_the_transactions_still_shows_the_contracts_state(
    shared_node: Node, sessions: Sessions
) -> None:
    asked = case(sessions())
    async with Forgetful(shared_node).serving() as node, chain_at(node) as chain:
        opened = await chain.deploy(asked)
        for juror in JURORS:
            await chain.vote(asked, juror, juror in GUILTY)
        assert isinstance(node, Forgetful)
        node.forgets = True
        read = await read_chain(node.url, opened.address)
        assert [(vote.guilty, vote.tx_hash) for vote in read.votes] == [(juror in GUILTY, "") for juror in JURORS]
        with pytest.raises(ChainUnavailable, match="does not show the events"):
            await chain.verdict(asked)


async def test_a_transaction_that_reverted_in_a_block_was_sent(shared_node: Node, sessions: Sessions) -> None:
    """Hardhat answers with the error of the contract: the hash follows from the signed bytes."""
    asked, deployer = case(sessions()), bytes.fromhex(shared_node.key[2:])
    async with Hardhat(shared_node).serving() as node, chain_at(node) as chain:
        opened = await chain.deploy(asked)
        rpc = Rpc(node.url)
        wallet = Wallet(rpc, keys.Keys(shared_node.key), 30)
        nonce = await rpc.number("eth_getTransactionCount", keys.address_of(deployer), "latest")
        sent = await wallet.send(
            deployer, nonce, opened.address, contract.vote_call(True), 200_000, await wallet.price()
        )
        assert int((await rpc.call("eth_getTransactionReceipt", sent))["status"], 16) == 0
        assert await mined_in(rpc, opened.address, sent) is None
        await rpc.close()
