"""Votes go on before a node that fails now and then, and nothing is paid or cast twice."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import pytest
from chain_nodes import JURORS, Node, case
from playmolt_jury.chain import keys
from playmolt_jury.chain.jsonrpc import JsonRpcChain
from playmolt_jury.chain.port import ChainUnavailable

from core.tests.listening import listening

GUILTY = set(JURORS[:3])
_LENGTH = re.compile(rb"(?i)content-length: (\d+)")
Answer = dict[str, Any]
Fault = Callable[["FaultyProxy", str], Answer | int | None]
"""What becomes of the node's answer to a method: another answer, an HTTP status, or None for the node's own."""


class FaultyProxy:
    """Stands before a node, hands every call on, and spoils answers."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.calls = 0
        self.sent: list[str] = []
        self.fault: Fault = lambda *_: None
        self.url = ""
        self.client = httpx2.AsyncClient(timeout=60, trust_env=False, verify=False)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        call = json.loads(await reader.readexactly(int(_LENGTH.findall(head)[0])))
        self.calls += 1
        if call["method"] == "eth_sendRawTransaction":
            self.sent.append(call["params"][0])
        answer = (await self.client.post(self.node.url, json=call)).json()
        spoilt = self.fault(self, call["method"])
        status, sent = (spoilt, {}) if isinstance(spoilt, int) else (200, answer if spoilt is None else spoilt)
        body = json.dumps(sent).encode()
        writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode())
        writer.write(body)
        await writer.drain()


@pytest.fixture
async def proxy(shared_node: Node) -> AsyncIterator[FaultyProxy]:
    made = FaultyProxy(shared_node)
    async with listening(made.handle) as port:
        made.url = f"http://127.0.0.1:{port}"
        yield made
    await made.client.aclose()


@pytest.fixture
async def chain(proxy: FaultyProxy) -> AsyncIterator[JsonRpcChain]:
    made = JsonRpcChain(proxy.url, proxy.node.key, pauses=(0, 0))
    yield made
    await made.close()


def refused(code: int, message: str) -> Answer:
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": message}}


def every_third(spoilt: Answer | int) -> Fault:
    return lambda proxy, _: spoilt if proxy.calls % 3 == 0 else None


def loses_answers_of_sending(proxy: FaultyProxy, method: str) -> Answer | None:
    """The node takes what is sent, and whoever sent it hears of an error the first time."""
    once = method == "eth_sendRawTransaction" and proxy.sent.count(proxy.sent[-1]) == 1
    return refused(-32603, "Internal error") if once else None


def is_behind(proxy: FaultyProxy, method: str) -> Answer | None:
    """Every third answer is of a node that has not heard of the newest blocks."""
    if proxy.calls % 3:
        return None
    return {
        "eth_call": refused(-32000, "header not found"),
        "eth_getLogs": {"jsonrpc": "2.0", "id": 1, "result": []},
    }.get(method)


def knows_it(words: str) -> Fault:
    return lambda _, method: refused(-32000, words) if method == "eth_sendRawTransaction" else None


FAULTS: dict[str, Fault] = {
    "internal error": every_third(refused(-32603, "Internal error")),
    "rate limit": every_third(429),
    "answers of sending are lost": loses_answers_of_sending,
    "already known": knows_it("Known transaction: 0xab"),
}


async def eventually(work: Callable[[], Any]) -> Any:
    """As the worker does: a chain that is away is asked again."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await work()
            except ChainUnavailable:
                await asyncio.sleep(0.05)


@pytest.mark.parametrize("fault", FAULTS)
async def test_votes_go_on_and_each_counts_once(
    proxy: FaultyProxy, chain: JsonRpcChain, sessions: Callable[[], str], fault: str
) -> None:
    proxy.fault = FAULTS[fault]
    asked = case(sessions())

    deployed = await chain.deploy(asked)
    votes = [await chain.vote(asked, juror, juror in GUILTY) for juror in JURORS]
    verdict = await chain.verdict(asked)

    assert (verdict.guilty, verdict.guilty_votes, verdict.not_guilty_votes) == (True, 3, 2)
    assert [vote.guilty for vote in votes] == [juror in GUILTY for juror in JURORS]
    to_case = [each["transactionHash"] for each in proxy.node.transactions() if each["to"] == deployed.address]
    assert to_case == [vote.tx_hash for vote in votes]


async def test_a_node_behind_is_waited_for(
    proxy: FaultyProxy, chain: JsonRpcChain, sessions: Callable[[], str]
) -> None:
    proxy.fault = is_behind
    asked = case(sessions())

    await eventually(lambda: chain.deploy(asked))
    for juror in JURORS:
        await eventually(lambda juror=juror: chain.vote(asked, juror, juror in GUILTY))

    assert (await eventually(lambda: chain.verdict(asked))).guilty_votes == 3


async def test_a_payment_whose_answer_is_lost_is_made_once(
    proxy: FaultyProxy, chain: JsonRpcChain, sessions: Callable[[], str]
) -> None:
    proxy.fault = loses_answers_of_sending
    before = len(proxy.node.transactions())

    await chain.deploy(case(sessions()))

    opened = proxy.node.transactions()[before:]
    assert [each["from"] == deployer(proxy.node) for each in opened] == [True, False]  # one payment, one contract


async def test_a_payment_that_blocks_pass_by_is_replaced_at_its_own_nonce(
    anvils: Callable[..., Node], sessions: Callable[[], str]
) -> None:
    node = anvils()
    chain = JsonRpcChain(node.url, node.key, slow_seconds=0.5)
    node.ask("evm_setAutomine", False)
    deploying = asyncio.create_task(chain.deploy(case(sessions())))
    first = await waiting(node)
    dearer = await waiting(node, but=first)

    node.ask("evm_setAutomine", True)
    node.ask("evm_mine")
    async with asyncio.timeout(60):
        await deploying
    await chain.close()

    assert [int(each["nonce"], 16) for each in (first, dearer)] == [0, 0]
    assert (first["to"], first["value"]) == (dearer["to"], dearer["value"])
    assert int(dearer["gasPrice"], 16) * 8 >= int(first["gasPrice"], 16) * 9
    (payment,) = (each for each in node.transactions() if each["from"] == deployer(node))
    assert payment["transactionHash"] != first["hash"]  # by now it may be dearer still


async def test_a_payment_whose_process_ended_is_replaced_at_its_own_nonce(
    anvils: Callable[..., Node], sessions: Callable[[], str]
) -> None:
    node, asked = anvils(), case(sessions())
    node.ask("evm_setAutomine", False)
    ended = JsonRpcChain(node.url, node.key, mined_seconds=0.1, slow_seconds=0.5)
    with pytest.raises(ChainUnavailable):
        await ended.deploy(asked)
    await ended.close()
    first = await waiting(node)

    after = JsonRpcChain(node.url, node.key, slow_seconds=0.5)
    deploying = asyncio.create_task(after.deploy(asked))
    dearer = await waiting(node, but=first)
    node.ask("evm_setAutomine", True)
    node.ask("evm_mine")
    async with asyncio.timeout(60):
        await deploying
    await after.close()

    assert (first["nonce"], first["to"]) == (dearer["nonce"], dearer["to"])
    (payment,) = (each for each in node.transactions() if each["from"] == deployer(node))
    assert payment["transactionHash"] != first["hash"]  # by now it may be dearer still


async def test_a_payment_that_a_chain_took_with_it_is_made_on_the_next_one(
    anvils: Callable[..., Node], sessions: Callable[[], str]
) -> None:
    node = anvils()
    chain = JsonRpcChain(node.url, node.key, mined_seconds=2, slow_seconds=0.5)
    before, asked = case(sessions()), case(sessions())
    await eventually(lambda: chain.deploy(before))
    node.ask("evm_setAutomine", False)
    deploying = asyncio.create_task(eventually(lambda: chain.deploy(asked)))
    await waiting(node)
    node.kill()
    node.options = ("--timestamp", str(int(time.time()) + 60))  # in one second two Anvils begin with the same block
    node.start()

    async with asyncio.timeout(60):
        await deploying
    await chain.close()


def deployer(node: Node) -> str:
    return keys.address_of(bytes.fromhex(node.key[2:]))


async def waiting(node: Node, but: Answer | None = None) -> Answer:
    """The deployer's transaction in the pool, once it is another than `but`."""
    async with asyncio.timeout(60):
        while True:
            pool = await asyncio.to_thread(node.ask, "txpool_content")
            found = [each for sent in pool["pending"].values() for each in sent.values()]
            if found and found[0]["hash"] != (but or {}).get("hash"):
                return dict(found[0])
            await asyncio.sleep(0.05)
