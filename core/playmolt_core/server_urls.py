"""Addresses of servers in settings: which are valid, and what of a database's address its driver takes."""

import os
from typing import Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit, urlunsplit

_PASSWORD_FILE: Final = "password-file"  # noqa: S105 -- a name
"""The fragment of a database URL that names the file of its password."""
_DATABASE: Final = "postgresql://USER:PASSWORD@HOST:5432/NAME"
_OF_OTHER_CLIENTS: Final = frozenset({
    "channel_binding", "connect_timeout", "connection_limit", "fallback_application_name", "gssdelegation",
    "gssencmode", "keepalives", "keepalives_count", "keepalives_idle", "keepalives_interval", "load_balance_hosts",
    "pgbouncer", "pool_timeout", "sslcompression", "sslsni", "tcp_user_timeout",
})  # fmt: skip
"""Parameters of libpq and of ORMs in the URLs that hosts of databases print. Our driver would send them to the server
as settings, which refuses them. Without them nothing is lost: timeouts and keepalives are our own."""
_SAFEGUARDS: Final = {"channel_binding": "require", "require_auth": "", "requirepeer": ""}
"""Parameters by which libpq refuses servers, and the value that does; "" for every one."""

_FILES: Final = frozenset({"sslcert", "sslcrl", "sslkey", "sslrootcert"})


def split_database_url(url: str) -> tuple[str, str]:
    """The URL without its password file, and that file; "" if it has none."""
    plain, _, fragment = url.partition(f"#{_PASSWORD_FILE}=")
    return plain, unquote(fragment)


def with_password_file(url: str, quoted_file: str) -> str:
    """The URL with another password file."""
    return f"{split_database_url(url)[0]}#{_PASSWORD_FILE}={quoted_file}"


def driver_url(url: str) -> str:
    """The URL without the parameters that only other clients know."""
    parts = urlsplit(url)
    known = [(name, value) for name, value in _parameters(parts) if name not in _OF_OTHER_CLIENTS]
    return url if len(known) == len(_parameters(parts)) else urlunsplit(parts._replace(query=urlencode(known)))


def missing_file(url: str) -> str:
    """The first file of certificates that the URL names and that cannot be read, with its parameter; else empty."""
    for name, path in _parameters(urlsplit(url)):
        if name in _FILES and not os.access(path, os.R_OK):
            return f"{path}, the {name}"
    return ""


def parse_database_url(text: str) -> str:
    """Read the address of a Postgres database; ValueError, without the password, for what is none."""
    try:
        parts = urlsplit(split_database_url(text)[0])
        hosts, parameters = parts.netloc.rpartition("@")[2].split(","), _parameters(parts)
        valid = parts.scheme in ("postgresql", "postgres") and all(map(_has_sound_port, hosts)) and not parts.fragment
    except ValueError:
        valid, parameters = False, []
    if text and not valid:
        raise ValueError(
            f"must be an address such as {_DATABASE}, with / ? # @ : % in a password written as %2F %3F %23 %40 %3A %25"
        )
    for name, value in parameters:
        if name in _SAFEGUARDS and value == (_SAFEGUARDS[name] or value):
            raise ValueError(
                f"the parameter {name}={value} is not supported: remove it, and use sslmode=verify-full, by which the"
                " server proves that it is the right one"
            )
    return text


def parse_nats_urls(text: str) -> str:
    """Read addresses of NATS servers, comma separated; raises ValueError, without a password."""
    for each in filter(None, (part.strip() for part in text.split(","))):
        try:
            parts = urlsplit(each if "://" in each else f"nats://{each}")
            valid = parts.scheme in ("nats", "tls") and parts.hostname and " " not in parts.hostname and parts.port != 0
        except ValueError:
            valid = False
        if not valid:
            raise ValueError("must be addresses such as nats://HOST:4222 or tls://HOST:4222, comma separated")
    return text


def parse_node_url(text: str) -> str:
    """Read the address of a chain's node; raises ValueError, without the key that such an address may contain."""
    try:
        parts = urlsplit(text)
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        valid = False
    if text and not valid:
        raise ValueError("must be the address of a node's JSON-RPC over HTTP, such as http://127.0.0.1:8545")
    return text


def _parameters(parts: SplitResult) -> list[tuple[str, str]]:
    return parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))


def _has_sound_port(host: str) -> bool:
    """Whether the port of a host, if it has any, is one."""
    name = host.rpartition("]")[2] if host.startswith("[") else host
    _, colon, port = name.partition(":")
    return not colon or not port or (port.isascii() and port.isdecimal() and 0 < int(port) < 65536)
