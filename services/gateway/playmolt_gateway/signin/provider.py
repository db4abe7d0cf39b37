"""The OpenID provider over HTTP, by Authlib: metadata, keys, the address of its login page, and who comes back.

Imported only by a gateway whose operator has set up sign-in.
"""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import cached_property
from typing import Final, TypeVar
from urllib.parse import quote_plus, urlsplit

import httpx2
import msgspec
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from playmolt_core.ops.telemetry import log
from playmolt_schemas.proxies import proxy_for
from playmolt_schemas.this_machine import is_loopback

from playmolt_gateway.signin.attempts import Attempt, ClientRegistration, Identity, SignInFault
from playmolt_gateway.signin.id_tokens import (
    Expected,
    InvalidToken,
    Json,
    SignedToken,
    SigningKey,
    UnknownKey,
    key_id,
    signed_token,
    signing_keys,
    subject_of,
)

_log = log("gateway")
T = TypeVar("T")
SECONDS: Final = 8.0
"""The longest that a person waits for the provider at each step."""
_NAME_SECONDS: Final = 3.0
"""The longest wait for a name, on which nothing else depends."""
_ANSWER_BYTES: Final = 256 * 1024
_KEPT_SECONDS: Final = 3_600.0
"""How long metadata and keys are used before they are requested again."""
_AT_ONCE: Final = 64
"""The most steps that wait for the provider at once; further people are asked to retry."""
_WELL_KNOWN: Final = "/.well-known/openid-configuration"
_BASIC: Final = "client_secret_basic"
_POST: Final = "client_secret_post"


class ProviderMetadata(msgspec.Struct, frozen=True):
    """The part of OpenID Connect Discovery that is used here."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str = ""
    token_endpoint_auth_methods_supported: tuple[str, ...] = (_BASIC,)
    authorization_response_iss_parameter_supported: bool = False


class _TokenAnswer(msgspec.Struct, frozen=True):
    id_token: str
    access_token: str = ""


class ProviderUnusable(Exception):
    """The provider is unavailable or sends something unusable; the message is for the operator's log."""


_FAILURES: Final = (
    ProviderUnusable, httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError, RecursionError,
    AuthlibBaseError,
)  # fmt: skip
"""What the provider or the network can cause, wherever a library meets it."""


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        length = 0
        async for part in self._inner:
            length += len(part)
            if length > _ANSWER_BYTES:
                raise httpx2.ReadError(f"answered more than {_ANSWER_BYTES} bytes")
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _uncompressed(request: httpx2.Request) -> None:
    request.headers["accept-encoding"] = "identity"


async def _bound(response: httpx2.Response) -> None:
    """Bound an answer's size before it is read: Authlib reads it whole. A compressed one would have no such bound."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise httpx2.ReadError("answered with an encoding that was not accepted")
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _BoundedStream(response.stream)


class Provider:
    """One OpenID provider. Each step ends within `seconds`, with an answer or a SignInFault."""

    def __init__(
        self, registration: ClientRegistration, *, seconds: float = SECONDS, name_seconds: float = _NAME_SECONDS
    ) -> None:
        self._registration = registration
        self._seconds = seconds
        self._name_seconds = name_seconds
        self._metadata: ProviderMetadata | None = None
        self._keys: tuple[SigningKey, ...] = ()
        self._loaded_at = 0.0
        self._waiting = 0

    @cached_property
    def _verify(self) -> ssl.SSLContext | bool:
        # Plain HTTP, on this machine, needs no certificates, which are slow to load.
        return httpx2.create_ssl_context() if self._registration.issuer.startswith("https:") else False

    def _client(self) -> AsyncOAuth2Client:
        """A client for one step: it keeps the person's token."""
        return AsyncOAuth2Client(
            client_id=self._registration.client_id,
            client_secret=self._registration.client_secret,
            scope=self._registration.scopes,
            redirect_uri=self._registration.redirect_uri,
            code_challenge_method="S256",
            event_hooks={"request": [_uncompressed], "response": [_bound]},
            follow_redirects=False,
            timeout=None,  # the whole step is bounded instead
            proxy=proxy_for(self._registration.issuer),
            trust_env=False,
            verify=self._verify,
        )

    async def authorization_url(self, attempt: Attempt, language: str) -> str | SignInFault:
        """The address of the provider's login page for an attempt."""

        async def ask(client: AsyncOAuth2Client) -> str:
            metadata = await self._load(client)
            url, _ = client.create_authorization_url(
                metadata.authorization_endpoint,
                state=attempt.state,
                code_verifier=attempt.verifier,
                nonce=attempt.nonce,
                ui_locales=language,
            )
            return str(url)

        return await self._within(ask)

    async def identify(self, attempt: Attempt, code: str, answered_by: str | None) -> Identity | SignInFault:
        """Exchange a code for the proof of who signed in. `answered_by` is the issuer that the browser came from."""

        async def ask(client: AsyncOAuth2Client) -> Identity:
            metadata = await self._load(client)
            if answered_by is None and metadata.authorization_response_iss_parameter_supported:
                raise InvalidToken("the provider's answer does not name its issuer")
            if answered_by not in (None, metadata.issuer):
                raise InvalidToken("the answer is another provider's")
            answer = await self._exchange(client, metadata, attempt, code)
            token = await self._signed(client, metadata, answer.id_token)
            expected = Expected(
                issuer=metadata.issuer,
                client_id=self._registration.client_id,
                nonce=attempt.nonce,
                access_token=answer.access_token,
            )
            subject = subject_of(token, expected)
            names = _texts(token.claims.get("name"), token.claims.get("preferred_username"))
            return Identity(metadata.issuer, subject, names, answer.access_token)

        return await self._within(ask)

    async def names(self, identity: Identity) -> tuple[str, ...]:
        """What the provider calls a person, best first. Only a name depends on it: no failure ends the sign-in."""

        async def ask(client: AsyncOAuth2Client) -> tuple[str, ...]:
            metadata = await self._load(client)
            if not metadata.userinfo_endpoint or not identity.access_token:
                return ()
            bearer = {"authorization": f"Bearer {identity.access_token}"}
            said = await _read(client, metadata.userinfo_endpoint, Json, bearer)
            if said.get("sub") != identity.subject:
                raise ProviderUnusable("its userinfo is about another subject")
            return _texts(said.get("name"), said.get("preferred_username"))

        if identity.names:
            return identity.names
        found = await self._within(ask, self._name_seconds)
        return () if isinstance(found, SignInFault) else found

    async def _within(self, ask: Callable[[AsyncOAuth2Client], Awaitable[T]], most: float = SECONDS) -> T | SignInFault:
        seconds = min(most, self._seconds)
        if self._waiting >= _AT_ONCE:
            _log.warning("sign_in_busy", waiting=self._waiting)
            return SignInFault.PROVIDER
        self._waiting += 1
        try:
            # Beside the loop: the first client reads the certificates.
            async with asyncio.timeout(seconds), await asyncio.to_thread(self._client) as client:
                return await ask(client)
        except InvalidToken as error:
            _log.warning("sign_in_token", detail=str(error)[:300])
            return SignInFault.TOKEN
        except TimeoutError:
            _log.warning("sign_in_provider", detail=f"no complete answer within {seconds:g} s")
            return SignInFault.PROVIDER
        except _FAILURES as error:
            _log.warning("sign_in_provider", detail=f"{type(error).__name__}: {error}"[:300])
            return SignInFault.PROVIDER
        finally:
            self._waiting -= 1

    async def _load(self, client: AsyncOAuth2Client) -> ProviderMetadata:
        """The metadata, with keys. Requested at most once an hour while the provider is well."""
        if self._metadata is None or time.monotonic() - self._loaded_at > _KEPT_SECONDS:
            issuer = self._registration.issuer
            metadata = await _read(client, issuer.rstrip("/") + _WELL_KNOWN, ProviderMetadata)
            if metadata.issuer != issuer:
                raise ProviderUnusable(f"its metadata names the issuer {metadata.issuer[:200]!r}; set exactly that one")
            required = [metadata.authorization_endpoint, metadata.token_endpoint, metadata.jwks_uri]
            for endpoint in (*required, metadata.userinfo_endpoint):
                self._require_safe(endpoint or required[0])
            self._keys = await _read_keys(client, metadata)
            self._metadata, self._loaded_at = metadata, time.monotonic()
        return self._metadata

    def _require_safe(self, endpoint: str) -> None:
        parts = urlsplit(endpoint)
        plain = parts.scheme == "http" and is_loopback(self._registration.issuer) and is_loopback(endpoint)
        if not parts.hostname or not (parts.scheme == "https" or plain):
            raise ProviderUnusable(f"its endpoint {endpoint[:200]!r} is not an https address")

    async def _exchange(
        self, client: AsyncOAuth2Client, metadata: ProviderMetadata, attempt: Attempt, code: str
    ) -> _TokenAnswer:
        offered = metadata.token_endpoint_auth_methods_supported
        own = self._registration
        # RFC 6749, 2.3.1: both are form-encoded before they become a Basic header, which Authlib leaves out.
        basic = httpx2.BasicAuth(quote_plus(own.client_id), quote_plus(own.client_secret))
        auth = client.client_auth(_POST) if _BASIC not in offered and _POST in offered else basic
        try:
            answer = await client.fetch_token(
                metadata.token_endpoint,
                grant_type="authorization_code",
                code=code,
                code_verifier=attempt.verifier,
                redirect_uri=own.redirect_uri,
                auth=auth,
            )
        except OAuthError as error:
            if error.error == "invalid_grant":
                raise InvalidToken("the provider does not accept the code") from error
            raise
        return msgspec.convert(dict(answer), _TokenAnswer)

    async def _signed(self, client: AsyncOAuth2Client, metadata: ProviderMetadata, token: str) -> SignedToken:
        # A token that names no key is accepted while the provider shows one: that is asked now.
        if key_id(token) is not None:
            try:
                return signed_token(token, self._keys)
            except UnknownKey:
                pass  # the provider may have newer keys
        self._keys = await _read_keys(client, metadata)
        return signed_token(token, self._keys)


Shape = TypeVar("Shape")


async def _read_keys(client: AsyncOAuth2Client, metadata: ProviderMetadata) -> tuple[SigningKey, ...]:
    return signing_keys(await _read(client, metadata.jwks_uri, Json))


async def _read(
    client: AsyncOAuth2Client, url: str, shape: type[Shape], headers: Mapping[str, str] | None = None
) -> Shape:
    """Read a JSON document. Raises one of _FAILURES."""
    response = await client.request(
        "GET", url, headers={"accept": "application/json", **(headers or {})}, withhold_token=True
    )
    if response.status_code != 200:
        raise ProviderUnusable(f"answered {response.status_code}")
    return msgspec.json.decode(response.content, type=shape)


def _texts(*values: object) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str) and value)
