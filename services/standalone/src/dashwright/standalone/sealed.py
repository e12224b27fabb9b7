"""All tables with sealed secrets, to seal them with another key."""

import base64
import binascii
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection, Database
from dashwright.common.kinds.repository import hook_place, token_place
from dashwright.common.secrets import SecretBox, SecretUnreadable
from dashwright.common.stores import resources
from dashwright.common.stores.data_sources import owner_of

_sql = queries.load(__package__, "sealed.sql")

_NO_UID: Final = uuid.UUID(int=0)


@dataclass(frozen=True, slots=True)
class Batch:
    """The outcome for some secrets of one kind."""

    #: The plural noun for the secrets' owners, for output.
    kind: str
    #: Sealed with the current key now; in a dry run: not yet.
    resealed: int
    #: Sealed with the current key before.
    current: int
    #: Damaged, or sealed with an unknown key: left as they are.
    unreadable: int


@dataclass(frozen=True, slots=True)
class _Place:
    """A table with secrets."""

    kind: str
    #: The statement that reads rows, given the key of the last row and a limit.
    rows: str
    #: The statement that writes a secret, given its key and the new value.
    put: str
    first: tuple[Any, Any]
    owner: Callable[[Mapping[str, Any]], str]
    is_text: bool = True


def _of_token(row: Mapping[str, Any]) -> str:
    return token_place(row["namespace"], row["name"])


def _of_source(row: Mapping[str, Any]) -> str:
    return owner_of(row["org_id"], row["uid"], row["part"])


_PLACES: Final = (
    _Place("data sources", _sql.data_sources, _sql.put_data_source, (-1, ""), _of_source, is_text=False),
    _Place("repositories", _sql.specs, _sql.put_spec, (_NO_UID, -1), _of_token),
    _Place("webhooks", _sql.statuses, _sql.put_status, (_NO_UID, 0), lambda row: hook_place(row["namespace"], row["name"])),
    _Place("webhooks", _sql.hooks, _sql.put_hook, (_NO_UID, 0), _of_token),
    _Place("webhooks", _sql.removals, _sql.put_removal, (-1, 0), _of_token),
)


async def reseal(database: Database, box: SecretBox, *, batch: int, dry_run: bool) -> AsyncIterator[Batch]:
    """Seal every stored secret with the current key of the box, ``batch`` rows per transaction.

    It can be interrupted and repeated: secrets that are sealed with the current key are skipped.
    """
    for place in _PLACES:
        last = place.first
        while True:
            async with database.transaction() as connection:
                # The lock keeps services from overwriting a new token with the old one that they have read.
                await resources.lock(connection)
                rows = await connection.fetch(place.rows, *last, batch)
                done = await _resealed(connection, place, rows, box, dry_run=dry_run)
            yield done
            if len(rows) < batch:
                break
            last = (rows[-1]["id"], rows[-1]["part"])


async def _resealed(connection: Connection, place: _Place, rows: list[Any], box: SecretBox, *, dry_run: bool) -> Batch:
    resealed = current = 0
    for row in rows:
        try:
            sealed = base64.b64decode(row["sealed"]) if place.is_text else row["sealed"]
            if sealed.startswith(box.header):
                current += 1
                continue
            fresh = box.seal(box.open(sealed, place.owner(row)), place.owner(row))
        except (SecretUnreadable, binascii.Error):
            continue
        resealed += 1
        if not dry_run:
            # Replaced within the text, which keeps the rest of the JSON as it was written.
            value = row["text"].replace(row["sealed"], base64.b64encode(fresh).decode()) if place.is_text else fresh
            await connection.execute(place.put, row["id"], row["part"], value)
    return Batch(place.kind, resealed, current, len(rows) - resealed - current)
