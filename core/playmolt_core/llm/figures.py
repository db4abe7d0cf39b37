"""Metrics of model calls in this process."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection
from decimal import Decimal
from typing import Final

from playmolt_core.llm.port import PROMPT_CUT, Attempt
from playmolt_core.ops.metrics import LONG_SECONDS, Histogram, Sample, label


class ModelMetrics:
    """Counts attempts by alias; aliases come from the catalogue, so their number is small."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str]] = Counter()
        self._tokens: Counter[tuple[str, str]] = Counter()
        self._costs: defaultdict[str, Decimal] = defaultdict(Decimal)
        self._seconds: defaultdict[str, Histogram] = defaultdict(lambda: Histogram(LONG_SECONDS))
        self._cut: Counter[str] = Counter()
        self.on_prompt_cut: Callable[[Collection[str]], None] | None = None
        """Called for each truncated prompt, with all aliases whose prompts were truncated so far."""

    def observe(self, attempt: Attempt) -> None:
        """Count an attempt; unknown values are not estimated."""
        self._requests[attempt.alias, attempt.outcome] += 1
        self._seconds[attempt.alias].observe(attempt.latency_ms / 1000)
        if attempt.usage is not None:
            self._tokens[attempt.alias, "prompt"] += attempt.usage.prompt_tokens or 0
            self._tokens[attempt.alias, "completion"] += attempt.usage.completion_tokens or 0
        if attempt.cost is not None:
            self._costs[attempt.alias] += Decimal(attempt.cost)
        if PROMPT_CUT in attempt.warnings:
            self._cut[attempt.alias] += 1
            if self.on_prompt_cut:
                self.on_prompt_cut(self._cut)

    def samples(self) -> list[Sample]:
        counted: list[tuple[str, str, Counter[tuple[str, str]]]] = [
            ("playmolt_llm_requests_total", "outcome", self._requests),
            ("playmolt_llm_tokens_total", "kind", self._tokens),
        ]
        return [
            *(
                Sample(name, count, f"{label('model', alias)},{label(second, value)}")
                for name, second, counts in counted
                for (alias, value), count in counts.items()
            ),
            *(Sample("playmolt_llm_prompts_cut_total", count, label("model", a)) for a, count in self._cut.items()),
            *(Sample("playmolt_llm_cost_total", f"{cost:f}", label("model", a)) for a, cost in self._costs.items()),
            *(Sample("playmolt_llm_seconds", seconds, label("model", a)) for a, seconds in self._seconds.items()),
        ]


MODEL_METRICS: Final = ModelMetrics()
"""The metrics of all models in this process."""
