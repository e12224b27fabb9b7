"""Rules of the workflows of a repository, for writes to it and for exports into it.

The workflow ``write`` allows writes to the synced branch. The workflow ``branch`` allows writes to other branches. The messages are
those that clients of the files API know.
"""

import re
from typing import Final

from dashwright.common.errors import BadRequest, PreconditionFailed
from dashwright.common.jobs.paths import check_path
from dashwright.common.models.job_options import ExportJobOptions
from dashwright.common.models.provisioning import RepositorySpec, RepositoryType, SyncTarget, Workflow

_COMMIT: Final = re.compile(r"[0-9a-f]{40}")


def is_synced_ref(spec: RepositorySpec, ref: str) -> bool:
    """Return whether the repository syncs from ``ref``: it is empty or the name of the repository's branch."""
    return not ref or (spec.remote is not None and ref == spec.remote.branch)


def check_write(spec: RepositorySpec, ref: str) -> None:
    """Raise BadRequest or PreconditionFailed if the workflows of the repository do not allow writing to a ref."""
    if _COMMIT.fullmatch(ref):
        raise BadRequest("a commit cannot be changed: name a branch as ref")
    if not spec.workflows:
        raise BadRequest("this repository is read only")
    required_workflow = Workflow.WRITE if is_synced_ref(spec, ref) else Workflow.BRANCH
    if required_workflow not in spec.workflows:
        raise BadRequest(f"this repository does not support the {required_workflow.value} workflow")
    if not is_synced_ref(spec, ref) and spec.type is RepositoryType.LOCAL:
        raise PreconditionFailed("only repositories on a git host support the branch workflow")


def export_directory(options: ExportJobOptions) -> str:
    """Return the directory of an export without a trailing slash. The root is empty."""
    return (options.prefix or "").rstrip("/")


def check_export(spec: RepositorySpec, options: ExportJobOptions) -> None:
    """Raise BadRequest or PreconditionFailed if the repository does not allow an export."""
    check_write(spec, options.branch or "")
    if options.history and spec.type is RepositoryType.LOCAL:
        raise BadRequest("a local directory keeps no history: leave history out")
    try:
        check_path(export_directory(options))
    except BadRequest as error:
        raise BadRequest(f"prefix: {error.message}") from error


def adopts_exported_objects(spec: RepositorySpec, options: ExportJobOptions) -> bool:
    """Return whether the repository adopts the exported objects, that is, manages them after the export.

    This requires that a sync finds each exported file and gives its object the same name and folder.
    """
    keeps_identity = is_synced_ref(spec, options.branch or "") and options.identifier and not export_directory(options)
    return keeps_identity and spec.sync.enabled and spec.sync.target is SyncTarget.INSTANCE
