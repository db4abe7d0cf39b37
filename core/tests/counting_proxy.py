"""An HTTP proxy that records the requested hosts and forwards all requests to one server.

Names such as `models.example` do not exist elsewhere, so a request to such a name that arrives has used the proxy.
"""

import socket
import threading
from contextlib import suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

PROXY_VARIABLES: Final = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
_HOP_BY_HOP: Final = ("connection", "proxy-connection", "transfer-encoding", "content-length")


class CountingProxy:
    """Runs within its context. `hosts` are the requested hosts, in order."""

    def __init__(self, target: str = "") -> None:
        self.hosts: list[str] = []
        self.target = target
        """The server (`http://HOST:PORT`) that answers every request. If it is "", the proxy answers 403."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def variables(self, *names: str) -> dict[str, str]:
        """The environment variables that name this proxy, or only those given."""
        return dict.fromkeys(names or PROXY_VARIABLES, self.url)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_CONNECT(self) -> None:
                proxy.hosts.append(self.path)
                self.close_connection = True
                self.send_error(403)

            def do_GET(self) -> None:
                asked = urlsplit(self.path)
                proxy.hosts.append(asked.netloc)
                self.close_connection = True
                if not proxy.target:
                    self.send_error(403)
                    return
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                headers = {name: text for name, text in self.headers.items() if name.lower() not in _HOP_BY_HOP}
                target = HTTPConnection(urlsplit(proxy.target).netloc, timeout=60)
                with suppress(OSError, socket.timeout):
                    target.request(self.command, asked.path or "/", body or None, headers)
                    answer = target.getresponse()
                    content = answer.read()
                    self.send_response(answer.status)
                    for name, text in answer.getheaders():
                        if name.lower() not in _HOP_BY_HOP:
                            self.send_header(name, text)
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)
                target.close()

            do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_GET  # noqa: N815 -- http.server's names

            def log_message(self, *_: object) -> None:
                pass

        return Handler
