"""Every setting, once: read from the environment, checked whole, and printed as docs/settings.md.

`python -m playmolt_core.settings` prints that page; a test compares it.
"""

import os
import sys
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, get_args, get_type_hints
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta
from playmolt_schemas.limits import LONGEST_DEADLINE_SECONDS
from playmolt_schemas.shards import MOST_SHARDS

Network = IPv4Network | IPv6Network
Positive = Annotated[int, Meta(ge=1)]
Natural = Annotated[int, Meta(ge=0)]
Port = Annotated[int, Meta(ge=0, le=65535)]
Seconds = Annotated[float, Meta(ge=0)]
Money = Annotated[str, Meta(pattern=r"^[0-9]{1,12}(\.[0-9]{1,9})?$")]
Days = Annotated[int, Meta(ge=0, le=36_500)]
OptionalSeconds = Annotated[int, Meta(ge=0, le=LONGEST_DEADLINE_SECONDS)] | None
OptionalShards = Annotated[int, Meta(ge=1, le=MOST_SHARDS)] | None


DEFAULT_RATE: Final = "1200/60"
DEFAULT_ACTION_RATE: Final = "600/60"
DEFAULT_ANONYMOUS_RATE: Final = "1200/60"
_OFF: Final = "off"


def _env(variable: str, help_text: str, unset: str = "") -> Meta:
    """`unset` is shown for a setting that is None."""
    return Meta(description=help_text, extra={"env": variable, "unset": unset})


class InvalidSettings(ValueError):
    """The environment does not make sense; the message names every fault."""


class OtherShards(InvalidSettings):
    """PLAYMOLT_LOG_SHARDS names another number than the log was made with; the message names both."""

    def __init__(self, wanted: int | None, present: int) -> None:
        super().__init__(
            f"PLAYMOLT_LOG_SHARDS is {wanted}, and this log was made with {present}: unset it, or make a new log"
        )


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator can set. Every service reads the same struct and uses its part."""

    database_url: Annotated[
        str,
        _env("DATABASE_URL", "Postgres of the event log, accounts and projections. Empty: `up` starts its own."),
    ] = ""
    nats_url: Annotated[str, _env("NATS_URL", "NATS server(s), comma separated. Empty: `up` starts its own.")] = ""
    nats_user: Annotated[
        str, _env("PLAYMOLT_NATS_USER", "NATS user of this service. Each user may use only its own subjects.")
    ] = ""
    nats_password: Annotated[str, _env("PLAYMOLT_NATS_PASSWORD", "Password of that user.")] = ""
    nats_ca: Annotated[
        str,
        _env(
            "PLAYMOLT_NATS_CA",
            "PEM file of the CA that signs the NATS servers' certificates; a server without a valid one is"
            " refused. Empty: the machine's CAs if `NATS_URL` is `tls://`, no TLS if it is `nats://`.",
        ),
    ] = ""
    database_role: Annotated[
        str,
        _env(
            "PLAYMOLT_DATABASE_ROLE",
            "Role that the service sets on its connections if the user of the URL has more rights.",
        ),
    ] = ""
    data: Annotated[str, _env("PLAYMOLT_DATA", "Data folder of `up`: database, NATS store, credentials.")] = (
        "playmolt-data"
    )
    host: Annotated[str, _env("PLAYMOLT_HOST", "Address that gateway and spectator listen on.")] = "127.0.0.1"
    port: Annotated[Port, _env("PLAYMOLT_PORT", "Port of the gateway.")] = 8080
    spectator_port: Annotated[Port, _env("PLAYMOLT_SPECTATOR_PORT", "Port of the spectator.")] = 8081
    health_port: Annotated[
        Port,
        _env("PLAYMOLT_HEALTH_PORT", "Port of an engine's or the relay's /healthz and /readyz; 0 selects a free one."),
    ] = 0
    idle_seconds: Annotated[
        float,
        Meta(gt=0),
        _env(
            "PLAYMOLT_IDLE_SECONDS",
            "Time after which gateway and spectator close an idle connection. Set it higher than the idle time of"
            " a proxy in front.",
        ),
    ] = 75.0
    connections_per_address: Annotated[
        Natural,
        _env(
            "PLAYMOLT_CONNECTIONS_PER_ADDRESS",
            "Maximum connections from one address to a gateway or spectator. Behind a proxy, all connections come"
            " from the proxy's address. 0: a quarter of the total maximum, or more if that maximum is small.",
        ),
    ] = 0
    waits_per_key: Annotated[
        Positive,
        _env("PLAYMOLT_WAITS_PER_KEY", "Maximum open long polls, streams and session calls of one key on a gateway."),
    ] = 100
    waits_per_address: Annotated[
        Positive,
        _env(
            "PLAYMOLT_WAITS_PER_ADDRESS",
            "The same for one address (IPv6: a /64) without a key, and separately for its calls of `/mcp`. Behind"
            " a proxy, set PLAYMOLT_TRUSTED_PROXIES.",
        ),
    ] = 400
    streams_per_address: Annotated[
        Positive,
        _env(
            "PLAYMOLT_STREAMS_PER_ADDRESS",
            "Maximum open event streams of one address (IPv6: a /64) on a gateway or spectator.",
        ),
    ] = 400
    sessions_per_key: Annotated[
        Positive,
        _env(
            "PLAYMOLT_SESSIONS_PER_KEY",
            "Maximum open legal sessions of one key over all gateways; juries are counted separately.",
        ),
    ] = 200
    key_day_sessions: Annotated[
        Natural,
        _env(
            "PLAYMOLT_KEY_DAY_SESSIONS",
            "Maximum legal sessions and juries that a key may open in a day (UTC), over all gateways; 0: no limit.",
        ),
    ] = 0
    key_day_tokens: Annotated[
        Natural,
        _env(
            "PLAYMOLT_KEY_DAY_TOKENS",
            "Maximum tokens in a day (UTC) for the sessions of one key; 0: no limit.",
        ),
    ] = 0
    key_day_money: Annotated[
        Money,
        _env(
            "PLAYMOLT_KEY_DAY_MONEY",
            "Maximum model cost in a day (UTC) for the sessions of one key, in the currency of the catalogue; 0:"
            " no limit.",
        ),
    ] = "0"
    day_tokens: Annotated[
        Natural,
        _env(
            "PLAYMOLT_DAY_TOKENS",
            "Maximum tokens of all engines in a day (UTC), including experiments; 0: no limit.",
        ),
    ] = 0
    day_money: Annotated[
        Money,
        _env(
            "PLAYMOLT_DAY_MONEY",
            "Maximum model cost of all engines in a day (UTC), including experiments; 0: no limit.",
        ),
    ] = "0"
    operator_key: Annotated[
        str,
        _env(
            "PLAYMOLT_OPERATOR_KEY",
            "Bearer key for the operator's calls. Empty: these calls are disabled (`up` generates a key).",
        ),
    ] = ""
    house_key: Annotated[
        str,
        _env(
            "PLAYMOLT_HOUSE_KEY",
            "Bearer key that may register any number of agents of kind house, and nothing more (`up` generates one).",
        ),
    ] = ""
    fill_seconds: Annotated[
        Annotated[int, Meta(ge=0, le=LONGEST_DEADLINE_SECONDS)] | None,
        _env(
            "PLAYMOLT_FILL_SECONDS",
            "Time that an agent waits in a public lobby before house bots take the empty seats; 0: they never do."
            " Unset: 20 in `up`, otherwise 0.",
        ),
    ] = None
    house_models: Annotated[
        str,
        _env(
            "PLAYMOLT_HOUSE_MODELS",
            "Aliases of PLAYMOLT_MODELS, comma separated, that play every second house seat. Empty: none.",
        ),
    ] = ""
    house_budget: Annotated[
        str,
        _env(
            "PLAYMOLT_HOUSE_BUDGET",
            "Daily budget (UTC) of the house's models, such as money=1.5,tokens=400000,calls=2000; after it is"
            " spent, scripted bots play these seats. Empty: no limit.",
        ),
    ] = ""
    callback_private: Annotated[
        bool | None,
        _env(
            "PLAYMOLT_CALLBACK_PRIVATE",
            "Whether callback URLs may use `http` and this machine. Unset: true in `up`, otherwise false.",
        ),
    ] = None
    registration_open: Annotated[bool, _env("PLAYMOLT_REGISTRATION_OPEN", "Whether anyone may register an agent.")] = (
        True
    )
    registration_limit: Annotated[
        str,
        _env(
            "PLAYMOLT_REGISTRATION_LIMIT",
            "Maximum registrations from one address (IPv6: a /64) over all gateways, as `N/SECONDS`. The operator"
            " key has no limit.",
        ),
    ] = "30/3600"
    trusted_proxies: Annotated[
        str,
        _env(
            "PLAYMOLT_TRUSTED_PROXIES",
            "Addresses or networks of proxies, comma separated, whose `X-Forwarded-For`, `-Proto` and `-Host` are"
            " trusted. Empty: none.",
        ),
    ] = ""
    public_url: Annotated[
        str,
        _env(
            "PLAYMOLT_PUBLIC_URL",
            "Public URL of the gateway, such as `https://arena.example`, as shown in the guides. Empty: the"
            " address of each request.",
        ),
    ] = ""
    spectator_url: Annotated[
        str,
        _env(
            "PLAYMOLT_SPECTATOR_URL",
            "Public URL of the spectator. Empty: the gateway's host with the spectator's port.",
        ),
    ] = ""
    mcp_hosts: Annotated[
        str,
        _env(
            "PLAYMOLT_MCP_HOSTS",
            "Further host names, comma separated, that `/mcp` accepts, in addition to this machine's and that of"
            " `PLAYMOLT_PUBLIC_URL`. A name without a port accepts every port.",
        ),
    ] = ""
    limit_loopback: Annotated[
        bool,
        _env("PLAYMOLT_LIMIT_LOOPBACK", "Whether registration and rate limits apply to callers on this machine."),
    ] = False
    anchor_url: Annotated[
        str,
        _env(
            "PLAYMOLT_ANCHOR_URL",
            "Place that `log anchor` writes to and `log verify --anchors` reads from: a file, or"
            " `s3://BUCKET/PREFIX`. Empty: `anchors.jsonl` in the data folder.",
        ),
    ] = ""
    anchor_endpoint: Annotated[
        str,
        _env(
            "PLAYMOLT_ANCHOR_ENDPOINT",
            "URL of the S3-compatible object store for anchors. Empty: the provider's default.",
        ),
    ] = ""
    anchor_region: Annotated[str, _env("PLAYMOLT_ANCHOR_REGION", "Region of the bucket for anchors.")] = "us-east-1"
    anchor_access_key: Annotated[
        str,
        _env(
            "PLAYMOLT_ANCHOR_ACCESS_KEY", "Access key for the bucket for anchors. Empty: the machine's own credentials."
        ),
    ] = ""
    anchor_secret_key: Annotated[
        str, _env("PLAYMOLT_ANCHOR_SECRET_KEY", "Secret key of PLAYMOLT_ANCHOR_ACCESS_KEY.")
    ] = ""
    anchor_seconds: Annotated[
        Natural,
        _env("PLAYMOLT_ANCHOR_SECONDS", "Interval at which `up` runs `log anchor`; 0: never."),
    ] = 600
    archive_days: Annotated[
        Natural,
        _env(
            "PLAYMOLT_ARCHIVE_DAYS",
            "Days without a new event after which `log archive` archives a finished game; 0: never.",
        ),
    ] = 0
    keep_legal_days: Annotated[
        Days,
        _env(
            "PLAYMOLT_KEEP_LEGAL_DAYS",
            "Days without a new event after which `erase --due` erases a legal session; 0: never.",
        ),
    ] = 0
    keep_jury_days: Annotated[
        Days,
        _env(
            "PLAYMOLT_KEEP_JURY_DAYS",
            "Days without a new event after which `erase --due` erases a jury session; 0: never.",
        ),
    ] = 0
    keep_blobs_days: Annotated[
        Days,
        _env(
            "PLAYMOLT_KEEP_BLOBS_DAYS",
            "Days without use after which `erase --due` deletes prompts and replies of experiments; 0: never.",
        ),
    ] = 0
    keep_archive_days: Annotated[
        Days,
        _env(
            "PLAYMOLT_KEEP_ARCHIVE_DAYS",
            "Days without an event in any of its games after which `erase --due` deletes a file in"
            " PLAYMOLT_ARCHIVE_URL, but not the games' results; 0: never.",
        ),
    ] = 0
    archive_url: Annotated[
        str,
        _env("PLAYMOLT_ARCHIVE_URL", "Place that `log archive` writes to: a folder, or `s3://BUCKET/PREFIX`."),
    ] = ""
    archive_endpoint: Annotated[
        str,
        _env(
            "PLAYMOLT_ARCHIVE_ENDPOINT",
            "URL of the S3-compatible object store for archives. Empty: the provider's default.",
        ),
    ] = ""
    archive_region: Annotated[str, _env("PLAYMOLT_ARCHIVE_REGION", "Region of the bucket for archives.")] = "us-east-1"
    archive_access_key: Annotated[
        str,
        _env(
            "PLAYMOLT_ARCHIVE_ACCESS_KEY",
            "Access key for the bucket for archives. Empty: the machine's own credentials.",
        ),
    ] = ""
    archive_secret_key: Annotated[
        str, _env("PLAYMOLT_ARCHIVE_SECRET_KEY", "Secret key of PLAYMOLT_ARCHIVE_ACCESS_KEY.")
    ] = ""
    deadline_seconds: Annotated[
        Seconds,
        _env(
            "PLAYMOLT_DEADLINE_SECONDS",
            "Time that the gateway waits for an engine's answer before it returns 503.",
        ),
    ] = 8.0
    rate_limit: Annotated[
        str | None,
        _env(
            "PLAYMOLT_RATE_LIMIT",
            "Maximum requests of a key over all gateways, as `N/SECONDS`; `off`: no limit. The default does not"
            " apply to callers on this machine.",
            DEFAULT_RATE,
        ),
    ] = None
    action_rate_limit: Annotated[
        str | None,
        _env(
            "PLAYMOLT_ACTION_RATE_LIMIT",
            "Maximum actions of a key over all gateways, as `N/SECONDS`; `off`: no limit. The default does not"
            " apply to callers on this machine.",
            DEFAULT_ACTION_RATE,
        ),
    ] = None
    anonymous_limit: Annotated[
        str | None,
        _env(
            "PLAYMOLT_ANONYMOUS_LIMIT",
            "Maximum reads without a key from one address (IPv6: a /64) over all gateways, as `N/SECONDS`; `off`: no"
            " limit. Files of the web pages are not counted. The default does not apply to callers on this machine.",
            DEFAULT_ANONYMOUS_RATE,
        ),
    ] = None
    pictures: Annotated[
        str,
        _env(
            "PLAYMOLT_PICTURES",
            "Folder in which gateways keep pictures and replays of finished games. Empty: `pictures` in the data"
            " folder of `up`, otherwise only memory.",
        ),
    ] = ""
    pictures_bytes: Annotated[
        Natural,
        _env("PLAYMOLT_PICTURES_BYTES", "Maximum size of that folder; the files used longest ago are deleted first."),
    ] = 268_435_456
    phase_deadline_seconds: Annotated[
        OptionalSeconds,
        _env(
            "PLAYMOLT_PHASE_DEADLINE_SECONDS",
            "Time that each phase of a new game waits for missing submissions; 0: no limit. Empty: each game's"
            " own deadlines.",
        ),
    ] = None
    hot_games: Annotated[
        Positive,
        _env("PLAYMOLT_HOT_GAMES", "Maximum games that an engine keeps in memory; the others are read from the log."),
    ] = 10_000
    batch_commands: Annotated[Positive, _env("PLAYMOLT_BATCH_COMMANDS", "Maximum commands in one commit.")] = 512
    log_shards: Annotated[
        OptionalShards,
        _env(
            "PLAYMOLT_LOG_SHARDS",
            "Number of shards of the log; writers of different shards never wait for each other. Fixed when the"
            " log is created: no service starts with another number.",
            "as many as the log has; a new one has 1",
        ),
    ] = None
    queue_commands: Annotated[
        Positive, _env("PLAYMOLT_QUEUE_COMMANDS", "Maximum commands that wait in an engine before it answers 503.")
    ] = 20_000
    effects_at_once: Annotated[
        Positive,
        _env(
            "PLAYMOLT_EFFECTS_AT_ONCE",
            "Maximum effects (model turns, transactions) that a process carries out at once.",
        ),
    ] = 64
    stream_events: Annotated[
        Positive,
        _env(
            "PLAYMOLT_STREAM_EVENTS",
            "Number of newest events in NATS, over all shards; older ones are read from the log.",
        ),
    ] = 100_000
    stream_bytes: Annotated[
        Positive,
        _env(
            "PLAYMOLT_STREAM_BYTES",
            "Maximum bytes of each of the two streams in NATS, over all shards. NATS reserves them, so both"
            " streams must fit into its `max_memory_store` or `max_file_store`.",
        ),
    ] = 24 * 1024 * 1024
    stream_storage: Annotated[
        Literal["memory", "file"],
        _env(
            "PLAYMOLT_STREAM_STORAGE",
            "Where NATS stores the streams; lost events are filled again from the log.",
        ),
    ] = "memory"
    stream_replicas: Annotated[
        Annotated[int, Meta(ge=0, le=5)],
        _env(
            "PLAYMOLT_STREAM_REPLICAS",
            "Number of NATS servers that store each event; 0: three in a cluster of three or more, otherwise one.",
        ),
    ] = 0
    seal_keys: Annotated[
        str,
        _env(
            "PLAYMOLT_SEAL_KEYS",
            "File of the keys that wrap the sessions' keys; engines of sessions do not start without it. Empty:"
            " `seal-keys` in the data folder of `up`, which generates it.",
        ),
    ] = ""
    seal_keep_days: Annotated[
        Natural,
        _env(
            "PLAYMOLT_SEAL_KEEP_DAYS",
            "Days that a replaced key stays in PLAYMOLT_SEAL_KEYS. After these and PLAYMOLT_SEAL_ROTATE_DAYS, no"
            " backup can open an erased session.",
        ),
    ] = 35
    seal_rotate_days: Annotated[
        Natural,
        _env("PLAYMOLT_SEAL_ROTATE_DAYS", "Age in days at which the newest key in PLAYMOLT_SEAL_KEYS is replaced."),
    ] = 7
    models: Annotated[str, _env("PLAYMOLT_MODELS", "TOML file of model endpoints; `scripted` is always available.")] = (
        ""
    )
    evm_rpc_url: Annotated[
        str,
        _env("EVM_RPC_URL", "JSON-RPC node of the chain that juries vote on. Empty: `up` starts its own."),
    ] = ""
    evm_deployer_key: Annotated[
        str,
        _env(
            "PLAYMOLT_EVM_DEPLOYER_KEY",
            "Private key of the account that opens cases on the chain and pays for the jurors' votes.",
        ),
    ] = ""
    evm_confirmations: Annotated[
        Natural,
        _env(
            "PLAYMOLT_EVM_CONFIRMATIONS",
            "Blocks to wait for before the verdict is read, counting the block of the last vote. The chain that"
            " `up` starts needs 0.",
        ),
    ] = 1
    evm_explorer: Annotated[
        str,
        _env(
            "PLAYMOLT_EVM_EXPLORER",
            "Block explorer of the chain, such as `https://explorer.example`; verdicts link to its pages"
            " `/tx/HASH` and `/address/ADDRESS`. Empty: no links.",
        ),
    ] = ""
    jury_secret: Annotated[
        str,
        _env(
            "PLAYMOLT_JURY_SECRET",
            "Secret from which jurors' keys are derived. Empty: they are derived from the deployer's key.",
        ),
    ] = ""
    packs: Annotated[
        str,
        _env(
            "PLAYMOLT_PACKS",
            "Folders of packs to offer in addition to the shipped ones, separated by `:`: cases for juries and"
            " trials, questions for O/X.",
        ),
    ] = ""
    jury_cases: Annotated[
        Literal["operator", "keys"],
        _env("PLAYMOLT_JURY_CASES", "Who may upload cases over HTTP: only the operator, or any key (up to 20 each)."),
    ] = "operator"
    pack_sweep_seconds: Annotated[
        Positive,
        _env(
            "PLAYMOLT_PACK_SWEEP_SECONDS",
            "Interval at which unused packs of cases are deleted: those that were neither offered nor played for"
            " an hour.",
        ),
    ] = 3600
    jury_show_stances: Annotated[
        bool, _env("PLAYMOLT_JURY_SHOW_STANCES", "Whether overseers see jurors' stances as numbers before the verdict.")
    ] = False
    stuck_seconds: Annotated[
        Positive, _env("PLAYMOLT_STUCK_SECONDS", "Idle time after which a game that is not over counts as stuck.")
    ] = 600
    log_level: Annotated[
        str, _env("PLAYMOLT_LOG_LEVEL", "Lowest level of log lines that are written: debug, info, warning, error.")
    ] = "info"


_ADDRESSES: Final = (
    "PLAYMOLT_PUBLIC_URL", "PLAYMOLT_SPECTATOR_URL", "PLAYMOLT_ANCHOR_ENDPOINT", "PLAYMOLT_ARCHIVE_ENDPOINT",
    "PLAYMOLT_EVM_EXPLORER",
)  # fmt: skip
_RATES: Final = (
    "PLAYMOLT_RATE_LIMIT", "PLAYMOLT_ACTION_RATE_LIMIT", "PLAYMOLT_ANONYMOUS_LIMIT", "PLAYMOLT_REGISTRATION_LIMIT",
)  # fmt: skip
OF_BOTS: Final[Mapping[str, str]] = {
    "PLAYMOLT_KEY": "Key that a bot plays with; takes precedence over stored keys.",
    "PLAYMOLT_CREDENTIALS": "File in which `play` stores the keys of the agents that it registers.",
}
"""Variables of the SDK (`sdk/playmolt/credentials.py`): a service does not report them as misspelt settings."""


def _meta(annotation: object) -> tuple[type, Mapping[str, str], str]:
    base, *rest = get_args(annotation)
    meta = next(part for part in rest if isinstance(part, Meta) and part.extra)
    return base, meta.extra or {}, str(meta.description)


_HINTS: Final = get_type_hints(Settings, include_extras=True)
_VARIABLES: Final = MappingProxyType(
    {
        field: (extra["env"], base, text)
        for field, (base, extra, text) in ((f, _meta(_HINTS[f])) for f in Settings.__struct_fields__)
    }
)


def variables() -> Mapping[str, tuple[str, type, str]]:
    """Field → (environment variable, type, help) of every setting."""
    return _VARIABLES


def from_environment(environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings; raises InvalidSettings naming every variable at fault. An empty value means the default."""
    environment = os.environ if environment is None else environment
    values: dict[str, object] = {}
    errors = []
    for field, (variable, _, _) in variables().items():
        raw = environment.get(variable, "")
        if not raw:
            continue
        try:
            values[field] = msgspec.convert(raw, type=_HINTS[field], strict=False)
        except msgspec.ValidationError as error:
            errors.append(f"{variable}={raw!r}: {error}")
    known = {variable for variable, _, _ in variables().values()}
    known |= OF_BOTS.keys()
    errors += [f"{name}: no such setting" for name in environment if name.startswith("PLAYMOLT_") and name not in known]
    for variable in _RATES:
        try:
            parse_rate(environment.get(variable, ""))
        except ValueError as error:
            errors.append(f"{variable}: {error}")
    for variable in _ADDRESSES:
        try:
            parse_address(environment.get(variable, ""))
        except ValueError as error:
            errors.append(f"{variable}: {error}")
    try:
        parse_networks(environment.get("PLAYMOLT_TRUSTED_PROXIES", ""))
    except ValueError as error:
        errors.append(f"PLAYMOLT_TRUSTED_PROXIES: {error}")
    if errors:
        raise InvalidSettings("\n".join(errors))
    return msgspec.convert(values, type=Settings)


def parse_rate(text: str) -> tuple[int, float] | None:
    """Read `N/SECONDS`; None for an empty text and for `off`, ValueError for anything else."""
    if not text or text == _OFF:
        return None
    count, _, seconds = text.partition("/")
    try:
        rate = int(count), float(seconds)
    except ValueError:
        raise ValueError(f"{text!r} is not N/SECONDS, as in 60/10") from None
    if rate[0] < 1 or not 0 < rate[1] <= 86_400:
        raise ValueError(f"{text!r}: N at least 1, SECONDS above 0 and at most a day")
    return rate


def parse_address(text: str) -> str:
    """Read the address of a service without the slash at its end; "" for an empty text, ValueError for what is none."""
    parts = urlsplit(text)
    sound = parts.scheme in ("http", "https") and parts.hostname and parts.username is None
    if text and (not sound or parts.query or parts.fragment or parts.port == 0):
        raise ValueError(f"{text!r} is not an address such as https://arena.example")
    return text.rstrip("/")


def parse_networks(text: str) -> tuple[Network, ...]:
    """Read addresses and networks, comma separated; raises ValueError."""
    return tuple(ip_network(part.strip()) for part in text.split(",")) if text else ()


def to_environment(settings: Settings) -> dict[str, str]:
    """The variables that make a child process read the same settings."""
    default = Settings()
    return {
        variable: str(getattr(settings, field)).lower()
        if isinstance(getattr(settings, field), bool)
        else str(getattr(settings, field))
        for field, (variable, _, _) in variables().items()
        if getattr(settings, field) != getattr(default, field)
    }


def _kind(base: Any) -> str:
    if base in (OptionalSeconds, OptionalShards):
        return "int"
    if base == bool | None:
        return "bool"
    if base == str | None:
        return "str"
    return " or ".join(f"`{value}`" for value in get_args(base)) or base.__name__


def _shown(value: Any) -> str:
    return "empty" if value in ("", None) else f"`{value}`"


_PROXIES: Final = (
    "## Proxies",
    "",
    "`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in upper or lower case, apply to model servers, object"
    " stores, trace collectors and PlayMolt servers on other machines. A request to this machine never goes through a"
    " proxy: loopback in every spelling, the addresses of its interfaces, its host name, and names that its hosts file"
    " gives to one of these. Neither do requests to NATS, Postgres, the chain's node and agents' callbacks, wherever"
    " they are. SOCKS proxies are not supported. Other programs, such as `curl`, the printed bots and Node with"
    " `NODE_USE_ENV_PROXY=1`, know only the variables: set `NO_PROXY=localhost,127.0.0.1,::1` for them.",
)


def page() -> str:
    """Render docs/settings.md."""
    default = Settings()
    rows = [
        f"| `{extra['env']}` | {_kind(base)} | {_shown(extra['unset'] or getattr(default, field))} | {text} |"
        for field, (base, extra, text) in ((field, _meta(_HINTS[field])) for field in Settings.__struct_fields__)
    ]
    head = [
        "# Settings",
        "",
        "Generated by `make docs` from `core/playmolt_core/settings.py`.",
        "",
        "| variable | type | default | what it does |",
        "|---|---|---|---|",
    ]
    bots = [f"| `{variable}` | {text} |" for variable, text in OF_BOTS.items()]
    of_bots = ["", "Read by bots that play with the SDK:", "", "| variable | what it does |", "|---|---|", *bots]
    return "\n".join([*head, *rows, *of_bots, "", *_PROXIES, ""])


if __name__ == "__main__":
    sys.stdout.write(page())
