"""Common parts of the classic API: the folder that a body names, and desired objects made from classic bodies."""

import secrets
from typing import Any, Final

import orjson

from dashwright.api.resources.writing.desired_object import DesiredObject
from dashwright.api.stores import titles
from dashwright.common.database.pool import Connection
from dashwright.common.errors import NotFound, PreconditionFailed
from dashwright.common.identity import namespace_of
from dashwright.common.kinds.annotations import FOLDER_KEY, MESSAGE
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import FOLDER
from dashwright.common.stores import resources
from dashwright.common.stores.resources import StoredObject

MANAGER: Final = "classic-api"
"""The field manager of writes through this API."""

VERSION: Final = "v0alpha1"
"""The version in which bodies of this API are stored."""

_ROOT: Final = frozenset({"", "general"})
"""Names of the root folder in bodies."""


class VersionMismatch(PreconditionFailed):
    """The object exists, but not in the version that the caller wants to replace."""


async def find_folder(connection: Connection, org_id: int, uid: str | None, number: int | None) -> str | None:
    """Return the name of the folder that a body gives by uid, or else by number; an empty text is the root.

    Return None if neither is given. Raises NotFound.
    """
    if uid is None and number is None:
        return None
    if uid in _ROOT or (uid is None and number == 0):
        return ""
    name = uid if uid is not None else await titles.name_by_number(connection, FOLDER, org_id, number or 0)
    if name is None or not await resources.get_many(connection, FOLDER, namespace_of(org_id), [name]):
        raise NotFound("folder not found")
    return name


def new_object(
    kind: Kind, name: str, version: str, spec: dict[str, Any], *, folder: str, message: str = "", **members: Any
) -> DesiredObject:
    """Return a new desired object. ``folder`` is empty at the root."""
    return DesiredObject(kind, name, version, spec, annotations=_annotations({}, folder, message), is_body=True, **members)


def replacement(
    stored: StoredObject, version: str, spec: dict[str, Any], *, folder: str, message: str = "", **members: Any
) -> DesiredObject:
    """Return a stored object with another spec and folder. Labels and other metadata that this API does not know are kept."""
    metadata = orjson.loads(stored.metadata)
    return DesiredObject(
        stored.kind,
        stored.name,
        version,
        spec,
        labels=metadata.get("labels") or {},
        annotations=_annotations(metadata.get("annotations") or {}, folder, message),
        finalizers=metadata.get("finalizers") or (),
        owner_references=metadata.get("ownerReferences") or (),
        is_body=True,
        **members,
    )


def new_uid() -> str:
    """Return a random uid."""
    return secrets.token_hex(7)


def _annotations(kept: dict[str, str], folder: str, message: str) -> dict[str, str]:
    given = {FOLDER_KEY: folder, MESSAGE: message}
    return {key: text for key, text in kept.items() if key not in given} | {key: text for key, text in given.items() if text}
