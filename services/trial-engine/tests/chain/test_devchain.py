"""The embedded node: what it answers, and that what it answered survives it."""

import json
import os
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import httpx2
import pytest
from chain_nodes import Node
from eth.vm.forks.shanghai.transactions import ShanghaiTransactionBuilder
from eth_keys.datatypes import PrivateKey
from eth_typing import Address
from playmolt_devchain import server
from playmolt_devchain.__main__ import main
from playmolt_devchain.ledger import CHAIN_ID, MAX_TRANSACTION, Ledger
from playmolt_jury.chain import EMBEDDED_DEPLOYER_KEY, keys

KEY = bytes.fromhex(EMBEDDED_DEPLOYER_KEY[2:])
SENDER = keys.address_of(KEY)
OTHER = "0x" + "11" * 20
CREATES_ITSELF = "0x3860006000393860006000f060006000fd"
"""Copies its own code, creates itself with it as deep as the gas lets it, and reverts."""


def transfer(node: Node, chain_id: int = CHAIN_ID, **changed: int | str) -> str:
    """A signed transfer of 5 wei that is in order but for what is changed."""
    nonce, price = node.ask("eth_getTransactionCount", SENDER, "latest"), node.ask("eth_gasPrice")
    transaction = keys.Transaction(int(nonce, 16), int(price, 16), 21_000, OTHER, 5, b"")
    return "0x" + keys.signed(KEY, transaction._replace(**changed), chain_id).hex()


def everything(node: Node) -> list[object]:
    """All that can be asked about blocks, transactions and accounts."""
    height = int(node.ask("eth_blockNumber"), 16)
    blocks = [node.ask("eth_getBlockByNumber", hex(number), True) for number in range(height + 1)]
    accounts = [node.ask(f"eth_get{what}", SENDER, "latest") for what in ("Balance", "TransactionCount")]
    return [*blocks, *node.transactions(), *accounts, node.ask("eth_getBalance", OTHER, "latest")]


def test_it_says_who_it_is(shared_node: Node) -> None:
    assert shared_node.ask("eth_chainId") == "0x504d"
    assert shared_node.ask("net_version") == "20557"
    assert shared_node.ask("web3_clientVersion").startswith("playmolt")
    assert httpx2.get(f"{shared_node.url}/healthz", trust_env=False, timeout=60).json() == {"status": "alive"}


def test_a_transfer_is_mined_at_once_and_can_be_found(shared_node: Node) -> None:
    before, nonce = shared_node.ask("eth_blockNumber"), int(shared_node.ask("eth_getTransactionCount", SENDER), 16)
    to = "0x" + os.urandom(20).hex()
    sent = shared_node.ask("eth_sendRawTransaction", transfer(shared_node, to=to))

    receipt = shared_node.ask("eth_getTransactionReceipt", sent)
    assert receipt["status"] == "0x1"
    assert (receipt["from"], receipt["to"], receipt["gasUsed"]) == (SENDER, to, hex(21_000))
    block = shared_node.ask("eth_getBlockByNumber", receipt["blockNumber"], False)
    assert (block["hash"], block["transactions"]) == (receipt["blockHash"], [sent])
    found = shared_node.ask("eth_getTransactionByHash", sent)
    assert (found["hash"], found["value"], found["blockHash"]) == (sent, "0x5", block["hash"])
    assert shared_node.ask("eth_getBalance", to, "latest") == "0x5"
    assert shared_node.ask("eth_getBalance", to, before) == "0x0"
    assert int(shared_node.ask("eth_getTransactionCount", SENDER), 16) == nonce + 1
    again = shared_node.answer("eth_sendRawTransaction", transfer(shared_node, to=to, nonce=nonce, value=6))
    assert "nonce too low" in again["error"]["message"]


def test_a_transaction_with_a_fee_limit_pays_the_block_s_price_and_its_tip(shared_node: Node) -> None:
    nonce = int(shared_node.ask("eth_getTransactionCount", SENDER), 16)
    unsigned = ShanghaiTransactionBuilder.new_unsigned_dynamic_fee_transaction(
        chain_id=CHAIN_ID, nonce=nonce, max_priority_fee_per_gas=7, max_fee_per_gas=10**10, gas=30_000,
        to=Address(bytes.fromhex(OTHER[2:])), value=1, data=b"", access_list=[],
    )  # fmt: skip
    sent = shared_node.ask(
        "eth_sendRawTransaction", "0x" + unsigned.as_signed_transaction(PrivateKey(KEY)).encode().hex()
    )

    receipt = shared_node.ask("eth_getTransactionReceipt", sent)
    block = shared_node.ask("eth_getBlockByNumber", receipt["blockNumber"], True)
    assert (receipt["type"], receipt["status"]) == ("0x2", "0x1")
    assert int(receipt["effectiveGasPrice"], 16) == int(block["baseFeePerGas"], 16) + 7
    assert block["transactions"][0]["maxPriorityFeePerGas"] == "0x7"


def test_nothing_is_found_of_what_is_not_there(shared_node: Node) -> None:
    assert shared_node.ask("eth_getTransactionReceipt", "0x" + "00" * 32) is None
    assert shared_node.ask("eth_getTransactionByHash", "0x" + "00" * 32) is None
    assert shared_node.ask("eth_getBlockByNumber", "0xffffff", False) is None
    assert shared_node.ask("eth_getCode", OTHER) == "0x"
    assert shared_node.ask("eth_getLogs", {"fromBlock": "earliest", "address": OTHER}) == []


def test_killed_or_stopped_it_goes_on_with_the_same_blocks_and_hashes(node: Node) -> None:
    ends: list[Callable[[], object]] = [node.kill, node.stop]
    for end in ends:
        raw = transfer(node)
        node.ask("eth_sendRawTransaction", raw)
        before = everything(node)
        end()
        node.start()
        assert everything(node) == before
        assert node.answer("eth_sendRawTransaction", raw)["error"]["message"] == "already known"

    assert node.ask("eth_blockNumber") == "0x2"
    _killed_while_it_takes_one(node)


def _killed_while_it_takes_one(node: Node) -> None:
    """It has it then, or has not, in block, account and receipt alike."""
    acknowledged = node.transactions()
    body = {"jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction", "params": [transfer(node)]}
    with suppress(httpx2.TimeoutException):
        node.client.post(node.url, json=body, timeout=0.005)
    node.kill()
    node.start()

    height, mined = int(node.ask("eth_blockNumber"), 16), node.transactions()
    assert mined[:2] == acknowledged
    assert len(mined) == height == int(node.ask("eth_getTransactionCount", SENDER), 16)
    assert int(node.ask("eth_getBalance", OTHER), 16) == 5 * height


def test_every_new_chain_begins_with_the_same_block(tmp_path: Path, shared_node: Node) -> None:
    with closing(Ledger(tmp_path, Address(bytes.fromhex(SENDER[2:])))) as another:
        first = another.header(0).hash.hex()

    assert shared_node.ask("eth_getBlockByNumber", "0x0", False)["hash"] == "0x" + first
    assert first == "31971b0052d7fa2b61c5c4725da66988d37d55fc4f85213c81de1c7097718025"


def test_one_process_at_a_time_serves_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(Ledger(tmp_path, Address(bytes.fromhex(SENDER[2:])))):
        assert main(["--folder", str(tmp_path), "--funded", SENDER]) == 1
    (said,) = capsys.readouterr().err.splitlines()
    assert "another process" in said


def test_it_says_in_a_line_that_its_port_is_taken(
    tmp_path: Path, shared_node: Node, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--folder", str(tmp_path), "--funded", SENDER, "--port", str(shared_node.port)]) == 1
    (said,) = capsys.readouterr().err.splitlines()
    assert "in use" in said


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--folder", "x", "--funded", SENDER, "--port", "70000"],
        ["--folder", "x", "--funded", SENDER, "--port", "no"],
        ["--folder", "x"],
        ["--folder", "x", "--funded", SENDER[:-1]],
    ],
)
def test_bad_arguments_are_reported(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "error:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"nonce": 10_000}, "nonce too high"),
        ({"chain_id": 1}, "invalid chain id"),
        ({"gas": 20_999}, "intrinsic gas too low"),
        ({"gas": 6_000_001}, "exceeds block gas limit"),
        ({"value": 10**30}, "insufficient funds"),
        ({"gas_price": 1}, "base fee"),
    ],
)
def test_a_transaction_that_no_node_would_take_is_refused_and_changes_nothing(
    shared_node: Node, changed: dict[str, int], message: str
) -> None:
    before = shared_node.ask("eth_blockNumber")
    error = shared_node.answer("eth_sendRawTransaction", transfer(shared_node, **changed))["error"]

    assert error["code"] == -32000
    assert message in error["message"]
    assert shared_node.ask("eth_blockNumber") == before


@pytest.mark.parametrize(
    "raw", ["0x", "0x01", "0xc0", "0x02ff", "0xf86b" + "00" * 40, "0x" + "00" * (MAX_TRANSACTION + 1)]
)
def test_what_is_not_a_transaction_is_refused(shared_node: Node, raw: str) -> None:
    assert shared_node.answer("eth_sendRawTransaction", raw)["error"]["code"] == -32000


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("eth_sign", [], -32601),
        ("eth_getBalance", [], -32602),
        ("eth_getBalance", [1], -32602),
        ("eth_getBalance", ["0x12"], -32602),
        ("eth_getBalance", [OTHER, "yesterday"], -32602),
        ("eth_getBalance", [OTHER, "0xffff"], -32000),
        ("eth_getTransactionReceipt", ["0x12"], -32602),
        ("eth_sendRawTransaction", ["hello"], -32602),
        ("eth_call", ["hello"], -32602),
        ("eth_call", [{"to": OTHER, "data": "0x1"}], -32602),
        ("eth_getLogs", [{"blockHash": "0x" + "00" * 32}], -32602),
        ("eth_call", [{"from": OTHER, "to": SENDER, "value": "0xffffffff"}], -32000),
        ("eth_call", [{"data": "0xfe"}], -32000),
        ("eth_call", [{"data": "0x5b600056", "gas": "0x30d40"}], -32000),
        ("eth_call", [{"data": "0x60006000fd"}], 3),
        ("eth_call", [{"data": CREATES_ITSELF}], 3),
    ],
)
def test_a_bad_call_gets_an_error_that_says_what_is_wrong(
    shared_node: Node, method: str, params: list[object], code: int
) -> None:
    error = shared_node.answer(method, *params)["error"]

    assert error["code"] == code
    assert error["message"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b"1", -32600),
        (b'{"method":1}', -32600),
        (b'{"method":"eth_chainId","params":{"a":1}}', -32602),
    ],
)
def test_what_is_not_a_call_gets_an_error(shared_node: Node, body: bytes, code: int) -> None:
    status, answer = shared_node.post(body)

    assert (status, answer["error"]["code"]) == (200, code)


def test_a_body_beyond_the_limit_is_refused_and_the_node_goes_on(shared_node: Node) -> None:
    status, answer = shared_node.post(json.dumps({"method": "x" * server.MAX_BODY}).encode())

    assert status == 413
    assert str(server.MAX_BODY) in answer["error"]["message"]
    assert shared_node.ask("eth_chainId") == "0x504d"


def test_other_paths_are_not_served(shared_node: Node) -> None:
    assert httpx2.get(f"{shared_node.url}/", trust_env=False, timeout=60).status_code == 404
    assert httpx2.post(f"{shared_node.url}/admin", trust_env=False, timeout=60).status_code == 404


def test_an_estimate_is_enough_and_not_far_off(shared_node: Node) -> None:
    estimate = int(shared_node.ask("eth_estimateGas", {"from": SENDER, "to": OTHER, "value": "0x1"}), 16)

    assert 21_000 <= estimate < 32_000


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "application/json"}, 200), ({"Content-Type": "application/json; charset=utf-8"}, 200),
        ({"Content-Type": "text/plain"}, 415), ({}, 415), ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Type": "application/json", "Origin": "http://localhost:3000"}, 200),
        ({"Content-Type": "application/json", "Origin": "http://evil.example"}, 403),
        ({"Content-Type": "application/json", "Origin": "http://localhost.evil.example"}, 403),
        ({"Content-Type": "application/json", "Origin": "null"}, 403),
    ],
)  # fmt: skip
def test_a_page_of_elsewhere_is_refused(shared_node: Node, headers: dict[str, str], status: int) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}).encode()
    assert (
        httpx2.post(shared_node.url, content=body, headers=headers, trust_env=False, timeout=60).status_code == status
    )
