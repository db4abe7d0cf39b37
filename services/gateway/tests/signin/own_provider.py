"""An OpenID provider for tests, which signs everyone in immediately and can make one error at a time."""

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import parse_qs, parse_qsl, unquote_plus, urlencode, urlsplit

from joserfc import jws
from joserfc.errors import SecurityWarning
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

CLIENT_ID = "arena"
CLIENT_SECRET = "a secret: with +signs, %20 and /"
Answer = tuple[int, bytes, Mapping[str, str]]
RSA = RSAKey.generate_key(2048, {"kid": "first"})
OTHER_RSA = RSAKey.generate_key(2048, {"kid": "first"})
SECOND_RSA = RSAKey.generate_key(2048, {"kid": "second"})
EC = ECKey.generate_key("P-256", {"kid": "curve"})
ED = OKPKey.generate_key("Ed25519", {"kid": "edwards"})


def public(key: Key, **changes: Any) -> dict[str, Any]:
    """A key in the form that the provider publishes. A change to None leaves the member out."""
    shown = {**key.as_dict(private=False), "use": "sig", **changes}
    return {name: value for name, value in shown.items() if value is not None}


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unsigned(claims: Mapping[str, Any], header: Mapping[str, Any] | None = None) -> str:
    return f"{b64(json.dumps(header or {'alg': 'none'}).encode())}.{b64(json.dumps(claims).encode())}."


def signed(claims: Mapping[str, Any], key: Key = RSA, **header: Any) -> str:
    """A signed token. A header set to None is left out."""
    members = {"alg": "RS256", "kid": key.kid, **header}
    members = {name: value for name, value in members.items() if value is not None}
    registry = JWSRegistry(algorithms=[str(members["alg"])], strict_check_header=False)
    registry.max_header_length = 10_000
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        return jws.serialize_compact(members, json.dumps(claims).encode(), key, registry=registry)


def signed_with_the_public_key(claims: Mapping[str, Any]) -> str:
    """A token signed by HS256 with the public key's text, for clients that let the token choose the algorithm."""
    head = f"{b64(json.dumps({'alg': 'HS256', 'kid': 'first'}).encode())}.{b64(json.dumps(claims).encode())}"
    return f"{head}.{b64(hmac.digest(RSA.as_pem(private=False), head.encode(), 'sha256'))}"


class OwnProvider:
    """Tests change its behaviour by its attributes."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.keys: list[dict[str, Any]] = [public(RSA)]
        self.sign: Callable[[dict[str, Any]], str] = signed
        self.claims: dict[str, Any] = {}
        """Further claims in the token; None leaves a usual claim out."""
        self.metadata: dict[str, Any] = {}
        self.subject = "person-1"
        self.userinfo: Any = None
        """The answer of the userinfo endpoint; None for the subject and the name "Ada"."""
        self.answers: dict[str, Answer] = {}
        """Answers by path that replace the usual ones."""
        self.callback: dict[str, str] = {}
        """Changes to the parameters of the redirect to the platform; "" leaves a parameter out."""
        self.before: Callable[[str], None] = lambda _path: None
        """Is called with the path of each request before the answer."""
        self.requests: list[str] = []
        self._codes: dict[str, dict[str, str]] = {}

    def document(self) -> dict[str, Any]:
        known = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
            **self.metadata,
        }
        return {name: value for name, value in known.items() if value is not None}

    def token(self, asked: Mapping[str, str]) -> str:
        now = int(time.time())
        usual = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "sub": self.subject,
            "iat": now,
            "exp": now + 300,
            "nonce": asked["nonce"],
        }
        claims = {name: value for name, value in {**usual, **self.claims}.items() if value is not None}
        return self.sign(claims)

    def authorize(self, query: Mapping[str, str]) -> Answer:
        """Sign the person in, as if they had entered a password, and redirect them to the platform."""
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        assert query["client_id"] == CLIENT_ID
        code = secrets.token_urlsafe(16)
        self._codes[code] = dict(query)
        back = {"code": code, "state": query["state"], "session_state": "x.y", **self.callback}
        kept = urlencode({name: value for name, value in back.items() if value})
        return 302, b"", {"location": f"{query['redirect_uri']}?{kept}"}

    def exchange(self, form: Mapping[str, str], authorization: str) -> Answer:
        """Exchange a code for tokens, once, if the client knows its secret and the verifier."""
        scheme, _, credentials = authorization.partition(" ")
        said = base64.b64decode(credentials).decode().split(":") if scheme == "Basic" else ("", "")
        known = [unquote_plus(part) for part in said]
        if self.document()["token_endpoint_auth_methods_supported"] == ["client_secret_post"]:
            known = [form.get("client_id"), form.get("client_secret")]
        if known != [CLIENT_ID, CLIENT_SECRET]:
            return _json({"error": "invalid_client"}, 401)
        asked = self._codes.pop(form["code"], None)
        challenge = b64(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if asked is None or asked["code_challenge"] != challenge or asked["redirect_uri"] != form["redirect_uri"]:
            return _json({"error": "invalid_grant"}, 400)
        return _json({"access_token": "at-1", "token_type": "Bearer", "id_token": self.token(asked)})

    def answer(self, method: str, target: str, body: bytes, authorization: str) -> Answer:
        parts = urlsplit(target)
        self.requests.append(parts.path)
        self.before(parts.path)
        if parts.path in self.answers:
            return self.answers[parts.path]
        if parts.path == "/.well-known/openid-configuration":
            return _json(self.document())
        if parts.path == "/authorize":
            return self.authorize(dict(parse_qsl(parts.query)))
        if parts.path == "/token" and method == "POST":
            return self.exchange(dict(parse_qsl(body.decode())), authorization)
        if parts.path == "/keys":
            return _json({"keys": self.keys})
        if parts.path == "/userinfo" and authorization == "Bearer at-1":
            return _json({"sub": self.subject, "name": "Ada"} if self.userinfo is None else self.userinfo)
        return 404, b"", {}

    def code_of(self, url: str) -> str:
        """Sign in at an address that a gateway made, and return the code of the redirect."""
        _, _, headers = self.authorize(dict(parse_qsl(urlsplit(url).query)))
        return parse_qs(urlsplit(headers["location"]).query)["code"][0]


def _json(value: Any, status: int = 200) -> Answer:
    return status, json.dumps(value).encode(), {"content-type": "application/json"}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _serve(self) -> None:
        provider = cast("_Server", self.server).provider
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        status, content, headers = provider.answer(self.command, self.path, body, self.headers.get("authorization", ""))
        self.send_response(status)
        for name, value in {"content-length": str(len(content)), "connection": "close", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = _serve  # noqa: N815 -- as the library names them

    def log_message(self, *args: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    provider: OwnProvider

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that close the connection before they have read everything."""


@contextmanager
def own_provider() -> Iterator[OwnProvider]:
    server = _Server(("127.0.0.1", 0), _Handler)
    server.provider = OwnProvider(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
