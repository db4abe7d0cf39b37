"""Who may be connected to a server, for how long, and who goes first when it is full: one place for all servers.

A connection that takes nothing of what it asked for, says half a head and no more, or says nothing at all costs its
sender nothing and the server a descriptor. A server tells a `ClientConnection` where its connection stands; one timer looks at all.
"""

import asyncio
import resource
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from math import inf
from typing import Final, cast

import msgspec
from playmolt_schemas.limits import READER_STALL_SECONDS

from playmolt_core.settings import Network, Settings, parse_networks

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


HEAD_BYTES: Final = 16 * 1024
HEADER_LINES: Final = 100
HEAD_TOO_LARGE: Final = (
    f"The head of a request may have {HEADER_LINES} header lines and {HEAD_BYTES} bytes. Send a shorter one."
)
CONNECTIONS: Final = 20_000
OWN_FILES: Final = 200
"""Descriptors that are no connection of a client: the log, NATS, Postgres, files being read. Of few a quarter."""
AT_HOME: Final = 100
"""Connections that one address may have on a machine that allows few, half of them at most: whoever develops a bot has
no other."""
SPARE: Final = 32
"""Connections beyond the bounds, for whoever must get in when it is full: probes and operators."""
_TICK_SECONDS: Final = 1.0


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of a server's connections; `head`, `body`, `idle` and `unread` are seconds.

    A body that is late after 30 s is answered by who waits for it; `body` ends the connection where nobody does.
    """

    total: int = CONNECTIONS
    per_address: int = CONNECTIONS // 4
    streams: int = 400
    """Event streams of one address, which those in `trusted` may tell."""
    trusted: tuple[Network, ...] = ()
    spare: int = SPARE
    head: float = 10
    body: float = 35
    idle: float = 75
    unread: float = READER_STALL_SECONDS


def allow_many_files() -> int:
    """Raise the limit of open files as far as it goes, and give it: every waiting bot is a connection."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return CONNECTIONS + OWN_FILES + SPARE if soft == resource.RLIM_INFINITY else soft


def bounds(settings: Settings, files: int) -> Bounds:
    """What a process with so many descriptors may hold."""
    total = max(1, min(CONNECTIONS, files - min(OWN_FILES, files // 4) - SPARE))
    per_address = settings.connections_per_address or max(total // 4, min(total // 2, AT_HOME))
    return Bounds(
        total=total,
        per_address=min(per_address, total),
        streams=settings.streams_per_address,
        trusted=parse_networks(settings.trusted_proxies),
        idle=settings.idle_seconds,
    )


class _Address:
    """The connections of one address: how many, and which of them wait for a request, the oldest first."""

    __slots__ = ("count", "waiting")

    def __init__(self) -> None:
        self.count = 0
        self.waiting: OrderedDict[ClientConnection, None] = OrderedDict()


class ClientConnection:
    """One connection. Its server says where it stands; what it may then take is up to the door."""

    __slots__ = ("_address", "_door", "_least", "_moved", "_waiting", "deadline", "name", "spare", "transport")

    def __init__(
        self, door: "ConnectionLimiter", transport: asyncio.Transport, name: str, address: _Address, *, spare: bool
    ) -> None:
        self._door = door
        self._address = address
        self._waiting = address.waiting
        self._least = 0
        self._moved = 0.0
        self.transport = transport
        self.name = name
        self.spare = spare
        self.deadline = inf

    def rests(self) -> None:
        """Nothing is asked: it lives for as long as an idle connection may, or until its place is needed."""
        if self.transport.is_closing():
            return
        door = self._door
        self.deadline = door.now() + door.idle
        if self.spare:
            door.spare_waiting[self] = None
        else:
            door.waiting[self] = self._waiting[self] = None

    def sends_head(self) -> None:
        """A request has begun. Its place in the line stays: half a head is worth no more than none."""
        self.deadline = self._door.now() + self._door.bounds.head

    def sends_body(self) -> None:
        """The head is whole."""
        self._works(self._door.now() + self._door.bounds.body)

    def is_answered(self) -> None:
        """The request is whole; the answer takes what it takes."""
        self._works(inf)

    def closes(self) -> None:
        """What was written is all there is; the client has this long to take it."""
        self._works(self._door.now() + self._door.bounds.unread)

    def _works(self, deadline: float) -> None:
        self.deadline = deadline
        if self.spare:
            self._door.spare_waiting.pop(self, None)
        else:
            self._door.waiting.pop(self, None)
            self._waiting.pop(self, None)

    def is_unread(self) -> None:
        """Its client does not take what is sent."""
        self._least, self._moved = self.transport.get_write_buffer_size(), self._door.now()

    def is_read(self) -> None:
        self._moved = 0.0

    def look(self, now: float) -> None:
        """End it when it is overdue."""
        if self._moved:
            left = self.transport.get_write_buffer_size()
            if left < self._least:
                self._least, self._moved = left, now
            elif now - self._moved >= self._door.bounds.unread:
                self.transport.abort()
        if now < self.deadline:
            return
        if self.transport.is_closing():
            self.transport.abort()
        else:
            self.closes()
            self.transport.close()

    def gone(self) -> None:
        self._works(inf)
        self._moved = 0.0
        self._door.forget(self, self._address)


class ConnectionLimiter:
    """All connections of a server."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.idle = bounds.idle
        self.waiting: OrderedDict[ClientConnection, None] = OrderedDict()
        self.spare_waiting: OrderedDict[ClientConnection, None] = OrderedDict()
        self._loop = asyncio.get_running_loop()
        self.now = self._loop.time
        self._all: set[ClientConnection] = set()
        self._spare = 0
        self._addresses: dict[str, _Address] = {}
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._all)

    def admit(self, transport: asyncio.BaseTransport) -> ClientConnection | None:
        """Take a connection in; at a bound in the place of the oldest idle one, else as a spare one. None: no room.

        A spare connection serves probes and operators alone: its server ends it when its request is another's.
        """
        name = _address(transport)
        address = self._addresses.get(name) or _Address()
        spare = not (
            _makes_room(address.count < self.bounds.per_address, address.waiting)
            and _makes_room(len(self._all) - self._spare < self.bounds.total, self.waiting)
        )
        if spare and not _makes_room(self._spare < self.bounds.spare, self.spare_waiting):
            return None
        held = ClientConnection(self, cast("asyncio.Transport", transport), name, address, spare=spare)
        self._addresses[name] = address
        address.count += not spare
        self._spare += spare
        self._all.add(held)
        held.rests()
        if self._timer is None:
            self._timer = self._loop.call_later(self._tick(), self._look)
        return held

    def forget(self, held: ClientConnection, address: _Address) -> None:
        if held not in self._all:
            return
        self._all.remove(held)
        self._spare -= held.spare
        address.count -= not held.spare
        if not address.count and self._addresses.get(held.name) is address:
            del self._addresses[held.name]

    def _tick(self) -> float:
        shortest = min(self.bounds.head, self.bounds.body, self.bounds.idle, self.bounds.unread)
        return min(_TICK_SECONDS, shortest / 5)

    def _look(self) -> None:
        now = self.now()
        for held in tuple(self._all):
            held.look(now)
        self._timer = self._loop.call_later(self._tick(), self._look) if self._all else None


def _makes_room(room: bool, waiting: "OrderedDict[ClientConnection, None]") -> bool:
    """Whether there is room for one more, if need be in the place of the one that has waited longest."""
    if not room and waiting:
        oldest = next(iter(waiting))
        oldest.transport.abort()
        oldest.gone()
        return True
    return room


def _address(transport: asyncio.BaseTransport) -> str:
    """Who connects: an address, of IPv6 the network that one customer has; "" where there is none."""
    peer = transport.get_extra_info("peername")
    if not isinstance(peer, tuple):
        return ""
    return bucket_of(read_address(str(peer[0]).partition("%")[0]))


class Quota:
    """A bound for each name. Who holds nothing takes no memory."""

    def __init__(self, kind: str, most: int) -> None:
        self.kind = kind
        self.most = most
        self._held: dict[str, int] = {}

    def take(self, name: str) -> bool:
        """Whether there was room for one more."""
        held = self._held.get(name, 0)
        if held >= self.most:
            return False
        self._held[name] = held + 1
        return True

    def give_back(self, name: str) -> None:
        left = self._held[name] - 1
        if left:
            self._held[name] = left
        else:
            del self._held[name]

    def __len__(self) -> int:
        return len(self._held)


Claim = tuple[Quota, str]


def take_all(claims: Sequence[Claim]) -> Claim | None:
    """Take one under each claim, or under none; gives the claim that had no room."""
    for number, (quota, name) in enumerate(claims):
        if not quota.take(name):
            give_all_back(claims[:number])
            return quota, name
    return None


def give_all_back(claims: Sequence[Claim]) -> None:
    for quota, name in claims:
        quota.give_back(name)
