"""Rows of the tables of batches and items."""

from collections.abc import Sequence
from typing import Final

from rich.text import Text

from dashwright.common.models.batch import BatchItemView
from dashwright.standalone.batches.client import Batch
from dashwright.standalone.terminal import printable_line

BATCH_COLUMNS: Final = ("name", "state", "progress", "total", "success", "error", "cancelled", "created")
ITEM_COLUMNS: Final = ("index", "id", "kind", "state", "attempts", "job", "error")
_STYLES: Final = {"pending": "dim", "open": "dim", "working": "cyan", "running": "cyan", "success": "green", "error": "red"}


def batch_row(batch: Batch) -> Sequence[Text]:
    """Return the cells of a batch."""
    status, counts = batch.status, batch.status.counts
    numbers = (counts.total, counts.success, counts.error, counts.cancelled)
    cells = [batch.name, status.state.value, f"{status.progress:.0f} %", *map(str, numbers), batch.created]
    return _row(cells, BATCH_COLUMNS.index("state"))


def item_row(item: BatchItemView) -> Sequence[Text]:
    """Return the cells of an item."""
    cells = [str(item.index), item.id, item.kind, item.state.value, str(item.attempts), item.job or "", item.error or ""]
    return _row(cells, ITEM_COLUMNS.index("state"))


def _row(cells: Sequence[str], state_index: int) -> Sequence[Text]:
    """Return cells as text of a terminal, with the colour of the state in the cell at ``state_index``."""
    texts = [Text(printable_line(cell)) for cell in cells]
    texts[state_index].stylize(_STYLES.get(cells[state_index], ""))
    return texts
