"""The registry of what runs in this process."""

from lockgate_spark.running import Registry


class One:
    def __init__(self) -> None:
        self.closed = False


class Third:
    closed = False


def test_a_run_has_one_entry_of_each_kind() -> None:
    running = Registry()
    one, third = running.of_run(One, "q", "run", One), running.of_run(Third, "q", "run", Third)

    assert running.of_run(One, "q", "run", One) is one
    assert (running.of_query(One, "q"), running.of_query(Third, "q")) == (one, third)
    assert (running.of_query(One, "another"), running.of_query(One, None)) == (None, None)


def test_an_entry_that_has_ended_is_not_found_and_the_next_run_drops_it() -> None:
    running = Registry()
    first = running.of_run(One, "q", "run", One)
    first.closed = True

    assert running.of_query(One, "q") is None
    assert running.all_of(One) == [first]
    second = running.of_run(One, "q", "next run", One)
    assert (running.of_query(One, "q"), running.all_of(One)) == (second, [second])
