"""The tests of the REST API run over memory.

What the two stores do alike is the store's contract (tests/coordinator/store). So over Redis only
the tests of `OVER_REDIS` run at each commit, a few of each subject, and all others in the long run.
"""

from pathlib import Path

import pytest

OVER_REDIS = {
    "test_no_report_of_many_at_once_is_lost_and_each_answer_counts_its_own",
    "test_each_report_of_a_batch_is_judged_alone",
    "test_progress_of_executors_raises_the_watermark_split_by_split",
    "test_a_watermark_survives_exactly",
    "test_two_readers_share_what_one_of_them_was_asked_to_list",
    "test_readers_present_what_they_hold_to_a_group_that_was_forgotten",
    "test_source_events_go_both_ways",
    "test_inspection_shows_who_reads_what_and_where_it_stands_page_by_page",
    "test_a_deleted_group_is_forgotten_and_its_successors_revision_is_higher",
    "test_if_match_replaces_only_what_was_read",
    "test_inspection_shows_readers_and_splits_with_drift_and_lease",
    "test_the_list_comes_a_page_at_a_time",
    "test_registering_creates_the_group_with_what_the_reader_was_last_told",
    "test_another_owner_is_told_who_is_busy_and_may_take_over",
    "test_a_poll_is_woken_by_a_report_and_many_by_the_same",
    "test_a_poll_sees_a_lost_reader_without_any_other_request",
    "test_pages_follow_each_other_in_both_orders",
    "test_the_journal_goes_with_its_group",
    "test_a_pause_is_in_every_answer_until_the_source_is_resumed",
    "test_a_store_takes_so_many_groups_however_they_are_made",
}
ONLY_OVER_REDIS = {"test_unreadable.py", "test_lost_splits.py"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent not in item.path.parents or item.path.name in ONLY_OVER_REDIS:
            continue
        name, _, variant = item.name.partition("[")
        if "redis" in variant and name not in OVER_REDIS:
            item.add_marker(pytest.mark.long)
