"""News that the coordinator made while it heard no reader: the leases that ended meanwhile are
extended by the next report, so no query may act on the ceiling that was made without them.
"""

from lockgate.group.group import create
from lockgate.wire.events import CatchUp, GroupConfig
from lockgate_http.group.ceiling import Ceiling
from support.members import at, member
from support.members import create as configure
from support.turns import evaluate, reported

DRIFT, BEHIND, AHEAD = 1_000, 5_000, 5_900
CONFIG = GroupConfig(max_drift_ms=DRIFT, catch_up=CatchUp.STRICT)
YOUNGER_MS = 8_000
"""The time between the last reports of the two. During a batch a report every third of a lease is
enough.
"""


def test_news_made_in_a_silence_of_all_does_not_lift_the_ceiling(url: str, group: str) -> None:
    configure(url, group, lease_ms=CONFIG.lease_ms, update_interval_ms=CONFIG.update_interval_ms)
    with member(url, group) as query:
        query.exchange(at(AHEAD))
        tolerance_s = query._session.tolerance_s

    state = reported(create("g", CONFIG, 0), "behind", BEHIND, 0)
    state = reported(state, "ahead", AHEAD, YOUNGER_MS)
    _, answer = evaluate(state, YOUNGER_MS)
    ceiling = Ceiling("ahead")
    ceiling.asks(lowest=AHEAD)
    ceiling.answered(answer, asked_at=YOUNGER_MS / 1_000)
    assert ceiling.value == BEHIND + DRIFT

    # no report gets through any more, but the news of the first ended lease does
    state, news = evaluate(state, CONFIG.lease_ms)
    assert news.max_desired_watermark == AHEAD + DRIFT
    assert ceiling.on_event(news, CONFIG.lease_ms / 1_000, tolerance_s)
    assert ceiling.value == BEHIND + DRIFT

    # the silence ends, and both readers count as before
    state = reported(state, "ahead", AHEAD, CONFIG.lease_ms + 1)
    assert evaluate(state, CONFIG.lease_ms + 1)[1].max_desired_watermark == BEHIND + DRIFT
