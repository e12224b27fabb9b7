"""Rules of the workflows of a repository: what may be written to it, and what an export into it means.

The texts are those that clients of the files API know.
"""

import re
from typing import Final

from dashwright.common.errors import BadRequest, PreconditionFailed
from dashwright.common.jobs.paths import check_path
from dashwright.common.models.provisioning import ExportJobOptions, RepositorySpec, RepositoryType, SyncTarget, Workflow

_COMMIT: Final = re.compile(r"[0-9a-f]{40}")


def is_own(spec: RepositorySpec, ref: str) -> bool:
    """Return whether a ref is what the repository syncs: its own branch, by name or unnamed, or its folder."""
    return not ref or (spec.remote is not None and ref == spec.remote.branch)


def check_write(spec: RepositorySpec, ref: str) -> None:
    """Raise BadRequest or PreconditionFailed if the workflows of the repository do not allow writing to a ref."""
    if _COMMIT.fullmatch(ref):
        raise BadRequest("a commit is not written to: name a branch")
    if not spec.workflows:
        raise BadRequest("this repository is read only")
    wanted = Workflow.WRITE if is_own(spec, ref) else Workflow.BRANCH
    if wanted not in spec.workflows:
        raise BadRequest(f"this repository does not support the {wanted.value} workflow")
    if not is_own(spec, ref) and spec.type is RepositoryType.LOCAL:
        raise PreconditionFailed("only repositories on a git host support the branch workflow")


def prefix_of(options: ExportJobOptions) -> str:
    """Return the directory of an export without a trailing slash; empty for the root."""
    return (options.prefix or "").rstrip("/")


def check_export(spec: RepositorySpec, options: ExportJobOptions) -> None:
    """Raise BadRequest or PreconditionFailed if the repository does not allow an export."""
    check_write(spec, options.branch or "")
    if options.history and spec.type is RepositoryType.LOCAL:
        raise BadRequest("a folder keeps no history: leave history out")
    try:
        check_path(prefix_of(options))
    except BadRequest as error:
        raise BadRequest(f"prefix: {error.message}") from error


def hands_over(spec: RepositorySpec, options: ExportJobOptions) -> bool:
    """Return whether the repository manages the exported objects from then on.

    That requires that a sync of it finds every object by its name, in its present place.
    """
    is_found = is_own(spec, options.branch or "") and options.identifier and not prefix_of(options)
    return is_found and spec.sync.enabled and spec.sync.target is SyncTarget.INSTANCE
