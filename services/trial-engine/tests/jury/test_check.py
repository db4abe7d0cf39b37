"""The content check: the shipped case passes, and each way to break it is reported."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from msgspec.structs import replace
from playmolt_jury.content import content
from playmolt_jury.content.check import check, report
from playmolt_jury.content.content import (
    ChoiceFrame,
    ContentError,
    EvidenceFrame,
    JurorFrame,
    NodeFrame,
    Structure,
    WitnessFrame,
)
from playmolt_jury.content.material import (
    Evidence,
    Juror,
    Language,
    Material,
    Reaction,
    TopicImpact,
    Weakness,
    When,
    Witness,
)

Case = Mapping[Language, Material]


@pytest.fixture
def structure() -> Structure:
    return content.structure()


@pytest.fixture
def case() -> Case:
    return {language: content.load(language) for language in content.LANGUAGES}


def altered(parts: tuple[Any, ...], id_: str, **changes: Any) -> tuple[Any, ...]:
    assert any(each.id == id_ for each in parts)
    return tuple(replace(each, **changes) if each.id == id_ else each for each in parts)


def item(structure: Structure, id_: str, **changes: Any) -> Structure:
    return replace(structure, evidence=altered(structure.evidence, id_, **changes))


def juror(structure: Structure, id_: str, **changes: Any) -> Structure:
    return replace(structure, jurors=altered(structure.jurors, id_, **changes))


def witness(structure: Structure, id_: str, **changes: Any) -> Structure:
    return replace(structure, witnesses=altered(structure.witnesses, id_, **changes))


def of(structure: Structure, id_: str) -> WitnessFrame:
    return next(each for each in structure.witnesses if each.id == id_)


def node(structure: Structure, id_: str, name: str, **changes: Any) -> Structure:
    nodes = of(structure, id_).nodes
    return witness(structure, id_, nodes={**nodes, name: replace(nodes.get(name, NodeFrame()), **changes)})


def said(structure: Structure, id_: str, name: str, choice: str, **changes: Any) -> Structure:
    return node(structure, id_, name, choices=altered(of(structure, id_).nodes[name].choices, choice, **changes))


def in_all_choices(structure: Structure, id_: str, change: Callable[[ChoiceFrame], ChoiceFrame]) -> Structure:
    nodes = {
        name: replace(each, choices=tuple(change(choice) for choice in each.choices))
        for name, each in of(structure, id_).nodes.items()
    }
    return witness(structure, id_, nodes=nodes)


# The structure


def test_the_shipped_case_has_no_faults() -> None:
    faults, summary = report()
    assert faults == []
    assert "15 items (7 locked), 3 witnesses" in summary
    assert "5 jurors, 6 endings, in en, zh" in summary
    assert content.version() in summary


EVIDENCE: dict[str, tuple[Callable[[Structure], Structure], str]] = {
    "one too few": (
        lambda s: replace(s, evidence=s.evidence[:-1]),
        "evidence must be E1 to E15, each once and in order",
    ),
    "a stem twice": (lambda s: item(s, "E2", stem="system_log"), "evidence stem system_log stands twice; rename one"),
    "no topic": (lambda s: item(s, "E2", topics=()), "evidence E2 has 0 topics; give it one to 3"),
    "an unknown topic": (
        lambda s: item(s, "E2", topics=(TopicImpact(topic="weather", impact="neutral"),)),
        "evidence E2: weather is no topic",
    ),
    "a topic twice": (
        lambda s: item(s, "E2", topics=(TopicImpact(topic="ai_autonomy", impact="neutral"),) * 2),
        "evidence E2: topic ai_autonomy stands twice",
    ),
    "a lock nobody opens": (lambda s: item(s, "E1", locked=True), "evidence E1 is locked and no witness unlocks it"),
    "a key without a lock": (
        lambda s: item(s, "E9", locked=False),
        "evidence E9 is unlocked by a witness but not locked",
    ),
}

JURORS: dict[str, tuple[Callable[[Structure], Structure], str]] = {
    "one too few": (
        lambda s: replace(s, jurors=s.jurors[:-1]),
        "jurors must be ophiuchus, radical, sympathizer, opportunist, philosopher, in this order",
    ),
    "another bias": (
        lambda s: juror(s, "ophiuchus", initial_stance=64),
        "juror ophiuchus: initial_stance 64 is not its bias; choose 65 to 65",
    ),
    "too much power": (
        lambda s: juror(s, "radical", speaker_power="1.1"),
        'juror radical: speaker_power \'1.1\' is no decimal from "0" to "1"',
    ),
    "an unknown weight": (
        lambda s: juror(s, "radical", topic_weights={"weather": 1}),
        "juror radical: weather is no topic",
    ),
}

REFERENCES: dict[str, tuple[Callable[[Structure], Structure], str]] = {
    "two witnesses": (lambda s: replace(s, witnesses=s.witnesses[:-1]), "2 witnesses; there are 3"),
    "no start": (lambda s: witness(s, "osei", start="attic"), "witness osei: start leads to 'attic', which is no node"),
    "no fallback": (
        lambda s: witness(s, "osei", fallback="attic"),
        "witness osei: fallback leads to 'attic', which is no node",
    ),
    "a choice to nowhere": (
        lambda s: said(s, "osei", "bay", "log", goto="attic"),
        "witness osei: node bay, choice log leads to 'attic', which is no node",
    ),
    "a reaction to nowhere": (
        lambda s: witness(s, "osei", evidence={"E1": Reaction(goto="attic")}),
        "witness osei: evidence E1 leads to 'attic', which is no node",
    ),
    "a reaction to nothing": (
        lambda s: witness(s, "osei", evidence={"E77": Reaction(goto="bay")}),
        "witness osei: a reaction needs 'E77', which is no item",
    ),
    "a choice twice": (
        lambda s: node(s, "osei", "bay", choices=of(s, "osei").nodes["bay"].choices * 2),
        "witness osei: node bay: choice log stands twice",
    ),
    "a condition on no item": (
        lambda s: said(s, "osei", "bay", "log", when=When(read=("E77",))),
        "witness osei: node bay, choice log needs 'E77', which is no item",
    ),
    "a condition on nobody": (
        lambda s: said(s, "osei", "bay", "log", when=When(cracked=("blake",))),
        "witness osei: node bay, choice log needs 'blake', which is no witness",
    ),
    "a condition on no node": (
        lambda s: said(s, "osei", "bay", "log", when=When(visited=("attic",))),
        "witness osei: node bay, choice log needs 'attic', which is no node",
    ),
    "no threshold": (lambda s: witness(s, "osei", threshold=0), "witness osei: threshold must be at least 1"),
}

TALKS: dict[str, tuple[Callable[[Structure], Structure], str]] = {
    "a witness too strong": (
        lambda s: witness(s, "osei", threshold=1000),
        "witness osei can never be broken; give more steps pressure or lower the threshold",
    ),
    "so a lock stays shut": (
        lambda s: witness(s, "osei", threshold=1000),
        "evidence E12 can never be opened; see its witness",
    ),
    "and so the whole truth": (
        lambda s: witness(s, "osei", threshold=1000),
        "ending guilty_everything is never reached: nobody can find out everything",
    ),
    "more taken than given": (
        lambda s: said(s, "osei", "bay", "leave", pressure=-500),
        "witness osei can be lost for good; lead every node back, or take less pressure away",
    ),
    "no way back": (
        lambda s: witness(node(s, "osei", "home", choices=()), "osei", evidence={}),
        "witness osei can be lost for good; lead every node back, or take less pressure away",
    ),
    "an empty node": (
        lambda s: node(s, "osei", "hero", choices=()),
        "witness osei: node hero may leave nothing to say; let it end or always offer a choice",
    ),
    "only conditional words": (
        lambda s: said(s, "osei", "hero", "up", when=When(read=("E1",))),
        "witness osei: node hero may leave nothing to say; let it end or always offer a choice",
    ),
    "a circle": (
        lambda s: said(s, "osei", "hero", "up", goto="hero"),
        "witness osei: no way leads from node hero to an end",
    ),
    "an island": (
        lambda s: node(s, "osei", "attic", ends=True),
        "witness osei: node attic is never reached; lead to it or take it out",
    ),
    "an impossible condition": (
        lambda s: said(s, "osei", "bay", "log", when=When(cracked=("osei",))),
        "witness osei: node bay: choice log is never offered; look at its conditions",
    ),
    "a confession taken back": (
        lambda s: said(s, "osei", "why_keep", "go", goto="home"),
        "witness osei: node home can be heard before and after the break; keep the two apart",
    ),
    "an unmarked confession": (
        lambda s: node(s, "gu_lan", "mandarin", afterwards=False),
        "witness gu_lan: node mandarin follows the break; mark it afterwards = true",
    ),
}

ENDINGS: dict[str, tuple[Callable[[Structure], Structure], str]] = {
    "one too few": (
        lambda s: replace(s, endings=s.endings[1:]),
        "0 endings for guilty and everything; there must be one",
    ),
    "one twice": (
        lambda s: replace(s, endings=(*s.endings, s.endings[0])),
        "ending guilty_everything stands twice",
    ),
    "jurors who cannot acquit": (
        lambda s: replace(s, jurors=tuple(replace(each, topic_weights={}) for each in s.jurors)),
        "ending not_guilty_nothing is never reached: ten rounds a juror cannot bring not_guilty",
    ),
}

BROKEN = {
    f"{kind}: {name}": way
    for kind, ways in (
        ("evidence", EVIDENCE),
        ("jurors", JURORS),
        ("references", REFERENCES),
        ("talks", TALKS),
        ("endings", ENDINGS),
    )
    for name, way in ways.items()
}


@pytest.fixture(scope="module")
def faults_of_no_words() -> list[str]:
    return check(content.structure(), {})


@pytest.mark.parametrize("way", BROKEN)
def test_a_broken_structure_is_reported(structure: Structure, faults_of_no_words: list[str], way: str) -> None:
    break_, fault = BROKEN[way]
    assert fault not in faults_of_no_words
    assert fault in check(break_(structure), {})


def test_what_leads_nowhere_is_reported_before_anything_is_searched(structure: Structure, case: Case) -> None:
    faults = check(witness(structure, "osei", breaks="attic"), case)
    assert faults == ["witness osei: breaks leads to 'attic', which is no node"]


def test_two_witnesses_who_wait_for_each_other_never_break(structure: Structure, case: Case) -> None:
    def only_after(other: str, broken: Structure, id_: str) -> Structure:
        waits = in_all_choices(broken, id_, lambda each: replace(each, pressure=0) if each.pressure else each)
        return witness(waits, id_, evidence={other: Reaction(goto=of(broken, id_).start, pressure=500)})

    deadlock = only_after("E9", only_after("E12", structure, "lin_xia"), "osei")
    faults = check(deadlock, case)
    assert {
        "evidence E9 can never be opened; see its witness",
        "evidence E12 can never be opened; see its witness",
    } <= {*faults}
    one_way = only_after("E9", structure, "osei")
    assert not any("can never be opened" in fault for fault in check(one_way, case))


def test_pressure_that_needs_pressure_first_is_not_counted_on(structure: Structure, case: Case) -> None:
    def gated(each: ChoiceFrame) -> ChoiceFrame:
        return replace(each, when=replace(each.when, pressure=40)) if each.pressure > 0 else each

    hard = witness(in_all_choices(structure, "lin_xia", gated), "lin_xia", evidence={})
    assert "witness lin_xia can never be broken; give more steps pressure or lower the threshold" in check(hard, case)


def test_every_single_way_out_matters(structure: Structure) -> None:
    """Taking all choices away from any node that has some, and does not end, is reported."""
    nodes = of(structure, "gu_lan").nodes
    for name in (name for name, each in nodes.items() if each.choices and not each.ends):
        faults = check(node(structure, "gu_lan", name, choices=()), {})
        assert any(fault.startswith(f"witness gu_lan: node {name} may leave nothing to say") for fault in faults)


# The words of a language


def in_english(case: Case, **changes: Any) -> Case:
    return {**case, "en": replace(case["en"], **changes)}


def english_item(case: Case, id_: str, **changes: Any) -> Case:
    parts: tuple[Evidence, ...] = altered(case["en"].evidence, id_, **changes)
    return in_english(case, evidence=parts)


def english_juror(case: Case, id_: str, **changes: Any) -> Case:
    parts: tuple[Juror, ...] = altered(case["en"].jurors, id_, **changes)
    return in_english(case, jurors=parts)


def english_node(case: Case, id_: str, name: str, **changes: Any) -> Case:
    (frame,) = (each for each in case["en"].witnesses if each.id == id_)
    nodes = {**frame.nodes, name: replace(frame.nodes[name], **changes)}
    parts: tuple[Witness, ...] = altered(case["en"].witnesses, id_, nodes=nodes)
    return in_english(case, witnesses=parts)


WORDS: dict[str, tuple[Callable[[Case], Case], str]] = {
    "a whole language missing": (
        lambda c: {"en": c["en"]},
        "zh: the whole language is missing; write its files",
    ),
    "an item missing": (lambda c: in_english(c, evidence=c["en"].evidence[:-1]), "en: evidence E15 is missing"),
    "a witness missing": (lambda c: in_english(c, witnesses=c["en"].witnesses[1:]), "en: witness lin_xia is missing"),
    "a topic missing": (
        lambda c: in_english(c, topics=c["en"].topics[1:]),
        "en: topic technical_responsibility is missing",
    ),
    "an ending missing": (
        lambda c: in_english(c, endings=c["en"].endings[1:]),
        "en: ending guilty_everything is missing",
    ),
    "a choice missing": (
        lambda c: english_node(c, "osei", "hero", choices=()),
        "en: witness osei, node hero, choice up is missing",
    ),
    "a juror too many": (
        lambda c: in_english(c, jurors=(*c["en"].jurors, replace(c["en"].jurors[0], id="cynic"))),
        "en: juror cynic is in this language only",
    ),
    "an empty text": (
        lambda c: english_item(c, "E3", text=""),
        "en: evidence E3 is empty, not trimmed or not storable",
    ),
    "an untrimmed title": (
        lambda c: english_item(c, "E9", title="Keypad "),
        "en: evidence E9, title is empty, not trimmed or not storable",
    ),
    "a text nobody can store": (
        lambda c: english_node(c, "osei", "hero", text="nul \x00"),
        "en: witness osei, node hero is empty, not trimmed or not storable",
    ),
    "no keywords": (
        lambda c: english_juror(c, "radical", weakness=Weakness(trigger_keywords=())),
        "en: juror radical has no trigger_keywords; write some",
    ),
    "an empty keyword": (
        lambda c: english_juror(c, "radical", weakness=Weakness(trigger_keywords=("",))),
        "en: juror radical, trigger_keywords is empty, not trimmed or not storable",
    ),
    "no personality": (
        lambda c: english_juror(c, "radical", personality=()),
        "en: juror radical has no personality; write some words",
    ),
    "a stance told": (
        lambda c: english_juror(c, "ophiuchus", personality=("about 65 sure",)),
        "en: juror ophiuchus, personality gives away the initial stance of ophiuchus; reword it",
    ),
    "a stance in a locked item": (
        lambda c: english_item(c, "E15", text="He was at 78."),
        "en: evidence E15 gives away the initial stance of radical; reword it",
    ),
    "a keyword told": (
        lambda c: english_node(c, "osei", "hero", text="They want a Scapegoat."),
        "en: witness osei, node hero gives away a trigger keyword of radical; reword it",
    ),
    "a topic's id told": (
        lambda c: in_english(c, title="On moral_ambiguity"),
        "en: title gives away the id of a topic; reword it",
    ),
    "a locked id told": (
        lambda c: english_item(c, "E1", text="See also E15."),
        "en: evidence E1 gives away locked evidence E15; reword it",
    ),
    "a locked stem told": (
        lambda c: english_node(c, "gu_lan", "door", text="Ask for two_arms."),
        "en: witness gu_lan, node door gives away locked evidence E14; reword it",
    ),
    "a locked title in a prompt": (
        lambda c: english_juror(
            c, "radical", role_prompt="You know clip 4471, Nightingale, clip 4471, with annotation."
        ),
        "en: juror radical, role_prompt gives away locked evidence E11; reword it",
    ),
}


@pytest.mark.parametrize("way", WORDS)
def test_broken_words_are_reported(structure: Structure, case: Case, way: str) -> None:
    break_, fault = WORDS[way]
    assert fault in check(structure, break_(case))


@pytest.mark.parametrize("text", ["It was 02:65.", "165 pages", "6.65 metres", "E150 is a dye", "Grade 65:2"])
def test_what_only_looks_like_a_secret_may_be_told(structure: Structure, case: Case, text: str) -> None:
    assert check(structure, english_item(case, "E1", text=text)) == []


def test_an_empty_locked_title_is_one_fault(structure: Structure, case: Case) -> None:
    assert check(structure, english_item(case, "E9", title="")) == [
        "en: evidence E9, title is empty, not trimmed or not storable"
    ]


def test_files_that_cannot_be_read_are_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Language) -> Material:
        raise ContentError(["zh/case.toml: Expected '=' after a key", "zh: evidence E4 has no words; write them"])

    monkeypatch.setattr(content, "load", refuse)
    faults, summary = report()
    assert faults == ["zh/case.toml: Expected '=' after a key", "zh: evidence E4 has no words; write them"]
    assert summary == "jury: content cannot be read"


def test_the_helpers_above_change_one_thing_only(structure: Structure, case: Case) -> None:
    same_item: EvidenceFrame = structure.evidence[0]
    same_juror: JurorFrame = structure.jurors[0]
    assert item(structure, "E1", stem=same_item.stem) == structure
    assert juror(structure, "ophiuchus", initial_stance=same_juror.initial_stance) == structure
    assert said(structure, "osei", "bay", "log", goto="log") == structure
    assert english_item(case, "E1") == case
