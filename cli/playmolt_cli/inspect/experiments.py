"""An experiment from its bundle: a sample for each finished run, with the prompts and replies of every turn."""

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec
from playmolt_schemas.records import Record

from playmolt_cli.inspect.model_calls import CallRecord, model_event
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

_ENDS: Final[Mapping[str, Status]] = {"run_ended": "success", "game_aborted": "cancelled"}
_TURNS: Final = ("agent_acted", "turn_failed")

Stored = Sequence[tuple[Record, Data, datetime]]


class NoBundle(ValueError):
    """Neither a folder nor a zip file with a bundle."""


class Bundle:
    """The files of a bundle, in a folder or a zip file; raises NoBundle."""

    def __init__(self, source: Path | bytes) -> None:
        try:
            if isinstance(source, Path) and source.is_dir():
                self._files = {str(path.relative_to(source)): path for path in source.rglob("*") if path.is_file()}
                self._zip = None
            else:
                self._zip = zipfile.ZipFile(source if isinstance(source, Path) else io.BytesIO(source))
                self._files = {name.partition("/")[2]: Path(name) for name in self._zip.namelist()}
        except (OSError, zipfile.BadZipFile) as error:
            raise NoBundle(str(error)) from error
        if "manifest.json" not in self._files or not self._names("events/experiment-"):
            raise NoBundle("it has no manifest.json and no events/experiment-….jsonl")

    def _names(self, begin: str) -> Sequence[str]:
        return sorted(name for name in self._files if name.startswith(begin))

    def _read(self, name: str) -> bytes:
        path = self._files[name]
        return path.read_bytes() if self._zip is None else self._zip.read(str(path))

    def _stored(self, name: str) -> Stored:
        records = [msgspec.json.decode(line, type=Record) for line in self._read(name).splitlines()]
        return [(one, msgspec.json.decode(one.data), datetime.fromisoformat(one.at)) for one in records]

    def experiment(self) -> Stored:
        """The records of the experiment itself."""
        return self._stored(self._names("events/experiment-")[0])

    def run(self, run: str) -> Stored:
        """The records of a run; empty if it has none yet."""
        name = f"events/{run}.jsonl"
        return self._stored(name) if name in self._files else ()

    def prompt(self, digest: str) -> Sequence[Data]:
        """The messages with this hash; empty if the bundle does not have them."""
        name = f"prompts/{digest}.json"
        if name not in self._files:
            return ()
        texts: Mapping[str, str] = msgspec.json.decode(self._read(name))
        return [{"role": role, "content": text} for role, text in texts.items()]


def runs_of(experiment: Stored) -> Sequence[str]:
    """The runs that were opened, in the order of the log."""
    return list(dict.fromkeys(data["run"] for record, data, _ in experiment if record.type == "run_opened"))


def is_over(run: Stored) -> bool:
    return bool(run) and run[-1][0].type in _ENDS


def run_samples(bundle: Bundle, experiment: Stored) -> dict[str, Sample]:
    """Run → sample, of the runs that are over."""
    coded: dict[str, list[Happened]] = {}
    for record, data, at in experiment:
        if record.type == "judge_coded":
            coded.setdefault(data["run"], []).append(_judged(bundle, record, data, at))
    found = {}
    for run in runs_of(experiment):
        stored = bundle.run(run)
        if is_over(stored):
            found[run] = _sample(bundle, stored, coded.get(run, ()))
    return found


def experiment_log(experiment: Stored, samples: Sequence[Sample]) -> LogContent:
    """The log of an experiment with these samples."""
    record, data, created = experiment[0]
    kinds = [one.type for one, _, _ in experiment]
    status: Status = "cancelled" if "game_aborted" in kinds else "started"
    if status == "started" and samples and all(one.ended for one in samples) and "experiment_finished" in kinds:
        status = "success"
    return LogContent(
        id=record.stream, task="experiment", title=f"experiment: {data['name']}", status=status, created=created,
        ended=experiment[-1][2] if status != "started" else None, samples=samples,
        about={"name": data["name"], "seed": data["seed"], "plan_hash": data.get("plan_hash")},
    )  # fmt: skip


def _sample(bundle: Bundle, stored: Stored, coded: Sequence[Happened]) -> Sample:
    first, opened, started = stored[0]
    spec = opened.get("spec") or opened
    turns = [data["record"] for record, data, _ in stored if record.type in _TURNS]
    cell = turns[0]["cell"] if turns else str(spec.get("cell", ""))
    valid = sum(record.type == "agent_acted" for record, _, _ in stored)
    scores: dict[str, ScoreValue] = {"outcome": stored[-1][1].get("outcome", stored[-1][0].type)}
    if turns:
        scores["valid_turns"] = valid / len(turns)
    names = ("cell", "phase", "set", "language", "model", "persona_condition", "exploratory")
    return Sample(
        id=first.stream, subject=f"{cell}\n{first.stream}", started=started, ended=stored[-1][2],
        said=tuple(_said(stored)), happened=[*_happened(bundle, stored), *coded], scores=scores,
        about={"run": first.stream, **({name: turns[0].get(name) for name in names} if turns else {"cell": cell})},
    )  # fmt: skip


def _happened(bundle: Bundle, stored: Stored) -> Iterator[Happened]:
    for record, data, at in stored:
        if record.type == "call_made":
            about = {"turn": data["turn"]}
            about |= {name: data["call"][name] for name in ("interview",) if name in data["call"]}
            yield _called(bundle, record, at, data["call"], str(data["agent"]), str(data["agent"]), about)
        else:
            agent = data.get("agent") or (data["record"]["agent"] if record.type in _TURNS else "")
            yield record_event(record, data, at, str(agent))


def _judged(bundle: Bundle, record: Record, data: Data, at: datetime) -> Happened:
    """A judge's call about one thought."""
    call = {"alias": data["judge"], **data["call"], "reply": data["raw_reply"]}
    call |= {"usage": data["usage"], "cost": data["cost"]}
    about = {name: data[name] for name in ("run", "agent", "turn", "survival", "social", "code")}
    return _called(
        bundle, record, at, call, str(data["judge"]), CLASSIFIER, {f"coded_{k}": v for k, v in about.items()}
    )


def _called(
    bundle: Bundle, record: Record, at: datetime, call: Data, agent: str, role: str, about: Mapping[str, object]
) -> Happened:
    sent = (call.get("request") or {}).get("messages")
    messages: Sequence[Data] = sent or ()
    if isinstance(sent, dict):  # the prompt by its hash, and what was added to it
        messages = [*bundle.prompt(sent["prompt"]), *sent["added"]]
    key = f"{record.stream}-{record.version}"
    return model_event(CallRecord(at=at, attempt=call, agent=agent, role=role, key=key, messages=messages, about=about))


def _said(stored: Stored) -> Iterator[Said]:
    """Each agent's turns: what it said, or did."""
    for record, data, _ in stored:
        if record.type not in _TURNS:
            continue
        turn = data["record"]
        act = f"{turn['action']} → {turn['target']}" if turn["target"] else str(turn["action"])
        text = turn["raw_reply"] if turn["action"] is None else act
        if turn["content"]:
            text = f"[{act}] {turn['content']}"
        about = {name: turn[name] for name in ("agent", "turn", "action", "target", "thought", "parse_code", "success")}
        about |= {"type": record.type, "version": record.version, "at": record.at}
        yield Said(text=text, speaker=turn["agent"], by_seat=True, about=about)
