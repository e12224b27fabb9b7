"""Names and labels of the series of a query."""

from typing import Final

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.labels import NO_LABELS, Labels

_INDEX_VARIABLE: Final = "$seriesIndex"


def series_name(ref_id: str, alias: str, index: int) -> str:
    """Return the alias, or the default name of series ``index``, such as ``A-series1``. The name of series 0 has no number."""
    return alias or f"{ref_id}-series{index or ''}"


def labels_of(source: str, index: int) -> Labels:
    """Return labels such as ``{job="a", instance="b"}``; braces and quotes are optional. Raises BadRequest.

    ``$seriesIndex`` is replaced by ``index``, the index of the series.
    """
    pairs = {}
    for assignment in filter(None, source.strip("{} ").split(",")):
        key, equals_sign, value = assignment.partition("=")
        if not equals_sign or not key.strip():
            raise BadRequest(f'labels {source[:80]!r} cannot be read; write them like host="a", zone="b"')
        pairs[key.strip()] = value.strip().strip('"').replace(_INDEX_VARIABLE, str(index))
    return Labels.of(pairs) if pairs else NO_LABELS
