#!/usr/bin/env bash
# eth-account 0.14.0 (PyPI), ethers 6.17.0, viem 2.57.20 (npm): EIP-712 typed data, installed 2026-11.
# Guess: what one of them hashes the others hash to the same 32 bytes, or refuse. Numbers written as JSON texts, which all
#        three read, suggest that a bool may be a text as well.
# Seen:  {"guilty": "false"} has two hashes: eth-account's is that of false, ethers' that of true (viem refuses). A vote
#        without `guilty` is false for ethers alone; a bytes32 of two bytes is filled with zeros by eth-account alone; an
#        address whose checksum is wrong is taken by eth-account alone.
# Why it matters: a form or an environment file gives texts; the vote that is signed is then the opposite of the one that
#        is shown, and both sides verify it. Turn values into their types before they are signed.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check eth-account==0.14.0
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts ethers@6.17.0 viem@2.57.20 >/dev/null
cat >npm.mjs <<'JS'
import { readFileSync } from "node:fs";
import { TypedDataEncoder } from "ethers";
import { hashTypedData } from "viem";

const tried = (hash) => {
  try {
    return hash();
  } catch {
    return null;
  }
};
const found = {};
for (const [name, data] of Object.entries(JSON.parse(readFileSync("cases.json", "utf8")))) {
  const { EIP712Domain, ...types } = data.types;
  found[name] = [tried(() => TypedDataEncoder.hash(data.domain, types, data.message)), tried(() => hashTypedData(data))];
}
console.log(JSON.stringify(found));
JS
venv/bin/python - <<'PY'
import json
import subprocess

from eth_account.messages import encode_typed_data
from eth_utils import keccak


def data(kind, message):
    fields = {"name": "string", "version": "string", "chainId": "uint256"}
    return {
        "types": {
            "EIP712Domain": [{"name": name, "type": field} for name, field in fields.items()],
            "Vote": [{"name": "value", "type": kind}],
        },
        "primaryType": "Vote",
        "domain": {"name": "Jury", "version": "1", "chainId": 31337},
        "message": message,
    }


cases = {
    "true": data("bool", {"value": True}),
    "false": data("bool", {"value": False}),
    '"false"': data("bool", {"value": "false"}),
    "no bool": data("bool", {}),
    '"-5"': data("int256", {"value": "-5"}),
    "-5": data("int256", {"value": -5}),
    "two bytes": data("bytes32", {"value": "0x1234"}),
    "wrong checksum": data("address", {"value": "0xD8da6bf26964af9d7eed9e03e53415d37aa96045"}),
}
with open("cases.json", "w") as file:
    json.dump(cases, file)


def hash_of(message):
    try:
        encoded = encode_typed_data(full_message=message)
    except ValueError:
        return None
    return "0x" + keccak(b"\x19" + encoded.version + encoded.header + encoded.body).hex()


ran = subprocess.run(["node", "npm.mjs"], check=True, capture_output=True, text=True).stdout
found = {name: (hash_of(cases[name]), *hashes) for name, hashes in json.loads(ran).items()}
for name, hashes in found.items():
    print(f"{name:15}", *(f"{library} {value[:10] if value else 'refuses':10}" for library, value in zip(("eth-account", "ethers", "viem"), hashes)))
for same in ("true", "false", '"-5"', "-5"):
    assert len(set(found[same])) == 1, same
assert found['"-5"'] == found["-5"]
assert found['"false"'] == (found["false"][0], found["true"][1], None)
assert found["no bool"] == (None, found["false"][1], None)
assert found["two bytes"][0] and found["two bytes"][1:] == (None, None)
assert found["wrong checksum"][0] and found["wrong checksum"][1:] == (None, None)
PY
