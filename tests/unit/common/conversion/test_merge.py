"""Laws of the merge of a client's changes, which restores the members that a conversion lost.

A client reads ``base``, which was converted from ``original``, and writes ``changed``.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.conversion.merge import lost_members, merge

# Few keys, among them those that identify items of lists, so that random documents have equal parts.
_JSON = st.recursive(
    st.none() | st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["kind", "name", "spec", "id", "x", "y"]), inner, max_size=5)
    ),
    max_leaves=20,
)


@given(base=_JSON, original=_JSON)
def test_an_unchanged_document_becomes_the_original(base: Any, original: Any) -> None:
    """If the client changes nothing, the result is the original document with everything that the conversion lost."""
    assert merge(base, original, base) == original


@given(base=_JSON, changed=_JSON)
def test_a_lossless_conversion_keeps_each_change(base: Any, changed: Any) -> None:
    """If the conversion lost nothing, the result is the document of the client."""
    assert merge(base, base, changed) == changed


@given(base=_JSON, original=_JSON, changed=_JSON)
def test_any_documents_are_merged(base: Any, original: Any, changed: Any) -> None:
    """Documents that have nothing in common are merged without an error."""
    merge(base, original, changed)


@given(document=_JSON)
def test_an_equal_document_lost_nothing(document: Any) -> None:
    """No member of a document differs from itself."""
    assert list(lost_members(document, document)) == []


@pytest.mark.parametrize(
    ("base", "original", "changed", "merged"),
    [
        pytest.param({"a": 1}, {"a": 1, "lost": 2}, {"a": 3}, {"a": 3, "lost": 2}, id="a lost member is restored next to a change"),
        pytest.param({"a": 1, "b": 0}, {"a": 1}, {"a": 2, "b": 0}, {"a": 2}, id="an added default is left out"),
        pytest.param({"a": 1, "b": 0}, {"a": 1}, {"a": 1, "b": 5}, {"a": 1, "b": 5}, id="a changed default is kept"),
        pytest.param({"a": 1, "b": 2}, {"a": 9, "b": 8}, {"b": 3}, {"b": 3}, id="a deleted member is not restored"),
        pytest.param(
            {"kind": "Rows", "n": 1},
            {"kind": "Tabs", "m": 1},
            {"kind": "Rows", "n": 2},
            {"kind": "Rows", "n": 2},
            id="members of an object of another kind are not restored",
        ),
        pytest.param(
            [{"name": "a"}, {"name": "c"}],
            [{"name": "a", "lost": 1}, {"name": "b"}, {"name": "c"}],
            [{"name": "new"}, {"name": "c"}, {"name": "a", "x": 1}],
            [{"name": "new"}, {"name": "c"}, {"name": "a", "x": 1, "lost": 1}, {"name": "b"}],
            id="a lost item follows its predecessor",
        ),
        pytest.param(
            [{"id": 1}, {"id": 2}],
            [{"id": 2, "l": 0}, {"id": 1}],
            [{"id": 1, "x": 1}, {"id": 2}],
            [{"id": 2, "l": 0}, {"id": 1, "x": 1}],
            id="items have the order of the original",
        ),
        pytest.param([[1], [2]], [[1, 0], [2]], [[1], [3]], [[1, 0], [3]], id="items without identity are matched by position"),
    ],
)
def test_losses_and_changes_are_merged(base: Any, original: Any, changed: Any, merged: Any) -> None:
    """Each part that the client did not change has its original value, and each changed part has the value of the client."""
    assert merge(base, original, changed) == merged


@pytest.mark.parametrize(
    ("original", "converted", "paths"),
    [
        ({"a": {"b": 1, "c": 2, "d": [], "e": False}}, {"a": {"b": 1}}, ["a.c"]),
        ({"v": [{"name": "x", "f": 1}, {"name": "y"}]}, {"v": [{"name": "x"}]}, ["v[0].f", "v[1]"]),
        ({"layout": {"kind": "Tabs", "tabs": []}}, {"layout": {"kind": "Rows", "rows": []}}, ["layout"]),
    ],
)
def test_lost_members_are_named_by_their_paths(original: Any, converted: Any, paths: list[str]) -> None:
    """Each lost member is named by its path. A member of the original with an empty or false value is not lost."""
    assert list(lost_members(original, converted)) == paths
