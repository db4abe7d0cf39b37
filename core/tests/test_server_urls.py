"""Addresses of servers in settings: what hosts print is taken, what is none is refused, no password is printed."""

from pathlib import Path

import pytest
from playmolt_core.server_urls import driver_url, missing_file
from playmolt_core.settings import InvalidSettings, all_settings, from_environment

VALID = {
    "DATABASE_URL": [
        "postgresql://app:pa%2Fss@db.example:5432/name?sslmode=require",
        "postgres://app@db/name",
        "postgresql://a:1,[::1]:2,c/name?target_session_attrs=primary",
        "postgresql:///name?host=/run/postgresql",
        "postgresql://app@db/name?sslmode=require&channel_binding=prefer&connect_timeout=10&pgbouncer=true",
        "postgresql://app@db/name#password-file=/run/a%20b",
    ],
    "NATS_URL": ["nats://a:4222, tls://b", "a:4222", "nats://user:secret@[::1]:4222"],
    "EVM_RPC_URL": ["http://127.0.0.1:8545", "https://node.example/v3/KEY?x=1", "http://user:secret@node"],
    "PLAYMOLT_ARCHIVE_URL": ["archive", "/srv/archive", "s3://bucket/prefix"],
    "PLAYMOLT_ANCHOR_URL": ["anchors.jsonl", "s3://bucket"],
}
INVALID = {
    "DATABASE_URL": [
        "secret",
        "mysql://app:secret@db/name",
        "postgresql+asyncpg://app:secret@db/name",
        "postgresql://app:secret/x@db/name",
        "postgresql://app:secret#x@db/name",
        "postgresql://app:secret?x@db/name",
        "postgresql://app:secret[x@db/name",
        "postgresql://app:secret@db:99999/name",
        "postgresql://app:secret@db:5432,other:port/name",
        "postgresql://app:secret@db/name?sslmode",
        "postgresql://app:secret@db/name?channel_binding=require",
        "postgresql://app:secret@db/name?require_auth=scram-sha-256",
    ],
    "NATS_URL": ["http://a", "nats://", "nats://a:99999", "nats://u:secret@a:port", "nats://a b", "nats://a,ws://b"],
    "EVM_RPC_URL": ["ws://node/secret", "node:8545", "http://", "http://node:99999", "http://[::1"],
    "PLAYMOLT_ARCHIVE_URL": ["gs://bucket", "s3://", "https://bucket"],
    "PLAYMOLT_ANCHOR_URL": ["gs://bucket", "file:///srv/anchors"],
    "PLAYMOLT_LAB_URL": ["http://lab:99999", "http://[::1", "lab"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in VALID.items() for value in values])
def test_an_address_as_hosts_print_it_is_taken(name: str, value: str) -> None:
    from_environment({name: value}, kind=all_settings())


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in INVALID.items() for value in values])
def test_an_invalid_address_is_refused_in_words_without_its_password(name: str, value: str) -> None:
    with pytest.raises(InvalidSettings, match=rf"^{name}: .*(such as|supported)") as refusal:
        from_environment({name: value}, kind=all_settings())
    assert "secret" not in str(refusal.value)


def test_the_driver_gets_no_parameter_that_only_other_clients_know() -> None:
    given = (
        "postgresql://app:p%2Fw@a:1,b:2/name?pgbouncer=true&sslmode=require&connect_timeout=10&application_name=a%20b"
    )
    assert driver_url(given) == "postgresql://app:p%2Fw@a:1,b:2/name?sslmode=require&application_name=a+b"
    assert driver_url("postgresql:///name?host=/run") == "postgresql:///name?host=/run"


def test_a_certificate_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("")
    given = f"postgresql://a/b?sslrootcert={tmp_path}/ca.pem&sslkey={tmp_path}/none"
    assert missing_file(given) == f"{tmp_path}/none, the sslkey"
    assert missing_file(f"postgresql://a/b?sslrootcert={tmp_path}/ca.pem") == ""
