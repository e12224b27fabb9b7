"""Plugin of pytest that gives ``manifest`` and ``plural`` to cases: an object of each kind in each version that the API serves."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

_ELEMENTS: Final = {"elements": {}, "layout": {"kind": "TabsLayout", "spec": {"tabs": []}}}
_CLASSIC: Final = {"panels": [], "schemaVersion": 42}
_UNSYNCED: Final = {"type": "local", "workflows": [], "sync": {"enabled": False, "target": "folder"}}

#: API group, kind, plural, versions, and the members of the spec besides the title.
_SERVED: Final[tuple[tuple[str, str, str, tuple[str, ...], dict[str, Any]], ...]] = (
    ("dashboard.grafana.app", "Dashboard", "dashboards", ("v0alpha1", "v1alpha1", "v1beta1", "v1"), _CLASSIC),
    ("dashboard.grafana.app", "Dashboard", "dashboards", ("v2alpha1", "v2beta1", "v2"), _ELEMENTS),
    ("folder.grafana.app", "Folder", "folders", ("v0alpha1", "v1alpha1", "v1beta1", "v1"), {}),
    ("provisioning.grafana.app", "Repository", "repositories", ("v0alpha1", "v1beta1", "v1"), _UNSYNCED),
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a case that takes ``plural`` and ``manifest`` once for each kind and version."""
    if {"plural", "manifest"} <= set(metafunc.fixturenames):
        client = metafunc.module.__name__.removesuffix("_cases")
        metafunc.parametrize(("plural", "manifest"), list(_parameters(client)))


def _parameters(client: str) -> Iterator[Any]:
    """Return plural and manifest of each kind in each version. The objects of two clients have different names."""
    for group, kind, plural, versions, members in _SERVED:
        for version in versions:
            name = f"{client}-{version}"
            # A deleted repository keeps its directory until its finalizers have run.
            spec = {"title": "One", **members, **({"local": {"path": name}} if kind == "Repository" else {})}
            manifest = {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec}
            yield pytest.param(plural, manifest, id=f"{kind}-{version}")
