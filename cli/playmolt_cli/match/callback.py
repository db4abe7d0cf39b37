"""Client for a bot behind a URL, called the way the platform calls it (arena.md, "The platform calls the bot")."""

import hashlib
import secrets
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec
from playmolt.conformance.players import LostTurn
from playmolt.loop import Forfeit, GameResult, Turn
from playmolt_core.effects.callbacks.client import CallbackAnswer, CallbackClient
from playmolt_core.effects.callbacks.faults import CallbackFailure
from playmolt_schemas.api import ActionOffer
from playmolt_schemas.codes import Problem


class TurnLike(Protocol):
    """A turn of a running game or of a match."""

    @property
    def game_id(self) -> str: ...
    @property
    def gameType(self) -> str: ...  # noqa: N802 -- the wire's spelling
    @property
    def state(self) -> Mapping[str, Any]: ...
    @property
    def actions(self) -> Any: ...
    @property
    def turn_id(self) -> str | None: ...
    @property
    def over(self) -> bool: ...
    @property
    def refused(self) -> Problem | None: ...


class CallbackBot:
    """Calls the bot at a URL. `secret` signs the calls; without one, a random secret is used."""

    def __init__(self, url: str, client: CallbackClient, secret: str = "") -> None:
        self._url = url
        self._client = client
        self._secret = secret or secrets.token_hex(16)
        self._refusals = 0

    async def ask(self, turn: TurnLike, repeats: int = 0) -> Any:
        """Returns its action, a Forfeit, or the Fault of the call. A repeated call has the same idempotency key."""
        if not repeats:
            self._refusals = self._refusals + 1 if turn.refused else 0
        body = body_of(turn)
        key = hashlib.sha256(b"%d %b" % (self._refusals, body)).hexdigest()
        answer = await self._client.call(self._url, self._secret, body, key)
        return action_of(answer.value) if isinstance(answer, CallbackAnswer) else answer


class CallbackPlayer:
    """The bot at a URL as a player of the conformance check; a call without an action is a lost turn."""

    def __init__(self, url: str, secret: str = "") -> None:
        self._client = CallbackClient(private=True)
        self._callback = CallbackBot(url, self._client, secret)

    async def answer(self, turn: Turn) -> Any:
        answer = await self._callback.ask(turn)
        if isinstance(answer, CallbackFailure):
            raise LostTurn(f"{answer.what}: {answer.detail}")
        return answer

    def current_line(self) -> str:
        return ""

    async def over(self, result: GameResult) -> None:
        offers: list[ActionOffer] = []
        await self._callback.ask(Turn(result.game_id, result.gameType, result.state, offers, over=True))

    async def close(self) -> None:
        await self._client.close()


def body_of(turn: TurnLike) -> bytes:
    """The turn as JSON for a bot in another process, with the refusal of its last action."""
    body = {
        "game_id": turn.game_id,
        "gameType": turn.gameType,
        "state": turn.state,
        "actions": turn.actions,
        "over": turn.over,
        "turn_id": turn.turn_id,
        "last_error": turn.refused,
    }
    return msgspec.json.encode(body)


def action_of(value: Mapping[str, Any]) -> Any:
    """Read a JSON object as an action or a Forfeit."""
    forfeit = value.get("forfeit")
    if set(value) == {"forfeit"} and isinstance(forfeit, dict) and isinstance(forfeit.get("what"), str):
        return Forfeit(forfeit["what"], "provider" if forfeit.get("kind") == "provider" else "bot")
    return value
