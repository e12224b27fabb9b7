"""Names and labels of the series of a query."""

from typing import Final

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.labels import NONE, Labels

_INDEX: Final = "$seriesIndex"


def series_name(ref_id: str, alias: str, index: int) -> str:
    """Return the alias, or the default name of the series."""
    return alias or f"{ref_id}-series{index or ''}"


def labels_of(text: str, index: int) -> Labels:
    """Return the labels in ``{job="a", instance="b"}``; braces and quotes are optional. Raises BadRequest.

    ``$seriesIndex`` is replaced by the number of the series, from 0.
    """
    pairs = {}
    for part in filter(None, text.strip("{} ").split(",")):
        key, found, value = part.partition("=")
        if not found or not key.strip():
            raise BadRequest(f'labels {text[:80]!r} cannot be read; write them like host="a", zone="b"')
        pairs[key.strip()] = value.strip().strip('"').replace(_INDEX, str(index))
    return Labels.of(pairs) if pairs else NONE
