"""The stored event of an experiment that holds the runner's own values, and all of them: the storage format."""

from typing import ClassVar, Final

from playmolt_schemas.stored.agora import experiment
from playmolt_schemas.stored.agora.experiment import (
    PinnedModel,
    PinnedTest,
    Pins,
    PlannedRun,
)
from playmolt_schemas.stored.agora.plan import Folder, Plan, Square
from playmolt_schemas.stored.event import Event, stored_types

from playmolt_agora.folder.rooms import LockedRoom


class Preregistered(Event, frozen=True, kw_only=True):
    """The first event of an experiment: no turn comes before it.

    `seed` and `name` are the plan's; `turns` of a run counts the turns of all its agents.
    """

    type: ClassVar[str] = "preregistered"
    operator: str
    name: str
    seed: str
    rules_version: int
    content_version: str
    plan_hash: str
    text_hash: str
    text: str
    plan: Plan
    models: tuple[PinnedModel, ...]
    tests: tuple[PinnedTest, ...]
    squares: tuple[Square, ...]
    runs: tuple[PlannedRun, ...]
    exclusions: tuple[str, ...]
    stopping_rule: str
    warnings: tuple[str, ...]
    pins: Pins
    folder: Folder | None = None
    """The files of the plan's folder; their texts are in the blob store."""
    rooms: tuple[LockedRoom, ...] = ()


EVENTS: Final = stored_types(Preregistered, *experiment.EVENTS.values())
