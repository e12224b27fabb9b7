"""Conversation of asyncpg with PostgreSQL, in which each statement of a store and each commit is a named step.

A statement is recognized by its text, which asyncpg sends once for each connection, and is named after its file and query:
``jobs.claim``. The commit of a transaction with this statement is the step ``commit of jobs.claim``.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from tests.proxies.conversation import Frames, Moment, Unit

from dashwright.common.database import queries

#: The packages whose statements are steps.
_STORES = ("dashwright.common.stores", "dashwright.api.stores", "dashwright.jobs_worker.stores")
# Types of messages of PostgreSQL's protocol 3, and the texts with which asyncpg ends a transaction.
_PARSE, _BIND, _QUERY, _SYNC, _READY = b"P", b"B", b"Q", b"S", b"Z"
_COMMIT = b"COMMIT;\0"
_TRANSACTION_ENDS = (_COMMIT, b"ROLLBACK;\0")


@cache
def step_names() -> Mapping[str, str]:
    """Return the name of each statement of the stores by its text."""
    names: dict[str, str] = {}
    for package in _STORES:
        for file in files(package).iterdir():
            if file.name.endswith(".sql"):
                statements = queries.load(package, file.name)
                names |= {getattr(statements, name): f"{file.name.removesuffix('.sql')}.{name}" for name in dir(statements)}
    return names


class PostgresConversation:
    """Decoder of one connection. ``refusals`` has SQLSTATEs by step: the server returns such an error instead of running the step.

    The proxy then replaces the statement by one that raises the error, so that server and client agree on the transaction.
    """

    def __init__(self, refusals: Mapping[str, str]) -> None:
        self._refusals = refusals
        self._from_client = Frames(self._client_length)
        self._from_server = Frames(_length)
        self._has_started = False
        #: Step names by the names of prepared statements.
        self._prepared: dict[str, str] = {}
        #: Steps of the current transaction.
        self._transaction: list[str] = []
        #: Steps for which the server has not reported its readiness.
        self._running: list[str] = []
        #: True while the remaining messages of a refused step are dropped.
        self._is_refusing = False

    def from_client(self, piece: bytes) -> Iterator[Unit]:
        """Yield the messages of the client."""
        for message in self._from_client.add(piece):
            if not self._has_started:
                self._has_started = True
                yield Unit(message)
            elif (unit := self._client_unit(message)) is not None:
                yield unit

    def from_server(self, piece: bytes) -> Iterator[Unit]:
        """Yield the messages of the server."""
        for message in self._from_server.add(piece):
            steps: list[str] = []
            if message[:1] == _READY:
                steps, self._running = self._running, []
            yield Unit(message, [Moment("after", step) for step in steps])

    def _client_unit(self, message: bytes) -> Unit | None:
        """Return the unit of a message, or None if the message belongs to a refused step and is not forwarded."""
        message_type = message[:1]
        if self._is_refusing:
            self._is_refusing = message_type != _SYNC
            return None
        if message_type == _PARSE:
            name, text = message[5:].split(b"\0", 2)[:2]
            if (step := step_names().get(text.decode())) is not None:
                self._prepared[name.decode()] = step
        elif message_type == _BIND:
            step = self._prepared.get(message[5:].split(b"\0", 2)[1].decode())
            if step is not None:
                return self._statement(message, step)
        elif message_type == _QUERY:
            return self._simple_query(message)
        return Unit(message)

    def _statement(self, message: bytes, step: str) -> Unit:
        """Return the unit of an execution of a statement, or of the error that replaces it."""
        if (code := self._refusals.get(step)) is not None:
            self._is_refusing = True
            return Unit(_error_query(code))
        self._transaction.append(step)
        self._running.append(step)
        return Unit(message, [Moment("before", step)])

    def _simple_query(self, message: bytes) -> Unit:
        """Return the unit of a query without parameters, with which asyncpg begins and ends transactions."""
        text = message[5:]
        steps = [f"commit of {step}" for step in dict.fromkeys(self._transaction)] if text == _COMMIT else []
        if text in _TRANSACTION_ENDS or text.startswith(b"BEGIN"):
            self._transaction.clear()
        self._running += steps
        return Unit(message, [Moment("before", step) for step in steps])

    def _client_length(self, buffer: bytearray) -> int | None:
        if self._has_started:
            return _length(buffer)
        # The first message has no type.
        return int.from_bytes(buffer[:4]) if len(buffer) >= 4 else None


def _length(buffer: bytearray) -> int | None:
    """Return the length of the message at the start of a buffer (a type, and a length that includes itself), or None if unknown."""
    return 1 + int.from_bytes(buffer[1:5]) if len(buffer) >= 5 else None


def _error_query(code: str) -> bytes:
    """Return the message of a query that raises an error."""
    text = f"do $$ begin raise exception 'injected by a test' using errcode = '{code}'; end $$".encode() + b"\0"
    return _QUERY + (len(text) + 4).to_bytes(4) + text
