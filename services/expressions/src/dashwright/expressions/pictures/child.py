"""The program that draws: ``python -I child.py``, started by ``plotter``. It imports only ``confinement`` of Dashwright.

Requests come through its standard input: a length of four bytes, as many bytes of JSON. Responses go to its standard
output: a length and JSON likewise, then as many bytes as the JSON says. It refuses an SVG that refers to anything
outside of itself, and the kernel refuses it files (but fonts), network and other processes.
"""

import json
import os
import resource
import struct
import sys
import zlib
from typing import Any
from xml.parsers import expat

import vl_convert

from dashwright.expressions import confinement

_OWN_DESCRIPTORS = 64
_LONGEST_TEXT = 500
_PACKING = 8
_FONTS = ("/usr/share/fonts", "/usr/local/share/fonts", "/etc/fonts")
_OUTSIDE = frozenset({"image", "feimage", "script", "foreignobject"})
_FIRST = {"data": {"values": [{"v": 1}]}, "mark": "point", "encoding": {"x": {"field": "v", "type": "quantitative"}}}


def _chart(spec: dict[str, Any]) -> bytes:
    svg: str = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    return svg.encode()


def _check_references(svg: str) -> None:
    """Raise ValueError if ``svg`` refers to anything but its own elements: pictures, scripts, addresses, entities."""

    def check(element: str, attributes: dict[str, str]) -> None:
        if element.rpartition(":")[2].lower() in _OUTSIDE:
            raise ValueError(f"the drawing holds <{element}>, which could read files or addresses")
        for name, value in attributes.items():
            if name.rpartition(":")[2].lower() == "href" and not value.startswith("#"):
                raise ValueError(f"<{element}> of the drawing refers to something outside of it")
            if "url(" in value.lower() and not value.lower().replace(" ", "").replace("'", "").replace('"', "").startswith("url(#"):
                raise ValueError(f"{name} of <{element}> of the drawing refers to something outside of it")

    def refuse(*_: object) -> None:
        raise ValueError("the drawing declares a document type")

    parser = expat.ParserCreate()
    parser.StartElementHandler = check
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(svg, True)
    except expat.ExpatError as error:
        raise ValueError(f"the drawing is not valid XML: {error}") from error


def _png(svg: str, scale: float) -> bytes:
    """Return the picture, compressed again: the library compresses for speed, at more than twice the size."""
    _check_references(svg)
    png = bytes(vl_convert.svg_to_png(svg, scale=scale))
    chunks, place = [], 8
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        chunks.append((png[place + 4 : place + 8], png[place + 8 : place + 8 + length]))
        place += 12 + length
    pixels = b"".join(data for kind, data in chunks if kind == b"IDAT")
    head, *others = [chunk for chunk in chunks if chunk[0] != b"IDAT"]
    packed = [head, (b"IDAT", zlib.compress(zlib.decompress(pixels), _PACKING)), *others]
    return png[:8] + b"".join(struct.pack(">I", len(data)) + kind + data + _sum(kind + data) for kind, data in packed)


def _sum(data: bytes) -> bytes:
    return struct.pack(">I", zlib.crc32(data))


def _respond(request: dict[str, Any]) -> bytes:
    """Return a message with the picture, or with the error."""
    try:
        body = _chart(request["chart"]) if "chart" in request else _png(request["svg"], request["scale"])
    except (ValueError, MemoryError) as error:
        return _message({"error": str(error)[:_LONGEST_TEXT], "size": 0})
    return _message({"size": len(body)}) + body


def _enclose(parent: int, room: int) -> confinement.Walls:
    """Confine this process. The limit of memory, ``room`` in bytes, is what it may take beyond the first picture."""
    confinement.leave_privileges(parent)
    status = os.open("/proc/self/status", os.O_RDONLY) if sys.platform == "linux" else None
    landlock = confinement.shut_files(_FONTS)
    # The library starts its threads with the first picture. Started after the confinement, they cannot open files either.
    _chart(_FIRST)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_NOFILE, _OWN_DESCRIPTORS)
    if status is not None:
        _limit(resource.RLIMIT_DATA, _data(status) + room)
        os.close(status)
    return confinement.Walls(landlock, confinement.shut_kernel())


def _limit(kind: int, value: int) -> None:
    _, most = resource.getrlimit(kind)
    value = value if most == resource.RLIM_INFINITY else min(value, most)
    resource.setrlimit(kind, (value, value))


def _data(status: int) -> int:
    """Return the bytes of memory that this process may write to by now, used or not."""
    lines = os.pread(status, 10_000, 0).decode().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:"))


def _message(head: dict[str, Any]) -> bytes:
    text = json.dumps(head).encode()
    return struct.pack(">I", len(text)) + text


def _send(message: bytes) -> None:
    rest = memoryview(message)
    while len(rest):
        rest = rest[os.write(1, rest) :]


def _receive() -> dict[str, Any]:
    """Return the next request; end the process if the parent is gone."""
    (length,) = struct.unpack(">I", _read(4))
    request: dict[str, Any] = json.loads(_read(length))
    return request


def _read(count: int) -> bytes:
    found = bytearray()
    while len(found) < count:
        part = os.read(0, count - len(found))
        if not part:
            os._exit(0)
        found += part
    return bytes(found)


def main() -> None:
    """Serve requests until the parent is gone."""
    request = _receive()
    walls = _enclose(request["parent"], request["room"])
    _send(_message({"size": 0, "walls": walls._asdict()}))
    while True:
        _send(_respond(_receive()))


if __name__ == "__main__":
    main()
