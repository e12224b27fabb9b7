"""Repositories that files of ``PROVISIONING_DIR`` declare: only a change of the file changes them."""

from dataclasses import replace

from dashwright.api.resources import metadata
from dashwright.api.resources.writing.desired_object import DesiredObject, WriteContext
from dashwright.common.errors import Forbidden
from dashwright.common.kinds.annotations import FROM_FILE, MANAGED_BY, SET_BY_MANAGER
from dashwright.common.stores.resources import StoredObject


def permitted_object(desired: DesiredObject, current: StoredObject | None, context: WriteContext) -> DesiredObject:
    """Return the desired repository without the annotations that mark it as declared by a file.

    Raises Forbidden if a file declares the ``current`` repository. Two changes are permitted nevertheless: a patch that releases the
    repository, and the removal of finalizers for which a deleted repository waits.
    """
    if context.applies_file:
        return desired
    if current is not None and metadata.declaring_file_of(current) and not desired.releases_manager:
        if not metadata.is_deleting(current):
            check_undeclared(current, advice=f"change the file, or release the repository: remove its annotation {MANAGED_BY} by a patch")
        return desired
    if desired.annotations.get(MANAGED_BY) != FROM_FILE:
        return desired
    # ``MANAGED_BY`` alone is kept: it permits a file to take over the repository, but names no file that declares it.
    annotations = {key: value for key, value in desired.annotations.items() if key == MANAGED_BY or key not in SET_BY_MANAGER}
    return replace(desired, annotations=annotations)


def check_undeclared(stored_object: StoredObject, *, advice: str) -> None:
    """Raise Forbidden for a repository that a file declares. ``advice`` ends the message with an alternative."""
    if file := metadata.declaring_file_of(stored_object):
        subject = f'{stored_object.kind.singular} "{stored_object.name}"'
        raise Forbidden(f'{subject} is declared in the file "{file}" of DASHWRIGHT_PROVISIONING_DIR; {advice}')
