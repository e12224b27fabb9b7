"""Channels of notifications: queues, the exchange of events, and webhooks. Each makes one attempt to deliver a notification."""

import base64
import hmac
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final

from dashwright.common.clock import Clock
from dashwright.common.errors import Gone, SourceFailed, TooManyRequests, Unroutable
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.message import Message
from dashwright.common.secrets import SecretCipher
from dashwright.common.stores.notifications import ReceiverType
from dashwright.jobs_worker.notifications.webhook_targets import target_of
from dashwright.jobs_worker.ports import Webhooks
from dashwright.jobs_worker.stores.notifications import ClaimedNotification

#: Media type of a CloudEvent in the structured mode.
CONTENT_TYPE: Final = "application/cloudevents+json"

_SUCCESS: Final = range(200, 300)
_REDIRECT: Final = range(300, 400)
_GONE: Final = 410

Deliver = Callable[[ClaimedNotification], Awaitable[None]]
"""Delivers a notification. Raises a DashwrightError if the receiver did not accept it, Gone if it never will."""


def channels(broker: Broker, webhooks: Webhooks, cipher: SecretCipher, clock: Clock) -> Mapping[ReceiverType, Deliver]:
    """Return the channels by the type of receiver."""

    async def send_to_queue(notification: ClaimedNotification) -> None:
        try:
            await broker.publish("", notification.target, _message(notification))
        except Unroutable as error:
            raise SourceFailed(f"the queue '{notification.target}' does not exist; declare it at the broker") from error

    async def send_to_exchange(notification: ClaimedNotification) -> None:
        # Without a queue that is bound to the exchange, the event has no receiver.
        with suppress(Unroutable):
            await broker.publish(broker.topology.events, notification.target, _message(notification))

    async def post_to_webhook(notification: ClaimedNotification) -> None:
        target, body = target_of(notification), notification.event.encode()
        headers = _signed_headers(target.signing_key(cipher), str(notification.id), int(clock.seconds()), body)
        response = await webhooks.post(target.url, {**headers, "Content-Type": CONTENT_TYPE}, body)
        if response.status == _GONE:
            raise Gone("the webhook responded with status 410, so the notification is not repeated")
        if response.status in _REDIRECT:
            raise SourceFailed(f"the webhook responded with the redirect {response.status}, which is not followed; change its url")
        if response.status not in _SUCCESS:
            # TooManyRequests is raised for every status, because it has the pause that the webhook requests.
            raise TooManyRequests(f"the webhook responded with status {response.status}", retry_after=response.retry_after)

    return {"queue": send_to_queue, "exchange": send_to_exchange, "webhook": post_to_webhook}


def _message(notification: ClaimedNotification) -> Message:
    return Message(body=notification.event.encode(), message_id=str(notification.id), content_type=CONTENT_TYPE)


def _signed_headers(key: bytes, message_id: str, timestamp: int, body: bytes) -> Mapping[str, str]:
    """Return the headers of Standard Webhooks 1.0 with id, time and signature. ``timestamp`` is in Unix seconds."""
    signature = hmac.digest(key, f"{message_id}.{timestamp}.".encode() + body, "sha256")
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{base64.b64encode(signature).decode()}",
    }
