"""The content check: every lock can be opened, no talk strands the overseer, every ending can be reached, every
language is complete, and no text that is shown gives a secret away (jury.md, Content).

Each fault is one line that says where it is and what to do about it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Final, get_args

from playmolt_schemas.games.jury import Impact, TopicImpact, VerdictName
from playmolt_schemas.text import trimmed, unstorable

from playmolt_jury.content import content, reachability
from playmolt_jury.content.content import ContentError, JurorFrame, Structure, WitnessFrame
from playmolt_jury.content.material import TOPICS, Found, Juror, Language, Material, Witness
from playmolt_jury.persuasion.stance import MIDDLE, argued, votes_guilty

ITEMS: Final = tuple(f"E{number}" for number in range(1, 16))
WITNESSES: Final = 3
JURORS: Final[Mapping[str, tuple[int, int]]] = {
    "ophiuchus": (65, 65),
    "radical": (60, 100),
    "sympathizer": (0, 40),
    "opportunist": (41, 59),
    "philosopher": (41, 59),
}
"""Who sits, and within what an initial stance has the bias that jury.md gives."""

ROUNDS: Final = 10
TOPICS_A_MESSAGE: Final = 3
MAJORITY: Final = 3
IMPACTS: Final[tuple[Impact, ...]] = get_args(Impact)


def report() -> tuple[list[str], str]:
    """Check the content that comes with this package: its faults, and one line on what was looked at."""
    try:
        structure = content.structure()
        materials = {language: content.load(language) for language in content.LANGUAGES}
    except ContentError as error:
        return list(error.faults), "jury: content cannot be read"
    locked = sum(each.locked for each in structure.evidence)
    nodes = sum(len(each.nodes) for each in structure.witnesses)
    return check(structure, materials), (
        f"jury {content.version()}: {len(structure.evidence)} items ({locked} locked), "
        f"{len(structure.witnesses)} witnesses ({nodes} nodes), {len(structure.jurors)} jurors, "
        f"{len(structure.endings)} endings, in {', '.join(materials)}"
    )


def check(structure: Structure, materials: Mapping[Language, Material]) -> list[str]:
    """Every fault of a case: first of its structure, then of each language."""
    faults = [*_evidence_faults(structure), *_juror_faults(structure.jurors), *_reference_faults(structure)]
    if not faults:
        # What leads nowhere cannot be searched.
        faults += [*_talk_faults(structure), *_ending_faults(structure)]
    for language in content.LANGUAGES:
        if language in materials:
            faults += (f"{language}: {fault}" for fault in _language_faults(structure, materials[language]))
        else:
            faults.append(f"{language}: the whole language is missing; write its files")
    return faults


def _evidence_faults(structure: Structure) -> Iterator[str]:
    if tuple(each.id for each in structure.evidence) != ITEMS:
        yield "evidence must be E1 to E15, each once and in order"
    yield from (f"evidence stem {each} stands twice; rename one" for each in _twice(e.stem for e in structure.evidence))
    for item in structure.evidence:
        topics = [each.topic for each in item.topics]
        if not 1 <= len(topics) <= TOPICS_A_MESSAGE:
            yield f"evidence {item.id} has {len(topics)} topics; give it one to {TOPICS_A_MESSAGE}"
        yield from (f"evidence {item.id}: topic {each} stands twice" for each in _twice(topics))
        yield from (f"evidence {item.id}: {each} is no topic" for each in topics if each not in TOPICS)


def _juror_faults(jurors: tuple[JurorFrame, ...]) -> Iterator[str]:
    if tuple(each.id for each in jurors) != tuple(JURORS):
        yield f"jurors must be {', '.join(JURORS)}, in this order"
    for juror in jurors:
        low, high = JURORS.get(juror.id, (0, 100))
        if not low <= juror.initial_stance <= high:
            yield f"juror {juror.id}: initial_stance {juror.initial_stance} is not its bias; choose {low} to {high}"
        if not re.fullmatch(r"0(\.\d{1,3})?|1(\.0{1,3})?", juror.speaker_power) or Fraction(juror.speaker_power) > 1:
            yield f'juror {juror.id}: speaker_power {juror.speaker_power!r} is no decimal from "0" to "1"'
        yield from (f"juror {juror.id}: {each} is no topic" for each in juror.topic_weights if each not in TOPICS)


def _reference_faults(structure: Structure) -> Iterator[str]:
    if len(structure.witnesses) != WITNESSES:
        yield f"{len(structure.witnesses)} witnesses; there are {WITNESSES}"
    yield from (f"witness {each} stands twice" for each in _twice(w.id for w in structure.witnesses))
    locked = {each.id for each in structure.evidence if each.locked}
    held = {item for witness in structure.witnesses for item in witness.unlocks}
    yield from (f"evidence {each} is locked and no witness unlocks it" for each in sorted(locked - held))
    yield from (f"evidence {each} is unlocked by a witness but not locked" for each in sorted(held - locked))
    people = {each.id for each in structure.witnesses}
    for witness in structure.witnesses:
        yield from (f"witness {witness.id}: {fault}" for fault in _dangling(witness, people))


def _dangling(witness: WitnessFrame, people: Iterable[str]) -> Iterator[str]:
    if witness.threshold < 1:
        yield "threshold must be at least 1"
    links = [("start", witness.start), ("breaks", witness.breaks), ("fallback", witness.fallback)]
    shown = [(f"evidence {item}", each.goto) for item, each in witness.evidence.items()]
    after = [(f"afterwards {item}", each.goto) for item, each in witness.afterwards.items()]
    needed: list[tuple[str, str, Iterable[str], str]] = []
    for name, node in witness.nodes.items():
        shown += [(f"node {name}, evidence {item}", each.goto) for item, each in node.evidence.items()]
        yield from (f"node {name}: choice {each} stands twice" for each in _twice(c.id for c in node.choices))
        for choice in node.choices:
            place = f"node {name}, choice {choice.id}"
            links.append((place, choice.goto))
            needed += [(place, each, ITEMS, "item") for each in choice.when.read]
            needed += [(place, each, witness.nodes, "node") for each in choice.when.visited]
            needed += [(place, each, people, "witness") for each in choice.when.cracked]
    for place, goto in (*links, *shown, *after):
        if goto not in witness.nodes:
            yield f"{place} leads to {goto!r}, which is no node"
    items = {*witness.evidence, *witness.afterwards, *(each for n in witness.nodes.values() for each in n.evidence)}
    needed += [("a reaction", each, ITEMS, "item") for each in sorted(items)]
    yield from (
        f"{place} needs {each!r}, which is no {kind}" for place, each, known, kind in needed if each not in known
    )


def _talk_faults(structure: Structure) -> Iterator[str]:
    world = reachability.opened(structure, reachability.can_break)
    certain = reachability.opened(
        structure, lambda *talk: reachability.can_break(*talk) and reachability.must_break(*talk)
    )
    for witness in structure.witnesses:
        alone = world._replace(broken=world.broken - {witness.id})
        yield from (f"witness {witness.id}: {fault}" for fault in _tree_faults(witness, alone))
        if witness.id not in world.broken:
            yield f"witness {witness.id} can never be broken; give more steps pressure or lower the threshold"
        elif witness.id not in certain.broken:
            yield f"witness {witness.id} can be lost for good; lead every node back, or take less pressure away"
    still_locked = [each.id for each in structure.evidence if each.id not in world.at_hand]
    yield from (f"evidence {each} can never be opened; see its witness" for each in still_locked)


def _tree_faults(witness: WitnessFrame, world: reachability.World) -> Iterator[str]:
    held, broke = reachability.before(witness, world), reachability.afterwards(witness, world)
    broken = world._replace(broken=world.broken | {witness.id})
    offered = {(name, each.id) for name, each in reachability.offered(witness, held, world)}
    offered |= {(name, each.id) for name, each in reachability.offered(witness, broke, broken)}
    mute = reachability.speechless(witness, sorted(held | broke))
    yield from (f"node {each} may leave nothing to say; let it end or always offer a choice" for each in mute)
    yield from (f"no way leads from node {each} to an end" for each in reachability.endless(witness, held | broke))
    for name, node in witness.nodes.items():
        if name not in held | broke | {witness.fallback}:
            yield f"node {name} is never reached; lead to it or take it out"
        elif name in held and (node.afterwards or name in broke):
            yield f"node {name} can be heard before and after the break; keep the two apart"
        elif name in broke and not node.afterwards:
            yield f"node {name} follows the break; mark it afterwards = true"
        unsaid = [each.id for each in node.choices if (name, each.id) not in offered]
        yield from (f"node {name}: choice {each} is never offered; look at its conditions" for each in unsaid)


def _ending_faults(structure: Structure) -> Iterator[str]:
    found = _reachable_depths(structure)
    verdicts = {each for each in get_args(VerdictName) if _reachable_verdict(structure.jurors, each)}
    there = Counter((each.verdict, each.when) for each in structure.endings)
    yield from (f"ending {each} stands twice" for each in _twice(e.id for e in structure.endings))
    for verdict in get_args(VerdictName):
        for when in get_args(Found):
            if there[verdict, when] != 1:
                yield f"{there[verdict, when]} endings for {verdict} and {when}; there must be one"
    for ending in structure.endings:
        if ending.verdict not in verdicts:
            yield f"ending {ending.id} is never reached: ten rounds a juror cannot bring {ending.verdict}"
        if ending.when not in found:
            yield f"ending {ending.id} is never reached: nobody can find out {ending.when}"


def _reachable_depths(structure: Structure) -> set[Found]:
    world = reachability.opened(structure, reachability.can_break)
    found: set[Found] = {"nothing"}
    if world.broken:
        found.add("something")
    if world.at_hand >= {each.id for each in structure.evidence}:
        found.add("everything")
    return found


def _reachable_verdict(jurors: Iterable[JurorFrame], verdict: VerdictName) -> bool:
    """Whether ten rounds of the strongest argument give a majority; what jurors then say to each other is left out."""
    wanted = verdict == "guilty"
    return sum(votes_guilty(_furthest(each, guilty=wanted)) == wanted for each in jurors) >= MAJORITY


def _furthest(juror: JurorFrame, *, guilty: bool) -> int:
    stance = juror.initial_stance
    topics = strongest(juror.topic_weights, guilty=guilty)
    for _ in range(ROUNDS):
        stance = argued(stance, juror.topic_weights, topics).after
    return stance


def strongest(weights: Mapping[str, int], *, guilty: bool) -> tuple[TopicImpact, ...]:
    """The message that moves a juror of these weights the most by rule 1."""

    def moves(said: TopicImpact) -> int:
        return argued(MIDDLE, weights, (said,)).after

    choose = max if guilty else min
    best = [choose((TopicImpact(topic=each, impact=impact) for impact in IMPACTS), key=moves) for each in weights]
    return tuple(sorted(best, key=moves, reverse=guilty)[:TOPICS_A_MESSAGE])


def _language_faults(structure: Structure, material: Material) -> Iterator[str]:
    wanted = {*_ids(structure), *_topic_ids(TOPICS)}
    there = {*_ids(material), *_topic_ids(each.id for each in material.topics)}
    yield from (f"{each} is missing" for each in sorted(wanted - there))
    yield from (f"{each} is in this language only" for each in sorted(there - wanted))
    for place, text in (*_public(material), *_later(material), *_private(material)):
        if not text or text != trimmed(text) or unstorable(text):
            yield f"{place} is empty, not trimmed or not storable"
    for juror in material.jurors:
        if not juror.weakness.trigger_keywords:
            yield f"juror {juror.id} has no trigger_keywords; write some"
        if not juror.personality:
            yield f"juror {juror.id} has no personality; write some words"
    yield from _leaks(material)


def _ids(case: Structure | Material) -> Iterator[str]:
    yield from (f"evidence {each.id}" for each in case.evidence)
    yield from (f"juror {each.id}" for each in case.jurors)
    yield from (f"ending {each.id}" for each in case.endings)
    for witness in case.witnesses:
        yield f"witness {witness.id}"
        for name, node in witness.nodes.items():
            yield f"witness {witness.id}, node {name}"
            yield from (f"witness {witness.id}, node {name}, choice {each.id}" for each in node.choices)


def _topic_ids(topics: Iterable[str]) -> set[str]:
    return {f"topic {each}" for each in topics}


_Placed = Iterator[tuple[str, str]]
"""Texts and where they stand."""


def _public(material: Material) -> _Placed:
    """What an overseer may see from the first minute on, without opening a lock."""
    yield "title", material.title
    yield "dossier, title", material.dossier.title
    yield "dossier", material.dossier.text
    for number, line in enumerate(material.prologue, 1):
        yield f"prologue, line {number}, speaker", line.speaker
        yield f"prologue, line {number}", line.text
    for item in material.evidence:
        if not item.locked:
            yield f"evidence {item.id}, title", item.title
            yield f"evidence {item.id}", item.text
    for witness in material.witnesses:
        yield from _spoken(witness)
    for juror in material.jurors:
        yield f"juror {juror.id}, name", juror.name
        yield from ((f"juror {juror.id}, personality", each) for each in juror.personality)


def _spoken(witness: Witness) -> _Placed:
    yield f"witness {witness.id}, name", witness.name
    for name, node in witness.nodes.items():
        yield f"witness {witness.id}, node {name}", node.text
        yield from ((f"witness {witness.id}, node {name}, choice {each.id}", each.text) for each in node.choices)


def _later(material: Material) -> _Placed:
    """What is shown once a lock is open or the verdict is read."""
    for item in material.evidence:
        if item.locked:
            yield f"evidence {item.id}, title", item.title
            yield f"evidence {item.id}", item.text
    for ending in material.endings:
        yield f"ending {ending.id}, title", ending.title
        yield f"ending {ending.id}", ending.text


def _private(material: Material) -> _Placed:
    """What models alone read."""
    yield from ((f"topic {each.id}", each.text) for each in material.topics)
    for juror in material.jurors:
        yield f"juror {juror.id}, role_prompt", juror.role_prompt
        yield from ((f"juror {juror.id}, trigger_keywords", each) for each in juror.weakness.trigger_keywords)


def _leaks(material: Material) -> Iterator[str]:
    always = [*_words_of(material.jurors), *_names_of_topics()]
    locked = [_locked(each.id, each.stem, each.title) for each in material.evidence if each.locked]
    prompts = [(f"juror {each.id}, role_prompt", each.role_prompt) for each in material.jurors]
    yield from _found_in((*_public(material), *_later(material)), always)
    yield from _found_in((*_public(material), *prompts), locked)


_Secret = tuple[str, re.Pattern[str]]


def _words_of(jurors: Iterable[Juror]) -> Iterator[_Secret]:
    for juror in jurors:
        # Part of a time or of a larger number is no stance.
        yield f"the initial stance of {juror.id}", re.compile(rf"(?<![\d:.,]){juror.initial_stance}(?![\d:]|[.,]\d)")
        for keyword in filter(None, juror.weakness.trigger_keywords):
            yield f"a trigger keyword of {juror.id}", re.compile(re.escape(keyword.casefold()))


def _names_of_topics() -> Iterator[_Secret]:
    yield from (("the id of a topic", re.compile(re.escape(each))) for each in TOPICS)


def _locked(id_: str, stem: str, title: str) -> _Secret:
    named = [rf"(?<![a-z0-9]){id_.casefold()}(?!\d)", *(re.escape(each.casefold()) for each in (stem, title) if each)]
    return f"locked evidence {id_}", re.compile("|".join(named))


def _found_in(texts: Iterable[tuple[str, str]], secrets: list[_Secret]) -> Iterator[str]:
    for place, text in texts:
        folded = text.casefold()
        yield from (f"{place} gives away {what}; reword it" for what, secret in secrets if secret.search(folded))


def _twice(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]
