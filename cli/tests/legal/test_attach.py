"""What is read of a file is shown before it is uploaded; refusals are in the session's language."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import click
import pytest
from click.testing import CliRunner
from playmolt.client import Client
from playmolt_cli.legal.attach import AttachOptions, attach_files, in_words
from playmolt_cli.legal.commands import legal
from playmolt_cli.terminal.failures import Failure
from playmolt_gateway.uploads import refusals
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.games.legal import UPLOAD_BYTES, Session, UploadNote, UploadText
from playmolt_schemas.routes.legal import ADD_EVIDENCE


@pytest.mark.parametrize("fault", refusals.every(), ids=lambda fault: fault.message[:40])
def test_every_refusal_of_a_file_is_known_in_every_language(fault: FieldFault) -> None:
    assert in_words(fault.message, "en") == fault.message
    texts = {in_words(fault.message, language) for language in ("en", "ko", "zh")}
    assert len(texts) == 3
    assert not any("{" in text for text in texts)


def test_figures_are_kept_and_other_refusals_stay_as_they_are() -> None:
    message = (
        'has 120,000 characters of text and exceeds the limit of 100,000 characters. Take a part with pages: "3-9"'
    )
    assert in_words(message, "ko").startswith("글자 수가 120,000자로, 한도인 100,000자를 넘습니다.")
    assert in_words("must contain 1 to 200 characters", "zh") == "must contain 1 to 200 characters"


class Platform:
    """Answers uploads, and keeps which of them were dry."""

    def __init__(self) -> None:
        self.dry: list[bool] = []

    def call(self, route: object, session: str, *, query: object = None, body: Any = None) -> UploadText:
        assert (route, session) == (ADD_EVIDENCE, "legal-1")
        self.dry.append(query is not None)
        note = UploadNote(kind="comment", count=1, text="메모(제외): 1개.")
        return UploadText(
            id="E1", kind=body.kind, title=body.title, media_type="text/plain", bytes=4, chars=9000, pages=None,
            sha256="0", encoding="cp949", sure=1.0, notes=(note,), prompt_chars=6000, text="제1조\n" * 50,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("asking", "typed", "dry"), [(True, "n\n", [True]), (True, "y\n", [True, False]), (False, "", [True, False])]
)
def test_a_file_is_shown_and_uploaded_when_the_person_agrees(
    tmp_path: Path, asking: bool, typed: str, dry: list[bool]
) -> None:
    platform, file = Platform(), tmp_path / "letter.txt"
    file.write_text("text")
    session = cast("Session", SimpleNamespace(id="legal-1", language="ko"))
    options = AttachOptions(
        title=None, kind="evidence", encoding=None, pages=None, dry=False, asking=asking, as_json=False
    )

    @click.command()
    def attach() -> None:
        attach_files(cast("Client", platform), session, [str(file)], options)

    done = CliRunner().invoke(attach, input=typed)
    assert done.exit_code == 0, done.output
    assert platform.dry == dry
    assert "letter.txt: text/plain, 9,000자, cp949" in done.stderr
    assert all(said in done.stderr for said in ("메모(제외): 1개.", "전체 9,000자 중 앞 6,000자만", "(이하 10줄)"))
    assert ("E1  letter.txt" in done.stdout) == (len(dry) == 2)


def test_a_file_that_cannot_be_sent_says_why_and_holds_up_no_other(tmp_path: Path) -> None:
    platform, large = Platform(), tmp_path / "scan.pdf"
    (tmp_path / "letter.txt").write_text("text")
    with large.open("wb") as file:
        file.truncate(UPLOAD_BYTES + 5_000_000)
    session = cast("Session", SimpleNamespace(id="legal-1", language="ko"))
    options = AttachOptions(
        title=None, kind="evidence", encoding=None, pages=None, dry=False, asking=False, as_json=True
    )
    files = [str(tmp_path / name) for name in ("none.txt", "scan.pdf", "letter.txt")]
    with pytest.raises(Failure) as refused:
        attach_files(cast("Client", platform), session, files, options)
    missing, too_large = str(refused.value).splitlines()
    assert missing.startswith(files[0])
    assert too_large.startswith(
        f"scan.pdf: 파일이 {UPLOAD_BYTES + 5_000_000:,}바이트로, 한도인 {UPLOAD_BYTES:,}바이트를"
    )
    assert platform.dry == [False]


def test_a_folder_and_a_pipe_are_no_missing_files(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    asked = ["attach", "--url", "http://127.0.0.1:9", "--key", "pm_x"]
    for there in (tmp_path, pipe):
        assert "does not exist" not in CliRunner().invoke(legal, [*asked, str(there), "legal-1"]).output
    assert "does not exist" in CliRunner().invoke(legal, [*asked, str(tmp_path / "none"), "legal-1"]).output
