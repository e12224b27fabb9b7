"""The versions of a dashboard: the answer of ``/versions``."""

from typing import Any

from pydantic import Field

from dashwright.common.models.provisioning import Integer32, Integer64
from dashwright.common.models.shape import Shape


class DashboardVersionInfo(Shape):
    """``version`` is the generation that it was, ``created`` Unix milliseconds."""

    version: Integer32 = 0
    parent_version: Integer32 | None = None
    created: Integer64 = 0
    created_by: str | None = None
    message: str | None = None


class DashboardVersionList(Shape):
    """The newest first."""

    kind: str
    api_version: str
    metadata: dict[str, Any] = Field(json_schema_extra={"additionalProperties": True})
    items: list[DashboardVersionInfo]


class VersionsQueryOptions(Shape):
    """``path`` is that of the URL below the name, ``version`` the one asked for."""

    kind: str | None = None
    api_version: str | None = None
    path: str | None = None
    version: Integer64 | None = None
