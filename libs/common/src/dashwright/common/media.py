"""The media types that frames are answered in, and which of them an ``Accept`` header asks for."""

from typing import Final

ARROW: Final = "application/vnd.apache.arrow.stream"
JSON: Final = "application/json"


def wants_arrow(accept: str) -> bool:
    """Whether a client with this ``Accept`` header gets Arrow: it names it, and no lower than JSON."""
    weights = dict(_weight(part) for part in accept.lower().split(","))
    weight = weights.get(ARROW, 0.0)
    return weight > 0 and weight >= weights.get(JSON, 0.0)


def _weight(part: str) -> tuple[str, float]:
    """A media range and its weight; one that cannot be read is none."""
    name, *parameters = (piece.strip() for piece in part.split(";"))
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip() == "q":
            try:
                return name, float(value)
            except ValueError:
                return name, 0.0
    return name, 1.0
