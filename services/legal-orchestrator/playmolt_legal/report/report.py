"""The report of a session: a pure function of its state (legal.md, Report)."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from playmolt_core.game.decider import Refused
from playmolt_schemas.codes import Code
from playmolt_schemas.games.legal import (
    Argument,
    BestCases,
    Burden,
    EvidenceMatrixRow,
    FinalAnswer,
    NoGo,
    PageOne,
    Parties,
    Report,
    ReportCase,
    ReportedHit,
    ReportedTurn,
    ReportFacts,
    Role,
    SideLikelihood,
    StaleTurn,
    Statement,
    VerifiedRound,
)
from playmolt_schemas.stored.legal import Citation, ReportStyle, Side

from playmolt_legal import outputs, phases, texts
from playmolt_legal.facts import uploads
from playmolt_legal.forms import gates
from playmolt_legal.guardrails import corpus
from playmolt_legal.report.chronology import chronology
from playmolt_legal.roles import points
from playmolt_legal.state import State, TurnRecord

ROLES: Final[tuple[Role, ...]] = ("judge", "claimant", "opposing", "verifier")
_ORDER: Final[dict[ReportStyle, tuple[str, str, str]]] = {
    "risk": ("risks", "strategy", "settlement"),
    "strategy": ("strategy", "risks", "settlement"),
    "settlement": ("settlement", "risks", "strategy"),
}


def report(state: State) -> Report | Refused:
    """The report of a session that ended with one; any other is `not_finished`."""
    if not state.reported:
        return Refused(Code.NOT_FINISHED, _why(state))
    words = texts.of(state.language)
    titles = words.titles[state.case_type]
    judge = state.newest("judge")
    return Report(
        language=state.language,
        case=ReportCase(
            title=state.title,
            case_type=state.case_type,
            jurisdiction=state.jurisdiction,
            parties=Parties(claimant=titles["claimant"], opposing=titles["opposing"]),
        ),
        facts=ReportFacts(
            confirmed=state.facts.confirmed,
            disputed=state.facts.disputed,
            unknown=state.facts.questions,
            past=state.facts.past,
            history=tuple(record for record in state.facts.history if record.action != "stipulated"),
        ),
        evidence=uploads.reported(state),
        timeline=state.facts.timeline,
        corrections=state.facts.corrections,
        issues=tuple(judge.output["Issues"]) if judge else (),
        best_cases=BestCases(
            claimant=_said(state, "claimant", "Claims"), opposing=_said(state, "opposing", "CounterArguments")
        ),
        findings=_said(state, "judge", "Findings"),
        decision_range=judge.output["DecisionRange"] if judge else "",
        evidence_matrix=tuple(_matrix(state)),
        risks=(*_said(state, "opposing", "ProceduralRisks"), *_said(state, "claimant", "WeakPoints")),
        strategy=tuple(_strategy(state)),
        settlement=_said(state, "opposing", "SettlementOptions"),
        order=_ORDER[state.steering.report_style or "risk"],
        gate_history=state.gate_history,
        guardrail_hits=tuple(_hits(state)),
        no_go=_no_go(state),
        next_steps=tuple(judge.output["RecommendedNextSteps"]) if judge else (),
        citations=_citations(state),
        unverified=_unverified(state),
        refused=state.facts.refused,
        side=state.side,
        likelihood=_likelihood(state),
        stale=_stale(state.turns),
        disclaimer=words.disclaimer,
        page_one=_page_one(state),
        arguments=tuple(_arguments(state)),
        burden=_burden(state),
        verifier=tuple(_verified(state)),
        chronology=chronology(state.facts.timeline, state.language),
        steering=state.steering,
        final=_final(state),
        final_failed=bool(state.final_turn) and _final(state) is None,
        appendix=tuple(_appendix(state)),
        ended_at=state.gate_history[-1].at,
    )


_SHOWN: Final = 3
"""Facts and gaps of page one."""


def _page_one(state: State) -> PageOne:
    judge, verified, facts = state.newest("judge"), state.newest("verifier"), state.facts
    issues = tuple(judge.output["Issues"]) if judge else ()
    missing: list[str] = verified.output["MissingEvidence"] if verified else []
    gaps = (*(item.text for item in facts.questions), *missing, *(fact.text for fact in facts.disputed))
    return PageOne(
        question=texts.listed(state.language, state.steering.focus_issues or issues) or state.title,
        outcome=judge.output["DecisionRange"] if judge else "",
        likelihood=_likelihood(state),
        decisive=_decisive(state),
        gaps=tuple(dict.fromkeys(gaps))[:_SHOWN],
        next_steps=tuple(judge.output["RecommendedNextSteps"]) if judge else (),
    )


def _decisive(state: State) -> tuple[str, ...]:
    """The facts that most statements of the newest turns rest on; of as many, the lower id."""
    standing = {fact.id for fact in (*state.facts.confirmed, *state.facts.disputed)}
    spoken = [turn for role in ("judge", "claimant", "opposing") if (turn := state.newest(role))]
    said = [statement["basis"] for turn in spoken for _, statement in outputs.statements(turn.output)]
    counted = Counter(each for basis in said if isinstance(basis, list) for each in set(basis) & standing)
    return tuple(sorted(counted, key=lambda each: (-counted[each], each[0], int(each[1:])))[:_SHOWN])


def _arguments(state: State) -> Iterator[Argument]:
    """Issue by issue; what belongs to none of them comes last, under a title of its own."""
    judge = state.newest("judge")
    claims, counters = _said(state, "claimant", "Claims"), _said(state, "opposing", "CounterArguments")
    named = judge.output["Issues"] if judge else ()
    issues: list[str] = list(dict.fromkeys((*state.steering.focus_issues, *named)))
    for issue in issues:
        sides = [tuple(said for said in side if said.issue == issue) for side in (claims, counters)]
        if any(sides):
            yield Argument(issue=issue, claimant=sides[0], opposing=sides[1])
    rest = [tuple(said for said in side if said.issue not in issues) for side in (claims, counters)]
    if any(rest):
        yield Argument(issue=texts.of(state.language).report["other_issues"], claimant=rest[0], opposing=rest[1])


def _burden(state: State) -> Burden:
    said = _said(state, "judge", "BurdenOfProof")
    ids = (each for one in said if isinstance(one.basis, list) for each in one.basis)
    return Burden(
        standard=texts.standard_of_proof(state.language, state.case_type, state.jurisdiction),
        text=" ".join(one.text for one in said),
        basis=tuple(dict.fromkeys(ids)),
    )


def _verified(state: State) -> Iterator[VerifiedRound]:
    for turn in state.turns:
        if turn.role == "verifier":
            yield VerifiedRound(
                round=turn.round,
                status=turn.gate_status or "Conditional",
                unsupported=tuple(turn.output["UnsupportedClaims"]),
                missing=tuple(turn.output["MissingEvidence"]),
                unanswered=points.unanswered(state.turns, turn.round),
                stale=_stale(each for each in state.turns if each.round == turn.round),
            )


def _stale(turns: Iterable[TurnRecord]) -> tuple[StaleTurn, ...]:
    return tuple(StaleTurn(phase=turn.phase, facts=turn.stale) for turn in turns if turn.stale)


def _final(state: State) -> FinalAnswer | None:
    if not state.final_turn or state.final_turn.output is None:
        return None
    said = state.final_turn.output
    answer = tuple(Statement(**statement) for statement in said["Answer"])
    return FinalAnswer(answer=answer, not_followed=tuple(said["NotFollowed"]))


def _appendix(state: State) -> Iterator[ReportedTurn]:
    words = texts.of(state.language)
    titles = words.titles[state.case_type]
    for turn in state.turns:
        yield ReportedTurn(phase=turn.phase, title=titles[turn.role], output=turn.output, draft=turn.draft)
    if (final_turn := state.final_turn) and final_turn.output is not None:
        yield ReportedTurn(
            phase=phases.FINAL, title=words.final_title, output=final_turn.output, draft=final_turn.draft
        )


def _why(state: State) -> str:
    if state.next_session:
        return f"This session continues as {state.next_session}. Get the report of that session."
    if state.over:
        return "The operator ended this session; it has no report."
    return f"The session is in {state.phase}. The report is available after final_report at the end gate."


def _likelihood(state: State) -> SideLikelihood | None:
    """The judge's newest estimate, for the person's side; a neutral person's is the claimant's."""
    for turn in reversed(state.turns):
        if turn.role == "judge" and "Likelihood" in turn.output:
            side: Side = "claimant" if state.side == "neutral" else state.side
            return SideLikelihood(side=side, **turn.output["Likelihood"])
    return None


def _said(state: State, role: Role, field: str) -> tuple[Statement, ...]:
    turn = state.newest(role)
    return tuple(Statement(**said) for said in turn.output.get(field, ())) if turn else ()


def _strategy(state: State) -> Iterator[Statement]:
    yield from _said(state, "claimant", "LegalElements")
    claimant = state.newest("claimant")
    for plan in claimant.output["EvidencePlan"] if claimant else ():
        yield Statement(text=plan["purpose"], basis=[plan["evidence"]])
    yield from _said(state, "opposing", "DisproofPlan")


def _matrix(state: State) -> Iterator[EvidenceMatrixRow]:
    """Fact by what backs it, then the evidence that backs none."""
    used = {role: _relied_on(state, role) for role in ROLES}

    def row(fact: str | None, backing: str) -> EvidenceMatrixRow:
        named = {backing, fact}
        return EvidenceMatrixRow(
            fact=fact, evidence=backing, relied_on_by=tuple(role for role in ROLES if not named.isdisjoint(used[role]))
        )

    backed: set[str] = set()
    for fact in state.facts.confirmed:
        backed |= {*fact.evidence}
        yield from (row(fact.id, backing) for backing in (*fact.evidence, *fact.timeline))
    yield from (row(None, item.id) for item in state.facts.evidence if item.id not in backed)


def _relied_on(state: State, role: Role) -> set[str]:
    ids: set[str] = set()
    for turn in state.turns:
        if turn.role == role:
            ids.update(_named(turn.output))
    return ids


def _named(output: dict[str, Any]) -> Iterator[str]:
    for _, statement in outputs.statements(output):
        if isinstance(statement["basis"], list):
            yield from statement["basis"]
    yield from (plan["evidence"] for plan in output.get("EvidencePlan", ()))


def _hits(state: State) -> Iterator[ReportedHit]:
    spoken = [(turn.phase, turn.hits, turn.unresolved) for turn in state.turns]
    if state.final_turn:
        spoken.append((phases.FINAL, state.final_turn.hits, state.final_turn.unresolved))
    for phase, hits, unresolved in spoken:
        for hit in dict.fromkeys((*hits, *unresolved)):
            yield ReportedHit(
                phase=phase,
                check=hit.check,
                field=hit.field,
                text=hit.text,
                unresolved=hit in unresolved,
            )


def _no_go(state: State) -> NoGo | None:
    """Why it ended early, and two alternatives: the first settlement option and the first next step."""
    verified, judge = state.newest("verifier", 2), state.newest("judge", 2)
    opposing = state.newest("opposing", 2)
    if not (verified and judge and opposing and gates.skips(state, verified)):
        return None
    return NoGo(
        reasons=(*verified.output["MissingEvidence"], *verified.output["UnsupportedClaims"]),
        alternatives=(opposing.output["SettlementOptions"][0]["text"], judge.output["RecommendedNextSteps"][0]),
    )


def _citations(state: State) -> tuple[Citation, ...]:
    """Of a text that was cited again after the person had supplied it, the newer word counts."""
    turns: Iterator[TurnRecord] = (turn for turn in state.turns if turn.citations)
    return tuple({citation.text: citation for turn in turns for citation in turn.citations or ()}.values())


def _unverified(state: State) -> tuple[str, ...]:
    """What turns and stipulated facts named, and the person has not supplied to this day."""
    supplied, facts = corpus.supplied(state), state.facts
    stipulated = corpus.stipulated(facts.confirmed, facts.disputed, facts.questions)
    named = [text for turn in state.turns for text in turn.unverified]
    named += state.final_turn.unverified if state.final_turn else ()
    named += (text for fact in stipulated for text in corpus.uncited(supplied, fact))
    return tuple(text for text in dict.fromkeys(named) if not supplied.verifies(text))
