"""Which URLs name this machine. A request to one never goes through a proxy, whatever the environment says.

A proxy connects from where it runs: its 127.0.0.1 is another machine, or it refuses. Variables such as `no_proxy`
cannot express the rule, because an address has many spellings and the clients parse the variable differently.
"""

import re
import socket
import unicodedata
from contextlib import closing
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

HOSTS_FILE: Final = Path("/etc/hosts")
_NUMBERS: Final = re.compile(r"[0-9a-fx.]+")
_DOTS: Final = str.maketrans({"\u3002": ".", "\uff0e": ".", "\uff61": "."})
"""The dots of IDNA."""
_DISCARD_PORT: Final = 9


def names_this_machine(url: str, hosts: Path = HOSTS_FILE) -> bool:
    """Whether the host of a URL is this machine: a loopback address in any spelling, an address of one of its
    interfaces, its host name, or a name that the hosts file gives to one of these.

    Sends nothing: names of the DNS are not resolved. An invalid URL is not this machine.
    """
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return False
    return bool(host) and _is_own(_normalized(host or ""), hosts)


def is_loopback(url: str) -> bool:
    """Whether a URL names this machine by a loopback address or as localhost, which no other machine reaches."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _normalized(host: str) -> str:
    plain = unicodedata.normalize("NFKC", host).translate(_DOTS).casefold()
    return plain.partition("%")[0].removesuffix(".")  # without the zone of an IPv6 address


def _is_own(host: str, hosts: Path) -> bool:
    address = _address(host)
    if address is not None:
        return _is_own_address(address)
    if host == "localhost" or host.endswith(".localhost") or host in _own_names():
        return True
    return any(_is_own_address(each) for each in _listed(host, hosts))


def _address(host: str) -> IPv4Address | IPv6Address | None:
    """Parse an address, also in the short, octal and hexadecimal forms that connections accept."""
    try:
        address = ip_address(host)
    except ValueError:
        if not _NUMBERS.fullmatch(host):
            return None
        try:
            return IPv4Address(socket.inet_aton(host))
        except OSError:
            return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _own_names() -> frozenset[str]:
    name = _normalized(socket.gethostname())
    short = name.partition(".")[0]
    return frozenset({name, short, f"{short}.local"} if short else ())


def _is_own_address(address: IPv4Address | IPv6Address) -> bool:
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        # Connecting a datagram socket sends nothing; the route to an address of this machine begins at that address.
        with closing(socket.socket(family, socket.SOCK_DGRAM)) as probe:
            probe.connect((str(address), _DISCARD_PORT))
            return ip_address(str(probe.getsockname()[0]).partition("%")[0]) == address
    except OSError:
        return False


def _listed(host: str, hosts: Path) -> list[IPv4Address | IPv6Address]:
    """The addresses that the hosts file gives to a name."""
    try:
        lines = hosts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    entries = [line.partition("#")[0].split() for line in lines]
    found = (_address(words[0].partition("%")[0]) for words in entries if host in map(_normalized, words[1:]))
    return [address for address in found if address is not None]
