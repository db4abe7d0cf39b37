"""What the spectator counts, as Prometheus reads it."""

from collections import Counter
from collections.abc import Mapping

_HELP = {
    "readers": ("gauge", "Connected readers."),
    "games_watched": ("gauge", "Games with a subscription."),
    "messages_sent_total": ("counter", "Messages handed to readers, heartbeats aside."),
    "bytes_sent_total": ("counter", "Bytes of those messages, framing included."),
    "readers_dropped_total": ("counter", "Readers dropped because they were too slow."),
    "backfills_total": ("counter", "Pages of older messages fetched, by where they came from."),
}


class Metrics:
    """Counters of one replica. A key is a name, with its labels in braces if it has any."""

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

    def sent(self, messages: int, size: int) -> None:
        """Count messages handed to readers."""
        self.counts["messages_sent_total"] += messages
        self.counts["bytes_sent_total"] += size

    def page(self, gauges: Mapping[str, int]) -> bytes:
        """Render the counters and what is measured now (Prometheus text format 0.0.4)."""
        values = {**gauges, **self.counts}
        lines = []
        for name, (kind, text) in _HELP.items():
            lines += [f"# HELP playmolt_spectator_{name} {text}", f"# TYPE playmolt_spectator_{name} {kind}"]
            lines += [f"playmolt_spectator_{key} {value}" for key, value in values.items() if key.split("{")[0] == name]
        return "\n".join([*lines, ""]).encode()
