"""Extracts of an object that are stored next to its spec."""

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
def test_a_dashboard_extract_has_title_layout_and_tags(spec: dict[str, Any], extract: Extract) -> None:
    """The extract has the title, whether there is a layout, and the tags that the database can store. Other values are ignored."""
    extracted = DASHBOARD.extract(spec)
    assert extracted.title == extract.title
    assert extracted.layout == extract.layout
    assert list(extracted.tags) == list(extract.tags)
    assert extracted.subtype == ""
    assert extracted.refs == []


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
def test_a_dashboard_extract_has_its_library_panels(spec: dict[str, Any], refs: list[str]) -> None:
    """The extract has the uid of each library panel once, from panels, rows and elements. Invalid uids are ignored."""
    assert DASHBOARD.extract(spec).refs == refs


def test_the_extract_of_other_kinds_is_the_title() -> None:
    """The extract of a kind without further rules, such as a folder, has only the title."""
    assert FOLDER.extract({"title": "T", "tags": ["a"], "layout": {}}) == Extract("T")
