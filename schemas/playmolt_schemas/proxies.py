"""The proxy of the environment for a URL, whatever HTTP client asks.

Clients read the variables differently: some fail at `NO_PROXY=[::1]` or `fe80::/10`, few know networks, and each
reports a malformed proxy in its own way, as a bug of the caller. Here one reading serves all.
"""

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies

from playmolt_schemas.this_machine import names_this_machine

_ENTRY: Final = re.compile(r"(?:\w+://)?(?:\[(?P<bracketed>[^]]*)\]|(?P<name>[^:/]*))(?::(?P<port>\d*))?/?")


class UnusableProxy(ValueError):
    """The environment names a proxy that is none, or of a kind that is not supported."""

    def __init__(self, scheme: str) -> None:
        super().__init__(
            f"cannot use the proxy that the environment names for {scheme} addresses: set HTTP_PROXY, HTTPS_PROXY and"
            " ALL_PROXY to a URL such as http://proxy.example:3128, or except the server in NO_PROXY"
        )


def proxy_for(url: str) -> str | None:
    """The URL of the proxy for a URL; None for this machine, for what NO_PROXY excepts, and without a proxy.

    Raises UnusableProxy, which does not repeat the proxy: its URL may contain a password.
    """
    parts = urlsplit(url)
    proxies = getproxies()
    given = (proxies.get(parts.scheme) or proxies.get("all") or "").strip()
    if not given or names_this_machine(url) or _is_excepted(url, proxies.get("no", "")):
        return None
    proxy = given if "://" in given else f"http://{given}"
    if not _is_usable(proxy):
        raise UnusableProxy(parts.scheme)
    return proxy


def _is_usable(proxy: str) -> bool:
    try:
        parts = urlsplit(proxy)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and " " not in proxy
    except ValueError:
        return False


def _is_excepted(url: str, exceptions: str) -> bool:
    """Whether NO_PROXY, separated by commas or spaces, names the host: `*`, a host or domain with or without a dot or
    port, an address, or a network such as 10.0.0.0/8."""
    parts = urlsplit(url)
    host = (parts.hostname or "").partition("%")[0].removesuffix(".")
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return any(_covers(entry.casefold(), host, port) for entry in re.split(r"[\s,]+", exceptions) if entry)


def _covers(entry: str, host: str, port: int | None) -> bool:
    if entry == "*":
        return True
    address = _address(host)
    network = _network(entry.strip("[]"))
    if network is not None:
        return address is not None and address in network
    found = _ENTRY.fullmatch(entry)
    if not found or (found["port"] and int(found["port"]) != port):
        return False
    name = (found["bracketed"] or found["name"] or "").lstrip("*").strip(".")
    if address is not None:
        return address == _address(name)
    return bool(name) and (host == name or host.endswith(f".{name}"))


def _network(text: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None
