"""Input and output of the functions that draw a panel."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo

from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.pictures.dashboard import Panel
from dashwright.expressions.pictures.display.columns import FieldSettings
from dashwright.expressions.pictures.display.defaults import completed_defaults
from dashwright.expressions.pictures.theme import Theme


@dataclass(frozen=True, slots=True)
class PanelProps:
    """A panel with its query results, its size and the time range, as in Grafana's ``PanelProps``."""

    panel: Panel
    frames: Sequence[Frame]
    width: float  #: In pixels.
    height: float  #: In pixels.
    theme: Theme
    start: float  #: In milliseconds since 1970.
    end: float  #: In milliseconds since 1970.
    zone: tzinfo = UTC  #: The time zone of times, and of numbers that are shown as dates.

    @property
    def field_settings(self) -> FieldSettings:
        """The field configuration of the panel, with the defaults of the panel's type."""
        defaults = completed_defaults(self.panel.type, self.panel.defaults)
        return FieldSettings(defaults, self.panel.overrides, self.theme, self.zone)


@dataclass(frozen=True, slots=True)
class PanelDrawing:
    """A drawn panel."""

    elements: Sequence[str] = ()  #: The elements of the SVG. An id is derived from the content that it names, so it is unique.
    notes: Sequence[str] = ()  #: Messages about omitted parts, such as rows that do not fit.
    is_contained: bool = False  #: True if no element can exceed the panel, so that it is drawn without clipping.


@dataclass(frozen=True, slots=True)
class Cell:
    """A rectangle in a panel, in which one of the panel's values is drawn. Its position and size are in pixels."""

    x: float
    y: float
    width: float
    height: float


class NothingToDraw(Exception):
    """The panel shows ``message`` instead of a drawing. ``is_error`` is True if the reason is an error."""

    def __init__(self, message: str, *, is_error: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.is_error = is_error
