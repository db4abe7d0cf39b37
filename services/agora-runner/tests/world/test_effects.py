"""What a run asks for: one turn at a time, then to be reported; and what becomes of late or repeated answers."""

from typing import Any

from playmolt_agora_runner.run import commands
from playmolt_agora_runner.run.effects import AgentTurn, RunReport, effect_id
from playmolt_agora_runner.turn import texts
from playmolt_agora_runner.world import worlds
from playmolt_core.game.decider import DeadlinePassed, EndGame, Join
from playmolt_schemas.codes import Code
from playmolt_schemas.stored.agora import run as events

from core.tests.scenario import like


def test_one_turn_is_an_effect_with_a_stable_id_due_when_it_arose(runs: Any) -> None:
    run = runs(turns=1)
    (effect,) = run.decider.effects(run.state)
    assert (effect.kind, effect.due, len(effect.id)) == ("agent_turn", run.now, 32)
    assert effect.payload == AgentTurn(run.state.spec, 1, run.state.next_agent)
    assert int(effect.id, 16) >= 0
    run.when(commands.RecordCall(turn=1, agent=run.state.next_agent, call={"outcome": "lost"})).then(
        like(events.CallMade)
    )
    assert run.decider.effects(run.state) == (effect,)
    run.answer()
    (following,) = run.decider.effects(run.state)
    assert following.id != effect.id
    assert following.due == run.now


def test_everybody_has_one_turn_an_epoch_and_every_turn_its_own_id(runs: Any) -> None:
    run = runs("phase1", turns=4)
    seen = []
    while run.state.next_agent:
        seen.append(effect_id(run.state))
        run.answer()
    assert len(set(seen)) == len(seen) == 48
    records = [event.record for event in run.of("agent_acted")]
    assert {(record.turn, record.agent) for record in records} == {
        (turn, name) for turn in range(1, 5) for name in runs.NAMES
    }
    assert [record.order for record in records] == list(range(1, 13)) * 4


def test_a_second_answer_to_an_effect_changes_nothing(runs: Any) -> None:
    run = runs(turns=1)
    turn = commands.TakeTurn(effect_id=str(effect_id(run.state)), reply=run.reply(("idle", None, None)))
    run.when(turn).then(like(events.AgentActed))
    run.when(turn).then()
    run.when(commands.TakeTurn(effect_id="0" * 32, reply=run.reply(("idle", None, None)))).then()


def test_after_the_last_turn_the_run_is_to_be_reported_and_then_it_ends(runs: Any) -> None:
    run = runs(turns=1)
    run.when(commands.EndRun(effect_id=str(effect_id(run.state)))).then()
    run.epoch()
    assert run.effects == ("report_run",)
    assert run.decider.effects(run.state)[0].payload == RunReport("completed")
    run.when(commands.EndRun(effect_id="0" * 32)).then()
    report = commands.EndRun(effect_id=str(effect_id(run.state)))
    run.when(report).then(like(events.RunEnded))
    assert type(run.caused[0]).closes
    assert (run.state.phase, run.effects, effect_id(run.state)) == ("ended", (), None)
    run.when(report).then()
    run.when(commands.RecordCall(turn=1, agent="citizen_01", call={})).then()
    run.when(EndGame(reason="late")).refused(Code.GAME_OVER)


def test_a_run_is_opened_once(runs: Any) -> None:
    run = runs(turns=1)
    run.when(commands.OpenRun(spec=run.spec)).then()
    run.when(commands.OpenRun(spec=runs.spec_of(run="agora-2"))).refused(Code.ALREADY_STARTED)


def test_a_run_takes_no_bots_and_no_deadlines(runs: Any) -> None:
    run = runs(turns=1)
    run.when(Join(agent_id="a", name="A")).refused(Code.INVALID_REQUEST)
    run.when(DeadlinePassed(effect_id=str(effect_id(run.state)))).then()


def test_stage_1_is_named_by_a_hash_of_its_rules_and_texts(runs: Any) -> None:
    name = worlds.version("stage1", worlds.preset("stage1"), texts.version())
    assert name == runs(rules={"crisis": {"p": "0.3"}}).state.world
    assert name.startswith("stage1@")
    other = runs(rules={"pool": 24}).state
    assert other.world == worlds.version("stage1", other.rules, texts.version()) != name
