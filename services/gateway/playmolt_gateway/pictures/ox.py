"""The picture of an O/X game: two fields with the agents on their sides, and the scores."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from playmolt_gateway.pictures.scene import (
    MARGIN,
    Picture,
    PictureTexts,
    Sheet,
    badge,
    bars,
    heading,
    headline,
    panel,
    person,
)
from playmolt_gateway.pictures.svg import Node, isolated, label, node

State = Mapping[str, Any]
_SIDES: Final = ("O", "X")
_GAP: Final = 24


def draw(state: State, words: PictureTexts, sheet: Sheet) -> Picture:
    sides = _sides(state)
    title = _title(state, words)
    nodes = heading(
        sheet,
        _kicker(state, words),
        state["question"] or words.text("waiting_for_agents"),
        state.get("language") if state["question"] else None,
    )
    nodes += _floor(state, words, sheet, sides)
    nodes += _scores(state, sheet)
    nodes += headline(sheet, title)
    return Picture(sheet, title, _described(state, words, sides), nodes)


def _kicker(state: State, words: PictureTexts) -> str:
    turn = words.text("round_of", round=state["round"], of=state["maxRounds"]) if state["round"] else ""
    return " · ".join(filter(None, (words.word("game", "ox"), turn, words.word("phase", state["phase"]))))


def _title(state: State, words: PictureTexts) -> str:
    """The headline: the winner, the round's result, or the number of choices."""
    if state["results"]:
        best = [one for one in state["results"] if one["rank"] == 1]
        points, names = best[0]["game_points"], [isolated(one["name"]) for one in best]
        if len(best) > 1:
            return words.text("picture.ox.shared", points=points, names=" · ".join(names))
        return words.text("picture.ox.won", name=best[0]["name"], points=points)
    last = state["history"][-1] if state["history"] else None
    if state["phase"] == "aborted":
        return words.word("phase", "aborted")
    if last and last["round"] == state["round"]:
        return _counted(last, words)
    sent = state["phase_submissions"]
    if state["reveal"]:
        shares = {side: sum(one["choice"] == side for one in state["reveal"]) for side in _SIDES}
        return words.text("picture.ox.revealed", o=shares["O"], x=shares["X"])
    return words.text("submissions", **sent) if sent["total"] else words.word("phase", state["phase"])


def _counted(last: Mapping[str, object], words: PictureTexts) -> str:
    if last["minority"] is None:
        return words.text("picture.ox.all_same")
    return words.text("picture.ox.minority", side=last["minority"], points=last["points_awarded"])


def _sides(state: State) -> Mapping[str, str]:
    """Agent id → side: revealed choices with the switches so far, and what a seat knows of itself."""
    if state["phase"] in ("end", "aborted") and not state["reveal"]:
        return {}
    decided = {one["id"]: one["switched"] for one in state["decisions"]}
    last = state["history"][-1] if state["history"] else None
    if last and last["round"] == state["round"] and state["reveal"]:
        return {one["id"]: one["final_choice"] for one in last["choices"]}
    found = {one["id"]: _other(one["choice"]) if decided.get(one["id"]) else one["choice"] for one in state["reveal"]}
    own = state.get("self")
    if own and own["first_choice"] and not found:
        return {own["id"]: own["first_choice"]}
    return found


def _other(side: str) -> str:
    return "X" if side == "O" else "O"


def _fields(sheet: Sheet) -> Mapping[str, tuple[float, float, float, float]]:
    """x, y, width, height of each field: side by side, or stacked on a tall sheet."""
    if sheet.tall:
        return {"O": (MARGIN, 180, sheet.inner, 290), "X": (MARGIN, 490, sheet.inner, 290)}
    width = (sheet.inner - _GAP) / 2
    return {"O": (MARGIN, 180, width, 232), "X": (MARGIN + width + _GAP, 180, width, 232)}


def _floor(state: State, words: PictureTexts, sheet: Sheet, sides: Mapping[str, str]) -> list[Node]:
    fields = _fields(sheet)
    last = state["history"][-1] if state["history"] else None
    minority = last["minority"] if last and last["round"] == state["round"] and state["reveal"] else None
    drawn: list[Node] = []
    for side, (x, y, width, height) in fields.items():
        few = side == minority
        drawn.append(panel(x, y, width, height, f"p-card p-field {'p-minority' if few else ''}".strip()))
        drawn.append(
            node("text", side, x=x + width - 20, y=y + 78, font_size=84, text_anchor="end", class_="p-faint p-bold")
        )
        count = sum(one == side for one in sides.values())
        if state["reveal"]:
            drawn.append(label(f"{side} · {count}", x + 20, y + 36, 24, width=120, class_="p-ink p-bold"))
        if few and last:
            text = words.text("picture.ox.few", points=last["points_awarded"])
            drawn.append(label(text, x + 110, y + 36, 22, width=width - 220, class_="p-accent p-bold"))
    return drawn + _people(state, words, sheet, sides)


def _people(state: State, words: PictureTexts, sheet: Sheet, sides: Mapping[str, str]) -> list[Node]:
    places = _places(state, sheet, sides)
    beside = Counter(sides.get(seat["id"], "") for seat in state["participants"])
    rooms = {side: width for side, (_, _, width, _) in _fields(sheet).items()}
    switched = {one["id"] for one in state["decisions"] if one["switched"]}
    won = {one["agent_id"] for one in state["results"] or () if one["rank"] == 1}
    drawn: list[Node] = []
    for seat in state["participants"]:
        x, y = places[seat["id"]]
        note = words.text("resigned") if seat["resigned"] else words.text("away") if seat["away"] else ""
        if seat["id"] in switched:
            note = words.text("switched")
        mark = badge("★", 26, -26) if seat["id"] in won else badge("✓", 26, -26) if seat.get("submitted") else None
        side_taken = sides.get(seat["id"], "")
        room = rooms.get(side_taken, sheet.inner) / beside[side_taken] - 4
        drawn.append(person(seat["id"], seat["name"], x, y, note=note, width=min(room, 190.0), more=mark))
    return drawn


def _places(state: State, sheet: Sheet, sides: Mapping[str, str]) -> Mapping[str, tuple[float, float]]:
    """Positions in a field, or in a line in seat order while the side is unknown."""
    fields = _fields(sheet)
    found: dict[str, tuple[float, float]] = {}
    seats = [seat["id"] for seat in state["participants"]]
    for side, (x, y, width, height) in fields.items():
        here = [seat for seat in seats if sides.get(seat) == side]
        found |= _spread(here, x, y + height * 0.5, width)
    waiting = [seat for seat in seats if seat not in sides]
    middle = 480.0 if sheet.tall else 290.0
    found |= _spread(waiting, MARGIN, middle, sheet.inner)
    return found


def _spread(seats: Sequence[str], x: float, y: float, width: float) -> Mapping[str, tuple[float, float]]:
    step = width / max(1, len(seats))
    return {seat: (x + step * (place + 0.5), y) for place, seat in enumerate(seats)}


def _scores(state: State, sheet: Sheet) -> list[Node]:
    rows = [(row["id"], row["name"], row["points"]) for row in state["scoreboard"]]
    won = state["results"][0]["agent_id"] if state["results"] else ""
    return bars(rows, MARGIN, 820 if sheet.tall else 436, sheet.inner, step=46 if sheet.tall else 36, marked=won)


def _described(state: State, words: PictureTexts, sides: Mapping[str, str]) -> str:
    names = {seat["id"]: isolated(seat["name"]) for seat in state["participants"]}
    fields = [f"{side}: {', '.join(names[one] for one, at in sides.items() if at == side)}" for side in _SIDES]
    points = ", ".join(f"{isolated(row['name'])} {row['points']}" for row in state["scoreboard"])
    return " · ".join(filter(None, (_kicker(state, words), *(fields if sides else ()), points)))
