"""Faults of a structure: locks that never open, dead ends in talks, unreachable endings, values out of bounds."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple, get_args

from playmolt_core.game.packs.faults import FaultCode, PackFlaw, Path
from playmolt_schemas.stored.jury import Impact, TopicImpact, VerdictName

from playmolt_jury.content import reachability
from playmolt_jury.content.content import JurorFrame, Structure, WitnessFrame
from playmolt_jury.content.material import Found
from playmolt_jury.persuasion.repetition import WORN
from playmolt_jury.persuasion.stance import MESSAGE_CAP, MIDDLE, argued, moved, votes_guilty
from playmolt_jury.replies import CHAT_HISTORY

TOPICS_A_MESSAGE: Final = 3
JURORS: Final = (3, 5, 7, 9)
WEIGHT_MOST: Final = 10
_IMPACTS: Final[tuple[Impact, ...]] = get_args(Impact)
_VERDICTS: Final[tuple[VerdictName, ...]] = get_args(VerdictName)
_ID: Final = re.compile(r"[a-z0-9_-]{1,40}")
_TOPIC: Final = re.compile(r"[a-z_]{2,40}")
_POWER: Final = re.compile(r"0(\.\d{1,3})?|1(\.0{1,3})?")
PRESSURE_MOST: Final = 10_000
_BOUNDS: Final = {"rounds": (1, 20), "notes": (0, 5), "deliberation": (1, 8)}


class _StructureFlaw(NamedTuple):
    path: Path
    code: FaultCode
    message: str


def flaws(file: str, structure: Structure) -> Iterator[PackFlaw]:
    found = [*_bounds(structure), *_evidence(structure), *_jurors(structure), *_endings(structure)]
    links = list(_links(structure))
    # The graph search needs valid links.
    proofs = [] if links else [*_talks(structure), *_reached(structure)]
    yield from (PackFlaw(file, *each) for each in (*found, *links, *proofs))


def strongest(weights: dict[str, int], *, guilty: bool) -> tuple[TopicImpact, ...]:
    """The message with the largest effect on a juror of these weights by rule 1."""
    best = [_best(weights, topic, guilty=guilty) for topic in weights]
    return tuple(sorted(best, key=lambda said: _gain(weights, said), reverse=guilty)[:TOPICS_A_MESSAGE])


def _bounds(structure: Structure) -> Iterator[_StructureFlaw]:
    yield from _many(("topics",), "topics", len(structure.topics), 2, 12)
    for place, topic in enumerate(structure.topics):
        if not _TOPIC.fullmatch(topic):
            yield _StructureFlaw(("topics", place), "out_of_bounds", f"topic {topic!r} must be 2 to 40 of a-z and _")
    yield from _repeated(("topics",), "topic", structure.topics)
    for name, (least, most) in _BOUNDS.items():
        value = getattr(structure.rules, name)
        if not least <= value <= most:
            yield _StructureFlaw(("rules", name), "out_of_bounds", f"{name} is {value}; choose {least} to {most}")
    yield from _many(("evidence",), "items of evidence", len(structure.evidence), 1, 40)
    yield from _many(("witnesses",), "witnesses", len(structure.witnesses), 0, 8)
    yield from _many(("endings",), "endings", len(structure.endings), 2, 12)
    for place, witness in enumerate(structure.witnesses):
        yield from _many(("witnesses", place, "nodes"), f"nodes of {witness.id}", len(witness.nodes), 1, 80)
        for name, node in witness.nodes.items():
            path: Path = ("witnesses", place, "nodes", name)
            yield from _named(path, "node", name)
            if node.choices:
                yield from _many((*path, "choices"), f"choices of {name}", len(node.choices), 1, 12)
            for number, choice in enumerate(node.choices):
                yield from _named((*path, "choices", number, "id"), "choice", choice.id)


def _evidence(structure: Structure) -> Iterator[_StructureFlaw]:
    locked = sum(each.locked for each in structure.evidence)
    if structure.evidence and locked == len(structure.evidence):
        yield _StructureFlaw(("evidence",), "out_of_bounds", "every item is locked; unlock at least one")
    yield from _repeated(("evidence",), "evidence stem", [each.stem for each in structure.evidence], "stem")
    held = {item for witness in structure.witnesses for item in witness.unlocks}
    for place, item in enumerate(structure.evidence):
        path: Path = ("evidence", place)
        if item.id != f"E{place + 1}":
            yield _StructureFlaw(
                (*path, "id"), "out_of_bounds", f"evidence {item.id} is item {place + 1}; call it E{place + 1}"
            )
        if not re.fullmatch(r"[\w-]{1,64}", item.stem):
            yield _StructureFlaw(
                (*path, "stem"), "out_of_bounds", f"evidence {item.id}: stem must be 1 to 64 letters and digits"
            )
        if item.stem == CHAT_HISTORY or re.fullmatch(r"[Ee]\d+", item.stem):
            message = f"evidence {item.id}: the stem {item.stem} is reserved; choose another stem"
            yield _StructureFlaw((*path, "stem"), "bad_reference", message)
        topics = [each.topic for each in item.topics]
        if not 1 <= len(topics) <= TOPICS_A_MESSAGE:
            yield _StructureFlaw(
                (*path, "topics"), "out_of_bounds",
                f"evidence {item.id} has {len(topics)} topics; give it one to {TOPICS_A_MESSAGE}",
            )  # fmt: skip
        yield from _repeated((*path, "topics"), f"evidence {item.id}: topic", topics)
        for number, topic in enumerate(topics):
            if topic not in structure.topics:
                yield _StructureFlaw(
                    (*path, "topics", number), "bad_reference", f"evidence {item.id}: unknown topic {topic}"
                )
        if item.locked and item.id not in held:
            yield _StructureFlaw(path, "never_opens", f"evidence {item.id} is locked, but no witness unlocks it")


def _jurors(structure: Structure) -> Iterator[_StructureFlaw]:
    if len(structure.jurors) not in JURORS:
        wanted = ", ".join(map(str, JURORS))
        yield _StructureFlaw(
            ("jurors",), "out_of_bounds", f"{len(structure.jurors)} jurors; there must be one of {wanted}"
        )
    yield from _repeated(("jurors",), "juror", [each.id for each in structure.jurors], "id")
    for place, juror in enumerate(structure.jurors):
        path: Path = ("jurors", place)
        yield from _named((*path, "id"), "juror", juror.id)
        if not 0 <= juror.initial_stance <= 100:
            yield _StructureFlaw(
                (*path, "initial_stance"), "out_of_bounds",
                f"juror {juror.id}: initial_stance {juror.initial_stance}; choose 0 to 100",
            )  # fmt: skip
        if not _POWER.fullmatch(juror.speaker_power):
            yield _StructureFlaw(
                (*path, "speaker_power"), "out_of_bounds",
                f'juror {juror.id}: speaker_power {juror.speaker_power!r} must be a decimal from "0" to "1"',
            )  # fmt: skip
        for topic, weight in juror.topic_weights.items():
            at: Path = (*path, "topic_weights", topic)
            if topic not in structure.topics:
                yield _StructureFlaw(at, "bad_reference", f"juror {juror.id}: unknown topic {topic}")
            if abs(weight) > WEIGHT_MOST:
                yield _StructureFlaw(
                    at, "out_of_bounds", f"juror {juror.id}: weight of {topic} is {weight}; choose -10 to 10"
                )


def _links(structure: Structure) -> Iterator[_StructureFlaw]:
    yield from _repeated(("witnesses",), "witness", [each.id for each in structure.witnesses], "id")
    locked = {each.id for each in structure.evidence if each.locked}
    known = {"item": {each.id for each in structure.evidence}, "witness": {each.id for each in structure.witnesses}}
    for place, witness in enumerate(structure.witnesses):
        path: Path = ("witnesses", place)
        yield from _named((*path, "id"), "witness", witness.id)
        if not 1 <= witness.threshold <= PRESSURE_MOST:
            message = f"witness {witness.id}: threshold is {witness.threshold}; choose 1 to {PRESSURE_MOST}"
            yield _StructureFlaw((*path, "threshold"), "out_of_bounds", message)
        for at, pressure in _pressures(witness):
            if abs(pressure) > PRESSURE_MOST:
                message = f"witness {witness.id}: pressure is {pressure}; choose -{PRESSURE_MOST} to {PRESSURE_MOST}"
                yield _StructureFlaw((*path, *at), "out_of_bounds", message)
        for item in witness.unlocks:
            if item not in locked:
                yield _StructureFlaw(
                    (*path, "unlocks"), "bad_reference",
                    f"witness {witness.id} unlocks {item}, which is not a locked item",
                )  # fmt: skip
        for at, place_name, goto in _gotos(witness):
            if goto not in witness.nodes:
                yield _StructureFlaw(
                    (*path, *at), "bad_reference",
                    f"witness {witness.id}: {place_name} leads to {goto!r}, which is not a node",
                )  # fmt: skip
        for at, place_name, name, kind in _needs(witness):
            if name not in (witness.nodes if kind == "node" else known[kind]):
                yield _StructureFlaw(
                    (*path, *at),
                    "bad_reference",
                    f"witness {witness.id}: {place_name} needs {name!r}, which is not a known {kind}",
                )
        for name, node in witness.nodes.items():
            yield from _repeated(
                (*path, "nodes", name, "choices"), f"witness {witness.id}: node {name}: choice",
                [each.id for each in node.choices],
            )  # fmt: skip


def _pressures(witness: WitnessFrame) -> Iterator[tuple[Path, int]]:
    for item, each in witness.evidence.items():
        yield ("evidence", item), each.pressure
    for item, each in witness.afterwards.items():
        yield ("afterwards", item), each.pressure
    for name, node in witness.nodes.items():
        for item, each in node.evidence.items():
            yield ("nodes", name, "evidence", item), each.pressure
        for number, choice in enumerate(node.choices):
            yield ("nodes", name, "choices", number), choice.pressure
            yield ("nodes", name, "choices", number, "when"), choice.when.pressure


def _gotos(witness: WitnessFrame) -> Iterator[tuple[Path, str, str]]:
    for key in ("start", "breaks", "fallback"):
        yield (key,), key, getattr(witness, key)
    for item, each in witness.evidence.items():
        yield ("evidence", item), f"evidence {item}", each.goto
    for item, each in witness.afterwards.items():
        yield ("afterwards", item), f"afterwards {item}", each.goto
    for name, node in witness.nodes.items():
        for item, each in node.evidence.items():
            yield ("nodes", name, "evidence", item), f"node {name}, evidence {item}", each.goto
        for number, choice in enumerate(node.choices):
            yield ("nodes", name, "choices", number, "goto"), f"node {name}, choice {choice.id}", choice.goto


def _needs(witness: WitnessFrame) -> Iterator[tuple[Path, str, str, str]]:
    for item in witness.evidence:
        yield ("evidence", item), "a reaction", item, "item"
    for item in witness.afterwards:
        yield ("afterwards", item), "a reaction", item, "item"
    for name, node in witness.nodes.items():
        for item in node.evidence:
            yield ("nodes", name, "evidence", item), "a reaction", item, "item"
        for number, choice in enumerate(node.choices):
            at: Path = ("nodes", name, "choices", number, "when")
            place = f"node {name}, choice {choice.id}"
            yield from ((at, place, each, "item") for each in choice.when.read)
            yield from ((at, place, each, "node") for each in choice.when.visited)
            yield from ((at, place, each, "witness") for each in choice.when.cracked)


def _talks(structure: Structure) -> Iterator[_StructureFlaw]:
    world = reachability.opened(structure, reachability.can_break)
    certain = reachability.opened(
        structure, lambda *talk: reachability.can_break(*talk) and reachability.must_break(*talk)
    )
    for place, witness in enumerate(structure.witnesses):
        path: Path = ("witnesses", place)
        alone = world._replace(broken=world.broken - {witness.id})
        yield from _tree(path, witness, alone)
        if witness.id not in world.broken:
            message = f"witness {witness.id} can never be broken; add pressure to more steps or lower the threshold"
            yield _StructureFlaw(path, "never_breaks", message)
        elif witness.id not in certain.broken:
            message = (
                f"witness {witness.id} can become unbreakable; lead every node back to the start,"
                " or make fewer steps lower the pressure"
            )
            yield _StructureFlaw(path, "lost_for_good", message)
    held = {item for witness in structure.witnesses for item in witness.unlocks}
    for place, item in enumerate(structure.evidence):
        if item.id in held and item.id not in world.at_hand:
            yield _StructureFlaw(
                ("evidence", place), "never_opens", f"evidence {item.id} can never be unlocked; check its witness"
            )


def _tree(path: Path, witness: WitnessFrame, world: reachability.World) -> Iterator[_StructureFlaw]:
    held, broke = reachability.before(witness, world), reachability.afterwards(witness, world)
    broken = world._replace(broken=world.broken | {witness.id})
    offered = {(name, each.id) for name, each in reachability.offered(witness, held, world)}
    offered |= {(name, each.id) for name, each in reachability.offered(witness, broke, broken)}

    def at(name: str, code: FaultCode, message: str) -> _StructureFlaw:
        return _StructureFlaw((*path, "nodes", name), code, f"witness {witness.id}: {message}")

    for name in reachability.speechless(witness, sorted(held | broke)):
        yield at(
            name, "dead_end", f"node {name} may offer no choice; mark it ends = true or add a choice without conditions"
        )
    for name in reachability.endless(witness, held | broke):
        yield at(name, "dead_end", f"no path leads from node {name} to an end")
    for name, node in witness.nodes.items():
        if name not in held | broke | {witness.fallback}:
            yield at(name, "unreachable_node", f"node {name} is never reached; link to it or remove it")
        elif name in held and (node.afterwards or name in broke):
            yield at(name, "bad_reference", f"node {name} is reachable before and after the break; use separate nodes")
        elif name in broke and not node.afterwards:
            yield at(name, "bad_reference", f"node {name} follows the break; mark it afterwards = true")
        for number, choice in enumerate(node.choices):
            if (name, choice.id) not in offered:
                message = (
                    f"witness {witness.id}: node {name}: choice {choice.id} is never available; check its conditions"
                )
                yield _StructureFlaw((*path, "nodes", name, "choices", number), "never_offered", message)


def _endings(structure: Structure) -> Iterator[_StructureFlaw]:
    seen: set[str] = set()
    pairs: set[tuple[VerdictName, Found]] = set()
    for place, ending in enumerate(structure.endings):
        path: Path = ("endings", place)
        yield from _named((*path, "id"), "ending", ending.id)
        if ending.id in seen:
            yield _StructureFlaw(path, "ending_twice", f"ending {ending.id} is defined twice; rename one")
        elif (ending.verdict, ending.when) in pairs:
            yield _StructureFlaw(
                path,
                "ending_twice",
                f"ending {ending.id}: another ending has verdict {ending.verdict} and when {ending.when}; change one",
            )
        seen.add(ending.id)
        pairs.add((ending.verdict, ending.when))


def _reached(structure: Structure) -> Iterator[_StructureFlaw]:
    depths = _depths(structure)
    verdicts = [each for each in _VERDICTS if _reachable(structure, each)]
    there = {(each.verdict, each.when) for each in structure.endings}
    for verdict in _VERDICTS:
        for when in depths:
            if (verdict, when) not in there:
                yield _StructureFlaw(
                    ("endings",), "ending_missing", f"no ending has verdict {verdict} and when {when}; add one"
                )
    for place, ending in enumerate(structure.endings):
        unreachable = f"ending {ending.id} is never reached:"
        if ending.verdict not in verdicts:
            why = f"{structure.rules.rounds} different messages to each juror cannot lead to {ending.verdict}"
            yield _StructureFlaw(("endings", place), "ending_unreachable", f"{unreachable} {why}")
        if ending.when not in depths:
            yield _StructureFlaw(
                ("endings", place), "ending_unreachable", f"{unreachable} the overseer cannot find {ending.when}"
            )


def _depths(structure: Structure) -> Sequence[Found]:
    world = reachability.opened(structure, reachability.can_break)
    locked = {each.id for each in structure.evidence if each.locked}
    found: list[Found] = ["nothing"]
    if locked & world.at_hand:
        found.append("something")
        if locked <= world.at_hand:
            found.append("everything")
    return found


def _reachable(structure: Structure, verdict: VerdictName) -> bool:
    """Whether a majority can reach the verdict. The deliberation of the jurors is not counted."""
    wanted = verdict == "guilty"
    least, most = _BOUNDS["rounds"]
    # A number out of bounds is a fault of its own; computing with it could exhaust the memory.
    rounds = max(least, min(most, structure.rules.rounds))
    ends = [_furthest(each, rounds, guilty=wanted) for each in structure.jurors]
    return sum(votes_guilty(end) == wanted for end in ends) > len(ends) // 2


def _furthest(juror: JurorFrame, rounds: int, *, guilty: bool) -> int:
    """The extreme stance after so many different messages: each topic counts once in full and once by half (rule 5)."""
    weights = juror.topic_weights
    gains = [abs(_gain(weights, _best(weights, topic, guilty=guilty))) for topic in weights]
    worth = sorted((gain * left for gain in gains for left in WORN), reverse=True)[: rounds * TOPICS_A_MESSAGE]
    messages: list[list[Fraction]] = [[] for _ in range(rounds)]
    for each in worth:
        open_ones = [message for message in messages if len(message) < TOPICS_A_MESSAGE]
        min(open_ones, key=sum).append(each)
    stance = juror.initial_stance
    for message in messages:
        points = min(sum(message, Fraction(0)), Fraction(MESSAGE_CAP))
        stance = moved(stance, points if guilty else -points)
    return stance


def _best(weights: dict[str, int], topic: str, *, guilty: bool) -> TopicImpact:
    choose = max if guilty else min
    return choose(
        (TopicImpact(topic=topic, impact=impact) for impact in _IMPACTS), key=lambda said: _gain(weights, said)
    )


def _gain(weights: dict[str, int], said: TopicImpact) -> Fraction:
    return _gain_of(weights.get(said.topic, 0), said.impact)


@lru_cache(256)
def _gain_of(weight: int, impact: Impact) -> Fraction:
    parts = argued(MIDDLE, {"any": weight}, (TopicImpact(topic="any", impact=impact),)).parts
    return sum((Fraction(part.points) for part in parts), Fraction(0))


def _many(path: Path, what: str, count: int, least: int, most: int) -> Iterator[_StructureFlaw]:
    if not least <= count <= most:
        yield _StructureFlaw(path, "out_of_bounds", f"{count} {what}; the limits are {least} to {most}")


def _named(path: Path, kind: str, id_: str) -> Iterator[_StructureFlaw]:
    if not _ID.fullmatch(id_):
        yield _StructureFlaw(path, "out_of_bounds", f"{kind} {id_!r} must be 1 to 40 of a-z, 0-9, _ and -")


def _repeated(path: Path, kind: str, names: Sequence[str], key: str = "") -> Iterator[_StructureFlaw]:
    """A flaw at each later duplicate."""
    for place, name in enumerate(names):
        if name in names[:place]:
            at: Path = (*path, place, key) if key else (*path, place)
            yield _StructureFlaw(at, "bad_reference", f"{kind} {name} is used twice; rename one")


__all__ = ["TOPICS_A_MESSAGE", "flaws", "strongest"]
