"""Texts, colours and reductions of random values, compared with the results of Grafana's library ``@grafana/data``."""

import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import pytest
from tests.oracles.grafana.random_values import NOW, RandomValues
from tests.oracles.queue import node_packages

from dashwright.expressions.calculations.table import CALCULATIONS
from dashwright.expressions.calculations.values import FieldValues
from dashwright.expressions.javascript.values import UNDEFINED
from dashwright.expressions.pictures.display.processor import ColumnTraits, DisplayProcessor
from dashwright.expressions.pictures.theme import THEMES, colour_of
from dashwright.expressions.value_formats.formatted import DateContext
from dashwright.expressions.value_formats.registry import value_format

pytestmark = pytest.mark.oracles

_FOLDER: Final = Path(__file__).parent
_NOW: Final = datetime.fromtimestamp(NOW / 1000, UTC)
#: Values that JSON cannot represent, by the names that the script writes.
_SPECIAL: Final = {"undefined": UNDEFINED, "NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_TRANSPARENT: Final = ("transparent", "rgba(0,0,0,0)", "#00000000")
#: The largest difference of a channel, from 0 to 255. Channels may differ because colours are rounded at other steps.
_MAX_COLOUR_DIFFERENCE: Final = 2


def results(folder: Path, cases: list[Any]) -> list[Any]:
    """Return the result of Grafana's library for each case. The files of the exchange are in ``folder``."""
    path = folder / "cases.json"
    path.write_text(json.dumps({"now": NOW, "cases": cases}))
    grafana_results: list[Any] = json.loads(node_packages.run(node_packages.install_packages(_FOLDER), _FOLDER / "display.cjs", str(path)))
    return grafana_results


def read_cell(value: Any) -> Any:
    """Return a JSON value with the special values that it contains, and with integers as floats, as in JavaScript."""
    if isinstance(value, dict) and "special" in value:
        return _SPECIAL[value["special"]]
    if isinstance(value, list):
        return [read_cell(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def check(cases: list[Any], differing: list[str]) -> None:
    """Raise AssertionError with the first ten differences if a case differs."""
    assert not differing, "\n".join([f"{len(differing)} of {len(cases)}", *differing[:10]])


def test_numbers_have_the_texts_of_grafana(tmp_path: Path) -> None:
    """The prefix, the text and the suffix of a number agree in every unit of Grafana's list and in custom ones."""
    (units,) = results(tmp_path, [{"kind": "units"}])
    source = RandomValues(1)
    cases = [source.format(units) for _ in range(60_000)]
    differing = []
    for case, grafana in zip(cases, results(tmp_path, cases), strict=True):
        zone = UTC if case["zone"] == "utc" else ZoneInfo(case["zone"])
        context = DateContext(zone, _NOW, case["withMilliseconds"])
        own = value_format(case["unit"])(float(case["value"]), case["decimals"], context)
        if [own.prefix, own.text, own.suffix] != grafana:
            differing.append(f"{own}, Grafana: {''.join(grafana)}\n  {json.dumps(case)}")
    check(cases, differing)


def test_cells_are_displayed_as_in_grafana(tmp_path: Path) -> None:
    """The text and the colour of a cell agree: by its mapping, its unit, its thresholds and the colour mode of its column."""
    source, theme = RandomValues(2), THEMES["dark"]
    cases = [source.display() for _ in range(8_000)]
    differing = []
    for case, grafana in zip(cases, results(tmp_path, cases), strict=True):
        field = case["field"]
        config = {name: value for name, value in field["config"].items() if value is not None}
        dates = DateContext(UTC, _NOW)
        traits = ColumnTraits(field["type"], (None, None), field["state"]["seriesIndex"], field["state"]["displayName"], dates)
        processor = DisplayProcessor(config, theme, traits)
        for value, expected in zip(read_cell(case["values"]), grafana, strict=True):
            own = processor.display(value)
            is_same = [own.prefix, own.text, own.suffix] == expected["parts"]
            if not is_same or not are_near_colours(own.colour, expected["color"]):
                differing.append(f"{value!r}: {own} {own.colour}, Grafana: {expected}\n  {json.dumps(case)}")
    check(cases, differing)


def are_near_colours(own: str, grafana: str) -> bool:
    """Return whether two colours are the same, apart from rounding."""
    if grafana in _TRANSPARENT or own in _TRANSPARENT:
        return grafana in _TRANSPARENT and own in _TRANSPARENT
    pairs = zip(bytes.fromhex(own[1:]), bytes.fromhex((colour_of(grafana, THEMES["dark"]) or grafana)[1:]), strict=True)
    return all(abs(own_channel - grafana_channel) <= _MAX_COLOUR_DIFFERENCE for own_channel, grafana_channel in pairs)


def test_columns_are_reduced_as_in_grafana(tmp_path: Path) -> None:
    """Each calculation agrees on numbers, texts and booleans, with nulls, NaN and infinities, and without values."""
    # The excluded names are aliases, which only old dashboards have.
    source, names = RandomValues(3), [name for name in CALCULATIONS if name not in ("current", "avg", "total")]
    cases = [source.reduce(names) for _ in range(1_000)]
    differing = []
    for case, grafana in zip(cases, results(tmp_path, cases), strict=True):
        field = FieldValues(read_cell(case["values"]), case["type"] == "number")
        for name, expected in zip(names, read_cell(grafana), strict=True):
            own = CALCULATIONS[name](field)
            if not are_equal(own, expected):
                differing.append(f"{name}: {own!r}, Grafana: {expected!r}\n  {json.dumps(case['values'])} {case['type']}")
    check(cases, differing)


def are_equal(own: Any, grafana: Any) -> bool:
    """Return whether two results are equal, apart from rounding errors."""
    if isinstance(own, list) and isinstance(grafana, list):
        return len(own) == len(grafana) and all(map(are_equal, own, grafana))
    if isinstance(own, float | int) and isinstance(grafana, float | int) and isinstance(own, bool) is isinstance(grafana, bool):
        return math.isclose(own, grafana, rel_tol=1e-12) or (math.isnan(own) and math.isnan(grafana))
    return type(own) is type(grafana) and bool(own == grafana)
