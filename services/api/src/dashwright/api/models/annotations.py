"""Annotations as the classic API shows them."""

from typing import Any

from pydantic import Field

from dashwright.common.models.shape import Shape


class AnnotationHead(Shape):
    """Everything but ``data``. Times are Unix milliseconds.

    ``dashboard_id`` 0: of the organization. ``panel_id`` 0: of no panel. ``user_id`` 0: whoever made it is not known. Those of alert
    rules, which are not served here, have what is about alerts.
    """

    id: int
    alert_id: int = 0
    alert_name: str = ""
    dashboard_id: int
    dashboard_uid: str = Field(alias="dashboardUID")
    panel_id: int
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
    """``data`` is what its maker put beside the text."""

    data: dict[str, Any] = Field(json_schema_extra={"additionalProperties": True})


class AnnotationAdded(Shape):
    id: int
    message: str


class AnnotationTag(Shape):
    tag: str
    count: int


class AnnotationTags(Shape):
    tags: list[AnnotationTag]


class AnnotationTagsAnswer(Shape):
    result: AnnotationTags
