"""Batches of jobs and evaluations (``jobs.dashwright.io/v0alpha1``). Times are Unix milliseconds, unless they are RFC 3339 strings."""

from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from dashwright.common.models.api_model import ApiModel
from dashwright.common.models.meta import TypeMeta
from dashwright.common.models.provisioning import SecureValue

#: Maximum number of items in the spec of a batch. A larger batch has no items in its spec: all are sent to the subresource ``items``.
MAX_SPEC_ITEMS: Final = 1000

#: Maximum number of characters in the id of an item.
MAX_ID_LENGTH: Final = 200

ItemKind = Literal["Job", "Evaluation"]

_MAX_SECONDS: Final = 366 * 86_400


class BatchState(StrEnum):
    """State of a batch."""

    OPEN = "open"  #: The batch accepts more items. Those that it has accepted run already.
    RUNNING = "running"
    SUCCESS = "success"
    ERROR = "error"  #: All items have ended, and an item failed or the deadline has passed.
    CANCELLED = "cancelled"


class ItemState(StrEnum):
    """State of an item."""

    PENDING = "pending"
    WORKING = "working"
    SUCCESS = "success"
    ERROR = "error"
    CANCELLED = "cancelled"


class BatchItem(ApiModel):
    """Item of a batch, as it is submitted."""

    id: str | None = Field(default=None, min_length=1, max_length=MAX_ID_LENGTH, description="The idempotency key within the batch")
    kind: ItemKind = Field(default="Job", description="The kind of the item")
    spec: dict[str, Any] = Field(description="The spec of the Job or Evaluation")


class RetryPolicy(ApiModel):
    """Repetition of items that fail."""

    attempts: int = Field(default=1, ge=1, le=20, description="The maximum number of attempts for an item")
    backoff: float = Field(
        default=1.0, ge=0, le=86_400, description="The seconds before the second attempt; each further delay is twice as long"
    )


class WebhookTarget(ApiModel):
    """Address of a notification."""

    url: str = Field(min_length=1, max_length=2000, description="The URL that receives the notification by POST")
    encrypted_secret: str | None = Field(
        default=None, description="The secret of the signatures, encrypted: base64. The server sets it and does not return it"
    )


class Notify(ApiModel):
    """Receivers of the notification that a batch has ended, a CloudEvent 1.0 in structured mode."""

    queue: str | None = Field(
        default=None,
        min_length=1,
        max_length=255,
        description="The name of an existing RabbitMQ queue. It begins with notify.{namespace}., such as notify.default.reports",
    )
    webhook: WebhookTarget | None = Field(default=None, description="The receiver of a signed HTTP request")


class BatchSpec(ApiModel):
    """Order and limits of a batch, and items if they are few. Items cannot be changed."""

    priority: int = Field(
        default=3, ge=1, le=5, description="The priority within the organization, from 1 (least urgent) to 5 (most urgent)"
    )
    fairness_key: str | None = Field(
        default=None,
        max_length=200,
        description="Batches with different keys share the workers of the organization; by default, each batch has a key of its own",
    )
    weight: float = Field(default=1.0, gt=0, le=1000, description="The share of the fairness key, in proportion to other weights")
    parallelism: int | None = Field(default=None, ge=1, le=1000, description="How many items run concurrently at most")
    not_before: str | None = Field(default=None, description="When the first item may run (RFC 3339)")
    deadline: str | None = Field(default=None, description="When items that have not ended are cancelled (RFC 3339)")
    retry: RetryPolicy | None = Field(default=None, description="The repetition of items that fail")
    on_failure: Literal["continue", "stop"] = Field(
        default="continue", description="stop: after an item has failed, cancel the items that have not begun"
    )
    notify: Notify | None = Field(default=None, description="Who is notified when the batch has ended")
    keep: int = Field(
        default=604_800, ge=0, le=_MAX_SECONDS, description="The seconds after its end until the batch is deleted with its results"
    )
    items: list[BatchItem] | None = Field(
        default=None, min_length=1, max_length=MAX_SPEC_ITEMS, description="All items of the batch, which then accepts no further ones"
    )


class BatchSecure(ApiModel):
    """Secrets of a batch."""

    webhook_secret: SecureValue | None = Field(
        default=None, description="The secret of the webhook's signatures (Standard Webhooks): whsec_ and 24 to 64 bytes in base64"
    )


class ItemCounts(ApiModel):
    """Number of items, in total and in each state."""

    total: int = Field(default=0, description="The number of accepted items")
    pending: int = Field(default=0, description="The items that wait")
    working: int = Field(default=0, description="The items that run")
    success: int = Field(default=0, description="The items that succeeded")
    error: int = Field(default=0, description="The items that failed")
    cancelled: int = Field(default=0, description="The items that were cancelled")


class BatchStatus(ApiModel):
    """State of a batch, written at most twice a second."""

    state: Annotated[BatchState, Field(strict=False)] = Field(default=BatchState.OPEN, description="The state of the batch")
    counts: ItemCounts = Field(default_factory=ItemCounts, description="The number of items by state")
    progress: float = Field(default=0.0, description="The share of items that ended, in percent")
    rate: float = Field(default=0.0, description="How many items ended per second in the last seconds; 0 after the end")
    estimated_end: int | None = Field(default=None, description="When the batch ends if the rate does not change")
    errors: list[str] = Field(default_factory=list, description="The errors of the first items that failed")
    message: str | None = Field(default=None, description="Why the batch was stopped")
    started: int | None = Field(default=None, description="When the first item was submitted to the workers")
    finished: int | None = Field(default=None, description="When the last item ended")
    notified: int | None = Field(default=None, description="When all receivers had accepted the notification of the end")
    notify_error: str | None = Field(default=None, description="Why the notification was not accepted by a receiver at the last attempt")


class ItemVerdict(ApiModel):
    """Verdict on a submitted item."""

    index: int = Field(description="The position in the batch; of a refused item, the position in the request")
    id: str = Field(default="", description="The idempotency key; empty if a refused item has no valid one")
    status: Literal["accepted", "duplicate", "refused"] = Field(description="duplicate: the batch has the item already")
    message: str | None = Field(default=None, description="Why the item is refused")


class BatchSubmission(TypeMeta):
    """Reply to a message with items of a batch."""

    batch: str = Field(description="The name of the batch")
    items: list[ItemVerdict] = Field(description="The verdicts on the items, in their order")


class BatchItemView(ApiModel):
    """Item of a batch, as it is listed."""

    index: int = Field(description="The position in the batch")
    id: str = Field(description="The idempotency key")
    kind: ItemKind = Field(description="The kind of the item")
    state: Annotated[ItemState, Field(strict=False)] = Field(description="The state of the item")
    attempts: int = Field(description="How many jobs were submitted for the item")
    job: str | None = Field(default=None, description="The name of the last job, while it exists")
    error: str | None = Field(default=None, description="Why the item failed or was cancelled")


class BatchItemList(TypeMeta):
    """Page of the items of a batch."""

    items: list[BatchItemView] = Field(description="The items, in their order")
    continue_: int | None = Field(default=None, alias="continue", description="The index with which the next page begins")


class BatchItemResult(ApiModel):
    """Result of an item, one line of the results of a batch."""

    index: int = Field(description="The position in the batch")
    id: str = Field(description="The idempotency key")
    state: Annotated[ItemState, Field(strict=False)] = Field(description="The state of the item")
    error: str | None = Field(default=None, description="Why the item failed or was cancelled, or why its result is missing")
    result: dict[str, Any] | None = Field(
        default=None, description="The JobStatus of a job, or the response of the subresource `result` of an evaluation"
    )


class BatchRetry(TypeMeta):
    """Result of a retry."""

    retried: int = Field(description="How many items are pending again")
