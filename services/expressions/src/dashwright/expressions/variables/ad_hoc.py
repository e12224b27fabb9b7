"""Ad hoc filters: conditions that users add to a dashboard, and that its data source adds to all queries."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from dashwright.common.json_shapes import list_of, objects_of, string_of
from dashwright.expressions.sources.prometheus.label_filters import LabelFilter
from dashwright.expressions.variables.definitions import Definition

_MAX_FILTERS: Final = 100
#: Characters that Grafana writes as words in URLs.
_ESCAPES: Final = {"__gfp__": "|", "__gfc__": ",", "__gfh__": "#"}


def read_filters(definition: Definition, from_url: Sequence[str] | None) -> list[LabelFilter]:
    """Return the filters of the URL (``key|operator|value``), or else the saved ones, preceded by filters that users cannot change."""
    fixed_filters = _saved(definition.source.get("baseFilters"))
    changeable_filters = _of_url(from_url) if from_url is not None else _saved(definition.source.get("filters"))
    return [*fixed_filters, *changeable_filters][:_MAX_FILTERS]


def description_of(filters: Sequence[LabelFilter]) -> str:
    """Return filters as text, such as ``job="api",instance!="a"``."""
    return ",".join(f'{item.label}{item.operator}"{"|".join(item.values)}"' for item in filters)


def _saved(filters: Any) -> Iterator[LabelFilter]:
    """Yield the filters in the form in which dashboards save them."""
    for item in objects_of(filters)[:_MAX_FILTERS]:
        alternatives = [value for value in list_of(item.get("values")) if isinstance(value, str)]
        operator = string_of(item.get("operator"))
        values = alternatives if alternatives and operator.endswith("|") else [string_of(item.get("value"))]
        if key := string_of(item.get("key")):
            yield LabelFilter(key, operator, values)


def _of_url(texts: Sequence[str]) -> Iterator[LabelFilter]:
    """Yield the filters in the form ``key|operator|value``."""
    for text in texts[:_MAX_FILTERS]:
        # Grafana escapes the separator in the operators ``=|`` and ``!=|``. A comma precedes the text of a part that users see.
        parts = [_unescaped(part.split(",")[0]) for part in text.split("|")]
        missing_parts = [""] * (3 - len(parts))
        key, operator, *values = [*parts, *missing_parts]
        if key and operator:
            yield LabelFilter(key, operator, values)


def _unescaped(text: str) -> str:
    for word, character in _ESCAPES.items():
        text = text.replace(word, character)
    return text
