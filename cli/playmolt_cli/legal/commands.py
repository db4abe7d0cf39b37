"""`playmolt legal`: a whole session of the legal simulation from the terminal."""

import asyncio
import base64
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar, cast, get_args

import click
import msgspec
from playmolt import sessions
from playmolt.client import Client
from playmolt.errors import Refused
from playmolt.sessions import AsyncSessions
from playmolt_schemas.games.legal import (
    UPLOAD_BYTES,
    CaseType,
    FactAction,
    FactChangeRequest,
    Gate,
    Language,
    OpenSessionRequest,
    RedoRequest,
    Session,
    Side,
    UploadRequest,
)
from playmolt_schemas.routes import legal as routes
from playmolt_schemas.routes.legal import ReportFormat

from playmolt_cli.legal.form import Form, prompt_facts, prompt_form, with_fields
from playmolt_cli.legal.page import LegalPage, speaking
from playmolt_cli.legal.prompter import Prompter
from playmolt_cli.legal.texts import LegalTexts
from playmolt_cli.local.session_key import RETRY, SessionServer, session_client, session_server
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.narration import printable
from playmolt_cli.terminal.options import data_option, json_option
from playmolt_cli.terminal.terminal_text import console

F = TypeVar("F", bound=Callable[..., Any])

WAIT_SECONDS: Final = 600.0
"""How long `gate` waits for the models unless told otherwise."""
_FORM_TRIES: Final = 5
_FORMATS: Final[tuple[ReportFormat, ...]] = get_args(ReportFormat)
_BINARY: Final = ("docx", "pdf")
_OPEN_FIELDS: Final = "give --case-type, --jurisdiction, --title and --language"
_FACTS_FIELDS: Final = "give --file FILE, or --overview, --acts, --timeline, --evidence and --opposing-claims"
_FORM_FIELDS: Final = "give --file FILE, --form JSON or --set FIELD=VALUE; --show prints the fields"


def _caller_options(command: F) -> F:
    options = (
        click.option(
            "--url", help="The gateway. Default: that of the `up` on the data folder, else PLAYMOLT_HOST and _PORT."
        ),
        click.option("--key", help="API key. Default: the one that `legal new` keeps in the data folder."),
        data_option,
        json_option,
    )
    for option in reversed(options):
        command = option(command)
    return command


_session_argument = click.argument("session_id", metavar="[SESSION]", required=False)


_ERASED: Final = "erased"


@click.group()
def legal() -> None:
    """Argue a case in a legal simulation: you tell the facts and steer, four roles argue three rounds.

    A session goes `new`, `facts`, `gate` (once a gate, it waits for the models), `report`. Without SESSION a command
    takes your newest one. It is a simulation and no legal advice.

    Example: playmolt legal new --case-type civil --language en
    """


@legal.command()
@click.option("--case-type", type=click.Choice(get_args(CaseType)), help="What kind of case it is.")
@click.option("--jurisdiction", help="Whose law it is about, such as KR.")
@click.option("--title", help="Title of the case.")
@click.option("--language", type=click.Choice(get_args(Language)), help="Language of the session.")
@click.option("--side", type=click.Choice(get_args(Side)), help="Whose side you are on; neutral where it is left out.")
@click.option("--exclusions", multiple=True, help="What must not be talked about; may be given again.")
@click.option("--model", default="scripted", show_default=True, help="Alias of the model that plays the roles.")
@click.option("--name", default="counsel", show_default=True, help="Your name, when a key has to be made.")
@_caller_options
def new(
    case_type: CaseType | None, jurisdiction: str | None, title: str | None, language: Language | None,
    side: Side | None, exclusions: tuple[str, ...], model: str, name: str, url: str | None, key: str | None,
    data: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Open a session; asks for what is not given, and makes you a key when there is none.

    Example: playmolt legal new --case-type criminal --jurisdiction KR --title 횡령 --language ko
    """
    server = session_server(url, data, "legal")
    language = language or _asked_language()
    words = LegalTexts(language)
    asker = Prompter(LegalPage(console(err=True), words), _OPEN_FIELDS)
    kinds = [(kind, words.texts.case_types[kind]) for kind in get_args(CaseType)]
    case_type = case_type or cast("CaseType", asker.choice(words.say("case_type"), kinds))
    sides = [(each, words.texts.sides[case_type][each]) for each in get_args(Side)]
    opening = OpenSessionRequest(
        language=language,
        case_type=case_type,
        jurisdiction=jurisdiction or asker.text(words.say("jurisdiction")),
        title=title or asker.text(words.say("title")),
        side=side or ("neutral" if title else cast("Side", asker.choice(words.say("side"), sides))),
        exclusions=exclusions,
        model=model,
    )
    with session_client(server, key, name=name) as client:
        session = client.call(routes.OPEN_SESSION, body=opening)
    if not as_json and not key:
        click.echo(f"key: {server.key_file.path}", err=True)
    _print(session, as_json)


def _asked_language() -> Language:
    asker = Prompter(LegalPage(console(err=True), LegalTexts("en")), _OPEN_FIELDS)
    languages = [("en", "English"), ("ko", "한국어"), ("zh", "中文")]
    return cast("Language", asker.choice("Language · 언어 · 语言", languages))


@legal.command("list")
@_caller_options
def list_sessions(url: str | None, key: str | None, data: Path | None, as_json: bool) -> None:
    """List your sessions, newest first.

    Example: playmolt legal list
    """
    with session_client(session_server(url, data, "legal"), key) as client:
        mine = client.call(routes.LIST_SESSIONS).sessions
    if as_json:
        click.echo(msgspec.json.encode(mine))
        return
    for listed in mine:
        click.echo(printable(_line(listed)))


def _line(listed: dict[str, Any]) -> str:
    if listed["phase"] == _ERASED:
        return f"{listed['id']}  {_ERASED} {listed['erased_at']}"
    session = msgspec.convert(listed, Session)
    gate = f" {session.gate.name}" if session.gate else ""
    return f"{session.id}  {session.phase}{gate}  {session.case_type}  {session.language}  {session.title}"


@legal.command()
@_session_argument
@click.option("--file", "source", type=click.File("rb"), help="JSON file with all facts; - reads standard input.")
@click.option("--overview", help="What the case is about.")
@click.option("--acts", multiple=True, help="What was done; may be given again.")
@click.option("--timeline", nargs=2, multiple=True, metavar="WHEN WHAT", help="What happened when.")
@click.option("--agreed", nargs=2, multiple=True, metavar="WHEN WHAT", help="The same, agreed between the parties.")
@click.option("--evidence", nargs=2, multiple=True, metavar="TITLE TEXT", help="A piece of evidence.")
@click.option("--opposing-claims", multiple=True, help="What the other side says; '' when nothing is known.")
@_caller_options
def facts(
    session_id: str | None, source: BinaryIO | None, overview: str | None, acts: tuple[str, ...],
    timeline: tuple[tuple[str, str], ...], agreed: tuple[tuple[str, str], ...],
    evidence: tuple[tuple[str, str], ...], opposing_claims: tuple[str, ...], url: str | None, key: str | None,
    data: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Tell the facts, by options, a file or one question after the other; the models then begin.

    With options, what is not given is told as empty; in a session that carries facts over it stays as it was.

    Example: playmolt legal facts --file facts.json
    """
    told: Form = {
        "overview": overview,
        "acts": list(acts),
        "timeline": [{"when": when, "what": what, "agreed": False} for when, what in timeline]
        + [{"when": when, "what": what, "agreed": True} for when, what in agreed],
        "evidence": [{"title": title, "description": text} for title, text in evidence],
        "opposing_claims": list(opposing_claims),
    }
    given = {name: value for name, value in told.items() if value not in (None, [])}
    with session_client(session_server(url, data, "legal"), key) as client:
        session = _session(client, session_id)
        if source is not None:
            body = _read_json(source.read(), "--file") | given
        elif given:
            body = given if session.previous_session else told | {"overview": overview or ""}
        else:
            body = _asked_facts(session)
        _print(client.call(routes.POST_FACTS, session.id, body=body), as_json, outlook=True)


def _asked_facts(session: Session) -> Form:
    words = LegalTexts(session.language)
    asker = Prompter(LegalPage(console(err=True), words), _FACTS_FIELDS)
    if session.phase != "FACTS_INTAKE":
        return {}
    if session.previous_session and asker.yes(words.say("keep"), default=True):
        return {}
    return prompt_facts(words, asker)


@legal.command()
@click.argument("file", type=click.File("rb"))
@_session_argument
@click.option("--title", help="What it is called; the file's name where it is left out.")
@click.option("--statute", is_flag=True, help="It is a statute, no evidence.")
@_caller_options
def attach(
    file: BinaryIO, session_id: str | None, title: str | None, statute: bool, url: str | None, key: str | None,
    data: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Upload a text or a PDF as evidence or as a statute, before the facts are told or while a gate is open.

    Example: playmolt legal attach contract.pdf --title "Lease of 2024"
    """
    content = file.read(UPLOAD_BYTES + 1)
    request = UploadRequest(
        title=title or Path(file.name).name,
        kind="statute" if statute else "evidence",
        media_type="application/pdf" if content.startswith(b"%PDF-") else "text/plain",
        content=base64.b64encode(content).decode(),
    )
    with session_client(session_server(url, data, "legal"), key) as client:
        added = client.call(routes.ADD_EVIDENCE, _session(client, session_id).id, body=request)
    click.echo(
        msgspec.json.encode(added) if as_json else printable(f"{added.id}  {added.title}  {added.chars} characters")
    )


@legal.command()
@click.argument("fact_id", metavar="FACT")
@_session_argument
@click.option("--correct", metavar="TEXT", help="What it should say; the old text is kept beside it.")
@click.option("--confirm", "action", flag_value="confirm", help="It is agreed.")
@click.option("--dispute", "action", flag_value="dispute", help="It is disputed.")
@click.option("--withdraw", "action", flag_value="withdraw", help="It is no longer said.")
@click.option("--reason", help="Why.")
@_caller_options
def fact(
    fact_id: str, session_id: str | None, correct: str | None, action: FactAction | None, reason: str | None,
    url: str | None, key: str | None, data: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Confirm, correct, dispute or withdraw a fact while a gate is open.

    Example: playmolt legal fact F3 --correct "The sum was $2,900." --reason "the ledger was misread"
    """
    if (correct is None) == (action is None):
        raise click.UsageError("give one of --correct TEXT, --confirm, --dispute and --withdraw")
    change = FactChangeRequest(
        action=action or "correct",
        text=msgspec.UNSET if correct is None else correct,
        reason=msgspec.UNSET if reason is None else reason,
    )
    with session_client(session_server(url, data, "legal"), key) as client:
        session = _session(client, session_id)
        _print(client.call(routes.CHANGE_FACT, session.id, fact_id, body=change), as_json)


@legal.command()
@_session_argument
@click.option("--turn", "turns", type=int, multiple=True, help="Number of a stale turn; all where it is left out.")
@_caller_options
def redo(
    session_id: str | None, turns: tuple[int, ...], url: str | None, key: str | None, data: Path | None, as_json: bool
) -> None:
    """Have turns asked again that relied on facts that stand no more.

    Example: playmolt legal redo
    """
    again = RedoRequest(turns=list(turns) or msgspec.UNSET)
    with session_client(session_server(url, data, "legal"), key) as client:
        session = _session(client, session_id)
        _print(client.call(routes.REDO_TURNS, session.id, body=again), as_json, outlook=True)


@legal.command()
@_session_argument
@click.option("--file", "source", type=click.File("rb"), help="JSON file with the form; - reads standard input.")
@click.option("--form", "inline", metavar="JSON", help="The form itself.")
@click.option("--set", "fields", multiple=True, metavar="FIELD=VALUE", help="A field of it; may be given again.")
@click.option("--show", "only_show", is_flag=True, help="Only show the gate and the fields of its form.")
@click.option(
    "--wait", type=click.FloatRange(0), default=WAIT_SECONDS, show_default=True, help="Seconds to wait for the models."
)
@_caller_options
def gate(
    session_id: str | None, source: BinaryIO | None, inline: str | None, fields: tuple[str, ...], only_show: bool,
    wait: float, url: str | None, key: str | None, data: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Wait for the next gate, show what it asks about, and answer it.

    Without a form it asks for each field. With --json and no form it prints the gate (and the JSON Schema of its form).

    Example: playmolt legal gate --set goal=risk_minimization --set stance=neutral --set focus_issues=liability
    """
    server = session_server(url, data, "legal")
    with session_client(server, key) as client:
        session = _awaited(server, client, _session(client, session_id), wait, quiet=as_json)
        opened = _open_gate(session)
        form = _given_form(opened, source, inline, fields)
        page = LegalPage(console(err=as_json), LegalTexts(session.language))
        if form is None and (only_show or as_json):
            _show_gate(page, session, opened, as_json)
            return
        if form is None:
            page.gate(session, opened)
            answered = _answered(client, session, opened)
        else:
            answered = client.call(routes.POST_STEERING, session.id, body=form)
        _print(answered, as_json, outlook=True)


def _show_gate(page: LegalPage, session: Session, opened: Gate, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode(opened))
        return
    page.gate(session, opened)
    page.line()
    page.fields(opened.schema, marked=page.marker(session).marked)


def _given_form(opened: Gate, source: BinaryIO | None, inline: str | None, fields: Sequence[str]) -> Form | None:
    if source is not None and inline is not None:
        raise Failure("--file and --form are two forms: give one of them")
    if source is None and inline is None and not fields:
        return None
    form = {} if source is None else _read_json(source.read(), "--file")
    form = form if inline is None else _read_json(inline.encode("utf-8", "replace"), "--form")
    return with_fields({"gate": opened.name} | form, fields, opened.schema)


def _answered(client: Client, session: Session, opened: Gate) -> Session:
    asker = Prompter(LegalPage(console(err=True), LegalTexts(session.language)), _FORM_FIELDS)
    form: Form = {}
    again: set[str] = set()
    for _ in range(_FORM_TRIES):
        form = prompt_form(asker, session, opened, form, again)
        try:
            return client.call(routes.POST_STEERING, session.id, body=form)
        except Refused as refusal:
            if refusal.code != "invalid_form":
                raise
            for fault in refusal.errors:
                asker.page.line(f"{fault.field}: {fault.message}", mark="!", style="yellow")
            again = {re.split(r"[.\[]", fault.field)[0] for fault in refusal.errors}
    raise Failure(f"the form was not taken {_FORM_TRIES} times; nothing is lost: playmolt legal gate {session.id}")


def _awaited(server: SessionServer, client: Client, session: Session, wait: float, *, quiet: bool) -> Session:
    """Follow the turns until the session wants the person, at most for so many seconds."""
    if _wants_the_person(session) or not wait:
        return session
    page = LegalPage(console(err=quiet), LegalTexts(session.language))
    page.line(speaking(page.words, session, session.phase), style="dim")

    async def until() -> None:
        async with AsyncSessions(server.url, client.key, retry=RETRY) as feed:
            async for message in feed.follow(session.id, after=session.version):
                if message["type"] in ("gate_opened", "turn_failed"):
                    return
                page.tell(session, message)

    try:
        asyncio.run(asyncio.wait_for(until(), wait))
    except TimeoutError:
        raise Failure(
            f"no gate opened within {wait:g} s; the models go on: playmolt legal show {session.id} --follow"
        ) from None
    return client.call(routes.READ_SESSION, session.id)


def _wants_the_person(session: Session) -> bool:
    return bool(session.gate or session.failed or session.phase in ("FACTS_INTAKE", *sessions.OVER))


def _open_gate(session: Session) -> Gate:
    if session.gate:
        return session.gate
    failed = f" The turn failed: {session.failed.detail}." if session.failed else ""
    step = LegalTexts(session.language).next_step(session)
    raise Failure(printable(f"no gate is open in {session.phase}.{failed} {step}"))


@legal.command()
@_session_argument
@click.option("--follow", is_flag=True, help="Go on with what happens, as it happens, until the session is over.")
@_caller_options
def show(
    session_id: str | None, follow: bool, url: str | None, key: str | None, data: Path | None, as_json: bool
) -> None:
    """Show a session: phase, facts, steering, turns and the open gate.

    With --json and --follow each message of the stream is one line, from the first one on.

    Example: playmolt legal show --follow
    """
    server = session_server(url, data, "legal")
    with session_client(server, key) as client:
        session = _session(client, session_id)
        if not (as_json and follow):
            _print(session, as_json)
        if follow:
            asyncio.run(_follow(server, client.key, session, as_json))


async def _follow(server: SessionServer, key: str, session: Session, as_json: bool) -> None:
    page = LegalPage(console(), LegalTexts(session.language))
    async with AsyncSessions(server.url, key, retry=RETRY) as feed:
        async for message in feed.follow(session.id, after=0 if as_json else session.version, speaking=True):
            if as_json:
                click.echo(msgspec.json.encode(message))
            else:
                page.tell(session, message)


@legal.command()
@_session_argument
@_caller_options
def retry(session_id: str | None, url: str | None, key: str | None, data: Path | None, as_json: bool) -> None:
    """Have a turn that failed asked again.

    Example: playmolt legal retry
    """
    with session_client(session_server(url, data, "legal"), key) as client:
        session = _session(client, session_id)
        _print(client.call(routes.RETRY_TURN, session.id), as_json, outlook=True)


@legal.command()
@_session_argument
@click.option("--format", "kind", type=click.Choice(_FORMATS), help="Default: as --out ends, else md.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write it to a file.")
@_caller_options
def report(
    session_id: str | None, kind: ReportFormat | None, out: Path | None, url: str | None, key: str | None,
    data: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """The report of a session that has ended with one.

    Example: playmolt legal report --format pdf --out report.pdf
    """
    wanted = "json" if as_json else kind or _format_of(out)
    if out is None and wanted in _BINARY and sys.stdout.isatty():
        raise Failure(f"a {wanted} is nothing for a terminal: give --out report.{wanted}")
    with session_client(session_server(url, data, "legal"), key) as client:
        session = _session(client, session_id)
        content = client.call(routes.READ_REPORT, session.id, query={"format": wanted})
    if out is not None:
        _write(out, content)
        click.echo(f"{out}: {len(content)} bytes", err=True)
    elif sys.stdout.isatty():
        click.echo("\n".join(map(printable, content.decode().replace("\u200b", "").splitlines())))
    else:
        sys.stdout.buffer.write(content)


def _format_of(out: Path | None) -> ReportFormat:
    ending = out.suffix.removeprefix(".").lower() if out else ""
    return next((known for known in _FORMATS if known == ending), "md")


def _write(out: Path, content: bytes) -> None:
    unfinished = out.with_name(f".{out.name}.unfinished")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(out)
    except OSError as error:
        raise Failure(f"{out}: {error.strerror}") from error


def _session(client: Client, session_id: str | None) -> Session:
    if session_id is not None:
        return client.call(routes.READ_SESSION, session_id)
    mine = [one for one in client.call(routes.LIST_SESSIONS).sessions if one["phase"] != _ERASED]
    if not mine:
        raise Failure("you have no session yet: playmolt legal new")
    return msgspec.convert(mine[0], Session)


def _read_json(text: bytes, what: str) -> Form:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise Failure(f"{what} is no JSON object: {error}") from error


def _print(session: Session, as_json: bool, *, outlook: bool = False) -> None:
    if as_json:
        click.echo(msgspec.json.encode(session))
        return
    page = LegalPage(console(), LegalTexts(session.language))
    if outlook:
        page.whole(f"{session.id} · {session.phase}")
        page.outlook(session)
    else:
        page.session(session)
