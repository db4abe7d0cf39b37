"""Whatever agents do: the invariants of stage1.md, the fold, the bounds, an end."""

import random
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playmolt_agora_runner.run import commands
from playmolt_agora_runner.run.effects import effect_id
from playmolt_agora_runner.turn import prompts
from playmolt_agora_runner.world.named_rules import Reason
from playmolt_core.game.decider import PUBLIC, EndGame, read_event
from playmolt_core.game.fold import state_hash
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.limits import RECORD_BYTES
from playmolt_schemas.stored.agora import run as events

from core.tests.scenario import like

CRISES = {"p": "0.4", "from": 3}
SEEDS = st.integers(0, 10**6)


def anything(draw: random.Random, state: Any, agent: str) -> Any:
    """An attempt that may or may not be possible."""
    names = [*state.agents, "nobody_01"]
    action = draw.choice(["speak", "trade", "support", "whisper", "move", "idle", "support", "trade", "move"])
    if agent == "architect_01":
        action = draw.choice(["build_billboard", "adjust_tax", "grant_subsidy", action])
    if action == "move":
        return ("move", draw.choice([*state.rules.places, "moon", None]), None)
    if action == "adjust_tax":
        return (action, draw.choice([None, "0", "30", "31", "x", "10%"]), draw.choice([None, "5", "many"]))
    here = [name for name, other in state.agents.items() if other.place == state.agents[agent].place]
    target = draw.choice([*here, draw.choice(names), None])
    return (action, target, draw.choice([None, "1", "3", "말하다"]))


def played(runs: Any, phase: str, seed: int, turns: int = 8, **rules: Any) -> Any:
    run = runs(phase, turns=turns, seed=str(seed), rules={"crisis": CRISES, **rules} if phase == "stage1" else rules)
    draw = random.Random(seed)
    while run.state.next_agent is not None:
        agent = run.state.next_agent
        if draw.random() < 0.1:
            run.fail(draw.choice(["parse_error", "invalid_action", "timeout", "refusal"]))
        else:
            run.answer(anything(draw, run.state, agent))
    return run.when(commands.EndRun(effect_id=str(effect_id(run.state))))


def effects(event: Any, kind: str) -> Any:
    found = getattr(event, "record", event)
    return getattr(found, f"effect_{kind}", None)


def check_ledger(run: Any, kind: str, held: Any) -> None:
    """Fold the logged changes alone, and compare with the state after every event."""
    start = run.state.rules.energy.start * run.state.rules.unit
    energy = dict.fromkeys(run.state.agents, start)
    influence = dict.fromkeys(run.state.agents, 0)
    treasury, dead = 0, set()
    for event, _, state in run.log:
        change, applied = effects(event, kind), effects(event, "applied")
        touched = set(change.energy if change else ()) | set(applied.influence if applied else ())
        assert not touched & dead, "no event changes a dead one"
        for name, amount in change.energy.items() if change else ():
            energy[name] += amount
        for name, amount in applied.influence.items() if applied else ():
            influence[name] += amount
        treasury += change.treasury if change else 0
        if event.type == "agent_died":
            dead.add(event.agent)
        assert {name: held(agent) for name, agent in state.agents.items()} == energy
        assert {name: agent.influence for name, agent in state.agents.items()} == influence
        assert state.treasury == treasury >= 0


def check_treasury(run: Any, kind: str) -> None:
    taxes = sum(effects(event, kind).treasury for event in run.of("agent_acted") if event.record.action == "trade")
    subsidies = sum(-effects(e, kind).treasury for e in run.of("agent_acted") if e.record.action == "grant_subsidy")
    settled = run.of("market_settled")
    assert run.state.treasury == taxes - subsidies - sum(event.overflow for event in settled)
    assert all(event.treasury <= 100 * run.state.rules.unit for event in settled)
    before = 0
    for event in settled:
        assert sum(event.shares.values()) + event.lost == event.pool <= 25 * run.state.rules.unit + before
        before = event.overflow


def check_places(run: Any) -> None:
    for _, _, state in run.log:
        for place in state.rules.places:
            held = sum(agent.alive and agent.place == place for agent in state.agents.values())
            assert not place.startswith("alley_") or held <= 4
        assert all(agent.place in state.rules.places for agent in state.agents.values())


def check_turns(run: Any) -> None:
    taken = [event.record for event in run.events if event.type in ("agent_acted", "turn_failed")]
    pairs = [(record.turn, record.agent) for record in taken]
    assert len(set(pairs)) == len(pairs)
    died = {event.agent: event.turn for event in run.of("agent_died")}
    for started in run.of("epoch_started"):
        acted = {agent for turn, agent in pairs if turn == started.turn}
        assert set(started.order) - acted <= {agent for agent, turn in died.items() if turn == started.turn}
        assert acted <= set(started.order)


@settings(max_examples=12)
@given(seed=SEEDS, rounding=st.sampled_from(["at_least_one", "exact"]))
def test_stage_1_keeps_its_invariants(runs: Any, seed: int, rounding: str) -> None:
    run = played(runs, "stage1", seed, turns=12, tax_rounding=rounding, energy={"start": 60})
    check_ledger(run, "applied", lambda agent: agent.energy)
    check_treasury(run, "applied")
    check_places(run)
    check_turns(run)
    top = 200 * run.state.rules.unit
    closed = [place for place, (event, _, _) in enumerate(run.log) if event.type in ("epoch_started", "run_ended")]
    for _, _, state in (run.log[place - 1] for place in closed[1:]):
        assert all(0 < agent.energy <= top for agent in state.agents.values() if agent.alive)
    assert all(not effects(e, "shadow").energy for e in run.events if effects(e, "shadow") is not None)


@settings(max_examples=10)
@given(seed=SEEDS)
def test_phase_1_keeps_energy_at_100_and_its_shadow_keeps_the_invariants(runs: Any, seed: int) -> None:
    run = played(runs, "phase1", seed, turns=10)
    check_ledger(run, "shadow", lambda agent: agent.shadow)
    check_treasury(run, "shadow")
    check_places(run)
    check_turns(run)
    for event, _, state in run.log:
        assert {agent.energy for agent in state.agents.values()} == {100}
        assert all(0 <= agent.shadow <= 200 for agent in state.agents.values())
        assert not (applied := effects(event, "applied")) or (applied.energy, applied.treasury) == ({}, 0)


@settings(max_examples=8)
@given(seed=SEEDS)
def test_phase_2_changes_nothing_but_places(runs: Any, seed: int) -> None:
    run = played(runs, "phase2", seed, turns=15)
    check_turns(run)
    for event in run.of("agent_acted"):
        record = event.record
        assert (record.effect_applied, record.effect_shadow, record.resource_effect) == (
            type(record.effect_applied)(), type(record.effect_applied)(), 0,
        )  # fmt: skip
        assert record.null_effect
    assert run.state.taken == 90


@settings(max_examples=10)
@given(seed=SEEDS, phase=st.sampled_from(["stage1", "phase1", "phase2"]))
def test_folding_what_is_stored_gives_the_live_state_byte_for_byte(runs: Any, seed: int, phase: str) -> None:
    run = played(runs, phase, seed, turns=6)
    state = run.decider.initial(run.spec.run)
    for event, at, live in run.log:
        data = canonical_json(event)
        assert len(data) <= RECORD_BYTES
        state = run.decider.evolve(state, read_event(run.decider, event.type, event.schema_version, data), at)
        assert state == live
    assert state_hash(state) == state_hash(run.state)
    assert state.version == len(run.log)


@settings(max_examples=10)
@given(seed=SEEDS, phase=st.sampled_from(["stage1", "phase1", "phase2"]))
def test_the_same_seed_and_replies_give_the_same_events(runs: Any, seed: int, phase: str) -> None:
    first, second = (played(runs, phase, seed, turns=4) for _ in range(2))
    assert first.events == second.events


@settings(max_examples=10)
@given(seed=SEEDS, phase=st.sampled_from(["stage1", "phase1", "phase2"]))
def test_records_agree_with_what_happened(runs: Any, seed: int, phase: str) -> None:
    run = played(runs, phase, seed, turns=6)
    for event in run.events:
        if event.type not in ("agent_acted", "turn_failed"):
            continue
        record = event.record
        changed = bool(record.effect_applied.energy or record.effect_applied.influence)
        assert record.null_effect == (not changed) or (record.action == "trade" and not record.null_effect)
        assert record.success == (event.type == "agent_acted" and record.reason is None)
        assert record.reason is None or record.reason in get_args(Reason)
        if record.success and record.action in ("speak", "trade", "support", "whisper", "move", "idle"):
            assert record.action in record.feasible_actions
        if record.action and record.action not in record.feasible_actions:
            assert not record.success or record.action in ("build_billboard", "adjust_tax", "grant_subsidy")


def floats(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(floats, value.values()))
    return any(map(floats, value)) if isinstance(value, list | tuple) else isinstance(value, float)


@settings(max_examples=5)
@given(seed=SEEDS, phase=st.sampled_from(["stage1", "phase1", "phase2"]))
def test_nothing_stored_holds_a_float_and_every_view_can_be_sent(runs: Any, seed: int, phase: str) -> None:
    run = played(runs, phase, seed, turns=4, leak="0.5" if phase != "phase2" else "0")
    for event, _, state in run.log:
        assert not floats(msgspec.to_builtins(event))
        canonical_json(run.decider.public(event, PUBLIC))
        canonical_json(run.decider.view(state, PUBLIC))
        canonical_json(run.decider.operator_view(state))
        assert run.decider.summary(state).over == state.over


@settings(max_examples=10)
@given(seed=SEEDS, steps=st.integers(0, 40), paused=st.booleans())
def test_every_run_can_be_ended_from_wherever_it_is(runs: Any, seed: int, steps: int, paused: bool) -> None:
    run, draw = runs(turns=4, seed=str(seed)), random.Random(seed)
    for _ in range(steps):
        if run.state.next_agent is not None:
            run.answer(anything(draw, run.state, run.state.next_agent))
    if paused:
        run.when(commands.PauseRun(code="stopped"))
    assert paused or len(run.effects) == 1
    run.when(EndGame(reason="enough")).then(like(events.GameAborted))
    assert run.state.over


@settings(max_examples=6)
@given(seed=SEEDS, phase=st.sampled_from(["stage1", "phase1", "phase2"]), language=st.sampled_from(["ko", "en"]))
def test_every_scene_can_be_put_into_words_and_shows_no_thought(
    runs: Any, seed: int, phase: str, language: str
) -> None:
    rules = {"leak": "0.5", "crisis": CRISES} if phase == "stage1" else {}
    run = runs(phase, turns=4, seed=str(seed), language=language, rules=rules)
    draw = random.Random(seed)
    while run.state.next_agent is not None:
        prompt = prompts.render(run.scene(run.state.next_agent))
        assert run.state.next_agent in prompt.user
        assert "my hidden thought" not in prompt.user
        run.answer(anything(draw, run.state, run.state.next_agent), thought="my hidden thought")


@settings(max_examples=6)
@given(seed=SEEDS, phase=st.sampled_from(["stage1", "phase1", "phase2"]), language=st.sampled_from(["ko", "en"]))
def test_the_system_message_of_an_agent_is_the_same_bytes_at_all_its_turns(
    runs: Any, seed: int, phase: str, language: str
) -> None:
    """So that caches of prompts hold."""
    run = runs(phase, turns=6, seed=str(seed), language=language, rules={"crisis": CRISES} if phase == "stage1" else {})
    draw = random.Random(seed)
    said: dict[str, bytes] = {}
    while (agent := run.state.next_agent) is not None:
        system = prompts.render(run.scene(agent)).system.encode()
        assert said.setdefault(agent, system) == system
        run.answer(anything(draw, run.state, agent))
    assert len(said) > 1


@pytest.mark.parametrize("phase", ["stage1", "phase1", "phase2"])
def test_the_state_does_not_grow_with_the_run(runs: Any, phase: str) -> None:
    run = runs(phase, turns=50, rules={"decay": {"base": 0, "step": 0}, "pool": 200})
    sizes: dict[int, int] = {}
    while run.state.next_agent is not None:
        sizes[run.state.turn] = len(canonical_json(run.state))
        run.answer(("speak", None, f"words of turn {run.state.turn}"))
    assert sizes[50] < 1.1 * sizes[12]


@pytest.mark.parametrize(("valid_at", "pauses"), [(None, True), (1, False), (20, False), (21, True)])
def test_a_model_without_a_valid_turn_pauses_its_run_after_twenty(
    runs: Any, valid_at: int | None, pauses: bool
) -> None:
    run = runs(turns=4)
    for number in range(1, 25):
        if run.state.paused:
            break
        run.answer(("idle", None, None)) if number == valid_at else run.fail("refusal")
    assert (run.state.paused == "no_valid_turn", run.state.taken == 20) == (pauses, pauses)
    if not pauses:
        return
    assert run.state.pause is not None
    assert "0 of 20 turns valid" in run.state.pause.detail
    assert run.effects == ("resume_run",)
    run.when(commands.ResumeRun())
    for _ in range(12):
        run.fail()
    assert run.state.paused is None, "only the first turns are judged"
