"""HTML and SVG text: everything from outside is escaped here and nowhere else."""

import html
import re
from collections.abc import Iterable, Sequence

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff￾￿]")
_NUMBER = re.compile(r"(< )?−?[0-9][0-9,]*(\.[0-9]+)?(/[0-9]+)?")
_CODE = re.compile("`([^`\n]+)`")
_SHORT = 40
NULL = "–"


def cleaned(text: str) -> str:
    """Text without the characters that neither HTML nor XML may contain."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def escaped(text: object) -> str:
    """Text that is safe between tags and in quoted attributes, of HTML and of XML."""
    return html.escape(cleaned(str(text)))


def shown(value: object) -> str:
    """Write a value of a table for a reader, unescaped: four decimals, yes and no, a dash for null."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4f}".replace("-", "−") if round(value, 4) else "0.0000"
    if isinstance(value, int):
        return f"{value:,}".replace("-", "−")
    return str(value)


def shown_p(value: float | None) -> str:
    """Write a p value, unescaped: four decimals, and what four decimals cannot show as such."""
    if value is None:
        return NULL
    return "< 0.0001" if value < 0.00005 else f"{value:.4f}"


def table(caption: str, columns: Sequence[str], lines: Iterable[Sequence[object]], *, label: str | None = None) -> str:
    """A table of plain values under its caption, in a frame that can be scrolled with the keyboard."""
    listed_lines = [[shown(value) for value in line] for line in lines]
    kinds = [_kind([line[number] for line in listed_lines]) for number in range(len(columns))]
    head = "".join(f'<th scope="col"{kind}>{escaped(column)}</th>' for column, kind in zip(columns, kinds, strict=True))
    body = "".join(
        f"<tr>{''.join(f'<td{kind}>{escaped(cell)}</td>' for cell, kind in zip(line, kinds, strict=True))}</tr>"
        for line in listed_lines
    )
    rest = body or f'<tr><td colspan="{len(columns)}">Nothing to show.</td></tr>'
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escaped(label or caption)}"><table>'
        f"<caption>{escaped(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{rest}</tbody></table></div>"
    )


def _kind(cells: Sequence[str]) -> str:
    """Numbers are aligned; short words stay on one line."""
    if any(_NUMBER.fullmatch(cell) for cell in cells) and all(
        cell == NULL or _NUMBER.fullmatch(cell) for cell in cells
    ):
        return ' class="n"'
    return "" if any(len(cell) > _SHORT for cell in cells) else ' class="s"'


def worded(text: str) -> str:
    """A sentence, escaped; text between backticks is code."""
    return _CODE.sub(r"<code>\1</code>", escaped(text))


def paragraph(text: str, kind: str = "") -> str:
    return f'<p class="{escaped(kind)}">{worded(text)}</p>' if kind else f"<p>{worded(text)}</p>"


def listed(items: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{worded(item)}</li>' for item in items)}</ul>"


def folded(summary: str, inner: str) -> str:
    """What is shown when asked for; `inner` is markup."""
    return f"<details><summary>{escaped(summary)}</summary>{inner}</details>"
