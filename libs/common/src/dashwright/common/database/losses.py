"""Classification of database errors: a lost server, a busy server, or an error in the query.

Messages name the database without its password.
"""

from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg

from dashwright.common.errors import BadRequest, Unavailable

#: Seconds that a client is asked to wait: about as long as a restart of PostgreSQL takes.
RETRY_AFTER = 1.0

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

#: Errors of connecting to a server that is unreachable or refuses the role.
CONNECTING = (*_SERVER_GOES, *_REFUSED, *_CLIENT_SIDE)

#: Errors of a query. ``is_loss`` recognizes those that mean a lost server.
QUERYING = (asyncpg.PostgresError, *_CLIENT_SIDE)


def is_loss(error: BaseException, *, closed: bool) -> bool:
    """Return whether the server was lost, given the error of a query and whether its connection is closed now.

    asyncpg's ``InterfaceError`` also means wrong arguments, and ``OSError`` may come from a caller's own work: these
    count only if the connection is closed.
    """
    return isinstance(error, _SERVER_GOES) or (closed and isinstance(error, _CLIENT_SIDE))


def is_busy(error: BaseException) -> bool:
    """Return whether the server gave up a statement that may succeed later: a time-out, or a conflict of locks."""
    return isinstance(error, _BUSY)


def is_refused(error: BaseException) -> bool:
    """Return whether the server cannot store a value. Earlier checks should have refused such values already."""
    return isinstance(error, _UNSTORABLE)


def refused(error: BaseException) -> BadRequest:
    """Return the error for a value that the server cannot store."""
    return BadRequest(f"a value of this request cannot be stored: {error}")


def busy(place: str, error: BaseException) -> Unavailable:
    """Return the error for a database that is reachable but too busy."""
    return Unavailable("The database is busy. Nothing was changed; try again.", retry_after=RETRY_AFTER, details=_log_details(place, error))


def lost(place: str, error: BaseException) -> Unavailable:
    """Return the error for a database that was lost during a request. Clients do not see its address."""
    text = "The database is not available at the moment; try again soon."
    return Unavailable(text, retry_after=RETRY_AFTER, details=_log_details(place, error))


def unavailable(place: str, error: BaseException) -> Unavailable:
    """Return the error for a database that is unreachable at start. It names the address, for the operator."""
    said = str(error) or type(error).__name__
    text = f"The database {place} is not available ({said}). Check that PostgreSQL runs there and try again."
    return Unavailable(text, retry_after=RETRY_AFTER)


def _log_details(place: str, error: BaseException) -> dict[str, str]:
    """Return details that only the log shows. Their keys differ from those that the log events have themselves."""
    return {"database": place, "cause": str(error) or type(error).__name__}


def place_of(url: str) -> str:
    """Return database and host of a URL without user and password: ``dashwright at db.example:5432``."""
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    named = query.get("dbname", query.get("database", [unquote(parts.path.lstrip("/"))]))[0]
    host = parts.netloc.rpartition("@")[2] or query.get("host", ["the local socket"])[0]
    return f"{named or 'postgres'} at {host}"
