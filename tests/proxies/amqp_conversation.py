"""Conversation of aio-pika with RabbitMQ, in which publishing and acknowledging a kind of message are named steps."""

import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.proxies.conversation import Frames, Moment, Unit

#: Bytes of the protocol header, which the client sends before its first frame.
_PROTOCOL_HEADER_LENGTH = 8
# Types of frames, and methods by the ids of their class and method, as AMQP 0-9-1 defines them.
_METHOD, _CONTENT_HEADER, _BODY = 1, 2, 3
_PUBLISH, _DELIVER, _ACK, _NACK, _REJECT = (60, 40), (60, 60), (60, 80), (60, 120), (60, 90)
_CONFIRM_SELECT, _CLOSE_CHANNEL = (85, 10), (20, 40)


@dataclass(slots=True)
class _Channel:
    """State of a channel."""

    #: True if the broker confirms published messages.
    is_confirmed: bool = False
    published_count: int = 0
    #: Steps of published messages that the broker has not confirmed, by number.
    unconfirmed: dict[int, str] = field(default_factory=dict)
    #: Step of the message that is being published.
    publishing: str | None = None
    #: Bytes of the body of this message that have not been sent.
    missing_bytes: int = 0
    #: Kinds of delivered messages by delivery tag.
    delivered: dict[int, str] = field(default_factory=dict)


class AmqpConversation:
    """Decoder of one connection."""

    def __init__(self) -> None:
        self._from_client = Frames(self._client_length)
        self._from_server = Frames(_length)
        #: True after the protocol header, which is not a frame.
        self._has_started = False
        self._channels: dict[int, _Channel] = defaultdict(_Channel)

    def from_client(self, piece: bytes) -> Iterator[Unit]:
        """Yield the frames of the client."""
        for frame in self._from_client.add(piece):
            if not self._has_started:
                self._has_started = True
                yield Unit(frame)
                continue
            # A frame is its type, the number of its channel, a length of four bytes, the payload and an end byte.
            frame_type, number = struct.unpack(">BH", frame[:3])
            payload, channel = frame[7:-1], self._channels[number]
            if frame_type == _METHOD:
                yield self._client_method(frame, number, payload)
            elif frame_type == _CONTENT_HEADER:
                channel.missing_bytes = int.from_bytes(payload[4:12])
                yield self._content(frame, channel)
            elif frame_type == _BODY:
                channel.missing_bytes -= len(payload)
                yield self._content(frame, channel)
            else:
                yield Unit(frame)

    def from_server(self, piece: bytes) -> Iterator[Unit]:
        """Yield the frames of the server."""
        for frame in self._from_server.add(piece):
            frame_type, number = struct.unpack(">BH", frame[:3])
            yield self._server_method(frame, number, frame[7:-1]) if frame_type == _METHOD else Unit(frame)

    def _client_method(self, frame: bytes, number: int, payload: bytes) -> Unit:
        """Return the unit of a method of the client. A rejection or acknowledgement is complete when it is sent."""
        method, channel = struct.unpack(">HH", payload[:4]), self._channels[number]
        if method == _PUBLISH:
            exchange, arguments = _short_string(payload[6:])
            channel.publishing = f"publish {_published_kind(exchange, _short_string(arguments)[0])}"
            return Unit(frame, [Moment("before", channel.publishing)])
        if method in (_ACK, _REJECT):
            step = f"{'acknowledge' if method == _ACK else 'reject'} {channel.delivered.pop(int.from_bytes(payload[4:12]), 'message')}"
            return Unit(frame, [Moment("before", step)], [Moment("after", step)])
        if method == _CONFIRM_SELECT:
            channel.is_confirmed = True
        elif method == _CLOSE_CHANNEL:
            del self._channels[number]
        return Unit(frame)

    def _content(self, frame: bytes, channel: _Channel) -> Unit:
        """Return the unit of a part of a published message. Without confirms, its last part completes the step."""
        step = channel.publishing
        if step is None or channel.missing_bytes > 0:
            return Unit(frame)
        channel.publishing = None
        channel.published_count += 1
        if channel.is_confirmed:
            channel.unconfirmed[channel.published_count] = step
            return Unit(frame)
        return Unit(frame, after=[Moment("after", step)])

    def _server_method(self, frame: bytes, number: int, payload: bytes) -> Unit:
        """Return the unit of a method of the server. A confirm completes the steps of one or several published messages."""
        method, channel = struct.unpack(">HH", payload[:4]), self._channels[number]
        if method == _DELIVER:
            _consumer, arguments = _short_string(payload[4:])
            tag = int.from_bytes(arguments[:8])
            exchange, arguments = _short_string(arguments[9:])
            channel.delivered[tag] = _delivered_kind(exchange, _short_string(arguments)[0])
        elif method in (_ACK, _NACK):
            tag, is_multiple = int.from_bytes(payload[4:12]), bool(payload[12] & 1)
            tags = [delivery_tag for delivery_tag in channel.unconfirmed if delivery_tag <= tag] if is_multiple else [tag]
            steps = [channel.unconfirmed.pop(delivery_tag) for delivery_tag in tags if delivery_tag in channel.unconfirmed]
            return Unit(frame, [Moment("after", step) for step in steps if method == _ACK])
        return Unit(frame)

    def _client_length(self, buffer: bytearray) -> int | None:
        return _length(buffer) if self._has_started else _PROTOCOL_HEADER_LENGTH


def _length(buffer: bytearray) -> int | None:
    """Return the length of the frame at the start of a buffer, or None until its header is complete."""
    return 8 + int.from_bytes(buffer[3:7]) if len(buffer) >= 7 else None


def _short_string(data: bytes) -> tuple[str, bytes]:
    """Return a short string and the bytes after it."""
    end = 1 + data[0]
    return data[1:end].decode(), data[end:]


def _published_kind(exchange: str, routing_key: str) -> str:
    """Return the name of what a service publishes."""
    if exchange == "dashwright.jobs":
        return "submission" if routing_key.startswith("submit.") else "wake-up"
    if exchange.startswith("dashwright.retry"):
        return "retry"
    if exchange == "dashwright.dead":
        return "dead letter"
    if exchange == "dashwright.events":
        return "event"
    if routing_key.startswith("notify."):
        return "notification"
    if routing_key.startswith("dashwright."):
        return "request"
    return "response" if routing_key.startswith("amq.rabbitmq.reply-to") else "reply"


def _delivered_kind(exchange: str, routing_key: str) -> str:
    """Return the name of what a service receives."""
    if exchange == "dashwright.dead":
        return "dead letter"
    if exchange == "dashwright.jobs":
        return "submission" if routing_key.startswith("submit.") else "wake-up"
    return "request"
