"""A sample of an Inspect log: what was said, what happened, which models were called, and how it ended."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal

import msgspec
from playmolt_schemas.records import Record

Json = dict[str, object]
Data = Mapping[str, Any]
"""Decoded JSON of the platform."""
Status = Literal["success", "started", "cancelled"]
"""Finished, still running, or ended by the operator, in Inspect's words."""
ScoreValue = str | int | float | bool
CLASSIFIER: Final = "classifier"
"""The role of calls that only classify a text."""
NO_MODEL: Final = "none/none"
"""Inspect's name for a log without a model."""


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the conversation. `speaker` is a name, empty for the platform; `by_seat`: an agent said it."""

    text: str
    speaker: str = ""
    by_seat: bool = False
    about: Mapping[str, object] = {}

    def document(self, identifier: str) -> Json:
        text = f"{self.speaker}: {self.text}" if self.speaker else self.text
        role = "assistant" if self.by_seat else "user"
        return {"id": identifier, "role": role, "content": text, "metadata": dict(self.about)}


class Happened(msgspec.Struct, frozen=True, kw_only=True):
    """An event. `fields` are those of Inspect's event class, without time and identity; `agent` caused it."""

    at: datetime
    fields: Json
    agent: str = ""
    about: Mapping[str, object] = {}
    ended: datetime | None = None


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """A game, a session or a run. A score is one value, or one for each name."""

    id: str
    subject: str
    """What it was about: Inspect's input."""
    started: datetime
    ended: datetime | None
    said: Sequence[Said]
    happened: Sequence[Happened]
    scores: Mapping[str, ScoreValue | Mapping[str, ScoreValue]] = {}
    about: Mapping[str, object] = {}

    def document(self) -> Json:
        """The sample in Inspect's form; the same log gives the same document."""
        models, roles = usage_of(self.happened)
        calls = [one for one in self.happened if one.fields["event"] == "model"]
        document: Json = {
            "id": self.id, "epoch": 1, "uuid": self.id, "input": self.subject, "target": "",
            "messages": [one.document(f"{self.id}-{n}") for n, one in enumerate(self.said, 1)],
            "events": list(self._events()),
            "scores": {name: {"value": value} for name, value in self.scores.items()},
            "metadata": dict(self.about), "model_usage": models, "role_usage": roles,
            "started_at": self.started.isoformat(), "turn_count": len(calls),
        }  # fmt: skip
        if self.ended is not None:
            document |= {"completed_at": self.ended.isoformat(), "total_time": self._seconds(self.ended)}
        return document

    def _events(self) -> Iterator[Json]:
        """The events as they began; those that an agent caused in a row are a span of that agent."""
        number, span, agent, last = 0, "", "", self.started

        def made(fields: Json, at: datetime) -> Json:
            nonlocal number
            number += 1
            head: Json = {"uuid": f"{self.id}-event-{number}", "timestamp": at.isoformat()}
            return fields | head | {"working_start": self._seconds(at)} | ({"span_id": span} if span else {})

        for one in sorted(self.happened, key=lambda one: one.at):
            if one.agent != agent and span:
                yield made({"event": "span_end", "id": span}, last)
                span = ""
            if one.agent != agent and one.agent:
                span = f"{self.id}-span-{number}"
                yield made({"event": "span_begin", "id": span, "name": one.agent, "type": "agent"}, one.at)
            agent, last = one.agent, max(last, one.at)
            about = dict(one.about) | ({"agent": one.agent} if one.agent else {})
            ended = {"completed": one.ended.isoformat()} if one.ended else {}
            yield made(one.fields | ended | ({"metadata": about} if about else {}), one.at)
        if span:
            yield made({"event": "span_end", "id": span}, last)
            span = ""
        for name, value in self.scores.items():
            scored = max(self.ended or last, last)
            yield made({"event": "score", "scorer": name, "score": {"value": value}}, scored)

    def _seconds(self, at: datetime) -> float:
        return max(0.0, (at - self.started).total_seconds())


class LogContent(msgspec.Struct, frozen=True, kw_only=True):
    """What one log file holds: a game, a session, or an experiment with its runs."""

    id: str
    task: str
    title: str
    status: Status
    created: datetime
    ended: datetime | None
    samples: Sequence[Sample]
    about: Mapping[str, object] = {}

    def file_name(self) -> str:
        """Begins with the time, because Inspect lists and sorts logs by that."""
        return f"{self.created:%Y-%m-%dT%H-%M-%S+00-00}_{self.task}_{self._task_id}.eval"

    @property
    def _task_id(self) -> str:
        """Without hyphens: in a file's name Inspect takes what follows one for a suffix."""
        return self.id.partition("-")[2].replace("-", "")

    def document(self) -> Json:
        """The log in Inspect's form, version 2."""
        happened = [one for sample in self.samples for one in sample.happened]
        models, roles = usage_of(happened)
        stats: Json = {"started_at": self.created.isoformat(), "model_usage": models, "role_usage": roles}
        if self.ended is not None:
            stats["completed_at"] = self.ended.isoformat()
        ids = [sample.id for sample in self.samples]
        about: Json = {"id": self.id}
        about |= self.about
        return {
            "version": 2,
            "status": self.status,
            "eval": {
                # Without an id of its own, logs of one second would share one, and tables of them are joined by it.
                "eval_id": self.id, "run_id": self.id, "task_id": self._task_id, "task": self.task,
                "task_display_name": self.title, "created": self.created.isoformat(),
                "dataset": {"name": self.task, "samples": len(ids), "sample_ids": ids, "shuffled": False},
                "model": next(iter(models)) if len(models) == 1 else "several" if models else NO_MODEL,
                "model_roles": _model_roles(happened), "config": {}, "metadata": about,
                "scorers": [{"name": name} for name in self._scorers()],
            },
            "plan": {},
            "results": {
                "total_samples": len(ids),
                "completed_samples": sum(sample.ended is not None for sample in self.samples),
                "scores": [self._result(name) for name in self._scorers()],
            },
            "stats": stats,
            "samples": [sample.document() for sample in self.samples],
        }  # fmt: skip

    def _scorers(self) -> Sequence[str]:
        return list(dict.fromkeys(name for sample in self.samples for name in sample.scores))

    def _result(self, name: str) -> Json:
        """The mean of each number, and the share of each text, over the samples that have this score."""
        values = [sample.scores[name] for sample in self.samples if name in sample.scores]
        found: dict[str, list[float]] = {}
        for value in values:
            named: Mapping[str, ScoreValue] = value if isinstance(value, Mapping) else {"mean": value}
            for key, one in named.items():
                if isinstance(one, str):
                    found[one if key == "mean" else f"{key} {one}"] = []
                else:
                    found.setdefault(key, []).append(float(one))
        texts = [value for value in values if isinstance(value, str)]
        means = {
            key: sum(numbers) / len(numbers) if numbers else texts.count(key) / len(texts) if texts else 1.0
            for key, numbers in found.items()
        }
        return {
            "name": name, "scorer": name, "scored_samples": len(values),
            "unscored_samples": len(self.samples) - len(values),
            "metrics": {key: {"name": key, "value": value} for key, value in means.items()},
        }  # fmt: skip


def usage_of(happened: Sequence[Happened]) -> tuple[dict[str, Json], dict[str, Json]]:
    """Tokens and cost of the model calls, by model and by role."""
    models: dict[str, Json] = {}
    roles: dict[str, Json] = {}
    for one in happened:
        output = one.fields.get("output")
        usage = output.get("usage") if isinstance(output, dict) else None
        if isinstance(usage, dict):
            _add(models, str(one.fields["model"]), usage)
            _add(roles, str(one.fields["role"]), usage)
    return models, roles


def _add(totals: dict[str, Json], name: str, usage: Mapping[str, object]) -> None:
    total = totals.setdefault(name, {})
    for key, value in usage.items():
        if isinstance(value, int | float):
            before = total.get(key, 0)
            total[key] = value + (before if isinstance(before, int | float) else 0)


def _model_roles(happened: Sequence[Happened]) -> Json:
    """Role → model, for roles that one model plays."""
    found: dict[str, set[str]] = {}
    for one in happened:
        if one.fields["event"] == "model":
            found.setdefault(str(one.fields["role"]), set()).add(str(one.fields["model"]))
    return {role: {"model": next(iter(models))} for role, models in found.items() if len(models) == 1}


def record_event(record: Record, data: Mapping[str, object], at: datetime, agent: str = "") -> Happened:
    """A stored event that is neither a model's call nor a tool's."""
    shown: Json = {"type": record.type, "version": record.version, **data}
    return Happened(at=at, agent=agent, fields={"event": "info", "source": "playmolt", "data": shown})
