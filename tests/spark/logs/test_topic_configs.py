"""The configurations of topics are requested again in time."""

from lockgate_spark.logs.topics import TopicConfigs

MINUTE_MS = 60_000


class Broker:
    def __init__(self) -> None:
        self.asked: list[set[str]] = []

    def topic_configs(self, topics: set[str], keys: object) -> list[str]:
        self.asked.append(set(topics))
        return []


def test_new_topics_do_not_put_off_the_request_for_the_others() -> None:
    broker, configs = Broker(), TopicConfigs()
    configs.meet({"a-0"}, broker, 0)  # type: ignore[arg-type]
    configs.meet({"a-0", "b-0"}, broker, 4 * MINUTE_MS)  # type: ignore[arg-type]
    configs.current(broker, 6 * MINUTE_MS)  # type: ignore[arg-type]
    assert broker.asked == [{"a"}, {"b"}, {"a", "b"}]
    configs.current(broker, 7 * MINUTE_MS)  # type: ignore[arg-type]
    assert len(broker.asked) == 3
