"""A panel's statistics beside the engine's loop: `python -m playmolt_jury.panels.process`, request in, result out."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from typing import Final

import msgspec
from playmolt_schemas.games.jury_panels import PowerPreview

from playmolt_jury.panels import statistics
from playmolt_jury.panels.report import ReportSource

SECONDS: Final = 60.0
_AT_ONCE: Final = 2
_SAID_CHARS: Final = 2000


class ReportFailed(RuntimeError):
    """The process failed or took too long; the message is its output."""


class _Power(msgspec.Struct, frozen=True, tag="power"):
    pairs: int


class _Report(msgspec.Struct, frozen=True, tag="report"):
    format: str
    source: ReportSource


_room = asyncio.Semaphore(_AT_ONCE)


async def power_of(pairs: int) -> PowerPreview:
    """The size and power of a comparison of this many pairs. Raises ReportFailed."""
    return msgspec.json.decode(await _asked(_Power(pairs)), type=PowerPreview)


async def rendered(source: ReportSource, form: str) -> bytes:
    """The report in a format (json, html, parquet). Raises ReportFailed."""
    return await _asked(_Report(form, source))


async def _asked(request: _Power | _Report) -> bytes:
    asked = await asyncio.to_thread(msgspec.json.encode, request)
    async with _room:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "playmolt_jury.panels.process",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            async with asyncio.timeout(SECONDS):
                out, said = await process.communicate(asked)
        except TimeoutError:
            raise ReportFailed(f"took more than {SECONDS:g} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    if process.returncode:
        raise ReportFailed(said.decode(errors="replace")[-_SAID_CHARS:])
    return out


def power(pairs: int) -> PowerPreview:
    """As `power_of`, in this process."""
    return PowerPreview(
        n=pairs, difference=statistics.TWENTY_POINTS, p_min=statistics.smallest_p(pairs),
        size=statistics.rejection(pairs, 0.0), power=statistics.rejection(pairs, statistics.TWENTY_POINTS),
        at_80=statistics.detectable(pairs),
    )  # fmt: skip


def _json(source: ReportSource) -> bytes:
    from playmolt_jury.panels.report import report  # noqa: PLC0415 -- in the process alone

    return msgspec.json.format(msgspec.json.encode(report(source)), indent=2) + b"\n"


def _html(source: ReportSource) -> bytes:
    from playmolt_jury.panels.page import page  # noqa: PLC0415 -- in the process alone

    return page(source).encode()


def _parquet(source: ReportSource) -> bytes:
    from playmolt_jury.panels.stances import stances  # noqa: PLC0415 -- in the process alone

    return stances(source)


FORMATS: Final[Mapping[str, Callable[[ReportSource], bytes]]] = {"json": _json, "html": _html, "parquet": _parquet}


def _answer(request: bytes) -> bytes:
    asked = msgspec.json.decode(request, type=_Power | _Report)
    if isinstance(asked, _Power):
        return msgspec.json.encode(power(asked.pairs))
    return FORMATS[asked.format](asked.source)


if __name__ == "__main__":
    sys.stdout.buffer.write(_answer(sys.stdin.buffer.read()))
