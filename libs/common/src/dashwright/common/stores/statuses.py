"""Changes to the status of a stored object, read and written under one lock."""

from collections.abc import Callable
from typing import TypeVar

from dashwright.common.database.pool import Connection
from dashwright.common.kinds.kind import Kind
from dashwright.common.models.shape import Shape
from dashwright.common.stores import resources
from dashwright.common.stores.resources import StoredObject

Status = TypeVar("Status", bound=Shape)


async def change(
    connection: Connection, kind: Kind, namespace: str, name: str, model: type[Status], alter: Callable[[Status, StoredObject], None]
) -> Status:
    """Let ``alter`` change the status in place, given the stored object, and write the status if it differs.

    Raises NotFound if the object does not exist.
    """
    await resources.lock(connection)
    stored = await resources.get(connection, kind, namespace, name)
    status = model.model_validate_json(stored.status or "{}")
    before = status.to_json()
    alter(status, stored)
    after = status.to_json()
    if after != before:
        await resources.write_status(connection, kind, namespace, name, after)
    return status
