"""Conversion of messages and errors between Dashwright and the library aio-pika."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from aio_pika import DeliveryMode
from aio_pika.abc import AbstractIncomingMessage, AbstractRobustChannel
from aio_pika.exceptions import AMQPError, ChannelInvalidStateError, ChannelNotFoundEntity, DeliveryError, PublishError
from aiormq import spec

from dashwright.common.errors import Unavailable, Unroutable
from dashwright.common.messaging.message import (
    ATTEMPT,
    DEATH_TIME,
    ORIGIN_EXCHANGE,
    ORIGIN_QUEUE,
    REASON,
    Delivery,
    Header,
    Message,
    count_header,
)

#: Errors that aio-pika raises if the broker is unreachable or a channel was lost. StopAsyncIteration means that the broker closed a
#: connection while it was being opened.
CONNECTION_ERRORS = (AMQPError, ChannelInvalidStateError, OSError, StopAsyncIteration)

_TRANSIENT, _PERSISTENT = DeliveryMode.NOT_PERSISTENT.value, DeliveryMode.PERSISTENT.value


async def publish(
    channel: AbstractRobustChannel, routing_key: str, message: Message, *, exchange: str = "", mandatory: bool, reply_to: str | None = None
) -> None:
    """Publish a message. If the channel is confirmed, wait until the broker has accepted it.

    ``reply_to``, if given, replaces the reply address of the message.
    The message is passed to the channel of aiormq, since the publishing of aio-pika would copy it into two more objects.
    """
    if channel.is_closed:
        raise ChannelInvalidStateError(f"{channel!r} closed")
    properties = spec.Basic.Properties(
        headers=dict(message.headers),
        content_type=message.content_type,
        delivery_mode=_PERSISTENT if message.persistent else _TRANSIENT,
        correlation_id=message.correlation_id,
        reply_to=reply_to or message.reply_to,
        message_id=message.message_id,
        # RabbitMQ closes the channel on a negative expiration.
        expiration=None if message.expiration is None else str(max(0, int(message.expiration * 1000))),
        priority=message.priority or None,
    )
    connected_channel = await channel.get_underlay_channel()
    await connected_channel.basic_publish(
        message.body, exchange=exchange, routing_key=routing_key, properties=properties, mandatory=mandatory
    )


def from_amqp(body: bytes, properties: spec.Basic.Properties | AbstractIncomingMessage) -> Message:
    """Return a received message, without headers of the broker (``x-…``) and headers of unsupported types.

    The expiration is read from messages of aio-pika only. Properties have it as a text.
    """
    headers = properties.headers or {}
    return Message(
        body=body,
        headers={name: value for name, value in headers.items() if isinstance(value, (str, int, bool)) and not name.startswith("x-")},
        message_id=properties.message_id,
        correlation_id=properties.correlation_id,
        reply_to=properties.reply_to,
        content_type=properties.content_type or "",
        persistent=properties.delivery_mode == _PERSISTENT,
        expiration=properties.expiration if isinstance(properties.expiration, float) else None,
        priority=properties.priority or 0,
    )


def to_delivery(incoming: AbstractIncomingMessage) -> Delivery:
    """Return a received message as a delivery.

    A quorum queue counts redeliveries in a header. A classic queue only marks a delivery as redelivered.
    """
    message = from_amqp(incoming.body, incoming)
    redelivered = bool(incoming.redelivered)
    count = incoming.headers.get("x-delivery-count", 0)
    redeliveries = max(count if isinstance(count, int) else 0, int(redelivered))
    return Delivery(
        message=message,
        exchange=incoming.exchange or "",
        routing_key=incoming.routing_key or "",
        redelivered=redelivered,
        attempt=count_header(message.headers, ATTEMPT) + redeliveries + 1,
    )


def origin_headers(incoming: AbstractIncomingMessage) -> dict[str, Header]:
    """Return the reason, origin and time of a message that the broker dead-lettered, as headers.

    They come from the first entry of ``x-death``, which is the latest. Return no headers for any other message.
    """
    deaths: Any = incoming.headers.get("x-death")
    if REASON in incoming.headers or not isinstance(deaths, list) or not deaths:
        return {}
    death = deaths[0]
    return {
        REASON: str(death["reason"]),
        ORIGIN_QUEUE: str(death["queue"]),
        ORIGIN_EXCHANGE: str(death["exchange"]),
        DEATH_TIME: str(death.get("time", "")),
    }


def url_without_password(url: str) -> str:
    """Return the URL of a broker without user and password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}:{parts.port or (5671 if parts.scheme == 'amqps' else 5672)}{parts.path}"


@contextmanager
def translate_errors(operation: str) -> Iterator[None]:
    """Raise errors of aio-pika as Unroutable or Unavailable. The message begins with ``operation``, such as ``Replying``."""
    try:
        yield
    except (PublishError, ChannelNotFoundEntity) as error:
        raise Unroutable(f"{operation} failed: the broker has no queue for it; check the key and that the topology is declared") from error
    except DeliveryError as error:
        raise Unavailable(f"{operation} failed: the broker refused the message, its queue is full; try again later") from error
    except TimeoutError as error:
        raise Unavailable(f"{operation} failed: the broker did not respond in time; try again later") from error
    except CONNECTION_ERRORS as error:
        raise Unavailable(f"{operation} failed: the broker cannot be reached ({type(error).__name__}); try again later") from error
    except asyncio.CancelledError as error:
        # aio-pika cancels the futures of a closed channel, which is an error. A cancellation of this task is raised unchanged.
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise Unavailable(f"{operation} failed: the broker closed the channel; try again later") from error
    except Exception as error:
        # aiormq raises a plain Exception if a channel was closed without a reason.
        if type(error) is not Exception:
            raise
        raise Unavailable(f"{operation} failed: the broker closed the channel; try again later") from error
