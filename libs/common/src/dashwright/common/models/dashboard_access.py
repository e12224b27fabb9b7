"""Rights of a caller on a dashboard: the response of ``/dto``."""

from typing import Any

from pydantic import Field

from dashwright.common.models.api_model import ApiModel
from dashwright.common.models.dashboard import DashboardStatus
from dashwright.common.models.meta import ObjectMeta, TypeMeta


class AnnotationActions(ApiModel):
    """Rights on annotations."""

    can_add: bool = Field(default=False, description="Whether the caller may add annotations")
    can_edit: bool = Field(default=False, description="Whether the caller may change annotations")
    can_delete: bool = Field(default=False, description="Whether the caller may delete annotations")


class AnnotationPermission(ApiModel):
    """Rights on the annotations of the dashboard, and on those of the organization."""

    dashboard: AnnotationActions = Field(description="Rights on the annotations of the dashboard")
    organization: AnnotationActions = Field(description="Rights on the annotations of the organization")


class DashboardAccess(ApiModel):
    """Rights of the caller on a dashboard."""

    slug: str | None = Field(default=None, description="The title in the form that the address of the page contains")
    url: str | None = Field(default=None, description="The address of the dashboard's page")
    is_public: bool = Field(default=False, description="Whether users without an account may see the dashboard; always false")
    can_save: bool = Field(default=False, description="Whether the caller may save the dashboard")
    can_edit: bool = Field(default=False, description="Whether the caller may change the dashboard")
    can_admin: bool = Field(default=False, description="Whether the caller may change the access rules of the dashboard")
    can_star: bool = Field(default=False, description="Whether the caller may star the dashboard")
    can_delete: bool = Field(default=False, description="Whether the caller may delete the dashboard")
    annotations_permissions: AnnotationPermission = Field(description="Rights of the caller on annotations")


class DashboardWithAccessInfo(TypeMeta):
    """Dashboard with the rights of the caller."""

    metadata: ObjectMeta = Field(description="Metadata of the object")
    spec: dict[str, Any] = Field(description="The body of the dashboard", json_schema_extra={"additionalProperties": True})
    status: DashboardStatus | None = Field(default=None, description="Status of the dashboard, which the server sets")
    access: DashboardAccess = Field(description="Rights of the caller on the dashboard")
