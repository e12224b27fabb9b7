"""Permissions for an export.

Every export reveals the exported objects. An export to the synced branch also changes the stored objects.
"""

from typing import Final

from dashwright.api.domain.access.view import AccessView
from dashwright.common.errors import Forbidden
from dashwright.common.jobs.workflows import is_synced_ref
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, LIBRARY_PANEL
from dashwright.common.models.job_options import ExportJobOptions
from dashwright.common.models.provisioning import RepositorySpec, SyncTarget

_EXPORTED_KINDS: Final = (FOLDER, DASHBOARD, LIBRARY_PANEL)


def require_export_permission(
    view: AccessView, spec: RepositorySpec, options: ExportJobOptions, *, repository: str, parent: str | None, login: str
) -> None:
    """Raise Forbidden if the caller may not export. ``parent`` is the name of the exported folder's parent, None at the root.

    An export needs read permission on everything that it may contain. An export to the synced branch also needs permission to
    update these objects, and to create objects in the folder that the repository is synced to.
    """
    is_synced = is_synced_ref(spec, options.branch or "") and spec.sync.enabled
    verbs = ("get", "update") if is_synced else ("get",)
    for kind in _EXPORTED_KINDS:
        for verb in verbs:
            action = kind.actions[verb]
            if not options.folder:
                is_allowed = view.scope_for_action(kind, action).includes_everything
            elif kind is FOLDER:
                is_allowed = view.may(action, kind, options.folder, parent)
            else:
                # Without a name, only the rules of the folder count, which apply to all objects in it.
                is_allowed = view.may(action, kind, "", options.folder)
            if not is_allowed:
                raise _forbidden(
                    login, action, f"folder {options.folder!r}" if options.folder else "all folders; or export a single folder"
                )
        target_folder = repository if spec.sync.target is SyncTarget.FOLDER else None
        if is_synced and not view.may(kind.actions["create"], kind, "", target_folder):
            raise _forbidden(login, kind.actions["create"], f"folder {target_folder!r}" if target_folder else "the root")


def _forbidden(login: str, action: str, scope: str) -> Forbidden:
    return Forbidden(f"export is forbidden: {login} needs {action} on {scope}")
