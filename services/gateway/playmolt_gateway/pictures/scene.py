"""Parts shared by all pictures: sheet, heading, faces, bars."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from playmolt_gateway.pictures.svg import Child, Node, fitted, group, isolated, label, node, paragraph

MARGIN: Final = 36
TONES: Final = 6
_BAR: Final = 22
_AVATAR: Final = 96


class PictureTexts:
    """The texts of a language, like `t` and `word` in the pages' scripts."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def text(self, key: str, **values: object) -> str:
        found = self._texts.get(key, key)
        for name, value in values.items():
            found = found.replace(f"{{{name}}}", isolated(str(value)))
        return found

    def word(self, group: str, code: str | None) -> str:
        return "" if code is None else self._texts.get(f"{group}.{code}", code)


class Sheet(msgspec.Struct, frozen=True):
    """The sheet: wide for desktops and link previews, tall for phones, with columns stacked."""

    width: int
    height: int

    @property
    def tall(self) -> bool:
        return self.height > self.width

    @property
    def inner(self) -> float:
        return self.width - 2 * MARGIN


WIDE: Final = Sheet(1200, 630)
TALL: Final = Sheet(640, 1120)


class Picture(msgspec.Struct, frozen=True):
    """A picture of one version. `title` names its content; `description` summarizes events and scores."""

    sheet: Sheet
    title: str
    description: str
    nodes: Sequence[Node]
    language: str | None = None
    """Of the page's own words; content names the language of its game (`lang`)."""

    def svg(self, style: str = "") -> str:
        sheet = self.sheet
        return node(
            "svg",
            node("title", self.title),
            node("desc", self.description),
            node("style", style) if style else None,
            node("rect", width=sheet.width, height=sheet.height, class_="p-paper"),
            self.nodes,
            xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {sheet.width} {sheet.height}", class_="picture",
            width=sheet.width, height=sheet.height, role="img", aria_label=self.title, lang=self.language,
        ).markup()  # fmt: skip


Drawing = Callable[[Mapping[str, object], PictureTexts, Sheet], Picture]
"""Draws a game's state (JSON). Pure: equal states give equal pictures."""


def heading(sheet: Sheet, kicker: str, title: str, language: str | None = None) -> list[Node]:
    """A kicker and the title, in at most two lines; `language` is the title's."""
    most = 28 if sheet.tall else 34
    size = fitted(title, most, sheet.inner, least=most * 0.75)
    return [
        label(kicker, MARGIN, 44, 22, width=sheet.inner, class_="p-accent p-bold"),
        *paragraph(title, MARGIN, 88, size, width=sheet.inner, lines=2, class_="p-ink p-bold", lang=language),
    ]


def headline(sheet: Sheet, text: str) -> list[Node]:
    """The latest event or the result, as large as fits, in one line or two on a tall sheet."""
    most, least, lines = (26, 20, 2) if sheet.tall else (30, 24, 1)
    size = fitted(text, most, sheet.inner, least=least)
    lines_drawn = paragraph(text, 0, 0, size, width=sheet.inner, lines=lines, class_="p-accent p-bold")
    return [group(lines_drawn, x=MARGIN, y=163 if len(lines_drawn) == 1 else 147)]


def face(agent: str, radius: float) -> list[Node]:
    """An avatar derived from an id, independent of the agent's actions."""
    drawn = hashlib.sha256(agent.encode()).digest()
    eye, gap = radius * (0.09 + 0.012 * (drawn[1] % 5)), radius * (0.26 + 0.03 * (drawn[2] % 4))
    mouth, bend = radius * (0.22 + 0.04 * (drawn[3] % 4)), radius * (-0.05 + 0.08 * (drawn[4] % 4))
    low = radius * 0.34
    hat = (
        node(
            "path",
            d=f"M{-radius * 0.7:g} {-radius * 0.62:g}A{radius:g} {radius:g} 0 0 1 {radius * 0.7:g} {-radius * 0.62:g}Z",
        )
        if drawn[5] % 2
        else node(
            "path",
            d=f"M{-radius * 0.25:g} {-radius * 0.86:g}L0 {-radius * 1.25:g}L{radius * 0.25:g} {-radius * 0.86:g}Z",
        )
    )
    return [
        node("circle", r=radius, class_=f"p-tone{drawn[0] % TONES}"),
        node("g", hat, class_="p-shadow"),
        node("circle", cx=-gap, cy=-radius * 0.12, r=eye, class_="p-face"),
        node("circle", cx=gap, cy=-radius * 0.12, r=eye, class_="p-face"),
        node("path", d=f"M{-mouth:g} {low:g}Q0 {low + bend:g} {mouth:g} {low:g}", class_="p-mouth"),
    ]


def avatar(agent: str, style: str) -> str:
    """An agent's face as an SVG of its own, with its colors."""
    return node(
        "svg", node("style", style), group(face(agent, _AVATAR / 2 - 14), x=_AVATAR / 2, y=_AVATAR / 2 + 8),
        xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {_AVATAR} {_AVATAR}", width=_AVATAR, height=_AVATAR,
    ).markup()  # fmt: skip


def person(
    agent: str, name: str, x: float, y: float, *, radius: float = 34, size: float = 20, note: str = "",
    width: float = 150, state: str = "", more: Child = None,
) -> Node:  # fmt: skip
    """A face with its name below; it moves when its place changes. `state` is a class of its ring."""
    lines, size = _name(name, size, width)
    below = radius + 8 + size
    ring = node("circle", r=radius + 6, class_=f"p-ring {state}") if state else None
    centred = {"text_anchor": "middle"}
    return group(
        node("title", name),
        ring,
        face(agent, radius),
        more,
        [label(line, 0, below + place * size * 1.1, size, width=width, class_="p-ink p-bold p-own", **centred)
         for place, line in enumerate(lines)],
        label(note, 0, max(radius + 52, below + (len(lines) - 1) * size * 1.1 + 20), 19, width=width,
              class_="p-quiet p-own", **centred) if note else None,
        x=x, y=y, data_key=agent, role="img", aria_label=name,
    )  # fmt: skip


def _name(name: str, size: float, width: float) -> tuple[Sequence[str], float]:
    """The lines of a name and their size: two if a distinguishing part would be cut."""
    least = size * 0.7
    if fitted(name, size, width, least=0) >= least:
        return (name,), fitted(name, size, width, least=least)
    first, _, last = name.rpartition(" ")
    return ((first, last) if first else (name,)), fitted(max(first, last, key=len), size, width, least=least)


def badge(text: str, x: float, y: float, tone: str = "p-accent-fill") -> Node:
    """A small label on top of a shape."""
    return group(
        node("circle", r=15, class_=tone),
        node("text", text, y=7, font_size=20, text_anchor="middle", class_="p-on-accent p-bold"),
        x=x, y=y,
    )  # fmt: skip


def bars(
    rows: Sequence[tuple[str, str, float]],
    x: float,
    y: float,
    width: float,
    *,
    step: float = 34,
    marked: str = "",
    unit: str = "",
) -> list[Node]:
    """Bars for (id, name, value) rows on one scale, animated between versions."""
    most = max((value for _, _, value in rows), default=0) or 1
    names = width * 0.3
    room = width - names - 70
    drawn: list[Node] = []
    for place, (key, name, value) in enumerate(rows):
        middle = y + place * step
        long = max(2.0, room * max(0.0, value) / most)
        drawn.append(
            group(
                label(
                    name,
                    0,
                    17,
                    fitted(name, 21, names - 12, least=14),
                    width=names - 12,
                    class_=f"{'p-accent' if key == marked else 'p-ink'} p-own",
                ),
                node("rect", x=names, width=room, height=_BAR, rx=4, class_="p-line"),
                node(
                    "rect", x=names, width=long, height=_BAR, rx=4, class_="p-accent-fill" if key == marked else "p-bar"
                ),
                label(f"{value:g}{unit}", width, 17, 21, width=66, class_="p-ink p-bold", text_anchor="end"),
                x=x,
                y=middle,
                data_key=f"bar-{key}",
            )
        )
    return drawn


def panel(x: float, y: float, width: float, height: float, class_: str = "p-card") -> Node:
    return node("rect", x=x, y=y, width=width, height=height, rx=14, class_=class_)
