"""Versions of a dashboard: the response of ``/versions``."""

from pydantic import Field

from dashwright.common.models.meta import ListEnvelope
from dashwright.common.models.provisioning import Integer32, Integer64
from dashwright.common.models.shape import Shape


class DashboardVersionInfo(Shape):
    """Version of a dashboard. ``version`` is its generation, ``created`` is in Unix milliseconds."""

    version: Integer32 = Field(default=0, description="The generation that it was")
    parent_version: Integer32 | None = Field(default=None, description="The version that it was made from")
    created: Integer64 = Field(default=0, description="When it was saved, in Unix milliseconds")
    created_by: str | None = Field(default=None, description="Who saved it")
    message: str | None = Field(default=None, description="What was said when it was saved")


class DashboardVersionList(ListEnvelope):
    """Versions of a dashboard."""

    items: list[DashboardVersionInfo] = Field(description="The versions, the newest first")


class VersionsQueryOptions(Shape):
    """Options of a request for versions."""

    kind: str | None = Field(default=None, description="VersionsQueryOptions")
    api_version: str | None = Field(default=None, description="The group and version of the kind")
    path: str | None = Field(default=None, description="The version, as the path of the URL below the name has it")
    version: Integer64 | None = Field(default=None, description="The version to return whole, instead of the list")
