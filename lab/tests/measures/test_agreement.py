"""Cohen's κ of every pair of coders, and its interval over runs."""

from typing import Any

import msgspec
import numpy as np
import pytest
from playmolt_agora.measures.agreement import CodedThought, kappa
from playmolt_schemas.stored.agora.turn import TurnRecord

RUNS = tuple(f"run-{number}" for number in range(4))


class Turn(msgspec.Struct, frozen=True):
    """What agreement reads of a turn."""

    run: str
    agent: str
    turn: int
    cue_s: bool
    cue_o: bool
    action: str = "trade"
    target: str | None = None
    action_base: str | None = "trade"


def turns(cues: list[tuple[bool, bool]], runs: tuple[str, ...] = RUNS, **more: str) -> list[TurnRecord]:
    return [Turn(runs[at % len(runs)], "a", at, s, o, **more) for at, (s, o) in enumerate(cues)]  # type: ignore[misc]


def said(coder: str, known: list[TurnRecord], labels: list[tuple[bool | None, bool | None]]) -> list[CodedThought]:
    return [
        CodedThought(coder, (turn.run, turn.agent, turn.turn), *label)
        for turn, label in zip(known, labels, strict=False)
    ]


def found_by(known: list[TurnRecord], codings: list[CodedThought], seed: str) -> list[dict[str, Any]]:
    return [each.row for each in kappa(known, codings, seed)]


def drawn(seed: int, many: int = 40) -> list[tuple[bool, bool]]:
    generator = np.random.default_rng(seed)
    return [(bool(s), bool(o)) for s, o in generator.integers(2, size=(many, 2))]


def test_no_coder_no_rows() -> None:
    assert kappa(turns(drawn(1)), [], "7") == []


def test_every_pair_in_the_order_of_the_coders() -> None:
    known = turns(drawn(1))
    found = found_by(known, [*said("judge:b", known, drawn(2)), *said("coder:a", known, drawn(3))], "7")
    pairs = [("lexicon", "judge:b"), ("lexicon", "coder:a"), ("judge:b", "coder:a")]
    assert [(row["label"], row["coder_a"], row["coder_b"]) for row in found] == [
        (label, *pair) for label in ("survival", "social", "code") for pair in pairs
    ]
    assert {row["n"] for row in found} == {40}


def test_the_golden_table_of_three_classes() -> None:
    """The example of `measures.md` over the classes that trade gets: C with S, B with O alone, U with neither."""
    labels = {0: (True, False), 1: (False, True), 2: (False, False)}
    pairs = [
        (one, other)
        for one, row in enumerate([[40, 5, 5], [4, 60, 6], [6, 5, 69]])
        for other, count in enumerate(row)
        for _ in range(count)
    ]
    known = turns([labels[one] for one, _ in pairs])
    found = found_by(known, said("judge:x", known, [labels[other] for _, other in pairs]), "7")
    code = next(row for row in found if row["label"] == "code")
    assert code["kappa"] == pytest.approx(0.7634, abs=5e-5)
    assert code["agree"] == pytest.approx(169 / 200)
    assert code["ci_lo"] < code["kappa"] < code["ci_hi"]


def test_code_reads_the_act_by_what_it_counts_as() -> None:
    known = turns([(True, False)] * 8, action="harvest", action_base="trade")
    found = found_by(known, said("judge:x", known, [(True, False)] * 8), "7")
    assert [(row["label"], row["agree"], row["kappa"]) for row in found] == [
        ("survival", 1, None), ("social", 1, None), ("code", 1, None),
    ]  # fmt: skip


def test_only_turns_that_both_coded_count() -> None:
    known = turns(drawn(1))
    half: list[tuple[bool | None, bool | None]] = [(None, False)] * 10 + [(True, None)] * 10 + [(True, False)] * 5
    found = found_by(known, [*said("coder:a", known, half), CodedThought("coder:a", ("gone", "a", 1), True, True)], "7")
    assert [(row["label"], row["n"]) for row in found] == [("survival", 15), ("social", 15), ("code", 5)]


def test_a_coder_without_any_label_still_has_its_rows() -> None:
    known = turns(drawn(1))
    found = found_by(known, said("judge:x", known, [(None, None)] * 40), "7")
    assert [(row["n"], row["agree"], row["kappa"], row["ci_lo"]) for row in found] == [(0, None, None, None)] * 3


def test_below_three_runs_there_is_no_interval() -> None:
    known = turns(drawn(1), RUNS[:2])
    assert {row["ci_lo"] for row in found_by(known, said("judge:x", known, drawn(2)), "7")} == {None}


def test_the_interval_follows_from_the_seed() -> None:
    known = turns(drawn(1), tuple(f"run-{number}" for number in range(11)))
    codings = said("judge:x", known, drawn(2))
    assert kappa(known, codings, "7") == kappa(known, codings, "7")
    one, other = (found_by(known, codings, seed)[0]["ci_lo"] for seed in ("7", "8"))
    assert one != other
