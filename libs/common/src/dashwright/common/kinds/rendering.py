"""Conversion between stored bodies and the specs that clients see."""

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from dashwright.common.document import canonical, json_equal, read_json, write_json
from dashwright.common.errors import Cause
from dashwright.common.kinds.kind import Body, Extract, Kind, RenderedBody
from dashwright.common.models.causes import causes_of


def render(kind: Kind, body: Body, version: str) -> RenderedBody:
    """Return a stored body as it is served in a version of the kind."""
    return RenderedBody(body.spec, body.status) if kind.render is None else kind.render(kind, body, version)


def body_of(kind: Kind, old: Body | None, version: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return the body to store for a spec sent in a version. ``old`` is the stored body, or None on creation.

    If a client sends back the rendered form of the old body, the old body is kept unchanged.
    """
    if old is not None and kind.render is not None:
        seen = kind.render(kind, old, version).spec
        if seen is not old.spec and json_equal(read_json(seen), spec):
            kept: dict[str, Any] = read_json(old.spec)
            return kept
    if kind.absorb is not None:
        return kind.absorb(None if old is None else read_json(old.spec), spec)
    return spec


def validation_errors(kind: Kind, spec: dict[str, Any]) -> list[Cause]:
    """Return the validation errors of a sent spec: wrong types, and duplicate items in lists that must be sets."""
    try:
        if kind.shown_spec is not None:
            kind.shown_spec.model_validate(spec)
    except ValidationError as error:
        return [Cause(f"spec.{cause.field}", cause.reason, cause.message) for cause in causes_of(error) or ()]
    return [fault for path in kind.set_lists for fault in _duplicates({"spec": spec}, path)]


def _duplicates(tree: Any, path: tuple[str, ...]) -> Iterator[Cause]:
    for name in path:
        tree = tree.get(name) if isinstance(tree, dict) else None
    seen: set[bytes] = set()
    for index, item in enumerate(tree if isinstance(tree, list) else ()):
        value = canonical(item)
        if value in seen:
            text = write_json(item)[:200].decode(errors="replace")
            yield Cause(f"{'.'.join(path)}[{index}]", "FieldValueDuplicate", f"Duplicate value: {text}")
        seen.add(value)


def stored_version(kind: Kind, version: str, extract: Extract) -> str:
    """Return the version to store a body under. A dashboard with a layout always has the newest version."""
    return kind.version if extract.layout else version
