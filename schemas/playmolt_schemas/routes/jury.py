"""The routes of the AI jury (`jury.md`, API)."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from playmolt_schemas import api
from playmolt_schemas.codes import Code
from playmolt_schemas.games import jury
from playmolt_schemas.games.jury_panels import PanelJury
from playmolt_schemas.limits import PACK_BODY_BYTES
from playmolt_schemas.records import OpenedRecord
from playmolt_schemas.routes.route import (
    EVENT_STREAM,
    HTML,
    MARKDOWN,
    NDJSON,
    SVG,
    Auth,
    Holder,
    Media,
    NoFields,
    OneOf,
    PictureQuery,
    Query,
    Route,
    StreamQuery,
)
from playmolt_schemas.routes.sharing import Share

_PATH: Final = "/api/jury/sessions"
_ONE: Final = _PATH + "/{id}"
_JURORS: Final = (Code.SESSION_PHASE, Code.BUSY)

TranscriptFormat = Literal["md", "html"]
TRANSCRIPT_MEDIA: Final[Mapping[TranscriptFormat, str]] = {"md": MARKDOWN, "html": HTML}
"""Transcript format → content type."""


class TranscriptQuery(Query, frozen=True):
    """`GET …/transcript`."""

    format: TranscriptFormat = "md"


NO_PANELS: Final = "none"
"""The value of `panel` that leaves juries of panels out."""


class ListQuery(Query, frozen=True):
    """`GET /api/jury/sessions`."""

    panel: (
        Annotated[
            str,
            Meta(
                max_length=80,
                description="List the juries of this panel instead of your own sessions; `none`: your own sessions"
                " without the juries of panels.",
            ),
        ]
        | None
    ) = None


def _route(
    method: str, path: str, name: str, summary: str, answers: dict[int, Any], *, auth: Auth = Auth.SESSION, **more: Any
) -> Route:
    return Route(
        method=method, path=path, name=name, tag="jury", auth=auth, service="jury", summary=summary,
        answers=answers, idempotent=method == "POST", **more,
    )  # fmt: skip


OPEN: Final[Route[jury.JurySession]] = _route(
    "POST", _PATH, "jury_open", "Open an AI jury session.", {201: jury.JurySession},
    request=jury.OpenJuryRequest, errors=(Code.BUDGET_SPENT,),
)  # fmt: skip
LIST: Final[Route[jury.JurySessions]] = Route(
    method="GET", path=_PATH, name="jury_list", tag="jury", auth=Auth.ANY, service="jury",
    summary="List your sessions, newest first, or the juries of a panel in the order of play.", query=ListQuery,
    answers={200: Holder(jury.JurySessions, "sessions", OneOf((jury.JurySession, PanelJury, api.ErasedSession)))},
)  # fmt: skip
READ: Final[Route[jury.JurySession]] = _route(
    "GET",
    _ONE,
    "jury_read",
    "Get a session: phase, the jurors' bands, remaining rounds and notes.",
    {200: jury.JurySession},
    auth=Auth.ANY,
)
PHASE: Final[Route[jury.JurySession]] = _route(
    "POST", _ONE + "/phase", "jury_phase", "Move to the next phase, or back to the investigation.",
    {200: jury.JurySession}, request=jury.PhaseRequest, errors=_JURORS,
)  # fmt: skip
DOSSIER: Final[Route[jury.DossierView]] = _route(
    "GET", _ONE + "/dossier", "jury_dossier", "Get the case.", {200: jury.DossierView}
)
EVIDENCE_LIST: Final[Route[jury.EvidenceList]] = _route(
    "GET", _ONE + "/evidence", "jury_evidence_list", "List the evidence.", {200: jury.EvidenceList}
)
EVIDENCE: Final[Route[jury.EvidenceView]] = _route(
    "GET", _ONE + "/evidence/{evidence_id}", "jury_evidence", "Read an item of evidence.", {200: jury.EvidenceView},
    errors=(Code.LOCKED,), writes=True,
)  # fmt: skip
WITNESSES: Final[Route[jury.WitnessList]] = _route(
    "GET", _ONE + "/witnesses", "jury_witnesses", "List the witnesses.", {200: jury.WitnessList}
)
TALK: Final[Route[jury.TalkView]] = _route(
    "POST",
    _ONE + "/witnesses/{witness_id}/talk", "jury_talk", "Talk to a witness, or show the witness an item of evidence.",
    {200: jury.TalkView}, request=jury.TalkRequest, errors=(Code.LOCKED, Code.SESSION_PHASE),
)  # fmt: skip
CHAT: Final[Route[jury.ChatReply | jury.JurySession]] = _route(
    "POST", _ONE + "/chat/{juror_id}", "jury_chat", "Talk to a juror; 202 if the reply takes longer than 20 seconds.",
    {200: jury.ChatReply, 202: jury.JurySession}, request=jury.ChatRequest,
    errors=(*_JURORS, Code.NO_ROUNDS_LEFT),
)  # fmt: skip
PRESENT: Final[Route[jury.ChatReply | jury.JurySession]] = _route(
    "POST", _ONE + "/jurors/{juror_id}/present/{evidence_id}", "jury_present", "Show a juror an item of evidence.",
    {200: jury.ChatReply, 202: jury.JurySession}, request=NoFields,
    errors=(*_JURORS, Code.NO_ROUNDS_LEFT, Code.LOCKED),
)  # fmt: skip
NEXT: Final[Route[jury.RoundReply | jury.JurySession]] = _route(
    "POST", _ONE + "/deliberation/next", "jury_next", "Start the next round of deliberation.",
    {200: jury.RoundReply, 202: jury.JurySession}, request=NoFields, errors=_JURORS,
)  # fmt: skip
NOTES: Final[Route[jury.NoteReply | jury.JurySession]] = _route(
    "POST", _ONE + "/notes", "jury_notes", "Send a juror a secret note between rounds.",
    {200: jury.NoteReply, 202: jury.JurySession}, request=jury.NoteRequest,
    errors=(*_JURORS, Code.NO_NOTES_LEFT),
)  # fmt: skip
VOTE: Final[Route[jury.VerdictView | jury.JurySession]] = _route(
    "POST", _ONE + "/vote", "jury_vote", "Let the jurors vote on the chain; 202 if that takes longer than 20 seconds.",
    {200: jury.VerdictView, 202: jury.JurySession}, request=NoFields, errors=_JURORS,
)  # fmt: skip
RETRY: Final[Route[jury.JurySession]] = _route(
    "POST", _ONE + "/retry", "jury_retry", "Cast a vote again that the chain lost, on the current chain.",
    {200: jury.JurySession}, request=NoFields, errors=(Code.NOTHING_TO_RETRY,),
)  # fmt: skip
VERDICT: Final[Route[jury.VerdictView]] = _route(
    "GET", _ONE + "/verdict", "jury_verdict", "Get the verdict as read from the chain.", {200: jury.VerdictView},
    errors=(Code.NOT_FINISHED,),
    auth=Auth.ANY,
)  # fmt: skip
ENDING: Final[Route[jury.EndingView]] = _route(
    "GET", _ONE + "/ending", "jury_ending", "Get the ending of the story.", {200: jury.EndingView},
    errors=(Code.NOT_FINISHED,),
    auth=Auth.ANY,
)  # fmt: skip
STREAM: Final[Route[bytes | None]] = _route(
    "GET", _ONE + "/stream", "jury_stream", "Stream the events of the session; the stream ends after ended.",
    {200: Media(EVENT_STREAM, jury.FEED.union), 204: None}, query=StreamQuery,
)  # fmt: skip
LOG: Final[Route[list[OpenedRecord]]] = _route(
    "GET", _ONE + "/log", "jury_log", "Download the log of a finished session, one record per line.",
    {200: Media(NDJSON, OpenedRecord)}, errors=(Code.LOG_NOT_FINISHED,),
    auth=Auth.ANY,
)  # fmt: skip
TRANSCRIPT: Final[Route[bytes]] = _route(
    "GET", _ONE + "/transcript", "jury_transcript",
    "Get the transcript of a finished session: case, talks, speeches, opinion changes, and the verdict vote by vote.",
    {200: Media(MARKDOWN)}, query=TranscriptQuery, other_media=(HTML,), errors=(Code.NOT_FINISHED,),
    auth=Auth.ANY,
)  # fmt: skip
PICTURE: Final[Route[bytes]] = _route(
    "GET", _ONE + "/picture.svg", "jury_picture", "Get a picture of the session at a version.", {200: Media(SVG)},
    query=PictureQuery,
)  # fmt: skip
SHARE: Final[Route[Share]] = _route(
    "POST",
    _ONE + "/share", "jury_share", "Create a share link to a finished session. Anyone with the link may read it.",
    {201: Share},
    request=NoFields, errors=(Code.NOT_FINISHED,),
)  # fmt: skip
UNSHARE: Final[Route[None]] = _route(
    "DELETE", _ONE + "/share", "jury_unshare", "Revoke the share link; its page no longer exists.", {204: None}
)

ERASE: Final[Route[api.SessionErased]] = Route(
    method="DELETE", path=_ONE, name="jury_erase", tag="jury", auth=Auth.ANY, service="jury", erases=True,
    summary="Erase a session permanently. Repeating the call returns the same answer.",
    answers={200: api.SessionErased},
)  # fmt: skip
_CASES: Final = "/api/jury/cases"
CASES: Final[Route[jury.CasesView]] = Route(
    method="GET", path=_CASES, name="jury_cases", tag="jury", auth=Auth.ANY, service="jury",
    summary="List the cases that a session can use.", answers={200: jury.CasesView},
)  # fmt: skip
BRING_CASE: Final[Route[jury.CaseAdded]] = Route(
    method="POST", path=_CASES, name="jury_bring_case", tag="jury", auth=Auth.ANY, service="jury",
    summary="Upload your own case. Uploading the same files again changes nothing.",
    request=jury.AddCaseRequest, body_bytes=PACK_BODY_BYTES, patient=True,
    answers={201: jury.CaseAdded, 200: jury.CaseAdded}, errors=(Code.OPERATOR_ONLY, Code.INVALID_FORM),
)  # fmt: skip
DROP_CASE: Final[Route[None]] = Route(
    method="DELETE", path=_CASES + "/{case}", name="jury_drop_case", tag="jury", auth=Auth.ANY, service="jury",
    summary="Withdraw a case; sessions that already use it continue.", answers={204: None},
)  # fmt: skip

JURY: Final = (
    OPEN,
    LIST,
    READ,
    PHASE,
    DOSSIER,
    EVIDENCE_LIST,
    EVIDENCE,
    WITNESSES,
    TALK,
    CHAT,
    PRESENT,
    NEXT,
    NOTES,
    VOTE,
    RETRY,
    VERDICT,
    ENDING,
    STREAM,
    LOG,
    TRANSCRIPT,
    PICTURE,
    SHARE,
    UNSHARE,
    ERASE,
    CASES,
    BRING_CASE,
    DROP_CASE,
)
