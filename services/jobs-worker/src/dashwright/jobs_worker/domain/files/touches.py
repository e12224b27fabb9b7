"""The touches of a plan: its effects on objects, for checking the caller's rights."""

from collections.abc import Iterator, Mapping

from dashwright.common.jobs import paths
from dashwright.common.models.repository_calls import Touch
from dashwright.jobs_worker.domain.folders import Folders
from dashwright.jobs_worker.domain.objects import Key, Owner
from dashwright.jobs_worker.domain.plan import Plan


def nearest_folder(plan: Plan, folders: Folders, directory: str) -> str | None:
    """Return the stored folder of a directory or of the nearest directory above it; None at the root."""
    while True:
        key = folders.key(directory)
        if key.name and key in plan.existing:
            return key.name
        if not directory:
            return None
        directory = paths.parent(directory)


def touches_of(plan: Plan, folders: Folders, owners: Mapping[Key, Owner]) -> list[Touch]:
    """Return everything that a plan creates, changes and deletes, each once.

    ``owners`` are those of existing objects that the repository does not own.
    """
    found = {touch.to_json(): touch for touch in _touches(plan, folders, owners)}
    return list(found.values())


def touch(verb: str, key: Key, folder: str | None) -> Touch:
    """Return a touch of an object in a folder."""
    return Touch(verb=verb, group=key.group, resource=key.resource, name=key.name, folder=folder or None)


def _touches(plan: Plan, folders: Folders, owners: Mapping[Key, Owner]) -> Iterator[Touch]:
    for directory in plan.directories:
        above = nearest_folder(plan, folders, paths.parent(directory)) if directory else None
        yield from _written(plan, folders.key(directory), above, owners)
    for file in plan.writes:
        yield from _written(plan, file.key, nearest_folder(plan, folders, paths.parent(file.path)), owners)
    for item in plan.removals:
        yield touch("delete", item.key, item.folder)


def _written(plan: Plan, key: Key, folder: str | None, owners: Mapping[Key, Owner]) -> Iterator[Touch]:
    """Yield touches of a written object. A move between folders changes it in the one and creates it in the other."""
    if key not in plan.existing:
        yield touch("create", key, folder)
        return
    stored = plan.ours.get(key)
    before = (stored.folder if stored is not None else owners[key].folder if key in owners else "") or None
    yield touch("update", key, before)
    if before != folder:
        yield touch("create", key, folder)
