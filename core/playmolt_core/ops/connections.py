"""Limits of connections and client addresses: how many may connect, for how long, and which are closed when it is full.

A client that does not read its answer, sends half a head, or sends nothing costs the server a descriptor. A server
reports the state of each connection to its `ClientConnection`; one timer checks them all.
"""

import asyncio
import re
import resource
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from itertools import islice
from math import ceil, inf
from typing import Final, cast

import msgspec
from playmolt_schemas.limits import READER_STALL_SECONDS

from playmolt_core.ops.process import until_tick
from playmolt_core.settings import Network, Settings, parse_networks

Address = IPv4Address | IPv6Address
Headers = Iterable[tuple[bytes, bytes]]
_NET_OF_ONE: Final = 64
"""An IPv6 address counts as its /64, which usually belongs to one customer."""


_HOP: Final = re.compile(r'^"?(?:\[([0-9A-Fa-f:.]+)(?:%[^]]*)?\]|([0-9.]+))(?::[0-9]{1,5})?"?$')
"""A hop with brackets, quotes or a port: some load balancers write the port of the client, too."""


def address_of(peer: str | None, headers: Headers, trusted: Iterable[Network]) -> Address | None:
    """The client's address: the nearest one that is not a trusted proxy; None if the socket has none.

    Every proxy appends its peer, so X-Forwarded-For is read from its end, as long as the proxy that wrote is trusted.
    """
    address = _address_of_peer(peer) if peer else None
    nets = tuple(trusted)
    if not nets or address is None or not any(address in net for net in nets):
        return address
    said = b",".join(value for name, value in headers if name == b"x-forwarded-for").decode("latin-1")
    hops = [hop.strip() for hop in said.split(",")] if said else []
    while hops and any(address in net for net in nets):
        before = read_address(_HOP.sub(r"\1\2", hops.pop()))
        if before is None:
            break
        address = before
    return address


UNKNOWN: Final = "unknown"
"""The key of callers without an address."""


def bucket_of(address: Address | None) -> str:
    """The key by which an address is counted."""
    if isinstance(address, IPv6Address):
        return str(ip_network((address, _NET_OF_ONE), strict=False))
    return str(address or UNKNOWN)


def read_address(text: str) -> Address | None:
    """Parse an address; an IPv4-mapped IPv6 address becomes IPv4. None if it is invalid."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


_address_of_peer = lru_cache(1_024)(read_address)
"""Read once for the requests of a connection."""

HEAD_BYTES: Final = 16 * 1024
HEADER_LINES: Final = 100
HEAD_TOO_LARGE: Final = (
    f"The head of a request may have {HEADER_LINES} header lines and {HEAD_BYTES} bytes. Send a shorter one."
)
CONNECTIONS: Final = 20_000
OWN_FILES: Final = 200
"""Descriptors reserved for the log, NATS, Postgres and files; at most a quarter of all."""
AT_HOME: Final = 100
"""Connections of one address on a machine that allows few (at most half of them): a bot developer has only one address.
"""
SPARE: Final = 32
"""Connections beyond the bounds, for probes and operators when it is full."""
_TICK_SECONDS: Final = 1.0


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of a server's connections; `head`, `body`, `idle` and `unread` are seconds.

    A late body is answered after 30 s by the handler that reads it; `body` closes the connection if none does.
    """

    total: int = CONNECTIONS
    per_address: int = CONNECTIONS // 4
    streams: int = 400
    """Event streams of one client address; proxies in `trusted` report it."""
    opened: int = 1_200
    """Feeds that one client address may open in a minute; loopback is not counted."""
    trusted: tuple[Network, ...] = ()
    spare: int = SPARE
    head: float = 10
    body: float = 35
    idle: float = 75
    unread: float = READER_STALL_SECONDS


def allow_many_files() -> int:
    """Raise the limit of open files as far as possible and return it: every waiting bot is a connection."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return CONNECTIONS + OWN_FILES + SPARE if soft == resource.RLIM_INFINITY else soft


def bounds(settings: Settings, files: int) -> Bounds:
    """The bounds for a process with this number of descriptors."""
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
    """The connections of one address: their number, and the idle ones, oldest first."""

    __slots__ = ("count", "waiting")

    def __init__(self) -> None:
        self.count = 0
        self.waiting: OrderedDict[ClientConnection, None] = OrderedDict()


class ClientConnection:
    """One connection. Its server reports its state; the limiter sets the deadline."""

    __slots__ = ("_address", "_least", "_limiter", "_moved", "_waiting", "deadline", "name", "spare", "transport")

    def __init__(
        self, limiter: "ConnectionLimiter", transport: asyncio.Transport, name: str, address: _Address, *, spare: bool
    ) -> None:
        self._limiter = limiter
        self._address = address
        self._waiting = address.waiting
        self._least = 0
        self._moved = 0.0
        self.transport = transport
        self.name = name
        self.spare = spare
        self.deadline = inf

    def rests(self) -> None:
        """It is idle: it may stay for the idle time, or until its place is needed."""
        if self.transport.is_closing():
            return
        limiter = self._limiter
        self.deadline = limiter.now() + limiter.idle
        if self.spare:
            limiter.spare_waiting[self] = None
        else:
            limiter.waiting[self] = self._waiting[self] = None

    def sends_head(self) -> None:
        """A request has started. The connection still counts as idle: half a head is worth no more than none."""
        self.deadline = self._limiter.now() + self._limiter.bounds.head

    def sends_body(self) -> None:
        """The head is complete."""
        self._works(self._limiter.now() + self._limiter.bounds.body)

    def is_answered(self) -> None:
        """The request is complete; its answer has no deadline."""
        self._works(inf)

    def closes(self) -> None:
        """Everything is written; the client has this long to read it."""
        self._works(self._limiter.now() + self._limiter.bounds.unread)

    def _works(self, deadline: float) -> None:
        self.deadline = deadline
        if self.spare:
            self._limiter.spare_waiting.pop(self, None)
        else:
            self._limiter.waiting.pop(self, None)
            self._waiting.pop(self, None)

    def is_unread(self) -> None:
        """Its client does not read."""
        self._least, self._moved = self.transport.get_write_buffer_size(), self._limiter.now()

    def is_read(self) -> None:
        self._moved = 0.0

    def check(self, now: float) -> None:
        """Close it if it is overdue."""
        if self._moved:
            left = self.transport.get_write_buffer_size()
            if left < self._least:
                self._least, self._moved = left, now
            elif now - self._moved >= self._limiter.bounds.unread:
                self.transport.abort()
        if now < self.deadline:
            return
        if self.transport.is_closing():
            self.transport.abort()
        else:
            self.closes()
            self.transport.close()

    def forget(self) -> None:
        self._works(inf)
        self._moved = 0.0
        self._limiter.forget(self, self._address)


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
        """Admit a connection: at a bound in place of the oldest idle one, otherwise as a spare one. None: no room.

        A spare connection serves only probes and operators: the server closes it for any other request.
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
            self._timer = self._loop.call_later(self._tick(), self._check_all)
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

    def _check_all(self) -> None:
        now = self.now()
        for held in tuple(self._all):
            held.check(now)
        self._timer = self._loop.call_later(until_tick(self._tick()), self._check_all) if self._all else None


def _makes_room(room: bool, waiting: "OrderedDict[ClientConnection, None]") -> bool:
    """Whether there is room for one more, if necessary by closing the one that is idle longest."""
    if not room and waiting:
        oldest = next(iter(waiting))
        oldest.transport.abort()
        oldest.forget()
        return True
    return room


def _address(transport: asyncio.BaseTransport) -> str:
    """The key of the peer: its address, for IPv6 its /64; "" if there is none."""
    peer = transport.get_extra_info("peername")
    if not isinstance(peer, tuple):
        return ""
    return bucket_of(read_address(str(peer[0]).partition("%")[0]))


_MINUTE: Final = 60.0


class Quota:
    """A bound for each name, in this process. Names without claims take no memory."""

    def __init__(self, kind: str, most: int) -> None:
        self.kind = kind
        self.most = most
        self._held: dict[str, int] = {}

    def take(self, name: str) -> bool:
        """Take one; False if the bound is reached."""
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


class Pace:
    """A bound on how often each name does something in a minute, in this process; it is given back evenly."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._until: dict[str, float] = {}
        """When each name would have everything back, oldest names first; those that have are dropped on the way."""

    def wait(self, name: str) -> int:
        """Take one: 0, or the seconds until there is one to take."""
        now = self._clock()
        for first in list(islice(self._until, 2)):
            if self._until[first] <= now:
                del self._until[first]
        each = _MINUTE / self._most
        until = max(self._until.get(name, now), now) + each
        if until > now + _MINUTE:
            return max(1, ceil(until - now - _MINUTE))
        self._until.pop(name, None)
        self._until[name] = until
        return 0

    def __len__(self) -> int:
        return len(self._until)


Claim = tuple[Quota, str]


def take_all(claims: Sequence[Claim]) -> Claim | None:
    """Take one for each claim, or for none; return the claim that had no room."""
    for number, (quota, name) in enumerate(claims):
        if not quota.take(name):
            give_all_back(claims[:number])
            return quota, name
    return None


def give_all_back(claims: Sequence[Claim]) -> None:
    for quota, name in claims:
        quota.give_back(name)
