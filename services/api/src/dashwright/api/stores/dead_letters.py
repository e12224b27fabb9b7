"""Store of dead letters: messages that could not be handled."""

import base64
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, NamedTuple

import orjson

from dashwright.api.stores import orgs
from dashwright.common.database import queries
from dashwright.common.database.pool import Connection
from dashwright.common.errors import NotFound
from dashwright.common.identity import namespace_of, org_of
from dashwright.common.kinds.registry import DEAD_LETTER
from dashwright.common.messaging.message import Header
from dashwright.common.models.dead_letter import DeadLetterState
from dashwright.common.stores.resources import not_found

_sql = queries.load(__package__, "dead_letters.sql")

STATE_LABEL: Final = f"{DEAD_LETTER.group}/state"
QUEUE_LABEL: Final = f"{DEAD_LETTER.group}/queue"
REPLAYABLE_LABEL: Final = f"{DEAD_LETTER.group}/replayable"
SERVER_LABEL: Final = f"{DEAD_LETTER.group}/server-only"
_MAX_LABEL_LENGTH: Final = 63
"""Kubernetes' limit on the characters of a label's value."""
_SERVER_NAMESPACE: Final = namespace_of(1)
"""The default namespace. It also has the letters of unknown organizations, which only server admins may see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDeadLetter:
    """A dead letter to store."""

    name: str
    namespace: str  #: Empty if it is unknown.
    delivery_hash: bytes  #: The same for all redeliveries, so that each delivery is stored once.
    #: The same for equal messages: routing key, message id and body. Only one of them is stored while it is dead. None without an id.
    message_hash: bytes | None
    routing_key: str
    exchange: str
    queue: str
    reason: str
    headers: Mapping[str, Header]
    removed_headers: Sequence[str]  #: Names of headers with credentials, whose values are not stored.
    message_id: str | None
    correlation_id: str | None
    content_type: str
    body: bytes
    body_bytes: int  #: Size of the complete body, of which ``body`` may be the beginning.
    obstacle: str  #: Why the letter cannot be replayed; empty if it can.
    received: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDeadLetter:
    """A stored dead letter."""

    uid: uuid.UUID
    name: str
    namespace: str
    server_only: bool  #: True if only server admins may see the letter.
    routing_key: str
    exchange: str
    queue: str
    reason: str
    headers: Mapping[str, Header]
    removed_headers: Sequence[str]  #: Names of headers with credentials, whose values are not stored.
    message_id: str | None
    correlation_id: str | None
    content_type: str
    stored_bytes: int  #: Size of the stored body, which may be the beginning of the complete one.
    body_bytes: int  #: Size of the complete body.
    obstacle: str  #: Why the letter cannot be replayed; empty if it can.
    received: datetime
    replayed: datetime | None  #: None until the letter is replayed.
    resource_version: int
    body: bytes = field(default=b"")  #: Empty until ``with_body``.

    @property
    def kind(self) -> Any:
        """The kind of the object."""
        return DEAD_LETTER

    @property
    def labels(self) -> Mapping[str, str]:
        """Labels by which letters are selected."""
        labels = {
            STATE_LABEL: self.state.value,
            REPLAYABLE_LABEL: "true" if self.is_replayable else "false",
        }
        if 0 < len(self.queue) <= _MAX_LABEL_LENGTH:
            labels[QUEUE_LABEL] = self.queue
        return {**labels, SERVER_LABEL: "true"} if self.server_only else labels

    @property
    def state(self) -> DeadLetterState:
        """The state of the letter."""
        return DeadLetterState.DEAD if self.replayed is None else DeadLetterState.REPLAYED

    @property
    def is_replayable(self) -> bool:
        """True if the letter is dead and nothing prevents its replay."""
        return self.replayed is None and not self.obstacle

    @property
    def metadata(self) -> str:
        """The metadata as JSON."""
        return orjson.dumps(
            {
                "name": self.name,
                "namespace": self.namespace,
                "uid": str(self.uid),
                "resourceVersion": str(self.resource_version),
                "creationTimestamp": f"{self.received:%Y-%m-%dT%H:%M:%SZ}",
                "labels": self.labels,
            }
        ).decode()

    @property
    def spec(self) -> str:
        """The message as JSON."""
        try:
            body, encoding = self.body.decode(), "utf-8"
        except UnicodeDecodeError:
            body, encoding = base64.b64encode(self.body).decode(), "base64"
        optional_members = {
            "exchange": self.exchange,
            "queue": self.queue,
            "messageId": self.message_id,
            "correlationId": self.correlation_id,
            "contentType": self.content_type,
            "removedHeaders": self.removed_headers,
        }
        return orjson.dumps(
            {
                "routingKey": self.routing_key,
                **{name: value for name, value in optional_members.items() if value},
                "headers": self.headers,
                "body": body,
                "bodyEncoding": encoding,
                "bodyBytes": self.body_bytes,
                "truncated": self.stored_bytes < self.body_bytes,
            }
        ).decode()

    @property
    def status(self) -> str:
        """The status as JSON."""
        status: dict[str, Any] = {"state": self.state, "reason": self.reason, "received": _milliseconds(self.received)}
        if self.replayed is not None:
            status["replayed"] = _milliseconds(self.replayed)
        if self.obstacle:
            status["obstacle"] = self.obstacle
        return orjson.dumps(status).decode()

    def metadata_json(self) -> str:
        """Return the metadata as JSON, including the resource version."""
        # The encoder calls this method of letters and of stored objects, whose ``metadata`` has no resource version.
        return self.metadata

    def encode(self) -> bytes:
        """Return the letter as JSON."""
        type_members = f'{{"kind":"{DEAD_LETTER.kind}","apiVersion":"{DEAD_LETTER.api_version()}"'
        return f'{type_members},"metadata":{self.metadata},"spec":{self.spec},"status":{self.status}}}'.encode()

    def with_body(self, body: bytes) -> "StoredDeadLetter":
        """Return the letter with its body."""
        return replace(self, body=body)


class LetterPage(NamedTuple):
    """A page of letters ordered by name, without bodies."""

    letters: Sequence[StoredDeadLetter]
    is_last: bool


async def insert(connection: Connection, letter: NewDeadLetter) -> bool:
    """Store a letter, and return False if it is stored already. Requires a transaction.

    A letter whose organization is unknown is stored in the default namespace, where only server admins may see it.
    """
    org_id = org_of(letter.namespace)
    # ``lock`` returns whether the organization exists.
    has_organization = org_id is not None and await orgs.lock(connection, org_id)
    query = _sql.bind(
        "insert",
        name=letter.name,
        namespace=letter.namespace if has_organization else _SERVER_NAMESPACE,
        server_only=not has_organization,
        delivery_hash=letter.delivery_hash,
        message_hash=letter.message_hash,
        routing_key=letter.routing_key,
        exchange=letter.exchange,
        queue=letter.queue,
        reason=letter.reason,
        headers=orjson.dumps(dict(letter.headers)).decode(),
        removed_headers=list(letter.removed_headers),
        message_id=letter.message_id,
        correlation_id=letter.correlation_id,
        content_type=letter.content_type,
        body=letter.body,
        body_bytes=letter.body_bytes,
        obstacle=letter.obstacle,
        received_at=letter.received,
    )
    return await connection.fetchval(*query) is not None


async def page(connection: Connection, namespace: str, *, after: str, limit: int, with_server_letters: bool) -> LetterPage:
    """Return the letters of a namespace whose names come after ``after``, without bodies.

    ``with_server_letters`` includes the letters that only server admins may see.
    """
    query = _sql.bind("page", namespace=namespace, after=after, limit=limit + 1, with_server_letters=with_server_letters)
    rows = await connection.fetch(*query)
    return LetterPage([_letter(row) for row in rows[:limit]], len(rows) <= limit)


async def with_bodies(connection: Connection, letters: Sequence[StoredDeadLetter]) -> Sequence[StoredDeadLetter]:
    """Return the letters with their bodies. Letters that were deleted in the meantime are left out."""
    bodies = {row["uid"]: row["body"] for row in await connection.fetch(_sql.bodies, [letter.uid for letter in letters])}
    return [letter.with_body(bodies[letter.uid]) for letter in letters if letter.uid in bodies]


async def get(connection: Connection, namespace: str, name: str, *, with_server_letters: bool, lock: bool = False) -> StoredDeadLetter:
    """Return a letter with its body. ``lock`` locks the letter until the transaction ends.

    Raises NotFound for an unknown letter, and without ``with_server_letters`` for a letter that only server admins may see.
    """
    query = _sql.bind("lock" if lock else "find", namespace=namespace, name=name, with_server_letters=with_server_letters)
    row = await connection.fetchrow(*query)
    letters = [] if row is None else await with_bodies(connection, [_letter(row)])
    if not letters:
        raise letter_not_found(name)
    return letters[0]


def letter_not_found(name: str) -> NotFound:
    """Return the error for an unknown letter."""
    return not_found(DEAD_LETTER, name)


async def lock_dead(
    connection: Connection, namespace: str, names: Sequence[str], *, with_server_letters: bool
) -> Sequence[StoredDeadLetter]:
    """Lock the named letters that are dead, except those that another transaction has locked, and return them with their bodies."""
    query = _sql.bind("lock_dead", namespace=namespace, names=list(names), with_server_letters=with_server_letters)
    return await with_bodies(connection, [_letter(row) for row in await connection.fetch(*query)])


async def mark_replayed(connection: Connection, letters: Sequence[StoredDeadLetter], time: datetime) -> None:
    """Change letters that the transaction has locked to ``replayed``."""
    await connection.execute(*_sql.bind("mark_replayed", uids=[letter.uid for letter in letters], replayed_at=time))


async def mark_dead(connection: Connection, letters: Sequence[StoredDeadLetter]) -> None:
    """Undo ``mark_replayed`` in the same transaction, so that the letters are ``dead`` again."""
    await connection.execute(_sql.mark_dead, [letter.uid for letter in letters])


async def delete(connection: Connection, namespace: str, names: Sequence[str]) -> Sequence[str]:
    """Delete the named letters, and return the names of the deleted letters. Unknown names are ignored."""
    return [row["name"] for row in await connection.fetch(_sql.delete, namespace, list(names))]


async def delete_namespace(connection: Connection, namespace: str) -> None:
    """Delete all letters of a namespace."""
    await connection.execute(_sql.delete_namespace, namespace)


async def delete_old(connection: Connection, older_than: datetime, *, limit: int) -> int:
    """Delete at most ``limit`` letters that were stored before a time, and return their number."""
    return _deleted_rows(await connection.execute(_sql.delete_old, older_than, limit))


async def delete_surplus(connection: Connection, *, keep: int, limit: int) -> int:
    """Delete at most ``limit`` letters of organizations that have more than ``keep``, and return their number.

    Replayed letters are deleted before dead ones, and old letters before new ones.
    """
    return _deleted_rows(await connection.execute(_sql.delete_surplus, keep, limit))


def _deleted_rows(command_tag: str) -> int:
    """Return the number of rows in the tag of a command, such as ``DELETE 3``."""
    return int(command_tag.removeprefix("DELETE "))


def _letter(row: Any) -> StoredDeadLetter:
    values = dict(row)
    headers = orjson.loads(values.pop("headers"))
    received, replayed = values.pop("received_at"), values.pop("replayed_at")
    return StoredDeadLetter(headers=headers, received=received, replayed=replayed, **values)


def _milliseconds(time: datetime) -> int:
    return round(time.timestamp() * 1000)
