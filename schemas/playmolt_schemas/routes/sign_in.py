"""Sign-in of people by OpenID Connect (community.md, Owners). Without a provider these routes answer 404."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from playmolt_schemas.codes import Code
from playmolt_schemas.routes.route import Auth, Load, NoFields, Query, Route

_Value = Annotated[str, Meta(max_length=2_000)]


class SignInWords(Query, frozen=True):
    """Query parameters of `/auth/login`."""

    unread = True

    lang: Literal["ko", "en", "zh"] | None = None
    next: Annotated[str, Meta(max_length=2_000, description="The path of this server to open afterwards.")] | None = (
        None
    )


class CallbackWords(Query, frozen=True):
    """What the provider gives the browser to bring back; providers add parameters of their own."""

    unread = True

    state: _Value | None = None
    code: _Value | None = None
    iss: _Value | None = None
    error: _Value | None = None


class SignInAddress(msgspec.Struct, frozen=True):
    """The address of the provider's login page."""

    url: str


class SignedInOwner(msgspec.Struct, frozen=True):
    """The owner who is signed in."""

    id: str
    name: str


class SignedIn(msgspec.Struct, frozen=True):
    """The session of a browser. Changing calls send `csrf` in the header `X-CSRF-Token`."""

    owner: SignedInOwner
    csrf: str


SIGN_IN: Final[Route[SignInAddress | None]] = Route(
    method="GET", path="/auth/login", name="sign_in", tag="sign-in", load=Load.BUCKET, writes=True, patient=True,
    summary="Go to the provider's login page. With an owner's key, the account is joined to that owner; a page that "
    "accepts `application/json` gets the address.",
    answers={302: None, 200: SignInAddress}, query=SignInWords,
    errors=(Code.UNAUTHORIZED, Code.NOT_FOUND, Code.RATE_LIMITED, Code.UNAVAILABLE),
)  # fmt: skip
SIGN_IN_CALLBACK: Final[Route[None]] = Route(
    method="GET", path="/auth/callback", name="sign_in_callback", tag="sign-in", load=Load.BUCKET, auth=Auth.NONE,
    writes=True, patient=True,
    summary="Where the provider sends the browser back to. Opens a session and the page that was wanted.",
    answers={302: None}, query=CallbackWords,
    errors=(Code.UNAUTHORIZED, Code.NOT_FOUND, Code.ALREADY_CLAIMED, Code.RATE_LIMITED, Code.UNAVAILABLE),
)  # fmt: skip
SIGN_OUT: Final[Route[None]] = Route(
    method="POST", path="/auth/logout", name="sign_out", tag="sign-in", load=Load.READ, auth=Auth.NONE,
    summary="End the session of this browser. Needs the header `X-CSRF-Token`.",
    request=NoFields, answers={204: None}, errors=(Code.FOREIGN_ORIGIN, Code.NOT_FOUND),
)  # fmt: skip
READ_SIGNED_IN: Final[Route[SignedIn]] = Route(
    method="GET", path="/auth/session", name="read_signed_in", tag="sign-in", load=Load.READ, auth=Auth.NONE,
    summary="The owner who is signed in with this browser, and the token for changing calls.",
    answers={200: SignedIn}, errors=(Code.UNAUTHORIZED, Code.NOT_FOUND),
)  # fmt: skip
SIGN_INS: Final = (SIGN_IN, SIGN_IN_CALLBACK, SIGN_OUT, READ_SIGNED_IN)
