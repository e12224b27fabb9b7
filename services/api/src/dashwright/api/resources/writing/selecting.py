"""Which objects a removal of many is about, and in which order they go."""

from collections.abc import Sequence
from typing import Final

from dashwright.api.domain.access.view import View
from dashwright.api.domain.selectors import Selection
from dashwright.api.stores import lists
from dashwright.common.database.pool import Connection
from dashwright.common.errors import BadRequest
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores import changes
from dashwright.common.stores.changes import StreamName
from dashwright.common.stores.resources import Stored

MOST_AT_ONCE: Final = 10_000
"""Objects that one request may remove."""


async def select(connection: Connection, kind: Kind, namespace: str, selection: Selection, view: View) -> Sequence[Stored]:
    """The selected objects that the caller may see, without their bodies. Raises BadRequest where they are too many for one transaction."""
    if selection.is_empty:
        return []
    found = await lists.page(
        connection,
        kind,
        namespace,
        at=await changes.head(connection, StreamName.OBJECTS),
        after="",
        limit=MOST_AT_ONCE,
        labels=selection.labels,
        name=selection.name,
        other_names=selection.other_names,
        number=selection.number,
        scope=view.scope(kind),
        bodies=False,
    )
    if found.after is not None:
        raise BadRequest(f"more than {MOST_AT_ONCE} {kind.plural} are selected, the most that are removed at once; select fewer of them")
    return found.items


def deepest_first(folders: Sequence[Stored]) -> Sequence[Stored]:
    """Folders in an order in which each comes after those inside it."""
    parents = {folder.name: folder.folder for folder in folders}

    def depth(name: str | None) -> int:
        way: set[str] = set()
        while name is not None and name in parents and name not in way:
            way.add(name)
            name = parents[name]
        return len(way)

    return sorted(folders, key=lambda folder: depth(folder.name), reverse=True)
