"""What telemetry costs: O/X actions a second with a collector set beside the same without one. Wanted: at most 5 %."""

import os
import statistics
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import uvloop

from bench.actions import _measure_product
from bench.servers import folder, product

GAMES = 192
ROUNDS = 3
VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"


class _Sink(BaseHTTPRequestHandler):
    """Takes spans and forgets them."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def _collector() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Sink)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    serving.join()


def _rates(endpoint: str, games: int, rounds: int) -> list[float]:
    os.environ[VARIABLE] = endpoint
    try:
        with folder() as data, product(Path(data)) as port:
            uvloop.run(_measure_product(port, 16))  # warm
            return [uvloop.run(_measure_product(port, games)).rate for _ in range(rounds)]
    finally:
        del os.environ[VARIABLE]


def measure(games: int = GAMES, rounds: int = ROUNDS) -> tuple[list[float], list[float]]:
    """Give the rates with and without telemetry, in turns: whatever else the machine does falls on both."""
    traced: list[float] = []
    plain: list[float] = []
    with _collector() as endpoint:
        for _ in range(rounds):
            plain += _rates("", games, 1)
            traced += _rates(endpoint, games, 1)
    return traced, plain


def rows() -> list[tuple[str, str, str, str]]:
    traced, plain = measure()
    mine, other = statistics.median(traced), statistics.median(plain)
    return [
        ("O/X actions/s with traces", f"{mine:,.0f}/s", f"{other:,.0f}/s", f"{1 - mine / other:.1%} (wanted < 5 %)"),
    ]


if __name__ == "__main__":
    for row in rows():
        print(*row)
