"""Binding of one query or target to its pydantic model. The result is an instance of the model, or all faults of the query.

``/api/ds/query`` also accepts some members of expression targets that saved panels contain. All other members that the
model does not have are faults.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from dashwright.common.models.expressions import (
    TARGETS,
    VARIANT_PROPERTIES,
    WITHOUT_EFFECT,
    FormattedSqlTarget,
    SourceQuery,
    SqlTarget,
    Target,
)
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.common.models.values import EXPRESSION_UIDS
from dashwright.expressions.engine.suggestion import suggestion

#: The refId of a query without one.
DEFAULT_REF_ID = "A"

_TYPE_NAMES = ", ".join(TARGETS)
#: The maximum number of faults of one query that are listed.
_MAX_FAULTS = 200
#: The maximum number of characters of a refId in a fault.
_MAX_REF_ID_LENGTH = 80
#: Advice about an empty expression, by type of target.
_EMPTY_EXPRESSION_ADVICE = {"math": "; calculate, such as $A + 1", "sql": "; select, such as SELECT * FROM A"} | dict.fromkeys(
    ("reduce", "resample", "threshold"), "; name the query that it reads, such as $A"
)

#: Names from other programs, with the names that are allowed here.
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

#: Ignored properties by type of target: properties without effect, and properties of other types.
_IGNORED_PROPERTIES = {
    target_type: WITHOUT_EFFECT | VARIANT_PROPERTIES.difference(model.model_fields) for target_type, model in TARGETS.items()
}

#: The numeric id of the data source of expressions in old panels.
_EXPRESSION_SOURCE_ID = -100

#: Messages by the type of pydantic's error.
_MESSAGES = {"missing": "is required", "extra_forbidden": "is not a known property; leave it out"}


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a request, with its location."""

    pointer: str  #: A JSON pointer into the body (RFC 6901).
    message: str
    message_id: str = "query.invalid"
    ref_id: str = ""
    details: dict[str, str] | None = None  #: ``position`` and ``caret``, if the fault is within an expression.

    @property
    def description(self) -> str:
        """The message with refId and location, as one line."""
        prefix = f"query {self.ref_id}: " if self.ref_id else ""
        return f"{prefix}{self.pointer or 'the body'}: {self.message}"


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A query or target bound to its model."""

    pointer: str
    query: Target | SourceQuery
    notices: tuple[str, ...] = ()  #: Warnings about ignored properties.


def bind(query: Any, pointer: str, context: QueryContext) -> BoundQuery | list[Fault]:
    """Return the query at the JSON pointer ``pointer``, bound to its model, or its faults.

    If the context is lenient, an unknown property of a query to ``/api/ds/query`` becomes a notice instead of a fault.
    """
    if not isinstance(query, dict):
        return [Fault(pointer, "must be an object", "bad-request")]
    lenient = context.lenient and context.endpoint is QueryEndpoint.QUERY
    if not is_expression(query):
        return _source_query(query, pointer, lenient=lenient)
    if context.endpoint is QueryEndpoint.QUERY:
        query = strict_target(query if query.get("refId") else {**query, "refId": DEFAULT_REF_ID})
    return _target(query, pointer, context.endpoint, lenient=lenient)


def _target(query: dict[str, Any], pointer: str, endpoint: QueryEndpoint, *, lenient: bool) -> BoundQuery | list[Fault]:
    """Return an expression bound to the model of its type, or its faults."""
    model = TARGETS.get(query["type"]) if isinstance(query.get("type"), str) else None
    if model is SqlTarget and endpoint is QueryEndpoint.QUERY:
        model = FormattedSqlTarget
    if model is None:
        problem = "is required" if query.get("type") is None else "is not a type of expression"
        return [Fault(f"{pointer}/type", f"{problem}; use one of {_TYPE_NAMES}", ref_id=_ref_id(query))]
    return _validate(model, query, pointer, lenient=lenient)


def _validate(model: type[Target | SourceQuery], query: dict[str, Any], pointer: str, *, lenient: bool) -> BoundQuery | list[Fault]:
    """Return the query bound to ``model``, or its faults. If ``lenient``, unknown properties become notices."""
    try:
        return BoundQuery(pointer, model.model_validate(query))
    except ValidationError as error:
        if error.error_count() > _MAX_FAULTS:
            return [Fault(pointer, f"has {error.error_count()} faults; see the schema of its type", ref_id=_ref_id(query))]
        details = error.errors(include_url=False)
    unknown_properties = [detail["loc"] for detail in details if detail["type"] == "extra_forbidden"]
    if not (lenient and unknown_properties):
        return [_fault(detail, pointer, query) for detail in details]
    for path in unknown_properties:
        query = _without_member(query, path)
    bound_or_faults = _validate(model, query, pointer, lenient=False)
    if isinstance(bound_or_faults, BoundQuery):
        notices = tuple(f"{_pointer(pointer, path)} is not a known property and was ignored" for path in unknown_properties)
        return BoundQuery(pointer, bound_or_faults.query, notices)
    return bound_or_faults


def _source_query(query: dict[str, Any], pointer: str, *, lenient: bool) -> BoundQuery | list[Fault]:
    query = query if query.get("refId") else {**query, "refId": DEFAULT_REF_ID}
    source = _source_of(query)
    if source is None:
        return [_missing_source(query, pointer)]
    return _validate(SourceQuery, {**query, "datasource": source}, pointer, lenient=lenient)


def _missing_source(query: dict[str, Any], pointer: str) -> Fault:
    advice = f"give query {_ref_id(query)} a datasource with type and uid, or as type one of {_TYPE_NAMES}"
    if query.get("type") is not None and query.get("datasourceId") is None:
        return Fault(f"{pointer}/type", f"is not a type of expression; {advice}", "query.invalidDatasourceId")
    message = f"Query does not contain a valid data source identifier: {advice}"
    return Fault(f"{pointer}/datasource", message, "query.invalidDatasourceId")


def _without_member(value: Any, path: tuple[int | str, ...]) -> Any:
    """Return a copy of a JSON value without the member at ``path``. The copy shares all other members."""
    step, *remaining_path = path
    if not remaining_path:
        return {key: item for key, item in value.items() if key != step}
    member = _without_member(value[step], tuple(remaining_path))
    if isinstance(value, list):
        return [member if index == step else item for index, item in enumerate(value)]
    return {**value, step: member}


def _fault(detail: Any, pointer: str, query: dict[str, Any]) -> Fault:
    """Return the fault that ``detail``, an entry of pydantic's error, describes."""
    message = _MESSAGES.get(detail["type"]) or detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "string_too_short":
        target_type = query.get("type") if detail["loc"][-1] == "expression" else None
        advice = _EMPTY_EXPRESSION_ADVICE.get(target_type, "") if isinstance(target_type, str) else ""
        message = f"must not be empty{advice}"
    elif detail["type"] == "literal_error" and isinstance(detail["input"], str):
        allowed_values = re.findall("'([^']+)'", detail["ctx"]["expected"])
        message += suggestion(detail["input"], allowed_values, _SYNONYMS)
    return Fault(_pointer(pointer, detail["loc"]), message, ref_id=_ref_id(query))


def _pointer(pointer: str, path: Iterable[int | str]) -> str:
    return pointer + "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)


def _ref_id(query: dict[str, Any]) -> str:
    ref_id = query.get("refId")
    return ref_id[:_MAX_REF_ID_LENGTH] if isinstance(ref_id, str) else ""


def _source_of(query: dict[str, Any]) -> Any:
    """Return the member ``datasource`` of a query, or None if it is missing or empty. A string, which is a uid, becomes an object."""
    reference = query.get("datasource")
    if isinstance(reference, str):
        return {"uid": reference} if reference else None
    if isinstance(reference, dict) and reference.get("type") in (None, "") and reference.get("uid") in (None, ""):
        return None
    return reference


def is_expression(query: dict[str, Any]) -> bool:
    """Return whether the query is an expression, by its data source or else by its ``type``."""
    source = _source_of(query)
    if isinstance(source, dict):
        uid = source.get("uid")
        return source.get("type") == "__expr__" or (isinstance(uid, str) and uid in EXPRESSION_UIDS)
    if source is None and query.get("datasourceId") == _EXPRESSION_SOURCE_ID:
        return True
    target_type = query.get("type")
    return isinstance(target_type, str) and target_type in TARGETS


def strict_target(query: dict[str, Any]) -> dict[str, Any]:
    """Return the target in the strict form that its model requires.

    Members without effect, which saved panels may contain, are removed. All other members remain, so that the error of the
    model can name them.
    """
    target_type = query.get("type")
    ignored_properties = _IGNORED_PROPERTIES.get(target_type, WITHOUT_EFFECT) if isinstance(target_type, str) else WITHOUT_EFFECT
    target = {key: value for key, value in query.items() if key not in ignored_properties}
    if "datasource" in target:
        target["datasource"] = _strict_datasource(target["datasource"])
    if "settings" in target and _has_strict_mode(target["settings"]):
        del target["settings"]
    for key in ("reducer", "downsampler"):
        if isinstance(target.get(key), str):
            target[key] = target[key].lower()
    if isinstance(target.get("conditions"), list):
        target["conditions"] = [_strict_condition(condition, target_type, index) for index, condition in enumerate(target["conditions"])]
    return target


def _strict_datasource(datasource: Any) -> Any:
    if isinstance(datasource, str):
        return {"type": "__expr__", "uid": datasource}
    if not isinstance(datasource, dict):
        return datasource
    return {"type": "__expr__"} | {key: value for key, value in datasource.items() if key != "name"}


def _has_strict_mode(settings: Any) -> bool:
    """Return whether the settings of ``reduce`` select the strict mode, which a target selects by having no settings."""
    return isinstance(settings, dict) and settings.get("mode", "") == "" and settings.keys() <= {"mode", "replaceWithValue"}


def _is_missing_operator(operator: Any) -> bool:
    """Return whether an operator is missing or one of the forms in which saved panels write a missing one."""
    return operator is None or operator in ({}, {"type": None}, {"type": ""})


def _strict_condition(condition: Any, target_type: object, index: int) -> Any:
    """Return a condition of a threshold or of classic conditions without the members that have no effect."""
    if not isinstance(condition, dict):
        return condition
    if target_type == "threshold":
        return _without_keys(condition, {"type", "operator", "query", "reducer"})
    strict_condition = _without_keys(condition, {"type", "unloadEvaluator", "loadedDimensions"})
    if index == 0 and _is_missing_operator(strict_condition.get("operator")):
        # The model requires the operator of the first condition, although it has no effect.
        strict_condition["operator"] = {"type": "and"}
    if isinstance(strict_condition.get("reducer"), dict):
        strict_condition["reducer"] = _without_keys(strict_condition["reducer"], {"params"})
    return strict_condition


def _without_keys(members: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    return {key: value for key, value in members.items() if key not in keys}
