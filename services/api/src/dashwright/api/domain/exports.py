"""Permissions for an export. An export reveals all that it writes; an export to the synced branch also changes what is stored."""

from typing import Final

from dashwright.api.domain.access.view import View
from dashwright.common.errors import Forbidden
from dashwright.common.jobs.workflows import is_own
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.models.provisioning import ExportJobOptions, RepositorySpec, SyncTarget

_KINDS: Final = (FOLDER, DASHBOARD)


def demand_export(view: View, spec: RepositorySpec, options: ExportJobOptions, *, repository: str, above: str | None, login: str) -> None:
    """Raise Forbidden if the caller may not export. ``above`` is the parent of the exported folder.

    An export needs read permission on everything that it may contain. An export to the synced branch also needs permission to
    update these objects, and to create objects at the target of the sync.
    """
    is_synced = is_own(spec, options.branch or "") and spec.sync.enabled
    for kind in _KINDS:
        for verb in ("get", "update") if is_synced else ("get",):
            action = kind.actions[verb]
            if not options.folder:
                may = view.scope_of(kind, action).everything
            elif kind is FOLDER:
                may = view.may(action, kind, options.folder, above)
            else:
                may = view.may(action, kind, "", options.folder)
            if not may:
                raise _forbidden(
                    login, action, f"folder {options.folder!r}" if options.folder else "all folders; or export a single folder"
                )
        into = repository if spec.sync.target is SyncTarget.FOLDER else None
        if is_synced and not view.may(kind.actions["create"], kind, "", into):
            raise _forbidden(login, kind.actions["create"], f"folder {into!r}" if into else "the root")


def _forbidden(login: str, action: str, where: str) -> Forbidden:
    return Forbidden(f"export is forbidden: {login} needs {action} on {where}")
