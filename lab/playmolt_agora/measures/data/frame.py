"""Turn records as numpy columns: one row a turn, sorted by seat and turn, whatever order they came in.

A seat is one agent of one run under one model and persona, so whatever a table is keyed by is a property of seats.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Final, Literal, TypeVar, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray
from playmolt_schemas.instrument.definitions import ARMS, PLACES, arm_of, place_of, rank_of
from playmolt_schemas.stored.agora.turn import ACTIONS, VALID_CODES, ParseCode, TurnRecord

Bools = NDArray[np.bool_]
Integers = NDArray[np.int64]
Key = TypeVar("Key", bound=Hashable)
Treatment = Literal["dropped", "seventh", "idle"]
CODES: Final[tuple[ParseCode, ...]] = get_args(ParseCode)
SPEAK, TRADE, SUPPORT, WHISPER, MOVE, IDLE = range(len(ACTIONS))
_CLASSES: Final = ("A", "B", "C", "U")


class Seat(msgspec.Struct, frozen=True):
    """An agent of a run. `phase` is `phase1_costs_real` for runs of that optional arm, which is not Phase 1."""

    phase: str
    set: str | None
    run: str
    model: str
    language: str
    persona: str | None
    condition: str
    agent: str
    exploratory: bool
    turns_planned: int
    residents_start: int

    @property
    def order(self) -> tuple[Any, ...]:
        """What rows of tables are sorted by."""
        rest = self.run, self.model, self.language, self.persona or "", self.agent
        return rank_of(self.phase), self.set or "", *rest

    def of(self, *names: str) -> dict[str, object]:
        """These fields by name, for a row."""
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Frame:
    """Turns of seats. `action` indexes ACTIONS (-1: none of them); `k` is 7 where a failed turn counts as an action."""

    seats: tuple[Seat, ...]
    seat: Integers
    turn: Integers
    action: Integers
    valid: Bools
    failed: Bools
    success: Bools
    others: Integers
    place: Integers
    places: tuple[str, ...]
    residents: Integers
    feasible: Bools
    null_effect: Bools
    instrumental: Bools
    dissoc: Integers
    code: Integers
    did: NDArray[np.object_]
    """The names of the acts, of any world."""
    target: NDArray[np.object_]
    content: NDArray[np.object_]
    k: int = len(ACTIONS)

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs, sorted."""
        return tuple(sorted({seat.run for seat in self.seats}))

    @property
    def ritual(self) -> Bools:
        """Turns whose instrumental act succeeded and changed nothing."""
        return self.valid & self.instrumental & self.success & self.null_effect

    def where(self, keep: Callable[[Seat], bool]) -> Frame:
        kept = np.array([keep(seat) for seat in self.seats], dtype=np.bool_)
        if kept.all():
            return self
        numbers = np.cumsum(kept) - 1
        rows = kept[self.seat]
        columns: dict[str, Any] = {name: getattr(self, name)[rows] for name in _COLUMNS}
        columns["seat"] = numbers[columns["seat"]]
        seats = tuple(seat for seat, stays in zip(self.seats, kept, strict=True) if stays)
        return replace(self, seats=seats, **columns)

    def groups(self, key: Callable[[Seat], Key]) -> dict[Key, Frame]:
        """Split by a property of seats, in the order in which the keys first occur."""
        keys = dict.fromkeys(key(seat) for seat in self.seats)
        return {each: self.where(lambda seat, each=each: key(seat) == each) for each in keys}  # type: ignore[misc]

    def index(self, key: Callable[[Seat], Key]) -> tuple[list[Key], Integers]:
        """Number the turns by a property of seats; the numbers index the sorted keys."""
        keys = [key(seat) for seat in self.seats]
        names: list[Key] = sorted(set(keys))  # type: ignore[type-var]
        numbers = {name: number for number, name in enumerate(names)}
        return names, np.array([numbers[each] for each in keys], dtype=np.int64)[self.seat]

    def counts(self, group: Integers, size: int, mask: Bools | None = None) -> Integers:
        """Count valid actions by group: (size, k)."""
        rows = self.valid if mask is None else self.valid & mask
        flat = np.bincount(group[rows] * self.k + self.action[rows], minlength=size * self.k)
        return np.asarray(flat.reshape(size, self.k), dtype=np.int64)

    def pooled(self, mask: Bools | None = None) -> Integers:
        """Count valid actions over all turns, or those of a mask: (k,)."""
        return np.asarray(self.counts(np.zeros_like(self.seat), 1, mask)[0])

    def tally(self, mask: Bools, weights: NDArray[Any] | None = None) -> Integers:
        """Count turns of a mask by seat, or sum their weights."""
        summed = np.bincount(
            self.seat[mask], weights=None if weights is None else weights[mask], minlength=len(self.seats)
        )
        return summed.astype(np.int64)

    def treated(self, treatment: Treatment) -> Frame:
        """The frame with failed turns dropped, counted as a seventh action, or counted as idle."""
        if treatment == "dropped":
            return self
        seventh = treatment == "seventh"
        action = np.where(self.failed, len(ACTIONS) if seventh else IDLE, self.action)
        return replace(self, action=action, valid=self.valid | self.failed, k=len(ACTIONS) + seventh)


_COLUMNS: Final = tuple(name for name in Frame.__dataclass_fields__ if name not in {"seats", "places", "k"})


_ACTION: Final = {name: number for number, name in enumerate(ACTIONS)}
_KNOWN: Final[dict[str, tuple[str, ...]]] = {"parse_code": CODES, "dissoc": _CLASSES}
_OF_SEATS: Final = (
    "phase", "set", "run", "model", "language", "persona", "persona_condition", "agent", "exploratory", "turns_planned",
    "residents_start",
)  # fmt: skip
_NEEDED: Final = (
    *_KNOWN, *_OF_SEATS, "turn", "action_base", "success", "others_here", "place_before", "residents",
    "feasible_actions", "null_effect", "fn_class", "target", "content",
)  # fmt: skip
_VALUES: Final = itemgetter(*_NEEDED)


def frame(records: Iterable[Mapping[str, Any] | TurnRecord]) -> Frame:
    """Read turn records; one that lacks a field or has an unknown phase or code raises ValueError."""
    names = ("cell", "action", *_NEEDED)
    rows = [_row(number, record) for number, record in enumerate(records, 1)]
    columns: dict[str, Sequence[Any]] = dict(
        zip(names, zip(*rows, strict=True) if rows else [()] * len(names), strict=True)
    )
    given = list(zip(columns["cell"], *(columns[name] for name in _OF_SEATS), strict=True))
    seat_of = {key: Seat(arm_of(str(key[0]), key[1]), *key[2:]) for key in dict.fromkeys(given)}
    seats = tuple(sorted(set(seat_of.values()), key=lambda seat: seat.order))
    numbers = {seat: number for number, seat in enumerate(seats)}
    seat = np.array([numbers[seat_of[key]] for key in given], dtype=np.int64)
    order = np.lexsort((np.array(columns["turn"], dtype=np.int64), seat))

    def laid(name: str, kind: type = np.int64, read: Callable[[Any], Any] | None = None) -> NDArray[Any]:
        values: NDArray[Any] = np.empty(len(rows), dtype=kind)
        values[:] = columns[name] if read is None else [read(value) for value in columns[name]]
        return values[order]

    action, code = laid("action_base", read=lambda name: _ACTION.get(name, -1)), laid("parse_code", read=CODES.index)
    accepted = np.isin(code, [CODES.index(name) for name in VALID_CODES])
    stays = {name: place_of(str(name)) for name in set(columns["place_before"])}
    places = PLACES + tuple(sorted(set(stays.values()) - set(PLACES)))
    feasible = [[name in given for name in ACTIONS] for given in columns["feasible_actions"]]
    return Frame(
        seats=seats,
        seat=seat[order],
        turn=laid("turn"),
        action=np.where(accepted, action, -1),
        valid=accepted & (action >= 0),
        failed=~accepted,
        success=laid("success", np.bool_),
        others=laid("others_here", read=len),
        place=laid("place_before", read=lambda name: places.index(stays[name])),
        places=places,
        residents=laid("residents"),
        feasible=np.array(feasible, dtype=np.bool_).reshape(len(rows), len(ACTIONS))[order],
        null_effect=laid("null_effect", np.bool_),
        instrumental=laid("fn_class", np.bool_, lambda name: name == "A"),
        dissoc=laid("dissoc", read=_CLASSES.index),
        code=code,
        did=laid("action", np.object_),
        target=laid("target", np.object_),
        content=laid("content", np.object_),
    )


def _row(number: int, record: Mapping[str, Any] | TurnRecord) -> tuple[Any, ...]:
    fields = record if isinstance(record, Mapping) else msgspec.structs.asdict(record)
    try:
        values = _VALUES(fields)
    except KeyError as missing:
        raise ValueError(
            f"turn record {number} has no field {missing}; give records with the fields of a turn, as in turns.jsonl"
        ) from missing
    for name, known in _KNOWN.items():
        if fields[name] not in known:
            raise ValueError(f"turn record {number} has {name} {fields[name]!r}; give one of {', '.join(known)}")
    # A room of the plan gives its name to its cells.
    if fields["phase"] not in ARMS and not str(fields.get("cell")).startswith(f"{fields['phase']}/"):
        raise ValueError(
            f"turn record {number} has phase {fields['phase']!r}; give one of {', '.join(ARMS)}, or a room's name"
        )
    return (fields.get("cell"), fields.get("action"), *values)
