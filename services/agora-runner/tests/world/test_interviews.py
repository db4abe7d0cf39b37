"""Questions asked aside: when and with which scene they are asked, and that no later prompt knows of them."""

import json
from typing import Any

import msgspec
import pytest
from playmolt_agora_runner.run import commands, effects
from playmolt_agora_runner.run.commands import TurnReply
from playmolt_agora_runner.run.effects import AgentTurn
from playmolt_agora_runner.turn import interview, prompts, scenes
from playmolt_agora_runner.turn.interview import Answer
from playmolt_agora_runner.workers.model_worker import scene_aside
from playmolt_core.game.decider import PUBLIC
from playmolt_schemas.stored.agora.run import CallMade, Interviewed
from playmolt_schemas.stored.agora.turn import Interview, InterviewAsk, InterviewScale, Tokens

ASK = InterviewAsk(ko="이웃을 믿습니까?", en="Do you trust your neighbours?")
SCALE = InterviewScale(from_=1, to=7)


def question(*at: int, name: str = "trust", **fields: Any) -> Interview:
    return Interview(**{"id": name, "at": at, "ask": ASK, "scale": SCALE, **fields})


def answered(value: int = 5, **fields: Any) -> TurnReply:
    known: dict[str, Any] = {
        "parsed": Answer(code="ok", value=value), "raw_reply": '{"answer": 5}', "prompt_hash": "0" * 64,
        "model_asked": "m", "model_answered": "m", "attempt": 1, "tokens": Tokens(10, 2), "cost": "0",
        "latency_ms": 0, "cache_hit": False,
    }  # fmt: skip
    return TurnReply(**{**known, **fields})


def due(run: Any) -> Any:
    found = effects.effect(run.state)
    return found.payload if found else None


def play(run: Any, reply: TurnReply | None = None) -> list[str]:
    """Play a run to its end; gives the prompts of its turns, in order."""
    shown: list[str] = []
    while (asked := due(run)) is not None and isinstance(asked, AgentTurn):
        if asked.interview is not None:
            taken = commands.TakeTurn(effect_id=effects.effect_id(run.state) or "", reply=reply or answered())
            run.when(taken).accepted()
            continue
        prompt = prompts.render(scenes.scene(run.state, asked.agent))
        shown.append(prompt.text)
        act = ("speak", None, f"word {len(shown)}") if len(shown) % 3 else ("move", "market", None)
        run.answer(act)
    run.when(commands.EndRun(effect_id=effects.effect_id(run.state) or ""))
    return shown


def order(run: Any) -> list[str]:
    return [event.type for event in run.events if event.type in ("interviewed", "epoch_started", "run_ended")]


@pytest.mark.parametrize("phase", ["stage1", "phase1", "phase2"])
def test_no_later_prompt_and_no_event_differs_by_a_byte(runs: Any, phase: str) -> None:
    asked = (question(0, 1, 3), question(1, name="why", scale=msgspec.UNSET, text=True, who="merchant"))
    plain, with_them = runs(phase, turns=3), runs(phase, turns=3, interviews=asked)
    assert play(with_them) == play(plain)
    kept = [event for event in with_them.events if not isinstance(event, Interviewed)]
    assert [msgspec.json.encode(event) for event in kept[1:]] == [
        msgspec.json.encode(event) for event in plain.events[1:]
    ]


def test_a_question_comes_after_its_turn_and_before_the_next(runs: Any) -> None:
    run = runs("phase2", turns=2, interviews=(question(0, 2),))
    play(run)
    six = ["interviewed"] * 6
    assert order(run) == [*six, "epoch_started", "epoch_started", *six, "run_ended"]
    assert [(event.turn, event.agent, event.id) for event in run.of("interviewed")][::6] == [
        (0, "agent_01", "trust"),
        (2, "agent_01", "trust"),
    ]
    assert run.state.over


@pytest.mark.parametrize("phase", ["stage1", "phase1", "phase2"])
def test_the_scene_is_the_one_that_the_agent_sees_next(runs: Any, phase: str) -> None:
    rules = {"crisis": {"p": 1, "from": 1}, "seed_events": [{"turn": 2, "ko": "종이 울린다.", "en": "A bell rings."}]}
    run = runs(phase, turns=3, interviews=(question(1),), rules=rules if phase != "phase2" else {})
    while due(run).interview is None:
        run.answer()
    assert (run.state.turn, run.state.next_agent) == (1, None)
    shown = {agent: scene_aside(run.state, agent) for agent in run.state.living}
    while due(run).interview is not None:
        run.when(commands.TakeTurn(effect_id=effects.effect_id(run.state) or "", reply=answered()))
    first = str(run.state.next_agent)
    assert shown[first] == scenes.scene(run.state, first), "the first to act sees exactly this scene"
    assert shown[first].turn == 2
    turn, aside = prompts.render(shown[first]), interview.render(shown[first], question(1))
    assert turn.system == aside.system
    above = turn.user.rpartition("\n---\n")[0]
    assert aside.user.startswith(f"{above}\n---\n")
    assert '"action"' not in aside.user[len(above) :]
    assert ASK.en in aside.user


def test_only_the_persona_is_asked_and_only_the_living(runs: Any) -> None:
    run = runs("stage1", turns=2, interviews=(question(0, 2, who="merchant"),), rules={"energy": {"start": 12}})
    play(run)
    agents = [(event.turn, event.agent) for event in run.of("interviewed")]
    assert agents[:2] == [(0, "merchant_01"), (0, "merchant_02")]
    assert len(agents) == 2 + sum(run.state.agents[name].alive for name in ("merchant_01", "merchant_02"))


def test_a_failed_question_is_an_event_with_its_code_and_holds_up_nothing(runs: Any) -> None:
    failed = answered(parsed=Answer(code="refusal"), raw_reply="I'm sorry.", cost=None)
    run = runs("phase2", turns=1, interviews=(question(0),))
    play(run, failed)
    events = run.of("interviewed")
    assert {(event.parse_code, event.value, event.choice, event.text, event.cost) for event in events} == {
        ("refusal", None, None, None, None)
    }
    assert len({event.agent for event in events}) == len(events) == 6
    assert run.state.over


def test_an_answer_counts_once_and_only_for_its_own_question(runs: Any) -> None:
    run = runs("phase2", turns=1, interviews=(question(0),))
    first = effects.effect_id(run.state) or ""
    reply = answered(attempts=({"outcome": "ok", "interview": "trust"},))
    run.when(commands.TakeTurn(effect_id=first, reply=reply))
    assert [type(event) for event in run.caused] == [CallMade, Interviewed]
    run.when(commands.TakeTurn(effect_id=first, reply=reply))
    assert run.caused == ()
    run.when(commands.TakeTurn(effect_id=effects.effect_id(run.state) or "", reply=run.reply(("idle", None, None))))
    assert run.caused == ()


def test_everybody_sees_the_question_and_a_number_but_no_words(runs: Any) -> None:
    run = runs("phase2", turns=1, interviews=(question(0), question(0, name="why", scale=msgspec.UNSET, text=True)))
    words = answered(parsed=Answer(code="ok", text="a secret reason"), raw_reply='{"answer": "a secret reason"}')
    play(run, words)
    event = run.of("interviewed")[0]
    assert run.public(msgspec.structs.replace(event, value=5)) == {
        "type": "interviewed", "turn": 0, "agent_id": "agent_01", "question": "trust", "code": "ok", "value": 5,
    }  # fmt: skip
    shown = json.dumps([run.public(each) for each in run.events])
    assert "a secret reason" not in shown
    view = msgspec.json.encode(run.decider.view(run.state, PUBLIC)).decode()
    assert "secret" not in view
    assert "trust" not in view


def test_a_run_without_questions_has_the_state_that_it_had(runs: Any) -> None:
    run = runs("phase2", turns=1)
    assert "answered" not in msgspec.to_builtins(run.state)
    assert "interviews" not in msgspec.to_builtins(run.spec)


def test_a_fork_is_asked_for_itself(runs: Any) -> None:
    from playmolt_agora_runner.run.forks import forked

    parent = runs("phase2", turns=2, interviews=(question(1),))
    play(parent)
    spec = forked(parent.spec, "agora-2", 20, "model=scripted")
    fork = runs("phase2", opened=False, interviews=(question(1),), turns=2)
    fork.when(commands.OpenRun(spec=spec, events=tuple(parent.events))).accepted()
    assert "interviewed" not in order(fork)
    play(fork)
    assert fork.state.over
