"""Schema of whole dashboards with elements and a layout.

A member is required if nothing sensible can replace it. Other members may be missing even if Grafana's schema requires them, because
programs leave them out, and conversions have a default for each. Members that Grafana 13 has introduced are accepted in each version
that can have them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from dashwright.common.conversion.choices import CURSOR_SYNCS
from dashwright.common.conversion.elements_schema.checks import (
    Check,
    Findings,
    TooManyFaults,
    flag,
    integer,
    list_of,
    map_of,
    one_of_or_empty,
    record,
    text,
    tree,
)
from dashwright.common.conversion.elements_schema.layouts import PREFERENCES, layout_check
from dashwright.common.conversion.elements_schema.panels import (
    DATA_QUERY,
    GROUPED_TRANSFORMATION,
    TYPED_QUERY,
    TYPED_SOURCE,
    TYPED_TRANSFORMATION,
    TYPED_VIZ,
    VIZ_CONFIG,
    annotation_check,
    element_check,
)
from dashwright.common.conversion.elements_schema.variables import variables_check
from dashwright.common.errors import Cause


class SchemaFindings(NamedTuple):
    """Causes found in a spec. Each list has at most 20."""

    #: Wrong types, missing members, references to missing elements, and names that occur twice.
    faults: Sequence[Cause]
    #: Members that the schema does not define. Only strict validation refuses them.
    unknown: Sequence[Cause]


def check_elements(spec: Mapping[str, Any], version: str) -> SchemaFindings:
    """Return the violations of the schema of ``version``, which is ``v2alpha1``, ``v2beta1`` or ``v2``."""
    findings = Findings()
    try:
        _SCHEMAS[version](spec, (), findings)
        elements = spec.get("elements")
        # If the elements are not an object, a fault has been reported, and faults of the references would only repeat it.
        if elements is None or isinstance(elements, dict):
            _check_references(elements or {}, findings)
    except TooManyFaults:
        pass
    return SchemaFindings(findings.faults, findings.unknown)


def _check_references(elements: Mapping[str, Any], findings: Findings) -> None:
    """Add a fault for each element that the layout names and that does not exist."""
    for path, name in findings.references:
        if name not in elements:
            findings.not_found(path, name, "add it to spec.elements or remove this item of the layout")


_TIME_SETTINGS: Final = record(
    {},
    {
        "timezone": text,
        "from": text,
        "to": text,
        "autoRefresh": text,
        "autoRefreshIntervals": list_of(text),
        "quickRanges": list_of(record({}, {"display": text, "from": text, "to": text})),
        "hideTimepicker": flag,
        "weekStart": one_of_or_empty("saturday", "monday", "sunday"),
        "fiscalYearStartMonth": integer,
        "nowDelay": text,
    },
)

_LINK: Final = record(
    {"title": text, "type": text},
    {
        "icon": text,
        "tooltip": text,
        "url": text,
        "tags": list_of(text),
        "asDropdown": flag,
        "targetBlank": flag,
        "includeVars": flag,
        "keepTime": flag,
        "placement": one_of_or_empty("inControlsMenu"),
        "origin": tree,
    },
)


def _schema(*, element: Check, annotation: Check, variables: Check, section_members: Mapping[str, Check]) -> Check:
    """Return the schema of a version from the checks of the parts in which versions differ."""
    return record(
        {"title": text},
        {
            "annotations": list_of(annotation),
            "cursorSync": one_of_or_empty(*CURSOR_SYNCS),
            "description": text,
            "editable": flag,
            "elements": map_of(element),
            "layout": layout_check(section_members),
            "links": list_of(_LINK),
            "liveNow": flag,
            "preload": flag,
            "revision": integer,
            "tags": list_of(text),
            "timeSettings": _TIME_SETTINGS,
            "variables": variables,
            "preferences": PREFERENCES,
        },
    )


def _grouped_schema(*, transformation: Check) -> Check:
    """Return the schema of a version whose queries contain their data source, and have its type as the member ``group``."""
    annotation = annotation_check({"query": DATA_QUERY}, {})
    variables = variables_check(query=DATA_QUERY, query_members={}, source=None)
    return _schema(
        element=element_check(query=DATA_QUERY, query_members={}, viz=VIZ_CONFIG, transformation=transformation),
        annotation=annotation,
        variables=variables,
        section_members={"variables": variables, "annotations": list_of(annotation)},
    )


_SCHEMAS: Final = {
    "v2alpha1": _schema(
        element=element_check(
            query=TYPED_QUERY,
            query_members={"datasource": TYPED_SOURCE},
            viz=TYPED_VIZ,
            transformation=TYPED_TRANSFORMATION,
        ),
        annotation=annotation_check({}, {"query": TYPED_QUERY, "datasource": TYPED_SOURCE}),
        variables=variables_check(query=TYPED_QUERY, query_members={"datasource": TYPED_SOURCE}, source=TYPED_SOURCE),
        section_members={},
    ),
    "v2beta1": _grouped_schema(transformation=TYPED_TRANSFORMATION),
    "v2": _grouped_schema(transformation=GROUPED_TRANSFORMATION),
}
