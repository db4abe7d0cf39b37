"""How `agora run` begins and goes on, against a platform that is played by canned states."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, cast

import httpx
import msgspec
import pytest
from playmolt.errors import Refused
from playmolt_agora_runner.plan import reading
from playmolt_cli.agora.experiments_client import ExperimentsClient
from playmolt_cli.agora.follow import INTERRUPTED, follow, stopped_by_ctrl_c
from playmolt_cli.agora.plan import SelectedPlan, selected
from playmolt_cli.agora.start import open_experiment, resume_experiment, unfinished_versions
from playmolt_cli.agora.table import PausedRuns, total
from playmolt_cli.terminal.failures import Failure, stopping
from playmolt_schemas.agora.plan import DeviationRow, ExperimentProgress, ExperimentState, LookRow, PlanUnderWay, RunRow
from playmolt_schemas.codes import Code, FieldFault, problem_bytes
from playmolt_schemas.stored.agora.plan import Budget, Folder, FolderFile, PcsSoFar, Spent
from rich.console import Console

PLAN = "name: mine\nmodels: [scripted]\nlanguages: [ko]\nphases:\n  phase1: {runs: 1, turns: 2}\n"
ID = "experiment-00000000-0000-5000-8000-000000000000"
RUN = "agora-00000000-0000-5000-8000-000000000000"


def _state(status: str = "running", **changes: Any) -> ExperimentState:
    plain: dict[str, Any] = {
        "experiment": ID, "id": ID, "name": "mine", "status": status, "reason": "", "version": 3, "plan": PLAN,
        "created_at": "2026-01-01T00:00:00.000000Z", "plan_hash": "0" * 64, "seed": "0", "exploratory": False,
        "scripted": True, "models": ("scripted",), "tests": (), "stimuli": "", "stage1": "", "measures": "",
        "progress": ExperimentProgress(runs=1, open=1, finished=0, turns_planned=24),
        "spent": Spent(turns=3, calls=4, tokens=5),
        "tokens": 5, "cost": "0", "budget": Budget(), "deviations": (), "looks": (),
        "pcs_cells": (),
    }  # fmt: skip
    return ExperimentState(**(plain | changes))


def _line(**changes: Any) -> RunRow:
    plain: dict[str, Any] = {
        "run": RUN, "cell": "phase1/scripted/ko", "number": 1, "status": "open", "turns_planned": 24, "spent": Spent(),
        "exploratory": False, "added": False, "parent": None, "outcome": None, "version": None, "hash": None,
    }  # fmt: skip
    return RunRow(**(plain | changes))


class Platform:
    """Gives its states one after another, the last one for ever, and keeps what was posted."""

    def __init__(self, *states: ExperimentState) -> None:
        self.states = list(states)
        self.posted: list[tuple[str, Any]] = []
        self.refusals: dict[str, httpx.Response] = {}
        self.pause: dict[str, Any] | None = None
        self.before: Callable[[], None] = lambda: None

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/api/agora/experiments")
        if request.method == "POST":
            self.posted.append((path, msgspec.json.decode(request.content)))
            if path in self.refusals:
                return self.refusals[path]
            return self._json(self.states[0])
        self.before()
        if path == "":
            listed = {
                name: getattr(self.states[0], name)
                for name in (
                    "experiment",
                    "name",
                    "status",
                    "created_at",
                    "progress",
                    "spent",
                    "scripted",
                    "exploratory",
                )
            }
            return self._json({"experiments": [listed]})
        if path.startswith("/api/admin/games/"):
            seen = {"game_id": RUN, "gameType": "agora", "version": 9, "phase": "paused", "round": 1, "seated": 12}
            times = {"needed": 12, "created_at": "", "updated_at": "", "participants": []}
            return self._json({**seen, **times, "config": {"pause": self.pause}})
        if path.endswith("/runs"):
            return self._json({"runs": [_line()]})
        return self._json(self.states.pop(0) if len(self.states) > 1 else self.states[0])

    def _json(self, value: Any) -> httpx.Response:
        return httpx.Response(200, content=msgspec.json.encode(value))


def _problem(code: Code) -> httpx.Response:
    return httpx.Response(code.status, content=problem_bytes(code, "no", (FieldFault("models", "bad"),)))


@pytest.fixture
def platform() -> Platform:
    return Platform(_state())


@pytest.fixture
def mine(tmp_path: Path) -> SelectedPlan:
    (tmp_path / "plan.yaml").write_text(PLAN)
    return selected(str(tmp_path / "plan.yaml"), None)


def _calling(platform: Platform) -> ExperimentsClient:
    return ExperimentsClient("http://127.0.0.1:1", "key", transport=httpx.MockTransport(platform))


def test_an_experiment_is_followed_to_its_end(platform: Platform, capsys: pytest.CaptureFixture[str]) -> None:
    platform.states = [_state(), _state(), _state("finished", spent=Spent(turns=24, calls=24, tokens=9))]
    with _calling(platform) as client:
        assert follow(client, ID, Console(), poll=0).status == "finished"
    output = capsys.readouterr().out
    assert "running: runs 0/1, turns 3/24, 4 calls, 5 tokens, cost 0" in output
    assert "finished: runs 0/1, turns 24/24" in output


def test_a_plan_that_takes_long_is_sent_once_and_looked_for(platform: Platform, mine: SelectedPlan) -> None:
    working = msgspec.json.encode(PlanUnderWay(plan=ID))
    looks = 0

    def answer(request: httpx.Request) -> httpx.Response:
        nonlocal looks
        if request.method == "POST":
            platform.posted.append((request.url.path, None))
            return httpx.Response(202, content=working)
        if "/plans/" not in request.url.path:
            return platform(request)
        looks += 1
        return httpx.Response(202, content=working) if looks < 3 else platform._json(_state())

    with ExperimentsClient("http://127.0.0.1:1", "key", transport=httpx.MockTransport(answer), look=0) as client:
        assert open_experiment(client, mine).experiment == ID
    assert (len(platform.posted), looks) == (1, 3)


def test_a_plan_that_is_refused_later_is_refused(platform: Platform, mine: SelectedPlan) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            return httpx.Response(202, content=msgspec.json.encode(PlanUnderWay(plan=ID)))
        return _problem(Code.INVALID_REQUEST)

    with (
        ExperimentsClient("http://127.0.0.1:1", "key", transport=httpx.MockTransport(answer), look=0) as client,
        pytest.raises(Failure, match="models: bad"),
    ):
        open_experiment(client, mine)


def _seen(turns: int) -> LookRow:
    figure = PcsSoFar(
        pcs="0.3548", floor_iid="0.0361", floor_stage1="0.0226", floor_phase1=None,
        n_stage1=100, n_phase1=100, runs_stage1=5, runs_phase1=1,
    )  # fmt: skip
    return LookRow(n=1, at="", by="operator", measure="pcs", intervals={}, turns=turns, pcs={_line().cell: figure})


def test_a_terminal_shows_pcs_so_far_after_each_twentieth_of_the_turns(
    platform: Platform, capsys: pytest.CaptureFixture[str]
) -> None:
    compared = {
        "pcs_cells": (_line().cell,),
        "progress": ExperimentProgress(runs=1, open=1, finished=0, turns_planned=200),
    }
    progress = ((3, 0), (10, 0), (10, 10), (19, 10), (20, 10), (20, 20))
    states = [_state(spent=Spent(turns=now), looks=(_seen(at),) if at else (), **compared) for now, at in progress]
    done = _state("finished", spent=Spent(turns=200), looks=(_seen(20),), **compared)
    platform.states = [*states, done]
    with _calling(platform) as client:
        follow(client, ID, Console(force_terminal=True, width=120), blind=False, poll=0)
    assert [path for path, _ in platform.posted] == [f"/{ID}/look"] * 2, "after turns 10 and 20"
    shown = capsys.readouterr().out
    assert "0.355 (0.036)" in shown
    assert "PCS after 20 turns, looks logged: 1" in shown
    platform.posted, platform.states = [], [*states, done]
    with _calling(platform) as client:
        follow(client, ID, Console(force_terminal=True, width=120), blind=True, poll=0)
        follow(client, ID, Console(), blind=False, poll=0)
    assert platform.posted == [], "nobody sees a figure in a line"


def test_ctrl_c_stops_the_experiment_with_a_reason_that_the_command_knows(platform: Platform) -> None:
    """An interrupt within a call can leave its connections locked: the stop takes others."""
    quiet = Console(quiet=True)
    with _calling(platform) as client:

        def interrupt() -> None:
            client._client._http = cast("httpx.Client", None)
            raise KeyboardInterrupt

        platform.before = interrupt
        with pytest.raises(KeyboardInterrupt), stopped_by_ctrl_c(client, ID, quiet):
            follow(client, ID, quiet, poll=0)
    assert platform.posted == [(f"/{ID}/stop", {"reason": INTERRUPTED})]


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C raises, also where a shell made it ignored because the tests run in the background."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_counts_although_msgspec_loses_its_exception(platform: Platform) -> None:
    class Interrupting:
        """Part of a type during whose first decoding a person presses Ctrl-C."""

        waits = False

        def __hash__(self) -> int:
            if self.waits:
                self.waits = False
                signal.raise_signal(signal.SIGINT)
            return 0

    part = Interrupting()
    interrupted, quiet = Annotated[int, part], Console(quiet=True)
    part.waits = True
    platform.before = lambda: msgspec.json.decode(b"1", type=interrupted)
    with (
        _calling(platform) as client, stopping(pauses=True), pytest.raises(KeyboardInterrupt),
        stopped_by_ctrl_c(client, ID, quiet),
    ):  # fmt: skip
        follow(client, ID, quiet, poll=0)
    assert not part.waits
    assert platform.posted == [(f"/{ID}/stop", {"reason": INTERRUPTED})]


def test_what_ctrl_c_stopped_goes_on_and_what_others_stopped_does_not(platform: Platform, mine: SelectedPlan) -> None:
    with _calling(platform) as client:
        resume_experiment(client, mine, _state("stopped", reason=INTERRUPTED), resume=False)
        assert platform.posted == [(f"/{ID}/resume", {})]
        stopped = _state("stopped", reason="the lab is closed")
        assert resume_experiment(client, mine, stopped, resume=False) is stopped
        assert len(platform.posted) == 1
        resume_experiment(client, mine, stopped, resume=True)
        assert len(platform.posted) == 2


def test_a_finished_experiment_is_left_alone(platform: Platform, mine: SelectedPlan) -> None:
    with _calling(platform) as client:
        for status in ("finished", "aborted"):
            done = _state(status, budget=Budget(calls=1))
            assert resume_experiment(client, mine, done, resume=True) is done
    assert platform.posted == []


def test_another_budget_in_the_plan_raises_that_of_the_experiment(platform: Platform, mine: SelectedPlan) -> None:
    with _calling(platform) as client:
        resume_experiment(client, mine, _state("budget_stopped", budget=Budget(calls=1)), resume=False)
        [(path, body)] = platform.posted
        assert (path, body["reason"].startswith("raised in ")) == (f"/{ID}/resume", True)
        platform.refusals[path] = _problem(Code.INVALID_REQUEST)
        with pytest.raises(Failure, match="no"):
            resume_experiment(client, mine, _state("budget_stopped", budget=Budget(calls=1)), resume=False)


def test_a_plan_that_was_locked_in_other_words_is_found_by_what_it_does(platform: Platform, mine: SelectedPlan) -> None:
    platform.refusals[""] = _problem(Code.IDEMPOTENCY_MISMATCH)
    platform.states = [_state(plan=PLAN + "budget: {calls: 9}\n")]
    assert reading.imports(PLAN) == ()
    with _calling(platform) as client:
        assert open_experiment(client, mine).experiment == ID
        platform.states = [_state(plan=PLAN + 'seed: "8"\n')]
        with pytest.raises(Failure, match="another name"):
            open_experiment(client, mine)


def folder_of(**files: str) -> Folder:
    listed = tuple(FolderFile(path=path, bytes=1, sha256=text * 64) for path, text in files.items())
    return Folder(hash="f" * 64, files=listed)


@pytest.mark.parametrize(
    ("other", "changed"),
    [
        ({"status": "stopped", "folder": folder_of(a="1", b="2")}, "b, c differs"),
        ({"status": "budget_stopped", "plan_hash": "1" * 64, "folder": folder_of(a="1", c="3")}, "the plan differs"),
        ({"status": "running", "plan_hash": "1" * 64}, "the plan, a, c differs"),
        ({"status": "finished"}, None),
        ({"status": "stopped", "name": "another"}, None),
        ({"status": "stopped", "experiment": ID}, None),
    ],
)
def test_an_unfinished_experiment_with_another_version_of_the_plan_is_reported(
    platform: Platform, other: dict[str, Any], changed: str | None
) -> None:
    platform.states = [_state(**({"experiment": "experiment-2"} | other))]
    with _calling(platform) as client:
        notes = list(unfinished_versions(client, _state(folder=folder_of(a="1", c="3"))))
    assert len(notes) == (changed is not None)
    assert all(f"continued: {changed}" in note and "experiment-2" in note for note in notes)


def test_a_refused_plan_names_its_faults(platform: Platform, mine: SelectedPlan) -> None:
    platform.refusals[""] = _problem(Code.INVALID_REQUEST)
    with _calling(platform) as client, pytest.raises(Failure, match="models: bad"):
        open_experiment(client, mine)
    platform.refusals[""] = _problem(Code.UNAUTHORIZED)
    with _calling(platform) as client, pytest.raises(Refused):
        open_experiment(client, mine)


def test_a_fault_of_the_plans_text_is_named_with_its_file(platform: Platform, mine: SelectedPlan) -> None:
    faults = (FieldFault(":4: hypotheses", "too few runs"), FieldFault("worlds/a.toml:2: actions", "is missing"))
    refused = problem_bytes(Code.INVALID_REQUEST, "Fix the plan and retry.", faults)
    platform.refusals[""] = httpx.Response(Code.INVALID_REQUEST.status, content=refused)
    with _calling(platform) as client, pytest.raises(Failure) as failure:
        open_experiment(client, mine)
    shown = [line.strip() for line in failure.value.format_message().splitlines()[1:]]
    assert shown == [f"{Path(mine.name).name}:4: hypotheses: too few runs", "worlds/a.toml:2: actions: is missing"]


def test_an_unknown_cost_is_never_summed_as_nothing() -> None:
    known, unknown = _line(spent=Spent(cost="1.5", known="1.5")), _line(spent=Spent(cost=None, unknown_calls=1))
    assert total([known, known]).cost_text == "3"
    assert total([known, unknown]).cost_text == "≥ 1.5, 1 call unknown"
    assert total([known, unknown]).cost is None


def test_a_run_that_pauses_says_why_in_the_server_s_own_words(platform: Platform) -> None:
    with _calling(platform) as client:
        assert client.why_paused(RUN) == ("", "")
        platform.pause = {"code": "model_away", "detail": "503: \x1b[2Jthe GPU is on fire", "until": None}
        output = str(PausedRuns(1, *client.why_paused(RUN)))
    assert output.startswith("1 run paused: a model is unavailable")
    assert "the GPU is on fire" in output
    assert "\x1b" not in output


def test_what_models_did_otherwise_appears_in_the_table(platform: Platform, capsys: pytest.CaptureFixture[str]) -> None:
    other = DeviationRow(
        n=1, at="", by="runner", field="answered.fake", before="mini", after="mini-2", reason="", count=12
    )
    state = _state("finished", deviations=(other,), prompt_cut={"fake": 3})
    platform.states = [state]
    with _calling(platform) as client:
        follow(client, ID, Console(force_terminal=True, width=200), poll=0)
    output = " ".join(capsys.readouterr().out.split())
    assert "fake: mini-2 answered 12 times instead of mini" in output
    assert "fake: its server truncated 3 prompts" in output
