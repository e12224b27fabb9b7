"""Annotations as the classic API returns them."""

from typing import Any

from pydantic import Field

from dashwright.common.models.api_model import ApiModel


class AnnotationHead(ApiModel):
    """An annotation without its ``data``. Times are Unix milliseconds.

    The members about alerts are always empty, because there are no alert rules.
    """

    id: int
    alert_id: int = 0
    alert_name: str = ""
    #: 0: the annotation belongs to the organization.
    dashboard_id: int
    dashboard_uid: str = Field(alias="dashboardUID")
    #: 0: the annotation belongs to no panel.
    panel_id: int
    #: 0: the creator is unknown.
    user_id: int
    new_state: str = ""
    prev_state: str = ""
    created: int
    updated: int
    time: int
    time_end: int
    text: str
    tags: list[str]
    login: str
    email: str
    avatar_url: str


class AnnotationShape(AnnotationHead):
    """An annotation."""

    #: Arbitrary JSON that the creator stored with the text.
    data: dict[str, Any] = Field(json_schema_extra={"additionalProperties": True})


class AnnotationAdded(ApiModel):
    """The response to the creation of an annotation."""

    id: int
    message: str


class AnnotationTag(ApiModel):
    """A tag and the number of annotations that have it."""

    tag: str
    count: int


class AnnotationTags(ApiModel):
    """The tags of annotations."""

    tags: list[AnnotationTag]


class AnnotationTagsResponse(ApiModel):
    """The response with the tags of annotations."""

    result: AnnotationTags
