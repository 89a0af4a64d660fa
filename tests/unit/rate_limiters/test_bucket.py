"""The arithmetic of the token bucket: given times in, times out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.rate_limiters._bucket import Bucket, Buckets


def test_a_full_bucket_lets_its_size_through_at_once() -> None:
    bucket = Bucket(rate=10, size=3, what="r")
    now = 100.0
    for _ in range(3):
        assert bucket.due(1) <= now
        bucket.take(1, now)
    assert bucket.due(1) == pytest.approx(100.1)


def test_a_late_wake_up_does_not_lower_the_rate() -> None:
    bucket = Bucket(rate=50, size=1, what="r")
    bucket.take(1, 0.0)
    for _ in range(100):
        due = bucket.due(1)
        bucket.take(1, due)  # woke up some time after `due`, and says so by `due`
    assert bucket.due(1) == pytest.approx(101 / 50)


@given(st.floats(0.1, 1000), st.integers(1, 20), st.lists(st.floats(0, 0.5), max_size=60))
def test_no_window_ever_holds_more_than_rate_and_bucket_allow(rate: float, size: int, pauses: list[float]) -> None:
    bucket, now, starts = Bucket(rate, size, "r"), 0.0, []
    for pause in pauses:
        now += pause
        start = max(now, bucket.due(1))
        bucket.take(1, start)
        starts.append(start)
        now = start
    for first in range(len(starts)):
        for last in range(first, len(starts)):
            count = last - first + 1
            assert count <= size + rate * (starts[last] - starts[first]) + 1e-6


def test_requests_and_tokens_hold_together() -> None:
    buckets = Buckets(1000, 1, 500, 100)
    buckets.take(100, 0.0)
    assert buckets.due(100) == pytest.approx(0.2)
    assert buckets.due(0) == pytest.approx(0.001)


@pytest.mark.parametrize("wrong", [(0, 1, None, None), (-1, 1, None, None), (1, 0.5, None, None), (1, 1, 0, 1)])
def test_impossible_limits_are_refused(wrong: tuple[float, float, float | None, float | None]) -> None:
    with pytest.raises(ValueError):
        Buckets(*wrong)


def test_more_tokens_than_the_bucket_holds_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="never fit"):
        Buckets(1, 1, 10, 10).check(11)
