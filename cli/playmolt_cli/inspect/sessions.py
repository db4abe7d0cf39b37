"""Jury and legal sessions from the log that their owner may read, one sample each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec
from playmolt_core.llm.port import TURN_HEADER
from playmolt_schemas.records import OpenedRecord

from playmolt_cli.inspect.model_calls import CallRecord, model_event, tool_event
from playmolt_cli.inspect.sample import (
    CLASSIFIER,
    Data,
    Happened,
    LogContent,
    Said,
    Sample,
    ScoreValue,
    Status,
    record_event,
)

_ENDS: Final[Mapping[str, Status]] = {
    "ended": "success", "session_done": "success", "session_rested": "success", "game_aborted": "cancelled",
    "session_aborted": "cancelled",
}  # fmt: skip
_CLASSIFY: Final = "classify"

Stored = Sequence[tuple[OpenedRecord, Data, datetime]]


def session_log(records: Sequence[OpenedRecord], task: str) -> LogContent:
    """A finished session. `task` is its type, jury or legal; `records` is not empty."""
    stored = [(one, msgspec.json.decode(one.data), datetime.fromisoformat(one.at)) for one in records]
    first, opened, created = stored[0]
    last, _, ended = stored[-1]
    said, scores = (_jury_said, _jury_scores) if task == "jury" else (_legal_said, _no_scores)
    about = {
        name: opened[name] for name in ("language", "case", "case_type", "jurisdiction", "title") if opened.get(name)
    }
    subject = str(opened.get("title") or opened.get("case") or first.stream)
    sample = Sample(
        id=first.stream, subject=subject, started=created, ended=ended, said=tuple(said(stored)),
        happened=_in_place(_happened(stored)), scores=scores(stored), about=about,
    )  # fmt: skip
    return LogContent(
        id=first.stream, task=task, title=f"{task}: {subject}", status=_ENDS.get(last.type, "success"), created=created,
        ended=ended, samples=(sample,), about={**about, "view": "owner"},
    )  # fmt: skip


def _happened(stored: Stored) -> Iterator[Happened]:
    for record, data, at in stored:
        if record.type == "attempt_made":
            yield _call(record, data, at)
        elif record.type == "tool_called":
            name = f"{record.stream}-{record.version}"
            yield tool_event(at, data["juror_id"], name, data["tool"], data["input"], data["result"])
        else:
            yield record_event(record, data, at, str(data.get("juror_id") or ""))


def _call(record: OpenedRecord, data: Data, at: datetime) -> Happened:
    """The turn of a juror is named `chat:JUROR`, that of a legal role `JUDGE_R1`, the classifier's `classify`."""
    turn = str(data.get("turn") or data.get("phase"))
    kind, _, rest = turn.partition(":")
    agent = CLASSIFIER if kind == _CLASSIFY else rest.partition(":")[0] or turn.partition("_R")[0].lower()
    about = {"turn": turn, "kind": data["kind"], "header": data["attempt"].get("headers", {}).get(TURN_HEADER)}
    return model_event(
        CallRecord(
            at=at,
            attempt=data["attempt"],
            agent=agent,
            role=agent,
            key=f"{record.stream}-{record.version}",
            about=about,
        )
    )


def _in_place(happened: Iterator[Happened]) -> Sequence[Happened]:
    """Put each use of a tool behind the call that asked for it: the log has them together at the end of the turn."""
    found: list[Happened] = []
    waiting: list[tuple[str, str, Happened]] = []
    """Agent, id and model event of calls of tools that have no result yet."""
    for one in happened:
        kind = one.fields["event"]
        if kind == "model":
            waiting += [(one.agent, str(call["id"]), one) for call in _tool_calls(one)]
        asked = next((each for each in waiting if kind == "tool" and each[0] == one.agent), None)
        if asked is None:
            found.append(one)
            continue
        waiting.remove(asked)
        _, identifier, call = asked
        at = call.ended or call.at
        place = found.index(call) + 1
        while place < len(found) and found[place].fields["event"] == "tool":
            place += 1
        moved = msgspec.structs.replace(one, at=at, ended=at, fields=one.fields | {"id": identifier})
        found.insert(place, moved)
    return found


def _tool_calls(called: Happened) -> Sequence[Mapping[str, object]]:
    output = msgspec.convert(called.fields["output"], Data)
    return output["choices"][0]["message"].get("tool_calls") or ()


def _jury_said(stored: Stored) -> Iterator[Said]:
    for record, data, _ in stored:
        about = {"type": record.type, "version": record.version, "at": record.at}
        juror = str(data.get("juror_id"))
        if record.type in ("juror_said", "speech"):
            yield Said(text=data["text"], speaker=juror, by_seat=True, about={**about, "agent_id": juror})
        elif record.type in ("overseer_said", "note_sent"):
            way = "note to" if record.type == "note_sent" else "to"
            yield Said(text=data["text"], speaker=f"overseer {way} {juror}", about={**about, "to": juror})
        elif record.type == "evidence_presented":
            text = f"presents {data['evidence_id']}"
            yield Said(text=text, speaker=f"overseer to {juror}", about={**about, "to": juror})


def _jury_scores(stored: Stored) -> dict[str, ScoreValue | Mapping[str, ScoreValue]]:
    """The verdict and votes, and where each juror stood at the end."""
    stances: dict[str, ScoreValue] = {}
    found: dict[str, ScoreValue | Mapping[str, ScoreValue]] = {}
    for record, data, _ in stored:
        if record.type == "stance_changed":
            stances[data["juror_id"]] = data["after"]
        elif record.type == "verdict_read":
            votes = {one["juror_id"]: one["guilty"] for one in data["votes"] if one["guilty"] is not None}
            stances |= {one["juror_id"]: one["stance"] for one in data["votes"]}
            found = {"verdict": data["verdict"], "guilty": votes}
        elif record.type == "ended":
            found["ending"] = data["ending"]
    return found | ({"stance": stances} if stances else {})


_LEGAL: Final[Mapping[str, Callable[[Data], object]]] = {
    "facts_posted": lambda data: {name: data[name] for name in ("narrative", "timeline", "evidence")},
    "evidence_added": lambda data: data["text"],
    "facts_corrected": lambda data: data["text"],
    "fact_changed": lambda data: {name: data[name] for name in ("fact_id", "action", "text") if data.get(name)},
    "risk_taken": lambda data: data["questions"],
    "gate_answered": lambda data: data["form"],
}
"""What the person said in each event."""


def _legal_said(stored: Stored) -> Iterator[Said]:
    for record, data, _ in stored:
        about = {"type": record.type, "version": record.version, "at": record.at}
        if record.type == "turn_recorded":
            role = data["phase"].partition("_R")[0].lower()
            about |= {"agent_id": role, "phase": data["phase"]}
            yield Said(text=_text(data["output"]), speaker=role, by_seat=True, about=about)
        elif record.type in _LEGAL:
            yield Said(text=_text(_LEGAL[record.type](data)), speaker="person", about=about)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _no_scores(_: Stored) -> dict[str, ScoreValue | Mapping[str, ScoreValue]]:
    return {}
