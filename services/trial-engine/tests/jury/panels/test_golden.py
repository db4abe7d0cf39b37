"""Every stored type of a panel has a sample that must read for ever, and is decided again to the same event."""

from datetime import UTC, datetime

from playmolt_core.game.decider import Accepted, read_event
from playmolt_jury.panels.rules import Panel
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.stored.event import Event

from schemas.tests import samples as golden

PANEL, AT = Panel(), datetime(2026, 1, 1, tzinfo=UTC)


def stored() -> dict[str, Event]:
    return {kind: read_event(PANEL, kind, version, sample) for kind, version, sample in golden.samples("panel")}


def test_every_sample_reads_and_writes_back_to_the_same_bytes() -> None:
    samples = list(golden.samples("panel"))
    assert {(kind, version) for kind, version, _ in samples} == PANEL.events.keys()
    for kind, version, sample in samples:
        assert canonical_json(read_event(PANEL, kind, version, sample)) == sample


def test_stored_events_are_decided_again() -> None:
    events, state = stored(), PANEL.initial("panel-1")
    for name in ("panel_opened", "jury_set_aside", "panel_stopped", "panel_resumed", "jury_played", "panel_aborted"):
        (command,) = PANEL.recovered(state, [events[name]], AT)
        decided = PANEL.decide(state, command, AT)
        assert isinstance(decided, Accepted)
        assert decided.events[0] == events[name]
        state = PANEL.evolve(state, events[name], AT)
    assert state.status == "aborted"
