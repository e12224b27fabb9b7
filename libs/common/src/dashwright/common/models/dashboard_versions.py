"""Versions of a dashboard: the response of ``/versions``."""

from pydantic import Field

from dashwright.common.models.api_model import ApiModel, Integer32, Integer64
from dashwright.common.models.meta import ListEnvelope


class DashboardVersionInfo(ApiModel):
    """Version of a dashboard. ``version`` is its generation, ``created`` is in Unix milliseconds."""

    version: Integer32 = Field(default=0, description="The generation of the dashboard")
    parent_version: Integer32 | None = Field(default=None, description="The version that this version replaced")
    created: Integer64 = Field(default=0, description="When the version was saved, in Unix milliseconds")
    created_by: str | None = Field(default=None, description="The user or program that saved the version")
    message: str | None = Field(default=None, description="The message that was sent with the version")


class DashboardVersionList(ListEnvelope):
    """Versions of a dashboard."""

    items: list[DashboardVersionInfo] = Field(description="The versions, the newest first")


class VersionsQueryOptions(ApiModel):
    """Options of a request for versions."""

    kind: str | None = Field(default=None, description="VersionsQueryOptions")
    api_version: str | None = Field(default=None, description="The group and version of the kind")
    path: str | None = Field(default=None, description="The version, as in the path of the URL after the name")
    version: Integer64 | None = Field(default=None, description="The version to return completely, instead of the list")
