"""A sign-in under way: what the browser takes to the provider and back, who it is, and what can go wrong.

Imports nothing of OpenID Connect, so that a gateway without it loads none of it.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from enum import Enum
from typing import Final, Protocol
from urllib.parse import urlsplit

import msgspec
from playmolt_schemas.codes import Code
from playmolt_schemas.limits import AGENT_NAME_CHARS
from playmolt_schemas.text import composed_text, has_line_breaks_or_controls, has_visible_character

HOME: Final = "/me"
"""The page that a sign-in opens unless it names another one."""
UNNAMED: Final = "Owner"
"""The name of a new owner whose provider gives no usable name."""
_PATH_CHARS: Final = 2_000
_UNSAFE: Final = re.compile(r"[\x00-\x20\x7f\\]|^//")
"""What a browser drops from a URL or reads as the start of another host."""


class SignInFault(Enum):
    """Why a sign-in failed. The value is `(name of its text on the page, code of the problem)`."""

    STATE = ("state", Code.INVALID_REQUEST)
    """The state is unknown, used, expired or another browser's. One answer for all: it gives nothing away."""
    CANCELLED = ("cancelled", Code.UNAUTHORIZED)
    """The person or the provider refused."""
    TOKEN = ("token", Code.UNAUTHORIZED)
    """The provider's answer does not prove who signed in."""
    TAKEN = ("taken", Code.ALREADY_CLAIMED)
    """The account belongs to another owner."""
    LIMIT = ("limit", Code.ALREADY_CLAIMED)
    """The owner has as many accounts as it may have."""
    PROVIDER = ("provider", Code.UNAVAILABLE)
    """The provider is unavailable, slow, or sends something unusable."""
    AWAY = ("away", Code.UNAVAILABLE)
    """Part of this platform is unavailable."""
    BUSY = ("busy", Code.RATE_LIMITED)
    """Too many sign-ins from one address."""

    @property
    def text(self) -> str:
        return self.value[0]

    @property
    def code(self) -> Code:
        return self.value[1]


class Attempt(msgspec.Struct, frozen=True):
    """The secrets of one sign-in. Nonce and verifier follow from the state, so that nothing has to keep them."""

    state: str
    nonce: str
    verifier: str
    """The proof key (PKCE): 43 characters."""

    @classmethod
    def of(cls, state: str, key: bytes) -> "Attempt":
        """The attempt of a state; `key` is a secret of this installation."""
        return cls(state, _derived(key, "nonce", state), _derived(key, "verifier", state))

    @classmethod
    def new(cls, key: bytes) -> "Attempt":
        return cls.of(secrets.token_urlsafe(32), key)


def _derived(key: bytes, purpose: str, state: str) -> str:
    return hmac.new(key, f"{purpose} {state}".encode(), hashlib.sha256).hexdigest()


class ClientRegistration(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator and the provider have agreed on."""

    issuer: str
    client_id: str
    client_secret: str
    scopes: str
    redirect_uri: str


class Identity(msgspec.Struct, frozen=True):
    """The account that a provider proved: the pair of issuer and subject, never an e-mail address."""

    issuer: str
    subject: str
    names: tuple[str, ...] = ()
    """What the provider calls the person, best first; empty values left out."""
    access_token: str = ""
    """Opens the provider's userinfo; it is not kept."""


class OpenIdProvider(Protocol):
    """A provider of identities. Every method ends within a bound; a failure is a SignInFault."""

    async def authorization_url(self, attempt: Attempt, language: str) -> str | SignInFault: ...

    async def identify(self, attempt: Attempt, code: str, answered_by: str | None) -> Identity | SignInFault: ...

    async def names(self, identity: Identity) -> tuple[str, ...]: ...


def owner_name(names: tuple[str, ...], blocks: Callable[[str], bool]) -> str:
    """The first of `names` that is valid as a name and not blocked, cut to its longest length."""
    for name in names:
        cut = composed_text(name)[:AGENT_NAME_CHARS]
        if has_visible_character(cut) and not has_line_breaks_or_controls(cut) and not blocks(cut):
            return cut
    return UNNAMED


def own_path(wanted: str) -> str:
    """The path to open after a sign-in: `wanted` if it is a path of this server, otherwise `/me`."""
    sound = wanted.startswith("/") and len(wanted) <= _PATH_CHARS and not _UNSAFE.search(wanted)
    if not sound or wanted.startswith("/auth/"):
        return HOME
    try:
        parts = urlsplit(wanted)
    except ValueError:
        return HOME
    return HOME if parts.scheme or parts.netloc or not wanted.isascii() else wanted
