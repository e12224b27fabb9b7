"""Schema of elements, queries and annotations."""

from collections.abc import Mapping
from typing import Final

from dashwright.common.conversion.elements_schema.checks import (
    Check,
    any_of,
    anything,
    flag,
    integer,
    items,
    kinded,
    list_of,
    map_of,
    moderate_number,
    number,
    one_of,
    one_of_or_empty,
    record,
    text,
    tree,
)

#: References to data sources: ``TYPED_SOURCE`` in ``v2alpha1``, ``NAMED_SOURCE`` in later versions.
TYPED_SOURCE: Final = record({}, {"type": text, "uid": text})
NAMED_SOURCE: Final = record({}, {"name": text})

#: Queries: ``TYPED_QUERY`` in ``v2alpha1``, whose kind is the type of the data source, and ``DATA_QUERY`` in later versions.
TYPED_QUERY: Final = record({"kind": text}, {"spec": tree, "labels": map_of(text)})
DATA_QUERY: Final = record(
    {"kind": one_of("DataQuery"), "group": text},
    {"spec": tree, "version": text, "labels": map_of(text), "datasource": NAMED_SOURCE},
)

_MATCHER: Final = record({}, {"id": text, "scope": one_of("series", "nested", "annotation", "exemplar"), "options": anything})

_RESULT: Final = record({}, {"text": text, "color": text, "icon": text, "index": integer})


def _mapping(options: Check) -> Check:
    return record({"type": text, "options": options})


_VALUE_MAPPING: Final = any_of(
    "type",
    {
        "value": _mapping(map_of(_RESULT)),
        "range": _mapping(record({"result": _RESULT}, {"from": number, "to": number})),
        "regex": _mapping(record({"pattern": text, "result": _RESULT})),
        "special": _mapping(record({"match": one_of_or_empty("true", "false", "null", "nan", "null+nan", "empty"), "result": _RESULT})),
    },
)

_REQUEST: Final[Mapping[str, Check]] = {"method": one_of_or_empty("GET", "PUT", "POST", "DELETE", "PATCH"), "url": text}
_REQUEST_OPTIONS: Final[Mapping[str, Check]] = {"body": text, "queryParams": list_of(list_of(text)), "headers": list_of(list_of(text))}
_ACTION: Final = record(
    {"type": one_of_or_empty("fetch", "infinity"), "title": text},
    {
        "fetch": record(_REQUEST, _REQUEST_OPTIONS),
        "infinity": record({**_REQUEST, "datasourceUid": text}, _REQUEST_OPTIONS),
        "confirmation": text,
        "oneClick": flag,
        "variables": list_of(record({"key": text, "name": text, "type": text})),
        "style": record({}, {"backgroundColor": text}),
    },
)

_FIELD_CONFIG: Final = record(
    {},
    {
        "displayName": text,
        "displayNameFromDS": text,
        "description": text,
        "path": text,
        "writeable": flag,
        "filterable": flag,
        "unit": text,
        "decimals": number,
        "min": number,
        "max": number,
        "mappings": list_of(_VALUE_MAPPING),
        "thresholds": record(
            {"mode": one_of_or_empty("absolute", "percentage")},
            {"steps": list_of(record({"color": text}, {"value": number, "valueExpr": text}))},
        ),
        # Each release of Grafana adds modes of colors, so any name is accepted.
        "color": record(
            {"mode": text},
            {"fixedColor": text, "seriesBy": one_of_or_empty("min", "max", "last"), "gradient": anything, "gradientColorTo": text},
        ),
        "links": items,
        "actions": list_of(_ACTION),
        "noValue": text,
        "fieldMinMax": flag,
        "nullValueMode": one_of_or_empty("null", "connected", "null as zero"),
        "custom": tree,
    },
)

_FIELD_CONFIG_SOURCE: Final = record(
    {},
    {
        "defaults": _FIELD_CONFIG,
        "overrides": list_of(
            record({"matcher": _MATCHER}, {"__systemRef": text, "properties": list_of(record({}, {"id": text, "value": anything}))})
        ),
    },
)

_VIZ_OPTIONS: Final[Mapping[str, Check]] = {"options": tree, "fieldConfig": _FIELD_CONFIG_SOURCE, "itemOverrides": items}

#: Visualizations: ``TYPED_VIZ`` in ``v2alpha1``, whose kind is the id of the plugin, and ``VIZ_CONFIG`` in later versions.
TYPED_VIZ: Final = record({"kind": text, "spec": record({"pluginVersion": text}, _VIZ_OPTIONS)})
VIZ_CONFIG: Final = record({"kind": one_of("VizConfig"), "group": text}, {"version": text, "spec": record({}, _VIZ_OPTIONS)})

_TRANSFORMATION: Final[Mapping[str, Check]] = {
    "refId": text,
    "disabled": flag,
    "filter": _MATCHER,
    "topic": one_of("series", "annotations", "alertStates"),
    "options": anything,
    "origin": tree,
}
#: Transformations: ``TYPED_TRANSFORMATION`` up to ``v2beta1``, whose kind is their id, and ``GROUPED_TRANSFORMATION`` in ``v2``.
TYPED_TRANSFORMATION: Final = record({"kind": text, "spec": record({"id": text}, _TRANSFORMATION)})
GROUPED_TRANSFORMATION: Final = record({"kind": one_of("Transformation"), "group": text, "spec": record({}, _TRANSFORMATION)})

_QUERY_OPTIONS: Final = record(
    {},
    {
        "timeFrom": text,
        "timeTo": text,
        "maxDataPoints": integer,
        "timeShift": text,
        "queryCachingTTL": integer,
        "interval": text,
        "cacheTimeout": text,
        "hideTimeOverride": flag,
        "timeCompare": text,
    },
)

_LINK: Final = record({"title": text, "url": text}, {"targetBlank": flag})

_LIBRARY_PANEL: Final = kinded(record({"id": moderate_number, "title": text, "libraryPanel": record({"name": text, "uid": text})}))


def element_check(*, query: Check, query_members: Mapping[str, Check], viz: Check, transformation: Check) -> Check:
    """Return the check of an element. ``query_members`` are the members of a panel query next to the query itself."""
    panel_query = kinded(record({"query": query}, {"refId": text, "hidden": flag, **query_members}))
    group = record({}, {"queries": list_of(panel_query), "transformations": list_of(transformation), "queryOptions": _QUERY_OPTIONS})
    panel = record(
        {"id": moderate_number, "title": text, "data": kinded(group)},
        {"description": text, "links": list_of(_LINK), "transparent": flag, "subtitle": text, "vizConfig": viz},
    )
    return any_of("kind", {"Panel": kinded(panel), "LibraryPanel": _LIBRARY_PANEL})


def annotation_check(required: Mapping[str, Check], optional: Mapping[str, Check]) -> Check:
    """Return the check of an annotation query. The arguments are the members in which a version has its query and data source."""
    mapping = record({}, {"source": one_of("field", "text", "skip"), "value": text, "regex": text})
    spec = record(
        {"enable": flag, "iconColor": text, "name": text, **required},
        {
            "builtIn": flag,
            "hide": flag,
            "filter": record({}, {"exclude": flag, "ids": list_of(number)}),
            "placement": one_of_or_empty("inControlsMenu"),
            "mappings": map_of(mapping),
            "legacyOptions": tree,
            **optional,
        },
    )
    return kinded(spec)
