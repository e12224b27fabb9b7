"""Binding of one query or target to its model, or all faults of its shape."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from dashwright.common.models.expressions import TARGETS, FormattedSqlTarget, SourceQuery, SqlTarget, Target
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.expressions.engine.suggestion import suggestion
from dashwright.expressions.requests.tolerance import forgiven, is_expression, source_of

#: The refId of a query that has none.
REF_ID = "A"

_KINDS = ", ".join(TARGETS)
_MOST_FAULTS = 200
#: What to write as an expression, by its type.
_EXAMPLES = {"math": "; calculate, such as $A + 1", "sql": "; select, such as SELECT * FROM A"} | dict.fromkeys(
    ("reduce", "resample", "threshold"), "; name the query that it reads, such as $A"
)

_SYNONYMS = {
    "avg": "mean",
    "average": "mean",
    "maximum": "max",
    "minimum": "min",
    "total": "sum",
    "len": "count",
    "latest": "last",
    ">": "gt",
    "<": "lt",
    "=": "eq",
    "==": "eq",
    "!=": "ne",
    "<>": "ne",
    ">=": "gte",
    "<=": "lte",
    "ffill": "pad",
    "bfill": "backfilling",
}
#: Messages by the type of pydantic's error.
_TOLD = {"missing": "is required", "extra_forbidden": "is not a known property; leave it out"}


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a request, and its place."""

    pointer: str  #: A JSON pointer into the body (RFC 6901).
    message: str
    message_id: str = "query.invalid"
    ref_id: str = ""
    details: dict[str, str] | None = None  #: ``position`` and ``caret``, if the fault is within an expression.

    @property
    def text(self) -> str:
        """The fault with its refId and place, as one line."""
        named = f"query {self.ref_id}: " if self.ref_id else ""
        return f"{named}{self.pointer or 'the body'}: {self.message}"


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A query or target bound to its model."""

    pointer: str
    query: Target | SourceQuery
    notices: tuple[str, ...] = ()  #: Warnings about ignored properties.


def bind(query: Any, pointer: str, context: QueryContext) -> BoundQuery | list[Fault]:
    """Return the query at ``pointer``, or its faults."""
    if not isinstance(query, dict):
        return [Fault(pointer, "must be an object", "bad-request")]
    lenient = context.lenient and context.endpoint is QueryEndpoint.QUERY
    if not is_expression(query):
        return _source_query(query, pointer, lenient=lenient)
    if context.endpoint is QueryEndpoint.QUERY:
        query = forgiven(query if query.get("refId") else {**query, "refId": REF_ID})
    return _target(query, pointer, context.endpoint, lenient=lenient)


def _target(query: dict[str, Any], pointer: str, endpoint: QueryEndpoint, *, lenient: bool) -> BoundQuery | list[Fault]:
    model = TARGETS.get(query["type"]) if isinstance(query.get("type"), str) else None
    if model is SqlTarget and endpoint is QueryEndpoint.QUERY:
        model = FormattedSqlTarget
    if model is None:
        found = "is required" if query.get("type") is None else "is not a type of expression"
        return [Fault(f"{pointer}/type", f"{found}; use one of {_KINDS}", ref_id=_ref_id(query))]
    return _validated(model, query, pointer, lenient=lenient)


def _validated(model: type[Target | SourceQuery], query: dict[str, Any], pointer: str, *, lenient: bool) -> BoundQuery | list[Fault]:
    try:
        return BoundQuery(pointer, model.model_validate(query))
    except ValidationError as error:
        if error.error_count() > _MOST_FAULTS:
            return [Fault(pointer, f"has {error.error_count()} faults; see the schema of its type", ref_id=_ref_id(query))]
        found = error.errors(include_url=False)
    unlisted = [fault["loc"] for fault in found if fault["type"] == "extra_forbidden"]
    if not (lenient and unlisted):
        return [_fault(fault, pointer, query) for fault in found]
    for place in unlisted:
        query = _without(query, place)
    bound = _validated(model, query, pointer, lenient=False)
    if isinstance(bound, BoundQuery):
        texts = tuple(f"{_pointer(pointer, place)} is not a known property and was ignored" for place in unlisted)
        return BoundQuery(pointer, bound.query, texts)
    return bound


def _source_query(query: dict[str, Any], pointer: str, *, lenient: bool) -> BoundQuery | list[Fault]:
    query = query if query.get("refId") else {**query, "refId": REF_ID}
    source = source_of(query)
    if source is None:
        return [_sourceless(query, pointer)]
    return _validated(SourceQuery, {**query, "datasource": source}, pointer, lenient=lenient)


def _sourceless(query: dict[str, Any], pointer: str) -> Fault:
    advice = f"give query {_ref_id(query)} a datasource with type and uid, or as type one of {_KINDS}"
    if query.get("type") is not None and query.get("datasourceId") is None:
        return Fault(f"{pointer}/type", f"is not a type of expression; {advice}", "query.invalidDatasourceId")
    message = f"Query does not contain a valid data source identifier: {advice}"
    return Fault(f"{pointer}/datasource", message, "query.invalidDatasourceId")


def _without(value: Any, place: tuple[int | str, ...]) -> Any:
    """Return a copy without the member at ``place``; all other parts are shared, however deep they are."""
    step, *rest = place
    if not rest:
        return {key: item for key, item in value.items() if key != step}
    changed = _without(value[step], tuple(rest))
    if isinstance(value, list):
        return [changed if number == step else item for number, item in enumerate(value)]
    return {**value, step: changed}


def _fault(fault: Any, pointer: str, query: dict[str, Any]) -> Fault:
    message = _TOLD.get(fault["type"]) or fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "string_too_short":
        kind = query.get("type") if fault["loc"][-1] == "expression" else None
        example = _EXAMPLES.get(kind, "") if isinstance(kind, str) else ""
        message = f"must not be empty{example}"
    elif fault["type"] == "literal_error" and isinstance(fault["input"], str):
        known = re.findall("'([^']+)'", fault["ctx"]["expected"])
        message += suggestion(fault["input"], known, _SYNONYMS)
    return Fault(_pointer(pointer, fault["loc"]), message, ref_id=_ref_id(query))


def _pointer(pointer: str, place: Iterable[int | str]) -> str:
    return pointer + "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in place)


def _ref_id(query: dict[str, Any]) -> str:
    ref_id = query.get("refId")
    return ref_id[:80] if isinstance(ref_id, str) else ""
