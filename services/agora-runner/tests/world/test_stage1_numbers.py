"""The numbers of stage1.md that must come out, with scripted choices and no crisis unless said."""

from collections.abc import Callable
from typing import Any

import pytest
from playmolt_agora_runner.world import chance, epoch

Choose = Callable[[Any, str], Any]
ALLEYS = ("alley_a", "alley_b", "alley_c")
SPREAD: dict[str, int] = {"alley_a": 4, "alley_b": 4, "alley_c": 4}


def everywhere(names: tuple[str, ...], place: str) -> dict[str, str]:
    """Put all in one place, or four in each alley."""
    if place != "alley":
        return dict.fromkeys(names, place)
    return {name: ALLEYS[number // 4] for number, name in enumerate(names)}


def deaths(run: Any) -> dict[str, int | None]:
    return {name: agent.died for name, agent in run.state.agents.items()}


def as_long_as_payable(run: Any, name: str, choice: Any) -> Choose:
    cost = getattr(run.state.rules.costs, name)
    return lambda state, agent: choice(agent) if state.agents[agent].energy >= cost else run.IDLE


def test_decay_sums_to_292_over_50_epochs_and_to_50_over_the_first_10(runs: Any) -> None:
    state = runs().state
    taken = [epoch.decay(state, turn, None) for turn in range(1, 51)]
    assert (sum(taken), sum(taken[:10])) == (292, 50)
    assert [taken[t - 1] for t in (1, 19, 20, 39, 40, 50)] == [5, 5, 6, 6, 7, 7]


def test_crises_begin_at_epoch_10_with_probability_three_in_ten(runs: Any) -> None:
    drawn = [
        [chance.crisis(runs.spec_of(seed=str(seed)), turn, "0.3") is not None for turn in range(10, 51)]
        for seed in range(300)
    ]
    mean = sum(map(sum, drawn)) / len(drawn)
    assert mean == pytest.approx(41 * 0.3, abs=0.5)


def test_no_crisis_comes_before_epoch_10_and_any_that_comes_takes_5_more(runs: Any) -> None:
    run = runs(rules={"crisis": {"p": 1}}, turns=12)
    run.play()
    started = run.of("epoch_started")
    assert [event.crisis is not None for event in started] == [False] * 9 + [True] * 3
    assert [event.decay for event in started] == [5] * 9 + [10] * 3
    assert [event.turn for event in run.of("crisis_started")] == [10, 11, 12]


@pytest.mark.parametrize(
    ("place", "action", "died"),
    [("plaza", "idle", 20), ("plaza", "speak", 15), ("alley", "speak", 17), ("market", "idle", 30)],
)
def test_who_repeats_one_act_dies_at_its_epoch(runs: Any, place: str, action: str, died: int) -> None:
    run = runs(homes=everywhere(runs.NAMES, place))
    run.play(as_long_as_payable(run, action, lambda _: (action, None, "words")))
    assert set(deaths(run).values()) == {died}
    assert run.state.outcome == "died_out"


def test_who_whispers_as_long_as_it_can_pay_dies_at_17(runs: Any) -> None:
    run = runs(homes=everywhere(runs.NAMES, "alley"))
    partner = {name: runs.NAMES[number ^ 1] for number, name in enumerate(runs.NAMES)}
    run.play(as_long_as_payable(run, "whisper", lambda agent: ("whisper", partner[agent], "psst")))
    assert set(deaths(run).values()) == {17}


@pytest.mark.parametrize(("factor", "died"), [("1.5", 27), (1, 24)])
def test_two_who_support_each_other_live_to_27_and_without_the_elders_factor_to_24(
    runs: Any, factor: Any, died: int
) -> None:
    run = runs(homes=everywhere(runs.NAMES, "plaza"), rules={"elder_factor": factor})
    partner = {name: runs.NAMES[number ^ 1] for number, name in enumerate(runs.NAMES)}
    run.play(as_long_as_payable(run, "support", lambda agent: ("support", partner[agent], None)))
    assert set(deaths(run).values()) == {died}


@pytest.mark.parametrize(("rate", "died"), [(10, 24), (0, 30)])
def test_trading_without_a_pool_ends_at_24_and_without_tax_at_30(runs: Any, rate: int, died: int) -> None:
    rules = {"pool": 0, "tax_rate": rate, "treasury_overflow": "off"}
    run = runs(homes=everywhere(runs.NAMES, "market"), rules=rules)
    run.play(as_long_as_payable(run, "trade", lambda _: ("trade", None, None)))
    assert set(deaths(run).values()) == {died}


def test_a_billboard_every_epoch_ends_its_architect_at_8(runs: Any) -> None:
    run = runs()
    choose = as_long_as_payable(run, "billboard", lambda _: ("build_billboard", None, "Gather!"))
    run.play(lambda state, agent: choose(state, agent) if agent == "architect_01" else run.IDLE)
    assert deaths(run)["architect_01"] == 8


@pytest.mark.parametrize(
    ("overflow", "ends"),
    [
        ("next_epoch", [200, 200, 200, 182, 137, 90, 43, 44, -48, -48, -48, -48]),
        ("off", [200, 200, 200, 158, 108, 58, 8, 8, -39, -39, -39, -39]),
        ("permanent", [200] * 12),
    ],
)
def test_traders_alone_in_the_market_end_where_the_table_says(runs: Any, overflow: str, ends: list[int]) -> None:
    for count, end in enumerate(ends, 1):
        traders = runs.NAMES[:count]
        homes = {name: "market" if name in traders else "plaza" for name in runs.NAMES}
        run = runs(homes=homes, rules={"treasury_overflow": overflow})
        run.play(lambda _, agent, traders=traders: ("trade", None, None) if agent in traders else runs.IDLE)
        first = [run.state.agents[name] for name in traders]
        assert {agent.energy if agent.alive else -(agent.died or 0) for agent in first} == {end}, count


def test_three_traders_with_nine_idlers_beside_them_end_at_100_and_the_idlers_die_at_30(runs: Any) -> None:
    run = runs(homes=everywhere(runs.NAMES, "market"))
    traders = runs.NAMES[:3]
    run.play(lambda _, agent: ("trade", None, None) if agent in traders else run.IDLE)
    assert [run.state.agents[name].energy for name in traders] == [100] * 3
    assert {run.state.agents[name].died for name in runs.NAMES[3:]} == {30}


def test_nobody_who_keeps_to_the_six_actions_dies_by_epoch_10(runs: Any) -> None:
    run = runs(rules={"crisis": {"p": 1}}, turns=10)
    run.play(lambda _, __: ("speak", None, "words"))
    worst = min(agent.energy for agent in run.state.agents.values())
    assert worst == 100 - 50 - 20 - 5
    assert run.state.outcome == "completed"
