"""The kinds whose objects are synced from files. Folders come from directories."""

from typing import Any, Final

from dashwright.common.errors import Invalid
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import DASHBOARD, LIBRARY_PANEL

FILE_KINDS: Final = (DASHBOARD, LIBRARY_PANEL)

_BY_PLURAL: Final = {kind.plural: kind for kind in FILE_KINDS}
_BY_NAME: Final = {(kind.group, kind.kind): kind for kind in FILE_KINDS}


def kind_of_plural(plural: str) -> Kind:
    """Return the kind of the objects with a plural name. Raises KeyError for a kind that no file holds."""
    return _BY_PLURAL[plural]


def kind_and_version(api_version: Any, kind_name: Any) -> tuple[Kind, str]:
    """Return the kind and version that ``apiVersion`` and ``kind`` of a file name. Raises Invalid if no file can hold them."""
    if not isinstance(api_version, str) or not isinstance(kind_name, str):
        raise Invalid(
            "apiVersion and kind must both be strings: "
            "a file holds either a dashboard's JSON (title, panels, …) or a resource with apiVersion, kind, metadata and spec"
        )
    group, _, version = api_version.partition("/")
    kind = _BY_NAME.get((group, kind_name))
    if kind is None:
        kinds_text = ", ".join(f"{known_kind.kind} of {known_kind.group}" for known_kind in FILE_KINDS)
        raise Invalid(f"{kind_name} of {api_version} is not synced: files hold {kinds_text}; folders come from directories")
    if version not in kind.versions:
        versions_text = ", ".join(kind.api_version(known_version) for known_version in kind.versions)
        raise Invalid(f"apiVersion {api_version!r} is not supported for {kind_name}; known: {versions_text}")
    return kind, version
