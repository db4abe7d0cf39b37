"""`report.html`: a panel's figures for people, in the language of its case. Every text is escaped."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Final

import msgspec
from msgspec.structs import replace
from playmolt_schemas.games.jury_panels import (
    ArgumentResult,
    ComparisonResult,
    OrderMean,
    OrderResult,
    PanelReport,
    ScriptResult,
)
from playmolt_schemas.stored.jury import Language
from playmolt_schemas.stored.panels import PanelSpent

from playmolt_jury.panels.chart import SHARES, Bar, drawn, points
from playmolt_jury.panels.report import ReportSource, report
from playmolt_jury.panels.statistics import LEVEL
from playmolt_jury.transcript.transcript import TranscriptTexts

_STYLE: Final = (
    ":root{color-scheme:light dark;--ink:#1d1d1f;--quiet:#5c5f66;--line:#c9ccd3;--paper:#fff;--guilt:#b3421f;"
    "--innocence:#2a6f97}"
    "@media(prefers-color-scheme:dark){:root{--ink:#ececf0;--quiet:#a2a6b0;--line:#474b55;--paper:#17181b;"
    "--guilt:#e8825f;--innocence:#6fb3d9}}"
    "body{font:16px/1.6 system-ui,'Noto Sans CJK KR','Noto Sans CJK SC',sans-serif;max-width:50rem;margin:2rem auto;"
    "padding:0 1rem;color:var(--ink);background:var(--paper)}"
    "h1{font-size:1.6rem;line-height:1.25;margin-bottom:.2rem}"
    "h2{font-size:1.2rem;margin-top:2.2rem;border-bottom:1px solid var(--line)}h3{font-size:1rem;margin:1.2rem 0 .2rem}"
    ".quiet{color:var(--quiet)}.big{font-size:1.15rem}.notice{border-left:4px solid var(--guilt);padding-left:.8rem}"
    "table{border-collapse:collapse;width:100%;font-size:.92rem}caption{text-align:left;color:var(--quiet)}"
    "td,th{border-bottom:1px solid var(--line);padding:.3rem .5rem;text-align:left;vertical-align:top}"
    ".number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".wide{overflow-x:auto}svg{max-width:100%;height:auto;font-size:13px}svg text{fill:var(--ink)}"
    "svg .tick,svg .end{fill:var(--quiet);font-size:12px}svg line{stroke:var(--line)}"
    "svg line.middle{stroke:var(--quiet)}svg .guilt{fill:var(--guilt)}svg .innocence{fill:var(--innocence)}"
    "svg .interval{stroke:var(--ink);fill:none;stroke-width:1.5}"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}dt{color:var(--quiet)}dd{margin:0}"
    "code{overflow-wrap:anywhere}:lang(ko){word-break:keep-all}"
)
_LANGUAGES: Final[Mapping[Language, str]] = {"en": "English", "ko": "한국어", "zh": "中文"}
_MINUS: Final = "\u2212"
_SMALL_P: Final = 0.001
_MANY: Final = 12
"""More rows than this are a table alone, without a drawing."""


@cache
def panel_texts(language: Language) -> TranscriptTexts:
    source = files("playmolt_jury").joinpath("data", f"panel.{language}.json").read_text("utf-8")
    return TranscriptTexts(msgspec.json.decode(source, type=dict[str, str]))


def page(source: ReportSource) -> str:
    """A page by itself."""
    found, say = report(source), panel_texts(source.plan.language)
    title = f"{source.title} · {say('title')}"
    sections = (
        _head(source, found, say),
        _verdicts(found, say),
        _comparison(found.comparison, say) if found.comparison else "",
        _arguments(source, found, say),
        _flips(source, found, say),
        _deliberation(found, say),
        _order(found.order, source, say) if found.order else "",
        _methods(say),
        _plan(source, found, say),
    )
    return (
        f'<!doctype html>\n<html lang="{source.plan.language}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body><main><h1>{escape(title)}</h1>{''.join(sections)}</main></body></html>\n"
    )


def _head(source: ReportSource, found: PanelReport, say: TranscriptTexts) -> str:
    played, planned = len(source.juries), found.n * len(source.plan.scripts)
    notices = []
    if found.stopped:
        notices.append(say("between").join((say(f"stopped.{found.stopped.by}"), say("stopped.goes_on"))))
    elif played < planned:
        notices.append(say("unfinished", played=played, n=planned))
    if found.missing:
        notices.append(say("missing", n=found.missing))
    notices += found.warnings
    shown = "".join(f'<p class="notice">{escape(notice)}</p>' for notice in notices)
    if found.stopped and found.stopped.by != "owner":
        shown += f'<p class="notice" lang="en">{escape(found.stopped.detail)}</p>'  # the words of a model or a limit
    return f'<p class="quiet">{escape(say("lead", played=played))}</p>{shown}'


def _verdicts(found: PanelReport, say: TranscriptTexts) -> str:
    bars = [
        Bar(label=say("script", name=name), value=each.share, low=each.lo, high=each.hi, note=_percent(each.share, say))
        for name, each in found.scripts.items()
    ]
    scale = replace(SHARES, ticks=tuple((value, _percent(value, say)) for value, _ in SHARES.ticks))
    sentences = "".join(
        f"<p><strong>{escape(say('script', name=name))}.</strong> {escape(_verdict(each, say))}</p>"
        for name, each in found.scripts.items()
    )
    return _section(say("verdicts"), drawn(say("verdicts"), bars, scale) + sentences)


def _verdict(each: ScriptResult, say: TranscriptTexts) -> str:
    if not each.n:
        return say("verdicts.none")
    said = [say("verdicts.of", guilty=each.guilty, n=each.n, share=_percent(each.share, say))]
    if each.lo is not None:
        said.append(say("verdicts.interval", lo=_percent(each.lo, say), hi=_percent(each.hi, say)))
    if each.n > 1 and each.distinct == 1:
        said.append(say("verdicts.same"))
    elif each.distinct < each.n:
        said.append(say("verdicts.courses", distinct=each.distinct, n=each.n))
    return say("between").join(said)


def _comparison(found: ComparisonResult, say: TranscriptTexts) -> str:
    a, b = (say("script", name=name) for name in (found.a, found.b))
    if not found.pairs:
        return _section(say("comparison"), _paragraph(say("comparison.nopairs")))
    said = [
        say(
            "comparison.counts", pairs=found.pairs, a=a, b=b, a_only=found.a_only, b_only=found.b_only,
            difference=_signed(100 * (found.difference or 0), 0),
        )
    ]  # fmt: skip
    if found.p is None:
        said.append(say("comparison.untested"))
        return _section(say("comparison"), _paragraph(say("between").join(said)))
    said.append(say("comparison.clear" if found.p <= LEVEL else "comparison.unclear", p=_p(found.p, sign="= ")))
    power = say(
        "comparison.power", pairs=found.pairs, size=_percent(found.size, say), power=_percent(found.power, say),
        p_min=_p(found.p_min),
    )  # fmt: skip
    return _section(say("comparison"), f'{_paragraph(say("between").join(said))}<p class="quiet">{escape(power)}</p>')


def _arguments(source: ReportSource, found: PanelReport, say: TranscriptTexts) -> str:
    parts = [f'<p class="quiet">{escape(say("arguments.lead"))}</p>']
    scale = points([_bar(each, source) for each in found.arguments], _ends(say))
    for name in found.scripts:
        own = [each for each in found.arguments if each.script == name]
        if len(found.scripts) > 1:
            parts.append(f"<h3>{escape(say('script', name=name))}</h3>")
        if len(own) <= _MANY:
            parts.append(drawn(say("arguments"), [_bar(each, source) for each in own], scale))
        parts.append(_argument_table(own, source, say))
    return _section(say("arguments"), "".join(parts))


def _ends(say: TranscriptTexts) -> tuple[str, str]:
    return say("toward.innocence"), say("toward.guilt")


def _bar(each: ArgumentResult, source: ReportSource) -> Bar:
    label = f"{each.step}. {_name(source, each.juror)}: {each.text}"
    return Bar(label=label, value=each.mean, low=each.lo, high=each.hi, note=_signed(each.mean, 1))


def _argument_table(rows: Sequence[ArgumentResult], source: ReportSource, say: TranscriptTexts) -> str:
    return _table(
        say,
        ("col.step", "col.juror", "col.text", "col.n", "col.mean", "col.interval", "col.rank"),
        (
            (
                each.step, _name(source, each.juror), each.text, each.n, _signed(each.mean, 1),
                _interval(each.lo, each.hi), each.rank or "–",
            )
            for each in rows
        ),
        texts=(1, 2),
    )  # fmt: skip


def _flips(source: ReportSource, found: PanelReport, say: TranscriptTexts) -> str:
    rows = (
        (say("script", name=each.script), _name(source, each.juror), each.to_guilty, each.to_innocent)
        for each in found.flips
    )
    table = _table(say, ("col.script", "col.juror", "col.to_guilty", "col.to_innocent"), rows, texts=(0, 1))
    return _section(say("flips"), f'<p class="quiet">{escape(say("flips.lead"))}</p>{table}')


def _deliberation(found: PanelReport, say: TranscriptTexts) -> str:
    def sentence(name: str, share: float | None) -> str:
        said = say("deliberation.none") if share is None else say("deliberation.share", share=_percent(share, say))
        return f"<p><strong>{escape(say('script', name=name))}.</strong> {escape(said)}</p>"

    parts = (sentence(name, each.share) for name, each in found.deliberation.items() if found.scripts[name].n)
    return _section(say("deliberation"), "".join(parts))


def _order(found: OrderResult, source: ReportSource, say: TranscriptTexts) -> str:
    parts = [f'<p class="quiet">{escape(say("order.lead"))}</p>']
    scale = points([_place(each, say) for each in found.places], _ends(say))
    for name, steps in source.plan.scripts.items():
        places = [each for each in found.places if each.script == name]
        cells = [each for each in found.arguments if each.script == name]
        parts.append(f"<h3>{escape(say('script', name=name))}</h3>")
        if len(steps) <= _MANY:
            parts.append(drawn(say("order"), [_place(each, say) for each in places], scale))
            parts.append(_cells(name, cells, len(steps), source, say))
    return _section(say("order"), "".join(parts))


def _place(each: OrderMean, say: TranscriptTexts) -> Bar:
    label = f"{say('col.place')} {each.place}"
    return Bar(label=label, value=each.mean, low=each.lo, high=each.hi, note=_signed(each.mean, 1))


def _cells(name: str, cells: Sequence[OrderMean], steps: int, source: ReportSource, say: TranscriptTexts) -> str:
    """A row for each argument, a column for each place."""
    means = {(each.step, each.place): each.mean for each in cells}
    planned = source.plan.scripts[name]
    rows = (
        (
            f"{step}. {_name(source, planned[step - 1].juror)}",
            *(_signed(means.get((step, place)), 1) for place in range(1, steps + 1)),
        )
        for step in range(1, steps + 1)
    )
    heads = [say("col.step"), *(f"{say('col.place')} {place}" for place in range(1, steps + 1))]
    return _rows(heads, rows, texts=(0,), caption=say("order.detail"))


def _methods(say: TranscriptTexts) -> str:
    return _section(say("methods"), f'<p class="quiet">{escape(say("methods.text"))}</p>')


def _plan(source: ReportSource, found: PanelReport, say: TranscriptTexts) -> str:
    plan = source.plan
    aliases = dict.fromkeys(plan.jurors.values())
    one = next(iter(aliases), "") if len(aliases) == 1 else ""
    models = one or ", ".join(f"{_name(source, juror)}: {alias}" for juror, alias in plan.jurors.items())
    facts = (
        ("plan.case", f"{source.title} ({plan.case})"),
        ("plan.digest", plan.case_digest),
        ("plan.language", _LANGUAGES[plan.language]),
        ("plan.models", models),
        ("plan.temperature", plan.temperature or say("plan.default")),
        ("plan.rounds", plan.deliberation),
        ("plan.juries", f"{plan.n} × {len(plan.scripts)}"),
        ("plan.seed", plan.seed),
        ("plan.chain", say(f"chain.{plan.chain}")),
        ("plan.spent", _spent(found.spent, say)),
        ("plan.panel", source.panel),
    )
    listed = "".join(f"<dt>{escape(say(name))}</dt><dd>{escape(str(value))}</dd>" for name, value in facts)
    return _section(say("plan"), f"<dl>{listed}</dl>")


def _spent(spent: PanelSpent, say: TranscriptTexts) -> str:
    money = say("unknown") if spent.money is None else spent.money
    return say("spent", money=money, tokens=f"{spent.tokens:,}", calls=f"{spent.calls:,}")


def _name(source: ReportSource, juror: str) -> str:
    return source.names.get(juror, juror)


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{body}</section>"


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _table(
    say: TranscriptTexts, heads: Sequence[str], rows: Iterable[Sequence[object]], *, texts: Sequence[int]
) -> str:
    return _rows([say(head) for head in heads], rows, texts=texts)


def _rows(heads: Sequence[str], rows: Iterable[Sequence[object]], *, texts: Sequence[int], caption: str = "") -> str:
    """`texts` are the columns that hold no numbers."""

    def cells(tag: str, values: Sequence[object]) -> Iterator[str]:
        for place, value in enumerate(values):
            kind = "" if place in texts else ' class="number"'
            yield f"<{tag}{kind}>{escape(str(value))}</{tag}>"

    head = "".join(cells("th", heads))
    body = "".join(f"<tr>{''.join(cells('td', row))}</tr>" for row in rows)
    named = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f'<div class="wide"><table>{named}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _percent(share: float | None, say: TranscriptTexts) -> str:
    return "–" if share is None else say("percent", n=f"{100 * share:.0f}")


def _signed(value: float | None, digits: int) -> str:
    """A number with its sign, "0" without one."""
    if value is None:
        return "–"
    text = f"{abs(value):.{digits}f}"
    if not float(text):
        return text
    return f"{'+' if value > 0 else _MINUS}{text}"


def _interval(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{_signed(low, 1)} … {_signed(high, 1)}"


def _p(value: float | None, sign: str = "") -> str:
    """A p to three digits; `sign` precedes one that is not smaller."""
    if value is None:
        return "–"
    return f"{sign}{value:.3f}" if value >= _SMALL_P else f"< {_SMALL_P}"
