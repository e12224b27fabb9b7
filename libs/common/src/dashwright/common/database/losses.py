"""Tells the loss of the server from an error in a query, and says it without the password."""

from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg

from dashwright.common.errors import BadRequest, Unavailable

RETRY_AFTER = 1.0
"""Seconds a caller is asked to wait: a restart of PostgreSQL takes about as long."""

_SERVER_GOES = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.DatabaseDroppedError,
    asyncpg.IdleSessionTimeoutError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.TooManyConnectionsError,
    ConnectionError,
    TimeoutError,
)
_BUSY = (asyncpg.LockNotAvailableError, asyncpg.QueryCanceledError, asyncpg.DeadlockDetectedError, asyncpg.SerializationError)
_UNSTORABLE = (
    asyncpg.DataError,
    asyncpg.CharacterNotInRepertoireError,
    asyncpg.UntranslatableCharacterError,
    asyncpg.ProgramLimitExceededError,
)
_REFUSED = (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidCatalogNameError, asyncpg.InsufficientPrivilegeError)
_CLIENT_SIDE = (asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)

CONNECTING = (*_SERVER_GOES, *_REFUSED, *_CLIENT_SIDE)
"""What connecting may raise when the server is away or lets nobody in."""

QUERYING = (asyncpg.PostgresError, *_CLIENT_SIDE)
"""What a query may raise; ``is_loss`` tells which of them mean that the server is gone."""


def is_loss(error: BaseException, *, closed: bool) -> bool:
    """Whether the server went away, given the error of a query and whether its connection is closed now.

    asyncpg's ``InterfaceError`` also means wrong arguments, and ``OSError`` may come from a caller's own work: only a closed
    connection makes a loss of them.
    """
    return isinstance(error, _SERVER_GOES) or (closed and isinstance(error, _CLIENT_SIDE))


def is_busy(error: BaseException) -> bool:
    """Whether the server gave up a statement that may succeed later: it waited or ran too long, or met another in the wrong order."""
    return isinstance(error, _BUSY)


def is_refused(error: BaseException) -> bool:
    """Whether the server cannot hold what it was given: the last fence behind the checks that say so earlier."""
    return isinstance(error, _UNSTORABLE)


def refused(error: BaseException) -> BadRequest:
    return BadRequest(f"a value of this request cannot be stored: {error}")


def busy(place: str, error: BaseException) -> Unavailable:
    """The error to raise, from ``error``, when the database at ``place`` is there but did not get to it."""
    return Unavailable("The database is busy. Nothing was changed; try again.", retry_after=RETRY_AFTER, details=_told(place, error))


def lost(place: str, error: BaseException) -> Unavailable:
    """The error to raise, from ``error``, when the database goes away from under its callers: they need not know where it is."""
    text = "The database is not available at the moment; try again soon."
    return Unavailable(text, retry_after=RETRY_AFTER, details=_told(place, error))


def unavailable(place: str, error: BaseException) -> Unavailable:
    """The error to raise, from ``error``, when the database at ``place`` cannot be had at a start: whoever starts must know where it is."""
    said = str(error) or type(error).__name__
    text = f"The database {place} is not available ({said}). Check that PostgreSQL runs there and try again."
    return Unavailable(text, retry_after=RETRY_AFTER)


def _told(place: str, error: BaseException) -> dict[str, str]:
    """For logs."""
    return {"database": place, "said": str(error) or type(error).__name__}


def place_of(url: str) -> str:
    """Host and database of a URL as people may see them: ``dashwright at db.example:5432``. No user, no password."""
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    named = query.get("dbname", query.get("database", [unquote(parts.path.lstrip("/"))]))[0]
    host = parts.netloc.rpartition("@")[2] or query.get("host", ["the local socket"])[0]
    return f"{named or 'postgres'} at {host}"
