"""A report as text lines, as Markdown and as one HTML file without scripts or network access."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import NamedTuple

from playmolt_cli.match.reporting.report import Interval, Pair, Report


def verdict(report: Report) -> str:
    """The first sentence: which player is better, or that the games do not decide it."""
    if not report.pairs:
        return "Nothing to compare: a match needs two bots."
    better = [_comparison(pair) for pair in report.pairs if pair.better is not None]
    if not better:
        return "No bot is better with 95 % confidence. Play more games."
    return "; ".join(better) + "."


def lines(report: Report) -> Iterator[str]:
    yield verdict(report)
    if report.stopped:
        yield f"Stopped ({report.stopped}) after {report.games_played} of {report.games_planned} games."
    for player in report.players:
        for game, line in player.by_game.items():
            yield (
                f"{player.name}  {game}  {line.games} games, {line.wins} won, mean points {line.mean_points:.2f}"
                f"{_interval_text(line.mean_points_interval)}, "
                f"rating {line.rating:.1f}{_interval_text(line.rating_interval, 1)}"
            )
    for pair in report.pairs:
        yield (
            f"{pair.a} against {pair.b}  {pair.game}  ahead {pair.ahead}, behind {pair.behind}, level {pair.level}; "
            f"points {pair.points_difference:+.2f}{_interval_text(pair.points_interval)}; "
            f"rating {pair.rating_difference:+.1f}{_interval_text(pair.rating_interval, 1)}"
        )
    for fault in report.faults:
        at = f" at {fault.at}" if fault.at else ""
        yield f"fault  game {fault.number}  {fault.player}  {fault.what} ({fault.kind}) × {fault.count}{at}"


def _comparison(pair: Pair) -> str:
    low, high = pair.points_interval or (0.0, 0.0)
    worse = pair.b if pair.better == pair.a else pair.a
    ends = sorted((abs(low), abs(high)))
    return (
        f"{pair.better} is better than {worse} at {pair.game}: "
        f"by {abs(pair.points_difference):.1f} points per game (95 %: {ends[0]:.1f} to {ends[1]:.1f})"
    )


def _interval_text(interval: Interval | None, digits: int = 2) -> str:
    if interval is None:
        return ""
    return f" [{interval[0]:.{digits}f}, {interval[1]:.{digits}f}]"


class Link(NamedTuple):
    """A file of the match's folder."""

    text: str
    href: str


Cell = str | Link


class ReportTable(NamedTuple):
    """A heading, column names and rows."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;margin:1rem 0;display:block;overflow-x:auto}"
    "th,td{border:1px solid #999;padding:.3rem .6rem;text-align:left;font-variant-numeric:tabular-nums}"
    "@media(prefers-color-scheme:dark){body{background:#111;color:#eee}a{color:#8cf}}"
)


def markdown(report: Report) -> str:
    lines = [f"# Match {report.name}", "", verdict(report), "", _played(report)]
    for table in _tables(report):
        lines += ["", f"## {table.title}", "", _row(table.columns), _row(["---"] * len(table.columns))]
        lines += [_row([_marked(cell) for cell in row]) for row in table.rows]
    return "\n".join(lines) + "\n"


def html(report: Report) -> str:
    title = escape(f"Match {report.name}")
    parts = [
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>',
        f"<h1>{title}</h1><p>{escape(verdict(report))}</p><p>{escape(_played(report))}</p>",
    ]
    for table in _tables(report):
        head = "".join(f'<th scope="col">{escape(column)}</th>' for column in table.columns)
        body = "".join(f"<tr>{''.join(f'<td>{_linked(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
        parts.append(f"<h2>{escape(table.title)}</h2><table><tr>{head}</tr>{body}</table>")
    return "\n".join([*parts, "</body></html>"]) + "\n"


def _played(report: Report) -> str:
    stopped = f" Stopped: {report.stopped}." if report.stopped else ""
    return f"{report.games_played} of {report.games_planned} games were played, seed {report.seed}.{stopped}"


def _tables(report: Report) -> Iterator[ReportTable]:
    for game in dict.fromkeys(game for player in report.players for game in player.by_game):
        yield _players(report, game)
        yield _cross(report, game)
    yield _pairs(report)
    yield _faults(report)
    yield _costs(report)
    yield ReportTable("Games", ("number", "game", "seats", "log", "transcript"), [
        [str(game.number), game.game, ", ".join(game.seats), _file(game.log), _file(game.transcript)]
        for game in report.games
    ])  # fmt: skip


def _players(report: Report, game: str) -> ReportTable:
    columns = ("player", "kind", "model", "games", "won", "points", "mean points", "rating")
    rows = [
        [
            player.name, player.kind, player.model or "", str(line.games), str(line.wins), str(line.points),
            f"{line.mean_points:.2f}{_within(line.mean_points_interval)}",
            f"{line.rating:.1f}{_within(line.rating_interval)}",
        ]
        for player in report.players
        if (line := player.by_game.get(game)) is not None
    ]  # fmt: skip
    return ReportTable(f"Players of {game}, with 95 % intervals", columns, rows)


def _cross(report: Report, game: str) -> ReportTable:
    pairs = {(pair.a, pair.b): pair for pair in report.pairs if pair.game == game}
    names = [player.name for player in report.players if player.kind != "fill" and game in player.by_game]
    rows = [[a, *(_difference(pairs, a, b) for b in names)] for a in names]
    return ReportTable(f"Head to head, {game}: points per game, row minus column", ("", *names), rows)


def _difference(pairs: dict[tuple[str, str], Pair], a: str, b: str) -> str:
    if (a, b) in pairs:
        pair = pairs[a, b]
        return f"{pair.points_difference:+.2f}{_within(pair.points_interval)}"
    if (b, a) not in pairs:
        return ""
    pair = pairs[b, a]
    turned = None if pair.points_interval is None else (-pair.points_interval[1], -pair.points_interval[0])
    return f"{-pair.points_difference:+.2f}{_within(turned)}"


def _pairs(report: Report) -> ReportTable:
    columns = ("game", "a", "b", "blocks", "ahead", "behind", "level", "points", "rating", "better")
    rows = [
        [
            pair.game, pair.a, pair.b, str(pair.blocks), str(pair.ahead), str(pair.behind), str(pair.level),
            f"{pair.points_difference:+.2f}{_within(pair.points_interval)}",
            f"{pair.rating_difference:+.1f}{_within(pair.rating_interval)}",
            pair.better or "not decided",
        ]
        for pair in report.pairs
    ]  # fmt: skip
    return ReportTable("Pairs, with 95 % intervals", columns, rows)


def _faults(report: Report) -> ReportTable:
    counts: dict[tuple[str, str, str, str], int] = {}
    for fault in report.faults:
        key = (fault.player, fault.kind, fault.what, fault.at or "")
        counts[key] = counts.get(key, 0) + fault.count
    rows = [[*key, str(count)] for key, count in sorted(counts.items())]
    return ReportTable("Faults", ("player", "kind", "what", "at", "count"), rows or [["none", "", "", "", "0"]])


def _costs(report: Report) -> ReportTable:
    columns = ("player", "calls", "tokens in", "tokens out", "cost", "calls of unknown cost")
    rows = [
        [
            player.name, str(player.calls), str(player.input_tokens), str(player.output_tokens),
            player.cost or "", str(player.unknown_calls),
        ]
        for player in report.players
        if player.model is not None
    ]  # fmt: skip
    cost = report.cost
    total = [
        f"all, {cost.lost_calls} lost", str(cost.calls), str(cost.input_tokens), str(cost.output_tokens),
        cost.money or "", str(cost.unknown_calls),
    ]  # fmt: skip
    return ReportTable("Cost", columns, [*rows, total])


def _file(path: str | None) -> Cell:
    return Link(path.rpartition("/")[2], path) if path else ""


def _within(interval: Interval | None) -> str:
    return f" [{interval[0]:.1f}, {interval[1]:.1f}]" if interval else ""


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _marked(cell: Cell) -> str:
    if isinstance(cell, Link):
        return f"[{cell.text}]({cell.href})"
    return cell.replace("|", "\\|").replace("<", "&lt;")


def _linked(cell: Cell) -> str:
    return f'<a href="{escape(cell.href)}">{escape(cell.text)}</a>' if isinstance(cell, Link) else escape(cell)
