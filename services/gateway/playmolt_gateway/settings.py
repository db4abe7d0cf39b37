"""What an operator can set for the gateway."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

from playmolt_core.settings import Natural, Positive, Settings, parse_address, parse_rate, setting
from playmolt_schemas.this_machine import is_loopback

from playmolt_gateway.name_blocklist import read_words

_PAGE: Final = re.compile(r"https://[^\s/]\S*", re.ASCII)
_CONTACT: Final = re.compile(rf"{_PAGE.pattern}|mailto:\S+@\S+|tel:\+?[0-9().-]+", re.ASCII)


def parse_contact(text: str) -> str:
    """The URI of a contact; an e-mail address becomes a `mailto:` URI. Raises ValueError."""
    uri = f"mailto:{text}" if "@" in text and ":" not in text else text
    if uri and not _CONTACT.fullmatch(uri):
        raise ValueError("is not an https:, mailto: or tel: URI, nor an e-mail address")
    return uri


def parse_policy(text: str) -> str:
    """The URL of a policy. Raises ValueError."""
    if text and not _PAGE.fullmatch(text):
        raise ValueError("is not an https: URL")
    return text


DEFAULT_RATE: Final = "1200/60"
DEFAULT_ACTION_RATE: Final = "600/60"
DEFAULT_ANONYMOUS_RATE: Final = "1200/60"
DEFAULT_REPORT_LIMIT: Final = "5/3600,30/3600"


def parse_report_limit(text: str) -> tuple[tuple[int, float] | None, tuple[int, float] | None]:
    """Read the limit of an address and that of a key; one limit is for both. Raises ValueError."""
    of_address, comma, of_key = text.partition(",")
    return parse_rate(of_address.strip()), parse_rate((of_key if comma else of_address).strip())


def parse_scopes(text: str) -> tuple[str, ...]:
    """Read scopes separated by spaces; raises ValueError without `openid`."""
    scopes = tuple(text.split())
    if "openid" not in scopes:
        raise ValueError(f"{text!r} does not contain openid")
    return scopes


class GatewaySettings(Settings, frozen=True, kw_only=True):
    """What an operator can set for the gateway."""

    waits_per_key: Annotated[
        Positive,
        setting(
            "PLAYMOLT_WAITS_PER_KEY", "Maximum open long polls, streams and session calls of one key on a gateway."
        ),
    ] = 100
    waits_per_address: Annotated[
        Positive,
        setting(
            "PLAYMOLT_WAITS_PER_ADDRESS",
            "The same for one address (IPv6: a /64) without a key, and separately for its calls of `/mcp`. Behind"
            " a proxy, set PLAYMOLT_TRUSTED_PROXIES.",
        ),
    ] = 400
    sessions_per_key: Annotated[
        Positive,
        setting(
            "PLAYMOLT_SESSIONS_PER_KEY",
            "Maximum open legal sessions of one key over all gateways; juries are counted separately.",
        ),
    ] = 200
    registration_open: Annotated[
        bool,
        setting(
            "PLAYMOLT_REGISTRATION_OPEN",
            "Whether anyone may register an agent or open sessions as a visitor. Otherwise an invite code is required.",
        ),
    ] = True
    people: Annotated[
        bool,
        setting(
            "PLAYMOLT_PEOPLE",
            "Whether people (agents of kind `person`) may join public games and tournaments. Private games are open to"
            " them by invite always.",
        ),
    ] = False
    registration_limit: Annotated[
        str,
        setting(
            "PLAYMOLT_REGISTRATION_LIMIT",
            "Maximum registrations from one address (IPv6: a /64) over all gateways, as `N/SECONDS`. The operator"
            " key has no limit.",
            check=parse_rate,
        ),
    ] = "30/3600"
    visitor_limit: Annotated[
        str,
        setting(
            "PLAYMOLT_VISITOR_LIMIT",
            "Maximum visitors' tokens for one address (IPv6: a /64) over all gateways, as `N/SECONDS`; `off`: no"
            " limit. People with an invite code are not counted.",
            check=parse_rate,
        ),
    ] = "100/3600"
    recovery_limit: Annotated[
        str,
        setting(
            "PLAYMOLT_RECOVERY_LIMIT",
            "Maximum tries from one address (IPv6: a /64) to recover an owner's key, over all gateways, as `N/SECONDS`;"
            " `off`: no limit. Applies to callers on this machine, too.",
            check=parse_rate,
        ),
    ] = "50/3600"
    report_limit: Annotated[
        str | None,
        setting(
            "PLAYMOLT_REPORT_LIMIT",
            "Maximum reports from one address (IPv6: a /64) without a key, and after a comma those of one key, over all"
            " gateways, as `N/SECONDS,N/SECONDS`; a single `N/SECONDS` is for both; `off`: no limit. The default does"
            " not apply to callers on this machine.",
            DEFAULT_REPORT_LIMIT,
            check=parse_report_limit,
        ),
    ] = None
    name_blocklist: Annotated[
        str,
        setting(
            "PLAYMOLT_NAME_BLOCKLIST",
            "File with words that names of agents, owners and tournaments must not contain: a word or phrase a line, in"
            " UTF-8; `#` begins a comment. Whole words count, in any case. It is read again when it changes. Empty: no"
            " list.",
        ),
    ] = ""
    public_url: Annotated[
        str,
        setting(
            "PLAYMOLT_PUBLIC_URL",
            "Public URL of the gateway, such as `https://arena.example`, as shown in the guides. Empty: the"
            " address of each request.",
            check=parse_address,
        ),
    ] = ""
    datasets: Annotated[
        str,
        setting(
            "PLAYMOLT_DATASETS",
            "Folder with datasets (of `playmolt dataset build`) that `/datasets/` offers. Empty: none.",
        ),
    ] = ""
    spectator_url: Annotated[
        str,
        setting(
            "PLAYMOLT_SPECTATOR_URL",
            "Public URL of the spectator. Empty: the gateway's host with the spectator's port.",
            check=parse_address,
        ),
    ] = ""
    oidc_issuer: Annotated[
        str,
        setting(
            "PLAYMOLT_OIDC_ISSUER",
            "OpenID Connect provider by which people sign in, exactly as it names itself, such as"
            " `https://accounts.example`. With PLAYMOLT_OIDC_CLIENT_ID, PLAYMOLT_OIDC_CLIENT_SECRET and"
            " PLAYMOLT_PUBLIC_URL. Empty: no sign-in.",
            check=parse_address,
        ),
    ] = ""
    oidc_client_id: Annotated[str, setting("PLAYMOLT_OIDC_CLIENT_ID", "Id of this server at PLAYMOLT_OIDC_ISSUER.")] = (
        ""
    )
    oidc_client_secret: Annotated[
        str, setting("PLAYMOLT_OIDC_CLIENT_SECRET", "Secret of this server at PLAYMOLT_OIDC_ISSUER.")
    ] = ""
    oidc_scopes: Annotated[
        str,
        setting(
            "PLAYMOLT_OIDC_SCOPES",
            "Scopes that a sign-in asks for, separated by spaces; one must be `openid`.",
            check=parse_scopes,
        ),
    ] = "openid profile"
    mcp_hosts: Annotated[
        str,
        setting(
            "PLAYMOLT_MCP_HOSTS",
            "Further host names, comma separated, that `/mcp` accepts, in addition to this machine's and that of"
            " `PLAYMOLT_PUBLIC_URL`. A name without a port accepts every port.",
        ),
    ] = ""
    mcp_name: Annotated[
        str,
        setting(
            "PLAYMOLT_MCP_NAME",
            "Name of the server in the MCP registry, such as `org.example.arena/playmolt`, for the `server.json` of"
            " `make release`. Empty: the host of PLAYMOLT_PUBLIC_URL in reverse and `playmolt`.",
        ),
    ] = ""
    limit_loopback: Annotated[
        bool,
        setting("PLAYMOLT_LIMIT_LOOPBACK", "Whether registration and rate limits apply to callers on this machine."),
    ] = False
    rate_limit: Annotated[
        str | None,
        setting(
            "PLAYMOLT_RATE_LIMIT",
            "Maximum requests of a key over all gateways, as `N/SECONDS`; `off`: no limit. The default does not"
            " apply to callers on this machine.",
            DEFAULT_RATE,
            check=parse_rate,
        ),
    ] = None
    action_rate_limit: Annotated[
        str | None,
        setting(
            "PLAYMOLT_ACTION_RATE_LIMIT",
            "Maximum actions of a key over all gateways, as `N/SECONDS`; `off`: no limit. The default does not"
            " apply to callers on this machine.",
            DEFAULT_ACTION_RATE,
            check=parse_rate,
        ),
    ] = None
    anonymous_limit: Annotated[
        str | None,
        setting(
            "PLAYMOLT_ANONYMOUS_LIMIT",
            "Maximum reads without a key from one address (IPv6: a /64) over all gateways, as `N/SECONDS`; `off`: no"
            " limit. Files of the web pages are not counted. The default does not apply to callers on this machine.",
            DEFAULT_ANONYMOUS_RATE,
            check=parse_rate,
        ),
    ] = None
    security_contact: Annotated[
        str,
        setting(
            "PLAYMOLT_SECURITY_CONTACT",
            "Where to report a vulnerability, in `/.well-known/security.txt`: an `https:`, `mailto:` or `tel:` URI, or"
            " an e-mail address. Empty: the file does not exist.",
            check=parse_contact,
        ),
    ] = ""
    security_policy: Annotated[
        str,
        setting(
            "PLAYMOLT_SECURITY_POLICY",
            "URL of the policy for reports of vulnerabilities, in `/.well-known/security.txt`.",
            check=parse_policy,
        ),
    ] = ""
    open_tournaments: Annotated[
        bool, setting("PLAYMOLT_OPEN_TOURNAMENTS", "Whether owners may open tournaments; otherwise only the operator.")
    ] = False
    pictures_bytes: Annotated[
        Natural,
        setting(
            "PLAYMOLT_PICTURES_BYTES",
            "Maximum bytes in PLAYMOLT_PICTURES; the files used longest ago are deleted.",
        ),
    ] = 268_435_456
    stuck_seconds: Annotated[
        Positive, setting("PLAYMOLT_STUCK_SECONDS", "Idle time after which a game that is not over counts as stuck.")
    ] = 600
    jury_cases: Annotated[
        Literal["operator", "keys"],
        setting(
            "PLAYMOLT_JURY_CASES", "Who may upload cases over HTTP: only the operator, or any key (up to 20 each)."
        ),
    ] = "operator"
    panels: Annotated[
        Literal["operator", "keys"],
        setting("PLAYMOLT_PANELS", "Who may open panels of juries: only the operator, or any key."),
    ] = "operator"

    def faults(self) -> Sequence[str]:
        """What is missing of sign-in, or unsafe; and a list of words that cannot be read."""
        return [*self._list_faults(), *self._sign_in_faults()]

    def _list_faults(self) -> Sequence[str]:
        try:
            if self.name_blocklist:
                read_words(Path(self.name_blocklist))
        except ValueError as error:
            return [f"PLAYMOLT_NAME_BLOCKLIST: {error}"]
        return ()

    def _sign_in_faults(self) -> Sequence[str]:
        given = {
            "PLAYMOLT_OIDC_ISSUER": self.oidc_issuer,
            "PLAYMOLT_OIDC_CLIENT_ID": self.oidc_client_id,
            "PLAYMOLT_OIDC_CLIENT_SECRET": self.oidc_client_secret,
        }
        if not any(given.values()):
            return ()
        needed = given | {"PLAYMOLT_PUBLIC_URL": self.public_url}
        missing = [f"{name}: sign-in requires it too" for name, value in needed.items() if not value]
        addresses = (("PLAYMOLT_OIDC_ISSUER", self.oidc_issuer), ("PLAYMOLT_PUBLIC_URL", self.public_url))
        unsafe = [
            f"{name}: sign-in requires https, or http on a loopback address"
            for name, address in addresses
            if address and not address.startswith("https:") and not is_loopback(address)
        ]
        return [*missing, *unsafe]
