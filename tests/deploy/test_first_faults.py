"""A first fault counts: a series that an alert asks the growth of is there before it, or counts from its birth.

`rate` and `increase` see nothing of the value that a series begins with.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
import pytest
from playmolt_cli.local import probe
from playmolt_core.ops.metrics import METRICS
from playmolt_gateway.http.metrics import MCP, Metrics
from playmolt_schemas.codes import Code
from playmolt_schemas.routes.platform import ROUTES

from tests.deploy.cluster import Cluster
from tests.deploy.test_monitoring import expressions, own

UNKNOWN_BEFORE: Final = {"model"}
"""Labels whose values no process knows when it starts."""
_CALL: Final = re.compile(r"\b(?:rate|increase)\(")
_GROWTH: Final = re.compile(r"\b(?:rate|increase)\((([a-z_:]\w*)\{([^}]*)\})\[([^\]]+)\]\)")
_MATCHER: Final = re.compile(r'(\w+)(=~|!~|!=|=)"([^"]*)"')


class Growth(msgspec.Struct, frozen=True):
    """A series whose growth is asked for, and whether those born within the window count."""

    name: str
    matchers: tuple[tuple[str, str, str], ...]
    counts_births: bool

    @property
    def metric(self) -> str:
        return own()[self.name]

    @property
    def later(self) -> bool:
        """Whether its series may only be born with what they count."""
        return bool(UNKNOWN_BEFORE & set(METRICS[self.metric].labels.split(", ")))


def growths(expression: str) -> Iterator[Growth]:
    for call in _CALL.finditer(expression):
        found = _GROWTH.match(expression, call.start())
        assert found, f"cannot read {expression[call.start() :]}"
        series, name, matchers, window = found.groups()
        births = f"({series} unless {series} offset {window}) or {found.group()}"
        matched = tuple(matcher for matcher in _MATCHER.findall(matchers) if matcher[0] != "namespace")
        yield Growth(name, matched, births in expression)


def asked() -> list[tuple[str, Growth]]:
    """Where → growth of a figure of ours, in everything that tells somebody; a dashboard draws what there is."""
    return [
        (where, growth)
        for where, expression in expressions()
        if ".json" not in where
        for growth in growths(expression)
        if growth.name in own()
    ]


def has(page: str, name: str, labels: Mapping[str, str]) -> bool:
    """Whether a page of figures has a series with these labels."""
    lines = [line for line in page.splitlines() if re.match(rf"{name}[{{ ]", line)]
    return any(all(f'{label}="{value}"' in line for label, value in labels.items()) for line in lines)


def missing(page: str, growth: Growth) -> list[Mapping[str, str]]:
    """What a page lacks of the series that are named: by `=`, and by `=~` each status that it stands for."""
    named = {label: value for label, kind, value in growth.matchers if kind == "="}
    patterns = {label: value for label, kind, value in growth.matchers if kind == "=~"}
    wanted = [named]
    if "status" in patterns:
        statuses = {500, *(code.status for code in Code)}
        found = sorted(str(status) for status in statuses if re.fullmatch(patterns["status"], str(status)))
        wanted = [{**named, "status": status} for status in found]
    return [labels for labels in wanted if not has(page, growth.name, labels)]


def test_what_is_born_with_its_first_fault_counts_from_its_birth() -> None:
    later = [(where, growth) for where, growth in asked() if growth.later]
    assert {where for where, _ in later} == {"ModelsFail"}
    assert [where for where, growth in later if not growth.counts_births] == []


def test_all_else_is_there_from_the_start(cluster: Cluster) -> None:
    shown = ""
    for name in cluster.ports:
        status, body = probe.get(f"{cluster.url(name)}/metrics", 60)
        assert status == 200
        shown += body.decode()
    known = [(where, growth) for where, growth in asked() if not growth.later]
    assert len(known) > 30
    assert {(where, growth.name): found for where, growth in known if (found := missing(shown, growth))} == {}


def test_a_gateway_shows_every_fault_of_every_route_before_there_is_one() -> None:
    page = Metrics().render({})
    faults = {500, *(code.status for code in Code if code.status >= 500)}
    for route in (*(route.name for route in ROUTES), MCP):
        for status in faults:
            assert f'playmolt_gateway_requests_total{{route="{route}",status="{status}"}} 0\n' in page


def test_an_hour_of_a_model_on_the_dashboard_counts_its_first_request() -> None:
    hours = [growth for where, said in expressions() if ".json" in where and "[1h]" in said for growth in growths(said)]
    assert {growth.name for growth in hours} == {"playmolt_llm_cost_total", "playmolt_llm_prompts_cut_total"}
    assert all(growth.counts_births for growth in hours)


@pytest.mark.parametrize(
    ("expression", "births"),
    [
        ('increase(a_total{x="1"}[5m]) > 0', False),
        ('sum by (x) ((a_total{x="1"} unless a_total{x="1"} offset 5m) or increase(a_total{x="1"}[5m]))', True),
        ('(a_total{x="1"} unless a_total{x="1"} offset 5m) or increase(a_total{x="1"}[10m])', False),
        ('(a_total{x="2"} unless a_total{x="2"} offset 5m) or increase(a_total{x="1"}[5m])', False),
    ],
)
def test_whether_births_count_is_read_from_the_expression(expression: str, births: bool) -> None:
    (growth,) = growths(expression)
    assert (growth.name, growth.matchers, growth.counts_births) == ("a_total", (("x", "=", "1"),), births)


def test_what_a_page_lacks_is_named() -> None:
    (growth,) = growths('rate(playmolt_gateway_requests_total{namespace="p",route="act",status=~"5.."}[5m])')
    page = 'playmolt_gateway_requests_total{route="act",status="500"} 0\n'
    assert [labels["status"] for labels in missing(page, growth)] == ["501", "503"]
    assert missing(Metrics().render({}), growth) == []
