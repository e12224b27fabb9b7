"""Library panels: ``dashboard.grafana.app``.

The stored body is the JSON of the panel as it was sent; the spec has the members that all panels share.
"""

from typing import Any

from pydantic import ConfigDict, Field

from dashwright.common.models.api_model import ApiModel


class DataSourceRef(ApiModel):
    """Data source of a panel or query."""

    model_config = ConfigDict(extra="allow")

    type: str | None = Field(default=None, description="The type of the data source")
    uid: str | None = Field(default=None, description="The uid of the data source")
    api_version: str | None = Field(default=None, description="The API version of the data source")


class LibraryPanelSpec(ApiModel):
    """Library panel. The type of the panel determines the shape of ``options`` and ``fieldConfig``."""

    type: str = Field(default="", description="The type of the panel")
    options: dict[str, Any] = Field(
        description="Options, as the type of the panel defines them", json_schema_extra={"additionalProperties": True}
    )
    field_config: dict[str, Any] = Field(
        description="How fields are shown, as the type of the panel defines it", json_schema_extra={"additionalProperties": True}
    )
    plugin_version: str | None = Field(default=None, description="The version of the panel's type")
    title: str | None = Field(default=None, description="The title of the panel")
    description: str | None = Field(default=None, description="What the panel shows")
    datasource: DataSourceRef | None = Field(default=None, description="The data source of queries that do not name one")
    targets: list[dict[str, Any]] | None = Field(
        default=None, description="The queries of the panel", json_schema_extra={"x-kubernetes-list-type": "set"}
    )


class LibraryPanelStatus(ApiModel):
    """Differences between body and spec.

    ``warnings`` names members of the body that differ from the stored columns or from the types of the spec. ``missing`` has the
    members of the body that the spec cannot have.
    """

    warnings: list[str] | None = Field(default=None, description="Differences between the stored columns and the body that was sent")
    missing: dict[str, Any] | None = Field(default=None, description="Members of the body that the spec cannot have")
