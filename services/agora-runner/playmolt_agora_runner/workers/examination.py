"""Examines one plan in a process of its own.

The laboratory tries its measures and simulates its tests; then its lock is made, unless the call is a dry run.
"""

import json
import sys

import msgspec
from playmolt_core.game.decider import Refused
from playmolt_core.llm.catalogue import Catalogue, load
from playmolt_core.settings import from_environment
from playmolt_schemas.codes import problem_bytes
from playmolt_schemas.stored.agora.experiment import Preregistered

from playmolt_agora_runner.experiment import locking
from playmolt_agora_runner.rehearsal import tried
from playmolt_agora_runner.workers.laboratory import Laboratory


class ExaminedResult(msgspec.Struct, frozen=True):
    """The HTTP answer of the call: 200 with a preview, 201 without a body and with the lock, or a refusal."""

    status: int
    answer: msgspec.Raw = msgspec.Raw(b"null")
    preregistered: Preregistered | None = None


def result(
    experiment: str,
    plan: object,
    files: dict[str, str],
    catalogue: Catalogue,
    laboratory: Laboratory,
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
    locked = locking.lock(experiment, found, catalogue)
    return refused(locked) if isinstance(locked, Refused) else ExaminedResult(201, preregistered=locked)


def refused(found: Refused) -> ExaminedResult:
    problem = problem_bytes(found.code, found.detail, found.errors)
    return ExaminedResult(found.code.status, msgspec.Raw(problem))


def main() -> None:
    asked = json.load(sys.stdin.buffer)
    catalogue = load(asked["models"], None)
    settings = from_environment()
    laboratory = Laboratory(settings.laboratory_url, settings.laboratory_key)
    found = result(asked["experiment"], asked["plan"], asked["files"], catalogue, laboratory, dry=asked["dry"])
    sys.stdout.buffer.write(msgspec.json.encode(found))


if __name__ == "__main__":
    main()
