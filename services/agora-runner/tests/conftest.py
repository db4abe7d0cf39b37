"""An agent's turn, for tests."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from playmolt_agora_runner.turn.scene import Scene
from playmolt_agora_runner.world import worlds
from playmolt_schemas.stored.agora.turn import ACTIONS, SKILLS, PhaseName


def scene_of(phase: PhaseName = "phase1", language: str = "ko", **changes: Any) -> Scene:
    values: dict[str, Any] = {
        "agent": "merchant_01",
        "persona": "merchant",
        "persona_condition": "with_persona",
        "place": "market",
        "turn": 12,
        "turns": 50,
        "residents": 12,
        "residents_start": 12,
        "here": ("citizen_01", "jester_02"),
        "agents": ("citizen_01", "jester_02", "merchant_01", "merchant_02"),
    }
    skilled = changes.get("persona") == "architect" and phase != "phase2"
    values["actions"] = (*ACTIONS, *(SKILLS if skilled else ()), *(("contest",) if changes.get("contests") else ()))
    if phase != "phase2":
        values |= {"energy": 100, "energy_max": 200, "influence": 0, "rank": "commoner", "gini": "0.00"}
        values |= {"tax_rate": 10, "treasury": 0}
    values["rules"] = {**msgspec.to_builtins(worlds.preset(phase)), **changes.pop("rules", {})}
    return Scene(phase=phase, language=language, **(values | changes))  # type: ignore[arg-type]  # names come as text


@pytest.fixture(name="scene_of")
def _scene_of() -> Callable[..., Scene]:
    return scene_of
