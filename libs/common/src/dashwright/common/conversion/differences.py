"""Differences between the specs of two neighbouring versions, and their application in both directions.

A difference names the parts of a spec that have another form, and converts one such part. All other parts are equal in both versions,
and the result shares them with its source.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dashwright.common.conversion.context import ConversionContext
from dashwright.common.conversion.failures import ConversionFailed
from dashwright.common.conversion.parts import MAX_LAYOUT_DEPTH, list_in, located, object_in, too_deep, unexpected

#: Conversion of one part, which is an object. The function must not change its argument.
Change = Callable[[Mapping[str, Any]], Mapping[str, Any]]

#: Step of a path: the name of a member, perhaps with a kind in brackets, such as ``variables[QueryVariable]``.
_STEP: Final = re.compile(r"(?P<name>\w+)(?:(?P<brackets>[\[{])(?P<kind>\w*)[\]}])?")


@dataclass(frozen=True, slots=True)
class Difference:
    """Parts of a spec that two neighbouring versions express differently."""

    #: Path to the parts: ``a[]`` are the items of a list, ``a[B]`` those of kind B, and ``a{B}`` the members of kind B of an object.
    #: A path that begins with ``section`` applies to each row and tab of the layout, at any depth.
    path: str
    upgrade: Change  #: Conversion of a part of the older version.
    downgrade: Change  #: Conversion of a part of the newer version.


def upgrade(differences: Sequence[Difference]) -> Callable[[Mapping[str, Any], ConversionContext], Mapping[str, Any]]:
    """Return the conversion of specs from the older to the newer version."""
    return _conversion((difference.path, difference.upgrade) for difference in differences)


def downgrade(differences: Sequence[Difference]) -> Callable[[Mapping[str, Any], ConversionContext], Mapping[str, Any]]:
    """Return the conversion of specs from the newer to the older version."""
    return _conversion((difference.path, difference.downgrade) for difference in differences)


def unchanged(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part itself: it has the same form in both versions."""
    return part


@dataclass(slots=True)
class _Node:
    """Changes of one part and of the parts in it."""

    members: dict[str, "_Node"] = field(default_factory=dict)  #: Changes of members by name.
    #: Changes of all items of a list or all members of an object, by kind. The empty kind applies to all kinds.
    children: dict[str, "_Node"] = field(default_factory=dict)
    is_list: bool = False  #: True if the children are items of a list.
    change: Change | None = None


#: Conversion of one value. It returns the same value if nothing changed.
_Rewrite = Callable[[Any], Any]


def _conversion(changes: Iterable[tuple[str, Change]]) -> Callable[[Mapping[str, Any], ConversionContext], Mapping[str, Any]]:
    """Return the conversion that applies changes at their paths. Raises ValueError for a malformed path."""
    root, section = _Node(), _Node()
    for path, change in changes:
        if change is unchanged:
            continue
        node, steps = root, path.split(".")
        if steps[0] == "section":
            node, steps = section, steps[1:]
        for step in steps:
            if not (match := _STEP.fullmatch(step)):
                raise ValueError(path)
            node = node.members.setdefault(match["name"], _Node())
            if match["brackets"]:
                node.is_list = match["brackets"] == "["
                node = node.children.setdefault(match["kind"], _Node())
        node.change = change
    rewrite = _object_rewrite(root)
    # Without changes of rows and tabs, layouts are not searched for them.
    rewrite_section = None if section == _Node() else _object_rewrite(section)

    def convert(spec: Mapping[str, Any], context: ConversionContext) -> Mapping[str, Any]:
        """Return a converted spec. The context has no effect on these conversions."""
        del context
        try:
            converted: Mapping[str, Any] = rewrite(spec)
            return converted if rewrite_section is None else _in_sections(rewrite_section, converted, depth=0)
        except _Misfit as misfit:
            raise located(f"spec{''.join(reversed(misfit.steps))}", misfit.failure) from misfit.failure

    return convert


class _Misfit(Exception):
    """Part of an unexpected type. Only while the error is raised, each level adds its step to the path: correct parts need no path."""

    def __init__(self, failure: ConversionFailed) -> None:
        super().__init__()
        self.failure = failure
        self.steps: list[str] = []


def _object_rewrite(node: _Node) -> _Rewrite:
    """Return the conversion of an object with the changes of a node."""
    parts = [(name, _container_rewrite(child) if child.children else _object_rewrite(child)) for name, child in node.members.items()]
    change = node.change

    def rewrite(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _Misfit(unexpected("the value", value, "an object"))
        original = value
        for name, rewrite_part in parts:
            part = value.get(name)
            if part is None:
                continue
            try:
                new_part = rewrite_part(part)
            except _Misfit as misfit:
                misfit.steps.append(f".{name}")
                raise
            if new_part is not part:
                # Only the first change needs a copy.
                if value is original:
                    value = {**original}
                value[name] = new_part
        if change is None:
            return value
        try:
            return change(value)
        except ConversionFailed as failure:
            raise _Misfit(failure) from failure

    return rewrite


def _container_rewrite(parent: _Node) -> _Rewrite:
    """Return the conversion of a list or object with the changes of its items or members."""
    rewrites = {kind: _object_rewrite(child) for kind, child in parent.children.items()}
    rewrite_any_kind = rewrites.get("")
    container_type, expected, path_format = (list, "a list", "[{}]") if parent.is_list else (dict, "an object", ".{}")

    def rewrite(container: Any) -> Any:
        if not isinstance(container, container_type):
            raise _Misfit(unexpected("the value", container, expected))
        changed = container
        pairs: Iterable[tuple[Any, Any]] = enumerate(container) if isinstance(container, list) else container.items()
        for key, child in pairs:
            try:
                rewrite_child = rewrite_any_kind or rewrites.get(_kind_of(child))
                if rewrite_child is None:
                    continue
                new_child = rewrite_child(child)
            except _Misfit as misfit:
                misfit.steps.append(path_format.format(key))
                raise
            if new_child is not child:
                if changed is container:
                    changed = container.copy()
                changed[key] = new_child
        return changed

    return rewrite


def _kind_of(child: Any) -> str:
    """Return the kind of an object, or an empty string. Raises _Misfit for a value that is not an object."""
    if not isinstance(child, dict):
        raise _Misfit(unexpected("the value", child, "an object"))
    kind = child.get("kind")
    return kind if isinstance(kind, str) else ""


def _in_sections(rewrite: _Rewrite, holder: Mapping[str, Any], depth: int) -> Mapping[str, Any]:
    """Return the spec of a dashboard, row or tab with each section of its layout converted. ``depth`` is the number of outer layouts."""
    layout = object_in(holder, "layout")
    spec = object_in(layout, "spec")
    name = "tabs" if "tabs" in spec else "rows"
    sections = list_in(spec, name)
    if not sections:
        return holder
    if depth == MAX_LAYOUT_DEPTH:
        raise too_deep()
    converted = [_in_section(rewrite, section, depth + 1) for section in sections]
    if all(new is old for new, old in zip(converted, sections, strict=True)):
        return holder
    return {**holder, "layout": {**layout, "spec": {**spec, name: converted}}}


def _in_section(rewrite: _Rewrite, section: Any, depth: int) -> Mapping[str, Any]:
    """Return a row or tab with its spec and the sections in it converted."""
    if not isinstance(section, dict):
        raise unexpected("a row or tab of 'layout'", section, "an object")
    spec = object_in(section, "spec")
    converted = rewrite(_in_sections(rewrite, spec, depth))
    return section if converted is spec else {**section, "spec": converted}
