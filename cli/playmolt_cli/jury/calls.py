"""The calls of the AI jury, as one more table for the clients of the SDK. A session belongs to the key that opened it.

`slow` calls may be answered with 202 after the time the gateway waits: the same request, sent again, asks for the same
answer.
"""

import uuid
from collections.abc import Callable
from typing import Any, Final, TypeVar
from urllib.parse import quote

import msgspec
from playmolt.calls import Request
from playmolt_schemas.games.jury import (
    ChatReply,
    ChatRequest,
    DossierView,
    EndingView,
    EvidenceList,
    EvidenceView,
    JurySession,
    Language,
    NoteReply,
    NoteRequest,
    OpenJuryRequest,
    PhaseName,
    PhaseRequest,
    RoundReply,
    TalkRequest,
    TalkView,
    VerdictView,
    WitnessList,
)
from playmolt_schemas.records import Record

T = TypeVar("T")
SLOW_SECONDS: Final = 20.0
"""How long the gateway holds a slow call."""
_PATH: Final = "/api/jury/sessions"
_ACCEPTED: Final = 202
_lines = msgspec.json.Decoder(Record)


def _reader(kind: type[T]) -> Callable[[int, bytes], T]:
    decoder = msgspec.json.Decoder(kind)
    return lambda _, body: decoder.decode(body)


def _slow(kind: type[T]) -> Callable[[int, bytes], T | None]:
    decoder = msgspec.json.Decoder(kind)
    return lambda status, body: None if status == _ACCEPTED else decoder.decode(body)


_session, _dossier, _items, _item = (
    _reader(JurySession),
    _reader(DossierView),
    _reader(EvidenceList),
    _reader(EvidenceView),
)
_people, _talk, _verdict_read, _ending = (
    _reader(WitnessList),
    _reader(TalkView),
    _reader(VerdictView),
    _reader(EndingView),
)


def _records(_: int, body: bytes) -> list[Record]:
    return _lines.decode_lines(body)


def _get(path: str, read: Callable[[int, bytes], T]) -> Request[T]:
    return Request("GET", path, read, {})


def _post(path: str, body: Any, read: Callable[[int, bytes], T], wait: float = 0) -> Request[T]:
    return Request("POST", path, read, {}, msgspec.json.encode(body), uuid.uuid4().hex, wait=wait)


def _of(session_id: str, *rest: str) -> str:
    return "/".join((_PATH, *(quote(part, safe="") for part in (session_id, *rest))))


def open_session(language: Language, model: str) -> Request[JurySession]:
    """Open a session; it stands in its prologue."""
    return _post(_PATH, OpenJuryRequest(language=language, model=model), _session)


def read(session_id: str) -> Request[JurySession]:
    """Give a session as it stands."""
    return _get(_of(session_id), _session)


def go(session_id: str, to: PhaseName) -> Request[JurySession]:
    """Go on to a phase, or back to the investigation."""
    return _post(_of(session_id, "phase"), PhaseRequest(to=to), _session)


def dossier(session_id: str) -> Request[DossierView]:
    """Give the case."""
    return _get(_of(session_id, "dossier"), _dossier)


def items(session_id: str) -> Request[EvidenceList]:
    """Give the evidence, of what is locked the id alone."""
    return _get(_of(session_id, "evidence"), _items)


def item(session_id: str, evidence_id: str) -> Request[EvidenceView]:
    """Read an item; refused with `locked`."""
    return _get(_of(session_id, "evidence", evidence_id), _item)


def witnesses(session_id: str) -> Request[WitnessList]:
    """Give the witnesses."""
    return _get(_of(session_id, "witnesses"), _people)


def talk(
    session_id: str, witness_id: str, *, choice: str | None = None, evidence_id: str | None = None
) -> Request[TalkView]:
    """Say or show something to a witness; neither shows where the talk stands."""
    return _post(
        _of(session_id, "witnesses", witness_id, "talk"), TalkRequest(choice=choice, evidence_id=evidence_id), _talk
    )


def chat(session_id: str, juror_id: str, text: str) -> Request[ChatReply | None]:
    """Talk to a juror. Slow."""
    return _post(_of(session_id, "chat", juror_id), ChatRequest(text=text), _slow(ChatReply), SLOW_SECONDS)


def present(session_id: str, juror_id: str, evidence_id: str) -> Request[ChatReply | None]:
    """Put an item before a juror. Slow."""
    return _post(_of(session_id, "jurors", juror_id, "present", evidence_id), {}, _slow(ChatReply), SLOW_SECONDS)


def next_round(session_id: str) -> Request[RoundReply | None]:
    """Let the jurors deliberate for a round. Slow."""
    return _post(_of(session_id, "deliberation", "next"), {}, _slow(RoundReply), SLOW_SECONDS)


def note(session_id: str, juror_id: str, text: str) -> Request[NoteReply | None]:
    """Slip a juror a secret note. Slow."""
    return _post(_of(session_id, "notes"), NoteRequest(juror_id=juror_id, text=text), _slow(NoteReply), SLOW_SECONDS)


def vote(session_id: str) -> Request[VerdictView | None]:
    """Have the jurors vote. Slow."""
    return _post(_of(session_id, "vote"), {}, _slow(VerdictView), SLOW_SECONDS)


def verdict(session_id: str) -> Request[VerdictView]:
    """Give the verdict as read from the chain; refused with `not_finished`."""
    return _get(_of(session_id, "verdict"), _verdict_read)


def ending(session_id: str) -> Request[EndingView]:
    """Give how the story ended; refused with `not_finished`."""
    return _get(_of(session_id, "ending"), _ending)


def log(session_id: str) -> Request[list[Record]]:
    """Give the whole log of a session that is over; refused with `not_finished`."""
    return _get(_of(session_id, "log"), _records)
