"""Prometheus metrics of the spectator."""

import time
from collections import Counter
from collections.abc import Mapping
from datetime import datetime

import msgspec
from playmolt_core.ops.metrics import Histogram, Sample, render


class _Dated(msgspec.Struct):
    at: datetime


_read_date = msgspec.json.Decoder(_Dated).decode


class Metrics:
    """Counters of one replica; keys are metric names with optional labels."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter(
            {
                "messages_sent_total": 0,
                "bytes_sent_total": 0,
                "readers_dropped_total": 0,
                'backfills_total{source="nats"}': 0,
                'backfills_total{source="engine"}': 0,
            }
        )
        self.feed_lag = Histogram()

    def written(self, raw: bytes) -> None:
        """Observe the age of a message written to its watchers, if it has a date."""
        try:
            at = _read_date(raw).at
        except msgspec.MsgspecError:
            return
        self.feed_lag.observe(max(0.0, time.time() - at.timestamp()))

    def sent(self, messages: int, size: int) -> None:
        self.counts["messages_sent_total"] += messages
        self.counts["bytes_sent_total"] += size

    def page(self, gauges: Mapping[str, int], *further: Sample) -> bytes:
        """Render counters and gauges (Prometheus text format 0.0.4)."""
        named = ((*key.partition("{"), value) for key, value in {**gauges, **self.counts}.items())
        samples = [Sample(f"playmolt_spectator_{name}", value, rest[:-1]) for name, _, rest, value in named]
        return render([*samples, *further, Sample("playmolt_spectator_feed_lag_seconds", self.feed_lag)]).encode()
