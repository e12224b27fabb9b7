"""Admission of repositories: the rules of their spec, by the observed checks of Grafana's provisioning API.

The texts of the causes are those that its clients show.
"""

from dashwright.common.kinds.draft import Draft
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.provisioning import RepositoryType

RESERVED_NAMES = frozenset(
    ["classic", "sql", "SQL", "plugins", "legacy", "new", "job", "github", "githost", "s3", "gcs", "file", "create", "update", "delete"]
)
SHORTEST_INTERVAL = 10


def admit_repository(draft: Draft, settings: AdmissionSettings) -> None:
    """Checks a spec that already has the shape of RepositorySpec; adds one cause a fault."""
    spec = draft.spec
    if draft.name in RESERVED_NAMES:
        draft.invalid("metadata.name", draft.name, "Name is reserved, choose a different identifier")
    if not spec.get("title"):
        draft.required("spec.title", "a repository title must be given")
    _check_sync(draft)
    if "branch" in spec.get("workflows", ()) and spec["type"] == RepositoryType.LOCAL:
        draft.invalid("spec.workflow", "branch", "branch is only supported on git repositories")
    if spec["type"] == RepositoryType.LOCAL:
        _check_local(draft, settings)
    else:
        draft.unsupported("spec.type", spec["type"], (RepositoryType.LOCAL.value,))
    if draft.old_spec is not None and draft.old_spec.get("type") != spec["type"]:
        draft.forbidden("spec.type", "Changing the repository type is not supported; delete the repository and create it anew")


def _check_sync(draft: Draft) -> None:
    sync = draft.spec["sync"]
    interval = sync.get("intervalSeconds") or 0
    if sync.get("enabled") and interval and interval < SHORTEST_INTERVAL:
        draft.invalid("spec.sync.intervalSeconds", interval, f"Interval must be at least {SHORTEST_INTERVAL} seconds")
    if interval < 0:
        draft.invalid("spec.sync.intervalSeconds", interval, "Interval must not be negative; 0 means no periodic sync")


def _check_local(draft: Draft, settings: AdmissionSettings) -> None:
    if "githost" in draft.spec:
        draft.invalid("spec.githost", "{…}", "Githost config only valid when type is githost")
    local = draft.spec.get("local")
    if local is None:
        draft.required("spec.local", "a local repository needs its path")
        return
    path = local.get("path", "")
    if not path:
        draft.required("spec.local.path", "must enter a path to a local directory")
        return
    if ".." in path.split("/") or "." in path.split("/"):
        draft.invalid("spec.local.path", path, "path contains traversal attempt (./ or ../)")
        return
    if not settings.permitted_paths:
        text = f"the path given ('{path}') is invalid for a local repository (no permitted prefixes were configured)"
        draft.invalid("spec.local.path", path, text)
        return
    if resolve_local(path, settings.permitted_paths) is None:
        listed = ", ".join(settings.permitted_paths)
        draft.invalid("spec.local.path", path, f"the path must lie inside a permitted folder (PERMITTED_PATHS: {listed})")


def resolve_local(path: str, permitted: tuple[str, ...]) -> str | None:
    """The absolute folder a local repository names, or None outside the permitted ones. A relative path lies in the first of them.

    Text only; the reader of the folder checks again what the path really leads to.
    """
    if not permitted:
        return None
    absolute = path if path.startswith("/") else f"{permitted[0].rstrip('/')}/{path}"
    cleaned = "/" + "/".join(part for part in absolute.split("/") if part)
    inside = any(cleaned == root or cleaned.startswith(root + "/") for root in (item.rstrip("/") for item in permitted))
    return cleaned if inside else None
