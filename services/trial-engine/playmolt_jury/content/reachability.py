"""Static analysis of dialogue trees, by which the content check proves that locks open and talks have no dead ends.

No talk is played. What has been read, visited and broken is never lost, and the pressure of a step counts once; so a
witness can be broken from any point of a talk if every node before the break leads back to the start and if all gains
minus all losses reach the threshold.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from playmolt_jury.content.content import ChoiceFrame, NodeFrame, Structure, WitnessFrame
from playmolt_jury.content.material import ChoiceCondition, Reaction

ALWAYS: Final = ChoiceCondition()


class World(NamedTuple):
    """What the overseer has: available evidence and broken witnesses. `sure`: without choices that need pressure."""

    at_hand: frozenset[str]
    broken: frozenset[str]
    sure: bool = False


Breaks = Callable[[WitnessFrame, World], bool]


def opened(structure: Structure, breaks: Breaks) -> World:
    """The world after every witness that can be broken has been broken, in any order."""
    broken: frozenset[str] = frozenset()
    while True:
        world = having(structure, broken)
        more = broken | {each.id for each in structure.witnesses if breaks(each, world)}
        if more == broken:
            return world
        broken = more


def having(structure: Structure, broken: frozenset[str]) -> World:
    """The world after these witnesses have broken."""
    unlocked = {item for each in structure.witnesses if each.id in broken for item in each.unlocks}
    at_hand = frozenset(each.id for each in structure.evidence if not each.locked or each.id in unlocked)
    return World(at_hand, broken)


def can_break(witness: WitnessFrame, world: World) -> bool:
    return _pressures(witness, world._replace(sure=True))[0] >= witness.threshold


def must_break(witness: WitnessFrame, world: World) -> bool:
    """Whether the witness can be broken from every point of the talk."""
    sure = world._replace(sure=True)
    gained, lost = _pressures(witness, sure)
    nodes = before(witness, world)
    steps = {name: _always(witness, name, sure) for name in nodes}
    return gained + lost >= witness.threshold and _leading(steps, {witness.start}) >= nodes


def before(witness: WitnessFrame, world: World) -> frozenset[str]:
    """The nodes a talk can reach before the witness breaks."""
    return _reached(witness, witness.start, world)


def afterwards(witness: WitnessFrame, world: World) -> frozenset[str]:
    """The nodes a talk can reach after the witness has broken."""
    return _reached(witness, witness.breaks, world._replace(broken=world.broken | {witness.id}))


def offered(witness: WitnessFrame, nodes: Collection[str], world: World) -> Iterator[tuple[str, ChoiceFrame]]:
    """The choices that may be available at reachable nodes, each with its node."""
    for name in nodes:
        for choice in witness.nodes[name].choices:
            if _may_hold(choice.when, nodes, world, witness.threshold):
                yield name, choice


def speechless(witness: WitnessFrame, nodes: Iterable[str]) -> list[str]:
    """The nodes that neither end nor always offer a choice."""
    return [name for name in nodes if not witness.nodes[name].ends and not _sure(witness.nodes[name])]


def endless(witness: WitnessFrame, nodes: Collection[str]) -> list[str]:
    """The nodes from which no end is reachable by choices that are always available."""
    ends = {name for name in nodes if witness.nodes[name].ends}
    steps = {name: {choice.goto for choice in _sure(witness.nodes[name])} for name in nodes}
    return sorted(set(nodes) - _leading(steps, ends))


def _leading(steps: Mapping[str, Collection[str]], targets: Collection[str]) -> set[str]:
    """The targets and all nodes that lead to one of them."""
    leads = set(targets)
    while more := {name for name, gotos in steps.items() if not leads.isdisjoint(gotos)} - leads:
        leads |= more
    return leads


def _sure(node: NodeFrame) -> list[ChoiceFrame]:
    return [each for each in node.choices if each.when == ALWAYS]


def _always(witness: WitnessFrame, name: str, sure: World) -> set[str]:
    """Where a node leads, independent of the path to it."""
    said = {each.goto for _, each in offered(witness, (name,), sure)}
    return said | {each.goto for _, each in _reactions(witness, name, sure)}


def _pressures(witness: WitnessFrame, sure: World) -> tuple[int, int]:
    """The sums of all gains and of all losses (0 or less) before the break."""
    nodes = before(witness, sure)
    said = [choice.pressure for _, choice in offered(witness, nodes, sure)]
    # Steps that need pressure cannot be relied on as gains, but may occur as losses.
    every = before(witness, sure._replace(sure=False))
    unsure = [choice.pressure for _, choice in offered(witness, every, sure._replace(sure=False))]
    # An item counts once per witness, at any node: only its minimum is certain.
    worth: dict[str, int] = {}
    for name in every:
        for item, each in _reactions(witness, name, sure):
            worth[item] = min(each.pressure, worth.get(item, each.pressure))
    shown = worth.values()
    return sum(each for each in (*said, *shown) if each > 0), sum(each for each in (*unsure, *shown) if each < 0)


def _reached(witness: WitnessFrame, start: str, world: World) -> frozenset[str]:
    reached = {start}
    while True:
        steps = {choice.goto for _, choice in offered(witness, reached, world)}
        steps |= {each.goto for name in reached for _, each in _reactions(witness, name, world)}
        if steps <= reached:
            return frozenset(reached)
        reached |= steps


def _reactions(witness: WitnessFrame, name: str, world: World) -> Iterator[tuple[str, Reaction]]:
    here = {**witness.evidence, **witness.reactions(witness.nodes[name])}
    yield from ((item, each) for item, each in here.items() if item in world.at_hand)


def _may_hold(when: ChoiceCondition, visited: Collection[str], world: World, threshold: int) -> bool:
    return (
        when.pressure <= (0 if world.sure else threshold)
        and all(each in world.at_hand for each in when.read)
        and all(each in visited for each in when.visited)
        and all(each in world.broken for each in when.cracked)
    )
