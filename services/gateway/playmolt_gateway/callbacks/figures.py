"""What calls of agents' own servers came to, counted for the process."""

from typing import Final, Literal, get_args

from playmolt_core.effects.callbacks.faults import CallbackFault
from playmolt_core.ops.metrics import Histogram, Sample, label

Outcome = Literal["answered", "refused"] | CallbackFault
"""`answered` with an action that the game took (or told of its end), `refused` with one that it did not."""
OUTCOMES: Final = (*get_args(get_args(Outcome)[0]), *get_args(CallbackFault))


class CallFigures:
    """Counts calls by what they came to; each outcome is there from the start."""

    def __init__(self) -> None:
        self.calls: dict[str, int] = dict.fromkeys(OUTCOMES, 0)
        self.seconds = Histogram()

    def count(self, outcome: Outcome) -> None:
        self.calls[outcome] += 1

    def samples(self) -> list[Sample]:
        return [
            *(
                Sample("playmolt_gateway_callbacks_total", count, label("outcome", outcome))
                for outcome, count in self.calls.items()
            ),
            Sample("playmolt_gateway_callback_seconds", self.seconds),
        ]


FIGURES: Final = CallFigures()
"""Those of this process."""
