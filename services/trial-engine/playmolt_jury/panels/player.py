"""Plays the juries of a panel: one worker a jury, under the lease of the panel's effect.

A jury decides itself what comes next; the worker asks its models. After a crash, what a model had answered and the log
holds is taken from the log; only what is missing is asked.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.effects.leased_effect import CommandRefused, CommittedStreams, LeasedEffect, Submit
from playmolt_core.game.decider import Command, EndGame
from playmolt_core.game.fold import Snapshot
from playmolt_core.log.folding import facts_of
from playmolt_core.log.port import Archived, StreamReader
from playmolt_core.ops.telemetry import log
from playmolt_core.vault.vault import Erased
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.panels import JurySetAside, PanelPlace, PanelPlan

from playmolt_jury import commands
from playmolt_jury.effects import next_turns, turn_effect
from playmolt_jury.panels.result import missing, result_of, spent_on
from playmolt_jury.panels.rules import ReportJury, SetAside, StopPanel, affordable, goes_first, script_of, session_of
from playmolt_jury.panels.state import PanelState
from playmolt_jury.rules import Jury
from playmolt_jury.state import State, Turn
from playmolt_jury.workers.model_worker import ModelWorker

_log = log("panels")
FAILURES_MOST: Final = 3
"""Turns of a jury without a usable reply; then it is given up and counts as missing."""
_CHAIN_SECONDS: Final = 0.25
_STATUS_SECONDS: Final = 1.0
"""How long a stop on another replica may go unnoticed."""
_SPENT_MOST: Final = 3
"""How often the first of several juries is tried again on a spent budget: calls of the others may give some back."""
_SPENT_SECONDS: Final = 1.0
_GIVEN_UP: Final = f"its models gave no usable reply {FAILURES_MOST} times"

OpenSession = Callable[[str, str, str], Awaitable[str]]
"""Makes room for a session, given (owner, stream, digest of its pack); "" or why it may not be opened today."""
TurnWorker = Callable[[str, Callable[[], PanelState]], ModelWorker]
"""The worker for turns of a panel's jurors, limited to the panel's budget."""


class Juries:
    """The juries of this process, as a panel's worker needs them."""

    def __init__(
        self,
        submit: Submit,
        submit_for: Callable[[str], Submit],
        streams: CommittedStreams[State],
        log: StreamReader,
        jury: Jury,
    ) -> None:
        """`submit_for` submits for an agent, whose session a new jury then is."""
        self.submit = submit
        self.submit_for = submit_for
        self.streams = streams
        self._log = log
        self._jury = jury

    async def now(self, stream: str) -> Snapshot[State] | None:
        """A jury as committed; None if it does not exist. Raises Archived, Erased and LogUnavailable."""
        return self.streams.present(stream) or await self.streams.snapshot(stream)

    async def events(self, stream: str) -> Sequence[Event]:
        """All events of a jury. Raises as `now`."""
        stored = await self._log.facts(stream)
        return () if stored is None else tuple(event for event, _ in facts_of(self._jury, stored))


class JuryPlayer:
    """Fulfils `play_jury`."""

    def __init__(self, juries: Callable[[], Juries], turns: TurnWorker, open_session: OpenSession) -> None:
        self._juries = juries
        self._turns = turns
        self._open_session = open_session

    async def __call__(self, leased: LeasedEffect[PanelPlace, PanelState]) -> None:
        plan = leased.snapshot.state.plan
        if plan is not None:
            await _Play(leased, plan, self._juries(), self._turns, self._open_session).run()


class _Play:
    """One jury under its lease."""

    def __init__(
        self,
        leased: LeasedEffect[PanelPlace, PanelState],
        plan: PanelPlan,
        juries: Juries,
        turns: TurnWorker,
        open_session: OpenSession,
    ) -> None:
        self._leased, self._place, self._plan, self._juries = leased, leased.payload, plan, juries
        self._script = script_of(plan, self._place)
        self._stream = session_of(self._place)
        self._panel = leased.snapshot.state
        self._looked = time.monotonic()
        self._worker = turns(leased.stream, lambda: self._panel)
        self._open_session = open_session
        self._known: Sequence[Event] = ()
        self._refused = 0
        """Steps in a row that the budget did not pay at all."""
        self._waits = False
        """Whether the rest of the budget is for the juries before this one, until they are over."""

    async def run(self) -> None:
        """Play until the jury is over or the panel stops; then report it, or set it aside."""
        try:
            if not await self._running():
                await self._set_aside()
                return
            if not await self._opened():
                return
            while not (state := await self._state()).over:
                if self._leased.stopping:
                    return
                if not await self._running():
                    await self._set_aside()
                    return
                if self._waiting:
                    await asyncio.sleep(_SPENT_SECONDS)
                else:
                    await self._step(state)
            events = await self._juries.events(self._stream)
            played = result_of(self._place, self._stream, self._script, events)
        except (Erased, Archived):
            played = missing(self._place, self._stream)
        await self._leased.submit(ReportJury(played=played))

    async def _opened(self) -> bool:
        """Open the jury, unless it is there from an earlier attempt."""
        if await self._juries.now(self._stream) is not None:
            self._known = await self._juries.events(self._stream)
            return True
        if refused := await self._open_session(self._panel.owner, self._stream, self._plan.case_digest):
            await self._halt(StopPanel(by="budget", detail=refused))
            return False
        opening = commands.OpenPanelJury(
            owner=self._panel.owner, name=self._panel.name, language=self._plan.language,
            pack_digest=self._plan.case_digest, deliberation=self._plan.deliberation, place=self._place,
            script=self._script,
        )  # fmt: skip
        submit = self._juries.submit_for(self._panel.owner)
        await self._leased.submit(opening, "open", to=(submit, self._stream))
        return True

    async def _state(self) -> State:
        found = await self._juries.now(self._stream)
        if found is None:
            raise LogUnavailable(f"{self._stream} cannot be read")
        return found.state

    async def _running(self) -> bool:
        """Whether the panel goes on. Another replica's stop is seen a second later."""
        found = await self._leased.present()
        if time.monotonic() - self._looked > _STATUS_SECONDS:
            self._looked = time.monotonic()
            found = await self._leased.committed() or found
        self._panel = found.state
        return self._panel.status == "running"

    async def _step(self, state: State) -> None:
        turns = next_turns(state)
        if turns:
            await asyncio.gather(*(self._turn(turn) for turn in turns))
            self._known = ()
            after = await self._state()
            lost = after.failures - state.failures
            self._refused = self._refused + 1 if lost == len(turns) else 0
            if lost:
                await self._failed(after)
        elif state.phase == "vote" and self._script.chain and len(state.ballots) == len(state.jurors):
            if state.failed:
                await self._submit(commands.GoOn(), f"on/{state.version}")
            await asyncio.sleep(_CHAIN_SECONDS)
        else:
            await self._submit(commands.GoOn(), f"on/{state.version}")

    async def _turn(self, turn: Turn) -> None:
        """Take a turn as its jury's own worker would, from the replies that are known."""
        snapshot = await self._juries.now(self._stream)
        if snapshot is None:
            raise LogUnavailable(f"{self._stream} cannot be read")
        taken = LeasedEffect(
            self._stream, turn_effect(turn), snapshot, self._leased.attempt, self._juries.submit,
            self._juries.streams, lambda: self._leased.stopping,
        )  # fmt: skip
        await self._worker(taken, self._known)

    async def _failed(self, state: State) -> None:
        """A budget or a model that is gone stops the panel; a jury whose models talk nonsense is given up."""
        failed = state.last_failure
        if failed and failed.code == "budget_spent":
            if not await self._may_be_paid():
                await self._halt(StopPanel(by="budget", detail=failed.detail))
        elif failed and failed.code == "model_unavailable":
            await self._halt(StopPanel(by="model", detail=failed.detail))
        elif state.unusable >= FAILURES_MOST:
            await self._submit(EndGame(reason=_GIVEN_UP), "given up")

    async def _may_be_paid(self) -> bool:
        """Whether to try again on a spent budget: other juries of the panel may leave some of it.

        The rest is for the first jury, so that juries end one by one instead of stopping together.
        """
        if not self._refused:
            return True
        if goes_first(self._panel, self._place):
            alone = self._panel.plan is not None and affordable(self._panel, self._panel.plan) == 1
            if alone or self._refused > _SPENT_MOST:
                return False
            await asyncio.sleep(_SPENT_SECONDS)
            return True
        self._waits, self._refused = True, 0
        return True

    @property
    def _waiting(self) -> bool:
        self._waits = self._waits and not goes_first(self._panel, self._place)
        return self._waits

    async def _halt(self, stop: StopPanel) -> None:
        _log.warning("panel_halted", panel=self._leased.stream, by=stop.by)
        await self._leased.submit(stop, f"halt/{self._panel.stops}")

    async def _set_aside(self) -> None:
        opened = await self._juries.now(self._stream) is not None
        left = JurySetAside(
            script=self._place.script, number=self._place.number, session=self._stream if opened else "",
            spent=spent_on(await self._juries.events(self._stream)),
        )  # fmt: skip
        await self._leased.submit(SetAside(left=left), f"aside/{self._panel.stops}")

    async def _submit(self, command: Command, step: str) -> None:
        """Submit to the jury. A refusal because the jury is over already changes nothing."""
        try:
            await self._leased.submit(command, step, to=(self._juries.submit, self._stream))
        except CommandRefused as refused:
            if not (await self._state()).over:
                raise
            _log.warning("jury_over", stream=self._stream, detail=str(refused))
