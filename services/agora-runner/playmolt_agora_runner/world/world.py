"""A world as acts, stages and prompts read it: the same for a shipped world and for one of a plan's folder.

Places, rows of actions, ranks and resources are made of the stored rules and, where these are like a shipped world,
of its rows (`worlds/*.toml`). What cannot be a row is a named rule that a row cites (`named_rules`).
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

import msgspec
from msgspec import UNSET
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.copying import copied
from playmolt_schemas.instrument import lexicon as coding
from playmolt_schemas.instrument.definitions import is_alley, place_of
from playmolt_schemas.stored.agora.own_world import (
    Both,
    HearingRule,
    OwnAction,
    OwnRank,
    OwnWorld,
    RuleName,
    WorldPlace,
)
from playmolt_schemas.stored.agora.turn import ACTIONS, SKILLS, FnClass, PhaseName
from playmolt_schemas.stored.agora.world import Rules

from playmolt_agora_runner.world import worlds
from playmolt_agora_runner.world.state import FIRST_RANK, RunState

MARKET: Final = "market"
_EVERY_WORLD: Final = ("idle", "contest")
_RANKS: Final = (("commoner", 1, False), ("notable", 2, False), ("elder", 3, True))
"""The ranks of shipped worlds; what they weigh and may contest where ranks act."""
_UNRANKED: Final = OwnRank(from_=0, name=Both(en=FIRST_RANK))
_COUNTED: Final[dict[str, tuple[RuleName, ...]]] = {"trade": ("pool",), "support": ("ties",)}
"""What a row of a plan's folder cites by its name alone."""
_LINES: Final = {"say": "spoke", "whisper": "whispered", "move": "moved", "none": "did"}
_KEPT: Final = 1024
_made: OrderedDict[int, tuple[Rules, "World"]] = OrderedDict()


class Row(OwnAction, frozen=True, kw_only=True):
    """An action. `line` is the kind of observation that others make of it, by default that of what it does.

    A `packaged` row is one of a shipped world: its refusals say exactly what is wrong with a target, its events do not
    store who heard it, and it is offered at every place. Without `hearing`, it is heard as agora.md says: everywhere if
    done in public, else at its place.
    """

    rules: tuple[RuleName, ...] = ()
    line: str | None = None
    packaged: bool = False
    listed: bool = True
    hearing: HearingRule | None = None

    @property
    def observed(self) -> str:
        """The kind of observation; empty if only its consequence is one."""
        return _LINES[self.does] if self.line is None else self.line


class World(OwnWorld, frozen=True, kw_only=True):
    """All of a world. `ranks` ascend; `rows` are its actions by name; `treasury`: there is one that agents see."""

    rows: dict[str, Row]
    treasury: bool

    def ranked(self, influence: int) -> OwnRank:
        """The rank that so much influence gives, in a world without one the first of shipped worlds."""
        return self.rank(influence) or _UNRANKED

    def kept(self) -> int:
        """How many events are stored for an agent's prompt: a heavy utterance stays longer."""
        return self.shown + max((rank.speaking_weight for rank in self.ranks), default=1) - 1

    def base_of(self, action: str) -> str | None:
        """The action under which measures count an action; None if they do not count it."""
        row = self.rows.get(action)
        return (row and row.counts_as) or (action if action in ACTIONS else None)

    def class_of(self, action: str) -> FnClass | None:
        row = self.rows.get(action)
        return (row and row.fn_class) or coding.fn_class(self.base_of(action) or action)


def of(state: RunState) -> World:
    """The world of a run."""
    return made(state.rules, state.run.packaged)


def made(rules: Rules, base: PhaseName) -> World:
    """The world of these rules; `base` is the shipped world that they are, or are like. Kept as long as it is used."""
    known = _made.get(id(rules))  # rules that are kept keep their id
    if known is None:
        if len(_made) >= _KEPT:
            _made.popitem(last=False)
        known = _made[id(rules)] = (rules, _of_stored(canonical_json(rules), base))
    return known[1]


@lru_cache(maxsize=64)
def _of_stored(rules: bytes, base: PhaseName) -> World:
    """Runs of a cell have equal rules and share their world."""
    return _world(msgspec.json.decode(rules, type=Rules), base)


def is_public(place: str) -> bool:
    """Whether acts in a place of a shipped world are public."""
    return place in ("plaza", MARKET)


def _world(rules: Rules, base: PhaseName) -> World:
    own = rules.own or OwnWorld(packaged=True, places={name: _place(rules, name) for name in rules.places})
    own = msgspec.structs.replace(
        own,
        places={name: own.places[name] for name in rules.places},
        # Stored tables have their names in this order.
        actions=dict(sorted(own.actions.items())),
        resources=dict(sorted(own.resources.items())),
    )
    cited = {rule for action in own.actions.values() for rule in action.rules or ()}
    treasury = rules.market or bool(cited & {"tax", "set_tax", "subsidy"})
    return copied(World, own, ranks=_ranks(rules, own), rows=dict(_rows(rules, own, base)), treasury=treasury)


def _place(rules: Rules, name: str) -> WorldPlace:
    return WorldPlace(capacity=getattr(rules.capacity, place_of(name)))


def _ranks(rules: Rules, own: OwnWorld) -> tuple[OwnRank, ...]:
    if own.ranks or not own.packaged:
        return own.ranks
    starts, act = (0, rules.ranks.notable, rules.ranks.elder), rules.ranks_act is True
    return tuple(
        OwnRank(from_=start, name=Both(en=name), speaking_weight=weight if act else 1, contest=act and contest)
        for start, (name, weight, contest) in zip(starts, _RANKS, strict=True)
    )


def _rows(rules: Rules, own: OwnWorld, base: PhaseName) -> Iterator[tuple[str, Row]]:
    """The six, then the world's own; last what is not listed: the architect's skills and a contest."""
    hearing = own.hearing if own.hearing is not UNSET else None
    shipped = {
        name: _shipped(rules, own, table, hearing if own.packaged else hearing or HearingRule())
        for name, table in worlds.rows(base).items()
        if name not in own.actions and (own.packaged or name in _EVERY_WORLD) and (rules.skills or name not in SKILLS)
    }
    yield from ((name, row) for name, row in shipped.items() if row.listed)
    for name, action in own.actions.items():
        cited = _COUNTED.get(name, ()) if action.rules is UNSET else action.rules
        yield name, copied(Row, action, rules=cited, hearing=hearing or HearingRule())
    yield from ((name, row) for name, row in shipped.items() if not row.listed)


def _shipped(rules: Rules, own: OwnWorld, table: Mapping[str, Any], hearing: HearingRule | None) -> Row:
    """A row as a shipped file has it: numbers by the names of rules, `alley` for each alley."""
    numbers = {
        part: {kind: attrgetter(name)(rules) for kind, name in table[part].items()}
        for part in ("cost", "gain", "give")
        if part in table
    }
    named = table.get("where", ())
    where = [name for name in own.places if name in named or (is_alley(name) and "alley" in named)]
    row = msgspec.convert({**table, **numbers, "where": where, "packaged": True}, Row)
    return msgspec.structs.replace(row, hearing=hearing)
