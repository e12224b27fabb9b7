"""Unique names of queries and ids of panels."""

from collections.abc import Iterable, Iterator
from itertools import count
from string import ascii_uppercase

from dashwright.common.conversion.migration.document import Object, number


def free_ref_ids(used: set[str]) -> Iterator[str]:
    """Yield the names of queries that are not used, from A to Z, then AA to ZZ and so on."""
    for length in count(1):
        for index in range(26**length):
            # The digits of the index in base 26.
            name = "".join(ascii_uppercase[index // 26**exponent % 26] for exponent in reversed(range(length)))
            if name not in used:
                yield name


def make_ids_unique(panels: Iterable[Object]) -> None:
    """Give each panel without a positive id, or with the id of a panel before it, an id above all others."""
    all_panels = list(panels)
    panel_ids = [_panel_id(panel) for panel in all_panels]
    # _panel_id returns 0 for a panel without a positive id.
    used = {0.0}
    if used.isdisjoint(panel_ids) and len(set(panel_ids)) == len(panel_ids):
        return
    new_ids = count(int(max(panel_ids)) + 1)
    for panel, panel_id in zip(all_panels, panel_ids, strict=True):
        if panel_id in used:
            panel["id"] = next(new_ids)
        used.add(panel_id)


def highest_panel_id(panels: Iterable[Object]) -> int:
    """Return the highest id of panels, or 0."""
    return int(max(map(_panel_id, panels), default=0))


def _panel_id(panel: Object) -> float:
    """Return the positive id of a panel, or 0."""
    panel_id = panel.get("id")
    if type(panel_id) is int and 0 < panel_id <= 2**53:
        return panel_id
    panel_id = number(panel_id)
    return panel_id if panel_id is not None and panel_id > 0 else 0
