"""Quirks of real model servers: one answer for each alias, with the expected result.

    async with FakeServer() as server:
        server.otherwise = by_alias
        entry = server.entry("content_in_parts", model="content_in_parts")

Every quirk gets the same request, for an object `{"a": 1}`, or for text if `words` is set.
"""

import json
from typing import Any

import msgspec
from playmolt_core.llm.port import AttemptOutcome, Usage

from core.tests.llm.fake_server import Canned, ReceivedRequest, raw, reply, status

GOOD = '{"a": 1}'


class Quirk(msgspec.Struct, frozen=True, kw_only=True):
    """A canned answer and the expected result: the `text` of a reply, or the outcome if it is not a reply."""

    answer: Canned
    text: str | None = GOOD
    outcome: AttemptOutcome = "ok"
    usage: Usage | None = Usage(10, 5)
    reasoning: str | None = None
    requests: int = 1
    """Number of requests until the adapter has its reply or gives up."""
    detail: str = ""
    """A part of the message to the person."""
    words: bool = False


def body(**changes: Any) -> dict[str, Any]:
    """A completion of the reference server, with changes."""
    return json.loads(reply(GOOD).body) | changes  # type: ignore[no-any-return]  # an object


def message(finish_reason: Any = "stop", **fields: Any) -> Canned:
    said = {"role": "assistant", "content": GOOD} | fields
    return json_body(body(choices=[{"index": 0, "message": said, "finish_reason": finish_reason}]))


def json_body(document: Any, **how: Any) -> Canned:
    return Canned(body=json.dumps(document).encode(), **how)


def around(before: bytes, after: bytes) -> Canned:
    return raw(before + reply(GOOD).body + after)


def usage(value: Any) -> Canned:
    return json_body(body(usage=value))


def stream(*events: Any, end: str = "\n\n", done: str = "data: [DONE]\n\n") -> Canned:
    lines = "".join(f"data: {json.dumps(event, ensure_ascii=False)}{end}" for event in events) + done
    return Canned(body=lines.encode(), headers={"Content-Type": "text/event-stream"})


def chunk(delta: Any, finish_reason: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"object": "chat.completion.chunk", "model": "fake-model-1", "choices": [choice], **more}


_PIECES = (chunk({"role": "assistant", "content": ""}), chunk({"content": '{"a"'}), chunk({"content": ": 1}"}, "stop"))
_FIGURES = {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}
_SPENT = "the model spent its 2048 tokens before it answered: raise `max_tokens`, or turn its thinking off"


def error(value: Any, **beside: Any) -> Canned:
    return json_body({"error": value, **beside})


def away(
    answer: Canned,
    detail: str,
    outcome: AttemptOutcome = "server_error",
    requests: int = 4,
    usage: Usage | None = None,
) -> Quirk:
    return Quirk(answer=answer, text=None, outcome=outcome, usage=usage, requests=requests, detail=detail)


def cut(answer: Canned, detail: str = _SPENT, **parts: Any) -> Quirk:
    return Quirk(answer=answer, text=None, outcome="cut", detail=detail, **parts)


def empty(answer: Canned, **parts: Any) -> Quirk:
    return Quirk(answer=answer, text=None, outcome="empty", detail="the reply is empty", **parts)


QUIRKS: dict[str, Quirk] = {
    # the frame of the document
    "as_it_should_be": Quirk(answer=reply(GOOD)),
    "byte_order_mark": Quirk(answer=around(b"\xef\xbb\xbf", b"")),
    "white_space_while_it_thinks": Quirk(answer=around(b"\n\n   \r\n" * 20, b" \n")),
    "mark_behind_white_space": Quirk(answer=around(b"\n \xef\xbb\xbf", b"\n")),
    "done_behind_it": Quirk(answer=around(b"", b"\ndata: [DONE]\n\n")),
    "bare_done_behind_it": Quirk(answer=around(b"", b"\n[DONE]")),
    "one_event": Quirk(answer=around(b"data: ", b"\n\ndata: [DONE]\n\n")),
    "mark_around_the_reply": Quirk(answer=message(content=f"\ufeff{GOOD}"), text=f"\ufeff{GOOD}"),
    # a stream that was not requested
    "streams": Quirk(answer=stream(*_PIECES, _FIGURES)),
    "streams_without_figures": Quirk(answer=stream(*_PIECES), usage=None),
    "streams_without_an_end": Quirk(answer=stream(*_PIECES, _FIGURES, done="")),
    "streams_with_comments": Quirk(
        answer=raw(b": keep-alive\n\nevent: message\nid: 1\n" + stream(*_PIECES, _FIGURES).body)
    ),
    "streams_with_carriage_returns": Quirk(
        answer=stream(*_PIECES, _FIGURES, end="\r\n\r\n", done="data: [DONE]\r\n\r\n")
    ),
    "streams_a_line_an_event": Quirk(answer=stream(*_PIECES, _FIGURES, end="\n", done="data: [DONE]\n")),
    "streams_a_line_separator": Quirk(
        answer=stream(chunk({"content": "a\u2028"}), chunk({"content": "b"}, "stop"), _FIGURES),
        text="a\u2028b",
        words=True,
    ),
    "streams_thoughts": Quirk(
        answer=stream(chunk({"reasoning_content": "hm"}), chunk({"reasoning_content": "m"}), *_PIECES, _FIGURES),
        reasoning="hmm",
    ),
    "streams_an_error": away(
        stream(*_PIECES[:1], {"error": {"message": "out of memory", "code": 500}}), "out of memory"
    ),
    "streams_an_error_after_words": away(
        stream(*_PIECES[:2], {"error": {"message": "out of memory", "code": 500}}), "out of memory", "malformed"
    ),
    "streams_and_breaks_behind_its_end": Quirk(answer=stream(*_PIECES, done='data: {"choi'), usage=None),
    "streams_and_breaks_before_its_end": Quirk(
        answer=stream(*_PIECES[:2], done='data: {"choi'),
        text=None,
        outcome="malformed",
        usage=None,
        requests=4,
        detail="not a chat completion",
    ),
    "streams_and_ends_before_its_end": away(
        stream(*_PIECES[:1], chunk({"content": "I vote not "}), done=""),
        "the stream ended before the reply",
        "malformed",
    ),
    "streams_an_error_without_its_name": away(
        stream(*_PIECES[:1], chunk({"content": "I vote not "}), {"message": "overloaded"}, done=""),
        "overloaded",
        "malformed",
    ),
    "streams_without_a_reason": Quirk(
        answer=stream(chunk({"content": "I vote guilty."})), text="I vote guilty.", words=True, usage=None
    ),
    # content
    "content_in_parts": Quirk(answer=message(content=[{"type": "text", "text": GOOD}])),
    "content_in_two_parts": Quirk(
        answer=message(content=[{"type": "text", "text": '{"a"'}, {"type": "text", "text": ": 1}"}])
    ),
    "content_in_texts": Quirk(answer=message(content=['{"a"', ": 1}"])),
    "content_in_parts_of_another_name": Quirk(
        answer=message(content=[{"type": "TEXT", "text": '{"a"'}, {"type": "input_text", "text": ": 1}"}])
    ),
    "content_in_a_part_s_content": Quirk(answer=message(content=[{"type": "text", "content": GOOD}])),
    "content_is_one_part": Quirk(answer=message(content={"type": "text", "text": GOOD})),
    "content_is_the_object": Quirk(answer=message(content={"a": 1}), text='{"a":1}'),
    "content_with_odd_parts": Quirk(
        answer=message(content=[None, 7, {"type": "image_url", "image_url": {}}, {"type": "text", "text": GOOD}])
    ),
    "thinking_part": Quirk(
        answer=message(content=[{"type": "thinking", "thinking": "hmm"}, {"type": "text", "text": GOOD}]),
        reasoning="hmm",
    ),
    "thinking_in_parts_of_a_part": Quirk(
        answer=message(
            content=[
                {"type": "thinking", "thinking": [{"type": "text", "text": "h"}, {"type": "text", "text": "m"}]},
                {"type": "text", "text": GOOD},
            ]
        ),
        reasoning="hm",
    ),
    "reasoning_part": Quirk(
        answer=message(content=[{"type": "reasoning", "text": "hmm"}, {"type": "text", "text": GOOD}]), reasoning="hmm"
    ),
    "content_missing": empty(json_body(body(choices=[{"message": {"role": "assistant"}}]))),
    "content_is_a_number": Quirk(
        answer=message(content=5),
        text=None,
        outcome="malformed",
        usage=None,
        requests=4,
        detail="not a chat completion",
    ),
    "delta_for_message": Quirk(answer=json_body(body(choices=[{"delta": {"content": GOOD}, "finish_reason": "stop"}]))),
    "text_for_message": Quirk(answer=json_body(body(choices=[{"text": GOOD, "finish_reason": "stop"}]))),
    # figures
    "no_usage": Quirk(answer=json_body(body(usage=None)), usage=None),
    "usage_of_nulls": Quirk(answer=usage({"prompt_tokens": None, "completion_tokens": None}), usage=None),
    "usage_in_parts": Quirk(
        answer=usage(
            {
                "prompt_tokens": 10,
                "prompt_tokens_details": {"cached_tokens": 4},
                "completion_tokens": 5,
                "completion_tokens_details": {"reasoning_tokens": 99},
            }
        ),
        usage=Usage(10, 5, 4, 5),
    ),
    "usage_half_null": Quirk(answer=usage({"prompt_tokens": None, "completion_tokens": 5}), usage=Usage(None, 5)),
    "usage_half_missing": Quirk(answer=usage({"prompt_tokens": 10}), usage=Usage(10, None)),
    "usage_in_floats": Quirk(answer=usage({"prompt_tokens": 10.0, "completion_tokens": 5.0})),
    "usage_in_halves": Quirk(answer=usage({"prompt_tokens": 9.5, "completion_tokens": 5}), usage=Usage(None, 5)),
    "usage_in_texts": Quirk(answer=usage({"prompt_tokens": "10", "completion_tokens": 5}), usage=Usage(None, 5)),
    "usage_below_zero": Quirk(answer=usage({"prompt_tokens": 10, "completion_tokens": -1}), usage=Usage(10, None)),
    "usage_true": Quirk(answer=usage({"prompt_tokens": True, "completion_tokens": 5}), usage=Usage(None, 5)),
    "usage_past_all_use": Quirk(
        answer=raw(json.dumps(body()).replace('"prompt_tokens": 10', '"prompt_tokens": 1' + "0" * 5000).encode()),
        usage=Usage(None, 5),
    ),
    "usage_by_other_names": Quirk(answer=usage({"input_tokens": 10, "output_tokens": 5})),
    "usage_a_list": Quirk(answer=usage([10, 5]), usage=None),
    # odd fields
    "odd_fields": Quirk(
        answer=json_body(
            body(
                id=7,
                created="now",
                model=None,
                object=None,
                service_tier={},
                system_fingerprint=3,
                choices=[
                    {
                        "index": "0",
                        "finish_reason": 5,
                        "logprobs": "none",
                        "message": {
                            "role": None,
                            "content": GOOD,
                            "refusal": 0,
                            "tool_calls": {},
                            "annotations": 1,
                            "audio": [],
                            "function_call": None,
                            "reasoning": 3,
                        },
                    }
                ],
            ),
        ),
    ),
    "not_a_number": Quirk(answer=raw(json.dumps(body(score=float("nan"), best=float("inf"))).encode())),
    "twice_the_same_key": Quirk(answer=raw(b'{"id": 1, "id": 2, ' + reply(GOOD).body[1:])),
    "control_characters": Quirk(answer=raw(json.dumps(body(note="x")).replace('"x"', '"a\tb"').encode())),
    "bytes_that_are_no_text": Quirk(answer=raw(json.dumps(body(note="x")).encode().replace(b'"x"', b'"\xff\xfe"'))),
    "null_among_the_choices": Quirk(answer=json_body(body(choices=[None, *body()["choices"]]))),
    "broken_calls_beside_words": Quirk(answer=message(tool_calls=[None, 1, {"function": None}, {"function": {}}])),
    "error_of_nulls": Quirk(answer=json_body(body(error={"message": None, "code": None}))),
    "error_that_is_none": Quirk(answer=json_body(body(error={"message": "success", "code": 0}))),
    # errors in a 200
    "error_429": away(error({"message": "slow down", "code": 429}), "slow down", "rate_limited"),
    "error_429_as_text": away(error({"message": "slow down", "code": "429"}), "slow down", "rate_limited"),
    "error_429_by_name": away(error({"message": "slow down", "type": "rate_limit_error"}), "slow down", "rate_limited"),
    "error_no_quota": away(
        error({"message": "used up", "code": 429, "type": "insufficient_quota"}), "add credit", "rate_limited", 1
    ),
    "error_401": away(error({"message": "bad key", "code": 401}), "to a valid key", "rejected", 1),
    "error_402": away(error({"message": "no money", "code": 402.0}), "add credit", "rejected", 1),
    "error_403": away(error({"message": "not yours", "code": 403}), "not yours", "rejected", 1),
    "error_by_a_key_s_name": away(error({"message": "bad key", "code": "invalid_api_key"}), "bad key", "rejected", 1),
    "error_500": away(error({"message": "boom", "code": 500}), "boom"),
    "error_by_its_http_status": away(error({"message": "slow down", "http_status": 429}), "slow down", "rate_limited"),
    "error_in_an_error": away(error({"error": {"message": "no money", "code": 402}}), "add credit", "rejected", 1),
    "error_as_json_in_a_text": away(error('{"code": 429, "message": "slow down"}'), "slow down", "rate_limited"),
    "error_of_the_server_behind": away(
        error({"message": "Provider returned error", "code": 502, "metadata": {"raw": "the GPU is on fire"}}),
        "the GPU is on fire",
    ),
    "error_without_code": away(error({"message": "boom"}), "boom"),
    "error_as_text": away(error("model is loading"), "model is loading"),
    "error_beside_choices": away(json_body(body(error={"message": "boom", "code": 502})), "boom", usage=Usage(10, 5)),
    "error_in_a_choice": away(
        json_body(body(choices=[{"error": {"message": "slow", "code": 429}, "message": {"content": ""}}])),
        "slow",
        "rate_limited",
        usage=Usage(10, 5),
    ),
    "error_as_finish_reason": away(message("error"), "ended the reply with an error", usage=Usage(10, 5)),
    "choices_null": away(json_body(body(choices=None)), "the answer has no choices", usage=Usage(10, 5)),
    "choices_missing": away(json_body({"id": "x"}), "the answer has no choices"),
    "choices_empty": away(json_body(body(choices=[])), "the answer has no choices", usage=Usage(10, 5)),
    "error_without_its_name": away(json_body({"code": 429, "msg": "busy"}), "busy", "rate_limited"),
    # no text
    "null_at_its_longest": cut(message("length", content=None)),
    "null_at_its_longest_with_thoughts": cut(
        message("length", content=None, reasoning_content="hmm"), "kept as its reasoning", reasoning="hmm"
    ),
    "half_at_its_longest": cut(message("length", content='{"a":'), "before it answered: raise `max_tokens`"),
    "thoughts_at_their_longest": cut(message("length", content="<think>hmm"), reasoning="hmm"),
    "null_at_its_longest_by_another_name": cut(message("max_output_tokens", content=None)),
    "incomplete": cut(message("incomplete", content="")),
    "whole_at_its_longest": Quirk(answer=message("length")),
    "only_thoughts": empty(message(content=None, reasoning_content=GOOD), reasoning=GOOD),
    "only_thoughts_in_words": empty(message(content="<think>hmm</think>\n "), reasoning="hmm"),
    # thoughts
    "thoughts_before": Quirk(answer=message(content=f"<think>\nhmm\n</think>\n\n{GOOD}"), reasoning="hmm"),
    "thoughts_without_a_beginning": Quirk(answer=message(content=f"hmm</think>{GOOD}"), reasoning="hmm"),
    "thoughts_twice": Quirk(
        answer=message(content=f"<think>h</think>no<think>m</think>{GOOD}"), reasoning="h</think>no<think>m"
    ),
    "thoughts_in_capitals": Quirk(answer=message(content=f"<THINK>hmm</THINK >{GOOD}"), reasoning="hmm"),
    "thoughts_with_a_time": Quirk(answer=message(content=f'<think time="3">hmm</think>{GOOD}'), reasoning="hmm"),
    "thoughts_by_another_name": Quirk(answer=message(content=f"<seed:think>hmm</seed:think>{GOOD}"), reasoning="hmm"),
    "a_thought": Quirk(answer=message(content=f"<thought>hmm</thought>{GOOD}"), reasoning="hmm"),
    "thoughts_in_a_channel": Quirk(
        answer=message(content=f"<|channel|>analysis<|message|>hmm<|channel|>final<|message|>{GOOD}"), reasoning="hmm"
    ),
    "an_object_that_speaks_of_thoughts": Quirk(
        answer=message(content='{"a": 1, "b": "</think>"}'), text='{"a": 1, "b": "</think>"}', words=True
    ),
    "reasoning_text": Quirk(answer=message(reasoning_text="hmm"), reasoning="hmm"),
    "thoughts_in_brackets": Quirk(answer=message(content=f"[THINK]hmm[/THINK]{GOOD}"), reasoning="hmm"),
    "thoughts_behind": Quirk(answer=message(content=f"{GOOD}<think>hmm"), reasoning="hmm"),
    "reasoning_content": Quirk(answer=message(reasoning_content="hmm"), reasoning="hmm"),
    "reasoning": Quirk(answer=message(reasoning="hmm", reasoning_content="hmm"), reasoning="hmm"),
    "reasoning_details": Quirk(
        answer=message(reasoning_details=[{"type": "reasoning.text", "text": "hmm"}]), reasoning="hmm"
    ),
    "a_juror_s_thoughts": Quirk(
        answer=message(content="<think>I secretly lean to guilty.</think>I hear you."),
        text="I hear you.",
        reasoning="I secretly lean to guilty.",
        words=True,
    ),
    # refusals and HTTP
    "refusal_part": Quirk(
        answer=message(content=[{"type": "refusal", "refusal": "never"}]),
        text=None,
        outcome="refusal",
        detail="refused to answer",
    ),
    "http_429_no_quota": away(
        status(429, "You exceeded your quota", error="insufficient_quota"), "add credit", "rate_limited", 1
    ),
    "http_402": away(status(402, "Insufficient Balance"), "add credit", "rejected", 1),
    "http_error_in_a_list": away(
        Canned(status=503, body=b'[{"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}]'),
        "overloaded",
    ),
    "http_error_with_a_number": away(
        Canned(status=401, body=b'{"error": {"code": 401, "message": "who?"}}'), "who?", "rejected", 1
    ),
}


def by_alias(request: ReceivedRequest) -> Canned:
    """The quirk of the alias, which is also the model's name on the server."""
    return QUIRKS[str(request.body["model"])].answer
