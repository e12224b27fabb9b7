"""The draft of a dashboard that migrations change, and typed access to its parts.

A draft shares everything with its input, except the objects that migrations may change in place: the dashboard, its panels, its
variables and its annotations. A migration that changes something deeper replaces it by a changed copy, for which ``copy_object`` and
``copy_list`` help. So the input of a migration never changes, and unchanged parts are never copied.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

#: An object of JSON that its holder may change.
Object: TypeAlias = dict[str, Any]

#: Members of a dashboard that have their objects in a member ``list``.
_LISTS: Final = ("annotations", "templating")

#: Bound of the numbers that migrations calculate with. It excludes infinity.
_LARGEST: Final = 1e100


def draft_of(dashboard: Mapping[str, Any]) -> Object:
    """Return a draft of a dashboard. Members of unexpected types are shared with the dashboard as they are."""
    draft = dict(dashboard)
    # The list grows by the panels of each holder while the loop runs over it.
    pending = [draft, *objects(copy_list(draft, "rows"))]
    for holder in pending:
        if "panels" in holder and (panels := copy_list(holder, "panels")):
            pending += objects(panels)
    for name in _LISTS:
        if (listing := copy_object(draft, name)) is not None:
            copy_list(listing, "list")
    return draft


def copy_object(holder: Object, name: str) -> Object | None:
    """Replace a member by a shallow copy, and return the copy. Return None if the member is not an object."""
    value = holder.get(name)
    if not isinstance(value, dict):
        return None
    holder[name] = copy = dict(value)
    return copy


def copy_list(holder: Object, name: str) -> list[Any] | None:
    """Replace a list by a copy with shallow copies of its objects, and return it. Return None if the member is not a list."""
    value = holder.get(name)
    if not isinstance(value, list):
        return None
    holder[name] = copy = [item.copy() if isinstance(item, dict) else item for item in value]
    return copy


def objects(value: object) -> Sequence[Object]:
    """Return the objects in a list, or an empty sequence if the value is not a list."""
    return [item for item in value if isinstance(item, dict)] if value and isinstance(value, list) else ()


def object_at(holder: object, *path: str) -> Object | None:
    """Return the object at a path of names. Return None if an object on the way is missing."""
    for name in path:
        if not isinstance(holder, dict):
            return None
        holder = holder.get(name)
    return holder if isinstance(holder, dict) else None


def top_panels(dashboard: Object) -> Sequence[Object]:
    """Return the panels of a dashboard without those inside of rows."""
    return objects(dashboard.get("panels"))


def all_panels(dashboard: Object) -> Sequence[Object]:
    """Return each panel of a dashboard, followed by the panels inside of it, which are those of a collapsed row."""
    panels = []
    for panel in top_panels(dashboard):
        panels.append(panel)
        if "panels" in panel:
            panels += objects(panel["panels"])
    return panels


def panels_in_any_layout(dashboard: Object) -> Sequence[Object]:
    """Return each panel of a dashboard, then those in ``rows``, which are the layout before schema version 16."""
    return [*all_panels(dashboard), *(panel for row in objects(dashboard.get("rows")) for panel in objects(row.get("panels")))]


def variables(dashboard: Object) -> Sequence[Object]:
    """Return the variables of a dashboard."""
    templating = object_at(dashboard, "templating")
    return objects(templating.get("list")) if templating is not None else ()


def annotations(dashboard: Object) -> Sequence[Object]:
    """Return the annotation queries of a dashboard."""
    holder = object_at(dashboard, "annotations")
    return objects(holder.get("list")) if holder is not None else ()


def text(holder: Mapping[str, Any], name: str) -> str:
    """Return a text, or an empty one if the member is missing or not a text."""
    value = holder.get(name)
    return value if isinstance(value, str) else ""


def is_true(holder: Mapping[str, Any], name: str) -> bool:
    """Return whether a member is the literal ``true``."""
    return holder.get(name) is True


def is_truthy(value: object) -> bool:
    """Return whether a value is true in JavaScript, where empty lists and objects are true, too."""
    return bool(value) or isinstance(value, list | dict)


def number(value: object) -> float | None:
    """Return a number, or None if the value is not one or is too large to calculate with. A boolean is not a number."""
    # The exact type, because true and false are instances of int too.
    if type(value) is int or isinstance(value, float):
        return value if -_LARGEST < value < _LARGEST else None
    return None


def parsed_number(value: object) -> float | None:
    """Return a number, also from its text, or None."""
    if not isinstance(value, str):
        return number(value)
    try:
        # Only Python accepts underscores in numbers.
        return number(float(value)) if "_" not in value else None
    except ValueError:
        return None


def number_text(value: float) -> str:
    """Return a number as text, without ``.0`` if it is whole."""
    return str(value).removesuffix(".0")
