"""A bot's own server, which gives set answers and keeps the calls that it received."""

import hashlib
import hmac
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
Answering = Callable[[BaseHTTPRequestHandler, Json], None]


class CalledBot:
    """A server at `url`. Set `secret` to the secret that the platform returned."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.secret = ""
        self.calls: list[Json] = []
        self.keys: list[str] = []
        self.forged = 0
        self.stopping = threading.Event()

    def end_call(self) -> Json | None:
        """The call with the end of the game, if it arrived."""
        return next((call for call in self.calls if call["over"]), None)

    def take(self, handler: BaseHTTPRequestHandler) -> Json:
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        signed = handler.headers["PlayMolt-Timestamp"].encode() + b"." + body
        wanted = "v1=" + hmac.new(self.secret.encode(), signed, hashlib.sha256).hexdigest()
        self.forged += wanted != handler.headers["PlayMolt-Signature"]
        call: Json = json.loads(body)
        self.calls.append(call)
        self.keys.append(handler.headers["Idempotency-Key"])
        return call


def answer(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def action_for(turn: Json) -> Json:
    """A valid action for any turn of O/X and trials."""
    kinds = {offer["type"] for offer in turn["actions"]}
    if "first_choice" in kinds:
        return {"type": "first_choice", "choice": "O", "comment": "as always"}
    if "switch" in kinds:
        return {"type": "switch", "use_switch": False}
    return {"type": "vote", "verdict": "NOT_GUILTY"} if "vote" in kinds else {"type": "speak", "text": "as always"}


def playing(handler: BaseHTTPRequestHandler, turn: Json) -> None:
    answer(handler, json.dumps(action_for(turn) if turn["actions"] else {}).encode())


@contextmanager
def called(answering: Answering = playing) -> Iterator[CalledBot]:
    bot: CalledBot

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            turn = bot.take(self)
            try:
                answering(self, turn)
            except OSError:  # the caller has closed the connection
                self.close_connection = True

        def log_message(self, *args: Any, **named: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    bot = CalledBot(f"http://127.0.0.1:{server.server_address[1]}/turn")
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    serving.start()
    try:
        yield bot
    finally:
        bot.stopping.set()
        server.shutdown()
        serving.join()
        server.server_close()
