"""What a caller may do with a dashboard: the answer of ``/dto``."""

from typing import Any

from pydantic import Field

from dashwright.common.models.dashboard import DashboardStatus
from dashwright.common.models.shape import Shape


class AnnotationActions(Shape):
    can_add: bool = False
    can_edit: bool = False
    can_delete: bool = False


class AnnotationPermission(Shape):
    """On the annotations of the dashboard, and on those of the organization."""

    dashboard: AnnotationActions
    organization: AnnotationActions


class DashboardAccess(Shape):
    slug: str | None = None
    url: str | None = None
    #: Whether people without an account may see it, which this product does not offer.
    is_public: bool = False
    can_save: bool = False
    can_edit: bool = False
    can_admin: bool = False
    can_star: bool = False
    can_delete: bool = False
    annotations_permissions: AnnotationPermission


class DashboardWithAccessInfo(Shape):
    """A dashboard, and what the caller may do with it."""

    kind: str
    api_version: str
    metadata: dict[str, Any] = Field(json_schema_extra={"additionalProperties": True})
    spec: dict[str, Any] = Field(json_schema_extra={"additionalProperties": True})
    status: DashboardStatus | None = None
    access: DashboardAccess
