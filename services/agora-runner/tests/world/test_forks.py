"""A fork: the parent's turns up to a version, one thing changed, then on live."""

import random
from typing import Any

import msgspec
from playmolt_agora_runner.run import commands
from playmolt_core.game.decider import PUBLIC
from playmolt_schemas.codes import Code
from playmolt_schemas.stored.agora.turn import Parent

HOMES = {"jester_02": "alley_a", "citizen_01": "alley_a"}
LEAKY = {"leak": "0.5", "leak_observer": "0.5", "crisis": {"p": "0.5", "from": 2}}


def busy(seed: int) -> Any:
    """A choice that does a bit of everything, the same for the same seed, turn and agent."""

    def choose(state: Any, agent: str) -> Any:
        draw = random.Random(f"{seed}/{state.turn}/{agent}")
        if agent == "architect_01":
            return draw.choice([("build_billboard", None, "news"), ("adjust_tax", "20", None), ("idle", None, None)])
        alley = [("whisper", "jester_02", "psst"), ("whisper", "citizen_01", "psst")]
        town = [("support", "citizen_02", None), ("trade", None, None), ("speak", None, "words")]
        return draw.choice(alley if state.agents[agent].place == "alley_a" else town)

    return choose


def spec(parent: Any, version: int, change: str = "model=other", **changes: Any) -> Any:
    return msgspec.structs.replace(
        parent.spec,
        run="agora-fork",
        exploratory=True,
        parent=Parent(run=parent.spec.run, version=version, change=change),
        **changes,
    )


def forked(runs: Any, parent: Any, version: int, **changes: Any) -> Any:
    fork = runs(opened=False)
    fork.spec = spec(parent, version, **changes)
    return fork.when(commands.OpenRun(spec=fork.spec, events=tuple(parent.events[:version])))


def test_a_fork_from_any_version_that_goes_on_alike_ends_alike(runs: Any) -> None:
    parent = runs(turns=5, homes=HOMES, rules=LEAKY).play(busy(3))
    assert {"whisper_leaked", "tax_changed", "billboard_posted", "rank_changed", "crisis_started"} <= {
        event.type for event in parent.events
    }
    for version in range(1, len(parent.events), 7):
        fork = forked(runs, parent, version).accepted()
        fork.play(busy(3))
        mine = [each for each in fork.events if each.type not in ("run_opened", "agent_acted")]
        assert mine == [each for each in parent.events if each.type not in ("run_opened", "agent_acted")]
        assert fork.state.agents == parent.state.agents


def test_a_fork_owns_the_turns_it_took_over_and_says_how_many(runs: Any) -> None:
    parent = runs(turns=3).epoch().answer(attempts=({"outcome": "ok"},))
    parent.when(commands.PauseRun(code="stopped"))
    fork = forked(runs, parent, len(parent.events)).accepted()
    records = [event.record for event in fork.of("agent_acted")]
    assert (len(records), fork.state.replayed, fork.state.taken) == (13, 13, 13)
    assert {(record.run, record.exploratory) for record in records} == {("agora-fork", True)}
    assert not fork.of("call_made")
    assert not fork.of("run_paused")
    assert (fork.effects, fork.state.next_agent) == (("agent_turn",), parent.state.next_agent)
    assert fork.decider.view(fork.state, PUBLIC).parent == fork.spec.parent


def test_a_fork_may_change_who_plays_a_seat_and_as_whom(runs: Any) -> None:
    parent = runs(turns=2).epoch()
    seats = tuple(msgspec.structs.replace(seat, model="other", persona="citizen") for seat in parent.spec.seats)
    fork = forked(runs, parent, len(parent.events), seats=seats).accepted()
    assert {event.record.model for event in fork.of("agent_acted")} == {"scripted"}
    record = fork.answer().record
    assert (record.model, record.persona) == ("other", "citizen")


def test_a_fork_may_change_what_was_said_and_others_hear_the_new_words(runs: Any) -> None:
    parent = runs("phase1", turns=2)
    parent.act("citizen_01", "speak", content="old words")
    fork = forked(runs, parent, len(parent.events), change="content=new words").accepted()
    assert fork.shown("citizen_02", "spoke")[-1]["content"] == "new words"
    parent = runs("phase1", turns=2)
    parent.act("architect_01", "build_billboard", None, "old news")
    fork = forked(runs, parent, len(parent.events), change="content=new news").accepted()
    assert fork.scene("citizen_02").billboard == "new news"


def test_a_fork_needs_its_parents_events_and_words_to_change(runs: Any) -> None:
    parent = runs(turns=2).epoch()
    fork = runs(opened=False)
    fork.when(commands.OpenRun(spec=spec(parent, 1))).refused(Code.INVALID_REQUEST, "parent.version")
    forked(runs, parent, 6, change="content=words").refused(Code.INVALID_REQUEST, "content")


def test_a_fork_is_opened_once(runs: Any) -> None:
    parent = runs(turns=2).epoch()
    fork = forked(runs, parent, 5)
    again = commands.OpenRun(spec=fork.spec, events=tuple(parent.events[:5]))
    fork.when(again).then()


def test_a_fork_does_not_begin_after_its_parents_last_event(runs: Any) -> None:
    parent = runs(turns=1).play(busy(3))
    after = len(parent.events) + 1
    forked(runs, parent, after).refused(Code.INVALID_REQUEST, "parent.version")
