"""A collector that keeps the traces that it receives (OTLP over HTTP, protobuf)."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from playmolt_cli.local.embedded import free_port


class Seen(msgspec.Struct, frozen=True):
    """A received span; ids in hex."""

    service: str
    name: str
    trace: str
    span: str
    parent: str
    started: int
    ended: int
    attributes: dict[str, Any]


class Collector:
    """The spans received so far."""

    def __init__(self) -> None:
        self.spans: list[Seen] = []
        self.sent: list[bytes] = []
        """The request bodies, which also contain events of spans and other data of the exporter."""
        self._port = free_port()  # no other program gets it between two contexts

    @property
    def url(self) -> str:
        """The value of OTEL_EXPORTER_OTLP_ENDPOINT."""
        return f"http://127.0.0.1:{self._port}"

    def take(self, body: bytes) -> None:
        self.sent.append(body)
        request = ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            service = next(a.value.string_value for a in resource.resource.attributes if a.key == "service.name")
            for scope in resource.scope_spans:
                for span in scope.spans:
                    attributes = {a.key: a.value.string_value or a.value.int_value for a in span.attributes}
                    seen = Seen(
                        service,
                        span.name,
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                        span.start_time_unix_nano,
                        span.end_time_unix_nano,
                        attributes,
                    )
                    if seen not in self.spans:  # a service sends a span again if the answer comes too late
                        self.spans.append(seen)

    def of(self, trace: str) -> list[Seen]:
        return sorted((span for span in self.spans if span.trace == trace), key=lambda span: span.started)

    def until(self, there: Callable[[], bool], seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not there():
            assert time.monotonic() < end, [(span.service, span.name, span.trace) for span in self.spans]
            time.sleep(0.05)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Accept spans within the context and refuse all connections after it. The next context uses the same port."""
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                collector.take(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
            serving.join(60)
