"""The child process that makes PNGs: ``python -I child.py``, started by ``plotter``. Of Dashwright it imports only ``confinement``.

A request on standard input is a length of four bytes and as many bytes of JSON. A response on standard output is a length,
JSON, and the body with the size that the JSON gives. The process rejects an SVG that refers to anything outside of itself.
The kernel denies it network, other processes and all files except fonts.
"""

import json
import os
import re
import resource
import struct
import sys
import zlib
from typing import Any
from xml.parsers import expat

import vl_convert

from dashwright.expressions import confinement

_STANDARD_INPUT, _STANDARD_OUTPUT = 0, 1
_LENGTH_BYTES = 4
_MAX_DESCRIPTORS = 64
_MAX_ERROR_LENGTH = 500
_COMPRESSION_LEVEL = 4
_PNG_SIGNATURE_LENGTH = 8
#: The length of a chunk and its type, and its checksum, in bytes.
_PNG_CHUNK_HEADER_LENGTH, _PNG_CHECKSUM_LENGTH = 8, 4
_FONTS = ("/usr/share/fonts", "/usr/local/share/fonts", "/etc/fonts")
_FORBIDDEN_ELEMENTS = frozenset({"image", "feimage", "script", "foreignobject"})
_WARM_UP_SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text font-family="Liberation Sans" y="9">a</text></svg>'


def _check_references(svg: str) -> None:
    """Raise ValueError if ``svg`` refers to anything but its own elements: pictures, scripts, addresses, entities."""

    def check_element(element: str, attributes: dict[str, str]) -> None:
        if element.rpartition(":")[2].lower() in _FORBIDDEN_ELEMENTS:
            raise ValueError(f"the drawing contains <{element}>, which could read files or addresses")
        for name, value in attributes.items():
            if name.rpartition(":")[2].lower() == "href" and not value.startswith("#"):
                raise ValueError(f"<{element}> of the drawing refers to something outside of it")
            # Without spaces and quotes, a reference to an element of the drawing always begins with ``url(#``.
            compact_value = re.sub(r"[ '\"]", "", value.lower())
            if "url(" in value.lower() and not compact_value.startswith("url(#"):
                raise ValueError(f"{name} of <{element}> of the drawing refers to something outside of it")

    def reject_document_type(*_: object) -> None:
        raise ValueError("the drawing declares a document type")

    parser = expat.ParserCreate()
    parser.StartElementHandler = check_element
    parser.StartDoctypeDeclHandler = reject_document_type
    try:
        parser.Parse(svg, True)
    except expat.ExpatError as error:
        raise ValueError(f"the drawing is not valid XML: {error}") from error


def _png(svg: str, scale: float) -> bytes:
    """Return the PNG of an SVG, with its pixels compressed again: the library compresses for speed, at more than twice the size."""
    _check_references(svg)
    png = bytes(vl_convert.svg_to_png(svg, scale=scale))
    chunks, offset = [], _PNG_SIGNATURE_LENGTH
    while offset < len(png):
        # A chunk of PNG has the length of its data, its type, the data and a checksum.
        length, chunk_type = struct.unpack(">I4s", png[offset : offset + _PNG_CHUNK_HEADER_LENGTH])
        data_offset = offset + _PNG_CHUNK_HEADER_LENGTH
        chunks.append((chunk_type, png[data_offset : data_offset + length]))
        offset = data_offset + length + _PNG_CHECKSUM_LENGTH
    pixels = b"".join(data for chunk_type, data in chunks if chunk_type == b"IDAT")
    header, *other_chunks = [chunk for chunk in chunks if chunk[0] != b"IDAT"]
    compressed_chunks = [header, (b"IDAT", zlib.compress(zlib.decompress(pixels), _COMPRESSION_LEVEL)), *other_chunks]
    return png[:_PNG_SIGNATURE_LENGTH] + b"".join(
        struct.pack(">I", len(data)) + chunk_type + data + _checksum(chunk_type + data) for chunk_type, data in compressed_chunks
    )


def _checksum(content: bytes) -> bytes:
    return struct.pack(">I", zlib.crc32(content))


def _respond(request: dict[str, Any]) -> bytes:
    """Return the response to a request, with the picture or an error."""
    try:
        body = _png(request["svg"], request["scale"])
    except (ValueError, MemoryError) as error:
        return _message({"error": str(error)[:_MAX_ERROR_LENGTH], "size": 0})
    return _message({"size": len(body)}) + body


def _confine(parent: int, allocation_limit: int) -> confinement.Restrictions:
    """Confine this process. After its first picture it may allocate ``allocation_limit`` more bytes of memory."""
    confinement.drop_privileges(parent)
    status = os.open("/proc/self/status", os.O_RDONLY) if sys.platform == "linux" else None
    landlock = confinement.restrict_files(_FONTS)
    # The library starts its threads with the first picture. Started after the confinement, they cannot open files either.
    _png(_WARM_UP_SVG, 1)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_NOFILE, _MAX_DESCRIPTORS)
    if status is not None:
        _limit(resource.RLIMIT_DATA, _writable_bytes(status) + allocation_limit)
        os.close(status)
    return confinement.Restrictions(landlock, confinement.restrict_system_calls())


def _limit(resource_id: int, limit: int) -> None:
    _, hard_limit = resource.getrlimit(resource_id)
    limit = limit if hard_limit == resource.RLIM_INFINITY else min(limit, hard_limit)
    resource.setrlimit(resource_id, (limit, limit))


def _writable_bytes(status: int) -> int:
    """Return the size in bytes of the writable memory of this process, used or not."""
    lines = os.pread(status, 10_000, 0).decode().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:"))


def _message(head: dict[str, Any]) -> bytes:
    encoded = json.dumps(head).encode()
    return struct.pack(">I", len(encoded)) + encoded


def _send(message: bytes) -> None:
    remainder = memoryview(message)
    while len(remainder):
        remainder = remainder[os.write(_STANDARD_OUTPUT, remainder) :]


def _receive() -> dict[str, Any]:
    """Return the next request. End the process if the parent has ended."""
    (length,) = struct.unpack(">I", _read_bytes(_LENGTH_BYTES))
    request: dict[str, Any] = json.loads(_read_bytes(length))
    return request


def _read_bytes(count: int) -> bytes:
    content = bytearray()
    while len(content) < count:
        chunk = os.read(_STANDARD_INPUT, count - len(content))
        if not chunk:
            os._exit(0)
        content += chunk
    return bytes(content)


def main() -> None:
    """Serve requests until the parent ends."""
    request = _receive()
    restrictions = _confine(request["parent"], request["allocation_limit"])
    _send(_message({"size": 0, "restrictions": restrictions._asdict()}))
    while True:
        _send(_respond(_receive()))


if __name__ == "__main__":
    main()
