"""Transformations of random frames, compared with the results of Grafana's library ``@grafana/data``."""

import json
import math
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

import pytest
from tests.oracles.grafana.random_cases import TRANSFORMATIONS, Cases
from tests.oracles.grafana.unusual_cases import UnusualCases
from tests.oracles.queue import node_packages

from dashwright.common.errors import DashwrightError
from dashwright.expressions.javascript.values import UNDEFINED
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import CellType, Column, DataFrame
from dashwright.expressions.transformations.names import DisplayNames
from dashwright.expressions.transformations.pipeline import apply_steps, read_steps

pytestmark = pytest.mark.oracles

_FOLDER: Final = Path(__file__).parent
_CASES: Final = 3_000
_CASE_SOURCES: Final = {"usual": Cases(1), "unusual": UnusualCases(2)}
#: Values that JSON cannot represent, by the names that the script writes.
_SPECIAL: Final = {"undefined": UNDEFINED, "NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Any, Any]]:
    """Return the name of the source of each random case, the case, and the result of Grafana's library."""
    cases = [(name, source.case()) for name, source in _CASE_SOURCES.items() for _ in range(_CASES)]
    path = tmp_path_factory.mktemp("cases") / "cases.json"
    path.write_text(json.dumps([case for _, case in cases]))
    output = node_packages.run(node_packages.install_packages(_FOLDER), _FOLDER / "transform.cjs", str(path))
    return [(name, case, grafana) for (name, case), grafana in zip(cases, json.loads(output), strict=True)]


def transform(case: Any) -> list[Any]:
    """Return the frames of a case after Dashwright's transformations, as the script writes those of Grafana."""
    frames = [
        DataFrame.of(
            [
                Column(field.get("name", ""), CellType(field["type"]), read_cell(field["values"]), field.get("labels"), field["config"])
                for field in frame["fields"]
            ],
            frame["refId"],
        )
        for frame in case["frames"]
    ]
    for frame, source in zip(frames, case["frames"], strict=True):
        frame.name = source.get("name", "")
    result = apply_steps(frames, read_steps(case["transformations"]), Context())
    names = DisplayNames(result)
    return [
        {
            "name": frame.name,
            "refId": frame.ref_id,
            "fields": [
                {
                    "name": field.name,
                    "displayName": names.of(field, frame),
                    "type": field.type.value,
                    "labels": field.labels,
                    "config": field.config,
                    "values": [comparable_cell(cell) for cell in field.values],
                }
                for field in frame.columns
            ],
        }
        for frame in result
    ]


def comparable_cell(cell: Any) -> Any:
    """Return a cell with the columns of nested tables as lists, which can be compared."""
    if isinstance(cell, DataFrame):
        return [[column.name, column.type.value, [comparable_cell(value) for value in column.values]] for column in cell.columns]
    return [comparable_cell(item) for item in cell] if isinstance(cell, list) else cell


def read_cell(value: Any) -> Any:
    """Return a JSON value with the special values that it contains."""
    if isinstance(value, dict):
        return _SPECIAL[value["special"]] if "special" in value else {name: read_cell(item) for name, item in value.items()}
    return [read_cell(item) for item in value] if isinstance(value, list) else value


def are_same(own: Any, grafana: Any) -> bool:
    """Return whether two values are equal, apart from rounding errors. A boolean is not a number."""
    if isinstance(own, list) and isinstance(grafana, list):
        return len(own) == len(grafana) and all(map(are_same, own, grafana))
    if isinstance(own, float | int) and isinstance(grafana, float | int) and isinstance(own, bool) is isinstance(grafana, bool):
        return math.isclose(own, grafana, rel_tol=1e-12) or (math.isnan(own) and math.isnan(grafana))
    return type(own) is type(grafana) and bool(own == grafana)


def difference(own_frames: list[Any], grafana: list[Any]) -> str:
    """Return the first difference of frames, or an empty string. Grafana's columns may be shorter than their frame."""
    no_frame: dict[str, Any] = {"fields": []}
    no_field: dict[str, Any] = {}
    for own, grafana_frame in zip_longest(own_frames, grafana, fillvalue=no_frame):
        for field, expected in zip_longest(own["fields"], grafana_frame["fields"], fillvalue=no_field):
            values = read_cell(expected.get("values", []))
            missing_count = len(field.get("values", ())) - len(values)
            # A negative number of missing values adds nothing, so that additional values of Grafana are a difference.
            expected = {"labels": None, **expected, "values": values + [UNDEFINED] * missing_count}
            for key in ("name", "displayName", "type", "labels", "config", "values"):
                # Display names of columns without a name are compared in ``test_panels_agree.py``.
                if key == "displayName" and not field.get("name"):
                    continue
                if not are_same(field.get(key), expected.get(key)):
                    return f"{key} of {field.get('name')!r}: {field.get(key)!r}, Grafana: {expected.get(key)!r}"
        if (own.get("name"), own.get("refId")) != (grafana_frame.get("name"), grafana_frame.get("refId")):
            return f"{own.get('refId')!r} {own.get('name')!r}, Grafana: {grafana_frame.get('refId')!r} {grafana_frame.get('name')!r}"
    return ""


@pytest.mark.parametrize("name", TRANSFORMATIONS)
@pytest.mark.parametrize("source", _CASE_SOURCES)
def test_results_are_those_of_grafana(results: list[tuple[str, Any, Any]], source: str, name: str) -> None:
    """The frames equal those of Grafana in all cases that end with this transformation, unless Grafana fails."""
    differing, compared = [], 0
    for case_source, case, grafana in results:
        if case_source != source or case["transformations"][-1]["id"] != name or "error" in grafana:
            continue
        compared += 1
        try:
            difference_text = difference(transform(case), grafana["frames"])
        except DashwrightError as error:
            difference_text = error.message
        if difference_text:
            differing.append(f"{difference_text}\n  {json.dumps(case)}")
    assert compared > 20  # Enough cases of 3,000 end with each transformation.
    assert not differing, "\n".join([f"{len(differing)} of {compared}", *differing[:3]])
