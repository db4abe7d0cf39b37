#!/usr/bin/env bash
# ethers 6.17.0, viem 2.57.20, web3 4.16.0 (npm), web3 7.16.0 with eth-abi 6.0.0 (PyPI): a contract's event and its structs,
# installed 2026-11.
# Guess: a field is read by its name, whatever its name is: `args.length` of an event Round(uint256 length, uint256 values, uint256 seat) is the
#        value of that field in each library.
# Seen:  in ethers `args.length` is 3, the number of fields, and `args.values` a function; nothing is raised, and a field
#        `seat` or `count` is read as its value. The same for the struct that a call returns. `toObject()` and
#        `getValue("length")` give the values. viem and both packages web3 give 70 and 80.
# Why it matters: `length`, `values`, `keys`, `at`, `filter` and `entries` are names that contracts of games use. A page shows the
#        same number of rounds for each event, and its type is `number`, where the field is a `bigint`.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check web3==7.16.0 eth-abi==6.0.0
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts ethers@6.17.0 viem@2.57.20 web3@4.16.0 >/dev/null
cat > event.json <<'JSON'
[
  {"type": "event", "name": "Round", "anonymous": false, "inputs": [
    {"name": "length", "type": "uint256", "indexed": false}, {"name": "values", "type": "uint256", "indexed": false},
    {"name": "seat", "type": "uint256", "indexed": false}]},
  {"type": "function", "name": "round", "stateMutability": "view", "inputs": [], "outputs": [{"name": "", "type": "tuple", "components": [
    {"name": "length", "type": "uint256"}, {"name": "values", "type": "uint256"}, {"name": "seat", "type": "uint256"}]}]}
]
JSON
cat > read.mjs <<'JS'
import assert from "node:assert";
import { readFileSync } from "node:fs";
import { Interface } from "ethers";
import { decodeEventLog, decodeFunctionResult } from "viem";
import { decodeLog } from "web3-eth-abi";

const abi = JSON.parse(readFileSync("event.json", "utf8"));
const { topics, data } = JSON.parse(process.argv[2]);
const coder = new Interface(abi);
for (const [kind, found] of [["event", coder.parseLog({ topics, data }).args], ["struct", coder.decodeFunctionResult("round", data)[0]]]) {
  console.log(`ethers, ${kind}: length`, found.length, "values", typeof found.values, "seat", found.seat, "as object", found.toObject());
  assert.strictEqual(found.length, 3, "it changed");
  assert.strictEqual(typeof found.values, "function", "it changed");
  assert.strictEqual(found.seat, 90n);
  assert.deepStrictEqual(found.toObject(), { length: 70n, values: 80n, seat: 90n });
  assert.strictEqual(found.getValue("length"), 70n);
}
const others = [
  decodeEventLog({ abi, topics, data }).args,
  decodeFunctionResult({ abi, functionName: "round", data }),
  decodeLog(abi[0].inputs, data, topics.slice(1)),
];
for (const found of others) assert.deepStrictEqual([found.length, found.values, found.seat], [70n, 80n, 90n]);
JS
venv/bin/python - <<'PY'
import json
import subprocess

from eth_abi import encode
from hexbytes import HexBytes
from web3 import Web3

data = encode(["uint256"] * 3, [70, 80, 90])
topic = Web3.keccak(text="Round(uint256,uint256,uint256)")
contract = Web3().eth.contract(abi=json.load(open("event.json")), address="0x" + "11" * 20)
log = {
    "address": contract.address, "topics": [topic], "data": HexBytes(data), "blockNumber": 1, "transactionHash": topic,
    "transactionIndex": 0, "blockHash": topic, "logIndex": 0,
}
found = contract.events.Round().process_log(log)["args"]
print("web3 (PyPI):", dict(found))
assert dict(found) == {"length": 70, "values": 80, "seat": 90}
subprocess.run(["node", "read.mjs", json.dumps({"topics": [topic.to_0x_hex()], "data": "0x" + data.hex()})], check=True)
PY
