"""Arms, places and valid turns as every table and figure counts them (`measures.md`, sections 0, 1 and 3)."""

from typing import Final

from playmolt_schemas.agora.plan import Arm
from playmolt_schemas.stored.agora.turn import ACTIONS, VALID_CODES, TurnRecord

COSTS_REAL: Final = "phase1_costs_real"
"""The optional arm of Phase 1 in which costs are deducted: no Phase 1 run."""
ARMS: Final[tuple[Arm, ...]] = ("stage1", "phase1", COSTS_REAL, "phase2")
PLACES: Final = ("plaza", "market", "alley")


def arm_of(cell: str, phase: str) -> str:
    """The arm that a run or turn of a cell belongs to, one of ARMS."""
    return COSTS_REAL if cell.startswith(f"{COSTS_REAL}/") else phase


def rank_of(phase: str) -> tuple[int, str]:
    """Sort key of a phase in tables: arms in their order, then rooms by name."""
    return (ARMS.index(phase), "") if phase in ARMS else (len(ARMS), phase)


def place_of(place: str) -> str:
    """Read the alleys as one."""
    return "alley" if place.startswith("alley") else place


def is_valid(turn: TurnRecord) -> bool:
    """Whether a turn is valid in the sense of measures.md, section 0."""
    return turn.parse_code in VALID_CODES and turn.action_base in ACTIONS
