"""One job of the laboratory, in a process of its own: body in, answer out.

A job reads the log, never a state, and keeps nothing: after a crash it is repeated. Each loads what it needs: some
libraries take tens of megabytes and half a second.
"""

import asyncio
import sys
import tempfile
from collections.abc import Mapping
from importlib import import_module
from typing import Final

import msgspec
from playmolt_schemas.instrument.laboratory import Design, MeasureTrial, PcsArms


class Computation(msgspec.Struct, frozen=True):
    """A job that reads no log: the function of a module, its request, and what it imports late."""

    module: str
    function: str
    request: object
    late: tuple[str, ...] = ()

    def __call__(self, body: bytes) -> bytes:
        compute = getattr(import_module(self.module), self.function)
        return msgspec.json.encode(compute(msgspec.json.decode(body, type=self.request)))


COMPUTED: Final[Mapping[str, Computation]] = {
    "power": Computation("playmolt_agora.planning.power", "power", Design),
    "trial": Computation("playmolt_agora.own_measures.running", "trial_faults", MeasureTrial, ("pyarrow.compute",)),
    "pcs": Computation("playmolt_agora.measures.inference.arms", "pcs_so_far", dict[str, PcsArms]),
}
_OF_THE_LOG: Final = ("playmolt_agora.service.from_log", "pyarrow.compute")


def libraries(name: str) -> tuple[str, ...]:
    """The modules that a job needs, with all that they import."""
    return (COMPUTED[name].module, *COMPUTED[name].late) if name in COMPUTED else _OF_THE_LOG


def main(name: str, folder: str) -> None:
    """`folder` is for its files; the server removes it, however the job ends."""
    tempfile.tempdir = folder
    body, out = sys.stdin.buffer.read(), sys.stdout.buffer
    if name in COMPUTED:
        out.write(COMPUTED[name](body))
    else:
        from playmolt_agora.service import from_log  # noqa: PLC0415 -- as above

        asyncio.run(from_log.done(name, body, out))
    out.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
