"""Buckets of S3-compatible object stores."""

from asyncio import to_thread
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec
import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import S3Store
from playmolt_schemas.this_machine import names_this_machine

if TYPE_CHECKING:
    from obstore.store import ClientConfig

SCHEME: Final = "s3://"
_SECONDS: Final = timedelta(seconds=10)
_TRIED_FOR: Final = timedelta(seconds=30)


_UNUSED_PROXY: Final = "http://127.0.0.1:9"
"""The library reads the environment's proxies unless it has one of its own. This one excludes the endpoint's host; "*"
excludes no address (obstore 0.12.1)."""


class PlaceUnavailable(OSError):
    """The store does not answer or denies access."""


class Access(msgspec.Struct, frozen=True):
    """The access to a store. `endpoint` "": the provider's; `key` "": the credentials of the machine."""

    endpoint: str
    region: str
    key: str
    secret: str
    seconds: timedelta = _SECONDS
    """For one object."""


class Bucket:
    """Objects under `s3://BUCKET/PREFIX`, named without the prefix. Every method raises PlaceUnavailable.

    The library is called from threads, not from its own event loop: one of its threads that lets go of an answer while
    the interpreter ends aborts the process, after all is done.
    """

    def __init__(self, url: str, access: Access) -> None:
        parts = urlsplit(url)
        if not parts.netloc:
            raise PlaceUnavailable(f"{url} names no bucket: use s3://BUCKET/PREFIX")
        self.url = url.rstrip("/")
        given = {"endpoint": access.endpoint, "access_key_id": access.key, "secret_access_key": access.secret}
        options: dict[str, Any] = {name: value for name, value in given.items() if value}
        client: ClientConfig = {
            "allow_http": access.endpoint.startswith("http://"),
            "connect_timeout": _SECONDS,
            "timeout": access.seconds,
        }
        if names_this_machine(access.endpoint):
            client |= {"proxy_url": _UNUSED_PROXY, "proxy_excludes": urlsplit(access.endpoint).hostname or ""}
        self._store = S3Store(
            parts.netloc,
            prefix=parts.path.strip("/") or None,
            region=access.region,
            virtual_hosted_style_request=False,
            client_options=client,
            retry_config={"max_retries": 3, "retry_timeout": max(_TRIED_FOR, access.seconds)},
            **options,
        )

    async def names(self) -> list[str]:
        with self._answering():
            return await to_thread(lambda: [each["path"] for some in obstore.list(self._store) for each in some])

    async def get(self, name: str) -> bytes:
        with self._answering():
            return await to_thread(lambda: bytes(obstore.get(self._store, name).bytes()))

    async def put(self, name: str, body: bytes) -> None:
        with self._answering():
            await to_thread(obstore.put, self._store, name, body)

    async def create(self, name: str, body: bytes) -> bool:
        """Put an object unless the name exists."""
        try:
            with self._answering():
                await to_thread(obstore.put, self._store, name, body, mode="create")
        except AlreadyExistsError:
            return False
        return True

    async def delete(self, name: str) -> None:
        with self._answering():
            await to_thread(obstore.delete, self._store, name)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except AlreadyExistsError:
            raise
        except (BaseError, OSError, ValueError) as error:
            reason = str(error).split("\n", 1)[0]
            raise PlaceUnavailable(f"{self.url}: {reason}") from error
