"""Three-way merge of JSON documents, which restores members that a version cannot express.

The *original* is the stored document. The *base* is the original after a conversion to the client's version and back,
which may lose members. The *changed* document is the base with the changes of the client.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Final

#: Members that identify an item among its siblings, such as a variable, a query or a panel.
_IDENTIFIERS: Final = ("name", "refId", "id", "uid", "key")
_ROW: Final = "row"


def merge(base: Any, original: Any, changed: Any) -> Any:
    """Return ``changed`` with the parts of ``original`` that ``base`` lost, except those that the client replaced or deleted.

    The result is ``original`` if nothing was changed, and ``changed`` if nothing was lost. It shares parts with its arguments.
    """
    if changed == base:
        return original
    if original == base:
        return changed
    if isinstance(base, dict) and isinstance(original, dict) and isinstance(changed, dict):
        # Documents of different kinds, such as a layout of tabs and one of rows, share no members to be merged.
        return changed if base.get("kind") != original.get("kind") else _merge_members(base, original, changed)
    if isinstance(base, list) and isinstance(original, list) and isinstance(changed, list):
        return _merge_items(base, original, changed)
    return changed


def lost_members(original: Any, expressed: Any) -> Iterator[str]:
    """Yield the paths of members, such as ``links[0].icon``, that a conversion of a document to another version has lost.

    If all of a member is lost, only the path of that member is yielded, not the paths below it. Lost members that were
    empty are not yielded, because versions omit defaults.
    """
    return iter(()) if original == expressed else _lost_members(original, expressed, "")


def _lost_members(original: Any, expressed: Any, path: str) -> Iterator[str]:
    """Yield the paths below ``path`` of two documents that differ there."""
    if isinstance(original, dict) and isinstance(expressed, dict) and original.get("kind") == expressed.get("kind"):
        for name, value in original.items():
            if name not in expressed:
                if value:
                    yield _member_path(path, name)
            elif value != (counterpart := expressed[name]):
                yield from _lost_members(value, counterpart, _member_path(path, name))
        return
    if isinstance(original, list) and isinstance(expressed, list) and (pairs := _paired_items(original, expressed)) is not None:
        for index, (item, counterpart) in enumerate(pairs):
            if item != counterpart:
                yield from _lost_members(item, counterpart, f"{path}[{index}]")
        return
    yield path


def _member_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _paired_items(original: Sequence[Any], expressed: Sequence[Any]) -> list[tuple[Any, Any]] | None:
    """Return each original item with the expressed item of the same identity (None: lost). Return None if items cannot be matched."""
    original_keys, expressed_keys = _identities(original), _identities(expressed)
    if original_keys is not None and expressed_keys is not None:
        expressed_items = dict(zip(expressed_keys, expressed, strict=True))
        return [(item, expressed_items.get(key)) for key, item in zip(original_keys, original, strict=True)]
    return list(zip(original, expressed, strict=True)) if len(original) == len(expressed) else None


def _merge_members(base: Mapping[Any, Any], original: Mapping[Any, Any], changed: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the merged members. Those that the conversion added and the client did not change are left out."""
    merged: dict[Any, Any] = {}
    for key, value in changed.items():
        if key in base and key in original:
            merged[key] = merge(base[key], original[key], value)
        elif key not in base or base[key] != value:
            merged[key] = value
    # Members that the conversion lost, and that the client did not set.
    merged.update((key, value) for key, value in original.items() if key not in base and key not in merged)
    return merged


def _merge_items(base: Sequence[Any], original: Sequence[Any], changed: Sequence[Any]) -> list[Any]:
    """Return the merged items, matched by identity or else by position. Return ``changed`` if they cannot be matched."""
    base_keys, original_keys, changed_keys = _identities(base), _identities(original), _identities(changed)
    if base_keys is None or original_keys is None or changed_keys is None:
        if len(base) == len(original) == len(changed):
            return [merge(*items) for items in zip(base, original, changed, strict=True)]
        return list(changed)
    original_items = dict(zip(original_keys, original, strict=True))
    merged = _merge_members(dict(zip(base_keys, base, strict=True)), original_items, dict(zip(changed_keys, changed, strict=True)))
    # The client decides on the order only if it changed the order of the items that it read.
    order = original_keys if changed_keys == base_keys else changed_keys
    return [merged[key] for key in _with_lost_items([key for key in order if key in merged], merged, original_keys)]


def _with_lost_items(ordered: Sequence[Hashable], merged: Mapping[Hashable, Any], original_keys: Sequence[Hashable]) -> list[Hashable]:
    """Return the ordered identities together with all others: lost items after their predecessors in the original, new ones last."""
    ordered_keys = set(ordered)
    # Lost items by their nearest predecessor that is not lost. The key None has those at the beginning of the original.
    followers: dict[Hashable, list[Hashable]] = {}
    predecessor: Hashable = None
    for key in original_keys:
        if key in ordered_keys:
            predecessor = key
        elif key in merged:
            followers.setdefault(predecessor, []).append(key)
    complete = followers.get(None, [])
    for key in ordered:
        complete += [key, *followers.get(key, ())]
    placed_keys = {*ordered_keys, *original_keys}
    return complete + [key for key in merged if key not in placed_keys]


def _identities(items: Sequence[Any]) -> list[Hashable] | None:
    """Return the identity of each item, or None if an item has none or two items share one."""
    identities = [_identity(item) for item in items]
    return None if None in identities or len(set(identities)) < len(identities) else identities


def _identity(item: Any) -> Hashable:
    """Return the key that identifies an item among its siblings, or None."""
    if not isinstance(item, dict):
        # With the type, since 1, 1.0 and True are equal in Python.
        return None if isinstance(item, list) else ("value", type(item), item)
    if item.get("type") == _ROW:
        # Conversions give rows new ids.
        return _identifier(_ROW, item.get("title"))
    spec = item.get("spec")
    members = {**spec, **item} if isinstance(spec, dict) else item
    element = members.get("element")
    if isinstance(element, dict):
        return _identifier("element", element.get("name"))
    for name in (*_IDENTIFIERS, "title"):
        if (identifier := _identifier(name, members.get(name))) is not None:
            return identifier
    return None


def _identifier(name: str, value: Any) -> Hashable:
    """Return an identity from a member, or None if its value is neither a string nor an integer."""
    return (name, value) if isinstance(value, (str, int)) else None
