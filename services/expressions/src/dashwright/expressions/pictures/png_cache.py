"""Cache of recent PNGs by the SVG that they were made from, for refreshes of a dashboard whose data did not change."""

import hashlib
from typing import Final

from dashwright.expressions.sized_cache import SizedCache

#: The default of the size of the cache in bytes: about 15 pictures of 50 panels, or 1,000 of one panel.
MAX_BYTES: Final = 16 * 1024 * 1024

_DIGEST_BYTES: Final = 32

#: An organization, the digest of an SVG, and a scale.
PngKey = tuple[int, bytes, float]


#: PNGs by their keys; ``size`` is in bytes.
PngCache = SizedCache[PngKey, bytes]


def key_of(org_id: int, svg: str, scale: float) -> PngKey:
    """Return the key of a PNG. It contains all that a PNG depends on: points, theme, size and texts are in the SVG.

    The organization is in it so that the time of a request does not reveal which pictures another organization has.
    """
    return org_id, hashlib.blake2b(svg.encode(), digest_size=_DIGEST_BYTES).digest(), scale
