"""Which test files take longest, so that a run in several processes begins with them.

pytest-xdist gives one file after the other to whichever process is free. A file of two minutes that
comes last keeps one process at work while the others have ended. Files that are not named here take
a few seconds and come last, in their usual order.
"""

from pathlib import Path

SECONDS = {
    "test_over_connect.py": 170,  # with all files of its process (side_by_side.py)
    "test_schemas.py": 113,
    "test_demo.py": 80,
    "test_reader_outages.py": 63,
    "test_queries_in_a_group.py": 60,
    "test_seeded_schedules.py": 57,
    "test_races.py": 49,
    "test_live_board.py": 43,
    "test_lost_answers.py": 41,
    "test_observed_report.py": 40,
    "test_served.py": 40,
    "test_one_query.py": 38,
    "test_membership.py": 36,
    "test_what_a_query_is_told.py": 35,
    "test_checkpoints.py": 32,
    "test_site.py": 32,
    "test_checkpoint_formats.py": 30,
    "test_dry_run.py": 28,
    "test_dashboard_errands.py": 28,
    "test_readers_and_a_coordinator.py": 28,
    "test_watching.py": 26,
    "test_host_process.py": 25,
    "test_connections.py": 23,
    "test_journal.py": 22,
    "test_gate.py": 21,
    "test_outage_policy.py": 20,
    "test_large_exchanges.py": 20,
    "test_kept_late_rows.py": 20,
    "test_pages_that_run.py": 19,
    "test_dashboard_for_all.py": 19,
    "test_membership_changes.py": 19,
    "test_source_shapes.py": 18,
    "test_command.py": 18,
    "test_client_certificates.py": 18,
    "test_torn_slices.py": 17,
    "test_lost_positions.py": 17,
    "test_faults.py": 16,
    "test_deep_plans.py": 15,
    "test_operator_commands.py": 15,
    "test_streams.py": 14,
    "test_seen.py": 14,
    "test_lines_for_people.py": 14,
    "test_under_way.py": 13,
    "test_failures.py": 13,
    "test_client.py": 13,
    "test_executors_that_report.py": 13,
    "test_transfer.py": 13,
    "test_callers.py": 12,
    "test_bodies.py": 12,
    "test_servers.py": 12,
    "test_reader_and_query.py": 11,
    "test_other_release.py": 11,
    "test_mistakes.py": 11,
    "test_refusals.py": 10,
    "test_unaligned_sources.py": 10,
    "test_mixed_groups.py": 10,
    "test_secured_broker.py": 10,
    "test_stopped.py": 10,
    "test_topics_that_change.py": 9,
    "test_event_time_slices.py": 9,
    "test_payload_time.py": 8,
    "test_faults_bite.py": 8,
    "test_idle.py": 8,
}
"""By the file's name: some seconds that it takes. The order counts, not the clock."""


def seconds(file: Path) -> int:
    """How long the tests of a file take, roughly; 0 where they take little."""
    return SECONDS.get(file.name, 0)
