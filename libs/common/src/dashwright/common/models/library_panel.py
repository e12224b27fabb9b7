"""Library panels: ``dashboard.grafana.app``. The stored body is the panel's JSON as it was sent; the spec shows what all panels have."""

from typing import Any

from pydantic import ConfigDict, Field

from dashwright.common.models.shape import Shape


class DataSourceRef(Shape):
    """The data source of a panel or query."""

    model_config = ConfigDict(extra="allow")

    type: str | None = None
    uid: str | None = None
    api_version: str | None = None


class LibraryPanelSpec(Shape):
    """``options`` and ``fieldConfig`` have the shape that the type of the panel gives them."""

    type: str = ""
    options: dict[str, Any] = Field(json_schema_extra={"additionalProperties": True})
    field_config: dict[str, Any] = Field(json_schema_extra={"additionalProperties": True})
    plugin_version: str | None = None
    title: str | None = None
    description: str | None = None
    datasource: DataSourceRef | None = None
    targets: list[dict[str, Any]] | None = None


class LibraryPanelStatus(Shape):
    """``warnings``: where what the store knows differs from the body. ``missing``: members of the body that the spec has no place for."""

    warnings: list[str] | None = None
    missing: dict[str, Any] | None = None
