"""Settings: read from the environment, checked whole, printed as a page."""

from pathlib import Path

import pytest
from playmolt_core.settings import (
    OF_BOTS,
    InvalidSettings,
    Settings,
    all_settings,
    declared,
    from_environment,
    page,
    parse_rate,
    to_environment,
    variables,
)
from playmolt_gateway.settings import GatewaySettings

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text("utf-8") == page(), "run `make docs`"


def test_the_page_has_a_row_for_every_setting_with_its_default() -> None:
    rows = [line for line in page().splitlines() if line.startswith("| `")]
    assert len(rows) == len(variables()) + len(OF_BOTS)
    assert any(row.startswith("| `PLAYMOLT_PORT` | int | `8080` |") for row in rows)
    assert any(row.startswith("| `DATABASE_URL` | str | empty |") for row in rows)


def test_an_empty_environment_and_empty_values_give_the_defaults() -> None:
    assert from_environment({}) == Settings()
    assert from_environment({"PLAYMOLT_PORT": "", "PLAYMOLT_RATE_LIMIT": ""}) == Settings()


def test_values_are_read_by_their_type() -> None:
    settings = from_environment(
        {
            "PLAYMOLT_PORT": "9000",
            "PLAYMOLT_REGISTRATION_OPEN": "false",
            "PLAYMOLT_DEADLINE_SECONDS": "2.5",
            "PLAYMOLT_RATE_LIMIT": "60/10",
            "NATS_URL": "nats://a,nats://b",
            "HOME": "elsewhere",
        },
        kind=GatewaySettings,
    )
    assert (settings.port, settings.registration_open, settings.deadline_seconds) == (9000, False, 2.5)
    assert (settings.rate_limit, settings.nats_url) == ("60/10", "nats://a,nats://b")


def test_blanks_around_a_value_are_left_out_except_of_a_shared_secret() -> None:
    """Seen: a line break behind a Secret's value made a key that no request could send."""
    given = {
        "PLAYMOLT_PORT": " 9000 ", "PLAYMOLT_LOG_LEVEL": "info\n", "PLAYMOLT_REGISTRATION_OPEN": "\tfalse",
        "PLAYMOLT_OPERATOR_KEY": "op_1\n", "PLAYMOLT_RATE_LIMIT": "60/10 ", "PLAYMOLT_PUBLIC_URL": " https://a.example",
        "PLAYMOLT_HOST": " ", "PLAYMOLT_NATS_PASSWORD": " secret ", "PLAYMOLT_JURY_SECRET": "secret\n",
    }  # fmt: skip
    settings = from_environment(given, kind=all_settings())
    read = {name: getattr(settings, field) for field, (name, _, _) in variables().items() if name in given}
    assert read == {
        "PLAYMOLT_PORT": 9000, "PLAYMOLT_LOG_LEVEL": "info", "PLAYMOLT_REGISTRATION_OPEN": False,
        "PLAYMOLT_OPERATOR_KEY": "op_1", "PLAYMOLT_RATE_LIMIT": "60/10", "PLAYMOLT_PUBLIC_URL": "https://a.example",
        "PLAYMOLT_HOST": "127.0.0.1", "PLAYMOLT_NATS_PASSWORD": " secret ", "PLAYMOLT_JURY_SECRET": "secret\n",
    }  # fmt: skip


def test_every_fault_is_reported_at_once() -> None:
    with pytest.raises(InvalidSettings) as caught:
        from_environment(
            {
                "PLAYMOLT_PORT": "70000",
                "PLAYMOLT_HOT_GAMES": "0",
                "PLAYMOLT_QUEUE_COMMANDS": "many",
                "PLAYMOLT_ACTION_RATE_LIMIT": "ten",
                "PLAYMOLT_PROT": "8080",
            },
            kind=all_settings(),
        )
    lines = str(caught.value).splitlines()
    named = ["PLAYMOLT_PORT", "PLAYMOLT_HOT_GAMES", "PLAYMOLT_QUEUE_COMMANDS", "PLAYMOLT_PROT"]
    assert [line.partition("=")[0].partition(":")[0] for line in lines] == [*named, "PLAYMOLT_ACTION_RATE_LIMIT"]


def test_a_rate_is_a_number_of_calls_in_seconds() -> None:
    assert parse_rate("60/10") == (60, 10.0)
    assert parse_rate("1/0.5") == (1, 0.5)
    assert parse_rate("") is None


@pytest.mark.parametrize("text", ["60", "60/", "/10", "0/10", "-1/10", "60/0", "60/-1", "60/86401", "60/inf", "60/nan"])
def test_anything_else_is_not_a_rate(text: str) -> None:
    with pytest.raises(ValueError, match=text):
        parse_rate(text)


def test_a_child_reads_the_same_settings() -> None:
    settings = GatewaySettings(
        port=1, registration_open=False, deadline_seconds=0.25, rate_limit="5/1", database_url="postgresql://u@h/d"
    )
    variables = to_environment(settings)
    assert from_environment(variables, kind=GatewaySettings) == settings
    assert variables.keys() == {
        "PLAYMOLT_PORT",
        "PLAYMOLT_REGISTRATION_OPEN",
        "PLAYMOLT_DEADLINE_SECONDS",
        "PLAYMOLT_RATE_LIMIT",
        "DATABASE_URL",
    }
    assert to_environment(Settings()) == {}


def test_no_two_settings_share_a_variable_and_each_is_explained() -> None:
    named = [variable for variable, _, _ in variables().values()]
    assert len(named) == len(set(named))
    assert all(text.endswith(".") for _, _, text in variables().values())


def test_each_service_declares_its_own_settings_beside_its_code() -> None:
    kinds = declared()
    assert kinds[""] is Settings
    assert kinds["gateway"] is GatewaySettings
    assert {kind.__module__ for kind in kinds.values()} == {
        "playmolt_core.settings", "playmolt_core.engine.settings", "playmolt_gateway.settings",
        "playmolt_jury.settings", "playmolt_cli.settings", "playmolt_agora.service.settings",
    }  # fmt: skip
    assert not hasattr(Settings(), "registration_open")
    for service, kind in kinds.items():
        assert f"Declared in `{kind.__module__}`." in page(), service


def test_a_service_reads_no_other_services_settings() -> None:
    environment = {"PLAYMOLT_RATE_LIMIT": "many", "PLAYMOLT_EVM_CONFIRMATIONS": "3", "PLAYMOLT_PORT": "9"}
    assert from_environment(environment) == Settings(port=9)
    with pytest.raises(InvalidSettings, match="PLAYMOLT_RATE_LIMIT: 'many'"):
        from_environment(environment, kind=GatewaySettings)


@pytest.mark.parametrize("kind", [Settings, GatewaySettings, all_settings()])
def test_a_variable_of_no_service_is_named(kind: type[Settings]) -> None:
    with pytest.raises(InvalidSettings, match=r"^PLAYMOLT_RATE_LIMITS: no such setting$"):
        from_environment({"PLAYMOLT_RATE_LIMITS": "60/10", "PLAYMOLT_RATE_LIMIT": "60/10"}, kind=kind)


def test_a_process_that_starts_the_others_passes_on_every_setting() -> None:
    variables = {"PLAYMOLT_RATE_LIMIT": "60/10", "PLAYMOLT_EVM_CONFIRMATIONS": "3", "PLAYMOLT_ARCHIVE_DAYS": "4"}
    assert to_environment(from_environment(variables, kind=all_settings())) == variables
