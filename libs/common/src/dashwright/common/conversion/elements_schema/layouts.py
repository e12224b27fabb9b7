"""Schema of layouts, which may contain other layouts."""

from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.conversion.elements_schema.checks import (
    Check,
    Findings,
    Path,
    any_of,
    flag,
    integer,
    kinded,
    list_of,
    moderate_number,
    one_of,
    record,
    text,
)
from dashwright.common.conversion.parts import MAX_LAYOUT_DEPTH


def _element_name(value: Any, path: Path, findings: Findings) -> None:
    """Accept a string, and record it as a reference to an element."""
    text(value, path, findings)
    if isinstance(value, str):
        findings.references.append((path, value))


_REFERENCE: Final = record({"kind": one_of("ElementReference"), "name": _element_name})
_REPEAT_MEMBERS: Final[Mapping[str, Check]] = {"mode": one_of("variable"), "value": text}
_REPEAT: Final = record(_REPEAT_MEMBERS)

_CONDITION: Final = any_of(
    "kind",
    {
        "ConditionalRenderingVariable": kinded(
            record({"variable": text, "operator": one_of("equals", "notEquals", "matches", "notMatches"), "value": text}),
        ),
        "ConditionalRenderingData": kinded(record({"value": flag})),
        "ConditionalRenderingTimeRangeSize": kinded(record({"value": text})),
    },
)
_CONDITIONS: Final = kinded(
    record({"visibility": one_of("show", "hide"), "condition": one_of("and", "or")}, {"items": list_of(_CONDITION)}),
)

_GRID_ITEM: Final = kinded(
    record(
        {"x": integer, "y": integer, "width": integer, "height": integer, "element": _REFERENCE},
        {"repeat": record(_REPEAT_MEMBERS, {"direction": one_of("h", "v"), "maxPerRow": integer})},
    ),
)
_GRID: Final = kinded(record({}, {"items": list_of(_GRID_ITEM)}))

_HEIGHT_MODE: Final = one_of("short", "standard", "tall", "custom")
_AUTO_GRID_ITEM: Final = kinded(
    record({"element": _REFERENCE}, {"repeat": _REPEAT, "conditionalRendering": _CONDITIONS, "fitContent": flag})
)
_AUTO_GRID: Final = kinded(
    record(
        {},
        {
            "items": list_of(_AUTO_GRID_ITEM),
            "maxColumnCount": moderate_number,
            "columnWidthMode": one_of("narrow", "standard", "wide", "custom"),
            "columnWidth": moderate_number,
            "rowHeightMode": _HEIGHT_MODE,
            "rowHeight": moderate_number,
            "fillScreen": flag,
            "fitContent": flag,
            "matchRowHeights": flag,
            "minHeight": moderate_number,
            "minHeightMode": text,
            "maxHeight": moderate_number,
            "maxHeightMode": text,
        },
    ),
)

#: Layout for new rows and tabs.
PREFERENCES: Final = record({}, {"layout": any_of("kind", {"AutoGridLayout": _AUTO_GRID, "GridLayout": _GRID})})


def layout_check(section_members: Mapping[str, Check]) -> Check:
    """Return the check of a layout. ``section_members`` are the members of rows and tabs that only some versions have."""

    def nested(value: Any, path: Path, findings: Findings) -> None:
        """Check a layout, and count it as one level of nesting."""
        if findings.layout_depth > MAX_LAYOUT_DEPTH:
            findings.invalid(path, value, f"must not be inside more than {MAX_LAYOUT_DEPTH} other layouts")
            return
        findings.layout_depth += 1
        # ``layout`` is defined below this function, because its rows and tabs contain layouts that this function checks.
        layout(value, path, findings)
        findings.layout_depth -= 1

    section = {"title": text, "repeat": _REPEAT, "conditionalRendering": _CONDITIONS, "name": text, **section_members}
    row = kinded(record({"layout": nested}, {**section, "collapse": flag, "hideHeader": flag, "fillScreen": flag}))
    tab = kinded(record({"layout": nested}, section))
    layout = any_of(
        "kind",
        {
            "GridLayout": _GRID,
            "AutoGridLayout": _AUTO_GRID,
            "RowsLayout": kinded(record({}, {"rows": list_of(row)})),
            "TabsLayout": kinded(record({}, {"tabs": list_of(tab)})),
        },
    )
    return nested
