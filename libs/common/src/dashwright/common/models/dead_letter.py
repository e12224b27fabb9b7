"""Dead letters: messages that could not be handled (``jobs.dashwright.io/v0alpha1``). Times are Unix milliseconds."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from dashwright.common.models.api_model import ApiModel
from dashwright.common.models.meta import TypeMeta


class DeadLetterState(StrEnum):
    """State of a dead letter."""

    DEAD = "dead"
    REPLAYED = "replayed"


class DeadLetterSpec(ApiModel):
    """Message of a dead letter, without its credentials."""

    routing_key: str = Field(description="The routing key of the message")
    exchange: str | None = Field(default=None, description="The exchange that the message was published to")
    queue: str | None = Field(default=None, description="The queue in which the message died")
    message_id: str | None = Field(default=None, description="The id that the sender gave the message")
    correlation_id: str | None = Field(default=None, description="The correlation id of the message")
    content_type: str | None = Field(default=None, description="The media type that the sender named")
    headers: dict[str, str | int | bool] = Field(description="The headers of the message, without credentials")
    removed_headers: list[str] | None = Field(default=None, description="The names of headers that were removed as credentials")
    body: str = Field(description="The body, in the encoding that bodyEncoding names")
    body_encoding: Literal["utf-8", "base64"] = Field(description="utf-8 for text, or base64 for any other body")
    body_bytes: int = Field(description="The size in bytes of the complete body")
    truncated: bool = Field(description="Whether body is only the beginning of the complete body")


class DeadLetterStatus(ApiModel):
    """State of a dead letter."""

    state: Annotated[DeadLetterState, Field(strict=False)] = Field(description="dead, or replayed")
    reason: str = Field(description="Why the message could not be handled")
    received: int = Field(description="When the letter was stored")
    replayed: int | None = Field(default=None, description="When the letter was replayed")
    obstacle: str | None = Field(default=None, description="Why the letter cannot be replayed, if it cannot")


class DeadLetterReplay(TypeMeta):
    """Result of the replay of many dead letters."""

    replayed: int = Field(description="How many letters were replayed")
    skipped: int = Field(description="How many selected letters cannot be replayed; their status has the obstacle")
    remaining: int = Field(description="How many selected letters are left for another request")
