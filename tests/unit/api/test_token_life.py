"""Expiry of tokens, formats of times, and addresses of avatars."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from dashwright.api.auth.token_life import LifeLimits, token_end
from dashwright.api.domain import times
from dashwright.api.domain.urls import avatar_url
from dashwright.common.errors import BadRequest

NOW = 1_000_000_000
DAY = 86_400


@pytest.mark.parametrize(
    ("seconds", "limits", "end"),
    [
        (0, LifeLimits(), None),
        (1, LifeLimits(), NOW + 1),
        (times.LAST - NOW, LifeLimits(), times.LAST),
        (60, LifeLimits(seconds=60), NOW + 60),
        (2 * DAY, LifeLimits(days=2), NOW + 2 * DAY),
        (60, LifeLimits(seconds=60, days=2), NOW + 60),
    ],
)
def test_a_token_ends_when_it_is_asked_to(seconds: int, limits: LifeLimits, end: int | None) -> None:
    """0 means that the token never expires; a limit may be reached."""
    assert token_end(seconds, NOW, limits) == end


@pytest.mark.parametrize(
    ("seconds", "limits"),
    [
        (-1, LifeLimits()),
        (times.LAST - NOW + 1, LifeLimits()),
        (2**63 - 1, LifeLimits()),
        (0, LifeLimits(seconds=60)),
        (61, LifeLimits(seconds=60)),
        (0, LifeLimits(days=2)),
        (2 * DAY + 1, LifeLimits(days=2)),
        (61, LifeLimits(seconds=60, days=2)),
    ],
)
def test_a_life_beyond_its_limit_is_refused(seconds: int, limits: LifeLimits) -> None:
    """With a limit, a token without expiry is refused."""
    with pytest.raises(BadRequest):
        token_end(seconds, NOW, limits)


def test_times_are_shown_in_utc_and_whole_seconds() -> None:
    """Whatever zone they were in; years have four digits."""
    moment = datetime(2026, 1, 31, 14, 30, 15, 999_999, timezone(timedelta(hours=2)))
    assert times.format_time(moment) == "2026-01-31T12:30:15Z"
    assert times.format_time(datetime(1, 1, 1, tzinfo=UTC)) == "0001-01-01T00:00:00Z"
    assert times.format_seconds(0) == "1970-01-01T00:00:00Z"
    assert times.format_seconds(times.LAST) == times.format_seconds(2**63 - 1) == "9999-12-31T23:59:59Z"
    assert times.format_seconds(-(2**63)) == "0001-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("email", "name"), [("admin@localhost", ""), ("  Admin@LocalHost ", "other"), ("", "admin"), ("", "Ad-min ")], ids=str
)
def test_an_avatar_depends_on_the_e_mail_or_else_the_name(email: str, name: str) -> None:
    """Letters and digits of the name, as of an address on this host; case does not matter."""
    assert avatar_url(email, name) == "/avatar/46d229b033af06a191ff2267bca9ae56"
