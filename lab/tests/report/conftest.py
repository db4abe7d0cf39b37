"""A small experiment with all parts of a report: three arms, four sets, a pilot, a fork, failures, deviations."""

import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from playmolt_agora.bundle.seal import ModelNote
from playmolt_agora.report.study import DeviationNote, RunNote, StudyData
from playmolt_schemas.stored.agora.experiment import Preregistered
from playmolt_schemas.stored.agora.turn import ACTIONS, Effect, Parent, SamplingSettings, Tokens, TurnRecord

MODELS = ("scripted-steady", "scripted-trader", "scripted-wild")
PERSONAS = ("archivist", "merchant", "jester")
CODES = ("ok", "ok", "ok", "ok", "ok_fenced", "ok_canonicalised", "reasked", "parse_error", "refusal")
WEIGHTS = {"stage1": (10, 40, 20, 5, 5, 10), "phase1": (35, 5, 30, 10, 3, 7), "phase2": (25, 12, 20, 10, 15, 10)}
EXPERIMENT = "experiment-6f1b7a52-7a0e-5a55-9a53-1d6f5f0c0001"
SIZE = 6
"""Agents of a run. Drawing the networks of twelve agents takes three times as long."""

Rows = list[dict[str, Any]]


def turn(note: RunNote, draw: random.Random, number: int, seat: int) -> TurnRecord:
    """One turn of an invented society."""
    phase, agent = note.phase, f"agent_{seat + 1:02}"
    model = MODELS[note.number % 3] if phase != "phase2" else MODELS[(seat + note.number) % 3]
    action = draw.choices(ACTIONS, WEIGHTS[phase])[0]
    code = draw.choice(CODES)
    acted = code not in {"parse_error", "refusal"}
    with_persona = phase != "phase2" or note.cell.split("/")[1] in "AB"
    target = f"agent_{draw.randrange(SIZE) + 1:02}" if action in {"support", "whisper"} else None
    place = draw.choices(("plaza", "market", "alley_a"), (5, 3, 2))[0]
    return TurnRecord(
        experiment=EXPERIMENT, run=note.run, cell=note.cell, set=note.cell[-1] if phase == "phase2" else None,  # type: ignore[arg-type]
        phase=phase, language=note.language, turn=number, order=seat, agent=agent, model=model,
        model_asked=model, model_answered=model, persona=PERSONAS[seat % 3] if with_persona else None,
        persona_condition="with_persona" if with_persona else "no_persona", constraint_level=None,
        home_location="plaza", place_before=place, place_after=place, others_here=(), residents=SIZE,
        prompt_hash="0" * 64, raw_reply="{}", parse_code=code, attempt=1, thought=None,  # type: ignore[arg-type]
        action=action if acted else None, action_base=action if acted else None, target=target if acted else None,
        content=None, success=acted, reason=None,
        feasible_actions=ACTIONS, effect_applied=Effect(), effect_shadow=Effect(), resource_effect=0, null_effect=True,
        fn_class="A", dissoc="U", decoding="prompt", sampling=SamplingSettings(), tokens=Tokens(), cost="0",
        latency_ms=1,
        cache_hit=False, residents_start=SIZE, turns_planned=20, exploratory=note.exploratory, cue_s=False, cue_o=False,
    )  # fmt: skip


def notes() -> tuple[RunNote, ...]:
    """The runs: two for each arm and cell, one for each set, a pilot and a fork."""
    found = [
        RunNote(
            run=f"agora-{phase}-{language}-{model}-{copy}", cell=f"{phase}/{MODELS[model]}/{language}",
            number=model + 3 * copy,
            phase=phase, language=language, last=700, scripted=True,  # type: ignore[arg-type]
        )
        for phase in ("stage1", "phase1") for language in ("ko", "en") for model in range(3) for copy in range(2)
    ]  # fmt: skip
    found += [
        RunNote(
            run=f"agora-set-{name}-{number}", cell=f"phase2/{name}", number=number, phase="phase2",
            language="ko" if name in "AC" else "en", last=500, scripted=True,
        )
        for name in "ABCD" for number in (1, 2)
    ]  # fmt: skip
    pilot = RunNote(
        run="agora-pilot", cell="phase2/A", number=9, phase="phase2", language="ko", last=300, exploratory=True,
        scripted=True,
    )  # fmt: skip
    fork = RunNote(
        run="agora-fork", cell="phase2/A", number=10, phase="phase2", language="ko", last=420, exploratory=True,
        parent=Parent(run="agora-set-A-1", version=200, change="model=other"), money="0.125", scripted=True,
    )  # fmt: skip
    return (*found, pilot, fork)


def turns_of(runs: tuple[RunNote, ...]) -> tuple[TurnRecord, ...]:
    """Every run's turns; the fork's are its parent's up to turn 8."""
    made: list[TurnRecord] = []
    for note in runs:
        draw = random.Random(note.run)
        own = [turn(note, draw, number, seat) for number in range(1, 21) for seat in range(SIZE)]
        if note.parent:
            first = [each for each in made if each.run == note.parent.run and each.turn <= 8]
            own = [msgspec.structs.replace(each, run=note.run) for each in first] + [
                each for each in own if each.turn > 8
            ]
        made += own
    return tuple(made)


def tables_of(runs: tuple[RunNote, ...]) -> dict[str, Rows]:
    """Tables with the columns that the page needs and random values."""
    draw = random.Random(7)
    pcs: Rows = []
    for number, model in enumerate(MODELS):
        for language in ("en", "ko"):
            parts = [round(draw.uniform(0, 0.1), 4) for _ in ACTIONS]
            value = sum(parts)
            pcs.append(
                {"model": model, "language": language, "alpha": 0.0, "pcs": value, "distance": value**0.5,
                 "n_stage1": 600, "n_phase1": 600, "runs_stage1": 2, "runs_phase1": 2, "ci_lo": value * 0.8,
                 "ci_hi": value * 1.2, "indicative": number == 0, "loro_min": value * 0.9, "loro_max": value * 1.1,
                 "p_perm": 1 / 56, "p_min": 1 / 56, "labelings": 56, "floor_iid": 0.003, "floor_null": 0.005,
                 "floor_stage1": 0.02, "floor_phase1": 0.004, "pcs_agent": value, "pcs_early": None,
                 "pcs_within": value, "pcs_within_coverage": 1.0, "pcs_place": 0.1,
                 **{f"contrib_{action}": part for action, part in zip(ACTIONS, parts, strict=True)}}
            )  # fmt: skip
    ri = [
        {"level": level, "phase": "phase2", "set": name, "run": f"agora-set-{name}-{number}",
         "model": group if level == "run_model" else None, "language": "ko" if name in "AC" else "en",
         "persona": group if level == "run_persona" else None, "agent": None, "t_valid": 90, "a_success": 30,
         "ritual": 30, "ritual_infeasible": 2, "feasible_a": 70, "ri_seed": 1.0, "degenerate_by_design": True,
         "ri_star": round(draw.uniform(0.1, 0.6), 4), "ri_opp": 0.4}
        for level, groups, sets in (("run_model", MODELS, "ABCD"), ("run_persona", PERSONAS, "AB"))
        for name in sets for number in (1, 2) for group in groups
    ]  # fmt: skip
    drift = [
        {"run": f"agora-set-{name}-{number}", "language": "ko" if name == "A" else "en", "persona": persona,
         "condition": "with_persona", "window": window, "n": 50, "h": 2.2, "h_norm": 0.5 + 0.1 * window,
         "id_raw": 0.0 if window == 1 else 0.05 * window + draw.uniform(0, 0.02),
         "id_null": 0.0 if window == 1 else 0.03 + draw.uniform(0, 0.01),
         "id_excess": 0.0 if window == 1 else 0.03 * window - 0.04}
        for name in "AB" for number in (1, 2) for persona in PERSONAS for window in (1, 2, 3, 4)
    ]  # fmt: skip
    washout = [
        {"language": language, "model": model, "persona": persona, "window": window, "n_on": 50, "n_off": 150,
         "pw": 0.2, "pw_null": 0.05, "pw_excess": 0.15 / window}
        for language in ("ko", "en") for model in MODELS for persona in PERSONAS for window in (1, 2, 3, 4)
    ]  # fmt: skip
    tests = [
        {"test": name, "statistic": 0.2, "p": p, "p_holm": holm, "labelings": 64, "n": 6}
        for name, p, holm in (
            ("pcs:scripted-steady", 1 / 3136, 3 / 3136), ("pcs:scripted-trader", 0.2, 0.4), ("H1a", 1 / 64, None),
            ("H1b", 0.02, None), ("H2a", 1 / 64, None), ("H2b", 0.3, None), ("H1", 0.02, 0.04), ("H2", 0.3, 0.3),
            ("ri_star:model", 1e-6, None),
        )
    ]  # fmt: skip
    shares = [
        {"level": "cell", "phase": "phase1", "set": None, "run": None, "model": model, "language": "ko",
         "persona": None, "agent": None, "action": action, "count": 30, "succeeded": 29, "t_all": 50, "t_valid": 50,
         "p": 0.6, "exposure": 550, "r_seed": 0.0545, "r_literal": 0.0545, "feasible": 50, "q": 0.6, "q_heard": None,
         "dyad_exposure": 10, "r_dyad": None}
        for model in MODELS for action in ACTIONS
    ]  # fmt: skip
    return {
        "shares": shares, "pcs": pcs, "ri": ri,
        "ri_ext": [{"set": "A", "model": MODELS[0], "agents": 4, "agents_kept": 4, "beta": -0.1,
                          "beta_loro_min": -0.2, "beta_loro_max": 0.0, "beta_null": -0.05, "beta_excess": -0.05,
                          "p_perm": 0.4}],
        "drift": drift, "washout": washout, "tests": tests,
        "shared_model": [{"run": "agora-set-A-1", "model": MODELS[0], "contrast": 0.05}],
        "pint": [{"run": "agora-pilot", "valid": 100, "interactions": 50, "p_int": 0.5, "t_rule": 100,
                        "early_idle": 0.9}],
        "parse": [{"run": runs[0].run, "model": MODELS[0], "turns": 240, "failed": 60, "fail_share": 0.25,
                         "excluded": True}],
        "gini": [{"run": note.run, "epoch": epoch, "kind": kind, "gini": 0.0 if kind == "energy" else epoch / 60}
                       for note in runs if note.phase != "phase2" for epoch in (1, 10, 20)
                       for kind in ("energy", "influence")],
        "dissoc": [{"phase": "phase1", "model": model, "language": "ko", "dissoc_a": 10, "dissoc_b": 5,
                          "dissoc_c": 40, "dissoc_u": 100, "coherence": 0.8} for model in MODELS],
        "contrasts": [{"contrast": "language", "phase": "phase1", "condition": None, "model": model, "jsd": 0.02}
                            for model in MODELS],
    }  # fmt: skip


def lock() -> Preregistered:
    """The locked plan: four tests and a remark."""
    tests = [
        {"test": name, "confirmatory": True, "alpha": "0.05", "family": "", "n": "", "p_min": p_min, "claim": claim}
        for name, p_min, claim in (("pcs:scripted-steady", "1/3136", ""), ("pcs:scripted-trader", None, ""),
                                   ("H1", None, "the Archivist drifts"), ("H2", None, ""))
    ]  # fmt: skip
    return msgspec.convert(
        {"operator": "op", "name": "Small room", "seed": "7", "rules_version": 1, "content_version": "1",
         "plan_hash": "ab" * 32, "text_hash": "", "text": "name: small-room\n",
         "plan": {"name": "small-room", "models": MODELS, "languages": ["ko", "en"]}, "models": [], "tests": tests,
         "squares": [], "runs": [], "exclusions": ["over 20 % failed"], "stopping_rule": "none",
         "warnings": ["allow_unbalanced: true"],
         "pins": {"stimuli": "", "stage1": "", "measures": "measures@0123456789ab"}},
        Preregistered,
    )  # fmt: skip


@pytest.fixture(scope="session")
def study() -> StudyData:
    runs = notes()
    tables = tables_of(runs)
    tables |= {f"unexcluded_{name}": tables[name] for name in ("pcs", "ri_ext", "tests")} | {
        "pcs_left_out": [{"model": MODELS[0], "language": "en", "arm": "stage1", "run": "agora-x", "pcs": 0.3521}],
        "headline": [{"figure": "pcs", "treatment": "idle", "value": 0.31}],
    }
    return StudyData(
        experiment=EXPERIMENT, name="Small room", made_at="2026-01-02T12:00:00Z", definitions="measures@0123456789ab",
        stage1="stage1@abcdef012345", seed="7", runs=runs, turns=turns_of(runs), tables=tables,
        lock=lock(), locked_at="2026-01-01T00:00:00Z",
        models=tuple(ModelNote(alias=model, asked=model, scripted=True) for model in MODELS),
        treasury=[{"run": note.run, "epoch": epoch, "treasury": 5 * epoch} for note in runs
                  if note.phase != "phase2" for epoch in (1, 10, 20)],
        deviations=(DeviationNote(at="2026-01-01T10:00:00Z", text="budget raised <again>", version=9),), looks=2,
        events_at="platform",
    )  # fmt: skip


@pytest.fixture
def changed(study: StudyData) -> Callable[..., StudyData]:
    def change(**values: Any) -> StudyData:
        return msgspec.structs.replace(study, **values)

    return change
