"""Allowed addresses of callbacks. A name is resolved once, checked, and the connection uses exactly that address."""

import asyncio
import ipaddress
import socket
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Final
from urllib.parse import SplitResult, urlsplit

import msgspec
from playmolt_schemas.limits import CALLBACK_URL_CHARS

_SHARED: Final = ipaddress.ip_network("100.64.0.0/10")
_RESOLVED_AT_ONCE: Final = 64
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@cache
def _resolvers() -> ThreadPoolExecutor:
    """Threads for names alone: those of a name server that hangs would keep files and other names waiting."""
    return ThreadPoolExecutor(_RESOLVED_AT_ONCE, thread_name_prefix="resolve")


class BadAddress(ValueError):
    """A URL that is not allowed for callbacks; the message is the reason."""


class Target(msgspec.Struct, frozen=True):
    """A URL with the resolved address instead of the host name."""

    url: str
    host: str
    """The original host, for the Host header."""
    server_name: str | None
    """The name in the TLS certificate; None without TLS."""


def checked(url: str, *, private: bool) -> SplitResult:
    """Parse and check a URL; `private` allows http. Raises BadAddress."""
    if not 1 <= len(url) <= CALLBACK_URL_CHARS:
        raise BadAddress(f"has {len(url)} characters; allowed are 1 to {CALLBACK_URL_CHARS}")
    if any(ord(char) <= 0x20 or ord(char) == 0x7F for char in url):
        raise BadAddress("contains white space or a control character")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise BadAddress(f"is not a valid URL: {error}") from None
    schemes = ("https", "http") if private else ("https",)
    if parts.scheme not in schemes:
        raise BadAddress(f"must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}")
    if not parts.hostname or port == 0:
        raise BadAddress("has no host")
    if parts.username is not None or parts.password is not None:
        raise BadAddress("must not contain a user or a password")
    if "#" in url:
        raise BadAddress("must not contain a fragment")
    return parts


async def resolved(url: str, *, private: bool) -> Target:
    """Resolve a URL and check all addresses of its host; `private` allows loopback. Raises BadAddress."""
    parts = checked(url, private=private)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        found = await asyncio.get_running_loop().run_in_executor(
            _resolvers(), partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        )
    except (OSError, UnicodeError) as error:
        raise BadAddress(f"{host} does not resolve: {error}") from None
    addresses = list(dict.fromkeys(ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found))
    if not addresses:
        raise BadAddress(f"{host} does not resolve")
    for address in addresses:
        if not allowed(address, private=private):
            raise BadAddress(f"{host} resolves to {address}, which is not a public address")
    return _target(parts, addresses[0], port)


def allowed(address: Address, *, private: bool) -> bool:
    """Whether callbacks may use an address: public, or loopback with `private`."""
    if isinstance(address, ipaddress.IPv6Address) and (inner := _within(address)) is not None:
        return private and inner.is_loopback
    if private and address.is_loopback:
        return True
    if address.is_multicast or address.is_unspecified or address.is_reserved:
        return False
    return address.is_global and not (address.version == 4 and address in _SHARED)


def _within(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that is embedded in an IPv6 address: mapped, 6to4, Teredo, or translated (64:ff9b::/96)."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in ipaddress.ip_network("64:ff9b::/96"):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None


def _target(parts: SplitResult, address: Address, port: int) -> Target:
    literal = f"[{address}]" if address.version == 6 else str(address)
    url = parts._replace(netloc=f"{literal}:{port}").geturl()
    name = parts.hostname or ""
    shown = f"[{name}]" if ":" in name else name
    host = shown if parts.port is None else f"{shown}:{parts.port}"
    return Target(url, host, name if parts.scheme == "https" else None)
