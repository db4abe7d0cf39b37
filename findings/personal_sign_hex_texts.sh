#!/usr/bin/env bash
# Signing a message (EIP-191, `personal_sign`). Installed 2026-11: eth-account 0.14.0 (PyPI), ethers 6.17.0, viem 2.57.20,
# web3 4.16.0, @metamask/eth-sig-util 8.2.0 (npm).
# Guess: the text "0x1234" is signed as these six characters by all five, as any other text is.
# Seen:  eth-account, ethers and viem sign the text. web3 and eth-sig-util sign the two bytes 0x12 0x34, so that their
#        signature is of another address when it is verified as the text. Texts that do not look like hexadecimal agree.
# Why it matters: an id, a hash of a verdict or a commitment is such a text. Who signs one with web3 and verifies it with
#        ethers is refused. Put a word before it, or pass bytes on both sides.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check eth-account==0.14.0
(cd "$folder" && npm init --yes > /dev/null &&
    npm install --silent --no-audit --no-fund ethers@6.17.0 viem@2.57.20 web3@4.16.0 @metamask/eth-sig-util@8.2.0)
cat > "$folder/sign.mjs" <<'JS'
import { readFileSync } from "node:fs";
import { personalSign } from "@metamask/eth-sig-util";
import { Wallet } from "ethers";
import { privateKeyToAccount } from "viem/accounts";
import { Web3 } from "web3";
const { key, texts } = JSON.parse(readFileSync(0, "utf8"));
const signed = {};
for (const text of texts) signed[text] = {
  "ethers": await new Wallet(key).signMessage(text),
  "viem": await privateKeyToAccount(key).signMessage({ message: text }),
  "web3": new Web3().eth.accounts.sign(text, key).signature,
  "eth-sig-util": personalSign({ privateKey: Buffer.from(key.slice(2), "hex"), data: text }),
};
console.log(JSON.stringify(signed));
JS
cd "$folder"
venv/bin/python - <<'PY'
import json
import subprocess

from eth_account import Account
from eth_account.messages import encode_defunct

KEY, TEXTS = "0x" + "11" * 32, ["I vote not guilty", "verdict 0x1234", "0x1234"]
node = json.loads(subprocess.run(["node", "sign.mjs"], input=json.dumps({"key": KEY, "texts": TEXTS}),
                                 capture_output=True, text=True, check=True).stdout)
owner, seen = Account.from_key(KEY).address, {}
for text, signed in node.items():
    message = encode_defunct(text=text)
    assert Account.recover_message(message, signature=Account.sign_message(message, KEY).signature) == owner
    seen[text] = {name: Account.recover_message(message, signature=signature) == owner for name, signature in signed.items()}
    print(f"{text!r} is verified as this text, signed with", seen[text])
assert all(all(found.values()) for text, found in seen.items() if not text.startswith("0x"))
assert seen["0x1234"] == {"ethers": True, "viem": True, "web3": False, "eth-sig-util": False}, "it changed"
as_bytes = encode_defunct(hexstr="0x1234")
assert all(Account.recover_message(as_bytes, signature=node["0x1234"][name]) == owner for name in ("web3", "eth-sig-util"))
PY
