"""Whatever a researcher writes: a folder is read, compared and planned, and what has no fault is played."""

from collections.abc import Mapping
from typing import Any, Final, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playmolt_agora_runner import rehearsal
from playmolt_agora_runner.folder import reading as folder_reading
from playmolt_agora_runner.folder import toml_file
from playmolt_agora_runner.folder.reading import PlanFolder
from playmolt_agora_runner.folder.source import Source
from playmolt_agora_runner.plan import reading
from playmolt_agora_runner.plan.preview import examined
from playmolt_core.llm.catalogue import Catalogue
from playmolt_schemas.agora.plan import FaultCode, PlanFault
from playmolt_schemas.stored.agora.own_world import RuleName
from playmolt_schemas.stored.agora.plan import Plan

from tests.agora_locks import power

WORLD, PERSONA, EVENTS = "worlds/made.toml", "personas/made.toml", "events/made.toml"
PLACES, ACTIONS, RESOURCES = ("hall", "yard", "barn"), ("dig", "speak", "move", "whisper", "idle"), ("corn", "wood")
JUNK: Final = st.sampled_from([-1, 0, 10**9, True, "", "x" * 70, "nowhere", [], {}, ["hall"], {"a": 1}, "9.5", 1.5])


def toml(value: Any) -> str:
    """A value as TOML writes it, tables inline."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {toml(each)}" for name, each in value.items()) + " }" if value else "{}"
    return str(value)


def written(document: Mapping[str, Any]) -> str:
    """A file: plain keys first, a table of tables as [name.key], a list of tables as [[name]]."""
    plain = [f"{name} = {toml(each)}" for name, each in document.items() if not _is_tables(each)]
    parts = []
    for name, each in document.items():
        if isinstance(each, list) and _is_tables(each):
            parts += [f"[[{name}]]\n{_body(entry)}" for entry in each]
        elif _is_tables(each):
            parts += [f"[{name}.{key}]\n{_body(entry)}" for key, entry in each.items()]
    return "\n".join([*plain, *parts]) + "\n"


def _is_tables(value: Any) -> bool:
    entries = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else []
    return bool(entries) and all(isinstance(entry, Mapping) for entry in entries)


def _body(entry: Mapping[str, Any]) -> str:
    return "".join(f"{name} = {toml(each)}\n" for name, each in entry.items())


BOTH = st.fixed_dictionaries({"ko": st.sampled_from(["곳", "일"]), "en": st.sampled_from(["Place", "Work"])})
VALUE = st.one_of(st.integers(0, 5), st.just("amount"))


def some(names: tuple[str, ...]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(names), unique=True, max_size=2)


PLACE = st.fixed_dictionaries(
    {"title": BOTH},
    optional={"to": some(PLACES), "hears": some(PLACES), "capacity": st.one_of(st.just(False), st.integers(1, 4))},
)
AMOUNTS = st.fixed_dictionaries({}, optional={"energy": VALUE, "influence": VALUE})
ACTION = st.fixed_dictionaries(
    {"label": BOTH},
    optional={
        "help": BOTH,
        "where": some(PLACES),
        "target": st.sampled_from(["none", "agent", "place"]),
        "amount": st.fixed_dictionaries({"min": st.integers(0, 3), "max": st.integers(2, 6)}),
        "class": st.sampled_from(["A", "B", "C"]),
        "counts_as": st.sampled_from(["trade", "support", "speak"]),
        "does": st.sampled_from(["none", "say", "whisper", "move"]),
        "heard": st.booleans(),
        "cost": AMOUNTS,
        "take": st.dictionaries(st.sampled_from(RESOURCES), VALUE, max_size=1),
        "gain": AMOUNTS,
        "give": AMOUNTS,
        "rules": some(get_args(RuleName)),
    },
)
REGROWTH = st.fixed_dictionaries(
    {"kind": st.sampled_from(["none", "constant", "proportional", "logistic"])},
    optional={"amount": st.integers(0, 9), "rate": st.sampled_from(["0.35", "2", 0.5])},
)
RESOURCE = st.fixed_dictionaries(
    {"start": st.integers(0, 50), "max": st.integers(20, 90)},
    optional={"place": st.sampled_from(PLACES), "shown": st.booleans(), "regrowth": REGROWTH},
)
RANK = st.fixed_dictionaries(
    {"from": st.integers(0, 9), "name": BOTH}, optional={"speaking_weight": st.integers(1, 4), "contest": st.booleans()}
)
HEARING = st.fixed_dictionaries(
    {"who": st.sampled_from(["place", "all", "ring", "groups"])},
    optional={"reach": st.integers(1, 3), "size": st.integers(1, 3), "events": st.integers(1, 9)},
)
ENERGY = st.fixed_dictionaries(
    {"ledger": st.sampled_from(["real", "shadow", "none"])},
    optional={
        "start": st.integers(1, 100), "max": st.integers(100, 200), "decay": st.integers(0, 9), "death": st.booleans(),
    },
)  # fmt: skip
END = st.fixed_dictionaries(
    {},
    optional={
        "alive": st.integers(0, 2),
        "resource": st.dictionaries(st.sampled_from(RESOURCES), st.integers(0, 9), max_size=1),
    },
)


def ascending(ranks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(ranks, key=lambda rank: int(rank["from"]))


DOCUMENT = st.fixed_dictionaries(
    {
        "places": st.dictionaries(st.sampled_from(PLACES), PLACE, min_size=1),
        "actions": st.dictionaries(st.sampled_from(ACTIONS), ACTION, min_size=1),
    },
    optional={
        "turns": st.integers(1, 9),
        "title": BOTH,
        "resources": st.dictionaries(st.sampled_from(RESOURCES), RESOURCE),
        "hearing": HEARING,
        "energy": ENERGY,
        "influence": st.fixed_dictionaries({"start": st.integers(0, 9)}),
        "ranks": st.lists(RANK, min_size=1, max_size=3, unique_by=lambda rank: rank["from"]).map(ascending),
        "end": END,
        "like": st.sampled_from(["stage1", "phase1", "phase2"]),
        "rules": some(get_args(RuleName)),
    },
)


@st.composite
def spoilt(draw: st.DrawFn, document: Any) -> Any:
    """A document of which some values are others, some are gone, and some stand there that nobody knows."""
    if isinstance(document, Mapping):
        found = {name: draw(spoilt(each)) for name, each in document.items() if draw(st.integers(0, 19))}
        return found | ({"unheard": draw(JUNK)} if not draw(st.integers(0, 19)) else {})
    return document if draw(st.integers(0, 19)) else draw(JUNK)


HOME = {"home": st.sampled_from(PLACES)}
SEAT = st.fixed_dictionaries({"count": st.integers(1, 3)}, optional={"persona": st.just("made"), **HOME})
SEATS = st.lists(SEAT, min_size=1, max_size=3)
PERSONAS = st.fixed_dictionaries({"ko": st.just("나"), "en": st.just("me")}, optional=HOME)
EVENT = st.fixed_dictionaries({"turn": st.integers(1, 4), "ko": st.just("비"), "en": st.just("Rain")})


def plan_of(seats: list[dict[str, Any]], languages: list[str], **more: Any) -> Any:
    room = {"name": "room", "world": "made", "runs": 1, "turns": 4, "seats": seats, "events": ["made"]} | more
    return {"name": "made", "seed": "1", "models": ["scripted-wild"], "languages": languages, "rooms": [room]}


def read(plan: Any, files: Mapping[str, str]) -> tuple[Plan, PlanFolder, tuple[PlanFault, ...]]:
    """What `plan` makes of it: the plan, the folder with its certificate, and every fault."""
    found = reading.reading(plan)
    assert found.plan is not None
    folder = folder_reading.read(found.plan, Source(files))
    preview = examined(found, Catalogue(), folder=folder, power=power)
    return found.plan, folder, tuple(PlanFault(**_fields(fault)) for fault in preview.faults)


def _fields(fault: Any) -> dict[str, Any]:
    return {name: getattr(fault, name) for name in PlanFault.__struct_fields__}


def check(faults: tuple[PlanFault, ...], files: Mapping[str, str]) -> None:
    for fault in faults:
        assert fault.code in get_args(FaultCode)
        assert fault.message
        if fault.file in files:
            lines = toml_file.lines(files[fault.file])
            top = fault.field.split(".")[0].split("[")[0]
            assert (fault.line is not None) == any(name.split(".")[0].split("[")[0] == top for name in lines), fault
            assert fault.line is None or 1 <= fault.line <= files[fault.file].count("\n") + 1


def everybody_starves(world: Any) -> bool:
    """Whether the first morning's upkeep, 5 in the preset, is more than what everybody has: a run without a turn."""
    return bool(world["energy"]["ledger"] == "real" and world["energy"]["start"] <= 5)


@settings(max_examples=60)
@given(
    world=DOCUMENT,
    persona=PERSONAS,
    events=st.lists(EVENT, max_size=2),
    seats=SEATS,
    languages=st.sampled_from([["en"], ["ko"], ["ko", "en"]]),
    mess=st.booleans(),
    data=st.data(),
)
def test_a_world_is_read_certified_and_planned_or_every_fault_is_reported(
    world: Any, persona: Any, events: Any, seats: Any, languages: list[str], mess: bool, data: st.DataObject
) -> None:
    documents = {WORLD: world, PERSONA: persona, EVENTS: {"event": events} if events else {}}
    if mess:
        documents = {path: data.draw(spoilt(each)) for path, each in documents.items()}
    files = {path: written(each) for path, each in documents.items()}
    plan, folder, faults = read(plan_of(seats, languages), files)
    check(faults, files)
    assert bool(folder.rooms) or faults
    if faults:
        return
    turns = list(rehearsal.records(plan, folder.rooms, folder.texts))
    assert turns or everybody_starves(world), "a world without a fault is played"
    assert {turn["phase"] for turn in turns} == {"room"}


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from([WORLD, PERSONA, EVENTS, "texts/made.md"]), st.text(max_size=200)))
def test_any_text_is_read(files: dict[str, str]) -> None:
    _, _, faults = read(plan_of([{"count": 1, "persona": "made"}], ["en"]), files)
    assert faults


@pytest.mark.parametrize("name", ["stage1", "phase1", "phase2"])
def test_a_world_like_a_packaged_one_alone_is_played(name: str) -> None:
    files = {WORLD: f'like = "{name}"\n', EVENTS: "", PERSONA: 'ko = "나"\nen = "me"\n'}
    plan, folder, faults = read(plan_of([{"count": 2, "persona": "made"}], ["ko", "en"]), files)
    assert faults == ()
    assert len({turn["agent"] for turn in rehearsal.records(plan, folder.rooms, folder.texts)}) == 2
