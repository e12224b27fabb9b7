"""Encryption of all stored secrets with another key, table by table."""

import base64
import binascii
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection, Database
from dashwright.common.kinds.notifications import receiver_secret_owner, signing_secret_owner
from dashwright.common.kinds.repository import signing_key_owner, ssh_key_owner, token_owner, webhook_secret_owner
from dashwright.common.models.notifications import MAX_RECEIVERS
from dashwright.common.secrets import SecretCipher, SecretUnreadable
from dashwright.common.stores import resources
from dashwright.common.stores.data_sources import owner_of

_sql = queries.load(__package__, "resealing.sql")

_NO_UID: Final = uuid.UUID(int=0)


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result for one batch of secrets of one kind."""

    #: The plural noun for the secrets' owners, for output.
    kind: str
    #: The number of secrets that this batch sealed with the current key, or would seal without a dry run.
    resealed: int
    #: The number of secrets that were sealed with the current key before.
    current: int
    #: The number of secrets that are damaged or sealed with an unknown key. They are not changed.
    unreadable: int


@dataclass(frozen=True, slots=True)
class _SecretTable:
    """A table with secrets. The key of a row is a pair: the columns ``id`` and ``part`` of the statement ``select``."""

    kind: str
    #: The statement that reads rows after a key, up to a limit.
    select: str
    #: The statement that writes a new value to the row with a key.
    update: str
    #: A key that is lower than the key of any row.
    start_key: tuple[Any, Any]
    #: Returns the owner that the secret of a row is bound to.
    owner: Callable[[Mapping[str, Any]], str]
    #: Whether the ciphertext is base64 within JSON text; otherwise it is a column of bytes.
    is_base64: bool = True
    #: Further parameters of the statement ``select``.
    parameters: tuple[str, ...] = ()


# An owner is a string that a secret is bound to: the ciphertext cannot be decrypted as the secret of another owner.


def _repository_token_owner(row: Mapping[str, Any]) -> str:
    return token_owner(row["namespace"], row["name"])


def _data_source_owner(row: Mapping[str, Any]) -> str:
    return owner_of(row["org_id"], row["uid"], row["part"])


def _signing_secret_owner(row: Mapping[str, Any]) -> str:
    return signing_secret_owner(row["namespace"], row["name"])


def _receiver_secret_owner(row: Mapping[str, Any]) -> str:
    return receiver_secret_owner(row["namespace"], row["name"], row["receiver"])


#: The functions that return the owner of each secret in a repository's specification, by the member with the ciphertext.
_OWNER_BY_REPOSITORY_MEMBER: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "encryptedToken": _repository_token_owner,
    "encryptedSshKey": lambda row: ssh_key_owner(row["namespace"], row["name"]),
    "encryptedSigningKey": lambda row: signing_key_owner(row["namespace"], row["name"]),
}
_SECRET_TABLES: Final = (
    _SecretTable("data sources", _sql.data_sources, _sql.put_data_source, (-1, ""), _data_source_owner, is_base64=False),
    *(
        _SecretTable("repositories", _sql.specs, _sql.put_spec, (_NO_UID, -1), owner, parameters=(member,))
        for member, owner in _OWNER_BY_REPOSITORY_MEMBER.items()
    ),
    *(
        _SecretTable("repositories", _sql.receivers, _sql.put_spec, (_NO_UID, -1), _receiver_secret_owner, parameters=(str(index),))
        for index in range(MAX_RECEIVERS)
    ),
    _SecretTable("webhooks", _sql.statuses, _sql.put_status, (_NO_UID, 0), lambda row: webhook_secret_owner(row["namespace"], row["name"])),
    _SecretTable("webhooks", _sql.hooks, _sql.put_hook, (_NO_UID, 0), _repository_token_owner),
    _SecretTable("webhooks", _sql.removals, _sql.put_removal, (-1, 0), _repository_token_owner),
    _SecretTable("batches", _sql.batch_specs, _sql.put_spec, (_NO_UID, -1), _signing_secret_owner),
    _SecretTable("batches", _sql.notifications, _sql.put_notification, (_NO_UID, 0), _signing_secret_owner),
)


async def reseal(database: Database, cipher: SecretCipher, *, batch: int, dry_run: bool) -> AsyncIterator[BatchResult]:
    """Seal every stored secret with the current key of the cipher, ``batch`` rows per transaction. Yield the result of each batch.

    The iteration can be interrupted and repeated, because secrets that are sealed with the current key are skipped.
    """
    for table in _SECRET_TABLES:
        last_key = table.start_key
        while True:
            async with database.transaction() as connection:
                # Without the locks, a service could overwrite a new ciphertext with an old one that it has read before.
                rows = await _locked_rows(connection, table, last_key, batch)
                result = await _reseal_rows(connection, table, rows, cipher, dry_run=dry_run)
            yield result
            if len(rows) < batch:
                break
            last_key = (rows[-1]["id"], rows[-1]["part"])


async def _locked_rows(connection: Connection, table: _SecretTable, last_key: tuple[Any, Any], batch: int) -> list[Any]:
    """Return up to ``batch`` rows after a key, with their namespaces locked.

    The rows are read again after each lock, because services may have changed them before it.
    """
    locked_namespaces: set[str] = set()
    while True:
        rows: list[Any] = await connection.fetch(table.select, *last_key, batch, *table.parameters)
        namespaces_to_lock = {row["namespace"] for row in rows if "namespace" in row} - locked_namespaces
        if not namespaces_to_lock:
            return rows
        await resources.lock(connection, *namespaces_to_lock)
        locked_namespaces |= namespaces_to_lock


async def _reseal_rows(connection: Connection, table: _SecretTable, rows: list[Any], cipher: SecretCipher, *, dry_run: bool) -> BatchResult:
    """Seal the secrets in rows with the current key, unless it is a dry run, and return their numbers."""
    resealed = current = 0
    for row in rows:
        try:
            ciphertext = base64.b64decode(row["sealed"]) if table.is_base64 else row["sealed"]
            # The header has the id of the current key.
            if ciphertext.startswith(cipher.header):
                current += 1
                continue
            new_ciphertext = cipher.encrypt(cipher.decrypt(ciphertext, table.owner(row)), table.owner(row))
        except (SecretUnreadable, binascii.Error):
            continue
        resealed += 1
        if not dry_run:
            # The secret is replaced in the JSON text without parsing it, so that the remainder of the text is unchanged.
            new_value = row["text"].replace(row["sealed"], base64.b64encode(new_ciphertext).decode()) if table.is_base64 else new_ciphertext
            await connection.execute(table.update, row["id"], row["part"], new_value)
    return BatchResult(table.kind, resealed, current, unreadable=len(rows) - resealed - current)
