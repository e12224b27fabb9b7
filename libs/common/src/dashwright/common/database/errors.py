"""Classification of driver errors, as a lost server, a busy server or a fault of the query, and their conversion to API errors.

Messages never contain the password of the database.
"""

from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg

from dashwright.common.errors import BadRequest, Unavailable

#: Seconds after which a client should try again: about the time that a restart of PostgreSQL takes.
RETRY_AFTER_SECONDS = 1.0

#: Errors that mean that the server cannot be used at the moment: it is unreachable, ends connections or accepts no more of them.
_LOST_SERVER = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.DatabaseDroppedError,
    asyncpg.IdleSessionTimeoutError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.TooManyConnectionsError,
    # The server has become a replica: after a failover, the address leads to another server.
    asyncpg.ReadOnlySQLTransactionError,
    ConnectionError,
    TimeoutError,
)
_BUSY = (asyncpg.LockNotAvailableError, asyncpg.QueryCanceledError, asyncpg.DeadlockDetectedError, asyncpg.SerializationError)
_FULL = (asyncpg.DiskFullError, asyncpg.OutOfMemoryError)
_UNSTORABLE = (
    asyncpg.DataError,
    asyncpg.CharacterNotInRepertoireError,
    asyncpg.UntranslatableCharacterError,
    asyncpg.ProgramLimitExceededError,
)
_REFUSED_LOGIN = (
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
    # The database accepts no connections (``ALLOW_CONNECTIONS false``), for example while an operator restores it.
    asyncpg.ObjectNotInPrerequisiteStateError,
)
#: Errors that asyncpg or the operating system raises in this process.
_CLIENT_SIDE = (asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)

#: Errors when connecting: the server is unreachable or refuses the role.
CONNECT_ERRORS = (*_LOST_SERVER, *_REFUSED_LOGIN, *_CLIENT_SIDE)

#: Errors when querying. ``is_connection_loss`` returns whether one of them means that the server was lost.
QUERY_ERRORS = (asyncpg.PostgresError, *_CLIENT_SIDE)


def is_connection_loss(error: BaseException, *, closed: bool) -> bool:
    """Return whether the error of a query means that the server was lost. ``closed`` is True if the connection is closed now.

    ``ConnectionError`` and ``TimeoutError`` always count. ``InterfaceError`` and other ``OSError`` count only if the connection is
    closed: asyncpg raises the first also for wrong arguments, and the caller's own code may raise the second.
    """
    return isinstance(error, _LOST_SERVER) or (closed and isinstance(error, _CLIENT_SIDE))


def is_busy(error: BaseException) -> bool:
    """Return whether the server cancelled a statement that may succeed later: after a time-out or a conflict of locks."""
    return isinstance(error, _BUSY)


def is_full(error: BaseException) -> bool:
    """Return whether the server has no disk space or memory left for a statement."""
    return isinstance(error, _FULL)


def is_unstorable(error: BaseException) -> bool:
    """Return whether the error means that the server cannot store a value, which earlier checks should have refused."""
    return isinstance(error, _UNSTORABLE)


def unstorable_error(error: BaseException) -> BadRequest:
    """Return the error for a value that the server cannot store."""
    return BadRequest(f"a value of this request cannot be stored: {error}")


def busy_error(database: str, error: BaseException) -> Unavailable:
    """Return the error for a database that is reachable but too busy."""
    return Unavailable(
        "The database is busy. Nothing was changed; try again.", retry_after=RETRY_AFTER_SECONDS, details=_log_details(database, error)
    )


def full_error(database: str, error: BaseException) -> Unavailable:
    """Return the error for a database without free disk space or memory."""
    return Unavailable(
        "The database has no free disk space or memory. Nothing was changed; try again when its operator has made room.",
        retry_after=RETRY_AFTER_SECONDS,
        details=_log_details(database, error),
    )


def connection_lost_error(database: str, error: BaseException) -> Unavailable:
    """Return the error for a connection that was lost during a request. It does not contain the address of the database."""
    message = "The database is not available at the moment; try again soon."
    return Unavailable(message, retry_after=RETRY_AFTER_SECONDS, details=_log_details(database, error))


def unreachable_error(database: str, error: BaseException) -> Unavailable:
    """Return the error for a database that is unreachable at start. Its message names the database for the operator."""
    reason = str(error) or type(error).__name__
    message = f"The database {database} is not available ({reason}). Check that PostgreSQL runs there and try again."
    return Unavailable(message, retry_after=RETRY_AFTER_SECONDS)


def _log_details(database: str, error: BaseException) -> dict[str, str]:
    """Return details that only the log shows. Their keys differ from the fields of all log events, and so replace no field."""
    return {"database": database, "cause": str(error) or type(error).__name__}


def database_label(url: str) -> str:
    """Return the database and host of a URL, such as ``dashwright at db.example:5432``, without user and password."""
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    path_name = unquote(parts.path.lstrip("/"))
    # ``parse_qs`` returns a list of values for each parameter.
    (name, *_) = query.get("dbname") or query.get("database") or [path_name]
    host = parts.netloc.rpartition("@")[2] or query.get("host", ["the local socket"])[0]
    return f"{name or 'postgres'} at {host}"
