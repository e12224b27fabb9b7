"""Library panels as the classic API returns them."""

from typing import Any

from pydantic import Field

from dashwright.common.models.api_model import ApiModel


class ElementAuthor(ApiModel):
    """The user who created or changed a library panel."""

    #: 0: the account is unknown or deleted.
    id: int
    name: str
    avatar_url: str


class ElementMeta(ApiModel):
    """Metadata of a library panel."""

    folder_name: str
    folder_uid: str
    #: The number of dashboards that use the panel.
    connected_dashboards: int
    created: str
    updated: str
    created_by: ElementAuthor
    updated_by: ElementAuthor


class ElementHead(ApiModel):
    """A library panel without its model."""

    id: int
    org_id: int
    folder_id: int
    folder_uid: str
    uid: str
    name: str
    #: 1: a panel.
    kind: int = 1
    type: str
    description: str
    version: int
    meta: ElementMeta


class ElementShape(ElementHead):
    """A library panel."""

    #: The panel as it was saved, with a ``description``.
    model: dict[str, Any] = Field(json_schema_extra={"additionalProperties": True})


class ElementResponse(ApiModel):
    """The response with one library panel."""

    result: ElementShape


class ElementsResponse(ApiModel):
    """The response with the library panels that have a name."""

    result: list[ElementShape]


class ElementPage(ApiModel):
    """A page of library panels."""

    total_count: int
    elements: list[ElementShape]
    page: int
    per_page: int


class ElementPageResponse(ApiModel):
    """The response with a page of library panels."""

    result: ElementPage


class Connection(ApiModel):
    """A dashboard that uses a library panel."""

    id: int
    #: 1: a dashboard.
    kind: int = 1
    element_id: int
    #: The id of the dashboard.
    connection_id: int
    #: The uid of the dashboard.
    connection_uid: str
    created: str
    created_by: ElementAuthor


class ConnectionsResponse(ApiModel):
    """The response with the dashboards that use a library panel."""

    result: list[Connection]


class ElementDeleted(ApiModel):
    """The response to the deletion of a library panel."""

    id: int
    message: str
