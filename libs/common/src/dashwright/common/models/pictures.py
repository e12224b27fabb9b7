"""What the gateway and the jobs worker ask of the expressions service's pictures."""

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
    """How a picture is to be: ``width`` by ``height`` pixels; without height as high as its panels are.

    ``from`` and ``to`` are the dashboard's own where they are empty. ``panel`` is the id of the one panel to draw. ``scale`` is for PNG:
    how many pixels there are for one.
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
    """With the dashboard to draw. Who asks, and which data sources, stands in the headers of the message (``QueryContext``)."""

    spec: dict[str, Any]


def request_of(spec: bytes, drawing: PictureOptions) -> bytes:
    """A DrawRequest, with the JSON of the dashboard's spec as it is."""
    return b'{"spec":' + spec + b"," + drawing.to_json()[1:]
