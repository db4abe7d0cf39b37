"""Metrics of requests and callbacks: plain integers, rendered on demand."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import Final, Literal, get_args

from playmolt_core.db.webhooks import WebhookFigures
from playmolt_core.effects.callbacks.faults import CallbackFault
from playmolt_core.ops.metrics import Histogram, Sample, label, render
from playmolt_schemas.codes import Code
from playmolt_schemas.routes.platform import ROUTES

_PREFIX: Final = "playmolt_gateway"
MCP: Final = "mcp"
"""The route label of all MCP calls."""
ALERTED: Final = tuple(sorted({500, *(code.status for code in Code if code.status >= 500)}))
"""Statuses initialized to 0: alerts use their increase, which a series created by its first fault does not have."""


_waited: ContextVar["RequestClock | None"] = ContextVar("waited", default=None)


class RequestClock:
    """Times one request: all of it, and the part in which it only waited for something to happen."""

    __slots__ = ("_started", "waited")

    def __init__(self) -> None:
        self._started = perf_counter()
        self.waited = 0.0

    @classmethod
    def start(cls) -> "RequestClock":
        """The clock of the request that this task serves from now on."""
        clock = cls()
        _waited.set(clock)
        return clock

    @property
    def seconds(self) -> float:
        return perf_counter() - self._started


@contextmanager
def waiting() -> Iterator[None]:
    """Count the block as waiting, not work, of the request that this task serves."""
    started = perf_counter()
    try:
        yield
    finally:
        if clock := _waited.get():
            clock.waited += perf_counter() - started


class _Route:
    __slots__ = ("seconds", "statuses")

    def __init__(self) -> None:
        self.statuses: defaultdict[int, int] = defaultdict(int)
        self.seconds = Histogram()


class Metrics:
    def __init__(self) -> None:
        self.in_flight = 0
        self.work_seconds = 0.0
        self._routes: defaultdict[str, _Route] = defaultdict(_Route)
        for name in (*(route.name for route in ROUTES), MCP):
            self._routes[name].statuses.update(dict.fromkeys(ALERTED, 0))

    def observe(self, route: str, status: int, seconds: float, work: float) -> None:
        """Count an answered request; `work` are the seconds in which it did more than wait."""
        self.work_seconds += max(work, 0.0)
        entry = self._routes[route]
        entry.statuses[status] += 1
        entry.seconds.observe(seconds)

    def render(self, gauges: dict[str, int], *samples: Sample) -> str:
        """Prometheus text format; `gauges` are further current values."""
        routes = [(label("route", name), entry) for name, entry in sorted(self._routes.items())]
        counts = [
            Sample(f"{_PREFIX}_requests_total", count, f"{route},{label('status', str(status))}")
            for route, entry in routes
            for status, count in sorted(entry.statuses.items())
        ]
        times = [Sample(f"{_PREFIX}_request_seconds", entry.seconds, route) for route, entry in routes]
        now = {"in_flight": self.in_flight, **gauges}
        work = Sample(f"{_PREFIX}_work_seconds_total", self.work_seconds)
        return render(
            [*counts, *times, work, *samples, *(Sample(f"{_PREFIX}_{name}", value) for name, value in now.items())]
        )


Outcome = Literal["answered", "refused"] | CallbackFault
"""`answered`: the game accepted the action, or the end was reported; `refused`: the game refused the action."""
OUTCOMES: Final = (*get_args(get_args(Outcome)[0]), *get_args(CallbackFault))


class CallbackMetrics:
    """Counts callbacks by outcome; every outcome starts at 0."""

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


WebhookOutcome = Literal["delivered", "failed", "gone"]


class WebhookMetrics:
    """Counts deliveries of notices by outcome; every outcome starts at 0. `figures` are those of all gateways."""

    def __init__(self) -> None:
        self.calls: dict[str, int] = dict.fromkeys(get_args(WebhookOutcome), 0)
        self.seconds = Histogram()
        self.figures = WebhookFigures(0, 0.0)

    def count(self, outcome: WebhookOutcome) -> None:
        self.calls[outcome] += 1

    def rest(self) -> None:
        """No webhook is on."""
        self.figures = WebhookFigures(0, 0.0)

    def samples(self) -> list[Sample]:
        return [
            *(
                Sample("playmolt_gateway_webhook_calls_total", count, label("outcome", outcome))
                for outcome, count in self.calls.items()
            ),
            Sample("playmolt_gateway_webhook_seconds", self.seconds),
            Sample("playmolt_gateway_notices_waiting", self.figures.waiting),
            Sample("playmolt_gateway_notices_lag_seconds", self.figures.lag_seconds),
        ]


WEBHOOK_METRICS: Final = WebhookMetrics()
CALLBACK_METRICS: Final = CallbackMetrics()
"""The counters of this process."""
