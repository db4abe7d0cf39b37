"""One job of the laboratory, in a process of its own: body in, answer out.

A job reads the log, never a state, and keeps nothing: after a crash it is repeated. Each loads what it needs: some
libraries take tens of megabytes and half a second.
"""

import asyncio
import sys
import tempfile
from collections.abc import Callable, Mapping
from typing import Final

import msgspec
from playmolt_schemas.instrument.laboratory import Design, MeasureTrial, PcsArms


def _power(body: bytes) -> bytes:
    from playmolt_agora.planning.power import power  # noqa: PLC0415 -- as above

    return msgspec.json.encode(power(msgspec.json.decode(body, type=Design)))


def _trial(body: bytes) -> bytes:
    from playmolt_agora.own_measures.running import trial_faults  # noqa: PLC0415 -- as above

    return msgspec.json.encode(trial_faults(msgspec.json.decode(body, type=MeasureTrial)))


def _pcs(body: bytes) -> bytes:
    from playmolt_agora.measures.inference.arms import pcs_so_far  # noqa: PLC0415 -- as above

    return msgspec.json.encode(pcs_so_far(msgspec.json.decode(body, type=dict[str, PcsArms])))


COMPUTED: Final[Mapping[str, Callable[[bytes], bytes]]] = {"power": _power, "trial": _trial, "pcs": _pcs}
"""The jobs that read no log."""
_LIBRARIES: Final[Mapping[str, tuple[str, ...]]] = {
    "power": ("playmolt_agora.planning.power",),
    "trial": ("playmolt_agora.own_measures.running", "pyarrow.compute"),
    "pcs": ("playmolt_agora.measures.inference.arms",),
}
_OF_THE_LOG: Final = ("playmolt_agora.service.from_log", "pyarrow.compute")


def libraries(name: str) -> tuple[str, ...]:
    """The modules that a job needs, with all that they import."""
    return _LIBRARIES.get(name, _OF_THE_LOG)


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
