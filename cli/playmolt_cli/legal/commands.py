"""`playmolt legal`: sessions of the legal simulation in the terminal."""

import asyncio
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
    FactAction,
    FactChangeRequest,
    Gate,
    OpenSessionRequest,
    RedoRequest,
    Session,
)
from playmolt_schemas.routes import legal as routes
from playmolt_schemas.routes.legal import ReportFormat
from playmolt_schemas.stored.legal import CaseType, Language, Side

from playmolt_cli.legal.attach import STDIN, AttachOptions, attach_files
from playmolt_cli.legal.form import Form, prompt_facts, prompt_form, with_fields
from playmolt_cli.legal.page import LegalPage, speaking
from playmolt_cli.legal.prompter import Prompter
from playmolt_cli.legal.texts import LegalTexts
from playmolt_cli.local.session_key import RETRY, SessionServer, session_client, session_server
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.narration import printable
from playmolt_cli.terminal.options import FiniteRange, data_option, echo_json, json_option
from playmolt_cli.terminal.terminal_text import console

F = TypeVar("F", bound=Callable[..., Any])

WAIT_SECONDS: Final = 600.0
"""Default time that `gate` waits for the models."""
_FORM_TRIES: Final = 5
_FORMATS: Final[tuple[ReportFormat, ...]] = get_args(ReportFormat)
_BINARY: Final = ("docx", "pdf")
_OPEN_FIELDS: Final = "Use --case-type, --jurisdiction, --title and --language."
_FACTS_FIELDS: Final = "Use --file FILE, or --overview, --acts, --timeline, --evidence and --opposing-claims."
_FORM_FIELDS: Final = "Use --file FILE, --form JSON or --set FIELD=VALUE; --show prints the fields."


def _caller_options(command: F) -> F:
    options = (
        click.option(
            "--url", help="Gateway. Default: that of the `up` on the data folder, else PLAYMOLT_HOST and PLAYMOLT_PORT."
        ),
        click.option("--key", help="API key. Default: the one that `legal new` stored in the data folder."),
        data_option,
        json_option,
    )
    for option in reversed(options):
        command = option(command)
    return command


_session_argument = click.argument("session_id", metavar="[SESSION]", required=False)


_ERASED: Final = "erased"
_SESSION_PREFIX: Final = "legal-"


@click.group()
def legal() -> None:
    """Argue a case in a legal simulation: you state the facts and steer; four roles argue over three rounds.

    Run `new`, `facts`, `gate` (once per gate; it waits for the models) and `report`. Without SESSION a command uses
    your newest session. This is a simulation, not legal advice.

    Example: playmolt legal new --case-type civil --language en
    """


@legal.command()
@click.option("--case-type", type=click.Choice(get_args(CaseType)), help="Type of case.")
@click.option("--jurisdiction", help="Jurisdiction, such as KR.")
@click.option("--title", help="Title of the case.")
@click.option("--language", type=click.Choice(get_args(Language)), help="Language of the session.")
@click.option("--side", type=click.Choice(get_args(Side)), help="Your side. Default with --title: neutral.")
@click.option("--exclusions", multiple=True, help="Topic to exclude. Repeatable.")
@click.option("--model", default="scripted", show_default=True, help="Alias of the model that plays the roles.")
@click.option("--invite-code", help="Invite code of the operator, used when a key is created.")
@_caller_options
def new(
    case_type: CaseType | None, jurisdiction: str | None, title: str | None, language: Language | None,
    side: Side | None, exclusions: tuple[str, ...], model: str, invite_code: str | None, url: str | None,
    key: str | None, data: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Open a session. Asks for missing values, and creates an API key if you have none.

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
    with session_client(server, key, visits=True, invite_code=invite_code) as client:
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
        echo_json(mine)
        return
    for listed in mine:
        click.echo(printable(_line(listed)))


def _line(listed: dict[str, object]) -> str:
    if listed["phase"] == _ERASED:
        return f"{listed['id']}  {_ERASED} {listed['erased_at']}"
    session = msgspec.convert(listed, Session)
    gate = f" {session.gate.name}" if session.gate else ""
    return f"{session.id}  {session.phase}{gate}  {session.case_type}  {session.language}  {session.title}"


@legal.command()
@_session_argument
@click.option("--file", "source", type=click.File("rb"), help="JSON file with all facts; - for standard input.")
@click.option("--overview", help="Overview of the case.")
@click.option("--acts", multiple=True, help="What was done. Repeatable.")
@click.option("--timeline", nargs=2, multiple=True, metavar="WHEN WHAT", help="An event and its time. Repeatable.")
@click.option(
    "--agreed", nargs=2, multiple=True, metavar="WHEN WHAT", help="An event that both parties agree on. Repeatable."
)
@click.option("--evidence", nargs=2, multiple=True, metavar="TITLE TEXT", help="A piece of evidence. Repeatable.")
@click.option("--opposing-claims", multiple=True, help="A claim of the other side; '' if unknown. Repeatable.")
@_caller_options
def facts(
    session_id: str | None, source: BinaryIO | None, overview: str | None, acts: tuple[str, ...],
    timeline: tuple[tuple[str, str], ...], agreed: tuple[tuple[str, str], ...],
    evidence: tuple[tuple[str, str], ...], opposing_claims: tuple[str, ...], url: str | None, key: str | None,
    data: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """State the facts with options, a file or interactively; then the models start.

    With options, missing fields are sent empty; in a session with carried-over facts they stay unchanged.

    Example: playmolt legal facts --file facts.json
    """
    complete: Form = {
        "overview": overview,
        "acts": list(acts),
        "timeline": [{"when": when, "what": what, "agreed": False} for when, what in timeline]
        + [{"when": when, "what": what, "agreed": True} for when, what in agreed],
        "evidence": [{"title": title, "description": text} for title, text in evidence],
        "opposing_claims": list(opposing_claims),
    }
    given = {name: value for name, value in complete.items() if value not in (None, [])}
    with session_client(session_server(url, data, "legal"), key) as client:
        session = _session(client, session_id)
        if source is not None:
            body = _read_json(source.read(), "--file") | given
        elif given:
            body = given if session.previous_session else complete | {"overview": overview or ""}
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
@click.argument("files", metavar="FILE... [SESSION]", nargs=-1, required=True)
@click.option("--title", help="Title of a single file. Default: the file name.")
@click.option("--statute", is_flag=True, help="Add as a statute instead of evidence.")
@click.option("--encoding", metavar="NAME", help="Encoding of a text, such as cp949. Default: detected.")
@click.option("--pages", metavar="PAGES", help="Read only these pages, such as 3-9.")
@click.option("--dry", is_flag=True, help="Only show what is read.")
@click.option("--yes", is_flag=True, help="Upload without asking.")
@_caller_options
def attach(
    files: tuple[str, ...], title: str | None, statute: bool, encoding: str | None, pages: str | None, dry: bool,
    yes: bool, url: str | None, key: str | None, data: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Upload PDF, DOCX, HWPX or text files as evidence or statutes, before stating the facts or while a gate is open.

    Shows what is read and left out, and in a terminal asks before it uploads. FILE - reads a text from standard input.

    Example: playmolt legal attach contract.pdf letter.hwpx --pages 1-4
    """
    *others, last = files
    session_id = last if last.startswith(_SESSION_PREFIX) and not Path(last).exists() else None
    chosen = files if session_id is None else tuple(others)
    if not chosen:
        raise click.UsageError("Missing argument 'FILE...'.")
    if title and len(chosen) > 1:
        raise click.UsageError("--title is for a single file.")
    for file in chosen:
        if file != STDIN and not Path(file).exists():
            raise click.UsageError(f"File {file!r} does not exist.")
    options = AttachOptions(
        title=title, kind="statute" if statute else "evidence", encoding=encoding, pages=pages, dry=dry,
        asking=not yes and not as_json and STDIN not in chosen and sys.stdin.isatty(), as_json=as_json,
    )  # fmt: skip
    with session_client(session_server(url, data, "legal"), key) as client:
        attach_files(client, _session(client, session_id), chosen, options)


@legal.command()
@click.argument("fact_id", metavar="FACT")
@_session_argument
@click.option("--correct", metavar="TEXT", help="Corrected text; the old text is kept.")
@click.option("--confirm", "action", flag_value="confirm", help="Mark the fact as agreed.")
@click.option("--dispute", "action", flag_value="dispute", help="Mark the fact as disputed.")
@click.option("--withdraw", "action", flag_value="withdraw", help="Withdraw the fact.")
@click.option("--reason", help="Reason for the change.")
@_caller_options
def fact(
    fact_id: str, session_id: str | None, correct: str | None, action: FactAction | None, reason: str | None,
    url: str | None, key: str | None, data: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Confirm, correct, dispute or withdraw a fact while a gate is open.

    Example: playmolt legal fact F3 --correct "The sum was $2,900." --reason "the ledger was misread"
    """
    if (correct is None) == (action is None):
        raise click.UsageError("Use exactly one of --correct TEXT, --confirm, --dispute and --withdraw.")
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
@click.option("--turn", "turns", type=int, multiple=True, help="Number of a stale turn. Repeatable. Default: all.")
@_caller_options
def redo(
    session_id: str | None, turns: tuple[int, ...], url: str | None, key: str | None, data: Path | None, as_json: bool
) -> None:
    """Redo turns that relied on facts which have since changed.

    Example: playmolt legal redo
    """
    again = RedoRequest(turns=list(turns) or msgspec.UNSET)
    with session_client(session_server(url, data, "legal"), key) as client:
        session = _session(client, session_id)
        _print(client.call(routes.REDO_TURNS, session.id, body=again), as_json, outlook=True)


@legal.command()
@_session_argument
@click.option("--file", "source", type=click.File("rb"), help="JSON file with the form; - for standard input.")
@click.option("--form", "inline", metavar="JSON", help="The form as JSON.")
@click.option("--set", "fields", multiple=True, metavar="FIELD=VALUE", help="A field of the form. Repeatable.")
@click.option("--show", "only_show", is_flag=True, help="Only show the gate and its form fields.")
@click.option(
    "--wait", type=FiniteRange(0), default=WAIT_SECONDS, show_default=True, help="Seconds to wait for the models."
)
@_caller_options
def gate(
    session_id: str | None, source: BinaryIO | None, inline: str | None, fields: tuple[str, ...], only_show: bool,
    wait: float, url: str | None, key: str | None, data: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Wait for the next gate, show it and answer it.

    Without a form it asks for each field. With --json and no form it prints the gate with the JSON Schema of its form.

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
        echo_json(opened)
        return
    page.gate(session, opened)
    page.line()
    page.fields(opened.schema, marked=page.marker(session).marked)


def _given_form(opened: Gate, source: BinaryIO | None, inline: str | None, fields: Sequence[str]) -> Form | None:
    if source is not None and inline is not None:
        raise Failure("Use either --file or --form.")
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
    raise Failure(
        f"The form was refused {_FORM_TRIES} times. Your session is unchanged; retry with "
        f"playmolt legal gate {session.id}"
    )


def _awaited(server: SessionServer, client: Client, session: Session, wait: float, *, quiet: bool) -> Session:
    """Follow the turns until the session needs input, for at most `wait` seconds."""
    if _needs_input(session) or not wait:
        return session
    page = LegalPage(console(err=quiet), LegalTexts(session.language))
    page.line(speaking(page.words, session, session.phase), style="dim")

    async def until() -> None:
        async with AsyncSessions(server.url, client.key, retry=RETRY) as feed:
            async for message in feed.follow(session.id, after=session.version):
                if message["type"] in ("gate_opened", "turn_failed"):
                    return
                page.narrate(session, message)

    try:
        asyncio.run(asyncio.wait_for(until(), wait))
    except TimeoutError:
        raise Failure(
            f"No gate opened within {wait:g} s. The models are still working; follow them with "
            f"playmolt legal show {session.id} --follow"
        ) from None
    return client.call(routes.READ_SESSION, session.id)


def _needs_input(session: Session) -> bool:
    return bool(session.gate or session.failed or session.phase in ("FACTS_INTAKE", *sessions.OVER))


def _open_gate(session: Session) -> Gate:
    if session.gate:
        return session.gate
    failed = f" The turn failed: {session.failed.detail}." if session.failed else ""
    step = LegalTexts(session.language).next_step(session)
    raise Failure(printable(f"No gate is open in phase {session.phase}.{failed} {step}"))


@legal.command()
@_session_argument
@click.option("--follow", is_flag=True, help="Follow the session until it is over.")
@_caller_options
def show(
    session_id: str | None, follow: bool, url: str | None, key: str | None, data: Path | None, as_json: bool
) -> None:
    """Show a session: phase, facts, steering, turns and the open gate.

    With --json and --follow it prints each message of the stream as one line, starting with the first.

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
                echo_json(message)
            else:
                page.narrate(session, message)


@legal.command()
@_session_argument
@_caller_options
def retry(session_id: str | None, url: str | None, key: str | None, data: Path | None, as_json: bool) -> None:
    """Retry a failed turn.

    Example: playmolt legal retry
    """
    with session_client(session_server(url, data, "legal"), key) as client:
        session = _session(client, session_id)
        _print(client.call(routes.RETRY_TURN, session.id), as_json, outlook=True)


@legal.command()
@_session_argument
@click.option("--format", "kind", type=click.Choice(_FORMATS), help="Format. Default: the extension of --out, else md.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write to this file.")
@_caller_options
def report(
    session_id: str | None, kind: ReportFormat | None, out: Path | None, url: str | None, key: str | None,
    data: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Print or save the report of a finished session.

    Example: playmolt legal report --format pdf --out report.pdf
    """
    wanted = "json" if as_json else kind or _format_of(out)
    if out is None and wanted in _BINARY and sys.stdout.isatty():
        raise Failure(f"Cannot write a {wanted.upper()} to a terminal. Use --out report.{wanted}.")
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
        raise Failure("You have no session yet. Open one with playmolt legal new.")
    return msgspec.convert(mine[0], Session)


def _read_json(text: bytes, what: str) -> Form:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise Failure(f"{what} is not a JSON object: {error}") from error


def _print(session: Session, as_json: bool, *, outlook: bool = False) -> None:
    if as_json:
        echo_json(session)
        return
    page = LegalPage(console(), LegalTexts(session.language))
    if outlook:
        page.whole(f"{session.id} · {session.phase}")
        page.outlook(session)
    else:
        page.session(session)
