"""What the series of a query are called, and the labels they have."""

from typing import Final

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.labels import NONE, Labels

_INDEX: Final = "$seriesIndex"


def series_name(ref_id: str, alias: str, index: int) -> str:
    return alias or f"{ref_id}-series{index or ''}"


def labels_of(text: str, index: int) -> Labels:
    """Of ``{job="a", instance="b"}``, braces and quotes as you like; ``$seriesIndex`` is the series' number, from 0. Raises BadRequest."""
    pairs = {}
    for part in filter(None, text.strip("{} ").split(",")):
        key, found, value = part.partition("=")
        if not found or not key.strip():
            raise BadRequest(f'labels {text[:80]!r} cannot be read; write them like host="a", zone="b"')
        pairs[key.strip()] = value.strip().strip('"').replace(_INDEX, str(index))
    return Labels.of(pairs) if pairs else NONE
