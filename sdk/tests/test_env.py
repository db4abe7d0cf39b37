"""The environments pass PettingZoo's own tests, and show a seat its view and nothing more."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import api_test, parallel_api_test, seed_test
from playmolt.env import ox_v0, trial_v0
from playmolt.env.game_env import ACTION_MASK, OBSERVATION

ENVIRONMENTS: dict[str, Callable[..., Any]] = {"ox": ox_v0.env, "trial": trial_v0.env}
CYCLES = 300

every_game = pytest.mark.parametrize("game", ENVIRONMENTS)


# A mask beside the numbers makes a Dict of them, as in PettingZoo's own games of cards and boards.
@pytest.mark.filterwarnings("ignore:Observation:UserWarning")
@every_game
def test_pettingzoos_api_test(game: str) -> None:
    api_test(ENVIRONMENTS[game](), num_cycles=CYCLES)


@every_game
def test_pettingzoos_seed_test(game: str) -> None:
    seed_test(ENVIRONMENTS[game], num_cycles=CYCLES)


def test_pettingzoos_parallel_test() -> None:
    parallel_api_test(ox_v0.parallel_env(), num_cycles=CYCLES)


def played(game: str, seed: int, language: str = "en") -> Iterator[Any]:
    """A game of actions drawn by the seed: the environment, before each of them."""
    env = ENVIRONMENTS[game](language=language)
    env.reset(seed=seed)
    for number, agent in enumerate(env.possible_agents):
        env.action_space(agent).seed(seed + number)
    for agent in env.agent_iter():
        observation, _, termination, _, _ = env.last()
        if termination:
            env.step(None)
            continue
        yield env
        env.step(env.action_space(agent).sample(mask=observation[ACTION_MASK]))


@every_game
def test_a_mask_has_what_the_view_allows_and_nothing_else(game: str) -> None:
    kinds = {"ox": ("first_choice", "first_choice", "switch", "switch"), "trial": ("speak",) * 5 + ("vote",) * 2}[game]
    moves = 0
    for env in played(game, 3):
        moves += 1
        assert env.observe(env.agent_selection)[ACTION_MASK].any()
        for seat in env.agents:
            view, mask = env.view(seat), env.observe(seat)[ACTION_MASK]
            assert {kinds[action] for action in np.flatnonzero(mask)} == set(view["allowed_actions"])
            if game == "ox" and "switch" in view["allowed_actions"]:
                assert bool(mask[3]) is view["self"]["switch_available"]
    assert moves == {"ox": 50, "trial": 30}[game]


def test_a_first_choice_shows_in_nobodys_observation_before_the_reveal() -> None:
    """Two games that differ in it alone look the same to all others."""
    seen = []
    for choice in (0, 1):
        env = ox_v0.env()
        env.reset(seed=5)
        env.step(choice)
        seen.append([env.observe(agent)[OBSERVATION] for agent in env.agents])
    own, *others = zip(*seen, strict=True)
    assert not np.array_equal(*own)
    assert all(np.array_equal(*pair) for pair in others)


def test_rewards_are_the_points_of_the_game() -> None:
    env = ox_v0.parallel_env()
    env.reset(seed=1)
    totals = dict.fromkeys(env.possible_agents, 0.0)
    choices = dict(zip(env.possible_agents, (0, 0, 0, 0, 1), strict=True))
    while env.agents:
        asked = env.view(env.agents[0])["phase"]
        actions = {agent: choices[agent] if asked == "first_choice" else 2 for agent in env.agents}
        _, rewards, *_ = env.step(actions)
        for agent, reward in rewards.items():
            totals[agent] += reward
    assert totals == dict(zip(env.possible_agents, (0, 0, 0, 0, 60), strict=True))


def test_a_won_trial_is_worth_one() -> None:
    env = trial_v0.env()
    env.reset(seed=2)
    totals: dict[str, float] = dict.fromkeys(env.possible_agents, 0.0)
    roles = {agent: env.view(agent)["self"]["role"] for agent in env.possible_agents}
    for agent in env.agent_iter():
        observation, reward, termination, _, _ = env.last()
        totals[agent] += reward
        env.step(None if termination else 5 if observation[ACTION_MASK][5] else 1)
    assert {totals[agent] for agent, role in roles.items() if role in {"PROSECUTOR", "JUROR"}} == {1.0}
    assert {totals[agent] for agent, role in roles.items() if role == "DEFENSE"} == {0.25}


@every_game
@pytest.mark.parametrize("language", ["ko", "en", "zh"])
def test_a_game_is_played_in_its_language(game: str, language: str) -> None:
    view = next(played(game, 1, language)).view("seat_0")
    text = view["question"] if game == "ox" else view["case"]["title"]
    assert any("가" <= char <= "힣" for char in text) is (language == "ko")
    assert text.isascii() is (language == "en")


@every_game
def test_an_action_that_the_mask_forbids_is_refused(game: str) -> None:
    env = ENVIRONMENTS[game]()
    env.reset(seed=1)
    forbidden = int(np.flatnonzero(env.observe(env.agent_selection)[ACTION_MASK] == 0)[0])
    with pytest.raises(ValueError, match="action_mask"):
        env.step(forbidden)


@every_game
def test_a_forbidden_action_ends_the_game_where_that_is_wanted(game: str) -> None:
    env = ENVIRONMENTS[game](illegal_reward=-1.0)
    env.reset(seed=1)
    agent = env.agent_selection
    env.step(int(np.flatnonzero(env.observe(agent)[ACTION_MASK] == 0)[0]))
    assert all(env.terminations.values())
    assert env.rewards == {other: -1.0 if other == agent else 0.0 for other in env.possible_agents}


@every_game
def test_the_mask_of_each_seat_is_in_its_info_as_well(game: str) -> None:
    for env in played(game, 4):
        for seat in env.agents:
            assert np.array_equal(env.infos[seat][ACTION_MASK], env.observe(seat)[ACTION_MASK])


def test_the_masks_of_seats_that_act_at_once_are_in_their_infos() -> None:
    env = ox_v0.parallel_env(max_cycles=3)
    observations, infos = env.reset(seed=1)
    rounds = 0
    while env.agents:
        assert all(np.array_equal(infos[seat][ACTION_MASK], observations[seat][ACTION_MASK]) for seat in env.agents)
        actions = {seat: int(np.flatnonzero(observations[seat][ACTION_MASK])[0]) for seat in env.agents}
        observations, _, terminations, truncations, infos = env.step(actions)
        rounds += 1
    assert rounds == 3
    assert all(truncations.values())
    assert not any(terminations.values())


@every_game
def test_a_game_can_be_cut_and_shown(game: str) -> None:
    env = ENVIRONMENTS[game](max_cycles=1, render_mode="ansi")
    env.reset(seed=1)
    assert json.loads(env.render()) == env.view(env.agent_selection)
    for _ in env.possible_agents:
        assert not any(env.truncations.values())
        env.step(int(np.flatnonzero(env.observe(env.agent_selection)[ACTION_MASK])[0]))
    assert all(env.truncations.values())
    for wrong in ({"max_cycles": 0}, {"render_mode": "rgb_array"}):
        with pytest.raises(ValueError, match="must be"):
            ENVIRONMENTS[game](**wrong)


def test_games_of_one_environment_differ_and_a_seed_brings_the_first_one_back() -> None:
    env = trial_v0.env(seed=9)
    cases = []
    for _ in range(6):
        env.reset()
        cases.append(env.view("seat_0")["case"]["case_id"])
    assert len(set(cases)) > 1
    env.reset(seed=9)
    assert env.view("seat_0")["case"]["case_id"] == cases[0]
