#!/usr/bin/env bash
# eth-tester 0.13.0b1 with py-evm 0.12.1b1 behind web3 7.16.0 (tests of contracts in Python), installed 2026-11.
# Guess: a test chain's blocks carry the time at which they are made; a contract that reverts with an error of its own raises
#        web3's ContractCustomError, as against a node.
# Seen:  each block is at least one second after the one before: 30 quick transactions put the chain over 20 s ahead of the
#        clock, and it does not wait. The custom error arrives as eth_tester's TransactionFailed, which is no exception of web3
#        and has no data.
# Why it matters: a commit-and-reveal contract's deadline passes in a test while its players are in time, and an
#        `except ContractCustomError` that works against a node is never reached. Read "now" from the latest block, and
#        run such tests against a node (anvil, geth --dev).
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check eth-tester==0.13.0b1 py-evm==0.12.1b1 web3==7.16.0
cd "$folder"
venv/bin/python -W ignore - <<'PY'
import time

from eth_tester import EthereumTester, PyEVMBackend
from eth_tester.exceptions import TransactionFailed
from web3 import EthereumTesterProvider, Web3
from web3.exceptions import ContractCustomError, Web3Exception

chain = Web3(EthereumTesterProvider(EthereumTester(PyEVMBackend())))
player, other = chain.eth.accounts[:2]


def ahead():
    return chain.eth.get_block("latest")["timestamp"] - time.time()


start, first = time.monotonic(), ahead()
assert first < 2
for _ in range(30):
    chain.eth.send_transaction({"from": player, "to": other, "value": 1})
took, last = time.monotonic() - start, ahead()
print(f"30 transactions took {took:.1f} s; the latest block was {first:.1f} s and is {last:.1f} s ahead of the clock")
assert last - first > 28 - took and last > 10, "it changed"

selector = Web3.keccak(text="DeadlinePassed()")[:4]
revert = bytes.fromhex("63") + selector + bytes.fromhex("60e01b60005260046000fd")
create = bytes.fromhex(f"60{len(revert):02x}80600b6000396000f3") + revert
made = chain.eth.send_transaction({"from": player, "data": "0x" + create.hex(), "gas": 200_000})
address = chain.eth.get_transaction_receipt(made)["contractAddress"]
contract = chain.eth.contract(address=address, abi=[
    {"type": "error", "name": "DeadlinePassed", "inputs": []},
    {"type": "function", "name": "reveal", "inputs": [], "outputs": [], "stateMutability": "nonpayable"},
])
for name, call in {"call": contract.functions.reveal().call, "estimate_gas": contract.functions.reveal().estimate_gas}.items():
    try:
        call({"from": player})
        raised = None
    except Exception as error:
        raised = error
    print(f"{name}: {type(raised).__module__}.{type(raised).__name__}: {raised}")
    assert type(raised) is TransactionFailed, "it changed"
    assert not isinstance(raised, (ContractCustomError, Web3Exception)) and getattr(raised, "data", None) is None, "it changed"
PY
