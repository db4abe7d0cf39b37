"""A small experiment that scripted models play through the rules, with records chained as in the log."""

import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playmolt_agora.bundle.seal import Contents, seal
from playmolt_agora.coding import thoughts
from playmolt_agora.report import files
from playmolt_agora.report.assembly import StudyRecords, analysed, interviews_of, turns_of
from playmolt_agora.report.study import StudyData
from playmolt_agora_runner.coding import judgement
from playmolt_agora_runner.experiment import commands as experiment_commands
from playmolt_agora_runner.experiment import preregistration
from playmolt_agora_runner.experiment.forking import registered_spec
from playmolt_agora_runner.experiment.rules import Experiment
from playmolt_agora_runner.run import commands
from playmolt_agora_runner.run.commands import TurnReply
from playmolt_agora_runner.run.effects import AgentTurn, effect, effect_id
from playmolt_agora_runner.run.rules import Agora
from playmolt_agora_runner.scripted import residents, visitors
from playmolt_agora_runner.turn import interview, prompts, reply_parser
from playmolt_agora_runner.turn.scenes import scene
from playmolt_agora_runner.workers.model_worker import scene_aside
from playmolt_agora_runner.world.state import RunState
from playmolt_core.game.decider import Accepted, Command, Decider
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.port import ChatMessage, ModelRequest
from playmolt_core.llm.scripted.model import ScriptedTurn, generic
from playmolt_core.log.chain import chain_record
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.records import ZERO_HASH, Metadata, Record
from playmolt_schemas.stored.agora.experiment import RunFinished, SheetRow
from playmolt_schemas.stored.agora.plan import Spent
from playmolt_schemas.stored.agora.turn import Tokens

from tests.agora_locks import opened

PLAN = """
name: two-arms
seed: "3"
models: [scripted-steady, scripted-trader, scripted-wild]
languages: [en]
phases:
  stage1: {runs: 1, turns: 2}
  phase1: {runs: 1, turns: 2}
  phase2: {runs: 3, turns: 3, sets: [B]}
hypotheses: []
"""

EXPERIMENT = "experiment-6f1b7a52-7a0e-5a55-9a53-1d6f5f0c0001"
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


class Log:
    """Streams of records with the positions of one log."""

    def __init__(self) -> None:
        self.records: dict[str, list[Record]] = {}
        self.position = 0
        self.now = NOON

    def give(self, decider: Decider, state: Any, stream: str, command: Command) -> Any:
        """Decide a command, store its events, and return the state after them."""
        self.now += timedelta(milliseconds=10)
        decision = decider.decide(state, command, self.now)
        assert isinstance(decision, Accepted), decision
        for event in decision.events:
            state = decider.evolve(state, event, self.now)
            kept = self.records.setdefault(stream, [])
            self.position += 1
            new = chain_record(
                stream, len(kept) + 1, kept[-1].hash if kept else ZERO_HASH, self.now, event.type, event.schema_version,
                canonical_json(event), Metadata(command_id=f"{self.position:032x}"), event.closes,
            )  # fmt: skip
            kept.append(
                Record(
                    stream=stream, version=new.version, position=self.position, type=new.type,
                    schema_version=new.schema_version, data=msgspec.Raw(new.data), metadata=msgspec.Raw(new.metadata),
                    at=rfc3339(new.at), salt=new.salt, prev_hash=new.prev_hash, hash=new.hash,
                )
            )  # fmt: skip
        return state


class Played(msgspec.Struct, frozen=True):
    """An experiment that was played to its end."""

    experiment: list[Record]
    runs: dict[str, list[Record]]
    prompts: dict[str, str]


def play(plan: str, files: Mapping[str, str] | None = None, *, refused: bool = False) -> Played:
    """Lock a plan with the files of its folder, play its runs one after another, and finish the experiment.

    `refused`: with a fork that could not be opened, because its turn has no words to replace.
    """
    log, rules, world = Log(), Experiment(), Agora()
    shown: dict[str, str] = {}
    give = partial(log.give, rules, stream=EXPERIMENT)
    state = give(rules.initial(EXPERIMENT), command=opened(EXPERIMENT, plan, files=files))
    for planned in state.runs:
        spec = registered_spec(state, planned.run)
        run = log.give(world, world.initial(spec.run), spec.run, commands.OpenRun(spec=spec))
        state = give(state, command=experiment_commands.ReportRunOpened(run=spec.run))
        while isinstance((due := effect(run)) and due.payload, AgentTurn):
            run = log.give(world, run, spec.run, turn(run, shown) if run.next_agent else answer(run, shown))
        last = log.records[spec.run][-1]
        ended = RunFinished(
            run=spec.run, outcome="finished", version=last.version, hash=last.hash, spent=Spent(), models={}
        )
        state = give(state, command=experiment_commands.ReportRun(report=ended))
        log.give(world, run, spec.run, commands.EndRun(effect_id=str(effect_id(run))))
    if refused:
        early = experiment_commands.ForkRun(
            run=state.runs[0].run, version=1, change="content=hello", catalogue=Catalogue()
        )
        state = give(state, command=early)
        lost = experiment_commands.ReportRunWithoutResult(run=state.runs[-1].run, outcome="refused")
        state = give(state, command=lost)
    _code(give, state, log, shown)
    streams = dict(log.records)
    return Played(streams.pop(EXPERIMENT), streams, shown)


def _code(give: Callable[..., Any], state: Any, log: Log, shown: dict[str, str]) -> None:
    """Let a judge that finds survival in every thought judge all of them, and a person code the first two."""
    runs = {run: records for run, records in log.records.items() if run != EXPERIMENT}
    found = [*thoughts.of_turns(turns_of(runs)), *thoughts.of_answers(interviews_of(runs))]
    judge = preregistration.pinned("scripted-wild", Catalogue())
    state = give(state, command=experiment_commands.StartJudge(judge=judge, turns="all"))
    for thought in found:
        asked = judgement.prompt(thought)
        shown[asked.hash] = asked.text
        call = {"outcome": "ok", "status": None, "reply": "{}", "usage": None, "cost": "0.5"}
        said = judgement.Judgement("ok", survival=True, social=thought.turn == 1)
        coded = judgement.coded(thought, "scripted-wild", asked.hash, (call,), said)
        state = give(state, command=experiment_commands.RecordJudgement(judge="scripted-wild", calls=coded))
    state = give(state, command=experiment_commands.EndJudge(number=1, outcome="done"))
    rows = tuple(SheetRow(key=thought.key, survival=True, social=False) for thought in found[:2])
    give(state, command=experiment_commands.TakeSheet(coder="kim", rows=rows))


def answer(run: RunState, shown: dict[str, str]) -> commands.TakeTurn:
    """Interview the scripted model, and keep the prompt that it gets."""
    due = effect(run)
    assert due is not None
    asked = due.payload
    assert isinstance(asked, AgentTurn)
    assert asked.interview is not None
    prompt = interview.render(scene_aside(run, asked.agent), asked.interview)
    shown[prompt.hash] = prompt.text
    alias, language = run.seat(asked.agent).model, run.run.language
    request = ModelRequest(alias=alias, messages=(ChatMessage("user", prompt.user),))
    said = visitors.answer_aside(alias, asked.interview, language, ScriptedTurn(request, f"{run.run.seed}"))
    read = interview.read(said.text, asked.interview, language, failed="refusal" if said.refusal else None)
    reply = TurnReply(
        parsed=read, raw_reply=said.text, prompt_hash=prompt.hash,
        model_asked=alias, model_answered=alias, attempt=1, tokens=Tokens(9, 2), cost="0", latency_ms=1,
        cache_hit=False,
    )  # fmt: skip
    return commands.TakeTurn(effect_id=str(effect_id(run)), reply=reply)


def turn(run: RunState, shown: dict[str, str]) -> commands.TakeTurn:
    """Ask the scripted model of the next agent for its turn, and keep the prompt that it gets."""
    agent = str(run.next_agent)
    seen, alias = scene(run, agent), run.seat(agent).model
    prompt = prompts.render(seen)
    shown[prompt.hash] = prompt.text
    request = ModelRequest(
        alias=alias,
        messages=(ChatMessage(role="system", content=prompt.system), ChatMessage(role="user", content=prompt.user)),
    )
    asked = ScriptedTurn(request, f"{run.turn}/{agent}")
    said = residents.answer(alias, seen, asked) if seen.own is None else generic(asked)
    parsed = reply_parser.read(said.text, seen, failed="refusal" if said.refusal else None)
    reply = TurnReply(
        parsed=parsed, raw_reply=said.text, prompt_hash=prompt.hash,
        model_asked=alias, model_answered=alias, attempt=1, tokens=Tokens(10, 5), cost="0", latency_ms=1,
        cache_hit=False,
    )  # fmt: skip
    return commands.TakeTurn(effect_id=str(effect_id(run)), reply=reply)


def reported(played: Played) -> StudyData:
    study = analysed(StudyRecords(played.experiment, played.runs))
    return msgspec.structs.replace(study, made_at="2026-01-03T00:00:00Z")


def answered(played: Played, files: Mapping[str, str] | None = None) -> StudyData:
    """The study with people's answers, as the laboratory makes it."""
    return analysed(StudyRecords(played.experiment, played.runs), files or {})


def exported(played: Played, out: Path, folder: Mapping[str, str] | None = None) -> str:
    study = msgspec.structs.replace(reported(played), events_at="bundle")
    written = files.write(study, out)
    contents = Contents(
        experiment=played.experiment, runs=played.runs, prompts=played.prompts, folder=folder or {},
        models=study.models,
        facts={"made_at": study.made_at, "definitions": study.definitions, "stage1": study.stage1, "stimuli": "texts"},
    )  # fmt: skip
    return seal(out, contents, written)


@pytest.fixture(scope="session")
def played() -> Played:
    return play(PLAN)


@pytest.fixture(scope="session")
def sealed(played: Played, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed bundle that tests only read."""
    out = tmp_path_factory.mktemp("bundle") / "two-arms"
    exported(played, out)
    return out


@pytest.fixture(scope="session")
def study_played(played: Played) -> StudyData:
    return reported(played)


@pytest.fixture
def bundle(sealed: Path, tmp_path: Path) -> Path:
    """A sealed bundle to tamper with."""
    return Path(shutil.copytree(sealed, tmp_path / "copy"))


@pytest.fixture
def export() -> Callable[[Played, Path], str]:
    return exported
