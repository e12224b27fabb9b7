"""What is known of an object without its body."""

from typing import Any

import pytest

from dashwright.common.kinds.kind import Extract
from dashwright.common.kinds.registry import DASHBOARD, FOLDER


@pytest.mark.parametrize(
    ("spec", "extract"),
    [
        ({"title": "T", "tags": ["b", "a"], "panels": []}, Extract("T", layout=False, tags=["b", "a"])),
        ({"title": "T", "elements": {}}, Extract("T", layout=True)),
        ({"title": "T", "layout": None}, Extract("T", layout=True)),
        ({"title": "T", "tags": "a"}, Extract("T")),
        ({"title": "T", "tags": ["a", 1, None, ["b"], "a\0"]}, Extract("T", tags=["a"])),
        ({"title": 7}, Extract()),
    ],
)
def test_a_dashboard_is_known_by_title_layout_and_tags(spec: dict[str, Any], extract: Extract) -> None:
    """Tags are texts that the database can hold; everything else in their place is none."""
    found = DASHBOARD.extract(spec)
    assert found._replace(tags=list(found.tags)) == extract._replace(tags=list(extract.tags), refs=[])


@pytest.mark.parametrize(
    ("spec", "refs"),
    [
        ({"panels": [{"libraryPanel": {"uid": "a"}}, {"type": "row", "panels": [{"libraryPanel": {"uid": "b"}}]}]}, ["a", "b"]),
        ({"rows": [{"panels": [{"libraryPanel": {"uid": "a"}}, {"libraryPanel": {"uid": "a"}}]}]}, ["a"]),
        ({"elements": {"panel-1": {"kind": "LibraryPanel", "spec": {"libraryPanel": {"uid": "a", "name": "A"}}}}}, ["a"]),
        ({"panels": [{"libraryPanel": {"uid": uid}} for uid in ("", "a b", "a\0", 7, None, "x" * 41)]}, []),
        ({"panels": [None, 1, {"libraryPanel": "a"}, {"panels": {}}], "rows": {}, "elements": []}, []),
    ],
)
def test_a_dashboard_is_known_by_the_library_panels_it_shows(spec: dict[str, Any], refs: list[str]) -> None:
    """In rows and in either layout, each once; what no library panel can be called is none."""
    assert DASHBOARD.extract(spec).refs == refs


def test_other_kinds_are_known_by_title() -> None:
    assert FOLDER.extract({"title": "T", "tags": ["a"], "layout": {}}) == Extract("T")
