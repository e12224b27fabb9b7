"""Submitter of jobs and evaluations through the queue, which reconnects after a fault and checks the effect of each message."""

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import aio_pika
from aio_pika.abc import AbstractConnection, AbstractExchange, AbstractIncomingMessage
from tests.acceptance.client import FIRST_USER
from tests.acceptance.queue_client import EXCHANGE
from tests.faults.audit import Audit
from tests.faults.loads.load import Database, audit_jobs, wait_while_fewer

#: Receives a reply and its body.
ReceiveReply = Callable[[AbstractIncomingMessage, Any], Awaitable[None]]

_CONFIRM_SECONDS = 5.0


class QueueSubmitter:
    """Submitter of messages to the job queue. A message is accepted if the broker has confirmed it."""

    def __init__(self, amqp_url: str) -> None:
        self._url = amqp_url
        self._connection: AbstractConnection | None = None
        self._exchange: AbstractExchange | None = None
        self._reply_to = ""
        self._connection_lock = asyncio.Lock()
        #: Messages by id: whether the broker has confirmed one of its copies.
        self._messages: dict[str, bool] = {}
        #: Number of copies that a full queue has refused, by the id of their message.
        self._refused: Counter[str] = Counter()
        #: Uids of the objects in the replies to each message.
        self._replies: dict[str, set[str]] = defaultdict(set)
        #: Replies that refuse a message. Each begins with the message's id.
        self._failures: list[str] = []
        #: Functions that receive the replies to messages, by the prefix of their ids.
        self._receivers: dict[str, ReceiveReply] = {}

    def receive(self, prefix: str, receive: ReceiveReply) -> None:
        """Call ``receive`` with each reply to a message whose id begins with ``prefix``, and with the body of the reply."""
        self._receivers[prefix] = receive

    async def publish(self, message_id: str, body: Any, *, headers: Mapping[str, Any] | None = None, has_reply: bool = True) -> bool:
        """Publish a message, and return whether the broker has confirmed it."""
        self._messages.setdefault(message_id, False)
        message = aio_pika.Message(
            json.dumps(body).encode(),
            delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
            message_id=message_id,
            correlation_id=message_id,
            headers={"authorization": FIRST_USER, **(headers or {})},
        )
        try:
            async with asyncio.timeout(_CONFIRM_SECONDS):
                exchange = await self._connect()
                message.reply_to = self._reply_to if has_reply else None
                await exchange.publish(message, "submit.default")
        except aio_pika.exceptions.DeliveryError:  # the queue is full
            self._refused[message_id] += 1
            return False
        except (Exception, asyncio.CancelledError):
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            await self.close()
            return False
        self._messages[message_id] = True
        return True

    async def close(self) -> None:
        """Close the connection."""
        connection, self._connection, self._exchange = self._connection, None, None
        if connection is not None:
            with suppress(Exception, asyncio.CancelledError):
                async with asyncio.timeout(1):
                    await connection.close()

    async def audit(self, database: Database, audit: Audit, *, prefix: str) -> Audit:
        """Add the findings about the messages whose ids begin with ``prefix``."""
        messages = {message_id: confirmed for message_id, confirmed in self._messages.items() if message_id.startswith(prefix)}
        confirmed = [message_id for message_id, is_confirmed in messages.items() if is_confirmed]
        await _wait_until_handled(database, confirmed)
        handled = await _submissions(database, list(messages))
        dead = {row[0] for row in await database.fetch("select message_id from dead_letter where message_id = any($1)", list(messages))}
        audit.accepted = len(confirmed)
        audit.refused = sum(1 for message_id in messages if not messages[message_id] and self._refused[message_id])
        audit.unknown = len(messages) - audit.accepted - audit.refused
        for message_id in confirmed:
            if message_id in dead:
                audit.wrong.append(f"{message_id} became a dead letter")
            elif message_id not in handled:
                audit.lost.append(f"{message_id} was confirmed by the broker, but not handled")
        jobs = {uid: message_id for message_id, uids in handled.items() for uid in uids}
        await audit_jobs(database, jobs, audit)
        for message_id, uids in self._replies.items():
            if message_id in messages and (len(uids) > 1 or not uids <= set(handled.get(message_id, uids))):
                audit.doubled.append(f"the replies to {message_id} have the objects {uids}, stored are {handled.get(message_id)}")
        audit.wrong += [failure for failure in self._failures if failure.startswith(prefix)]
        return audit

    async def _connect(self) -> AbstractExchange:
        """Return the exchange, after connecting to the broker if that is necessary."""
        async with self._connection_lock:
            if self._exchange is None:
                self._connection = await aio_pika.connect(self._url, timeout=_CONFIRM_SECONDS)
                channel = await self._connection.channel(on_return_raises=True)
                queue = await channel.declare_queue(exclusive=True)
                await queue.consume(self._receive_reply, no_ack=True)
                self._reply_to = queue.name
                self._exchange = await channel.get_exchange(EXCHANGE)
            return self._exchange

    async def _receive_reply(self, reply: AbstractIncomingMessage) -> None:
        """Pass a reply to the function for its message, or else record it."""
        body, message_id = json.loads(reply.body), reply.correlation_id or ""
        for prefix, receive in self._receivers.items():
            if message_id.startswith(prefix):
                await receive(reply, body)
                return
        if body["kind"] == "Status":
            self._failures.append(f"{message_id} was refused: {body['message']}")
        else:
            self._replies[message_id].add(body["metadata"]["uid"])


async def _submissions(database: Database, message_ids: list[str]) -> dict[str, list[str]]:
    """Return the uids of the jobs of the messages that were handled."""
    rows = await database.fetch("select message_id, jobs::text[] as jobs from submission where message_id = any($1)", message_ids)
    return {row["message_id"]: row["jobs"] for row in rows}


async def _wait_until_handled(database: Database, message_ids: list[str]) -> None:
    """Wait until each message is stored as a submission or a dead letter, as long as some of them are handled in the meantime."""
    handled = (
        "select count(*) from unnest($1::text[]) m (id) where exists (select from submission s where s.message_id = m.id) "
        "or exists (select from dead_letter l where l.message_id = m.id)"
    )
    await wait_while_fewer(len(message_ids), lambda: database.fetchval(handled, message_ids))
