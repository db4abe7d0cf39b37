"""Examines one plan in a process of its own.

The laboratory tries its measures and simulates its tests; then its lock is made, unless the call is a dry run.
"""

import json
import sys
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace
from playmolt_core.game.decider import Refused
from playmolt_core.llm.catalogue import Catalogue, load
from playmolt_core.settings import from_environment
from playmolt_schemas.agora.plan import PlanFault
from playmolt_schemas.codes import problem_bytes
from playmolt_schemas.instrument.laboratory import Design, MeasureTrial, Power
from playmolt_schemas.stored.agora.experiment import Preregistered

from playmolt_agora_runner.experiment import locking
from playmolt_agora_runner.rehearsal import tried
from playmolt_agora_runner.workers.laboratory import Laboratory

OPERATOR: Final = "operator"


class Findings(msgspec.Struct):
    """What the laboratory found about a plan: the power of its design; `tried`: in a trial no measure failed."""

    power: Power | None = None
    tried: bool = False


class ExaminedResult(msgspec.Struct, frozen=True):
    """The HTTP answer of the call: 200 with a preview, 201 without a body and with the lock, or a refusal."""

    status: int
    answer: msgspec.Raw = msgspec.Raw(b"null")
    preregistered: Preregistered | None = None
    findings: Findings | None = None


class CachedLaboratory:
    """The laboratory, which is not asked again what it has found about the same plan."""

    def __init__(self, laboratory: Laboratory, findings: Findings) -> None:
        self._laboratory = laboratory
        self.findings = findings

    def power(self, design: Design) -> Power:
        if self.findings.power is None:
            self.findings.power = self._laboratory.power(design)
        return self.findings.power

    def trial(self, trial: MeasureTrial) -> Sequence[PlanFault]:
        """A trial with faults is repeated: a measure may have been too slow only once."""
        faults = () if self.findings.tried else self._laboratory.trial(trial)
        self.findings.tried = not faults
        return faults


def result(
    experiment: str,
    plan: object,
    files: dict[str, str],
    catalogue: Catalogue,
    laboratory: CachedLaboratory,
    *,
    dry: bool,
) -> ExaminedResult:
    found = locking.examine(
        plan, catalogue, files, power=laboratory.power,
        tried=lambda read, folder: tried(read, folder, laboratory.trial),
    )  # fmt: skip
    if isinstance(found, Refused):
        return refused(found)
    if dry:
        return ExaminedResult(200, msgspec.Raw(msgspec.json.encode(found.preview)))
    locked = locking.lock(experiment, OPERATOR, found, catalogue)
    return refused(locked) if isinstance(locked, Refused) else ExaminedResult(201, preregistered=locked)


def refused(found: Refused) -> ExaminedResult:
    problem = problem_bytes(found.code, found.detail, found.errors)
    return ExaminedResult(found.code.status, msgspec.Raw(problem))


def main() -> None:
    asked = json.load(sys.stdin.buffer)
    catalogue = load(asked["models"], None)
    settings = from_environment()
    called = Laboratory(settings.laboratory_url, settings.laboratory_key)
    laboratory = CachedLaboratory(called, msgspec.convert(asked["findings"], Findings))
    found = result(asked["experiment"], asked["plan"], asked["files"], catalogue, laboratory, dry=asked["dry"])
    sys.stdout.buffer.write(msgspec.json.encode(replace(found, findings=laboratory.findings)))


if __name__ == "__main__":
    main()
