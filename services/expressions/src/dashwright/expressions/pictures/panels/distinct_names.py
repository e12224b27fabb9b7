"""Names that are cut to a width and remain distinct."""

from collections.abc import Sequence
from typing import Final

from dashwright.expressions.pictures.svg import text_width, truncated, truncated_in_middle

_ELLIPSIS: Final = "…"
#: The characters before and after the first difference of names that are visible in any case.
_BEFORE: Final = 2
_AFTER: Final = 2


def distinct_names(names: Sequence[str], size: float, width: float) -> list[str]:
    """Return names as far as they fit into a width in pixels, at a font ``size`` in pixels.

    Names that look equal if they are cut at their ends are cut in the middle, or else where they are equal.
    """
    found: list[list[str]] = []
    for cut in (truncated, truncated_in_middle):
        found.append([cut(name, size, width) for name in names])
        if len(set(found[-1])) == len(set(names)):
            return found[-1]
    differing = _differing_parts(sorted(set(names)), size, width)
    return max(*found, [differing[name] for name in names], key=lambda cut_names: len(set(cut_names)))


def _differing_parts(names: Sequence[str], size: float, width: float) -> dict[str, str]:
    """Return the parts of names from shortly before their first difference. Names that are equal after it are cut there, too."""
    shortest = min(map(len, names))
    difference = next((index for index in range(shortest) if len({name[index] for name in names}) > 1), shortest)
    start = max(difference - _BEFORE, 0)
    ellipsis = _ELLIPSIS if start else ""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(f"{ellipsis}{name[start : difference + 1 + _AFTER]}", []).append(name)
    found: dict[str, str] = {}
    for head, group in groups.items():
        cut_names = {name: truncated(f"{ellipsis}{name[start:]}", size, width) for name in group}
        room = width - text_width(head, size)
        if len(set(cut_names.values())) < len(group) and len(groups) > 1 and room > size:
            parts = _differing_parts([name[difference + 1 + _AFTER :] for name in group], size, room)
            cut_names = {name: head + parts[name[difference + 1 + _AFTER :]] for name in group}
        found |= cut_names
    return found
