"""Postgres and NATS servers on 127.0.0.1, run as children of this process with their data in a folder."""

from playmolt_cli.local.embedded.nats import Nats, users
from playmolt_cli.local.embedded.postgres import Postgres
from playmolt_cli.local.embedded.server import Server, ServerError, free_port

__all__ = ["Nats", "Postgres", "Server", "ServerError", "free_port", "users"]
