"""`playmolt legal attach`: shows what the server reads of a file, then uploads it."""

import base64
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
import msgspec
from playmolt.client import Client
from playmolt.errors import Refused
from playmolt_schemas.games.legal import UPLOAD_BYTES, Session, Upload, UploadRequest, UploadText
from playmolt_schemas.routes import legal as routes
from playmolt_schemas.skill import page_texts
from playmolt_schemas.stored.legal import EvidenceKind, Language

from playmolt_cli.legal.page import LegalPage
from playmolt_cli.legal.texts import LegalTexts
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.narration import printable
from playmolt_cli.terminal.options import json_bytes
from playmolt_cli.terminal.terminal_text import console

STDIN: Final = "-"
_SHOWN_LINES: Final = 40
_REFUSALS: Final = "fault.file."
_HOLE: Final = re.compile(r"\\\{([a-z])\\\}")


class AttachOptions(msgspec.Struct, frozen=True):
    """The options of the command; `asking` is whether to ask before an upload."""

    title: str | None
    kind: EvidenceKind
    encoding: str | None
    pages: str | None
    dry: bool
    asking: bool
    as_json: bool


def attach_files(client: Client, session: Session, files: Sequence[str], options: AttachOptions) -> None:
    """Read and upload files one after the other; raises Failure if one was refused, after all others are done."""
    refused = [line for file in files if (line := _attach(client, session, file, options))]
    if refused:
        raise Failure("\n".join(map(printable, refused)))


def _attach(client: Client, session: Session, file: str, options: AttachOptions) -> str:
    """Upload a file; why it was refused, or ""."""
    words = LegalTexts(session.language)
    name = words.say("pasted") if file == STDIN else Path(file).name
    try:
        content, size = _content(file)
    except OSError as error:
        return f"{file}: {error.strerror}"
    if size > UPLOAD_BYTES:
        return f"{name}: {_too_large(size, session.language)}"
    request = UploadRequest(
        title=options.title or name,
        kind=options.kind,
        content=base64.b64encode(content).decode(),
        encoding=options.encoding or msgspec.UNSET,
        pages=options.pages or msgspec.UNSET,
    )
    try:
        if options.dry or not options.as_json:
            would = client.call(routes.ADD_EVIDENCE, session.id, query={"dry": "1"}, body=request)
            if options.as_json:
                click.echo(json_bytes(would))
            else:
                _show(LegalPage(console(err=not options.dry), words), would)
        if options.dry or not (not options.asking or click.confirm(words.say("attach"), default=True, err=True)):
            return ""
        added = client.call(routes.ADD_EVIDENCE, session.id, body=request)
    except Refused as refusal:
        said = [in_words(fault.message, session.language) for fault in refusal.errors if fault.reason]
        if not said:
            raise
        return "\n".join(f"{name}: {text}" for text in said)
    click.echo(json_bytes(added) if options.as_json else printable(f"{added.id}  {added.title}  {_size(words, added)}"))
    return ""


def _content(file: str) -> tuple[bytes, int]:
    """The bytes of a file, no more than are needed to see that they are too many, and its size. Raises OSError."""
    if file == STDIN:
        content = sys.stdin.buffer.read(UPLOAD_BYTES + 1)
        return content, len(content)
    with open(file, "rb") as opened:
        content = opened.read(UPLOAD_BYTES + 1)
        return content, max(len(content), os.fstat(opened.fileno()).st_size)


def _too_large(size: int, language: Language) -> str:
    return page_texts(language)["fault.file.too_large.bytes"].format(a=f"{size:,}", b=f"{UPLOAD_BYTES:,}")


def _size(words: LegalTexts, read: Upload) -> str:
    return words.say("read_characters", count=f"{read.chars:,}")


def _show(page: LegalPage, read: Upload) -> None:
    """The beginning of what was read, and what was left out."""
    facts = [read.media_type, _size(page.words, read)]
    facts += [page.words.say("read_pages", count=read.pages)] if read.pages is not None else []
    facts += [read.encoding] if read.encoding else []
    page.line(f"{read.title}: {', '.join(facts)}", style="bold")
    for note in read.notes:
        page.line(note.text, mark="!", style="yellow")
    if read.prompt_chars < read.chars:
        page.line(page.words.say("read_cut", count=f"{read.prompt_chars:,}", all=f"{read.chars:,}"), mark="!")
    lines = read.text.splitlines() if isinstance(read, UploadText) else []
    for line in lines[:_SHOWN_LINES]:
        page.line(line)
    if len(lines) > _SHOWN_LINES:
        page.line(page.words.say("read_more", count=f"{len(lines) - _SHOWN_LINES:,}"), style="dim")


def in_words(message: str, language: Language) -> str:
    """A refusal of a file in a language, by the English text that it was made of; else as it is."""
    for key, template in page_texts("en").items():
        if key.startswith(_REFUSALS) and (found := _pattern(template).fullmatch(message)):
            return page_texts(language)[key].format(**found.groupdict())
    return message


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(_HOLE.sub(r"(?P<\1>.*)", re.escape(template)), re.DOTALL)
