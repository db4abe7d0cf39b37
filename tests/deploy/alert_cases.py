"""For each alert, figures that must raise it and figures that must not, as `promtool test rules` reads them.

A figure is a series and its values per minute: `5x60` stays at 5 for an hour, `0+2x60` grows by 2. The label
`namespace` is added.
"""

from collections.abc import Mapping, Sequence
from typing import Final

Figures = Mapping[str, str]

PARTS: Final = (
    "agora-runner", "gateway", "legal-orchestrator", "nats", "ox-engine", "postgres", "relay", "spectator",
    "tournament-engine", "trial-engine",
)  # fmt: skip
_LONG: Final = 4 * 1440
_PENDING: Final = 'playmolt_effects_pending{game="tournament"}'
_UNDER_WAY: Final = 'playmolt_effects_under_way{game="tournament"}'
_ACTS: Final = 'playmolt_gateway_requests_total{route="act",status="%s"}'
_SECONDS: Final = 'playmolt_gateway_request_seconds_bucket{route="act",le="%s"}'
_COUNT: Final = 'playmolt_gateway_request_seconds_count{route="act"}'
_LAG: Final = 'playmolt_spectator_feed_lag_seconds_bucket{le="%s"}'
_LAGS: Final = "playmolt_spectator_feed_lag_seconds_count{}"
_BEHIND: Final = 'playmolt_relay_lag_events{copy="%s",shard="%s"}'
_DISK: Final = 'kubelet_volume_stats_available_bytes{persistentvolumeclaim="data"}'
_SIZE: Final = 'kubelet_volume_stats_capacity_bytes{persistentvolumeclaim="data"}'


def _job(name: str) -> str:
    return f'kube_job_failed{{condition="true",job_name="{name}-1"}}'


def _runs(name: str, other: str) -> tuple[Figures, Figures]:
    """Figures of a run that failed after the last success, and of one that failed before it (no alert)."""
    began, succeeded = f'kube_job_status_start_time{{job_name="{name}-1"}}', _succeeded(name)
    failed = {_job(name): "1x60", began: "1000x60"}
    return {**failed, succeeded: "500x60"}, {**failed, succeeded: "2000x60", _job(other): "1x60"}


def _succeeded(name: str) -> str:
    return f'kube_cronjob_status_last_successful_time{{cronjob="{name}"}}'


def _up(*away: str) -> Figures:
    return {f'up{{playmolt_component="{part}",pod="a"}}': "0x60" if part in away else "1x60" for part in PARTS}


def _scaling(*missing: str) -> Figures:
    """The metrics that KEDA reads on an idle platform, without the missing ones."""
    read = (
        "playmolt_gateway_work_seconds_total{}", "playmolt_gateway_open_waits{}", "playmolt_spectator_readers{}",
        "playmolt_spectator_messages_sent_total{}",
        *(f'playmolt_commands_under_way{{game="{game}"}}' for game in ("ox", "trial", "jury")),
        *(
            f'playmolt_effects_pending{{game="{game}"}}'
            for game in ("trial", "jury", "legal", "agora", "experiment", "tournament")
        ),
    )  # fmt: skip
    return {name: "0x60" for name in read if name.partition("{")[0] not in missing}


def _burnt(bad: int, minutes: int = _LONG) -> tuple[Figures, Figures, Figures]:
    """Figures in which, each minute, `bad` of a thousand actions are refused, slow, or late at watchers."""
    all_ = f"0+1000x{minutes}"
    good = f"0+{1000 - bad}x{minutes}"
    return (
        {_ACTS % "200": good, _ACTS % "503": f"0+{bad}x{minutes}"},
        {_SECONDS % "0.5": good, _SECONDS % "+Inf": all_, _COUNT: all_},
        {_LAG % "2": good, _LAG % "+Inf": all_, _LAGS: all_},
    )


def _budgets() -> dict[str, tuple[Figures, Figures]]:
    found: dict[str, tuple[Figures, Figures]] = {}
    named = (("Actions", 0, (20, 10, 2)), ("Latency", 1, (200, 100, 20)), ("Freshness", 2, (200, 100, 20)))
    for name, place, bad in named:
        for ending, each in zip(("Fast", "Medium", "Slow"), bad, strict=True):
            found[f"{name}Budget{ending}"] = (_burnt(each)[place], _burnt(0)[place])
    return found


def _histogram(series: str, limit: str, *, slow: bool) -> Figures:
    under = "0+1x60" if slow else "0+100x60"
    return {series % limit: under, series % "10": "0+100x60", series % "+Inf": "0+100x60"}


CASES: Final[Mapping[str, tuple[Figures, Figures]]] = {
    **_budgets(),
    "ActionsRefused": (
        {_ACTS % "503": "0+5x60", _ACTS % "200": "0+95x60"}, {_ACTS % "503": "0x60", _ACTS % "200": "0+100x60"},
    ),
    "GatewayBug": (
        {'playmolt_gateway_requests_total{route="state",status="500"}': "0x55 1x5"},
        {'playmolt_gateway_requests_total{route="state",status="500"}': "1x60"},
    ),
    "ActionsSlow": (_histogram(_SECONDS, "0.5", slow=True), _histogram(_SECONDS, "0.5", slow=False)),
    "EngineQueueGrows": (
        {'playmolt_commands_under_way{pod="a",game="ox"}': "5000x60"},
        {'playmolt_commands_under_way{pod="a",game="ox"}': "400x60"},
    ),
    "EffectsWait": (
        {'playmolt_effects_pending{game="jury"}': "100x60", 'playmolt_effects_under_way{game="jury"}': "10x60"},
        {'playmolt_effects_pending{game="jury"}': "30x60", 'playmolt_effects_under_way{game="jury"}': "10x60"},
    ),
    "TournamentsWait": (
        {_PENDING: "2x60", _UNDER_WAY: "0x60"},
        {_PENDING: "2x60", _UNDER_WAY: "1x60"},
    ),
    "ModelsFail": (
        {
            'playmolt_llm_requests_total{model="m",outcome="ok"}': "_x50 7x10",
            'playmolt_llm_requests_total{model="m",outcome="timeout"}': "_x50 3x10",
        },
        {
            'playmolt_llm_requests_total{model="m",outcome="ok"}': "_x50 9x10",
            'playmolt_llm_requests_total{model="m",outcome="timeout"}': "_x50 1x10",
        },
    ),
    "RelayBroken": (
        {
            'playmolt_relay_ready{pod="a",shard="0"}': "1x60", 'playmolt_relay_ready{pod="a",shard="1"}': "0x60",
            'playmolt_relay_ready{pod="b",shard="0"}': "0x60", 'playmolt_relay_ready{pod="b",shard="1"}': "0x60",
        },
        {
            'playmolt_relay_ready{pod="a",shard="0"}': "1x60", 'playmolt_relay_ready{pod="a",shard="1"}': "0x60",
            'playmolt_relay_ready{pod="b",shard="0"}': "0x60", 'playmolt_relay_ready{pod="b",shard="1"}': "1x60",
        },
    ),
    "FeedMended": (
        {'playmolt_feed_mends_total{stream="EVENTS"}': "0x55 1x5"},
        {'playmolt_feed_mends_total{stream="EVENTS"}': "1x60"},
    ),
    "LogChainBroken": (
        {'playmolt_log_chain_faults_total{game="ox"}': "0x55 1x5"},
        {'playmolt_log_chain_faults_total{game="ox"}': "1x60"},
    ),
    "RelayBehind": (
        {_BEHIND % ("events", 0): "20x60", _BEHIND % ("events", 1): "20000x60"},
        {_BEHIND % ("events", 0): "9000x60", _BEHIND % ("events", 1): "9000x60"},
    ),
    "ProjectionsBehind": (
        {_BEHIND % ("projections", 0): "20x60", _BEHIND % ("projections", 1): "20000x60"},
        {_BEHIND % ("events", 0): "20000x60", _BEHIND % ("projections", 1): "9000x60"},
    ),
    "NoticesBehind": (
        {"playmolt_relay_notices_lag_events{}": "20000x60"},
        {"playmolt_relay_notices_lag_events{}": "20000x3 9000x60"},
    ),
    "NoticesLate": (
        {"playmolt_gateway_notices_lag_seconds{}": "0+60x60"},
        {"playmolt_gateway_notices_lag_seconds{}": "240x60"},
    ),
    "FeedsLate": (_histogram(_LAG, "2", slow=True), _histogram(_LAG, "2", slow=False)),
    "ReadersDropped": (
        {"playmolt_spectator_readers_dropped_total{}": "0+120x60"},
        {"playmolt_spectator_readers_dropped_total{}": "0+6x60"},
    ),
    "FeedsFromEngines": (
        {'playmolt_spectator_backfills_total{source="engine"}': "0+6000x60"},
        {'playmolt_spectator_backfills_total{source="engine"}': "0+60x60"},
    ),
    "SpectatorFull": (
        {'playmolt_spectator_readers{pod="a"}': "19000x60"},
        {'playmolt_spectator_readers{pod="a"}': "9000x60", 'playmolt_spectator_readers{pod="b"}': "9500x60"},
    ),
    "ServiceAway": (
        {'kube_deployment_status_replicas_available{deployment="gateway"}': "0x60"},
        {'kube_deployment_status_replicas_available{deployment="gateway"}': "1x60"},
    ),
    "ServiceRestarts": (
        {'kube_pod_container_status_restarts_total{pod="a",container="relay"}': "0+1x60"},
        {'kube_pod_container_status_restarts_total{pod="a",container="relay"}': "9x60"},
    ),
    "NatsMember": (
        {'kube_statefulset_status_replicas_ready{statefulset="nats"}': "2x60"},
        {
            'kube_statefulset_status_replicas_ready{statefulset="nats"}': "3x60",
            'kube_statefulset_status_replicas_ready{statefulset="other"}': "1x60",
        },
    ),
    "MigrationFailed": ({_job("migrate-pre"): "1x60"}, {_job("migrate-pre"): "0x60", _job("archive"): "1x60"}),
    "LogVerifyFailed": (
        {_job("log-verify"): "1x60"}, {_job("log-verify"): "0x60", _job("log-anchor"): "1x60"},
    ),
    "LogAnchorFailed": _runs("log-anchor", "log-verify"),
    "ArchiveFailed": _runs("archive", "log-verify"),
    "RetentionFailed": _runs("retention", "archive"),
    "ScoresFailed": _runs("scores", "archive"),
    "SealKeysOld": (
        {'playmolt_seal_key_age_seconds{pod="a"}': "691000+60x60"},
        {
            'playmolt_seal_key_age_seconds{pod="a"}': "600000+60x60",
            **_runs("seal", "retention")[1],
        },
    ),
    "MetricsMissing": (_up("nats"), _up()),
    "ScalerBlind": (_scaling("playmolt_effects_pending"), _scaling()),
    "NatsCutOff": (
        {'playmolt_nats_moves_total{pod="a",reason="alone"}': "0x50 1x10"},
        {'playmolt_nats_moves_total{pod="a",reason="alone"}': "1x60"},
    ),
    "NatsStorage": (
        {
            'nats_varz_jetstream_stats_memory{pod="a"}': "450x60",
            'nats_varz_jetstream_config_max_memory{pod="a"}': "512x60",
        },
        {
            'nats_varz_jetstream_stats_memory{pod="a"}': "384x60",
            'nats_varz_jetstream_config_max_memory{pod="a"}': "512x60",
            'nats_varz_jetstream_stats_storage{pod="a"}': "0x60",
            'nats_varz_jetstream_config_max_storage{pod="a"}': "9000x60",
        },
    ),
    "NatsSlowConsumers": (
        {'nats_varz_slow_consumers{pod="a"}': "0x55 1x5"}, {'nats_varz_slow_consumers{pod="a"}': "4x60"},
    ),
    "PostgresAway": ({'cnpg_collector_up{pod="a"}': "0x60"}, {'cnpg_collector_up{pod="a"}': "1x60"}),
    "DatabaseReadOnly": (
        {'playmolt_database_read_only{pod="a"}': "1x60"}, {'playmolt_database_read_only{pod="a"}': "0x60"},
    ),
    "PostgresStandby": (
        {'cnpg_pg_replication_streaming_replicas{pod="a"}': "1x60"},
        {
            'cnpg_pg_replication_streaming_replicas{pod="a"}': "2x60",
            'cnpg_pg_replication_streaming_replicas{pod="b"}': "0x60",
        },
    ),
    "PostgresBackupOld": (
        {'barman_cloud_cloudnative_pg_io_last_available_backup_timestamp{pod="a"}': f"0x{_LONG}"},
        {'barman_cloud_cloudnative_pg_io_last_available_backup_timestamp{pod="a"}': f"0+60x{_LONG}"},
    ),
    "DiskNearlyFull": ({_DISK: "10x60", _SIZE: "100x60"}, {_DISK: "40x60", _SIZE: "100x60"}),
    "DiskFullSoon": (
        {_DISK: "1000000-200x600"}, {_DISK: "1000000-10x600"},
    ),
    "WalArchiveFailing": (
        {
            'cnpg_pg_stat_archiver_last_failed_time{pod="a"}': "200x60",
            'cnpg_pg_stat_archiver_last_archived_time{pod="a"}': "100x60",
        },
        {
            'cnpg_pg_stat_archiver_last_failed_time{pod="a"}': "100x60",
            'cnpg_pg_stat_archiver_last_archived_time{pod="a"}': "200x60",
        },
    ),
}  # fmt: skip

DESCRIBED: Final = {
    "RelayBehind": ({"copy": "events", "shard": "1"}, "Stream events lacks 20000 events, of shard 1."),
    "ProjectionsBehind": ({"shard": "1"}, "Leaderboard and profiles are 20000 events old, those of shard 1."),
}
"""Labels and description of some alerts with the figures that raise them."""


def minutes(figures: Figures) -> int:
    """The length of a case in minutes, which is that of its longest series."""
    return max(sum(int(part.rpartition("x")[2]) for part in values.split()) for values in figures.values())


def series(figures: Figures, namespace: str) -> Sequence[Mapping[str, str]]:
    labels = f'{{namespace="{namespace}",'
    return [{"series": name.replace("{", labels).replace(",}", "}"), "values": said} for name, said in figures.items()]
