"""Folders: ``folder.grafana.app/v0alpha1``. The specification's sync target needs them, so they are served beside dashboards."""

from pydantic import Field

from dashwright.common.models.shape import Shape


class FolderSpec(Shape):
    title: str = Field(min_length=1, description="What people see")
    description: str | None = Field(default=None, description="What the folder is for")
