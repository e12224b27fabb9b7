"""Encoding of objects in responses: one object, a list in chunks, a table, or only the metadata."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import orjson

from dashwright.api.http.call import THREAD_MIN_BYTES
from dashwright.api.http.response import Response
from dashwright.api.resources.formats.negotiation import Format, IncludeObjectPolicy, Representation, columns_need_body
from dashwright.api.stores.dead_letters import StoredDeadLetter
from dashwright.api.stores.records import StoredRecord
from dashwright.common.json_documents import read_json
from dashwright.common.json_shapes import member_at
from dashwright.common.kinds.kind import Column, Kind
from dashwright.common.stores.job_records import StoredJob
from dashwright.common.stores.resources import StoredObject
from dashwright.common.yaml import write_yaml

StoredItem: TypeAlias = StoredObject | StoredJob | StoredDeadLetter | StoredRecord
"""An object as its store returns it."""

Item: TypeAlias = StoredItem | bytes
"""An object as the store returns it, or as encoded JSON."""

_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})


def object_response(
    response_format: Format, kind: Kind, version: str, item: Item, status: int = 200, headers: Mapping[str, str] = _NO_HEADERS
) -> Response:
    """Return the response with one object. A table has one row."""
    if response_format.representation is Representation.TABLE:
        body = encode_table(response_format, kind, version, {"resourceVersion": resource_version_of(item)}, [item])
    else:
        body = encode(response_format, kind, version, item)
    response = Response(status, body, response_format.content_type, {**response_format.headers, **headers}, may_compress=True)
    if not response_format.is_yaml:
        return response
    if len(body) < THREAD_MIN_BYTES:
        return response._replace(body=_to_yaml(body))
    # Memory holds the JSON and its YAML, which is about equally long.
    return response._replace(body=_to_yaml_in_thread(body), buffered_bytes=2 * len(body))


def encode_table(
    response_format: Format, kind: Kind, version: str, metadata: Mapping[str, Any], items: Iterable[Item], *, with_columns: bool = True
) -> bytes:
    """Return the JSON of a table. Without ``with_columns`` its column definitions are null, as in the later events of a watch."""
    rows = b",".join(encode(response_format, kind, version, item) for item in items)
    return _table_head(response_format, kind, metadata, with_columns=with_columns) + rows + b"]}"


class ListEncoder:
    """The encoder of one list: its head, any number of chunks, and its tail."""

    def __init__(self, response_format: Format, kind: Kind, version: str) -> None:
        self._response_format = response_format
        self._kind = kind
        self._version = version
        #: No item was encoded yet.
        self._is_empty = True

    def head(self, metadata: Mapping[str, Any]) -> bytes:
        """Return the start of the list. ``metadata`` is the ListMeta: ``resourceVersion``, and ``continue`` unless it is the last page."""
        head = self._head(metadata)
        if not self._response_format.is_yaml:
            return head
        # The YAML of an empty list ends with "items: []". Items follow after "items:", so " []" is left to the tail of an empty list.
        return _to_yaml(head + b"]}").removesuffix(b" []\n")

    def items(self, items: Sequence[Item]) -> bytes:
        """Return the next objects, encoded. Call this in a thread for long YAML, whose encoding is slow."""
        if not items:
            return b""
        was_empty, self._is_empty = self._is_empty, False
        if self._response_format.is_yaml:
            encoded_items = [_yaml_item(encode(self._response_format, self._kind, self._version, item)) for item in items]
            return b"".join([b"\n" if was_empty else b"", *encoded_items])
        return encode_many(self._response_format, self._kind, self._version, items, separator="" if was_empty else ",")

    def tail(self) -> bytes:
        """Return the end of the list."""
        if self._response_format.is_yaml:
            return b" []\n" if self._is_empty else b""
        return b"]}"

    def _head(self, metadata: Mapping[str, Any]) -> bytes:
        """Return the JSON of the list up to its first item."""
        if self._response_format.representation is Representation.TABLE:
            return _table_head(self._response_format, self._kind, metadata)
        if self._response_format.representation is Representation.METADATA:
            kind, api_version = "PartialObjectMetadataList", self._response_format.meta_api_version
        else:
            kind, api_version = f"{self._kind.kind}List", self._kind.api_version(self._version)
        return f'{{"kind":"{kind}","apiVersion":"{api_version}","metadata":'.encode() + orjson.dumps(dict(metadata)) + b',"items":['


def _table_head(response_format: Format, kind: Kind, metadata: Mapping[str, Any], *, with_columns: bool = True) -> bytes:
    """Return the JSON of a table up to its first row."""
    head = f'{{"kind":"Table","apiVersion":"{response_format.meta_api_version}","metadata":'.encode() + orjson.dumps(dict(metadata))
    return head + b',"columnDefinitions":' + (encode_columns(kind) if with_columns else b"null") + b',"rows":['


def _to_yaml(json_body: bytes) -> bytes:
    return write_yaml(read_json(json_body.decode())).encode()


async def _to_yaml_in_thread(json_body: bytes) -> AsyncIterator[bytes]:
    """Yield the YAML of a body as one chunk. It is converted in a thread when the response is sent."""
    yield await asyncio.to_thread(_to_yaml, json_body)


def _yaml_item(item_json: bytes) -> bytes:
    """Return one item of a list in YAML. Strings in the YAML never span lines, so the indentation changes no string."""
    return b"- " + _to_yaml(item_json).rstrip(b"\n").replace(b"\n", b"\n  ") + b"\n"


def encode(response_format: Format, kind: Kind, version: str, item: Item) -> bytes:
    """Return the JSON of an object, its metadata or its table row, depending on the format."""
    if response_format.representation is Representation.OBJECT:
        return encode_object(item, version)
    if response_format.representation is Representation.METADATA:
        return encode_metadata(response_format, item)
    return _encode_row(response_format, kind, version, item)


def encode_many(response_format: Format, kind: Kind, version: str, items: Iterable[Item], *, separator: str = "") -> bytes:
    """Return the JSON of objects with commas between them, and ``separator`` before the first object."""
    fragments: list[str] = []
    for item in items:
        fragments.append(separator)
        if response_format.representation is Representation.OBJECT and isinstance(item, StoredObject):
            # Not ``encode``, which would copy the spec once more.
            fragments += item.parts(version)
        else:
            fragments.append(encode(response_format, kind, version, item).decode())
        separator = ","
    return "".join(fragments).encode()


def encode_object(item: Item, version: str) -> bytes:
    """Return the JSON of a complete object in an API version. Encoded JSON is returned unchanged."""
    if isinstance(item, bytes):
        return item
    return item.encode(version) if isinstance(item, StoredObject | StoredJob) else item.encode()


def encode_metadata(response_format: Format, item: Item) -> bytes:
    """Return the JSON of a PartialObjectMetadata."""
    head = f'{{"kind":"PartialObjectMetadata","apiVersion":"{response_format.meta_api_version}","metadata":'
    return head.encode() + _metadata_json(item) + b"}"


def resource_version_of(item: Item) -> str:
    """Return the resource version of an object."""
    if isinstance(item, bytes):
        return str(_scalar_at(orjson.loads(item), ("metadata", "resourceVersion")) or "")
    return str(item.resource_version)


def encode_columns(kind: Kind) -> bytes:
    """Return the JSON of a table's column definitions."""
    # kubectl hides columns with a priority above 0 unless the user requests a wide table.
    return orjson.dumps(
        [
            {"name": column.name, "type": column.type, "format": column.format, "description": column.description, "priority": 0}
            for column in kind.columns
        ]
    )


def _metadata_json(item: Item) -> bytes:
    if isinstance(item, bytes):
        return orjson.dumps(orjson.loads(item).get("metadata") or {})
    return item.metadata_json().encode()


def _encode_row(response_format: Format, kind: Kind, version: str, item: Item) -> bytes:
    """Return the JSON of a table row: the cells and, depending on ``includeObject``, the object or its metadata."""
    cells = orjson.dumps(_cells(kind, version, item))
    if response_format.include_object is IncludeObjectPolicy.NONE:
        return b'{"cells":' + cells + b"}"
    object_json = (
        encode_object(item, version)
        if response_format.include_object is IncludeObjectPolicy.OBJECT
        else encode_metadata(response_format, item)
    )
    return b'{"cells":' + cells + b',"object":' + object_json + b"}"


def _cells(kind: Kind, version: str, item: Item) -> list[Any]:
    """Return the values of a table row, one for each column of the kind."""
    # Encoded JSON has no attributes, but the same values at the paths.
    if isinstance(item, bytes):
        tree = orjson.loads(item)
        return [_scalar_at(tree, column.path) for column in kind.columns]
    if columns_need_body(kind):
        tree = orjson.loads(encode_object(item, version))
    else:
        tree = {"metadata": orjson.loads(item.metadata), "status": orjson.loads(item.status or "null")}
    return [
        _stored_value(column, item) if column.source in _ATTRIBUTE_SOURCES else _scalar_at(tree, column.path) for column in kind.columns
    ]


_ATTRIBUTE_SOURCES = frozenset({"name", "title", "subtype"})
"""Column sources that are attributes of stored objects. Of other columns, the cell is the value at the column's path."""


def _stored_value(column: Column, item: StoredItem) -> Any:
    """Return the attribute that a column shows; None for an item without this attribute."""
    return getattr(item, column.source, None)


def _scalar_at(tree: Any, path: tuple[str, ...]) -> Any:
    """Return the scalar at a path of an object; None if it is missing or not a scalar."""
    value = member_at(tree, *path)
    return None if isinstance(value, dict | list) else value
