"""Questions asked aside: what was answered, and how answers change from the first to the last time of asking.

Agents are averaged in a run, and the signs of the runs' changes are flipped. Nothing here enters a registered test.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import msgspec
import numpy as np
from playmolt_schemas.instrument.definitions import BOOTSTRAPS, TIE, rank_of
from playmolt_schemas.stored.agora.turn import AnswerCode, Language

from playmolt_agora.measures.data.results import Result, grouped, mean, number
from playmolt_agora.measures.divergence import Floats
from playmolt_agora.measures.inference import bootstrap, permutation
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
    def place(self) -> tuple[str, int, str, str]:
        return self.run, self.turn, self.agent, self.id

    @property
    def said(self) -> tuple[Hashable, ...]:
        return self.turn, self.agent, self.id, self.value, self.choice, self.text


class Code(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge found in an answer in words; labels are null if it found none."""

    run: str
    turn: int
    agent: str
    id: str
    judge: str
    survival: bool | None
    social: bool | None
    parse_code: str | None

    @property
    def place(self) -> tuple[str, int, str, str]:
        return self.run, self.turn, self.agent, self.id


class Group(NamedTuple):
    """What is compared over time: a question, or one answer of it, asked of one model in one arm and language."""

    id: str
    answer: str | None
    phase: str
    set: str | None
    model: str
    language: str


class Measured(NamedTuple):
    """An answer as a number, or whether it is `answer`; None where there is none."""

    asked: Answered
    answer: str | None
    value: float | None

    @property
    def group(self) -> Group:
        each = self.asked
        return Group(each.id, self.answer, each.phase, each.set, each.model, each.language)


class Interviews:
    """The answers of a study. `copies` is run → the first run with the same turns: with the same answers it is left
    out, as it says nothing that its copy has not said."""

    def __init__(self, asked: Sequence[Answered], codes: Sequence[Code] = (), copies: Mapping[str, str] | None = None):
        self.asked = asked
        self._codes = grouped(codes, lambda code: code.place)
        self.identical = _identical(asked, copies or {})
        planned = [each for each in asked if not each.exploratory] or list(asked)
        self.pooled = [each for each in planned if each.run not in self.identical]
        self._alike = [each for each in planned if each.run in self.identical]

    def rows(self) -> list[Result]:
        """The table `interviews`, every question of every run."""
        return [
            Result({name: getattr(each, name) for name in _COLUMNS}, runs=(each.run,), n=1, unit="answer")
            for each in sorted(self.asked, key=_order)
        ]

    def codes(self) -> list[Result]:
        """The table `interview_codes`."""
        every = (code for codes in self._codes.values() for code in codes)
        found = sorted(every, key=lambda code: (*code.place, code.judge))
        return [Result(msgspec.structs.asdict(code), runs=(code.run,), n=1, unit="answer") for code in found]

    def levels(self) -> list[Result]:
        """The table `interview_levels`: the mean answer after each turn, or the share of each choice or label."""
        found = []
        for group, measured in self._groups().items():
            for turn, here in sorted(grouped(measured, lambda each: each.asked.turn).items()):
                values = [each.value for each in here if each.value is not None]
                runs = tuple(sorted({each.asked.run for each in here}))
                row = {
                    **group._asdict(), "turn": turn, "asked": len(here), "valid": len(values), "runs": len(runs),
                    "mean": mean(values),
                }  # fmt: skip
                found.append(Result(row, runs=runs, n=len(values), unit="answer"))
        return found

    def changes(self, seed: str) -> list[Result]:
        """The table `interview_changes`: from the first to the last time of asking, by runs."""
        found = (_change(group, measured, self._copies_of(group), seed) for group, measured in self._groups().items())
        return [row for row in found if row is not None]

    def _copies_of(self, group: Group) -> int:
        """How many runs of a group are identical to another of it."""
        return len({each.run for each in self._alike if _of(each, group)})

    def _groups(self) -> dict[Group, list[Measured]]:
        asked = sorted(self.pooled, key=_order)
        measured = (Measured(each, answer, value) for each in asked for answer, value in self._values(each))
        return grouped(measured, lambda each: each.group)

    def _values(self, each: Answered) -> Iterator[tuple[str | None, float | None]]:
        if each.kind == "scale":
            yield None, None if each.value is None else float(each.value)
        elif each.kind == "choices":
            for choice in range(1, each.choices + 1):
                yield str(choice), None if each.choice is None else float(each.choice == choice)
        else:
            yield "answered", float(each.text is not None)
            for code in self._codes.get(each.place, ()):
                for label, found in zip(LABELS, (code.survival, code.social), strict=True):
                    yield f"{label}, {code.judge}", None if found is None else float(found)


_COLUMNS: Final = tuple(name for name in Answered.__struct_fields__ if name not in ("choices", "coded"))


def _order(each: Answered) -> tuple[Hashable, ...]:
    return each.id, rank_of(each.phase), each.set or "", each.model, each.language, each.run, each.turn, each.agent


def _of(each: Answered, group: Group) -> bool:
    return (each.id, each.phase, each.set, each.model, each.language) == (group.id, *group[2:])


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


def _change(group: Group, measured: Sequence[Measured], identical: int, seed: str) -> Result | None:
    turns = sorted({each.asked.turn for each in measured})
    if len(turns) < 2:
        return None
    first, last = (
        {(each.asked.run, each.asked.agent): each.value for each in measured if each.asked.turn == turn}
        for turn in (turns[0], turns[-1])
    )
    both = sorted(first.keys() & last.keys())
    by_run: dict[str, list[float]] = {}
    for agent in both:
        before, after = first[agent], last[agent]
        if before is not None and after is not None:
            by_run.setdefault(agent[0], []).append(after - before)
    runs = tuple(sorted(by_run))
    changes = np.array([sum(by_run[run]) / len(by_run[run]) for run in runs], dtype=np.float64)
    valid = sum(map(len, by_run.values()))
    tested = permutation.sign_flips(changes, stream(seed, "interview", *map(str, group)), two_sided=True)
    spread = _interval(changes, seed, group)
    row = {
        **group._asdict(),
        "first_turn_asked": turns[0],
        "last_turn_asked": turns[-1],
        "asked": len(both),
        "valid": valid,
        "runs": len(runs),
        "identical": identical,
        "change": number(changes.mean()) if changes.size else None,
        "ci_lo": spread.low,
        "ci_hi": spread.high,
        "indicative": spread.indicative,
        "p": tested.p if _differ(changes) else None,
        "p_min": 2 / tested.labelings if tested.labelings and changes.size else None,
        "labelings": tested.labelings,
    }
    return Result(row, runs=runs, n=len(runs), unit="run")


def _differ(changes: Floats) -> bool:
    """Whether anything varies: a test of runs that say the same would only count them."""
    return changes.size > 1 and bool(np.ptp(changes) > TIE)


def _interval(changes: Floats, seed: str, group: Group) -> bootstrap.Interval:
    if not _differ(changes):
        return bootstrap.Interval()
    generator = stream(seed, "interview interval", *map(str, group))
    drawn = generator.integers(0, changes.size, (BOOTSTRAPS, changes.size))
    return bootstrap.interval(changes[drawn].mean(axis=1), changes.size, changes.size)
