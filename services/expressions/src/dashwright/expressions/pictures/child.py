"""The program that draws: ``python -I child.py``, started by ``plotter``. It knows nothing of Dashwright and imports nothing of it.

What it is told comes through its standard input: a length of four bytes, as many bytes of JSON. What it answers goes to its standard
output: a length and JSON likewise, then as many bytes as that says. It reads no address: none is allowed, and no spec holds one.
"""

import ctypes
import json
import os
import resource
import signal
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import vl_convert

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_OWN_DESCRIPTORS = 64
_TOLD = 500
_PACKING = 8
_FIRST = {"data": {"values": [{"v": 1}]}, "mark": "point", "encoding": {"x": {"field": "v", "type": "quantitative"}}}


def _chart(spec: dict[str, Any]) -> bytes:
    svg: str = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    return svg.encode()


def _png(svg: str, scale: float) -> bytes:
    """Packed anew: the library packs for speed, which takes more than twice the bytes."""
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


def _answer(asked: dict[str, Any]) -> bytes:
    """A message: the picture, or what went wrong with it."""
    try:
        body = _chart(asked["chart"]) if "chart" in asked else _png(asked["svg"], asked["scale"])
    except (ValueError, MemoryError) as error:
        return _message({"error": str(error)[:_TOLD], "size": 0})
    return _message({"size": len(body)}) + body


def _enclose(parent: int, room: int) -> None:
    """Sets the limits, after a first picture: what the engine takes for itself is no part of the ``room`` in bytes."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the kernel was asked
        os._exit(1)
    _chart(_FIRST)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_NOFILE, _OWN_DESCRIPTORS)
    if sys.platform == "linux":
        _limit(resource.RLIMIT_DATA, _data() + room)


def _limit(kind: int, value: int) -> None:
    _, most = resource.getrlimit(kind)
    value = value if most == resource.RLIM_INFINITY else min(value, most)
    resource.setrlimit(kind, (value, value))


def _data() -> int:
    """Bytes of memory that this process may write to by now, used or not."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:"))


def _message(told: dict[str, Any]) -> bytes:
    text = json.dumps(told).encode()
    return struct.pack(">I", len(text)) + text


def _send(message: bytes) -> None:
    rest = memoryview(message)
    while len(rest):
        rest = rest[os.write(1, rest) :]


def _receive() -> dict[str, Any]:
    """What is asked next; ends the process where nobody asks any more."""
    (length,) = struct.unpack(">I", _read(4))
    asked: dict[str, Any] = json.loads(_read(length))
    return asked


def _read(count: int) -> bytes:
    found = bytearray()
    while len(found) < count:
        part = os.read(0, count - len(found))
        if not part:
            os._exit(0)
        found += part
    return bytes(found)


def main() -> None:
    asked = _receive()
    _enclose(asked["parent"], asked["room"])
    _send(_message({"size": 0}))
    while True:
        _send(_answer(_receive()))


if __name__ == "__main__":
    main()
