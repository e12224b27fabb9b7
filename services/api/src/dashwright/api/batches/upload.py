"""Upload of items to a batch as lines of JSON. Memory is independent of the number of items.

The verdicts are kept in a temporary file until the last item is read, since a client may send all items before it reads.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from dashwright.api.batches.item_checks import ItemChecks
from dashwright.api.batches.open_batch import ItemLimits, lock_batch, require_open
from dashwright.api.batches.plan import AdditionPlan, Allowance, refusal
from dashwright.api.batches.verdict_file import VerdictFile
from dashwright.api.domain.actor import Actor
from dashwright.api.domain.batch_items import MAX_ITEM_BYTES, SUBMIT_VERB, CheckedItem, RefusedItem, read_line, too_large
from dashwright.api.domain.ndjson import Line, LineReader
from dashwright.api.job_repositories import JobRepositories
from dashwright.api.stores import audit
from dashwright.api.stores.audit import event_of, subject_of
from dashwright.common.database.pool import Database
from dashwright.common.errors import Conflict, NotFound, TooLarge
from dashwright.common.identity import Identity
from dashwright.common.kinds.registry import BATCH
from dashwright.common.models.batch import ItemVerdict
from dashwright.common.observability import tracing
from dashwright.common.stores import batches, resources
from dashwright.common.stores.batches import NewItem

log = structlog.get_logger()

#: Maximum number of items that one transaction adds, and of the bytes of their lines.
_MAX_ADDED_ITEMS: Final = 500
_MAX_ADDED_BYTES: Final = 1024 * 1024
#: Limit on the lines of one request, which limits the size of the file of verdicts.
_MAX_LINES: Final = 2_000_000
#: Number of lines that are parsed before other requests get the event loop.
_LINES_PER_TURN: Final = 50


@dataclass(frozen=True, slots=True)
class UploadOptions:
    """Options of an upload."""

    closes: bool = False  #: Close the batch after the last item.
    dry_run: bool = False  #: Check all items, and store none.


class ItemUploads:
    """The use case of an upload."""

    def __init__(self, database: Database, repositories: JobRepositories, limits: ItemLimits) -> None:
        self._database = database
        self._repositories = repositories
        self._limits = limits

    async def add(
        self, actor: Actor, caller: Identity, name: str, chunks: AsyncIterator[bytes], upload_options: UploadOptions
    ) -> VerdictFile:
        """Add the items in the lines of a body to a batch, and return one line for each with its verdict.

        Raises NotFound, Conflict for new items of a batch that accepts none, TooManyWaitingJobs if the organization cannot accept a
        single item, TooLarge for too many lines, and Unavailable if the disk is too full for the verdicts. Items that were accepted
        before an error are duplicates when they are sent again.
        """
        upload = _Upload(self._database, self._repositories, self._limits, actor, caller, name, upload_options)
        try:
            await upload.begin()
            await upload.read(chunks)
            upload.verdicts.rewind()
        except BaseException:  # Also if the request is cancelled, because its client has disconnected.
            await upload.verdicts.aclose()
            raise
        return upload.verdicts


class _Upload:
    """An upload in progress."""

    def __init__(
        self,
        database: Database,
        repositories: JobRepositories,
        limits: ItemLimits,
        actor: Actor,
        caller: Identity,
        name: str,
        upload_options: UploadOptions,
    ) -> None:
        self._database = database
        self._checks = ItemChecks(repositories, caller, caller.namespace)
        self._limits = limits
        self._actor = actor
        self._namespace = caller.namespace
        self._name = name
        self._options = upload_options
        self._reader = LineReader(max_bytes=MAX_ITEM_BYTES)
        self._lines: list[Line] = []  #: Lines that were read, but whose items are not added yet.
        self._line_bytes = 0  #: Size of these lines.
        self._added = 0  #: Number of new items that were added (in a dry run: that would be added).
        self._counted_lines = 0  #: Number of all lines that were read.
        self._decided = 0  #: Number of items with a verdict.
        #: Why the batch accepted no new items when the upload began, or None if it accepted them. With a conflict, items that the batch
        #: has are still reported as duplicates, so that a request whose response was lost can be repeated.
        self._conflict: Conflict | None = None
        self._recognized = 0  #: Number of items that a batch with a ``_conflict`` has already.
        #: Why the batch accepts no further items, if it was closed or deleted during the upload.
        self._fault: str | None = None
        self.verdicts = VerdictFile()

    async def begin(self) -> None:
        """Find out whether the batch accepts items, and record the request if it does.

        Raises NotFound, and TooManyWaitingJobs if the organization cannot accept a single item.
        """
        async with self._database.transaction(dry_run=self._options.dry_run) as connection:
            stored_object, batch = await lock_batch(connection, self._namespace, self._name)
            try:
                require_open(stored_object, batch)
            except Conflict as error:
                self._conflict = error  # Raised later, unless the batch has all items already.
                return
            if (waiting_error := (await self._limits.capacity(connection, batch)).waiting_error(1)) is not None:
                raise waiting_error
            subject = subject_of(BATCH, self._name)
            await audit.record(connection, self._actor, event_of(BATCH, SUBMIT_VERB), subject, org_id=self._actor.org_id)

    async def read(self, chunks: AsyncIterator[bytes]) -> None:
        """Add the items of all chunks, and close the batch if the client requested it."""
        async for chunk in chunks:
            await self._extend(self._reader.feed(chunk))
        await self._extend(self._reader.finish())
        await self._flush()
        if self._conflict is not None and not self._recognized:
            raise self._conflict
        if self._options.closes and self._fault is None and self._conflict is None:
            async with self._database.transaction(dry_run=self._options.dry_run) as connection:
                _, batch = await lock_batch(connection, self._namespace, self._name)
                await batches.close(connection, batch.uid)
        log.info("items_submitted", batch=self._name, namespace=self._namespace, lines=self._counted_lines, accepted=self._added)

    async def _extend(self, lines: Sequence[Line]) -> None:
        """Take further lines, and add their items whenever there are enough for a transaction. Raises TooLarge for too many lines."""
        self._counted_lines += len(lines)
        if self._counted_lines > _MAX_LINES:
            raise TooLarge(f"the body has more than {_MAX_LINES:,} lines; send the rest in another request")
        for line in lines:
            self._lines.append(line)
            self._line_bytes += len(line.data or b"")
            if len(self._lines) >= _MAX_ADDED_ITEMS or self._line_bytes >= _MAX_ADDED_BYTES:
                await self._flush()

    async def _flush(self) -> None:
        """Add the items of the lines that were read, in one transaction, and write their verdicts."""
        lines, self._lines, self._line_bytes = self._lines, [], 0
        if not lines:
            return
        items: Sequence[CheckedItem | RefusedItem] = await _read_items(lines)
        if self._fault is None:
            items = await self._checks.check(items)
        verdicts = await self._add([_new_item(item, line) for item, line in zip(items, lines, strict=True)])
        self._decided += len(verdicts)
        self.verdicts.write(verdicts)

    async def _add(self, items: Sequence[NewItem | RefusedItem]) -> Sequence[ItemVerdict]:
        """Return the verdicts on items, after storing the accepted ones. All are refused if the batch was closed during the upload."""
        if self._conflict is not None:
            return await self._recognize(items, self._conflict)
        fault = self._fault
        if fault is None:
            try:
                return await self._commit(items)
            except (NotFound, Conflict) as error:
                fault = self._fault = error.message
        return [refusal(position, item.id, fault) for position, item in enumerate(items, self._decided)]

    async def _recognize(self, items: Sequence[NewItem | RefusedItem], conflict: Conflict) -> Sequence[ItemVerdict]:
        """Return the verdicts on items that a batch has, although it accepts no new ones. Raises ``conflict`` if an item is new."""
        async with self._database.connection() as connection:
            stored_object = await resources.get(connection, BATCH, self._namespace, self._name)
            known = await batches.find_by_id(connection, stored_object.uid, [item.id for item in items if isinstance(item, NewItem)])
        # The plan adds no items, so the index of the first new one has no effect.
        plan = AdditionPlan(known, first_index=0, allowance=Allowance(0, conflict.message))
        if plan.count_new(items):
            raise conflict
        self._recognized += len(known)
        return plan.decide(items, first_position=self._decided)

    async def _commit(self, items: Sequence[NewItem | RefusedItem]) -> Sequence[ItemVerdict]:
        """Store the accepted items in one transaction, and return all verdicts. Raises NotFound and Conflict."""
        new_items = [item for item in items if isinstance(item, NewItem)]
        # A dry run stores no items, so the counts of the batch lack the items of earlier calls.
        offset = self._added if self._options.dry_run else 0
        async with self._database.transaction(dry_run=self._options.dry_run) as connection:
            stored_object, batch = await lock_batch(connection, self._namespace, self._name)
            require_open(stored_object, batch)
            known = await batches.find_by_id(connection, batch.uid, [item.id for item in new_items])
            capacity = await self._limits.capacity(connection, batch, added=offset)
            plan = AdditionPlan(known, first_index=batch.total + offset, allowance=capacity.allowance)
            verdicts = plan.decide(items, first_position=self._decided)
            if plan.new_items and not self._options.dry_run:
                context = tracing.current()
                await batches.add(
                    connection,
                    batch,
                    plan.new_items,
                    submitted_by={"uid": self._actor.uid, "login": self._actor.login},
                    trace=context.header if context is not None else None,
                )
        self._added += len(plan.new_items)
        return verdicts


async def _read_items(lines: Sequence[Line]) -> Sequence[CheckedItem | RefusedItem]:
    """Return the items of lines, and let other requests run in between."""
    items: list[CheckedItem | RefusedItem] = []
    for start in range(0, len(lines), _LINES_PER_TURN):
        items += [_read_item(line) for line in lines[start : start + _LINES_PER_TURN]]
        await asyncio.sleep(0)
    return items


def _read_item(line: Line) -> CheckedItem | RefusedItem:
    """Return the item of a line."""
    if line.data is None:  # The reader does not keep the data of a line that is too long.
        return too_large()
    return read_line(line.data)


def _new_item(item: CheckedItem | RefusedItem, line: Line) -> NewItem | RefusedItem:
    """Return an item with an id, or a refused one whose message names the line."""
    if isinstance(item, RefusedItem):
        return RefusedItem(item.id, f"line {line.number}: {item.message}")
    return NewItem(item.id or secrets.token_hex(16), item.kind, item.spec)
