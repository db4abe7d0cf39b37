"""Each service gets what it needs and no secret of another's."""

from typing import cast

import pytest
from playmolt_cli.local.embedded.nats import SERVICES, USERS
from playmolt_cli.local.services import CHAIN_MODULE, Counts, environment, forked, service_settings
from playmolt_cli.settings import CliSettings
from playmolt_core.settings import all_settings, from_environment
from playmolt_schemas.identifiers import ENGINES

PASSWORDS = {user: f"{user} secret" for user in USERS}
COMMON = CliSettings(
    database_url="postgresql://u:p@127.0.0.1/x", nats_url="nats://127.0.0.1:1", operator_key="op", data="elsewhere"
)
ROLES = {
    "gateway": "playmolt_gateway",
    "spectator": "",
    "trial-engine": "playmolt_engine",
    "ox-engine": "playmolt_engine",
    "tournament-engine": "playmolt_engine",
    "legal-orchestrator": "playmolt_engine",
    "agora-runner": "playmolt_engine",
    "relay": "playmolt_relay",
}


def test_every_service_has_its_role() -> None:
    assert {service: service_settings(service, COMMON, PASSWORDS).database_role for service in SERVICES} == ROLES


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_reads_back_its_own_part(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAYMOLT_OPERATOR_KEY", "of the parent")
    monkeypatch.setenv("DATABASE_URL", "of the parent")
    settings = service_settings(service, COMMON, PASSWORDS)
    given = environment(settings)
    assert from_environment(given, kind=CliSettings) == settings
    assert (settings.nats_user, settings.nats_password) == (service, PASSWORDS[service])
    others = [password for user, password in PASSWORDS.items() if user != service]
    assert not set(others) & set(given.values())
    assert "of the parent" not in given.values()


def test_the_spectator_cannot_reach_the_database() -> None:
    assert "DATABASE_URL" not in environment(service_settings("spectator", COMMON, PASSWORDS))


def test_only_the_gateway_knows_the_operator_key() -> None:
    knowing = [service for service in SERVICES if service_settings(service, COMMON, PASSWORDS).operator_key]
    assert knowing == ["gateway"]


def test_only_the_gateway_knows_the_secret_of_sign_ins() -> None:
    secret = {"PLAYMOLT_OIDC_CLIENT_SECRET": "of the provider"}
    common = cast("CliSettings", from_environment(secret, kind=all_settings()))
    for service in (*SERVICES, "house"):
        knows = "of the provider" in environment(service_settings(service, common, PASSWORDS)).values()
        assert knows == (service == "gateway")


def test_nats_from_outside_keeps_the_given_user() -> None:
    given = CliSettings(nats_url="nats://elsewhere", nats_user="all", nats_password="of it")
    assert service_settings("relay", given, {}).nats_user == "all"


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_a_platform_for_one_engine_starts_no_other(engine: str) -> None:
    alone = Counts(only=(engine,))
    assert set(alone.services()) == {"relay", engine, "gateway", "spectator"}
    assert (CHAIN_MODULE in forked(alone)) is (engine == "trial-engine")
    assert set(forked(alone)) < set(forked(Counts()))
