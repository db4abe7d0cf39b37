"""Sign-in of persons: to the provider and back, and the sessions of their browsers. One object, if it is set up."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from urllib.parse import urlsplit

import msgspec
from playmolt_core.db.accounts import Owner
from playmolt_core.db.sign_ins import (
    ATTEMPT_SECONDS,
    SESSION_SECONDS,
    BrowserSession,
    NewSession,
    Removal,
    SignInAccount,
    SignInAttempt,
    StoredSignIn,
)
from playmolt_core.settings import parse_address, sound
from playmolt_schemas.codes import Code
from starlette.types import Scope

from playmolt_gateway.http.problems import HttpProblem
from playmolt_gateway.ports import Accounts, SignIns
from playmolt_gateway.settings import GatewaySettings
from playmolt_gateway.signin.attempts import (
    Attempt,
    ClientRegistration,
    Identity,
    OpenIdProvider,
    SignInFault,
    own_path,
    owner_name,
)

_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_SAFE: Final = ("GET", "HEAD")
_PORTS: Final = {"http": ":80", "https": ":443"}
"""What an Origin leaves out."""
_SECRET: Final = "sign-in"  # noqa: S105 -- a name
_FAULTS: Final = {"taken": SignInFault.TAKEN, "limit": SignInFault.LIMIT, "erased": SignInFault.STATE}
NOT_SIGNED_IN: Final = HttpProblem(
    Code.UNAUTHORIZED, "This browser is not signed in, or its session has ended. Sign in at /me."
)
_FOREIGN: Final = HttpProblem(
    Code.FOREIGN_ORIGIN,
    "A changing call of a signed-in browser needs this site's Origin and the header X-CSRF-Token with the token from "
    "GET /auth/session. Reload the page and retry.",
)


OwnerLimit = Callable[[], Awaitable[HttpProblem | None]]
"""The refusal of another owner from the caller's address, None if it may have one more."""


class CookieNames(msgspec.Struct, frozen=True):
    """The cookies: of a session, and of a browser that is at the provider."""

    secure: bool

    @property
    def session(self) -> str:
        return "__Host-playmolt" if self.secure else "playmolt"

    @property
    def browser(self) -> str:
        return f"{self.session}-sign-in"

    def header(self, name: str, value: str, seconds: int) -> str:
        """The Set-Cookie header; 0 seconds delete the cookie."""
        secure = "; Secure" if self.secure else ""
        return f"{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"


def registration_of(settings: GatewaySettings) -> ClientRegistration | None:
    """What the operator has set up; None without sign-in. Raises InvalidSettings."""
    if not sound(settings).oidc_issuer:
        return None
    return ClientRegistration(
        issuer=settings.oidc_issuer,
        client_id=settings.oidc_client_id,
        client_secret=settings.oidc_client_secret,
        scopes=settings.oidc_scopes,
        redirect_uri=f"{parse_address(settings.public_url)}/auth/callback",
    )


def open_sign_in(
    settings: GatewaySettings, sign_ins: SignIns, accounts: Accounts, blocks: Callable[[str], bool]
) -> "SignIn | None":
    """Sign-in as the operator has set it up, or None; `blocks` finds names that are not allowed.

    Raises InvalidSettings.
    """
    registration = registration_of(settings)
    if registration is None:
        return None
    from playmolt_gateway.signin.provider import Provider  # noqa: PLC0415 -- loads Authlib, which others do without

    return SignIn(registration, Provider(registration), sign_ins, accounts, blocks)


def hash_of_token(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class Begun(msgspec.Struct, frozen=True):
    """A browser on its way to the provider's login page."""

    url: str
    cookie: str
    """The Set-Cookie header that binds the attempt to the browser."""


class Finished(msgspec.Struct, frozen=True):
    """A browser that is signed in, and the address that it opens."""

    url: str
    cookie: str


class SignIn:
    """Sign-in by OpenID Connect. Every method may raise UNAVAILABLE_ERRORS."""

    def __init__(
        self,
        registration: ClientRegistration,
        provider: OpenIdProvider,
        sign_ins: SignIns,
        accounts: Accounts,
        blocks: Callable[[str], bool],
    ) -> None:
        self._provider = provider
        self._sign_ins = sign_ins
        self._accounts = accounts
        self._blocks = blocks
        self._public = registration.redirect_uri.removesuffix("/auth/callback")
        parts = urlsplit(self._public)
        self._origin = f"{parts.scheme}://{parts.netloc}".lower().removesuffix(_PORTS[parts.scheme])
        self.cookies = CookieNames(secure=parts.scheme == "https")
        self._key = b""

    @property
    def address(self) -> str:
        """The address at which a person begins: on the host that the provider sends them back to."""
        return f"{self._public}/auth/login"

    async def begin(self, scope: Scope, wanted: str, owner_id: str | None, language: str) -> Begun | SignInFault:
        """Send a browser to the provider. With an owner, the account will be joined to it."""
        attempt = Attempt.new(await self._secret())
        url = await self._provider.authorization_url(attempt, language)
        if isinstance(url, SignInFault):
            return url
        # The same for all attempts of a browser, so that each of its tabs can finish its own.
        browser = self._cookie(scope, self.cookies.browser) or secrets.token_urlsafe(32)
        await self._sign_ins.begin(
            hash_of_token(attempt.state), hash_of_token(browser), SignInAttempt(own_path(wanted), owner_id)
        )
        return Begun(url, self.cookies.header(self.cookies.browser, browser, ATTEMPT_SECONDS))

    async def finish(
        self, scope: Scope, state: str, code: str | None, answered_by: str | None, limit: OwnerLimit
    ) -> Finished | SignInFault | HttpProblem:
        """Sign in the person who comes back from the provider; without a code it refused.

        A first sign-in makes an owner, for which `limit` is asked.
        """
        begun = await self._take(scope, state)
        if begun is None:
            return SignInFault.STATE
        if code is None:
            return SignInFault.CANCELLED
        identity = await self._provider.identify(Attempt.of(state, await self._secret()), code, answered_by)
        if isinstance(identity, SignInFault):
            return identity
        token = secrets.token_urlsafe(32)
        present = self._cookie(scope, self.cookies.session)
        session = NewSession(hash_of_token(token), secrets.token_urlsafe(32), hash_of_token(present) if present else "")
        refusal = await self._open(identity, begun.owner_id, session, limit)
        header = self.cookies.header(self.cookies.session, token, SESSION_SECONDS)
        return refusal or Finished(f"{self._public}{begun.next}", header)

    async def _take(self, scope: Scope, state: str) -> SignInAttempt | None:
        """The attempt of this browser with this state, once."""
        browser = self._cookie(scope, self.cookies.browser)
        if browser is None or not _TOKEN.fullmatch(state):
            return None
        return await self._sign_ins.use(hash_of_token(state), hash_of_token(browser))

    async def _open(
        self, identity: Identity, owner_id: str | None, session: NewSession, limit: OwnerLimit
    ) -> SignInFault | HttpProblem | None:
        """Open a session of the owner to whom the account belongs, or is joined now."""
        account = SignInAccount(identity.issuer, identity.subject)
        if owner_id is not None:
            fault = await self._sign_ins.join(account, owner_id, session)
            return _FAULTS[fault] if fault else None
        first = await self._sign_ins.owner_of(account) is None
        if first and (refusal := await limit()):
            return refusal
        name = owner_name(await self._provider.names(identity), self._blocks) if first else ""
        await self._sign_ins.sign_in(account, name, session)
        return None

    async def accounts(self, owner_id: str) -> Sequence[StoredSignIn]:
        """The accounts that open an owner, oldest first."""
        return await self._sign_ins.of_owner(owner_id)

    async def remove(self, owner_id: str, sign_in_id: str) -> Removal:
        """Part an account from an owner; sessions that it opened end."""
        return await self._sign_ins.remove(owner_id, sign_in_id)

    async def session(self, scope: Scope) -> BrowserSession | None:
        """The session of a request's cookie, if it has not ended."""
        token = self._cookie(scope, self.cookies.session)
        return None if token is None else await self._sign_ins.session(hash_of_token(token))

    async def owner_of(self, scope: Scope) -> Owner | HttpProblem | None:
        """The owner whose browser sends a request, for routes that take a cookie. None without a cookie.

        A changing request also needs the session's token and an Origin that is ours.
        """
        if self._cookie(scope, self.cookies.session) is None:
            return None
        session = await self.session(scope)
        if session is None:
            return NOT_SIGNED_IN
        return self.forgery(scope, session) or session.owner

    def forgery(self, scope: Scope, session: BrowserSession) -> HttpProblem | None:
        """The refusal of a changing request that another site may have caused."""
        if scope["method"] in _SAFE:
            return None
        origins, tokens = _values(scope, b"origin"), _values(scope, b"x-csrf-token")
        if [origin.lower() for origin in origins] != [self._origin] or len(tokens) != 1:
            return _FOREIGN
        return None if hmac.compare_digest(tokens[0].encode(), session.csrf.encode()) else _FOREIGN

    async def end(self, scope: Scope) -> str:
        """End the session of a request's cookie; returns the Set-Cookie header that deletes it."""
        token = self._cookie(scope, self.cookies.session)
        if token is not None:
            await self._sign_ins.end_session(hash_of_token(token))
        return self.cookies.header(self.cookies.session, "", 0)

    async def _secret(self) -> bytes:
        self._key = self._key or await self._accounts.secret(_SECRET)
        return self._key

    def _cookie(self, scope: Scope, name: str) -> str | None:
        """The value of a cookie of ours; None if it is missing, sent twice or malformed."""
        pairs = (pair.strip().partition("=") for sent in _values(scope, b"cookie") for pair in sent.split(";"))
        found = [value for key, _, value in pairs if key == name]
        return found[0] if len(found) == 1 and _TOKEN.fullmatch(found[0]) else None


def _values(scope: Scope, header: bytes) -> list[str]:
    return [value.decode("latin-1") for name, value in scope["headers"] if name == header]
