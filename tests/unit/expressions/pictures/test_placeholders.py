"""Panels that pictures do not draw show a reason."""

import pytest

from dashwright.expressions.pictures.panels import DRAW_FUNCTIONS
from dashwright.expressions.pictures.panels.placeholders import sentence_of


@pytest.mark.parametrize(
    "panel_type", ["news", "dashlist", "alertlist", "annolist", "welcome", "geomap", "nodeGraph", "canvas", "candlestick"]
)
def test_known_panels_say_what_they_show(panel_type: str) -> None:
    """A panel type of Grafana that pictures do not draw has a specific sentence."""
    assert panel_type not in DRAW_FUNCTIONS
    assert sentence_of(panel_type).endswith("which pictures do not contain.")


def test_unknown_panels_have_the_name_of_their_type() -> None:
    """The sentence of an unknown panel type quotes the type, shortened."""
    assert sentence_of("grafana-polystat-panel") == "This panel has the type 'grafana-polystat-panel', which pictures do not draw."
    assert sentence_of("") == "This panel has the type 'unknown', which pictures do not draw."
    assert len(sentence_of("x" * 1_000)) < 200
