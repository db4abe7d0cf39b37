#!/usr/bin/env bash
# merkletreejs 0.6.0 (npm; Merkle trees of hashes), installed 2026-11: trees with `complete` or `duplicateOdd`.
# Guess: a tree confirms its own proofs with each option and any number of leaves; leaves that are texts are hashed or compared
#        as texts.
# Seen:  with `complete`, two of five proofs are confirmed, four of six, two of nine; with `duplicateOdd`, all but the last of
#        three leaves and of seven, four of five and of six. With 4 and 8 leaves, without options, and with `isBitcoinTree` all
#        are confirmed.
#        A leaf that is a text of hex digits is those bytes, also in odd number: "a" is 0x0a, "7" and "07" are one leaf, and
#        the number 12 is 0x12. "guilty" is its letters.
# Why it matters: `complete` is what the package recommends for multiproofs. The root of a game with five events is published, and
#        honest proofs for three of them fail in every verifier. Build without these options, try each proof before the root is
#        published, and hash the leaves first.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund merkletreejs@0.6.0
cat > own.mjs <<'JS'
import assert from "node:assert";
import { createHash } from "node:crypto";
import { MerkleTree } from "merkletreejs";

const hash = (value) => createHash("sha256").update(value).digest();
const confirmed = (count, options) => {
  const leaves = Array.from({ length: count }, (_, number) => hash(`event ${number}`));
  const tree = new MerkleTree(leaves, hash, options);
  return leaves.filter((leaf) => tree.verify(tree.getProof(leaf), leaf, tree.getRoot())).length;
};
const counts = [1, 2, 3, 4, 5, 6, 7, 8, 9];
for (const [options, expected] of [
  [{}, counts],
  [{ isBitcoinTree: true }, counts],
  [{ complete: true }, [1, 2, 3, 4, 2, 4, 7, 8, 2]],
  [{ complete: true, sort: true }, [1, 2, 3, 4, 2, 4, 7, 8, 2]],
  [{ duplicateOdd: true }, [1, 2, 2, 4, 4, 4, 6, 8, 8]],
]) {
  const found = counts.map((count) => confirmed(count, options));
  console.log(JSON.stringify(options), counts.map((count, index) => `${found[index]} of ${count}`).join(", "));
  assert.deepStrictEqual(found, expected, "it changed");
}
const first = (leaf) => new MerkleTree([leaf, "other"], hash).getHexLeaves()[0];
for (const [leaf, expected] of [["a", "0x0a"], ["7", "0x07"], ["07", "0x07"], [12, "0x12"], ["cafe", "0xcafe"], ["guilty", "0x6775696c7479"]]) {
  console.log("leaf", JSON.stringify(leaf), "->", first(leaf));
  assert.strictEqual(first(leaf), expected, "it changed");
}
JS
node own.mjs
