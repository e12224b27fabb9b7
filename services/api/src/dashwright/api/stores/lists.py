"""Consistent lists: objects as they were at one resource version, page by page, regardless of later writes."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from dashwright.api.domain.access.object_scope import EVERYTHING, ObjectScope
from dashwright.common.database import queries
from dashwright.common.database.pool import Connection
from dashwright.common.errors import Gone
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores.resources import StoredObject, object_of_row

_sql = queries.load(__package__, "lists.sql")

_NO_BYTE_LIMIT: Final = 2**62
"""A limit that is larger than all bodies."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A page of a list."""

    items: Sequence[StoredObject]
    #: The name after which the next page begins; None on the last page.
    after: str | None
    #: The size of each item's body in bytes; 0 if the page was read without bodies. An item whose body was not read has an empty ``spec``.
    sizes: Sequence[int] = ()


async def page(
    connection: Connection,
    kind: Kind,
    namespace: str,
    *,
    version: int,
    after: str,
    limit: int,
    labels: Sequence[tuple[str, str, Sequence[str]]] = (),
    name: str | None = None,
    excluded_names: Sequence[str] = (),
    numeric_id: int | None = None,
    scope: ObjectScope = EVERYTHING,
    with_bodies: bool = True,
    max_body_bytes: int | None = None,
) -> Slice:
    """Return at most ``limit`` objects as they were at resource version ``version``, sorted by name, after the name ``after``.

    ``labels`` are requirements (key, ``in`` | ``notin`` | ``exists`` | ``absent``, values). ``name``, ``excluded_names``,
    ``numeric_id`` and ``scope`` filter the objects, too; None and empty values do not filter.

    ``max_body_bytes`` limits the bytes of bodies that are read with the page; ``read_bodies`` reads the other bodies. None reads
    all bodies. If ``with_bodies`` is false, no body is read.

    Raises Gone if the change feed no longer reaches back to that version.
    """
    page_filter = _page_filter(labels, name, excluded_names, numeric_id, scope)
    if with_bodies:
        page_filter.values["max_bytes"] = _NO_BYTE_LIMIT if max_body_bytes is None else max_body_bytes
    rows = await connection.fetch(
        *_sql.bind(
            "page_with_bodies" if with_bodies else "page_without_bodies",
            conditions=page_filter.conditions,
            namespace=namespace,
            api_group=kind.group,
            resource=kind.plural,
            version=version,
            after=after,
            limit=limit + 1,  # One more object than requested shows whether there is a next page.
            **page_filter.values,
        )
    )
    # The first row always exists: it has the horizon, and no object on an empty page.
    if version < rows[0]["horizon"]:
        raise _gone_error()
    if rows[0]["name"] is None:
        return Slice((), None)
    # The cleanup of histories has deleted the body of a row without a size.
    if any(row["size"] is None for row in rows):
        raise _gone_error()
    items = [object_of_row(kind, row) for row in rows[:limit]]
    return Slice(items, items[-1].name if len(rows) > limit else None, [row["size"] for row in rows[:limit]])


def _gone_error() -> Gone:
    return Gone("The provided resource version is too old to display a consistent list result; list again from the start")


@dataclass(frozen=True, slots=True)
class _PageFilter:
    """The names of the conditions of ``lists.sql`` that a list must meet, and the values of their parameters."""

    conditions: list[str]
    values: dict[str, Any]


def _page_filter(
    labels: Sequence[tuple[str, str, Sequence[str]]],
    name: str | None,
    excluded_names: Sequence[str],
    numeric_id: int | None,
    scope: ObjectScope,
) -> _PageFilter:
    """Return the conditions of the filters of ``page`` that are applied."""
    page_filter = _PageFilter([], {})

    def add(condition: str, **values: Any) -> None:
        page_filter.conditions.append(condition)
        page_filter.values.update(values)

    # Labels with one permitted value are compared in one JSON containment test; the other requirements are tested one by one.
    equal_labels = {key: values[0] for key, operator, values in labels if operator == "in" and len(values) == 1}
    # Of contradictory requirements, such as a=1 and a=2, ``equal_labels`` has the last one, and the others are tested separately.
    other_requirements = [
        {"key": key, "operator": operator, "values": list(values)}
        for key, operator, values in labels
        if operator != "in" or equal_labels.get(key) != values[0]
    ]
    if name is not None:
        add("has_name", name=name)
    if excluded_names:
        add("has_other_name", excluded_names=list(excluded_names))
    if numeric_id is not None:
        add("has_id", internal_id=numeric_id)
    if equal_labels:
        add("has_labels", equal_labels=orjson.dumps(equal_labels).decode())
    if other_requirements:
        add("meets_requirements", label_requirements=orjson.dumps(other_requirements).decode())
    if not scope.includes_everything:
        add(
            "in_scope",
            scope_folders=list(scope.folders),
            scope_includes_root=scope.includes_root,
            scope_hidden_names=list(scope.hidden_names),
            scope_names=list(scope.names),
        )
    return page_filter


async def read_bodies(connection: Connection, items: Sequence[StoredObject]) -> Mapping[uuid.UUID, str]:
    """Return the bodies of items of a page, by uid. Raises Gone if one of them is no longer stored."""
    rows = await connection.fetch(
        *_sql.bind("bodies_by_uid", uids=[item.uid for item in items], generations=[item.generation for item in items])
    )
    if len(rows) < len(items):
        raise _gone_error()
    return {row["uid"]: row["spec"] for row in rows}


async def count(connection: Connection, kind: Kind, namespace: str | None) -> int:
    """Return the number of objects of a kind in a namespace, or in all namespaces."""
    object_count: int = await connection.fetchval(*_sql.bind("count", api_group=kind.group, resource=kind.plural, namespace=namespace))
    return object_count


async def namespaces(connection: Connection, kind: Kind, *, version: int, first: str = "") -> Sequence[str]:
    """Return the namespaces that may have had objects of a kind at resource version ``version``, sorted, from ``first`` on.

    Raises Gone if the change feed no longer reaches back to that version.
    """
    rows = await connection.fetch(*_sql.bind("namespaces", api_group=kind.group, resource=kind.plural, version=version, first=first))
    # The first row always exists: it has the horizon, and its namespace is null if no namespace is left to read.
    if version < rows[0]["horizon"]:
        raise _gone_error()
    return [row["namespace"] for row in rows if row["namespace"] is not None]
