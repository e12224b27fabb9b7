"""Library panels: ``dashboard.grafana.app``. The stored body is the panel's JSON as it was sent; the spec shows what all panels have."""

from typing import Any

from pydantic import ConfigDict, Field

from dashwright.common.models.shape import Shape


class DataSourceRef(Shape):
    """The data source of a panel or query."""

    model_config = ConfigDict(extra="allow")

    type: str | None = Field(default=None, description="The type of the data source")
    uid: str | None = Field(default=None, description="The uid of the data source")
    api_version: str | None = Field(default=None, description="The version of its interface")


class LibraryPanelSpec(Shape):
    """``options`` and ``fieldConfig`` have the shape that the type of the panel gives them."""

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
    datasource: DataSourceRef | None = Field(default=None, description="The data source of queries that name none")
    targets: list[dict[str, Any]] | None = Field(
        default=None, description="The queries of the panel", json_schema_extra={"x-kubernetes-list-type": "set"}
    )


class LibraryPanelStatus(Shape):
    """``warnings``: where what the store knows differs from the body. ``missing``: members of the body that the spec has no place for."""

    warnings: list[str] | None = Field(default=None, description="Where what is stored differs from the body that was sent")
    missing: dict[str, Any] | None = Field(default=None, description="Members of the body that the spec has no place for")
