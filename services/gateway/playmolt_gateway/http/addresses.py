"""From which address a request comes: the socket's, or what trusted proxies say of those before them."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from playmolt_core.settings import Network
from starlette.types import Scope

Address = IPv4Address | IPv6Address
_NET_OF_ONE = 64
"""An IPv6 address counts with its /64: whoever has one address has them all."""


def address_of(scope: Scope, trusted: Iterable[Network]) -> Address | None:
    """The nearest address that is no trusted proxy; None when the socket has none.

    Every proxy appends whom it heard, so the header is read from its end, and only as far as who wrote it is trusted.
    """
    client = scope.get("client")
    address = _read(client[0]) if client else None
    said = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for").decode("latin-1")
    hops = [hop.strip() for hop in said.split(",")] if said else []
    nets = tuple(trusted)
    while hops and address is not None and any(address in net for net in nets):
        before = _read(hops.pop())
        if before is None:
            break
        address = before
    return address


def bucket_of(address: Address | None) -> str:
    """The name under which an address is counted."""
    if isinstance(address, IPv6Address):
        return str(ip_network((address, _NET_OF_ONE), strict=False))
    return str(address or "unknown")


def _read(text: str) -> Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address
