"""Expiry of tokens, formats of times, and addresses of avatars."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from dashwright.api.auth.token_life import LifeLimits, token_expiry
from dashwright.api.domain import times
from dashwright.api.domain.urls import avatar_url
from dashwright.common.errors import BadRequest

# The current time in Unix seconds, and a day in seconds.
NOW = 1_000_000_000
DAY = 86_400


@pytest.mark.parametrize(
    ("seconds", "limits", "end"),
    [
        (0, LifeLimits(), None),
        (1, LifeLimits(), NOW + 1),
        (times.MAX_SECONDS - NOW, LifeLimits(), times.MAX_SECONDS),
        (60, LifeLimits(max_seconds=60), NOW + 60),
        (2 * DAY, LifeLimits(max_days=2), NOW + 2 * DAY),
        (60, LifeLimits(max_seconds=60, max_days=2), NOW + 60),
    ],
)
def test_a_token_expires_as_requested(seconds: int, limits: LifeLimits, end: int | None) -> None:
    """A token expires after the requested seconds, which may equal the limit. A token with a lifetime of 0 never expires."""
    assert token_expiry(seconds, NOW, limits) == end


@pytest.mark.parametrize(
    ("seconds", "limits"),
    [
        (-1, LifeLimits()),
        (times.MAX_SECONDS - NOW + 1, LifeLimits()),
        (2**63 - 1, LifeLimits()),
        (0, LifeLimits(max_seconds=60)),
        (61, LifeLimits(max_seconds=60)),
        (0, LifeLimits(max_days=2)),
        (2 * DAY + 1, LifeLimits(max_days=2)),
        (61, LifeLimits(max_seconds=60, max_days=2)),
    ],
)
def test_an_invalid_lifetime_is_rejected(seconds: int, limits: LifeLimits) -> None:
    """A lifetime is rejected if it is negative or above the limit. With a limit, it is also rejected if the token would not expire."""
    with pytest.raises(BadRequest):
        token_expiry(seconds, NOW, limits)


def test_times_are_formatted_in_utc_and_whole_seconds() -> None:
    """Times of any zone are formatted in UTC, without fractions of seconds. Times out of the years 1 to 9999 become the nearest time."""
    moment = datetime(2026, 1, 31, 14, 30, 15, 999_999, timezone(timedelta(hours=2)))
    assert times.format_time(moment) == "2026-01-31T12:30:15Z"
    assert times.format_time(datetime(1, 1, 1, tzinfo=UTC)) == "0001-01-01T00:00:00Z"
    assert times.format_seconds(0) == "1970-01-01T00:00:00Z"
    assert times.format_seconds(times.MAX_SECONDS) == "9999-12-31T23:59:59Z"
    assert times.format_seconds(2**63 - 1) == "9999-12-31T23:59:59Z"
    assert times.format_seconds(-(2**63)) == "0001-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("email", "name"), [("admin@localhost", ""), ("  Admin@LocalHost ", "other"), ("", "admin"), ("", "Ad-min ")], ids=str
)
def test_an_avatar_depends_on_the_e_mail_or_else_the_name(email: str, name: str) -> None:
    """Without an e-mail address, the avatar is that of the name's letters and digits at ``localhost``. Case does not matter."""
    # The MD5 digest of ``admin@localhost``, as in Grafana.
    assert avatar_url(email, name) == "/avatar/46d229b033af06a191ff2267bca9ae56"
