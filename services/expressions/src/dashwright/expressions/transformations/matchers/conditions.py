"""Conditions of frames and fields. A condition may contain other ones."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from dashwright.common.errors import BadRequest
from dashwright.common.json_shapes import object_of, objects_of, string_of

Item = TypeVar("Item")

#: Conditions may contain others this deep.
_MAX_DEPTH: Final = 20
_NESTED: Final = ("anyMatch", "allMatch", "invertMatch")


def matcher_of(
    config: Mapping[str, Any], factories: Mapping[str, Callable[[Any], Callable[[Item], bool]]], subject: str, depth: int = 0
) -> Callable[[Item], bool]:
    """Return the matcher of a condition ``{"id", "options"}``.

    ``factories`` has by id the function that creates a matcher from the options of a condition. ``subject`` names the items in errors.
    Raises BadRequest for an unknown id or a nesting too deep.
    """
    name, options = string_of(config.get("id")), config.get("options")
    if depth > _MAX_DEPTH:
        raise BadRequest(f"the conditions of {subject} are nested deeper than {_MAX_DEPTH} levels")
    if name == "invertMatch":
        inverted = matcher_of(object_of(options), factories, subject, depth + 1)
        return lambda item: not inverted(item)
    if name in _NESTED:
        children = [matcher_of(child, factories, subject, depth + 1) for child in objects_of(options)]
        combine = any if name == "anyMatch" else all
        return lambda item: combine(matches(item) for matches in children)
    create = factories.get(name)
    if create is None:
        raise BadRequest(f"unknown condition {name[:40]!r} of {subject}; use one of {', '.join([*factories, *_NESTED])}")
    return create(options)
