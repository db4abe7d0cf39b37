#!/usr/bin/env bash
# mesa 3.3.1 (models of societies of agents in Python), installed 2026-11: `DataCollector`.
# Guess: a row holds what the model and its agents were when it was collected, as the rows of a log do, whichever way the
#        reporter is given.
# Seen:  so for numbers, and for reporters of the model. A reporter of agents, by name or as a function, stores the agent's
#        own list or dict: after three rounds every row of an agent shows its hand of the third round. The column `Step`
#        beside it is right.
# Why it matters: what agents held, remembered or believed in earlier rounds is lost, and the table looks whole. A model's list
#        is copied, so a test with one of these does not show it. Report `list(agent.hand)` or a text of it.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mesa==3.3.1
"$folder/venv/bin/python" -W ignore - <<'PY'
import mesa


class Player(mesa.Agent):
    def __init__(self, model):
        super().__init__(model)
        self.hand, self.seen = [], {}


class Game(mesa.Model):
    def __init__(self):
        super().__init__(seed=1)
        self.votes = []
        Player.create_agents(self, 2)
        self.rows = mesa.DataCollector(
            model_reporters={"by name": "votes", "by function": lambda game: game.votes},
            agent_reporters={
                "hand": "hand", "by function": lambda player: player.hand, "seen": "seen",
                "cards": lambda player: len(player.hand), "copy": lambda player: list(player.hand),
            },
        )

    def step(self):
        self.votes.append(self.steps)
        for player in self.agents:
            player.hand.append(self.steps)
            player.seen[self.steps] = True
        self.rows.collect(self)


game = Game()
for _ in range(3):
    game.step()
model, agents = game.rows.get_model_vars_dataframe(), game.rows.get_agent_vars_dataframe()
print(agents.to_string())
ROUNDS = [[1], [1, 2], [1, 2, 3]]
for column in ("by name", "by function"):
    assert model[column].tolist() == ROUNDS
first = agents.xs(1, level="AgentID")
assert first["cards"].tolist() == [1, 2, 3] and first["copy"].tolist() == ROUNDS
for column in ("hand", "by function"):
    assert first[column].tolist() == [ROUNDS[-1]] * 3, "it changed"
assert [len(seen) for seen in first["seen"]] == [3, 3, 3], "it changed"
PY
