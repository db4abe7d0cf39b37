"""From which address a request comes: the socket's, or what trusted proxies say."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

from playmolt_core.settings import Network

Address = IPv4Address | IPv6Address
Headers = Iterable[tuple[bytes, bytes]]
_NET_OF_ONE: Final = 64
"""An IPv6 address counts with its /64: whoever has one address has them all."""


def address_of(peer: str | None, headers: Headers, trusted: Iterable[Network]) -> Address | None:
    """The nearest address that is no trusted proxy; None when the socket has none.

    Every proxy appends whom it heard, so X-Forwarded-For is read from its end, and only as far as who wrote it is
    trusted.
    """
    address = read_address(peer) if peer else None
    nets = tuple(trusted)
    if not nets or address is None or not any(address in net for net in nets):
        return address
    said = b",".join(value for name, value in headers if name == b"x-forwarded-for").decode("latin-1")
    hops = [hop.strip() for hop in said.split(",")] if said else []
    while hops and any(address in net for net in nets):
        before = read_address(hops.pop())
        if before is None:
            break
        address = before
    return address


def bucket_of(address: Address | None) -> str:
    """The name under which an address is counted."""
    if isinstance(address, IPv6Address):
        return str(ip_network((address, _NET_OF_ONE), strict=False))
    return str(address or "unknown")


def read_address(text: str) -> Address | None:
    """An address as text, one of IPv4 also where it is written as one of IPv6; None for what is none."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address
