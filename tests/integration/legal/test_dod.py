"""The completion criteria of the legal simulation, each seen over HTTP: section 8 of its source."""

import json
from typing import Any

import pytest

from core.tests.llm.fake_server import FakeServer, reply
from tests.integration.legal.person import Person, Roles, in_role, round1, round2, said
from tests.platforms import Stack

ROUNDS = [
    "JUDGE_R1", "CLAIMANT_R1", "OPPOSING_R1", "VERIFIER_R1",
    "OPPOSING_R2", "CLAIMANT_R2", "JUDGE_R2", "VERIFIER_R2",
    "OPPOSING_R3", "CLAIMANT_R3", "JUDGE_R3", "VERIFIER_R3",
]  # fmt: skip
TITLES = {
    "criminal": {"Presiding judge", "Prosecutor", "Defence counsel", "Verifier"},
    "civil": {"Presiding judge", "Plaintiff's counsel", "Defendant's counsel", "Verifier"},
}
BLOCK = "[LEGAL STEERING — MUST FOLLOW]\n"
QUESTIONS = [{"text": f"What is known of point {letter}?"} for letter in "abc"]


def asked_turns(server: FakeServer) -> list[str]:
    return [" ".join(asked.turn.split(" ")[1:]) for asked in server.received]


def system_prompts(server: FakeServer) -> dict[str, str]:
    return {asked.turn.split(" ")[1]: str(asked.body["messages"][0]["content"]) for asked in server.received}


@pytest.mark.parametrize("case_type", ["criminal", "civil"])
async def test_1_the_rounds_run_with_four_roles_and_no_defendant(
    platform: Stack, server: FakeServer, case_type: str
) -> None:
    server.otherwise = Roles(case_type)
    async with Person(platform.run.gateway) as person:
        await person.open(case_type, model="fake")
        await person.tell()
        session = await person.argue(case_type)
        assert session["phase"] == "END_GATE"
    assert [turn["phase"] for turn in session["turns"]] == ROUNDS
    assert {turn["title"] for turn in session["turns"]} == TITLES[case_type]
    assert {turn["role"] for turn in session["turns"]} == {"judge", "claimant", "opposing", "verifier"}
    assert asked_turns(server) == [f"{phase} ask" for phase in ("FACTS_STIPULATE", *ROUNDS)]


async def test_2_many_missing_facts_force_the_person_to_add_some(platform: Stack, server: FakeServer) -> None:
    stipulated = in_role("FACTS_STIPULATE", "civil", None)
    server.script(
        reply(json.dumps(stipulated | {"MissingFactsQuestions": QUESTIONS})),
        reply(json.dumps(stipulated | {"MissingFactsQuestions": QUESTIONS[:2]})),
    )
    async with Person(platform.run.gateway) as person:
        await person.open(model="fake")
        await person.tell()
        session = await person.gate("facts")
        assert (session["phase"], session["turns"]) == ("USER_GATE", [])
        assert [question["id"] for question in session["facts"]["questions"]] == ["Q1", "Q2", "Q3"]
        assert session["gate"]["schema"]["properties"]["choice"]["enum"] == ["add_facts", "proceed_unclear"]
        passed_by = await person.steer(**round1())
        assert (passed_by.status_code, passed_by.json()["code"]) == (409, "wrong_gate")
        empty = await person.steer(gate="facts", choice="add_facts")
        assert (empty.status_code, [fault["field"] for fault in empty.json()["errors"]]) == (422, ["facts"])
        assert asked_turns(server) == ["FACTS_STIPULATE ask"], "nobody argues before the facts are mended"
        facts = {"answers": [{"id": "Q3", "text": "nothing was noted"}]}
        assert (await person.steer(gate="facts", choice="add_facts", facts=facts)).status_code == 200
        session = await person.gate("round1")
        assert asked_turns(server)[:3] == ["FACTS_STIPULATE ask", "FACTS_STIPULATE ask", "JUDGE_R1 ask"]
        assert len(session["facts"]["questions"]) == 2, "two open questions do not hold a session up"
        assert "nothing was noted" in json.dumps(server.received[1].body)


async def test_2_going_on_unclear_is_a_risk_the_person_takes(platform: Stack, server: FakeServer) -> None:
    stipulated = in_role("FACTS_STIPULATE", "civil", None)
    server.script(reply(json.dumps(stipulated | {"MissingFactsQuestions": QUESTIONS})))
    async with Person(platform.run.gateway) as person:
        await person.open(model="fake")
        await person.tell()
        await person.gate("facts")
        assert (await person.steer(gate="facts", choice="proceed_unclear")).status_code == 200
        session = await person.gate("round1")
        me = (await person.get("/api/agents/me")).json()["id"]
        assert session["facts"]["risk_accepted"]["by"] == me
        assert session["facts"]["risk_accepted"]["at"]
    for asked in server.received[1:]:
        material = json.dumps(asked.body["messages"], ensure_ascii=False)
        assert all(question["text"] in material for question in QUESTIONS)


async def test_3_each_gates_input_stands_at_the_top_of_the_next_rounds_prompts(
    platform: Stack, server: FakeServer
) -> None:
    async with Person(platform.run.gateway) as person:
        await person.open(model="fake")
        await person.tell()
        await person.gate("round1")
        await person.steer(**round1())
        first = await person.gate("round2")
        await person.steer(**round2(), instructions="look at the handover first")
        second = await person.gate("end")
        form = {"gate": "end", "resolution": "extend", "report_style": "risk", "final_instructions": "be brief"}
        await person.steer(**form)
        third = await person.until(lambda session: session["gate"] and len(session["turns"]) == len(ROUNDS) + 4)
    prompts = system_prompts(server)
    assert all(prompts[phase].startswith(BLOCK) for phase in (*ROUNDS, "OPPOSING_R4", "VERIFIER_R4"))
    expected = {
        "_R1": ("FocusIssues: not set", "Goal: not set", "Constraints: not set", "UserNotes: not set"),
        "_R2": ("FocusIssues: deposit", "Goal: risk minimization", "Stance: neutral", "Constraints: not set"),
        "_R3": ("FocusIssues: deposit", "Constraints: budget cap", "UserNotes: look at the handover first"),
        "_R4": ("FocusIssues: deposit", "Constraints: budget cap", "UserNotes: be brief"),
    }
    for phase, prompt in prompts.items():
        block = prompt.partition("\nRULES")[0]
        assert all(line in block.splitlines() for line in expected.get(phase[-3:], ())), phase
    assert [len(session["steering_history"]) for session in (first, second, third)] == [1, 2, 3]
    assert [version["steering"]["note"] for version in third["steering_history"]] == [
        "", "look at the handover first", "be brief",
    ]  # fmt: skip


VIOLATIONS = {
    "unsupported_fact": {"text": "the tenant painted it on 7 May 2021", "basis": [], "issue": "deposit"},
    "certain_advice": said("we will definitely win", "deposit"),
    "out_of_focus": said("the rent is due", "rent"),
}


@pytest.mark.parametrize("check", VIOLATIONS)
async def test_4_a_violation_is_put_right_by_one_rewrite(platform: Stack, server: FakeServer, check: str) -> None:
    roles = Roles()
    rash = in_role("CLAIMANT_R2", "civil", "deposit") | {"Claims": [VIOLATIONS[check]]}
    roles.first["CLAIMANT_R2"] = [reply(json.dumps(rash))]
    server.otherwise = roles
    async with Person(platform.run.gateway) as person:
        await person.open(model="fake")
        await person.tell()
        await person.gate("round1")
        await person.steer(**round1())
        session = await person.gate("round2")
    kinds = [turn for turn in asked_turns(server) if turn.startswith("CLAIMANT_R2")]
    assert kinds == ["CLAIMANT_R2 ask", "CLAIMANT_R2 rewrite"]
    rewrite = next(asked for asked in server.received if asked.turn.endswith("CLAIMANT_R2 rewrite"))
    assert VIOLATIONS[check]["text"] in rewrite.last, "the request names what was hit"
    turn = next(turn for turn in session["turns"] if turn["phase"] == "CLAIMANT_R2")
    assert {hit["check"] for hit in turn["hits"]} == {check}
    assert turn["unresolved"] == []
    assert turn["draft"]["Claims"] == [VIOLATIONS[check]]
    assert turn["output"]["Claims"] == in_role("CLAIMANT_R2", "civil", "deposit")["Claims"]


@pytest.mark.parametrize("resolution", ["final_report", "extend", "new_session"])
async def test_5_the_end_gate_ends_extends_or_begins_anew_and_the_report_is_made(
    platform: Stack, resolution: str
) -> None:
    async with Person(platform.run.gateway) as person:
        await person.open()
        await person.tell()
        issue = (await person.gate("round1"))["gate"]["issues"][0]
        await person.argue(focus=issue)
        early = await person.get(f"/api/sessions/{person.session}/report")
        assert (early.status_code, early.json()["code"]) == (409, "not_finished")
        form: dict[str, Any] = {"gate": "end", "report_style": "settlement"}
        answered = (await person.steer(**form, resolution=resolution)).json()
        if resolution == "new_session":
            assert (answered["phase"], answered["failed"]) == ("FINALIZE_DONE", None)
            person.session = answered["next_session"]
            carried = await person.now()
            assert (carried["phase"], carried["previous_session"]) == ("FACTS_INTAKE", answered["id"])
            assert carried["facts"]["evidence"]
            assert (await person.post(f"/api/sessions/{person.session}/facts")).status_code == 200
            issue = (await person.gate("round1"))["gate"]["issues"][0]
            await person.argue(focus=issue)
        if resolution == "extend":
            session = await person.until(lambda session: session["gate"] and len(session["turns"]) == len(ROUNDS) + 4)
            extra = [turn["phase"] for turn in session["turns"][-4:]]
            assert extra == ["OPPOSING_R4", "CLAIMANT_R4", "JUDGE_R4", "VERIFIER_R4"]
            assert session["gate"]["schema"]["properties"]["resolution"]["enum"] == ["final_report", "new_session"]
        if resolution != "final_report":
            assert (await person.steer(**form, resolution="final_report")).status_code == 200
        session = await person.now()
        report = await person.get(f"/api/sessions/{person.session}/report")
        assert (session["phase"], report.status_code) == ("FINALIZE_DONE", 200)
        assert report.json()["order"][0] == "settlement"
        for kind, start in {"md": b"# ", "html": b"<!doctype html>", "docx": b"PK", "pdf": b"%PDF"}.items():
            rendered = await person.get(f"/api/sessions/{person.session}/report?format={kind}")
            assert rendered.status_code == 200
            assert rendered.content.lower().startswith(start.lower()), kind
