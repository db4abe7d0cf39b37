"""The picture of a trial: bench, two sides, jury box, speaker, evidence, votes."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from playmolt_gateway.pictures.scene import (
    MARGIN,
    Picture,
    PictureTexts,
    Sheet,
    badge,
    heading,
    headline,
    panel,
    person,
)
from playmolt_gateway.pictures.svg import Node, isolated, label, paragraph

State = Mapping[str, Any]
_SPEAKING: Final = ("opening", "argument", "rebuttal", "verdict", "end")
Place = tuple[float, float]


def draw(state: State, words: PictureTexts, sheet: Sheet) -> Picture:
    title = _title(state, words)
    case = state["case"]
    nodes = heading(
        sheet,
        _kicker(state, words),
        case["title"] if case else words.text("waiting_for_agents"),
        state.get("language") if case else None,
    )
    nodes += headline(sheet, title)
    nodes += _room(state, words, sheet)
    nodes += _speech(state, words, sheet)
    nodes += _people(state, words, sheet)
    return Picture(sheet, title, _described(state, words), nodes)


def _kicker(state: State, words: PictureTexts) -> str:
    phase = words.word("phase", state["phase"])
    turn = f"{phase} {state['round']}" if state["phase"] == "argument" else phase
    return f"{words.word('game', 'trial')} · {turn}"


def _title(state: State, words: PictureTexts) -> str:
    if state["tally"]:
        found, tally = state["verdict"], state["tally"]
        winner, other = ("PROSECUTOR", "NOT_GUILTY") if found == "GUILTY" else ("DEFENSE", "GUILTY")
        verdict, side = words.word("verdict", found), words.word("role", winner)
        return words.text("picture.trial.verdict", verdict=verdict, votes=tally[found], others=tally[other], side=side)
    if state["phase"] == "aborted":
        return words.word("phase", "aborted")
    speaker = _speaker(state)
    if speaker:
        return words.text("picture.trial.speaks", name=speaker["name"], role=words.word("role", speaker["role"]))
    sent = state["phase_submissions"]
    return words.text("submissions", **sent) if sent["total"] else words.word("phase", state["phase"])


def _speaker(state: State) -> Mapping[str, Any] | None:
    if state["phase"] not in _SPEAKING or not state["history"]:
        return None
    found: Mapping[str, Any] = state["history"][-1]
    return found


def _room(state: State, words: PictureTexts, sheet: Sheet) -> list[Node]:
    """The furniture: bench, both sides' tables with evidence, jury box."""
    if sheet.tall:
        bench, jury = (200, 178, 240, 150), (MARGIN, 880, sheet.inner, 210)
        sides = {"PROSECUTOR": (MARGIN, 346, sheet.inner, 150), "DEFENSE": (MARGIN, 712, sheet.inner, 150)}
    else:
        bench, jury = (470, 174, 260, 132), (356, 466, 488, 146)
        sides = {"PROSECUTOR": (MARGIN, 190, 296, 420), "DEFENSE": (868, 190, 296, 420)}
    drawn = [panel(*bench, "p-card p-wood"), panel(*jury, "p-card p-wood")]
    for role, (x, y, width, height) in sides.items():
        won = state["verdict"] and (state["verdict"] == "GUILTY") == (role == "PROSECUTOR")
        drawn.append(panel(x, y, width, height, f"p-card {'p-minority' if won else ''}".strip()))
        drawn += _evidence(state, words, role, (x, y, width, height), sheet)
    return drawn


def _evidence(
    state: State, words: PictureTexts, role: str, box: tuple[float, float, float, float], sheet: Sheet
) -> list[Node]:
    if not state["case"]:
        return []
    prosecution = role == "PROSECUTOR"
    items: Sequence[str] = state["case"]["evidence_for" if prosecution else "evidence_against"]
    x, y, width, _ = box
    left, top, room = (x + 190, y + 34, width - 210) if sheet.tall else (x + 18, y + 190, width - 36)
    head = words.text("evidence.for" if prosecution else "evidence.against")
    drawn = [label(head, left, top, 20, width=room, class_="p-quiet p-bold")]
    most = 1 if sheet.tall else 2
    for place, item in enumerate(items[:3]):
        down = top + 32 + place * (30 if sheet.tall else 62)
        drawn += paragraph(
            f"• {item}", left, down, 20, width=room, lines=most, class_="p-ink", lang=state.get("language")
        )
    return drawn


def _speech(state: State, words: PictureTexts, sheet: Sheet) -> list[Node]:
    """The latest statement as a speech bubble."""
    last = _speaker(state)
    if last is None:
        return []
    x, y, width, height = (MARGIN, 510, sheet.inner, 188) if sheet.tall else (356, 320, 488, 134)
    who = f"{isolated(last['name'])} · {words.word('role', last['role'])}"
    text = words.text("forfeit") if last.get("forfeit") else f"“{last['text']}”"
    return [
        panel(x, y, width, height, "p-speech"),
        label(who, x + 20, y + 32, 20, width=width - 40, class_="p-accent p-bold"),
        *paragraph(
            text,
            x + 20,
            y + 62,
            22,
            width=width - 40,
            lines=4 if sheet.tall else 3,
            class_="p-ink",
            lang=None if last.get("forfeit") else state.get("language"),
        ),
    ]


def _people(state: State, words: PictureTexts, sheet: Sheet) -> list[Node]:
    votes = {vote["agent_id"]: vote["verdict"] for vote in state["tally"]["votes"]} if state["tally"] else {}
    speaker = _speaker(state)
    drawn: list[Node] = []
    for seat, (x, y) in zip(state["participants"], _places(state, sheet), strict=True):
        role = seat["role"]
        note = words.word("role", role)
        if seat["resigned"] or seat["away"]:
            note = words.text("resigned" if seat["resigned"] else "away")
        mark = badge("✓", 26, -26) if seat["submitted"] else None
        if seat["id"] in votes:
            note = words.word("verdict", votes[seat["id"]]) or words.text("abstained")
        speaks = "p-speaks" if speaker and speaker["agent_id"] == seat["id"] else ""
        drawn.append(person(seat["id"], seat["name"], x, y, radius=30, note=note, width=150, state=speaks, more=mark))
    return drawn


def _places(state: State, sheet: Sheet) -> Sequence[Place]:
    """Each role's place; agents without a role wait in a line."""
    seats = state["participants"]
    if not seats or seats[0]["role"] is None:
        step = sheet.inner / max(1, len(seats))
        return [(MARGIN + step * (place + 0.5), 560 if sheet.tall else 380) for place in range(len(seats))]
    if sheet.tall:
        fixed = {"JUDGE": (320.0, 218.0), "PROSECUTOR": (126.0, 392.0), "DEFENSE": (126.0, 758.0)}
        jurors = iter([(136.0, 948.0), (320.0, 948.0), (504.0, 948.0)])
    else:
        fixed = {"JUDGE": (600.0, 210.0), "PROSECUTOR": (184.0, 240.0), "DEFENSE": (1016.0, 240.0)}
        jurors = iter([(440.0, 510.0), (600.0, 510.0), (760.0, 510.0)])
    return [fixed[seat["role"]] if seat["role"] in fixed else next(jurors) for seat in seats]


def _described(state: State, words: PictureTexts) -> str:
    seats = ", ".join(f"{words.word('role', seat['role'])}: {isolated(seat['name'])}" for seat in state["participants"])
    last = _speaker(state)
    said = f"{isolated(last['name'])}: {isolated(last['text'])}" if last and last["text"] else ""
    return " · ".join(filter(None, (_kicker(state, words), seats, said)))
