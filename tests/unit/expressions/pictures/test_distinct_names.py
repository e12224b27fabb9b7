"""Names in legends are cut to a width and remain distinct."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.expressions.pictures.panel_samples import draw_panel, series, visible_texts

from dashwright.expressions.pictures.panels.distinct_names import distinct_names
from dashwright.expressions.pictures.svg import text_width

#: Long names that only one letter in the middle distinguishes.
PODS = [f"kube-system/very-long-name-of-a-deployment-{zone}-5d9f7c6b8-with-a-long-name-of-a-container" for zone in ("a", "b", "c")]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["short", "names"], ["short", "names"]),
        (["first of a long name", "second of a long name"], ["first of a lon…", "second of a…"]),
        (["a long name of number 1", "a long name of number 2"], ["a lon…ber 1", "a lon…ber 2"]),
        (["a long name 1 of a pod of it", "a long name 2 of a pod of it"], ["…e 1 of a p…", "…e 2 of a p…"]),
    ],
)
def test_names_are_cut_where_they_are_equal(names: list[str], expected: list[str]) -> None:
    """Long names are cut at their ends, unless only their middle or their end distinguishes them."""
    font_size, width = 11, 68
    assert distinct_names(names, font_size, width) == expected


@given(st.lists(st.text("ab", min_size=30, max_size=60), min_size=2, max_size=12, unique=True))
def test_no_two_names_become_equal(names: list[str]) -> None:
    """Different names remain different if a few characters fit, and no name exceeds the width."""
    font_size, width = 11, 100
    cut_names = distinct_names(names, font_size, width)
    assert len(set(cut_names)) == len(names)
    assert max(text_width(name, font_size) for name in cut_names) <= width


@pytest.mark.parametrize("calcs", [[], ["mean", "max"]])
@pytest.mark.parametrize("placement", ["bottom", "right"])
@pytest.mark.parametrize("mode", ["list", "table"])
def test_entries_of_narrow_legends_are_distinct(mode: str, placement: str, calcs: list[str]) -> None:
    """Entries of a narrow panel have different texts, although their names are equal at both ends."""
    legend = {"displayMode": mode, "placement": placement, "calcs": calcs}
    frames = [series(1, 2, name=name) for name in PODS]
    texts = visible_texts(draw_panel("timeseries", *frames, options={"legend": legend}, width=330, height=260))
    entries = [text for text in texts if "…" in text]
    assert len(set(entries)) == len(PODS), texts


def test_values_of_a_list_are_not_cut_with_its_names() -> None:
    """If the names of a list are cut, the calculated values after the names are complete."""
    legend = {"displayMode": "list", "placement": "bottom", "calcs": ["max"]}
    frames = [series(1, 2, name=name) for name in PODS]
    texts = visible_texts(draw_panel("timeseries", *frames, options={"legend": legend}, width=330, height=260))
    assert sum(text.endswith("Max: 2") for text in texts) == len(PODS), texts
