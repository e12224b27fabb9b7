"""Requests for pictures of dashboards, sent by the gateway and the jobs worker to the expressions worker."""

from typing import Any, Final, Literal

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from dashwright.common.models.api_model import ApiModel

MIN_WIDTH: Final = 200
#: The minimum of the width of a picture of one panel, which may be one column of the grid.
MIN_PANEL_WIDTH: Final = 30
MAX_WIDTH: Final = 3_000
MIN_HEIGHT: Final = 50
MAX_HEIGHT: Final = 12_000
MAX_SCALE: Final = 3.0

Theme = Literal["light", "dark"]
Format = Literal["png", "svg", "json", "outline"]
#: Collapsed rows as they are stored, or all rows expanded.
Rows = Literal["stored", "expanded"]


class PictureOptions(ApiModel):
    """Options of a picture.

    ``width`` and ``height`` are in pixels; without a height, the picture is as tall as its panels. If ``from`` or ``to`` is
    empty, that of the dashboard applies. ``panel`` is the id of the only panel to draw. ``scale`` is the device pixel ratio
    of a PNG: with 2, it has twice as many pixels in each direction. ``variables`` are values of the dashboard's variables
    by name, and ``uid`` is that of the dashboard. The format ``json`` is a report on what was drawn, and ``outline`` is a
    DashboardOutline of the panels on a ``page`` from 1. ``library_panels`` are the panels, by uid, that the dashboard
    refers to and the caller may read.
    """

    # Before the width, whose minimum depends on it.
    panel: int | None = None
    from_: str = Field("", alias="from")
    to: str = ""
    width: int = Field(1000, ge=MIN_PANEL_WIDTH, le=MAX_WIDTH)
    height: int | None = Field(None, ge=MIN_HEIGHT, le=MAX_HEIGHT)
    theme: Theme = "dark"
    format: Format = "png"
    scale: float = Field(1.0, ge=1.0, le=MAX_SCALE)
    title: str = ""
    variables: dict[str, list[str]] = Field(default_factory=dict)
    timezone: str = ""
    rows: Rows = "stored"
    page: int = Field(1, ge=1)
    uid: str = ""
    library_panels: dict[str, dict[str, Any]] = Field(default_factory=dict)

    @field_validator("width")
    @classmethod
    def _check_width(cls, width: int, info: ValidationInfo) -> int:
        if width < MIN_WIDTH and info.data.get("panel") is None:
            raise PydanticCustomError("greater_than_equal", f"Input should be greater than or equal to {MIN_WIDTH}")
        return width


class PictureRequest(PictureOptions):
    """Request to draw a dashboard.

    The headers of the message contain the caller and the permitted data sources (``QueryContext``).
    """

    spec: dict[str, Any]


def request_of(spec: bytes, options: PictureOptions) -> bytes:
    """Return a PictureRequest as JSON that contains the JSON of the spec unchanged."""
    options_without_brace = options.to_json()[1:]
    return b'{"spec":' + spec + b"," + options_without_brace
