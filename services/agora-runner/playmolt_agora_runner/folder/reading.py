"""What a plan makes of its folder: rooms with nothing left open, measures, and every fault and warning."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from playmolt_schemas.agora.plan import PlanFault
from playmolt_schemas.copying import copied
from playmolt_schemas.instrument import baseline_file
from playmolt_schemas.instrument import measure_file as declaration
from playmolt_schemas.instrument.baseline_file import Baseline
from playmolt_schemas.instrument.definitions import ARMS
from playmolt_schemas.instrument.measure_file import MeasureDeclaration
from playmolt_schemas.stored.agora.plan import SEATS, Folder, LockedRoom, LockedSeat, Plan, RoomPlan, RoomSeat
from playmolt_schemas.stored.agora.turn import ConstraintLevel, Language
from playmolt_schemas.stored.agora.world import Rules

from playmolt_agora_runner.folder import personas, symmetry, texts, toml_file, world_checks, world_file
from playmolt_agora_runner.folder.personas import EventFile, OwnPersona
from playmolt_agora_runner.folder.source import (
    ALL_READ,
    KeyLines,
    Places,
    Source,
    fault,
    locked,
    of_whole,
    placed,
    sha256,
    twice,
)
from playmolt_agora_runner.folder.symmetry import NO_DIFFERENCE, SymmetryResult
from playmolt_agora_runner.folder.world_file import WorldFile
from playmolt_agora_runner.world import worlds


class PlanFolder(msgspec.Struct, frozen=True, kw_only=True):
    """A folder as far as a plan uses it; rooms at fault are left out. `texts` is path → text of what was read."""

    rooms: tuple[LockedRoom, ...] = ()
    measures: tuple[MeasureDeclaration, ...] = ()
    baselines: tuple[Baseline, ...] = ()
    texts: Mapping[str, str] = {}
    symmetry: SymmetryResult = NO_DIFFERENCE
    faults: tuple[PlanFault, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def folder(self) -> Folder | None:
        """What the lock holds of it; None where the plan uses nothing."""
        return locked(self.texts) if self.texts else None


def read(plan: Plan, source: Source, places: Places = ALL_READ) -> PlanFolder:
    """Read what a plan uses of its folder; the plan's own faults carry no file.

    If some rooms do not read, the files that are not used are unknown.
    """
    reader = _FolderReader(plan, source)
    rooms_placed = placed("rooms", plan.rooms or (), places)
    rooms = tuple(made for at, room in rooms_placed if (made := reader.room(room, at)) is not None)
    measures = tuple(reader.measures())
    baselines = tuple(reader.baselines())
    found = symmetry.compared(source, tuple(dict.fromkeys(reader.names)))
    unused = sorted(source.names() - source.used.keys() - {fault.file for fault in source.faults})
    return PlanFolder(
        rooms=rooms,
        measures=measures,
        baselines=baselines,
        texts=dict(sorted(source.used.items())),
        symmetry=found,
        # Worlds that begin with the same faulty one each report its faults.
        faults=tuple(dict.fromkeys((*source.faults, *of_whole(source.used)))),
        warnings=tuple(
            f"{path} is in the folder but not used by the plan." for path in unused if "rooms" not in places
        ),
    )


class _FolderReader:
    def __init__(self, plan: Plan, source: Source) -> None:
        self._plan, self._source = plan, source
        self._rooms = plan.rooms or ()
        self.names: list[str] = []
        # The places of a world that can be entered depend on the homes of all who start there, in whatever room.
        seated = dict.fromkeys(seat.persona for each in self._rooms for seat in each.seats if seat.persona)
        self._personas = {name: self._persona(name) for name in seated}
        self._worlds = {name: self._world(name) for name in dict.fromkeys(each.world for each in self._rooms)}
        listed = dict.fromkeys(name for each in self._rooms for name in each.events)
        self._events = {name: self._events_of(name) for name in listed}

    def room(self, room: RoomPlan, at: str) -> LockedRoom | None:
        """A room with nothing left open; None where something of it is at fault."""
        source, before = self._source, len(self._source.faults)
        source.faults += self._room_faults(room, at)
        world, events = self._worlds[room.world], [self._events[name] for name in room.events]
        if world is None:
            return None
        source.faults += self._home_faults(room, at, world.rules.places)
        source.faults += self._event_faults(room, world.rules, events)
        if world.rules.own and world_checks.ends_at_once(world.rules.own, sum(seat.count for seat in room.seats)):
            message = "a run would end on its first turn"
            source.faults.append(PlanFault(f"{at}.seats", message, code="world_ends_at_once"))
        files = {*(f"personas/{seat.persona}.toml" for seat in room.seats), *(file.path for file, _ in events)}
        sound = len(source.faults) == before and not any(fault.file in files for fault in source.faults)
        return self._locked(room, world, events) if sound else None

    def measures(self) -> Iterator[MeasureDeclaration]:
        for name, text in self._texts("measures", ".py", self._plan.measures):
            found = declaration.read(name, text)
            if isinstance(found, PlanFault):
                self._source.faults.append(found)
            else:
                yield found

    def baselines(self) -> Iterator[Baseline]:
        for name, text in self._texts("baselines", ".csv", self._plan.baselines):
            found, faults = baseline_file.read(name, text, baseline_file.terms_of(self._plan))
            self._source.faults += faults
            if found is not None and not faults:
                yield found

    def _texts(self, place: str, ending: str, named: tuple[str, ...] | UnsetType) -> Iterator[tuple[str, str]]:
        """Name and text of the files that are named, or of all in the folder."""
        known = (path for path in self._source.names() if path.startswith(f"{place}/") and path.endswith(ending))
        every = sorted(path.removeprefix(f"{place}/").removesuffix(ending) for path in known)
        for name in every if named is UNSET else dict.fromkeys(named):
            text = self._source.read(f"{place}/{name}{ending}")
            if text is not None:
                yield name, text

    def _room_faults(self, room: RoomPlan, at: str) -> Iterator[PlanFault]:
        taken = [each.name for each in self._rooms if each.name == room.name]
        if len(taken) > 1:
            yield PlanFault(f"{at}.name", f"{room.name} is the name of {len(taken)} rooms")
        if room.name in ARMS:
            yield PlanFault(f"{at}.name", f"{room.name} is a phase's name", code="name_taken")
        total = sum(seat.count for seat in room.seats)
        if total > SEATS:
            yield PlanFault(f"{at}.seats", f"add up to {total}; a room has at most {SEATS}", code="too_many_seats")
        for number, seat in enumerate(room.seats):
            if seat.model is not None and room.mix != "all":
                yield PlanFault(f"{at}.seats[{number}].model", "is allowed only with mix: all")
        for name, values in (("models", room.models), ("languages", room.languages), ("events", room.events)):
            if values == () and name != "events":
                yield PlanFault(f"{at}.{name}", "is empty")
            # Models that share a room take its seats in turn, some of them more often if they are named more often.
            if name != "models" or room.mix == "one":
                yield from twice(f"{at}.{name}", values or ())

    def _persona(self, name: str) -> OwnPersona | None:
        if name in personas.PACKAGED:
            self._taken(f"personas/{name}.toml")
            return None
        languages = self._languages(room for room in self._rooms if any(seat.persona == name for seat in room.seats))
        return personas.read(self._source, name, languages)

    def _languages(self, rooms: Iterable[RoomPlan]) -> tuple[Language, ...]:
        """The languages of rooms: a file that they use needs its text in each of them."""
        return tuple(dict.fromkeys(language for room in rooms for language in room.languages or self._plan.languages))

    def _world(self, name: str) -> WorldFile | None:
        if packaged := world_file.PACKAGED.get(name):
            self._taken(f"worlds/{name}.toml")
            return WorldFile(packaged, worlds.preset(packaged), KeyLines("", {}))
        before, languages = (
            len(self._source.faults),
            self._languages(room for room in self._rooms if room.world == name),
        )
        found = world_file.read(self._source, name, languages, self._homes(name))
        if found is not None and (own := found.rules.own):
            self.names += [*own.actions, *own.places]
            texts.of_world(self._source, own, found.at, languages)
        return found if len(self._source.faults) == before else None

    def _homes(self, world: str) -> frozenset[str]:
        """Where anybody starts in a world, in any room that is played there."""
        homes = (self._home(seat) for room in self._rooms if room.world == world for seat in room.seats)
        return frozenset(home for home in homes if home is not None)

    def _home(self, seat: RoomSeat) -> str | None:
        if seat.home is not None or seat.persona is None:
            return seat.home
        found = self._personas.get(seat.persona)
        return found.home if found else None

    def _events_of(self, name: str) -> EventFile:
        return personas.read_events(
            self._source, name, self._languages(room for room in self._rooms if name in room.events)
        )

    def _taken(self, path: str) -> None:
        if path in self._source.names():
            self._source.read(path)
            self._source.faults.append(fault(path, "has the name of a packaged one", "name_taken"))

    def _locked(self, room: RoomPlan, world: WorldFile, files: Sequence[EventFile]) -> LockedRoom:
        rules, events = world.rules, tuple(event for _, found in files for event in found.values())
        changes: dict[str, Any] = {}
        if own := rules.own:
            rules = msgspec.structs.replace(rules, own=msgspec.structs.replace(own, events=events))
        elif events:
            changes["seed_events"] = [{"turn": event.turn, "ko": event.ko, "en": event.en} for event in events]
        return copied(
            LockedRoom,
            room,
            base=world.base,
            turns=room.turns or rules.epochs,
            models=room.models or self._plan.models,
            languages=self._languages([room]),
            seats=tuple(self._seats(room, rules.places)),
            rules=msgspec.to_builtins(rules) if own else UNSET,
            changes=changes,
            levels=self._levels(room),
            files=self._files(room, rules),
        )

    def _home_faults(self, room: RoomPlan, at: str, places: Sequence[str]) -> Iterator[PlanFault]:
        for number, seat in enumerate(room.seats):
            home = self._home(seat)
            if home is not None and home not in places:
                message = f"{home} is not a place of {room.world}"
                if seat.home is not None:
                    yield PlanFault(f"{at}.seats[{number}].home", message)
                else:
                    path = f"personas/{seat.persona}.toml"
                    yield KeyLines(path, toml_file.lines(self._source.used[path])).fault("home", message)

    def _event_faults(self, room: RoomPlan, rules: Rules, files: Sequence[EventFile]) -> Iterator[PlanFault]:
        turns, known = room.turns or rules.epochs, rules.own.resources if rules.own else {}
        for at, number, event in ((file, *each) for file, found in files for each in found.items()):
            if event.turn > turns:
                message = f"turn {event.turn} exceeds the {turns} turns of room {room.name}"
                yield at.fault(f"event[{number}].turn", message)
            for resource in event.resources:
                if resource not in known:
                    message = f"{resource} is not a resource of {room.world}"
                    yield at.fault(f"event[{number}].resources.{resource}", message)

    def _seats(self, room: RoomPlan, places: Sequence[str]) -> Iterator[LockedSeat]:
        models = room.models or self._plan.models
        counted: Counter[str | None] = Counter()
        for number, seat in enumerate(each for each in room.seats for _ in range(each.count)):
            persona = None if room.neutral_ids else seat.persona
            counted[persona] += 1
            agent = f"{persona.upper()}_{counted[persona]:02}" if persona else f"agent_{counted[persona]:03}"
            model = seat.model or models[number % len(models)] if room.mix == "all" else None
            yield LockedSeat(agent=agent, persona=seat.persona, home=self._home(seat) or places[0], model=model)

    def _levels(self, room: RoomPlan) -> dict[str, ConstraintLevel]:
        held = {seat.persona: self._personas.get(seat.persona) for seat in room.seats if seat.persona}
        return {name: persona.constraint_level for name, persona in held.items() if persona is not None}

    def _files(self, room: RoomPlan, rules: Rules) -> dict[str, str]:
        paths = {f"personas/{seat.persona}.toml" for seat in room.seats if seat.persona in self._personas}
        if own := rules.own:
            paths |= {f"texts/{name}" for name in (*own.shell.values(), *own.template.values())}
        return {path: sha256(self._source.used[path]) for path in sorted(paths) if path in self._source.used}
