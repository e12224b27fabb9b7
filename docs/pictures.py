"""Writes the pictures of the README from the dashboard in examples/pictures (``make docs``).

The time range is fixed, so that each run writes the same pictures.
"""

import asyncio
import json
import time
from pathlib import Path
from typing import Final, Literal

from dashwright.common.models.pictures import PictureRequest
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions import queries
from dashwright.expressions.pictures.picture import draw
from dashwright.expressions.pictures.plotter import Plotter

ROOT: Final = Path(__file__).parents[1]
EXAMPLE: Final = ROOT / "examples" / "pictures" / "storefront.json"
PICTURES: Final = ROOT / "docs" / "pictures"
THEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")


async def main() -> None:
    """Write one picture per theme."""
    spec = json.loads(EXAMPLE.read_text())
    plotter = Plotter()
    for theme in THEMES:
        request = PictureRequest(spec=spec, from_="1767225600000", to="1767247200000", width=1000, theme=theme)
        picture = await draw(request, QueryContext(org_id=1), queries.QuerySettings(), plotter, time.monotonic() + 60)
        (PICTURES / f"{EXAMPLE.stem}-{theme}.png").write_bytes(picture.body)
    await plotter.stop()


if __name__ == "__main__":
    asyncio.run(main())
