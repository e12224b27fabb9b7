"""Conversion between Dashwright's messages and errors and those of the client library."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import aio_pika
from aio_pika.abc import AbstractIncomingMessage
from aio_pika.exceptions import AMQPError, ChannelInvalidStateError, ChannelNotFoundEntity, DeliveryError, PublishError

from dashwright.common.errors import Unavailable, Unroutable
from dashwright.common.messaging.message import ATTEMPT, ORIGIN_EXCHANGE, ORIGIN_QUEUE, REASON, Delivery, Header, Message, count

#: Errors that the library raises when the broker is unreachable or a channel was lost.
LOST = (AMQPError, ChannelInvalidStateError, OSError)


def to_amqp(message: Message) -> aio_pika.Message:
    """Return a message in the form of the library."""
    return aio_pika.Message(
        message.body,
        headers=dict(message.headers),
        content_type=message.content_type,
        delivery_mode=aio_pika.DeliveryMode.PERSISTENT if message.persistent else aio_pika.DeliveryMode.NOT_PERSISTENT,
        correlation_id=message.correlation_id,
        reply_to=message.reply_to,
        message_id=message.message_id,
        # RabbitMQ closes the channel on a negative expiration.
        expiration=None if message.expiration is None else max(0.0, message.expiration),
    )


def from_amqp(incoming: AbstractIncomingMessage) -> Message:
    """Return a received message, without headers that brokers add (``x-…``) and headers of unsupported types."""
    headers = {name: value for name, value in incoming.headers.items() if isinstance(value, (str, int, bool)) and not name.startswith("x-")}
    return Message(
        body=incoming.body,
        headers=headers,
        message_id=incoming.message_id,
        correlation_id=incoming.correlation_id,
        reply_to=incoming.reply_to,
        content_type=incoming.content_type or "",
        persistent=incoming.delivery_mode == aio_pika.DeliveryMode.PERSISTENT,
        expiration=incoming.expiration if isinstance(incoming.expiration, float) else None,
    )


def to_delivery(incoming: AbstractIncomingMessage) -> Delivery:
    """Return a received message as a delivery.

    A quorum queue counts redeliveries in a header; a classic queue only flags that there was one.
    """
    message = from_amqp(incoming)
    redelivered = bool(incoming.redelivered)
    again = incoming.headers.get("x-delivery-count", 0)
    return Delivery(
        message=message,
        exchange=incoming.exchange or "",
        routing_key=incoming.routing_key or "",
        redelivered=redelivered,
        attempt=count(message.headers, ATTEMPT) + max(again if isinstance(again, int) else 0, int(redelivered)) + 1,
    )


def origin(incoming: AbstractIncomingMessage) -> dict[str, Header]:
    """Return reason and origin of a message that the broker itself dead-lettered, from ``x-death`` (latest first)."""
    deaths: Any = incoming.headers.get("x-death")
    if REASON in incoming.headers or not isinstance(deaths, list) or not deaths:
        return {}
    return {REASON: str(deaths[0]["reason"]), ORIGIN_QUEUE: str(deaths[0]["queue"]), ORIGIN_EXCHANGE: str(deaths[0]["exchange"])}


def address(url: str) -> str:
    """Return the address of a broker without the password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}:{parts.port or (5671 if parts.scheme == 'amqps' else 5672)}{parts.path}"


@contextmanager
def translate_errors(what: str) -> Iterator[None]:
    """Raise the library's failures as Unroutable or Unavailable. ``what`` begins the message: "Publishing to …"."""
    try:
        yield
    except (PublishError, ChannelNotFoundEntity) as error:
        raise Unroutable(f"{what} failed: the broker has no queue for it; check the key and that the topology is declared") from error
    except DeliveryError as error:
        raise Unavailable(f"{what} failed: the broker refused the message, its queue is full; try again later") from error
    except TimeoutError as error:
        raise Unavailable(f"{what} failed: the broker did not respond in time; try again later") from error
    except LOST as error:
        raise Unavailable(f"{what} failed: the broker cannot be reached ({type(error).__name__}); try again later") from error
    except asyncio.CancelledError as error:
        # A closing channel cancels the futures that callers wait for. Only a cancellation of this task is a real one.
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise Unavailable(f"{what} failed: the broker closed the channel; try again later") from error
