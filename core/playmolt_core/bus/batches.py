"""Atomic batches of stream messages, each stored directly after a given sequence or not at all."""

import asyncio
import itertools
import uuid
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from nats.aio.msg import Msg

from playmolt_core.bus.nats_client import NatsClient
from playmolt_core.bus.port import BusUnavailable

MOST_MESSAGES: Final = 500
MOST_BYTES: Final = 2 * 1024 * 1024
"""The limits of a batch; NATS itself accepts 1,000 messages."""
EXPECTED: Final = "Nats-Expected-Last-Sequence"
BATCH_ID: Final = "Nats-Batch-Id"
_BATCH_SEQUENCE: Final = "Nats-Batch-Sequence"
_BATCH_COMMIT: Final = "Nats-Batch-Commit"
FENCES: Final = (EXPECTED, BATCH_ID)
"""The headers of a fenced message, one or the other; the server stores them."""
_WRONG_LAST_SEQUENCE: Final = 10071
_SECONDS: Final = 5.0
_UNDER_WAY: Final = 64
"""The most batches without an answer."""


class StreamMessage(msgspec.Struct, frozen=True):
    """A message of a stream with its own headers, without those of the server."""

    subject: str
    body: bytes
    headers: dict[str, str] = {}


class Fenced(Exception):
    """The stream does not end at the expected sequence but at `last`; nothing of the batch was stored."""

    def __init__(self, last: int) -> None:
        super().__init__(f"the stream ends at {last}")
        self.last = last


class _Refusal(msgspec.Struct):
    err_code: int = 0
    description: str = ""


class _Ack(msgspec.Struct):
    seq: int = 0
    error: _Refusal | None = None


_read_ack = msgspec.json.Decoder(_Ack).decode
Settle = Callable[[Fenced | BusUnavailable | None], None]
"""Receives the outcome of a batch: None if it was stored. After BusUnavailable it is unknown."""


class BatchPublisher:
    """Publishes batches on a connection. Those of one stream are stored in the order of `send`."""

    def __init__(self, connection: NatsClient) -> None:
        self._connection = connection
        self._inbox = connection.new_inbox()
        self._name = uuid.uuid4().hex[:8]
        self._numbers = itertools.count()
        self._settles: dict[str, tuple[int, Settle]] = {}

    async def start(self) -> None:
        subscription = await self._connection.subscribe(f"{self._inbox}.*", cb=self._receive)
        self._connection.receive_inline(subscription, self._receive)

    def send(self, messages: Sequence[StreamMessage], after: int, settle: Settle | None) -> None:
        """Send at most 1,000 messages for one stream, which must end at sequence `after`. Raises BusUnavailable.

        The answer may never come; without `settle` none is asked for.
        """
        if not self._connection.is_connected:  # otherwise the client would buffer them and send them later
            raise BusUnavailable("NATS is unavailable")
        most = self._connection.max_payload
        if most and any(len(message.body) + _HEAD_BYTES > most for message in messages):
            # The server would close the connection.
            raise BusUnavailable(f"a message exceeds max_payload of the server, {most} bytes")
        number, reply = f"{next(self._numbers):x}", ""
        if settle:
            if len(self._settles) >= _UNDER_WAY:  # the answer of the oldest was lost
                _, forgotten = self._settles.pop(next(iter(self._settles)))
                forgotten(BusUnavailable("publish: no answer"))
            reply = f"{self._inbox}.{number}"
            self._settles[reply] = (after + len(messages), settle)
        # One buffer for all: publish() for each message would be half of the cost, and request() for the last one costs
        # as much as thirty messages of the buffer.
        self._connection.put(_commands(messages, after, reply, self._name + number))

    async def publish(self, messages: Sequence[StreamMessage], after: int) -> None:
        """As `send`, and wait for the answer. Raises Fenced and BusUnavailable."""
        settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def settle(failure: Fenced | BusUnavailable | None) -> None:
            if settled.done():
                return
            if failure is None:
                settled.set_result(None)
            else:
                settled.set_exception(failure)

        self.send(messages, after, settle)
        try:
            async with asyncio.timeout(_SECONDS):
                await settled
        except TimeoutError as error:
            raise BusUnavailable("publish: no answer") from error

    async def _receive(self, answer: Msg) -> None:
        sent = self._settles.pop(answer.subject, None)
        if sent:
            expected, settle = sent
            settle(_outcome(answer, expected))


def _outcome(answer: Msg, expected: int) -> Fenced | BusUnavailable | None:
    if answer.headers and answer.headers.get("Status") == "503":
        return BusUnavailable("publish: no stream answers")
    ack = _read_ack(answer.data)
    if ack.error is None:
        return None if ack.seq == expected else BusUnavailable(f"publish ended at sequence {ack.seq}, not {expected}")
    if ack.error.err_code == _WRONG_LAST_SEQUENCE:
        last = ack.error.description.rpartition(":")[2].strip()
        return Fenced(int(last)) if last.isdecimal() else BusUnavailable(ack.error.description)
    return BusUnavailable(f"publish refused: {ack.error.err_code} {ack.error.description}")


_HEAD_BYTES: Final = 1024
"""More than the headers of a message have."""


def cut(messages: Sequence[StreamMessage]) -> list[Sequence[StreamMessage]]:
    """Messages as batches within the limits; at least one message each."""
    batches: list[Sequence[StreamMessage]] = []
    batch: list[StreamMessage] = []
    size = 0
    for message in messages:
        if batch and (len(batch) == MOST_MESSAGES or size + len(message.body) > MOST_BYTES):
            batches.append(batch)
            batch, size = [], 0
        batch.append(message)
        size += len(message.body)
    return [*batches, batch] if batch else batches


def _commands(messages: Sequence[StreamMessage], after: int, reply: str, batch: str) -> bytes:
    """The HPUB commands of a batch; its acknowledgement arrives on `reply`, if that is not empty."""
    parts: list[bytes] = []
    count = len(messages)
    to, first = "", f"{EXPECTED}: {after}\r\n"
    for number, message in enumerate(messages, 1):
        own = "".join([f"{name}: {value}\r\n" for name, value in message.headers.items()]) if message.headers else ""
        place = f"{BATCH_ID}: {batch}\r\n{_BATCH_SEQUENCE}: {number}\r\n" if count > 1 else ""
        if number == count:
            to, place = reply, f"{place}{_BATCH_COMMIT}: 1\r\n" if count > 1 else ""
        head, body = f"NATS/1.0\r\n{own}{first}{place}\r\n", message.body
        size = len(head)  # also in bytes: it is ASCII
        parts += (f"HPUB {message.subject} {to} {size} {size + len(body)}\r\n{head}".encode(), body, b"\r\n")
        first = ""
    return b"".join(parts)
