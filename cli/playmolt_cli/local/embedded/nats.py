"""NATS with JetStream as a child process, and the permissions of each service."""

import json
import os
import secrets
import signal
import socket
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Any, Final

from playmolt_core.game.engine_module import engines
from playmolt_schemas import subjects
from playmolt_schemas.identifiers import ENGINES, GAME_TYPES, lobby_of
from playmolt_schemas.shards import streams

from playmolt_cli.local.embedded import binaries, child
from playmolt_cli.local.embedded.server import Server

_TEMPLATE = Path(__file__).with_name("nats.conf")
_DISCOVERY = "$SRV.PING.>"
"""Subjects that discover services."""
SERVICES: tuple[str, ...] = ("gateway", "spectator", *ENGINES, "relay")
"""NATS users of the services; the operator uses `admin`."""
_RUNTIME: Final = {
    "GOGC": "400",
    "GOMEMLIMIT": "256MiB",
    "GOMAXPROCS": str(max(1, (os.cpu_count() or 1) // 2)),
}
"""Go runtime settings; the environment overrides them.

A garbage collection uses all cores for 10 to 15 ms and delays requests in flight; with Go's default it ran 1.5 times a
second under load and dominated the p99. The heap may grow to five times the live data, at most 256 MiB. Half of the
cores are left to the services, because threads on all cores wake each other for every message."""
READER: Final = "reader"
"""The user for your own tools. Its separate account can read the streams and publish to none."""
USERS: tuple[str, ...] = (*SERVICES, "admin", READER)


class _Conf(Template):
    delimiter = "@"


def inbox(user: str) -> str:
    """The subjects for replies to a user's requests; only that user may subscribe to them."""
    return f"_INBOX.{user}.>"


_ACROSS: Final = "_R_.>"
"""Prefix of reply subjects across accounts."""


def _answers(user: str) -> str:
    """The subjects a user may reply on: its own part of each inbox, so that the requester knows the sender."""
    return f"_INBOX.*.{user}.>"


def _asked(user: str) -> list[str]:
    """The discovery subjects of a service."""
    return ["$SRV.*", f"$SRV.*.{user}", f"$SRV.*.{user}.*"]


def _all(subject: str) -> str:
    return f"{subject.split('.', 1)[0]}.>"


def _direct_get(stream: str) -> list[str]:
    return [f"$JS.API.DIRECT.GET.{stream}", f"$JS.API.DIRECT.GET.{stream}.>"]


def _stream_calls(stream: str) -> list[str]:
    # DELETE allows recreating a stream that someone else published to. No PURGE; single messages are deleted in
    # SPECTATE alone, where the operator hid them.
    made = [f"$JS.API.STREAM.{verb}.{stream}" for verb in ("CREATE", "UPDATE", "DELETE", "INFO", "MSG.GET")]
    if stream.startswith(subjects.SPECTATE_STREAM):
        made.append(f"$JS.API.STREAM.MSG.DELETE.{stream}")
    consumers = [f"$JS.API.CONSUMER.{verb}.{stream}.>" for verb in ("CREATE", "DURABLE.CREATE")]
    return made + _direct_get(stream) + consumers


_READABLE: Final = (_all(subjects.event("*", "*", "*")), _all(subjects.spectate("*", "*")), _all(subjects.lobby("*")))


def _reading_calls(shards: int) -> Iterator[tuple[str, str]]:
    """JetStream calls of a reader, each with its response type."""
    yield "$JS.API.STREAM.NAMES", "Singleton"
    for stream in streams(shards):
        for call in (f"STREAM.INFO.{stream}", f"STREAM.MSG.GET.{stream}"):
            yield f"$JS.API.{call}", "Singleton"
        for verb in ("INFO", "DELETE"):
            yield f"$JS.API.CONSUMER.{verb}.{stream}.*", "Singleton"
        yield f"$JS.API.CONSUMER.MSG.NEXT.{stream}.*", "Stream"
        yield f"$JS.ACK.{stream}.>", "Singleton"


def exports(shards: int = 1) -> list[dict[str, Any]]:
    """Exports of the services' account to the reader's account.

    Across accounts the server replaces the requester's reply subject, so that no reply can be directed to the subjects
    of events. A consumer's deliver subject could be, so the relay creates consumers and checks each request.
    """
    calls = [*_reading_calls(shards), (subjects.reader_call(">"), "Singleton")]
    asked = [{"service": subject, "response": kind, "accounts": ["READER"]} for subject, kind in calls]
    return asked + [{"stream": subject, "accounts": ["READER"]} for subject in _READABLE]


def reader_account(password: str, shards: int = 1) -> dict[str, object]:
    """The reader's account. Its JetStream import replaces the account's default one, which would report that JetStream
    is not enabled; the relay answers the permitted calls."""
    calls = [{"service": {"account": "PLAYMOLT", "subject": subject}} for subject, _ in _reading_calls(shards)]
    rest = {"service": {"account": "PLAYMOLT", "subject": subjects.reader_call(">")}, "to": "$JS.API.>"}
    readable = [{"stream": {"account": "PLAYMOLT", "subject": subject}} for subject in _READABLE]
    permissions = {
        "publish": {"allow": ["$JS.API.>", "$JS.ACK.>"]},
        "subscribe": {"allow": ["_INBOX.>", *_READABLE]},
    }
    user = {"user": READER, "password": password, "permissions": permissions}
    return {"users": [user], "imports": [*calls, rest, *readable]}


def _permissions(user: str, shards: int) -> tuple[list[str], list[str]]:
    """Publish and subscribe permissions of a user, besides its inbox and discovery."""
    committed = subjects.COMMITTED if shards == 1 else f"{subjects.COMMITTED}.*"
    if user == "gateway":
        return (
            [
                _all(subjects.action("*", "*")),
                subjects.KEYS_REVOKED,
                subjects.PROJECTED,
                subjects.LAG,
                subjects.LOG,
                committed,
            ],
            [_all(subjects.spectate("*", "*")), _all(subjects.speaking("*", "*")), subjects.KEYS_REVOKED],
        )
    if user == "spectator":
        return (
            [_all(subjects.public("*", "*")), subjects.HISTORY],
            [_all(subjects.spectate("*", "*")), _all(subjects.lobby("*"))],
        )
    if user == "relay":
        return (
            [
                "$JS.API.INFO", *(call for stream in streams(shards) for call in _stream_calls(stream)),
                _all(subjects.event("*", "*", "*")), _all(subjects.spectate("*", "*")), _all(subjects.sealed("*", "*")),
                _ACROSS,
            ],
            [
                committed, subjects.PROJECTED, subjects.LAG, subjects.LOG, subjects.HISTORY,
                subjects.reader_call(">"),
            ],
        )  # fmt: skip
    played = [game for game in ENGINES[user] if game in GAME_TYPES]
    calls = [subject(game, ">") for game in ENGINES[user] for subject in (subjects.action, subjects.public)]
    seated = [_all(subjects.table("*", "*")), _all(subjects.public("*", "*"))] if engines()[user].seats_tables else []
    return (
        [committed, *_fed(ENGINES[user], shards), *(subjects.speaking(game, ">") for game in ENGINES[user]), *seated],
        calls + [subjects.table(game, ">") for game in played],
    )


def _fed(types: Iterable[str], shards: int) -> Iterator[str]:
    """What an engine publishes of its types after a commit."""
    token = "" if shards == 1 else "*."
    for kind in types:
        yield subjects.lobby(kind)
        for stream in (f"{kind}.*", f"lobby.{lobby_of(kind)}"):
            yield f"events.{token}{stream}.*"
            yield f"spectate.{token}{stream}"
            yield f"sealed.{token}{stream}"


def users(password_of: Callable[[str], str], shards: int = 1) -> list[dict[str, object]]:
    """The `users` of the services' account; each service may use only its own subjects.

    Clients must use the inbox prefix `_INBOX.<user>`. `admin` has all permissions.
    """
    return [_user(name, password_of(name), shards) for name in SERVICES] + [
        {"user": "admin", "password": password_of("admin")}
    ]


def _user(name: str, password: str, shards: int) -> dict[str, object]:
    publish, subscribe = _permissions(name, shards)
    if name != "relay":
        publish, subscribe = [*publish, _DISCOVERY], [*subscribe, subjects.announced("*")]
    return {
        "user": name,
        "password": password,
        "permissions": {
            # No `allow_responses`: the requester could then direct the reply to the subjects of events.
            "publish": {"allow": [*publish, subjects.announced(name), _answers(name)]},
            "subscribe": {"allow": [*subscribe, inbox(name), *_asked(name)]},
        },
    }


class Nats(Server):
    """A NATS server with its JetStream store in `folder`.

    `passwords` (user → password for all USERS) enables authentication; without it every client has all permissions.
    """

    name = "nats"

    def __init__(
        self, folder: Path | str, port: int = 0, passwords: Mapping[str, str] | None = None, shards: int = 1
    ) -> None:
        super().__init__(folder, port)
        self._passwords = passwords
        self._shards = shards
        self._server_name = f"playmolt-{secrets.token_hex(8)}"

    @property
    def url(self) -> str:
        """URL without credentials."""
        return f"nats://127.0.0.1:{self.port}"

    def configuration(self) -> str:
        """The server's configuration."""
        return _Conf(_TEMPLATE.read_text("utf-8")).substitute(
            server_name=json.dumps(self._server_name),
            port=self.port,
            accounts=_accounts(self._passwords, self._shards),
        )

    def spawn(self) -> subprocess.Popen[bytes]:
        """Write the configuration (mode 0600) and start the process."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)  # the store holds every game's secrets
        path = self.folder / "nats.conf"
        path.touch(0o600)
        path.write_text(self.configuration(), encoding="utf-8")
        return child.spawn(
            [binaries.nats_server(), "-c", path, "--store_dir", self.folder / "jetstream"],
            log=self.log,
            environment={**_RUNTIME, **os.environ},
            death_signal=signal.SIGTERM,
        )

    def answers(self) -> bool:
        """Whether this server accepts clients with JetStream enabled."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as wire, wire.makefile("rb") as lines:
                greeting = lines.readline(65_536)
        except OSError:
            return False
        if not greeting.startswith(b"INFO "):
            return False
        info = json.loads(greeting[5:])
        # Another server may be listening on the port.
        return info.get("jetstream") is True and info.get("server_name") == self._server_name


def _accounts(passwords: Mapping[str, str] | None, shards: int) -> str:
    if passwords is None:
        return ""
    services = {"jetstream": "enabled", "users": users(passwords.__getitem__, shards), "exports": exports(shards)}
    accounts = {"PLAYMOLT": services, "READER": reader_account(passwords[READER], shards)}
    return f"accounts: {json.dumps(accounts, indent=2)}"
