"""The models of a service by alias."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from playmolt_schemas.identifiers import is_scripted

from playmolt_core.db.ledger import Ledger
from playmolt_core.llm.catalogue import Catalogue, ModelEntry
from playmolt_core.llm.day_budget import DayBudget
from playmolt_core.llm.durable_call import Charge, Charges, PaidModel, WorstCase, worst_case
from playmolt_core.llm.limits import ModelLimits
from playmolt_core.llm.port import Model, ModelRequest
from playmolt_core.llm.scripted.model import Cast, ScriptedModel

if TYPE_CHECKING:
    from playmolt_core.llm.openai.model import OpenAIModel


class Models:
    """The models of a service. Connections are opened on first use."""

    def __init__(
        self,
        catalogue: Catalogue,
        limits: ModelLimits,
        cast: Cast,
        *,
        ledger: Ledger | None = None,
        day: DayBudget | None = None,
        seed: str = "0",
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """`day` is counted in `ledger`."""
        self._catalogue = catalogue
        self._limits = limits
        self._cast = cast
        self._scripted = ScriptedModel(cast, seed)
        self._ledger = ledger
        self._day = day
        self._environment = environment
        self._open: dict[str, OpenAIModel] = {}

    def get(self, alias: str, charges: Charges = lambda _: ()) -> Model | None:
        """The model of an alias, paid from the day's budget and the given accounts; None if it is unknown."""
        model, ledger = self.unpaid(alias), self._ledger
        if model is None or ledger is None:
            return model
        return PaidModel(model, ledger, lambda request: [*charges(request), *self.charges(request)])

    def unpaid(self, alias: str) -> Model | None:
        """The model of an alias, for a caller that pays for its requests; None if it is unknown."""
        if is_scripted(alias):
            return self._scripted if self._cast.knows(alias) else None
        entry = self._catalogue.models.get(alias)
        return None if entry is None else self._opened(entry)

    def charges(self, request: ModelRequest, *, batched: bool = False) -> Sequence[Charge]:
        """The worst case of a request on the accounts of today, at the prices of batches or at the plain ones."""
        entry = self._priced(request.alias, batched=batched)
        return () if self._day is None or entry is None else self._day.charges(request, entry)

    def worst_case(self, request: ModelRequest, *, batched: bool = False) -> WorstCase:
        return worst_case(request, self._priced(request.alias, batched=batched))

    def _priced(self, alias: str, *, batched: bool) -> ModelEntry | None:
        entry = self._catalogue.models.get(alias)
        return entry.in_batches if entry and batched else entry

    def _opened(self, entry: ModelEntry) -> "OpenAIModel":
        if entry.alias not in self._open:
            # The client takes seconds to import, which services with only scripted models avoid.
            from playmolt_core.llm.openai.model import OpenAIModel  # noqa: PLC0415

            key = self._environment.get(entry.api_key_env, "").strip()
            self._open[entry.alias] = OpenAIModel(entry, key, self._limits)
        return self._open[entry.alias]

    def in_batches(self, alias: str) -> "OpenAIModel | None":
        """A model with a batch API; None for other models."""
        entry = self._catalogue.models.get(alias)
        return self._opened(entry) if entry is not None and entry.batch else None

    async def close(self) -> None:
        for model in self._open.values():
            await model.close()
