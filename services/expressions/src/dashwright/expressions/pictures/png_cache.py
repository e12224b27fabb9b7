"""Cache of recent PNGs by the SVG that they were made from, for refreshes of a dashboard whose data did not change."""

import hashlib
from collections import OrderedDict
from typing import Final

#: The default of the size of the cache in bytes: about 15 pictures of 50 panels, or 1,000 of one panel.
MAX_BYTES: Final = 16 * 1024 * 1024

_DIGEST_BYTES: Final = 32

#: An organization, the digest of an SVG, and a scale.
PngKey = tuple[int, bytes, float]


def key_of(org_id: int, svg: str, scale: float) -> PngKey:
    """Return the key of a PNG. It contains all that a PNG depends on: points, theme, size and texts are in the SVG.

    The organization is in it so that the time of a request does not reveal which pictures another organization has.
    """
    return org_id, hashlib.blake2b(svg.encode(), digest_size=_DIGEST_BYTES).digest(), scale


class PngCache:
    """A cache of PNGs of ``max_bytes`` in total (0 disables it). The least recently used PNG is evicted first."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._pngs: OrderedDict[PngKey, bytes] = OrderedDict()
        self._size = 0

    @property
    def size(self) -> int:
        """The bytes of all PNGs."""
        return self._size

    def find(self, key: PngKey) -> bytes | None:
        """Return the PNG of a key, or None."""
        png = self._pngs.get(key)
        if png is not None:
            self._pngs.move_to_end(key)
        return png

    def add(self, key: PngKey, png: bytes) -> None:
        """Add a PNG, unless it is larger than the cache."""
        self._size -= len(self._pngs.pop(key, b""))
        if len(png) > self._max_bytes:
            return
        self._pngs[key] = png
        self._size += len(png)
        while self._size > self._max_bytes:
            _, evicted = self._pngs.popitem(last=False)
            self._size -= len(evicted)
