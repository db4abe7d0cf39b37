"""The routes of a session (`legal.md`, API): which command a request becomes, and how it is answered."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, get_args

import msgspec
from playmolt_core.game.api import ApiReply, ApiRequest, GameApi, Linked
from playmolt_core.game.decider import Command, Refused
from playmolt_schemas.api import ErasedSession
from playmolt_schemas.body_fields import BodyFields
from playmolt_schemas.codes import Code
from playmolt_schemas.games.legal import ReadUpload, ReportSection, Session, Sessions, ShareRequest
from playmolt_schemas.identifiers import id_of_command
from playmolt_schemas.routes import sharing
from typing_extensions import override

from playmolt_legal import commands, views
from playmolt_legal.codes import NO_SESSION, invalid_request
from playmolt_legal.facts import uploads
from playmolt_legal.report import formats, shared
from playmolt_legal.report.report import report
from playmolt_legal.report.scene import scene
from playmolt_legal.rules import Legal
from playmolt_legal.state import State

OPEN: Final = "open_session"
READ: Final = "read_session"
LIST: Final = "list_sessions"
FACTS: Final = "post_facts"
STEERING: Final = "post_steering"
FACT: Final = "change_fact"
EVIDENCE: Final = "add_evidence"
UPLOAD: Final = "read_evidence"
REDO: Final = "redo_turns"
RETRY: Final = "retry_turn"
REPORT: Final = "read_report"
_SECTIONS: Final[tuple[ReportSection, ...]] = get_args(ReportSection)
_SECTION_CHARS: Final = 40


class LegalApi(GameApi[State]):
    """Serves the routes of the legal simulation; `aliases` are the models a session may name."""

    opens = frozenset((OPEN,))
    writes = frozenset((OPEN, FACTS, FACT, EVIDENCE, REDO, STEERING, RETRY))
    slow = frozenset((REPORT, sharing.PAGE))
    lists = frozenset((LIST,))

    def __init__(self, rules: Legal, aliases: Sequence[str]) -> None:
        self._rules = rules
        self._aliases = tuple(aliases)
        self._commands: Mapping[str, Callable[[ApiRequest], Command]] = {
            OPEN: self._opening,
            FACTS: lambda asked: commands.PostFacts(agent_id=asked.agent_id, body=asked.body),
            STEERING: self._form,
            FACT: lambda asked: commands.ChangeFact(
                agent_id=asked.agent_id, fact_id=asked.params["fid"], body=asked.body
            ),
            EVIDENCE: lambda asked: commands.AddEvidence(agent_id=asked.agent_id, body=asked.body),
            REDO: lambda asked: commands.Redo(agent_id=asked.agent_id, body=asked.body),
            RETRY: lambda asked: commands.Retry(agent_id=asked.agent_id),
        }

    @override
    def command(self, state: State, request: ApiRequest) -> Command | Refused:
        if make := self._commands.get(request.route):
            return make(request)
        raise LookupError(f"{request.route} changes nothing")

    def _opening(self, asked: ApiRequest) -> Command:
        return commands.OpenSession(
            agent_id=asked.agent_id, name=asked.name, seed=asked.seed, body=asked.body, aliases=self._aliases
        )

    def _form(self, asked: ApiRequest) -> Command:
        linked = id_of_command(self._rules.game, asked.command_id)
        return commands.PostForm(agent_id=asked.agent_id, body=asked.body, next_session=linked)

    @override
    def linked(self, before: State, after: State) -> Linked | None:
        """Opens the session that continues this one."""
        if before.next_session == after.next_session:
            return None
        successor = self._rules.successor(after)
        return Linked(after.next_session, successor) if successor and after.next_session else None

    @override
    def leads_to(self, state: State) -> str | None:
        return state.next_session

    @override
    def answer(self, state: State, request: ApiRequest) -> ApiReply | Refused:
        if not state.version or state.owner != request.agent_id:
            return NO_SESSION
        if answer := _ANSWERS.get(request.route):
            return answer(state, request)
        return ApiReply(views.session(state), 201 if request.route == OPEN else 200)

    @override
    def many(self, states: Sequence[State | ErasedSession], request: ApiRequest) -> ApiReply | Refused:
        rows = [state if isinstance(state, ErasedSession) else _row(state, request) for state in states]
        return ApiReply(Sessions([row for row in rows if row is not None]))


def _row(state: State, request: ApiRequest) -> Session | None:
    return views.session(state) if state.owner == request.agent_id else None


def _report(state: State, request: ApiRequest) -> ApiReply | Refused:
    made = report(state)
    if isinstance(made, Refused):
        return made
    rendered = formats.render(made, request.query.get("format", "json"))
    return rendered if isinstance(rendered, Refused) else ApiReply(rendered.body, content_type=rendered.content_type)


def _terms(state: State, request: ApiRequest) -> ApiReply | Refused:
    """Which sections of the report are shown."""
    made = report(state)
    if isinstance(made, Refused):
        return made
    fields = BodyFields({} if request.body is None else request.body)
    fields.only(ShareRequest.__struct_encode_fields__)
    chosen = fields.texts("sections", _SECTION_CHARS, entries=len(_SECTIONS)) if "sections" in fields.body else None
    if unknown := [name for name in chosen or () if name not in _SECTIONS]:
        fields.fault("sections", f"has unknown sections {', '.join(unknown)}; choose from {', '.join(_SECTIONS)}")
    read = fields.result(sharing.ShareTerms(chosen))
    return ApiReply(read) if isinstance(read, sharing.ShareTerms) else invalid_request(read)


def _page(state: State, request: ApiRequest) -> ApiReply | Refused:
    made = report(state)
    if isinstance(made, Refused):
        return made
    if request.hidden:
        return ApiReply(shared.withheld_page(state.language))
    return ApiReply(shared.page(made, scene(state), request.query.get("sections")))


def _added(state: State, request: ApiRequest) -> ApiReply | Refused:
    """The stored upload of a request: the latest with the same kind, title and bytes; with `dry=1` a preview."""
    if request.query.get("dry") == "1":
        made = uploads.preview(state, request.agent_id, request.body)
        return made if isinstance(made, Refused) else ApiReply(made)
    added = uploads.newest(state, msgspec.convert(request.body, ReadUpload))
    return ApiReply(added, 201) if added else _NO_UPLOAD


def _upload(state: State, request: ApiRequest) -> ApiReply | Refused:
    found = uploads.text(state, request.params["eid"])
    return ApiReply(found) if found else _NO_UPLOAD


_NO_UPLOAD: Final = Refused(
    Code.NOT_FOUND, "This upload does not exist. GET the session: facts.evidence lists the uploads."
)


_ANSWERS: Final[Mapping[str, Callable[[State, ApiRequest], ApiReply | Refused]]] = {
    REPORT: _report,
    EVIDENCE: _added,
    UPLOAD: _upload,
    sharing.ASK: _terms,
    sharing.TAKE_BACK: lambda _, __: ApiReply(sharing.ShareTerms()),
    sharing.PAGE: _page,
}
"""The answers of routes that do not return the session."""
