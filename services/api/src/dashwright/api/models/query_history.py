"""Entries of query histories as the classic API returns them."""

from typing import Any

from pydantic import Field

from dashwright.common.models.api_model import ApiModel


class HistoryEntryHead(ApiModel):
    """An entry without its queries."""

    uid: str
    datasource_uid: str
    #: The id of the user.
    created_by: int
    #: Unix seconds.
    created_at: int
    comment: str
    starred: bool


class HistoryEntryShape(HistoryEntryHead):
    """Queries that a user ran together."""

    #: As they were sent.
    queries: list[dict[str, Any]] = Field(json_schema_extra={"items": {"type": "object", "additionalProperties": True}})


class HistoryEntryResponse(ApiModel):
    """One entry."""

    result: HistoryEntryShape


class HistoryEntries(ApiModel):
    """A page of entries."""

    total_count: int
    page: int
    per_page: int
    query_history: list[HistoryEntryShape]


class HistoryPageResponse(ApiModel):
    """A page of entries, in its envelope."""

    result: HistoryEntries


class HistoryEntryDeleted(ApiModel):
    """The response to a deleted entry."""

    id: int
    message: str
