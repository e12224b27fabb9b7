"""Updates of the status of a stored object, which is read and written under one lock."""

from collections.abc import Callable
from typing import TypeVar

from dashwright.common.database.pool import Connection
from dashwright.common.kinds.kind import Kind
from dashwright.common.models.api_model import ApiModel
from dashwright.common.stores import resources
from dashwright.common.stores.resources import StoredObject

Status = TypeVar("Status", bound=ApiModel)


async def update(
    connection: Connection, kind: Kind, namespace: str, name: str, model: type[Status], change: Callable[[Status, StoredObject], None]
) -> Status:
    """Call ``change`` with the status, to modify in place, and the stored object. Write and return the modified status.

    Raises NotFound if the object does not exist.
    """
    await resources.lock(connection, namespace)
    stored_object = await resources.get(connection, kind, namespace, name)
    status = model.model_validate_json(stored_object.status or "{}")
    before = status.to_json()
    change(status, stored_object)
    after = status.to_json()
    if after != before:
        await resources.write_status(connection, kind, namespace, name, after)
    return status
