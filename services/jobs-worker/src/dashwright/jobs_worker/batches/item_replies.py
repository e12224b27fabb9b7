"""Results of items, sent to the reply addresses of their submissions.

Each result is sent at least once: it is recorded after the broker has accepted it. The items are locked in between, so that no
other worker sends the same result, and no retry of an item begins.
"""

import asyncio
import uuid
from collections.abc import Sequence
from typing import Final

import orjson
import structlog

from dashwright.common.batch_results.reader import BatchResultReader
from dashwright.common.database.pool import Database
from dashwright.common.errors import DashwrightError
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.message import Message
from dashwright.common.stores import batches
from dashwright.common.stores.batches import StoredBatch
from dashwright.jobs_worker.stores import item_replies
from dashwright.jobs_worker.stores.item_replies import DueReply

log = structlog.get_logger()

#: Header of a message with the name of the batch.
BATCH_HEADER: Final = "dashwright-batch"
#: Maximum size of a message with a result. A larger result is left out, and can be read over HTTP.
MAX_REPLY_BYTES: Final = 64 * 1024
#: Queues of services and receivers of notifications, which submitters may not write to.
_RESERVED_PREFIXES: Final = ("dashwright.", "notify.")
#: Maximum number of messages that are sent before they are recorded.
_CHUNK_ITEMS: Final = 500
#: Maximum number of items whose results are read for a chunk. Items between those to send are read, too.
_CHUNK_RANGE: Final = 1000
_MAX_BATCHES: Final = 100


class ItemReplySender:
    """Sender of the results of items."""

    def __init__(self, database: Database, broker: Broker, reader: BatchResultReader) -> None:
        self._database = database
        self._broker = broker
        self._reader = reader

    async def run_once(self) -> None:
        """Send the results that are due. Batches take turns."""
        async with self._database.connection() as connection:
            unfinished = await item_replies.list_batches(connection, limit=_MAX_BATCHES)
        while unfinished:
            unfinished = [uid for uid in unfinished if await self._try_send(uid)]

    async def _try_send(self, uid: uuid.UUID) -> bool:
        """Send results of a batch. Return whether there may be more, and False after an error."""
        try:
            return await self._send(uid)
        # Also Unavailable: if the queue of one batch is full, the results of the others are sent.
        except DashwrightError as error:
            log.info("item_results_not_sent", batch=str(uid), error=error.message)
        except Exception:
            log.exception("item_results_not_sent", batch=str(uid))
        return False

    async def _send(self, uid: uuid.UUID) -> bool:
        """Send a chunk of results of a batch. Return whether all were accepted and there may be more."""
        async with self._database.transaction() as connection:
            if not await item_replies.try_lock(connection, uid):
                return False
            batch = await batches.find(connection, uid)
            due = await item_replies.list_due(connection, uid, limit=_CHUNK_ITEMS)
            if batch is None or batch.is_deleted or not due:
                return False
            replies = [reply for reply in due if reply.index < due[0].index + _CHUNK_RANGE]
            lines = await self._lines(uid, replies)
            locked = await item_replies.lock(connection, uid, replies)
            sent = await self._publish(batch, [reply for reply in replies if reply.index in locked], lines)
            await item_replies.record(connection, uid, sent)
        return len(sent) == len(replies)

    async def _lines(self, uid: uuid.UUID, replies: Sequence[DueReply]) -> dict[int, bytes]:
        """Return the lines of items by index. A line that is too large is empty."""
        first, end = replies[0].index, replies[-1].index + 1
        reply_indexes = {reply.index for reply in replies}
        lines: dict[int, bytes] = {}
        line, index = b"", first
        # The lines of all items in the range follow one another, each in one or more parts.
        async for part in self._reader.lines(uid, first=first, end=end):
            if index in reply_indexes and len(line) <= MAX_REPLY_BYTES:
                line += part
            if part.endswith(b"\n"):
                lines[index] = line if len(line) <= MAX_REPLY_BYTES else b""
                line, index = b"", index + 1
        return lines

    async def _publish(self, batch: StoredBatch, replies: Sequence[DueReply], lines: dict[int, bytes]) -> Sequence[int]:
        """Send results, and return the indices of those that need not be sent again. Raises Unavailable if the broker accepted none.

        A result is not sent again after the broker accepted it, nor if its reply address is a reserved queue, to which nothing is sent.
        """
        to_send = [reply for reply in replies if not reply.reply_to.startswith(_RESERVED_PREFIXES)]
        outcomes = await asyncio.gather(
            *(self._broker.reply(reply.reply_to, _message(batch, reply, lines[reply.index]), confirmed=True) for reply in to_send),
            return_exceptions=True,
        )
        errors = [outcome for outcome in outcomes if outcome is not None]
        if errors and len(errors) == len(to_send):
            raise errors[0]
        refused = {reply.index for reply, outcome in zip(to_send, outcomes, strict=True) if outcome is not None}
        return [reply.index for reply in replies if reply.index not in refused]


def _message(batch: StoredBatch, reply: DueReply, line: bytes) -> Message:
    """Return the message with the line of an item, or with its state if the line is too large."""
    return Message(
        body=line.rstrip(b"\n") or orjson.dumps({"index": reply.index, "id": reply.id, "state": reply.state}),
        headers={BATCH_HEADER: batch.name},
        # The id is the same in each repetition, and differs after a retry.
        message_id=f"{batch.uid}/{reply.index}/{reply.finished_at.timestamp():.6f}",
        correlation_id=reply.correlation_id,
        persistent=False,
    )
