"""What is uploaded to a session: read here, in bounded time and memory, and handed on as a text."""

import base64
import hashlib
import sys
import unicodedata
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from fpdf import FPDF
from playmolt_gateway.uploads import program
from playmolt_gateway.uploads.outcome import FileText
from playmolt_gateway.uploads.reader_process import FileReader
from playmolt_schemas.games.legal import UPLOAD_BODY_BYTES, UPLOAD_BYTES, UPLOAD_CHARS
from pylopdf_fonts_ko import sans_path

from services.gateway.tests.uploads.documents import QUESTION, docx, p, r

SESSION = "legal-0190c3f8-1111-7222-8333-444455556666"
EVIDENCE = f"/api/sessions/{SESSION}/evidence"
TAKEN = {"id": "E1"}


def pdf(*pages: str, password: str = "") -> bytes:
    made = FPDF()
    made.add_font("sans", fname=sans_path())
    made.set_font("sans", size=12)
    for text in pages:
        made.add_page()
        made.multi_cell(0, 6, text)
    if password:
        made.set_encryption(owner_password=password, user_password=password)
    return bytes(made.output())


WITHOUT_LIMITS = """
import builtins, resource, runpy
_open, _set = builtins.open, resource.setrlimit
def opened(file, *more, **named):
    if str(file).startswith("/proc"):
        raise FileNotFoundError(file)
    return _open(file, *more, **named)
def limited(which, bounds):
    if which == resource.RLIMIT_AS:
        raise ValueError("current limit exceeds maximum limit")
    _set(which, bounds)
builtins.open, resource.setrlimit = opened, limited
"""


def body(file: bytes, **more: Any) -> dict[str, Any]:
    kind = "application/pdf" if file.startswith(b"%PDF-") else "text/plain"
    told = base64.b64encode(file).decode()
    return {"title": "계약서", "kind": "evidence", "media_type": kind, "content": told, **more}


async def sent(platform: Any, given: dict[str, Any]) -> Any:
    platform.bus.engine = lambda _game, _call: (201, TAKEN)
    _, key = platform.agent()
    return await platform.send("POST", EVIDENCE, json=given, headers=key)


def handed_on(platform: Any) -> dict[str, Any]:
    ((_, call),) = platform.bus.calls
    asked = msgspec.json.decode(call.body)
    assert asked["route"] == "add_evidence"
    return dict(asked["body"])


async def test_an_engine_gets_the_text_and_never_the_file(platform: Any) -> None:
    content = "\ufeff제1조 대금은 500만원으로 한다.\n".encode()
    answer = await sent(platform, body(content))
    assert (answer.status_code, answer.json()) == (201, TAKEN)
    assert handed_on(platform) == {
        "title": "계약서",
        "kind": "evidence",
        "media_type": "text/plain",
        "text": "제1조 대금은 500만원으로 한다.\n",
        "bytes": len(content),
        "pages": None,
        "sha256": hashlib.sha256(content).hexdigest(),
        "encoding": "utf-8",
        "sure": 1,
        "notes": [],
    }


async def test_the_text_of_a_pdf_is_read_page_by_page(platform: Any) -> None:
    content = pdf("제563조 매매는 당사자 일방이", "The price is $5,000.")
    assert (await sent(platform, body(content, kind="statute"))).status_code == 201
    read = handed_on(platform)
    assert read["pages"] == 2
    assert read["text"].split("\n\n") == ["제563조 매매는 당사자 일방이", "The price is $5,000."]


LONG = "x" * (UPLOAD_CHARS + 1)


@pytest.mark.parametrize(
    ("given", "field", "reason", "told"),
    [
        (body(b"text", kind="law"), "kind", None, "must be"),
        (body(b"text", title=" "), "title", None, "must contain"),
        (body(b"text", title="x" * 201), "title", None, "maximum is 200"),
        (body(b"text", name="more"), "name", None, "unknown field"),
        (body(b"text", media_type=7), "media_type", None, "must be a string"),
        (body(b"text", content="no base64!"), "content", "base64", "is not base64"),
        (body(b"text", content=7), "content", "base64", "must be a string"),
        (body(b""), "content", "empty", "Choose another file"),
        (body(b"a\0b"), "content", "format", "binary"),
        (body("café".encode("cp1252")), "content", "encoding", "encoding"),
        (body(b"text", encoding="klingon"), "content", "encoding", "klingon"),
        (body(b" \n "), "content", "empty", "no visible character"),
        (body(LONG.encode()), "content", "too_large", '100,001 characters of text and exceeds the limit of 100,000'),
        (body(b"x" * (UPLOAD_BYTES + 1)), "content", "too_large", f"{UPLOAD_BYTES + 1:,} bytes"),
        (body(b"text", pages="2-3"), "pages", "pages", 'such as "3-9"; its last page is 1'),
        (body(b"%PDF-1.7\nnothing"), "content", "unreadable", "damaged"),
        (body(b"{\\rtf1 text}"), "content", "format", "RTF"),
    ],
)  # fmt: skip
async def test_what_is_not_an_upload_is_refused_by_field_and_reaches_no_engine(
    platform: Any, given: dict[str, Any], field: str, reason: str | None, told: str
) -> None:
    await refused(platform, given, field, reason, told)


@pytest.mark.parametrize(
    ("made", "reason", "told"),
    [
        (lambda: body(pdf(LONG)), "too_large", 'pages: "3-9"'),
        (lambda: body(pdf("")), "no_text", "no text"),
        (lambda: body(pdf("text", password="secret")), "password", "without one"),
        (lambda: body(pdf("text")[:400]), "unreadable", "damaged"),
    ],
)
async def test_a_pdf_that_is_not_an_upload_is_refused_the_same_way(
    platform: Any, made: Callable[[], dict[str, Any]], reason: str, told: str
) -> None:
    await refused(platform, made(), "content", reason, told)


async def refused(platform: Any, given: dict[str, Any], field: str, reason: str | None, told: str) -> None:
    answer = await sent(platform, given)
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (400, "invalid_request")
    (fault,) = problem["errors"]
    assert (fault["field"], fault.get("reason")) == (field, reason)
    assert told in fault["message"]
    assert not platform.bus.calls


@pytest.mark.parametrize("title", ["lease.docx", "lease.PAGES", "lease.mht", "lease.m4a", "lease.xml"])
async def test_the_bytes_decide_what_a_file_is(platform: Any, title: str) -> None:
    given = body(pdf("text"), media_type="text/plain", title=title)
    assert (await sent(platform, given)).status_code == 201
    read = handed_on(platform)
    assert read["media_type"] == "application/pdf"
    assert [(note["kind"], note["detail"]) for note in read["notes"]] == [
        ("type", "application/pdf"), ("extension", "application/pdf")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("title", "media_type"),
    [("계약서", None), ("계약서.docx", ""), ("Lease of 2024.", "application/octet-stream"),
     ("a.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document; charset=binary")],
)  # fmt: skip
async def test_a_type_may_be_left_out(platform: Any, title: str, media_type: str | None) -> None:
    given = body(docx(p(r("제1조"))), title=title, media_type=media_type)
    assert (await sent(platform, given if media_type is not None else without(given))).status_code == 201
    read = handed_on(platform)
    assert (read["text"], read["notes"], read["encoding"], read["pages"]) == ("제1조", [], None, None)


def without(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name != "media_type"}


async def test_a_dry_run_asks_the_engine_and_stores_nothing(platform: Any) -> None:
    platform.bus.engine = lambda _game, _call: (200, {"text": "text"})
    _, key = platform.agent()
    answer = await platform.send("POST", f"{EVIDENCE}?dry=1", json=body(b"text"), headers=key)
    assert (answer.status_code, answer.json()) == (200, {"text": "text"})
    ((_, call),) = platform.bus.calls
    assert call.op == "query"
    assert msgspec.json.decode(call.body)["query"] == {"dry": "1"}


async def test_this_route_takes_longer_bodies_and_no_longer_ones(platform: Any) -> None:
    given = body(b"x" * 200, content="A" * UPLOAD_BODY_BYTES)
    answer = await sent(platform, given)
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
    assert str(UPLOAD_BODY_BYTES) in answer.json()["detail"]


async def test_names_from_a_mac_reach_the_engine_composed(platform: Any) -> None:
    parts = unicodedata.normalize("NFD", "원고 김민수")
    assert (await sent(platform, body(parts.encode(), title=parts))).status_code == 201
    assert (handed_on(platform)["title"], handed_on(platform)["text"]) == ("원고 김민수", "원고 김민수")


async def test_a_pdf_is_read_where_the_system_lacks_limits() -> None:
    """As on macOS, which has no /proc and takes no limit of memory."""
    command = (
        sys.executable,
        "-I",
        "-c",
        f"{WITHOUT_LIMITS}\nrunpy.run_module({program.__name__!r}, run_name='__main__')",
    )
    read = await FileReader(program=command).read(pdf("제563조 매매는 당사자 일방이"), QUESTION)
    assert isinstance(read, FileText)
    assert read.text == "제563조 매매는 당사자 일방이"
