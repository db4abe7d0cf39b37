"""The protocol with a provider that does one thing wrong at a time."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc.jwk import RSAKey
from playmolt_gateway.signin.attempts import Attempt, ClientRegistration, Identity, SignInFault
from playmolt_gateway.signin.provider import Provider

from services.gateway.tests.signin.own_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    EC,
    ED,
    OTHER_RSA,
    RSA,
    SECOND_RSA,
    OwnProvider,
    own_provider,
    public,
    signed,
    signed_with_the_public_key,
    unsigned,
)

KEY = b"k" * 32
CALLBACK = "https://arena.example/auth/callback"
Wrong = Callable[[OwnProvider], Any]


@pytest.fixture(scope="module")
def server() -> Iterator[OwnProvider]:
    with own_provider() as provider:
        yield provider


@pytest.fixture
def own(server: OwnProvider) -> OwnProvider:
    server.__init__(server.issuer)  # type: ignore[misc]  # the next test finds it as new
    return server


@pytest.fixture
def provider(own: OwnProvider) -> Provider:
    return client_of(own)


def client_of(own: OwnProvider, *, seconds: float = 60, name_seconds: float = 60, **changes: Any) -> Provider:
    known = {
        "issuer": own.issuer,
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "scopes": "openid profile",
        "redirect_uri": CALLBACK,
        **changes,
    }
    return Provider(ClientRegistration(**known), seconds=seconds, name_seconds=name_seconds)


async def signed_in(provider: Provider, own: OwnProvider, answered_by: str | None = None) -> Identity | SignInFault:
    attempt = Attempt.new(KEY)
    url = await provider.authorization_url(attempt, "ko")
    if isinstance(url, SignInFault):
        return url
    return await provider.identify(attempt, own.code_of(url), answered_by)


async def test_a_person_signs_in(provider: Provider, own: OwnProvider) -> None:
    found = await signed_in(provider, own)
    assert isinstance(found, Identity)
    assert (found.issuer, found.subject, found.names) == (own.issuer, "person-1", ())
    assert await provider.names(found) == ("Ada",)


async def test_the_login_page_gets_the_proof_key_and_our_address_alone(provider: Provider, own: OwnProvider) -> None:
    attempt = Attempt.new(KEY)
    url = await provider.authorization_url(attempt, "ko")
    assert isinstance(url, str)
    asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    assert asked.pop("code_challenge") not in (attempt.verifier, "")
    assert asked == {
        "response_type": "code",
        "client_id": CLIENT_ID,
        "redirect_uri": CALLBACK,
        "scope": "openid profile",
        "state": attempt.state,
        "nonce": attempt.nonce,
        "code_challenge_method": "S256",
        "ui_locales": "ko",
    }


async def test_attempts_of_equal_states_are_equal_and_others_share_nothing() -> None:
    first, second = Attempt.new(KEY), Attempt.new(KEY)
    assert Attempt.of(first.state, KEY) == first
    assert len({first.state, first.nonce, first.verifier, second.state, second.nonce, second.verifier}) == 6
    assert Attempt.of(first.state, b"other" * 8).nonce != first.nonce
    assert 43 <= len(first.verifier) <= 128


SIGNATURES: dict[str, Wrong] = {
    "another key": lambda own: setattr(own, "sign", lambda claims: signed(claims, OTHER_RSA)),
    "no signature": lambda own: setattr(own, "sign", unsigned),
    "none, in capitals": lambda own: setattr(own, "sign", lambda claims: unsigned(claims, {"alg": "NONE"})),
    "none, with the key's id": lambda own: setattr(
        own, "sign", lambda claims: unsigned(claims, {"alg": "none", "kid": "first"})
    ),
    "HS256 with the public key": lambda own: setattr(own, "sign", signed_with_the_public_key),
    "an algorithm that the key is not for": lambda own: (
        setattr(own, "keys", [public(RSA, alg="RS512")]),
        setattr(own, "sign", signed),
    ),
    "a key for encryption": lambda own: setattr(own, "keys", [public(RSA, use="enc")]),
    "a key that does not verify": lambda own: setattr(own, "keys", [public(RSA, key_ops=["encrypt"])]),
    "an unknown key": lambda own: setattr(own, "sign", lambda claims: signed(claims, SECOND_RSA)),
    "another key's id": lambda own: (
        setattr(own, "keys", [public(RSA), public(SECOND_RSA)]),
        setattr(own, "sign", lambda claims: signed(claims, RSA, kid="second")),
    ),
    "no id and two keys": lambda own: (
        setattr(own, "keys", [public(RSA), public(SECOND_RSA)]),
        setattr(own, "sign", lambda claims: signed(claims, kid=None)),
    ),
    "no id and keys of two kinds": lambda own: (
        setattr(own, "keys", [public(RSA), public(EC)]),
        setattr(own, "sign", lambda claims: signed(claims, kid=None)),
    ),
    "a key of its own in the header": lambda own: setattr(
        own, "sign", lambda claims: signed(claims, OTHER_RSA, jwk=public(OTHER_RSA))
    ),
    "a header that must be understood": lambda own: setattr(
        own, "sign", lambda claims: signed(claims).replace(*_with_crit(signed(claims)))
    ),
    "no token": lambda own: setattr(own, "sign", lambda _claims: ""),
    "half a token": lambda own: setattr(own, "sign", lambda claims: signed(claims).rpartition(".")[0]),
    "claims that are a list": lambda own: setattr(own, "sign", lambda _claims: signed([1])),  # type: ignore[arg-type]
    "a short RSA key": lambda own: (
        setattr(own, "keys", [public(SHORT)]),
        setattr(own, "sign", lambda claims: signed(claims, SHORT)),
    ),
}


def _with_crit(token: str) -> tuple[str, str]:
    """The header of a token, and one with an unknown extension that must be understood."""
    header = token.partition(".")[0]
    return header, unsigned({}, {"alg": "RS256", "kid": "first", "crit": ["x"], "x": 1}).partition(".")[0]


def _short_key() -> RSAKey:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RSAKey.generate_key(1024, {"kid": "short"})


SHORT = _short_key()


@pytest.mark.parametrize("wrong", SIGNATURES.values(), ids=SIGNATURES.keys())
async def test_a_token_that_proves_nothing_is_refused(provider: Provider, own: OwnProvider, wrong: Wrong) -> None:
    wrong(own)
    assert await signed_in(provider, own) is SignInFault.TOKEN


CLAIMS: dict[str, dict[str, Any]] = {
    "another issuer": {"iss": "https://other.example"},
    "the issuer with a slash": {"iss": None},
    "another audience": {"aud": "other"},
    "audiences without this client": {"aud": ["other", "another"]},
    "two audiences and no party": {"aud": [CLIENT_ID, "other"]},
    "another party": {"aud": [CLIENT_ID, "other"], "azp": "other"},
    "no audience": {"aud": None},
    "another nonce": {"nonce": "n" * 64},
    "no nonce": {"nonce": None},
    "a nonce in a list": {"nonce": ["n"]},
    "expired long ago": {"exp": 1_000_000_000},
    "expired just now": {"exp": int(time.time()) - 2},
    "no expiry": {"exp": None},
    "an expiry that is a text": {"exp": "4102444800"},
    "an expiry that is true": {"exp": True},
    "issued tomorrow": {"iat": int(time.time()) + 86_400},
    "not yet valid": {"nbf": int(time.time()) + 86_400},
    "no subject": {"sub": None},
    "an empty subject": {"sub": ""},
    "a subject that is a number": {"sub": 17},
    "a subject without an end": {"sub": "s" * 256},
    "another access token's hash": {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"},
}


@pytest.mark.parametrize("claims", CLAIMS.values(), ids=CLAIMS.keys())
async def test_claims_about_something_else_are_refused(
    provider: Provider, own: OwnProvider, claims: dict[str, Any]
) -> None:
    own.claims = claims if claims != {"iss": None} else {"iss": f"{own.issuer}/"}
    assert await signed_in(provider, own) is SignInFault.TOKEN


SOUND: dict[str, Wrong] = {
    "no id and one key": lambda own: setattr(own, "sign", lambda claims: signed(claims, kid=None)),
    "no id and one key that signs": lambda own: (
        setattr(own, "keys", [public(RSA), public(SECOND_RSA, use="enc")]),
        setattr(own, "sign", lambda claims: signed(claims, kid=None)),
    ),
    "a key without an id": lambda own: (
        setattr(own, "keys", [public(RSA, kid=None)]),
        setattr(own, "sign", lambda claims: signed(claims, kid=None)),
    ),
    "the second of two keys": lambda own: (
        setattr(own, "keys", [public(RSA), public(SECOND_RSA)]),
        setattr(own, "sign", lambda claims: signed(claims, SECOND_RSA)),
    ),
    "PS256": lambda own: setattr(own, "sign", lambda claims: signed(claims, alg="PS256")),
    "ES256": lambda own: (
        setattr(own, "keys", [public(EC)]),
        setattr(own, "sign", lambda claims: signed(claims, EC, alg="ES256")),
    ),
    "EdDSA": lambda own: (
        setattr(own, "keys", [public(ED)]),
        setattr(own, "sign", lambda claims: signed(claims, ED, alg="EdDSA")),
    ),
    "Ed25519": lambda own: (
        setattr(own, "keys", [public(ED)]),
        setattr(own, "sign", lambda claims: signed(claims, ED, alg="Ed25519")),
    ),
    "keys of unknown kinds beside it": lambda own: setattr(
        own, "keys", [{"kty": "new", "kid": "first"}, {"kty": "RSA", "n": "!", "e": "AQAB"}, "text", public(RSA)]
    ),
    "a certificate chain in the header": lambda own: setattr(
        own, "sign", lambda claims: signed(claims, x5c=["A" * 2_000])
    ),
    "two audiences and this party": lambda own: own.claims.update(aud=[CLIENT_ID, "other"], azp=CLIENT_ID),
    "one audience in a list": lambda own: own.claims.update(aud=[CLIENT_ID]),
    "a clock that is ahead by 30 s": lambda own: own.claims.update(iat=int(time.time()) + 30),
    "a fraction of a second": lambda own: own.claims.update(exp=time.time() + 60.5),
}


@pytest.mark.parametrize("sound", SOUND.values(), ids=SOUND.keys())
async def test_other_sound_tokens_sign_in(provider: Provider, own: OwnProvider, sound: Wrong) -> None:
    sound(own)
    found = await signed_in(provider, own)
    assert isinstance(found, Identity)
    assert found.subject == "person-1"


async def test_new_keys_of_the_provider_are_fetched(provider: Provider, own: OwnProvider) -> None:
    assert isinstance(await signed_in(provider, own), Identity)
    own.keys, own.sign = [public(SECOND_RSA)], lambda claims: signed(claims, SECOND_RSA)
    assert isinstance(await signed_in(provider, own), Identity)
    own.keys, own.sign = [public(OTHER_RSA)], lambda claims: signed(claims, OTHER_RSA)  # under the first one's id
    assert isinstance(await signed_in(provider, own), Identity)


async def test_a_second_key_ends_the_tokens_without_an_id(provider: Provider, own: OwnProvider) -> None:
    own.sign = lambda claims: signed(claims, kid=None)
    assert isinstance(await signed_in(provider, own), Identity)
    own.keys.append(public(SECOND_RSA))
    assert await signed_in(provider, own) is SignInFault.TOKEN


async def test_metadata_and_keys_are_kept(provider: Provider, own: OwnProvider) -> None:
    for _ in range(3):
        assert isinstance(await signed_in(provider, own), Identity)
    assert own.requests.count("/.well-known/openid-configuration") == 1
    assert own.requests.count("/keys") == 1


async def test_a_code_is_good_once(provider: Provider, own: OwnProvider) -> None:
    attempt = Attempt.new(KEY)
    url = await provider.authorization_url(attempt, "en")
    assert isinstance(url, str)
    code = own.code_of(url)
    assert isinstance(await provider.identify(attempt, code, None), Identity)
    assert await provider.identify(attempt, code, None) is SignInFault.TOKEN


async def test_a_code_of_another_attempt_is_refused(provider: Provider, own: OwnProvider) -> None:
    url = await provider.authorization_url(Attempt.new(KEY), "en")
    assert isinstance(url, str)
    assert await provider.identify(Attempt.new(KEY), own.code_of(url), None) is SignInFault.TOKEN


async def test_a_secret_goes_into_the_form_where_the_provider_wants_it(provider: Provider, own: OwnProvider) -> None:
    own.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    assert isinstance(await signed_in(provider, own), Identity)


async def test_a_wrong_secret_is_the_operators_fault(own: OwnProvider) -> None:
    assert await signed_in(client_of(own, client_secret="wrong"), own) is SignInFault.PROVIDER


async def test_the_issuer_that_the_browser_came_from(provider: Provider, own: OwnProvider) -> None:
    assert isinstance(await signed_in(provider, own, own.issuer), Identity)
    assert await signed_in(provider, own, "https://other.example") is SignInFault.TOKEN
    own.metadata = {"authorization_response_iss_parameter_supported": True}
    assert await signed_in(client_of(own), own) is SignInFault.TOKEN
    assert isinstance(await signed_in(client_of(own), own, own.issuer), Identity)


HUGE = b'{"keys": [' + b"1," * 1_000_000 + b"1]}"
DEEP = b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
METADATA, TOKEN, KEYS = "/.well-known/openid-configuration", "/token", "/keys"
UNUSABLE: dict[str, Wrong] = {
    **{
        f"{what} at {path}": (lambda own, path=path, answer=answer: own.answers.update({path: answer}))  # type: ignore[misc]
        for path in (METADATA, TOKEN, KEYS)
        for what, answer in {
            "a huge answer": (200, HUGE, {}),
            "a deep answer": (200, DEEP, {}),
            "no JSON": (200, b"<html>", {"content-type": "text/html"}),
            "a list": (200, b"[]", {}),
            "a failure": (500, b"", {}),
            "a redirect": (302, b"", {"location": "/elsewhere"}),
            "a compressed answer": (200, b"\x1f\x8b", {"content-encoding": "gzip"}),
        }.items()
    },
    "another issuer's metadata": lambda own: own.metadata.update(issuer="https://other.example"),
    "metadata without keys": lambda own: own.metadata.update(jwks_uri=None),
    "an endpoint elsewhere without TLS": lambda own: own.metadata.update(token_endpoint="http://192.0.2.1/token"),
    "an endpoint that is a file": lambda own: own.metadata.update(jwks_uri="file:///etc/passwd"),
    "an endpoint without a host": lambda own: own.metadata.update(authorization_endpoint="https:///x"),
    "a token of another kind": lambda own: own.answers.update({TOKEN: (200, b'{"id_token": 17}', {})}),
    "no ID token": lambda own: own.answers.update({TOKEN: (200, b'{"access_token": "x", "token_type": "Bearer"}', {})}),
}


@pytest.mark.parametrize("wrong", UNUSABLE.values(), ids=UNUSABLE.keys())
async def test_an_unusable_provider_is_a_fault_and_recovers(provider: Provider, own: OwnProvider, wrong: Wrong) -> None:
    wrong(own)
    # A redirect of the token endpoint is a refusal of the code to some libraries: no one is signed in either way.
    assert await signed_in(provider, own) in (SignInFault.PROVIDER, SignInFault.TOKEN)
    own.__init__(own.issuer)  # type: ignore[misc]
    assert isinstance(await signed_in(provider, own), Identity), "it did not recover"


@pytest.mark.parametrize("path", [METADATA, TOKEN, KEYS])
async def test_a_slow_provider_is_waited_for_so_long(own: OwnProvider, path: str) -> None:
    released = threading.Event()
    own.before = lambda asked: released.wait(60) and None if asked == path else None
    provider = client_of(own, seconds=0.3)
    begun = time.monotonic()
    assert await signed_in(provider, own) is SignInFault.PROVIDER
    released.set()
    assert time.monotonic() - begun < 30


async def test_a_provider_that_is_away(own: OwnProvider) -> None:
    provider = client_of(own, issuer="http://127.0.0.1:9")
    assert await provider.authorization_url(Attempt.new(KEY), "en") is SignInFault.PROVIDER


async def test_few_wait_for_the_provider_at_once(own: OwnProvider) -> None:
    released = threading.Event()
    own.before = lambda _path: released.wait(60) and None
    provider = client_of(own)
    waiting = [asyncio.create_task(provider.authorization_url(Attempt.new(KEY), "en")) for _ in range(64)]
    await asyncio.sleep(0)
    assert await provider.authorization_url(Attempt.new(KEY), "en") is SignInFault.PROVIDER
    released.set()
    assert all(isinstance(url, str) for url in await asyncio.gather(*waiting))


NAMES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "a name": ({"sub": "person-1", "name": "Ada"}, ("Ada",)),
    "a user name": ({"sub": "person-1", "name": None, "preferred_username": "ada"}, ("ada",)),
    "neither": ({"sub": "person-1"}, ()),
    "another person's": ({"sub": "person-2", "name": "Eve"}, ()),
    "no subject": ({"name": "Eve"}, ()),
    "a number": ({"sub": "person-1", "name": 5}, ()),
}


@pytest.mark.parametrize("said", NAMES.values(), ids=NAMES.keys())
async def test_names_from_userinfo(provider: Provider, own: OwnProvider, said: tuple[Any, tuple[str, ...]]) -> None:
    own.userinfo = said[0]
    found = await signed_in(provider, own)
    assert isinstance(found, Identity)
    assert await provider.names(found) == said[1]


@pytest.mark.parametrize(
    "answer", [(200, HUGE, {}), (500, b"", {}), (200, b"a.b.c", {}), (302, b"", {"location": "/"})]
)
async def test_userinfo_that_is_unusable_costs_the_name_alone(
    provider: Provider, own: OwnProvider, answer: tuple[int, bytes, dict[str, str]]
) -> None:
    own.answers["/userinfo"] = answer
    found = await signed_in(provider, own)
    assert isinstance(found, Identity)
    assert await provider.names(found) == ()


async def test_a_slow_userinfo_costs_the_name_alone(own: OwnProvider) -> None:
    released = threading.Event()
    own.before = lambda asked: released.wait(60) and None if asked == "/userinfo" else None
    provider = client_of(own, name_seconds=0.3)
    found = await signed_in(provider, own)
    assert isinstance(found, Identity)
    assert await provider.names(found) == ()
    released.set()


async def test_a_name_in_the_token_asks_for_no_userinfo(provider: Provider, own: OwnProvider) -> None:
    own.claims = {"name": "Ada Lovelace", "preferred_username": "ada"}
    found = await signed_in(provider, own)
    assert isinstance(found, Identity)
    assert await provider.names(found) == ("Ada Lovelace", "ada")
    assert "/userinfo" not in own.requests


async def test_the_log_has_the_reason_and_no_secret(
    provider: Provider, own: OwnProvider, capsys: pytest.CaptureFixture[str]
) -> None:
    own.claims = {"aud": "other"}
    attempt = Attempt.new(KEY)
    url = await provider.authorization_url(attempt, "en")
    assert isinstance(url, str)
    code = own.code_of(url)
    await provider.identify(attempt, code, None)
    written = "".join(capsys.readouterr())
    assert "aud" in written
    for secret in (code, attempt.state, attempt.nonce, attempt.verifier, CLIENT_SECRET, "at-1"):
        assert secret not in written, json.dumps(written)
