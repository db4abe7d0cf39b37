#!/usr/bin/env bash
# vl-convert-python 1.9.0.post1 (draws Vega-Lite charts without a browser), installed 2026-11.
# Guess: data that cannot be loaded (404, no connection, no such file, JSON that ends early) raises.
# Seen:  an address that is not in `allowed_base_urls` raises. In the other four cases the chart is made without marks, with
#        status 0 and nothing on standard error. With the data at hand the same specification draws every bar.
# Why it matters: a report that is built while the platform is away holds an empty figure that looks like "no games", with
#        status 0. Put the data into the specification, or count the marks of the SVG.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check vl-convert-python==1.9.0.post1
cd "$folder"
cat > draw.py <<'PY'
import json
import sys

import vl_convert

address, allowed = json.loads(sys.argv[1])
chart = vl_convert.vegalite_to_svg({
    "$schema": "https://vega.github.io/schema/vega-lite/v5.json", "data": {"url": address}, "mark": "bar",
    "encoding": {"x": {"field": "agent", "type": "nominal"}, "y": {"field": "points", "type": "quantitative"}},
}, allowed_base_urls=allowed)
print(chart.count('aria-roledescription="bar"'))
PY
venv/bin/python - <<'PY'
import json
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

ROWS = json.dumps([{"agent": "A", "points": 3}, {"agent": "B", "points": 1}]).encode()


class Games(BaseHTTPRequestHandler):
    def do_GET(self):
        body = {"/games.json": ROWS, "/cut.json": ROWS[:-9]}.get(self.path)
        self.send_response(200 if body else 404)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(body or b'{"code": "not_found"}')

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Games)
threading.Thread(target=server.serve_forever, daemon=True).start()
here = f"http://127.0.0.1:{server.server_port}"
closed = HTTPServer(("127.0.0.1", 0), Games)
closed.server_close()


def drawn(address, allowed=None):
    done = subprocess.run(["venv/bin/python", "draw.py", json.dumps([address, allowed])], capture_output=True, text=True, timeout=60)
    print(f"{address}, allowed {allowed or 'all'}: status {done.returncode}, bars {done.stdout.strip()!r}, "
          f"messages {done.stderr[-110:]!r}")
    return done


def bars(address):
    done = drawn(address)
    assert done.returncode == 0 and not done.stderr, "it changed"
    return int(done.stdout)


assert bars(f"{here}/games.json") == 2
for address in (f"{here}/missing.json", f"{here}/cut.json", f"http://127.0.0.1:{closed.server_port}/games.json", "missing.csv"):
    assert bars(address) == 0, "it changed"
refused = drawn(f"{here}/games.json", ["https://example.org/"])
assert refused.returncode and "not allowed" in refused.stderr
PY
