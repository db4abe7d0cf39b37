"""Whose jury sessions a terminal plays: the key kept in the data folder, and the gateway it is for."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from playmolt.client import Client
from playmolt.errors import PlayMoltError, Refused
from playmolt.retries import Retry

from playmolt_cli.failures import Failure
from playmolt_cli.legal_key import Desk, KeyFile
from playmolt_cli.legal_key import desk as legal_desk
from playmolt_cli.story import printable

_RETRY: Final = Retry(attempts=6, seconds=12.0)
"""A person waits: a server that is away is told of soon."""


def desk(url: str | None, data: Path | None) -> Desk:
    """Find the gateway, that of the `up` on the data folder unless a URL is given, and the file of the key for it."""
    place = legal_desk(url, data)
    kept = place.key_file.path
    return Desk(place.url, KeyFile(kept.with_name(f"jury-{kept.name.removeprefix('legal-')}")))


@contextmanager
def client(place: Desk, key: str | None, *, name: str = "") -> Iterator[Client]:
    """Give a client with the person's key, one made now when there is none and a name to make it for."""
    kept = "" if key else place.key_file.read()
    if not (key or kept or name):
        raise Failure(f"there is no key in {place.key_file.path}: give the one that played it with --key")
    try:
        with Client(place.url, key or kept, retry=_RETRY) as calls:
            if not calls.key:
                place.key_file.write(calls.register(name).api_key)
            yield calls
    except Refused as refusal:
        raise Failure(_refused(refusal, place, kept)) from refusal
    except PlayMoltError as error:
        raise Failure(f"{place.url}: {error}") from error
    except ValueError as error:  # a URL without http, a text that is no Unicode
        raise Failure(str(error)) from error


def _refused(refusal: Refused, place: Desk, kept: str) -> str:
    told = [f"{refusal.detail} ({refusal.code})", *(f"  {fault.field}: {fault.message}" for fault in refusal.errors)]
    if refusal.code == "unauthorized" and kept:
        told.append(f"  the key is that of {place.key_file.path}; without the file `playmolt jury play` makes another")
    return "\n".join(map(printable, told))
