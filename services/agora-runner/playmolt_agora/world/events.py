"""The stored event of a run that holds the runner's own values, and all of them. They are the storage format."""

from typing import ClassVar, Final

from playmolt_schemas.stored.agora import run
from playmolt_schemas.stored.agora.turn import RunSpec, Seat
from playmolt_schemas.stored.event import Event, stored_types

from playmolt_agora.world.worlds import Rules


class RunOpened(Event, frozen=True, kw_only=True):
    """Event 1: all that the run follows from. `seats` are those of the spec after placement.

    `world` names the rule set with its texts (`stage1@<hash>`); `replayed` counts the turns that a fork took over.
    """

    type: ClassVar[str] = "run_opened"
    spec: RunSpec
    rules_version: int
    content_version: str
    world: str
    rules: Rules
    seats: tuple[Seat, ...]
    replayed: int = 0


EVENTS: Final = stored_types(RunOpened, *run.EVENTS.values())
