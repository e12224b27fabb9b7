"""Submissions of batches and of their items from RabbitMQ. The contract is in docs/reference/queue.md."""

import asyncio
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, Final

from dashwright.api.batches.group_additions import Addition, GroupAdditions
from dashwright.api.batches.item_checks import ItemChecks
from dashwright.api.domain import submissions
from dashwright.api.domain.actor import Actor
from dashwright.api.domain.batch_items import CheckedItem, RefusedItem, read_item
from dashwright.api.job_repositories import JobRepositories
from dashwright.api.resources import objects
from dashwright.api.resources.formats.encoding import encode_object
from dashwright.api.resources.options import FieldValidation
from dashwright.api.resources.writing.desired_object import WriteContext
from dashwright.api.resources.writing.writer import Writer
from dashwright.common.database.pool import Database
from dashwright.common.errors import AlreadyExists, BadRequest, Forbidden, Invalid, NotFound
from dashwright.common.identity import Identity
from dashwright.common.json_documents import check_string, write_json
from dashwright.common.kinds.registry import BATCH
from dashwright.common.messaging.message import Message
from dashwright.common.models.batch import MAX_ID_LENGTH, BatchSpec, BatchSubmission, ItemVerdict
from dashwright.common.observability import tracing
from dashwright.common.stores import resources
from dashwright.common.stores.batches import NewItem
from dashwright.common.stores.resources import StoredObject

#: Header with the name of the batch to which the items of the message belong.
BATCH_NAME: Final = "dashwright-batch"
#: Header of the last message of a batch: true.
CLOSE: Final = "dashwright-close"
#: Header that requests a message with the result of each item: true.
ITEM_RESULTS: Final = "dashwright-item-results"

#: Limit on the items of one message.
MAX_ITEMS: Final = 1000

#: Maximum number of characters that the index of an item adds to a message id.
_MAX_SUFFIX_LENGTH: Final = len(f"/{MAX_ITEMS - 1}")
#: Limit on the characters of a message id, if ids of items are made from it.
_MAX_MESSAGE_ID_LENGTH: Final = MAX_ID_LENGTH - _MAX_SUFFIX_LENGTH
#: Number of refused items that the reason of a dead letter names.
_MAX_NAMED_ITEMS: Final = 10
#: Maximum size in bytes of an ordinary message. Few larger messages are read concurrently, since their items take several times as much
#: memory.
_LARGE_BYTES: Final = 32 * 1024
_MAX_LARGE_MESSAGES: Final = 4
#: Number of items that are read before other requests can run.
_READ_CHUNK_SIZE: Final = 50
_FIELD_MANAGER: Final = "queue"


@dataclass(slots=True)
class Turn:
    """Position of a message in the order of the messages about the same batch."""

    ended: "asyncio.Future[None]"  #: Done when the message is handled.
    creates: bool  #: The message creates the batch.
    earlier: Sequence["Turn"]  #: The messages that arrived before, and are not handled yet.

    async def wait(self, *, for_all: bool) -> None:
        """Wait until the earlier messages that create the batch are handled or, with ``for_all``, all earlier messages."""
        if futures := [turn.ended for turn in self.earlier if for_all or turn.creates]:
            await asyncio.wait(futures)


class Turns:
    """The messages about batches that are being handled, in the order of their arrival.

    Messages are handled concurrently. Without turns, the last message of a batch could close it before the items of others are added.
    """

    def __init__(self) -> None:
        self._turns: dict[tuple[str, str], list[Turn]] = {}

    @contextmanager
    def take(self, namespace: str, batch: str, *, creates: bool = False) -> Iterator[Turn]:
        """Yield the turn of a message, which ends with the block. Call this before anything is awaited."""
        turns = self._turns.setdefault((namespace, batch), [])
        turn = Turn(asyncio.get_running_loop().create_future(), creates, tuple(turns))
        turns.append(turn)
        try:
            yield turn
        finally:
            turn.ended.set_result(None)
            # Otherwise each turn would keep all turns before it in memory.
            turn.earlier = ()
            turns.remove(turn)
            if not turns:
                self._turns.pop((namespace, batch), None)


class QueueBatches:
    """The use cases of messages about batches."""

    def __init__(self, database: Database, writer: Writer, repositories: JobRepositories, additions: GroupAdditions) -> None:
        self._database = database
        self._writer = writer
        self._repositories = repositories
        self._additions = additions
        self._large_messages = asyncio.Semaphore(_MAX_LARGE_MESSAGES)
        self.turns = Turns()

    async def create(self, actor: Actor, caller: Identity, namespace: str, body: bytes) -> bytes:
        """Create the batch in the body of a message, and return it as JSON. A batch that exists with an equal spec is returned.

        Raises AlreadyExists if the spec differs, and the errors of ``Writer.create``.
        """
        submissions.check_size(body)
        tree = objects.parse_tree(body)
        if not batch_name(tree):
            raise BadRequest("metadata.name is missing; a batch that is submitted through the queue needs a name of its own")
        # A message need not name the API version.
        tree = {"apiVersion": BATCH.api_version(), **tree}
        desired = objects.read_new_object(tree, BATCH, namespace, BATCH.versions[0], FieldValidation.STRICT)
        try:
            batch = await self._writer.create(desired, WriteContext(caller, actor, _FIELD_MANAGER), size=len(body))
        except AlreadyExists:
            batch = await self._find(namespace, desired.name)
            if BatchSpec.model_validate_json(batch.spec) != BatchSpec.model_validate_json(write_json(desired.spec)):
                raise
        return encode_object(batch, BATCH.versions[0])

    async def add_items(self, message: Message, actor: Actor, caller: Identity, namespace: str, name: str, turn: Turn) -> bytes:
        """Add the items in a message to a batch, and return the verdicts as JSON. A batch that does not exist is created.

        Raises BadRequest for a body that has no items, Forbidden, TooManyWaitingJobs, and Conflict for a batch that accepts no items.
        Without ``reply_to``, raises Invalid if an item is refused; the accepted items are stored nevertheless.
        """
        if not caller.may(BATCH.actions["update"]):
            raise Forbidden(f"{caller.login} may not add items to batches; needed: {BATCH.actions['update']}")
        closes = _flag(message, CLOSE)
        context = tracing.current()
        trace = context.header if context is not None else None
        # Earlier messages are awaited before this one takes a place among large messages, since they may need a place, too.
        await turn.wait(for_all=closes)
        async with self._large_messages if len(message.body) > _LARGE_BYTES else nullcontext():
            items = await self._read_items(message, caller, namespace, may_be_empty=closes)
            verdicts = await self._add(caller, Addition(actor, namespace, name, items, closes, trace))
        if message.reply_to is None:
            _require_accepted(verdicts)
        return BatchSubmission(kind="BatchSubmission", api_version=BATCH.api_version(), batch=name, items=list(verdicts)).to_json()

    async def _read_items(
        self, message: Message, caller: Identity, namespace: str, *, may_be_empty: bool
    ) -> Sequence[NewItem | RefusedItem]:
        """Return the items of a message in their order. Faulty items, and those that the caller may not submit, are refused."""
        values, is_list = _values(message.body, may_be_empty=may_be_empty)
        items: list[CheckedItem | RefusedItem] = []
        for start in range(0, len(values), _READ_CHUNK_SIZE):
            items += [read_item(value) for value in values[start : start + _READ_CHUNK_SIZE]]
            await asyncio.sleep(0)  # Let other requests run while a long list is read.
        checked_items = await ItemChecks(self._repositories, caller, namespace).check(items)
        return [_new_item(item, index, message, is_list=is_list) for index, item in enumerate(checked_items)]

    async def _add(self, caller: Identity, addition: Addition) -> Sequence[ItemVerdict]:
        """Add items to a batch, which is created if it does not exist, and return the verdicts in the order of the items."""
        try:
            return await self._additions.add(addition)
        except NotFound:
            # A message without items closes a batch, which must exist.
            if not addition.items:
                raise
        tree = {"kind": BATCH.kind, "apiVersion": BATCH.api_version(), "metadata": {"name": addition.batch}, "spec": {}}
        desired = objects.read_new_object(tree, BATCH, addition.namespace, BATCH.versions[0])
        with suppress(AlreadyExists):  # Another message may be faster.
            await self._writer.create(desired, WriteContext(caller, addition.actor, _FIELD_MANAGER))
        return await self._additions.add(addition)

    async def _find(self, namespace: str, name: str) -> StoredObject:
        async with self._database.connection() as connection:
            return await resources.get(connection, BATCH, namespace, name)


def is_batch(value: Any) -> bool:
    """Return whether a JSON value is a Batch."""
    return isinstance(value, dict) and value.get("kind") == BATCH.kind


def batch_name(value: dict[str, Any]) -> str:
    """Return the name of a Batch, or an empty string if it has none."""
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""


def _flag(message: Message, header: str) -> bool:
    """Return whether a header is true. Clients that send only strings send ``true``."""
    return message.headers.get(header) in (True, "true", "True")


def _values(body: bytes, *, may_be_empty: bool) -> tuple[Sequence[Any], bool]:
    """Return the values of a body, and whether they were sent as a list. An empty body is an empty list if it may be empty."""
    value = submissions.parse_json(body) if body or not may_be_empty else []
    if not isinstance(value, list):
        return [value], False
    if not value and not may_be_empty:
        raise BadRequest(f"the list of items is empty; send 1 to {MAX_ITEMS:,} items, or none with the header {CLOSE}")
    if len(value) > MAX_ITEMS:
        raise BadRequest(f"the list has {len(value):,} items, more than the {MAX_ITEMS:,} of one message; send it in parts")
    return value, True


def _new_item(item: CheckedItem | RefusedItem, index: int, message: Message, *, is_list: bool) -> NewItem | RefusedItem:
    """Return an item with an id. In a list, the message of a refused item begins with the position of the item."""
    if isinstance(item, RefusedItem):
        return RefusedItem(item.id, f"[{index}]: {item.message}") if is_list else item
    with_result = message.reply_to is not None and _flag(message, ITEM_RESULTS)
    return NewItem(
        item.id or _generated_id(message.message_id, index),
        item.kind,
        item.spec,
        reply_to=message.reply_to if with_result else None,
        correlation_id=message.correlation_id if with_result else None,
    )


def _generated_id(message_id: str | None, index: int) -> str:
    """Return the id of an item that has none. It is the same for each delivery of a message that has an id."""
    if not message_id:
        return secrets.token_hex(16)
    check_string(message_id)
    if len(message_id) > _MAX_MESSAGE_ID_LENGTH:
        raise BadRequest(f"the message_id has more than {_MAX_MESSAGE_ID_LENGTH} characters; send a shorter one, or items with ids")
    return f"{message_id}/{index}"


def _require_accepted(verdicts: Sequence[ItemVerdict]) -> None:
    """Raise Invalid with the first reasons if items are refused."""
    messages = [verdict.message or "" for verdict in verdicts if verdict.status == "refused"]
    if messages:
        first_messages = "; ".join(messages[:_MAX_NAMED_ITEMS])
        raise Invalid(f"{len(messages):,} of {len(verdicts):,} items are refused: {first_messages}")
