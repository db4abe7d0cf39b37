"""Who sits in a room: ids in order, personas and homes, names that are taken, and how many there may be."""

from collections.abc import Callable
from typing import Any

import pytest
from playmolt_agora_runner.folder import reading as folder_reading
from playmolt_agora_runner.folder.reading import PlanFolder
from playmolt_agora_runner.folder.source import FILES_MOST, FOLDER_BYTES, Source
from playmolt_agora_runner.plan import reading
from playmolt_schemas.stored.agora.plan import Plan

Rooms = Callable[..., PlanFolder]


@pytest.fixture
def rooms(plan: Plan, folder: PlanFolder) -> Rooms:
    """Read the example's folder with another list of rooms, or with more files."""

    def read(*listed: dict[str, Any], files: dict[str, str] | None = None, **more: Any) -> PlanFolder:
        base = {"name": "pasture", "world": "pasture", "runs": 1, "seats": [{"persona": "steward", "count": 2}]}
        body = {"name": "n", "models": ["scripted-steady", "scripted-trader"], "measures": []} | more
        body["rooms"] = [base | each for each in listed or ({},)]
        found = reading.reading(body)
        assert found.plan is not None, found.faults
        assert not found.faults
        return folder_reading.read(found.plan, Source({**folder.texts, **(files or {})}))

    return read


def codes(found: PlanFolder) -> list[tuple[str, str, str]]:
    return [(fault.file, fault.field, fault.code) for fault in found.faults]


SEATS = [
    {"persona": "steward", "count": 2},
    {"count": 2, "home": "well"},
    {"persona": "steward", "count": 1},
    {"persona": "elder", "count": 1, "home": "well"},
]


def test_ids_count_each_persona_in_the_order_of_the_list(rooms: Rooms) -> None:
    (room,) = rooms({"seats": SEATS}).rooms
    assert [(seat.agent, seat.persona, seat.home) for seat in room.seats] == [
        ("STEWARD_01", "steward", "pasture"),
        ("STEWARD_02", "steward", "pasture"),
        ("agent_001", None, "well"),
        ("agent_002", None, "well"),
        ("STEWARD_03", "steward", "pasture"),
        ("ELDER_01", "elder", "well"),
    ]


def test_neutral_ids_tell_nothing_of_the_persona(rooms: Rooms) -> None:
    (room,) = rooms({"seats": SEATS, "neutral_ids": True}).rooms
    assert [seat.agent for seat in room.seats] == [f"agent_{number:03}" for number in range(1, 7)]
    assert [seat.persona for seat in room.seats] == ["steward", "steward", None, None, "steward", "elder"]


def test_models_take_seats_in_turn_where_they_are_mixed(rooms: Rooms) -> None:
    seats = [{"count": 3}, {"persona": "elder", "count": 1, "model": "scripted-wild"}]
    (room,) = rooms(
        {"seats": seats, "mix": "all"}, models=["scripted-steady", "scripted-trader", "scripted-wild"]
    ).rooms
    assert [seat.model for seat in room.seats] == [
        "scripted-steady",
        "scripted-trader",
        "scripted-wild",
        "scripted-wild",
    ]
    found = rooms({"seats": seats})
    assert ("", "rooms[0].seats[1].model", "out_of_range") in codes(found)


@pytest.mark.parametrize(
    ("counts", "refused"), [((200,), False), ((100, 100), False), ((200, 1), True), ((101, 100), True)]
)
def test_a_room_has_at_most_200_seats(rooms: Rooms, counts: tuple[int, ...], refused: bool) -> None:
    found = rooms({"seats": [{"count": count} for count in counts]})
    assert (
        [each for each in codes(found) if each[2] == "too_many_seats"] == [("", "rooms[0].seats", "too_many_seats")]
    ) is refused
    assert (len(found.rooms) == 0) is refused


@pytest.mark.parametrize("name", ["stage1", "phase1", "phase1_costs_real", "phase2"])
def test_a_room_is_not_called_as_a_phase(rooms: Rooms, name: str) -> None:
    assert codes(rooms({"name": name})) == [("", "rooms[0].name", "name_taken")]


def test_two_rooms_of_one_name_are_both_told(rooms: Rooms) -> None:
    found = rooms({"name": "a"}, {"name": "b"}, {"name": "a"})
    assert {field for _, field, _ in codes(found)} >= {"rooms[0].name"}
    assert [room.name for room in found.rooms] == ["b"]


@pytest.mark.parametrize(
    ("path", "room"),
    [
        ("worlds/phase1.toml", {"world": "phase1"}),
        ("worlds/stage1.toml", {"world": "stage1"}),
        ("worlds/phase2.toml", {"world": "phase2"}),
        ("personas/merchant.toml", {"seats": [{"persona": "merchant", "count": 1}]}),
        ("personas/jester.toml", {"seats": [{"persona": "jester", "count": 3}]}),
    ],
)
def test_a_file_with_the_name_of_what_comes_with_the_software_is_refused(
    rooms: Rooms, path: str, room: dict[str, Any]
) -> None:
    text = 'ko = "나"\nen = "me"\n' if path.startswith("personas") else "turns = 3\n"
    assert (path, "", "name_taken") in codes(rooms(room, files={path: text}))
    assert not [each for each in codes(rooms(room)) if each[2] == "name_taken"], (
        "without the file the packaged one plays"
    )


def test_a_folder_has_at_most_100_files(rooms: Rooms) -> None:
    many = FILES_MOST + 1
    texts = {f"personas/p{number}.toml": 'ko = "나"\nen = "me"\n' for number in range(many)}
    listed = [{"persona": f"p{number}", "count": 1} for number in range(many)]
    assert "too_many_files" in {code for _, _, code in codes(rooms({"seats": listed}, files=texts))}
    assert not codes(rooms({"seats": listed[: FILES_MOST - 1]}, files=texts)), "with its world that is 100"


def test_a_folder_is_at_most_2_mib(rooms: Rooms) -> None:
    many = FOLDER_BYTES // (59 * 1024) + 1
    texts = {f"events/e{number}.toml": f"# {'x' * 59 * 1024}\n" for number in range(many)}
    found = rooms({"events": list(texts and [f"e{number}" for number in range(many)])}, files=texts)
    assert ("", "", "file_too_large") in codes(found)


class TestUnreachable:
    """A place that nobody can enter, an action in no place."""

    def found(self, rooms: Rooms, *replaced: tuple[str, str], seats: Any = None, **room: Any) -> list[str]:
        text = rooms().texts["worlds/pasture.toml"]
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new, 1)
        room |= {"seats": seats} if seats else {}
        found = rooms(room, files={"worlds/pasture.toml": text})
        assert {fault.code for fault in found.faults} <= {"world_unreachable"}, found.faults
        assert all(fault.line for fault in found.faults)
        return [fault.field for fault in found.faults]

    def test_a_place_that_no_other_leads_to(self, rooms: Rooms) -> None:
        shut = ('hears = ["well"]', 'hears = ["well"]\nto = []')
        assert self.found(rooms, shut) == ["places.well"]
        assert self.found(rooms, shut, seats=[{"count": 1, "home": "well"}, {"count": 1}]) == [], (
            "somebody starts there"
        )

    def test_a_place_where_there_is_no_move(self, rooms: Rooms) -> None:
        still = ('[actions.move]\nlabel = { ko = "이동하기", en = "Move" }\n', "")
        assert self.found(rooms, still) == ["places.well"]

    def test_an_action_in_no_place(self, rooms: Rooms) -> None:
        assert self.found(rooms, ('where = ["pasture"]\namount', 'where = ["well"]\namount')) == ["actions.harvest"]

    def test_places_one_after_another_are_reached(self, rooms: Rooms) -> None:
        chain = "".join(
            f'[places.p{number}]\ntitle = {{ ko = "곳", en = "Place" }}\nto = ["p{number + 1}"]\n\n'
            for number in range(3)
        )
        last = '[places.p3]\ntitle = { ko = "곳", en = "Place" }\n\n'
        well = (
            '[places.well]\ntitle = { ko = "우물", en = "Well" }',
            f'{chain}{last}[places.well]\ntitle = {{ ko = "우물", en = "Well" }}\nto = []',
        )
        assert self.found(rooms, well) == []
        broken = (well, ('to = ["p1"]', "to = []"), ('hears = ["well"]', 'hears = ["well"]\nto = ["p0"]'))
        assert self.found(rooms, *broken) == ["places.p1", "places.p2", "places.p3", "places.well"]


@pytest.mark.parametrize(
    ("room", "field", "name"),
    [
        ({"models": ["scripted-wild", "scripted-wild"]}, "models", "scripted-wild"),
        ({"languages": ["en", "ko", "en"]}, "languages", "en"),
        ({"events": ["seasons", "seasons"]}, "events", "seasons"),
    ],
)
def test_what_a_room_names_twice_would_be_two_runs_of_one_id(
    rooms: Rooms, room: dict[str, Any], field: str, name: str
) -> None:
    found = rooms({"name": "other"}, room)
    assert [(fault.field, fault.message) for fault in found.faults] == [(f"rooms[1].{field}", f"names {name} 2 times")]


def test_models_that_share_a_room_may_take_seats_more_often(rooms: Rooms) -> None:
    shared = {"mix": "all", "models": ["scripted-wild", "scripted-wild", "scripted-steady"], "seats": [{"count": 3}]}
    found = rooms(shared)
    assert found.faults == ()
    assert [seat.model for seat in found.rooms[0].seats] == shared["models"]
