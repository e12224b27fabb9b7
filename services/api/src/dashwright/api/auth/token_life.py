"""The expiry of a new token, from the requested life and the limits of the settings."""

from dataclasses import dataclass

from dashwright.api.domain import times
from dashwright.common.errors import BadRequest

_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class LifeLimits:
    """The limits on the life of a token, which apply independently. If one of them is set, every token must expire."""

    max_seconds: int | None = None  #: ``API_KEY_MAX_SECONDS_TO_LIVE``; None: no limit.
    max_days: int | None = None  #: ``TOKEN_EXPIRATION_DAY_LIMIT``; None: no limit.


def token_expiry(seconds_to_live: int, now: int, limits: LifeLimits) -> int | None:
    """Return the expiry in Unix seconds, or None for a token that never expires (0 seconds to live).

    ``now`` is in Unix seconds. Raises BadRequest for a life that is negative, above a limit, or ends after the year 9999, and for a
    token that never expires although a limit is set. The messages are Grafana's, except the one for ``max_days``.
    """
    if seconds_to_live < 0 or now + seconds_to_live > times.MAX_SECONDS:
        raise BadRequest("invalid SecondsToLive value", message_id="serviceaccounts.ErrInvalidInput")
    if limits.max_seconds is not None:
        if seconds_to_live == 0:
            raise BadRequest("Number of seconds before expiration should be set")
        if seconds_to_live > limits.max_seconds:
            raise BadRequest("Number of seconds before expiration is greater than the global limit")
    if limits.max_days is not None:
        max_seconds = limits.max_days * _DAY_SECONDS
        is_within_limit = 0 < seconds_to_live <= max_seconds
        if not is_within_limit:
            raise BadRequest(
                f"A token must expire within {limits.max_days} days on this server; give secondsToLive from 1 to {max_seconds}"
            )
    return now + seconds_to_live if seconds_to_live else None
