"""What nodes answer, and what becomes of it: a result, a refusal, or a chain that is away."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from eth_abi.abi import encode
from eth_utils.crypto import keccak
from playmolt_jury.chain import read_chain
from playmolt_jury.chain.port import ChainFault, ChainUnavailable, Reverted
from playmolt_jury.chain.rpc import KNOWN_WORDS, POOR_WORDS, TAKEN_WORDS, Rpc, RpcRefusal

from core.tests.listening import listening

ALREADY_VOTED = "0x" + (keccak(text="AlreadyVoted(address)")[:4] + encode(["address"], ["0x" + "11" * 20])).hex()

_LENGTH = re.compile(rb"(?i)content-length: (\d+)")


class Impostor:
    """Something on a port that answers each request with the next of `answers`, the last one for ever."""

    def __init__(self) -> None:
        self.answers: list[bytes] = []
        self.asked = 0
        self.silence = asyncio.Event()
        self.url = ""

    def says(self, *bodies: Any, status: int = 200) -> "Impostor":
        for body in bodies:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
            self.answers.append(head.encode() + data)
        return self

    def refuses(self, error: Any) -> "Impostor":
        return self.says({"jsonrpc": "2.0", "id": 1, "error": error})

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        # To close with part of a request unread would reset the connection under the answer.
        await reader.readexactly(int(_LENGTH.findall(head)[0]))
        self.asked += 1
        await self.silence.wait()
        writer.write(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])
        await writer.drain()


@pytest.fixture
async def impostor() -> AsyncIterator[Impostor]:
    made = Impostor()
    made.silence.set()
    async with listening(made.handle) as port:
        made.url = f"http://127.0.0.1:{port}/v2/secret-token"
        yield made


@pytest.fixture
async def rpc(impostor: Impostor) -> AsyncIterator[Rpc]:
    made = Rpc(impostor.url, pauses=(0, 0))
    yield made
    await made.close()


@pytest.fixture
async def hasty(impostor: Impostor) -> AsyncIterator[Rpc]:
    made = Rpc(impostor.url, seconds=0.5, pauses=(0, 0))
    yield made
    await made.close()


async def test_a_result_is_a_result_even_null(impostor: Impostor, rpc: Rpc) -> None:
    impostor.says({"jsonrpc": "2.0", "id": 1, "result": None}, {"jsonrpc": "2.0", "id": 2, "result": "0x10"})

    assert await rpc.call("eth_getTransactionReceipt", "0x") is None
    assert await rpc.number("eth_blockNumber") == 16


@pytest.mark.parametrize(
    "error",
    [
        {"code": 3, "message": "execution reverted: custom error", "data": ALREADY_VOTED},
        {"code": -32000, "message": "execution reverted", "data": {"data": ALREADY_VOTED, "reason": None}},
        {"code": -32015, "message": f"VM execution error. Reverted {ALREADY_VOTED}"},
        {"code": -32603, "message": "VM Exception while processing transaction: revert", "data": ALREADY_VOTED},
    ],
)
async def test_every_node_s_way_to_say_reverted_names_the_contract_s_error(
    impostor: Impostor, rpc: Rpc, error: Any
) -> None:
    impostor.refuses(error)

    with pytest.raises(Reverted) as reverted:
        await rpc.call("eth_estimateGas", {})
    assert reverted.value.error == "AlreadyVoted"
    assert impostor.asked == 1


@pytest.mark.parametrize("data", [None, "0x", "0x12", "0xdeadbeef", ALREADY_VOTED[:-1]])
async def test_a_revert_without_a_known_error_is_one_all_the_same(impostor: Impostor, rpc: Rpc, data: Any) -> None:
    impostor.refuses({"code": 3, "message": "execution reverted", "data": data})

    with pytest.raises(Reverted) as reverted:
        await rpc.call("eth_estimateGas", {})
    assert reverted.value.error == ("AlreadyVoted" if data == ALREADY_VOTED[:-1] else "")


async def test_another_refusal_is_reported_once_with_its_text(impostor: Impostor, rpc: Rpc) -> None:
    impostor.refuses({"code": -32000, "message": "Nonce too low"})

    with pytest.raises(RpcRefusal, match="Nonce too low") as refusal:
        await rpc.call("eth_sendRawTransaction", "0x")
    assert refusal.value.message == "nonce too low"
    assert impostor.asked == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (KNOWN_WORDS, "already known"),
        (KNOWN_WORDS, "AlreadyKnown"),
        (KNOWN_WORDS, "Known transaction"),
        (KNOWN_WORDS, "ALREADY_EXISTS: already known"),
        (KNOWN_WORDS, "Transaction with the same hash was already imported."),
        (KNOWN_WORDS, "transaction already imported"),
        (KNOWN_WORDS, "message already in mpool, increase gas premium"),
        (KNOWN_WORDS, "tx already exists in cache"),
        (KNOWN_WORDS, "DUP_TRANSACTION_ERROR: Dup transaction."),
        (KNOWN_WORDS, "Duplicate transaction"),
        (TAKEN_WORDS, "nonce too low: next nonce 1, tx nonce 0"),
        (TAKEN_WORDS, "OldNonce"),
        (TAKEN_WORDS, "replacement transaction underpriced"),
        (TAKEN_WORDS, "INTERNAL_ERROR: could not replace existing tx"),
        (POOR_WORDS, "insufficient funds for gas * price + value"),
    ],
)
async def test_what_is_said_of_a_transaction_is_understood_under_any_code(
    impostor: Impostor, rpc: Rpc, words: tuple[str, ...], message: str
) -> None:
    impostor.refuses({"code": -32603, "message": message})

    with pytest.raises(RpcRefusal) as refusal:
        await rpc.call("eth_sendRawTransaction", "0x")
    assert refusal.value.says(words)
    assert [refusal.value.says(each) for each in (KNOWN_WORDS, TAKEN_WORDS, POOR_WORDS)].count(True) == 1
    assert impostor.asked == 1


AWAY: list[Callable[[Impostor], Impostor]] = [
    lambda impostor: impostor.says(b"busy", status=503),
    lambda impostor: impostor.says(b"slow down", status=429),
    lambda impostor: impostor.says(b"<html>hello</html>"),
    lambda impostor: impostor.says(b""),
    lambda impostor: impostor.says({"hello": 1}),
    lambda impostor: impostor.says({"jsonrpc": "2.0", "id": 1, "error": "no"}),
    lambda impostor: impostor.refuses({"code": -32005, "message": "daily limit"}),
    lambda impostor: impostor.refuses({"code": -32000, "message": "header not found"}),
    lambda impostor: impostor.refuses({"code": -32603, "message": "Internal error"}),
    lambda impostor: impostor.refuses({"code": -32000, "message": "internal error: try again"}),
    lambda impostor: impostor.refuses({"code": -32000, "message": "Temporary internal error"}),
    lambda impostor: impostor.refuses({"code": 429, "message": "exceeded its compute units per second capacity"}),
    lambda impostor: impostor.refuses({"code": -32000, "message": "max fee per gas less than block base fee"}),
]


@pytest.mark.parametrize("answer", AWAY)
async def test_what_may_pass_is_tried_three_times_and_then_the_chain_is_away(
    impostor: Impostor, rpc: Rpc, answer: Callable[[Impostor], Impostor]
) -> None:
    answer(impostor)

    with pytest.raises(ChainUnavailable) as away:
        await rpc.call("eth_blockNumber")
    assert impostor.asked == 3
    assert "127.0.0.1" in str(away.value)
    assert "secret-token" not in str(away.value)


async def test_what_has_passed_is_forgotten(impostor: Impostor, rpc: Rpc) -> None:
    impostor.says(b"busy", b"busy", status=503).says({"result": "0x1"})

    assert await rpc.number("eth_blockNumber") == 1


async def test_a_node_that_says_nothing_is_not_waited_for_long(impostor: Impostor, hasty: Rpc) -> None:
    impostor.says({"result": "0x1"}).silence.clear()

    async with asyncio.timeout(30):
        with pytest.raises(ChainUnavailable, match="Timeout"):
            await hasty.call("eth_blockNumber")


async def test_an_endless_answer_is_cut_off(impostor: Impostor, rpc: Rpc) -> None:
    impostor.says(b'"' + b"x" * 5_000_000)

    with pytest.raises(ChainFault, match="more than"):
        await rpc.call("eth_blockNumber")


@pytest.mark.parametrize("result", [None, 1, "", "0xzz", {}])
async def test_a_quantity_that_is_none_is_a_fault(impostor: Impostor, rpc: Rpc, result: Any) -> None:
    impostor.says({"result": result})

    with pytest.raises(ChainFault, match="which is not a quantity"):
        await rpc.number("eth_blockNumber")


async def test_an_impostor_is_a_fault_and_no_verdict(impostor: Impostor) -> None:
    impostor.says({"result": "0x1"})

    with pytest.raises(ChainFault, match="no JuryVoting"):
        await read_chain(impostor.url, "0x" + "12" * 20)
