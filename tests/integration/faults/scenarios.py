"""Every fault that the platform must survive, and the test that causes it: `file::name`."""

from collections.abc import Mapping
from typing import Final

_APPEND: Final = "tests/integration/faults/test_append.py::"
_RELAY: Final = "tests/integration/bus/test_relay.py::"
_PLAY: Final = "tests/integration/platform/test_play.py::"
_ENGINE: Final = "core/tests/engine/test_engine.py::"
_LOG: Final = "core/tests/log/log_contract.py::"
_SPECTATOR: Final = "services/spectator/tests/"

SCENARIOS: Final[Mapping[str, tuple[str, ...]]] = {
    "an engine is killed around its append": (
        _APPEND + "test_an_append_that_is_broken_off_is_stored_once",
        _PLAY + "test_a_killed_service_loses_nothing",
    ),
    "the connection is cut behind a commit": (_APPEND + "test_an_append_that_is_broken_off_is_stored_once",),
    "the connection is cut before a commit": (_APPEND + "test_an_append_that_is_broken_off_is_stored_once",),
    "Postgres is killed under load": (
        _PLAY + "test_a_killed_server_loses_nothing",
        "tests/integration/gateway/test_outage.py::test_a_lost_server_means_503_and_no_lost_action",
    ),
    "many send one command at once": (
        _APPEND + "test_of_many_identical_calls_one_is_stored_though_the_connection_is_cut",
        _LOG + "test_of_many_with_the_same_command_one_is_stored",
    ),
    "many race for one turn": (
        _ENGINE + "test_two_replicas_racing_lose_nothing",
        _PLAY + "test_a_storm_of_joins_seats_exactly_the_needed_number",
    ),
    "a command id comes with another body": (_APPEND + "test_the_same_key_with_another_body_writes_nothing",),
    "a refused action is repeated": (_ENGINE + "test_a_refusal_is_not_remembered",),
    "an engine stands still in a decision": (
        _APPEND + "test_an_engine_that_stands_still_in_a_decision_comes_back_to_a_game_that_went_on",
    ),
    "no engine for a moment": (
        "tests/integration/bus/test_bus.py::test_a_call_waits_out_a_moment_without_any_engine",
        "tests/integration/gateway/test_gateway.py::test_a_restarting_engine_is_invisible_to_a_bot",
    ),
    "the relay is killed behind a publish": (
        "tests/integration/platform/test_feeds.py::test_killed_processes_cost_no_reader_a_message",
    ),
    "two relays at once": (_RELAY + "test_rival_relays_writers_that_roll_back_and_a_server_killed_again_and_again",),
    "a relay stands still and comes back": (
        _RELAY + "test_rival_relays_writers_that_roll_back_and_a_server_killed_again_and_again",
        _PLAY + "test_two_replicas_of_everything_and_one_of_each_killed",
    ),
    "NATS is killed under load": (_PLAY + "test_a_killed_server_loses_nothing",),
    "a stream lost its tail": (_RELAY + "test_a_store_that_lost_its_tail_is_filled_up_though_nothing_happens",),
    "a stream is gone": (
        _RELAY + "test_a_store_that_is_lost_whole_is_filled_again",
        _PLAY + "test_nats_may_lose_everything_in_the_middle_of_a_game",
    ),
    "NATS is away while games go on": (
        _PLAY + "test_nats_may_lose_everything_in_the_middle_of_a_game",
        _RELAY + "test_a_long_log_goes_over_in_batches",
    ),
    "a lock is held by a stuck session": (
        "tests/integration/log/test_postgres.py::test_a_stuck_lock_ends_as_unavailable_and_the_log_goes_on",
    ),
    "a transaction stays open elsewhere": (_APPEND + "test_a_transaction_left_open_elsewhere_holds_nothing_up",),
    "a watcher never reads": (_SPECTATOR + "test_slow.py::test_a_stalled_reader_is_dropped_with_4008",),
    "a watcher leaves and comes back": (_SPECTATOR + "test_order.py::test_events_resume_where_the_reader_stopped",),
    "a spectator loses NATS": (_SPECTATOR + "test_order.py::test_trouble_on_the_bus_is_not_seen",),
    "actions that nobody understands": ("tests/integration/gateway/test_fuzz.py::test_no_input_breaks_a_route",),
    "events of old versions": (
        "services/trial-engine/tests/jury/test_rules_golden.py::test_every_stored_type_and_version_has_a_sample",
        "services/legal-orchestrator/tests/test_golden.py::test_every_sample_reads_and_writes_back_to_the_same_bytes",
    ),
    "a deadline passes and many look": (_ENGINE + "test_a_deadline_passes_once_though_two_engines_poll",),
    "Postgres is set back behind the streams": (
        _RELAY + "test_a_database_set_back_is_refused",
        "tests/integration/bus/test_standing_feeds.py"
        "::test_a_stray_message_is_mended_and_a_log_that_was_set_back_is_told",
    ),
    "a stored row is edited": ("core/tests/log/test_chain.py::test_an_edited_record_breaks_its_stream",),
    "a login tries what it may not": (
        "tests/integration/log/test_roles.py::test_a_role_may_do_just_what_is_listed",
        "tests/integration/bus/test_trespasses.py::test_nobody_but_the_relay_gets_anything_into_a_stream",
    ),
    "the disk is full": (
        _APPEND + "test_a_full_disk_takes_no_action_and_loses_none",
        "tests/integration/faults/test_disk.py::test_a_disk_that_takes_nothing_stops_the_server_and_loses_no_action",
    ),
    "clocks are apart": (
        _ENGINE + "test_replicas_whose_clocks_are_apart_write_one_history",
        "tests/integration/faults/test_clocks.py::test_a_gateway_whose_clock_is_off_serves_as_any_other",
    ),
    "the database falls silent or is slow": (
        _APPEND + "test_a_database_that_falls_silent_costs_time_and_no_action",
        _APPEND + "test_a_slow_database_makes_nobody_wait_for_ever",
    ),
    "a backup is restored": ("tests/integration/log/test_backup.py::test_a_backup_is_restored_verifies_and_goes_on",),
    "the whole machine goes down": (_PLAY + "test_after_a_crash_of_the_whole_machine_every_game_is_taken_up",),
}
"""The first 28 faults are those of the audit, in its order."""
