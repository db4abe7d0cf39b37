"""Examines one plan in a process of its own: `python -m playmolt_agora.workers.examination`, request in, result out.

Its measures are tried, its tests are simulated, and its lock is made, unless the call is a dry run.
"""

import json
import sys
from typing import Final

import msgspec
from playmolt_core.game.decider import Refused
from playmolt_core.llm.catalogue import Catalogue, load
from playmolt_schemas.codes import problem_bytes
from playmolt_schemas.stored.agora.experiment import Preregistered

from playmolt_agora.experiment import locking
from playmolt_agora.own_measures.rehearsal import trial_faults

OPERATOR: Final = "operator"


class ExaminedResult(msgspec.Struct, frozen=True):
    """The HTTP answer of the call: 200 with a preview, 201 without a body and with the lock, or a refusal."""

    status: int
    answer: msgspec.Raw = msgspec.Raw(b"null")
    preregistered: Preregistered | None = None


def result(experiment: str, plan: object, files: dict[str, str], catalogue: Catalogue, *, dry: bool) -> ExaminedResult:
    measured = any(path.startswith("measures/") for path in files)
    faults = trial_faults(plan, files) if measured else ()
    found = locking.examine(plan, catalogue, files, faults)
    if isinstance(found, Refused):
        return _refused(found)
    if dry:
        return ExaminedResult(200, msgspec.Raw(msgspec.json.encode(found.preview)))
    locked = locking.lock(experiment, OPERATOR, found, catalogue)
    return _refused(locked) if isinstance(locked, Refused) else ExaminedResult(201, preregistered=locked)


def _refused(refused: Refused) -> ExaminedResult:
    problem = problem_bytes(refused.code, refused.detail, refused.errors)
    return ExaminedResult(refused.code.status, msgspec.Raw(problem))


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    sys.stdout.buffer.write(
        msgspec.json.encode(
            result(asked["experiment"], asked["plan"], asked["files"], load(asked["models"], None), dry=asked["dry"])
        )
    )
