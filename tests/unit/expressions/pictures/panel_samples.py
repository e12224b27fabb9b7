"""Panels and frames for the tests of drawings."""

import html
import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.pictures.dashboard import Panel, read_dashboard
from dashwright.expressions.pictures.panels import DRAW_FUNCTIONS
from dashwright.expressions.pictures.panels.drawing import PanelDrawing, PanelProps
from dashwright.expressions.pictures.theme import THEMES

#: The time range of the panels, in milliseconds since 1970.
START: Final = 0
END: Final = 600_000
#: A text that would be executed or loaded if a drawing did not escape it.
HOSTILE: Final = "</text><script>alert(1)</script><image href='https://example.com/'/>"


def times(count: int, step_ms: int = 60_000) -> Field:
    """Return a column of times from the start of the range."""
    return Field("time", FieldType.TIME, np.arange(count, dtype=np.int64) * step_ms * 1_000_000)


def numbers(name: str, *values: float | None, **labels: str) -> Field:
    """Return a column of numbers, in which None is a null."""
    nulls = np.array([value is None for value in values], dtype=bool)
    array = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return Field(name, FieldType.FLOAT64, array, nulls, labels=Labels.of(labels) if labels else None)


def texts(name: str, *values: str | None) -> Field:
    """Return a column of strings."""
    return Field(name, FieldType.STRING, np.array(values, dtype=object))


def series(*values: float | None, name: str = "Value", **labels: str) -> Frame:
    """Return a frame with a value for each minute."""
    return Frame([times(len(values)), numbers(name, *values, **labels)])


def panel_of(panel_type: str, *, defaults: dict[str, Any] | None = None, overrides: Sequence[Any] = (), **members: Any) -> Panel:
    """Return a panel as a dashboard has it; ``defaults`` and ``overrides`` are its field configuration."""
    field_config = {"defaults": defaults or {}, "overrides": list(overrides)}
    return read_dashboard({"panels": [{"type": panel_type, "title": "T", "fieldConfig": field_config, **members}]}).panels[0]


def props_of(panel: Panel, *frames: Frame, width: float = 400, height: float = 200, theme: str = "dark") -> PanelProps:
    """Return the panel, its frames, its size in pixels and its theme as the input of a drawing."""
    return PanelProps(panel, frames, width, height, THEMES[theme], START, END)


def draw_panel(
    panel_type: str, *frames: Frame, options: dict[str, Any] | None = None, width: float = 400, height: float = 200, **panel: Any
) -> PanelDrawing:
    """Return the drawing of a panel in the dark theme. ``panel`` has further members of the panel, as for ``panel_of``."""
    panel_to_draw = panel_of(panel_type, options=options or {}, **panel)
    return DRAW_FUNCTIONS[panel_to_draw.type](props_of(panel_to_draw, *frames, width=width, height=height))


def svg_of(drawing: PanelDrawing) -> str:
    """Return the SVG of a drawing."""
    return "".join(drawing.elements)


def visible_texts(drawing: PanelDrawing) -> list[str]:
    """Return the texts of a drawing, in order."""
    return [html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg_of(drawing))]
