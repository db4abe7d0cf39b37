"""Locks plans in this process; a platform examines them in a separate one."""

from collections.abc import Mapping
from typing import Any

import msgspec
from playmolt_agora.planning import power as planning
from playmolt_agora_runner.experiment import commands, locking
from playmolt_core.game.decider import Refused
from playmolt_core.llm.catalogue import Catalogue
from playmolt_schemas.instrument.laboratory import Design, Power

_computed: dict[bytes, Power] = {}


def power(design: Design) -> Power:
    """The power of a design, computed once in a process: a thousand studies are simulated for each test."""
    key = msgspec.json.encode(design)
    if key not in _computed:
        _computed[key] = planning.power(design)
    return _computed[key]


def opening(
    experiment: str,
    plan: Any,
    catalogue: Catalogue | None = None,
    files: Mapping[str, str] | None = None,
) -> commands.OpenExperiment | Refused:
    """The command that opens an experiment with a plan, or the refusal of the plan."""
    catalogue = catalogue or Catalogue({})
    found = locking.examine(plan, catalogue, files or {}, power=power)
    lock = found if isinstance(found, Refused) else locking.lock(experiment, found, catalogue)
    return lock if isinstance(lock, Refused) else commands.OpenExperiment(preregistered=lock)


def opened(
    experiment: str, plan: Any, catalogue: Catalogue | None = None, files: Mapping[str, str] | None = None
) -> commands.OpenExperiment:
    """The command that opens an experiment with a valid plan."""
    found = opening(experiment, plan, catalogue, files=files)
    assert isinstance(found, commands.OpenExperiment), found
    return found
