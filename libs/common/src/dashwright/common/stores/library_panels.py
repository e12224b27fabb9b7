"""Stored library panels to which a dashboard refers: ``{"libraryPanel": {"uid": …, "name": …}}``."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from dashwright.common.database.pool import Connection
from dashwright.common.json_documents import read_json
from dashwright.common.json_shapes import string_of
from dashwright.common.kinds.registry import LIBRARY_PANEL
from dashwright.common.stores import resources
from dashwright.common.stores.resources import StoredObject

_REFERENCE: Final = "libraryPanel"
#: Maximum depth in the JSON of a dashboard at which references are looked for.
_MAX_DEPTH: Final = 50
#: Maximum number of library panels of one dashboard.
_MAX_PANELS: Final = 200
#: Maximum number of characters of the JSON of all library panels of one dashboard.
_MAX_CHARACTERS: Final = 2_000_000


def may_refer(spec: str) -> bool:
    """Return False if a dashboard refers to no library panel. The JSON of most dashboards then need not be parsed."""
    return f'"{_REFERENCE}"' in spec


def referenced_uids(spec: str) -> Sequence[str]:
    """Return the uids of the library panels to which the JSON of a dashboard refers, at most 200."""
    return list(dict.fromkeys(_references(read_json(spec))))[:_MAX_PANELS]


async def find_models(
    connection: Connection, namespace: str, uids: Sequence[str], may_read: Callable[[StoredObject], bool]
) -> dict[str, Any]:
    """Return the existing library panels that may be read, by uid, up to 2,000,000 characters of JSON."""
    models, size = {}, 0
    for panel in await resources.get_many(connection, LIBRARY_PANEL, namespace, uids):
        size += len(panel.spec)
        if size <= _MAX_CHARACTERS and may_read(panel):
            models[panel.name] = read_json(panel.spec)
    return models


def _references(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the uid of each reference to a library panel in JSON, at any depth up to the limit."""
    if depth > _MAX_DEPTH:
        return
    children: Iterable[Any] = ()
    if isinstance(value, dict):
        reference = value.get(_REFERENCE)
        if isinstance(reference, Mapping) and (uid := string_of(reference.get("uid"))):
            yield uid
        children = value.values()
    elif isinstance(value, list):
        children = value
    for child in children:
        yield from _references(child, depth + 1)
