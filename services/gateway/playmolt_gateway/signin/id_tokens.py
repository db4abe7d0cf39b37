"""Checks an ID token: the signature by the provider's keys, then issuer, audience, nonce and expiry."""

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from authlib.oidc.core import CodeIDToken
from joserfc import jws
from joserfc.errors import JoseError, SecurityWarning
from joserfc.jwk import ECKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry
from playmolt_schemas.text import unstorable

_CLOCK_SECONDS: Final = 60
"""How far ahead the provider's clock may be. An expired token is never accepted."""
_HEADER_BYTES: Final = 16_384
"""The library takes 512 bytes, less than a certificate chain in a header."""
_SUBJECT_CHARS: Final = 255
_RSA_BITS: Final = 2_048
_MOST_KEYS: Final = 100
_RSA: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_CURVES: Final[Mapping[str, tuple[str, ...]]] = {
    "P-256": ("ES256",),
    "P-384": ("ES384",),
    "P-521": ("ES512",),
    "Ed25519": ("EdDSA", "Ed25519"),
}

Json = dict[str, Any]
PublicKey = RSAKey | ECKey | OKPKey


class InvalidToken(ValueError):
    """The token proves nothing; the message says why, for the operator's log."""


class UnknownKey(InvalidToken):
    """None of the keys at hand has signed the token: the provider may have newer ones."""


class SigningKey(msgspec.Struct, frozen=True):
    """A key of the provider and the algorithms that it may sign with. Secret keys and `none` are not among them."""

    kid: str | None
    algorithms: tuple[str, ...]
    key: PublicKey


def signing_keys(document: Json) -> tuple[SigningKey, ...]:
    """The keys of a JWK set that sign; keys of other kinds and uses are left out. Raises InvalidToken."""
    listed = document.get("keys")
    if not isinstance(listed, list) or len(listed) > _MOST_KEYS:
        raise InvalidToken(f"the provider's keys are not a list of at most {_MOST_KEYS}")
    found = (_signing_key(each) for each in listed if isinstance(each, dict))
    return tuple(key for key in found if key is not None)


def _signing_key(jwk: Json) -> SigningKey | None:
    kinds: dict[object, type[PublicKey]] = {"RSA": RSAKey, "EC": ECKey, "OKP": OKPKey}
    kind = jwk.get("kty")
    kid, algorithm, operations = jwk.get("kid"), jwk.get("alg"), jwk.get("key_ops")
    able = _RSA if kind == "RSA" else _CURVES.get(str(jwk.get("crv")), ())
    algorithms = tuple(name for name in able if algorithm in (None, name))
    verifies = jwk.get("use", "sig") == "sig" and (not isinstance(operations, list) or "verify" in operations)
    if kind not in kinds or not algorithms or not verifies or not isinstance(kid, str | None):
        return None
    public = {name: value for name, value in jwk.items() if name in ("kty", "n", "e", "crv", "x", "y")}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SecurityWarning)  # a short key is refused here
            key = kinds[kind].import_key(public)
            short = isinstance(key, RSAKey) and key.public_key.key_size < _RSA_BITS
    except (JoseError, ValueError, TypeError, KeyError, OverflowError):
        return None
    return None if short else SigningKey(kid, algorithms, key)


def key_id(token: str) -> str | None:
    """The id of the key that a token names, if any. Raises InvalidToken."""
    kid = _parsed(token).headers().get("kid")
    if not isinstance(kid, str | None):
        raise InvalidToken("the id of the key is not a text")
    return kid


class SignedToken(msgspec.Struct, frozen=True):
    """What a key of the provider has signed."""

    claims: Json
    algorithm: str


def signed_token(token: str, keys: Sequence[SigningKey]) -> SignedToken:
    """Check the signature. A token without `kid` is accepted only if there is one key.

    Raises UnknownKey, which newer keys may resolve, or InvalidToken.
    """
    parsed = _parsed(token)
    kid, algorithm = key_id(token), str(parsed.headers().get("alg"))
    fitting = [key for key in keys if kid in (None, key.kid)]
    if kid is None and len(keys) != 1:
        raise UnknownKey(f"the token names no key, and the provider shows {len(keys)}")
    if not fitting:
        raise UnknownKey("the provider shows no key with the token's id")
    able = [key for key in fitting if algorithm in key.algorithms]
    if not able:
        raise InvalidToken(f"the provider's key does not sign with {algorithm[:20]!r}")
    if not any(_signed(parsed, algorithm, key) for key in able):
        raise UnknownKey("the signature is not by the provider's key")
    try:
        claims = msgspec.json.decode(parsed.payload, type=Json)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidToken("the claims are not a JSON object") from error
    return SignedToken(claims, algorithm)


def _registry(algorithms: Sequence[str] | None = None) -> JWSRegistry:
    registry = JWSRegistry(algorithms=algorithms, strict_check_header=False)
    registry.max_header_length = _HEADER_BYTES
    return registry


def _parsed(token: str) -> jws.CompactSignature:
    try:
        return jws.extract_compact(token.encode(), registry=_registry())
    except (JoseError, ValueError, RecursionError) as error:
        raise InvalidToken(f"not a signed token: {type(error).__name__}") from error


def _signed(parsed: jws.CompactSignature, algorithm: str, key: SigningKey) -> bool:
    try:
        with warnings.catch_warnings():
            # `EdDSA` is the name that providers use for what RFC 9864 calls Ed25519.
            warnings.simplefilter("ignore", SecurityWarning)
            return jws.validate_compact(parsed, key.key, registry=_registry([algorithm]))
    except (JoseError, ValueError):
        return False


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What a token has to be about."""

    issuer: str
    client_id: str
    nonce: str
    access_token: str
    """The token that came with it; its hash may be among the claims."""


def subject_of(token: SignedToken, expected: Expected) -> str:
    """The subject of a token that is about this client, this sign-in and now. Raises InvalidToken."""
    options = {
        "iss": {"essential": True, "values": [expected.issuer]},
        "aud": {"essential": True, "values": [expected.client_id]},
        "exp": {"essential": True},
    }
    params = {"nonce": expected.nonce, "client_id": expected.client_id, "access_token": expected.access_token}
    # The hash in `at_hash` is known to the library by the older name alone.
    header = {"alg": "EdDSA" if token.algorithm == "Ed25519" else token.algorithm}
    now = time.time()
    try:
        CodeIDToken(token.claims, header, options, params).validate(now=int(now), leeway=_CLOCK_SECONDS)
    except (JoseError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise InvalidToken(f"the claims are not about this sign-in: {error}"[:200]) from error
    if token.claims["exp"] <= now:
        raise InvalidToken("the token has expired")
    subject = token.claims["sub"]
    if not 1 <= len(subject) <= _SUBJECT_CHARS or unstorable(subject):
        raise InvalidToken(f"the subject does not have 1 to {_SUBJECT_CHARS} characters")
    return str(subject)
