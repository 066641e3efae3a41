"""When positions are committed, and what a commit has."""

from collections.abc import Mapping

from lockgate_reader.kafka.messages import Key
from lockgate_reader.reading.commits import Commits

A, B = ("t", 0), ("t", 1)


class Kafka:
    """What Kafka was given to commit, and what it says later that failed."""

    def __init__(self) -> None:
        self.given: list[dict[Key, int]] = []
        self.failed = set[Key]()

    def commit(self, positions: Mapping[Key, int], *, wait: bool) -> None:
        self.given.append(dict(positions))

    def failed_commits(self) -> set[Key]:
        failed, self.failed = self.failed, set()
        return failed


def test_what_has_moved_or_failed_goes_with_the_next_commit_and_nothing_else() -> None:
    kafka = Kafka()
    commits = Commits(kafka, 1_000, lambda: 0)  # type: ignore[arg-type]
    commits.commit({A: 1, B: 1}, wait=False)
    commits.commit({A: 1, B: 2}, wait=False)
    kafka.failed = {A}
    commits.commit({A: 1, B: 2}, wait=False)
    commits.commit({A: 1, B: -3}, wait=False)
    assert kafka.given == [{A: 1, B: 1}, {B: 2}, {A: 1}, {}]


def test_a_commit_is_due_after_its_interval_and_when_other_splits_are_held() -> None:
    now = 0
    commits = Commits(Kafka(), 1_000, lambda: now)  # type: ignore[arg-type]
    assert not commits.is_due(changed=False)
    assert commits.is_due(changed=True)
    now = 1_000
    assert commits.is_due(changed=False)
    commits.commit({A: 1}, wait=False)
    assert not commits.is_due(changed=False)


def test_nothing_is_due_where_the_program_alone_commits() -> None:
    commits = Commits(Kafka(), None, lambda: 10**9)  # type: ignore[arg-type]
    assert not commits.is_due(changed=True)
