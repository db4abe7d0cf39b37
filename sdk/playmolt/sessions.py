"""The calls of the legal simulation, as one more table, and a client that follows a session.

Any client sends them: `client.send(sessions.read(session_id))`. A session belongs to the key that opened it.
"""

import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, Literal, Self
from urllib.parse import quote

import msgspec
from playmolt_schemas.games.legal import OpenSessionRequest, Session, Sessions

from playmolt.calls import Request
from playmolt.client import AsyncClient
from playmolt.feed import Feed, Message

ReportFormat = Literal["json", "md", "html", "docx", "pdf"]

DONE: Final = "session_done"
"""Type of the message after which a session's stream ends."""
OVER: Final = frozenset(("FINALIZE_DONE", "ABORTED"))
"""Phases of a session that is over."""

_PATH: Final = "/api/sessions"
_session_decoder, _sessions_decoder = msgspec.json.Decoder(Session), msgspec.json.Decoder(Sessions)


def _session(_status: int, body: bytes) -> Session:
    return _session_decoder.decode(body)


def _sessions(_status: int, body: bytes) -> list[Session]:
    return _sessions_decoder.decode(body).sessions


def _bytes(_status: int, body: bytes) -> bytes:
    return body


def _nothing(_status: int, _body: bytes) -> None:
    return None


def _of(session_id: str, rest: str = "") -> str:
    return f"{_PATH}/{quote(session_id, safe='')}{rest}"


def _post(path: str, body: Any) -> Request[Session]:
    return Request("POST", path, _session, {}, msgspec.json.encode(body), uuid.uuid4().hex)


def open_session(opening: OpenSessionRequest) -> Request[Session]:
    """Open a session; it waits for its facts."""
    return _post(_PATH, opening)


def mine() -> Request[list[Session]]:
    """Give the caller's sessions, newest first."""
    return Request("GET", _PATH, _sessions, {})


def read(session_id: str) -> Request[Session]:
    """Give a session with its facts, turns and open gate."""
    return Request("GET", _of(session_id), _session, {})


def tell_facts(session_id: str, facts: Mapping[str, Any]) -> Request[Session]:
    """Tell the facts (`legal.FactsRequest`); the models begin. Refused with `wrong_phase` later."""
    return _post(_of(session_id, "/facts"), facts)


def steer(session_id: str, form: Mapping[str, Any]) -> Request[Session]:
    """Answer the open gate with its form; refused with `invalid_form` (every fault by field) or `wrong_gate`."""
    return _post(_of(session_id, "/steering"), form)


def retry(session_id: str) -> Request[Session]:
    """Have a failed turn asked again; refused with `nothing_to_retry`."""
    return _post(_of(session_id, "/retry"), {})


def report(session_id: str, kind: ReportFormat = "json") -> Request[bytes]:
    """Give the report as it is to be stored; refused with `not_finished` before the end."""
    return Request("GET", _of(session_id, "/report"), _bytes, {"format": kind})


class SessionFeed(Feed):
    """Where a reader of a session's stream stands, over any number of connections."""

    def request(self) -> tuple[Request[None], dict[str, str]]:
        """Give the request of the next connection and its headers."""
        _, headers = super().request()
        return Request("GET", _of(self.game_id, "/stream"), _nothing, {"after": self.version}), headers

    def _new(self, data: bytes) -> Message | None:
        message = super()._new(data)
        if message is not None:
            self.closed = message.get("type") == DONE
        return message


class AsyncSessions(AsyncClient):
    """A client that can also follow a session."""

    async def __aenter__(self) -> Self:
        return self

    def follow(self, session_id: str, *, after: int = 0) -> AsyncIterator[Message]:
        """Give the messages of a session as they come, each once and in order, until it is over.

        Reconnects where it stopped; raises Unavailable when connections keep failing.
        """
        feed = SessionFeed(session_id, after, self._retry)

        async def over() -> bool:
            present = await self.send(read(session_id))
            return present.phase in OVER and present.version <= feed.version

        return self._follow(feed, over)
