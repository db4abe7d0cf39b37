"""Whatever agents do in a world of a plan's folder: its resources, its ledger, the fold, and what an act costs."""

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from playmolt_agora_runner.folder import reading as folder_reading
from playmolt_agora_runner.folder.reading import PlanFolder
from playmolt_agora_runner.folder.source import Source
from playmolt_agora_runner.plan import matrix
from playmolt_agora_runner.run import commands
from playmolt_agora_runner.run.commands import TurnReply
from playmolt_agora_runner.run.effects import effect_id
from playmolt_agora_runner.run.rules import Agora
from playmolt_agora_runner.turn import prompts, scenes
from playmolt_agora_runner.turn.reply_parser import Parsed
from playmolt_core.game.decider import Accepted, read_event
from playmolt_core.game.fold import state_hash
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.stored.agora.plan import Plan
from playmolt_schemas.stored.agora.turn import Tokens

from core.tests.scenario import Scenario

RULES = Agora()
ACTIONS = ("harvest", "harvest", "share", "speak", "move", "idle", "trade", "fly")
CONTENTS = (None, "1", "3", "6", "7", "0", "-1", "all", "말", "+2")


class Room(Scenario[Any]):
    """A run of the example."""

    def __init__(self, plan: Plan, folder: PlanFolder, turns: int) -> None:
        spec = replace(matrix.spec(plan, "experiment-1", matrix.cells(plan, folder.rooms)[0], 1), turns=turns)
        super().__init__(RULES, spec.run)
        self.when(commands.OpenRun(spec=spec))
        assert isinstance(self.decision, Accepted)

    def answer(self, action: str, target: str | None = None, content: str | None = None) -> Any:
        """Let the next agent act; gives the record."""
        parsed = Parsed(code="ok", thought=None, action=action, target=target, content=content)
        reply = TurnReply(
            parsed=parsed, raw_reply="{}", prompt_hash="0" * 64, model_asked="scripted", model_answered="scripted",
            attempt=1, tokens=Tokens(1, 1), cost="0", latency_ms=1, cache_hit=False,
        )  # fmt: skip
        self.when(commands.TakeTurn(effect_id=effect_id(self.state) or "", reply=reply))
        assert isinstance(self.decision, Accepted), self.decision
        return next(event.record for event in self.decision.events if hasattr(event, "record"))


def anything(draw: random.Random, state: Any) -> tuple[str, str | None, str | None]:
    names = [*state.agents, *state.rules.own.places, "nobody", None]
    return draw.choice(ACTIONS), draw.choice(names), draw.choice(CONTENTS)


def played(plan: Plan, folder: PlanFolder, seed: int, turns: int = 9) -> Room:
    room, draw = Room(plan, folder, turns), random.Random(seed)
    while room.state.next_agent is not None:
        room.answer(*anything(draw, room.state))
    room.when(commands.EndRun(effect_id=effect_id(room.state) or ""))
    return room


def test_what_is_feasible_counts_by_the_base_of_each_action(plan: Plan, folder: PlanFolder) -> None:
    room = Room(plan, folder, 2)
    record = room.answer("idle")
    assert "harvest" in record.feasible_actions
    counted = {"harvest": "trade", "share": "support"}
    assert record.feasible_base == tuple(counted.get(action, action) for action in record.feasible_actions)


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_resources_stay_in_their_bounds_and_come_from_what_is_logged(plan: Plan, folder: PlanFolder, seed: int) -> None:
    room = played(plan, folder, seed)
    grass, held = 120, dict.fromkeys(room.state.agents, 0)
    for event, _, state in room.log:
        applied = getattr(getattr(event, "record", event), "effect_applied", None)
        for agent, change in (applied.influence if applied else {}).items():
            held[agent] += change
        grass += (applied.resources if applied else {}).get("grass", 0)
        if event.type == "resource_settled":
            assert (event.before, event.after) == (grass, grass + event.regrown)
            grass = event.after
        assert 0 <= state.resources["grass"] <= 200
        assert {name: agent.influence for name, agent in state.agents.items()} == held
        assert min(held.values()) >= 0


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_an_act_that_fails_changes_nothing_and_says_why(plan: Plan, folder: PlanFolder, seed: int) -> None:
    room = played(plan, folder, seed)
    records = [event.record for event, _, _ in room.log if event.type == "agent_acted"]
    for record in records:
        applied = record.effect_applied
        if not record.success:
            assert record.reason is not None
            assert not (applied.energy)
            assert not (applied.influence)
            assert not (applied.resources)
            assert not (applied.treasury)
        elif record.action == "harvest":
            assert (record.place_after, 1 <= record.amount <= 6) == ("pasture", True)
            assert applied.resources == {"grass": -record.amount}
            assert applied.influence == {record.agent: record.amount}


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_the_log_folds_to_the_same_state_and_the_end_comes(plan: Plan, folder: PlanFolder, seed: int) -> None:
    room = played(plan, folder, seed)
    assert room.log[-1][0].type == "run_ended"
    state = RULES.initial(room.state.game_id)
    for event, at, after in room.log:
        stored = canonical_json(event)
        read = read_event(RULES, event.type, event.schema_version, stored)
        assert canonical_json(read) == stored
        state = RULES.evolve(state, read, at)
        assert state_hash(state) == state_hash(after)
        if state.next_agent is not None:
            shown = (prompts.render(scenes.scene(each, state.next_agent)) for each in (state, after))
            assert next(shown) == next(shown), "a run that is read back goes on with the same prompts"


def test_the_same_seed_is_the_same_run(plan: Plan, folder: PlanFolder) -> None:
    once, again = (played(plan, folder, 7) for _ in range(2))
    assert [canonical_json(event) for event, _, _ in once.log] == [canonical_json(event) for event, _, _ in again.log]


def test_an_empty_pasture_ends_the_run(plan: Plan, folder: PlanFolder) -> None:
    room = Room(plan, folder, 40)
    while room.state.next_agent is not None:
        grazes = room.state.agents[room.state.next_agent].place == "pasture"
        left = min(6, room.state.resources["grass"])
        room.answer("harvest" if grazes and left else "idle", None, str(left))
    assert room.state.resources["grass"] == 0
    assert room.state.turn < 40


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_an_utterance_counts_as_newer_by_the_weight_of_its_speaker(plan: Plan, folder: PlanFolder, seed: int) -> None:
    def room(events: int) -> Room:
        path = "worlds/pasture.toml"
        text = folder.texts[path].replace("events = 12", f"events = {events}").replace("from = 15", "from = 6")
        return Room(plan, folder_reading.read(plan, Source({**folder.texts, path: text})), 4)

    all_of_it, few = room(50), room(3)
    draw = random.Random(seed)
    while (agent := few.state.next_agent) is not None:
        known = scenes.scene(all_of_it.state, agent).events
        shown = scenes.scene(few.state, agent).events
        if len(known) < 50:
            newest = sorted(range(len(known)), key=lambda at: (at + (known[at].weight or 1) - 1, at))[-3:]
            assert shown == tuple(known[at] for at in sorted(newest))
        act = anything(draw, few.state) if draw.random() < 0.5 else ("speak", None, f"word {few.state.version}")
        before = few.state.agents[agent].influence
        for each in (all_of_it, few):
            each.answer(*act)
        for event in few.decision.events if isinstance(few.decision, Accepted) else ():
            if event.type == "agent_acted":
                assert getattr(event, "weight", None) == (3 if before >= 6 else 1)
