#!/usr/bin/env bash
# TextArena 0.7.4 (games for language models), installed 2026-11.
# Guess: reset(seed=…) makes a game repeatable, whatever else happens in the process, since every game draws from its own
#        generator.
# Seen:  reset() seeds Python's global generator, and games draw from it while they are played. The same seed and the same
#        moves give the same game alone; when another game is reset between two moves, the cards, dice and payouts change.
# Why it matters: seeded games that are played side by side in one process (an evaluation with asyncio or threads) cannot
#        be repeated. One process a game repeats.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check textarena==0.7.4
"$folder/venv/bin/python" -W ignore - <<'PY'
import textarena


def play(name, players, moves, other_game):
    env = textarena.make(name)
    env.reset(num_players=players, seed=7)
    seen = []
    for number in range(12):
        seen.append(env.get_observation())
        if other_game:
            textarena.make(name).reset(num_players=players, seed=8)
        done, _ = env.step(moves[number % len(moves)])
        if done:
            break
    return [str(one) for one in seen]


for name, players, moves in (
    ("Blackjack-v0", 1, ["[Hit]", "[Stand]"]),
    ("KuhnPoker-v0", 2, ["[check]"]),
    ("Bandit-v0", 1, ["[red]", "[blue]"]),
):
    alone = play(name, players, moves, other_game=False)
    repeats = alone == play(name, players, moves, other_game=False)
    beside = alone == play(name, players, moves, other_game=True)
    print(f"{name}: alone the seed repeats: {repeats}; beside another game: {beside}")
    assert repeats and not beside
PY
