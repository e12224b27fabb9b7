"""Consistent lists: objects as they were at one resource version, page by page, regardless of later writes."""

import functools
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from dashwright.api.domain.access.object_scope import EVERYTHING, Scope
from dashwright.common.database import queries
from dashwright.common.database.pool import Connection
from dashwright.common.errors import Gone
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores.resources import StoredObject, object_of_row

_sql = queries.load(__package__, "lists.sql")

_NOTE: Final = "/* narrowed */"
_PARAMETER: Final = re.compile(r"\$(\d+)")
#: Parameters of the statement itself.
_OWN: Final = 7

_UNBOUNDED: Final = 2**62


@dataclass(frozen=True, slots=True)
class Slice:
    """A page of a list."""

    items: Sequence[StoredObject]
    #: The name to continue after; None on the last page.
    after: str | None
    #: The size of each item's body in bytes. An item whose body was not read has an empty ``spec``.
    sizes: Sequence[int] = ()


async def page(
    connection: Connection,
    kind: Kind,
    namespace: str,
    *,
    at: int,
    after: str,
    limit: int,
    labels: Sequence[tuple[str, str, Sequence[str]]] = (),
    name: str | None = None,
    other_names: Sequence[str] = (),
    number: int | None = None,
    scope: Scope = EVERYTHING,
    bodies: bool = True,
    most: int | None = None,
) -> Slice:
    """Return at most ``limit`` objects as they were at version ``at``, sorted by name, after the name ``after``.

    One statement reads the page from one snapshot. ``labels`` are requirements (key, ``in`` | ``notin`` |
    ``exists`` | ``absent``, values). With ``most``, bodies are read until that many bytes, and ``read_bodies``
    reads the rest; None reads all of them. Without ``bodies`` none is read.

    Raises Gone if the change feed no longer reaches back to that version.
    """
    conditions = _conditions(labels, name, other_names, number, scope)
    statement = _statement(tuple(conditions), bodies=bodies)
    values = [value for given in conditions.values() for value in given]
    largest = _UNBOUNDED if most is None else most
    rows = await connection.fetch(statement, namespace, kind.group, kind.plural, at, after, limit + 1, largest, *values)
    if at < rows[0]["horizon"]:
        raise _gone()
    if rows[0]["name"] is None:
        return Slice((), None)
    # A row without a size has lost its body to the cleanup of histories.
    if any(row["size"] is None for row in rows):
        raise _gone()
    items = [object_of_row(kind, row) for row in rows[:limit]]
    return Slice(items, items[-1].name if len(rows) > limit else None, [row["size"] for row in rows[:limit]])


def _gone() -> Gone:
    return Gone("The provided resource version is too old to display a consistent list result; list again from the start")


def _conditions(
    labels: Sequence[tuple[str, str, Sequence[str]]], name: str | None, other_names: Sequence[str], number: int | None, scope: Scope
) -> Mapping[str, Sequence[Any]]:
    """Return the conditions that apply, each with the values of its parameters."""
    equal = {key: values[0] for key, operator, values in labels if operator == "in" and len(values) == 1}
    required = [
        {"key": key, "operator": operator, "values": list(values)}
        for key, operator, values in labels
        if operator != "in" or equal.get(key) != values[0]
    ]
    wanted: list[tuple[str, Sequence[Any], bool]] = [
        (_sql.named, (name,), name is not None),
        (_sql.not_named, (list(other_names),), bool(other_names)),
        (_sql.numbered, (number,), number is not None),
        (_sql.labelled, (orjson.dumps(equal).decode(),), bool(equal)),
        (_sql.required, (orjson.dumps(required).decode(),), bool(required)),
        (_sql.in_scope, (list(scope.folders), scope.root, list(scope.hidden), list(scope.names)), not scope.everything),
    ]
    return {condition: values for condition, values, is_wanted in wanted if is_wanted}


@functools.cache
def _statement(conditions: tuple[str, ...], *, bodies: bool) -> str:
    """Return the statement with its conditions. Each condition numbers its parameters from 1; here they are renumbered."""
    narrowed, count = "", _OWN
    for condition in conditions:
        narrowed += "\n and " + _PARAMETER.sub(functools.partial(_moved, by=count), condition)
        count += len(set(_PARAMETER.findall(condition)))
    return _sql.page.replace(_NOTE, narrowed) + (_sql.with_bodies if bodies else _sql.without_bodies)


def _moved(parameter: re.Match[str], by: int) -> str:
    return f"${int(parameter[1]) + by}"


async def read_bodies(connection: Connection, items: Sequence[StoredObject]) -> Mapping[uuid.UUID, str]:
    """Return the bodies of items of a page, by uid. Raises Gone if one of them is no longer stored."""
    rows = await connection.fetch(_sql.bodies, [item.uid for item in items], [item.generation for item in items])
    if len(rows) < len(items):
        raise _gone()
    return {row["uid"]: row["spec"] for row in rows}


async def count(connection: Connection, kind: Kind, namespace: str | None) -> int:
    """Return the number of objects of a kind in a namespace, or in all namespaces."""
    found: int = await connection.fetchval(_sql.count, kind.group, kind.plural, namespace)
    return found


async def namespaces(connection: Connection, kind: Kind, *, at: int, first: str = "") -> Sequence[str]:
    """Return the namespaces, from ``first`` on, that a list of all namespaces at a version has to read.

    Raises Gone if the change feed no longer reaches back to that version.
    """
    rows = await connection.fetch(_sql.namespaces, kind.group, kind.plural, at, first)
    if at < rows[0]["horizon"]:
        raise _gone()
    return [row["namespace"] for row in rows if row["namespace"] is not None]
