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

COMPUTED: Final[Mapping[str, tuple[str, str, object]]] = {
    "power": ("playmolt_agora.planning.power", "power", Design),
    "trial": ("playmolt_agora.own_measures.running", "trial_faults", MeasureTrial),
    "pcs": ("playmolt_agora.measures.inference.arms", "pcs_so_far", dict[str, PcsArms]),
}
"""The jobs that read no log: the module, its function, and what that takes."""


def computed(name: str, body: bytes) -> bytes:
    module, function, request = COMPUTED[name]
    compute = getattr(import_module(module), function)
    return msgspec.json.encode(compute(msgspec.json.decode(body, type=request)))


def library(name: str) -> str:
    """The module of a job, with all that it imports."""
    return COMPUTED[name][0] if name in COMPUTED else "playmolt_agora.service.from_log"


def main(name: str, folder: str) -> None:
    """`folder` is for its files; the server removes it, however the job ends."""
    tempfile.tempdir = folder
    body, out = sys.stdin.buffer.read(), sys.stdout.buffer
    if name in COMPUTED:
        out.write(computed(name, body))
    else:
        from playmolt_agora.service import from_log  # noqa: PLC0415 -- as above

        asyncio.run(from_log.done(name, body, out))
    out.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
