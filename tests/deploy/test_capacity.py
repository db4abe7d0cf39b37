"""The tables of the page are computed, from the same figures as the thresholds at which pods are started."""

import re

import pytest
from playmolt_core.engine.settings import EngineSettings
from playmolt_core.ops.connections import CONNECTIONS

from deploy import capacity_kinds
from deploy.capacity import (
    COMMANDS_PER_ENGINE,
    CONNECTIONS_PER_POD,
    CPU_MICROSECONDS,
    DELIVERY_MICROSECONDS,
    EFFECTS_PER_ENGINE,
    FIXED_CORES,
    GAME_BYTES,
    IN_FLIGHT_PER_GATEWAY,
    MESSAGES_PER_SPECTATOR,
    MINIMUM_PODS,
    POD_CORES,
    READERS_PER_SPECTATOR,
    Prices,
    backlog_seconds,
    messages_per_reader,
    need,
    table,
)
from tests.deploy.manifests import ROOT, Json, named, of_kind, render, template_of

PAGE = (ROOT / "docs" / "operating.md").read_text()


def test_the_page_has_the_table() -> None:
    assert table(Prices()) in PAGE.split("### Capacity\n", 1)[1].split("\n#", 1)[0]


def test_the_page_has_the_tables_of_the_other_kinds() -> None:
    section = PAGE.split("### Capacity\n", 1)[1].split("\n#", 1)[0]
    assert capacity_kinds.table(Prices()) in section
    assert capacity_kinds.measured() in section


def test_a_kind_is_as_large_as_the_page_says_and_waits_for_as_many_models_as_it_asks() -> None:
    sizes = re.findall(r"^\| ([^|]+?) \| \d+ \| ([\d,]+) \| \d+ \|$", PAGE, re.MULTILINE)
    of = {name.partition(",")[0]: int(size.replace(",", "")) for name, size in sizes}
    assert {name: kind.size for name, kind in capacity_kinds.KINDS.items()} == {
        name: of[name] for name in capacity_kinds.KINDS
    }
    jury = capacity_kinds.KINDS["AI jury"]
    a_day = 86_400 * EFFECTS_PER_ENGINE * 5 // (jury.calls * capacity_kinds.MODEL_SECONDS)
    assert capacity_kinds.need(jury, a_day, 0, Prices()).engines == 5


def test_the_figures_are_those_that_the_page_says_were_measured() -> None:
    engine, database, gateway, nats, relay = re.findall(
        r"engine (\d+), Postgres (\d+), gateway (\d+), NATS (\d+), relay (\d+) µs", PAGE
    )[0]
    assert {
        "gateway": int(gateway),
        "ox-engine": int(engine),
        "relay": int(relay),
        "nats": int(nats),
        "postgres": int(database),
    } == CPU_MICROSECONDS
    assert f"| O/X, five bots | 73 | {GAME_BYTES:,} |" in PAGE


def test_pods_are_started_at_the_figures_of_the_table() -> None:
    objects = render("prod")
    thresholds = {
        one["metadata"]["name"]: [int(each["metadata"]["threshold"]) for each in one["spec"]["triggers"]]
        for one in of_kind(objects, "ScaledObject")
    }
    assert thresholds == {
        "gateway": [IN_FLIGHT_PER_GATEWAY, CONNECTIONS_PER_POD],
        "ox-engine": [COMMANDS_PER_ENGINE],
        "trial-engine": [COMMANDS_PER_ENGINE, EFFECTS_PER_ENGINE],
        "legal-orchestrator": [EFFECTS_PER_ENGINE],
        "agora-runner": [EFFECTS_PER_ENGINE],
        "tournament-engine": [EFFECTS_PER_ENGINE],
        "spectator": [MESSAGES_PER_SPECTATOR, CONNECTIONS_PER_POD],
    }
    minimum = {name: named(objects, "ScaledObject", name)["spec"]["minReplicaCount"] for name in MINIMUM_PODS}
    assert minimum == MINIMUM_PODS


def test_thresholds_are_the_shares_of_limits_that_the_page_gives() -> None:
    assert READERS_PER_SPECTATOR * 12 == CONNECTIONS_PER_POD * 4 == CONNECTIONS * 3
    assert pytest.approx(READERS_PER_SPECTATOR * messages_per_reader(), rel=0.03) == MESSAGES_PER_SPECTATOR
    assert EngineSettings().effects_at_once * 5 == EFFECTS_PER_ENGINE * 8
    assert backlog_seconds() == pytest.approx(0.128)
    (objective,) = re.findall(r"of them are answered in ([\d.]+) s", PAGE)
    assert backlog_seconds() < float(objective) / 2
    assert f"{messages_per_reader():.1f} messages a second to each, at {DELIVERY_MICROSECONDS} µs a delivery" in PAGE
    shown = re.findall(r"^\| (\d[\d,]*) \| (?:measured|set) \|", PAGE, re.MULTILINE)
    wanted = [
        IN_FLIGHT_PER_GATEWAY, COMMANDS_PER_ENGINE, EFFECTS_PER_ENGINE, MESSAGES_PER_SPECTATOR, CONNECTIONS_PER_POD,
    ]  # fmt: skip
    assert [int(each.replace(",", "")) for each in shown] == wanted


def cores_of(text: str) -> float:
    return float(text[:-1]) / 1000 if text.endswith("m") else float(text)


def requested(one: Json) -> float:
    """The cores that one pod requests."""
    template = template_of(one)
    assert template is not None
    return sum(cores_of(each["resources"]["requests"]["cpu"]) for each in template["spec"]["containers"])


def test_fixed_cores_are_those_that_the_other_pods_request() -> None:
    objects = render("prod")
    least = {
        one["spec"]["scaleTargetRef"]["name"]: one["spec"]["minReplicaCount"]
        for one in of_kind(objects, "ScaledObject")
    }
    database = named(objects, "Cluster", "postgres")["spec"]
    fixed = database["instances"] * cores_of(database["resources"]["requests"]["cpu"])
    for one in of_kind(objects, "Deployment", "StatefulSet"):
        name = one["metadata"]["name"]
        if name in MINIMUM_PODS:
            assert requested(one) == POD_CORES
        else:
            fixed += requested(one) * (one["spec"].get("replicas") or least[name])
    assert fixed == pytest.approx(FIXED_CORES)


def test_money_follows_the_prices_and_nothing_else_does() -> None:
    free, paid = (need(1_000, 50_000, prices) for prices in (Prices(0, 0), Prices(1, 0)))
    assert free.money == 0
    assert paid.money > 0
    assert free[:-1] == paid[:-1]
