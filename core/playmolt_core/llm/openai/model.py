"""A model of an OpenAI-compatible server, with bounded retries and detection of the server's capabilities."""

import asyncio
import hashlib
import json
import math
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET
from typing_extensions import override

from playmolt_core.llm.catalogue import ModelEntry
from playmolt_core.llm.limits import MAX_WAIT_SECONDS, CapacitySignal, ModelLimits, NoCapacity, permitted
from playmolt_core.llm.openai.ability import first_form, learned, other_form
from playmolt_core.llm.openai.batches import Batches
from playmolt_core.llm.openai.connection import HttpResult, ModelConnection
from playmolt_core.llm.openai.judging import content_in, judged
from playmolt_core.llm.openai.request_body import DECODINGS, Form, body_of, content_bytes, expected_tokens, stored
from playmolt_core.llm.openai.storing import storable
from playmolt_core.llm.openai.tool_text import demands_tool
from playmolt_core.llm.port import (
    CONTENT_FILTER,
    NO_QUOTA,
    PROMPT_CUT,
    PROMPT_TOO_LONG,
    REPLY_UNREAD,
    TRANSPORT_FAULTS,
    Attempt,
    AttemptOutcome,
    Failed,
    FailureCode,
    Listener,
    Model,
    ModelRequest,
    Record,
    Reply,
    Sending,
    Usage,
)
from playmolt_core.llm.spans import attempt_span, finish
from playmolt_core.ops.telemetry import log

RETRY_SECONDS: Final = (0.5, 1.0, 2.0)
"""The pauses before the three retries after a transport fault, if the server specifies none."""
_FAILURES: Final[dict[AttemptOutcome, FailureCode]] = {
    "refusal": "refused",
    "too_large": "invalid_reply",
    "empty": "invalid_reply",
    "cut": "invalid_reply",
}
_PATH: Final = re.compile(
    r"[/\\~.]|[A-Za-z]:[/\\]|.*[/\\].*\.(?:gguf|ggml|bin|safetensors|onnx|pt|llamafile)$", re.IGNORECASE
)
"""The beginning of a path, or weights in a folder; `owner/model` of a hub is a name."""
_TOKEN_BYTES: Final = 12
"""No tokenizer packs so many bytes into one token: a server that counts fewer tokens has truncated the prompt."""
_SERVER_ERRORS: Final = 500
_ERRORS: Final = 400
_log = log("model")

Sleep = Callable[[float], Awaitable[None]]


class OpenAIModel(Model):
    """The model of an alias. Detected capabilities of the server are kept for the lifetime of the process."""

    def __init__(
        self,
        entry: ModelEntry,
        key: str,
        limits: ModelLimits,
        *,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._entry = entry
        # The reply that a call waits for may take as long as its own.
        self._max_wait = max(MAX_WAIT_SECONDS, float(entry.timeout_s))
        self._limits = limits
        self._sleep = sleep
        self._clock = clock
        self._connection = ModelConnection(entry, key)
        self._allowance = msgspec.structs.replace(entry.allowance, provider=provider_of(entry.base_url, key))
        self._known = Form(
            decoding=entry.decoding or DECODINGS[0],
            system=entry.system or "system",
            stream=entry.stream,
            text_chars=entry.text_chars,
        )
        self._short_prompts = 0
        self._key = key
        self._batches: Batches | None = None

    @override
    async def ask(
        self, request: ModelRequest, record: Record, sending: Sending | None = None, listener: Listener | None = None
    ) -> Reply | Failed:
        request = self._bounded(request)
        form, retries, number = first_form(request, self._known), 0, 0
        patience, refused = self._max_wait, None
        ends = self._clock() + (math.inf if request.within is UNSET else request.within)
        while True:
            number += 1
            try:
                longest = max(0.0, min(patience, ends - self._clock()))
                attempt, waited = await self._attempt(request, form, number, sending, listener, longest)
            except NoCapacity as busy:
                if refused is not None:
                    return self._result(request, form, refused)
                return Failed(
                    code="model_unavailable",
                    detail=f"{busy}; raise its limits, or `timeout_s` if its server is slow",
                    attempts=number - 1,
                )
            await record(attempt)
            if request.patient and _is_refused(attempt):
                # The limits delay the next request until the provider accepts requests again.
                patience = MAX_WAIT_SECONDS if refused is None else patience - waited
                refused = attempt
                continue
            if self._repeats(attempt) and retries < len(RETRY_SECONDS):
                pause = RETRY_SECONDS[retries] if attempt.retry_after_ms is None else attempt.retry_after_ms / 1000
                if self._clock() + pause >= ends:
                    return self._result(request, form, attempt)
                retries += 1
                await self._sleep(pause)
                continue
            other = other_form(request, form, attempt, self._known) if self._clock() < ends else None
            if other is None:
                self._known = learned(request, form, attempt, self._known)
                return self._result(request, form, attempt)
            form = other

    def line(self, request: ModelRequest) -> dict[str, Any]:
        """The request body for a batch, in the form that the server is known to support."""
        request = self._bounded(request)
        return self._body(request, first_form(request, self._known))

    def _body(self, request: ModelRequest, form: Form) -> dict[str, object]:
        body = body_of(request, self._entry.model, form)
        return body if self._entry.cache_prompt is None else body | {"cache_prompt": self._entry.cache_prompt}

    def read(self, request: ModelRequest, answer: str) -> tuple[Attempt, Reply | Failed]:
        """The attempt of a request that a batch answered, at batch prices."""
        request = self._bounded(request)
        form, result = first_form(request, self._known), HttpResult(status=200, body=answer.encode())
        attempt = self._heard(request, form, 1, self.line(request), result, self._entry.in_batches)
        return attempt, self._result(request, form, attempt)

    def _bounded(self, request: ModelRequest) -> ModelRequest:
        longest = self._entry.reply_tokens or request.max_tokens
        return msgspec.structs.replace(request, max_tokens=min(request.max_tokens, longest))

    async def close(self) -> None:
        await self._connection.close()
        if self._batches is not None:
            await self._batches.close()

    @property
    def batches(self) -> Batches:
        """Those of its server."""
        self._batches = self._batches or Batches(self._entry, self._key)
        return self._batches

    async def _attempt(
        self,
        request: ModelRequest,
        form: Form,
        number: int,
        sending: Sending | None,
        listener: Listener | None,
        patience: float,
    ) -> tuple[Attempt, float]:
        entry, body, headers = self._entry, self._body(request, form), request.all_headers()
        address = urlsplit(entry.base_url)
        port = address.port or (443 if address.scheme == "https" else 80)
        tokens = expected_tokens(request)
        async with permitted(self._limits, entry.alias, self._allowance, tokens, patience, sleep=self._sleep) as permit:
            with attempt_span(request, "openai", entry.model, address.hostname or "", port) as span:
                if sending is not None:
                    await sending()
                result = await self._connection.send(body, headers, listener)
                attempt = self._heard(request, form, number, body, result, entry)
                finish(span, attempt)
            permit.tokens = attempt.usage.total if attempt.usage else None
            permit.signal = _capacity_signal(attempt)
        return attempt, permit.waited

    def _heard(
        self,
        request: ModelRequest,
        form: Form,
        number: int,
        body: dict[str, Any],
        result: HttpResult,
        entry: ModelEntry,
    ) -> Attempt:
        """The attempt of a request, at the prices of `entry`."""
        limit = "`reply_tokens` of the alias" if entry.reply_tokens else "`max_tokens`"
        said = judged(result, request, form, limit)
        sent = {**body, "model": published(entry.model)}
        return Attempt(
            number=number,
            alias=entry.alias,
            model_asked=published(entry.model),
            model_answered=said.model and published(said.model),
            headers=request.all_headers(),
            request=stored(sent),
            decoding=form.decoding,
            outcome=said.outcome,
            status=result.status,
            detail=said.detail,
            reply=said.text,
            tool_calls=said.tool_calls,
            finish_reason=said.finish_reason,
            usage=said.usage,
            cost=entry.cost(said.usage),
            latency_ms=result.latency_ms,
            retry_after_ms=result.retry_after_ms,
            reasoning=said.reasoning,
            raw=storable(_without_paths(result.body.decode(errors="replace"), (entry.model, said.model)), limit=None),
            code=said.code,
            warnings=self._warnings(said.usage, content_bytes(body)),
        )

    def _warnings(self, usage: Usage | None, sent: int) -> tuple[str, ...]:
        """PROMPT_CUT from the second reply in a row whose prompt token count is too small."""
        if usage is None or usage.prompt_tokens is None:
            return ()
        self._short_prompts = self._short_prompts + 1 if usage.prompt_tokens * _TOKEN_BYTES < sent else 0
        if self._short_prompts < 2:
            return ()
        _log.warning(PROMPT_CUT, alias=self._entry.alias, bytes=sent, prompt_tokens=usage.prompt_tokens)
        return (PROMPT_CUT,)

    def _result(self, request: ModelRequest, form: Form, attempt: Attempt) -> Reply | Failed:
        if attempt.outcome != "ok":
            code = _FAILURES.get(attempt.outcome, "model_unavailable")
            detail = f"{self._entry.alias}: {attempt.detail}{self._advice(attempt)}"
            return Failed(
                code=code,
                detail=detail,
                attempts=attempt.number,
                reply="" if (attempt.status or 0) >= _ERRORS else attempt.reply,
                cut=attempt.outcome == "cut",
                filtered=attempt.code == CONTENT_FILTER,
            )
        if demands_tool(request) and not attempt.tool_calls:
            detail = f"{self._entry.alias}: the model called no tool; use a model that supports tool calls"
            return Failed(code="invalid_reply", detail=detail, attempts=attempt.number, reply=attempt.reply)
        words = content_in(attempt.reply, request, form).words
        return Reply(text=words, tool_calls=attempt.tool_calls, attempts=attempt.number)

    def _repeats(self, attempt: Attempt) -> bool:
        """Whether the same request is worth sending again.

        After a timeout it is not where the server takes one at a time: it computes a reply that is not streamed to its
        end although the reader left, and the next request would only queue behind it.
        """
        if attempt.outcome == "timeout" and self._entry.concurrent == 1 and not attempt.request.get("stream"):
            return False
        return attempt.outcome in TRANSPORT_FAULTS and attempt.code not in (NO_QUOTA, REPLY_UNREAD)

    def _advice(self, attempt: Attempt) -> str:
        key = self._entry.api_key_env or "api_key_env"
        by_code = {
            "401": f"; set {key} to a valid key",
            "403": f"; set {key} to a valid key",
            "402": f"; the account of {key} has no credit left: add credit, or use another key",
            NO_QUOTA: f"; the account of {key} has no credit left: add credit, or use another key",
            CONTENT_FILTER: "; change the text, or use another model",
            PROMPT_TOO_LONG: "; give it less to read, raise the context of its server, or lower `reply_tokens`",
        }
        if attempt.code in by_code:
            return by_code[attempt.code]
        if attempt.outcome == "timeout" and not self._repeats(attempt):
            return "; its server may still be computing that reply: raise `timeout_s` of the alias, then try again"
        if attempt.outcome == "rejected":
            wrong = attempt.status == 404
            return "; check base_url and model of the alias" if wrong else "; change the request or use another model"
        if attempt.outcome == "rate_limited":
            later = f" ({attempt.number} requests); try again later"
            return f"{later}; if that does not help, the account of {key} is out of credit, or limited for good"
        return f" ({attempt.number} requests); try again later" if attempt.outcome in TRANSPORT_FAULTS else ""


def published(model: str) -> str:
    """A model's name without the path on its server: without an alias, some servers give that of the weights."""
    return model.rstrip("/\\").replace("\\", "/").rpartition("/")[2] if _PATH.match(model) else model


def _without_paths(body: str, names: tuple[str | None, ...]) -> str:
    """A received body without the paths that its names are."""
    for name in names:
        if name and _PATH.match(name):
            for written in (name, json.dumps(name)[1:-1], json.dumps(name)[1:-1].replace("/", "\\/")):
                body = body.replace(written, published(name))
    return body


def provider_of(base_url: str, key: str) -> str:
    """Identifies the users of a server with the same key, without revealing the key."""
    return hashlib.sha256(f"{base_url.rstrip('/')}\n{key}".encode()).hexdigest()


def _capacity_signal(attempt: Attempt) -> CapacitySignal | None:
    """The capacity signal of an exchange; broken connections and timeouts carry none."""
    if _is_refused(attempt):
        wait = attempt.retry_after_ms
        return CapacitySignal(refused=True, wait=None if wait is None else wait / 1000)
    return CapacitySignal(refused=False) if attempt.status is not None and attempt.status < _SERVER_ERRORS else None


def _is_refused(attempt: Attempt) -> bool:
    return attempt.outcome == "rate_limited" and attempt.code != NO_QUOTA
