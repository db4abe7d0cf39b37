"""The picture of an experiment: each model's most frequent actions as shares of its valid turns."""

from collections.abc import Mapping
from typing import Any, Final

from playmolt_gateway.pictures.scene import MARGIN, Picture, PictureTexts, Sheet, bars, heading, headline, panel
from playmolt_gateway.pictures.svg import Node, label

State = Mapping[str, Any]
_MODELS: Final = 4
_ACTIONS: Final = 5


def draw(state: State, words: PictureTexts, sheet: Sheet) -> Picture:
    title = _title(state, words)
    runs = words.text("picture.experiment.runs", finished=state["finished"], runs=state["runs"], turns=state["turns"])
    nodes = heading(sheet, f"{words.word('game', 'experiment')} · {runs}", state["name"])
    nodes += headline(sheet, title)
    nodes += _models(state, words, sheet)
    return Picture(sheet, title, f"{state['name']} · {title} · {runs}", nodes)


def _title(state: State, words: PictureTexts) -> str:
    """Each model's most frequent action, or that nothing is measured yet."""
    parts = [
        words.text(
            "picture.experiment.mostly",
            model=model["alias"],
            action=words.word("act", model["acts"][0]["action"]),
            percent=model["acts"][0]["percent"],
        )
        for model in state["models"]
        if model["acts"]
    ]
    if parts:
        return " · ".join(parts[:2])
    over = state["finished"] == state["runs"]
    return words.text("picture.experiment.soon" if over else "picture.experiment.nothing")


def _models(state: State, words: PictureTexts, sheet: Sheet) -> list[Node]:
    models = [model for model in state["models"] if model["acts"]][:_MODELS]
    across = 1 if sheet.tall or len(models) < 2 else 2
    down = max(1, -(-len(models) // across))
    width, height = sheet.inner / across, (sheet.height - 214) / down
    drawn: list[Node] = []
    for place, model in enumerate(models):
        x, y = MARGIN + place % across * width, 184 + place // across * height
        rows = [(act["action"], words.word("act", act["action"]), act["percent"]) for act in model["acts"][:_ACTIONS]]
        step = min(52.0, (height - 80) / max(1, len(rows)))
        drawn.append(panel(x, y, width - 14, height - 14))
        drawn.append(label(model["alias"], x + 20, y + 38, 24, width=width - 60, class_="p-ink p-bold"))
        drawn += bars(rows, x + 20, y + 60, width - 60, step=step, marked=rows[0][0], unit="%")
    return drawn
