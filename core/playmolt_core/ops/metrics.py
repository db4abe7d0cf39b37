"""Every metric that a service exposes at /metrics: its name, meaning and text form (Prometheus text 0.0.4).

`python -m playmolt_core.ops.metrics` prints the table of docs/telemetry.md; a test compares it.
"""

import sys
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final, Literal

import msgspec

Kind = Literal["counter", "gauge", "histogram"]
SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 2.5, 5.0, 10.0, 30.0)
SIZES: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0)
LONG_SECONDS: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0)


class Metric(msgspec.Struct, frozen=True):
    """A metric: its services, kind, labels and meaning."""

    service: str
    kind: Kind
    labels: str
    text: str


METRICS: Final[dict[str, Metric]] = {
    "playmolt_gateway_requests_total": Metric("gateway", "counter", "route, status", "Requests answered."),
    "playmolt_gateway_request_seconds": Metric("gateway", "histogram", "route", "Time from request to answer."),
    "playmolt_gateway_work_seconds_total": Metric(
        "gateway", "counter", "", "Time of answered requests, without the time in which they only waited."
    ),
    "playmolt_gateway_in_flight": Metric("gateway", "gauge", "", "Requests being served."),
    "playmolt_gateway_open_waits": Metric("gateway", "gauge", "", "Open long polls and streams."),
    "playmolt_gateway_cached_keys": Metric("gateway", "gauge", "", "Valid API keys in the cache."),
    "playmolt_gateway_callbacks_total": Metric(
        "gateway",
        "counter",
        "outcome",
        "Callbacks to agents' servers: `answered`, `refused` (by the game), or the fault recorded in the ledger.",
    ),
    "playmolt_gateway_callback_seconds": Metric(
        "gateway", "histogram", "", "Time until an agent's server answers a callback."
    ),
    "playmolt_gateway_webhook_calls_total": Metric(
        "gateway", "counter", "outcome", "Calls of owners' webhooks: `delivered`, `failed`, or `gone` (410)."
    ),
    "playmolt_gateway_webhook_seconds": Metric("gateway", "histogram", "", "Time until a webhook's server answers."),
    "playmolt_gateway_notices_waiting": Metric(
        "gateway", "gauge", "", "Notices of all webhooks that wait for delivery."
    ),
    "playmolt_gateway_notices_lag_seconds": Metric(
        "gateway",
        "gauge",
        "",
        "For how long the oldest notice is due, of webhooks whose last call succeeded.",
    ),
    "playmolt_relay_notices_lag_events": Metric(
        "relay", "gauge", "", "Events of the log that have not become notices yet; 0 without a webhook."
    ),
    "playmolt_database_read_only": Metric(
        "gateway, engine, relay",
        "gauge",
        "",
        "1 if the database accepted no writes when last checked, for example because it is a standby.",
    ),
    "playmolt_seal_key_age_seconds": Metric(
        "trial-engine, legal-orchestrator", "gauge", "", "Age of the newest key in PLAYMOLT_SEAL_KEYS."
    ),
    "playmolt_nats_moves_total": Metric(
        "gateway, spectator, engine, relay",
        "counter",
        "reason",
        "Switches to another NATS server because the current one was cut off: `no_engine`, `no_leader`, `alone`.",
    ),
    "playmolt_commits_total": Metric("engine", "counter", "game", "Transactions committed."),
    "playmolt_commands_total": Metric("engine", "counter", "game", "Commands committed."),
    "playmolt_commit_commands": Metric("engine", "histogram", "game", "Commands in one transaction."),
    "playmolt_commit_seconds": Metric("engine", "histogram", "game", "Duration of a transaction."),
    "playmolt_commands_under_way": Metric("engine", "gauge", "game", "Commands received and not yet answered."),
    "playmolt_hot_streams": Metric("engine", "gauge", "game", "Games in memory."),
    "playmolt_effects_under_way": Metric(
        "engine",
        "gauge",
        "game",
        "Model turns, transactions and deadlines that this engine has taken, including those waiting for a free slot.",
    ),
    "playmolt_llm_requests_total": Metric(
        "engine", "counter", "model, outcome", "Requests to models, counting each attempt."
    ),
    "playmolt_llm_seconds": Metric("engine", "histogram", "model", "Time from a request to the model's answer."),
    "playmolt_llm_tokens_total": Metric(
        "engine", "counter", "model, kind", "Tokens as reported by the models' servers."
    ),
    "playmolt_llm_prompts_cut_total": Metric(
        "engine",
        "counter",
        "model",
        "Prompts that the model's server truncated: it reported fewer tokens than the prompt has.",
    ),
    "playmolt_llm_cost_total": Metric("engine", "counter", "model", "Cost in the currency of the catalogue's prices."),
    "playmolt_relay_ready": Metric(
        "relay",
        "gauge",
        "shard",
        "1 while this relay publishes. Relay metrics have the label `shard` only if the log has several shards.",
    ),
    "playmolt_feed_mends_total": Metric(
        "relay", "counter", "stream", "Streams rebuilt because another client had published to them."
    ),
    "playmolt_log_chain_faults_total": Metric(
        "relay", "counter", "game", "Records that the relay published whose hash does not match their content."
    ),
    "playmolt_relay_log_position": Metric("relay", "gauge", "shard", "Position of the log, read every 5 s."),
    "playmolt_relay_events_sequence": Metric("relay", "gauge", "shard", "Last sequence of the stream EVENTS."),
    "playmolt_relay_spectate_sequence": Metric("relay", "gauge", "shard", "Last sequence of the stream SPECTATE."),
    "playmolt_relay_projections_position": Metric(
        "relay", "gauge", "shard", "Position up to which the projections are computed."
    ),
    "playmolt_relay_lag_events": Metric(
        "relay", "gauge", "copy, shard", "Events in the log that this copy does not have yet."
    ),
    "playmolt_relay_lag_seconds": Metric(
        "relay",
        "histogram",
        "shard",
        "Time from an event's `at` until both streams have it, for the oldest event of each batch of the relay.",
    ),
    "playmolt_relay_batch_events": Metric("relay", "histogram", "shard", "Events in a batch of the relay."),
    "playmolt_games": Metric("relay", "gauge", "game, phase", "Games and sessions that are not over."),
    "playmolt_effects_pending": Metric(
        "relay",
        "gauge",
        "game",
        "Games and sessions with an effect that is due, whether or not an engine has taken it.",
    ),
    "playmolt_budget_spent_ratio": Metric(
        "relay",
        "gauge",
        "scope",
        "Share of today's budget (UTC) that is spent or reserved: `tokens`, `money`, `key_tokens`, `key_money`,"
        " `key_sessions`; for budgets per key, of the key that spent most.",
    ),
    "playmolt_spectator_readers": Metric("spectator", "gauge", "transport", "Connected readers."),
    "playmolt_spectator_games_watched": Metric("spectator", "gauge", "", "Games with a subscription."),
    "playmolt_spectator_messages_sent_total": Metric(
        "spectator", "counter", "", "Messages sent to readers, without heartbeats."
    ),
    "playmolt_spectator_bytes_sent_total": Metric(
        "spectator", "counter", "", "Bytes of these messages, including framing."
    ),
    "playmolt_spectator_readers_dropped_total": Metric(
        "spectator", "counter", "", "Readers dropped because they were too slow."
    ),
    "playmolt_spectator_backfills_total": Metric(
        "spectator", "counter", "source", "Pages of older messages fetched, by source."
    ),
    "playmolt_spectator_feed_lag_seconds": Metric(
        "spectator",
        "histogram",
        "",
        "Time from an event's `at` until it is written to the readers, for the newest event of a burst.",
    ),
}


class Histogram:
    """Counts observations up to each bound."""

    __slots__ = ("_bounds", "_counts", "_sum")

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def lines(self, name: str, labels: str) -> list[str]:
        total, comma = 0, "," if labels else ""
        lines = []
        for bound, count in zip((*(f"{bound:g}" for bound in self._bounds), "+Inf"), self._counts, strict=True):
            total += count
            lines.append(f'{name}_bucket{{{labels}{comma}le="{bound}"}} {total}')
        inside = f"{{{labels}}}" if labels else ""
        return [*lines, f"{name}_sum{inside} {self._sum:.6f}", f"{name}_count{inside} {total}"]


class Sample(msgspec.Struct, frozen=True):
    """The current value of a metric. `labels` is the text between the braces: `route="act",status="200"`."""

    name: str
    value: float | str | Histogram
    labels: str = ""


def label(name: str, value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{name}="{escaped}"'


def render(samples: Iterable[Sample]) -> str:
    """Write samples, grouped by name; raises KeyError for a name that is not in METRICS."""
    named: dict[str, list[str]] = {}
    for sample in samples:
        lines = named.setdefault(sample.name, [])
        if isinstance(sample.value, Histogram):
            lines += sample.value.lines(sample.name, sample.labels)
        else:
            inside = f"{{{sample.labels}}}" if sample.labels else ""
            lines.append(f"{sample.name}{inside} {sample.value}")
    page = []
    for name, lines in named.items():
        metric = METRICS[name]
        page += [f"# HELP {name} {metric.text}", f"# TYPE {name} {metric.kind}", *lines]
    return "\n".join([*page, ""])


def table() -> str:
    rows = [
        f"| `{name}` | {metric.service} | {metric.kind} | {metric.labels or '–'} | {metric.text} |"
        for name, metric in METRICS.items()
    ]
    return "\n".join(["| name | service | kind | labels | meaning |", "|---|---|---|---|---|", *rows, ""])


if __name__ == "__main__":
    sys.stdout.write(table())
