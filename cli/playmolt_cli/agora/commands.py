"""`playmolt agora`: plan, run, analyse, branch and hand on experiments."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec
from playmolt_schemas.agora.coding import JudgeRequest
from playmolt_schemas.agora.plan import ExperimentState, StoppedBy
from playmolt_schemas.canonical import digest
from playmolt_schemas.routes.agora import ForkRequest
from playmolt_schemas.stored.agora.experiment import JudgeBudget
from rich.console import Console

from playmolt_cli.agora import judge as agora_judge
from playmolt_cli.agora import plan as agora_plan
from playmolt_cli.agora import simulate as agora_simulate
from playmolt_cli.agora import study as agora_study
from playmolt_cli.agora.experiments_client import ExperimentsClient, experiments_client
from playmolt_cli.agora.follow import follow, stopped_by_ctrl_c
from playmolt_cli.agora.start import open_experiment, resume_experiment, unfinished_versions
from playmolt_cli.agora.table import line, noticed
from playmolt_cli.local.folder import Folder
from playmolt_cli.terminal import terminal_text
from playmolt_cli.terminal.failures import Failure, stopping
from playmolt_cli.terminal.narration import printable
from playmolt_cli.terminal.options import data_option, echo_json, json_bytes, json_option, read_settings

if TYPE_CHECKING:
    from playmolt_agora.report.transcript import Format
    from playmolt_schemas.stored.agora.experiment import Which

    from playmolt_cli.agora.prompt_symmetry import Certificate

F = TypeVar("F", bound=Callable[..., Any])
_NEXT = {
    "finished": "Next: playmolt agora analyze {experiment} --out study{data}",
    "stopped": "{who}. Run the same command with --resume to continue.",
    "budget_stopped": "The budget is spent. Raise it in the plan and run the same command to continue.",
    "aborted": "Aborted permanently. To read its data: playmolt agora analyze {experiment} --out study{data}",
}
_WHY_REFUSED = {
    401: "its key was refused",
    402: "its account has no credit",
    403: "its key lacks permission",
    404: "the model or address does not exist",
    429: "its quota is used up",
}
_PRESETS = "Use a shipped plan: white-room, white-room-stage1, pilots, pilot-real, example."


@click.group()
def agora() -> None:
    """Run pre-registered experiments on small societies of LLM agents, and export verifiable results.

    Example: playmolt agora plan --example > plan.yaml, then playmolt agora run plan.yaml
    """
    # Threads for products as small as these cost more than they save. NumPy reads this when a command imports it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _plan_arguments(command: F) -> F:
    command = click.option("--preset", metavar="NAME", help=_PRESETS)(command)
    return click.argument("file", required=False)(command)


def _place_options(command: F) -> F:
    command = data_option(command)
    command = click.option("--key", metavar="K", help="Operator key of that platform.")(command)
    return click.option("--url", metavar="U", help="Gateway of a running platform, instead of --data.")(command)


_out_option = click.option(
    "--out", required=True, type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Output folder."
)


@agora.command()
@_plan_arguments
@click.option(
    "--example", is_flag=True, help="Print a commented plan (with --preset, that plan; with --json, its preview)."
)
@json_option
def plan(file: str | None, preset: str | None, example: bool, as_json: bool) -> None:
    """Check a plan and preview it: matrix, calls, tokens, cost, Latin squares, size and power of its tests.

    FILE may be a folder with one plan.yaml, plan.yml or plan.json. An invalid plan gives exit status 1 and lists all
    errors. Prices come from PLAYMOLT_MODELS; no API key is needed.

    Example: playmolt agora plan --preset white-room --json
    """
    if example:
        if file is not None:
            raise click.UsageError("--example prints a preset. Remove the FILE, or name another preset with --preset.")
        if not as_json:
            click.echo(agora_plan.text_of(preset), nl=False)
            return
        preset = preset or "example"
    preview = agora_plan.examined(agora_plan.source(file, preset))
    if as_json:
        echo_json(preview)
    else:
        from playmolt_cli.agora.printout import printout  # noqa: PLC0415 -- needed by few commands

        click.echo(printout(preview), nl=False)
    if preview.faults:
        raise SystemExit(1)


@agora.command()
@_plan_arguments
@json_option
def check(file: str | None, preset: str | None, as_json: bool) -> None:
    """Compare Korean with English, and the conditions with each other, over all texts and rendered prompts.

    Prints the certificate with the declared exceptions; with a plan, it also compares its seed events and the questions
    that it asks aside. An undeclared difference gives exit status 1, and `run` refuses it.

    Example: playmolt agora check plan.yaml
    """
    certificate = _certificate(agora_plan.selected(file, preset) if file or preset else None)
    if as_json:
        echo_json(certificate)
    else:
        for entry in certificate.lines():
            click.echo(entry)
    if not certificate.ok:
        raise SystemExit(1)


@agora.command()
@_plan_arguments
@click.option("--prompts", type=click.IntRange(1, 100), default=3, show_default=True, help="Prompts for each model.")
@click.option("--times", type=click.IntRange(2, 100), default=4, show_default=True, help="Requests for each prompt.")
@json_option
def probe(file: str | None, preset: str | None, prompts: int, times: int, as_json: bool) -> None:
    """Ask the models of a plan the same prompts several times, alone and beside others, and count equal replies.

    Calls cost what the catalogue says: prompts x times x 2 for each model. Add the result to the plan.

    Example: playmolt agora probe plan.yaml --times 6
    """
    from playmolt_agora_runner.plan.plan import probe_sentence  # noqa: PLC0415 -- slow import

    from playmolt_cli.agora import probe as agora_probe  # noqa: PLC0415 -- as above

    found = agora_probe.probe(file, preset, prompts, times)
    if as_json:
        echo_json({"probes": found})
        return
    for each in found:
        click.echo(probe_sentence(each))
    click.echo(f"{agora_probe.HOW}\n\n{agora_probe.snippet(found)}", nl=False)


@agora.command()
@_plan_arguments
@click.option(
    "--resume", is_flag=True, help="Continue even if the experiment was stopped by something other than Ctrl-C."
)
@click.option("--blind", is_flag=True, help="Do not show PCS during the run, so that no look is logged.")
@_place_options
@json_option
def run(
    file: str | None, preset: str | None, resume: bool, blind: bool, url: str | None, key: str | None,
    data: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Lock a plan and run it. The same command continues a stopped experiment and does nothing for a finished one.

    Uses the `up` on the data folder, or starts a platform without other games for the duration. Ctrl-C stops the
    experiment. After raising the budget in the plan, the same command continues. With another change of the plan or of
    a file in its folder it locks another experiment, and reports an unfinished one of the same name. --json prints
    {"experiment": ID} at the end. On a terminal the table shows the interim PCS if the plan has one; every look is
    logged, at most one per twentieth of the turns.

    Example: playmolt agora run plan.yaml --data playmolt-data
    """
    console = _console(as_json)
    source = agora_plan.source(file, preset)
    selected = agora_plan.valid(source, file or source.name)
    _refuse_asymmetry()
    if url is None:
        _refuse_faults(source, data)
    with stopping(pauses=True), experiments_client(url, key, data) as client:
        state = open_experiment(client, selected)
        with _interruptible(client, state.experiment, console):
            folder = f", folder {state.folder.hash[:16]}" if state.folder else ""
            locked = f"plan {state.plan_hash[:16]}{folder}, locked {state.created_at}"
            console.print(f"{state.name}: {state.experiment}, {locked}")
            for note in unfinished_versions(client, state):
                console.print(printable(note))
            state = resume_experiment(client, selected, state, resume=resume)
            if state.status == "running":
                state = follow(client, state.experiment, console, blind=blind)
    _conclude(console, state, data)
    if as_json:
        echo_json({"experiment": state.experiment})
    if state.status != "finished":
        raise SystemExit(1)


@agora.command()
@click.argument("experiment")
@data_option
@json_option
def status(experiment: str, data: Path | None, as_json: bool) -> None:
    """Show the status of an experiment's runs: which are paused, why, and until when.

    Reads the log, with or without a running `up`. While a model is unavailable, the pause doubles from 5 seconds to 10
    minutes until a turn succeeds. --json prints {runs: [{run, status, paused: null or {reason, until}}]}.

    Example: playmolt agora status experiment-0190…
    """
    from playmolt_cli.agora.status import read_status  # noqa: PLC0415 -- slow import, needed by few commands

    found = read_status(experiment, data)
    if as_json:
        echo_json(found)
        return
    for each in found.runs:
        pause = each.paused
        until = f", until {pause.until}" if pause and pause.until else ""
        click.echo(printable(f"{each.run} {each.status}{f': paused{until}: {pause.reason}' if pause else ''}"))


@agora.command()
@click.argument("experiment")
@_out_option
@data_option
@json_option
def analyze(experiment: str, out: Path, data: Path | None, as_json: bool) -> None:
    """Analyze an experiment from the log: turns.jsonl, all tables as CSV and Parquet, figures, report.html.

    EXPERIMENT may also be a bundle, its zip file or a turns.jsonl, which needs no platform. Works during the
    experiment, with or without a running `up`. Overwrites an earlier analysis in the folder. If a measure from the
    plan's folder fails, the rest is still written and the exit status is 1.

    Example: playmolt agora analyze experiment-0190… --out study
    """
    found = agora_study.analyse(experiment, out, data, _console(as_json).print)
    failed = [each for each in found.measures if each["code"] is not None]
    if as_json:
        result = {"experiment": experiment, "report": str(found.report), "measures": found.measures}
        echo_json(result)
    else:
        click.echo(str(found.report))
        for each in failed:
            click.echo(f"measure {each['name']}: {each['code']}: {printable(each['detail'])}", err=True)
    if failed:
        raise SystemExit(1)


@agora.command()
@click.argument("experiment")
@_out_option
@data_option
@json_option
def export(experiment: str, out: Path, data: Path | None, as_json: bool) -> None:
    """Export an experiment as a sealed bundle: events, prompts, models, prices, tables, figures, report and a verifier.

    `python DIR/verify.py` verifies the bundle without network access and without this software.

    Example: playmolt agora export experiment-0190… --out bundle
    """
    manifest = agora_study.export(experiment, out, data, _console(as_json).print)
    result = {"experiment": experiment, "bundle": str(out), "manifest": str(manifest)}
    click.echo(json_bytes(result) if as_json else f"{out}: verify it with python {out}/verify.py")


@agora.command()
@click.argument("experiment")
@click.option("--model", required=True, metavar="ALIAS", help="Model that judges, by its alias in the catalogue.")
@click.option(
    "--turns",
    type=click.Choice(["sample", "all"]),
    default="sample",
    show_default=True,
    help="The 200 turns sampled for human coders, or all valid turns with a thought.",
)
@click.option("--calls", type=click.IntRange(0), metavar="N", help="Maximum number of calls of this judge.")
@click.option("--money", metavar="M", help="Maximum cost of its calls.")
@click.option("--batch", is_flag=True, help="Use batch calls at batch prices; answers may take a day.")
@_place_options
@json_option
def judge(
    experiment: str, model: str, turns: "Which", calls: int | None, money: str | None, batch: bool, url: str | None,
    key: str | None, data: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Have a model code whether each thought mentions survival and social aims. It sees only the thought.

    The same command continues after a stop or with a raised budget and repeats no call. Each model is a separate coder.
    --json prints {experiment, judge, coded, failed, calls, known, unknown_calls}. Exit status 1 if it stops before the
    end. `analyze` reports the agreement of all coders in the table kappa.

    Example: playmolt agora judge experiment-0190… --model gpt-mini --money 2
    """
    console = _console(as_json)
    try:
        budget = msgspec.convert({"money": money, "calls": calls}, JudgeBudget)
    except msgspec.ValidationError as error:
        raise click.UsageError(f"--money: {money!r} is not an amount such as 2.50 ({error})") from None
    request = JudgeRequest(model=model, turns=turns, budget=budget, batch=batch)
    with stopping(pauses=True), experiments_client(url, key, data) as client:
        try:
            done = agora_judge.run_judge(client, experiment, request, console)
        except KeyboardInterrupt:
            console.print(f"{model} is stopped. Run the same command to continue.")
            raise click.Abort from None
    click.echo(json_bytes(agora_judge.summary(experiment, done)) if as_json else agora_judge.status_text(done))
    if done.status != "done":
        raise SystemExit(1)


@agora.command()
@click.argument("experiment")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write the sheet to this file."
)
@click.option(
    "--in",
    "filled",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="Import this filled sheet.",
)
@click.option("--coder", metavar="NAME", help="Coder who filled it.")
@data_option
@json_option
def sheet(
    experiment: str, out: Path | None, filled: Path | None, coder: str | None, data: Path | None, as_json: bool
) -> None:
    """Write a CSV sheet for blind coding of 200 thoughts, or import a filled one.

    The columns survival and social take 1 or 0, yes or no, true or false, 예 or 아니오, or stay empty. A sheet with
    errors is rejected as a whole, and each error is listed with its line (exit status 1). A new sheet of the same coder
    replaces the old one.

    Example: playmolt agora sheet experiment-0190… --out sheet.csv, then --in sheet.csv --coder kim
    """
    from playmolt_cli.agora import sheet as sheets  # noqa: PLC0415 -- slow import, needed by few commands

    if out is not None and filled is None and coder is None:
        rows = sheets.write(experiment, out, data)
        done = {"experiment": experiment, "sheet": str(out), "rows": rows}
        click.echo(json_bytes(done) if as_json else f"{rows} thoughts in {out}")
        return
    if out is not None or filled is None or coder is None:
        raise click.UsageError("Use --out FILE, or --in FILE with --coder NAME.")
    if not re.fullmatch(sheets.CODER, coder):
        raise click.UsageError(
            "--coder must start with a lowercase letter and contain at most 32 lowercase letters, digits and _."
        )
    try:
        taken = sheets.take(experiment, filled, coder, data)
    except sheets.InvalidSheet as rejected:
        for fault in str(rejected).split("\n"):
            click.echo(printable(fault), err=True)
        raise SystemExit(1) from None
    done = {"experiment": experiment, "coder": taken.coder, "rows": taken.rows}
    click.echo(json_bytes(done) if as_json else f"imported {taken.rows} rows of {taken.coder}")


@agora.command()
@click.argument("run_id", metavar="RUN")
@click.option("--agent", metavar="A", help="Only the turns of this agent.")
@click.option("--format", "kind", type=click.Choice(["text", "md", "html"]), default="text", show_default=True)
@click.option("--prompts", is_flag=True, help="Include the prompts of the agents.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write to this file.")
@data_option
def transcript(
    run_id: str, agent: str | None, kind: "Format", prompts: bool, out: Path | None, data: Path | None
) -> None:
    """Print a readable transcript of a run: thoughts, actions and speech of each agent, with the outcomes.

    Questions asked aside follow the turn after which they were asked, marked as outside the run.

    It includes private thoughts and whispers, so keep it to the operator. What the operator hid is withheld. Works
    during the run, with or without a running `up`.

    Example: playmolt agora transcript agora-0190… --agent jester_01 --format md --out jester.md
    """
    from playmolt_cli.agora.study import run_transcript  # noqa: PLC0415 -- reads the log, as `status` does

    text = run_transcript(run_id, agent, kind, data, prompts=prompts)
    if out is None:
        click.echo(text if kind == "html" else "\n".join(map(printable, text.split("\n"))), nl=False)
    else:
        out.write_text(text, encoding="utf-8")


@agora.command()
@click.argument("tests", nargs=-1, metavar="[TEST]...")
@click.option("--short", is_flag=True, help="Use 200 draws per point, enough for --check.")
@click.option(
    "--draws", type=click.IntRange(1), metavar="N", help="Draws per point: at least 1000, or 200 with --short."
)
@click.option("--seed", default="0", show_default=True, metavar="S", help="Seed of the draws.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Write CSV and Parquet.")
@click.option("--write", type=click.Path(path_type=Path), metavar="FILE", help="Write the tables into this page.")
@click.option("--check", type=click.Path(path_type=Path), metavar="FILE", help="Compare with the tables of this page.")
@json_option
def simulate(
    tests: tuple[str, ...], short: bool, draws: int | None, seed: str, out: Path | None, write: Path | None,
    check: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Simulate data with and without an effect, and estimate size, power and coverage of every test.

    Needs no platform and no network. Exit status 1 if a rate misses its promise or differs from the page.

    Example: playmolt agora simulate --short --check docs/agora-methods.md
    """
    fewest = agora_simulate.SHORT_DRAWS if short else agora_simulate.DRAWS
    count = fewest if draws is None else draws
    if count < fewest:
        raise click.UsageError(f"--draws: {count} are too few. Use {fewest} or more.")
    if not agora_simulate.simulate(tests, draws=count, seed=seed, out=out, write=write, check=check, as_json=as_json):
        raise SystemExit(1)


@agora.command()
@click.argument("run_id", metavar="RUN")
@click.option("--at", type=click.IntRange(1), required=True, metavar="V", help="Copy the events up to V.")
@click.option(
    "--set",
    "change",
    required=True,
    metavar="CHANGE",
    help="model=ALIAS, model=AGENT:ALIAS, persona=AGENT:PERSONA (or none) or content=TEXT (of the act at V).",
)
@click.option(
    "--number", type=click.IntRange(1), default=1, show_default=True, help="Number of the fork among identical ones."
)
@_place_options
@json_option
def fork(
    run_id: str, at: int, change: str, number: int, url: str | None, key: str | None, data: Path | None, as_json: bool
) -> None:
    """Fork a run after event V with one change, and run the fork to its end.

    Events up to V are copied without model calls. The fork is exploratory; the experiment's report shows the first
    differing act and how far the two diverge. The same command continues after a stop.

    Example: playmolt agora fork agora-0190… --at 200 --set model=scripted-wild
    """
    console = _console(as_json)
    with stopping(pauses=True), experiments_client(url, key, data) as client:
        request = ForkRequest(at=at, set=change)
        made = client.fork(run_id, request, f"agora-fork-{digest([run_id, at, change, number])}")
        with _interruptible(client, made.experiment, console):
            console.print(f"{made.run} forks {run_id} after event {at} with {change}")
            state = resume_experiment(client, None, client.experiment(made.experiment), resume=False)
            if state.status == "running":
                state = follow(client, made.experiment, console)
    _conclude(console, state, data)
    if as_json:
        echo_json({"run": made.run, "experiment": made.experiment})
    if state.status != "finished":
        raise SystemExit(1)


def _console(as_json: bool) -> Console:
    return terminal_text.console(err=as_json, soft_wrap=True)


def _certificate(selected: agora_plan.SelectedPlan | None = None) -> "Certificate":
    from playmolt_agora_runner.plan import interview_faults  # noqa: PLC0415 -- needed by few commands
    from playmolt_agora_runner.plan import plan as plans  # noqa: PLC0415 -- as above

    from playmolt_cli.agora import prompt_symmetry  # noqa: PLC0415 -- as above

    if selected is None:
        return prompt_symmetry.check()
    asked = tuple(interview_faults.texts_of(selected.plan))
    seeds = tuple(plans.seed_texts(selected.plan))
    return prompt_symmetry.check(seed_texts=seeds, questions=asked, folder=selected.folder.symmetry)


def _refuse_asymmetry() -> None:
    certificate = _certificate()
    if not certificate.ok:
        click.echo("The prompts are not symmetric, so the run is refused. Output of `playmolt agora check`:", err=True)
        for fault in certificate.faults:
            click.echo(f"  {fault}", err=True)
        raise SystemExit(1)


def _refuse_faults(source: agora_plan.PlanSource, data: Path | None) -> None:
    """Refuse an invalid plan before starting a platform; a running one checks it with its own models."""
    if Folder(data or read_settings().data).run() is not None:
        return
    # Numeric libraries would take a hundred megabytes for as long as this command runs, and the platform has them.
    if agora_plan.invalid(source):
        faults = agora_plan.examined(source, keys=True).faults
        raise Failure(f"{source.name} is invalid\n{agora_plan.fault_lines(faults)}")


@contextmanager
def _interruptible(client: ExperimentsClient, experiment: str, console: Console) -> Iterator[None]:
    try:
        with stopped_by_ctrl_c(client, experiment, console):
            yield
    except KeyboardInterrupt:
        console.print(f"{experiment} is stopped. Run the same command to continue.")
        raise click.Abort from None


def _conclude(console: Console, state: ExperimentState, data: Path | None) -> None:
    """Print the status and the next step."""
    console.print(line(state))
    for note in (*noticed(state), *filter(None, (state.reason,))):
        console.print(printable(note))
    console.print(
        _NEXT[state.status].format(
            experiment=state.experiment, data=f" --data {data}" if data else "", who=_stopped_by(state.stopped)
        )
    )


def _stopped_by(stopped: StoppedBy | None) -> str:
    """Who stopped the experiment, as a sentence."""
    if stopped is None or stopped.by == "operator":
        return "Stopped by its operator"
    if stopped.by == "interrupt":
        return "Stopped by Ctrl-C"
    if stopped.model is None or stopped.status is None:
        return "Stopped by the runner"
    why = _WHY_REFUSED.get(stopped.status, "it refused a setting of the plan")
    return f"{stopped.model} returned {stopped.status}: {why}. Fix that first"
