#!/usr/bin/env bash
# mesa 3.3.1 (models of societies of agents in Python), installed 2026-11: `batch_run`, which runs a model with many parameters.
# Guess: `data_collection_period=-1` gives the state at the end of each run, and a row of another period the model and its agents
#        after that step; `max_steps=5` runs five steps.
# Seen:  it runs six. A model that collects when it is made and after each step, as Mesa's own examples do, has no row of its last
#        step: with -1 the row is that of the step before. One that collects after each step alone has, in one row, the model
#        after step 6 and its agents after step 5, called `Step` 5. One that collects twice a step (night and day) has agents
#        of step 5 beside the model of step 2. The model's values are taken by their position, the agents' by their step.
# Why it matters: the winner, the last vote and the verdict of each run are missing or joined to agents of another round, and
#        nothing raises. Run the model yourself, and read `get_model_vars_dataframe()`.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mesa==3.3.1
cat > "$folder/rows.py" <<'PY'
import mesa


class Player(mesa.Agent):
    def __init__(self, model):
        super().__init__(model)
        self.turns = 0


class Game(mesa.Model):
    def __init__(self, collects="made and after", seed=None):
        super().__init__(seed=seed)
        self.collects, self.rounds = collects, 0
        Player.create_agents(self, 1)
        self.datacollector = mesa.DataCollector(model_reporters={"rounds": "rounds"}, agent_reporters={"turns": "turns"})
        if collects != "after":
            self.datacollector.collect(self)
        ran.append(self)

    def step(self):
        if self.collects == "made and twice":
            self.datacollector.collect(self)
        self.rounds += 1
        self.agents.set("turns", self.rounds)
        self.datacollector.collect(self)


def rows(collects, period):
    found = mesa.batch_run(
        Game, {"collects": [collects]}, iterations=1, max_steps=5, data_collection_period=period, display_progress=False
    )
    return [(row["Step"], row["rounds"], row.get("turns")) for row in found]


ran = []
SEEN = {
    "made and after": [(0, 0, 0), (1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4), (5, 5, 5)],
    "after": [(0, 1, None), (1, 2, 1), (2, 3, 2), (3, 4, 3), (4, 5, 4), (5, 6, 5)],
    "made and twice": [(0, 0, 0), (1, 0, 1), (2, 1, 2), (3, 1, 3), (4, 2, 4), (5, 2, 5)],
}
for collects, expected in SEEN.items():
    each, last = rows(collects, 1), rows(collects, -1)
    print(f"collects when {collects}: (Step, model, agent) {each}, the last {last}, the model itself {ran[-1].rounds}")
    assert each == expected and last == expected[-1:] and ran[-1].rounds == 6, "it changed"
    assert ran[-1].datacollector.get_model_vars_dataframe()["rounds"].iloc[-1] == 6
PY
"$folder/venv/bin/python" -W ignore "$folder/rows.py"
