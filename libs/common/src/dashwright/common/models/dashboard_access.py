"""Rights of a caller on a dashboard: the response of ``/dto``."""

from typing import Any

from pydantic import Field

from dashwright.common.models.dashboard import DashboardStatus
from dashwright.common.models.meta import ObjectMeta, TypeMeta
from dashwright.common.models.shape import Shape


class AnnotationActions(Shape):
    """Rights on annotations."""

    can_add: bool = Field(default=False, description="Whether the caller may add annotations")
    can_edit: bool = Field(default=False, description="Whether the caller may change annotations")
    can_delete: bool = Field(default=False, description="Whether the caller may remove annotations")


class AnnotationPermission(Shape):
    """Rights on the annotations of the dashboard, and on those of the organization."""

    dashboard: AnnotationActions = Field(description="On the annotations of the dashboard")
    organization: AnnotationActions = Field(description="On the annotations of the organization")


class DashboardAccess(Shape):
    """Rights of the caller on a dashboard."""

    slug: str | None = Field(default=None, description="The title as part of the address")
    url: str | None = Field(default=None, description="The address of the dashboard's page")
    is_public: bool = Field(default=False, description="Whether people without an account may see it, which this product does not offer")
    can_save: bool = Field(default=False, description="Whether the caller may save it")
    can_edit: bool = Field(default=False, description="Whether the caller may change it")
    can_admin: bool = Field(default=False, description="Whether the caller may change who may do what with it")
    can_star: bool = Field(default=False, description="Whether the caller may star it")
    can_delete: bool = Field(default=False, description="Whether the caller may remove it")
    annotations_permissions: AnnotationPermission = Field(description="What the caller may do with annotations")


class DashboardWithAccessInfo(TypeMeta):
    """Dashboard with the rights of the caller."""

    metadata: ObjectMeta = Field(description="What there is to know about any object")
    spec: dict[str, Any] = Field(description="The body of the dashboard", json_schema_extra={"additionalProperties": True})
    status: DashboardStatus | None = Field(default=None, description="What the server has found")
    access: DashboardAccess = Field(description="What the caller may do with the dashboard")
