"""The cost of telemetry: O/X actions per second with a trace collector, beside those without. Wanted: at most 5 %."""

import json
import os
import statistics
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import uvloop

from bench.actions import measure_product
from bench.servers import platform

GAMES = 192
IN_FLIGHT = 64
ROUNDS = 3
VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"


class _Sink(BaseHTTPRequestHandler):
    """Accepts spans and drops them."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@contextmanager
def _collector() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Sink)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    serving.join()


class Cost(NamedTuple):
    """Actions per second, and the CPU microseconds of all services for one action."""

    rate: float
    cpu: float


def _cpu_seconds(data: Path) -> float:
    """CPU seconds of the services so far. Postgres is not included: it handles no spans."""
    pids = json.loads((data / "run.json").read_text("utf-8"))["processes"].values()
    stats = (Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split() for pid in pids)
    return sum(int(fields[11]) + int(fields[12]) for fields in stats) / os.sysconf("SC_CLK_TCK")


def _cost(endpoint: str, games: int) -> Cost:
    os.environ[VARIABLE] = endpoint
    try:
        with platform() as (data, port):
            uvloop.run(measure_product(port, 16, IN_FLIGHT))  # warm
            before = _cpu_seconds(data)
            measured = uvloop.run(measure_product(port, games, IN_FLIGHT))
            return Cost(measured.rate, (_cpu_seconds(data) - before) / (games * 50) * 1e6)
    finally:
        del os.environ[VARIABLE]


def measure(games: int = GAMES, rounds: int = ROUNDS) -> tuple[list[Cost], list[Cost]]:
    """The costs with and without telemetry, in alternating rounds, so that other load on the machine affects both."""
    traced: list[Cost] = []
    plain: list[Cost] = []
    with _collector() as endpoint:
        for _ in range(rounds):
            plain.append(_cost("", games))
            traced.append(_cost(endpoint, games))
    return traced, plain


def rows() -> list[tuple[str, str, str, str]]:
    traced, plain = measure()
    mine, other = (statistics.median(cost.rate for cost in costs) for costs in (traced, plain))
    own, beside = (statistics.median(cost.cpu for cost in costs) for costs in (traced, plain))
    return [
        ("O/X actions/s with traces", f"{mine:,.0f}/s", f"{other:,.0f}/s", f"{1 - mine / other:.1%} (wanted < 5 %)"),
        ("CPU of the services an action", f"{own:,.0f} µs", f"{beside:,.0f} µs", f"{own / beside - 1:+.1%}"),
    ]


if __name__ == "__main__":
    for row in rows():
        print(*row)
