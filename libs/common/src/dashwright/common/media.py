"""Media types: parsing of ``Accept`` headers, and the choice between Arrow and JSON."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

ARROW: Final = "application/vnd.apache.arrow.stream"
JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
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
    for element in accept.split(","):
        name, *assignments = (member.strip() for member in element.split(";"))
        pairs = (assignment.partition("=") for assignment in assignments)
        parameters = {key.strip().lower(): value.strip().strip('"') for key, _, value in pairs}
        yield MediaRange(name.lower(), parameters, _weight(parameters.pop("q", "1")))


def wants_arrow(accept: str) -> bool:
    """Return whether the response is Arrow, because ``accept`` names Arrow with at least the weight of JSON."""
    weights = {media_range.name: media_range.weight for media_range in ranges(accept)}
    weight = weights.get(ARROW, 0.0)
    return weight > 0 and weight >= weights.get(JSON, 0.0)


def _weight(value: str) -> float:
    """Return the weight of a media range, or 0 for an invalid one."""
    try:
        return float(value)
    except ValueError:
        return 0.0
