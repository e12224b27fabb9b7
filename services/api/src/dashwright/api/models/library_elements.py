"""Library panels as the classic API shows them."""

from typing import Any

from pydantic import Field

from dashwright.common.models.shape import Shape


class ElementMaker(Shape):
    """``id`` 0: whoever is not known here any more."""

    id: int
    name: str
    avatar_url: str


class ElementMeta(Shape):
    """``connected_dashboards`` is how many dashboards show it."""

    folder_name: str
    folder_uid: str
    connected_dashboards: int
    created: str
    updated: str
    created_by: ElementMaker
    updated_by: ElementMaker


class ElementHead(Shape):
    """Everything but the panel itself. ``kind`` is 1: a panel."""

    id: int
    org_id: int
    folder_id: int
    folder_uid: str
    uid: str
    name: str
    kind: int = 1
    type: str
    description: str
    version: int
    meta: ElementMeta


class ElementShape(ElementHead):
    """``model`` is the panel as it was saved, with a ``description``."""

    model: dict[str, Any] = Field(json_schema_extra={"additionalProperties": True})


class ElementAnswer(Shape):
    result: ElementShape


class ElementsAnswer(Shape):
    result: list[ElementShape]


class ElementPage(Shape):
    total_count: int
    elements: list[ElementShape]
    page: int
    per_page: int


class ElementPageAnswer(Shape):
    result: ElementPage


class Connection(Shape):
    """A dashboard that shows a library panel: ``connection_id`` and ``connection_uid`` are the dashboard's."""

    id: int
    kind: int = 1
    element_id: int
    connection_id: int
    connection_uid: str
    created: str
    created_by: ElementMaker


class ConnectionsAnswer(Shape):
    result: list[Connection]


class ElementDeleted(Shape):
    id: int
    message: str
