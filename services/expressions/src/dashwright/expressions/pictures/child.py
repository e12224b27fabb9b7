"""The child process that makes PNGs: ``python -I child.py``, started by ``plotter``. Of Dashwright it imports only ``confinement``.

A request on standard input is a length in four bytes, and as many bytes of JSON. A response on standard output is a length,
JSON, and a body, whose size is in the JSON. The process rejects an SVG that refers to anything outside of itself.
The kernel denies it network, other processes and all files except fonts.
"""

import json
import os
import re
import resource
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.parsers import expat

import fontpkg_arimo
import fontpkg_roboto_mono
import manimgx_fonts
import resvg

from dashwright.expressions import confinement

#: Descriptors of the pipes to the parent.
_STANDARD_INPUT, _STANDARD_OUTPUT = 0, 1
_LENGTH_BYTES = 4
_MAX_DESCRIPTORS = 64
#: The maximum number of characters of an error.
_MAX_ERROR_LENGTH = 500
_FONT_DIRECTORIES = ("/usr/share/fonts", "/usr/local/share/fonts", "/etc/fonts")
#: Elements that could read files or addresses, or run programs.
_FORBIDDEN_ELEMENTS = frozenset({"image", "feimage", "script", "foreignobject"})
#: A picture whose drawing allocates the memory that every picture needs.
_WARM_UP_SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text font-family="Arimo" y="9">a</text></svg>'
#: Characters outside of the blocks that the font of pictures has completely.
_UNCOVERED_CHARACTER = re.compile(
    r"[^\t\n\r -~\u00a0-\u0377\u0384-\u052f\u1e00-\u1eff\u2000-\u2064\u20a0-\u20be\u2100-\u214f\u2190-\u2195"
    r"\u2211\u2212\u221e\u2248\u2260\u2264\u2265\u25a0\u25b2\u25bc\u25cf]"
)
#: Characters that only change the one before them: variants, key caps and colours of skin.
_EMOJI_MODIFIERS = re.compile("[\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff]")
#: Emoji that joiners of width zero make one glyph, such as a family. The group is the first of them.
_JOINED_EMOJI = re.compile("([\u2190-\u2bff\U0001f000-\U0001faff])(?:\u200d[\u2190-\u2bff\U0001f000-\U0001faff])+")
#: The letters of flags, such as D and E, and the distance of their code points to those of Latin letters.
_FLAG_LETTERS = re.compile("[\U0001f1e6-\U0001f1ff]")
_FLAG_OFFSET = 0x1F1E6 - ord("A")


def _check_references(svg: str) -> None:
    """Raise ValueError if ``svg`` refers to anything but its own elements: pictures, scripts, addresses, entities."""

    def check_element(element: str, attributes: dict[str, str]) -> None:
        """Raise ValueError if an element is forbidden or refers to something outside of the drawing."""
        if element.rpartition(":")[2].lower() in _FORBIDDEN_ELEMENTS:
            raise ValueError(f"the drawing contains <{element}>, which could read files or addresses")
        for name, value in attributes.items():
            if name.rpartition(":")[2].lower() == "href" and not value.startswith("#"):
                raise ValueError(f"<{element}> of the drawing refers to something outside of it")
            # Without spaces and quotes, a reference to an element of the drawing always begins with ``url(#``.
            compact_value = re.sub(r"[ '\"]", "", value.lower())
            if "url(" in value.lower() and not compact_value.startswith("url(#"):
                raise ValueError(f"{name} of <{element}> of the drawing refers to something outside of it")

    # A document type may declare entities, whose texts come from files or addresses.
    def reject_document_type(*_: object) -> None:
        raise ValueError("the drawing declares a document type")

    parser = expat.ParserCreate()
    parser.StartElementHandler = check_element
    parser.StartDoctypeDeclHandler = reject_document_type
    try:
        parser.Parse(svg, True)
    except expat.ExpatError as error:
        raise ValueError(f"the drawing is not valid XML: {error}") from error


class _Renderer:
    """A renderer of SVGs. It reads the fonts of pictures into memory, because fonts in files would be mapped for each letter.

    Fonts of emoji, symbols and further scripts, and those of the machine, are used only for texts with characters that the font of
    pictures may lack.
    """

    def __init__(self) -> None:
        self._font_files = [file for font in (fontpkg_arimo, fontpkg_roboto_mono) for file in _files(Path(font.ROOT, "files"), "*.ttf")]
        self._own_fonts = _options(self._font_files)
        # Read before the process is confined.
        self._further_files = _files(Path(manimgx_fonts.__file__).parent, "*.ttf")
        self._all_fonts: resvg.usvg.Options | None = None

    def png(self, svg: str, scale: float) -> bytes:
        """Return the PNG of an SVG. Raises ValueError for an SVG that is invalid or refers to anything outside of itself."""
        _check_references(svg)
        options = self._options_for(svg)
        # Only the further fonts have emoji.
        if options is not self._own_fonts:
            svg = _with_single_emoji(svg)
        tree = resvg.usvg.Tree.from_str(svg, options)
        width, height = tree.int_size()
        size = max(1, round(width * scale)), max(1, round(height * scale))
        # The transform, the first two rows of a matrix, scales both coordinates.
        return bytes(resvg.render(tree, (scale, 0, 0, 0, scale, 0), bg_size=size))

    def _options_for(self, svg: str) -> "resvg.usvg.Options":
        """Return the options with the font of pictures, or with all fonts if the SVG has characters that it may lack."""
        if svg.isascii() or not _UNCOVERED_CHARACTER.search(svg):
            return self._own_fonts
        if self._all_fonts is None:
            self._all_fonts = _options([*self._font_files, *self._further_files])
            self._all_fonts.load_system_fonts()
        return self._all_fonts


def _files(directory: Path, pattern: str) -> list[bytes]:
    """Return the contents of the files in a directory whose names match a pattern."""
    return [file.read_bytes() for file in sorted(directory.glob(pattern))]


def _with_single_emoji(svg: str) -> str:
    """Return an SVG in which each emoji is a single character, because the library mixes up characters that become one glyph.

    Of a family, the first person remains, and of a flag, its letters.
    """
    svg = _JOINED_EMOJI.sub(r"\1", _EMOJI_MODIFIERS.sub("", svg))
    return _FLAG_LETTERS.sub(lambda letter: chr(ord(letter[0]) - _FLAG_OFFSET), svg)


def _options(font_files: Sequence[bytes]) -> "resvg.usvg.Options":
    """Return options of the library with these fonts only."""
    options = resvg.usvg.Options.default()
    for file in font_files:
        options.load_font_data(file)
    return options


def _respond(request: dict[str, Any], renderer: _Renderer) -> bytes:
    """Return the response to a request, with the picture or an error."""
    try:
        body = renderer.png(request["svg"], request["scale"])
    except BaseException as error:  # noqa: BLE001 (a panic of the library is not an Exception)
        return _message({"error": str(error)[:_MAX_ERROR_LENGTH], "size": 0})
    return _message({"size": len(body)}) + body


def _confine(parent: int, allocation_limit: int, renderer: _Renderer) -> confinement.Restrictions:
    """Confine this process. After its first picture it may allocate ``allocation_limit`` more bytes of memory."""
    confinement.drop_privileges(parent)
    # Opened here, because the process cannot open files after the next step.
    status = os.open("/proc/self/status", os.O_RDONLY) if sys.platform == "linux" else None
    landlock = confinement.restrict_files(_FONT_DIRECTORIES)
    renderer.png(_WARM_UP_SVG, 1)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_NOFILE, _MAX_DESCRIPTORS)
    if status is not None:
        _limit(resource.RLIMIT_DATA, _writable_bytes(status) + allocation_limit)
        os.close(status)
    return confinement.Restrictions(landlock, confinement.restrict_system_calls())


def _limit(resource_id: int, limit: int) -> None:
    """Limit a resource of this process, to its current hard limit if that is lower."""
    _, hard_limit = resource.getrlimit(resource_id)
    limit = limit if hard_limit == resource.RLIM_INFINITY else min(limit, hard_limit)
    resource.setrlimit(resource_id, (limit, limit))


def _writable_bytes(status: int) -> int:
    """Return the size in bytes of the writable memory of this process, used or not, from a descriptor of ``/proc/self/status``."""
    lines = os.pread(status, 10_000, 0).decode().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:"))


def _message(header: dict[str, Any]) -> bytes:
    """Return the start of a response: the length of the header and the header as JSON."""
    encoded = json.dumps(header).encode()
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
    """Return the next bytes of standard input. End the process if the input has ended."""
    content = bytearray()
    while len(content) < count:
        chunk = os.read(_STANDARD_INPUT, count - len(content))
        if not chunk:
            os._exit(0)
        content += chunk
    return bytes(content)


def main() -> None:
    """Serve requests until the parent ends."""
    renderer = _Renderer()
    request = _receive()
    restrictions = _confine(request["parent"], request["allocation_limit"], renderer)
    _send(_message({"size": 0, "restrictions": restrictions._asdict()}))
    while True:
        _send(_respond(_receive(), renderer))


if __name__ == "__main__":
    main()
