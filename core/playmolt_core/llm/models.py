"""The models of a service by alias."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from playmolt_schemas.identifiers import is_scripted

from playmolt_core.llm.catalogue import Catalogue, ModelEntry
from playmolt_core.llm.day_budget import BatchDay, DayBudget
from playmolt_core.llm.limits import ModelLimits
from playmolt_core.llm.port import Model
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
        day: DayBudget | None = None,
        seed: str = "0",
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._catalogue = catalogue
        self._limits = limits
        self._cast = cast
        self._scripted = ScriptedModel(cast, seed)
        self._day = day
        self._environment = environment
        self._open: dict[str, OpenAIModel] = {}

    def get(self, alias: str) -> Model | None:
        """The model of an alias; None if it is unknown."""
        if is_scripted(alias):
            return self._scripted if self._cast.knows(alias) else None
        entry = self._catalogue.models.get(alias)
        if entry is None:
            return None
        model = self._opened(entry)
        return self._day.over(model, entry) if self._day else model

    def _opened(self, entry: ModelEntry) -> "OpenAIModel":
        if entry.alias not in self._open:
            # The client takes seconds to import, which services with only scripted models avoid.
            from playmolt_core.llm.openai.model import OpenAIModel  # noqa: PLC0415

            key = self._environment.get(entry.api_key_env, "")
            self._open[entry.alias] = OpenAIModel(entry, key, self._limits)
        return self._open[entry.alias]

    def in_batches(self, alias: str) -> "OpenAIModel | None":
        """A model with a batch API; None for other models. `batch_day` counts its usage."""
        entry = self._catalogue.models.get(alias)
        return self._opened(entry) if entry is not None and entry.batch else None

    def batch_day(self, alias: str) -> BatchDay | None:
        """The daily budget of a model's batch requests; None if there is no daily budget."""
        entry = self._catalogue.models.get(alias)
        return self._day.in_batches(entry) if self._day and entry is not None else None

    async def close(self) -> None:
        for model in self._open.values():
            await model.close()
