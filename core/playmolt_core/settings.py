"""Every setting, once: read from the environment, checked whole, and printed as docs/settings.md.

`python -m playmolt_core.settings` prints that page; a test compares it.
"""

import os
import sys
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
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
        _env(
            "DATABASE_URL", "Postgres of the event log, accounts and projections. `up` starts its own when it is empty."
        ),
    ] = ""
    nats_url: Annotated[
        str, _env("NATS_URL", "NATS server(s), comma separated. `up` starts its own when it is empty.")
    ] = ""
    nats_user: Annotated[
        str, _env("PLAYMOLT_NATS_USER", "NATS user of this service; each has only its own subjects.")
    ] = ""
    nats_password: Annotated[str, _env("PLAYMOLT_NATS_PASSWORD", "Password of that user.")] = ""
    nats_ca: Annotated[
        str,
        _env(
            "PLAYMOLT_NATS_CA",
            "File (PEM) of the authority whose certificates NATS servers show; nothing is said to one without. Empty:"
            " the machine's authorities where `NATS_URL` says `tls://`, no TLS where it says `nats://`.",
        ),
    ] = ""
    database_role: Annotated[
        str,
        _env("PLAYMOLT_DATABASE_ROLE", "Role the service takes on its connections when the URL's user is a wider one."),
    ] = ""
    data: Annotated[str, _env("PLAYMOLT_DATA", "Folder of `up`: database, NATS store, credentials.")] = "playmolt-data"
    host: Annotated[str, _env("PLAYMOLT_HOST", "Address that gateway and spectator listen on.")] = "127.0.0.1"
    port: Annotated[Port, _env("PLAYMOLT_PORT", "Port of the gateway.")] = 8080
    spectator_port: Annotated[Port, _env("PLAYMOLT_SPECTATOR_PORT", "Port of the spectator.")] = 8081
    health_port: Annotated[
        Port,
        _env("PLAYMOLT_HEALTH_PORT", "Port of an engine's or the relay's /healthz and /readyz; 0 takes a free one."),
    ] = 0
    idle_seconds: Annotated[
        float,
        Meta(gt=0),
        _env(
            "PLAYMOLT_IDLE_SECONDS",
            "How long gateway and spectator keep a connection on which nothing is asked; longer than a proxy in front"
            " keeps it.",
        ),
    ] = 75.0
    connections_per_address: Annotated[
        Natural,
        _env(
            "PLAYMOLT_CONNECTIONS_PER_ADDRESS",
            "Connections that a gateway or spectator takes from one address; behind a proxy all come from the proxy's."
            " 0: a quarter of what it takes in all, and more of few.",
        ),
    ] = 0
    waits_per_key: Annotated[
        Positive,
        _env("PLAYMOLT_WAITS_PER_KEY", "Long polls, streams and session calls of one key that a gateway keeps open."),
    ] = 100
    waits_per_address: Annotated[
        Positive,
        _env(
            "PLAYMOLT_WAITS_PER_ADDRESS",
            "Those of one address (IPv6: a /64) that come without a key, and, counted apart, its calls of `/mcp`."
            " Behind a proxy name it in PLAYMOLT_TRUSTED_PROXIES.",
        ),
    ] = 400
    streams_per_address: Annotated[
        Positive,
        _env(
            "PLAYMOLT_STREAMS_PER_ADDRESS",
            "Event streams of one address (IPv6: a /64) that a gateway or spectator keeps open.",
        ),
    ] = 400
    sessions_per_key: Annotated[
        Positive,
        _env(
            "PLAYMOLT_SESSIONS_PER_KEY",
            "Legal sessions, and likewise juries, of one key that are not over, over all gateways.",
        ),
    ] = 200
    key_day_sessions: Annotated[
        Natural,
        _env(
            "PLAYMOLT_KEY_DAY_SESSIONS",
            "Legal sessions and juries that a key may open in a day (UTC), over all gateways; 0: as many as it likes.",
        ),
    ] = 0
    key_day_tokens: Annotated[
        Natural,
        _env(
            "PLAYMOLT_KEY_DAY_TOKENS",
            "Tokens that models may take in a day (UTC) for the sessions of one key; 0: no limit.",
        ),
    ] = 0
    key_day_money: Annotated[
        Money, _env("PLAYMOLT_KEY_DAY_MONEY", "What they may cost, in the currency of the catalogue; 0: no limit.")
    ] = "0"
    day_tokens: Annotated[
        Natural,
        _env(
            "PLAYMOLT_DAY_TOKENS",
            "Tokens that the engines' models may take in a day (UTC) in all, experiments too; 0: no limit.",
        ),
    ] = 0
    day_money: Annotated[Money, _env("PLAYMOLT_DAY_MONEY", "What they may cost in all; 0: no limit.")] = "0"
    operator_key: Annotated[
        str,
        _env("PLAYMOLT_OPERATOR_KEY", "Bearer key of the operator's calls; empty closes them (`up` makes one)."),
    ] = ""
    house_key: Annotated[
        str,
        _env(
            "PLAYMOLT_HOUSE_KEY",
            "Bearer key that registers agents of kind house, without limit, and is good for nothing else (`up` makes"
            " one).",
        ),
    ] = ""
    fill_seconds: Annotated[
        Annotated[int, Meta(ge=0, le=LONGEST_DEADLINE_SECONDS)] | None,
        _env(
            "PLAYMOLT_FILL_SECONDS",
            "How long an agent that is not house waits in a public lobby before house bots take the seats that are"
            " left; 0: for ever. Unset: 20 in `up`, else 0.",
        ),
    ] = None
    house_models: Annotated[
        str,
        _env(
            "PLAYMOLT_HOUSE_MODELS",
            "Aliases of PLAYMOLT_MODELS, comma separated, that take every second seat that the house fills. Empty:"
            " none.",
        ),
    ] = ""
    house_budget: Annotated[
        str,
        _env(
            "PLAYMOLT_HOUSE_BUDGET",
            "Budget of those models for a day (UTC), as in money=1.5,tokens=400000,calls=2000; beyond it, scripted bots"
            " take their seats. Empty: no limit.",
        ),
    ] = ""
    callback_private: Annotated[
        bool | None,
        _env(
            "PLAYMOLT_CALLBACK_PRIVATE",
            "Whether agents may be called on this machine and over `http`. Unset: true in `up`, else false.",
        ),
    ] = None
    registration_open: Annotated[bool, _env("PLAYMOLT_REGISTRATION_OPEN", "Whether anybody may register an agent.")] = (
        True
    )
    registration_limit: Annotated[
        str,
        _env(
            "PLAYMOLT_REGISTRATION_LIMIT",
            "Agents that an address (IPv6: a /64) may register, as `N/SECONDS`, over all gateways; the operator's"
            " key has no limit.",
        ),
    ] = "30/3600"
    trusted_proxies: Annotated[
        str,
        _env(
            "PLAYMOLT_TRUSTED_PROXIES",
            "Addresses or networks of proxies, comma separated, whose `X-Forwarded-For`, `-Proto` and `-Host` are"
            " believed; empty: none.",
        ),
    ] = ""
    public_url: Annotated[
        str,
        _env(
            "PLAYMOLT_PUBLIC_URL",
            "Address under which bots and guests reach the gateway, as in `https://arena.example`: the guides name it."
            " Empty: the address of each request.",
        ),
    ] = ""
    spectator_url: Annotated[
        str,
        _env(
            "PLAYMOLT_SPECTATOR_URL",
            "Address under which they reach the spectator. Empty: the gateway's host with the spectator's port.",
        ),
    ] = ""
    mcp_hosts: Annotated[
        str,
        _env(
            "PLAYMOLT_MCP_HOSTS",
            "Names, comma separated, under which `/mcp` may be asked besides this machine's own and that of"
            " `PLAYMOLT_PUBLIC_URL`; a name without a port means every port.",
        ),
    ] = ""
    limit_loopback: Annotated[
        bool,
        _env(
            "PLAYMOLT_LIMIT_LOOPBACK", "Whether the limits of registration and rates hold for callers on this machine."
        ),
    ] = False
    anchor_url: Annotated[
        str,
        _env(
            "PLAYMOLT_ANCHOR_URL",
            "Where `log anchor` signs to and `log verify --anchors` reads from: a file, or `s3://BUCKET/PREFIX`. Empty:"
            " `anchors.jsonl` in the data folder.",
        ),
    ] = ""
    anchor_endpoint: Annotated[
        str,
        _env("PLAYMOLT_ANCHOR_ENDPOINT", "Address of that object store, any that speaks S3. Empty: the provider's."),
    ] = ""
    anchor_region: Annotated[str, _env("PLAYMOLT_ANCHOR_REGION", "Region of that bucket.")] = "us-east-1"
    anchor_access_key: Annotated[
        str, _env("PLAYMOLT_ANCHOR_ACCESS_KEY", "Access key to that bucket. Empty: what the machine itself may.")
    ] = ""
    anchor_secret_key: Annotated[str, _env("PLAYMOLT_ANCHOR_SECRET_KEY", "Secret of that access key.")] = ""
    anchor_seconds: Annotated[
        Natural,
        _env("PLAYMOLT_ANCHOR_SECONDS", "How often `up` signs the heads of the log (`log anchor`); 0: never."),
    ] = 600
    archive_days: Annotated[
        Natural,
        _env(
            "PLAYMOLT_ARCHIVE_DAYS",
            "After how many days without a new event `log archive` takes a finished game out of the log; 0: never.",
        ),
    ] = 0
    keep_legal_days: Annotated[
        Days,
        _env(
            "PLAYMOLT_KEEP_LEGAL_DAYS",
            "After how many days without a new event `erase --due` erases a legal session; 0: never.",
        ),
    ] = 0
    keep_jury_days: Annotated[
        Days, _env("PLAYMOLT_KEEP_JURY_DAYS", "After how many it erases a session of the jury; 0: never.")
    ] = 0
    keep_blobs_days: Annotated[
        Days,
        _env(
            "PLAYMOLT_KEEP_BLOBS_DAYS",
            "After how many days without use `erase --due` deletes prompts and replies of experiments; 0: never.",
        ),
    ] = 0
    keep_archive_days: Annotated[
        Days,
        _env(
            "PLAYMOLT_KEEP_ARCHIVE_DAYS",
            "After how many days without an event in any of its games `erase --due` deletes a file of"
            " PLAYMOLT_ARCHIVE_URL, results staying; 0: never.",
        ),
    ] = 0
    archive_url: Annotated[
        str,
        _env("PLAYMOLT_ARCHIVE_URL", "Where `log archive` puts its files: a folder, or `s3://BUCKET/PREFIX`."),
    ] = ""
    archive_endpoint: Annotated[
        str,
        _env("PLAYMOLT_ARCHIVE_ENDPOINT", "Address of that object store, any that speaks S3. Empty: the provider's."),
    ] = ""
    archive_region: Annotated[str, _env("PLAYMOLT_ARCHIVE_REGION", "Region of that bucket.")] = "us-east-1"
    archive_access_key: Annotated[
        str, _env("PLAYMOLT_ARCHIVE_ACCESS_KEY", "Access key to that bucket. Empty: what the machine itself may.")
    ] = ""
    archive_secret_key: Annotated[str, _env("PLAYMOLT_ARCHIVE_SECRET_KEY", "Secret of that access key.")] = ""
    deadline_seconds: Annotated[
        Seconds,
        _env(
            "PLAYMOLT_DEADLINE_SECONDS",
            "How long the gateway tries to get an answer from an engine before it says 503.",
        ),
    ] = 8.0
    rate_limit: Annotated[
        str | None,
        _env(
            "PLAYMOLT_RATE_LIMIT",
            "Requests a key may make, as `N/SECONDS`, over all gateways; `off`: no limit. Unset, it does not hold for"
            " callers on this machine.",
            DEFAULT_RATE,
        ),
    ] = None
    action_rate_limit: Annotated[
        str | None,
        _env(
            "PLAYMOLT_ACTION_RATE_LIMIT",
            "Actions a key may send, as `N/SECONDS`, over all gateways; `off`: no limit. Unset, it does not hold for"
            " callers on this machine.",
            DEFAULT_ACTION_RATE,
        ),
    ] = None
    phase_deadline_seconds: Annotated[
        OptionalSeconds,
        _env(
            "PLAYMOLT_PHASE_DEADLINE_SECONDS",
            "How long each phase of a new game waits for missing submissions; 0: for ever; empty: each game its own.",
        ),
    ] = None
    hot_games: Annotated[
        Positive, _env("PLAYMOLT_HOT_GAMES", "Games an engine keeps in memory; the rest is read from the log.")
    ] = 10_000
    batch_commands: Annotated[Positive, _env("PLAYMOLT_BATCH_COMMANDS", "Commands in one commit at most.")] = 512
    log_shards: Annotated[
        OptionalShards,
        _env(
            "PLAYMOLT_LOG_SHARDS",
            "Shards of the log, whose writers never wait for each other: fixed when the log is made. Nothing starts"
            " where a log has another number.",
            "as many as the log has; a new one has 1",
        ),
    ] = None
    queue_commands: Annotated[
        Positive, _env("PLAYMOLT_QUEUE_COMMANDS", "Commands an engine lets wait before it answers 503.")
    ] = 20_000
    effects_at_once: Annotated[
        Positive,
        _env("PLAYMOLT_EFFECTS_AT_ONCE", "Effects (model turns, transactions) a process carries out at once."),
    ] = 64
    stream_events: Annotated[
        Positive,
        _env(
            "PLAYMOLT_STREAM_EVENTS",
            "Newest events that NATS keeps, of all shards together; older ones are read from the log.",
        ),
    ] = 100_000
    stream_bytes: Annotated[
        Positive,
        _env(
            "PLAYMOLT_STREAM_BYTES",
            "Bytes that each of the two streams keeps at most, of the newest, or all shards' of a kind together;"
            " NATS sets them aside, so that all have to fit into its `max_memory_store`, or `max_file_store`.",
        ),
    ] = 24 * 1024 * 1024
    stream_storage: Annotated[
        Literal["memory", "file"],
        _env(
            "PLAYMOLT_STREAM_STORAGE",
            "Where NATS keeps them; what it loses is filled again from the log.",
        ),
    ] = "memory"
    stream_replicas: Annotated[
        Annotated[int, Meta(ge=0, le=5)],
        _env(
            "PLAYMOLT_STREAM_REPLICAS",
            "Servers of a NATS cluster that keep each event; 0: three where three or more are known, else one.",
        ),
    ] = 0
    seal_keys: Annotated[
        str,
        _env(
            "PLAYMOLT_SEAL_KEYS",
            "File of the keys that the keys of sessions are wrapped by; engines of sessions do not start without it."
            " Empty: `seal-keys` in the data folder of `up`, which draws it.",
        ),
    ] = ""
    seal_keep_days: Annotated[
        Natural,
        _env(
            "PLAYMOLT_SEAL_KEEP_DAYS",
            "For how many days a key stays in that file that was replaced: what was erased opens from no backup after"
            " these and PLAYMOLT_SEAL_ROTATE_DAYS.",
        ),
    ] = 35
    seal_rotate_days: Annotated[
        Natural,
        _env("PLAYMOLT_SEAL_ROTATE_DAYS", "How old the newest key of that file gets before it is replaced."),
    ] = 7
    models: Annotated[str, _env("PLAYMOLT_MODELS", "TOML file of model endpoints; `scripted` is always there.")] = ""
    evm_rpc_url: Annotated[
        str,
        _env("EVM_RPC_URL", "JSON-RPC node of the chain that juries vote on; empty: `up` starts its own."),
    ] = ""
    evm_deployer_key: Annotated[
        str,
        _env("PLAYMOLT_EVM_DEPLOYER_KEY", "Private key that opens cases on that chain and pays for the jurors' votes."),
    ] = ""
    evm_confirmations: Annotated[
        Natural,
        _env(
            "PLAYMOLT_EVM_CONFIRMATIONS",
            "How many blocks, that of the last vote among them, hold a vote before the verdict is read; the chain that"
            " `up` starts asks for 0.",
        ),
    ] = 1
    evm_explorer: Annotated[
        str,
        _env(
            "PLAYMOLT_EVM_EXPLORER",
            "Block explorer of that chain, as in `https://explorer.example`: verdicts link to its pages `/tx/HASH` and"
            " `/address/ADDRESS`; empty: no links.",
        ),
    ] = ""
    jury_secret: Annotated[
        str,
        _env("PLAYMOLT_JURY_SECRET", "Secret that jurors' keys are derived from; empty: from the deployer's key."),
    ] = ""
    packs: Annotated[
        str,
        _env(
            "PLAYMOLT_PACKS",
            "Folders of packs to offer beside what is shipped, `:` between them: cases of juries and trials, questions"
            " of O/X.",
        ),
    ] = ""
    jury_cases: Annotated[
        Literal["operator", "keys"],
        _env("PLAYMOLT_JURY_CASES", "Who may bring cases over HTTP: the operator alone, or any key, up to 20 of them."),
    ] = "operator"
    pack_sweep_seconds: Annotated[
        Positive,
        _env(
            "PLAYMOLT_PACK_SWEEP_SECONDS",
            "How often unused packs of cases are deleted: neither offered nor played for an hour.",
        ),
    ] = 3600
    jury_show_stances: Annotated[
        bool, _env("PLAYMOLT_JURY_SHOW_STANCES", "Whether overseers see jurors' stances as numbers before the verdict.")
    ] = False
    stuck_seconds: Annotated[
        Positive, _env("PLAYMOLT_STUCK_SECONDS", "Idle time after which a game that is not over counts as stuck.")
    ] = 600
    log_level: Annotated[
        str, _env("PLAYMOLT_LOG_LEVEL", "Least severe log line that is written: debug, info, warning, error.")
    ] = "info"


_ADDRESSES: Final = (
    "PLAYMOLT_PUBLIC_URL", "PLAYMOLT_SPECTATOR_URL", "PLAYMOLT_ANCHOR_ENDPOINT", "PLAYMOLT_ARCHIVE_ENDPOINT",
    "PLAYMOLT_EVM_EXPLORER",
)  # fmt: skip
OF_BOTS: Final[Mapping[str, str]] = {
    "PLAYMOLT_KEY": "Key that a bot plays with; goes before kept ones.",
    "PLAYMOLT_CREDENTIALS": "File in which `play` keeps the keys of the agents that it registers.",
}
"""Variables of the SDK (`sdk/playmolt/credentials.py`): a service does not report them as misspelt settings."""


def _meta(annotation: object) -> tuple[type, Mapping[str, str], str]:
    base, *rest = get_args(annotation)
    meta = next(part for part in rest if isinstance(part, Meta) and part.extra)
    return base, meta.extra or {}, str(meta.description)


def variables() -> dict[str, tuple[str, type, str]]:
    """Field → (environment variable, type, help) of every setting."""
    hints = get_type_hints(Settings, include_extras=True)
    return {
        field: (extra["env"], base, text)
        for field, (base, extra, text) in ((f, _meta(hints[f])) for f in Settings.__struct_fields__)
    }


def from_environment(environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings; raises InvalidSettings naming every variable at fault. An empty value means the default."""
    environment = os.environ if environment is None else environment
    hints = get_type_hints(Settings, include_extras=True)
    values: dict[str, object] = {}
    errors = []
    for field, (variable, _, _) in variables().items():
        raw = environment.get(variable, "")
        if not raw:
            continue
        try:
            values[field] = msgspec.convert(raw, type=hints[field], strict=False)
        except msgspec.ValidationError as error:
            errors.append(f"{variable}={raw!r}: {error}")
    known = {variable for variable, _, _ in variables().values()}
    known |= OF_BOTS.keys()
    errors += [f"{name}: no such setting" for name in environment if name.startswith("PLAYMOLT_") and name not in known]
    for variable in ("PLAYMOLT_RATE_LIMIT", "PLAYMOLT_ACTION_RATE_LIMIT", "PLAYMOLT_REGISTRATION_LIMIT"):
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


def page() -> str:
    """Render docs/settings.md."""
    default, hints = Settings(), get_type_hints(Settings, include_extras=True)
    rows = [
        f"| `{extra['env']}` | {_kind(base)} | {_shown(extra['unset'] or getattr(default, field))} | {text} |"
        for field, (base, extra, text) in ((field, _meta(hints[field])) for field in Settings.__struct_fields__)
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
    return "\n".join([*head, *rows, *of_bots, ""])


if __name__ == "__main__":
    sys.stdout.write(page())
