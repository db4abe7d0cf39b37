"""Each alert with figures that raise it and some that do not, evaluated by `promtool` where it is installed."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.deploy.alert_cases import CASES, DESCRIBED, PARTS, Figures, minutes, series
from tests.deploy.manifests import Json, render, services
from tests.deploy.test_monitoring import alerts, names, rules

RULES = {rule["alert"]: rule for rule in alerts()}


def read(alert: str) -> list[Json]:
    """The rules that record what an alert's expression reads."""
    recorded = re.findall(r'(playmolt:slo_errors:\w+)\{slo="([\w-]+)"\}', RULES[alert]["expr"])
    return [rule for rule in rules() if (rule.get("record"), rule.get("labels", {}).get("slo")) in recorded]


def asked(alert: str) -> set[str]:
    """The figures that an alert's expression comes to: those of the rules that it reads, too."""
    texts = [rule["expr"] for rule in (RULES[alert], *read(alert))]
    return {name for text in texts for name in names(text)} | set(re.findall(r"\bup(?=\{)", RULES[alert]["expr"]))


def test_every_alert_has_figures_that_raise_it_and_some_that_do_not() -> None:
    assert CASES.keys() == RULES.keys()
    for alert, both in CASES.items():
        assert both[0] != both[1], alert
        for figures in both:
            given = {name.partition("{")[0] for name in figures}
            assert given <= asked(alert), alert


def test_what_has_to_show_figures_is_every_service_postgres_and_nats() -> None:
    assert set(PARTS) == {one["metadata"]["name"] for one in services(render("prod"))} | {"postgres", "nats"}
    assert set(re.findall(r'playmolt_component="([\w-]+)"', RULES["MetricsMissing"]["expr"])) == set(PARTS)


def test_the_scaler_sees_every_metric_that_it_reads_where_it_is_quiet() -> None:
    """As `promtool` finds, too, where it is installed."""
    blind, quiet = CASES["ScalerBlind"]
    read = re.findall(r'absent\((\w+)\{namespace="playmolt"(?:,game=~?"([\w|]+)")?\}\)', RULES["ScalerBlind"]["expr"])
    assert len(read) == RULES["ScalerBlind"]["expr"].count("absent(")
    patterns = [rf'{name}\{{(game="({games})")?\}}' for name, games in read]
    for figures, seen in ((quiet, {True}), (blind, {True, False})):
        assert {any(re.fullmatch(pattern, one) for one in figures) for pattern in patterns} == seen


def case(alert: str, figures: Figures, *, fires: bool) -> Json:
    """A minute in which the alert fires, or none."""
    found = f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})'
    expected = [{"labels": "{}", "value": 1}] if fires else []
    at = f"{minutes(figures) - 1}m"
    return {
        "name": f"{alert}: {'fires' if fires else 'is quiet'}",
        "interval": "1m",
        "input_series": series(figures, "playmolt"),
        "promql_expr_test": [{"expr": f"{found} > bool 0", "eval_time": at, "exp_samples": expected}],
    }


def described(alert: str) -> Json:
    """The alert as it is told to somebody."""
    figures, (labels, description) = CASES[alert][0], DESCRIBED[alert]
    said = {
        "exp_labels": {**RULES[alert]["labels"], **labels},
        "exp_annotations": {**RULES[alert]["annotations"], "description": description},
    }
    return {
        "name": f"{alert}: is described",
        "interval": "1m",
        "input_series": series(figures, "playmolt"),
        "alert_rule_test": [{"alertname": alert, "eval_time": f"{minutes(figures) - 1}m", "exp_alerts": [said]}],
    }


def written(folder: Path) -> list[Path]:
    """A file of cases for each alert, beside one with its rules alone: with all a case of days takes minutes."""
    return [_written(folder, alert) for alert in CASES]


def _written(folder: Path, alert: str) -> Path:
    groups = [{"name": "read", "rules": read(alert)}, {"name": "alert", "rules": [RULES[alert]]}]
    (folder / f"{alert}.rules.yaml").write_text(yaml.safe_dump({"groups": groups}))
    tests = [case(alert, figures, fires=not quiet) for quiet, figures in enumerate(CASES[alert])]
    tests += [described(alert)] if alert in DESCRIBED else []
    file = folder / f"{alert}.yaml"
    told = {"rule_files": [f"{alert}.rules.yaml"], "evaluation_interval": "1m", "tests": tests}
    file.write_text(yaml.safe_dump(told))
    return file


@pytest.mark.timeout(960)
def test_they_do_what_they_must(tmp_path: Path) -> None:
    files = written(tmp_path)
    promtool = shutil.which("promtool")
    if promtool is None:  # then the cases are whole, and that is all that can be said
        tests = [len(yaml.safe_load(file.read_text())["tests"]) for file in files]
        assert sum(tests) == 2 * len(RULES) + len(DESCRIBED)
        return
    done = subprocess.run(
        [promtool, "test", "rules", *files], capture_output=True, text=True, timeout=900, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
