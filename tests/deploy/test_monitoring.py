"""Alerts, dashboards and scaling ask for figures that exist; each alert has a page that says what to do."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
import yaml
from playmolt_cli.local import probe
from playmolt_core.llm.port import AttemptOutcome
from playmolt_core.ops.metrics import METRICS

from tests.deploy.cluster import Cluster
from tests.deploy.manifests import COMPONENT, ROOT, Json, named, of_kind, render, services, templates

OF_OTHERS = {
    "kube_deployment_status_replicas_available",
    "kube_pod_container_status_restarts_total",
    "kube_statefulset_status_replicas_ready",
    "kube_job_failed",
    "kube_job_status_start_time",
    "kube_cronjob_status_last_successful_time",
    "cnpg_collector_up",
    "cnpg_pg_replication_streaming_replicas",
    "barman_cloud_cloudnative_pg_io_last_available_backup_timestamp",
    "kubelet_volume_stats_available_bytes",
    "kubelet_volume_stats_capacity_bytes",
    "cnpg_pg_stat_archiver_last_failed_time",
    "cnpg_pg_stat_archiver_last_archived_time",
    "nats_varz_jetstream_stats_memory",
    "nats_varz_jetstream_config_max_memory",
    "nats_varz_jetstream_stats_storage",
    "nats_varz_jetstream_config_max_storage",
    "nats_varz_slow_consumers",
}
"""Of kube-state-metrics, the kubelet, the database operator and its backup plugin, and the exporter of NATS."""
EXPORTERS = {
    "kube-state-metrics", "kubelet", "CloudNativePG", "Barman Cloud plugin", "prometheus-nats-exporter", "Prometheus",
}  # fmt: skip
KEYWORDS = {"sum", "max", "min", "by", "on", "and", "or", "rate", "increase", "absent", "time", "offset", "le"}
KEYWORDS |= {
    "histogram_quantile",
    "label_values",
    "namespace",
    "predict_linear",
    "unless",
    "vector",
    "group_left",
    "label_replace",
}
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("",), "gauge": ("",)}
PAGE = (ROOT / "docs" / "operating.md").read_text()
SETTINGS = yaml.safe_load((ROOT / "deploy" / "k8s" / "monitoring" / "settings.yaml").read_text())
RUNBOOK = SETTINGS["data"]["runbook"]
DASHBOARDS = sorted((ROOT / "deploy" / "k8s" / "monitoring" / "dashboards").glob("*.json"))


OBJECTIVES = {"actions-availability": ("Actions", 0.999), "actions-latency": ("Latency", 0.99)}
OBJECTIVES |= {"feeds-freshness": ("Freshness", 0.99)}
BURNS = {"Fast": ("1h", "5m", 14.4, "critical"), "Medium": ("6h", "30m", 6.0, "critical")}
BURNS |= {"Slow": ("3d", "6h", 1.0, "warning")}
RATE = "playmolt:slo_errors:ratio_rate"
RECORDED = {f"{RATE}{window}" for window in ("5m", "30m", "1h", "6h", "3d")}


def rules() -> list[Json]:
    objects = of_kind(render("prod"), "PrometheusRule")
    return [rule for one in objects for group in one["spec"]["groups"] for rule in group["rules"]]


def alerts() -> list[Json]:
    return [rule for rule in rules() if "alert" in rule]


def runbook_of(alert: str) -> str:
    """The heading of what to do: one for the three alerts of an objective."""
    return re.sub(r"Budget(Fast|Medium|Slow)$", "Budget", alert)


def boards() -> Iterator[tuple[str, Json]]:
    for path in DASHBOARDS:
        yield path.name, json.loads(path.read_text())


def expressions() -> Iterator[tuple[str, str]]:
    """Where → PromQL of everything that is asked."""
    for rule in rules():
        yield rule.get("alert") or rule["record"], rule["expr"]
    for name, board in boards():
        for panel in board["panels"]:
            yield from ((f"{name}: {panel['title']}", target["expr"]) for target in panel["targets"])
        yield from (
            (f"{name}: variable", one["query"]) for one in board["templating"]["list"] if one["type"] == "query"
        )
    for one in of_kind(render("prod"), "ScaledObject"):
        yield from ((one["metadata"]["name"], trigger["metadata"]["query"]) for trigger in one["spec"]["triggers"])


def names(expression: str) -> set[str]:
    """The names of the metrics in an expression."""
    expression = re.sub(r"playmolt:slo_errors:\w+", " ", expression)
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]|\b(?:by|on|without|ignoring)\s*\([^)]*\)|\"[^\"]*\"", " ", expression)
    return set(re.findall(r"[a-z_][a-z0-9_]{2,}", bare)) - KEYWORDS


def labels(expression: str) -> Iterator[tuple[str, set[str]]]:
    """Metric → labels that are matched on it."""
    for metric, matchers in re.findall(r"([a-z_][a-z0-9_]+)\{([^}]*)\}", expression):
        yield metric, set(re.findall(r"([a-z_]+)\s*(?:=~|!~|!=|=)", matchers))


def own() -> dict[str, str]:
    """Series → metric of everything that our services show."""
    return {name + suffix: name for name, metric in METRICS.items() for suffix in SUFFIXES[metric.kind]}


def test_every_figure_that_is_asked_for_exists() -> None:
    asked = {(where, name) for where, expression in expressions() for name in names(expression)}
    assert {(where, name) for where, name in asked if name not in own().keys() | OF_OTHERS} == set()
    assert len(asked) > 60
    assert {name for _, name in asked} >= OF_OTHERS


def test_the_page_names_what_other_exporters_show_and_which_alerts_are_silent_without_it() -> None:
    page = (ROOT / "docs" / "telemetry.md").read_text()
    block = page.split("<!-- others -->\n", 1)[1].split("<!-- /others -->", 1)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()[2:]]
    assert {name.strip("`") for name, *_ in rows} == OF_OTHERS | {"up"}
    for name, exporter, version, silent, without in rows:
        asked = re.compile(rf"(?<![\w]){name.strip('`')}(?=[{{\s)])")
        reading = sorted(rule["alert"] for rule in alerts() if asked.search(rule["expr"]))
        assert re.findall(r"`(\w+)`", silent) == reading, name
        assert reading, name
        assert exporter in EXPORTERS, name
        assert re.fullmatch(r"(Kubernetes )?\d+\.\d+(\.\d+)?", version), name
        assert without.endswith("."), name
    (nats,) = {version for _, exporter, version, *_ in rows if exporter == "prometheus-nats-exporter"}
    images = [each["image"] for _, pod in templates(render("prod")) for each in pod["spec"]["containers"]]
    assert any(image.startswith(f"natsio/prometheus-nats-exporter:{nats}") for image in images)
    assert all(exporter in PAGE for exporter in EXPORTERS - {"kubelet", "prometheus-nats-exporter"})


def test_labels_that_are_matched_exist() -> None:
    for where, expression in expressions():
        for metric, matched in labels(expression):
            if metric in own():
                allowed = {"namespace", "pod", "le", *METRICS[own()[metric]].labels.replace(" ", "").split(",")}
                assert matched <= allowed, (where, metric)


def test_a_counter_is_only_asked_for_its_growth() -> None:
    for where, expression in expressions():
        for name in names(expression) & own().keys():
            if METRICS[own()[name]].kind != "gauge":
                assert re.search(rf"(rate|increase|absent)\({name}\{{", expression), (where, name)


SHOWN_BY_ANOTHER = {
    "playmolt_gateway_cached_keys",
    "playmolt_commit_commands",  # commands by commits
    "playmolt_relay_log_position",  # lag_events
    "playmolt_relay_projections_position",
    "playmolt_relay_spectate_sequence",
}


def test_every_figure_of_a_service_is_on_a_dashboard() -> None:
    targets = [one for _, board in boards() for panel in board["panels"] for one in panel["targets"]]
    asked = {name for one in targets for name in names(one["expr"])}
    assert set(METRICS) - {own().get(name, name) for name in asked} <= SHOWN_BY_ANOTHER


_SOMETIMES = ("playmolt_effects_pending", "playmolt_games", "playmolt_budget_spent_ratio")
"""Shown while there are some."""


def test_figures_are_shown_by_the_running_services(cluster: Cluster) -> None:
    shown = {}
    for name in cluster.ports:
        status, body = probe.get(f"{cluster.url(name)}/metrics", 60)
        assert status == 200
        shown[name] = set(re.findall(r"^(playmolt_\w+)", body.decode(), re.MULTILINE))
    services_of = {"engine": ("ox-engine", "trial-engine", "legal-orchestrator", "agora-runner", "tournament-engine")}
    for series, metric in own().items():
        if metric.startswith("playmolt_llm_"):  # shown once a model was asked
            continue
        for name in (each for one in METRICS[metric].service.split(", ") for each in services_of.get(one, (one,))):
            if metric not in _SOMETIMES:
                assert series in shown[name], (name, series)


def test_figures_have_the_labels_that_are_asked_for(cluster: Cluster) -> None:
    shown: dict[str, set[str]] = {}
    for name in cluster.ports:
        lines = probe.get(f"{cluster.url(name)}/metrics", 60)[1].decode().splitlines()
        for series, labelled in (re.findall(r"^(\w+)(?:\{(.*)\})? ", line)[0] for line in lines if line[:1] != "#"):
            shown.setdefault(series, set()).update(re.findall(r'(\w+)="', labelled))
    of_prometheus = {"namespace", "pod"}
    unseen = {*_SOMETIMES, *(name for name in METRICS if name.startswith("playmolt_llm_"))}
    missing = {
        (where, metric, label)
        for where, expression in expressions()
        for metric, matched in labels(expression)
        if metric in own() and own()[metric] not in unseen
        for label in matched - of_prometheus - shown[metric]
    }
    assert missing == set()


def test_every_alert_has_a_section_of_the_runbook_that_says_what_to_do() -> None:
    sections = {
        title.lower(): text
        for title, text in re.findall(r"^### (\w+)\n\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    }
    assert RUNBOOK.startswith("https://")
    for rule in alerts():
        address, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        assert address == RUNBOOK
        assert anchor == runbook_of(rule["alert"]).lower()
        assert len(sections[anchor].split()) > 25, rule["alert"]


def test_the_runbook_has_no_section_without_an_alert() -> None:
    runbook = PAGE.split("## Runbook", 1)[1].split("\n## ", 1)[0]
    assert set(re.findall(r"^### (\w+)$", runbook, re.MULTILINE)) == {runbook_of(rule["alert"]) for rule in alerts()}


def test_every_objective_is_recorded_and_told_when_its_budget_goes_too_fast() -> None:
    recorded = {(rule["record"], rule["labels"]["slo"]) for rule in rules() if "record" in rule}
    assert recorded == {(name, slo) for name in RECORDED for slo in OBJECTIVES}
    for rule in rules():
        if "record" in rule:
            assert set(re.findall(r"\[(\w+)\]", rule["expr"])) == {rule["record"].removeprefix(RATE)}
    told = {rule["alert"]: rule for rule in alerts()}
    for slo, (name, objective) in OBJECTIVES.items():
        for ending, (long, short, factor, severity) in BURNS.items():
            rule = told[f"{name}Budget{ending}"]
            limit = f'{{slo="{slo}"}} > {factor:g} * (1 - {objective})'
            both = [f"playmolt:slo_errors:ratio_rate{window}{limit}" for window in (long, short)]
            assert rule["expr"] == " and ".join(both)
            assert rule["labels"]["severity"] == severity


def test_what_is_monitored_can_be_selected() -> None:
    kinds = ("PrometheusRule", "PodMonitor")
    labels = [one["metadata"]["labels"].get("release") for one in of_kind(render("prod"), *kinds)]
    assert set(labels) == {"kube-prometheus-stack"}


def test_alerts_wait_for_what_passes_by_itself() -> None:
    at_once = {rule["alert"] for rule in alerts() if rule["for"] == "0m"}
    assert at_once == {
        "GatewayBug",
        "FeedMended",
        "LogChainBroken",
        "ServiceRestarts",
        "MigrationFailed",
        "LogVerifyFailed",
        "LogAnchorFailed",
        "ArchiveFailed",
        "RetentionFailed",
        "ScoresFailed",
        "SealKeysOld",
        *(f"{name}Budget{ending}" for name, _ in OBJECTIVES.values() for ending in BURNS),
    }
    assert len({rule["alert"] for rule in alerts()}) == len(alerts())


def test_annotations_name_labels_that_the_expression_leaves() -> None:
    for rule in alerts():
        used = set(re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"])))
        kept = re.findall(r"\bby \(([^)]*)\)", rule["expr"])
        if used and kept:
            assert used <= {name.strip() for group in kept for name in group.split(",")}, rule["alert"]


def test_an_alert_on_what_each_shard_has_names_the_shard() -> None:
    of_shards = {name for name in own() if "shard" in METRICS[own()[name]].labels.split(", ")}
    asked = [rule for rule in alerts() if names(rule["expr"]) & of_shards]
    assert {rule["alert"] for rule in asked} == {"RelayBroken", "RelayBehind", "ProjectionsBehind"}
    for rule in asked:
        assert re.search(r"\bby \((?:\w+, )*shard[,)]", rule["expr"]), rule["alert"]
        assert "$labels.shard" in rule["annotations"]["description"], rule["alert"]


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.name)
def test_a_dashboard_is_whole(path: Path) -> None:
    board = json.loads(path.read_text(encoding="utf-8"))
    variables = {one["name"] for one in board["templating"]["list"]}
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(panel["targets"] and panel["title"] for panel in panels)
    assert set(re.findall(r"\$\{?(\w+)", path.read_text(encoding="utf-8"))) - {"__rate_interval"} == variables
    covered = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    assert len(set(covered)) == len(covered)


def test_dashboards_are_told_apart_and_delivered() -> None:
    uids = [board["uid"] for _, board in boards()]
    assert len(set(uids)) == len(uids) == 4
    delivered = named(render("prod"), "ConfigMap", "dashboards")
    assert set(delivered["data"]) == {path.name for path in DASHBOARDS}
    assert delivered["metadata"]["labels"]["grafana_dashboard"] == "1"


def test_every_service_is_scraped_on_a_port_that_it_has() -> None:
    objects = render("prod")
    monitors = of_kind(objects, "PodMonitor")
    for one in services(objects):
        template = one["spec"]["template"]
        selectors = [monitor["spec"]["selector"]["matchLabels"] for monitor in monitors]
        (mine,) = [
            monitor["spec"]["podMetricsEndpoints"]
            for monitor, selector in zip(monitors, selectors, strict=True)
            if selector.items() <= template["metadata"]["labels"].items()
        ]
        ports = {port["name"] for port in template["spec"]["containers"][0]["ports"]}
        assert ports & {endpoint["port"] for endpoint in mine}, one["metadata"]["name"]
    components = {template["metadata"]["labels"][COMPONENT] for _, template in templates(objects)}
    assert {monitor["metadata"]["name"] for monitor in monitors} - {"services", "postgres"} <= components


def test_the_names_in_an_expression_are_found() -> None:
    assert names('max by (copy) (a_metric{namespace="x",copy=~"b|c"}) and on() (b_metric offset 3m) > 1') == {
        "a_metric",
        "b_metric",
    }
    assert dict(labels('sum(rate(a_metric{namespace="x",status!="200"}[5m]))')) == {"a_metric": {"namespace", "status"}}


def scaled_by() -> Iterator[tuple[str, Json]]:
    """What is scaled → each of its triggers."""
    for one in of_kind(render("prod"), "ScaledObject"):
        yield from ((one["metadata"]["name"], trigger) for trigger in one["spec"]["triggers"])


def test_a_missing_figure_scales_nothing_and_is_alerted() -> None:
    (blind,) = (rule["expr"] for rule in alerts() if rule["alert"] == "ScalerBlind")
    stays = {one["spec"]["fallback"]["behavior"] for one in of_kind(render("prod"), "ScaledObject")}
    assert stays == {"currentReplicas"}
    for name, trigger in scaled_by():
        query = trigger["metadata"]["query"]
        assert "vector(" not in query, name
        assert trigger["metadata"]["ignoreNullValues"] == "false", name
        selectors = re.findall(r"\w+\{[^}]*\}", query)
        assert selectors, name
        assert [each for each in selectors if f"absent({each})" not in blind] == [], name


def test_no_trigger_reads_the_time_of_requests_that_wait() -> None:
    read = {name for _, trigger in scaled_by() for name in names(trigger["metadata"]["query"])}
    assert read == {
        "playmolt_gateway_work_seconds_total", "playmolt_gateway_open_waits", "playmolt_commands_under_way",
        "playmolt_effects_pending", "playmolt_spectator_messages_sent_total", "playmolt_spectator_readers",
    }  # fmt: skip


def test_outcomes_that_the_runbook_names_exist() -> None:
    section = PAGE.split("### ModelsFail\n", 1)[1].split("\n### ", 1)[0]
    assert set(re.findall(r"`([a-z_]+)`", section)) - {"concurrent", "requests_per_minute"} <= set(
        get_args(AttemptOutcome)
    )
