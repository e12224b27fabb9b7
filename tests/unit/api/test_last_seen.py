"""The time since a user was last seen, as text."""

from datetime import UTC, datetime, timedelta

import pytest

from dashwright.api.domain.times import age, last_seen

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ago", "message"),
    [
        (timedelta(), "< 1 minute"),
        (timedelta(seconds=59), "< 1 minute"),
        (timedelta(seconds=-5), "< 1 minute"),
        (timedelta(minutes=1), "1m"),
        (timedelta(minutes=59, seconds=59), "59m"),
        (timedelta(hours=3, minutes=59), "3h"),
        (timedelta(days=2), "2d"),
        (timedelta(days=30), "30d"),
        (timedelta(days=31), "1M"),
        (timedelta(days=364), "11M"),
        (timedelta(days=365), "1y"),
    ],
)
def test_an_age_is_its_largest_unit_rounded_down(ago: timedelta, message: str) -> None:
    """An age is a number of its largest unit, rounded down. A time in the future is less than a minute ago."""
    assert age(NOW - ago, NOW) == message


@pytest.mark.parametrize("created", [NOW, NOW - timedelta(days=1), datetime(2024, 2, 29, tzinfo=UTC)])
def test_a_new_user_was_seen_ten_years_ago(created: datetime) -> None:
    """A user who never logged in was last seen ten years before the creation, even if that was on 29 February.

    Any other user was last seen at the stored time.
    """
    never_logged_in = last_seen(None, created)
    assert age(never_logged_in, created) == "10y"
    seen_at, created_earlier = created, created - timedelta(days=9)
    assert last_seen(seen_at, created_earlier) == seen_at
