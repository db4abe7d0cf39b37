from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from playmolt_schemas.instrument import lexicon as coding
from playmolt_schemas.stored.agora.turn import ACTIONS, VALID_CODES

Record = dict[str, Any]
PERSONAS = ("archivist", "merchant", "jester")
MODELS = ("E", "M", "H")
HOMES = ("plaza", "market", "alley")


def make_turn(**changed: Any) -> Record:
    """One record of `turns.jsonl`: a valid, successful turn of Phase 2, with these changes."""
    record: Record = {
        "experiment": "experiment-1",
        "run": "run-1",
        "cell": "phase2/A",
        "set": "A",
        "phase": "phase2",
        "language": "ko",
        "turn": 1,
        "order": 1,
        "agent": "agent_03",
        "model": "E",
        "persona": "merchant",
        "persona_condition": "with_persona",
        "place_before": "plaza",
        "others_here": (),
        "residents": 6,
        "parse_code": "ok",
        "action": "idle",
        "target": None,
        "content": None,
        "success": True,
        "null_effect": True,
        "residents_start": 6,
        "turns_planned": 100,
        "exploratory": False,
        "cue_s": False,
        "cue_o": False,
    } | changed
    valid = record["parse_code"] in VALID_CODES
    if not valid:
        record |= {"action": None, "target": None, "content": None, "success": False}
    cues = coding.Cues(record["cue_s"], record["cue_o"])
    derived = {
        "action_base": record["action"] if record["action"] in ACTIONS else None,
        "feasible_actions": _feasible(record),
        "fn_class": coding.fn_class(record["action"]),
        "dissoc": coding.dissoc(cues, valid=valid, action=record["action"], target=record["target"]),
    }
    return derived | record


def _feasible(record: Record) -> tuple[str, ...]:
    near, place = bool(record["others_here"]), record["place_before"]
    possible = {
        "trade": place == "market",
        "support": near,
        "whisper": near and place.startswith("alley"),
    }
    return tuple(action for action in ACTIONS if possible.get(action, True))


@pytest.fixture
def turn() -> Callable[..., Record]:
    return make_turn


def _played(generator: np.random.Generator, spec: Record, agent: str, turn: int, weights: Any, here: int) -> Record:
    action = str(generator.choice(ACTIONS, p=weights))
    place = HOMES[int(generator.integers(3))]
    others = tuple(f"agent_{other:02}" for other in range(50, 50 + here))
    possible = {"trade": place == "market", "support": here > 0, "whisper": here > 0 and place == "alley"}
    code = str(
        generator.choice(["ok", "ok_fenced", "reasked", "parse_error", "timeout"], p=[0.8, 0.1, 0.05, 0.03, 0.02])
    )
    return make_turn(
        **spec,
        agent=agent,
        turn=turn,
        parse_code=code,
        action=action,
        place_before=f"{place}_a" if place == "alley" and spec["phase"] != "phase2" else place,
        others_here=others,
        target=others[0] if others and action in {"support", "whisper"} else None,
        content="출처가 어디인가" if action in {"speak", "whisper"} else None,
        success=possible.get(action, True),
        null_effect=action != "support" or spec["phase"] == "phase2",
        cue_s=bool(generator.integers(2)),
        cue_o=bool(generator.integers(2)),
    )


def _room(generator: np.random.Generator, spec: Record, seats: list[Record], turns: int, weights: Any) -> list[Record]:
    everyone = {"residents": len(seats), "residents_start": len(seats), "turns_planned": turns}
    return [
        _played(
            generator,
            {**spec, **everyone, **{name: seat[name] for name in ("model", "persona")}},
            seat["agent"],
            turn,
            weights(seat),
            int(generator.integers(3)),
        )
        for turn in range(1, turns + 1)
        for seat in seats
    ]


@pytest.fixture(scope="session")
def white_room() -> Callable[..., list[Record]]:
    """Draws a study in the form of the white room: Stage 1 and Phase 1 runs in each cell, three runs in each set."""

    def study(*, stage1: int, phase1: int, sets: str = "ABCD", turns: int = 100, epochs: int = 50) -> list[Record]:
        generator = np.random.default_rng(7)
        records: list[Record] = []
        for phase, runs, mix in (
            ("stage1", stage1, [0.1, 0.5, 0.25, 0.05, 0.05, 0.05]),
            ("phase1", phase1, [0.45, 0.05, 0.35, 0.1, 0.02, 0.03]),
        ):
            for model in MODELS:
                for language in ("ko", "en"):
                    for number in range(1, runs + 1):
                        cell = f"{phase}/{model}/{language}"
                        spec = {
                            "cell": cell,
                            "phase": phase,
                            "set": None,
                            "language": language,
                            "run": f"{cell}/{number}",
                        }
                        seats = [
                            {"agent": f"citizen_{at:02}", "model": model, "persona": "citizen"} for at in range(12)
                        ]
                        records += _room(generator, spec, seats, epochs, lambda _, mix=mix: mix)
        for name in sets:
            for number in range(3):
                condition = "with_persona" if name in "AB" else "no_persona"
                spec = {
                    "cell": f"phase2/{name}",
                    "phase": "phase2",
                    "set": name,
                    "language": "ko" if name in "AC" else "en",
                    "persona_condition": condition,
                    "run": f"phase2/{name}/{number + 1}",
                }
                seats = [
                    {
                        "agent": f"agent_{2 * at + slot + 1:02}",
                        "model": MODELS[(number + at + slot) % 3],
                        "persona": PERSONAS[at] if condition == "with_persona" else None,
                    }
                    for at in range(3)
                    for slot in range(2)
                ]
                records += _room(generator, spec, seats, turns, _phase2_mix)
        return records

    return study


def _phase2_mix(seat: Record) -> list[float]:
    return {
        "archivist": [0.7, 0.02, 0.1, 0.08, 0.05, 0.05],
        "merchant": [0.1, 0.6, 0.1, 0.05, 0.1, 0.05],
        "jester": [0.2, 0.15, 0.15, 0.15, 0.15, 0.2],
        None: [0.3, 0.1, 0.2, 0.1, 0.2, 0.1],
    }[seat["persona"]]


SMALL_LOG = (
    ("market", "01 02", "trade", None, True),
    ("market", "01", "trade", None, True),
    ("market", "", "trade", None, True),
    ("market", "", "move", "plaza", True),
    ("plaza", "04 05", "support", "04", True),
    ("plaza", "04 05", "trade", None, False),
    ("plaza", "04", "parse_error", None, False),
    ("plaza", "04", "speak", None, True),
    ("plaza", "", "speak", None, True),
    ("plaza", "", "move", "alley", True),
    ("alley", "06", "whisper", "06", True),
    ("alley", "06", "whisper", "02", False),
    ("alley", "06", "idle", None, True),
    ("alley", "", "idle", None, True),
)


@pytest.fixture
def small_log() -> list[Record]:
    """The small log of `measures.md`: a Merchant's 14 turns."""
    return [
        make_turn(
            turn=number,
            turns_planned=14,
            place_before=place,
            others_here=tuple(f"agent_{other}" for other in others.split()),
            action=action,
            target=f"agent_{target}" if target and target.isdigit() else target,
            success=success,
            parse_code={"parse_error": "parse_error"}.get(action, "reasked" if number == 14 else "ok"),
        )
        for number, (place, others, action, target, success) in enumerate(SMALL_LOG, 1)
    ]


def make_turns(counts: list[int], **key: Any) -> list[Record]:
    """Successful turns with these counts of actions, in the actions' order; each agent is alone in the plaza, unless
    `key` changes it."""
    actions = [action for action, count in zip(ACTIONS, counts, strict=True) for _ in range(count)]
    return [make_turn(turn=number, action=action, **key) for number, action in enumerate(actions, 1)]


@pytest.fixture
def turns() -> Callable[..., list[Record]]:
    return make_turns
