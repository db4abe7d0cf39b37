"""Every stored type and version has a sample that must read for ever. A sample is never changed, only added to."""

import msgspec
import pytest
from playmolt_core.game.decider import EndGame, read_event
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.tournament import BoardRow
from playmolt_tournament import commands
from tournament_driver import RULES, TRIAL_ROLES, Driver, agent

from core.tests.decided_again import redecided
from schemas.tests import samples as golden


def samples() -> dict[tuple[str, int], bytes]:
    return {(kind, version): sample for kind, version, sample in golden.samples("tournament")}


def every_tournament() -> list[Driver]:
    """Events of all types: an arena with everything in it, a season, and one that was ended."""
    arena = Driver().created(
        seats=6, roles=TRIAL_ROLES, format="arena", duration_minutes=5, by="owner-1", language="en"
    )
    arena.when(commands.ChangeTournament(terms={"name": "Cup of Seoul"}, by="owner-1"))
    arena.joined(1, 2, 3, owner="owner-2").joined(4).started().pair().seat_all()
    arena.when(commands.PauseEntrant(agent_id=agent(4))).when(commands.ResumeEntrant(agent_id=agent(4)))
    arena.when(commands.LeaveTournament(agent_id=agent(4)))
    (game_id,) = arena.running()
    arena.when(commands.ScoreGame(game_id=game_id, outcome="void")).to_the_end()
    late = Driver().created(format="arena", duration_minutes=5).joined(1, 2).started().pair()
    late.later(300).when(commands.DropTable(round=1, table=1, attempt=1))
    season = Driver().created(format="season", ends_at="2026-04-01T00:00:00Z")
    row = BoardRow(rank=0, agent_id=agent(1), name="가나", handle="agent-1", owner_id=None, points=300, wins=1, games=2)
    season.when(commands.CloseSeason(board=(row,)))
    stopped = Driver().created(format="season", ends_at="2026-04-01T00:00:00Z")
    stopped.when(commands.CloseSeason(board=(row,), reason="점검 때문에 끝냅니다."))
    aborted = Driver().created().joined(1).when(EndGame(reason="점검 때문에 끝냅니다."))
    return [aborted, season, stopped, late, arena]


@pytest.fixture
def events() -> list[Event]:
    return [event for each in every_tournament() for event, _ in each.log]


def test_every_event_is_decided_the_same_again() -> None:
    for each in every_tournament():
        again = redecided(RULES, each.facts)
        assert (again.known, again.differs_at) == (True, None)


def test_every_stored_type_and_version_has_a_sample() -> None:
    assert samples().keys() == RULES.events.keys()


def test_every_sample_reads_and_writes_back_to_the_same_bytes() -> None:
    for kind, version, sample in golden.samples("tournament"):
        event = read_event(RULES, kind, version, sample)
        assert (event.type, event.schema_version) == (kind, version)
        assert canonical_json(event) == sample


def test_what_is_stored_today_has_the_fields_of_a_sample(events: list[Event]) -> None:
    fields: dict[tuple[str, int], list[object]] = {}
    for kind, version, sample in golden.samples("tournament"):
        fields.setdefault((kind, version), []).append(msgspec.json.decode(sample).keys())
    assert {(event.type, event.schema_version) for event in events} == fields.keys()
    for event in events:
        assert msgspec.to_builtins(event).keys() in fields[event.type, event.schema_version]
