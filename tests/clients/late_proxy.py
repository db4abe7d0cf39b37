"""A proxy that delays the first action until the game has continued without it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

import httpx

SECONDS = 60.0
_HOP = {"transfer-encoding", "connection", "keep-alive", "content-length", "date", "server"}


class _Late(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    client: httpx.Client
    seen: list[int]
    lock: Lock

    def do_GET(self) -> None:
        self._forward()

    def do_POST(self) -> None:
        self._forward()

    def log_message(self, *args: Any) -> None:
        """Log nothing."""

    def _forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
        acts = self.path.endswith("/actions")
        if acts:
            self._hold(headers)
        answer = self.client.request(self.command, self.path, content=body, headers=headers)
        if acts:
            self.seen.append(answer.status_code)
        self.send_response(answer.status_code)
        for name, value in answer.headers.items():
            if name.lower() not in _HOP | {"content-encoding"}:
                self.send_header(name, value)
        if answer.status_code != 204:
            self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    def _hold(self, headers: dict[str, str]) -> None:
        with self.lock:
            if self.seen:
                return
            path = self.path.replace("/actions", "/state")
            first = state = self._state(path, headers)
            end = time.monotonic() + SECONDS
            while (state["phase"], state["round"]) == (first["phase"], first["round"]):
                assert time.monotonic() < end, "the game waits for ever"
                state = self._state(path, headers, after=state["version"], wait=10)

    def _state(self, path: str, headers: dict[str, str], **parameters: int) -> dict[str, Any]:
        answer = self.client.get(path, headers=headers, params=parameters)
        state: dict[str, Any] = answer.raise_for_status().json()
        return state


@contextmanager
def late(target: str) -> Iterator[tuple[str, list[int]]]:
    """Run the proxy; give its address, and the status of every action that went through it."""
    with httpx.Client(base_url=target, timeout=SECONDS) as client:
        handler = type("Late", (_Late,), {"client": client, "seen": [], "lock": Lock()})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", handler.seen
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
