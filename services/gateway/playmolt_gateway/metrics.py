"""Counters as plain integers, rendered when asked for: the hot route pays an addition."""

from bisect import bisect_left
from collections import defaultdict
from typing import Final

BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_PREFIX: Final = "playmolt_gateway"


class _Route:
    __slots__ = ("buckets", "seconds", "statuses")

    def __init__(self) -> None:
        self.statuses: defaultdict[int, int] = defaultdict(int)
        self.buckets = [0] * (len(BUCKETS) + 1)
        self.seconds = 0.0


class Metrics:
    """What this process did since it started."""

    def __init__(self) -> None:
        self.in_flight = 0
        self._routes: defaultdict[str, _Route] = defaultdict(_Route)

    def observe(self, route: str, status: int, seconds: float) -> None:
        """Count one answer."""
        entry = self._routes[route]
        entry.statuses[status] += 1
        entry.buckets[bisect_left(BUCKETS, seconds)] += 1
        entry.seconds += seconds

    def render(self, gauges: dict[str, int]) -> str:
        """Write Prometheus' text format; `gauges` are further values as they are now."""
        lines = [f"# TYPE {_PREFIX}_requests_total counter"]
        for name, entry in sorted(self._routes.items()):
            lines += [
                f'{_PREFIX}_requests_total{{route="{name}",status="{status}"}} {count}'
                for status, count in sorted(entry.statuses.items())
            ]
        lines.append(f"# TYPE {_PREFIX}_request_seconds histogram")
        for name, entry in sorted(self._routes.items()):
            lines += self._histogram(name, entry)
        for name, value in {"in_flight": self.in_flight, **gauges}.items():
            lines += [f"# TYPE {_PREFIX}_{name} gauge", f"{_PREFIX}_{name} {value}"]
        return "\n".join([*lines, ""])

    @staticmethod
    def _histogram(name: str, entry: _Route) -> list[str]:
        total = 0
        lines = []
        for bound, count in zip((*(f"{b:g}" for b in BUCKETS), "+Inf"), entry.buckets, strict=True):
            total += count
            lines.append(f'{_PREFIX}_request_seconds_bucket{{route="{name}",le="{bound}"}} {total}')
        lines.append(f'{_PREFIX}_request_seconds_sum{{route="{name}"}} {entry.seconds:.6f}')
        lines.append(f'{_PREFIX}_request_seconds_count{{route="{name}"}} {total}')
        return lines
