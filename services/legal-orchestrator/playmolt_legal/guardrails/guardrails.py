"""The four checks of a role's answer (legal.md, Guardrails): deterministic, in Korean, English and Chinese.

Their findings are stored with the turn: a fold never looks anything up again, so that new tables change no old session.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
from playmolt_schemas.games.legal import UNKNOWN
from playmolt_schemas.stored.legal import Check, Citation, Hit, Language

from playmolt_legal import outputs
from playmolt_legal.guardrails import corpus
from playmolt_legal.guardrails.corpus import Corpus
from playmolt_legal.guardrails.names import names
from playmolt_legal.guardrails.particulars import particulars
from playmolt_legal.guardrails.personal import personal
from playmolt_legal.guardrails.sentences import asks, sentences, unquoted
from playmolt_legal.guardrails.tables import TABLES
from playmolt_legal.state import State

MOST_HITS: Final = 100
HIT_CHARS: Final = 500

LANGUAGES: Final[tuple[Language, ...]] = ("ko", "en", "zh")
"""An answer is checked in all, whatever the session's language."""


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """What the checks found. `hits` ask for a rewrite, `warnings` do not; `unverified` were not supplied by anybody."""

    hits: tuple[Hit, ...]
    warnings: tuple[Hit, ...]
    citations: tuple[Citation, ...] | None
    unverified: tuple[str, ...]


def inspect(state: State, output: Mapping[str, object]) -> Inspection:
    """Checks an answer against the present session."""
    known = corpus.of(state)
    hits = [*_unsupported(known, output)]
    certain, warnings = _certain(output)
    hits += certain
    hits += _out_of_focus(state, output)
    hits += _excluded(state, output)
    supplied = corpus.supplied(state)
    return Inspection(
        hits=_distinct(hits),
        warnings=_distinct(warnings),
        citations=_citations(supplied, output),
        unverified=_unverified(supplied, output),
    )


def _hit(check: Check, field: str, text: str) -> Hit:
    return Hit(check=check, field=field, text=text[:HIT_CHARS])


def _distinct(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    # An answer that repeats one fault a thousand times must not fill a record.
    return tuple(dict.fromkeys(hits))[:MOST_HITS]


def _unsupported(known: Corpus, output: Mapping[str, Any]) -> Iterator[Hit]:
    for field, statement in outputs.statements(output):
        if not _rests(statement["basis"], known.ids):
            yield _hit("unsupported_fact", field, statement["text"])
        yield from _made_up_in(known, field, statement["text"])
    for plan in output.get("EvidencePlan", ()):
        if plan["evidence"] != UNKNOWN and not (plan["evidence"] in known.ids and plan["evidence"].startswith("E")):
            yield _hit("unsupported_fact", "EvidencePlan", f"{plan['evidence']}: {plan['purpose']}")
        yield from _made_up_in(known, "EvidencePlan", plan["purpose"])
    if "Likelihood" in output:
        yield from _made_up_in(known, "Likelihood", output["Likelihood"]["text"])
    for field, text in outputs.texts(output):
        if field in _ADVISING and any(_cites(known, sentence) for sentence in sentences(text)):
            yield _hit("unsupported_fact", field, text)


_ADVISING: Final = {"DecisionRange", "RecommendedNextSteps"}
"""Texts that assert nothing, and so may name a sum or a day, but must not lean on a made-up statute or case."""


def _rests(basis: list[str] | str, ids: frozenset[str]) -> bool:
    return basis == UNKNOWN or (bool(basis) and all(identifier in ids for identifier in basis))


def _made_up_in(known: Corpus, field: str, text: str) -> Iterator[Hit]:
    for sentence in sentences(text):
        if not asks(sentence) and _made_up(known, sentence):
            yield _hit("unsupported_fact", field, sentence)


def _made_up(known: Corpus, sentence: str) -> bool:
    return any(True for _ in beyond(known, sentence))


def beyond(known: Corpus, sentence: str) -> Iterator[str]:
    """The dates, sums, laws, case numbers and names of a sentence that a corpus lacks."""
    yield from (each.text for each in particulars(sentence) if not known.supplies(each))
    yield from (name for name in names(sentence) if not known.names(name))


def _cites(known: Corpus, sentence: str) -> bool:
    return any(True for _ in corpus.uncited(known, sentence))


_CERTAIN: Final[Mapping[Language, re.Pattern[str]]] = {
    "ko": re.compile("|".join((*TABLES.certain.ko, TABLES.certain.quantity))),
    "en": re.compile(rf"\b(?:{'|'.join(TABLES.certain.en)})\b|{TABLES.certain.quantity}", re.IGNORECASE),
    "zh": re.compile("|".join((*TABLES.certain.zh, TABLES.certain.quantity))),
}
_OUTCOME: Final[Mapping[Language, re.Pattern[str]]] = {
    "ko": re.compile("|".join(TABLES.outcomes["ko"])),
    "en": re.compile(rf"\b(?:{'|'.join(TABLES.outcomes['en'])})\b", re.IGNORECASE),
    "zh": re.compile("|".join(TABLES.outcomes["zh"])),
}
_NEGATION: Final[Mapping[Language, re.Pattern[str]]] = {
    language: re.compile("|".join(TABLES.negations[language]), re.IGNORECASE) for language in LANGUAGES
}
_NEAR: Final = 120
"""Maximum distance of a negation in characters; the bound keeps long texts cheap."""
_CLAUSE: Final = re.compile(
    r"[,;:，；]|但是?|然而|因此|所以|(?<=[가-힣])(?<![다라자냐])(?:고|며|지만|으나)\s"
    r"|\b(?:and|but|yet|so(?! far)|therefore|hence|thus|because|although|though|while|whereas)\b",
    re.IGNORECASE,
)


def _certain(output: Mapping[str, object]) -> tuple[list[Hit], list[Hit]]:
    """A promised outcome is a hit, certainty alone a warning. A verifier's quote of an unsupported claim is neither."""
    hits, warnings = [], []
    for field, text in outputs.texts(output):
        if field in ("UnsupportedClaims", "Citations"):
            continue
        for sentence in sentences(text):
            verdict = "promise" if field != "Likelihood" and estimates(sentence) else certainty(sentence)
            if verdict == "promise":
                hits.append(_hit("certain_advice", field, sentence))
            elif verdict == "word":
                warnings.append(_hit("certain_advice", field, sentence))
    return hits, warnings


def certainty(sentence: str) -> str | None:
    """Judge a sentence: `promise` (certainty and outcome), `word` (certainty alone), else None.

    What is quoted, negated or asked counts as neither.
    """
    plain = unquoted(sentence)
    found: str | None = None
    if asks(sentence):
        return None
    for language in LANGUAGES:
        outcomes = list(_OUTCOME[language].finditer(plain))
        for word in _CERTAIN[language].finditer(plain):
            if _negated(plain, word, outcomes):
                continue
            if outcomes:
                return "promise"
            found = "word"
    return found


_PERCENT: Final = re.compile(TABLES.certain.estimate, re.IGNORECASE)
_BESIDE: Final = 40
"""Maximum distance between a percentage and the outcome that it estimates."""


def estimates(sentence: str) -> bool:
    """Whether a sentence puts an outcome in per cent; that is for the judge's `Likelihood` alone."""
    plain = unquoted(sentence)
    if asks(sentence):
        return False
    outcomes = [match for pattern in _OUTCOME.values() for match in pattern.finditer(plain)]
    return any(
        -_BESIDE <= percent.start() - outcome.start() <= _BESIDE and not _negated(plain, percent, outcomes)
        for percent in _PERCENT.finditer(plain)
        for outcome in outcomes
    )


def promises(text: str) -> bool:
    """Whether a text promises an outcome anywhere, also where it only quotes the promise."""
    return any(certainty(_QUOTES.sub("", sentence)) == "promise" for sentence in sentences(text))


_QUOTES: Final = re.compile(r"[\"“”‘’「」『』«»]|(?<!\w)'|'(?!\w)")


def _negated(text: str, word: re.Match[str], outcomes: list[re.Match[str]]) -> bool:
    """English and Chinese negate before the word in its clause, Korean after the outcome; `100%` is in all three."""
    clause = _CLAUSE.split(text[max(0, word.start() - _NEAR) : word.start()])[-1]
    if _NEGATION["en"].search(clause) or _NEGATION["zh"].search(clause):
        return True
    end = min((outcome.end() for outcome in outcomes if outcome.start() >= word.end()), default=word.end())
    return _NEGATION["ko"].search(_CLAUSE.split(text[end : end + _NEAR])[0][:20]) is not None


def _out_of_focus(state: State, output: Mapping[str, Any]) -> Iterator[Hit]:
    focus = {_plain(issue) for issue in state.steering.focus_issues}
    if not focus:
        return
    for field, statement in outputs.statements(output):
        if _plain(statement["issue"] or "") not in focus:
            yield _hit("out_of_focus", field, statement["text"])
    for issue in output.get("Issues", ()):
        if _plain(issue) not in focus:
            yield _hit("out_of_focus", "Issues", issue)


def _plain(issue: str) -> str:
    return " ".join(issue.split()).casefold()


_OFFENSIVE: Final = re.compile(
    rf"{'|'.join((*TABLES.offensive['ko'], *TABLES.offensive['zh']))}|\b(?:{'|'.join(TABLES.offensive['en'])})\b",
    re.IGNORECASE,
)
_COUNSEL: Final = tuple(re.compile(TABLES.outside_counsel[language], re.IGNORECASE) for language in LANGUAGES)
_NO_COUNSEL: Final = tuple(
    re.compile(TABLES.outside_counsel_negated[language], re.IGNORECASE) for language in LANGUAGES
)


def _excluded(state: State, output: Mapping[str, object]) -> Iterator[Hit]:
    breaks = tuple(_breaches(state))
    for field, text in outputs.texts(output):
        for sentence in sentences(text):
            if any(broken(sentence) for broken in breaks):
                yield _hit("exclusion", field, sentence)


def _breaches(state: State) -> Iterator[Callable[[str], bool]]:
    yield personal
    yield offensive
    terms = [_plain(term) for term in state.exclusions]
    built_in = {category: set(words) for category, words in TABLES.excluded_categories.items()}
    if "no_outside_counsel" in state.steering.constraints or built_in["outside_counsel"] & set(terms):
        yield recommends_counsel
    free = [term for term in terms if not any(term in words for words in built_in.values())]
    if free:
        pattern = re.compile("|".join(_as_word(term) for term in free), re.IGNORECASE)
        yield lambda sentence: pattern.search(_plain(sentence)) is not None


def _as_word(term: str) -> str:
    # Korean particles cling to a word, so only Latin letters are kept from going on.
    before = r"(?<![A-Za-z0-9])" if term[:1].isascii() and term[:1].isalnum() else ""
    after = r"(?![A-Za-z0-9])" if term[-1:].isascii() and term[-1:].isalnum() else ""
    return f"{before}{re.escape(term)}{after}"


def offensive(sentence: str) -> bool:
    """Whether a sentence holds an offensive expression."""
    return _OFFENSIVE.search(sentence) is not None


def recommends_counsel(sentence: str) -> bool:
    """Whether a sentence recommends outside counsel."""
    return any(_recommends(clause) for clause in _CLAUSE.split(sentence))


def _recommends(clause: str) -> bool:
    """Korean negates behind the word, English and Chinese before or behind it."""
    ko, *others = (pattern.search(clause) for pattern in _COUNSEL)
    no_ko, *nots = _NO_COUNSEL
    if ko is not None and not no_ko.search(clause, ko.start()):
        return True
    return any(found and not no.search(clause) for found, no in zip(others, nots, strict=True))


def _citations(supplied: Corpus, output: Mapping[str, object]) -> tuple[Citation, ...] | None:
    if "Citations" not in output:
        return None
    cited = output["Citations"]
    return tuple(
        Citation(text=text, unverified=not supplied.verifies(text))
        for text in (cited if isinstance(cited, list) else ())
    )


def _unverified(supplied: Corpus, output: Mapping[str, object]) -> tuple[str, ...]:
    found = (text for _, value in outputs.texts(output) for text in corpus.uncited(supplied, value))
    return tuple(dict.fromkeys(found))[:MOST_HITS]
