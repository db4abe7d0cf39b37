"""A small S3 server on loopback. It checks the name of the caller, but not the signature."""

import logging
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

import boto3
from moto.backends import get_backend
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import BaseWSGIServer, make_server

BUCKET = "anchors"
ACCESS_KEY, SECRET_KEY = "AKIDEXAMPLE", "a secret of the bucket"

Start = Callable[..., Any]


class ObjectStore:
    """Serves within its context and is empty at first. `requests` has the method and path of each request."""

    def __init__(self) -> None:
        self._app = DomainDispatcherApplication(create_backend_app)
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._server: BaseWSGIServer = make_server("127.0.0.1", 0, self._answer, threaded=True)
        self.requests: list[tuple[str, str]] = []
        self.harm: Callable[[bytes], bytes] = bytes
        """A change that is made to each object before it is sent."""

    def _answer(self, environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        self.requests.append((environ["REQUEST_METHOD"], environ["PATH_INFO"]))
        if f"Credential={ACCESS_KEY}/" not in environ.get("HTTP_AUTHORIZATION", ""):
            start("403 Forbidden", [("Content-Type", "application/xml")])
            return [b"<Error><Code>AccessDenied</Code><Message>who are you?</Message></Error>"]
        if environ["REQUEST_METHOD"] == "GET" and self.harm is not bytes:
            return self._harmed(environ, start)
        answered: Iterable[bytes] = self._app(environ, start)
        return answered

    def _harmed(self, environ: dict[str, Any], start: Start) -> Iterable[bytes]:
        answered: list[Any] = []
        body = self.harm(b"".join(self._app(environ, lambda *said: answered.extend(said))))
        headers = [each for each in answered[1] if each[0].lower() != "content-length"]
        start(answered[0], [*headers, ("Content-Length", str(len(body)))])
        return [body]

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def client(self) -> Any:
        """A client with all rights."""
        return boto3.client(
            "s3", endpoint_url=self.endpoint, region_name="us-east-1", aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
        )  # fmt: skip

    def __enter__(self) -> "ObjectStore":
        get_backend("s3").reset()  # otherwise the library keeps objects until the process ends
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.client().create_bucket(Bucket=BUCKET)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
