"""Matchers of frames, by the ids that Grafana gives them."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from dashwright.common.errors import BadRequest
from dashwright.common.json_shapes import object_of, objects_of, string_of
from dashwright.expressions.javascript.patterns import TextPattern
from dashwright.expressions.transformations.data import DataFrame

#: Conditions may contain others this deep.
_MAX_DEPTH: Final = 20
#: Returns whether a frame matches.
FrameMatcher = Callable[[DataFrame], bool]


def frame_matcher(config: Mapping[str, Any], depth: int = 0) -> FrameMatcher:
    """Return the matcher of a condition ``{"id", "options"}``. Raises BadRequest for an unknown id or a nesting too deep."""
    name = string_of(config.get("id"))
    if depth > _MAX_DEPTH:
        raise BadRequest(f"the conditions of frames are nested deeper than {_MAX_DEPTH} levels")
    if create_nested := _NESTED.get(name):
        return create_nested(config.get("options"), depth + 1)
    create = FRAME_MATCHERS.get(name)
    if create is None:
        raise BadRequest(f"unknown condition of frames {name[:40]!r}; known are {', '.join([*FRAME_MATCHERS, *_NESTED])}")
    return create(config.get("options"))


def _by_ref_id(options: Any) -> FrameMatcher:
    """Return the matcher of a refId, of several as in ``A|B``, or of a pattern as in ``/A.*/``."""
    text = string_of(options)
    if text.startswith("/"):
        try:
            pattern = TextPattern.of(text)
        except BadRequest:
            # An invalid pattern is the literal refId, as in Grafana.
            return lambda frame: frame.ref_id == text
        return lambda frame: pattern.search(frame.ref_id) is not None
    ref_ids = set(text.split("|"))
    return lambda frame: frame.ref_id in ref_ids


def _by_name(options: Any) -> FrameMatcher:
    if not isinstance(options, str):
        return lambda _frame: False
    pattern = TextPattern.of(options)
    return lambda frame: pattern.search(frame.name) is not None


#: A function for each id, which returns the matcher with some options.
FRAME_MATCHERS: Final[Mapping[str, Callable[[Any], FrameMatcher]]] = {
    "byRefId": _by_ref_id,
    "byName": _by_name,
    "alwaysMatch": lambda _options: lambda _frame: True,
    "neverMatch": lambda _options: lambda _frame: False,
}


def _any_of(options: Any, depth: int) -> FrameMatcher:
    children = [frame_matcher(child, depth) for child in objects_of(options)]
    return lambda frame: any(matches(frame) for matches in children)


def _all_of(options: Any, depth: int) -> FrameMatcher:
    children = [frame_matcher(child, depth) for child in objects_of(options)]
    return lambda frame: all(matches(frame) for matches in children)


def _not(options: Any, depth: int) -> FrameMatcher:
    matches = frame_matcher(object_of(options), depth)
    return lambda frame: not matches(frame)


#: Matchers that contain others.
_NESTED: Final[Mapping[str, Callable[[Any, int], FrameMatcher]]] = {"anyMatch": _any_of, "allMatch": _all_of, "invertMatch": _not}
