"""What an update and an apply make of an object's fields and of those who own them.

Trees are what ``tracked`` answers. Entries of other sub-resources than the writer's own are handed through: what they own lies
elsewhere. What comes out is to be ``settled`` before it is stored or compared with what is.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from dashwright.api.domain.fields.conflicts import FieldConflict, conflict_error
from dashwright.api.domain.fields.managers import BEFORE_FIRST_APPLY, ManagedFieldsEntry, bound
from dashwright.api.domain.fields.nodes import Atom, Node, Path, merge, to_node, to_tree
from dashwright.api.domain.fields.sets import common, covered_by, difference, leaves, minus, paths, union, within, without

Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FieldManager:
    """Who writes: manager, group and version of the object that was sent, the time as RFC 3339."""

    manager: str
    version: str
    now: str
    subresource: str = ""


class ApplyResult(NamedTuple):
    tree: Tree
    managers: tuple[ManagedFieldsEntry, ...]


def update(
    old: Tree, new: Tree, managers: Sequence[ManagedFieldsEntry], writer: FieldManager, set_lists: Collection[Path] = ()
) -> tuple[ManagedFieldsEntry, ...]:
    """The entries after a write other than an apply: what it changed is the writer's, and nobody else's any longer.

    ``old`` is ``{}`` for an object that is new.
    """
    before, after = to_node(old, set_lists), to_node(new, set_lists)
    own = ManagedFieldsEntry(writer.manager, "Update", writer.version, writer.now, {}, writer.subresource)
    ours, others, elsewhere = _partition(managers, own, before)
    places = difference(before, after)
    if not places:
        return (*elsewhere, *others, ours)
    gained = covered_by(leaves(after), places)
    mine = replace(own, fields=union(minus(ours.fields, places), gained))
    lost = [replace(entry, fields=minus(entry.fields, places)) for entry in others]
    return (*elsewhere, *lost, mine)


def apply(
    live: Tree | None,
    config: Tree,
    managers: Sequence[ManagedFieldsEntry],
    writer: FieldManager,
    set_lists: Collection[Path] = (),
    *,
    force: bool = False,
    yielded: Tree | None = None,
) -> ApplyResult:
    """The tree in which ``config`` holds, and the entries then: all that ``config`` names is the writer's.

    What the writer applied before, names no more and nobody else owns is removed. ``live`` is None where there is no object yet. Raises
    Conflict where others own what would change; with ``force`` they lose it, as they do where all of it still is as ``yielded`` has it.
    """
    wanted, before = to_node(config, set_lists), to_node(live or {}, set_lists)
    own = ManagedFieldsEntry(writer.manager, "Apply", writer.version, writer.now, {}, writer.subresource)
    if isinstance(before, dict) and not any(entry.subresource == writer.subresource for entry in managers):
        first = ManagedFieldsEntry(BEFORE_FIRST_APPLY, "Update", writer.version, writer.now, leaves(before), writer.subresource)
        managers = [*managers, first]
    ours, others, elsewhere = _partition(managers, own, before)
    joined = merge(before, wanted)
    places = difference(before, joined)
    contested = [FieldConflict(entry, path) for entry in others for path in paths(covered_by(entry.fields, places))]
    if contested and not force and not _all_yielded(contested, to_node(yielded or {}, set_lists), before):
        raise conflict_error(contested)
    kept = common(leaves(wanted), leaves(joined))
    gone = minus(ours.fields, kept)
    for entry in others:
        gone = minus(gone, entry.fields)
    after = merge(without(before, gone) or Atom({}), wanted) if gone else joined
    mine = replace(own, fields=common(leaves(wanted), leaves(after)))
    if mine.fields == ours.fields and not places and not gone:
        return ApplyResult(to_tree(after), (*elsewhere, *others, ours))
    lost = [replace(entry, fields=minus(entry.fields, places)) for entry in others]
    return ApplyResult(to_tree(after), (*elsewhere, *lost, mine))


def settle(
    managers: Sequence[ManagedFieldsEntry], tree: Tree, set_lists: Collection[Path] = (), subresource: str = ""
) -> tuple[ManagedFieldsEntry, ...]:
    """What ``update`` or ``apply`` made, as it is stored with a tree: without the fields that its model dropped, and within bounds.

    Raises TooLarge where there is no room for all of them.
    """
    found = leaves(to_node(tree, set_lists))
    here = [replace(entry, fields=common(entry.fields, found)) for entry in managers if entry.subresource == subresource]
    return bound([*(entry for entry in managers if entry.subresource != subresource), *here])


def _partition(
    managers: Sequence[ManagedFieldsEntry], own: ManagedFieldsEntry, before: Node
) -> tuple[ManagedFieldsEntry, list[ManagedFieldsEntry], list[ManagedFieldsEntry]]:
    """The writer's own entry, those it shares the tree with, and the rest."""
    elsewhere = [entry for entry in managers if entry.subresource != own.subresource]
    here = [replace(entry, fields=within(entry.fields, before)) for entry in managers if entry.subresource == own.subresource]
    ours = next((entry for entry in here if entry.is_of(own)), own)
    others = sorted((entry for entry in here if not entry.is_of(own)), key=lambda entry: (entry.manager, entry.operation))
    return ours, others, elsewhere


def _all_yielded(contested: Sequence[FieldConflict], yielded: Node, live: Node) -> bool:
    """Whether each of the fields still is as ``yielded`` has it."""
    given = set(paths(minus(leaves(yielded), difference(yielded, live))))
    return all(each.path in given for each in contested)
