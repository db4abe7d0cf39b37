"""Every stored type and version has samples that must read and write back to the same bytes."""

import msgspec
import pytest
from playmolt_core.game.decider import Decider, read_event
from playmolt_core.game.erasures import ErasureRules
from playmolt_core.game.lobby import LobbyRules
from playmolt_core.game.moderation import ModerationRules
from playmolt_core.game.ownership import OwnershipRules
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.stored.event import Event

from schemas.tests.samples import samples


def _samples(game: str) -> dict[tuple[str, int], list[bytes]]:
    found: dict[tuple[str, int], list[bytes]] = {}
    for kind, version, sample in samples(game):
        found.setdefault((kind, version), []).append(sample)
    return found


def test_every_stored_type_and_version_has_a_sample(game: str, decider: Decider) -> None:
    assert _samples(game).keys() == decider.events.keys()


def test_every_sample_reads_and_writes_back_to_the_same_bytes(game: str, decider: Decider) -> None:
    for kind, version, sample in samples(game):
        event = read_event(decider, kind, version, sample)
        assert (event.type, event.schema_version) == (kind, version)
        assert canonical_json(event) == sample


def test_what_is_stored_today_has_the_fields_of_its_sample(game: str, events: list[Event]) -> None:
    fields = {
        key: [msgspec.json.decode(sample).keys() for sample in all_of_it] for key, all_of_it in _samples(game).items()
    }
    assert {(event.type, event.schema_version) for event in events} == fields.keys()
    for event in events:
        assert msgspec.to_builtins(event).keys() in fields[event.type, event.schema_version]


def test_an_unknown_type_is_not_guessed(decider: Decider) -> None:
    with pytest.raises(LookupError, match="no_such_event"):
        read_event(decider, "no_such_event", 1, b"{}")
    with pytest.raises(LookupError, match="version 99"):
        read_event(decider, "game_created", 99, b"{}")


@pytest.mark.parametrize(
    "rules", [LobbyRules(), ErasureRules(), OwnershipRules(), ModerationRules()], ids=lambda rules: rules.game
)
def test_events_of_no_game_have_samples_that_read_and_write_back(rules: Decider) -> None:
    assert _samples(rules.game).keys() == rules.events.keys()
    for kind, version, sample in samples(rules.game):
        assert canonical_json(read_event(rules, kind, version, sample)) == sample
