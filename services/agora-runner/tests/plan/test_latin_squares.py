"""Latin squares: the tables of the source, the general rules, what balances and what is refused."""

from collections import Counter
from itertools import combinations

import pytest
from playmolt_agora_runner.plan.latin_squares import (
    PERSONAS,
    PLACES,
    margins_a,
    margins_b,
    offsets,
    pair,
    place,
    reasons_a,
    reasons_b,
    seats_a,
    seats_b,
)
from playmolt_schemas.stored.agora.plan import HomePolicy, Pairs, SquareRun

EMH = ("E", "M", "H")
SIZES = range(3, 8)


def condition_a(models: tuple[str, ...], runs: int, home_policy: HomePolicy = "persona") -> tuple[SquareRun, ...]:
    return tuple(SquareRun(number, seats_a(models, number, home_policy=home_policy)) for number in range(1, runs + 1))


def condition_b(models: tuple[str, ...], runs: int) -> tuple[SquareRun, ...]:
    return tuple(SquareRun(number, seats_b(models, number)) for number in range(1, runs + 1))


def by_persona(run: SquareRun) -> tuple[tuple[str, str], ...]:
    return tuple(
        tuple(agent.model for agent in run.agents if agent.persona == persona)  # type: ignore[misc]  # two a persona
        for persona in PERSONAS
    )


def by_place(run: SquareRun) -> tuple[str, ...]:
    return tuple("".join(agent.model for agent in run.agents if agent.home == home) for home in PLACES)


class TestConditionA:
    runs = condition_a(EMH, 3)

    def test_is_the_table_of_the_source(self) -> None:
        assert [by_persona(run) for run in self.runs] == [
            (("E", "M"), ("M", "H"), ("H", "E")),
            (("M", "H"), ("H", "E"), ("E", "M")),
            (("H", "E"), ("E", "M"), ("M", "H")),
        ]

    def test_ids_are_neutral_and_follow_the_seats(self) -> None:
        assert [[agent.agent for agent in run.agents] for run in self.runs] == [
            [f"agent_{number:02d}" for number in range(1, 7)]
        ] * 3
        assert self.runs[0].agents[2].persona == "merchant"

    def test_each_model_is_twice_in_a_run_in_two_personas(self) -> None:
        for run in self.runs:
            assert Counter(agent.model for agent in run.agents) == dict.fromkeys(EMH, 2)
            assert len({(agent.model, agent.persona) for agent in run.agents}) == 6

    def test_each_persona_and_model_meet_in_two_runs_once_in_each_slot(self) -> None:
        met = Counter((agent.persona, agent.model, agent.slot) for run in self.runs for agent in run.agents)
        assert met == {(persona, model, slot): 1 for persona in PERSONAS for model in EMH for slot in (1, 2)}

    def test_the_absent_models_are_a_latin_square(self) -> None:
        absent = [tuple((set(EMH) - set(two)).pop() for two in by_persona(run)) for run in self.runs]
        assert absent == [("H", "E", "M"), ("E", "M", "H"), ("M", "H", "E")]
        assert margins_a(self.runs)["run × persona without"] == {
            f"{number} {persona}": {model: 1}
            for number, row in enumerate(absent, 1)
            for persona, model in zip(PERSONAS, row, strict=True)
        }

    def test_in_a_persona_each_pair_meets_once(self) -> None:
        for place_ in range(3):
            met = [frozenset(by_persona(run)[place_]) for run in self.runs]
            assert sorted(map(sorted, met)) == [["E", "H"], ["E", "M"], ["H", "M"]]

    def test_exactly_one_model_plays_any_two_personas_of_a_run(self) -> None:
        for run in self.runs:
            for one, two in combinations(by_persona(run), 2):
                assert len(set(one) & set(two)) == 1

    def test_homes_go_with_the_persona(self) -> None:
        homes = {(agent.persona, agent.home) for run in self.runs for agent in run.agents}
        assert homes == {("archivist", "plaza"), ("merchant", "market"), ("jester", "alley")}

    def test_rotated_homes_visit_everything_once(self) -> None:
        runs = condition_a(EMH, 3, home_policy="rotated")
        assert [by_persona(run) for run in runs] == [by_persona(run) for run in self.runs]
        slots = Counter((agent.model, agent.slot, agent.home) for run in runs for agent in run.agents)
        assert slots == {(model, slot, home): 1 for model in EMH for slot in (1, 2) for home in PLACES}
        personas = {(agent.persona, agent.home, run.run) for run in runs for agent in run.agents}
        assert Counter((persona, home) for persona, home, _ in personas) == {
            (persona, home): 1 for persona in PERSONAS for home in PLACES
        }
        assert [agent.home for agent in runs[1].agents[::2]] == ["alley", "plaza", "market"]

    def test_it_goes_round_again(self) -> None:
        assert [by_persona(run) for run in condition_a(EMH, 6)] == [by_persona(run) for run in self.runs] * 2


class TestGeneralRuleA:
    @pytest.mark.parametrize("k", SIZES)
    @pytest.mark.parametrize("m", SIZES)
    def test_each_persona_and_model_meet_exactly_twice(self, k: int, m: int) -> None:
        met = Counter((j, model) for r, d in offsets(k) for j in range(m) for model in pair(r, j, d, k))
        assert met == {(j, model): 2 for j in range(m) for model in range(k)}

    @pytest.mark.parametrize("k", SIZES)
    @pytest.mark.parametrize("m", SIZES)
    def test_every_run_holds_each_model_twice_only_where_m_is_k(self, k: int, m: int) -> None:
        twice = dict.fromkeys(range(k), 2)
        runs = [Counter(model for j in range(m) for model in pair(r, j, d, k)) for r, d in offsets(k)]
        assert all(run == twice for run in runs) is (m == k)

    @pytest.mark.parametrize("k", SIZES)
    def test_all_pairs_meet_once_in_each_persona(self, k: int) -> None:
        runs = offsets(k, "all")
        assert len(runs) == k * (k - 1) // 2
        for j in range(k):
            met = [frozenset(pair(r, j, d, k)) for r, d in runs]
            assert sorted(map(sorted, met)) == [list(two) for two in combinations(range(k), 2)]

    @pytest.mark.parametrize("k", SIZES)
    def test_only_the_last_offset_of_an_even_number_is_not_slot_balanced(self, k: int) -> None:
        by_offset: dict[int, Counter[int]] = {}
        for r, d in offsets(k, "all"):
            by_offset.setdefault(d, Counter())[pair(r, 0, d, k)[0]] += 1
        uneven = [d for d, slots in by_offset.items() if set(slots) != set(range(k))]
        assert uneven == ([k // 2] if k % 2 == 0 else [])

    @pytest.mark.parametrize(
        ("models", "runs", "pairs", "reason"),
        [
            (3, 3, "neighbours", None),
            (3, 6, "neighbours", None),
            (3, 3, "all", None),
            (3, 4, "neighbours", "not a multiple of 3"),
            (4, 4, "neighbours", "4 models over 3 personas"),
            (2, 2, "neighbours", "2 models over 3 personas"),
            (1, 1, "all", "1 models over 3 personas"),
        ],
    )
    def test_other_requests_say_why(self, models: int, runs: int, pairs: Pairs, reason: str | None) -> None:
        reasons = reasons_a(models, runs, pairs)
        assert (reasons == ()) if reason is None else (reason in " ".join(reasons))


class TestConditionB:
    def test_is_the_table_of_the_source(self) -> None:
        assert [by_place(run) for run in condition_b(EMH, 3)] == [
            ("EE", "MM", "HH"), ("MM", "HH", "EE"), ("HH", "EE", "MM"),
        ]  # fmt: skip

    @pytest.mark.parametrize("k", range(1, 8))
    def test_each_model_starts_twice_in_each_place(self, k: int) -> None:
        models = tuple("ABCDEFG"[:k])
        margins = margins_b(condition_b(models, 3))
        assert margins["model × home"] == {model: dict.fromkeys(sorted(PLACES), 2) for model in models}

    @pytest.mark.parametrize("k", SIZES)
    def test_occupancy_is_even_or_differs_by_one(self, k: int) -> None:
        for run in condition_b(tuple(map(str, range(k))), 3):
            held = Counter(agent.home for agent in run.agents)
            assert max(held.values()) - min(held.values()) <= (0 if k % 3 == 0 else 1)

    def test_occupancy_of_four_models(self) -> None:
        held = [tuple(map(len, by_place(run))) for run in condition_b(tuple("ABCD"), 3)]
        assert held == [(3, 3, 2), (3, 2, 3), (2, 3, 3)]

    def test_pairs_stay_together_where_three_divides(self) -> None:
        for k, together in ((3, True), (6, True), (4, False)):
            same = all(place(r, 2 * model, k) == place(r, 2 * model + 1, k) for r in range(3) for model in range(k))
            assert same is together

    def test_runs_come_in_threes(self) -> None:
        assert reasons_b(3) == reasons_b(6) == ()
        assert "not a multiple of 3" in reasons_b(4)[0]
