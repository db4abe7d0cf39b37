"""From a plan to its lock: the plan is read with its folder and worked out, then it is refused or preregistered.

It takes up to a minute of processor time, so a service does it in a process of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec
from playmolt_core.game.decider import Refused
from playmolt_core.llm.catalogue import Catalogue
from playmolt_schemas.agora.plan import PlanFault
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.limits import RECORD_BYTES
from playmolt_schemas.stored.agora.experiment import Preregistered
from playmolt_schemas.stored.agora.plan import Plan

from playmolt_agora_runner.experiment import preregistration
from playmolt_agora_runner.experiment.preregistration import ExaminedPlan
from playmolt_agora_runner.folder import reading as folder_reading
from playmolt_agora_runner.folder.reading import PlanFolder
from playmolt_agora_runner.folder.source import Source
from playmolt_agora_runner.plan import reading
from playmolt_agora_runner.plan.design import PowerOf
from playmolt_agora_runner.plan.preview import examined

_METADATA_BYTES: Final = 16 * 1024
"""Upper bound of the size of a record without its data."""


def examine(
    body: object,
    catalogue: Catalogue,
    files: Mapping[str, str],
    *,
    power: PowerOf,
    tried: Callable[[Plan, PlanFolder], PlanFolder] | None = None,
) -> ExaminedPlan | Refused:
    """Read a plan (YAML or JSON text, or a JSON object) and work it out, or refuse it with every fault.

    `files` is path → text of the plan's folder, `power` computes the power of its tests, `tried` tries its measures.
    """
    read = reading.reading(body)
    folder = folder_reading.read(read.plan, Source(files), read.places) if read.plan else PlanFolder()
    folder = tried(read.plan, folder) if read.plan and tried else folder
    found = examined(read, catalogue, folder=folder, power=power)
    if found.faults or read.plan is None:
        return _invalid([_placed(fault) for fault in found.faults])
    return ExaminedPlan(body if isinstance(body, str) else reading.text_of(body), read.plan, found, folder)


def lock(experiment: str, found: ExaminedPlan, catalogue: Catalogue) -> Preregistered | Refused:
    """The first event of an experiment with this plan."""
    preregistered = preregistration.preregistered(experiment, found, catalogue)
    size = len(canonical_json(preregistered))
    if size > RECORD_BYTES - _METADATA_BYTES:
        fault = FieldFault("phases", f"need a lock of {size} bytes, more than one record can hold: plan fewer runs")
        return _invalid((fault,))
    return preregistered


def _placed(fault: PlanFault) -> PlanFault:
    """With its file and line in `field`, which is all that a problem document has for a place."""
    place = f"{fault.file}:{fault.line}" if fault.line else fault.file
    return msgspec.structs.replace(fault, field=": ".join(filter(None, (place, fault.field))))


def _invalid(faults: Sequence[FieldFault]) -> Refused:
    listed = "; ".join(f"{fault.field}: {fault.message}" if fault.field else fault.message for fault in faults[:5])
    more = f" (and {len(faults) - 5} more)" if len(faults) > 5 else ""
    return Refused(Code.INVALID_REQUEST, f"Fix the plan and retry. {listed}{more}", tuple(faults))
