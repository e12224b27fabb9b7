"""The expiry of a new token, from the requested life and the limits of the settings."""

from dataclasses import dataclass

from dashwright.api.domain import times
from dashwright.common.errors import BadRequest

_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class LifeLimits:
    """The longest life of a token. With either limit set, every token must expire."""

    seconds: int | None = None
    days: int | None = None


def token_end(seconds_to_live: int, now: int, limits: LifeLimits) -> int | None:
    """Return the expiry in Unix seconds, or None for a token that never expires (0 seconds to live).

    Raises BadRequest, in the words that existing clients know, for a negative or too long life, for no expiry despite a limit, and
    for an expiry after the year 9999.
    """
    if seconds_to_live < 0 or now + seconds_to_live > times.LAST:
        raise BadRequest("invalid SecondsToLive value", message_id="serviceaccounts.ErrInvalidInput")
    if limits.seconds is not None:
        if seconds_to_live == 0:
            raise BadRequest("Number of seconds before expiration should be set")
        if seconds_to_live > limits.seconds:
            raise BadRequest("Number of seconds before expiration is greater than the global limit")
    if limits.days is not None and not 0 < seconds_to_live <= limits.days * _DAY_SECONDS:
        raise BadRequest(f"A token ends within {limits.days} days here; give secondsToLive from 1 to {limits.days * _DAY_SECONDS}")
    return now + seconds_to_live if seconds_to_live else None
