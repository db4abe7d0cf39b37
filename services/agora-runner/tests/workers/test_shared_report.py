"""An experiment shown to strangers: what was fixed, and the report as far as it is."""

import asyncio
from typing import Any, cast

import pytest
from msgspec.structs import replace
from playmolt_agora_runner.experiment.api import ExperimentApi
from playmolt_agora_runner.experiment.rules import Experiment
from playmolt_agora_runner.experiment.state import State
from playmolt_agora_runner.workers.library import Library
from playmolt_agora_runner.workers.shared_report import shared_page
from playmolt_core.game.api import ApiReply, ApiRequest
from playmolt_core.game.decider import Refused
from playmolt_core.llm.catalogue import Catalogue
from playmolt_schemas.codes import Code
from playmolt_schemas.instrument.laboratory import REPORT as REPORT_FILE
from playmolt_schemas.instrument.laboratory import SHARES as SHARES_FILE
from playmolt_schemas.routes import agora as routes
from playmolt_schemas.routes import sharing

from core.tests.scenario import Scenario
from tests.agora_locks import opened

ID = "experiment-00000000-0000-4000-8000-000000000001"
PLAN = {
    "name": "small & <plain>", "seed": "7", "models": ["scripted"], "languages": ["ko"],
    "phases": {"phase1": {"runs": 1, "turns": 3}},
}  # fmt: skip
REPORT = (
    "<!DOCTYPE html><html><head><style>h1{color:red}</style></head><body><nav>n</nav>"
    '<main id="content" tabindex="-1"><p><a href="/api/agora/runs/agora-1/events?after=16">run</a></p></main>'
    "</body></html>"
)
SHARES = """level,model,action,count
agent,scripted,speak,3
agent,scripted,trade,1
agent,scripted,idle,0
cell,scripted,trade,9
"""


@pytest.fixture
def state() -> State:
    experiment = Scenario(Experiment(), ID)
    experiment.when(opened(ID, PLAN))
    return experiment.state


def asked(state: State, route: str, **options: Any) -> ApiReply | Refused:
    return ExperimentApi(Catalogue({})).answer(state, ApiRequest(route=route, stream=ID, **options))


def test_what_was_fixed_stands_there_before_anything_has_run(state: State) -> None:
    page = shared_page(state, "", "", made=True)
    assert page.title == PLAN["name"]
    assert "small &amp; &lt;plain&gt;" in page.body
    assert state.plan_hash in page.body
    assert "scripted" in page.body
    assert state.pins.measures in page.body
    assert page.ready


def test_a_report_is_shown_with_its_own_style(state: State) -> None:
    page = shared_page(state, REPORT, SHARES, made=True)
    assert page.style == "h1{color:red}"
    assert 'href="/api/agora/runs/agora-1/events?after=16"' in page.body
    assert "<nav>" not in page.body
    assert page.state
    assert page.state["models"] == [
        {"alias": "scripted", "acts": [{"action": "speak", "percent": 75}, {"action": "trade", "percent": 25}]}
    ]


def test_words_of_agents_are_left_out(state: State) -> None:
    words = "<h3>content=<span data-private>a secret</span></h3><p data-private>Content in\nthe fork: a whisper</p>"
    page = shared_page(state, REPORT.replace("<p>", f"{words}<p>"), SHARES, made=True)
    assert "<h3>content=</h3><p><a " in page.body
    assert "whisper" not in page.body


def test_a_page_whose_report_is_being_made_says_so(state: State) -> None:
    page = shared_page(state, "", "", made=False)
    assert not page.ready
    assert "being made" in page.body


@pytest.mark.parametrize("route", [sharing.ASK, sharing.TAKE_BACK, sharing.PAGE])
def test_to_whom_it_is_not_there_is_no_experiment(state: State, route: str) -> None:
    assert asked(state, route, operator=True) == ApiReply(sharing.ShareTerms())
    refused = asked(state, route, agent_id="agent-1")
    assert isinstance(refused, Refused)
    assert refused.code is Code.NOT_FOUND
    assert asked(Experiment().initial(ID), route, operator=True) == refused


def test_a_share_takes_no_fields(state: State) -> None:
    refused = asked(state, sharing.ASK, operator=True, body={"sections": []})
    assert isinstance(refused, Refused)
    assert refused.code is Code.INVALID_REQUEST


class Laboratory:
    """Makes studies once it may, and counts them."""

    def __init__(self) -> None:
        self.made, self.begun = 0, asyncio.Event()

    async def study(self, _: str) -> dict[str, bytes]:
        await self.begun.wait()
        self.made += 1
        return {REPORT_FILE: REPORT.encode(), SHARES_FILE: SHARES.encode()}


async def test_each_of_many_studies_that_are_asked_for_at_once_is_made_once(state: State) -> None:
    run, *others = state.runs
    begun = replace(state, runs=(replace(run, status="open"), *others))
    states = [replace(begun, version=version) for version in range(1, 10)]
    laboratory = Laboratory()
    library = Library(cast("Any", laboratory))
    request = ApiRequest(route=routes.REPORT.name, stream=ID)
    asked = [await library(each, request) for each in states]
    laboratory.begun.set()
    shown = [await library.shared(each, request) for each in states]
    assert [(isinstance(each, ApiReply) and each.status) for each in asked] == [202] * 9
    assert all(isinstance(each, ApiReply) and each.body.ready for each in shown)  # type: ignore[union-attr]
    assert laboratory.made == 9
