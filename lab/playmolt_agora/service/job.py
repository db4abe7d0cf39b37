"""One job of the laboratory, in a process of its own: `python -m playmolt_agora.service.job NAME [FD]`, body in, answer
out. It ends when the descriptor FD ends, since then the server is gone, and its time is bounded by nothing else.

A job reads the log, never a state, and keeps nothing: after a crash it is repeated. Each loads what it needs: some
libraries take tens of megabytes and half a second.
"""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Final

import msgspec
from playmolt_schemas.instrument.laboratory import Design, MeasureTrial, PcsArms


def _power(body: bytes) -> bytes:
    from playmolt_agora.planning.power import power  # noqa: PLC0415 -- as above

    return msgspec.json.encode(power(msgspec.json.decode(body, type=Design)))


def _trial(body: bytes) -> bytes:
    from playmolt_agora.own_measures.trial import faults  # noqa: PLC0415 -- as above

    return msgspec.json.encode(faults(msgspec.json.decode(body, type=MeasureTrial)))


def _pcs(body: bytes) -> bytes:
    from playmolt_agora.measures.inference.looks import pcs_so_far  # noqa: PLC0415 -- as above

    return msgspec.json.encode(pcs_so_far(msgspec.json.decode(body, type=dict[str, PcsArms])))


COMPUTED: Final[Mapping[str, Callable[[bytes], bytes]]] = {"power": _power, "trial": _trial, "pcs": _pcs}
"""The jobs that read no log."""


def _end_with(server: int) -> None:
    """Wait for the end of the server, then kill this process and those of its measures."""
    os.read(server, 1)
    os.killpg(0, signal.SIGKILL)


def main(name: str, server: str = "") -> None:
    if server:
        threading.Thread(target=_end_with, args=(int(server),), daemon=True).start()
    body, out = sys.stdin.buffer.read(), sys.stdout.buffer
    if name in COMPUTED:
        out.write(COMPUTED[name](body))
    else:
        from playmolt_agora.service import from_log  # noqa: PLC0415 -- as above

        asyncio.run(from_log.done(name, body, out))
    out.flush()


if __name__ == "__main__":
    main(*sys.argv[1:3])
