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

    Names are cut at their ends. If some names would then look equal, all names are cut in the middle. If this does not help, the
    equal parts of the names are cut.
    """
    attempts: list[list[str]] = []
    for cut in (truncated, truncated_in_middle):
        attempts.append([cut(name, size, width) for name in names])
        if len(set(attempts[-1])) == len(set(names)):
            return attempts[-1]
    differing = _differing_parts(sorted(set(names)), size, width)
    # Names may differ only where there is no room, so the attempt with most distinct names is the best possible.
    return max(*attempts, [differing[name] for name in names], key=lambda cut_names: len(set(cut_names)))


def _differing_parts(names: Sequence[str], size: float, width: float) -> dict[str, str]:
    """Return the parts of names from shortly before their first difference. Names that continue equally after it are cut again."""
    shortest = min(map(len, names))
    difference = next((index for index in range(shortest) if len({name[index] for name in names}) > 1), shortest)
    start, end = max(difference - _BEFORE, 0), difference + 1 + _AFTER
    ellipsis = _ELLIPSIS if start else ""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(f"{ellipsis}{name[start:end]}", []).append(name)
    distinct_parts: dict[str, str] = {}
    for start_of_group, group in groups.items():
        cut_names = {name: truncated(f"{ellipsis}{name[start:]}", size, width) for name in group}
        remaining_width = width - text_width(start_of_group, size)
        if len(set(cut_names.values())) < len(group) and len(groups) > 1 and remaining_width > size:
            parts = _differing_parts([name[end:] for name in group], size, remaining_width)
            cut_names = {name: start_of_group + parts[name[end:]] for name in group}
        distinct_parts |= cut_names
    return distinct_parts
