"""Errors of PostgreSQL and of connections to it, as errors of the tree."""

import asyncio
import ssl
from typing import Final

import asyncpg

from dashwright.common.errors import BadRequest, DashwrightError, DeadlineExceeded, SourceFailed
from dashwright.common.models.data_sources import SourceRecord

#: Exceptions of a failed connection.
CONNECTING: Final = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, ssl.SSLError)

#: Exceptions of a lost connection, which cleanup code ignores.
CONNECTION_ERRORS: Final = (OSError, asyncpg.InterfaceError, asyncpg.PostgresError, asyncpg.InternalClientError, asyncio.InvalidStateError)

MESSAGE_ID: Final = "postgres.query"

_LONGEST = 1000
_SNIPPET = 60
_CANCELLED = "57014"
_LOCKED = "55P03"
_READ_ONLY = "25006"
_DENIED = "42501"
#: Classes of SQLSTATE codes that are not about the statement.
_OF_THE_SERVER = ("08", "53", "57", "58", "XX", "40")


def refused(error: BaseException, record: SourceRecord, seconds: float) -> SourceFailed:
    """Return the error of a failed connection, with what to check. The server's words hold no secret; they are shortened."""
    place = f"the PostgreSQL server of data source {record.name or record.uid!r} at {record.url[:200]}"
    match error:
        case asyncpg.InvalidAuthorizationSpecificationError():
            return SourceFailed(f"{place} refuses the user {record.user!r} ({_said(error)}); check user, password and sslmode")
        case asyncpg.InvalidCatalogNameError():
            return SourceFailed(f"{place} has no such database ({_said(error)}); check the database's name")
        case asyncpg.PostgresError() if not isinstance(error, asyncpg.PostgresConnectionError):
            return SourceFailed(f"{place} accepts no connection ({_said(error)}); try again, or ask its administrator")
        case ssl.SSLCertVerificationError():
            advice = "check tlsCACert and the name in the address, or choose another sslmode"
            return SourceFailed(f"the certificate of {place} cannot be verified ({error.verify_message}); {advice}")
        case ssl.SSLError():
            return SourceFailed(f"{place} and this one did not agree on TLS ({error.reason}); check sslmode and the certificates")
        case TimeoutError():
            return SourceFailed(f"{place} did not respond within {seconds:g} s; check host, port and the network between")
        case OSError():
            return SourceFailed(f"{place} cannot be reached ({error.strerror or str(error)[:200]}); check host, port and sslmode")
        case _:
            return SourceFailed(f"{place} does not speak PostgreSQL's protocol ({str(error)[:200]}); check host and port")


def statement_error(error: BaseException, sql: str) -> DashwrightError:
    """Return the error of a statement. ``sql`` is the text that positions refer to; empty hides positions."""
    if not isinstance(error, asyncpg.PostgresError):
        return SourceFailed(f"the connection to the PostgreSQL server was lost ({str(error)[:200] or type(error).__name__}); try again")
    code = error.sqlstate or ""
    said = _said(error)
    if code == _CANCELLED and "timeout" in (error.args[0] if error.args else ""):
        return DeadlineExceeded(f"{said}; ask for a shorter time range, or make the statement faster")
    if code == _LOCKED:
        return DeadlineExceeded(f"{said}; another transaction locks what the statement reads, try again")
    if code.startswith(_OF_THE_SERVER) and code != "57014":
        return SourceFailed(f"the PostgreSQL server failed to run the statement: {said}; try again")
    if code == _CANCELLED:
        return SourceFailed(f"the statement was cancelled on the server: {said}; try again")
    return BadRequest(f"{said}{_pointed(error, sql)}{_advice(error, code)}", message_id=MESSAGE_ID)


def _said(error: asyncpg.PostgresError) -> str:
    text = str(error.args[0]) if error.args else type(error).__name__
    return f"{text[:_LONGEST]} (SQLSTATE {error.sqlstate})" if error.sqlstate else text[:_LONGEST]


def _pointed(error: asyncpg.PostgresError, sql: str) -> str:
    """Return line and column, with a caret under the place, as psql draws it."""
    position = str(getattr(error, "position", None))
    index = int(position) - 1 if position.isdigit() else -1
    if not sql or not 0 <= index <= len(sql):
        return ""
    start = sql.rfind("\n", 0, index) + 1
    end = sql.find("\n", index)
    line, column = sql.count("\n", 0, index) + 1, index - start
    first = max(0, column - _SNIPPET)
    shown = sql[start + first : min(end if end >= 0 else len(sql), index + _SNIPPET)].replace("\t", " ")
    return f" at line {line}, column {column + 1}\n{shown}\n{' ' * (column - first)}^"


def _advice(error: asyncpg.PostgresError, code: str) -> str:
    hint = getattr(error, "hint", None)
    if hint:
        return f"\nhint: {str(hint)[:_LONGEST]}"
    if code == _READ_ONLY:
        return "\nhint: a data source only reads; remove what changes data"
    if code == _DENIED:
        return "\nhint: let the role of the data source read it: grant select on … to …"
    return ""
