"""Matchers of frames, by the ids that Grafana gives them."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from dashwright.common.errors import BadRequest
from dashwright.common.json_shapes import string_of
from dashwright.expressions.javascript.patterns import TextPattern
from dashwright.expressions.transformations.data import DataFrame
from dashwright.expressions.transformations.matchers.conditions import matcher_of

#: Returns whether a frame matches.
FrameMatcher = Callable[[DataFrame], bool]


def frame_matcher(config: Mapping[str, Any]) -> FrameMatcher:
    """Return the matcher of a condition ``{"id", "options"}``. Raises BadRequest for an unknown id or a nesting too deep."""
    return matcher_of(config, FRAME_MATCHERS, "frames")


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
