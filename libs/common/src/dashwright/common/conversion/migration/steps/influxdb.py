"""Migration of the first form of InfluxDB queries."""

from collections.abc import Iterator
from typing import Any

from dashwright.common.conversion.migration.document import Object, copy_list, objects

#: The members of a field in the order of the parts that replace them, with the type of the part. None: the value is the type.
_PARTS = (("name", "field"), ("func", None), ("mathExpr", "math"), ("asExpr", "alias"))


def restructure_queries(panel: Object) -> None:
    """Replace the fields of queries by ``select``, and the members of ``groupBy`` by parameters (version 8)."""
    if any(_is_old(target) for target in objects(panel.get("targets"))):
        for target in objects(copy_list(panel, "targets")):
            if _is_old(target):
                _restructure(target)


def _is_old(target: Object) -> bool:
    return "fields" in target and "tags" in target and "groupBy" in target


def _restructure(target: Object) -> None:
    """Replace the fields of a query by ``select``. A raw query only loses its fields and its fill."""
    fields = target.pop("fields")
    if target.get("rawQuery") is True:
        target.pop("fill", None)
        return
    if isinstance(fields, list):
        target["select"] = [parts for field in objects(fields) if (parts := list(_parts(field)))]
    groups = copy_list(target, "groupBy")
    if groups is None:
        return
    for group in objects(groups):
        name = {"time": "interval", "tag": "key"}.get(str(group.get("type")))
        if name is not None and isinstance(group.get(name), str):
            group["params"] = [group.pop(name)]
    if "fill" in target:
        groups.append({"type": "fill", "params": [target.pop("fill")]})


def _parts(field: Object) -> Iterator[Object]:
    """Yield the parts that replace a field: its name, function, calculation and alias."""
    for name, part_type in _PARTS:
        value: Any = field.get(name)
        if isinstance(value, str):
            yield {"type": value, "params": []} if part_type is None else {"type": part_type, "params": [value]}
