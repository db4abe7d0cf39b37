"""Faults of the texts of a language: missing texts, texts too long, and texts that reveal a secret."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec
from playmolt_core.game.packs.faults import PackFlaw, Path
from playmolt_core.game.packs.frame import TITLE_CHARS, bounded
from playmolt_schemas.text import trimmed

from playmolt_jury.content.content import CaseText, CaseTexts, JurorText, Structure, TitledText, WitnessText

TEXT_CHARS: Final = 20_000
KEYWORD_CHARS: Final = (3, 60)


class PartialTexts(msgspec.Struct, frozen=True, kw_only=True):
    """The texts of one language; None for a file that could not be read."""

    case: CaseText | None
    evidence: dict[str, TitledText] | None
    jurors: dict[str, JurorText] | None
    witnesses: dict[str, WitnessText | None]

    def texts(self) -> CaseTexts:
        """Raises ValueError unless all files could be read."""
        witnesses = {name: each for name, each in self.witnesses.items() if each}
        if self.case is None or self.evidence is None or self.jurors is None or len(witnesses) < len(self.witnesses):
            raise ValueError("a file of this language could not be read")
        return CaseTexts(case=self.case, evidence=self.evidence, jurors=self.jurors, witnesses=witnesses)


class _Text(NamedTuple):
    file: str
    path: Path
    place: str
    text: str
    most: int = TEXT_CHARS
    block: bool = False
    """Leading and trailing blank lines are not shown."""


class _Secret(NamedTuple):
    what: str
    pattern: re.Pattern[str]


def flaws(language: str, structure: Structure, words: PartialTexts) -> Iterator[PackFlaw]:
    yield from _misfits(language, structure, words)
    public, later, private = (list(each(language, structure, words)) for each in (_public, _later, _private))
    for said in (*public, *later, *private):
        text = trimmed(said.text) if said.block else said.text
        yield from bounded(said.file, said.path, said.place, text, said.most)
    yield from _keyword_flaws(language, words)
    always = [*_of_jurors(structure, words), *_of_topics(structure)]
    locked = list(_of_locked(structure, words))
    prompts = [said for said in private if said.path[-1] == "role_prompt"]
    yield from _leaks((*public, *later), always)
    yield from _leaks((*public, *prompts), locked)


def _misfits(language: str, structure: Structure, words: PartialTexts) -> Iterator[PackFlaw]:
    case = f"{language}/case.toml"
    if words.case:
        yield from _compared(case, ("topics",), "topic", structure.topics, words.case.topics)
        endings = [each.id for each in structure.endings]
        yield from _compared(case, ("endings",), "ending", endings, words.case.endings)
        if not words.case.prologue:
            yield PackFlaw(case, ("prologue",), "missing_text", "the prologue is empty; add a line")
    if words.evidence is not None:
        items = [each.id for each in structure.evidence]
        yield from _compared(f"{language}/evidence.toml", (), "evidence", items, words.evidence)
    if words.jurors is not None:
        jurors = [each.id for each in structure.jurors]
        yield from _compared(f"{language}/jurors.toml", (), "juror", jurors, words.jurors)
    for witness in structure.witnesses:
        said = words.witnesses.get(witness.id)
        if said is None:
            continue
        file = f"{language}/witness_{witness.id}.toml"
        yield from _compared(file, ("nodes",), "node", witness.nodes, said.nodes)
        for name, node in witness.nodes.items():
            if name in said.nodes:
                path: Path = ("nodes", name, "choices")
                choices = [each.id for each in node.choices]
                yield from _compared(file, path, f"node {name}, choice", choices, said.nodes[name].choices)


def _compared(
    file: str, path: Path, kind: str, wanted: Iterable[str], found: Mapping[str, object]
) -> Iterator[PackFlaw]:
    ids = list(wanted)
    for each in ids:
        if each not in found:
            yield PackFlaw(file, path, "missing_text", f"{kind} {each} has no text; add it")
    for each in found:
        if each not in ids:
            message = f"{kind} {each} is not in structure.toml; add it there or remove its text"
            yield PackFlaw(file, (*path, each), "extra_text", message)


def _public(language: str, structure: Structure, words: PartialTexts) -> Iterator[_Text]:
    """Texts that the overseer can see without unlocking anything."""
    file = f"{language}/case.toml"
    if case := words.case:
        yield _Text(file, ("title",), "title", case.title, TITLE_CHARS)
        yield _Text(file, ("dossier", "title"), "dossier, title", case.dossier.title, TITLE_CHARS)
        yield _Text(file, ("dossier", "text"), "dossier", case.dossier.text, block=True)
        for number, line in enumerate(case.prologue):
            place = f"prologue, line {number + 1}"
            yield _Text(file, ("prologue", number, "speaker"), f"{place}, speaker", line.speaker, TITLE_CHARS)
            yield _Text(file, ("prologue", number, "text"), place, line.text)
    yield from _items(language, structure, words, locked=False)
    for witness in structure.witnesses:
        if said := words.witnesses.get(witness.id):
            yield from _spoken(f"{language}/witness_{witness.id}.toml", witness.id, said)
    for id_, juror in (words.jurors or {}).items():
        file = f"{language}/jurors.toml"
        yield _Text(file, (id_, "name"), f"juror {id_}, name", juror.name, TITLE_CHARS)
        for number, each in enumerate(juror.personality):
            yield _Text(file, (id_, "personality", number), f"juror {id_}, personality", each, TITLE_CHARS)


def _items(language: str, structure: Structure, words: PartialTexts, *, locked: bool) -> Iterator[_Text]:
    file, texts = f"{language}/evidence.toml", words.evidence or {}
    for item in structure.evidence:
        if item.locked == locked and item.id in texts:
            said = texts[item.id]
            yield _Text(file, (item.id, "title"), f"evidence {item.id}, title", said.title, TITLE_CHARS)
            yield _Text(file, (item.id, "text"), f"evidence {item.id}", said.text, block=True)


def _spoken(file: str, witness: str, said: WitnessText) -> Iterator[_Text]:
    yield _Text(file, ("name",), f"witness {witness}, name", said.name, TITLE_CHARS)
    for name, node in said.nodes.items():
        place = f"witness {witness}, node {name}"
        yield _Text(file, ("nodes", name, "text"), place, node.text, block=True)
        for choice, text in node.choices.items():
            yield _Text(file, ("nodes", name, "choices", choice), f"{place}, choice {choice}", text)


def _later(language: str, structure: Structure, words: PartialTexts) -> Iterator[_Text]:
    """Texts shown after an unlock or after the verdict."""
    yield from _items(language, structure, words, locked=True)
    file = f"{language}/case.toml"
    for id_, ending in (words.case.endings if words.case else {}).items():
        yield _Text(file, ("endings", id_, "title"), f"ending {id_}, title", ending.title, TITLE_CHARS)
        yield _Text(file, ("endings", id_, "text"), f"ending {id_}", ending.text, block=True)


def _private(language: str, _: Structure, words: PartialTexts) -> Iterator[_Text]:
    """Texts that only models read."""
    for id_, text in (words.case.topics if words.case else {}).items():
        yield _Text(f"{language}/case.toml", ("topics", id_), f"topic {id_}", text, block=True)
    for id_, juror in (words.jurors or {}).items():
        path: Path = (id_, "role_prompt")
        yield _Text(f"{language}/jurors.toml", path, f"juror {id_}, role_prompt", juror.role_prompt, block=True)


def _keyword_flaws(language: str, words: PartialTexts) -> Iterator[PackFlaw]:
    file = f"{language}/jurors.toml"
    for id_, juror in (words.jurors or {}).items():
        if not juror.trigger_keywords:
            yield PackFlaw(
                file, (id_, "trigger_keywords"), "missing_text", f"juror {id_} has no trigger_keywords; add some"
            )
        if not juror.personality:
            yield PackFlaw(
                file, (id_, "personality"), "missing_text", f"juror {id_} has no personality; add some words"
            )
        for number, keyword in enumerate(juror.trigger_keywords):
            path: Path = (id_, "trigger_keywords", number)
            place = f"juror {id_}, trigger_keywords"
            if keyword and len(keyword) < KEYWORD_CHARS[0]:
                message = f"{place}: {keyword!r} has {len(keyword)} characters; the minimum is {KEYWORD_CHARS[0]}"
                yield PackFlaw(file, path, "out_of_bounds", message)
            yield from bounded(file, path, place, keyword, KEYWORD_CHARS[1])


def _of_jurors(structure: Structure, words: PartialTexts) -> Iterator[_Secret]:
    for juror in structure.jurors:
        # A match inside a time or a larger number does not count.
        stance = re.compile(rf"(?<![\d:.,]){juror.initial_stance}(?![\d:]|[.,]\d)")
        yield _Secret(f"the initial stance of {juror.id}", stance)
        said = (words.jurors or {}).get(juror.id)
        for keyword in filter(None, said.trigger_keywords if said else ()):
            yield _Secret(f"a trigger keyword of {juror.id}", re.compile(re.escape(keyword.casefold())))


def _of_topics(structure: Structure) -> Iterator[_Secret]:
    # An id of one word may be an ordinary word of the language.
    for each in structure.topics:
        if "_" in each:
            yield _Secret("the id of a topic", re.compile(re.escape(each)))


def _of_locked(structure: Structure, words: PartialTexts) -> Iterator[_Secret]:
    texts = words.evidence or {}
    for item in structure.evidence:
        if item.locked:
            title = texts[item.id].title if item.id in texts else ""
            named = [re.escape(each.casefold()) for each in (item.stem, title) if each]
            pattern = "|".join((rf"(?<![a-z0-9]){item.id.casefold()}(?!\d)", *named))
            yield _Secret(f"locked evidence {item.id}", re.compile(pattern))


def _leaks(texts: Iterable[_Text], secrets: Collection[_Secret]) -> Iterator[PackFlaw]:
    for said in texts:
        folded = said.text.casefold()
        for secret in secrets:
            if secret.pattern.search(folded):
                message = f"{said.place} reveals {secret.what}; reword it"
                yield PackFlaw(said.file, said.path, "gives_away", message)
