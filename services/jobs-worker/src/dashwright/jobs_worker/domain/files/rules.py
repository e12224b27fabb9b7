"""Rules on paths and refs, with the messages that clients of the files API know."""

from dashwright.common.errors import BadRequest
from dashwright.common.jobs import paths
from dashwright.common.kinds.branches import is_branch
from dashwright.common.models.provisioning import RepositorySpec, RepositoryType


def check_name(path: str, *, reading: bool = False) -> None:
    """Raise BadRequest unless the path is a directory or may hold a resource; with ``reading`` also Markdown is allowed."""
    paths.check_path(path)
    if not (paths.is_directory(path) or paths.is_resource(path) or (reading and paths.is_markdown(path))):
        raise BadRequest(f"unsupported file extension: names end in {', '.join(paths.RESOURCE_SUFFIXES)}, those of directories in a slash")


def ref_of(spec: RepositorySpec, ref: str) -> str:
    """Return the ref to use: an empty string for the repository's own branch. Raises BadRequest for a folder and for an invalid ref."""
    if ref and spec.type is RepositoryType.LOCAL:
        raise BadRequest("local repository does not support ref")
    if ref and not is_branch(ref):
        raise BadRequest(f"ref {ref[:80]!r} is neither a branch name nor a commit")
    return "" if spec.remote is not None and ref == spec.remote.branch else ref
