"""Bombs, entities and links: bounded, never followed, never a fault of the server."""

import asyncio
import io
import json
import os
import subprocess
import sys
import zipfile
import zlib

import msgspec
import psutil
import pytest
from playmolt_gateway.uploads.outcome import FileText, ReaderOptions, Unread
from playmolt_gateway.uploads.reader_process import PROGRAM, FileReader, ReaderBusy

from services.gateway.tests.uploads.documents import QUESTION, docx, hp, hwpx, p, r, refusal, text, zipped

MIB = 1024 * 1024
ENTITIES = '<!DOCTYPE x [<!ENTITY a "ten"><!ENTITY b "&a;&a;">]>'


def edited(content: bytes, name: str, part: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        parts: dict[str, str | bytes] = {each: file.read(each) for each in file.namelist()}
    return zipped(parts | {name: part})


def test_a_part_with_a_document_type_is_refused() -> None:
    body = f'{ENTITIES}<w:document xmlns:w="w"><w:body><w:p><w:r><w:t>&b;</w:t></w:r></w:p></w:body></w:document>'
    assert refusal(edited(docx(p(r("text"))), "word/document.xml", body.encode())) == ("unreadable", "")
    assert refusal(edited(docx(p(r("text"))), "word/document.xml", body.encode("utf-16"))) == ("unreadable", "")
    assert refusal(hwpx(hp("<hp:t>x</hp:t>"), **{"Contents/header.xml": f"{ENTITIES}<hh:head/>"})) == ("unreadable", "")


def test_the_bounds_of_a_zip_file_are_told() -> None:
    big = {f"word/media/{n}.bin": bytes(7 * MIB) for n in range(3)}
    with zipfile.ZipFile(io.BytesIO(docx(p(r("text"))))) as file:
        parts: dict[str, str | bytes] = {each: file.read(each) for each in file.namelist()}
    assert refusal(zipped(parts | big)) == ("too_large", "unpacked")
    assert refusal(zipped(parts | {"word/document.xml": bytes(9 * MIB)})) == ("too_large", "part")
    assert refusal(zipped(parts | {f"x{n}": b"" for n in range(2000)})) == ("too_large", "entries")


def test_an_entry_that_unpacks_to_more_than_it_declares_is_damaged() -> None:
    made = bytearray(zipped({"mimetype": "application/hwp+zip", "Contents/content.hpf": bytes(30 * MIB)}))
    real = (30 * MIB).to_bytes(4, "little")
    assert made.count(real) == 2
    lying = bytes(made).replace(real, (1000).to_bytes(4, "little"))
    before = psutil.Process().memory_info().rss
    assert refusal(lying) == ("unreadable", "")
    assert psutil.Process().memory_info().rss - before < 20 * MIB


@pytest.mark.parametrize(
    "content",
    [b"PK\3\4 and nothing", docx(p(r("text")))[:900], b"%PDF-1.7\nnothing", zipped({"Contents/content.hpf": "<x"}),
     zipped({"[Content_Types].xml": "wordprocessingml.document.main+xml"}), b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"],
)  # fmt: skip
def test_damaged_files_are_refused(content: bytes) -> None:
    assert refusal(content)[0] in ("unreadable", "format")


def test_long_texts_say_how_long_they_are_and_a_part_can_be_taken() -> None:
    long = "\n".join(f"line {n}: " + "x" * 90 for n in range(1500))
    assert refusal(long.encode()) == ("too_large", "chars")
    part = part_of(long.encode(), "2-3")
    assert part.text.startswith("line 2")
    assert 3000 < len(part.text) <= 4000
    (note,) = part.notes
    assert (note.kind, note.count) == ("pages", 2)
    assert note.detail.startswith("2–3/")


def part_of(content: bytes, pages: str) -> FileText:
    from playmolt_gateway.uploads.program import read

    found = read(content, ReaderOptions(100_000, 370_000, pages=pages))
    assert isinstance(found, FileText)
    return found


@pytest.mark.parametrize("pages", ["0", "x", "9-3", "5", "1-", "-2"])
def test_pages_that_do_not_exist_are_refused(pages: str) -> None:
    assert refusal(b"a short text", ReaderOptions(100_000, 370_000, pages=pages))[0] == "pages"


def large_docx() -> bytes:
    """1 MiB, 18 MiB unpacked, 6 MiB of XML, 19,000 characters."""
    runs = 1000
    properties = (
        '<w:rFonts w:ascii="Malgun Gothic" w:eastAsia="Malgun Gothic" w:hAnsi="Malgun Gothic"/><w:sz w:val="20"/>'
    )
    filler = f'<w:lang w:val="ko-KR"/>{properties}' * 46
    body = "".join(p("".join(r("제1조 대금의 지급은 다음과 같", filler)), "") for _ in range(runs))
    made = docx(body)
    with zipfile.ZipFile(io.BytesIO(made)) as file:
        parts: dict[str, str | bytes] = {each: file.read(each) for each in file.namelist()}
    noise = os.urandom(900 * 1024)
    return zipped(parts | {"word/media/image1.bin": noise + bytes(11 * MIB)})


async def test_a_large_docx_is_read_within_a_second_and_little_memory() -> None:
    content = large_docx()
    assert 0.8 * MIB < len(content) < 1.5 * MIB
    used = [used_by_reader(content) for _ in range(3)]
    assert min(seconds for seconds, _ in used) < 1
    assert max(kib for _, kib in used) < 200 * 1024
    found = await FileReader().read(content, QUESTION)
    assert isinstance(found, FileText)
    assert 15_000 < len(found.text) < 25_000


_MEASURED = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdin=sys.stdin, capture_output=True, env={})
assert done.stdout.startswith(b'{"type":"text"'), done
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""
"""A process of its own starts the reader: a peak of memory begins with that of the process that forked."""


def used_by_reader(content: bytes) -> tuple[float, int]:
    """The processor time and the memory, in KiB, that the program takes for a file."""
    asked = msgspec.json.encode(QUESTION) + b"\n" + content
    done = subprocess.run((sys.executable, "-c", _MEASURED, *PROGRAM), input=asked, capture_output=True, check=True)
    seconds, kib = json.loads(done.stdout)
    return seconds, kib


async def test_a_crash_and_too_much_time_are_unreadable_and_the_next_file_is_read() -> None:
    crash = FileReader(program=(sys.executable, "-c", "import os; os.abort()"))
    assert await crash.read(b"text", QUESTION) == Unread("unreadable")
    slow = FileReader(seconds=0.05, program=(sys.executable, "-c", "import time; time.sleep(9)"))
    assert await slow.read(b"text", QUESTION) == Unread("unreadable")
    assert isinstance(await FileReader().read(b"text", QUESTION), FileText)


async def test_a_reader_that_does_not_become_free_is_told() -> None:
    reader = FileReader(seconds=5, wait=0.05, program=(sys.executable, "-c", "import time; time.sleep(9)"))
    first = asyncio.create_task(reader.read(b"text", QUESTION))
    await asyncio.sleep(0)
    with pytest.raises(ReaderBusy):
        await reader.read(b"text", QUESTION)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first


@pytest.mark.parametrize("deep", [False, True])
async def test_hostile_xml_ends_its_reader_alone(deep: bool) -> None:
    count = 8 * MIB // 8
    inner = "<w:p>" * 400_000 + "</w:p>" * 400_000 if deep else "<w:p/>" * count
    made = docx(inner)
    assert len(made) < 8 * MIB
    found = await FileReader().read(made, QUESTION)
    assert isinstance(found, Unread)
    assert found.reason in ("unreadable", "no_text")


async def test_a_pdf_that_fills_the_memory_ends_its_reader_alone() -> None:
    bomb = zlib.compress(b"(x) Tj " * (40 * MIB), 9)
    content = (
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    )
    content += b"3 0 obj<</Type/Page/Parent 2 0 R/Contents 4 0 R/MediaBox[0 0 9 9]>>endobj\n"
    content += b"4 0 obj<</Length %d/Filter/FlateDecode>>stream\n%b\nendstream endobj\n" % (len(bomb), bomb)
    content += b"trailer<</Root 1 0 R>>\n%%EOF"
    found = await FileReader().read(content, QUESTION)
    assert isinstance(found, Unread)
    assert found.reason in ("unreadable", "no_text")


def test_documents_of_pictures_have_no_text() -> None:
    blip = '<w:r><w:drawing><a:blip r:embed="rId1"/></w:drawing></w:r>'
    assert refusal(docx(p(blip))) == ("no_text", "pictures")
    assert refusal(docx(p(""))) == ("no_text", "")
    assert [note.kind for note in text(docx(p(r("text") + blip))).notes] == ["picture"]
