"""Which test files take longest, so that a run in several processes begins with them.

pytest-xdist gives one file after the other to whichever process is free. A file of two minutes that
comes last keeps one process at work while the others have ended. Files that are not named here take
a few seconds and come last, in their usual order.
"""

from pathlib import Path

SECONDS = {
    "test_demo.py": 120,
    "test_what_a_query_is_told.py": 100,
    "test_queries_in_a_group.py": 100,
    "test_jobs_anywhere.py": 90,
    "test_one_query.py": 80,
    "test_event_time_slices.py": 70,
    "test_live.py": 55,
    "test_checkpoints.py": 55,
    "test_served.py": 53,
    "test_source_shapes.py": 50,
    "test_seeded_schedules.py": 45,
    "test_applications_in_a_group.py": 45,
    "test_executors_that_report.py": 45,
    "test_pages_that_run.py": 45,
    "test_topics_that_change.py": 45,
    "test_silent_inputs.py": 40,
    "test_failures.py": 40,
    "test_races.py": 33,
    "test_torn_slices.py": 30,
    "test_site.py": 30,
    "test_checkpoint_formats.py": 30,
    "test_journal.py": 29,
    "test_watching.py": 29,
    "test_streams.py": 28,
    "test_unaligned_sources.py": 28,
    "test_spark_metrics.py": 28,
    "test_dry_run.py": 26,
    "test_lost_answers.py": 26,
    "test_mistakes.py": 25,
    "test_absurd_timestamps.py": 25,
    "test_secured_broker.py": 24,
    "test_payload_time.py": 24,
    "test_schemas.py": 23,
    "test_kafka_log.py": 22,
    "test_idle.py": 21,
    "test_dashboard_errands.py": 20,
    "test_seen.py": 20,
    "test_refusals.py": 20,
    "test_connections.py": 20,
    "test_processes.py": 18,
    "test_faults.py": 18,
    "test_command.py": 18,
    "test_large_groups.py": 16,
    "test_decoding.py": 16,
    "test_columns.py": 15,
    "test_long_poll.py": 15,
    "test_expiring_processes.py": 15,
    "test_transfer.py": 14,
    "test_catch_up_model.py": 14,
    "test_under_way.py": 14,
    "test_acts_of_operators.py": 13,
    "test_dashboard_for_all.py": 12,
    "test_operator_commands.py": 12,
    "test_bodies.py": 11,
    "test_dashboard_through_the_proxy.py": 11,
    "test_completion.py": 10,
    "test_stopped.py": 10,
    "test_lost_histories.py": 10,
}
"""By the file's name: some seconds that it takes. The order counts, not the clock."""


def seconds(file: Path) -> int:
    """How long the tests of a file take, roughly; 0 where they take little."""
    return SECONDS.get(file.name, 0)
