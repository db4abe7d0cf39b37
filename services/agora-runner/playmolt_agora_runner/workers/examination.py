"""Examines one plan in a process of its own: `python -m playmolt_agora_runner.workers.examination`.

The laboratory tries its measures and simulates its tests; then its lock is made, unless the call is a dry run.
"""

import json
import sys
from collections.abc import Sequence
from typing import Final, Protocol

import msgspec
from playmolt_core.game.decider import Refused
from playmolt_core.llm.catalogue import Catalogue, load
from playmolt_core.settings import from_environment
from playmolt_schemas.agora.plan import PlanFault
from playmolt_schemas.codes import problem_bytes
from playmolt_schemas.instrument.laboratory import Design, MeasureTrial, Power
from playmolt_schemas.stored.agora.experiment import Preregistered

from playmolt_agora_runner.experiment import locking
from playmolt_agora_runner.rehearsal import trial_faults
from playmolt_agora_runner.workers.laboratory import Laboratory

OPERATOR: Final = "operator"


class ExaminedResult(msgspec.Struct, frozen=True):
    """The HTTP answer of the call: 200 with a preview, 201 without a body and with the lock, or a refusal."""

    status: int
    answer: msgspec.Raw = msgspec.Raw(b"null")
    preregistered: Preregistered | None = None


class Examiner(Protocol):
    """The laboratory, as an examination needs it."""

    def power(self, design: Design) -> Power: ...

    def trial(self, trial: MeasureTrial) -> Sequence[PlanFault]: ...


def result(
    experiment: str, plan: object, files: dict[str, str], catalogue: Catalogue, laboratory: Examiner, *, dry: bool
) -> ExaminedResult:
    measured = any(path.startswith("measures/") for path in files)
    faults = trial_faults(plan, files, laboratory.trial) if measured else ()
    found = locking.examine(plan, catalogue, files, faults, power=laboratory.power)
    if isinstance(found, Refused):
        return _refused(found)
    if dry:
        return ExaminedResult(200, msgspec.Raw(msgspec.json.encode(found.preview)))
    locked = locking.lock(experiment, OPERATOR, found, catalogue)
    return _refused(locked) if isinstance(locked, Refused) else ExaminedResult(201, preregistered=locked)


def _refused(refused: Refused) -> ExaminedResult:
    problem = problem_bytes(refused.code, refused.detail, refused.errors)
    return ExaminedResult(refused.code.status, msgspec.Raw(problem))


def _laboratory() -> Laboratory:
    settings = from_environment()
    return Laboratory(settings.laboratory_url, settings.laboratory_key)


def _main() -> None:
    asked = json.load(sys.stdin)
    catalogue = load(asked["models"], None)
    found = result(asked["experiment"], asked["plan"], asked["files"], catalogue, _laboratory(), dry=asked["dry"])
    sys.stdout.buffer.write(msgspec.json.encode(found))


if __name__ == "__main__":
    _main()
