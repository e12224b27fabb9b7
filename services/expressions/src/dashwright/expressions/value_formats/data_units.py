"""Units of data, of computation and of throughput. The symbols are those that Grafana shows."""

from collections.abc import Iterator
from typing import Final

from dashwright.expressions.value_formats.formatted import ValueFormat
from dashwright.expressions.value_formats.scales import count, iec, si

#: The letters of powers of 1000 or 1024 in the ids of units, from the first power.
_LETTERS: Final = "kmgtp"
#: The names of counted events by the id of their unit.
_COUNTS: Final = {
    "cps": "c/s",
    "ops": "ops/s",
    "reqps": "req/s",
    "rps": "rd/s",
    "wps": "wr/s",
    "iops": "io/s",
    "eps": "evt/s",
    "mps": "msg/s",
    "recps": "rec/s",
    "rowsps": "rows/s",
    "cpm": "c/m",
    "opm": "ops/m",
    "reqpm": "req/m",
    "rpm": "rd/m",
    "wpm": "wr/m",
    "epm": "evts/m",
    "mpm": "msgs/m",
    "recpm": "rec/m",
    "rowspm": "rows/m",
}


def _amounts() -> Iterator[tuple[str, ValueFormat]]:
    """Yield the units of amounts of data: bytes to petabytes, in powers of 1024 and of 1000."""
    for power, letter in enumerate(("", *_LETTERS)):
        yield f"{letter}bytes", iec("B", power)
        yield f"dec{letter}bytes", si("B", power)
    yield "bits", iec("b")
    yield "decbits", si("b")


def _rates() -> Iterator[tuple[str, ValueFormat]]:
    """Yield the units of rates of data, such as ``KiBs`` and ``Mbits``."""
    yield "pps", si("p/s")
    yield "binBps", iec("B/s")
    yield "Bps", si("B/s")
    yield "binbps", iec("b/s")
    yield "bps", si("b/s")
    for power, letter in enumerate(_LETTERS.upper(), 1):
        yield f"{letter}iBs", iec("B/s", power)
        yield f"{letter}ibits", iec("b/s", power)
        yield f"{letter}Bs", si("B/s", power)
        yield f"{letter}bits", si("b/s", power)


def _computation() -> Iterator[tuple[str, ValueFormat]]:
    """Yield the units of floating-point operations, and the rates of hashes."""
    yield "flops", si("FLOPS")
    # Grafana has no unit of kiloflops, so the letters begin at the second power of 1000.
    for power, letter in enumerate("mgtpezy", 2):
        yield f"{letter}flops", si("FLOPS", power)
    for power, letter in enumerate(("", "K", "M", "G", "T", "P", "E")):
        yield f"{letter}Hs", si("H/s", power)


#: The formats of units of data by id.
DATA_UNITS: Final[dict[str, ValueFormat]] = {
    **dict(_amounts()),
    **dict(_rates()),
    **dict(_computation()),
    **{unit_id: count(name) for unit_id, name in _COUNTS.items()},
}
