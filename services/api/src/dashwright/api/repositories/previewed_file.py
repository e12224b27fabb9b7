"""A file of a repository at a branch or commit, as a preview reads it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dashwright.common.json_shapes import member_at, object_at, string_of
from dashwright.common.kinds.annotations import MANAGER_ID, SOURCE_PATH
from dashwright.common.kinds.registry import DASHBOARD
from dashwright.common.models.repository_views import ResourceAction


@dataclass(frozen=True, slots=True)
class PreviewedFile:
    """A file and its dashboard, from a FileResponse, with the size of that response in bytes."""

    repository: str
    path: str
    ref: str
    response: Mapping[str, Any]
    size: int

    @property
    def wrapper(self) -> Mapping[str, Any]:
        """The ResourceWrapper of the file."""
        return object_at(self.response, "wrapper")

    @property
    def spec(self) -> dict[str, Any]:
        """The spec of the dashboard as a sync would store it, else the spec in the file. Empty if the file has no dashboard."""
        return object_at(object_at(self._objects, "dryRun") or object_at(self._objects, "file"), "spec")

    @property
    def stored_spec(self) -> dict[str, Any]:
        """The spec of the stored dashboard; empty for a new one."""
        return object_at(object_at(self._objects, "existing"), "spec")

    @property
    def stored_name(self) -> str:
        """The name of the stored dashboard; empty for a new one."""
        return string_of(member_at(self._objects, "existing", "metadata", "name"))

    @property
    def title(self) -> str:
        """The title of the dashboard, else of the stored one, else the path."""
        return str(self.spec.get("title") or self.stored_spec.get("title") or self.path)

    @property
    def commit(self) -> str:
        """The commit at which the file was read, else the given ref."""
        return string_of(self.wrapper.get("ref")) or self.ref

    @property
    def moved_from(self) -> str:
        """The path of the file from which the dashboard is stored; empty if it is this file."""
        annotations = object_at(object_at(object_at(self._objects, "existing"), "metadata"), "annotations")
        path = string_of(annotations.get(SOURCE_PATH))
        return path if self.spec and path != self.path and annotations.get(MANAGER_ID) == self.repository else ""

    @property
    def moved_to(self) -> str:
        """The path of the file that replaces this missing one as source of its dashboard; empty if the dashboard would be deleted."""
        return string_of(self.response.get("movedTo"))

    @property
    def is_removed(self) -> bool:
        """True if the file is missing and its dashboard would be deleted."""
        return self._objects.get("action") == ResourceAction.DELETE

    @property
    def _objects(self) -> dict[str, Any]:
        """The objects of the file; empty for a file of another kind."""
        objects = object_at(self.wrapper, "resource")
        return objects if member_at(objects, "type", "resource") == DASHBOARD.plural else {}
