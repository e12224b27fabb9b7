"""The touches of a plan: each is an object that the plan creates, updates or deletes. The gateway checks the caller's rights on each."""

from collections.abc import Iterator, Mapping

from dashwright.common.jobs import paths
from dashwright.common.models.repository_calls import Touch
from dashwright.jobs_worker.domain.folders import Folders
from dashwright.jobs_worker.domain.objects import Key, Manager
from dashwright.jobs_worker.domain.plan import Plan


def nearest_folder(plan: Plan, folders: Folders, directory: str) -> str | None:
    """Return the name of the stored folder of a directory, or of the nearest directory above it that has one; None at the root."""
    while True:
        key = folders.key(directory)
        if key.name and key in plan.existing:
            return key.name
        if not directory:
            return None
        directory = paths.parent(directory)


def touches_of(plan: Plan, folders: Folders, managers: Mapping[Key, Manager]) -> list[Touch]:
    """Return the touches of all objects that a plan creates, changes or deletes, without duplicates.

    ``managers`` are the managers of existing objects that the repository does not manage.
    """
    touches_by_json = {touch.to_json(): touch for touch in _touches(plan, folders, managers)}
    return list(touches_by_json.values())


def touch(verb: str, key: Key, folder: str | None) -> Touch:
    """Return a touch of an object in a folder."""
    return Touch(verb=verb, group=key.group, resource=key.resource, name=key.name, folder=folder or None)


def _touches(plan: Plan, folders: Folders, managers: Mapping[Key, Manager]) -> Iterator[Touch]:
    for directory in plan.directories:
        parent_folder = nearest_folder(plan, folders, paths.parent(directory)) if directory else None
        yield from _write_touches(plan, folders.key(directory), parent_folder, managers)
    for file in plan.writes:
        yield from _write_touches(plan, file.key, nearest_folder(plan, folders, paths.parent(file.path)), managers)
    for item in plan.removals:
        yield touch("delete", item.key, item.folder)


def _write_touches(plan: Plan, key: Key, folder: str | None, managers: Mapping[Key, Manager]) -> Iterator[Touch]:
    """Yield the touches of a written object. A move to another folder is an update in the old folder and a creation in the new one."""
    if key not in plan.existing:
        yield touch("create", key, folder)
        return
    stored_object = plan.managed.get(key)
    manager = managers.get(key, Manager())
    previous_folder = (manager.folder if stored_object is None else stored_object.folder) or None
    yield touch("update", key, previous_folder)
    if previous_folder != folder:
        yield touch("create", key, folder)
