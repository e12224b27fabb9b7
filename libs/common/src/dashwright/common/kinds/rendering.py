"""Conversion between stored bodies and the specs of the API."""

from collections.abc import Iterator
from typing import Any, Final

from pydantic import ValidationError

from dashwright.common.errors import Cause
from dashwright.common.json_documents import canonical_json, json_equal, read_json, write_json
from dashwright.common.kinds.kind import Body, Extract, Kind, RenderedBody
from dashwright.common.models.causes import causes_of

#: Status of an object about which nothing is preserved.
EMPTY_STATUS: Final = "{}"


def render(kind: Kind, body: Body, version: str) -> RenderedBody:
    """Return a stored body in the form that a version of the kind shows."""
    return RenderedBody(body.spec, body.status) if kind.render is None else kind.render(kind, body, version)


def body_of(kind: Kind, old: Body | None, version: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return the body to store for a spec that was sent in a version. ``old`` is the stored body, or None for a new object.

    If the spec equals the rendered form of the old body, the old body is returned: a client that writes back the spec that it
    read changes nothing.
    """
    if old is not None and kind.render is not None:
        rendered = kind.render(kind, old, version).spec
        # A version that shows the stored form returns the same string, which needs no comparison.
        if rendered is not old.spec and json_equal(read_json(rendered), spec):
            old_body: dict[str, Any] = read_json(old.spec)
            return old_body
    if kind.merge is not None:
        return kind.merge(None if old is None else read_json(old.spec), spec)
    return spec


def validation_errors(kind: Kind, spec: dict[str, Any]) -> list[Cause]:
    """Return the validation errors of a spec: wrong types, and duplicate items in lists that must be sets."""
    try:
        if kind.rendered_spec is not None:
            kind.rendered_spec.model_validate(spec)
    except ValidationError as error:
        return [Cause(f"spec.{cause.field}", cause.reason, cause.message) for cause in causes_of(error) or ()]
    return [fault for path in kind.set_lists for fault in _duplicates({"spec": spec}, path)]


def _duplicates(tree: Any, path: tuple[str, ...]) -> Iterator[Cause]:
    for name in path:
        tree = tree.get(name) if isinstance(tree, dict) else None
    earlier_values: set[bytes] = set()
    for index, item in enumerate(tree if isinstance(tree, list) else ()):
        value = canonical_json(item)
        if value in earlier_values:
            excerpt = write_json(item)[:200].decode(errors="replace")
            yield Cause(f"{'.'.join(path)}[{index}]", "FieldValueDuplicate", f"Duplicate value: {excerpt}")
        earlier_values.add(value)


def stored_version(kind: Kind, version: str, extract: Extract) -> str:
    """Return the version in which to store a body that was sent in ``version``."""
    return version if kind.versioning is None else kind.versioning.stored_version(version, extract)


def preserved_status(kind: Kind, old: Body, version: str, extract: Extract) -> str | None:
    """Return the status to store with a body that was sent in ``version`` and replaces ``old``; None if the status is kept."""
    return None if kind.versioning is None else kind.versioning.preserve(old, version, extract)


def reset_status(kind: Kind) -> str | None:
    """Return the status to store with a body that replaces all that was stored before; None if the status is kept."""
    return None if kind.versioning is None else EMPTY_STATUS
