"""The routes of the legal simulation (`legal.md`, API)."""

from collections.abc import Mapping
from typing import Final, Literal

from playmolt_schemas import api
from playmolt_schemas.codes import Code
from playmolt_schemas.games import legal
from playmolt_schemas.records import OpenedRecord
from playmolt_schemas.routes.route import (
    EVENT_STREAM,
    HTML,
    JSON,
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
from playmolt_schemas.stored.legal import EndForm, FactsForm, Round1Form, Round2Form

_PATH: Final = "/api/sessions"
FORMS: Final = OneOf((FactsForm, Round1Form, Round2Form, EndForm))


ReportFormat = Literal["json", "md", "html", "docx", "pdf"]
REPORT_MEDIA: Final[Mapping[ReportFormat, str]] = {
    "json": JSON,
    "md": MARKDOWN,
    "html": HTML,
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pdf": "application/pdf",
}
"""Report format → content type."""


class UploadQuery(Query, frozen=True):
    """`POST …/evidence`. `dry=1` answers what an upload would, with the text, and stores nothing."""

    dry: Literal["0", "1"] = "0"


class SessionReportQuery(Query, frozen=True):
    """`GET /api/sessions/{id}/report`."""

    format: ReportFormat = "json"


OPEN_SESSION: Final[Route[legal.Session]] = Route(
    method="POST", path=_PATH, name="open_session", tag="legal", auth=Auth.SESSION, idempotent=True, service="legal",
    summary="Open a legal simulation session.",
    request=legal.OpenSessionRequest, answers={201: legal.Session}, errors=(Code.BUDGET_SPENT,),
)  # fmt: skip
LIST_SESSIONS: Final[Route[legal.Sessions]] = Route(
    method="GET", path=_PATH, name="list_sessions", tag="legal", auth=Auth.SESSION, service="legal",
    summary="List your sessions, newest first.",
    answers={200: Holder(legal.Sessions, "sessions", OneOf((legal.Session, api.ErasedSession)))},
)  # fmt: skip
READ_SESSION: Final[Route[legal.Session]] = Route(
    method="GET", path=_PATH + "/{id}", name="read_session", tag="legal", auth=Auth.SESSION, service="legal",
    summary="Get a session with its facts, turns and open gate; gate.schema describes the form to submit.",
    answers={200: legal.Session},
)  # fmt: skip
POST_FACTS: Final[Route[legal.Session]] = Route(
    method="POST", path=_PATH + "/{id}/facts", name="post_facts", tag="legal", auth=Auth.SESSION, idempotent=True,
    service="legal", summary="Submit the facts of the case.", request=legal.FactsRequest, answers={200: legal.Session},
    errors=(Code.SESSION_PHASE,),
)  # fmt: skip
ADD_EVIDENCE: Final[Route[legal.Upload | legal.UploadText]] = Route(
    method="POST", path=_PATH + "/{id}/evidence", name="add_evidence", tag="legal", auth=Auth.SESSION, idempotent=True,
    service="legal", query=UploadQuery,
    summary="Upload a PDF, DOCX, HWPX or text file as evidence or as a statute; with ?dry=1 only read it.",
    request=legal.UploadRequest, body_bytes=legal.UPLOAD_BODY_BYTES,
    answers={201: legal.Upload, 200: legal.UploadText}, errors=(Code.SESSION_PHASE,),
)  # fmt: skip
READ_EVIDENCE: Final[Route[legal.UploadText]] = Route(
    method="GET", path=_PATH + "/{id}/evidence/{eid}", name="read_evidence", tag="legal", auth=Auth.SESSION,
    service="legal", summary="Get an upload with its text.", answers={200: legal.UploadText},
)  # fmt: skip
POST_STEERING: Final[Route[legal.Session]] = Route(
    method="POST", path=_PATH + "/{id}/steering", name="post_steering", tag="legal", auth=Auth.SESSION,
    idempotent=True, service="legal", summary="Submit the form of the open gate.", request=FORMS,
    answers={200: legal.Session}, errors=(Code.WRONG_GATE, Code.INVALID_FORM),
)  # fmt: skip
CHANGE_FACT: Final[Route[legal.Session]] = Route(
    method="POST", path=_PATH + "/{id}/facts/{fid}", name="change_fact", tag="legal", auth=Auth.SESSION,
    idempotent=True, service="legal", summary="Confirm, correct, dispute or withdraw a fact while a gate is open.",
    request=legal.FactChangeRequest, answers={200: legal.Session},
    errors=(Code.SESSION_PHASE, Code.NOT_STANDING, Code.INVALID_FORM),
)  # fmt: skip
REDO_TURNS: Final[Route[legal.Session]] = Route(
    method="POST", path=_PATH + "/{id}/redo", name="redo_turns", tag="legal", auth=Auth.SESSION, idempotent=True,
    service="legal", summary="Redo stale turns with the current facts.",
    request=legal.RedoRequest, answers={200: legal.Session}, errors=(Code.SESSION_PHASE, Code.NOTHING_TO_REDO),
)  # fmt: skip
RETRY_TURN: Final[Route[legal.Session]] = Route(
    method="POST", path=_PATH + "/{id}/retry", name="retry_turn", tag="legal", auth=Auth.SESSION, idempotent=True,
    service="legal", summary="Retry a failed turn.", request=NoFields, answers={200: legal.Session},
    errors=(Code.NOTHING_TO_RETRY,),
)  # fmt: skip
READ_REPORT: Final[Route[bytes]] = Route(
    method="GET", path=_PATH + "/{id}/report", name="read_report", tag="legal", auth=Auth.SESSION, service="legal",
    summary="Get the report as JSON or in another format.", query=SessionReportQuery, patient=True,
    answers={200: legal.Report}, other_media=tuple(kind for kind in REPORT_MEDIA.values() if kind != JSON),
    errors=(Code.NOT_FINISHED,),
)  # fmt: skip
STREAM_SESSION: Final[Route[bytes | None]] = Route(
    method="GET", path=_PATH + "/{id}/stream", name="stream_session", tag="legal", auth=Auth.SESSION,
    service="legal", speaks=True, summary="Stream the events of the session; the stream ends after session_done.",
    query=StreamQuery, answers={200: Media(EVENT_STREAM, legal.FEED.union), 204: None},
)  # fmt: skip
READ_LOG: Final[Route[list[OpenedRecord]]] = Route(
    method="GET", path=_PATH + "/{id}/log", name="read_session_log", tag="legal", auth=Auth.SESSION, service="legal",
    summary="Download the log of a finished session, one record per line.", answers={200: Media(NDJSON, OpenedRecord)},
    errors=(Code.LOG_NOT_FINISHED,),
)  # fmt: skip
DRAW_SESSION: Final[Route[bytes]] = Route(
    method="GET", path=_PATH + "/{id}/picture.svg", name="draw_session", tag="legal", auth=Auth.SESSION,
    service="legal",
    summary="Get a picture of the current state of the session.", answers={200: Media(SVG)}, query=PictureQuery,
)  # fmt: skip
SHARE_SESSION: Final[Route[Share]] = Route(
    method="POST", path=_PATH + "/{id}/share", name="share_session", tag="legal", auth=Auth.SESSION, idempotent=True,
    service=
    "legal",
    summary="Create a share link to the report of a finished session. Anyone with the link may read it.",
    request=legal.ShareRequest, answers={201: Share}, errors=(Code.NOT_FINISHED,),
)  # fmt: skip
UNSHARE_SESSION: Final[Route[None]] = Route(
    method="DELETE", path=_PATH + "/{id}/share", name="unshare_session", tag="legal", auth=Auth.SESSION,
    service="legal", summary="Revoke the share link; its page no longer exists.", answers={204: None},
)  # fmt: skip

ERASE_SESSION: Final[Route[api.SessionErased]] = Route(
    method="DELETE", path=_PATH + "/{id}", name="erase_session", tag="legal", auth=Auth.ANY, service="legal",
    erases=True,
    summary="Erase a session permanently. Repeating the call returns the same answer.",
    answers={200: api.SessionErased},
)  # fmt: skip

LEGAL: Final = (
    OPEN_SESSION,
    LIST_SESSIONS,
    READ_SESSION,
    POST_FACTS,
    ADD_EVIDENCE,
    READ_EVIDENCE,
    POST_STEERING,
    CHANGE_FACT,
    REDO_TURNS,
    RETRY_TURN,
    READ_REPORT,
    STREAM_SESSION,
    READ_LOG,
    DRAW_SESSION,
    SHARE_SESSION,
    UNSHARE_SESSION,
    ERASE_SESSION,
)
