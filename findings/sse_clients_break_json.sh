#!/usr/bin/env bash
# Clients of server-sent events on PyPI, installed 2026-11: httpx-sse 0.4.3, sseclient-py 1.9.0, requests-sse 0.5.3,
# aiohttp-sse-client 0.2.1, aiosseclient 0.1.8.
# Guess: an event whose data is one line of JSON arrives whole or not at all: a line ends at CR or LF alone, and an event
#        that a broken connection cut off is dropped, as the standard says.
# Seen:  aiohttp-sse-client keeps the part of the event that was cut off and puts it before the first event of the next
#        connection: that event is no JSON any more. sseclient-py hands out the part as an event.
#        aiosseclient also ends a line at U+2028, U+2029 and U+0085, which JSON leaves as they are in a text: it hands
#        out the first half and warns of an invalid line. httpx-sse and requests-sse do as guessed.
# Why it matters: a feed of what people and models say must escape these three characters, and a reader that reconnects
#        must expect one broken event.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check httpx-sse==0.4.3 httpx==0.28.1 sseclient-py==1.9.0 \
  requests-sse==0.5.3 aiohttp-sse-client==0.2.1 aiosseclient==0.1.8
"$folder/venv/bin/python" - <<'PY'
import asyncio
import http.server
import itertools
import json
import threading
import time

import aiosseclient
import httpx
import httpx_sse
import requests
import requests_sse
import sseclient
from aiohttp_sse_client import client as aiohttp_sse

WHOLE = [json.dumps({"text": f"one{mark}two"}, ensure_ascii=False) for mark in ("\u2028", "\u2029", "\u0085")]
CUT = '{"text": "cut'
BODY = "".join(f"data: {text}\n\n" for text in WHOLE) + f"data: {CUT}\n"  # the connection ends within an event


class Feed(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(BODY.encode())

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Feed)
threading.Thread(target=server.serve_forever, daemon=True).start()
address = f"http://127.0.0.1:{server.server_port}/"


def with_httpx_sse():
    with httpx.Client() as client, httpx_sse.connect_sse(client, "GET", address) as source:
        return [event.data for event in source.iter_sse()]


def with_sseclient():
    return [event.data for event in sseclient.SSEClient(requests.get(address, stream=True, timeout=10)).events()]


def with_requests_sse():
    with requests_sse.EventSource(address, timeout=10) as source:
        return [event.data for event in itertools.islice(source, 4)]  # it connects again by itself


async def with_aiohttp_sse():
    seen = []
    async with aiohttp_sse.EventSource(address) as source:
        async for event in source:
            seen.append(event.data)
            if len(seen) == 4:
                return seen


async def with_aiosseclient():
    return [event.data async for event in aiosseclient.aiosseclient(address)]


seen = {
    "httpx-sse": with_httpx_sse(),
    "sseclient-py": with_sseclient(),
    "requests-sse": with_requests_sse(),
    "aiohttp-sse-client": asyncio.run(asyncio.wait_for(with_aiohttp_sse(), 60)),
    "aiosseclient": asyncio.run(asyncio.wait_for(with_aiosseclient(), 60)),
}
for name, events in seen.items():
    print(f"{name:18}", [text.encode("unicode_escape").decode() for text in events])
assert seen["httpx-sse"] == WHOLE
assert seen["requests-sse"] == [*WHOLE, WHOLE[0]]
assert seen["sseclient-py"] == [*WHOLE, CUT], "sseclient-py drops what was cut off now"
assert seen["aiohttp-sse-client"] == [*WHOLE, f"{CUT}\n{WHOLE[0]}"], "aiohttp-sse-client drops what was cut off now"
assert seen["aiosseclient"][:3] == ['{"text": "one'] * 3, "aiosseclient keeps the three characters now"
PY
