"""Pictures of games at a moment: one drawing for equal requests, and those of finished games kept on disk."""

import asyncio
import time
from asyncio import Task
from collections import OrderedDict
from typing import Final

from msgspec import Struct
from playmolt_schemas.skill import PageLanguage

from playmolt_gateway.pages.moments import State, drawn, language_of, state_of
from playmolt_gateway.pictures.letters import legible, legible_text
from playmolt_gateway.pictures.picture_store import Kept, PictureStore, name_of
from playmolt_gateway.pictures.png import FONT, PngProcess, Theme, style
from playmolt_gateway.pictures.scene import TALL, WIDE, Picture
from playmolt_gateway.ports import GatewayBus

OVER: Final = ("end", "aborted", "ended")
RECENT_SECONDS: Final = 2.0
"""How long a request is answered like an equal one before it."""
_RECENT: Final = 256
_FINISHED: Final = 10_000


class WantedPicture(Struct, frozen=True):
    """A picture's address, without what makes no difference. `moment` may be later than the game's last one."""

    game: str
    moment: int | None
    language: PageLanguage | None
    """None: the game's own."""
    svg: bool
    seat: str = ""
    invite: str = ""
    theme: Theme = "light"
    tall: bool = False
    width: int = WIDE.width
    revision: int = 0
    """Of the operator's newest decision: a picture from before it is not repeated."""


class GamePicture(Struct, frozen=True):
    """`over`: the game is finished; `settled`: so is this moment of it, which the request named."""

    body: bytes
    over: bool
    settled: bool


def language_of_game(state: State) -> PageLanguage:
    """The language of a game's content if pages have it, otherwise that of a reader who wants none."""
    return language_of(state.get("language"), "")


class PictureDrawer:
    """Draws PNGs in one process and keeps them."""

    def __init__(self, store: PictureStore, process: PngProcess) -> None:
        self._store = store
        self._process = process

    async def png(self, picture: Picture, theme: Theme, kept: Kept, width: int = 0) -> bytes:
        """Draw it `width` pixels wide (0: as wide as its sheet). Raises ConnectionError if it cannot be drawn now."""
        # The first one reads the fonts.
        svg, sheet = await asyncio.to_thread(legible_text, picture.svg(style(theme))), picture.sheet
        wide = width or sheet.width
        high = sheet.height * wide // sheet.width
        return await self._store.get(
            name_of("png", FONT, str(wide), svg), lambda: self._process.draw(svg, wide, high), kept
        )


class GamePictures:
    """Equal requests share one answer, also for two seconds after it was made."""

    def __init__(self, bus: GatewayBus, drawer: PictureDrawer, seconds: float = RECENT_SECONDS) -> None:
        self._bus = bus
        self._drawer = drawer
        self._seconds = seconds
        self._recent: OrderedDict[WantedPicture, tuple[Task[GamePicture | None], float]] = OrderedDict()
        self._finished: OrderedDict[str, int] = OrderedDict()
        """The last version of games that are known to be finished."""

    async def of(self, wanted: WantedPicture) -> GamePicture | None:
        """The picture, None if there is none. Raises UNAVAILABLE_ERRORS."""
        known = self._recent.get(wanted)
        if known is not None and (not known[0].done() or known[1] > time.monotonic()):
            return await asyncio.shield(known[0])
        making = asyncio.create_task(self._made(wanted))
        making.add_done_callback(lambda done: self._end(wanted, done))
        self._recent[wanted] = making, 0.0
        self._recent.move_to_end(wanted)
        if len(self._recent) > _RECENT:
            self._recent.popitem(last=False)
        return await asyncio.shield(making)

    def _end(self, wanted: WantedPicture, done: "Task[GamePicture | None]") -> None:
        failed = done.cancelled() or done.exception() is not None
        if self._recent.get(wanted, (None, 0.0))[0] is not done:
            return
        if failed:
            del self._recent[wanted]
        else:
            self._recent[wanted] = done, time.monotonic() + self._seconds

    async def _made(self, wanted: WantedPicture) -> GamePicture | None:
        last = self._finished.get(wanted.game)
        state: State | None = None
        if last is None or wanted.moment is None or wanted.moment > last:
            state = await state_of(self._bus, wanted.game, invite=wanted.invite)
            if state is None:
                return None
            if state["phase"] in OVER:
                last = self._finished[wanted.game] = state["version"]
                if len(self._finished) > _FINISHED:
                    self._finished.popitem(last=False)
        there = wanted.moment is not None and (state is None or wanted.moment <= state["version"])
        moment = wanted.moment if there else None
        if wanted.seat or (moment is not None and (state is None or moment < state["version"])):
            state = await state_of(self._bus, wanted.game, moment, wanted.seat, wanted.invite)
        if state is not None and not wanted.svg:
            state = await asyncio.to_thread(legible, state)  # Before it is drawn, so that readings find their room.
        if state is None:
            return None
        picture = drawn(state, wanted.language or language_of_game(state), TALL if wanted.tall else WIDE)
        if picture is None:
            return None
        over = last is not None
        if wanted.svg:
            body = picture.svg().encode()
        else:
            body = await self._drawer.png(picture, wanted.theme, "disk" if over else "memory", wanted.width)
        return GamePicture(body, over, settled=over and moment is not None)
