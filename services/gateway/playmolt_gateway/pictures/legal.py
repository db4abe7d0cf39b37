"""The picture of a legal session: claim and answer per issue, the gate decisions, the finding."""

from collections.abc import Mapping
from typing import Any, Final

from playmolt_gateway.pictures.scene import MARGIN, Picture, PictureTexts, Sheet, heading, headline, panel
from playmolt_gateway.pictures.svg import Node, fitted, group, label, node, paragraph, wrapped

State = Mapping[str, Any]
_SIDES: Final = ("claimant", "opposing")
_GAP: Final = 16
_GATES: Final = 4
_EVEN: Final = 50
"""The percentage at which the sides are even."""
_SIZES: Final = (32.0, 28.0, 24.0, 19.0)


def draw(state: State, words: PictureTexts, sheet: Sheet) -> Picture:
    title = _title(state, words)
    kicker = f"{words.word('game', 'legal')} · {words.word('phase', state['phase'])}"
    nodes = heading(sheet, kicker, state["title"], state.get("language"))
    nodes += headline(sheet, title)
    nodes += _issues(state, words, sheet)
    nodes += _gates(state, words, sheet)
    return Picture(sheet, title, _described(state, words), nodes)


def _title(state: State, words: PictureTexts) -> str:
    found = state["range"]
    estimate = state["likelihood"]
    if estimate and state["reported"]:
        side, low, high = state["sides"][estimate["side"]], estimate["low"], estimate["high"]
        lot = "likely" if low >= _EVEN else "unlikely" if high <= _EVEN else "open"
        return words.text(f"picture.legal.{lot}", side=side, low=low, high=high)
    return str(found) if found else words.word("phase", state["phase"])


def _issues(state: State, words: PictureTexts, sheet: Sheet) -> list[Node]:
    issues = state["issues"]
    if not issues:
        return [label(words.text("picture.legal.nothing"), MARGIN, 260, 22, width=sheet.inner, class_="p-quiet")]
    top, bottom = (192.0, 960.0) if sheet.tall else (184.0, 520.0)
    height = (bottom - top) / len(issues)
    drawn: list[Node] = []
    for place, issue in enumerate(issues):
        drawn += _issue(state, words, issue, (MARGIN, top + place * height, sheet.inner, height - 10), sheet)
    return drawn


def _issue(
    state: State, words: PictureTexts, issue: Mapping[str, Any], box: tuple[float, float, float, float], sheet: Sheet
) -> list[Node]:
    """The issue above its claim (left) and answer (right); in a column on a tall sheet."""
    x, y, width, height = box
    drawn: list[Node] = [
        label(issue["issue"], x + 4, y + 22, 21, width=width - 8, class_="p-ink p-bold", lang=state.get("language"))
    ]
    room = height - 34
    for place, side in enumerate(_SIDES):
        if sheet.tall:
            left, top, wide, high = x, y + 34 + place * room / 2, width, room / 2 - 6
        else:
            wide = (width - _GAP) / 2
            left, top, high = x + place * (wide + _GAP), y + 34, room
        said = issue[side]
        text = said or words.text("picture.legal.silent")
        size, lines = _readable(text, wide - 48, high - 44)
        drawn.append(
            group(
                node("title", state["sides"][side]),
                panel(0, 0, wide, high, "p-card" if place else "p-card p-wood"),
                label(state["sides"][side], 16, 25, 18, width=wide - 32, class_="p-accent p-bold"),
                paragraph(
                    text, 16, 32 + size, size, width=wide - 48, lines=lines,
                    class_="p-ink" if said else "p-quiet", lang=state.get("language") if said else None,
                ),
                x=left, y=top, role="img", aria_label=state["sides"][side],
            )
        )  # fmt: skip
    return drawn


def _readable(text: str, width: float, height: float) -> tuple[float, int]:
    """The largest font size at which a text fits, or the smallest one, and the number of lines."""
    lines = 1
    for size in _SIZES:
        lines = max(1, int(height // (size * 1.32)))
        if len(wrapped(text, size, width, lines + 1)) <= lines:
            return size, lines
    return _SIZES[-1], lines


def _gates(state: State, words: PictureTexts, sheet: Sheet) -> list[Node]:
    """The story's decisions, oldest first."""
    gates = state["gates"][-_GATES:]
    y, step = (984.0, sheet.inner / 2) if sheet.tall else (536.0, sheet.inner / _GATES)
    drawn: list[Node] = []
    for place, gate in enumerate(gates):
        asked = _asked(gate, words)
        left = MARGIN + (place % 2 if sheet.tall else place) * step
        top = y + (place // 2 * 62 if sheet.tall else 0)
        drawn += [
            panel(left, top, step - 10, 56 if sheet.tall else 76, "p-card"),
            label(
                asked, left + 14, top + 24, fitted(asked, 17, step - 30, least=13), width=step - 30, class_="p-quiet"
            ),
            label(_chosen(gate, words), left + 14, top + 48, 19, width=step - 40, class_="p-ink p-bold"),
        ]
    return drawn


def _asked(gate: Mapping[str, Any], words: PictureTexts) -> str:
    """The gate and its question."""
    name = words.word("picture.gate", gate["gate"])
    return f"{name}: {words.word('field', gate['field'])}" if gate["field"] else name


def _chosen(gate: Mapping[str, Any], words: PictureTexts) -> str:
    return words.word(f"code.{gate['field']}", gate["choice"]) if gate["choice"] else "–"


def _described(state: State, words: PictureTexts) -> str:
    issues = [
        f"{one['issue']}: "
        + ", ".join(f"{state['sides'][side]}: {one[side]}" for side in _SIDES if one[side])
        for one in state["issues"]
    ]  # fmt: skip
    return " · ".join([state["title"], _title(state, words), *issues])
