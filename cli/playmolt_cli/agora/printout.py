"""A preview as text for the terminal."""

from collections.abc import Iterator, Sequence

from playmolt_schemas.agora.plan import PlannedTest, Preview
from playmolt_schemas.stored.agora.plan import Square

_WIDTH_MAX = 60
_TEST_COLUMNS = (
    "test", "", "n", "labelings", "alpha", "size", "power", "attainable p", "reachable", "effect", "dispersion",
)  # fmt: skip


def printout(preview: Preview) -> str:
    """Write a preview as plain text, tables aligned, ending in a line break."""
    return "\n".join(_lines(preview)) + "\n"


def _lines(preview: Preview) -> Iterator[str]:
    marks = [mark for mark, on in (("scripted", preview.scripted), ("exploratory", preview.exploratory)) if on]
    if preview.plan_hash is not None:
        yield f"{preview.name}{' (' + ', '.join(marks) + ')' if marks else ''}"
        yield f"plan {preview.plan_hash}"
        if preview.folder:
            count = len(preview.folder.files)
            yield f"folder {preview.folder.hash} ({count} file{'s' if count > 1 else ''})"
        yield ""
    if preview.runs is not None:
        yield f"{preview.runs:,} runs, {preview.agents:,} agents, {preview.turns:,} turns"
    if preview.calls is not None:
        aside = f", {preview.interviews:,} of them questions asked aside" if preview.interviews else ""
        yield f"{preview.calls:,} calls{aside} (at most {preview.calls_most:,}), about {preview.tokens:,} tokens"
        yield f"cost about {preview.cost}, at most {preview.cost_most}" if preview.cost else "cost unknown"
        yield ""
    yield from _matrix(preview)
    yield from _models(preview)
    for square in preview.squares:
        yield from _square(square)
    yield from _tests(preview.tests)
    yield from (f"warning: {warning}" for warning in preview.warnings)
    yield from (str(fault) for fault in preview.faults)


def _money(cost: str | None) -> str:
    return "unknown" if cost is None else cost


def _matrix(preview: Preview) -> Iterator[str]:
    rows = [(row.cell, row.language, str(row.runs), str(row.agents), str(row.turns)) for row in preview.matrix]
    yield from _table(("cell", "language", "runs", "agents", "turns"), rows)


def _models(preview: Preview) -> Iterator[str]:
    rows = [
        (
            f"{each.model}{' (scripted)' if each.scripted else ''}",
            str(each.calls),
            str(each.prompt_tokens),
            str(each.completion_tokens),
            _money(each.cost),
        )
        for each in preview.models
    ]
    yield from _table(("model", "calls", "prompt tokens", "reply tokens", "cost"), rows)


def _square(square: Square) -> Iterator[str]:
    what = "Model × Persona" if square.condition == "A" else "Model × Location"
    yield f"Sets {', '.join(square.sets)}: {what}, {'balanced' if square.balanced else 'UNBALANCED'}"
    columns = list(dict.fromkeys(agent.persona or agent.home for run in square.runs for agent in run.agents))
    rows = []
    for run in square.runs:
        row = [str(run.run)]
        for column in columns:
            there = [agent for agent in run.agents if (agent.persona or agent.home) == column]
            homes = dict.fromkeys(agent.home for agent in there)
            place = f" @ {', '.join(homes)}" if square.condition == "A" else ""
            row.append(", ".join(agent.model for agent in there) + place)
        rows.append(row)
    yield from _table(("run", *columns), rows)
    for name, margin in square.margins.items():
        yield f"  {name}"
        for line, counts in margin.items():
            yield f"    {line}: {', '.join(f'{column} {count}' for column, count in counts.items())}"
    yield ""


def _tests(tests: Sequence[PlannedTest]) -> Iterator[str]:
    rows = [
        (
            test.test,
            "confirmatory" if test.confirmatory else "descriptive",
            test.n,
            "–" if test.labelings is None else str(test.labelings),
            test.alpha,
            "–" if test.size is None else f"{test.size:.3f}",
            "–" if test.power is None else f"{test.power:.3f}",
            "–" if test.attainable_p is None else f"{test.attainable_p:.4g}",
            "yes" if test.reachable else "NO",
            test.effect or "–",
            test.dispersion or "–",
        )
        for test in tests
    ]
    if rows:
        yield from _table(_TEST_COLUMNS, rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [min(_WIDTH_MAX, max(len(line[place]) for line in (head, *rows))) for place in range(len(head))]
    for line in (head, *rows):
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
    yield ""
