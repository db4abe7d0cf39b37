"""The picture of a jury session: the jurors' faces and positions, the latest dialogue, the votes with transactions."""

from collections.abc import Mapping
from typing import Any, Final

from playmolt_gateway.pictures.scene import MARGIN, Picture, PictureTexts, Sheet, face, heading, headline, panel
from playmolt_gateway.pictures.svg import Node, group, isolated, label, node, paragraph

State = Mapping[str, Any]
Box = tuple[float, float, float, float]
_BANDS: Final = ("innocent", "leaning_innocent", "undecided", "leaning_guilty", "guilty")
_OVERSEER: Final = "overseer"
_GAP: Final = 14


def draw(state: State, words: PictureTexts, sheet: Sheet) -> Picture:
    title = _title(state, words)
    phase = words.word("phase", state["phase"])
    nodes = heading(sheet, f"{words.word('game', 'jury')} · {phase}", state["title"], state.get("language"))
    nodes += headline(sheet, title)
    legend = words.text("picture.jury.legend")
    nodes.append(label(legend, sheet.width - MARGIN, 44, 18, width=260, class_="p-quiet", text_anchor="end"))
    boxes = _boxes(len(state["jurors"]), sheet)
    for juror, box in zip(state["jurors"], boxes, strict=True):
        nodes += _juror(state, juror, words, box, tall=sheet.tall)
    nodes += _dialogue(state, words, sheet)
    return Picture(sheet, title, _described(state, words), nodes)


def _title(state: State, words: PictureTexts) -> str:
    verdict = state["verdict"]
    if verdict:
        summary = words.text(
            "picture.jury.verdict",
            verdict=words.word("verdict", verdict["verdict"]),
            most=max(verdict["guilty"], verdict["not_guilty"]),
            fewest=min(verdict["guilty"], verdict["not_guilty"]),
        )
        ending = words.text("picture.jury.ending", ending=state["ending"])
        return f"{summary} · {ending}" if state["ending"] else summary
    moved = state["moved"]
    if moved:
        name = next(juror["name"] for juror in state["jurors"] if juror["id"] == moved["juror_id"])
        band, before = words.word("band", moved["band"]), words.word("band", moved["before"])
        if moved["band"] == moved["before"]:
            return words.text("picture.jury.stays", name=name, band=band)
        return words.text("picture.jury.moves", name=name, before=before, band=band)
    if state["lines"]:
        last = state["lines"][-1]
        return words.text("picture.jury.speaks", name=_who(last, words))
    return words.word("phase", state["phase"])


def _who(line: Mapping[str, object], words: PictureTexts) -> str:
    return words.text("picture.jury.to", name=line["name"]) if line["by"] == _OVERSEER else str(line["name"])


def _boxes(jurors: int, sheet: Sheet) -> list[Box]:
    """Cards in a row; in a column on a tall sheet."""
    if sheet.tall:
        step = 560 / jurors
        return [(MARGIN, 184 + place * step, sheet.inner, step - 10) for place in range(jurors)]
    step = (sheet.inner + _GAP) / jurors
    return [(MARGIN + place * step, 184, step - _GAP, 232) for place in range(jurors)]


def _juror(state: State, juror: Mapping[str, Any], words: PictureTexts, box: Box, *, tall: bool) -> list[Node]:
    x, y, width, height = box
    vote = juror["vote"]
    last = state["lines"][-1]["by"] if state["lines"] else ""
    middle = (x + 58, y + height / 2) if tall else (x + width / 2, y + 56)
    ring = node("circle", r=42, class_="p-ring p-speaks") if last == juror["id"] and not state["verdict"] else None
    left, room = (x + 122, width - 140) if tall else (x + 14, width - 28)
    top = y + (34 if tall else 128)
    summary = _vote_text(juror, words)
    carried = state["verdict"] and vote == state["verdict"]["verdict"]
    card = panel(x, y, width, height, "p-card p-minority" if carried else "p-card")
    drawn = [
        card,
        group(
            node("title", juror["name"]), ring, face(juror["id"], 36),
            x=middle[0], y=middle[1], data_key=juror["id"], role="img", aria_label=f"{juror['name']}: {summary}",
        ),
        label(juror["name"], left, top, 22, width=room, class_="p-ink p-bold p-own"),
        label(summary, left, top + 28, 22 if vote else 20, width=room, class_="p-accent p-bold" if vote else "p-quiet"),
        *_mood(juror["band"], left, top + 40, room),
    ]  # fmt: skip
    if juror["tx_hash"]:
        shown = f"{juror['tx_hash'][:8]}…{juror['tx_hash'][-6:]}"
        place = (x + width - 18, y + 34, "end") if tall else (left, top + 84, "start")
        drawn.append(
            label(shown, place[0], place[1], 18, width=200, class_="p-quiet", text_anchor=place[2])
        )  # fmt: skip
    return drawn


def _vote_text(juror: Mapping[str, Any], words: PictureTexts) -> str:
    return words.word("verdict", juror["vote"]) if juror["vote"] else words.word("band", juror["band"])


def _mood(band: str, x: float, y: float, width: float) -> list[Node]:
    """The scale from innocent to guilty with the juror's position."""
    step = width / len(_BANDS)
    return [
        node("rect", x=x + place * step, y=y, width=step - 4, height=12, rx=4,
             class_="p-accent-fill" if name == band else "p-line")
        for place, name in enumerate(_BANDS)
    ]  # fmt: skip


def _dialogue(state: State, words: PictureTexts, sheet: Sheet) -> list[Node]:
    """The latest messages; the overseer's are on the right."""
    top, bottom = (764.0, 1096.0) if sheet.tall else (436.0, 612.0)
    lines = state["lines"][-(3 if sheet.tall else 2) :]
    if not lines:
        silent = words.text("picture.jury.silent")
        return paragraph(silent, MARGIN, top + 40, 24, width=sheet.inner, lines=3, class_="p-quiet")
    drawn: list[Node] = []
    boxes: list[Box]
    if sheet.tall:
        height = (bottom - top - 12 * (len(lines) - 1)) / len(lines)
        boxes = [(MARGIN, top + place * (height + 12), sheet.inner, height) for place in range(len(lines))]
    else:
        width = (sheet.inner - 16 * (len(lines) - 1)) / len(lines)
        boxes = [(MARGIN + place * (width + 16), top, width, bottom - top) for place in range(len(lines))]
    for line, (x, y, width, height) in zip(lines, boxes, strict=True):
        newest = line is lines[-1]
        drawn.append(panel(x, y, width, height, "p-speech" if newest else "p-card"))
        drawn.append(label(_who(line, words), x + 18, y + 30, 20, width=width - 36, class_="p-accent p-bold"))
        room = max(1, int((height - 42) // 28))
        drawn += paragraph(
            f"“{line['text']}”", x + 18, y + 60, 21, width=width - 56, lines=room, class_="p-ink",
            lang=state.get("language"),
        )  # fmt: skip
    return drawn


def _described(state: State, words: PictureTexts) -> str:
    jurors = ", ".join(f"{isolated(juror['name'])}: {_vote_text(juror, words)}" for juror in state["jurors"])
    last = state["lines"][-1] if state["lines"] else None
    said = f"{_who(last, words)}: {isolated(last['text'])}" if last else ""
    return " · ".join(filter(None, (isolated(state["title"]), _title(state, words), jurors, said)))
