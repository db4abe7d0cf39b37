"""Creates the entrants of a plan, with the models, calls and HTTP client that they share."""

import os
from collections.abc import Mapping
from typing import Final

from playmolt.bots import MIXED
from playmolt_core.db.ledger import Amount
from playmolt_core.effects.callbacks.client import CallbackClient
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.file_ledger import MemoryLedger
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.models import Models
from playmolt_schemas.match_plan import PlannedPlayer

from playmolt_cli.match import callers
from playmolt_cli.match.entrants import Entrant, house, python
from playmolt_cli.match.folder import MatchFolder
from playmolt_cli.match.plan import Plan, check, for_game, plan_of_words
from playmolt_cli.model_seats.calls import Calls
from playmolt_cli.model_seats.requests import cast
from playmolt_cli.model_seats.seat import SeatContext

_ONE_GAME: Final = 1


def models_of(catalogue: Catalogue, seed: str, environment: Mapping[str, str] = os.environ) -> Models:
    """Models by alias; scripted models play by the seed."""
    return Models(catalogue, MemoryLimits(), cast(), seed=seed, environment=environment)


class EntrantFactory:
    """Creates entrants; close it after the last game."""

    def __init__(self, plan: Plan, catalogue: Catalogue, calls: Calls, folder: MatchFolder | None = None) -> None:
        self._plan = plan
        self._folder = folder
        self._calls = calls
        self._models = models_of(catalogue, plan.document.seed)
        ledger = MemoryLedger(waits=True)
        ledger.spent[plan.account.name] = sum((call.used for call in calls.ended.values()), Amount())
        self._bench = SeatContext(
            catalogue=catalogue,
            models=self._models,
            calls=calls,
            ledger=ledger,
            account=plan.account,
            clock=self._order,
        )
        self._client = CallbackClient(private=True)

    def entrants(self) -> list[Entrant]:
        return [self._entrant(player) for player in self._plan.document.players]

    async def close(self) -> None:
        await self._models.close()
        await self._client.close()

    def _entrant(self, player: PlannedPlayer) -> Entrant:
        document = self._plan.document
        if player.house is not None:
            by_game = {game: policy for game in self._plan.types if (policy := for_game(player.house, game))}
            return house(player.name, by_game, MIXED, document.seed)
        if player.python is not None:
            return python(player.name, player.python, self._plan.base)
        if player.model is not None:
            return callers.model(self._plan, player, self._plan.prompts(player), self._bench, self._folder)
        return callers.url(player, self._client)

    def _order(self) -> str:
        """The running number of a call, used as its time: a match has no clock."""
        return str(1 + len(self._calls.begun))


def entrant_factory(word: str, game: str, seed: str, catalogue: Catalogue) -> EntrantFactory:
    """A factory for the one bot that a command-line word names; raises InvalidPlan."""
    plan = plan_of_words([word], game, _ONE_GAME, seed)
    check(plan, catalogue, models_of(catalogue, ""))
    return EntrantFactory(plan, catalogue, Calls())
