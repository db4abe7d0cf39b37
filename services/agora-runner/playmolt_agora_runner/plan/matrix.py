"""The matrix of a plan: its cells, and each run's specification, the same whenever it is asked for."""

import hashlib
import uuid
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

import msgspec
from msgspec import UNSET
from playmolt_schemas.agora.plan import Arm
from playmolt_schemas.copying import copied
from playmolt_schemas.identifiers import is_scripted
from playmolt_schemas.instrument.definitions import ARMS
from playmolt_schemas.stored.agora.plan import LockedRoom, Plan
from playmolt_schemas.stored.agora.turn import Language, Persona, PhaseName, RunSpec, Seat, SetName

from playmolt_agora_runner.plan import latin_squares
from playmolt_agora_runner.plan import plan as plans

_TABLE: Final[tuple[tuple[str, Persona, str], ...]] = (
    ("influencer_01", "influencer", "plaza"),
    ("influencer_02", "influencer", "plaza"),
    ("archivist_01", "archivist", "plaza"),
    ("archivist_02", "archivist", "market"),
    ("merchant_01", "merchant", "market"),
    ("merchant_02", "merchant", "market"),
    ("jester_01", "jester", "alley_a"),
    ("jester_02", "jester", "alley_b"),
    ("citizen_01", "citizen", "plaza"),
    ("citizen_02", "citizen", "plaza"),
    ("observer_01", "observer", "plaza"),
    ("architect_01", "architect", "plaza"),
)
"""Table 1-D of the source: agent, persona, home."""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """Runs that differ in nothing but their number. `model` is None where all models share a room."""

    name: str
    arm: Arm | None = None
    set: SetName | None = None
    language: Language
    model: str | None = None
    runs: int
    turns: int
    agents: int
    room: LockedRoom | None = None

    @property
    def phase(self) -> str:
        """What its turn records call it: the arm, or the room."""
        return self.room.name if self.room else str(self.arm)

    @property
    def base(self) -> PhaseName:
        """The packaged world that it is played in, or that its room's world begins with."""
        return self.room.base if self.room else plans.world(self.arm or "phase1")


Rooms = Sequence[LockedRoom]


def cells(plan: Plan, rooms: Rooms = ()) -> tuple[Cell, ...]:
    """The cells of a plan, phase by phase in plan order, those of its rooms behind."""
    packaged = (cell for arm in ARMS for cell in _arm_cells(plan, arm))
    return (*packaged, *(cell for room in rooms for cell in _room_cells(room)))


def planned(plan: Plan, rooms: Rooms = ()) -> tuple[tuple[Cell, int], ...]:
    """Every planned run as its cell and its number in it, from 1."""
    return tuple((cell, number) for cell in cells(plan, rooms) for number in range(1, cell.runs + 1))


def cell_of(plan: Plan, name: str, rooms: Rooms = ()) -> Cell:
    """A cell by its name; LookupError when the plan has none such."""
    found = next((cell for cell in cells(plan, rooms) if cell.name == name), None)
    if found is None:
        raise LookupError(f"the plan has no cell {name!r}")
    return found


def run_id(experiment: str, cell: str, number: int) -> str:
    """A run's id, the same for the same run of the same experiment."""
    return f"agora-{uuid.uuid5(uuid.NAMESPACE_OID, f'{experiment}/{cell}/{number}')}"


def run_seed(plan: Plan, number: int) -> str:
    """A run's seed as a decimal string: it follows from plan and number alone, so that a plan run twice meets the
    same chances, and so do the runs of one number in every cell (stage1.md, invariant 6)."""
    text = f"{len(plan.seed)},{plan.seed},{number}"
    return str(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))


def spec(plan: Plan, experiment: str, cell: Cell, number: int) -> RunSpec:
    """The specification of one run; `number` goes past the cell's planned runs where runs are added."""
    seats, room, arm = seats_of(plan, cell, number), cell.room, cell.arm
    # The specification of a room's run contains the whole world.
    of_room = {"world": room.rules, "levels": room.levels or UNSET} if room else {}
    return copied(
        RunSpec,
        *((room,) if room else ()),
        cell,
        plan,
        experiment=experiment,
        run=run_id(experiment, cell.name, number),
        number=number,
        cell=cell.name,
        phase=room.name if room else cell.base,
        persona_condition="with_persona" if any(seat.persona for seat in seats) else "no_persona",
        seed=run_seed(plan, number),
        seats=seats,
        rules=dict(room.changes) if room else _rules(plan, arm or "phase1"),
        scripted=any(is_scripted(seat.model) for seat in seats),
        **of_room,
    )


def specs(plan: Plan, experiment: str, rooms: Rooms = ()) -> tuple[RunSpec, ...]:
    return tuple(spec(plan, experiment, cell, number) for cell, number in planned(plan, rooms))


def seats_of(plan: Plan, cell: Cell, number: int) -> tuple[Seat, ...]:
    """Who sits where in a run; `persona_assignment: shuffled` is the world's to apply."""
    if cell.room is not None:
        return tuple(
            Seat(agent=seat.agent, model=seat.model or str(cell.model), persona=seat.persona, home=seat.home)
            for seat in cell.room.seats
        )
    if cell.model is not None:
        return tuple(Seat(agent=agent, model=cell.model, persona=persona, home=home) for agent, persona, home in _TABLE)
    return tuple(
        copied(Seat, agent) for agent in latin_squares.seats(plan, number, personas=cell.set in plans.WITH_PERSONA)
    )


def _arm_cells(plan: Plan, arm: Arm) -> Iterator[Cell]:
    phase = plans.phase_of(plan, arm)
    if phase is None:
        return
    if arm == "phase2":
        for chosen in plans.sets(plan):
            language = plans.SET_LANGUAGES[chosen]
            agents = 2 * len(latin_squares.PERSONAS if chosen in plans.WITH_PERSONA else plans.models(plan, arm))
            yield copied(Cell, phase, name=f"{arm}/{chosen}", arm=arm, set=chosen, language=language, agents=agents)
        return
    for model, language in product(plans.models(plan, arm), plans.languages(plan, arm)):
        name = f"{arm}/{model}/{language}"
        yield copied(Cell, phase, name=name, arm=arm, language=language, model=model, agents=len(_TABLE))


def _room_cells(room: LockedRoom) -> Iterator[Cell]:
    models: tuple[str | None, ...] = room.models if room.mix == "one" else (None,)
    for model, language in product(models, room.languages):
        name = "/".join(filter(None, (room.name, model, language)))
        yield copied(Cell, room, name=name, language=language, model=model, agents=len(room.seats), room=room)


def _rules(plan: Plan, arm: Arm) -> dict[str, object]:
    phase = plans.phase_of(plan, arm)
    rules = plans.overrides(arm, phase.rules if phase else {})
    if arm == "phase2" and plan.seed_events:
        rules["seed_events"] = [msgspec.to_builtins(event) for event in plan.seed_events]
    return rules
