"""Use cases on dead letters: reading, replaying and discarding. Replays and discards are audited."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from dashwright.api.domain.actor import Actor
from dashwright.api.stores import audit
from dashwright.api.stores import dead_letters as store
from dashwright.api.stores.audit import event_of, subject_of
from dashwright.api.stores.dead_letters import StoredDeadLetter
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import Conflict
from dashwright.common.identity import Identity
from dashwright.common.kinds.registry import DEAD_LETTER
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.message import Message

log = structlog.get_logger()

MAX_REPLAYED: Final = 1000
"""Maximum number of letters that one request replays, so that it ends within the time limit of requests."""

_PAGE_SIZE: Final = 500
"""Number of letters, without bodies, that one query reads."""
_BATCH_SIZE: Final = 100
"""Limit on the letters that one transaction replays."""
_BATCH_BYTES: Final = 4 * 1024 * 1024
"""Limit on the bytes of bodies in one batch, unless a single body is larger."""

Selector = Callable[[StoredDeadLetter], bool]
"""A condition on a letter, whose body is not loaded."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a use case in one namespace."""

    actor: Actor
    namespace: str
    #: The caller is a server administrator, who also sees the letters without a known organization.
    is_server_admin: bool

    @classmethod
    def of(cls, actor: Actor, identity: Identity, namespace: str) -> "Caller":
        """Return the caller with an identity."""
        return cls(actor, namespace, identity.is_server_admin)


@dataclass(frozen=True, slots=True)
class ReplayCounts:
    """The result of the replay of selected letters."""

    replayed: int
    skipped: int  #: Selected letters that cannot be replayed.
    remaining: int  #: Selected letters beyond ``MAX_REPLAYED``, and those that another request is replaying.


class DeadLetters:
    """The use cases on dead letters."""

    def __init__(self, database: Database, broker: Broker, clock: Clock, *, allows_anonymous: bool) -> None:
        """Create the use cases. ``allows_anonymous`` is true if submissions without credentials are accepted."""
        self._database = database
        self._broker = broker
        self._clock = clock
        self._allows_anonymous = allows_anonymous

    async def get(self, caller: Caller, name: str) -> StoredDeadLetter:
        """Return a letter with its body. Raises NotFound."""
        async with self._database.connection() as connection:
            return await store.get(connection, caller.namespace, name, with_server_letters=caller.is_server_admin)

    async def replay(self, caller: Caller, name: str, *, dry_run: bool) -> StoredDeadLetter:
        """Publish the message of a letter again, unless that was done before, and return the letter.

        The letter is changed under a lock before its message is published, and the change is committed after the broker has confirmed
        the message. A failure in between keeps the letter dead, so its message may be published a second time with the same id, by
        which the gateway recognizes it. Raises NotFound, Conflict for a letter that cannot be replayed, and Unavailable.
        """
        self._check_anonymous()
        async with self._database.transaction(dry_run=dry_run) as connection:
            letter = await store.get(connection, caller.namespace, name, with_server_letters=caller.is_server_admin, lock=True)
            if letter.obstacle:
                raise Conflict(f'the dead letter "{name}" cannot be replayed: {letter.obstacle}', details=DEAD_LETTER.details(name))
            if letter.replayed is None and not dry_run:
                if errors := await self._publish_marked(connection, caller, [letter]):
                    raise errors[0]
                letter = await store.get(connection, caller.namespace, name, with_server_letters=caller.is_server_admin)
                log.info("dead_letter_replayed", letter=name)
        return letter

    async def replay_selected(self, caller: Caller, is_selected: Selector, *, dry_run: bool) -> ReplayCounts:
        """Replay the selected letters that are dead, the oldest first, and at most ``MAX_REPLAYED``.

        Raises Unavailable if the broker refuses a message. Letters whose messages it has accepted before remain replayed.
        """
        self._check_anonymous()
        dead_letters = [letter for letter in await self._select(caller, is_selected) if letter.replayed is None]
        replayable_letters = [letter for letter in dead_letters if letter.is_replayable]
        replayed = 0
        if not dry_run:
            for batch in _batches(replayable_letters[:MAX_REPLAYED]):
                replayed += await self._replay_batch(caller, [letter.name for letter in batch])
            log.info("dead_letters_replayed", namespace=caller.namespace, count=replayed)
        return ReplayCounts(replayed, len(dead_letters) - len(replayable_letters), len(replayable_letters) - replayed)

    async def discard(self, caller: Caller, name: str, check: Callable[[StoredDeadLetter], None], *, dry_run: bool) -> StoredDeadLetter:
        """Delete a letter, and return it. ``check`` may raise an error, which keeps the letter. Raises NotFound."""
        async with self._database.transaction(dry_run=dry_run) as connection:
            letter = await store.get(connection, caller.namespace, name, with_server_letters=caller.is_server_admin, lock=True)
            check(letter)
            await self._delete(connection, caller, [name])
        return letter

    async def discard_selected(self, caller: Caller, is_selected: Selector, *, dry_run: bool) -> None:
        """Delete all selected letters in one transaction. ``is_selected`` may raise an error, which keeps all letters."""
        names = [letter.name for letter in await self._select(caller, is_selected)]
        async with self._database.transaction(dry_run=dry_run) as connection:
            await self._delete(connection, caller, names)

    async def _select(self, caller: Caller, is_selected: Selector) -> list[StoredDeadLetter]:
        """Return the selected letters without bodies, the oldest first."""
        letters: list[StoredDeadLetter] = []
        after, is_last = "", False
        async with self._database.connection() as connection:
            while not is_last:
                page, is_last = await store.page(
                    connection, caller.namespace, after=after, limit=_PAGE_SIZE, with_server_letters=caller.is_server_admin
                )
                letters += [letter for letter in page if is_selected(letter)]
                after = page[-1].name if page else ""
        return letters

    async def _replay_batch(self, caller: Caller, names: Sequence[str]) -> int:
        """Replay letters in one transaction, and return how many. Raises the error of the first message that was not published."""
        async with self._database.transaction() as connection:
            letters = await store.lock_dead(connection, caller.namespace, names, with_server_letters=caller.is_server_admin)
            errors = await self._publish_marked(connection, caller, letters)
        # Raised after the commit, so that the letters whose messages were published remain marked as replayed.
        if errors:
            raise errors[0]
        return len(letters)

    async def _publish_marked(self, connection: Connection, caller: Caller, letters: Sequence[StoredDeadLetter]) -> list[BaseException]:
        """Publish the messages of letters that the transaction has locked, and return the errors.

        The letters are marked as replayed before their messages are published. If they were marked afterwards, a message that dies again
        before the commit would be taken for the letter that is still dead, and be lost. Letters whose messages were not published are
        marked as dead again.
        """
        await store.mark_replayed(connection, letters, self._clock.now())
        results = await asyncio.gather(*(self._publish(letter) for letter in letters), return_exceptions=True)
        errors = {letter.name: error for letter, error in zip(letters, results, strict=True) if error is not None}
        await store.mark_dead(connection, [letter for letter in letters if letter.name in errors])
        await self._audit(connection, caller, "replay", [letter.name for letter in letters if letter.name not in errors])
        return list(errors.values())

    async def _publish(self, letter: StoredDeadLetter) -> None:
        """Publish the message of a letter to the exchange and with the routing key of its first delivery."""
        # If the sender gave the message no id, it gets an id that is the same in each replay of the letter.
        message = Message(
            body=letter.body,
            headers=letter.headers,
            message_id=letter.message_id or f"dead-letter-{letter.uid}",
            correlation_id=letter.correlation_id,
            content_type=letter.content_type,
        )
        await self._broker.publish(letter.exchange, letter.routing_key, message)

    async def _delete(self, connection: Connection, caller: Caller, names: Sequence[str]) -> None:
        """Delete letters with an audit event for each. Letters that another request has deleted are ignored."""
        deleted_names = await store.delete(connection, caller.namespace, names)
        await self._audit(connection, caller, "delete", deleted_names)
        log.info("dead_letters_discarded", namespace=caller.namespace, count=len(deleted_names))

    async def _audit(self, connection: Connection, caller: Caller, verb: str, names: Sequence[str]) -> None:
        action, org_id = event_of(DEAD_LETTER, verb), caller.actor.org_id
        await audit.record_all(
            connection, [audit.Event(caller.actor, action, subject_of(DEAD_LETTER, name), org_id=org_id) for name in names]
        )

    def _check_anonymous(self) -> None:
        """Raise Conflict if the gateway refuses submissions without credentials. Replayed messages have none."""
        if not self._allows_anonymous:
            raise Conflict(
                "replayed messages have no credentials, and DASHWRIGHT_QUEUE_IDENTITY=false refuses such submissions; "
                "read the body of the letter and submit it again with credentials"
            )


def _batches(letters: Sequence[StoredDeadLetter]) -> Iterator[Sequence[StoredDeadLetter]]:
    """Yield the letters in batches of limited number and size."""
    batch: list[StoredDeadLetter] = []
    for letter in letters:
        size = sum(batched.stored_bytes for batched in batch) + letter.stored_bytes
        if batch and (len(batch) == _BATCH_SIZE or size > _BATCH_BYTES):
            yield batch
            batch = []
        batch.append(letter)
    if batch:
        yield batch
