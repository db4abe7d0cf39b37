"""The forms of the gates, asked along the schemas that the rules make."""

import io
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import click
import pytest
from playmolt_cli.legal.form import prompt_facts, prompt_form, with_fields
from playmolt_cli.legal.page import LegalPage
from playmolt_cli.legal.prompter import Prompter
from playmolt_cli.legal.texts import LegalTexts
from playmolt_cli.terminal.failures import Failure
from playmolt_core.game.decider import Accepted, Command
from playmolt_legal import commands, effects, views
from playmolt_legal.roles import scripted
from playmolt_legal.rules import Legal
from playmolt_schemas.games.legal import Gate, Session
from rich.console import Console

OWNER = "agent-1"
FORMS: dict[str, dict[str, Any]] = {
    "facts": {"gate": "facts", "choice": "proceed_unclear"},
    "round1": {"gate": "round1", "focus_issues": ["deposit"], "goal": "win_likelihood", "stance": "neutral"},
    "round2": {
        "gate": "round2", "proof_priority": "the handover", "evidence_level": "weak", "constraints": ["budget_cap"],
        "obtainable_evidence": ["record"], "settlement_interest": True, "concession_range": "half",
    },
}  # fmt: skip


class Held:
    """A session at its rules, without a server."""

    def __init__(self, model: str, case_type: str = "civil") -> None:
        self.rules, self.model = Legal(), model
        self.state = self.rules.initial("legal-1")
        body = {"case_type": case_type, "jurisdiction": "KR", "title": "Deposit", "language": "en", "model": model}
        aliases = tuple(scripted.ALIASES)
        self.send(commands.OpenSession(agent_id=OWNER, name="me", seed="7", body=body, aliases=aliases))
        told = {"overview": "A deposit.", "acts": "It was kept.", "timeline": [], "evidence": [], "opposing_claims": ""}
        self.send(commands.PostFacts(agent_id=OWNER, body=told))

    def send(self, command: Command) -> None:
        now = datetime(2026, 3, 1, tzinfo=UTC)
        decision = self.rules.decide(self.state, command, now)
        assert isinstance(decision, Accepted), decision
        for event in decision.events:
            self.state = self.rules.evolve(self.state, event, now)

    def to(self, gate: str) -> "Held":
        """Let the models speak and answer gates until one of that name is open."""
        while self.state.gate is None or self.state.gate.gate != gate:
            if self.state.gate:
                self.steer(FORMS[self.state.gate.gate])
                continue
            profile = scripted.ALIASES[self.model]
            output = scripted.answer(self.state, self.state.phase, profile=profile)
            self.send(commands.TurnSpoken(effect_id=effects.effect_id(self.state), output=output))
        return self

    def steer(self, form: dict[str, Any]) -> None:
        missing = {item.id: "none" for item in self.state.gate.missing_evidence} if self.state.gate else {}
        filled = form | ({"missing_evidence_answers": missing} if missing else {})
        self.send(commands.PostForm(agent_id=OWNER, body=filled, next_session="legal-2"))

    def shown(self) -> tuple[Session, Gate]:
        session = views.session(self.state)
        assert session.gate is not None
        return session, session.gate


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Prompter]:
    """Gives somebody to ask who types these lines; one question more is an error."""

    def typing(*lines: str) -> Prompter:
        left: Iterator[str] = iter(lines)

        def prompt(*_: object, **__: object) -> str:
            try:
                return next(left)
            except StopIteration:
                raise click.Abort from None

        monkeypatch.setattr(click, "prompt", prompt)
        return Prompter(LegalPage(Console(file=io.StringIO()), LegalTexts("en")), "Use --file FILE")

    return typing


def asked(
    held: Held, asker: Prompter, before: dict[str, Any] | None = None, again: tuple[str, ...] = ()
) -> dict[str, Any]:
    session, gate = held.shown()
    form = prompt_form(asker, session, gate, before or {}, again)
    held.steer(form)  # what was asked is what the rules take
    return form


def test_round_1_takes_issues_by_number_or_in_the_persons_words(typed: Callable[..., Prompter]) -> None:
    held = Held("scripted").to("round1")
    first = held.shown()[1].issues[0]
    form = asked(held, typed("1", "of my own", "2", "hardline", ""))
    assert form == {
        "gate": "round1", "focus_issues": [first, "of my own"], "goal": "risk_minimization", "stance": "hardline",
    }  # fmt: skip


def test_nothing_needed_may_stay_empty(typed: Callable[..., Prompter]) -> None:
    held = Held("scripted").to("round1")
    form = asked(held, typed("", "", "mine", "", "", "5", "win likelihood", "cheerful", "3", "  "))
    assert (form["focus_issues"], form["goal"], form["stance"]) == (["mine"], "win_likelihood", "flexible")
    assert "fact_corrections" not in form


def test_what_could_be_conceded_is_asked_only_of_one_who_would_settle(typed: Callable[..., Prompter]) -> None:
    answers = ["the handover", "3", "record", "", "2", "no press", "", ""]
    settling = asked(Held("scripted").to("round2"), typed(*answers, "y", "half"))
    assert (settling["settlement_interest"], settling["concession_range"]) == (True, "half")
    assert settling["constraints"] == ["budget_cap", "no press"]
    firm = asked(Held("scripted").to("round2"), typed(*answers, "n"))
    assert firm["settlement_interest"] is False
    assert "concession_range" not in firm


def test_open_questions_are_asked_by_their_text(typed: Callable[..., Prompter]) -> None:
    held = Held("scripted-unsure").to("facts")
    questions = held.shown()[0].facts.questions
    answers = ["yes, last spring", *[""] * (len(questions) - 1)]
    timeline, evidence = ["spring", "the lease was signed", "y", ""], ["lease", "signed", ""]
    form = asked(held, typed("1", "more", *answers, *timeline, *evidence))
    assert form["facts"] == {
        "text": "more",
        "answers": [{"id": "Q1", "text": "yes, last spring"}],
        "timeline": [{"when": "spring", "what": "the lease was signed", "agreed": True}],
        "evidence": [{"title": "lease", "description": "signed"}],
    }


def test_one_who_goes_on_unclear_is_asked_no_facts(typed: Callable[..., Prompter]) -> None:
    assert asked(Held("scripted-unsure").to("facts"), typed("2")) == FORMS["facts"]


def test_each_piece_of_missing_evidence_is_asked_for(typed: Callable[..., Prompter]) -> None:
    held = Held("scripted-no-go", "criminal").to("round2")
    asked_for = [item.id for item in held.shown()[1].missing_evidence]
    form = asked(held, typed("the handover", "1", "record", "", "2", "", "", *["none"] * len(asked_for)))
    assert asked_for
    assert form["missing_evidence_answers"] == dict.fromkeys(asked_for, "none")


def test_only_the_fields_at_fault_are_asked_again(typed: Callable[..., Prompter]) -> None:
    before = {**FORMS["round1"], "goal": "glory"}
    form = asked(Held("scripted").to("round1"), typed("4"), before, ("goal",))
    assert form == FORMS["round1"] | {"goal": "evidence_reinforcement"}


def test_where_nobody_can_be_asked_the_options_are_named(typed: Callable[..., Prompter]) -> None:
    with pytest.raises(Failure, match="Use --file FILE"):
        asked(Held("scripted").to("round1"), typed("1"))


def test_facts_are_asked_one_after_the_other(typed: Callable[..., Prompter]) -> None:
    asker = typed("one line", "another", "", "", "acts", "", "", "", "")
    facts = prompt_facts(asker.words, asker)
    assert facts == {
        "overview": "one line\nanother", "acts": "acts", "timeline": [], "evidence": [], "opposing_claims": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("gate", "fields", "form"),
    [
        ("round1", ["focus_issues=a", "focus_issues=b", "goal=x=y"], {"focus_issues": ["a", "b"], "goal": "x=y"}),
        ("round1", ['focus_issues=["a", "b"]', "focus_issues=[c", "goal=[1]"],
         {"focus_issues": ["a", "b", "[c"], "goal": "[1]"}),
        ("facts", ['facts.timeline=[{"when": "May", "what": "x"}]'],
         {"facts": {"timeline": [{"when": "May", "what": "x"}]}}),
        ("round2", ["settlement_interest=no"], {"settlement_interest": False}),
        ("round2", ["settlement_interest=perhaps"], {"settlement_interest": "perhaps"}),
        ("facts", ["facts.text=more", "facts.answers.Q1=a", "facts.answers.Q2=b"],
         {"facts": {"text": "more", "answers": [{"id": "Q1", "text": "a"}, {"id": "Q2", "text": "b"}]}}),
        ("round1", ["missing_evidence_answers.M1=none"], {"missing_evidence_answers": {"M1": "none"}}),
        ("round1", ["no_such=1"], {"no_such": "1"}),
    ],
)  # fmt: skip
def test_fields_are_read_as_their_schema_says(gate: str, fields: list[str], form: dict[str, Any]) -> None:
    held = Held("scripted-unsure").to(gate)
    assert with_fields({}, fields, held.shown()[1].schema) == form


def test_a_field_is_added_to_a_form_from_a_file() -> None:
    schema = Held("scripted").to("round1").shown()[1].schema
    given = {"focus_issues": ["a"], "goal": "win_likelihood"}
    filled = with_fields(given, ["focus_issues=b", "goal=risk_minimization"], schema)
    assert filled == {"focus_issues": ["a", "b"], "goal": "risk_minimization"}
    assert given["focus_issues"] == ["a"]


@pytest.mark.parametrize("field", ["goal", "=x"])
def test_a_field_without_a_name_is_refused(field: str) -> None:
    with pytest.raises(Failure, match="FIELD=VALUE"):
        with_fields({}, [field], {"properties": {}})


def listed(held: Held) -> list[str]:
    file = io.StringIO()
    LegalPage(Console(file=file, width=200), LegalTexts("en")).fields(held.shown()[1].schema)
    return [line.strip() for line in file.getvalue().splitlines()]


def test_the_fields_are_listed_as_they_are_set() -> None:
    assert listed(Held("scripted-unsure").to("facts")) == [
        "choice = add_facts | proceed_unclear: How to continue",
        "facts (required if choice = add_facts): Additional facts",
        "facts.text (optional): In your own words",
        "facts.answers.Q1 | facts.answers.Q2 | facts.answers.Q3 | facts.answers.Q4 | facts.answers.Q5 | "
        "facts.answers.Q6 (optional): Answers to the questions",
        "facts.timeline = [{when, what, agreed}] (optional): Timeline",
        "facts.evidence = [{title, description}] (optional): Evidence",
    ]
    round2 = listed(Held("scripted").to("round2"))
    assert "concession_range (required if settlement_interest = true): Possible concessions" in round2
    assert "constraints = decide_within_2_weeks | budget_cap | no_outside_counsel | …: Constraints" in round2


def test_each_missing_item_is_listed_under_its_id() -> None:
    held = Held("scripted-no-go", "criminal").to("round2")
    assert [line.partition(":")[0] for line in listed(held)][-3:] == [
        "missing_evidence_answers", "missing_evidence_answers.M1", "missing_evidence_answers.M2",
    ]  # fmt: skip
