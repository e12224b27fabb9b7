"""An object as one of the forms shows it: itself, its metadata alone, or a row of a table. JSON text throughout."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import orjson

from dashwright.api.resources.formats.negotiation import Form, Format, IncludeObjectPolicy, is_shown_by_body
from dashwright.common.kinds.kind import Column, Kind
from dashwright.common.stores.jobs import StoredJob
from dashwright.common.stores.resources import Stored

Item: TypeAlias = Stored | StoredJob | bytes
"""An object as the store holds it, or as JSON text already."""


def encode(form: Format, kind: Kind, version: str, item: Item) -> bytes:
    """An object in a form: what stands between the brackets of a list."""
    if form.form is Form.WHOLE:
        return encode_whole(item, version)
    if form.form is Form.METADATA:
        return encode_metadata(form, item)
    return _row(form, kind, version, item)


def encode_many(form: Format, kind: Kind, version: str, items: Iterable[Item], *, before: str = "") -> bytes:
    """Objects with commas between them, and what stands before the first."""
    pieces: list[str] = []
    for item in items:
        pieces.append(before)
        if form.form is Form.WHOLE and isinstance(item, Stored):
            pieces += item.parts(version)
        else:
            pieces.append(encode(form, kind, version, item).decode())
        before = ","
    return "".join(pieces).encode()


def encode_whole(item: Item, version: str) -> bytes:
    if isinstance(item, bytes):
        return item
    return item.encode() if isinstance(item, StoredJob) else item.encode(version)


def encode_metadata(form: Format, item: Item) -> bytes:
    """A PartialObjectMetadata."""
    head = f'{{"kind":"PartialObjectMetadata","apiVersion":"{form.meta_version}","metadata":'
    return head.encode() + _metadata(item) + b"}"


def version_of(item: Item) -> str:
    """The resource version of an object."""
    if isinstance(item, bytes):
        return str(_member(orjson.loads(item), ("metadata", "resourceVersion")) or "")
    return str(item.resource_version)


def columns(kind: Kind) -> bytes:
    """The definitions of a table's columns."""
    return orjson.dumps(
        [
            {"name": column.name, "type": column.type, "format": column.format, "description": column.description, "priority": 0}
            for column in kind.columns
        ]
    )


def _metadata(item: Item) -> bytes:
    if isinstance(item, bytes):
        return orjson.dumps(orjson.loads(item).get("metadata") or {})
    return item.whole_metadata().encode()


def _row(form: Format, kind: Kind, version: str, item: Item) -> bytes:
    cells = orjson.dumps(_cells(kind, version, item))
    if form.include_object is IncludeObjectPolicy.NONE:
        return b'{"cells":' + cells + b"}"
    shown = encode_whole(item, version) if form.include_object is IncludeObjectPolicy.OBJECT else encode_metadata(form, item)
    return b'{"cells":' + cells + b',"object":' + shown + b"}"


def _cells(kind: Kind, version: str, item: Item) -> list[Any]:
    if isinstance(item, bytes):
        tree = orjson.loads(item)
        return [_member(tree, column.path) for column in kind.columns]
    if is_shown_by_body(kind):
        tree = orjson.loads(encode_whole(item, version))
    else:
        tree = {"metadata": orjson.loads(item.metadata), "status": orjson.loads(item.status or "null")}
    return [_stored_value(column, item) if column.source in _STORED_SOURCES else _member(tree, column.path) for column in kind.columns]


_STORED_SOURCES = frozenset({"name", "title", "subtype"})
"""Sources that the store has as they are; a time of creation is in the metadata."""


def _stored_value(column: Column, item: Stored | StoredJob) -> Any:
    return getattr(item, column.source, None)


def _member(tree: Any, path: tuple[str, ...]) -> Any:
    """What lies at a path of an object; None where nothing does, or no single value."""
    for step in path:
        tree = tree.get(step) if isinstance(tree, dict) else None
    return None if isinstance(tree, dict | list) else tree
