"""Questions asked aside: what was answered, and how answers change from the first to the last time of asking.

Agents are averaged in a run, and the signs of the runs' changes are flipped. Nothing here enters a registered test.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

import msgspec
import numpy as np
import polars as pl
from playmolt_schemas.instrument.definitions import TIE, rank_of
from playmolt_schemas.stored.agora.experiment import JudgeCoded
from playmolt_schemas.stored.agora.turn import AnswerCode, Language

from playmolt_agora.measures.data.frame import RUNS
from playmolt_agora.measures.data.results import Result, grouped, number, results
from playmolt_agora.measures.data.tables import COLUMNS
from playmolt_agora.measures.divergence import Floats
from playmolt_agora.measures.inference import permutation, resampling
from playmolt_agora.measures.inference.streams import stream

Kind = Literal["scale", "choices", "text"]
LABELS: Final = ("survival", "social")


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """A question as an agent of a run was asked it after a turn. `phase` is the arm; `last` the largest answer."""

    run: str
    turn: int
    agent: str
    id: str
    cell: str
    phase: str
    set: str | None
    model: str
    language: Language
    persona: str | None
    exploratory: bool
    kind: Kind
    parse_code: AnswerCode
    value: int | None
    choice: int | None
    text: str | None
    prompt_tokens: int
    completion_tokens: int
    cost: str | None
    choices: int = 0
    """How many there are to choose from."""
    coded: bool = False
    """Whether judges code the answers."""

    @property
    def said(self) -> tuple[Hashable, ...]:
        return self.turn, self.agent, self.id, self.value, self.choice, self.text


_GROUP: Final = ("id", "answer", "phase", "set", "model", "language")
"""What is compared over time: a question, or one answer of it, asked of one model in one arm and language."""
_KINDS: Final = {
    **dict.fromkeys((*_GROUP, "run", "agent"), pl.String),
    "turn": pl.Int64,
    "value": pl.Float64,
}


class Interviews:
    """The answers of a study. `codes` are what judges found in answers in words. `copies` is run → the first run with
    the same turns: with the same answers it is left out, as it says nothing that its copy has not said."""

    def __init__(
        self, asked: Sequence[Answered], codes: Sequence[JudgeCoded] = (), copies: Mapping[str, str] | None = None
    ) -> None:
        self.asked = asked
        self._codes = grouped(codes, _place)
        self.identical = _identical(asked, copies or {})
        planned = [each for each in asked if not each.exploratory] or list(asked)
        self.pooled = [each for each in planned if each.run not in self.identical]
        self._alike = [each for each in planned if each.run in self.identical]

    def rows(self) -> list[Result]:
        """The table `interviews`, every question of every run."""
        return [
            Result({name: getattr(each, name) for name in COLUMNS["interviews"]}, runs=(each.run,), n=1, unit="answer")
            for each in sorted(self.asked, key=_order)
        ]

    def codes(self) -> list[Result]:
        """The table `interview_codes`."""
        return [
            Result(
                {"run": run, "turn": turn, "agent": agent, "id": id_, "judge": code.judge, "survival": code.survival,
                 "social": code.social, "parse_code": code.code},
                runs=(run,), n=1, unit="answer",
            )
            for (run, turn, agent, id_), codes in sorted(self._codes.items())
            for code in sorted(codes, key=lambda code: code.judge)
        ]  # fmt: skip

    def levels(self) -> list[Result]:
        """The table `interview_levels`: the mean answer after each turn, or the share of each choice or label."""
        value = pl.col("value")
        ordered = self._measured().with_row_index("at").sort(pl.col("at").min().over(*_GROUP), "turn")
        found = ordered.group_by(*_GROUP, "turn", maintain_order=True).agg(
            RUNS, asked=pl.len(), valid=value.count(), runs=pl.col("run").n_unique(), mean=value.mean()
        )
        return results("interview_levels", found, n="valid", unit="answer")

    def changes(self, seed: str) -> list[Result]:
        """The table `interview_changes`: from the first to the last time of asking, by runs."""
        found = []
        for key, asked in self._measured().group_by(*_GROUP, maintain_order=True):
            identical = {each.run for each in self._alike if _seat(each) == (key[0], *key[2:])}
            found.append(_change(dict(zip(_GROUP, key, strict=True)), asked, len(identical), seed))
        return [row for row in found if row is not None]

    def _measured(self) -> pl.DataFrame:
        """An answer as a number, or whether it is `answer`; null where there is none."""
        rows = [
            (id_, answer, *rest, each.run, each.agent, each.turn, value)
            for each in sorted(self.pooled, key=_order)
            for id_, *rest in [_seat(each)]
            for answer, value in self._values(each)
        ]
        return pl.DataFrame(rows, schema=_KINDS, orient="row")

    def _values(self, each: Answered) -> Iterator[tuple[str | None, float | None]]:
        if each.kind == "scale":
            yield None, None if each.value is None else float(each.value)
        elif each.kind == "choices":
            for choice in range(1, each.choices + 1):
                yield str(choice), None if each.choice is None else float(each.choice == choice)
        else:
            yield "answered", float(each.text is not None)
            for code in self._codes.get((each.run, each.turn, each.agent, each.id), ()):
                for label, found in zip(LABELS, (code.survival, code.social), strict=True):
                    yield f"{label}, {code.judge}", None if found is None else float(found)


def _place(code: JudgeCoded) -> tuple[str, int, str, str]:
    return code.run, code.turn, code.agent, code.interview or ""


def _order(each: Answered) -> tuple[Hashable, ...]:
    return each.id, rank_of(each.phase), each.set or "", each.model, each.language, each.run, each.turn, each.agent


def _seat(each: Answered) -> tuple[str | None, ...]:
    """Its group, but for the answer."""
    return each.id, each.phase, each.set, each.model, each.language


def _identical(asked: Iterable[Answered], copies: Mapping[str, str]) -> dict[str, str]:
    """Run → the first run with the same turns and the same answers."""
    said = grouped(asked, lambda each: each.run)
    answers = {run: tuple(sorted((each.said for each in found), key=repr)) for run, found in said.items()}
    first: dict[tuple[str, Hashable], str] = {}
    found: dict[str, str] = {}
    for run in sorted(answers):
        same = first.setdefault((copies.get(run, run), answers[run]), run)
        if same != run:
            found[run] = same
    return found


def _change(group: Mapping[str, object], measured: pl.DataFrame, identical: int, seed: str) -> Result | None:
    first, last = measured["turn"].min(), measured["turn"].max()
    if first == last:
        return None
    before, after = (measured.filter(turn=turn) for turn in (first, last))
    both = before.join(after, on=["run", "agent"], suffix="_after")
    changed = both.select("run", change=pl.col("value_after") - pl.col("value")).drop_nulls()
    by_run = changed.group_by("run").agg(pl.col("change").mean()).sort("run")
    runs, changes = tuple(by_run["run"]), by_run["change"].to_numpy()
    named = [str(part) for part in group.values()]
    tested = permutation.sign_flips(changes, stream(seed, "interview", *named), two_sided=True)
    spread = resampling.Interval()
    if _differ(changes):
        drawn = resampling.drawn_sums(stream(seed, "interview interval", *named), changes)
        spread = resampling.bootstrapped(drawn / changes.size, changes.size)
    row = {
        **group,
        "first_turn_asked": first,
        "last_turn_asked": last,
        "asked": both.height,
        "valid": changed.height,
        "runs": len(runs),
        "identical": identical,
        "change": number(changes.mean()) if changes.size else None,
        **spread.named("ci"),
        "indicative": spread.indicative,
        "p": tested.p if _differ(changes) else None,
        "p_min": 2 / tested.labelings if tested.labelings and changes.size else None,
        "labelings": tested.labelings,
    }
    return Result(row, runs=runs, n=len(runs), unit="run")


def _differ(changes: Floats) -> bool:
    """Whether anything varies: a test of runs that say the same would only count them."""
    return changes.size > 1 and bool(np.ptp(changes) > TIE)
