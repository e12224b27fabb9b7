"""The closed list of what ``/api/ds/query`` tolerates in an expression target, because saved panels contain it.

Tolerated members are brought into the strict form. The model still refuses everything else that the strict form does
not have.
"""

from typing import Any

from dashwright.common.models.expressions import TARGETS, VARIANT_PROPERTIES, WITHOUT_EFFECT
from dashwright.common.models.values import EXPRESSION_UIDS

#: Which of the variants' properties each type has.
_OWN = {kind: VARIANT_PROPERTIES.intersection(model.model_fields) for kind, model in TARGETS.items()}

_DROPPED = {kind: WITHOUT_EFFECT | (VARIANT_PROPERTIES - own) for kind, own in _OWN.items()}

_LEGACY_ID = -100


def source_of(query: dict[str, Any]) -> Any:
    """Return the data source that a query names, or None; a text is a uid."""
    named = query.get("datasource")
    if isinstance(named, str):
        return {"uid": named} if named else None
    if isinstance(named, dict) and named.get("type") in (None, "") and named.get("uid") in (None, ""):
        return None
    return named


def is_expression(query: dict[str, Any]) -> bool:
    """Return whether the query is an expression, by its data source or else by its ``type``."""
    source = source_of(query)
    if isinstance(source, dict):
        uid = source.get("uid")
        return source.get("type") == "__expr__" or (isinstance(uid, str) and uid in EXPRESSION_UIDS)
    if source is None and query.get("datasourceId") is not None:
        return bool(query["datasourceId"] == _LEGACY_ID)
    kind = query.get("type")
    return isinstance(kind, str) and kind in TARGETS


def forgiven(query: dict[str, Any]) -> dict[str, Any]:
    """Return the target without members that have no effect.

    The members of a target of unknown type remain, so that the model can name them.
    """
    kind = query.get("type")
    dropped = _DROPPED.get(kind, WITHOUT_EFFECT) if isinstance(kind, str) else WITHOUT_EFFECT
    target = {key: value for key, value in query.items() if key not in dropped}
    if "datasource" in target:
        target["datasource"] = _datasource(target["datasource"])
    if "settings" in target and _is_strict_mode(target["settings"]):
        del target["settings"]
    for key in ("reducer", "downsampler"):
        if isinstance(target.get(key), str):
            target[key] = target[key].lower()
    if isinstance(target.get("conditions"), list):
        target["conditions"] = [_condition(item, kind, number) for number, item in enumerate(target["conditions"])]
    return target


def _datasource(datasource: Any) -> Any:
    if isinstance(datasource, str):
        return {"type": "__expr__", "uid": datasource}
    if not isinstance(datasource, dict):
        return datasource
    return {"type": "__expr__"} | {key: value for key, value in datasource.items() if key != "name"}


def _is_strict_mode(settings: Any) -> bool:
    return isinstance(settings, dict) and settings.get("mode", "") == "" and settings.keys() <= {"mode", "replaceWithValue"}


def _is_unsaid(operator: Any) -> bool:
    return operator is None or operator in ({}, {"type": None}, {"type": ""})


def _condition(item: Any, kind: object, number: int) -> Any:
    if not isinstance(item, dict):
        return item
    if kind == "threshold":
        return {key: value for key, value in item.items() if key not in {"type", "operator", "query", "reducer"}}
    condition = {key: value for key, value in item.items() if key not in {"type", "unloadEvaluator", "loadedDimensions"}}
    if number == 0 and _is_unsaid(condition.get("operator")):
        condition["operator"] = {"type": "and"}
    if isinstance(condition.get("reducer"), dict):
        condition["reducer"] = {key: value for key, value in condition["reducer"].items() if key != "params"}
    return condition
