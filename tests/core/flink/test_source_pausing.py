"""Which splits are paused: properties of the decision."""

from hypothesis import given
from hypothesis import strategies as st

from lockgate.flink.source.pausing import SplitAlignment
from lockgate.watermark import MIN

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("rose"), st.sampled_from("abc"), st.integers(0, 20)),
        st.tuples(st.just("idle"), st.sampled_from("abc"), st.booleans()),
        st.tuples(st.just("sample")),
        st.tuples(st.just("check"), st.integers(0, 20)),
        st.tuples(st.just("finish"), st.sampled_from("abc")),
    ),
    max_size=50,
)


@given(STEPS, st.integers(0, 3))
def test_checked_split_pauses_if_its_oldest_sample_is_above_the_maximum(
    steps: list[tuple[object, ...]], size: int
) -> None:
    splits = SplitAlignment(size)
    history: dict[str, list[int]] = {}
    for name in "abc":
        splits.add(name)
        history[name] = [MIN] * size
    for kind, *arguments in steps:
        if kind == "check":
            maximum = arguments[0]
            before = set(splits.paused)
            change = splits.check(maximum)  # type: ignore[arg-type]
            splits.apply(change)
            for name, sampler in splits.samplers.items():
                oldest = history[name][-size] if size else sampler.latest
                assert name in splits.idle or (name in splits.paused) == (oldest > maximum)  # type: ignore[operator]
            assert set(change.pause) | set(change.resume) == before ^ splits.paused
            assert not splits.check(maximum)  # type: ignore[arg-type]
        elif kind == "rose":
            splits.rose(*arguments)  # type: ignore[arg-type]
        elif kind == "idle":
            splits.set_idle(*arguments)  # type: ignore[arg-type]
        elif kind == "finish":
            splits.finish(*arguments)  # type: ignore[arg-type]
        else:
            splits.sample()
            for name, sampler in splits.samplers.items():
                history[name].append(sampler.latest)
    assert splits.paused <= splits.samplers.keys()
