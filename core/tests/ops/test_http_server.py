"""The HTTP server: serves until it is told to stop, and stops then."""

import asyncio
from typing import Any

import uvicorn
from playmolt_core.ops.http_protocol import HttpServer
from playmolt_core.ops.process import listening


async def _answer(_: Any, __: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def test_it_answers_renews_the_date_and_stops_when_told() -> None:
    sock = listening("127.0.0.1", 0)
    server = HttpServer(uvicorn.Config(_answer, lifespan="off", log_config=None, ws="none"))
    serving = asyncio.create_task(server.serve(sockets=[sock]))
    dates = set()
    async with asyncio.timeout(60):
        while len(dates) < 2:
            reader, writer = await asyncio.open_connection(*sock.getsockname())
            writer.write(b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
            writer.close()
            assert body == b"ok"
            dates.add(next(line for line in head.split(b"\r\n") if line.startswith(b"date:")))
            await asyncio.sleep(0.1)
    server.stop()
    await asyncio.wait_for(serving, 60)
