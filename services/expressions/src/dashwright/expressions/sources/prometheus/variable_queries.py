"""Queries of variables to Prometheus, such as ``label_values(metric, label)``, as requests to its HTTP API."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import orjson

from dashwright.common.errors import BadRequest
from dashwright.common.json_shapes import list_of, object_of, objects_of
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.sources.prometheus.errors import unreadable

#: The maximum number of values that are read.
_MAX_VALUES: Final = 20_000
_LABEL_NAMES: Final = re.compile(r"\s*label_names\((?:(.+))?\)\s*", re.DOTALL)
_LABEL_VALUES: Final = re.compile(r"\s*label_values\((?:(.+),)?\s*([a-zA-Z_$][\w.:]*|\"[^\"]+\")\s*\)\s*", re.DOTALL)
_METRICS: Final = re.compile(r"\s*metrics\((.*)\)\s*", re.DOTALL)
_QUERY_RESULT: Final = re.compile(r"\s*query_result\((.+)\)\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class VariableRequest:
    """A request to Prometheus, and the function that reads the values in the member ``data`` of the response."""

    path: str
    parameters: Mapping[str, str]
    values_of: Callable[[Any], Sequence[str]]
    method: str = "GET"  #: Empty for the method of the data source.

    def read(self, body: bytes) -> Sequence[str]:
        """Return the values in the body of a response. Raises SourceFailed if the body is not JSON."""
        try:
            document = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise unreadable("is not JSON") from error
        return self.values_of(object_of(document).get("data"))[:_MAX_VALUES]


def variable_request(text: str, time_range: TimeRange) -> VariableRequest:
    """Return the request of a query: one of the functions, or else a selector of series.

    Raises BadRequest for ``label_values`` without a valid label.
    """
    # The end is a second later, because the fraction of a second is cut off.
    seconds = {"start": str(int(time_range.start.timestamp())), "end": str(int(time_range.end.timestamp()) + 1)}
    if match := _LABEL_NAMES.fullmatch(text):
        return VariableRequest("api/v1/labels", seconds | _selector(match[1]), _strings)
    if match := _LABEL_VALUES.fullmatch(text):
        label = match[2].strip('"')
        return VariableRequest(f"api/v1/label/{quote(label, safe='')}/values", seconds | _selector(match[1]), _strings)
    if match := _METRICS.fullmatch(text):
        pattern = match[1].strip()
        # Without a selector, Prometheus returns all names. A selector that also matches empty names would be refused.
        selector = f'{{__name__=~".*(?:{_escaped(pattern)}).*"}}' if pattern not in ("", ".*", ".+") else None
        return VariableRequest("api/v1/label/__name__/values", seconds | _selector(selector), _strings)
    if match := _QUERY_RESULT.fullmatch(text):
        return VariableRequest("api/v1/query", {"query": match[1], "time": seconds["end"]}, _results, method="")
    if re.fullmatch(r"\s*label_values\(.*", text, re.DOTALL):
        raise BadRequest(f"its query {text[:80]!r} is not complete; write label_values(metric, label) or label_values(label)")
    return VariableRequest("api/v1/series", seconds | _selector(text), lambda data: [_series(labels) for labels in objects_of(data)])


def _selector(text: str | None) -> dict[str, str]:
    return {"match[]": text.strip()} if text and text.strip() else {}


def _escaped(pattern: str) -> str:
    return pattern.replace("\\", "\\\\").replace('"', '\\"')


def _strings(data: Any) -> list[str]:
    return [value for value in list_of(data) if isinstance(value, str)]


def _results(data: Any) -> list[str]:
    """Return the results of an instant query as text: the series, the value and the time in milliseconds."""
    document = object_of(data)
    result = document.get("result")
    if document.get("resultType") in ("scalar", "string"):
        # The first item is the time.
        return [str(item) for item in list_of(result)[1:]]
    texts = []
    for series in objects_of(result):
        sample = list_of(series.get("value"))
        if len(sample) == 2 and isinstance(sample[0], int | float):
            texts.append(f"{_series(object_of(series.get('metric')))} {sample[1]} {round(sample[0] * 1000)}")
    return texts


def _series(labels: Mapping[str, Any]) -> str:
    """Return a series as Grafana writes it: ``up{job="a",instance="b"}``."""
    pairs = ",".join(f'{key}="{value}"' for key, value in labels.items() if key != "__name__")
    return f"{labels.get('__name__', '')}{{{pairs}}}"
