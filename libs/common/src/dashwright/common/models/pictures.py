"""Requests of the gateway and the jobs worker to the expressions service for pictures."""

from typing import Any, Final, Literal

from pydantic import Field

from dashwright.common.models.shape import Shape

NARROWEST: Final = 200
WIDEST: Final = 3_000
LOWEST: Final = 50
HIGHEST: Final = 12_000
LARGEST_SCALE: Final = 3.0

Theme = Literal["light", "dark"]
Format = Literal["png", "svg"]


class PictureOptions(Shape):
    """Options of a picture: ``width`` by ``height`` pixels; without height as high as its panels.

    An empty ``from`` or ``to`` is that of the dashboard. ``panel`` is the id of the only panel to draw. ``scale`` is
    the number of pixels for each pixel of a PNG.
    """

    from_: str = Field("", alias="from")
    to: str = ""
    width: int = Field(1000, ge=NARROWEST, le=WIDEST)
    height: int | None = Field(None, ge=LOWEST, le=HIGHEST)
    theme: Theme = "dark"
    format: Format = "png"
    scale: float = Field(1.0, ge=1.0, le=LARGEST_SCALE)
    title: str = ""
    panel: int | None = None


class PictureRequest(PictureOptions):
    """Dashboard to draw.

    Caller and permitted data sources are in the headers of the message (``QueryContext``).
    """

    spec: dict[str, Any]


def request_of(spec: bytes, drawing: PictureOptions) -> bytes:
    """Return a PictureRequest as JSON that contains the JSON of the spec unchanged."""
    return b'{"spec":' + spec + b"," + drawing.to_json()[1:]
