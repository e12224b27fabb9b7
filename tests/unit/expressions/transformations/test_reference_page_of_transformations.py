"""The reference page of transformations."""

import re
from pathlib import Path

from dashwright.expressions.transformations import context, pipeline
from dashwright.expressions.transformations.registry import TRANSFORMATIONS

PAGE = Path(__file__).parents[4] / "docs/reference/transformations.md"


def test_the_page_lists_every_transformation_and_limit() -> None:
    """The table has each id once, and the limits are those of the code."""
    text = PAGE.read_text()
    table = text[text.index("## All transformations") : text.index("## Differences")]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert sorted(name for row in rows for name in re.findall(r"`(\w+)`", row)) == sorted(TRANSFORMATIONS)
    for limit in (pipeline.MAX_TRANSFORMATIONS, context.MAX_FRAMES, context.MAX_COLUMNS):
        assert f"{limit:,} " in text
