"""Files with elements and a layout that are invalid or extreme: each is refused with its reason, or stored as a whole."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from tests.unit.jobs_worker.doubles import Store, run_sync

from dashwright.common.models.provisioning import State
from dashwright.jobs_worker.domain.file_forms import MAX_FILE_BYTES

_Json = dict[str, Any]


def _element(number: int, kind: str = "Panel") -> _Json:
    """Return an element of a dashboard, by default a panel without queries."""
    fields: _Json = {"options": {}, "fieldConfig": {"defaults": {}, "overrides": []}}
    spec = {
        "id": number,
        "title": f"Panel {number}",
        "description": "",
        "links": [],
        "data": {"kind": "QueryGroup", "spec": {"queries": [], "transformations": [], "queryOptions": {}}},
        "vizConfig": {"kind": "VizConfig", "group": "text", "version": "", "spec": fields},
    }
    return {"kind": kind, "spec": spec}


def _grid(names: Iterable[str]) -> _Json:
    """Return a layout that refers to elements by name."""
    position = {"x": 0, "y": 0, "width": 1, "height": 1}
    items = [{"kind": "GridLayoutItem", "spec": {**position, "element": {"kind": "ElementReference", "name": name}}} for name in names]
    return {"kind": "GridLayout", "spec": {"items": items}}


def _nested_rows(depth: int) -> _Json:
    """Return a layout with a grid inside ``depth`` layouts of rows."""
    layout = _grid(["a"])
    for _ in range(depth):
        layout = {"kind": "RowsLayout", "spec": {"rows": [{"kind": "RowsLayoutRow", "spec": {"title": "R", "layout": layout}}]}}
    return layout


def _file(name: str, **spec: Any) -> bytes:
    """Return a file of a complete dashboard with one panel, in which members of the spec are replaced."""
    time = {"from": "now-1h", "to": "now", "timezone": "utc", "autoRefresh": "", "autoRefreshIntervals": [], "hideTimepicker": False}
    complete = {
        "title": name,
        "tags": [],
        "cursorSync": "Off",
        "preload": False,
        "timeSettings": {**time, "fiscalYearStartMonth": 0},
        "links": [],
        "annotations": [],
        "variables": [],
        "elements": {"a": _element(1)},
        "layout": _grid(["a"]),
    }
    tree = {"apiVersion": "dashboard.grafana.app/v2", "kind": "Dashboard", "metadata": {"name": name}, "spec": {**complete, **spec}}
    return json.dumps(tree).encode()


def _text_variable(name: str) -> _Json:
    """Return a variable whose value users enter as text."""
    spec = {"name": name, "hide": "dontHide", "skipUrlSync": False, "query": "", "current": {"text": "", "value": ""}}
    return {"kind": "TextVariable", "spec": spec}


_INVALID: dict[str, tuple[_Json, str]] = {
    "no element of a reference": ({"layout": _grid(["b"])}, 'spec.layout.spec.items[0].spec.element.name: Not found: "b"'),
    "50 layouts inside each other": ({"layout": _nested_rows(50)}, "nested too deeply"),
    "number instead of elements": ({"elements": 5}, "spec.elements: Invalid value: 5: must be an object"),
    "kind of an element": ({"elements": {"a": _element(1, "Robot")}}, 'spec.elements.a.kind: Unsupported value: "Robot"'),
    "kind of a layout": ({"layout": {"kind": "SpiralLayout", "spec": {}}}, 'spec.layout.kind: Unsupported value: "SpiralLayout"'),
    "kind of a variable": ({"variables": [{"kind": "Robot", "spec": {}}]}, 'spec.variables[0].kind: Unsupported value: "Robot"'),
    "two variables of one name": (
        {"variables": [_text_variable("v"), _text_variable("v")]},
        'spec.variables[1].spec.name: Duplicate value: "v": choose another name',
    ),
    "5 MB": ({"description": "x" * MAX_FILE_BYTES}, f"at most {MAX_FILE_BYTES} are read"),
}


@pytest.mark.parametrize(("spec", "reason"), _INVALID.values(), ids=_INVALID)
async def test_an_invalid_file_is_refused_and_the_others_are_stored(spec: _Json, reason: str) -> None:
    """An invalid file is refused with its reason, and nothing of the file is stored, until it is corrected."""
    store = Store()
    progress = await run_sync({"good.json": _file("good"), "bad.json": _file("bad", **spec)}, store)
    assert progress.outcome[0] is State.ERROR
    (error,) = progress.errors
    assert reason in error
    assert error.endswith("(file: bad.json, action: create)")
    assert [key.name for key in store.objects] == ["good"]
    progress = await run_sync({"good.json": _file("good"), "bad.json": _file("bad")}, store)
    assert progress.errors == []
    assert {key.name for key in store.objects} == {"good", "bad"}


async def test_10_000_elements_are_stored() -> None:
    """A file of nearly 5 MB is stored with all its elements."""
    names = [f"e{number}" for number in range(10_000)]
    body = _file("large", elements={name: _element(number) for number, name in enumerate(names, 1)}, layout=_grid(names))
    store = Store()
    progress = await run_sync({"large.json": body}, store)
    assert progress.errors == []
    (stored,) = store.objects.values()
    assert len(json.loads(stored.spec)["elements"]) == 10_000
