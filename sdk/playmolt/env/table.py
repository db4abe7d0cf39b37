"""A game's real rules with every seat taken, without a server."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from playmolt_core.game.decider import Act, Command, Create, Decider, Join, Refused, Viewer
from playmolt_schemas.games.game_messages import GameLanguage

from playmolt.calls import State
from playmolt.feed import OVER

_AT: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""Nothing is late: the games have no deadlines, and one moment for all that happens."""


class Table:
    """One game, from the moment in which its last seat is taken."""

    def __init__(
        self, decider: Decider[Any], seats: Sequence[str], game: str, seed: str, language: GameLanguage
    ) -> None:
        self._decider = decider
        self._state = decider.initial(f"{game}-env")
        self._views: dict[str, State] = {}
        self._do(Create(seed=seed, config={"phase_deadline_seconds": 0, "language": language}))
        for seat in seats:
            self._do(Join(agent_id=seat, name=seat))

    def view(self, seat: str) -> State:
        """The state as that seat reads it over the API."""
        if seat not in self._views:
            seen = self._decider.view(self._state, Viewer(seat))
            self._views[seat] = msgspec.json.decode(msgspec.json.encode(seen))
        return self._views[seat]

    def asks(self, seat: str) -> str | None:
        """The type of the action that is wanted of a seat now."""
        offers = self._decider.allowed_actions(self._state, seat)
        return offers[0].type if offers else None

    def act(self, seat: str, action: Mapping[str, Any]) -> None:
        self._do(Act(agent_id=seat, action=action))

    @property
    def over(self) -> bool:
        return self._decider.summary(self._state).phase in OVER

    def _do(self, command: Command) -> None:
        decision = self._decider.decide(self._state, command, _AT)
        if isinstance(decision, Refused):
            raise ValueError(f"the rules refuse {command}: {decision.detail}")  # noqa: TRY004 -- no type is wrong
        for event in decision.events:
            self._state = self._decider.evolve(self._state, event, _AT)
        self._views.clear()
