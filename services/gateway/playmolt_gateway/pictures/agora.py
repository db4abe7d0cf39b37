"""The picture of an Agora run: places, residents, latest action, energy and influence."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from playmolt_gateway.pictures.scene import MARGIN, Picture, PictureTexts, Sheet, heading, headline, panel, person
from playmolt_gateway.pictures.svg import Node, group, label, node

State = Mapping[str, Any]
_SHOWN: Final = 12
"""The maximum of faces per place; the rest is shown as a number."""


def draw(state: State, words: PictureTexts, sheet: Sheet) -> Picture:
    title = f"{state['name']} · {words.text('agora.run', cell=state['cell'], number=state['number'])}"
    summary = words.text("picture.agora.turn", turn=state["turn"], turns=state["turns"], residents=state["residents"])
    kicker = (
        words.word("game", "agora"),
        summary,
        words.word("phase", state["phase"]),
        words.word("world", state["world"]),
    )
    nodes = heading(sheet, " · ".join(kicker), title)
    happened = (_outcome(state, words) if state["phase"] == "ended" else _happened(state, words)) or summary
    nodes += headline(sheet, happened)
    nodes += _map(state, words, sheet)
    here = " · ".join(f"{words.word('place', place)}: {_names(state, place)}" for place in state["places"])
    return Picture(sheet, f"{title} · {happened}", f"{summary} · {here}", nodes)


def _outcome(state: State, words: PictureTexts) -> str:
    """The survivors, and the resident with the most influence, if any."""
    alive = [agent for agent in state["agents"] if agent["alive"]]
    over = words.text("picture.agora.over", turn=state["turn"], alive=len(alive), start=state["residents_start"])
    first = max(alive, key=lambda agent: agent["influence"] or 0, default=None)
    if first is None or not first["influence"]:
        return over
    return f"{over} · {words.text('picture.agora.leads', name=first['id'], n=first['influence'])}"


def _happened(state: State, words: PictureTexts) -> str:
    """The latest action: agent, action, target and text."""
    if not state["acts"]:
        return ""
    last = state["acts"][-1]
    whom = f" → {words.word('place', last['target'])}" if last["target"] else ""
    said = f": “{last['content']}”" if last["content"] else ""
    return f"{last['agent_id']} {words.word('act', last['action'])}{whom}{said}"


def _names(state: State, place: str) -> str:
    return ", ".join(agent["id"] for agent in state["agents"] if agent["alive"] and agent["place"] == place)


def _map(state: State, words: PictureTexts, sheet: Sheet) -> list[Node]:
    places = state["places"]
    across = (
        (1 if len(places) < 4 else 2) if sheet.tall else (len(places) if len(places) <= 3 else -(-len(places) // 2))
    )
    down = -(-len(places) // max(1, across))
    width, height = sheet.inner / max(1, across), (sheet.height - 214) / max(1, down)
    drawn: list[Node] = []
    for number, place in enumerate(places):
        x, y = MARGIN + (number % across) * width, 180 + (number // across) * height
        drawn += _place(state, words, place, (x + 6, y + 6, width - 12, height - 12))
    return drawn


def _place(state: State, words: PictureTexts, place: str, box: tuple[float, float, float, float]) -> list[Node]:
    x, y, width, _ = box
    here = [agent for agent in state["agents"] if agent["alive"] and agent["place"] == place]
    name = words.word("place", place)
    drawn = [
        panel(*box),
        group(
            node("title", name),
            label(f"{name} · {len(here)}", 0, 0, 22, width=width - 30, class_="p-ink p-bold"),
            x=x + 16,
            y=y + 32,
        ),
    ]
    return drawn + _residents(state, here, box)


class _Grid:
    """The number of faces that fit into a place, each in a cell of at least this size."""

    def __init__(self, width: float, height: float, wide: int, high: int) -> None:
        self.high = high
        self.across = max(1, int(width // wide))
        self.places = self.across * max(1, int((height - 46) // high))


def _residents(state: State, here: Sequence[Mapping[str, Any]], box: tuple[float, float, float, float]) -> list[Node]:
    x, y, width, height = box
    roomy = _Grid(width, height, 116, 104)
    grid = roomy if len(here) <= roomy.places else _Grid(width, height, 112, 70)
    small, across = grid is not roomy, max(1, min(grid.across, len(here)))
    shown = here[: min(_SHOWN, grid.places)]
    acted = state["acts"][-1]["agent_id"] if state["acts"] else ""
    drawn = [
        person(
            agent["id"], agent["id"], x + (place % across + 0.5) * width / across,
            y + (64 if small else 78) + place // across * grid.high,
            radius=16 if small else 24, size=15 if small else 20, width=width / across - 4,
            state="p-speaks" if agent["id"] == acted else "", more=_levels(agent),
        )
        for place, agent in enumerate(shown)
    ]  # fmt: skip
    if len(here) > len(shown):
        drawn.append(
            label(
                f"+ {len(here) - len(shown)}", x + width - 16, y + 32, 22, width=80, class_="p-quiet", text_anchor="end"
            )
        )
    return drawn


def _levels(agent: Mapping[str, Any]) -> list[Node]:
    """Bars of energy and influence beside the face, if the world has them."""
    levels = [(agent["energy"], 100, "p-accent-fill"), (agent["influence"], 100, "p-bar")]
    return [
        node("rect", x=32 + place * 8, y=24 - 48 * min(1.0, max(0.0, value / most)), width=5,
             height=max(1.0, 48 * min(1.0, max(0.0, value / most))), class_=tone)
        for place, (value, most, tone) in enumerate(levels)
        if value is not None
    ]  # fmt: skip
