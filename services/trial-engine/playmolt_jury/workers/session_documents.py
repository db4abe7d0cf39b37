"""Documents rendered from the whole log of a session on request: transcript, drawing, shared page, shared log."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Final

import msgspec
from playmolt_core.engine.reads.api_queries import Fetch
from playmolt_core.game.api import ApiReply, ApiRequest
from playmolt_core.game.decider import Refused
from playmolt_core.game.withholding import without_texts
from playmolt_core.log.folding import facts_of
from playmolt_core.log.port import StreamReader
from playmolt_schemas.routes import sharing
from playmolt_schemas.routes.jury import TRANSCRIPT_MEDIA
from playmolt_schemas.routes.route import NDJSON
from playmolt_schemas.routes.sharing import SharedPage
from playmolt_schemas.stored.event import Event

from playmolt_jury.codes import unknown_session
from playmolt_jury.rules import Jury
from playmolt_jury.state import State
from playmolt_jury.transcript import formats
from playmolt_jury.transcript.scene import scene
from playmolt_jury.transcript.shared_log import shared_log
from playmolt_jury.transcript.transcript import Transcript, transcript, transcript_texts

TRANSCRIPT: Final = "jury_transcript"
_encode = msgspec.json.encode


Moments = Sequence[tuple[Event, datetime]]
_Make = Callable[[State, Moments, ApiRequest], ApiReply]


class SessionDocuments:
    """Serves these routes after the API has granted access. Rendering runs in a thread."""

    def __init__(self, jury: Jury, log: StreamReader) -> None:
        self._jury = jury
        self._log = log

    def fetches(self) -> Mapping[str, Fetch]:
        return {
            TRANSCRIPT: self._made(self._transcript),
            sharing.PAGE: self._made(self._page),
            sharing.PICTURE: self._made(self._picture),
            sharing.LOG: self._shared_log,
        }

    def _made(self, make: _Make) -> Fetch:
        async def fetch(state: State, request: ApiRequest) -> ApiReply | Refused:
            stored = await self._log.facts(request.stream)
            if stored is None:
                return unknown_session()
            return await asyncio.to_thread(lambda: make(*self._shown(state, facts_of(self._jury, stored), request)))

        return fetch

    def _shown(
        self, state: State, facts: Iterable[tuple[Event, datetime]], request: ApiRequest
    ) -> tuple[State, Moments, ApiRequest]:
        """The session without hidden texts."""
        if not request.hidden:
            return state, tuple(facts), request
        moments = tuple(
            (without_texts(event) if version in request.hidden else event, at)
            for version, (event, at) in enumerate(facts, 1)
        )
        return self._folded(request.stream, moments), moments, request

    def _folded(self, stream: str, moments: Moments) -> State:
        state = self._jury.initial(stream)
        for event, at in moments:
            state = self._jury.evolve(state, event, at)
        return state

    async def _shared_log(self, _: State, request: ApiRequest) -> ApiReply | Refused:
        stored = await self._log.load(request.stream)
        if stored is None:
            return unknown_session()
        lines = await asyncio.to_thread(
            lambda: [_encode(record) + b"\n" for record in shared_log(stored.records, request.hidden)]
        )
        return ApiReply(b"".join(lines), content_type=NDJSON)

    def _transcript(self, state: State, moments: Moments, request: ApiRequest) -> ApiReply:
        text = transcript(state, self._jury.material(state), _events(moments), self._jury.shown_verdict(state))
        if request.query.get("format") == "html":
            return ApiReply(formats.render_html(text).encode(), content_type=TRANSCRIPT_MEDIA["html"])
        return ApiReply(formats.render_md(text).encode(), content_type=TRANSCRIPT_MEDIA["md"])

    def _picture(self, state: State, moments: Moments, request: ApiRequest) -> ApiReply:
        """The drawing after event number `at`; the latest if that number does not exist."""
        at = request.query.get("at", 0)
        if 0 < at < len(moments):
            moments = moments[:at]
            state = self._folded(request.stream, moments)
        return ApiReply(scene(state, self._jury.material(state), _events(moments)))

    def _page(self, state: State, moments: Moments, _: ApiRequest) -> ApiReply:
        material, events = self._jury.material(state), _events(moments)
        text = transcript(state, material, events, self._jury.shown_verdict(state))
        return ApiReply(
            SharedPage(
                title=text.title,
                description=_description(text),
                language=state.language,
                body=formats.body_html(text, check=_check(text)),
                state=scene(state, material, events),
                log=True,
            )
        )


def _events(moments: Moments) -> tuple[Event, ...]:
    return tuple(event for event, _ in moments)


def _description(text: Transcript) -> str:
    say, verdict = transcript_texts(text.language), text.verdict
    if verdict is None:
        return text.result
    return say(
        "description",
        verdict=say(f"verdict.{verdict.verdict}"),
        guilty=verdict.guilty,
        not_guilty=verdict.not_guilty,
        ending=text.ending.who if text.ending else "",
    )


def _check(text: Transcript) -> str:
    say = transcript_texts(text.language)
    command = f"playmolt verify-verdict --log {text.session}.jsonl --rpc URL"
    return f"<p>{escape(say('check.how'))}</p><pre tabindex='0'>{escape(command)}</pre><p>{escape(say('withheld'))}</p>"
