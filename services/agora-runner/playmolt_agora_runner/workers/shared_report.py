"""An experiment as it is shown to strangers: its lock and models, then the report as far as it is."""

import csv
import re
from collections import Counter
from html import escape
from io import StringIO
from typing import Final

from playmolt_schemas.routes.sharing import SharedPage

from playmolt_agora_runner.experiment.state import State

_STYLE: Final = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_BODY: Final = re.compile(r"<main[^>]*>(.*)</main>", re.DOTALL)
_PRIVATE: Final = re.compile(r"<(\w+) data-private>.*?</\1>", re.DOTALL)
"""Words of agents in the report: a whisper may be among them."""


def shared_page(state: State, report: str, shares: str, *, made: bool) -> SharedPage:
    """`report` and `shares` are files of `analyze`, "" while there are none; `made` False: they are being made."""
    found, style = _BODY.search(report), _STYLE.search(report)
    note = "" if made else "<p>The report is being made; this page shows it in a few seconds.</p>"
    runs = f"{state.finished} of {len(state.runs)} runs finished, {state.spent.turns} turns"
    return SharedPage(
        title=state.name,
        description=f"Agora experiment: {runs}. Locked as {state.plan_hash[:16]}.",
        language="en",
        body=f"{_lock(state, runs)}{note}{_PRIVATE.sub('', found[1]) if found else ''}",
        style=style[1] if style else "",
        state=_scene(state, shares),
        ready=made,
    )


def _scene(state: State, shares: str) -> dict[str, object]:
    """What a drawing shows: of each model the actions of its valid turns, the most frequent first."""
    counted: dict[str, Counter[str]] = {model.alias: Counter() for model in state.models}
    for row in csv.DictReader(StringIO(shares)):
        if row["level"] == "agent" and row["model"] in counted:
            counted[row["model"]][row["action"]] += int(row["count"])
    return {
        "gameType": "experiment",
        "name": state.name,
        "finished": state.finished,
        "runs": len(state.runs),
        "turns": state.spent.turns,
        "models": [{"alias": alias, "acts": _acts(acts)} for alias, acts in counted.items()],
    }


def _acts(counted: Counter[str]) -> list[dict[str, object]]:
    total = counted.total()
    return [{"action": action, "percent": round(100 * n / total)} for action, n in counted.most_common() if n]


def _lock(state: State, runs: str) -> str:
    models = ", ".join(f"{model.alias}{' (scripted)' if model.scripted else ''}" for model in state.models)
    tests = ", ".join(test.test for test in state.tests if test.confirmatory) or "none: exploratory"
    facts = (
        ("Experiment", state.name),
        ("Status", f"{state.status}: {runs}"),
        ("Models", models),
        ("Locked at", state.created_at),
        ("Lock (SHA-256 of the plan)", state.plan_hash),
        ("Measures", state.pins.measures),
        ("Confirmatory tests", tests),
        ("Deviations from the plan", len(state.deviations)),
        ("Looks while it ran", len(state.looks)),
    )
    listed = "".join(f"<dt>{escape(str(name))}</dt><dd>{escape(str(value))}</dd>" for name, value in facts)
    return f'<section id="lock"><h2>What was fixed before the first turn</h2><dl class="facts">{listed}</dl></section>'
