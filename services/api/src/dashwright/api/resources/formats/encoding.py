"""Objects in responses: one object, a list in pieces, a table, or the metadata alone."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import orjson

from dashwright.api.http.response import Response
from dashwright.api.resources.formats.negotiation import Form, Format, IncludeObjectPolicy, is_shown_by_body
from dashwright.common.document import read_json
from dashwright.common.json_shapes import member_at
from dashwright.common.kinds.kind import Column, Kind
from dashwright.common.stores.job_records import StoredJob
from dashwright.common.stores.resources import StoredObject
from dashwright.common.yaml import write_yaml

Item: TypeAlias = StoredObject | StoredJob | bytes
"""An object as the store returns it, or as JSON text."""

_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_LARGE: Final = 64 * 1024
"""Bytes of an object from which on it is converted to YAML in a thread."""


def one(form: Format, kind: Kind, version: str, item: Item, status: int = 200, headers: Mapping[str, str] = _NONE) -> Response:
    """Return the response with one object; as a table it has one row."""
    if form.form is Form.TABLE:
        body = table(form, kind, version, {"resourceVersion": version_of(item)}, [item])
    else:
        body = encode(form, kind, version, item)
    answer = Response(status, body, form.content_type, {**form.headers, **headers}, may_compress=True)
    if not form.is_yaml:
        return answer
    return answer._replace(body=_yaml(body)) if len(body) < _LARGE else answer._replace(body=_yaml_in_thread(body), holds=2 * len(body))


def table(
    form: Format, kind: Kind, version: str, metadata: Mapping[str, Any], items: Iterable[Item], *, with_columns: bool = True
) -> bytes:
    """Return a table in JSON."""
    rows = b",".join(encode(form, kind, version, item) for item in items)
    return _table_head(form, kind, metadata, with_columns=with_columns) + rows + b"]}"


class ListEncoder:
    """The encoder of one list: its head, any number of pieces, its tail."""

    def __init__(self, form: Format, kind: Kind, version: str) -> None:
        self._form = form
        self._kind = kind
        self._version = version
        self._is_empty = True

    def head(self, metadata: Mapping[str, Any]) -> bytes:
        """Return the start of the list. ``metadata`` is that of the list: ``resourceVersion``, and how to continue a page."""
        head = self._head(metadata)
        if not self._form.is_yaml:
            return head
        return _yaml(head + b"]}").removesuffix(b" []\n")

    def items(self, items: Sequence[Item]) -> bytes:
        """Return some of the objects, in order. Encode long pieces of YAML in a thread, because YAML is slow."""
        if not items:
            return b""
        was_empty, self._is_empty = self._is_empty, False
        if self._form.is_yaml:
            written = [_item(encode(self._form, self._kind, self._version, item)) for item in items]
            return b"".join([b"\n" if was_empty else b"", *written])
        return encode_many(self._form, self._kind, self._version, items, before="" if was_empty else ",")

    def tail(self) -> bytes:
        """Return the end of the list."""
        if self._form.is_yaml:
            return b" []\n" if self._is_empty else b""
        return b"]}"

    def _head(self, metadata: Mapping[str, Any]) -> bytes:
        if self._form.form is Form.TABLE:
            return _table_head(self._form, self._kind, metadata)
        if self._form.form is Form.METADATA:
            kind, api_version = "PartialObjectMetadataList", self._form.meta_version
        else:
            kind, api_version = f"{self._kind.kind}List", self._kind.api_version(self._version)
        return f'{{"kind":"{kind}","apiVersion":"{api_version}","metadata":'.encode() + orjson.dumps(dict(metadata)) + b',"items":['


def _table_head(form: Format, kind: Kind, metadata: Mapping[str, Any], *, with_columns: bool = True) -> bytes:
    head = f'{{"kind":"Table","apiVersion":"{form.meta_version}","metadata":'.encode() + orjson.dumps(dict(metadata))
    return head + b',"columnDefinitions":' + (columns(kind) if with_columns else b"null") + b',"rows":['


def _yaml(text: bytes) -> bytes:
    return write_yaml(read_json(text.decode())).encode()


async def _yaml_in_thread(text: bytes) -> AsyncIterator[bytes]:
    yield await asyncio.to_thread(_yaml, text)


def _item(text: bytes) -> bytes:
    """Return one item of a list in YAML. Texts in the YAML never span lines."""
    return b"- " + _yaml(text).rstrip(b"\n").replace(b"\n", b"\n  ") + b"\n"


def encode(form: Format, kind: Kind, version: str, item: Item) -> bytes:
    """Return an object in a format, as it is an element of a list."""
    if form.form is Form.WHOLE:
        return encode_whole(item, version)
    if form.form is Form.METADATA:
        return encode_metadata(form, item)
    return _row(form, kind, version, item)


def encode_many(form: Format, kind: Kind, version: str, items: Iterable[Item], *, before: str = "") -> bytes:
    """Return objects with commas between them, and ``before`` in front of the first."""
    pieces: list[str] = []
    for item in items:
        pieces.append(before)
        if form.form is Form.WHOLE and isinstance(item, StoredObject):
            pieces += item.parts(version)
        else:
            pieces.append(encode(form, kind, version, item).decode())
        before = ","
    return "".join(pieces).encode()


def encode_whole(item: Item, version: str) -> bytes:
    """Return the whole object in a version."""
    if isinstance(item, bytes):
        return item
    return item.encode() if isinstance(item, StoredJob) else item.encode(version)


def encode_metadata(form: Format, item: Item) -> bytes:
    """Return a PartialObjectMetadata."""
    head = f'{{"kind":"PartialObjectMetadata","apiVersion":"{form.meta_version}","metadata":'
    return head.encode() + _metadata(item) + b"}"


def version_of(item: Item) -> str:
    """Return the resource version of an object."""
    if isinstance(item, bytes):
        return str(_member(orjson.loads(item), ("metadata", "resourceVersion")) or "")
    return str(item.resource_version)


def columns(kind: Kind) -> bytes:
    """Return the definitions of a table's columns."""
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
"""Column sources that the store returns as values. The creation time is in the metadata."""


def _stored_value(column: Column, item: StoredObject | StoredJob) -> Any:
    return getattr(item, column.source, None)


def _member(tree: Any, path: tuple[str, ...]) -> Any:
    """Return the scalar at a path of an object; None if it is missing or not a scalar."""
    value = member_at(tree, *path)
    return None if isinstance(value, dict | list) else value
