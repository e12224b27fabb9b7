"""Choices that a classic dashboard leaves empty."""

from typing import Any

import pytest

from dashwright.common.conversion.context import EMPTY_CONTEXT
from dashwright.common.conversion.elements_schema import check_elements
from dashwright.common.conversion.versions import convert

# Options of fields in which a choice is empty or missing, by the id of the test.
FIELDS_WITH_EMPTY_CHOICES: dict[str, dict[str, Any]] = {
    "special-value": {"mappings": [{"type": "special", "options": {"match": None, "result": {"text": "0"}}}]},
    "null-values": {"nullValueMode": ""},
    "colour-of-a-series": {"color": {"mode": "palette-classic", "seriesBy": ""}},
    "threshold-mode": {"thresholds": {"mode": "", "steps": []}},
    "action-type": {"actions": [{"title": "A"}]},
    "action-method": {"actions": [{"title": "A", "type": "fetch", "fetch": {"url": "/"}}]},
}


@pytest.mark.parametrize("version", ["v2alpha1", "v2beta1", "v2"])
@pytest.mark.parametrize(
    "members",
    [
        *(
            pytest.param({"panels": [{"id": 1, "type": "stat", "fieldConfig": {"defaults": defaults}}]}, id=name)
            for name, defaults in FIELDS_WITH_EMPTY_CHOICES.items()
        ),
        pytest.param({"links": [{"title": "L", "type": "link", "url": "/", "placement": ""}]}, id="placement-of-a-link"),
        pytest.param({"weekStart": ""}, id="week-start"),
    ],
)
def test_a_dashboard_with_an_empty_choice_is_valid_after_its_conversion(members: dict[str, Any], version: str) -> None:
    """A choice that a classic dashboard leaves empty is valid in versions with elements, so that an export can be imported."""
    converted = convert({"title": "T", "schemaVersion": 42, **members}, "v0alpha1", version, EMPTY_CONTEXT)
    assert check_elements(converted, version).faults == []
