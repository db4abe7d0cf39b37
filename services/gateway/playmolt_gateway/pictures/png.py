"""Pictures as PNG for link previews and READMEs: the same SVG with the colors of the pages."""

import asyncio
import re
import subprocess
import sys
import weakref
from contextlib import suppress
from functools import cache
from importlib.resources import files
from subprocess import PIPE, Popen
from typing import Final, Literal

from playmolt_gateway.pictures.letters import FONT_FILES, legible_text
from playmolt_gateway.pictures.png_program import HEAD, LENGTH, render
from playmolt_gateway.pictures.scene import Picture

Theme = Literal["light", "dark"]
_WEB: Final = "playmolt_gateway", "web"
_VARIABLE: Final = re.compile(r"--([\w-]+):\s*([^;]+);")
_USED: Final = re.compile(r"var\(--([\w-]+)\)")
FONT: Final = "Noto Sans KR"
SECONDS: Final = 10.0
"""The longest time for one picture."""
IDLE_SECONDS: Final = 60.0


def png(picture: Picture, theme: Theme = "light") -> bytes:
    """Draw in this process, which blocks it; a service uses `PngProcess`."""
    return render(legible_text(picture.svg(style(theme))), picture.sheet.width, picture.sheet.height, FONT, FONT_FILES)


class PngProcess:
    """Draws one picture at a time in a process that starts with the first one and ends when idle."""

    def __init__(self, seconds: float = SECONDS, idle_seconds: float = IDLE_SECONDS) -> None:
        self._seconds = seconds
        self._idle_seconds = idle_seconds
        self._turn = asyncio.Lock()
        self._child: _Child | None = None
        self._idle: asyncio.TimerHandle | None = None
        self.drawn = 0
        """Pictures drawn so far."""

    async def draw(self, svg: str, width: int, height: int) -> bytes:
        """Draw an SVG. Raises ConnectionError if the process fails or takes too long."""
        async with self._turn:
            if self._idle is not None:
                self._idle.cancel()
            drawing = asyncio.ensure_future(asyncio.to_thread(self._draw, svg.encode(), width, height))
            try:
                async with asyncio.timeout(self._seconds):
                    drawn = await asyncio.shield(drawing)
            except TimeoutError:
                raise ConnectionError("a picture took too long to draw") from None
            finally:
                if not drawing.done():
                    self.close()  # The thread then fails.
                    await asyncio.wait((drawing,))
                    drawing.exception()
            self._idle = asyncio.get_running_loop().call_later(self._idle_seconds, self.close)
        if not drawn:
            raise ValueError("the SVG is invalid")
        self.drawn += 1
        return drawn

    def _draw(self, svg: bytes, width: int, height: int) -> bytes:
        if self._child is None:
            self._child = _Child()
        try:
            return self._child.draw(svg, width, height)
        except OSError as error:
            self.close()
            raise ConnectionError("the process that draws pictures ended") from error

    def close(self) -> None:
        """End the process; the next picture starts another one."""
        if self._child is not None:
            self._child.kill()
            self._child = None


class _Child:
    """The process. Its pipes are read and written in threads."""

    def __init__(self) -> None:
        # An empty environment: ours contains keys, and the process reads texts of agents.
        self._process = Popen(
            [sys.executable, "-I", "-m", "playmolt_gateway.pictures.png_program", FONT, *FONT_FILES],
            stdin=PIPE, stdout=PIPE, stderr=subprocess.DEVNULL, env={},
        )  # fmt: skip
        self.kill = weakref.finalize(self, _end, self._process)

    def draw(self, svg: bytes, width: int, height: int) -> bytes:
        asked, given = self._process.stdin, self._process.stdout
        if asked is None or given is None:
            raise RuntimeError("the process has no pipes")
        asked.write(HEAD.pack(width, height, len(svg)) + svg)
        asked.flush()
        length = given.read(LENGTH.size)
        drawn = given.read(*LENGTH.unpack(length)) if len(length) == LENGTH.size else None
        if drawn is None or len(drawn) != LENGTH.unpack(length)[0]:
            raise ConnectionResetError("the output ended")
        return drawn


def _end(process: "Popen[bytes]") -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            if pipe is not None:
                pipe.close()


@cache
def style(theme: Theme) -> str:
    """The CSS of the pictures, with variables replaced by their values."""
    sheet = files(_WEB[0]).joinpath(_WEB[1], "style.css").read_text(encoding="utf-8")
    light, _, dark = sheet.partition("@media (prefers-color-scheme: dark)")
    values = dict(_VARIABLE.findall(light))
    if theme == "dark":
        values |= dict(_VARIABLE.findall(dark[: dark.index("}\n}")]))
    rules = files(_WEB[0]).joinpath(_WEB[1], "picture.css").read_text(encoding="utf-8")
    return _USED.sub(lambda found: values[found[1]].strip(), rules)
