"""What is uploaded to a session: read here, in bounded time and memory, and handed on as a text."""

import base64
import hashlib
import sys
import unicodedata
import zlib
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from fpdf import FPDF
from playmolt_gateway.uploads import pdf_program
from playmolt_gateway.uploads.pdf import PdfReaders, PdfText
from playmolt_schemas.games.legal import UPLOAD_BODY_BYTES, UPLOAD_BYTES, UPLOAD_CHARS
from pylopdf_fonts_ko import sans_path

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
    }


async def test_the_text_of_a_pdf_is_read_page_by_page(platform: Any) -> None:
    content = pdf("제563조 매매는 당사자 일방이", "The price is $5,000.")
    assert (await sent(platform, body(content, kind="statute"))).status_code == 201
    read = handed_on(platform)
    assert read["pages"] == 2
    assert read["text"].split("\n\n") == ["제563조 매매는 당사자 일방이", "The price is $5,000."]


LONG = "x" * (UPLOAD_CHARS + 1)


@pytest.mark.parametrize(
    ("given", "field", "told"),
    [
        (body(b"text", media_type="application/pdf"), "content", "is not a PDF"),
        (body(b"text", media_type="text/html"), "media_type", "must be"),
        (body(b"text", kind="law"), "kind", "must be"),
        (body(b"text", title=" "), "title", "must contain"),
        (body(b"text", title="x" * 201), "title", "maximum is 200"),
        (body(b"text", name="more"), "name", "unknown field"),
        (body(b"text", content="no base64!"), "content", "is not base64"),
        (body(b"text", content=""), "content", "must be a string"),
        (body(b"a\0b"), "content", "NUL"),
        (body(b"\xff\xfe"), "content", "UTF-8"),
        (body(b" \n "), "content", "no visible character"),
        (body(LONG.encode()), "content", f"more than {UPLOAD_CHARS} characters"),
        (body(b"x" * (UPLOAD_BYTES + 1)), "content", f"maximum is {UPLOAD_BYTES}"),
        (body(b"%PDF-1.7\nnothing"), "content", "damaged"),
    ],
)  # fmt: skip
async def test_what_is_not_an_upload_is_refused_by_field_and_reaches_no_engine(
    platform: Any, given: dict[str, Any], field: str, told: str
) -> None:
    await refused(platform, given, field, told)


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: body(pdf("text"), media_type="text/plain"), "is a PDF"),
        (lambda: body(pdf(LONG)), f"more than {UPLOAD_CHARS} characters"),
        (lambda: body(pdf("")), "without text"),
        (lambda: body(pdf("text", password="secret")), "encrypted"),
        (lambda: body(pdf("text")[:400]), "damaged"),
    ],
)
async def test_a_pdf_that_is_not_an_upload_is_refused_the_same_way(
    platform: Any, made: Callable[[], dict[str, Any]], told: str
) -> None:
    await refused(platform, made(), "content", told)


async def refused(platform: Any, given: dict[str, Any], field: str, told: str) -> None:
    answer = await sent(platform, given)
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (400, "invalid_request")
    assert [fault["field"] for fault in problem["errors"]] == [field]
    assert told in problem["errors"][0]["message"]
    assert not platform.bus.calls


async def test_this_route_takes_longer_bodies_and_no_longer_ones(platform: Any) -> None:
    given = body(b"x" * 200, content="A" * UPLOAD_BODY_BYTES)
    answer = await sent(platform, given)
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
    assert str(UPLOAD_BODY_BYTES) in answer.json()["detail"]


async def test_a_file_that_takes_too_long_is_given_up_and_the_next_one_read() -> None:
    slow, readers = PdfReaders(seconds=0.01), PdfReaders()
    assert await slow.read(pdf("text")) == "slow"
    assert await slow.read(pdf("text")) == "slow"
    read = await readers.read(pdf("text"))
    assert getattr(read, "text", None) == "text"


async def test_a_file_that_fills_the_memory_ends_its_reader_alone() -> None:

    bomb = zlib.compress(b"(x) Tj " * (40 * 1024 * 1024), 9)
    content = (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    )
    content += b"3 0 obj<</Type/Page/Parent 2 0 R/Contents 4 0 R/MediaBox[0 0 9 9]>>endobj\n"
    content += b"4 0 obj<</Length %d/Filter/FlateDecode>>stream\n%b\nendstream endobj\n" % (len(bomb), bomb)
    content += b"trailer<</Root 1 0 R>>\n%%EOF"
    assert len(content) < UPLOAD_BYTES
    assert await PdfReaders().read(content) in ("broken", "slow", "scanned")


def test_the_program_knows_what_it_cannot_read() -> None:
    assert pdf_program.read(pdf("one", "two")) == {"text": "one\n\ntwo", "pages": 2}
    assert pdf_program.read(pdf("")) == {"fault": "scanned"}


async def test_names_from_a_mac_reach_the_engine_composed(platform: Any) -> None:
    parts = unicodedata.normalize("NFD", "원고 김민수")
    assert (await sent(platform, body(parts.encode(), title=parts))).status_code == 201
    assert (handed_on(platform)["title"], handed_on(platform)["text"]) == ("원고 김민수", "원고 김민수")


async def test_a_pdf_is_read_where_the_system_lacks_limits() -> None:
    """As on macOS, which has no /proc and takes no limit of memory."""
    program = (
        sys.executable,
        "-I",
        "-c",
        f"{WITHOUT_LIMITS}\nrunpy.run_module({pdf_program.__name__!r}, run_name='__main__')",
    )
    read = await PdfReaders(program=program).read(pdf("제563조 매매는 당사자 일방이"))
    assert isinstance(read, PdfText)
    assert read.text == "제563조 매매는 당사자 일방이"
