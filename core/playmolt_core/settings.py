"""Settings: read from the environment, checked whole, and printed as docs/settings.md.

`Settings` declares what several services read. A service declares its own in a subclass beside its code, and names it
in its distribution as an entry point of `playmolt.settings`. `python -m playmolt_core.settings` prints all of them; a
test compares the page.
"""

import os
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated, Any, Final, Literal, cast, get_args, overload
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Meta
from playmolt_schemas.limits import LONGEST_DEADLINE_SECONDS
from playmolt_schemas.shards import MOST_SHARDS
from typing_extensions import TypeVar

from playmolt_core.server_urls import parse_database_url, parse_nats_urls, with_password_file

Network = IPv4Network | IPv6Network
Positive = Annotated[int, Meta(ge=1)]
Natural = Annotated[int, Meta(ge=0)]
Port = Annotated[int, Meta(ge=0, le=65535)]
Seconds = Annotated[float, Meta(ge=0)]
Money = Annotated[str, Meta(pattern=r"^[0-9]{1,12}(\.[0-9]{1,9})?$")]
Days = Annotated[int, Meta(ge=0, le=36_500)]
OptionalSeconds = Annotated[int, Meta(ge=0, le=LONGEST_DEADLINE_SECONDS)] | None
OptionalShards = Annotated[int, Meta(ge=1, le=MOST_SHARDS)] | None


_OFF: Final = "off"


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
    try:
        parts = urlsplit(text)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.username is None and parts.port != 0
        sound = sound and not parts.query and not parts.fragment
    except ValueError:
        sound = False
    if text and not sound:
        raise ValueError(f"{text!r} is not an address such as https://arena.example")
    return text.rstrip("/")


def parse_networks(text: str) -> tuple[Network, ...]:
    """Read addresses and networks, comma separated; raises ValueError."""
    return tuple(ip_network(part.strip()) for part in text.split(",")) if text else ()


def parse_place(text: str) -> str:
    """Read a path or the address of a bucket; raises ValueError for the address of something else."""
    scheme, separator, rest = text.partition("://")
    if separator and (scheme != "s3" or rest.partition("/")[0] == ""):
        raise ValueError(f"{text!r} is neither a path nor a bucket such as s3://BUCKET/PREFIX")
    return text


def setting(
    variable: str,
    help_text: str,
    unset: str = "",
    check: Callable[[str], object] | None = None,
    *,
    verbatim: bool = False,
) -> Meta:
    """Annotate a field of a settings struct. `unset` is shown for a setting that is None; `check` raises ValueError.

    `verbatim`: blanks around the value belong to it, such as to a secret that others have, too.
    """
    extra = {"env": variable, "unset": unset, "check": check, "verbatim": verbatim}
    return Meta(description=help_text, extra=extra)


class InvalidSettings(ValueError):
    """The environment does not make sense; the message names every fault."""


class OtherShards(InvalidSettings):
    """PLAYMOLT_LOG_SHARDS names another number than the log was made with; the message names both."""

    def __init__(self, wanted: int | None, present: int) -> None:
        super().__init__(
            f"PLAYMOLT_LOG_SHARDS is {wanted}, and this log was made with {present}: unset it, or make a new log"
        )


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator can set for several services. Services add their own in subclasses."""

    database_url: Annotated[
        str,
        setting(
            "DATABASE_URL",
            "Postgres of the event log, accounts and projections. Empty: `up` starts its own.",
            check=parse_database_url,
        ),
    ] = ""
    database_password_file: Annotated[
        str,
        setting(
            "DATABASE_PASSWORD_FILE",
            "File with the password of the user in `DATABASE_URL`, such as a mounted Secret. It is read again for each"
            " new connection and takes precedence over a password in the URL.",
        ),
    ] = ""
    nats_url: Annotated[
        str,
        setting("NATS_URL", "NATS server(s), comma separated. Empty: `up` starts its own.", check=parse_nats_urls),
    ] = ""
    nats_user: Annotated[
        str, setting("PLAYMOLT_NATS_USER", "NATS user of this service. Each user may use only its own subjects.")
    ] = ""
    nats_password: Annotated[str, setting("PLAYMOLT_NATS_PASSWORD", "Password of that user.", verbatim=True)] = ""
    nats_ca: Annotated[
        str,
        setting(
            "PLAYMOLT_NATS_CA",
            "PEM file of the CA that signs the NATS servers' certificates; a server without a valid one is"
            " refused. Empty: the machine's CAs if `NATS_URL` is `tls://`, no TLS if it is `nats://`.",
        ),
    ] = ""
    database_role: Annotated[
        str,
        setting(
            "PLAYMOLT_DATABASE_ROLE",
            "Role that the service sets on its connections if the user of the URL has more rights.",
        ),
    ] = ""
    data: Annotated[str, setting("PLAYMOLT_DATA", "Data folder of `up`: database, NATS store, credentials.")] = (
        "playmolt-data"
    )
    laboratory_url: Annotated[
        str,
        setting(
            "PLAYMOLT_LAB_URL",
            "Address of the laboratory of Agora, from which the runner of experiments asks looks, power, trials of"
            " measures, reports and bundles. `up` starts its own.",
            check=parse_address,
        ),
    ] = "http://agora-lab:8083"
    laboratory_key: Annotated[
        str,
        setting(
            "PLAYMOLT_LAB_KEY",
            "Key with which the runner of experiments calls the laboratory. Empty: `up` draws one for its own.",
        ),
    ] = ""
    host: Annotated[str, setting("PLAYMOLT_HOST", "Address that gateway and spectator listen on.")] = "127.0.0.1"
    port: Annotated[Port, setting("PLAYMOLT_PORT", "Port of the gateway.")] = 8080
    spectator_port: Annotated[Port, setting("PLAYMOLT_SPECTATOR_PORT", "Port of the spectator.")] = 8081
    health_port: Annotated[
        Port,
        setting(
            "PLAYMOLT_HEALTH_PORT", "Port of an engine's or the relay's /healthz and /readyz; 0 selects a free one."
        ),
    ] = 0
    idle_seconds: Annotated[
        float,
        Meta(gt=0),
        setting(
            "PLAYMOLT_IDLE_SECONDS",
            "Time after which gateway and spectator close an idle connection. Set it higher than the idle time of"
            " a proxy in front.",
        ),
    ] = 75.0
    connections_per_address: Annotated[
        Natural,
        setting(
            "PLAYMOLT_CONNECTIONS_PER_ADDRESS",
            "Maximum connections from one address to a gateway or spectator. Behind a proxy, all connections come"
            " from the proxy's address. 0: a quarter of the total maximum, or more if that maximum is small.",
        ),
    ] = 0
    streams_per_address: Annotated[
        Positive,
        setting(
            "PLAYMOLT_STREAMS_PER_ADDRESS",
            "Maximum open event streams of one address (IPv6: a /64) on a gateway or spectator.",
        ),
    ] = 400
    key_day_sessions: Annotated[
        Natural,
        setting(
            "PLAYMOLT_KEY_DAY_SESSIONS",
            "Maximum legal sessions and juries that a key may open in a day (UTC), over all gateways; 0: no limit.",
        ),
    ] = 0
    key_day_tokens: Annotated[
        Natural,
        setting(
            "PLAYMOLT_KEY_DAY_TOKENS",
            "Maximum tokens in a day (UTC) for the sessions of one key; 0: no limit.",
        ),
    ] = 0
    key_day_money: Annotated[
        Money,
        setting(
            "PLAYMOLT_KEY_DAY_MONEY",
            "Maximum model cost in a day (UTC) for the sessions of one key, in the currency of the catalogue; 0:"
            " no limit.",
        ),
    ] = "0"
    day_tokens: Annotated[
        Natural,
        setting(
            "PLAYMOLT_DAY_TOKENS",
            "Maximum tokens of all engines in a day (UTC), including experiments; 0: no limit.",
        ),
    ] = 0
    day_money: Annotated[
        Money,
        setting(
            "PLAYMOLT_DAY_MONEY",
            "Maximum model cost of all engines in a day (UTC), including experiments; 0: no limit.",
        ),
    ] = "0"
    operator_key: Annotated[
        str,
        setting(
            "PLAYMOLT_OPERATOR_KEY",
            "Bearer key for the operator's calls. Empty: these calls are disabled (`up` generates a key).",
        ),
    ] = ""
    house_key: Annotated[
        str,
        setting(
            "PLAYMOLT_HOUSE_KEY",
            "Bearer key that may register any number of agents of kind house, and nothing more (`up` generates one).",
        ),
    ] = ""
    callback_private: Annotated[
        bool | None,
        setting(
            "PLAYMOLT_CALLBACK_PRIVATE",
            "Whether callback URLs may use `http` and this machine. Unset: true in `up`, otherwise false.",
        ),
    ] = None
    trusted_proxies: Annotated[
        str,
        setting(
            "PLAYMOLT_TRUSTED_PROXIES",
            "Addresses or networks of proxies, comma separated, whose `X-Forwarded-For`, `-Proto` and `-Host` are"
            " trusted. Empty: none.",
            check=parse_networks,
        ),
    ] = ""
    anchor_url: Annotated[
        str,
        setting(
            "PLAYMOLT_ANCHOR_URL",
            "Place that `log anchor` writes to and `log verify --anchors` reads from: a file, or"
            " `s3://BUCKET/PREFIX`. Empty: `anchors.jsonl` in the data folder.",
            check=parse_place,
        ),
    ] = ""
    anchor_endpoint: Annotated[
        str,
        setting(
            "PLAYMOLT_ANCHOR_ENDPOINT",
            "URL of the S3-compatible object store for anchors. Empty: the provider's default.",
            check=parse_address,
        ),
    ] = ""
    anchor_region: Annotated[str, setting("PLAYMOLT_ANCHOR_REGION", "Region of the bucket for anchors.")] = "us-east-1"
    anchor_access_key: Annotated[
        str,
        setting(
            "PLAYMOLT_ANCHOR_ACCESS_KEY", "Access key for the bucket for anchors. Empty: the machine's own credentials."
        ),
    ] = ""
    anchor_secret_key: Annotated[
        str, setting("PLAYMOLT_ANCHOR_SECRET_KEY", "Secret key of PLAYMOLT_ANCHOR_ACCESS_KEY.")
    ] = ""
    deadline_seconds: Annotated[
        Seconds,
        setting(
            "PLAYMOLT_DEADLINE_SECONDS",
            "Time that the gateway waits for an engine's answer before it returns 503.",
        ),
    ] = 8.0
    pictures: Annotated[
        str,
        setting(
            "PLAYMOLT_PICTURES",
            "Folder in which gateways keep pictures and replays of finished games. Empty: `pictures` in the data"
            " folder of `up`, otherwise only memory.",
        ),
    ] = ""
    log_shards: Annotated[
        OptionalShards,
        setting(
            "PLAYMOLT_LOG_SHARDS",
            "Number of shards of the log; writers of different shards never wait for each other. Fixed when the"
            " log is created: no service starts with another number.",
            "as many as the log has; a new one has 1",
        ),
    ] = None
    stream_events: Annotated[
        Positive,
        setting(
            "PLAYMOLT_STREAM_EVENTS",
            "Number of newest events in NATS, over all shards; older ones are read from the log.",
        ),
    ] = 100_000
    stream_bytes: Annotated[
        Positive,
        setting(
            "PLAYMOLT_STREAM_BYTES",
            "Maximum bytes of each of the two streams in NATS, over all shards. NATS reserves them, so both"
            " streams must fit into its `max_memory_store` or `max_file_store`.",
        ),
    ] = 24 * 1024 * 1024
    stream_storage: Annotated[
        Literal["memory", "file"],
        setting(
            "PLAYMOLT_STREAM_STORAGE",
            "Where NATS stores the streams; lost events are filled again from the log.",
        ),
    ] = "memory"
    stream_replicas: Annotated[
        Annotated[int, Meta(ge=0, le=5)],
        setting(
            "PLAYMOLT_STREAM_REPLICAS",
            "Number of NATS servers that store each event; 0: three in a cluster of three or more, otherwise one.",
        ),
    ] = 0
    seal_keys: Annotated[
        str,
        setting(
            "PLAYMOLT_SEAL_KEYS",
            "File of the keys that wrap the sessions' keys; engines of sessions do not start without it. Empty:"
            " `seal-keys` in the data folder of `up`, which generates it.",
        ),
    ] = ""
    models: Annotated[
        str, setting("PLAYMOLT_MODELS", "TOML file of model endpoints; `scripted` is always available.")
    ] = ""
    packs: Annotated[
        str,
        setting(
            "PLAYMOLT_PACKS",
            "Folders of packs to offer in addition to the shipped ones, separated by `:`: cases for juries and"
            " trials, questions for O/X.",
        ),
    ] = ""
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        setting("PLAYMOLT_LOG_LEVEL", "Lowest level of log lines that are written."),
    ] = "info"

    def faults(self) -> Sequence[str]:
        """What is wrong with settings that belong together. Each text begins with the variable's name."""
        return ()


GROUP: Final = "playmolt.settings"
OF_BOTS: Final[Mapping[str, str]] = {
    "PLAYMOLT_KEY": "Key that a bot plays with; takes precedence over stored keys.",
    "PLAYMOLT_OWNER_KEY": "Owner's key that `playmolt owner` uses.",
    "PLAYMOLT_CREDENTIALS": "File in which `play` stores the keys of the agents that it registers.",
}
"""Variables of the SDK (`sdk/playmolt/credentials.py`): a service does not report them as misspelt settings."""
TRACE_SHARE: Final = "OTEL_TRACES_SAMPLER_ARG"
"""The share (0 to 1) of requests without a trace context that start a trace; 1 by default."""
TRACE_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
TRACE_CONTENT: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""Where traces have the texts of model calls: in the span, in an event, in both; by default nowhere."""
CONTENT_PLACES: Final[Mapping[str, frozenset[str]]] = {
    "": frozenset(),
    "NO_CONTENT": frozenset(),
    "SPAN_ONLY": frozenset({"span"}),
    "EVENT_ONLY": frozenset({"event"}),
    "SPAN_AND_EVENT": frozenset({"span", "event"}),
    "true": frozenset({"span"}),  # the old name of SPAN_ONLY
}


def trace_share(text: str) -> float:
    """The share of requests that are traced; raises ValueError."""
    try:
        share = float(text or 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ValueError("must be a share of the requests from 0 to 1, as in 0.1")
    return share


def content_places(text: str) -> frozenset[str]:
    """The places (`span`, `event`) for the texts of model calls; raises ValueError."""
    places = CONTENT_PLACES.get(text)
    if places is None:
        raise ValueError(f"must be one of {', '.join(name for name in CONTENT_PLACES if name.isupper())}, or unset")
    return places


def _collector(text: str) -> None:
    if text and not re.fullmatch(r"https?://[^/\s]+.*", text):
        raise ValueError("must be the URL of a collector, such as http://collector:4318")


_OF_TELEMETRY: Final[Mapping[str, Callable[[str], object]]] = {
    TRACE_SHARE: trace_share,
    TRACE_CONTENT: content_places,
    **dict.fromkeys(TRACE_ENDPOINTS, _collector),
}
"""Variables of OpenTelemetry that every service reads."""


S = TypeVar("S", bound=Settings, default=Settings)


class Variable(msgspec.Struct, frozen=True):
    """How a field is read from the environment."""

    name: str
    kind: Any
    text: str
    unset: str
    check: Callable[[str], object] | None
    hint: Any
    verbatim: bool


@cache
def declared() -> Mapping[str, type[Settings]]:
    """Service → its settings, of all installed distributions; "" → the shared ones."""
    own: dict[str, type[Settings]] = {point.name: point.load() for point in entry_points(group=GROUP)}
    # A struct that extends another's comes after it.
    return {"": Settings} | {name: own[name] for name in sorted(own, key=lambda name: (len(own[name].__mro__), name))}


@cache
def all_settings() -> type[Settings]:
    """One struct with the settings of every service, for a process that starts the others."""
    fields = {
        field.name: (field.name, field.type, field.default)
        for kind in declared().values()
        for field in msgspec.structs.fields(kind)
    }

    def faults(self: Settings) -> Sequence[str]:
        parts = (kind(**{name: getattr(self, name) for name in kind.__struct_fields__}) for kind in declared().values())
        return [fault for part in parts for fault in part.faults()]

    made = msgspec.defstruct(
        "AllSettings", fields.values(), bases=(Settings,), namespace={"faults": faults}, frozen=True, kw_only=True
    )
    return cast("type[Settings]", made)


@cache
def _variables(kind: type[Settings]) -> Mapping[str, Variable]:
    return {field.name: _variable(field.type) for field in msgspec.structs.fields(kind)}


def _variable(annotation: object) -> Variable:
    kind, *rest = get_args(annotation)
    meta = next(part for part in rest if isinstance(part, Meta) and part.extra)
    extra = meta.extra or {}
    return Variable(
        extra["env"], kind, str(meta.description), extra["unset"], extra["check"], annotation, extra["verbatim"]
    )


def variables() -> Mapping[str, tuple[str, type, str]]:
    """Field → (environment variable, type, help) of every setting of every service."""
    return {field: (one.name, one.kind, one.text) for field, one in _variables(all_settings()).items()}


@overload
def from_environment(environment: Mapping[str, str] | None = None) -> Settings: ...
@overload
def from_environment(environment: Mapping[str, str] | None = None, *, kind: type[S]) -> S: ...
def from_environment(environment: Mapping[str, str] | None = None, *, kind: type[Settings] = Settings) -> Settings:
    """Read the settings of a service; raises InvalidSettings naming every variable at fault.

    An empty value means the default, and blanks around a value, such as the line break behind a Secret, are left out.
    A variable of another service is not read; one of no service is a fault.
    """
    environment = os.environ if environment is None else environment
    values: dict[str, object] = {}
    errors, checks = [], []
    for field, variable in _variables(kind).items():
        given = environment.get(variable.name, "")
        raw = given if variable.verbatim else given.strip()
        if not raw:
            continue
        try:
            values[field] = msgspec.convert(raw, type=variable.hint, strict=False)
            if variable.check is not None:
                variable.check(raw)
        except msgspec.ValidationError as error:
            errors.append(f"{variable.name}={raw!r}: {error}")
        except ValueError as error:
            checks.append(f"{variable.name}: {error}")
    errors += [f"{name}: no such setting" for name in _unknown(environment, kind)]
    for name, check in _OF_TELEMETRY.items():
        try:
            check(environment.get(name, ""))
        except ValueError as error:
            errors.append(f"{name}={environment[name]!r}: {error}")
    if errors or checks:
        raise InvalidSettings("\n".join([*errors, *checks]))
    if file := str(values.pop("database_password_file", "")):
        values |= _with_password_file(str(values.get("database_url", "")), file)
    return msgspec.convert(values, type=kind)


def sound(settings: S) -> S:
    """The settings of a service that is about to run. Raises InvalidSettings if some of them do not belong together.

    Others, such as a command that reads all settings, may see only a part of them.
    """
    if faults := settings.faults():
        raise InvalidSettings("\n".join(faults))
    return settings


def _with_password_file(url: str, file: str) -> dict[str, str]:
    """The file travels with its URL, so that it is never used for another database, such as that of `up`."""
    if not url:
        return {}
    return {"database_url": with_password_file(url, quote(file)), "database_password_file": file}


def _unknown(environment: Mapping[str, str], kind: type[Settings]) -> list[str]:
    """The variables that no service reads. Other services' settings are loaded only if there may be one."""
    mine = {variable.name for variable in _variables(kind).values()} | OF_BOTS.keys()
    others = [name for name in environment if name.startswith("PLAYMOLT_") and name not in mine]
    known = {variable for variable, _, _ in variables().values()} if others else set()
    return [name for name in others if name not in known]


def to_environment(settings: Settings) -> dict[str, str]:
    """The variables that make a child process read the same settings."""
    default = type(settings)()
    return {
        variable.name: str(getattr(settings, field)).lower()
        if isinstance(getattr(settings, field), bool)
        else str(getattr(settings, field))
        for field, variable in _variables(type(settings)).items()
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


def _shown(value: object) -> str:
    return "empty" if value in ("", None) else f"`{value}`"


_PROXIES: Final = (
    "## Proxies",
    "",
    "`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in upper or lower case, apply to model servers, object"
    " stores, trace collectors and PlayMolt servers on other machines. A request to this machine never goes through a"
    " proxy: loopback in every spelling, the addresses of its interfaces, its host name, and names that its hosts file"
    " gives to one of these. Neither do requests to NATS, Postgres, the chain's node and agents' callbacks, wherever"
    " they are. `NO_PROXY` may name hosts, domains, addresses and networks such as `10.0.0.0/8`. SOCKS proxies are not"
    " supported. Other programs, such as `curl`, the printed bots and Node with"
    " `NODE_USE_ENV_PROXY=1`, know only the variables: set `NO_PROXY=localhost,127.0.0.1,::1` for them.",
)


_TABLE: Final = ("| variable | type | default | what it does |", "|---|---|---|---|")


def _rows(kind: type[Settings], shown: Collection[str]) -> list[str]:
    default = kind()
    return [
        f"| `{one.name}` | {_kind(one.kind)} | {_shown(one.unset or getattr(default, field))} | {one.text} |"
        for field, one in _variables(kind).items()
        if field not in shown
    ]


def page() -> str:
    """Render docs/settings.md."""
    kinds = declared()
    verbatim = sorted(
        {variable.name for kind in kinds.values() for variable in _variables(kind).values() if variable.verbatim}
    )
    lines = [
        "# Settings",
        "",
        "Generated by `make docs` from the settings that each service declares beside its code. An empty value means "
        "the default. Blanks around a value, such as a line break at its end, are left out, except of "
        f"{' and '.join(f'`{name}`' for name in verbatim)}.",
    ]
    shown: set[str] = set()
    for service, kind in kinds.items():
        if rows := _rows(kind, shown):
            where = kind.__module__
            title = f"## {service}" if service else "## Shared"
            lines += ["", title, "", f"Declared in `{where}`.", "", *_TABLE, *rows]
        shown |= set(kind.__struct_fields__)
    bots = [f"| `{variable}` | {text} |" for variable, text in OF_BOTS.items()]
    of_bots = [
        "",
        "## Bots",
        "",
        "Read by bots that play with the SDK:",
        "",
        "| variable | what it does |",
        "|---|---|",
    ]
    return "\n".join([*lines, *of_bots, *bots, "", *_PROXIES, ""])


if __name__ == "__main__":
    from playmolt_core.settings import page as _page  # services extend that module's `Settings`, not this one's

    sys.stdout.write(_page())
