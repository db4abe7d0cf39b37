"""Evidence as people have it, on a whole platform: read, shown, stored, carried on."""

import base64
import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from playmolt_cli.main import cli
from playmolt_schemas.games.legal import UPLOAD_CHARS

from tests.integration.legal.person import Person
from tests.platforms import Stack

FILES = Path(__file__).parents[3] / "services/gateway/tests/uploads/files"


def body(content: bytes, title: str = "계약서", **more: Any) -> dict[str, Any]:
    return {"title": title, "kind": "evidence", "content": base64.b64encode(content).decode(), **more}


async def test_documents_are_shown_before_they_are_stored(platform: Stack) -> None:
    async with Person(platform.run.gateway) as person:
        await person.open(language="ko")
        evidence = f"/api/sessions/{person.session}/evidence"
        for name, pages in (("library.docx", None), ("library.hwpx", None), ("stamped.pdf", 4)):
            content = (FILES / name).read_bytes()
            would = await person.post(f"{evidence}?dry=1", body(content, name))
            assert would.status_code == 200, would.text
            added = await person.post(evidence, body(content, name))
            assert added.status_code == 201, added.text
            read = would.json()
            assert "대금" in read.pop("text")
            assert read == added.json()
            assert (read["pages"], read["bytes"], read["encoding"], read["sure"]) == (pages, len(content), None, None)
            assert {"kind", "count", "text"} == set(read["notes"][0])
        stamped = (await person.now())["facts"]["evidence"][2]
        assert [note["text"] for note in stamped["notes"]] == ["그림이어서 읽지 않은 쪽: 2–3."]
        assert [item["id"] for item in (await person.now())["facts"]["evidence"]] == ["E1", "E2", "E3"]


async def test_old_encodings_and_refusals(platform: Stack) -> None:
    async with Person(platform.run.gateway) as person:
        await person.open(language="zh")
        evidence = f"/api/sessions/{person.session}/evidence?dry=1"
        read = (await person.post(evidence, body("매도인은 대금을 받는다.".encode("cp949")))).json()
        assert (read["encoding"], read["sure"], read["media_type"]) == ("cp949", 1, "text/plain")
        unsure = await person.post(evidence, body("café fermé".encode("cp1252")))
        assert (unsure.status_code, unsure.json()["errors"][0]["reason"]) == (400, "encoding")
        named = await person.post(evidence, body("café fermé".encode("cp1252"), encoding="windows-1252"))
        assert (named.status_code, named.json()["text"]) == (200, "café fermé")
        wrong = (await person.post(evidence, body(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a.hwp"))).json()
        assert [(fault["field"], fault["reason"]) for fault in wrong["errors"]] == [("content", "format")]


async def test_long_texts_are_stored_whole_and_carried_into_a_linked_session(platform: Stack) -> None:
    """As long as they may be: each record of the log and each message has room for them."""
    long = "제1조 대금의 지급과 인도. " * (UPLOAD_CHARS // 15)
    async with Person(platform.run.gateway) as person:
        await person.open()
        evidence = f"/api/sessions/{person.session}/evidence"
        for number in range(4):
            text = f"{number} {long}"[: UPLOAD_CHARS - 10]
            added = await person.post(evidence, body(text.encode()))
            assert added.status_code == 201, added.text
            assert (added.json()["chars"], added.json()["prompt_chars"]) == (len(text), 6000)
        over = await person.post(evidence, body(long.encode()))
        assert (over.status_code, over.json()["errors"][0]["reason"]) == (400, "too_large")
        await person.tell()
        issue = (await person.gate("round1"))["gate"]["issues"][0]
        await person.argue(focus=issue)
        ended = await person.steer(gate="end", resolution="new_session", report_style="risk")
        assert ended.status_code == 200, ended.text
        person.session = ended.json()["next_session"]
        carried = [item for item in (await person.now())["facts"]["evidence"] if item["media_type"]]
        assert [item["chars"] for item in carried] == [added.json()["chars"]] * 4
        whole = await person.get(f"/api/sessions/{person.session}/evidence/{carried[3]['id']}")
        assert whole.json()["text"].startswith("3 제1조")


def test_the_terminal_shows_what_is_read_and_uploads_several_files(platform: Stack, tmp_path: Path) -> None:
    place = ["--url", platform.run.gateway]
    environment = {"PLAYMOLT_DATA": str(tmp_path / "mine"), "DATABASE_URL": "", "NATS_URL": ""}

    def run(*words: str) -> Any:
        return CliRunner().invoke(cli, ["legal", *words, *place], env=environment)

    options = [
        "--case-type",
        "civil",
        "--language",
        "ko",
        "--jurisdiction",
        "KR",
        "--title",
        "보증금",
        "--model",
        "scripted",
    ]
    assert run("new", *options, "--json").exit_code == 0
    shown = run("attach", str(FILES / "library.docx"), "--dry")
    assert shown.exit_code == 0, shown.output
    assert "매매 계약서" in shown.stdout
    assert "메모(제외): 1개." in shown.stdout
    letter = tmp_path / "letter.txt"
    letter.write_bytes("합의서".encode("cp949"))
    several = run("attach", str(letter), str(FILES / "scan.pdf"), str(FILES / "library.hwpx"), "--yes")
    assert several.exit_code == 2
    assert "scan.pdf: 글자가 없고 쪽 전체가 그림입니다." in several.stderr
    listed = json.loads(run("show", "--json").stdout)["facts"]["evidence"]
    assert [item["title"] for item in listed] == ["letter.txt", "library.hwpx"]
    session = json.loads(run("list", "--json").stdout)[0]["id"]
    page = run("attach", str(FILES / "three_pages.pdf"), session, "--pages", "2", "--json")
    assert page.exit_code == 0, page.output
    assert [note["kind"] for note in json.loads(page.stdout)["notes"]] == ["pages"]
