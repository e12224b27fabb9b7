"""Regressions of random points, compared with the libraries that Grafana's transformation uses."""

import json
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from tests.oracles.queue import node_packages

from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import CellType, Column, DataFrame
from dashwright.expressions.transformations.pipeline import apply_steps, read_steps

pytestmark = pytest.mark.oracles

_FOLDER: Final = Path(__file__).parent
_CASES: Final = 300


def curve(x: list[float], y: list[float], degree: int | None) -> tuple[list[float], list[float]]:
    """Return the positions and the values of Dashwright's curve through points: a polynomial of ``degree``, or a line without one."""
    options: dict[str, Any] = {"xFieldName": "x", "yFieldName": "y", "predictionCount": 7}
    if degree is not None:
        options |= {"modelType": "polynomial", "degree": degree}
    frame = DataFrame.of([Column("x", CellType.NUMBER, x), Column("y", CellType.NUMBER, y)], "A")
    result = apply_steps([frame], read_steps([{"id": "regression", "options": options}]), Context())
    # The first frame of the result has the points, and the second one the curve.
    positions, values = (list(column.values) for column in result[1].columns)
    return positions, values


def test_curves_have_the_values_of_the_libraries(tmp_path: Path) -> None:
    """Lines and polynomials agree at all positions, apart from the rounding errors of the normal equations."""
    random = Random(1)
    cases, own_results = [], []
    for _ in range(_CASES):
        count = random.randrange(6, 40)
        x = sorted(random.sample(range(-50, 50), count))
        y = [round(random.uniform(-100, 100), 2) for _ in x]
        degree = random.choice((None, 1, 2, 3, 4))
        positions, values = curve([float(number) for number in x], y, degree)
        cases.append({"x": x, "y": y, "degree": degree, "positions": positions})
        own_results.append(values)
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(cases))
    grafana_results = json.loads(node_packages.run(node_packages.install_packages(_FOLDER), _FOLDER / "regress.mjs", str(path)))
    for case, own, grafana in zip(cases, own_results, grafana_results, strict=True):
        assert own == pytest.approx(grafana, rel=1e-6, abs=1e-5), case
