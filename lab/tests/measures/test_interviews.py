"""Changes of answers with runs as units, and what is not said where nothing varies."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from playmolt_agora.measures.inference.permutation import sign_flips
from playmolt_agora.measures.interviews import Answered, Interviews


def asked(run: str, turn: int, value: int | None, agent: str = "a", **fields: Any) -> Answered:
    known: dict[str, Any] = {
        "run": run, "turn": turn, "agent": agent, "id": "trust", "cell": "phase1/m/ko", "phase": "phase1", "set": None,
        "model": "m", "language": "ko", "persona": None, "exploratory": False, "kind": "scale",
        "parse_code": "ok" if value is not None else "parse_error", "value": value, "choice": None, "text": None,
        "prompt_tokens": 1, "completion_tokens": 1, "cost": "0",
    }  # fmt: skip
    return Answered(**{**known, **fields})


def runs(*pairs: tuple[int | None, int | None]) -> list[Answered]:
    """A run for each pair of answers, before and after."""
    return [
        asked(f"r{n}", turn, value) for n, pair in enumerate(pairs) for turn, value in zip((0, 9), pair, strict=True)
    ]


def change(answers: Sequence[Answered], **copies: str) -> dict[str, Any]:
    (row,) = Interviews(answers, copies=copies).changes("7")
    return row.row


@pytest.mark.parametrize(
    ("differences", "p"),
    [([1.0, 2.0, 3.0], 2 / 8), ([1.0, 2.0, -3.0], 1.0), ([1.0, 2.0, 4.0, -0.5], 4 / 16), ([1.0], 1.0), ([], None)],
)
def test_signs_are_flipped_in_every_way_on_both_sides(differences: list[float], p: float | None) -> None:
    found = sign_flips(np.array(differences), np.random.default_rng(0), two_sided=True)
    assert found.p == p
    assert found.labelings == (2 ** len(differences) if differences else None)


def test_agents_are_averaged_in_a_run_and_runs_weigh_the_same() -> None:
    answers = [asked("r0", 0, 1), asked("r0", 9, 3)]
    for agent in ("b", "c", "d"):
        answers += [asked("r1", 0, 2, agent), asked("r1", 9, 3, agent)]
    row = change(answers)
    assert (row["change"], row["runs"], row["asked"], row["valid"], row["p"], row["p_min"]) == (1.5, 2, 4, 4, 0.5, 0.5)


def test_only_the_first_and_the_last_time_count() -> None:
    row = change([*runs((1, 3), (1, 2)), asked("r0", 5, 7), asked("r1", 5, 7)])
    assert (row["first_turn_asked"], row["last_turn_asked"], row["change"]) == (0, 9, 1.5)


def test_an_agent_without_both_answers_is_left_out_and_counted() -> None:
    row = change(runs((1, 3), (None, 2), (4, None), (1, 2)))
    assert (row["asked"], row["valid"], row["runs"], row["change"]) == (4, 2, 2, 1.5)


def test_without_an_answer_nothing_is_said() -> None:
    row = change(runs((None, None), (1, None)))
    assert (row["asked"], row["valid"], row["runs"]) == (2, 0, 0)
    assert {row[name] for name in ("change", "ci_lo", "ci_hi", "p", "p_min", "labelings")} == {None}


@pytest.mark.parametrize("pairs", [[(2, 5)] * 4, [(3, 3)] * 4, [(1, 4), (2, 5)]])
def test_where_no_run_differs_there_is_neither_interval_nor_p(pairs: list[tuple[int, int]]) -> None:
    row = change(runs(*pairs))
    assert row["change"] == pairs[0][1] - pairs[0][0]
    assert (row["p"], row["ci_lo"], row["ci_hi"]) == (None, None, None)


def test_identical_runs_count_once_and_only_if_their_answers_are_alike() -> None:
    answers = runs((1, 3), (1, 3), (1, 3), (1, 2))
    row = change(answers, r1="r0", r2="r0")
    assert (row["runs"], row["identical"], row["change"]) == (2, 2, 1.5)
    other = change(runs((1, 3), (1, 4), (1, 2)), r1="r0")
    assert (other["runs"], other["identical"]) == (3, 0)


def test_choices_are_shares_of_each_answer() -> None:
    answers = [
        asked(run, turn, None, kind="choices", choice=choice, choices=2, parse_code="ok")
        for run, pair in (("r0", (1, 2)), ("r1", (2, 2)))
        for turn, choice in zip((0, 9), pair, strict=True)
    ]
    found = {row.row["answer"]: row.row["change"] for row in Interviews(answers).changes("7")}
    assert found == {"1": -0.5, "2": 0.5}
    levels = {(row.row["answer"], row.row["turn"]): row.row["mean"] for row in Interviews(answers).levels()}
    assert levels == {("1", 0): 0.5, ("1", 9): 0.0, ("2", 0): 0.5, ("2", 9): 1.0}


def test_pilots_are_described_and_not_tested_beside_others() -> None:
    pilots = [asked("pilot", turn, 7, exploratory=True) for turn in (0, 9)]
    answers = [*runs((1, 3), (1, 2)), *pilots]
    assert change(answers)["runs"] == 2
    assert len(Interviews(answers).rows()) == 6
    assert change(pilots)["runs"] == 1
