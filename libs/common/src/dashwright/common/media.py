"""Media types: parsing of ``Accept`` headers, and the choice between Arrow and JSON."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

ARROW: Final = "application/vnd.apache.arrow.stream"
JSON: Final = "application/json"
PNG: Final = "image/png"
SVG: Final = "image/svg+xml"
YAML: Final = "application/yaml"


class MediaRange(NamedTuple):
    """A media range that a client accepts, in lower case."""

    name: str
    parameters: Mapping[str, str]
    weight: float  #: 1 if missing, 0 if invalid.


def ranges(accept: str) -> Iterator[MediaRange]:
    """Yield the media ranges of an ``Accept`` header in the order in which it lists them."""
    for part in accept.split(","):
        name, *pieces = (piece.strip() for piece in part.split(";"))
        parameters = {key.strip().lower(): value.strip().strip('"') for key, _, value in (piece.partition("=") for piece in pieces)}
        yield MediaRange(name.lower(), parameters, _weight(parameters.pop("q", "1")))


def wants_arrow(accept: str) -> bool:
    """Return whether a client gets Arrow: its ``Accept`` header names Arrow with at least the weight of JSON."""
    weights = {item.name: item.weight for item in ranges(accept)}
    weight = weights.get(ARROW, 0.0)
    return weight > 0 and weight >= weights.get(JSON, 0.0)


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
