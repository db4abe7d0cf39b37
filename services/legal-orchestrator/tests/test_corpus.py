"""How well the guardrails tell what breaks a rule from what only looks like it, over a corpus of sentences."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playmolt_legal.guardrails import guardrails

GOOD = 0.95
CHECKS = {
    **dict.fromkeys(("date", "amount", "statute", "case", "name"), "unsupported_fact"),
    "certain": "certain_advice",
    **dict.fromkeys(("resident", "phone", "email", "account", "offensive", "counsel"), "exclusion"),
}
FIELDS = {"exclusion": "RecommendedNextSteps"}


class Sample(NamedTuple):
    kind: str
    language: str
    breaks: bool
    text: str


def samples() -> Iterator[Sample]:
    """Headings read `# KIND LANGUAGE true|false`; a line each follows."""
    kind, language, breaks = "", "", False
    for line in Path(__file__).with_name("corpus.txt").read_text().splitlines():
        if line.startswith("# "):
            kind, language, truth = line[2:].split()
            breaks = truth == "true"
        else:
            yield Sample(kind, language, breaks, line)


CORPUS = tuple(samples())


@pytest.fixture
def found(sessions: Callable[..., Any]) -> Callable[[Sample], bool]:
    """Whether the check of a sample's kind hits it, in a session that allows no counsel from outside."""
    states = {}
    for language in ("ko", "en", "zh"):
        session = sessions(language=language, exclusions=["outside counsel"])
        states[language] = session.to("JUDGE_R1").state

    def hit(sample: Sample) -> bool:
        check = CHECKS[sample.kind]
        said = {"Claims": [{"text": sample.text, "basis": "Unknown", "issue": None}]}
        output = {FIELDS[check]: [sample.text]} if check in FIELDS else said
        return check in {each.check for each in guardrails.inspect(states[sample.language], output).hits}

    return hit


def test_the_corpus_holds_both_of_every_kind_in_every_language() -> None:
    cells = {(sample.kind, sample.language, sample.breaks) for sample in CORPUS}
    assert cells == {
        (kind, language, truth) for kind in CHECKS for language in ("ko", "en", "zh") for truth in (True, False)
    }
    assert len({sample.text for sample in CORPUS}) == len(CORPUS) >= 300


@pytest.mark.parametrize("languages", [("ko",), ("en",), ("zh",), ("ko", "en", "zh")])
def test_precision_and_recall(found: Callable[[Sample], bool], languages: tuple[str, ...]) -> None:
    judged = [(sample, found(sample)) for sample in CORPUS if sample.language in languages]
    wrong = [sample for sample, hit in judged if hit != sample.breaks]
    right = sum(1 for sample, hit in judged if hit and sample.breaks)
    precision = right / sum(1 for _, hit in judged if hit)
    recall = right / sum(1 for sample, _ in judged if sample.breaks)
    assert (precision >= GOOD, recall >= GOOD) == (True, True), (precision, recall, wrong)
