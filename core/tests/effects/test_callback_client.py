"""Calls of an agent's own server, which may do anything: each call ends in an answer or a fault, in bounded time."""

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from playmolt_core.effects.callbacks.address import BadAddress, allowed, checked, resolved
from playmolt_core.effects.callbacks.client import CallbackAnswer, CallbackClient, signature
from playmolt_core.effects.callbacks.faults import CallbackFailure

from core.tests.listening import listening

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def answering(head: str, body: bytes = b"") -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A socket closed on what was not read takes its answer with it.
        await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(2)
        writer.write(f"HTTP/1.1 {head}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        await writer.drain()

    return serve


async def hanging(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
    while True:
        writer.write(b" " * 65536)
        await writer.drain()


@asynccontextmanager
async def called(
    serve: Serve, *, seconds: float = 10.0, private: bool = True
) -> AsyncIterator[CallbackAnswer | CallbackFailure]:
    client = CallbackClient(private=private, seconds=seconds)
    async with listening(serve) as port:
        try:
            yield await client.call(f"http://127.0.0.1:{port}/turn", "secret", b"{}", "key")
        finally:
            await client.close()


@pytest.mark.parametrize(
    ("serve", "what"),
    [
        (answering("500 No"), "callback_status"),
        (answering("302 Found\r\nLocation: http://127.0.0.1/"), "callback_redirect"),
        (answering("200 OK", b"O, I think"), "callback_body"),
        (answering("200 OK", b"[1]"), "callback_body"),
        (answering("200 OK", b" " * 65_537), "callback_too_large"),
        (endless, "callback_too_large"),
    ],
)
async def test_what_is_not_an_action_is_a_fault_of_its_own(serve: Serve, what: str) -> None:
    async with called(serve) as answer:
        assert isinstance(answer, CallbackFailure)
        assert answer.what == what


async def test_a_server_that_hangs_is_left_in_time() -> None:
    async with called(hanging, seconds=0.2) as answer:
        assert isinstance(answer, CallbackFailure)
        assert answer.what == "callback_timeout"


async def test_an_object_is_the_answer() -> None:
    async with called(answering("200 OK", b'{"type": "vote"}')) as answer:
        assert answer == CallbackAnswer({"type": "vote"}, b'{"type": "vote"}')


async def test_a_server_that_is_private_or_not_there_is_not_reached() -> None:
    async with called(answering("200 OK", b"{}"), private=False) as answer:
        assert isinstance(answer, CallbackFailure)
        assert answer.what == "callback_address"
    client = CallbackClient(private=True)
    gone = await client.call("http://127.0.0.1:1/", "secret", b"{}", "key")
    await client.close()
    assert isinstance(gone, CallbackFailure)
    assert gone.what == "callback_unreachable"


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "224.0.0.1", "0.0.0.1",
        "::1", "::", "fe80::1", "fc00::1", "ff02::1", "::ffff:8.8.8.8", "::ffff:127.0.0.1", "64:ff9b::7f00:1",
    ],
)  # fmt: skip
def test_an_address_that_is_not_public_is_not_called(address: str) -> None:
    assert not allowed(ipaddress.ip_address(address), private=False)


def test_a_public_address_is_called_and_loopback_where_it_is_allowed() -> None:
    assert allowed(ipaddress.ip_address("8.8.8.8"), private=False)
    assert allowed(ipaddress.ip_address("2001:4860:4860::8888"), private=False)
    assert allowed(ipaddress.ip_address("127.0.0.1"), private=True)
    assert not allowed(ipaddress.ip_address("10.0.0.1"), private=True)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "ftp://a/",
        "https://u:p@a/",
        "https://a/#x",
        "https://",
        "https://a b/",
        "https://a/" + "x" * 500,
    ],
)
def test_a_url_of_another_form_is_refused(url: str) -> None:
    with pytest.raises(BadAddress):
        checked(url, private=False)


async def test_a_name_that_resolves_to_nothing_is_refused() -> None:
    with pytest.raises(BadAddress):
        await resolved("https://nowhere.invalid/", private=False)


def test_a_signature_is_over_the_time_and_the_bytes() -> None:
    assert signature("s", "1", b"{}") != signature("s", "2", b"{}") != signature("s", "2", b"{ }")
    assert signature("s", "1", b"{}").startswith("v1=")
