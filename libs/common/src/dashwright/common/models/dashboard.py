"""Dashboards: ``dashboard.grafana.app``.

The spec is any JSON object. The status describes the conversion to the requested version.
"""

from typing import Any

from pydantic import Field

from dashwright.common.models.api_model import ApiModel


class ConversionStatus(ApiModel):
    """Result of showing a dashboard in another version than the stored one."""

    failed: bool | None = Field(default=None, description="Whether the dashboard could not be converted to the requested version")
    #: Version that shows the dashboard completely.
    stored_version: str | None = Field(default=None, description="The version that shows the complete dashboard")
    error: str | None = Field(default=None, description="Why the dashboard could not be converted")
    source: dict[str, Any] | None = Field(default=None, description="The stored spec, if it could not be converted")
    preserved: list[str] | None = Field(
        default=None,
        description="Members of the stored version that the requested version cannot express. The server keeps them",
    )


class DashboardStatus(ApiModel):
    """Status of a dashboard in the requested version; empty if that is the stored one.

    ``conversion`` describes the conversion from another version.
    """

    conversion: ConversionStatus | None = Field(default=None, description="The result of converting the dashboard to the requested version")
