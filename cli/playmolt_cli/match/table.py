"""One game, played on its decider in this process: no database, messages or clock.

A generator yields each turn and receives the answer, so that its driver may wait as long as it likes.
"""

from collections.abc import Callable, Generator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec.structs import replace
from playmolt.loop import TRIES, Forfeit
from playmolt_core.game import decider as commands
from playmolt_core.game.decider import Accepted, Act, AllowedAction, Command, Create, Decider, Join, Refused, Viewer
from playmolt_core.game.seats import ledger
from playmolt_schemas.api import ActionOffer
from playmolt_schemas.codes import Code, Problem, problem
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.values import DEFAULT_LANGUAGE, NO_IDENTITY, Fault, GameLanguage, Identity

AT: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""The time of every event: a match has no clock."""
_CONFIG: Final = {"phase_deadline_seconds": 0}

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class GameStuck(Exception):
    """The game is not over, but expects no action."""


class LocatedForfeit(Forfeit, frozen=True):
    """A forfeited submission; `at` is the FILE:LINE of the player's error."""

    at: str | None = None


class TableSeat(msgspec.Struct, frozen=True):
    """The agent in a seat of one game."""

    agent_id: str
    name: str
    identity: Identity = NO_IDENTITY


class TableTurn:
    """A turn for a player: like the SDK's `Turn`, but its state is computed on first access."""

    __slots__ = ("_decider", "_offers", "_shown", "_state", "game_id", "refused", "seat", "version")
    over: Final = False

    def __init__(
        self, decider: Decider, state: Any, seat: TableSeat, offers: list[ActionOffer], refused: Problem | None
    ) -> None:
        self._decider = decider
        self._state = state
        self._offers = offers
        self._shown: dict[str, Any] | None = None
        self.seat = seat
        self.version: int = state.version
        self.game_id: str = state.game_id
        self.refused = refused

    @property
    def gameType(self) -> str:  # noqa: N802 -- the wire's spelling
        return self._decider.game

    @property
    def actions(self) -> list[ActionOffer]:
        return self._offers

    @property
    def turn_id(self) -> str | None:
        return self._decider.turn_id(self._state, self.seat.agent_id)

    @property
    def state(self) -> dict[str, Any]:
        if self._shown is None:
            self._shown = _decode(_encode(self._decider.view(self._state, Viewer(self.seat.agent_id))))
        return self._shown


Commit = Callable[[Command, Sequence[tuple[Event, object]], str | None], None]
"""Called with each step: the command, its events with the state after each, and the FILE:LINE of a player's error."""
TurnGenerator = Generator[TableTurn, Any, Any]


class GameTable:
    """A game and its seats."""

    def __init__(
        self,
        decider: Decider,
        state: Any,
        seats: Sequence[TableSeat],
        commit: Commit | None = None,
        at: datetime = AT,
    ) -> None:
        """`state` is the current state; call `open` if it is the initial one. All events have the time `at`."""
        self.seats = seats
        self.state = state
        self._decider = decider
        self._commit = commit
        self._at = at
        self._gathered: tuple[Fault, ...] = ()
        self._offered: dict[str, list[ActionOffer]] = {}

    def open(self, seed: str, language: GameLanguage = DEFAULT_LANGUAGE) -> None:
        """Create the game with content in `language`, and seat all agents in order."""
        self._do(Create(seed=seed, config={**_CONFIG, "language": language}))
        for seat in self.seats:
            self._do(Join(agent_id=seat.agent_id, name=seat.name, identity=seat.identity))

    def play(self) -> TurnGenerator:
        """Ask the seats for the actions the game expects until it is over; returns the last state.

        An answer is an action or LocatedForfeit. Raises GameStuck.
        """
        allowed_actions = self._decider.allowed_actions
        while not self.state.over:
            version = self.state.version
            for seat in self.seats:
                allowed = allowed_actions(self.state, seat.agent_id)
                if allowed:
                    yield from self._submission(seat, allowed)
            if self.state.version == version:
                raise GameStuck(f"{self.state.game_id} expects no action in phase {self.state.phase}")
        return self.state

    def _submission(self, seat: TableSeat, allowed: Sequence[AllowedAction]) -> TurnGenerator:
        """Ask a seat until an action is accepted; after TRIES refusals the submission is forfeited."""
        offers, refused = self._offers(allowed), None
        for attempt in range(1, TRIES + 1):
            answer = yield TableTurn(self._decider, self.state, seat, offers, refused)
            if isinstance(answer, Forfeit):
                self._forfeit(seat, answer)
                return
            refusal = self._act(seat, answer)
            if refusal is None:
                return
            if attempt < TRIES and refusal.fault is not None:
                self._gathered = ledger.added(self._gathered, (refusal.fault,))
            refused = problem(refusal.code, refusal.detail, refusal.errors)
        self._forfeit(seat, LocatedForfeit("refused"))

    def _act(self, seat: TableSeat, action: Any) -> Refused | None:
        try:
            # Encode and decode it as a server would receive it.
            taken = _decode(_encode(action))
        except (TypeError, ValueError, RecursionError) as error:
            unsent = f"the bot returned {str(action)[:200]!r}, which cannot be encoded as JSON: {error}"
            return Refused(Code.INVALID_ACTION, unsent, fault=ledger.bot(seat.agent_id, "refused"))
        return self._do(Act(agent_id=seat.agent_id, action=taken))

    def _forfeit(self, seat: TableSeat, answer: Forfeit) -> None:
        command = commands.Forfeit(agent_id=seat.agent_id, kind=answer.kind, what=answer.what)
        self._do(command, getattr(answer, "at", None))

    def _do(self, command: Command, broke_at: str | None = None) -> Refused | None:
        if self._gathered:
            command = replace(command, gathered=self._gathered)
        decided = self._decider.decide(self.state, command, self._at)
        if decided.events:
            self._gathered = ()
            self._take(command, decided, broke_at)
        return decided if isinstance(decided, Refused) else None

    def _take(self, command: Command, decided: Accepted | Refused, broke_at: str | None) -> None:
        states = decided.states if isinstance(decided, Accepted) else ()
        if not states:
            folded, state = [], self.state
            for event in decided.events:
                state = self._decider.evolve(state, event, self._at)
                folded.append(state)
            states = tuple(folded)
        self.state = states[-1]
        if self._commit is not None:
            self._commit(command, list(zip(decided.events, states, strict=True)), broke_at)

    def _offers(self, allowed: Sequence[AllowedAction]) -> list[ActionOffer]:
        key = allowed[0].type if len(allowed) == 1 else ",".join(one.type for one in allowed)
        if key not in self._offered:
            self._offered[key] = [ActionOffer(one.type, dict(one.schema)) for one in allowed]
        return self._offered[key]
