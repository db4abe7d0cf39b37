"""The house's models: selects the next one and plays a seat with it over the public API."""

import math
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, cast, get_args

from playmolt.loop import Action, Forfeit, Turn
from playmolt_core.db.ledger import Account, Amount
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.durable_call import AccountExhausted
from playmolt_core.llm.models import Models
from playmolt_schemas.identifiers import rfc3339

from playmolt_cli.house.budget import DailyLedger, InvalidBudget
from playmolt_cli.model_seats.calls import Calls
from playmolt_cli.model_seats.requests import Language, ModelProfile, Prompt, shipped
from playmolt_cli.model_seats.seat import ModelSeat, NoModelAction, SeatContext

AsyncBot = Callable[[Turn], Awaitable[Action | Forfeit]]
_LANGUAGES: Final = get_args(Language)
_UNKNOWN_LANGUAGE: Final[Language] = "ko"
"""Language of games whose state names none."""
_SPENT: Final = Forfeit("model_unavailable", "provider")
_ONE_CALL: Final = Amount(calls=1)


class UnknownAlias(ValueError):
    """An alias missing from PLAYMOLT_MODELS."""


class HouseModels:
    """The aliases, used in turn. Calls and prompts are stored in a folder, one file per game."""

    def __init__(
        self, aliases: list[str], catalogue: Catalogue, models: Models, folder: Path, account: Account,
        prompt: Prompt | None = None,
    ) -> None:  # fmt: skip
        """`prompt` replaces the shipped ones. Raises UnknownAlias and InvalidBudget."""
        for alias in aliases:
            if models.get(alias) is None:
                known = ", ".join(catalogue.aliases)
                raise UnknownAlias(f'no alias "{alias}" in PLAYMOLT_MODELS; choose from {known}')
            if account.money is not None and alias in catalogue.models and not catalogue.models[alias].priced:
                raise InvalidBudget(f"PLAYMOLT_HOUSE_BUDGET: {alias} has no prices, so `money` cannot be enforced")
        self._aliases = aliases
        self._catalogue = catalogue
        self._models = models
        self._folder = folder
        self._days = DailyLedger(folder / "spent")
        self._account = account
        self._prompt = prompt
        self._calls: dict[str, Calls] = {}
        self._next = 0

    def next_alias(self) -> str | None:
        """The alias for the next seat; None without models or after the day's budget is spent."""
        if not self._aliases or not self._account.holds(self._days.today.of(self._account.name) + _ONE_CALL):
            return None
        alias = self._aliases[self._next % len(self._aliases)]
        self._next += 1
        return alias

    def bot(self, alias: str, name: str) -> AsyncBot:
        """A bot that plays with the model. Turns beyond the budget are forfeited."""
        seats: dict[str, tuple[ModelSeat, int]] = {}

        async def play(turn: Turn) -> Action | Forfeit:
            if turn.game_id not in seats:
                seats[turn.game_id] = self._seat(alias, name, turn)
            seat, number = seats[turn.game_id]
            refused = turn.refused.detail if turn.refused else None
            left = turn.state.get("seconds_left")
            within = math.inf if left is None else float(left)
            asked = f"{number}:{turn.state['version']}"
            try:
                answer = await seat.action(asked, turn.state, list(turn.actions), refused, within)
            except AccountExhausted:
                return _SPENT
            return Forfeit(answer.what, answer.kind) if isinstance(answer, NoModelAction) else answer

        return play

    def end(self, game_id: str) -> None:
        """Close the calls of a finished game."""
        calls = self._calls.pop(game_id, None)
        if calls is not None:
            calls.close()

    async def close(self) -> None:
        for game_id in list(self._calls):
            self.end(game_id)
        await self._models.close()

    def _seat(self, alias: str, name: str, turn: Turn) -> tuple[ModelSeat, int]:
        stated = turn.state.get("language")
        language = cast("Language", stated) if stated in _LANGUAGES else _UNKNOWN_LANGUAGE
        prompt = self._prompt or shipped(turn.gameType, language)
        self._keep(prompt)
        if turn.game_id not in self._calls:
            self._calls[turn.game_id] = Calls(self._folder / f"{turn.game_id}.calls.jsonl")
        bench = SeatContext(
            catalogue=self._catalogue, models=self._models, calls=self._calls[turn.game_id],
            ledger=self._days.today, account=self._account, clock=lambda: rfc3339(datetime.now(UTC)),
        )  # fmt: skip
        voice = ModelProfile(alias=alias, system=prompt.filled(name, language), language=language, session=turn.game_id)
        me = turn.state["self"]["id"]
        number = 1 + [seat["id"] for seat in turn.state["participants"]].index(me)
        return ModelSeat(bench, voice, name, lambda *_: None), number

    def _keep(self, prompt: Prompt) -> None:
        path = self._folder / "prompts" / f"{prompt.sha256}.md"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(prompt.text, encoding="utf-8")
