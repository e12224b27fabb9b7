"""Media types: what an ``Accept`` header asks for, and whether a client of frames gets them as Arrow."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

ARROW: Final = "application/vnd.apache.arrow.stream"
JSON: Final = "application/json"
PNG: Final = "image/png"
SVG: Final = "image/svg+xml"
YAML: Final = "application/yaml"


class MediaRange(NamedTuple):
    """What a client takes. Name and parameters' names are in lower case; the weight is 1 where none is given, 0 where it is unreadable."""

    name: str
    parameters: Mapping[str, str]
    weight: float


def ranges(accept: str) -> Iterator[MediaRange]:
    """The media ranges of an ``Accept`` header in their order."""
    for part in accept.split(","):
        name, *pieces = (piece.strip() for piece in part.split(";"))
        parameters = {key.strip().lower(): value.strip().strip('"') for key, _, value in (piece.partition("=") for piece in pieces)}
        yield MediaRange(name.lower(), parameters, _weight(parameters.pop("q", "1")))


def wants_arrow(accept: str) -> bool:
    """Whether a client with this ``Accept`` header gets Arrow: it names it, and no lower than JSON."""
    weights = {item.name: item.weight for item in ranges(accept)}
    weight = weights.get(ARROW, 0.0)
    return weight > 0 and weight >= weights.get(JSON, 0.0)


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
