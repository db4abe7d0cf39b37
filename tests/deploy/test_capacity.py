"""The table of what a load needs is computed, and what scales the pods is what it is computed with."""

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
    GAME_BYTES,
    IN_FLIGHT_PER_GATEWAY,
    LEAST,
    MESSAGES_PER_SPECTATOR,
    POD_CORES,
    READERS_PER_SPECTATOR,
    STANDING_CORES,
    Prices,
    messages_a_reader,
    need,
    seconds_in_hand,
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
    assert {name: named(objects, "ScaledObject", name)["spec"]["minReplicaCount"] for name in LEAST} == LEAST


def test_what_was_set_stands_as_it_is_said_to_in_what_a_process_bears() -> None:
    assert READERS_PER_SPECTATOR * 12 == CONNECTIONS_PER_POD * 4 == CONNECTIONS * 3
    assert pytest.approx(READERS_PER_SPECTATOR * messages_a_reader(), rel=0.03) == MESSAGES_PER_SPECTATOR
    assert EngineSettings().effects_at_once * 5 == EFFECTS_PER_ENGINE * 8
    assert seconds_in_hand() == pytest.approx(0.128)
    (objective,) = re.findall(r"of them are answered in ([\d.]+) s", PAGE)
    assert seconds_in_hand() < float(objective) / 2
    assert f"{messages_a_reader():.1f} messages a second to each, at {DELIVERY_MICROSECONDS} µs a delivery" in PAGE
    shown = re.findall(r"^\| (\d[\d,]*) \| (?:measured|set) \|", PAGE, re.MULTILINE)
    wanted = [
        IN_FLIGHT_PER_GATEWAY, COMMANDS_PER_ENGINE, EFFECTS_PER_ENGINE, MESSAGES_PER_SPECTATOR, CONNECTIONS_PER_POD,
    ]  # fmt: skip
    assert [int(each.replace(",", "")) for each in shown] == wanted


def cores_of(text: str) -> float:
    return float(text[:-1]) / 1000 if text.endswith("m") else float(text)


def asked(one: Json) -> float:
    """The cores that one pod asks for."""
    template = template_of(one)
    assert template is not None
    return sum(cores_of(each["resources"]["requests"]["cpu"]) for each in template["spec"]["containers"])


def test_what_is_paid_is_what_the_pods_ask_for() -> None:
    objects = render("prod")
    least = {
        one["spec"]["scaleTargetRef"]["name"]: one["spec"]["minReplicaCount"]
        for one in of_kind(objects, "ScaledObject")
    }
    database = named(objects, "Cluster", "postgres")["spec"]
    standing = database["instances"] * cores_of(database["resources"]["requests"]["cpu"])
    for one in of_kind(objects, "Deployment", "StatefulSet"):
        name = one["metadata"]["name"]
        if name in LEAST:
            assert asked(one) == POD_CORES
        else:
            standing += asked(one) * (one["spec"].get("replicas") or least[name])
    assert standing == pytest.approx(STANDING_CORES)


def test_money_follows_the_prices_and_nothing_else_does() -> None:
    free, paid = (need(1_000, 50_000, prices) for prices in (Prices(0, 0), Prices(1, 0)))
    assert free.money == 0
    assert paid.money > 0
    assert free[:-1] == paid[:-1]
