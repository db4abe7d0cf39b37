"""The play loop of a bot: get a turn, decide, act, until the game ends.

It is a generator of steps without I/O, shared by the synchronous and the asynchronous client.
"""

import inspect
import time
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol, TypeVar

import msgspec
from playmolt_schemas import api
from playmolt_schemas.api import ActionOffer, GameType
from playmolt_schemas.codes import Code, Problem, problem
from playmolt_schemas.identity import ladder_of
from playmolt_schemas.registry import bot_games
from playmolt_schemas.stored.values import DEFAULT_PACE, Fault

from playmolt import calls
from playmolt.calls import Request, State
from playmolt.errors import BotFailed, PlayMoltError, Refused, Stalled
from playmolt.feed import OVER

T = TypeVar("T")
Action = Mapping[str, Any]

TRIES = 3
"""Number of consecutive refused actions after which BotFailed is raised."""
PATIENCE_SECONDS = 3600.0
"""Default time limit without progress in a game."""
TURN_WAIT_SECONDS = 8
"""The longest wait for a turn; between waits the loop checks whether the game is over."""
_SETTLED = frozenset(
    code.wire
    for code in (
        Code.STALE_TURN,
        Code.ALREADY_SUBMITTED,
        Code.ALREADY_RESIGNED,
        Code.GAME_OVER,
        Code.NOT_STARTED,
        Code.NOTHING_TO_FORFEIT,
    )
)
_ACTIONS: Mapping[str, Mapping[str, type[msgspec.Struct]]] = {name: game.actions for name, game in bot_games().items()}
_BOT_FAULTS = frozenset(
    code.wire
    for code in (
        Code.INVALID_ACTION,
        Code.INVALID_REQUEST,
        Code.WRONG_ACTION,
        Code.WRONG_PHASE,
        Code.SWITCH_UNAVAILABLE,
        Code.BODY_TOO_LARGE,
    )
)
_SETTLING_SECONDS = 0.2


class Turn(api.Turn, frozen=True):
    """A turn of a bot: the game's state and the allowed actions.

    `refused` is the refusal of its last action; None on the first try.
    """

    refused: Problem | None = None


class Forfeit(msgspec.Struct, frozen=True):
    """Returned by a bot instead of an action to forfeit its submission, so that the game does not wait.

    `what` (1 to 40 characters of a-z, 0-9 and _) is recorded in the ledger of faults, under the bot or under a service
    it depends on (`provider`).
    """

    what: str
    kind: Literal["bot", "provider"] = "bot"


class BotObject(Protocol):
    """A bot as an object: `act` takes the state and the allowed actions and returns the action, or an awaitable."""

    def act(
        self, state: State, actions: Sequence[ActionOffer], /
    ) -> Action | Forfeit | Awaitable[Action | Forfeit]: ...


Bot = Callable[[Turn], Action | Forfeit | Awaitable[Action | Forfeit]] | BotObject
"""A bot: a callable from Turn to an action or Forfeit, or an object with `act(state, actions)`."""


class GameResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a game. `points` are the platform points of this agent's seat, 0 if the game was aborted.

    `turns` counts accepted actions, `refusals` refused ones.
    """

    game_id: str
    gameType: str  # noqa: N815 -- the wire's spelling
    agent_id: str
    name: str
    phase: str
    points: int
    turns: int
    refusals: int
    state: State
    faults: Sequence[Fault] = ()
    """The ledger of faults of all seats."""
    handle: str = ""
    rating: api.Rating | None = None
    """This agent's rating in games of this type and pace after the game; None before its first rated game or if not
    available."""

    @property
    def unrated(self) -> str | None:
        """Why the game does not change ratings: the state's `unrated`, `tournament` or `private`; None if it may."""
        if self.state.get("rated", True):
            return None
        return str(self.state.get("unrated") or ("tournament" if self.state.get("tournament") else "private"))


@dataclass(frozen=True, slots=True)
class Ask:
    turn: Turn


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


Step = Request[Any] | Ask | Pause
Steps = Generator[Step, Any, T]


def decide(bot: Bot, turn: Turn) -> Action | Forfeit | Awaitable[Action | Forfeit]:
    """Call a bot; raises BotFailed if it raises an exception."""
    act: Callable[..., Action | Awaitable[Action]] | None = getattr(bot, "act", None)
    if act is not None:
        with bot_errors(bot):
            return act(turn.state, turn.actions)
    if not callable(bot):
        raise TypeError(f"{bot!r} is not a bot. A bot is callable with a turn, or has act(state, actions)")
    with bot_errors(bot):
        return bot(turn)


@contextmanager
def bot_errors(bot: Bot) -> Iterator[None]:
    """Convert exceptions of the bot to BotFailed, with file and line."""
    try:
        yield
    except BotFailed:
        raise  # already converted
    except Exception as error:
        raise BotFailed.by_raising(error, file_of(bot)) from error


def file_of(bot: Bot) -> str:
    """The source file of a bot; "" if unknown."""
    parts: tuple[Any, ...] = (getattr(bot, "act", bot), type(bot))
    for part in parts:
        with suppress(TypeError, ValueError):
            return inspect.getfile(inspect.unwrap(part))
    return ""


def _ask(request: Request[T]) -> Steps[T]:
    answer: T = yield request
    return answer


def playing(
    game: GameType,
    *,
    game_id: str | None,
    patience: float,
    tries: int = TRIES,
    clock: Callable[[], float] = time.monotonic,
) -> Steps[GameResult]:
    """The steps of one game to its end; raises BotFailed, Stalled and the errors of requests.

    Joins a game unless `game_id` names one.
    """
    if game_id is None:
        game_id = (yield from _ask(calls.join(game))).game_id
    result = yield from Seat(game_id, patience, tries, clock).play()
    try:
        me = yield from _ask(calls.me())
    except PlayMoltError:
        return result  # the result is complete without rating and handle
    rating = me.ratings.get(ladder_of(game, result.state.get("pace", DEFAULT_PACE)))
    return msgspec.structs.replace(result, handle=me.handle, rating=rating)


class Seat:
    """One agent's seat in one game."""

    def __init__(self, game_id: str, patience: float, tries: int, clock: Callable[[], float]) -> None:
        self._game_id = game_id
        self._patience = patience
        self._tries = tries
        self._clock = clock
        self._acted_at = 0
        """Version after the last accepted action; an older state is a stale replica's, not a turn."""
        self._version = 0
        self._moved = clock()
        self._hold = 1
        self._turns = 0
        self._refusals = 0
        self._in_a_row = 0
        self._refused: Problem | None = None

    def play(self) -> Steps[GameResult]:
        """Take turns until the game is over."""
        while True:
            turn = yield from _ask(calls.turn(wait=self._hold))
            if turn is not None and turn.over and turn.game_id == self._game_id:
                return self._result(turn.state)
            if turn is None or turn.game_id != self._game_id or turn.state["version"] < self._acted_at:
                state = yield from _ask(calls.state(self._game_id))
                if state["phase"] in OVER:
                    return self._result(state)
                self._watch(state["version"])
                if turn is None:
                    continue
                turn = _own_turn(self._game_id, state) if state["version"] >= self._acted_at else None
                if turn is None:
                    # The turn belongs to the agent's other game, and would be returned again at once.
                    yield from _ask(calls.state(self._game_id, after=state["version"], wait=self._hold))
                    continue
            self._watch(turn.state["version"])
            yield from self._move(turn)

    def _move(self, turn: api.Turn) -> Steps[None]:
        offered = Turn(
            turn.game_id, turn.gameType, turn.state, turn.actions, turn_id=turn.turn_id, refused=self._refused
        )
        action: Any = yield Ask(offered)
        if not isinstance(action, Mapping | Forfeit):
            self._fault(_no_action(action))
            return
        try:
            request = self._answer(turn.turn_id, action)
        except (UnicodeEncodeError, TypeError, msgspec.MsgspecError) as error:
            self._fault(_no_action(action, f"it cannot be encoded as JSON: {error}"))
            return
        try:
            accepted = yield from _ask(request)
        except Refused as refusal:
            if refusal.code in _BOT_FAULTS:
                self._fault(refusal.problem)
            elif refusal.code in _SETTLED:
                self._in_a_row, self._refused = 0, None
                yield Pause(_SETTLING_SECONDS)
            else:
                raise
        else:
            self._turns += accepted.status == "accepted"
            self._acted_at = accepted.version
            self._in_a_row, self._refused = 0, None
            self._hold = 0 if accepted.phase in OVER else 1

    def _answer(self, turn_id: str | None, action: Action | Forfeit) -> Request[Any]:
        if isinstance(action, Forfeit):
            return calls.forfeit(self._game_id, action.what, kind=action.kind, turn_id=turn_id)
        return calls.act(self._game_id, _answering(turn_id, action))

    def _fault(self, refusal: Problem) -> None:
        self._refused = refusal
        self._refusals += 1
        self._in_a_row += 1
        if self._in_a_row >= self._tries:
            raise BotFailed.by_refusals(refusal, self._in_a_row)

    def _watch(self, version: int) -> None:
        now = self._clock()
        if version > self._version:
            self._version, self._moved, self._hold = version, now, 1
            return
        self._hold = min(max(1, self._hold * 2), TURN_WAIT_SECONDS)
        if now - self._moved > self._patience:
            raise Stalled(self._game_id, self._version, self._patience)

    def _result(self, state: State) -> GameResult:
        me = state.get("self") or {}
        rows = state.get("results") or ()
        return GameResult(
            game_id=self._game_id,
            gameType=state["gameType"],
            agent_id=me.get("id", ""),
            name=me.get("name", ""),
            phase=state["phase"],
            points=next((row["points"] for row in rows if row["agent_id"] == me.get("id")), 0),
            turns=self._turns,
            refusals=self._refusals,
            state=state,
            faults=msgspec.convert(state.get("faults") or (), tuple[Fault, ...]),
        )


def _own_turn(game_id: str, state: State) -> api.Turn | None:
    """The turn of this game, from its state: the server returned that of the agent's other game."""
    kinds = state.get("allowed_actions") or ()
    if not kinds:
        return None
    offers = [_offer(state["gameType"], kind) for kind in kinds]
    return api.Turn(game_id, state["gameType"], state, offers, turn_id=state.get("turn_id"))


def _answering(turn_id: str | None, action: Action) -> Action:
    """The action with `turn_id`, unless the bot set it."""
    return action if turn_id is None else {"turn_id": turn_id, **action}


@cache
def _offer(game: str, kind: str) -> ActionOffer:
    """The offer of an action type; without a schema if the type is unknown."""
    action = _ACTIONS.get(game, {}).get(kind)
    return ActionOffer(kind, msgspec.json.schema_components([action])[1][action.__name__] if action else {})


def _no_action(action: object, why: str = "an action is a dict with a `type`; see the offered schemas") -> Problem:
    return problem(Code.INVALID_ACTION, f"the bot returned {action!r}; {why}")
