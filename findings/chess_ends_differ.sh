#!/usr/bin/env bash
# Rules of chess, installed 2026-12: chess 1.11.2 (PyPI; python-chess), chess.js 1.4.0 and chessops 0.15.1 (npm).
# Guess: whether a game is over is one question with one answer, since the rules are old: the third repetition and fifty moves without a capture end a
#        game for each library, or for none, and what one calls over the others do not play on.
# Seen:  chess.js ends it after the third repetition and after fifty moves, as if a player had claimed the draw. python-chess goes on to the fifth
#        repetition and to 75 moves, and says so of the third with `claim_draw=True` alone. chessops goes on after both for ever: a position there has
#        no history, and `isEnd()` never is true of a repetition. Mate, stalemate and too few pieces are alike.
# Why it matters: two models that shuffle their pieces, as models do, draw after eight moves in a page, and on a server with another
#        library play many more that are paid for, while the page shows a draw. Let one program say when a game ends, and publish its reason.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check chess==1.11.2
npm install --silent --no-audit --no-fund chess.js@1.4.0 chessops@0.15.1
cat > games.json <<'JSON'
{
  "mate": ["f3", "e5", "g4", "Qh4#"],
  "third repetition": ["Nf3", "Nf6", "Ng1", "Ng8", "Nf3", "Nf6", "Ng1", "Ng8"],
  "fifth repetition": ["Nf3", "Nf6", "Ng1", "Ng8", "Nf3", "Nf6", "Ng1", "Ng8", "Nf3", "Nf6", "Ng1", "Ng8", "Nf3", "Nf6", "Ng1", "Ng8"]
}
JSON
cat > positions.json <<'JSON'
{
  "stalemate": "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1",
  "two bishops of one colour": "8/8/4k3/8/2b5/3K4/8/5B2 w - - 0 1",
  "fifty moves": "8/8/4k3/8/8/3K4/8/5R2 w - - 100 80",
  "75 moves": "8/8/4k3/8/8/3K4/8/5R2 w - - 150 105"
}
JSON
cat > ends.py <<'PY'
import json
from pathlib import Path

import chess

ends = {}
for name, moves in json.loads(Path("games.json").read_text()).items():
    board = chess.Board()
    for move in moves:
        board.push_san(move)
    ends[name] = [board.is_game_over(), board.is_game_over(claim_draw=True)]
for name, fen in json.loads(Path("positions.json").read_text()).items():
    board = chess.Board(fen)
    ends[name] = [board.is_game_over(), board.is_game_over(claim_draw=True)]
print(json.dumps(ends))
PY
cat > ends.mjs <<'JS'
import assert from "node:assert";
import fs from "node:fs";
import { Chess } from "chess.js";
import { Chess as Position } from "chessops/chess";
import { parseFen } from "chessops/fen";
import { parseSan } from "chessops/san";

const read = (name) => JSON.parse(fs.readFileSync(name, "utf8"));
const python = read("python.json");
const found = {};
for (const [name, moves] of Object.entries(read("games.json"))) {
  const [game, position] = [new Chess(), Position.default()];
  for (const move of moves) {
    position.play(parseSan(position, move));
    game.move(move);
  }
  found[name] = [game.isGameOver(), position.isEnd(), ...python[name]];
}
for (const [name, fen] of Object.entries(read("positions.json"))) {
  found[name] = [new Chess(fen).isGameOver(), Position.fromSetup(parseFen(fen).unwrap()).unwrap().isEnd(), ...python[name]];
}
for (const [name, [js, ops, plain, claimed]] of Object.entries(found)) {
  console.log(`${name}: over in chess.js ${js}, chessops ${ops}, python-chess ${plain}, with claim_draw ${claimed}`);
}
for (const name of ["mate", "stalemate", "two bishops of one colour"]) assert(found[name].every((over) => over), name);
for (const name of ["third repetition", "fifty moves"]) assert.deepStrictEqual(found[name], [true, false, false, true], "it changed");
for (const name of ["fifth repetition", "75 moves"]) assert.deepStrictEqual(found[name], [true, false, true, true], "it changed");
JS
venv/bin/python ends.py > python.json
node ends.mjs
