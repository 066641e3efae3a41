"""What Prometheus reads of the facts that readers report."""

from support.in_process import Service


async def test_facts_of_readers_are_joined_and_missing_ones_have_no_series(service: Service) -> None:
    left = service.now_ms + 60_000
    facts = {"late_rows": 2, "rows_saved": 9, "retained_until": left, "event_time_rate": 3_000}
    await service.reports("a", 5, facts=facts)
    await service.reports("b", 5, facts={"producer_lag_ms": 1_500})
    await service.reports("plain", 5)
    facts = {"late_rows": 3, "retained_until": left - 20_000, "producer_lag_ms": 2_000, "event_time_rate": 1_500}
    await service.reports("a", 5, subtask=1, facts=facts)
    service.now_ms += 10_000
    names = ("late_rows_total", "rows_saved", "retention_left_seconds", "producer_lag_seconds", "event_time_rate")

    async def of(source: str) -> dict[str, float]:
        seen = await service.scrape()
        series = {name: seen.get(f"source_{name}{{group=g,source={source}}}") for name in names}
        return {name: value for name, value in series.items() if value is not None}

    assert await of("a") == dict(zip(names, (5, 9, 30, 2, 1.5), strict=True))
    assert await of("b") == {"producer_lag_seconds": 1.5}
    assert await of("plain") == {}
    await service.reports("b", 5, facts={"event_time_rate": 0}, idle=True)
    assert await of("b") == {}, "an idle reader has no event-time rate"
    for _ in range(4):
        await service.reports("b", 5, later_ms=9_000)
    await service.reports("a", 5, finished=True)
    assert await of("a") == {"late_rows_total": 3, "retention_left_seconds": 0, "producer_lag_seconds": 2}, (
        "of a lost one"
    )
