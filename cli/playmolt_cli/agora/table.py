"""A running experiment as a table or as one line."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec
from playmolt_schemas.agora.plan import ExperimentState, LookRow, RunRow
from playmolt_schemas.stored.agora.plan import PcsSoFar, Spent
from rich.table import Table
from rich.text import Text

from playmolt_cli.terminal.narration import printable

_WHY: Final = {
    "model_away": "a model is unavailable; they resume automatically",
    "budget": "the budget is spent",
    "stopped": "the experiment is stopped",
    "no_valid_turn": "a model gave no valid turn; resume it with --resume, or stop it",
}


_DETAIL_CHARS: Final = 300


class PausedRuns(msgspec.Struct, frozen=True):
    """Number of paused runs, and why the first is paused."""

    runs: int
    code: str
    detail: str = ""
    """Message of the server or the operator."""

    def __str__(self) -> str:
        detail = f" ({printable(self.detail)[:_DETAIL_CHARS]})" if self.detail else ""
        return (
            f"{self.runs} {'run paused' if self.runs == 1 else 'runs paused'}: {_WHY.get(self.code, self.code)}{detail}"
        )


def total(runs: Iterable[RunRow]) -> Spent:
    """Total usage of runs."""
    from playmolt_schemas.instrument.usage import summed  # noqa: PLC0415 -- rarely needed

    return summed(run.spent for run in runs)


def line(state: ExperimentState, pause: PausedRuns | None = None) -> str:
    """The status of an experiment in one line."""
    done, spent = state.progress, state.spent
    text = (
        f"{state.status}: runs {done.finished}/{done.runs}, turns {spent.turns:,}/{done.turns_planned:,}, "
        f"{spent.calls:,} calls, {spent.tokens:,} tokens, cost {spent.cost_text}"
    )
    return f"{text}; {pause}" if pause else text


def table(state: ExperimentState, runs: Sequence[RunRow], pause: PausedRuns | None = None) -> Table:
    """A table of the matrix cells with their usage so far."""
    marks = [mark for mark, on in (("scripted", state.scripted), ("exploratory", state.exploratory)) if on]
    title = f"{printable(state.name)}{' (' + ', '.join(marks) + ')' if marks else ''}  {state.experiment}"
    made = Table(
        title=Text(title), caption=Text(_caption(state, pause)), title_justify="left", caption_justify="left",
        box=None, pad_edge=False, padding=(0, 1, 0, 0),
    )  # fmt: skip
    seen = _seen(state)
    heads = ("cell", "runs", "open", "turns", "calls", "tokens", "cost", *(("PCS (floor)",) if seen else ()))
    for head in heads:
        made.add_column(head, justify="left" if head == "cell" else "right", no_wrap=True)
    for cell in dict.fromkeys(run.cell for run in runs):
        figures = _figures([run for run in runs if run.cell == cell])
        made.add_row(printable(cell), *figures, *((_pcs(seen.pcs.get(cell)),) if seen else ()))
    made.add_section()
    made.add_row("all", *_figures(runs), style="bold")
    return made


def seen_after(state: ExperimentState) -> int:
    """Turns taken at the last look at PCS; 0 before the first look."""
    seen = _seen(state)
    return 0 if seen is None or seen.turns is None else seen.turns


def _seen(state: ExperimentState) -> LookRow | None:
    return next((look for look in reversed(state.looks) if look.turns is not None), None)


def _pcs(figure: PcsSoFar | None) -> str:
    """PCS with the highest of its floors (its expected value without any difference)."""
    if figure is None:
        return ""
    floors = (figure.floor_iid, figure.floor_null)
    return f"{float(figure.pcs):.3f} ({max(float(floor) for floor in floors if floor is not None):.3f})"


def _figures(runs: Sequence[RunRow]) -> tuple[str, ...]:
    spent = total(runs)
    return (
        f"{sum(run.status == 'finished' for run in runs)}/{len(runs)}",
        str(sum(run.status == "open" for run in runs)),
        f"{spent.turns}/{sum(run.turns_planned for run in runs)}",
        str(spent.calls),
        _short(spent.tokens),
        spent.cost_text,
    )


def _short(count: int) -> str:
    """Abbreviate a large number."""
    for unit, name in ((1_000_000, "M"), (1_000, "k")):
        if count >= 10 * unit:
            return f"{count / unit:.{1 if count < 100 * unit else 0}f}{name}"
    return str(count)


def _caption(state: ExperimentState, pause: PausedRuns | None) -> str:
    budget = state.budget
    limits = [
        f"{name} {value}"
        for name, value in (("money", budget.money), ("tokens", budget.tokens), ("calls", budget.calls))
        if value is not None
    ]
    seen = _seen(state)
    look = f"PCS after {seen.turns:,} turns, looks logged: {len(state.looks)}" if seen else ""
    parts = [state.status, f"budget {', '.join(limits)}" if limits else "no budget", str(pause) if pause else "", look]
    return printable("; ".join(each for each in (*parts, *noticed(state), state.reason) if each))


def noticed(state: ExperimentState) -> Iterator[str]:
    """Deviations of the models: other models answered, prompts cut."""
    for line_ in state.deviations:
        if line_.count:
            alias = line_.field.partition(".")[2]
            yield f"{alias}: {line_.after} answered {line_.count} times instead of {line_.before}"
    for alias, count in state.prompt_cut.items():
        yield f"{alias}: its server truncated {count} prompts"
