#!/usr/bin/env bash
# open_spiel 2.0.2, installed 2026-11.
# Guess: the state of every game that names itself loadable can be saved and read back: `serialize` writes the history
#        of actions, and `deserialize_state` plays it again.
# Seen:  the game `negotiation` has a form of its own, which it can only read before the first chance event. Each later
#        state, at the very first offer already, is refused with SpielError: it writes an empty line more than it reads.
#        `bargaining`, `trade_comm` and `kuhn_poker` are read back as they were.
#        Its list of actions is no way out: the same actions on a new state of that game object are another deal.
# Why it matters: a run of agents that negotiate cannot be stopped and continued, nor handed to another process, by its
#        saved state. Load the game anew with a `rng_seed` for each episode, and keep that seed and the actions.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check open_spiel==2.0.2
"$folder/venv/bin/python" - 2>/dev/null <<'PY'
import random

import pyspiel


def moved(game, moves):
    state, draw = game.new_initial_state(), random.Random(1)
    for _ in range(moves):
        chance = state.is_chance_node()
        state.apply_action(draw.choice([a for a, _ in state.chance_outcomes()] if chance else state.legal_actions()))
    return state


def read_back(game, state):
    try:
        return str(game.deserialize_state(state.serialize())) == str(state)
    except pyspiel.SpielError as error:
        return str(error).replace("\n", "; ")


for name in ("negotiation", "bargaining", "trade_comm", "kuhn_poker"):
    game = pyspiel.load_game(name)
    seen = [read_back(game, moved(game, moves)) for moves in range(3)]
    print(name, seen)
    assert seen[0] is True
    if name == "negotiation":
        assert all("lines.size() == 5" in str(fault) for fault in seen[1:]), "it changed"
    else:
        assert seen == [True, True, True]



def replayed(game, actions):
    state = game.new_initial_state()
    for action in actions:
        state.apply_action(action)
    return str(state)


game = pyspiel.load_game("negotiation")
state = moved(game, 3)
print("saved:", repr(state.serialize()))
assert replayed(game, state.history()) != str(state), "its deals are drawn anew"
seeded = [replayed(pyspiel.load_game("negotiation(rng_seed=7)"), [0]) for _ in range(2)]
assert seeded[0] == seeded[1]
print("the same actions make another state of this game, and the same one of a game loaded anew with its seed")
PY
