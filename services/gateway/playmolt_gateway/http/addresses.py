"""The public addresses of the gateway and the spectator."""

import re
from typing import Final
from urllib.parse import urlsplit

from playmolt_core.ops.connections import read_address
from playmolt_core.settings import parse_address, parse_networks
from starlette.types import Scope

from playmolt_gateway.settings import GatewaySettings

_OWN_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
_HOST: Final = re.compile(r"(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
_POLICY_HOST: Final = re.compile(r"(?=.{1,253}\Z)[a-z0-9-]+(?:\.[a-z0-9-]+)*", re.IGNORECASE | re.ASCII)
"""A host as the grammar of content security policies has it; others cannot be a source."""
_PORTS: Final = {"http": ":80", "https": ":443"}


class PublicAddress:
    """The addresses under which clients reach this gateway and its spectator."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._gateway = parse_address(settings.public_url)
        self._spectator = parse_address(settings.spectator_url)
        self._spectator_port = settings.spectator_port
        self._trusted = parse_networks(settings.trusted_proxies)
        named = [*settings.mcp_hosts.lower().split(","), urlsplit(self._gateway).netloc]
        self._hosts = frozenset(name.strip() for name in named if name.strip())

    def gateway(self, scope: Scope) -> str:
        """The configured address, or scheme and host of the request."""
        return self._gateway or f"{self._scheme(scope)}://{self._host(scope)}"

    def spectator(self, scope: Scope) -> str:
        """The configured address, or the gateway's host with the spectator's port, or (port 0) the gateway's."""
        if self._spectator:
            return self._spectator
        if not self._spectator_port:
            return self.gateway(scope)
        own = urlsplit(self.gateway(scope))
        name = f"[{own.hostname}]" if ":" in (own.hostname or "") else own.hostname
        return f"{own.scheme}://{name}:{self._spectator_port}"

    def page_feed(self, scope: Scope) -> str | None:
        """The spectator's origin for a page of this request: "" if it is the page's own.

        None if a content security policy cannot name it, as an IPv6 literal: the page uses the gateway's feeds.
        """
        if self._spectator:
            origin = urlsplit(self._spectator)
            return f"{origin.scheme}://{origin.netloc}" if _POLICY_HOST.fullmatch(origin.hostname or "") else None
        # A port of the spectator's own has no TLS: under https it is behind the page's origin.
        if not self._spectator_port or self._scheme(scope) == "https":
            return ""
        name = urlsplit(f"//{self._host(scope)}").hostname or ""
        return f"http://{name}:{self._spectator_port}" if _POLICY_HOST.fullmatch(name) else None

    def expects(self, host: str) -> bool:
        """Whether a Host header is a loopback or configured name. Others may come from DNS rebinding."""
        name, _, port = host.lower().rpartition(":")
        bare = name if port.isdigit() and name else host.lower()
        return bare in _OWN_NAMES or bool({bare, host.lower()} & self._hosts)

    def is_own(self, origin: str, host: str) -> bool:
        """Whether an origin is this server's: it matches the requested or a configured host."""
        scheme, _, name = origin.lower().partition("://")
        asked = host.lower().removesuffix(_PORTS.get(scheme, ""))
        return scheme in _PORTS and (name.removesuffix(_PORTS[scheme]) == asked or name in self._hosts)

    def leads_here(self, scheme: str, netloc: str, scope: Scope) -> bool:
        """Whether an address with this scheme and host is one of this server or machine. No host: a relative one."""
        if not netloc:
            return not scheme
        origin = f"{scheme or 'https'}://{netloc}"
        return self.is_own(origin, self._host(scope)) or (self.is_own(origin, netloc) and self.expects(netloc))

    def _scheme(self, scope: Scope) -> str:
        said = self._forwarded(scope, b"x-forwarded-proto").lower()
        return said if said in _PORTS else str(scope.get("scheme", "http"))

    def _host(self, scope: Scope) -> str:
        said = self._forwarded(scope, b"x-forwarded-host") or dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        if _is_host(said):
            return said
        name, port = scope.get("server") or ("127.0.0.1", 80)
        return f"{name}:{port}"

    def _forwarded(self, scope: Scope, header: bytes) -> str:
        """A forwarding header's last value if the peer is a trusted proxy, otherwise ""."""
        client = scope.get("client")
        address = read_address(client[0]) if client else None
        if address is None or not any(address in net for net in self._trusted):
            return ""
        said = b",".join(value for name, value in scope["headers"] if name == header).decode("latin-1")
        return said.rpartition(",")[2].strip()


def _is_host(text: str) -> bool:
    """Whether a text is a host with an optional port. Guides put it into shell commands, so nothing else may pass."""
    try:
        return bool(_HOST.fullmatch(text) and urlsplit(f"//{text}").hostname)
    except ValueError:  # brackets around what is not an IPv6 address
        return False
