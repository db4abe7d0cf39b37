#!/usr/bin/env bash
# Texts read from a contract (ABI `string` and `bytes32`), installed 2026-11: eth-abi 6.0.0 with web3 7.16.0 (PyPI),
# ethers 6.17.0, viem 2.57.20, web3 4.16.0 (npm).
# Guess: a text that one of them encoded is the same text when any of the four decodes it; a bytes32 holds texts of up to 32
#        bytes, filled up with zeros that are not part of the text.
# Seen:  all encode alike. viem and web3 (npm) drop a byte order mark at the beginning, also of a text they encoded. A string
#        that a contract cut inside a character raises in eth-abi and ethers, and ends with U+FFFD in the two others. A bytes32
#        of 32 letters is refused by ethers; both web3 leave the zeros in shorter ones, viem too unless it is given the size.
# Why it matters: a reader who hashes the text gets another hash than the one committed, and a verdict that is compared with
#        "guilty" has 26 zeros more. Compare and hash the bytes; refuse byte order marks before texts are committed.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check eth-abi==6.0.0 web3==7.16.0
(cd "$folder" && npm init --yes > /dev/null && npm install --silent --no-audit --no-fund ethers@6.17.0 viem@2.57.20 web3@4.16.0)
cat > "$folder/read.mjs" <<'JS'
import { readFileSync } from "node:fs";
import { AbiCoder, decodeBytes32String } from "ethers";
import { decodeAbiParameters, encodeAbiParameters, hexToString } from "viem";
import { Web3 } from "web3";
const { texts, strings, words } = JSON.parse(readFileSync(0, "utf8"));
const coder = AbiCoder.defaultAbiCoder(), web3 = new Web3(), string = [{ type: "string" }];
const encode = {
  "ethers": text => coder.encode(["string"], [text]),
  "viem": text => encodeAbiParameters(string, [text]),
  "web3 (npm)": text => web3.eth.abi.encodeParameter("string", text),
};
const decode = {
  "ethers": data => coder.decode(["string"], data)[0],
  "viem": data => decodeAbiParameters(string, data)[0],
  "web3 (npm)": data => web3.eth.abi.decodeParameter("string", data),
};
const word = {
  "ethers": data => decodeBytes32String(data),
  "viem": data => hexToString(data),
  "viem, size 32": data => hexToString(data, { size: 32 }),
  "web3 (npm)": data => web3.utils.hexToUtf8(data),
};
const or_error = (call, value) => { try { return call(value); } catch { return null; } };
const all = (calls, values) => Object.fromEntries(
  Object.entries(calls).map(([name, call]) => [name, values.map(value => or_error(call, value))]));
console.log(JSON.stringify({ encoded: all(encode, texts), strings: all(decode, strings), words: all(word, words) }));
JS
cd "$folder"
venv/bin/python -W ignore - <<'PY'
import json
import subprocess

from eth_abi import decode, encode
from web3 import Web3

TEXTS = ["유죄", "\N{ZERO WIDTH NO-BREAK SPACE}guilty"]
encoded = ["0x" + encode(["string"], [text]).hex() for text in TEXTS]
cut = "0x" + encode(["bytes"], ["유죄".encode()[:4]]).hex()
words = ["0x" + text.encode().ljust(32, b"\0").hex() for text in ("guilty", "a" * 32, TEXTS[1])]
seen = json.loads(subprocess.run(["node", "read.mjs"], input=json.dumps({"texts": TEXTS, "strings": [*encoded, cut], "words": words}),
                                 capture_output=True, text=True, check=True).stdout)
assert set(map(tuple, seen["encoded"].values())) == {tuple(encoded)}
seen["strings"]["eth-abi"] = []
for data in (*encoded, cut):
    try:
        seen["strings"]["eth-abi"].append(decode(["string"], bytes.fromhex(data[2:]))[0])
    except UnicodeDecodeError:
        seen["strings"]["eth-abi"].append(None)
seen["words"]["web3 (PyPI)"] = [Web3.to_text(hexstr=data) for data in words]
for kind in ("strings", "words"):
    for name, texts in seen[kind].items():
        print(f"{kind:8} {name:14}", *map(ascii, texts))
for name in ("eth-abi", "ethers"):
    assert seen["strings"][name] == [*TEXTS, None], "it changed"
for name in ("viem", "web3 (npm)"):
    assert seen["strings"][name] == ["유죄", "guilty", "유\N{REPLACEMENT CHARACTER}"], "it changed"
zeros, full = "\0" * 26, "a" * 32
assert seen["words"] == {
    "ethers": ["guilty", None, TEXTS[1]],
    "viem, size 32": ["guilty", full, "guilty"],
    "viem": ["guilty" + zeros, full, "guilty" + zeros[3:]],
    "web3 (npm)": ["guilty" + zeros, full, "guilty" + zeros[3:]],
    "web3 (PyPI)": ["guilty" + zeros, full, TEXTS[1] + zeros[3:]],
}, "it changed"
PY
