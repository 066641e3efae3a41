"""The configurations of topics are requested again in time."""

from lockgate_spark.logs.topics import TopicConfigs

MINUTE_MS = 60_000


class Broker:
    def __init__(self) -> None:
        self.asked: list[set[str]] = []
        self.order: list[str] = []

    def topic_configs(self, topics: set[str], keys: object) -> list[str]:
        self.asked.append(set(topics))
        return []


def test_new_topics_do_not_put_off_the_request_for_the_others() -> None:
    broker = Broker()
    configs = TopicConfigs(broker)  # type: ignore[arg-type]
    broker.order = ["a-0"]
    configs.meet(0)
    broker.order = ["a-0", "b-0"]
    configs.meet(4 * MINUTE_MS)
    configs.refresh(6 * MINUTE_MS)
    assert broker.asked == [{"a"}, {"b"}, {"a", "b"}]
    configs.refresh(7 * MINUTE_MS)
    assert len(broker.asked) == 3


def test_source_without_splits_asks_for_no_configuration() -> None:
    broker = Broker()
    TopicConfigs(broker).refresh(6 * MINUTE_MS)  # type: ignore[arg-type]
    assert broker.asked == []
