"""Dashboards: ``dashboard.grafana.app``. The spec is open; the status says how it was converted for reading."""

from pydantic import Field

from dashwright.common.models.shape import Shape


class ConversionStatus(Shape):
    """Result of showing a dashboard in another version than the stored one."""

    failed: bool | None = Field(default=None, description="Whether the dashboard could not be converted to the version that was asked for")
    #: Version that shows the dashboard completely.
    stored_version: str | None = Field(default=None, description="The version that shows the dashboard whole")
    error: str | None = Field(default=None, description="Why it could not be converted")


class DashboardStatus(Shape):
    """Status of a dashboard in the requested version; empty if that is the stored one.

    ``conversion`` describes the conversion from another version.
    """

    conversion: ConversionStatus | None = Field(default=None, description="How reading the dashboard in this version went")
