"""Conversion of errors of asyncpg and PostgreSQL to errors of Dashwright."""

import asyncio
import ssl
from typing import Final

import asyncpg

from dashwright.common.errors import BadRequest, DashwrightError, DeadlineExceeded, SourceFailed
from dashwright.common.models.data_sources import SourceRecord

#: Exceptions that ``connect`` raises.
CONNECT_ERRORS: Final = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, ssl.SSLError)

#: Exceptions that a statement raises, including those of a lost connection. They are ignored when a connection is reset or closed.
STATEMENT_ERRORS: Final = (OSError, asyncpg.InterfaceError, asyncpg.PostgresError, asyncpg.InternalClientError, asyncio.InvalidStateError)

MESSAGE_ID: Final = "postgres.query"

_MAX_MESSAGE_LENGTH = 1000
#: The maximum number of characters of an address, and of the reason of a lost connection, in an error.
_MAX_QUOTED_LENGTH = 200
#: The maximum number of characters that an error quotes before its position, and after it.
_SNIPPET_LENGTH = 60
# SQLSTATE codes.
_CANCELLED = "57014"
_LOCK_NOT_AVAILABLE = "55P03"
_READ_ONLY_TRANSACTION = "25006"
_PERMISSION_DENIED = "42501"
#: Classes of SQLSTATE codes that are errors of the server, not of the statement.
_SERVER_ERROR_CLASSES = (
    "08",  # Lost connection.
    "53",  # Insufficient resources.
    "57",  # Intervention of an operator.
    "58",  # System error.
    "XX",  # Internal error.
    "40",  # Rollback, such as after a deadlock.
)


def connection_error(error: BaseException, record: SourceRecord, seconds: float) -> SourceFailed:
    """Return the error of a failed connection, with advice. It quotes the message of the server, shortened."""
    server = f"the PostgreSQL server of data source {record.name or record.uid!r} at {record.url[:_MAX_QUOTED_LENGTH]}"
    match error:
        case asyncpg.InvalidAuthorizationSpecificationError():
            return SourceFailed(f"{server} refuses the user {record.user!r} ({_server_message(error)}); check user, password and sslmode")
        case asyncpg.InvalidCatalogNameError():
            return SourceFailed(f"{server} has no such database ({_server_message(error)}); check the database's name")
        # asyncpg itself raises a PostgresConnectionError, if the connection ends too early. The last case is for such errors.
        case asyncpg.PostgresError() if not isinstance(error, asyncpg.PostgresConnectionError):
            return SourceFailed(f"{server} accepts no connection ({_server_message(error)}); try again, or ask its administrator")
        case ssl.SSLCertVerificationError():
            advice = "check tlsCACert and the name in the address, or choose another sslmode"
            return SourceFailed(f"the certificate of {server} cannot be verified ({error.verify_message}); {advice}")
        case ssl.SSLError():
            return SourceFailed(f"the TLS handshake with {server} failed ({error.reason}); check sslmode and the certificates")
        case TimeoutError():
            return SourceFailed(f"{server} did not respond within {seconds:g} s; check host, port and the network between")
        case OSError():
            reason = error.strerror or str(error)[:_MAX_QUOTED_LENGTH]
            return SourceFailed(f"{server} cannot be reached ({reason}); check host, port and sslmode")
        case _:
            return SourceFailed(f"{server} does not speak PostgreSQL's protocol ({str(error)[:_MAX_QUOTED_LENGTH]}); check host and port")


def statement_error(error: BaseException, sql: str) -> DashwrightError:
    """Return the error of a statement. ``sql`` is the statement to which positions in the error refer, or empty if that is unknown."""
    if not isinstance(error, asyncpg.PostgresError):
        reason = str(error)[:_MAX_QUOTED_LENGTH] or type(error).__name__
        return SourceFailed(f"the connection to the PostgreSQL server was lost ({reason}); try again")
    code = error.sqlstate or ""
    message = _server_message(error)
    # The server reports its own timeouts and other cancellations by the same code.
    is_timeout = code == _CANCELLED and "timeout" in (error.args[0] if error.args else "")
    if is_timeout:
        return DeadlineExceeded(f"{message}; ask for a shorter time range, or make the statement faster")
    if code == _LOCK_NOT_AVAILABLE:
        return DeadlineExceeded(f"{message}; another transaction locks what the statement reads, try again")
    if code == _CANCELLED:
        return SourceFailed(f"the statement was cancelled on the server: {message}; try again")
    if code.startswith(_SERVER_ERROR_CLASSES):
        return SourceFailed(f"the PostgreSQL server failed to run the statement: {message}; try again")
    return BadRequest(f"{message}{_position(error, sql)}{_advice(error, code)}", message_id=MESSAGE_ID)


def _server_message(error: asyncpg.PostgresError) -> str:
    message = str(error.args[0]) if error.args else type(error).__name__
    shortened = message[:_MAX_MESSAGE_LENGTH]
    return f"{shortened} (SQLSTATE {error.sqlstate})" if error.sqlstate else shortened


def _position(error: asyncpg.PostgresError, sql: str) -> str:
    """Return line and column of the error, with a caret below the line, as psql prints it; empty if they are unknown."""
    position = str(getattr(error, "position", None))
    index = int(position) - 1 if position.isdigit() else -1
    if not sql or not 0 <= index <= len(sql):
        return ""
    line_start = sql.rfind("\n", 0, index) + 1
    text_to_line_end = sql[:index] + sql[index:].partition("\n")[0]
    line, column = sql.count("\n", 0, index) + 1, index - line_start
    snippet_start = max(line_start, index - _SNIPPET_LENGTH)
    snippet = text_to_line_end[snippet_start : index + _SNIPPET_LENGTH].replace("\t", " ")
    return f" at line {line}, column {column + 1}\n{snippet}\n{' ' * (index - snippet_start)}^"


def _advice(error: asyncpg.PostgresError, code: str) -> str:
    hint = getattr(error, "hint", None)
    if hint:
        return f"\nhint: {str(hint)[:_MAX_MESSAGE_LENGTH]}"
    if code == _READ_ONLY_TRANSACTION:
        return "\nhint: a data source only reads; remove what changes data"
    if code == _PERMISSION_DENIED:
        return "\nhint: let the role of the data source read it: grant select on … to …"
    return ""
