"""Declared requests that the proxy forwards, by type of data source.

All of them only read data. Another type needs one entry in ``RULES_BY_TYPE``. Methods and paths are those of the published HTTP APIs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dashwright.common.errors import Forbidden
from dashwright.common.models.data_source_types import PROMETHEUS

_ANY_SEGMENT: Final = "*"


@dataclass(frozen=True, slots=True)
class ProxyRule:
    """A method and a path that may be forwarded."""

    method: str
    segments: tuple[str, ...]  #: ``*`` is any one segment.

    def permits(self, method: str, segments: Sequence[str]) -> bool:
        """Return whether a request matches the rule. A rule for GET permits HEAD, too."""
        return (
            (self.method == method or (self.method, method) == ("GET", "HEAD"))
            and len(self.segments) == len(segments)
            and all(pattern in (_ANY_SEGMENT, segment) for pattern, segment in zip(self.segments, segments, strict=True))
        )


def check_request(source_type: str, method: str, segments: Sequence[str]) -> None:
    """Raise Forbidden unless a data source of this type may receive the request."""
    rules = RULES_BY_TYPE.get(source_type)
    if rules is None:
        raise Forbidden(
            f"data sources of the type {source_type!r:.80} have no proxy; types with a proxy: {', '.join(sorted(RULES_BY_TYPE))}"
        )
    if not any(rule.permits(method, segments) for rule in rules):
        path = "/".join(segments)
        raise Forbidden(
            f"the proxy does not forward {method} {path!r:.120} to data sources of the type {source_type!r}; "
            "the reference of data sources lists what it forwards"
        )


def _rules(paths_by_methods: Mapping[str, str]) -> tuple[ProxyRule, ...]:
    """Return a rule for each pair of method and path. Blanks separate several methods, and several paths."""
    return tuple(
        ProxyRule(method, tuple(path.split("/")))
        for methods, paths in paths_by_methods.items()
        for path in paths.split()
        for method in methods.split()
    )


RULES_BY_TYPE: Final[Mapping[str, tuple[ProxyRule, ...]]] = {
    PROMETHEUS.id: _rules(
        {
            "GET POST": (
                "api/v1/query api/v1/query_range api/v1/query_exemplars api/v1/series api/v1/labels api/v1/format_query api/v1/parse_query"
            ),
            "GET": (
                "api/v1/label/*/values api/v1/metadata api/v1/rules api/v1/alerts api/v1/targets api/v1/targets/metadata "
                "api/v1/status/buildinfo api/v1/status/tsdb"
            ),
        }
    ),
    "loki": _rules(
        {
            "GET POST": "loki/api/v1/query loki/api/v1/query_range loki/api/v1/series loki/api/v1/labels loki/api/v1/index/stats",
            "GET": (
                "loki/api/v1/label/*/values loki/api/v1/index/volume loki/api/v1/index/volume_range loki/api/v1/patterns "
                "loki/api/v1/detected_labels loki/api/v1/detected_fields loki/api/v1/detected_field/*/values"
            ),
        }
    ),
    "tempo": _rules(
        {
            "GET": (
                "api/traces/* api/v2/traces/* api/search api/search/tags api/search/tag/*/values api/v2/search/tags "
                "api/v2/search/tag/*/values api/metrics/query api/metrics/query_range"
            )
        }
    ),
    "alertmanager": _rules({"GET": "api/v2/status api/v2/alerts api/v2/alerts/groups api/v2/receivers api/v2/silences api/v2/silence/*"}),
    "elasticsearch": _rules({"GET": "_mapping */_mapping", "POST": "_msearch"}),
    "graphite": _rules(
        {"GET POST": "render metrics/find", "GET": "metrics/expand functions tags tags/autoComplete/tags tags/autoComplete/values"}
    ),
}
